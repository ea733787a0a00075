"""Ends of lines and of sentences, from the classes of the characters."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit

LETTER, UPPER, GOES_ON, SPACE, STOP, CLOSE, FULL_STOP, FULL_CLOSE, LINE, WORD = (1 << k for k in range(10))
"""Bits of a class: a letter; one that is a capital; a small letter or a digit; white space; a stop (. ! ?) and a
bracket or quotation mark after it; the same two for scripts without spaces; an end of line; part of a word.
"""
RETURN, FEED = 1 << 10, 1 << 11
"""Carriage return and line feed: together they are one line end."""
_ABBREVIATED = 3


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _begins(classes, at):
    """Return whether the characters before ``at`` let a stop end a sentence."""
    if at > 0 and classes[at - 1] & CLOSE:
        return True
    return at > 1 and classes[at - 1] & LETTER != 0 and classes[at - 2] & LETTER != 0


@njit(cache=True, nogil=True)
def _abbreviation(classes, at):
    """Return whether a word of at most three letters, the first one a capital, precedes ``at``."""
    begin = at
    while begin > 0 and at - begin <= _ABBREVIATED and classes[begin - 1] & LETTER:
        begin -= 1
    if begin == at or at - begin > _ABBREVIATED or classes[begin] & UPPER == 0:
        return False
    return begin == 0 or classes[begin - 1] & WORD == 0
