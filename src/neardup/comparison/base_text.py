"""Base text in a comparison of two texts: which units do not count, and the counts without them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from neardup.comparison.matching import SetCounts
from neardup.errors import InputError
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.text import Key
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.cleaning import Cleaner
from neardup.text.keys import PUBLIC
from neardup.text.units import Reading, Units, read


@dataclass(frozen=True, eq=False)
class BaseShingles:
    """The shingles of base texts: uint64, sorted and distinct, by the key of the process and by the public one."""

    counted: UInt64s
    published: UInt64s
    length: int
    key: Key

    def __len__(self) -> int:
        return len(self.counted)

    def covered_units(self, units: Units) -> Bools:
        """bool[units]: which units are in a base shingle."""
        hashes = _shingles(units.hashes, self.length, self.key)
        begins = np.flatnonzero(np.isin(hashes, self.counted))
        edges = np.zeros(len(units) + 1, np.int64)
        np.add.at(edges, begins, 1)
        np.add.at(edges, np.minimum(begins + self.length, len(units)), -1)
        covered: Bools = np.cumsum(edges)[:-1] > 0
        return covered

    def counts(self, a: Units, b: Units) -> tuple[SetCounts, tuple[int, int]]:
        """The counts of the other shingles, and how often they occur in each text."""
        shared = []
        for units in (a, b):
            hashes = _shingles(units.hashes, self.length, self.key)
            shared.append(np.unique(hashes[~np.isin(hashes, self.counted)], return_counts=True))
        (set_a, times_a), (set_b, times_b) = shared
        _, at_a, at_b = np.intersect1d(set_a, set_b, assume_unique=True, return_indices=True)
        totals = int(times_a.sum()), int(times_b.sum())
        least = int(np.minimum(times_a[at_a], times_b[at_b]).sum())
        return SetCounts(len(set_a), len(set_b), len(at_a), least, sum(totals) - least), totals

    def others(self, units: Units) -> UInt64s:
        """The published hashes of the shingles that count, for a sketch."""
        hashes = published_shingles(units, self.length)
        return hashes[~np.isin(hashes, self.published)]


def base_shingles(
    ignore: Collection[str] | None, length: int, unit: str, *, cleaner: Cleaner | None, key: Key
) -> BaseShingles | None:
    """Return the shingles of the texts to ignore; None without any. Raises InputError for anything but texts."""
    if isinstance(ignore, str):
        raise InputError("ignore is one text", "A list of texts", "Put it into a list")
    readings = [read(text, cleaner=cleaner, key=key) for text in ignore or ()]
    every = [reading.units(unit == "word") for reading in readings]
    counted = np.unique(np.concatenate([_none(), *(_shingles(units.hashes, length, key) for units in every)]))
    published = np.unique(np.concatenate([_none(), *(published_shingles(units, length) for units in every)]))
    return BaseShingles(counted, published, length, key) if len(counted) else None


def published_shingles(units: Units, length: int) -> UInt64s:
    """The published hashes of all shingles, in text order."""
    return _shingles(units.published, length, PUBLIC)


def units_kept(units: Units, kept: Bools) -> Units:
    """The units of which ``kept`` is set, as if the others were not in the text; for counts."""
    return replace(units, hashes=units.hashes[kept], published=units.published[kept], spans=units.spans[kept])


def words_that_count(reading: Reading, units: Units, covered: Bools) -> UInt64s:
    """The hashes of the words with a unit that counts: a word of characters has several."""
    inside = np.zeros(len(reading.text) + 1, np.int64)
    counting = units.spans[~covered]
    np.add.at(inside, counting[:, 0], 1)
    np.add.at(inside, counting[:, 1], -1)
    total = np.concatenate(([0], np.cumsum(np.cumsum(inside) > 0)))
    spans = reading.words.spans
    return reading.token_hashes[total[spans[:, 1]] > total[spans[:, 0]]]


def runs_of(covered: Bools) -> Int64s:
    """int64[k, 2]: the runs [begin, end) of covered units."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], covered, [False]))))
    return edges.reshape(-1, 2)


def _none() -> UInt64s:
    return np.empty(0, np.uint64)


def _shingles(units: UInt64s, length: int, key: Key) -> UInt64s:
    hashes = np.empty(max(len(units), 1), np.uint64)
    return hashes[: shingle_hashes(units, len(units), length, key.shingles, hashes)]
