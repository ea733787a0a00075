"""Turn one text into tokens or characters, each with its hash and its place in the original.

Tokens and hashes are the same as everywhere else (``normalise.py``, ``sketch/documents.py``). This module adds the
places in the original, for code that shows or quotes a text. Normalisation changes lengths (ß → ss, ligatures,
soft hyphens, marks), so places are recorded code point by code point rather than searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.kernels.shingles import stream_key
from neardup.kernels.text import spans as kernels
from neardup.kernels.text.keyed import Key, hash_characters, hash_tokens
from neardup.kernels.text.tokens import tokenise
from neardup.kernels.text.words import AS_IS
from neardup.tables import Bools, Int64s, UInt32s, UInt64s
from neardup.text.codepoints import codepoints_of, text_of
from neardup.text.keys import PUBLIC, process_key
from neardup.text.unicode_data import unicode_tables

_PADDING = 64

# Decimal digits zero (general category Nd, numeric value 0) of Unicode 15.0.0, except those that normalisation
# turns into another one; the digits 1 to 9 follow each of them.
DIGITS_ZERO = np.array(
    [
        *(0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66),
        *(0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50),
        *(0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x104A0, 0x10D30),
        *(0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0),
        *(0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60, 0x16AC0, 0x16B50, 0x1E140, 0x1E2F0, 0x1E4F0),
        0x1E950,
    ],
    np.int64,
)

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """The tokens or characters of a text: ``hashes`` uint64[n] and ``spans`` int64[n, 2].

    ``hashes`` use the key the text was read with; all counts use them. ``published`` (uint64[n]) are the same in
    every installation; signatures are made of them, and no counts.

    Unit k comes from ``text[spans[k, 0]:spans[k, 1]]``. Spans never go backwards; they overlap only if one
    character of the text contains several units (½ contains the tokens 1 and 2).
    """

    text: str
    hashes: UInt64s
    published: UInt64s
    spans: Int64s
    _codepoints: UInt32s
    _places: Places | None
    """The range of each unit in ``_codepoints``; None if each unit is one code point."""

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def rank(self) -> int:
        """A number that orders texts by their content, independently of the key."""
        return int(stream_key(self.published, len(self.published))[0])

    @cached_property
    def strings(self) -> list[str]:
        """The units in their compared form: normalised, with white space as one space.

        >>> words("Stra\\u00dfe 7").strings
        ['strasse', '7']
        """
        whole = text_of(self._codepoints)
        if self._places is None:
            return list(whole)
        return [whole[begin:end] for begin, end in self._places.tolist()]

    def quote(self, begin: int, end: int) -> str:
        """Return the original text of the units begin … end − 1; "" if there are none.

        >>> words("To the Mayor:\\n- money").quote(2, 4)
        'Mayor:\\n- money'
        """
        return self.text[self.spans[begin, 0] : self.spans[end - 1, 1]] if begin < end else ""


@dataclass(frozen=True, eq=False)
class Reading:
    """A normalised text: code points uint32[n], and for each the characters [begin, end) it comes from.

    Its units are hashed by ``key``.
    """

    text: str
    codepoints: UInt32s
    begins: NDArray[np.int32]
    ends: NDArray[np.int32]
    key: Key

    @cached_property
    def words(self) -> Units:
        """The tokens."""
        places, hashes, published = self._tokens
        spans = np.column_stack((self.begins[places[:, 0]], self.ends[places[:, 1] - 1])).astype(np.int64)
        return Units(self.text, hashes, published, spans, self.codepoints, places)

    @property
    def token_hashes(self) -> UInt64s:
        """The hashes of ``words``, without their places."""
        return self._tokens[1]

    @property
    def token_places(self) -> Places:
        """The code points [begin, end) of each token: int64[n, 2]."""
        return self._tokens[0]

    @cached_property
    def _tokens(self) -> tuple[Places, UInt64s, UInt64s]:
        """The place of each token in the code points, its hash, and its published hash."""
        n = len(self.codepoints)
        written, stops = np.empty(4 * n + _PADDING, np.uint8), np.empty(n, np.int64)
        stops = stops[: tokenise(self.codepoints, n, unicode_tables(), written, stops)]
        places = kernels.token_places(self.codepoints, stops, unicode_tables())
        edges = np.column_stack((np.concatenate((np.zeros(1, np.int64), stops))[:-1], stops))
        hashes, published = np.empty(len(stops), np.uint64), np.empty(len(stops), np.uint64)
        for key, out in ((self.key, hashes), (PUBLIC, published)):
            hash_tokens(written, edges.reshape(-1), len(stops), AS_IS, key, out)
        return places, hashes, published

    @cached_property
    def characters(self) -> Units:
        """The characters with white space collapsed and trimmed, as used for character shingles."""
        shown, spans = kernels.characters(self.codepoints, self.begins, self.ends, unicode_tables())
        hashes, published = np.empty(len(shown), np.uint64), np.empty(len(shown), np.uint64)
        for key, out in ((self.key, hashes), (PUBLIC, published)):
            hash_characters(shown, len(shown), key, out)
        return Units(self.text, hashes, published, spans, shown, None)

    def units(self, by_word: bool) -> Units:
        """Return the tokens, or the characters."""
        return self.words if by_word else self.characters

    def without_numbers(self) -> Reading:
        """Return the reading without tokens that consist only of decimal digits (of any script)."""
        places = self._tokens[0]
        numbers = places[kernels.only_digits(self.codepoints, places, DIGITS_ZERO)]
        stays = np.ones(len(self.codepoints) + 1, np.int64)
        np.add.at(stays, numbers[:, 0], -1)
        np.add.at(stays, numbers[:, 1], 1)
        kept: Bools = np.cumsum(stays - 1)[:-1] == 0
        return Reading(self.text, self.codepoints[kept], self.begins[kept], self.ends[kept], self.key)


def read(text: str, *, ignore_numbers: bool = False, key: Key | None = None) -> Reading:
    """Read one text. Raises InputError for anything but a str; a lone surrogate reads as U+FFFD.

    Its units are hashed by ``key``, or by the key of the process.

    >>> [w for w in read("Pay 12 or 12a", ignore_numbers=True).words.strings]
    ['pay', 'or', '12a']
    """
    if not isinstance(text, str):
        raise InputError(f"A text of type {type(text).__name__} cannot be read", "A str")
    codepoints, begins, ends = kernels.normalise_with_origin(codepoints_of(text), unicode_tables())
    reading = Reading(text, codepoints, begins, ends, key or process_key())
    return reading.without_numbers() if ignore_numbers else reading


def words(text: str, key: Key | None = None) -> Units:
    """Return the tokens of a text, hashed by ``key``, or by the key of the process.

    >>> found = words("So\\u00adft ﬁsh")
    >>> found.strings, found.spans.tolist()
    (['soft', 'fish'], [[0, 5], [6, 9]])
    """
    return read(text, key=key).words


def characters(text: str) -> Units:
    """Return the characters of a text as in character shingles: normalised, white space collapsed and trimmed.

    >>> characters(" A \\n b").strings
    ['a', ' ', 'b']
    """
    return read(text).characters
