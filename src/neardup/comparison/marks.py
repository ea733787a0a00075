"""Marks inside the rows of an alignment: characters that differ between equal tokens, and whole expressions.

Rows are made by tokens. Here the pieces of a row are refined: an amount with a token that differs is changed
as a whole, and punctuation, signs and case that differ are marked on both sides. No row begins or ends elsewhere.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.comparison.expressions import Expression, expressions_of
from neardup.kernels.rows import CHANGED, CHANGED_ROW, CHARACTERS, EQUAL_ROW
from neardup.runtime import Advance
from neardup.tables import Int64s
from neardup.text.characters import (
    COUNTED,
    MARK,
    SIGN,
    SPACE,
    WHITE_SPACE,
    CharacterDifference,
    differences,
    differing_spans,
    gap_of,
    kind_of_gaps,
)
from neardup.text.units import Units

Span = tuple[int, int]
_SPACE = re.compile(" ")
REACH = 40
"""Characters around tokens that differ, and up to the next space, that may be in an expression with them."""


class PieceMark(NamedTuple):
    """Characters [begin, end) of one text that have another kind of piece, CHANGED or CHARACTERS.

    An empty mark only parts the piece around it: the other text has characters there.
    """

    begin: int
    end: int
    kind: int


class Anchor(NamedTuple):
    """Equal tokens in both texts: [a, a + size) of A and [b, b + size) of B."""

    a: int
    b: int
    size: int


@dataclass(frozen=True, eq=False)
class PairedText:
    """A row, or a moved match, of two texts: its characters and its tokens [begin, end) in A and in B."""

    units: tuple[Units, Units]
    chars: tuple[Span, Span]
    tokens: tuple[Span, Span]
    anchors: Sequence[Anchor]
    marks: tuple[list[PieceMark], list[PieceMark]] = field(default_factory=lambda: ([], []))
    places: list[CharacterDifference] = field(default_factory=list)
    least: int = SPACE
    """The least kind that counts before the first token and after the last one."""
    _last: list[tuple[Span, list[Expression]]] = field(default_factory=lambda: [((0, 0), []), ((0, 0), [])])

    def _expressions_in(self, side: int, chars: Span) -> list[Expression]:
        """Return the expressions in the characters of a side; those of the last ones are kept.

        In a row without spaces, such as a list with commas, all differences are in the same characters.
        """
        last, expressions = self._last[side]
        if last != chars:
            text, first = self.units[side].text, self.tokens[side][0]
            expressions = list(expressions_of(text, self._spans[side], first, *chars))
            self._last[side] = chars, expressions
        return expressions

    def _near_edits(self) -> list[Span]:
        """Return the characters of both sides that may be in an expression with tokens of one side alone."""
        ends = Anchor(self.tokens[0][1], self.tokens[1][1], 0)
        first, last = [*self.anchors, ends][0], [Anchor(0, 0, 0), *self.anchors][-1]
        near = []
        for side, (begin, end) in enumerate(self.chars):
            if first.size and first[side] == self.tokens[side][0]:
                begin = self._place(side, first[side] + first.size - 1)[1]
            if last.size and last[side] + last.size == self.tokens[side][1]:
                end = self._place(side, last[side])[0]
            near.append(self._around(side, begin, max(begin, end)))
        return near

    def _around(self, side: int, begin: int, end: int) -> Span:
        """Return the characters that may be in an expression with the characters [begin, end)."""
        (least, most), spaces = self.chars[side], self._spaces[side]
        first, last = bisect_left(spaces, begin - REACH), bisect_left(spaces, end + REACH)
        return spaces[first - 1] if first else least, spaces[last] if last < len(spaces) else most

    @cached_property
    def _spaces(self) -> tuple[list[int], list[int]]:
        """The places of the spaces of both sides."""
        a, b = (
            [match.start() for match in _SPACE.finditer(units.text, *chars)]
            for units, chars in zip(self.units, self.chars, strict=True)
        )
        return a, b

    def compare(self) -> None:
        """Find the marks of both sides and the differences of characters."""
        kept, edges = self._whole() if len(self.anchors) != 1 or self._has_edits() else (self.anchors, ({}, {}))
        before = Anchor(self.tokens[0][0], self.tokens[1][0], 0)
        for anchor in (*kept, None):
            self._between(before, anchor, edges)
            if anchor is not None:
                self._inside(anchor)
                before = anchor
        self._mark_characters()

    def _mark_characters(self) -> None:
        """PieceMark the differences that count; those with only white space between them have one mark."""
        last: tuple[Span, ...] = ()
        for each in self.places:
            if each.kind >= COUNTED:
                spans: tuple[Span, ...] = (each.a, each.b)
                between = [self._text(side, (last[side][1], spans[side][0])) for side in (0, 1)] if last else [""]
                if all(map(str.isspace, between)):
                    spans = tuple((first[0], span[1]) for first, span in zip(last, spans, strict=True))
                    for marks in self.marks:
                        marks.pop()
                for side, span in enumerate(spans):
                    self.marks[side].append(PieceMark(*span, CHARACTERS))
                last = spans

    def _has_edits(self) -> bool:
        return any(end - begin != self.anchors[0].size for begin, end in self.tokens)

    @cached_property
    def _spans(self) -> tuple[list[Span], list[Span]]:
        """The characters of the tokens of the stretch."""
        a, b = (
            list(map(tuple, units.spans[slice(*tokens)].tolist()))
            for units, tokens in zip(self.units, self.tokens, strict=True)
        )
        return a, b

    def _place(self, side: int, token: int) -> Span:
        return self._spans[side][token - self.tokens[side][0]]

    # ---- expressions that differ ----

    def _whole(self) -> tuple[Sequence[Anchor], tuple[dict[int, int], dict[int, int]]]:
        """PieceMark the expressions that differ, as a whole; return the anchors without their tokens.

        Also return, for each side, where the marks of expressions begin and end: {begin of a token: begin of the
        mark, end of a token: end of the mark}.
        """
        edges: tuple[dict[int, int], dict[int, int]] = ({}, {})
        expressions = [self._expressions_in(side, chars) for side, chars in enumerate(self._near_edits())]
        if not any(expressions):
            return self.anchors, edges
        partners = self._partners()
        waiting = [
            (side, one)
            for side in (0, 1)
            for one in expressions[side]
            if self._differs(side, one, partners, expressions[1 - side])
        ]
        broken: tuple[set[Expression], set[Expression]] = (set(), set())
        dropped: set[int] = set()
        while waiting:
            side, one = waiting.pop()
            if one in broken[side]:
                continue
            broken[side].add(one)
            others = {partners[side][token] for token in range(one.first, one.last) if token in partners[side]}
            dropped |= others if side else {token for token in range(one.first, one.last) if token in partners[0]}
            near = (each for token in sorted(others) for each in _with_tokens(expressions[1 - side], token))
            waiting += [(1 - side, each) for each in dict.fromkeys(near)]
        for side in (0, 1):
            for one in broken[side]:
                self.marks[side].append(PieceMark(one.begin, one.end, CHANGED))
                edges[side][self._place(side, one.first)[0]] = one.begin
                edges[side][self._place(side, one.last - 1)[1]] = one.end
            covered = {token for one in broken[side] for token in range(one.first, one.last)}
            gone = sorted((partners[0][token] if side else token) for token in dropped)
            self.marks[side].extend(
                PieceMark(*self._place(side, token), CHANGED) for token in gone if token not in covered
            )
        return list(self._without(dropped)), edges

    def _partners(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the equal token of the other side for each token of an expression."""
        partners: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for a, b, size in self.anchors:
            partners[0].update(zip(range(a, a + size), range(b, b + size), strict=True))
        partners[1].update((b, a) for a, b in partners[0].items())
        return partners

    def _differs(
        self, side: int, one: Expression, partners: Sequence[Mapping[int, int]], others_of: Sequence[Expression]
    ) -> bool:
        """Whether the other side lacks a token of an expression, has more between, or other marks around."""
        others = [partners[side].get(token, -1) for token in range(one.first, one.last)]
        if -1 in others or others[-1] - others[0] != len(others) - 1:
            return True
        text, other = self.units[side].text, self.units[1 - side].text
        begin, end = self._place(1 - side, others[0])[0], self._place(1 - side, others[-1])[1]
        for each in _with_tokens(others_of, others[0]):
            if (each.first, each.last) == (others[0], others[-1] + 1):
                begin, end = each.begin, each.end
        if text[one.begin : one.end] == other[begin:end]:
            return False
        return self._is_at_edit(side, one, others)

    def _is_at_edit(self, side: int, one: Expression, others: list[int]) -> bool:
        """Whether the marks around an expression are next to tokens that differ."""
        anchor = self.anchors[bisect_right(self.anchors, one.first, key=itemgetter(side)) - 1]
        ends = anchor.a + anchor.size, anchor.b + anchor.size
        before = any(anchor[which] > self.tokens[which][0] for which in (0, 1))
        after = any(ends[which] < self.tokens[which][1] for which in (0, 1))
        return (before and one.first == anchor[side]) or (after and one.last == ends[side])

    def _without(self, dropped: set[int]) -> Iterator[Anchor]:
        """Yield the anchors without some tokens of A."""
        for a, b, size in self.anchors:
            first = 0
            for k in range(size + 1):
                if k == size or a + k in dropped:
                    if first < k:
                        yield Anchor(a + first, b + first, k - first)
                    first = k + 1

    # ---- characters between tokens ----

    def _between(self, before: Anchor, after: Anchor | None, edges: tuple[dict[int, int], dict[int, int]]) -> None:
        """Compare the characters between two anchors, which may have other tokens between them."""
        gaps, edited = [], []
        for side in (0, 1):
            first, last = before[side] + before.size, self.tokens[side][1] if after is None else after[side]
            begin = self._place(side, first - 1)[1] if before.size else self.chars[side][0]
            end = self.chars[side][1] if after is None else self._place(side, last)[0]
            edited.append(first < last)
            if first < last:
                left, right = self._place(side, first)[0], self._place(side, last - 1)[1]
                gaps.append(((begin, edges[side].get(left, left)), (edges[side].get(right, right), end)))
            else:
                gaps.append(((begin, end), (end, end)))
        if all(edited):
            for which in (0, 1):
                self._changed_gaps((gaps[0][which], gaps[1][which]), which)
        elif any(edited):
            self._one_sided(edited.index(True), gaps)
        else:
            self._equal_gaps(gaps[0][0], gaps[1][0], before, after)

    def _changed_gaps(self, gaps: Sequence[Span], which: int) -> None:
        """PieceMark the characters that differ before (0) or after (1) tokens that differ."""
        solid = [self._solid(side, gap)[:: -1 if which else 1] for side, gap in enumerate(gaps)]
        texts = [[self.units[side].text[place] for place in places] for side, places in enumerate(solid)]
        if texts[0] == texts[1]:
            return
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        for side, (begin, end) in enumerate(gaps):
            if same < len(solid[side]):
                place = solid[side][same]
                self._change(side, *((begin, place + 1) if which else (place, end)))

    def _one_sided(self, side: int, gaps: Sequence[tuple[Span, Span]]) -> None:
        """PieceMark the characters around tokens that one text has: those that the gap of the other one lacks."""
        (lead, trail), whole = gaps[side], gaps[1 - side][0]
        before, after, others = self._solid(side, lead), self._solid(side, trail), self._solid(1 - side, whole)
        text, other = self.units[side].text, "".join(self.units[1 - side].text[place] for place in others)
        first, last = ("".join(text[place] for place in places) for places in (before, after))
        common = (0, 0)
        for size in range(min(len(first), len(other)), -1, -1):
            if first[:size] == other[:size] and last.endswith(other[size:]):
                common = size, len(other) - size
                break
        else:
            self._change(1 - side, others[0], others[-1] + 1)
        if common[0] < len(before):
            self._change(side, before[common[0]], lead[1])
        if common[1] < len(after):
            self._change(side, trail[0], after[-1 - common[1]] + 1)

    def _change(self, side: int, begin: int, end: int) -> None:
        self.marks[side].append(PieceMark(begin, end, CHANGED))

    def _text(self, side: int, span: Span) -> str:
        return self.units[side].text[slice(*span)]

    def _solid(self, side: int, span: Span) -> list[int]:
        """Return the places of the characters of a span that are no white space."""
        text = self.units[side].text
        return [place for place in range(*span) if not text[place].isspace()]

    def _equal_gaps(self, a: Span, b: Span, before: Anchor, after: Anchor | None) -> None:
        """Compare the characters before the first token, or after the last one."""
        if self._text(0, a) == self._text(1, b):
            return
        solid = [self._trim(side, gap) for side, gap in ((0, a), (1, b))]
        text_a, text_b = (units.text for units in self.units)
        kind = kind_of_gaps(gap_of(text_a, *solid[0]), gap_of(text_b, *solid[1]))
        if kind is not None and kind >= self.least:
            parts = differing_spans(text_a, solid[0], text_b, solid[1])
            own = before if after is None else after
            place = own.size if after is None else 0
            self._add([CharacterDifference(kind, place, place, *parts)], own)

    def _trim(self, side: int, span: Span) -> Span:
        text = self._text(side, span)
        bare = text if span[0] else text.removeprefix(MARK)
        begin = span[0] + len(text) - len(bare.lstrip(WHITE_SPACE))
        return begin, max(begin, span[0] + len(text.rstrip(WHITE_SPACE)))

    def _inside(self, anchor: Anchor) -> None:
        """Compare the characters of equal tokens, and those between them."""
        (a, b), size = anchor[:2], anchor.size
        bounds = [
            (self._place(side, first)[0], self._place(side, first + size - 1)[1])
            for side, first in ((0, a), (1, b))
        ]
        if self._text(0, bounds[0]) == self._text(1, bounds[1]):
            return
        one, other = self.units
        spans = one.spans[a : a + size], other.spans[b : b + size]
        self._add(differences(one.text, other.text, *spans, (bounds[0], bounds[1])), anchor)

    def _add(self, every: Iterable[CharacterDifference], anchor: Anchor) -> None:
        """Add differences of characters, each with the expression or the joined words that it is in."""
        for each in every:
            if each.kind >= COUNTED:
                wide = self._widen(each, anchor)
                last = self.places[-1] if self.places else None
                if last and last.kind >= COUNTED and (wide.a[0] < last.a[1] or wide.b[0] < last.b[1]):
                    wide = _join(self.places.pop(), wide)
                self.places.append(wide)
            else:
                self.places.append(each)

    def _widen(self, each: CharacterDifference, anchor: Anchor) -> CharacterDifference:
        """Return a difference with all of the expressions that it is in, or of the words that it joins."""
        first, last, spans = each.first, each.last, [each.a, each.b]
        if first == last and 0 < first < anchor.size:
            gaps = [
                (self._place(side, anchor[side] + first - 1)[1], self._place(side, anchor[side] + first)[0])
                for side in (0, 1)
            ]
            joins = any(
                self._text(side, gap) and not any(map(str.isspace, self._text(side, gap)))
                for side, gap in enumerate(gaps)
            )
            if joins or all(begin == end for begin, end in spans):
                first, last = first - 1, last + 1
        expressions = [self._expressions_in(side, self._around(side, *span)) for side, span in enumerate(spans)]
        size = -1 if any(expressions) else last - first
        while size != last - first:
            size = last - first
            for side in (0, 1):
                for one in _with_tokens(expressions[side], anchor[side] + first - 1, anchor[side] + last):
                    begin, end = one.first - anchor[side], one.last - anchor[side]
                    touches = begin < last and first < end
                    touches |= (
                        first == last
                        and one.begin <= spans[side][0]
                        and spans[side][1] <= one.end
                        and begin <= first <= end
                    )
                    if touches and begin >= 0 and end <= anchor.size:
                        first, last = min(first, begin), max(last, end)
                        spans[side] = min(spans[side][0], one.begin), max(spans[side][1], one.end)
        while first < last < anchor.size and self._shares(anchor, last, spans):
            last += 1
        if first < last:
            for side in (0, 1):
                begin, end = (
                    self._place(side, anchor[side] + first)[0],
                    self._place(side, anchor[side] + last - 1)[1],
                )
                spans[side] = min(spans[side][0], begin), max(spans[side][1], end)
        return CharacterDifference(each.kind, first, last, spans[0], spans[1])

    def _shares(self, anchor: Anchor, token: int, spans: Sequence[Span]) -> bool:
        """Whether a token is of a character in one of the spans, as the 2 of ½ is."""
        return any(self._place(side, anchor[side] + token)[0] < spans[side][1] for side in (0, 1))


