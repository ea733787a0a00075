"""Texts → a table of rows: number, id, units, stream key, band keys, shingle set; and the exact copies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.join.candidates import keys_of
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import Plan
from neardup.settings import Settings
from neardup.sketch.documents import shingle_sets, sign
from neardup.spark.arrays import Batches, batch_of, binary, signed

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
    settings: Settings, plan: Plan | None, key: Broadcast[Key], batches: Batches
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lengths = np.cumsum(pc.fill_null(pc.binary_length(batch.column("text")), 0).to_numpy(zero_copy_only=False))
        cuts = np.unique(np.searchsorted(lengths, np.arange(0, lengths[-1:].sum() + 1, _TEXT_BYTES)))
        for first, until in zip(cuts, [*cuts[1:], batch.num_rows], strict=True):
            if until > first:
                yield _fingerprinted(batch.slice(first, until - first), settings, plan, key.value)


def _fingerprinted(batch: pa.RecordBatch, settings: Settings, plan: Plan | None, key: Key) -> pa.RecordBatch:
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
    from neardup.errors import InputError

    faults = made.where(f"row >= {first_new}").groupBy("id").count().where("count > 1 or id is null").limit(3)
    examples = ", ".join(repr(row["id"]) for row in faults.collect())
    if examples:
        raise InputError(
            f"The id column names several rows alike, for example {examples}",
            "Ids that each name one document",
            "Choose another column with id=",
        )
