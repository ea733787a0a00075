"""Verified pairs → families, and which of them are closed pair by pair and which are joined exactly.

A run on one machine does the same in ``join/verification.py``; the definitions are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.join.candidates import HUB
from neardup.join.method import BYTES_A_SHINGLE
from neardup.spark.arrays import whole
from neardup.spark.components import components

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob


class Families(NamedTuple):
    """The family of each document (row, part), and how the families are closed.

    ``hub`` (row) are the documents to join exactly, with at most ``shingles`` shingles. ``closed`` (row) are those
    of small families. ``left_out`` documents are in families that the exact join has no room for.
    """

    part: DataFrame
    hub: DataFrame
    closed: DataFrame
    shingles: int
    left_out: int


def families(pairs: DataFrame, hub: DataFrame, documents: DataFrame, job: SparkJob) -> Families:
    """Sort the families of ``pairs`` by how they are closed; ``documents`` are (row, units)."""
    from pyspark.sql import functions

    part = components(pairs.select("a", "b"), job, "families")
    marked = hub.selectExpr("row", "true as is_hub")
    members = (
        part.join(documents, "row")
        .join(marked, "row", "left")
        .selectExpr("row", "part", "coalesce(is_hub, false) as is_hub", "if(is_hub is null, units, 0) as more")
    )
    members = job.keep(members, "members")
    of_family = members.groupBy("part").agg(
        functions.expr("count(row) as size"),
        functions.expr("max(is_hub) as with_hub"),
        functions.expr("sum(more) as shingles"),
    )
    is_large = f"(size > {HUB} or with_hub)"
    large = of_family.where(is_large).select("part", "size", "shingles")
    of_hub = hub.join(documents, "row").groupBy().sum("units").first()
    held = (of_hub[0] or 0) if of_hub else 0
    room = job.settings.search.join_bytes / BYTES_A_SHINGLE - held
    fitting, more, left_out = _fitting(large, room, job)
    joined = hub.union(members.join(fitting, "part").select("row")).distinct()
    small = of_family.where(f"not {is_large} and size > 2").select("part")
    closed = members.join(small, "part").select("row")
    return Families(part, job.keep(joined, "joined", counted=True), closed, held + more, left_out)


def _fitting(large: DataFrame, room: float, job: SparkJob) -> tuple[DataFrame, int, int]:
    """The large families that the exact join has room for, smallest first; their shingles; documents left out."""
    total = large.selectExpr("sum(shingles)").first()
    shingles = (total[0] or 0) if total else 0
    if shingles <= room:
        return large.select("part"), shingles, 0
    table = large.toArrow()
    part, size, more = (whole(table, name) for name in ("part", "size", "shingles"))
    order = np.lexsort((part, more))
    fits = np.zeros(len(part), np.bool_)
    fits[order] = (np.cumsum(more[order]) <= room) | (more[order] == 0)
    chosen = job.spark.createDataFrame(pa.table({"part": part[fits]}))
    return chosen, int(more[fits].sum()), int(size[~fits].sum())
