"""Places where a text may be cut into rows: ends of lines and sentences that fall between two units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.text import breaks as kernels
from neardup.tables import Int64s
from neardup.text.codepoints import codepoints_of, of_each
from neardup.text.units import Units

NONE, SENTENCE, LINE = 0, 1, 2

_STOPS, _CLOSES = ".!?\u2026\u061f\u06d4\u0964\u0965", ")]\"'\u2019\u201d\u00bb"
_FULL_STOPS, _FULL_CLOSES = "\u3002\uff01\uff1f", "\u300d\u300f\uff09"
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MARKS = (
    (_STOPS, kernels.STOP),
    (_CLOSES, kernels.CLOSE),
    (_FULL_STOPS, kernels.FULL_STOP),
    (_FULL_CLOSES, kernels.FULL_CLOSE),
    (LINE_ENDS, kernels.LINE),
    ("\r", kernels.RETURN),
    ("\n", kernels.FEED),
)


@dataclass(frozen=True, eq=False)
class Breaks:
    """For each unit, and for the end of the text, the break before it.

    ``kinds`` int8[n + 1] and ``places`` int64[n + 1]. A kind is NONE, SENTENCE or LINE; a place (a character) is
    only set if there is a break. The text before the place belongs to the row that ends. The beginning and the end
    of the text are breaks.
    """

    kinds: NDArray[np.int8]
    places: Int64s


def breaks_of(units: Units) -> Breaks:
    r"""Return the breaks of a text.

    >>> from neardup.text.units import words
    >>> breaks_of(words("He said no. She left.\n\n2. Dr. Who")).kinds.tolist()
    [2, 0, 0, 1, 0, 2, 0, 0, 2]
    """
    n, text = len(units), units.text
    kinds, places = np.zeros(n + 1, np.int8), np.zeros(n + 1, np.int64)
    classes = of_each(codepoints_of(text), _class_of, np.uint16)
    begins = np.ascontiguousarray(units.spans[:, 0])
    for kind, found in ((SENTENCE, kernels.sentence_ends(classes)), (LINE, kernels.line_ends(classes))):
        before = np.searchsorted(begins, found)  # the first unit that begins at the break or later
        free = (before > 0) & (before < n)
        free[free] = units.spans[before[free] - 1, 1] <= found[free]
        # if lines without a unit lie between two units, the last line end counts: "=====" belongs to the heading
        kinds[before[free]], places[before[free]] = kind, found[free]
    kinds[0] = kinds[n] = LINE
    places[0], places[n] = 0, len(text)
    return Breaks(kinds, places)


def _class_of(char: str) -> int:
    """Return the bits of ``kernels.breaks`` for a character."""
    letter = char.isalnum() and not char.isdecimal()
    found = letter * kernels.LETTER | char.isupper() * kernels.UPPER | char.isspace() * kernels.SPACE
    found |= (char.islower() or char.isdigit()) * kernels.GOES_ON | char.isalnum() * kernels.WORD
    for marks, bit in _MARKS:
        found |= (char in marks) * bit
    return found
