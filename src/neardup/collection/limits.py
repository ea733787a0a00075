"""The limits of a document in a collection, checked before anything is stored: the same for every interface."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

LARGEST_TEXT = 64_000_000
"""The most bytes of a text."""
MOST_WORDS = 1_000_000
"""The most distinct words of a text: each is a row of the index.

Two million take ten seconds to commit (measured).
"""
FEW_WORDS = 4_000_000
"""A text of at most this many bytes cannot have too many distinct words: not enough words are that short."""
DEEPEST = 32
"""The deepest nesting of lists and records in metadata."""
MOST_KEYS = 1_000
"""The most distinct names in the metadata of a document, including those of records in records."""
LONGEST_KEY = 1_024
"""The most bytes of a name, ``outer.inner`` in full."""
MOST_VALUES = 10_000
"""The most values in the metadata of a document: elements of lists and fields of records."""
MOST_METADATA = 1_000_000
"""The most bytes of names and strings in the metadata of a document."""
MOST_DIGITS = 300
"""The most digits of a whole number: a larger one cannot be ordered among the other numbers."""

LARGEST_STREAM = 2 * LARGEST_TEXT
"""The most bytes of the normalised words of a text, each followed by a space.

One character, U+FDFA, becomes 33 bytes.
"""

STREAM_FAULT = f"the text has more than {LARGEST_STREAM:,} bytes when it is normalised"
WORDS_FAULT = f"the text has more than {MOST_WORDS:,} different words"

_SHOWN = 80
_TOO_LARGE = 10**MOST_DIGITS


def text_fault(size: int) -> str:
    """Return why a text of ``size`` bytes cannot be kept; empty if it can."""
    return f"the text has {size:,} bytes, more than {LARGEST_TEXT:,}" if size > LARGEST_TEXT else ""


def metadata_fault(metadata: Any) -> str:
    """Return why metadata cannot be kept; empty if it can. Examines no more than the limits allow.

    >>> metadata_fault({"n": 10**300})
    'the metadata holds a whole number of more than 300 digits'
    >>> metadata_fault({"scores": [1.5, float("nan")]})
    "the metadata holds nan in 'scores', which JSON cannot represent; leave it out"
    """
    if not isinstance(metadata, Mapping):
        return f"the metadata is a {type(metadata).__name__}, not a record"
    level: list[tuple[str, Any]] = [("", metadata)]
    keys: set[str] = set()
    values = size = 0
    for _ in range(DEEPEST):
        deeper: list[tuple[str, Any]] = []
        for name, value in _parts(level):
            values += 1
            if values > MOST_VALUES:
                return f"the metadata has more than {MOST_VALUES:,} values"
            fault = _fault(name, value)
            if fault:
                return fault
            keys.add(name)
            size += _size(name) + (_size(value) if isinstance(value, str | bytes) else 0)
            if isinstance(value, Mapping | list | tuple):
                deeper.append((name, value))
        if len(keys) > MOST_KEYS:
            return f"the metadata has {len(keys):,} different names, more than {MOST_KEYS:,}"
        if size > MOST_METADATA:
            return f"the names and strings of the metadata have {size:,} bytes, more than {MOST_METADATA:,}"
        if not deeper:
            return ""
        level = deeper
    return f"the lists and records of the metadata are nested more than {DEEPEST} deep"


def _parts(level: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The fields and elements of records and lists, each with its name."""
    for name, outer in level:
        if isinstance(outer, Mapping):
            for key, value in outer.items():
                yield f"{name}.{key}" if name else str(key), value
        else:
            for value in outer:
                yield name, value


def _fault(name: str, value: Any) -> str:
    if len(name) > LONGEST_KEY or _size(name) > LONGEST_KEY:
        return f"a name in the metadata has {_size(name):,} bytes, more than {LONGEST_KEY:,}"
    if isinstance(value, int) and not -_TOO_LARGE < value < _TOO_LARGE:
        return f"the metadata holds a whole number of more than {MOST_DIGITS} digits"
    if isinstance(value, float | Decimal | np.floating) and not math.isfinite(value):
        return f"the metadata holds {value} in {name[:_SHOWN]!r}, which JSON cannot represent; leave it out"
    return ""


def _size(text: str | bytes) -> int:
    return len(text.encode("utf-8", "replace") if isinstance(text, str) else text)


__all__ = [
    "DEEPEST",
    "FEW_WORDS",
    "LARGEST_STREAM",
    "LARGEST_TEXT",
    "LONGEST_KEY",
    "MOST_DIGITS",
    "MOST_KEYS",
    "MOST_METADATA",
    "MOST_VALUES",
    "MOST_WORDS",
    "STREAM_FAULT",
    "WORDS_FAULT",
    "metadata_fault",
    "text_fault",
]
