"""The similarities of all pairs of some documents, by several kinds of shingles.

Only a bounded part of a sample is looked at: every pair of it is counted, also the pairs of strangers, which no
join below a threshold returns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.advice.choices import sets_of
from neardup.advice.sample import SampledTexts
from neardup.kernels.join.all_counts import count_all
from neardup.kernels.union_find import unite
from neardup.run.found import Found
from neardup.settings import Settings
from neardup.tables import Bools, Floats, Int64s

MOST_DOCUMENTS = 2000
MOST_BYTES = 12_000_000
"""More documents than this, or with more bytes, are not looked at together."""


MOST_COPIES = 10
"""A document with more copies counts no more than this, so that a mass of copies does not hide the others."""


@dataclass(frozen=True)
class Kind:
    """Shingles to look by. Strangers reach ``floor`` by chance, in resemblance and in overlap."""

    unit: str
    length: int
    floor: float
    overlap_floor: float

    def settings(self, asked: Settings) -> Settings:
        """Return the asked settings with these shingles."""
        return Settings.of(**{**asked.as_dict(), "unit": self.unit, "length": self.length})


KINDS = (
    Kind("word", 5, 0.02, 0.04),
    Kind("word", 3, 0.02, 0.06),
    Kind("char", 9, 0.025, 0.08),
    Kind("char", 5, 0.10, 0.30),
)
"""The shingles tried, the preferred first."""


@dataclass(frozen=True, eq=False)
class Counts:
    """``shared`` (int32[n, n]): the shingles any two documents share; ``sizes`` (int64[n]): those of each."""

    kind: Kind
    shared: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    sizes: Int64s

    def similar(self, measure: str) -> Floats:
        """Return float32[n, n]: the resemblance, or the overlap, of any two; 0 on the diagonal."""
        shared = self.shared.astype(np.float32)
        a, b = self.sizes[:, None].astype(np.float32), self.sizes[None, :].astype(np.float32)
        whole = np.minimum(a, b) if measure == "overlap" else a + b - shared
        found: Floats = shared / np.maximum(whole, 1)
        np.fill_diagonal(found, 0)
        return found


def to_look_at(sample: SampledTexts, full: Bools, found: Found) -> Int64s:
    """Return the numbers of the documents to look at: without exact copies and empty ones, rising.

    If there are too many, half of them are whole families of the pairs in ``found``, so that relatives are not
    torn apart, and the others are evenly spaced.
    """
    once = np.setdiff1d(np.flatnonzero(full), found.copies["id"].to_numpy())
    sizes = sample.sizes
    if len(once) <= MOST_DOCUMENTS and sizes[once].sum() <= MOST_BYTES:
        return once
    parent = np.arange(len(sizes))
    unite(parent, found.pairs["id_a"].to_numpy(), found.pairs["id_b"].to_numpy())
    of_each = np.array([_root(parent, k) for k in once.tolist()])
    _, family, often = np.unique(of_each, return_inverse=True, return_counts=True)
    related = once[np.isin(family, _spaced(np.flatnonzero(often > 1), MOST_DOCUMENTS // 2, often))]
    chosen = _fitting(related, sizes, MOST_DOCUMENTS // 2, MOST_BYTES // 2)
    room = MOST_BYTES - int(sizes[chosen].sum())
    others = np.setdiff1d(once, related)
    step = max(1, len(others) // max(1, MOST_DOCUMENTS - len(chosen)))
    return np.sort(np.concatenate((chosen, _fitting(others[::step], sizes, MOST_DOCUMENTS - len(chosen), room))))


def weights_of(numbers: Int64s, found: Found) -> Int64s:
    """Return int64[n]: the documents that each of ``numbers`` stands for, itself and its copies, MOST_COPIES at "
    "most."""
    often = np.ones(int(numbers.max(initial=-1)) + 1, np.int64)
    of = found.copies["copy_of"].to_numpy()
    np.add.at(often, of[of < len(often)], 1)
    return np.minimum(often[numbers], MOST_COPIES)


def counts_of(texts: pa.Array, kind: Kind, asked: Settings) -> Counts:
    """Count the shingles of every text (large_binary[n]) and those any two share."""
    sets = sets_of(texts, kind.settings(asked))
    n = len(texts)
    order = np.argsort(sets.hashes, kind="stable")
    owners = np.repeat(np.arange(n, dtype=np.int32), sets.sizes)[order]
    hashes = sets.hashes[order]
    fresh = np.concatenate((np.ones(min(len(hashes), 1), np.bool_), hashes[1:] != hashes[:-1]))
    begin = np.concatenate((np.flatnonzero(fresh), [len(hashes)])).astype(np.int64)
    elements = np.empty(len(hashes), np.int32)
    elements[order] = np.cumsum(fresh) - 1
    shared = np.zeros((n, n), np.int32)
    count_all(elements, sets.offsets, owners, begin, shared)
    return Counts(kind, shared, sets.sizes)


def _spaced(families: Int64s, most: int, often: Int64s) -> Int64s:
    """Return evenly spaced ones of the families, of at most about ``most`` documents together."""
    total = int(often[families].sum())
    return families[:: max(1, -(-total // most))]


def _fitting(numbers: Int64s, sizes: Int64s, most: int, room: int) -> Int64s:
    """Return the first of the documents, at most ``most`` and of at most ``room`` bytes."""
    return numbers[:most][np.cumsum(sizes[numbers[:most]]) <= room]


def _root(parent: Int64s, k: int) -> int:
    while parent[k] != k:
        k = int(parent[k])
    return k
