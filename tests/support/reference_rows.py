"""Naive twins of the rows of two aligned texts: breaks by regular expressions, words by the textbook table.

Plain Python, piece by piece. See ``reference.py``. A row is (kind, pieces of A, pieces of B); a piece is (kind,
begin, end, match, opens).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from neardup.comparison.matching import pair_of
from neardup.kernels.match.alignment import heaviest_chain
from neardup.text.units import Units

Run = tuple[int, int, int]
Piece = tuple[str, int, int, int, bool]
Row = tuple[str, tuple[Piece, ...], tuple[Piece, ...]]
Cut = tuple[int, int]

_LINE = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE = re.compile(
    r"""(?:(?<=[^\W\d_][^\W\d_])|(?<=[)\]"'\u2019\u201d\u00bb]))[.!?\u2026\u061f\u06d4\u0964\u0965]+"""
    r"""[)\]"'\u2019\u201d\u00bb]*\s+|[\u3002\uff01\uff1f][\u300d\u300f\uff09]*"""
)
_SHORT_WORD = re.compile(r"(?:^|[\W_])([^\W\d_]{1,3})\Z")


def line_ends(text: str) -> list[int]:
    return [match.end() for match in _LINE.finditer(text)]


def sentence_ends(text: str) -> list[int]:
    def goes_on(begin: int, end: int) -> bool:
        """Return whether a stop ends no sentence: after "Dr", or before a small letter or a figure."""
        short = _SHORT_WORD.search(text[:begin], max(0, begin - 4))
        follows = text[end : end + 1]
        return follows.islower() or follows.isdigit() or (short is not None and short[1][0].isupper())

    return [end for begin, end in (match.span() for match in _SENTENCE.finditer(text)) if not goes_on(begin, end)]


def breaks(units: Units) -> dict[int, tuple[int, int]]:
    """Return for each unit with a break before it, and for the end: kind (1: sentence, 2: line) and character."""
    n, spans = len(units), units.spans.tolist()
    found = {}
    for kind, ends in ((1, sentence_ends(units.text)), (2, line_ends(units.text))):
        for end in ends:
            before = next((k for k, (begin, _) in enumerate(spans) if begin >= end), n)
            if 0 < before < n and spans[before - 1][1] <= end:
                found[before] = (kind, end)
    return {**found, 0: (2, 0), n: (2, len(units.text))}


def subsequence_runs(a: Sequence[int], b: Sequence[int]) -> list[Run]:
    """Return runs of a longest common subsequence, read off the table from the beginning.

    Equal tokens are taken; else a token of A is left out if nothing is lost by that, else one of B.
    """
    m, n = len(a), len(b)
    rest = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m - 1, -1, -1):
        for j in range(n - 1, -1, -1):
            rest[i][j] = rest[i + 1][j + 1] + 1 if a[i] == b[j] else max(rest[i + 1][j], rest[i][j + 1])
    runs: list[Run] = []
    i = j = 0
    while i < m and j < n:
        if a[i] == b[j]:
            if runs and runs[-1][0] + runs[-1][2] == i and runs[-1][1] + runs[-1][2] == j:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
            else:
                runs.append((i, j, 1))
            i, j = i + 1, j + 1
        elif rest[i + 1][j] >= rest[i][j + 1]:
            i += 1
        else:
            j += 1
    return runs


def telling_runs(runs: list[Run], m: int, n: int) -> list[Run]:
    """Return the runs without those that are shorter than what was edited before and after them."""
    kept, changed = list(runs), True
    while changed:
        changed = False
        end_a = end_b = 0
        for run in list(kept):
            i, j, length = run
            later = kept[kept.index(run) + 1 :]
            next_a, next_b = later[0][:2] if later else (m, n)
            before, after = max(i - end_a, j - end_b), max(next_a - i - length, next_b - j - length)
            if length < before and length < after:
                kept.remove(run)
                changed = True
            else:
                end_a, end_b = i + length, j + length
    return kept


