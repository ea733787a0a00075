"""Band keys → candidate pairs and hub documents, by one shuffle on the key.

Buckets of up to ``HUB`` documents yield all their pairs; the members of a larger one are hub documents. A hub
key is split where it arises: of the documents of a batch, one more than ``HUB`` go to the common place, which
shows that the bucket is a hub, and the others are spread. So no task receives a hub whole, and no document of it
is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.join.candidates import HUB
from neardup.kernels.lsh.buckets import bucket_pairs
from neardup.kernels.sorting import equal_groups
from neardup.spark.arrays import Batches, batch_of, run_starts, signed, truths, unsigned, whole, words
from neardup.spark.components import EDGES
from neardup.tables import Bools, Int64s

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob

_KEYS = "key long, row long, hub boolean"
_ODD = np.uint64(0x9E3779B97F4A7C15)


def candidates(documents: DataFrame, job: SparkJob) -> tuple[DataFrame, DataFrame]:
    """(pairs, hub): the candidate pairs (a, b) of ``documents`` (row, bands), and the hub documents (row)."""
    keys = documents.select("row", "bands").mapInArrow(spread_keys, _KEYS)
    sorted_keys = keys.repartition("key").sortWithinPartitions("key", "row")
    met = sorted_keys.mapInArrow(partial(_meet, job.first_new), EDGES).distinct()
    met = job.keep(met, "candidates", counted=True)
    return met.where("a < b"), met.where("a = b").selectExpr("a as row")


def spread_keys(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the band keys of documents; in hubs, most documents get keys of their own and the mark of a hub."""
    for batch in batches:
        if not batch.num_rows:
            continue
        keys, offsets = words(batch.column("bands"))
        row = np.repeat(whole(batch, "row"), np.diff(offsets))
        hub = np.zeros(len(keys), np.bool_)
        order, starts, sizes = equal_groups(keys)
        for k in np.flatnonzero(sizes > HUB + 1):
            hub[order[starts[k] + HUB + 1 : starts[k] + sizes[k]]] = True
        keys[hub] ^= unsigned(row[hub]) * _ODD
        yield batch_of(key=signed(keys), row=row, hub=hub)


def _meet(first_new: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of buckets; a hub document is paired with itself. Rows are sorted by key and row."""
    key, row, hub = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_)
    for batch in batches:
        if not batch.num_rows:
            continue
        key = np.concatenate((key, whole(batch, "key")))
        row = np.concatenate((row, whole(batch, "row")))
        hub = np.concatenate((hub, truths(batch, "hub")))
        last = int(run_starts(key)[-1])
        yield _of_buckets(key[:last], row[:last], hub[:last], first_new)
        key, row, hub = key[last:], row[last:], hub[last:]
        if len(key) > HUB + 1:  # the rest of a hub need not be held
            yield batch_of(a=row, b=row)
            key, row, hub = key[: HUB + 1], row[: HUB + 1], hub[: HUB + 1]
    yield _of_buckets(key, row, hub, first_new)


def _of_buckets(key: Int64s, row: Int64s, hub: Bools, first_new: int) -> pa.RecordBatch:
    starts = run_starts(key)
    sizes = np.diff(np.append(starts, len(key)))
    several = sizes > 1
    marked = np.zeros(len(key), np.bool_)
    order = np.arange(len(key), dtype=np.int32)
    pairs, _, _ = bucket_pairs(order, starts[several], sizes[several], HUB, 0, marked)
    a, b = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    wanted = row[b] >= first_new
    alone = row[marked | hub]
    return batch_of(a=np.concatenate((row[a[wanted]], alone)), b=np.concatenate((row[b[wanted]], alone)))
