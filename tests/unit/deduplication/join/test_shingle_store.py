"""Some of many sets, concatenated."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.deduplication.join.shingle_store import sets_at


@given(st.lists(st.tuples(st.integers(0, 900), st.booleans()), max_size=30))
def test_sets_are_those_cut_out_one_by_one(drawn: list[tuple[int, bool]]) -> None:
    """Whole runs of long sets are copied, and short sets far apart hash by hash."""
    sizes = np.array([size for size, _ in drawn], np.int64)
    starts = np.cumsum(sizes) - sizes
    hashes = np.arange(sizes.sum(), dtype=np.uint64)
    wanted = np.flatnonzero(np.array([chosen for _, chosen in drawn], np.bool_))
    found = sets_at(hashes, starts[wanted], sizes[wanted])
    one_by_one = [hashes[starts[k] : starts[k] + sizes[k]].tolist() for k in wanted.tolist()]
    begins, ends = found.offsets[:-1].tolist(), found.offsets[1:].tolist()
    assert [found.hashes[begin:end].tolist() for begin, end in zip(begins, ends, strict=True)] == one_by_one


def test_sets_may_come_in_any_order() -> None:
    hashes, starts = np.arange(3000, dtype=np.uint64), np.array([2000, 0, 1000, 0])
    found = sets_at(hashes, starts, np.array([1000, 1000, 500, 700]))
    assert found.hashes.tolist() == [*range(2000, 3000), *range(1000), *range(1000, 1500), *range(700)]