def words_between(
    a: Sequence[int], b: Sequence[int], moved: list[Run], spine: list[Run], limits: Cut
) -> list[Run]:
    """Return the runs of equal words between the tiles of the spine; the tokens of moved tiles take no part."""
    taken = [{place for tile in moved for place in range(tile[side], tile[side] + tile[2])} for side in (0, 1)]
    found, left = [], limits[1]
    begin_a = begin_b = 0
    for next_a, next_b, length in [*spine, (len(a), len(b), 0)]:
        at_a = [i for i in range(begin_a, next_a) if i not in taken[0]]
        at_b = [j for j in range(begin_b, next_b) if j not in taken[1]]
        runs, cells = _stretch([a[i] for i in at_a], [b[j] for j in at_b], (limits[0], left))
        left -= cells
        for i, j, size in telling_runs(runs, len(at_a), len(at_b)):
            found += _in_one_piece([(at_a[i + k], at_b[j + k]) for k in range(size)])
        begin_a, begin_b = next_a + length, next_b + length
    return found


def _in_one_piece(places: list[Cut]) -> list[Run]:
    runs: list[Run] = []
    for at, (i, j) in enumerate(places):
        if at and (i - 1, j - 1) == places[at - 1]:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((i, j, 1))
    return runs


def _stretch(a: list[int], b: list[int], limits: Cut) -> tuple[list[Run], int]:
    """Return the runs of two stretches and the cells; long ones are cut at tokens that occur once in each."""
    if len(a) * len(b) <= min(limits):
        return subsequence_runs(a, b), len(a) * len(b)
    counts = Counter(a), Counter(b)
    once = [(i, b.index(token), 1) for i, token in enumerate(a) if counts[0][token] == counts[1][token] == 1]
    chain = heaviest_chain(np.array(once, np.int64).reshape(-1, 3), len(b))
    found: list[Run] = []
    spent = begin_a = begin_b = 0
    anchors = [anchor for anchor, chosen in zip(once, chain, strict=True) if chosen]
    for end_a, end_b, size in [*anchors, (len(a), len(b), 0)]:
        cells = (end_a - begin_a) * (end_b - begin_b)
        if cells <= min(limits[0], limits[1] - spent):
            spent += cells
            runs = subsequence_runs(a[begin_a:end_a], b[begin_b:end_b])
            found += [(begin_a + i, begin_b + j, length) for i, j, length in runs]
        found += [(end_a, end_b, 1)] * size
        begin_a, begin_b = end_a + 1, end_b + 1
    return found, spent


def rows(a: Units, b: Units, tiles: list[Run], moved: list[bool], limits: Cut) -> list[Row]:
    """Return the rows of two texts; ``moved`` marks the ``tiles`` that have another order."""
    pair = pair_of(a.hashes, b.hashes)
    order = pair.in_order(0, 1)
    swapped = [(tile[order[0]], tile[order[1]], tile[2]) for tile in tiles]
    tokens = pair.tokens.tolist()
    words = words_between(
        tokens[: pair.first_size],
        tokens[pair.first_size :],
        [tile for tile, out in zip(swapped, moved, strict=True) if out],
        sorted(tile for tile, out in zip(swapped, moved, strict=True) if not out),
        limits,
    )
    runs = [(*tile, number) for number, tile in enumerate(tiles, 1) if not moved[number - 1]]
    runs = sorted([*runs, *((word[order[0]], word[order[1]], word[2], 0) for word in words)])
    out = [(*tile, number) for number, tile in enumerate(tiles, 1) if moved[number - 1]]
    found = breaks(a), breaks(b)
    sides = []
    for side, units in enumerate((a, b)):
        marked = [(run[side], run[side] + run[2], "same", run[3]) for run in runs]
        marked += [(tile[side], tile[side] + tile[2], "moved", tile[3]) for tile in out]
        sides.append(pieces(units, sorted(marked), found[side]))
    cuts = list(cut_rows(runs, out, found, order))
    texts = [[side(cut[k]) for cut in cuts] for k, side in enumerate(sides)]
    return [(row_kind(*both), *both) for both in zip(*texts, strict=True) if any(both)]


