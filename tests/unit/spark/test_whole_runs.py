"""Tables of at least some bytes, cut where a sorted column changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from neardup.spark.job import batch_of, whole_runs


def tables(values: list[int], size: int, enough: int) -> list[list[int]]:
    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(values), size):
            yield batch_of(a=np.array(values[first : first + size], np.int64))
            yield batch_of(a=np.empty(0, np.int64))

    return [table["a"].to_pylist() for table in whole_runs(batches(), "a", enough)]


@pytest.mark.parametrize("size", [1, 3, 50])
def test_no_run_of_equal_values_is_cut(size: int) -> None:
    draw = random.Random(size)
    values = sorted(draw.choices(range(40), k=200))
    made = tables(values, size, 80)
    assert [value for table in made for value in table] == values
    assert all(one[-1] < other[0] for one, other in pairwise(made))
    assert len(made) >= 5


def test_a_table_is_cut_as_soon_as_it_is_large_enough() -> None:
    assert tables([1, 2, 3, 4], 2, 16) == [[1], [2, 3], [4]]
    assert tables([1, 1, 1, 1, 2], 2, 16) == [[1, 1, 1, 1], [2]]
    assert tables([], 2, 16) == []
