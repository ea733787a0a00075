"""Two texts in rows: nothing is lost, every match is on both sides, A and B may change places."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.alignment import (
    LIMITS,
    LINE,
    NONE,
    SENTENCE,
    WORDS_CAP,
    Alignment,
    Piece,
    align,
    breaks_of,
)
from neardup.comparison.records import make_alignment
from neardup.kernels.match.alignment import heaviest_chain, telling_runs
from neardup.runtime import SoFar, Watched
from neardup.text.units import words
from neardup.unicode import tokens
from support import reference_alignment as naive
from support import shared_data
from support.compared_texts import pairs
from support.strategies import mixed_text
from support.subsequence import subsequence_runs


def aligned(a: str, b: str, **asked: object) -> Alignment:
    return nd.compare(a, b, **asked).alignment  # type: ignore[arg-type]


def limited(a: str, b: str, *limits: int) -> Alignment:
    found = nd.compare(a, b)
    return align(found.a, found.b, found.tiles, (limits[0], limits[1]))


def shown(alignment: Alignment) -> list[tuple[str, str, str]]:
    """Return each row as (kind, text of A, text of B), changed words in brackets, moved ones in <>."""
    marks = {"changed": "[{}]", "moved": "<{}>", "characters": "({})"}

    def side(text: str, pieces: tuple[Piece, ...]) -> str:
        parts = (marks.get(piece.kind, "{}").format(text[piece.begin : piece.end]) for piece in pieces)
        return "".join(parts).strip()

    return [(row.kind, side(alignment.text_a, row.a), side(alignment.text_b, row.b)) for row in alignment.rows]


OLD = """Budget memo

The committee met on Friday at the town hall. It was decided to buy three boats for the harbour. All agreed.

The keys of the blue shed are with Anna from now on.

Dr. Miller pays 1200 to the office. Bye!
"""
NEW = """Budget memo

The keys of the blue shed are with Anna from now on.

The committee met on Thursday at the town hall. It was decided to buy three boats for the harbour. All agreed.

A new line.

