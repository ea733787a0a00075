"""The keys of all documents in one band at a time: made from signatures in memory, or read from working files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neardup.io.writers.scratch import Scratch
from neardup.kernels.lsh.buckets import band_keys
from neardup.lsh.bands import Plan
from neardup.tables import Int64s, UInt32s, UInt64s


class BandKeys(Protocol):
    """The keys of documents in the bands of a plan; ``len`` is the number of documents.

    Two documents that agree in all rows of a band have the same key in it. Bands are asked for by several threads.
    """

    def __len__(self) -> int: ...

    def of(self, band: int) -> UInt64s:
        """uint64[documents]: the keys in one band, in the order of documents."""


@dataclass(frozen=True, eq=False)
class SignatureBands:
    """The keys in the bands of ``plan``, from signatures in blocks uint32[m, slots]."""

    blocks: Sequence[UInt32s]
    plan: Plan

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def of(self, band: int) -> UInt64s:
        """The keys in one band, computed now."""
        keys, first, at = np.empty(len(self), np.uint64), sum(self.plan.bands[:band]), 0
        for block in self.blocks:
            band_keys(block, first, self.plan.bands[band], band, keys[at : at + len(block)])
            at += len(block)
        return keys


def keys_of(signatures: UInt32s, plan: Plan) -> UInt64s:
    """uint64[bands, m]: the keys of some documents in all bands, from their signatures uint32[m, slots]."""
    keys, first = np.empty((len(plan.bands), len(signatures)), np.uint64), 0
    for band, rows in enumerate(plan.bands):
        band_keys(signatures, first, rows, band, keys[band])
        first += rows
    return keys


def band_names(plan: Plan) -> list[str]:
    """The names of the columns of keys, one for each band of ``plan``."""
    return [f"band{band}" for band in range(len(plan.bands))]


def band_columns(signatures: UInt32s, plan: Plan) -> dict[str, UInt64s]:
    """The keys in the bands of ``plan``, as columns."""
    return dict(zip(band_names(plan), keys_of(signatures, plan), strict=True))


class SpilledBands:
    """The keys in working files, one for each band of ``plan``: 8 bytes a band a document."""

    def __init__(self, plan: Plan, scratch: Scratch) -> None:
        self.plan = plan
        self._files = [scratch.numbers() for _ in plan.bands]

    def __len__(self) -> int:
        return len(self._files[0])

    def add(self, keys: Sequence[UInt64s], which: Int64s) -> None:
        """Append the documents at the places ``which`` of the ``keys`` of each band."""
        for file, of_band in zip(self._files, keys, strict=True):
            file.append(of_band[which])

    def of(self, band: int) -> UInt64s:
        """The keys in one band, read now."""
        keys: UInt64s = self._files[band].read()
        return keys