def _with_tokens(expressions: Sequence[Expression], first: int, last: int | None = None) -> Iterator[Expression]:
    """Yield the expressions (in order) with one of the tokens from ``first`` to ``last``, by default ``first``."""
    for place in range(bisect_right(expressions, first, key=attrgetter("last")), len(expressions)):
        if expressions[place].first > (first if last is None else last):
            return
        yield expressions[place]


def _join(one: CharacterDifference, other: CharacterDifference) -> CharacterDifference:
    """Return two differences as one, of the weightier kind."""
    a, b = ((min(x[0], y[0]), max(x[1], y[1])) for x, y in ((one.a, other.a), (one.b, other.b)))
    return CharacterDifference(
        max(one.kind, other.kind), min(one.first, other.first), max(one.last, other.last), a, b
    )


def of_rows(
    units: tuple[Units, Units],
    kinds: NDArray[np.int8],
    chars: tuple[Int64s, Int64s],
    cuts: Int64s,
    runs: Int64s,
    advance: Advance,
) -> Iterator[PairedText]:
    """Yield the rows of both texts whose characters differ, compared.

    ``kinds`` are the kinds of the rows, ``chars`` int64[rows, 2] their characters in A and in B, ``cuts``
    int64[rows, 2] the tokens of A and of B up to the end of each row. ``runs`` int64[r, 3] (start in A, start in
    B, length) are the equal tokens that are side by side, in order. ``advance`` is called for each row.
    """
    begins = np.zeros_like(cuts)
    begins[1:] = cuts[:-1]
    joins = (runs[1:, :2] == runs[:-1, :2] + runs[:-1, 2:]).all(axis=1)
    first = np.flatnonzero(np.concatenate((np.ones(min(len(runs), 1), np.bool_), ~joins)))
    sizes = np.add.reduceat(runs[:, 2], first) if len(first) else np.zeros(0, np.int64)
    starts = np.column_stack((runs[first, :2], sizes))
    ends = starts[:, 0] + sizes
    text_a, text_b = (side.text for side in units)
    columns = (kinds.tolist(), *(side.tolist() for side in chars), begins.tolist(), cuts.tolist())
    for kind, a, b, begin, end in zip(*columns, strict=True):
        advance(1)
        if kind == EQUAL_ROW:
            if text_a[a[0] : a[1]] == text_b[b[0] : b[1]]:
                continue
            anchors = [Anchor(begin[0], begin[1], end[0] - begin[0])] * (begin[0] < end[0])
        elif kind == CHANGED_ROW:
            near = starts[np.searchsorted(ends, begin[0], "right") : np.searchsorted(starts[:, 0], end[0])]
            anchors = list(_inside(near.tolist(), begin[0], end[0]))
        else:
            continue
        stretch = PairedText(units, (tuple(a), tuple(b)), ((begin[0], end[0]), (begin[1], end[1])), anchors)
        stretch.compare()
        yield stretch