Dr. Miller pays 1300 to the office. Bye!
"""
AGREED = "It was decided to buy three boats for the harbour. All agreed."
KEYS = "<The keys of the blue shed are with Anna from now on>."


def test_rows_of_a_memo() -> None:
    assert shown(aligned(OLD, NEW)) == [
        ("equal", "Budget memo", "Budget memo"),
        ("moved_b", "", KEYS),
        (
            "changed",
            "The committee met on [Friday] at the town hall.",
            "The committee met on [Thursday] at the town hall.",
        ),
        ("equal", AGREED, AGREED),
        ("moved_a", KEYS, ""),
        ("only_b", "", "[A new line]."),
        ("changed", "Dr. Miller pays [1200] to the office.", "Dr. Miller pays [1300] to the office."),
        ("equal", "Bye!", "Bye!"),
    ]
    assert aligned(OLD, NEW).places == {1: (2, 2), 2: (4, 1)}


def test_a_move_inside_a_sentence_stays_in_its_row() -> None:
    a = "We know that the night is dark here and all of us have seen it before today."
    b = "We know that all of us have seen it before today and the night is dark here."
    assert shown(aligned(a, b)) == [
        (
            "changed",
            "We know that <the night is dark here> [and] all of us have seen it before today.",
            "We know that all of us have seen it before today [and] <the night is dark here>.",
        )
    ]


def test_equal_words_by_chance_are_not_torn_out() -> None:
    a = "He will go to the harbour and look for the old boat."
    b = "She might sail past the tower but never see a new pier."
    assert shown(aligned(a, b)) == [("changed", f"[{a[:-1]}].", f"[{b[:-1]}].")]


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        ("", "", []),
        ("", "word", [("only_b", "", "[word]")]),
        ("...", "", [("only_a", "...", "")]),
        ("...", "?", [("characters", "(...)", "(?)")]),
        ("...", "word", [("changed", "[...]", "[word]")]),
        ("one", "One!", [("characters", "(one)", "(One!)")]),
        ("one", " one\n", [("equal", "one", "one")]),
        ("½", "1 2", [("characters", "(½)", "(1 2)")]),
    ],
)
def test_hardly_any_text(a: str, b: str, rows: list[tuple[str, str, str]]) -> None:
    assert shown(aligned(a, b)) == rows


@given(pairs(), st.sampled_from(["word", "char"]), st.integers(1, 6), st.booleans())
def test_both_texts_can_be_read_whole(texts: tuple[str, str], unit: str, length: int, numbers: bool) -> None:
    alignment = aligned(*texts, unit=unit, length=length, ignore_numbers=numbers)
    for text, sides in zip(texts, zip(*((row.a, row.b) for row in alignment.rows), strict=True), strict=False):
        pieces = [piece for side in sides for piece in side]
        assert "".join(text[piece.begin : piece.end] for piece in pieces) == text
        assert all(piece.end > piece.begin or piece.kind != "between" for piece in pieces)
    if not alignment.rows:
        assert texts == ("", "")


@given(pairs(), st.integers(1, 6))
def test_every_match_stands_once_on_each_side(texts: tuple[str, str], length: int) -> None:
    found = nd.compare(*texts, length=length)
    alignment = found.alignment
    assert [match.number for match in alignment.matches] == list(range(1, len(found.tiles) + 1))
    for side, text in enumerate(texts):
        pieces = [piece for row in alignment.rows for piece in (row.a, row.b)[side]]
        shown_matches = {piece.match for piece in pieces if piece.match}
        assert sorted(piece.match for piece in pieces if piece.opens) == sorted(shown_matches)
        for match, chunk in zip(alignment.matches, found.chunks(), strict=True):
            own = [piece for piece in pieces if piece.match == match.number]
            if not own:  # all of it is in numbers that differ
                continue
            assert own[0].opens
            assert {piece.kind for piece in own} <= {"moved" if match.moved else "same", "characters"}
            begin, end = (match.a, match.b)[side]
            assert text[begin:end] == (chunk["text_a"], chunk["text_b"])[side]
            # its tokens in numbers that differ are changed; marks at its ends that differ are in its pieces
            assert own[0].begin < end
            assert own[-1].end > begin


@given(pairs())
def test_equal_rows_have_equal_tokens(texts: tuple[str, str]) -> None:
    for row in aligned(*texts).rows:
        if row.kind in ("equal", "characters") and row.a and row.b:
            a, b = (
                tokens(text[pieces[0].begin : pieces[-1].end])
                for text, pieces in zip(texts, (row.a, row.b), strict=True)
            )
            assert a == b


@given(pairs(), st.integers(2, 6))
def test_the_other_way_round_the_sides_change_places(texts: tuple[str, str], length: int) -> None:
    one, other = aligned(*texts, length=length), aligned(*reversed(texts), length=length)
    swapped = {"only_a": "only_b", "only_b": "only_a", "moved_a": "moved_b", "moved_b": "moved_a"}

    def bare(pieces: tuple[Piece, ...]) -> tuple[tuple[str, int, int], ...]:
        return tuple((piece.kind, piece.begin, piece.end) for piece in pieces)

    assert Counter((row.kind, bare(row.a), bare(row.b)) for row in one.rows) == Counter(
        (swapped.get(row.kind, row.kind), bare(row.b), bare(row.a)) for row in other.rows
    )
    assert {(match.a, match.b, match.moved) for match in one.matches} == {
        (match.b, match.a, match.moved) for match in other.matches
    }


@given(pairs(), st.integers(1, 4))
def test_the_matches_in_order_are_a_heaviest_chain(texts: tuple[str, str], length: int) -> None:
    found = nd.compare(*texts, length=length)
    in_order = [match for match in found.alignment.matches if not match.moved]
    assert [match.b for match in in_order] == sorted(match.b for match in in_order)
    tiles = [tuple(tile) for tile in found.tiles.tolist()]
    assert sum(match.units for match in in_order) == naive.heaviest_chain(tiles)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_heaviest_chain_of_shuffled_tiles(lengths: list[int], random: object) -> None:
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    starts_a = [sum(lengths[:k]) for k in range(len(lengths))]
    starts_b = {k: sum(lengths[other] for other in order[:at]) for at, k in enumerate(order)}
    tiles = np.array([(starts_a[k], starts_b[k], lengths[k]) for k in range(len(lengths))], np.int64)
    chosen = tiles[heaviest_chain(tiles, sum(lengths))]
    assert (np.diff(chosen[:, 1]) > 0).all()
    assert chosen[:, 2].sum() == naive.heaviest_chain([tuple(tile) for tile in tiles.tolist()])


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_runs_are_a_longest_common_subsequence(a: list[int], b: list[int]) -> None:
    first, second = np.array(a, np.int32), np.array(b, np.int32)
    runs = subsequence_runs(first, second)
    assert runs[:, 2].sum() == naive.subsequence(a, b)
    end_a = end_b = 0
    for i, j, length in runs.tolist():
        assert a[i : i + length] == b[j : j + length]
        assert i > end_a or j > end_b or i == j == 0
        assert i >= end_a
        assert j >= end_b
        end_a, end_b = i + length, j + length


@pytest.mark.parametrize(
    ("runs", "sizes", "kept"),
    [
        ([(3, 3, 1)], (6, 6), [False]),
        ([(3, 3, 2)], (8, 8), [False]),
        ([(3, 3, 3)], (9, 9), [True]),
        ([(0, 0, 1)], (6, 6), [True]),
        ([(1, 1, 1)], (6, 6), [True]),
        ([(4, 4, 2), (7, 7, 1)], (12, 12), [True, True]),
        ([(4, 4, 1), (7, 7, 2)], (12, 12), [False, False]),
    ],
)
def test_which_runs_tell_something(
    runs: list[tuple[int, int, int]], sizes: tuple[int, int], kept: list[bool]
) -> None:
    assert telling_runs(np.array(runs, np.int64), *sizes).tolist() == kept


def test_too_much_to_align_is_said_and_nothing_is_lost() -> None:
    a = "alpha beta one two gamma three four delta five"
    b = "alpha beta uno due gamma tre quattro delta cinque"
    whole = shown(aligned(a, b))
    capped = limited(a, b, 4, LIMITS[1])
    assert capped.caps == ()  # the words that occur once leave stretches of two by two
    assert shown(capped) == whole
    capped = limited(a, b, 3, LIMITS[1])
    assert capped.caps == (WORDS_CAP,)
    assert "".join(a[p.begin : p.end] for row in capped.rows for p in row.a) == a


@given(pairs(), st.integers(0, 30))
def test_whatever_the_limit_both_texts_can_be_read(texts: tuple[str, str], most: int) -> None:
    alignment = limited(*texts, LIMITS[0], most)
    assert "".join(texts[0][p.begin : p.end] for row in alignment.rows for p in row.a) == texts[0]
    assert "".join(texts[1][p.begin : p.end] for row in alignment.rows for p in row.b) == texts[1]


@pytest.mark.parametrize(
    ("text", "before", "kinds"),
    [
        ("One. two", "two", NONE),
        ("Then. Two", "Two", SENTENCE),
        ("Then? »Two", "Two", SENTENCE),
        ('He said "no." Then', "Then", SENTENCE),
        ("Mr. Two", "Two", NONE),
        ("2. Two", "Two", NONE),
        ("see No. 2", "2", NONE),
        ("here.\nno", "no", LINE),
        ("here\r\n\r\nTwo", "Two", LINE),
        ("here\u2028Two", "Two", LINE),
        ("好。人", "人", SENTENCE),
    ],
)
def test_where_rows_may_end(text: str, before: str, kinds: int) -> None:
    units = words(text)
    at = [units.quote(k, k + 1) for k in range(len(units))].index(before)
    breaks = breaks_of(units)
    assert breaks.kinds[at] == kinds
    if kinds != NONE:
        assert units.spans[at - 1, 1] <= breaks.places[at] <= units.spans[at, 0]


@given(mixed_text())
def test_an_identical_text_is_equal_rows_only(text: str) -> None:
    assert set(aligned(text, text).kinds) <= {"equal"}


@pytest.mark.parametrize("name", ["own", "law_de", "license_texts", "site_policy"])
def test_real_versions(name: str) -> None:
    texts = shared_data.documents(name)
    asked = [row for row in shared_data.published_pairs(name) if 0.5 < float(row["jaccard"]) < 1][:25]
    assert asked
    for row in asked:
        a, b = texts[row["id_a"]], texts[row["id_b"]]
        alignment = aligned(a, b)
        assert "".join(a[p.begin : p.end] for r in alignment.rows for p in r.a) == a
        assert "".join(b[p.begin : p.end] for r in alignment.rows for p in r.b) == b
        equal = sum(p.end - p.begin for r in alignment.rows for p in r.a if p.kind == "same")
        assert equal > 0.4 * min(len(a), len(b))


def test_each_row_counts_in_the_progress_of_an_alignment() -> None:
    seen: list[SoFar | None] = []

    class Kept(Watched):
        @property  # type: ignore[override]
        def now(self) -> SoFar | None:
            return seen[-1]

        @now.setter
        def now(self, so_far: SoFar | None) -> None:
            seen.append(so_far)

    lines = [f"Line {n} of the deed about the harbour." for n in range(9)]
    changed = [*lines[:3], "Another line.", *(line.replace("deed", "plan") for line in lines[3:])]
    record = nd.compare("\n".join(lines), "\n".join(changed))
    make_alignment(record, Kept())
    count = len(record.alignment.rows)
    assert seen[0] is None
    assert seen[1:-1] == [SoFar("alignment", done, count, "rows") for done in range(count + 1)]
    assert seen[-1] is None
