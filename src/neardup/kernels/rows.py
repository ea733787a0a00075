"""Rows of two aligned texts: ends of lines and sentences, the cuts at them, and the pieces of each row.

Every character of a text is in one piece. For each unit of a text, and for its end, ``kinds`` int8 says whether
there is a break before it, and ``places`` int64 at which character (``alignment.breaks``). A *cut* is a unit of A
and one of B: a row ends before both.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import first_at_least

LETTER, UPPER, GOES_ON, SPACE, STOP, CLOSE, FULL_STOP, FULL_CLOSE, LINE, WORD = (1 << k for k in range(10))
"""Bits of a class: a letter; one that is a capital; a small letter or a digit; white space; a stop (. ! ?) and a
bracket or quotation mark after it; the same two for scripts without spaces; an end of line; part of a word.
"""
RETURN, FEED = 1 << 10, 1 << 11
"""Carriage return and line feed: together they are one line end."""
_ABBREVIATED = 3


@entry("uint16[:] -> int64[:]")
def line_ends(classes):
    """Return int64: the end of each line, after its line break; ``classes`` uint16 belong to the characters."""
    ends, size = np.empty(classes.size, np.int64), 0
    for at in range(classes.size):
        if classes[at] & LINE == 0:
            continue
        if classes[at] & RETURN and at + 1 < classes.size and classes[at + 1] & FEED:
            continue
        ends[size] = at + 1
        size += 1
    return ends[:size]


@entry("uint16[:] -> int64[:]")
def sentence_ends(classes):
    """Return int64: the end of each sentence, after its stops, brackets and white space.

    A stop needs two letters or a bracket before it ("2." and "A." number something) and white space after it; a
    stop of a script without spaces needs nothing. A stop does not end a sentence after "Dr" or before a small
    letter or a digit.
    """
    n = classes.size
    ends, size, at = np.empty(n, np.int64), 0, 0
    while at < n:
        if classes[at] & (STOP | FULL_STOP) == 0:
            at += 1
            continue
        full = classes[at] & FULL_STOP != 0
        end = at + 1
        while not full and end < n and classes[end] & STOP:
            end += 1
        behind = end
        while behind < n and classes[behind] & (FULL_CLOSE if full else CLOSE):
            behind += 1
        stop = behind
        while not full and stop < n and classes[stop] & SPACE:
            stop += 1
        if full or (stop > behind and _begins(classes, at)):
            goes_on = stop < n and classes[stop] & GOES_ON
            if not goes_on and not _abbreviation(classes, at):
                ends[size] = stop
                size += 1
        at = stop if full or stop > behind else end
    return ends[:size]


@part
def _begins(classes, at):
    """Return whether the characters before ``at`` let a stop end a sentence."""
    if at > 0 and classes[at - 1] & CLOSE:
        return True
    return at > 1 and classes[at - 1] & LETTER != 0 and classes[at - 2] & LETTER != 0


@part
def _abbreviation(classes, at):
    """Return whether a word of at most three letters, the first one a capital, precedes ``at``."""
    begin = at
    while begin > 0 and at - begin <= _ABBREVIATED and classes[begin - 1] & LETTER:
        begin -= 1
    if begin == at or at - begin > _ABBREVIATED or classes[begin] & UPPER == 0:
        return False
    return begin == 0 or classes[begin - 1] & WORD == 0


SAME, CHANGED, MOVED, BETWEEN, CHARACTERS = range(5)
"""Kinds of a piece; in the order of ``alignment.PIECE_KINDS``. Only ``comparison.marks`` makes the last one."""
EQUAL_ROW, CHANGED_ROW, ONLY_A, ONLY_B, MOVED_A, MOVED_B, CHARACTERS_ROW = range(7)
"""Kinds of a row; in the order of ``alignment.ROW_KINDS``; the last as above."""
_LINE = 2


@entry("int64[:, :], (int64[:], int64[:]), (int64[:], int64[:]), (int8[:], int8[:]), int64 -> int64[:, :]")
def cut_rows(runs, edges, begins, kinds, first):
    """Return the row ends: int64[k, 2], (unit of A, unit of B), at breaks of both texts.

    ``runs`` int64[r, 3] (start in A, start in B, length) are in order in both. Equal text is cut at ends of lines,
    and at ends of sentences only next to text that differs. Between two runs the text is cut into blocks at the
    ``edges`` of moved text that are breaks (of A and of B, int64, ascending); ``begins`` (likewise) are the starts
    of moved text. Each block with moved text is alone, the others of A and B are side by side; ``first`` selects
    the side that goes first, so that the result does not depend on which text is called A.
    """
    ends = (kinds[0].size - 1, kinds[1].size - 1)
    cuts, size = np.empty((ends[0] + ends[1] + 3, 2), np.int64), 0
    last = (np.int64(0), np.int64(0))
    for r in range(runs.shape[0] + 1):
        i, j, length = np.int64(ends[0]), np.int64(ends[1]), np.int64(0)
        if r < runs.shape[0]:
            i, j, length = runs[r, 0], runs[r, 1], runs[r, 2]
        size = _cut_between(edges, begins, (last, (i, j)), kinds, first, cuts, size)
        begin, end = length + 1, np.int64(-1)
        for t in range(length + 1):
            if min(kinds[0][i + t], kinds[1][j + t]) > 0:
                begin, end = min(begin, t), t
        for t in range(begin, end + 1):
            least = min(kinds[0][i + t], kinds[1][j + t])
            if least == _LINE or (least > 0 and t in (begin, end)):
                size = _cut(i + t, j + t, kinds, cuts, size)
        last = (i + length, j + length)
    return cuts[:size]


@part
def _cut(i, j, kinds, cuts, size):
    """Add one cut if both texts have a break there and it is not the last one again; return the number of cuts."""
    if kinds[0][i] == 0 or kinds[1][j] == 0 or (size > 0 and cuts[size - 1, 0] == i and cuts[size - 1, 1] == j):
        return size
    cuts[size, 0], cuts[size, 1] = i, j
    return size + 1


@part
def _cut_between(edges, begins, stretch, kinds, first, cuts, size):
    """Cut a stretch without equal text, from (unit of A, unit of B) to (unit of A, unit of B)."""
    i, j = stretch[0]
    end_i, end_j = stretch[1]
    while i < end_i or j < end_j:
        next_i, moved_i = _block(edges[0], begins[0], i, end_i)
        next_j, moved_j = _block(edges[1], begins[1], j, end_j)
        if (moved_i and moved_j and first == 0) or (moved_i and not moved_j):
            i = next_i
        elif moved_j:
            j = next_j
        else:
            i, j = next_i, next_j
        size = _cut(i, j, kinds, cuts, size)
    return size


@part
def _block(edges, begins, begin, end):
    """Return the block of a side that begins at a unit: its end, and whether moved text begins in it."""
    if begin >= end:
        return end, False
    after = first_at_least(edges, begin + 1)
    stop = min(end, edges[after]) if after < edges.size else end
    moved = first_at_least(begins, stop) > first_at_least(begins, begin)
    return stop, moved


@entry("int64[:, :], int64[:, :], int64[:], int64[:] -> (int8[:], int64[:, :], int32[:], bool[:], int64[:])")
def pieces_of(spans, marked, cuts, places):
    """Return the pieces of one text from cut to cut: (kinds, spans, matches, opens, first).

    ``spans`` int64[units, 2] in characters; ``marked`` int64[s, 4] (begin, end, kind, match) are runs of units, in
    order, all others are CHANGED; ``cuts`` int64[k] units of this text. Pieces are int8[p], int64[p, 2]
    characters, int32[p] numbers of matches (0: none), bool[p] whether the match begins there; the pieces up to cut
    k are [first[k], first[k + 1]). Text between units is BETWEEN; units that share a character leave none.
    """
    room = 4 * marked.shape[0] + 3 * cuts.size + 8
    kinds, chars = np.empty(room, np.int8), np.empty((room, 2), np.int64)
    matches, opens = np.empty(room, np.int32), np.empty(room, np.bool_)
    first = np.zeros(cuts.size + 1, np.int64)
    size, s, unit, char = 0, 0, np.int64(0), np.int64(0)
    for k in range(cuts.size):
        while unit < cuts[k]:
            while s < marked.shape[0] and marked[s, 1] <= unit:
                s += 1
            if s < marked.shape[0] and marked[s, 0] <= unit:
                begin, end, kind, match = marked[s, 0], marked[s, 1], marked[s, 2], marked[s, 3]
            else:
                end = marked[s, 0] if s < marked.shape[0] else np.int64(spans.shape[0])
                begin, kind, match = unit, np.int64(CHANGED), np.int64(0)
            end = min(end, cuts[k])
            if spans[unit, 0] > char:
                kinds[size], chars[size, 0], chars[size, 1] = BETWEEN, char, spans[unit, 0]
                matches[size], opens[size] = 0, False
                char = spans[unit, 0]
                size += 1
            stop = max(char, spans[end - 1, 1])
            kinds[size], chars[size, 0], chars[size, 1] = kind, char, stop
            matches[size], opens[size] = match, match > 0 and unit == begin
            size, unit, char = size + 1, end, stop
        if places[cuts[k]] > char:
            kinds[size], chars[size, 0], chars[size, 1] = BETWEEN, char, places[cuts[k]]
            matches[size], opens[size] = 0, False
            char = places[cuts[k]]
            size += 1
        first[k + 1] = size
    return kinds[:size], chars[:size], matches[:size], opens[:size], first


@entry("int8[:], int64[:], int8[:], int64[:] -> int8[:]")
def row_kinds(kinds_a, first_a, kinds_b, first_b):
    """Return int8[rows]: the kind of each row, from its pieces' kinds, [first[k], first[k + 1]) of each text."""
    rows = np.empty(first_a.size - 1, np.int8)
    for k in range(rows.size):
        seen = 0
        for p in range(first_a[k], first_a[k + 1]):
            seen |= 1 << kinds_a[p]
        for p in range(first_b[k], first_b[k + 1]):
            seen |= 1 << kinds_b[p]
        seen &= ~(1 << BETWEEN)
        in_a, in_b = first_a[k] < first_a[k + 1], first_b[k] < first_b[k + 1]
        if in_a and in_b:
            rows[k] = CHANGED_ROW if seen & ~(1 << SAME) else EQUAL_ROW
        elif in_a:
            rows[k] = MOVED_A if seen == 1 << MOVED else ONLY_A
        else:
            rows[k] = MOVED_B if seen == 1 << MOVED else ONLY_B
    return rows
