"""The places where a text differs from another one, as a reader sees them: names, amounts, dates, passages."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from neardup.comparison.alignment import LINE, SENTENCE, breaks_of
from neardup.comparison.expressions import expressions_of, is_date, is_number, reads_alike
from neardup.comparison.kinds import PASSAGE
from neardup.comparison.kinds.blocks import blocks_of
from neardup.tables import Int64s
from neardup.text.characters import SIGN, differences
from neardup.text.units import Reading, Units

Difference = Literal["amount", "date", "name", "sign", "OCR", "moved", "paragraph", "sentence", "words"]
"""The differences in a place. *amount*: numbers with their marks. *OCR*: it may have read one for the other."""

_CAPITALS = "A-Z" + "".join(filter(str.isupper, map(chr, (*range(0xC0, 0x590), *range(0x1E00, 0x1F00)))))
"""The capitals of Latin, Greek, Cyrillic and Armenian letters: other scripts have none."""
_PART = rf"[{_CAPITALS}](?:\.|[\w'’-]*(?!\w))"
_PARTICLES = "von|van|vom|zu|de|den|der|del|della|di|da|dos|du|la|le|el|of|bin"
_PARTICLE = rf"(?:(?:{_PARTICLES})[ \u00a0])"
_OF_NAME, _DIGIT = re.compile(rf"(?:{_PARTICLES})\Z|.*[{_CAPITALS}]", re.DOTALL), re.compile(r"\d")
_NAME = re.compile(rf"{_PART}(?:[ \u00a0]{_PARTICLE}{{0,2}}{_PART}){{1,5}}")
"""Two to six words with a capital each, on one line, and particles between them.

One word alone is no name: in German every noun has a capital.
"""
NEAR = 16
"""Tokens on either side of a difference among which its name, amount or date is looked for."""


class TextChange(NamedTuple):
    """Tokens [begin, end) of A that B has not, or has otherwise, and its kind.

    ``before`` and ``after`` are the texts of A and of B in this place; one of them may be empty.
    """

    begin: int
    end: int
    before: str
    after: str
    what: Difference


class TokenStretch(NamedTuple):
    """Tokens [i, j) of A, and [k, m) of B."""

    i: int
    j: int
    k: int
    m: int


@dataclass(frozen=True, eq=False)
class ChangedText:
    """A text with what readers take as one in it."""

    reading: Reading

    @cached_property
    def units(self) -> Units:
        """Its tokens."""
        return self.reading.words

    @cached_property
    def breaks(self) -> list[int]:
        """The kind of break before each token, and at the end."""
        kinds: list[int] = breaks_of(self.units).kinds.tolist()
        return kinds

    @cached_property
    def _known(self) -> dict[tuple[int, int], tuple[int, int]]:
        return {}

    def around(self, begin: int, end: int) -> tuple[int, int]:
        """Return how many tokens before ``begin`` and behind ``end`` belong to something that is cut there.

        They are kept: many texts may differ from this one in the same place.
        """
        known = self._known.get((begin, end))
        if known is None:
            known = self._known[begin, end] = self._cut_at(begin, end)
        return known

    def _cut_at(self, begin: int, end: int) -> tuple[int, int]:
        before = behind = 0
        for first, last in self._wholes_near(begin, end):
            if first < begin < last:
                before = max(before, begin - first)
            if first < end < last:
                behind = max(behind, last - end)
        return before, behind

    def _may_go_on(self, edge: int) -> bool:
        """Return whether the tokens before and behind an edge may be in one name, amount, date or address.

        Two words with a space between them are in none but names, of words with capitals and particles, and dates.
        """
        (begin, end), (following, last) = self.units.spans[edge - 1 : edge + 1].tolist()
        text = self.units.text
        left, right = text[begin:end], text[following:last]
        if text[end:following] not in (" ", "\u00a0") or _DIGIT.search(left) or _DIGIT.search(right):
            return True
        return bool(_OF_NAME.match(left) and (_OF_NAME.match(right) or left.casefold() == "of"))

    def _wholes_near(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the tokens [first, last) of names, amounts, dates and addresses around the tokens [begin, end)."""
        text, spans, size = self.units.text, self.units.spans, len(self.units)
        edges = {edge for edge in (begin, end) if 0 < edge < size and self._may_go_on(edge)}
        windows = [(begin, end)] if end - begin <= NEAR and edges else [(edge, edge) for edge in edges]
        for left, right in windows:
            token = max(0, left - NEAR)
            near = spans[token : right + NEAR].tolist()
            start, stop, begins = near[0][0], near[-1][1], [begin for begin, _ in near]
            for each in expressions_of(text, near, token, start, stop):
                yield each.first, each.last
            for name in _NAME.finditer(text, start, stop):
                first, last = (token + bisect_left(begins, place) for place in name.span())
                # the first word of a sentence has a capital in any case
                yield first + (last - first > 2 and self.breaks[first] > 0), last


