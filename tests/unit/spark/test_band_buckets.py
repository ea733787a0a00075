"""Buckets that arrive as sorted batches yield the candidates and hub documents of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from neardup.deduplication.join.candidates import HUB
from neardup.deduplication.join.candidates import band_candidates as on_one_machine
from neardup.spark.job import batch_of, binary, truths, whole
from neardup.spark.pairs import _meet, spread_keys
from neardup.tables import UInt64s, column

BANDS = 3


class Made:
    """Band keys as they are, for a search on one machine."""

    def __init__(self, keys: UInt64s) -> None:
        self.keys = keys

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, band: int) -> UInt64s:
        return self.keys[:, band].copy()


def band_keys(documents: int, hub: int) -> UInt64s:
    """Random keys; some buckets of every band are small, and one has about ``hub`` documents."""
    draw = np.random.default_rng(documents + hub)
    pool = draw.integers(1, 1 << 63, (BANDS, documents // 2), dtype=np.uint64)
    keys = np.stack([draw.choice(of_band, documents) for of_band in pool], axis=1)
    keys[draw.permutation(documents)[:hub], 1] = np.uint64(99)
    return keys


def shuffled(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """All rows sorted by key and row, in batches, as one partition receives them."""
    made = list(batches)
    key, row = (np.concatenate([whole(one, name) for one in made]) for name in ("key", "row"))
    hub = np.concatenate([truths(one, "hub") for one in made])
    order = np.lexsort((row, key))
    for first in range(0, len(order), size):
        part = order[first : first + size]
        yield batch_of(key=key[part], row=row[part], hub=hub[part])


@pytest.mark.part(3)
@pytest.mark.parametrize("hub", [0, 2, HUB, HUB + 1, HUB + 2, 400])
@pytest.mark.parametrize(("mapped", "reduced"), [(1000, 10_000), (70, 37), (500, 1)])
def test_the_candidates_of_one_machine(hub: int, mapped: int, reduced: int) -> None:
    keys, first_new = band_keys(600, hub), 40
    rows = np.arange(len(keys)) * 7 + 3

    def documents() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(keys), mapped):
            part = keys[first : first + mapped]
            offsets = np.arange(len(part) + 1) * BANDS
            yield batch_of(row=rows[first : first + mapped], bands=binary(part.reshape(-1), offsets))

    met = partial(_meet, int(rows[first_new]))(shuffled(spread_keys(documents()), reduced))
    found = {pair for one in met for pair in zip(whole(one, "a").tolist(), whole(one, "b").tolist(), strict=True)}
    expected = on_one_machine(Made(keys), BANDS, first_new, 1, lambda done: None)
    pairs = expected.pairs.table()
    named = zip(rows[column(pairs, "a")].tolist(), rows[column(pairs, "b")].tolist(), strict=True)
    assert {pair for pair in found if pair[0] < pair[1]} == set(named)
    assert {a for a, b in found if a == b} == set(rows[expected.hub].tolist())


def test_a_hub_does_not_go_to_one_place() -> None:
    keys = np.full((5000, 1), 17, np.uint64)
    made = list(
        spread_keys(iter([batch_of(row=np.arange(5000), bands=binary(keys.reshape(-1), np.arange(5001)))]))
    )
    together = np.concatenate([whole(one, "key") for one in made])
    assert np.count_nonzero(together == 17) == HUB + 1
    assert len(np.unique(together)) == 5000 - HUB
