"""Fingerprints in the form the search uses: two words each, grouped if equal, and cut into tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.kernels.lsh.hamming import prefix_keys, varying
from neardup.kernels.sorting import sorted_by_key
from neardup.lsh.hamming.tables import best_design
from neardup.tables import Int32s, Int64s, UInt64s

MOST = 1 << 31
"""Fingerprints are numbered in 31 bits."""

_DIGIT = 11
_WORD = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True)
class FingerprintWords:
    """``low`` and ``high`` words, uint64[n]; ``high`` is uint64[0] if fingerprints have 64 bits."""

    low: UInt64s
    high: UInt64s

    @classmethod
    def of(cls, rows: UInt64s) -> FingerprintWords:
        """From uint64[n, 1] or uint64[n, 2]."""
        high = rows[:, 1] if rows.shape[1] == 2 else np.empty(0, np.uint64)
        return cls(np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(high))

    def __len__(self) -> int:
        return len(self.low)

    def take(self, which: NDArray[Any] | slice) -> FingerprintWords:
        """The words at the given positions."""
        return FingerprintWords(self.low[which], self.high[which] if len(self.high) else self.high)

    def keys(self, mask: UInt64s) -> UInt64s:
        """uint64[n]: well-mixed keys, equal where the bits of ``mask`` (uint64[2]) are equal."""
        keys = np.empty(len(self), np.uint64)
        prefix_keys(self.low, self.high, mask, keys)
        return keys


@dataclass(frozen=True)
class DistinctWords:
    """The different fingerprints: class k has the rows ``rows[starts[k]:starts[k + 1]]``, ascending."""

    words: FingerprintWords
    rows: Int64s
    starts: Int64s

    @property
    def first(self) -> Int64s:
        """The first row of each class."""
        return self.rows[self.starts[:-1]]

    @property
    def sizes(self) -> Int64s:
        """The number of rows of each class."""
        return np.diff(self.starts)

    def members(self, classes: Int64s) -> tuple[Int64s, Int64s]:
        """The rows of the given classes, one class after the other, and the index of its class for each row."""
        begins = self.starts[classes]
        counts = self.starts[classes + 1] - begins
        which = np.repeat(np.arange(len(classes)), counts)
        inside = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[begins[which] + inside], which


def distinct(words: FingerprintWords) -> DistinctWords:
    """Group equal fingerprints."""
    wide = len(words.high) > 0
    order = np.lexsort((words.low, words.high)) if wide else np.argsort(words.low, kind="stable")
    ordered = words.take(order)
    new = np.ones(len(words), np.bool_)
    new[1:] = ordered.low[1:] != ordered.low[:-1]
    if wide:
        new[1:] |= ordered.high[1:] != ordered.high[:-1]
    begins = np.flatnonzero(new)
    return DistinctWords(ordered.take(begins), order.astype(np.int64), np.append(begins, len(words)))


def cut(words: FingerprintWords, distance: int) -> UInt64s:
    """The prefixes of the tables for these fingerprints, uint64[tables, 2]; a single 0: compare all with all.

    Only bits in which the fingerprints differ are cut into blocks, since the others do not separate any. The
    number of documents is rounded up to a power of two, so that one plan serves many similar parts.
    """
    bits = int(varying(words.low)) | int(varying(words.high)) << 64 if len(words) else 0
    positions = [position for position in range(128) if bits >> position & 1]
    design = best_design(len(positions), distance, 1 << (len(words) - 1).bit_length() if len(words) else 1)
    masks = design.masks(positions)
    return np.array([[mask & _WORD, mask >> 64] for mask in masks], np.uint64)


def in_order(words: FingerprintWords, mask: UInt64s) -> tuple[Int32s, int]:
    """(int32 order by the key of the masked bits, number of top bits of the key that are sorted)."""
    passes = 1 + (len(words) > 1 << _DIGIT) + (len(words) > 1 << 2 * _DIGIT + 4)
    return sorted_by_key(words.keys(mask), passes), _DIGIT * passes


def read_fingerprints(fingerprints: Any, bits: int | None = None) -> UInt64s:
    """uint64[n, 1] or uint64[n, 2] from an array, an Arrow column or a sequence of whole numbers.

    Without ``bits`` a sequence of numbers has 64. Raises InputError.
    """
    if isinstance(fingerprints, pa.Array | pa.ChunkedArray):
        fingerprints = fingerprints.to_numpy()
    if isinstance(fingerprints, np.ndarray):
        rows = _rows_of_array(fingerprints, bits)
    elif isinstance(fingerprints, Iterable) and not isinstance(fingerprints, str | bytes):
        rows = _rows_of_numbers(list(fingerprints), bits or 64)
    else:
        raise _refused(f"a {type(fingerprints).__name__}", bits)
    if len(rows) >= MOST:
        raise InputError(f"There are {len(rows)} fingerprints", "Fewer than 2^31", "Search in parts")
    return rows


def _rows_of_array(array: NDArray[Any], bits: int | None) -> UInt64s:
    if array.dtype.kind not in "iu" or (array.dtype.kind == "i" and array.size and int(array.min()) < 0):
        raise _refused(f"an array of {array.dtype}", bits)
    rows = array.reshape(-1, 1) if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] not in (1, 2) or (bits is not None and rows.shape[1] * 64 != bits):
        raise _refused(f"an array of shape {array.shape}", bits)
    return rows.astype(np.uint64, copy=False)


def _rows_of_numbers(numbers: Sequence[Any], bits: int) -> UInt64s:
    for number in numbers:
        if not isinstance(number, int | np.integer) or not 0 <= number < 1 << bits:
            raise _refused(f"holding {number!r}", bits)
    words = [[int(number) >> shift & _WORD for shift in range(0, bits, 64)] for number in numbers]
    return np.array(words, np.uint64).reshape(-1, bits // 64)


def _refused(what: str, bits: int | None) -> InputError:
    shapes = {
        None: "uint64[n], or uint64[n, 2] for 128 bits",
        64: "uint64[n]",
        128: "uint64[n, 2], low bits first",
    }
    return InputError(
        f"The fingerprints are {what}",
        f"Fingerprints of SimHash.sketch, {shapes[bits]}; or whole numbers below 2^{bits or 64}",
    )
