"""Text cut into lines that fit, with characters spelled out that cannot be displayed."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit

COLUMNS, BLANK, LINE_FEED = 3, 4, 8
"""Class of a character: its columns (two bits), white space between words, end of a line."""
LEAST_ROOM = 4
"""A word longer than a line begins directly after the last one, if at least this many columns are left."""


@njit(cache=True, nogil=True)
def spell(text, spelling, pool, bounds):
    """Replace characters: (new text uint32, start of each character of the old one, int64[n + 1]).

    Character k of ``text`` (uint32) stays if ``spelling[k]`` (int32) is 0; otherwise the code points pool[bounds[s
    − 1] : bounds[s]] with s = ``spelling[k]`` replace it.
    """
    at = np.empty(text.size + 1, np.int64)
    size = 0
    for k in range(text.size):
        at[k] = size
        size += 1 if spelling[k] == 0 else bounds[spelling[k]] - bounds[spelling[k] - 1]
    at[text.size] = size
    out = np.empty(size, np.uint32)
    for k in range(text.size):
        if spelling[k] == 0:
            out[at[k]] = text[k]
        else:
            begin = bounds[spelling[k] - 1]
            for x in range(at[k + 1] - at[k]):
                out[at[k] + x] = pool[begin + x]
    return out, at


@njit(cache=True, nogil=True)
def wrap(classes, rows, width):
    """Cut rows of text into lines of at most ``width`` columns (2 or more).

    Returns (lines int32[n, 5], first int64[rows + 1]). Row k is the characters rows[k] to rows[k + 1], of the
    given ``classes`` (uint8), and has the lines first[k] to first[k + 1]. A line consists of the characters
    [line[0], line[1]) and then [line[2], line[3]), and is line[4] columns wide. Lines end at line feeds and, if
    they are too long, at white space; words too long for a line are cut anywhere. Indentation stays, up to half of
    the width; blank lines in a row become one, and none remains at the beginning.
    """
    lines, first = np.empty((classes.size + rows.size, 5), np.int32), np.zeros(rows.size, np.int64)
    size = 0
    for row in range(rows.size - 1):
        state = (size, np.int64(0), np.int64(-1), rows[row])
        at, end = rows[row], rows[row + 1]
        while at < end:
            stop = at
            if classes[at] & LINE_FEED:
                state = _end_line(lines, state, size, at + 1)
                at += 1
                continue
            blank = classes[at] & BLANK
            while stop < end and classes[stop] & (BLANK | LINE_FEED) == blank:
                stop += 1
            if not blank:
                state = _place(classes, lines, state, at, stop, width)
            at = stop
        size = state[0] + (state[2] >= 0)
        first[row + 1] = size
    for n in range(size):
        lines[n, 4] = max(0, lines[n, 4])
    return lines[:size], first


@njit(cache=True, nogil=True)
def settle(parts, rows, classes):
    """Move the start of each style part (int64, ascending) to the start of the white space that it falls in.

    White space between two words has one style, the last one assigned to it. ``rows`` and ``classes`` as in
    ``wrap``; every row begins with a part.
    """
    moved, row = parts.copy(), 0
    for k in range(parts.size):
        at = parts[k]
        while row + 1 < rows.size and rows[row + 1] <= at:
            row += 1
        if at < classes.size and classes[at] & BLANK:
            while at > rows[row] and classes[at - 1] & BLANK:
                at -= 1
        moved[k] = at
    return moved


# The state while a row is cut: the number of the current line, its columns so far, the start of its first word
# (−1: it is empty), the start of the white space that waits for a word.


@njit(cache=True, nogil=True)
def _end_line(lines, state, first, after):
    """Handle a line feed: end the line, unless it is empty and either follows an empty line or is the first."""
    n, _, begin, _ = state
    if begin < 0:
        if n == first or lines[n - 1, 4] < 0:
            return n, np.int64(0), np.int64(-1), after
        lines[n, 0] = lines[n, 1] = lines[n, 2] = lines[n, 3] = after
        lines[n, 4] = -1  # until all are cut: distinguishes a blank line from one of marks without columns
    return n + 1, np.int64(0), np.int64(-1), after


@njit(cache=True, nogil=True)
def _place(classes, lines, state, word, stop, width):
    """Put a word on the line, or on the next one."""
    n, used, begin, blank = state
    indent, size = 0, 0
    for k in range(blank, word):
        indent += classes[k] & COLUMNS
    for k in range(word, stop):
        size += classes[k] & COLUMNS
    if begin < 0:
        indent = min(indent, width // 2)
    room = width - used - indent
    if begin >= 0 and room < size and (size <= width or room < LEAST_ROOM):
        n, used, begin, indent, blank = n + 1, np.int64(0), np.int64(-1), 0, word
    if begin < 0:
        n, used = _begin_line(classes, lines, n, (blank, word), indent)
    else:
        used += indent
    for k in range(word, stop):
        columns = classes[k] & COLUMNS
        if used + columns > width:
            n, used = _begin_line(classes, lines, n + 1, (k, k), 0)
        used += columns
        lines[n, 3], lines[n, 4] = k + 1, used
    return n, used, word, stop


@njit(cache=True, nogil=True)
def _begin_line(classes, lines, n, blank, indent):
    """Begin a line with ``indent`` columns of the white space [begin, end): (its number, its columns)."""
    used, end = np.int64(0), blank[0]
    while end < blank[1] and used + (classes[end] & COLUMNS) <= indent:
        used += classes[end] & COLUMNS
        end += 1
    lines[n, 0], lines[n, 1] = blank[0], end
    lines[n, 2] = lines[n, 3] = blank[1]
    lines[n, 4] = used
    return n, used
