"""Where a text may be cut into rows: at the ends of lines and of sentences, between two units."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.tables import Int64s
from neardup.units import Units

NONE, SENTENCE, LINE = 0, 1, 2

_LINE = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# two letters or a bracket before the stop: "2." and "A." number something
_SENTENCE = re.compile(
    r"""(?:(?<=[^\W\d_][^\W\d_])|(?<=[)\]"'\u2019\u201d\u00bb]))[.!?\u2026\u061f\u06d4\u0964\u0965]+"""
    r"""[)\]"'\u2019\u201d\u00bb]*\s+|[\u3002\uff01\uff1f][\u300d\u300f\uff09]*"""
)
_SHORT_WORD = re.compile(r"(?:^|[\W_])([^\W\d_]{1,3})$")


@dataclass(frozen=True, eq=False)
class Breaks:
    """For each unit, and for the end: is there a break before it, and at which character.

    ``kinds`` int8[n + 1] and ``places`` int64[n + 1]. A kind is NONE, SENTENCE or LINE; a place is
    only told where there is a break. What stands before the place belongs to the row that ends. Beginning and end
    of the text are breaks.
    """

    kinds: NDArray[np.int8]
    places: Int64s


def breaks_of(units: Units) -> Breaks:
    r"""The breaks of a text.

    >>> from neardup.units import words
    >>> breaks_of(words("He said no. She left.\n\n2. Dr. Who")).kinds.tolist()
    [2, 0, 0, 1, 0, 2, 0, 0, 2]
    """
    n, text = len(units), units.text
    kinds, places = np.zeros(n + 1, np.int8), np.zeros(n + 1, np.int64)
    stops = (match.span() for match in _SENTENCE.finditer(text))
    sentences = [end for begin, end in stops if not _goes_on(text, begin, end)]
    for kind, ends in ((SENTENCE, sentences), (LINE, [match.end() for match in _LINE.finditer(text)])):
        found = np.array(ends, np.int64)
        before = np.searchsorted(units.spans[:, 0], found)  # the first unit that begins there or later
        free = (before > 0) & (before < n)
        free[free] = units.spans[before[free] - 1, 1] <= found[free]
        # of several lines without a unit between two units, the last end counts: "=====" belongs to the heading
        kinds[before[free]], places[before[free]] = kind, found[free]
    kinds[0] = kinds[n] = LINE
    places[0], places[n] = 0, len(text)
    return Breaks(kinds, places)


def _goes_on(text: str, begin: int, end: int) -> bool:
    """Whether a stop ends no sentence: after "Dr", or before a small letter, or a figure as in "No. 5"."""
    short = _SHORT_WORD.search(text, max(0, begin - 4), begin)
    follows = text[end : end + 1]
    return follows.islower() or follows.isdigit() or (short is not None and short[1][0].isupper())
