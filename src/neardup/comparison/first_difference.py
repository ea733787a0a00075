"""The first difference of characters of two texts with the same words, in words."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

import numpy as np

from neardup.display import printable
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
from neardup.unicode import nfc

AROUND, LONGEST = 24, 60
"""Characters before and after a difference that may be of the same word, and most characters shown of it."""
_BEFORE, _FIELDS, _AFTER = 256, 6, 160
"""Bytes and fields before a difference, and characters after its fields, that its kind is taken from."""
_LONG = 1 << 12
"""Characters from which on a field is looked at near its first difference alone."""


def first_difference(here: bytes, there: bytes) -> str:
    """Return the first difference of two texts with the same words and other characters, in words.

    The time is that of a comparison of their bytes, and of the words around the first difference.

    >>> first_difference(b"due: -5,000.00 by May", b"Due: 5,000.00 by May")
    'case: “due:” here, “Due:” there'
    """
    a, b = _around_first(here, there)
    from neardup.text.units import read  # imported late: runs without such texts need none of it

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
    return "{}: “{}” here, “{}” there".format(KINDS[kind], *(printable(_shorten(one)) for one in (here, there)))


def _shorten(text: str) -> str:
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
