"""Parts of a text that do not count: masked places, numbers, stop words; and the tokens of another tokenizer.

Masks are regular expressions (RE2), matched with the text as it is. RE2 looks at each byte a bounded number of
times, whatever the expression and the text: documents are hostile, and the expressions of Python may take
exponential time. The price is a smaller syntax. White space then takes the place of every masked character, and of
every token of the rest that is a number or a stop word. A tokenizer is given the text with spaces over its masks;
its tokens, as words, are then the rest. All features are those of the resulting text. Places in it are places in
the original, so that evidence is quoted from the original.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.kernels.text import AS_IS, PADDING, hash_tokens, only_digits
from neardup.settings import Cleaning, stop_words_of
from neardup.tables import Bools, Int64s, UInt8s, UInt32s, UInt64s
from neardup.text.keys import process_key
from neardup.unicode import DIGITS_ZERO

_MARK, _OTHER = 0xFF, 0xFE  # bytes of no UTF-8 text, which no expression matches


def places_of(masks: Sequence[str], data: UInt8s, offsets: Int64s) -> list[Int64s]:
    """Return the places [begin, end) in ``data`` that each mask matches: int64[k, 2], ascending and disjoint.

    Text d is the UTF-8 ``data[offsets[d]:offsets[d + 1]]`` (uint8; int64[n + 1]). A mask is matched with each text
    by itself, from left to right, the other masks apart. Bytes that are not UTF-8 match nothing.
    """
    begin, end = int(offsets[0]), int(offsets[-1])
    texts = data[begin:end]
    if (texts == _MARK).any():
        texts = np.where(texts == _MARK, np.uint8(_OTHER), texts)
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets - begin)),
        pa.py_buffer(np.ascontiguousarray(texts)),
    ]
    array = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    return [begin + _matches(mask, array) for mask in masks] if len(texts) else [_nowhere() for _ in masks]


def _matches(mask: str, texts: pa.Array) -> Int64s:
    """The places of the matches: a copy of the texts has a mark before and after each of them."""
    marked = pc.replace_substring_regex(texts, pattern=mask, replacement=bytes([_MARK]) + rb"\0" + bytes([_MARK]))
    marks = np.flatnonzero(np.frombuffer(marked.buffers()[2], np.uint8) == _MARK)
    places: Int64s = (marks - np.arange(len(marks))).reshape(-1, 2)
    return places[places[:, 0] < places[:, 1]]


def _nowhere() -> Int64s:
    return np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Cleaner:
    """The parts of texts to leave out; make one with :func:`cleaner_of`.

    ``stop_words`` (uint64, ascending) are hashes by the key of the process. ``tokenizer`` is a name of
    ``text/tokenizers.py``, or "".
    """

    masks: tuple[str, ...]
    numbers: bool
    stop_words: UInt64s
    tokenizer: str = ""

    @property
    def drops(self) -> bool:
        """Whether tokens are dropped."""
        return self.numbers or len(self.stop_words) > 0

    def masked_characters(self, text: str) -> tuple[Int64s, tuple[int, ...]]:
        """Return the characters [begin, end) that masks match, and the number of places of each mask.

        The characters, int64[k, 2], are ascending runs with room between.
        """
        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        spans = places_of(self.masks, data, np.array([0, len(data)], np.int64))
        places = merged_places(np.concatenate([np.empty((0, 2), np.int64), *spans]))
        before = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))  # characters that begin before a byte
        characters: Int64s = before[places]
        return characters, tuple(map(len, spans))

    def dropped_tokens(self, hashes: UInt64s, codepoints: UInt32s, places: Int64s) -> tuple[Bools, Bools]:
        """Return bool[tokens] twice: which tokens are dropped as numbers, and which others as stop words.

        Token k has the normalised code points (uint32) at ``places[k]`` (int64[tokens, 2]); the ``hashes`` are by
        the key of the process.
        """
        digits = only_digits(codepoints, places, DIGITS_ZERO) if self.numbers else np.zeros(len(hashes), np.bool_)
        return digits, np.isin(hashes, self.stop_words) & ~digits


def covered_mask(size: int, places: Int64s) -> Bools:
    """Return bool[size]: what is at one of the ``places`` [begin, end), int64[k, 2].

    >>> covered_mask(4, np.array([[1, 3]])).tolist()
    [False, True, True, False]
    """
    edges = np.zeros(size + 1, np.int64)
    np.add.at(edges, places[:, 0], 1)
    np.add.at(edges, places[:, 1], -1)
    inside: Bools = np.cumsum(edges)[:-1] > 0
    return inside


def merged_places(places: Int64s) -> Int64s:
    """Return the places [begin, end), int64[k, 2], as ascending runs with room between them.

    >>> merged_places(np.array([[4, 6], [0, 2], [1, 3], [6, 7]])).tolist()
    [[0, 3], [4, 7]]
    """
    if not len(places):
        return places
    inside = covered_mask(int(places[:, 1].max()), places)
    return np.flatnonzero(np.diff(np.concatenate(([False], inside, [False])))).reshape(-1, 2)


def cleaner_of(cleaning: Cleaning) -> Cleaner | None:
    """Return the cleaner of settings; None if nothing is left out and words are compared.

    Raises SettingError if the list of a language is another one than in the choice of stop words.
    """
    if not cleaning.is_on:
        return None
    return _cleaner(tuple(cleaning.mask), cleaning.ignore_numbers, cleaning.stop_words, cleaning.tokenizer)


@lru_cache(maxsize=16)
def _cleaner(masks: tuple[str, ...], numbers: bool, stop_words: str, tokenizer: str) -> Cleaner:
    return Cleaner(masks, numbers, stop_word_hashes(stop_words), tokenizer)


def stop_word_hashes(choice: str) -> UInt64s:
    """Return the sorted distinct token hashes (uint64) of a choice, by the key of the process.

    >>> len(stop_word_hashes("words:and the"))
    2
    """
    written = [token.encode().replace(b"_", b"\x7f") for token in stop_words_of(choice)]  # as the kernels write it
    ends = np.cumsum([0, *map(len, written)])
    edges, hashes = np.column_stack((ends[:-1], ends[1:])).reshape(-1), np.empty(len(written), np.uint64)
    data = np.frombuffer(b"".join(written) + bytes(PADDING), np.uint8)
    hash_tokens(data, edges, len(written), AS_IS, process_key(), hashes)
    return np.unique(hashes)
