"""Texts → fingerprints → candidate pairs and hub documents → verified pairs.

Band keys meet by one shuffle. Buckets of up to ``HUB`` documents yield all their pairs; the members of a larger
one are hub documents. A hub key is split where it arises: of the documents of a batch, one more than ``HUB`` go to
the common place, which shows that the bucket is a hub, and the others are spread. So no task receives a hub whole,
and no document of it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.join.candidates import HUB, keys_of
from neardup.join.criterion import criterion_of
from neardup.kernels.lsh.buckets import bucket_pairs
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.kernels.sorting import equal_groups
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import Plan
from neardup.settings.settings import TextSettings
from neardup.sketch.documents import shingle_sets, sign
from neardup.spark.arrays import Batches, batch_of, binary, run_starts, signed, truths, unsigned, whole, words
from neardup.spark.components import EDGES
from neardup.tables import Bools, Int64s

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob


NEW = 1 << 62
"""With a reference set, the new rows are numbered from here on."""
_TEXT_BYTES = 1 << 25
"""Bytes of text that a task fingerprints at a time: their shingle sets take about eight times as much."""


def fingerprints(rows: DataFrame, job: SparkJob, by_bands: bool) -> DataFrame:
    """(row, id, units, bytes, key_a, key_b, bands, shingles) of ``rows`` (row, id, text); kept.

    ``bands`` are the keys of the bands, and empty for an exact join. ``shingles`` is the keyed shingle set.
    """
    of_id = rows.schema["id"].dataType.simpleString()
    schema = f"row long, id {of_id}, units long, bytes long, key_a long, key_b long, bands binary, shingles binary"
    work = partial(_fingerprint, job.settings, job.plan if by_bands else None, job.key)
    return job.keep(rows.mapInArrow(work, schema), "fingerprints")


def _fingerprint(
    settings: TextSettings, plan: Plan | None, key: Broadcast[Key], batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lengths = np.cumsum(pc.fill_null(pc.binary_length(batch.column("text")), 0).to_numpy(zero_copy_only=False))
        cuts = np.unique(np.searchsorted(lengths, np.arange(0, lengths[-1:].sum() + 1, _TEXT_BYTES)))
        for first, until in zip(cuts, [*cuts[1:], batch.num_rows], strict=True):
            if until > first:
                yield _fingerprinted(batch.slice(first, until - first), settings, plan, key.value)


def _fingerprinted(batch: pa.RecordBatch, settings: TextSettings, plan: Plan | None, key: Key) -> pa.RecordBatch:
    texts, n = batch.column("text"), batch.num_rows
    keys = np.empty((n, 2), np.uint64)
    signatures = np.empty((n, 0 if plan is None else plan.slots), np.uint32)
    units, _ = sign(texts, settings, signatures, keys, key)
    sets = shingle_sets(texts, np.arange(n), settings, key)
    bands = np.empty((n, 0), np.uint64) if plan is None else np.ascontiguousarray(keys_of(signatures, plan).T)
    return batch_of(
        row=batch.column("row"),
        id=batch.column("id"),
        units=units,
        bytes=pc.fill_null(pc.binary_length(texts), 0).cast(pa.int64()),
        key_a=signed(keys[:, 0].copy()),
        key_b=signed(keys[:, 1].copy()),
        bands=binary(bands.reshape(-1), np.arange(n + 1) * bands.shape[1]),
        shingles=binary(sets.hashes, sets.offsets),
    )


def copies_of(made: DataFrame, job: SparkJob) -> DataFrame:
    """(row, first, units): the rows that are exact copies, each with the first row of its text."""
    from pyspark.sql import functions

    alike = made if job.settings.keep.empty == "one" else made.where("units > 0")
    firsts = alike.groupBy("key_a", "key_b").agg(
        functions.expr("min(row) as first"), functions.expr("count(*) as n")
    )
    joined = alike.select("row", "units", "key_a", "key_b").join(firsts.where("n > 1"), ["key_a", "key_b"])
    return job.keep(joined.where("row > first").select("row", "first", "units"), "copies")


def require_ids(made: DataFrame, first_new: int) -> None:
    """Raise InputError unless each id names one row of the new input."""
    faults = made.where(f"row >= {first_new}").groupBy("id").count().where("count > 1 or id is null").limit(3)
    examples = ", ".join(repr(row["id"]) for row in faults.collect())
    if examples:
        raise InputError(
            f"The id column names several rows alike, for example {examples}",
            "Ids that each name one document",
            "Choose another column with id=",
        )


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


_SENT = 2_000_000
"""Candidate pairs whose documents may be sent to all executors: 64 MB."""
PAIRS = "a long, b long, shared long, size_a long, size_b long"


def verified(pairs: DataFrame, sets: DataFrame, job: SparkJob) -> DataFrame:
    """(a, b, shared, size_a, size_b) of the ``pairs`` (a, b) that meet the criterion; ``sets``: row, shingles."""
    from pyspark.sql import functions

    if job.rows["candidates"] <= _SENT:  # the sets of all other documents need not move
        ends = pairs.selectExpr("a as row").union(pairs.selectExpr("b as row")).distinct()
        sets = sets.join(functions.broadcast(ends), "row", "left_semi")
    of_a = sets.selectExpr("row as a", "shingles as set_a")
    of_b = sets.selectExpr("row as b", "shingles as set_b")
    joined = pairs.join(of_a, "a").join(of_b, "b")
    work = partial(_verify, criterion_of(job.settings.search))
    return job.keep(joined.mapInArrow(work, PAIRS), "verified", counted=True)


def _verify(criterion: Criterion, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        n = batch.num_rows
        if not n:
            continue
        (of_a, ends_a), (of_b, ends_b) = words(batch.column("set_a")), words(batch.column("set_b"))
        hashes, offsets = np.concatenate((of_a, of_b)), np.concatenate((ends_a, ends_a[-1] + ends_b[1:]))
        shared, number = np.empty(n, np.int64), np.arange(n)
        verify_pairs(hashes, offsets, number, number + n, criterion, shared)
        compared = batch_of(
            a=batch.column("a"),
            b=batch.column("b"),
            shared=shared,
            size_a=np.diff(ends_a),
            size_b=np.diff(ends_b),
        )
        yield compared.filter(pa.array(shared >= 0))
