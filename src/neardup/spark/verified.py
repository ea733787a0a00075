"""Candidate pairs → verified pairs, after a join with the shingle sets of both documents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.join.criterion import criterion_of
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.spark.arrays import Batches, batch_of, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.job import Job

_SENT = 2_000_000
"""Candidate pairs whose documents may be sent to all executors: 64 MB."""
PAIRS = "a long, b long, shared long, size_a long, size_b long"


def verified(pairs: DataFrame, sets: DataFrame, job: Job) -> DataFrame:
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
        found = pa.array(shared >= 0)
        made = batch_of(
            a=batch.column("a"),
            b=batch.column("b"),
            shared=shared,
            size_a=np.diff(ends_a),
            size_b=np.diff(ends_b),
        )
        yield made.filter(found)
