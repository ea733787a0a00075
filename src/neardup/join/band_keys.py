"""The keys of all documents in one band at a time: made from signatures in memory, or read from where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neardup.kernels.lsh.buckets import band_keys
from neardup.lsh.bands import Plan
from neardup.tables import UInt32s, UInt64s


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