def pieces(
    units: Units, marked: list[tuple[int, int, str, int]], found: dict[int, tuple[int, int]]
) -> Callable[[int], tuple[Piece, ...]]:
    """Return what hands out the pieces of one text up to the break before a unit, one break after the other."""
    kinds = {unit: (kind, match, begin) for begin, end, kind, match in marked for unit in range(begin, end)}
    plain = ("changed", 0, -1)
    unit = character = 0

    def to(stop: int) -> tuple[Piece, ...]:
        nonlocal unit, character
        row: list[Piece] = []

        def fill(end: int) -> None:
            nonlocal character
            if end > character:
                row.append(("between", character, end, 0, False))
                character = end

        while unit < stop:
            kind, match, begin = kinds.get(unit, plain)
            last = unit + 1
            while last < stop and kinds.get(last, plain) == (kind, match, begin):
                last += 1
            fill(units.spans[unit, 0].item())
            end = max(character, units.spans[last - 1, 1].item())
            row.append((kind, character, end, match, begin == unit and match > 0))
            unit, character = last, end
        fill(found[stop][1])
        return tuple(row)

    return to


def row_kind(a: tuple[Piece, ...], b: tuple[Piece, ...]) -> str:
    kinds = {piece[0] for piece in (*a, *b)} - {"between"}
    if a and b:
        return "equal" if kinds <= {"same"} else "changed"
    side = "a" if a else "b"
    return f"moved_{side}" if kinds == {"moved"} else f"only_{side}"


def cut_rows(
    runs: list[tuple[int, int, int, int]],
    moved: list[tuple[int, int, int, int]],
    found: tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]],
    order: Cut,
) -> Iterator[Cut]:
    """Return where rows end, as (unit of A, unit of B): both texts have a break there."""
    ends = (max(found[0]), max(found[1]))
    done, last = (-1, -1), (0, 0)
    for i, j, length, _ in [*runs, (*ends, 0, 0)]:
        cuts = list(_cuts_between(moved, last, (i, j), found, order))
        least = {t: min(found[0].get(i + t, (0, 0))[0], found[1].get(j + t, (0, 0))[0]) for t in range(length + 1)}
        allowed = [t for t, kind in least.items() if kind]
        kept = [t for t in allowed if least[t] == 2 or t in (allowed[0], allowed[-1])]
        for cut in (*cuts, *((i + t, j + t) for t in kept)):
            if cut != done and cut[0] in found[0] and cut[1] in found[1]:
                yield cut
                done = cut
        last = (i + length, j + length)


def _cuts_between(
    moved: list[tuple[int, int, int, int]],
    begin: Cut,
    end: Cut,
    found: tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]],
    order: Cut,
) -> Iterator[Cut]:
    """Return cuts where nothing is equal: each block with moved text by itself, the others side by side."""
    queues = []
    for side in (0, 1):
        begins = {tile[side] for tile in moved}
        edges = sorted(begins | {tile[side] + tile[2] for tile in moved})
        inner = [edge for edge in edges if begin[side] < edge < end[side] and edge in found[side]]
        bounds = [begin[side], *inner, end[side]] if begin[side] < end[side] else []
        queues.append([(stop, any(start <= at < stop for at in begins)) for start, stop in pairwise(bounds)])
    at = list(begin)
    while any(queues):
        alone = next((side for side in order if queues[side] and queues[side][0][1]), None)
        for side in (0, 1) if alone is None else (alone,):
            if queues[side]:
                at[side] = queues[side].pop(0)[0]
        yield at[0], at[1]
