"""Turn one text into tokens or characters, each with its hash and its place in the original.

Tokens and hashes are the same as everywhere else (``unicode.py``, ``sketch/documents.py``). This module adds the
places in the original, for code that shows or quotes a text. Normalisation changes lengths (ß → ss, ligatures,
soft hyphens, marks), so places are recorded code point by code point rather than searched for.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neardup.display.view import PlainData
from neardup.errors import InputError
from neardup.kernels.shingles import stream_key
from neardup.kernels.text import (
    AS_IS,
    SPACE,
    Key,
    character_units,
    hash_characters,
    hash_tokens,
    normalise_with_origin,
    tokenise,
)
from neardup.kernels.text import token_places as kernel_token_places
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.cleaning import Cleaner, covered_mask, merged_places
from neardup.text.keys import PUBLIC, process_key
from neardup.text.tokenizers import tokens_as_words
from neardup.unicode import codepoints_of, text_of, unicode_tables

_PADDING = 64

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units(PlainData):
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

    Its units are hashed by ``key``. ``left_out`` (int64[k, 2]) are the characters [begin, end) of the text that do
    not count: the code points have spaces in their place. ``counts``: the places of each mask, the numbers and the
    stop words among them; empty without a cleaner.
    """

    text: str
    codepoints: UInt32s
    begins: NDArray[np.int32]
    ends: NDArray[np.int32]
    key: Key
    left_out: Places = field(default_factory=lambda: np.empty((0, 2), np.int64))
    counts: tuple[int, ...] = ()

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
        places = kernel_token_places(self.codepoints, stops, unicode_tables())
        edges = np.column_stack((np.concatenate((np.zeros(1, np.int64), stops))[:-1], stops))
        hashes, published = np.empty(len(stops), np.uint64), np.empty(len(stops), np.uint64)
        for key, out in ((self.key, hashes), (PUBLIC, published)):
            hash_tokens(written, edges.reshape(-1), len(stops), AS_IS, key, out)
        return places, hashes, published

    @cached_property
    def characters(self) -> Units:
        """The characters with white space collapsed and trimmed, as used for character shingles."""
        shown, spans = character_units(self.codepoints, self.begins, self.ends, unicode_tables())
        hashes, published = np.empty(len(shown), np.uint64), np.empty(len(shown), np.uint64)
        for key, out in ((self.key, hashes), (PUBLIC, published)):
            hash_characters(shown, len(shown), key, out)
        return Units(self.text, hashes, published, spans, shown, None)

    def units(self, by_word: bool) -> Units:
        """Return the tokens, or the characters."""
        return self.words if by_word else self.characters


def read(text: str, *, cleaner: Cleaner | None = None, key: Key | None = None) -> Reading:
    """Read one text. Raises InputError for anything but a str; a lone surrogate reads as U+FFFD.

    Its units are hashed by ``key``, or by the key of the process. The ``cleaner`` leaves out some of the text.

    >>> from neardup.settings import Cleaning
    >>> from neardup.text.cleaning import cleaner_of
    >>> read("Pay 12 or 12a", cleaner=cleaner_of(Cleaning(ignore_numbers=True))).words.strings
    ['pay', 'or', '12a']
    """
    if not isinstance(text, str):
        raise InputError(f"A text of type {type(text).__name__} cannot be read", "A str")
    counted, key = codepoints_of(text), key or process_key()
    if cleaner is None:
        return Reading(text, *_normalise(counted), key)
    masked, counts = cleaner.masked_characters(text)
    counted = _blank(counted, masked)
    normal = _tokenize(counted, cleaner.tokenizer) if cleaner.tokenizer else _normalise(counted)
    reading = Reading(text, *normal, process_key(), masked, (*counts, 0, 0))
    if not cleaner.drops:
        return replace(reading, key=key)
    numbers, named = cleaner.dropped_tokens(reading.token_hashes, reading.codepoints, reading.token_places)
    dropped, spans = numbers | named, reading.words.spans
    codepoints = _blank(reading.codepoints, reading.token_places[dropped])
    left_out = merged_places(np.concatenate((masked, spans[dropped])))
    return Reading(
        text,
        codepoints,
        reading.begins,
        reading.ends,
        key,
        left_out,
        (*counts, int(numbers.sum()), int(named.sum())),
    )


def _normalise(codepoints: UInt32s) -> tuple[UInt32s, NDArray[np.int32], NDArray[np.int32]]:
    normalised: tuple[UInt32s, NDArray[np.int32], NDArray[np.int32]]
    normalised = normalise_with_origin(codepoints, unicode_tables())
    return normalised


def _tokenize(codepoints: UInt32s, name: str) -> tuple[UInt32s, NDArray[np.int32], NDArray[np.int32]]:
    """Normalise the tokens of a tokenizer in place of the text; each comes from its place in the text."""
    words = tokens_as_words(text_of(codepoints), name)
    normalised, begins, ends = _normalise(codepoints_of(words.text))
    if not len(normalised):
        return normalised, begins, ends
    return normalised, words.begins[begins].astype(np.int32), words.ends[ends - 1].astype(np.int32)


def _blank(codepoints: UInt32s, places: Places) -> UInt32s:
    """Return the code points with a space in place of each one at the places [begin, end), int64[k, 2]."""
    blanked: UInt32s = np.where(covered_mask(len(codepoints), places), np.uint32(SPACE), codepoints)
    return blanked


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