def changes_of(a: ChangedText, b: ChangedText) -> tuple[TextChange, ...]:
    """Return the places where B differs from A, in the order of A.

    >>> from neardup.text.units import read
    >>> a = ChangedText(read("Pay Anna Berg 1,200.00 by noon."))
    >>> for change in changes_of(a, ChangedText(read("Pay Tom Berg 1,350.00 by noon."))):
    ...     print(change.what, change.before, "→", change.after)
    name Anna Berg → Tom Berg
    amount 1,200.00 → 1,350.00
    """
    chain, moved, gaps = _blocks_and_gaps(a, b)
    changes = [_change(a, b, gap, moved) for gap in gaps]
    return tuple(sorted([*changes, *_signs(a.units, b.units, chain)]))


def stretches_of(a: ChangedText, b: ChangedText) -> list[TokenStretch]:
    """Return the stretches of tokens that differ, in the order of both texts; all others are equal."""
    return _blocks_and_gaps(a, b)[2]


def _blocks_and_gaps(
    a: ChangedText, b: ChangedText
) -> tuple[list[list[int]], list[list[int]], list[TokenStretch]]:
    """Return the common blocks in the order of both texts, those that are moved, and the gaps, widened."""
    blocks = blocks_of(a.units, b.units)
    chain: list[list[int]] = blocks.blocks[~blocks.moved].tolist()
    moved: list[list[int]] = blocks.blocks[blocks.moved].tolist()
    ends = [[0, 0, 0], *chain, [*blocks.sizes, 0]]
    gaps = (TokenStretch(i + n, j, k + n, m) for (i, k, n), (j, m, _) in pairwise(ends))
    return chain, moved, list(_widened_gaps(a, b, [gap for gap in gaps if gap.i < gap.j or gap.k < gap.m]))


def _widened_gaps(a: ChangedText, b: ChangedText, gaps: list[TokenStretch]) -> Iterator[TokenStretch]:
    """Yield the gaps widened to the names, amounts and dates that they cut; those that overlap are one."""
    last: TokenStretch | None = None
    for number, gap in enumerate(gaps):
        least = gaps[number - 1].j if number else 0
        most = gaps[number + 1].i if number + 1 < len(gaps) else len(a.units)
        (before_a, behind_a), (before_b, behind_b) = a.around(gap.i, gap.j), b.around(gap.k, gap.m)
        before, behind = min(max(before_a, before_b), gap.i - least), min(max(behind_a, behind_b), most - gap.j)
        gap = TokenStretch(gap.i - before, gap.j + behind, gap.k - before, gap.m + behind)
        if last is not None and (last.j > gap.i or last.m > gap.k):
            last = TokenStretch(last.i, max(last.j, gap.j), last.k, max(last.m, gap.m))
            continue
        if last is not None:
            yield last
        last = gap
    if last is not None:
        yield last


def _change(a: ChangedText, b: ChangedText, gap: TokenStretch, moved: list[list[int]]) -> TextChange:
    before, after = a.units.quote(gap.i, gap.j), b.units.quote(gap.k, gap.m)
    return TextChange(gap.i, gap.j, before, after, _difference_of(a, b, gap, before, after, moved))


def _difference_of(
    a: ChangedText, b: ChangedText, gap: TokenStretch, before: str, after: str, moved: list[list[int]]
) -> Difference:
    there = [text for text in (before, after) if text]
    if _is_moved(gap, moved):
        return "moved"
    if all(map(is_date, there)):
        return "date"
    if all(map(is_number, there)):
        return "amount"
    if reads_alike(before, after):
        return "OCR"
    if all(map(_NAME.fullmatch, there)):
        return "name"
    if not (before and after):
        text, begin, end = (a, gap.i, gap.j) if before else (b, gap.k, gap.m)
        edges = text.breaks[begin], text.breaks[end]
        if end - begin >= PASSAGE and min(edges) >= SENTENCE:
            return "paragraph" if min(edges) == LINE else "sentence"
    return "words"


def _is_moved(gap: TokenStretch, moved: list[list[int]]) -> bool:
    """Whether all tokens of the gap are in blocks that the other text has elsewhere."""
    of_a = sum(min(gap.j, i + n) - max(gap.i, i) for i, _, n in moved if i < gap.j and gap.i < i + n)
    of_b = sum(min(gap.m, k + n) - max(gap.k, k) for _, k, n in moved if k < gap.m and gap.k < k + n)
    return bool(moved) and of_a + of_b == gap.j - gap.i + gap.m - gap.k


def _signs(a: Units, b: Units, chain: list[list[int]]) -> Iterator[TextChange]:
    """Yield the signs and operators that differ in equal tokens."""
    for i, j, size in chain:
        bounds = tuple(
            (int(units.spans[first, 0]), int(units.spans[first + size - 1, 1]))
            for units, first in ((a, i), (b, j))
        )
        if a.text[slice(*bounds[0])] == b.text[slice(*bounds[1])]:
            continue
        spans: tuple[Int64s, Int64s] = a.spans[i : i + size], b.spans[j : j + size]
        for each in differences(a.text, b.text, *spans, (bounds[0], bounds[1])):
            if each.kind == SIGN:
                before, after = a.text[slice(*each.a)], b.text[slice(*each.b)]
                yield TextChange(i + each.first, i + each.last, before, after, "sign")
