"""The first difference of characters of documents with the same words: found in their texts, and looked up."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import printable
from neardup.errors import NeardupError
from neardup.group.rows import JudgedRows
from neardup.join.rows import Alike
from neardup.run.kinds import over_pairs
from neardup.tables import Int64s, distinct
from neardup.text.characters import (
    FIELDS,
    KINDS,
    LEFT_OUT,
    MARK,
    PUNCTUATION,
    SPACE,
    WHITE_SPACE,
    differences,
)
from neardup.text.unicode import nfc

MOST = 1_000_000
"""Pairs whose first difference is looked for: their texts are read once more, and the differences held."""
UNREAD = "their texts could not be read again"
TOO_MANY = f"not looked for: this run has more than {MOST:,} such pairs"
NO_TEXTS = "texts are not read again on a cluster"

AROUND, LONGEST = 24, 60
"""Characters before and after a difference that may be of the same word, and most characters shown of it."""
_BEFORE, _FIELDS, _AFTER = 256, 6, 160
"""Bytes and fields before a difference, and characters after its fields, that its kind is taken from."""
_LONG = 1 << 12
"""Characters from which on a field is looked at near its first difference alone."""

Texts = Callable[[Int64s], Iterable[bytes]]
"""Reads the texts of some rows, ascending."""


@dataclass(frozen=True, eq=False)
class CopyDifferences:
    """The first difference of documents with the same words and other characters, in words.

    ``keys`` (int64, ascending) are ``later << 32 | earlier`` of two rows, and ``found`` the difference of the
    later one from the earlier one. ``why`` says why others are unknown.
    """

    keys: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    found: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    why: str = UNREAD

    @classmethod
    def of(cls, pairs: Int64s, sizes: Int64s, texts: Texts, threads: int, most: int = MOST) -> "CopyDifferences":
        """Read the texts of the first ``pairs`` (keys) again: rows of ``sizes`` bytes."""
        keys = pairs[:most]
        own, others = keys >> 32, keys & 0xFFFFFFFF
        places, words = [], []
        why = TOO_MANY if len(keys) < len(pairs) else UNREAD
        # fingerprints may outlive the files of their texts; the classes are known without them
        with suppress(NeardupError, OSError):
            for task, some in over_pairs(others, own, sizes, texts, threads, _first_differences):
                places.append(task)
                words.append(pa.array(some, pa.string()))
        if not places:
            return cls(why=why)
        read = np.concatenate(places)
        order = np.argsort(read)
        return cls(keys[read[order]], pa.concat_arrays(words).take(pa.array(order)), why)

    @classmethod
    def stored(cls, copies: pa.Table, rows: JudgedRows) -> "CopyDifferences":
        """Those that a table of copies holds."""
        copies = copies.filter(pc.is_valid(copies["difference"]))
        own = pc.index_in(copies["id"], value_set=rows.ids.of(np.arange(rows.first_new, len(rows))))
        places = own.to_numpy().astype(np.int64) + rows.first_new
        order = np.argsort(places)
        in_words = copies["difference"].combine_chunks().take(pa.array(order))
        return cls(_keys(places[order], rows.copy_of[places[order]]), in_words)

    def merged(self, other: "CopyDifferences") -> "CopyDifferences":
        """These and others."""
        keys = np.concatenate((self.keys, other.keys))
        order = np.argsort(keys)
        return CopyDifferences(
            keys[order], pa.concat_arrays([self.found, other.found]).take(pa.array(order)), other.why
        )

    def words(self, own: Int64s, others: Int64s, alike: Alike) -> list[str]:
        """Say of each row whether it is identical to the other one; "" for rows with other words."""
        same, identical = (labels[own] == labels[others] for labels in alike)
        in_words = np.where(identical, "identical", "").astype(object)
        places = np.flatnonzero(same & ~identical)
        for place, difference in zip(places.tolist(), self.of_rows(own[places], others[places]), strict=True):
            unnamed = f"same words, other characters ({self.why})"
            in_words[place] = unnamed if difference is None else f"same words; {difference}"
        words: list[str] = in_words.tolist()
        return words

    def of_rows(self, own: Int64s, others: Int64s) -> Iterator[str | None]:
        """Yield the difference of each row from the other one, seen from the row; None if it is unknown."""
        wanted = _keys(own, others)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        known = self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), np.bool_)
        in_words = self.found.take(pa.array(places, mask=~known)).to_pylist()
        for difference, is_turned in zip(in_words, (own < others).tolist(), strict=True):
            yield turned(difference) if difference and is_turned else difference


def _keys(own: Int64s, others: Int64s) -> Int64s:
    return (np.maximum(own, others) << 32) | np.minimum(own, others)


def pairs_of(own: Int64s, others: Int64s, alike: Alike, known: CopyDifferences | None = None) -> Int64s:
    """Return the keys of the pairs with the same words and other characters, ascending, without ``known`` ones."""
    differ = (alike.words[own] == alike.words[others]) & (alike.characters[own] != alike.characters[others])
    keys = distinct(_keys(own[differ], others[differ]))
    return keys if known is None else np.setdiff1d(keys, known.keys, assume_unique=True)


def turned(difference: str) -> str:
    """Return a difference seen from the other document.

    >>> turned("case: “The” here, “the” there")
    'case: “the” here, “The” there'
    """
    kind, _, places = difference.partition(": “")
    here, _, there = places.removesuffix("” there").partition("” here, “")
    return f"{kind}: “{there}” here, “{here}” there"


def _first_differences(others: list[int], own: list[int], texts: dict[int, bytes]) -> Iterator[str]:
    for row, other in zip(own, others, strict=True):
        yield first_difference(texts[row], texts[other])


def first_difference(here: bytes, there: bytes) -> str:
    """Return the first difference of two texts with the same words and other characters, in words.

    The time is that of a comparison of their bytes, and of the words around the first difference.

    >>> first_difference(b"due: -5,000.00 by May", b"Due: 5,000.00 by May")
    'case: “due” here, “Due” there'
    """
    a, b = _around_first(here, there)
    from neardup.text.units import read  # imported late: other runs need none of it

    words = [read(text).words for text in (a.text, b.text)]
    same = _alike(*(one.strings for one in words))
    spans = [one.spans[:same] for one in words]
    ends = [int(one[-1, 1]) if same else 0 for one in spans]
    if a.to_end and b.to_end and same == len(words[0]) == len(words[1]):
        ends = [len(a.text), len(b.text)]
    bounds = ((0, ends[0]), (0, ends[1]))
    first = next(differences(a.text, b.text, spans[0], spans[1], bounds), None)
    if first is not None:
        bare = first.a[0] == first.a[1] and first.b[0] == first.b[1]
        is_space = bare or first.kind == SPACE
        places = (a, first.a, b, first.b), (b, first.b, a, first.a)
        excerpts = [
            _excerpt(one.text, *_beside(one.text, place, two.text, of_two), is_space)
            for one, place, two, of_two in places
        ]
        return _in_words(first.kind, *excerpts)
    fields = [read(side.field).words.strings for side in (a, b)]
    return _in_words(PUNCTUATION if fields[0] == fields[1] else LEFT_OUT, a.field, b.field)


def _in_words(kind: int, here: str, there: str) -> str:
    return "{}: “{}” here, “{}” there".format(KINDS[kind], *(printable(_shortened(one)) for one in (here, there)))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True)
class _Window:
    """The text around the first field that differs; ``to_end``: it reaches the end of the text."""

    text: str
    field: str
    to_end: bool


def _around_first(here: bytes, there: bytes) -> tuple[_Window, _Window]:
    """Return both texts around the first field (run without white space) that is not the same in NFC."""
    begin = _begin(here, _same_bytes(here, there))
    a, b = (side[begin:].decode("utf-8", "replace") for side in (here, there))
    if not begin:
        a, b = a.removeprefix(MARK), b.removeprefix(MARK)
    recent: deque[tuple[int, int]] = deque(maxlen=_FIELDS)
    for one, other in zip_longest(FIELDS.finditer(a), FIELDS.finditer(b)):
        if one is None or other is None or (one[0] != other[0] and nfc(one[0]) != nfc(other[0])):
            break
        recent.append((one.start(), other.start()))
    else:
        one = other = None
    fields = [match[0] if match else "" for match in (one, other)]
    if max(map(len, fields)) > _LONG:
        return _windows_in(*map(nfc, fields))
    starts = recent[0] if recent else (0, 0)
    ends = [match.end() + _AFTER if match else len(text) for match, text in ((one, a), (other, b))]
    parts = zip((a, b), starts, ends, fields, strict=True)
    first, second = (_Window(text[start:end], part, end >= len(text)) for text, start, end, part in parts)
    return first, second


def _windows_in(a: str, b: str) -> tuple[_Window, _Window]:
    """Return two long fields around their first difference."""
    place = _alike(a, b)
    first, second = (
        _Window(text[max(place - AROUND, 0) : place + _AFTER], text[place:], False) for text in (a, b)
    )
    return first, second


def _alike(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many parts at the beginning are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _same_bytes(a: bytes, b: bytes) -> int:
    """Return how many bytes at the beginning are equal."""
    begin, size, most = 0, 1 << 12, min(len(a), len(b))
    while begin < most and a[begin : begin + size] == b[begin : begin + size]:
        begin, size = begin + size, size * 4
    parts = [np.frombuffer(side[begin : min(begin + size, most)], np.uint8) for side in (a, b)]
    differ = parts[0] != parts[1]
    return min(begin, most) + int(differ.argmax() if differ.any() else len(differ))


def _begin(text: bytes, place: int) -> int:
    """Return where to read from: a space, or at least a character, well before a place."""
    low = max(place - _BEFORE, 0)
    space = text.find(b" ", low, place)
    if not low or space >= 0:
        return space if low else 0
    while low < place and text[low] & 0xC0 == 0x80:
        low += 1
    return low


def _beside(text: str, place: tuple[int, int], other: str, of_other: tuple[int, int]) -> tuple[int, int]:
    """Return the place of a difference, an empty one at the next word if the other text has it there."""
    begin, end = place
    if begin == end and other[of_other[1] : of_other[1] + 1] not in WHITE_SPACE:
        while text[end : end + 1] in WHITE_SPACE and end < len(text):
            end += 1
        return end, end
    return place


def _excerpt(text: str, begin: int, end: int, is_space: bool) -> str:
    """Return characters [begin, end) of a text with the rest of the words that they touch, on one line.

    Of a difference of white space (``is_space``) also the words beside it.
    """
    low, high = max(begin - AROUND, 0), end + AROUND
    if is_space:
        before, after = FIELDS.findall(text[low:begin]), FIELDS.findall(text[end:high])
        low = text.rfind(before[-1], low, begin) if before else begin
        return " ".join(text[low : text.find(after[0], end) + len(after[0]) if after else end].split())
    while begin > low and text[begin - 1] not in WHITE_SPACE:
        begin -= 1
    while end < min(high, len(text)) and text[end] not in WHITE_SPACE:
        end += 1
    return " ".join(text[begin:end].split())
