"""Masks: regular expressions (RE2) for text that does not count, and the places that they match.

RE2 looks at each byte a bounded number of times, whatever the expression and the text: documents are hostile, and
the expressions of Python may take exponential time. The price is a smaller syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.tables import Int64s, UInt8s

_MARK, _OTHER = 0xFF, 0xFE  # bytes of no UTF-8 text, which no expression matches
_ONE_BYTE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")


def fault_of(mask: str) -> str:
    """Return the way to correct a mask that cannot be used; "" for one that can.

    >>> fault_of(r"\\d{4}-\\d\\d"), fault_of("a(?=b)"), fault_of("x*")
    ('', 'Correct it; RE2 says: invalid perl operator: (?=', 'Write it so that it matches at least one character')
    """
    if _ONE_BYTE.search(mask):
        return r"Leave out \C, which matches a part of a character"
    try:
        empty = pc.count_substring_regex(pa.array([""]), pattern=mask)[0].as_py()
    except (pa.ArrowException, UnicodeError) as error:
        said = str(error).strip().splitlines()[0].removeprefix("Invalid regular expression: ")
        return f"Correct it; RE2 says: {said}"
    return "Write it so that it matches at least one character" if empty else ""


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
    found = np.flatnonzero(np.frombuffer(marked.buffers()[2], np.uint8) == _MARK)
    places: Int64s = (found - np.arange(len(found))).reshape(-1, 2)
    return places[places[:, 0] < places[:, 1]]


def _nowhere() -> Int64s:
    return np.empty((0, 2), np.int64)