def _inside(runs: list[list[int]], begin: int, end: int) -> Iterator[Anchor]:
    """Yield the parts of runs whose tokens of A are in [begin, end)."""
    for a, b, size in runs:
        skip, stop = max(begin - a, 0), min(end - a, size)
        if skip < stop:
            yield Anchor(a + skip, b + skip, stop - skip)


def of_moved(units: tuple[Units, Units], tiles: Int64s) -> Iterator[PairedText]:
    """Yield the moved matches (int64[k, 3]) whose characters differ, compared, with the marks at their ends."""
    for a, b, size in tiles.tolist():
        chars = _span_with_marks(units[0], a, a + size), _span_with_marks(units[1], b, b + size)
        if units[0].text[slice(*chars[0])] != units[1].text[slice(*chars[1])]:
            stretch = PairedText(units, chars, ((a, a + size), (b, b + size)), [Anchor(a, b, size)], least=SIGN)
            stretch.compare()
            yield stretch


def _span_with_marks(units: Units, first: int, last: int) -> Span:
    """Return the characters of tokens [first, last) and of the marks that directly follow or precede them."""
    text, spans = units.text, units.spans
    begin, end = int(spans[first, 0]), int(spans[last - 1, 1])
    least = int(spans[first - 1, 1]) if first else 0
    most = int(spans[last, 0]) if last < len(spans) else len(text)
    while begin > least and not text[begin - 1].isspace():
        begin -= 1
    while end < most and not text[end].isspace():
        end += 1
    return begin, end
