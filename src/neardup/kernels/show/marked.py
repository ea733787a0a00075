"""Two aligned texts as one page of a terminal: the pieces of each row with marks around the differences.

A page is code points in one array, cut into rows, and into parts of one style. ``comparison/show/lines.py``
explains the marks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.show.rows import BETWEEN, CHANGED, CHANGED_ROW, MOVED, MOVED_A, MOVED_B, SAME

PLAIN, REMOVED, ADDED, NOTE, MATCH_STYLE, MOVED_STYLE = 0, 1, 2, 3, 4, 8
"""Styles; matches and moved matches have four each, used in turn."""
_TURNS = 4
_MARKS_OF_PIECE = 20
"""The most characters that marks add to a piece: two pairs, and a number of ten digits in brackets."""

_MARKS = np.array([ord(char) for char in "[--]{++}<~~>"], np.uint32).reshape(3, 2, 2)
"""The marks before and after text that is only in A, only in B, or moved."""
_OPEN, _SHUT, _HARD_SPACE, _DIGIT = np.uint32(0x5B), np.uint32(0x5D), np.uint32(0xA0), 0x30
_SPACE, _OPEN_ROUND, _SHUT_ROUND = np.uint32(0x20), np.uint32(0x28), np.uint32(0x29)


class Side(NamedTuple):
    """One text as displayed, and its pieces in characters of it: see ``alignment.table.Pieces``."""

    text: Any  # uint32[characters]
    blank: Any  # bool[characters]: white space
    kinds: Any
    spans: Any
    matches: Any
    opens: Any
    first: Any


class Notes(NamedTuple):
    """The note for a row that only one side has: text[bounds[k]:bounds[k + 1]]; empty for most rows."""

    text: Any  # uint32
    bounds: Any  # int64[rows + 1]


class Page(NamedTuple):
    """Code points of all rows, the starts of the parts of one style, and the starts of the rows."""

    text: Any  # uint32
    parts: Any  # int64[parts]
    styles: Any  # int8[parts]
    rows: Any  # int64[rows + 1]


@njit(cache=True, nogil=True)
def _new(pieces, characters, rows):
    """Return an empty page with room for the given pieces."""
    parts = 3 * pieces + 3 * rows + 1
    text = np.empty(characters + _MARKS_OF_PIECE * pieces + 4 * rows, np.uint32)
    return Page(text, np.empty(parts, np.int64), np.empty(parts, np.int8), np.zeros(rows + 1, np.int64))


@njit(cache=True, nogil=True)
def _part(page, end, style):
    """Begin a part of a style at the end of the page: end = (characters, parts)."""
    page.parts[end[1]], page.styles[end[1]] = end[0], style
    return end[0], end[1] + 1


@njit(cache=True, nogil=True)
def _put(page, end, text, begin, stop):
    """Write text[begin:stop] at the end of the page."""
    at = end[0]
    for k in range(begin, stop):
        page.text[at] = text[k]
        at += 1
    return at, end[1]


@njit(cache=True, nogil=True)
def _put_one(page, end, char):
    page.text[end[0]] = char
    return end[0] + 1, end[1]


@njit(cache=True, nogil=True)
def _put_match(page, end, match):
    """Write "[12]" and a no-break space, in the style of the match."""
    end = _part(page, end, MATCH_STYLE + match % _TURNS)
    end = _put_one(page, end, _OPEN)
    power = 1
    while match // power >= 10:
        power *= 10
    while power > 0:
        end = _put_one(page, end, np.uint32(_DIGIT + match // power % 10))
        power //= 10
    return _put_one(page, _put_one(page, end, _SHUT), _HARD_SPACE)


@njit(cache=True, nogil=True)
def _put_piece(page, end, side, which, p, row_kind):
    """Write piece p of a side (``which``: 0 for A, 1 for B) with its marks."""
    kind, match = side.kinds[p], np.int64(side.matches[p])
    if side.opens[p]:
        end = _put_match(page, end, match)
    style, marks = PLAIN, -1
    if kind == CHANGED:
        style = ADDED if which else REMOVED
        marks = which if row_kind == CHANGED_ROW else -1
    elif kind == MOVED:
        style = MOVED_STYLE + match % _TURNS
        marks = -1 if row_kind in (MOVED_A, MOVED_B) else 2
    end = _part(page, end, style)
    if marks >= 0:
        end = _put(page, end, _MARKS[marks, 0], 0, 2)
    end = _put(page, end, side.text, side.spans[p, 0], side.spans[p, 1])
    return _put(page, end, _MARKS[marks, 1], 0, 2) if marks >= 0 else end


@njit(cache=True, nogil=True)
def mark_side(side, which, row_kinds, notes):
    """Return the page of one side (0: A, 1: B); a row without text of that side has its note."""
    rows = row_kinds.size
    page = _new(side.kinds.size, side.text.size + notes.text.size, rows)
    end = (np.int64(0), np.int64(0))
    for row in range(rows):
        page.rows[row] = end[0]
        if side.first[row] == side.first[row + 1]:
            end = _part(page, end, NOTE)
            end = _put(page, end, notes.text, notes.bounds[row], notes.bounds[row + 1])
        for p in range(side.first[row], side.first[row + 1]):
            end = _put_piece(page, end, side, which, p, row_kinds[row])
    page.rows[rows] = end[0]
    return Page(page.text[: end[0]], page.parts[: end[1]], page.styles[: end[1]], page.rows)


@njit(cache=True, nogil=True)
def mark_both(a, b, row_kinds, notes):
    """Return both sides as one page: equal text as in A, differing text of both."""
    rows = row_kinds.size
    page = _new(a.kinds.size + b.kinds.size, a.text.size + b.text.size + notes.text.size, rows)
    end = (np.int64(0), np.int64(0))
    for row in range(rows):
        page.rows[row] = end[0]
        in_a, in_b = a.first[row] < a.first[row + 1], b.first[row] < b.first[row + 1]
        if in_a and in_b:
            end = _put_both(page, end, a, b, row, row_kinds[row])
        elif in_a:
            end = _put_alone(page, end, a, 0, row, row_kinds[row], notes)
        else:
            end = _put_alone(page, end, b, 1, row, row_kinds[row], notes)
    page.rows[rows] = end[0]
    return Page(page.text[: end[0]], page.parts[: end[1]], page.styles[: end[1]], page.rows)


@njit(cache=True, nogil=True)
def _put_alone(page, end, side, which, row, row_kind, notes):
    """Write a row that one side has; its note precedes the white space at its end."""
    for p in range(side.first[row], side.first[row + 1]):
        end = _put_piece(page, end, side, which, p, row_kind)
    if notes.bounds[row] == notes.bounds[row + 1]:
        return end
    last = side.first[row + 1] - 1
    begin, stop = side.spans[last]
    solid = stop
    if side.kinds[last] != MOVED or row_kind >= MOVED_A:  # no mark follows the white space
        while solid > begin and side.blank[solid - 1]:
            solid -= 1
    end = _part(page, (end[0] - stop + solid, end[1]), NOTE)
    end = _put_one(page, _put_one(page, end, _SPACE), _OPEN_ROUND)
    end = _put(page, end, notes.text, notes.bounds[row], notes.bounds[row + 1])
    end = _put_one(page, end, _SHUT_ROUND)
    return _put(page, _part(page, end, PLAIN), side.text, solid, stop)


@njit(cache=True, nogil=True)
def _put_both(page, end, a, b, row, row_kind):
    """Write a row of both sides, from one equal piece to the next: first the text of A there, then that of B."""
    p, q = a.first[row], b.first[row]
    last_p, last_q = a.first[row + 1], b.first[row + 1]
    while p < last_p or q < last_q:
        stop_p, edited_a = _to_same(a, p, last_p)
        stop_q, edited_b = _to_same(b, q, last_q)
        from_a = edited_a or not edited_b or _is_solid(a, p, stop_p)
        if from_a:
            for k in range(p, stop_p):
                end = _put_piece(page, end, a, 0, k, row_kind)
        if edited_b:
            # the non-token text before a replacement in B is that of A
            for k in range(q + (from_a and b.kinds[q] == BETWEEN), stop_q):
                end = _put_piece(page, end, b, 1, k, row_kind)
        if stop_p < last_p:
            end = _put_piece(page, end, a, 0, stop_p, row_kind)
        p, q = stop_p + 1, stop_q + 1
    return end


@njit(cache=True, nogil=True)
def _to_same(side, begin, last):
    """Return the next piece that both have, or ``last``; and whether anything differs before it."""
    edited = False
    while begin < last and side.kinds[begin] != SAME:
        edited |= side.kinds[begin] != BETWEEN
        begin += 1
    return begin, edited


@njit(cache=True, nogil=True)
def _is_solid(side, begin, stop):
    """Return whether the pieces contain more than white space."""
    for p in range(begin, stop):
        for at in range(side.spans[p, 0], side.spans[p, 1]):
            if not side.blank[at]:
                return True
    return False
