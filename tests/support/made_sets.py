"""Collections of shingle sets as the stages after the sketches see them, made without any text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from neardup.deduplication.group.leaders import GroupRules
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion
from neardup.settings import Settings
from neardup.tables import Int64s, UInt64s, verified_table
from neardup.text.sketch.documents import ShingleSets
from support import strategies

THRESHOLDS = [Fraction(3, 10), Fraction(1, 2), Fraction(7, 10), Fraction(4, 5), Fraction(9, 10), Fraction(1)]


def criterion(threshold: Fraction, measure: int = RESEMBLANCE) -> Criterion:
    return Criterion(*threshold.as_integer_ratio(), measure)


def rules(asked: Criterion, settings: Settings) -> GroupRules:
    """The rules of grouping under these settings, with a threshold that may be any fraction."""
    of = GroupRules.of(settings.search, settings.keep, settings.grouping, settings.work)
    return replace(of, criterion=asked)


def laid_out(sets: Sequence[set[int]]) -> tuple[UInt64s, Int64s, Int64s]:
    """Return (hashes, starts, sizes) of the sets, each sorted."""
    hashes = np.array([value for values in sets for value in sorted(values)], np.uint64)
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return hashes, offsets[:-1], np.diff(offsets)


class MadeStore:
    """A double of ``ShingleStore``: gives the sets of all documents, whichever are requested."""

    def __init__(self, sets: Sequence[set[int]]) -> None:
        hashes, starts, sizes = laid_out(sets)
        offsets = np.concatenate((starts, [sizes.sum()]))
        self.sets = DocumentSets(np.arange(len(sets)), ShingleSets(hashes, offsets))

    def get(self, documents: Int64s) -> DocumentSets:
        assert (np.diff(documents) > 0).all()
        return self.sets


def hashed(sets: Sequence[set[int]], by: Callable[[int], int]) -> list[set[int]]:
    return [set(map(by, values)) for values in sets]


def collections() -> st.SearchStrategy[list[set[int]]]:
    """Sets of well-mixed hashes, and of hashes that fall in three of the cells that count them."""
    by = st.sampled_from([strategies.mixed_hash, strategies.colliding_hash])
    return st.builds(hashed, strategies.families(), by)


def pair_table(sets: Sequence[set[int]], pairs: Sequence[tuple[int, int]]) -> pa.Table:
    """Return the VERIFIED table of these pairs."""
    rows = [(a, b, len(sets[a] & sets[b]), len(sets[a]), len(sets[b])) for a, b in pairs]
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return verified_table(*columns)


def pairs_of(table: pa.Table, sets: Sequence[set[int]]) -> Mapping[tuple[int, int], Fraction]:
    """Return the similarity of each pair of a VERIFIED table, whose numbers must be those of the sets."""
    rows = list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))
    for a, b, shared, size_a, size_b in rows:
        assert a < b
        assert (shared, size_a, size_b) == (len(sets[a] & sets[b]), len(sets[a]), len(sets[b]))
    ends = [(a, b) for a, b, *_ in rows]
    assert ends == sorted(set(ends))
    return {(a, b): Fraction(shared, size_a + size_b - shared) for a, b, shared, size_a, size_b in rows}
