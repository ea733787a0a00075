"""Texts without their numbers, and the numbers alone: do two texts differ in numbers only?

A *number* is a run of decimal digits of any script inside a token. Tokens of digits alone that follow each other
in one line are one number: dates, 1,000.50, 12:30, version 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.comparison.alignment.breaks import LINE_ENDS
from neardup.tables import Bools, Int64s, UInt32s
from neardup.text.digits import DIGITS_ZERO
from neardup.text.units import Reading

_ZEROS = np.sort(DIGITS_ZERO)
_NUMBER = np.uint32(ord("#"))
_BEGIN = np.uint32(1 << 31)
"""Marks the first code point of a token; code points have 21 bits."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A text as its words with one mark for each number, and the digits of the numbers.

    ``words`` uint32: the code points of the tokens. ``digits`` uint32, and ``number`` int64: the number, counted
    from 0, that each digit belongs to. The first code point of each token has the bit ``_BEGIN``.
    """

    words: UInt32s
    digits: UInt32s
    number: Int64s


def numbers_of(reading: Reading) -> Numbers:
    """Return the numbers of a text and the rest of it."""
    points, places = reading.codepoints, reading.token_places
    begins, inside = _tokens_in(places, len(points))
    digit = _digits(points) & inside
    tokens_of = np.cumsum(begins) - 1
    goes_on = _joined(reading, digit)
    first = digit & ~np.concatenate(([False], digit[:-1] & ~begins[1:]))[: len(digit)]
    if len(places):
        first &= ~(begins & goes_on[np.maximum(tokens_of, 0)])
    kept = inside & (first | ~digit)
    digits, words = points.copy(), points.copy()
    words[digit] = _NUMBER
    for shown in (digits, words):
        shown[begins] |= _BEGIN
    return Numbers(words[kept], digits[digit], (np.cumsum(first) - 1)[digit])


def same_but_for_numbers(a: Numbers, b: Numbers) -> bool:
    """Whether the words are equal, in the same order, with a number in the same places."""
    return np.array_equal(a.words, b.words)


def different_numbers(a: Numbers, b: Numbers) -> tuple[int, int]:
    """Return how many numbers differ, and how many there are, for texts that are the same but for numbers."""
    count = int(a.number[-1]) + 1 if len(a.number) else 0
    sizes = [np.bincount(side.number, minlength=count) for side in (a, b)]
    differ: Bools = sizes[0] != sizes[1]
    digits = [side.digits[~differ[side.number]] for side in (a, b)]
    at = a.number[~differ[a.number]]
    differ[at[digits[0] != digits[1]]] = True
    return int(differ.sum()), count


def _digits(points: UInt32s) -> Bools:
    """Return which code points are decimal digits."""
    zero = _ZEROS[np.maximum(np.searchsorted(_ZEROS, points, "right") - 1, 0)]
    found: Bools = (points >= zero) & (points <= zero + 9)
    return found


def _tokens_in(places: Int64s, size: int) -> tuple[Bools, Bools]:
    """Return which code points begin a token, and which are in one."""
    begins, edges = np.zeros(size, np.bool_), np.zeros(size + 1, np.int64)
    begins[places[:, 0]] = True
    np.add.at(edges, places[:, 0], 1)
    np.add.at(edges, places[:, 1], -1)
    return begins, np.cumsum(edges)[:-1] > 0


def _joined(reading: Reading, digit: Bools) -> Bools:
    """Return which tokens continue the number before them: both are digits alone, without a line end between."""
    places = reading.token_places
    found = np.zeros(len(places), np.bool_)
    if len(places) < 2:
        return found
    until = np.concatenate(([0], np.cumsum(digit)))
    number = until[places[:, 1]] - until[places[:, 0]] == places[:, 1] - places[:, 0]
    ends = np.isin(reading.codepoints, [ord(char) for char in LINE_ENDS])
    lines = np.concatenate(([0], np.cumsum(ends)))
    same_line = lines[places[1:, 0]] == lines[places[:-1, 1]]
    found[1:] = number[1:] & number[:-1] & same_line
    return found
