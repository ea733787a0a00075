"""Edges between documents → connected components, on the cluster.

Each partition first contracts its edges to a forest by union–find, which leaves few. If these fit in the driver,
they are finished there. Otherwise large-star and small-star operations alternate on the table of edges (Kiveris,
Lattanzi, Mirrokni, Rastogi and Vassilvitskii 2014, "Connected components in MapReduce and beyond") until nothing
changes; their number of rounds grows with the logarithm of the longest chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.deduplication.groups import unite
from neardup.deduplication.pairs import BYTES_A_SHINGLE, HUB
from neardup.spark.job import Batches, batch_of, concatenated, run_starts, whole
from neardup.tables import Int64s

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob


EDGES = "a long, b long"
_FOREST = pa.schema([("a", pa.int64()), ("b", pa.int64())])
IN_DRIVER = 20_000_000
"""Contracted edges that the driver may hold: 320 MB."""
_MOST_ROUNDS = 60
_AT_ONCE = 1 << 22
"""Edges that a task holds before it contracts them: 64 MB."""


def components(edges: DataFrame, job: SparkJob, name: str) -> DataFrame:
    """(row, part): the smallest row that is connected with each row of the ``edges`` (a, b)."""
    left = job.keep(edges.mapInArrow(contract, EDGES), f"{name}-contracted", counted=True)
    if job.rows[f"{name}-contracted"] <= IN_DRIVER:
        forest = pa.Table.from_batches(contract(iter(left.toArrow().to_batches())), _FOREST)
        stars = job.spark.createDataFrame(forest)
    else:
        stars = _stars(left, job, name)
    members = stars.selectExpr("a as row", "b as part")
    roots = stars.selectExpr("b as row", "b as part").distinct()
    return job.keep(members.union(roots), name)


def contract(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield a forest with the components of the edges in ``batches``: each row (a) with the smallest one (b)."""
    a, b = [], []
    count = 0
    for batch in batches:
        a.append(whole(batch, "a"))
        b.append(whole(batch, "b"))
        count += batch.num_rows
        if count > _AT_ONCE:
            ends = _forest(concatenated(a), concatenated(b))
            a, b, count = [ends[0]], [ends[1]], 0
    child, root = _forest(concatenated(a), concatenated(b))
    if len(child):
        yield batch_of(a=child, b=root)


def _forest(a: Int64s, b: Int64s) -> tuple[Int64s, Int64s]:
    rows, ends = np.unique(np.concatenate((a, b)), return_inverse=True)
    parent = np.arange(len(rows))
    unite(parent, ends[: len(a)].astype(np.int64), ends[len(a) :].astype(np.int64))
    while (parent[parent] != parent).any():
        parent = parent[parent]
    child = np.flatnonzero(parent != np.arange(len(rows)))
    return rows[child], rows[parent[child]]


def _stars(edges: DataFrame, job: SparkJob, name: str) -> DataFrame:
    """Alternate the two operations until the table of edges stays the same."""
    before = _state(edges)
    for number in range(_MOST_ROUNDS):
        both = edges.union(edges.selectExpr("b as a", "a as b"))
        large = both.repartition("a").sortWithinPartitions("a", "b").mapInArrow(large_star, EDGES)
        down = large.selectExpr("greatest(a, b) as a", "least(a, b) as b")
        small = down.repartition("a").sortWithinPartitions("a", "b").mapInArrow(small_star, EDGES)
        edges = job.keep(small.distinct(), f"{name}-round-{number}")
        after = _state(edges)
        if after == before:
            return edges
        before = after
    raise RuntimeError(f"the components are not found after {_MOST_ROUNDS} rounds")


def _state(edges: DataFrame) -> tuple[object, ...]:
    """The number of edges, and a sum of their hashes."""
    row = edges.selectExpr("count(*)", "sum(cast(xxhash64(a, b) as decimal(20, 0)))").first()
    return tuple(row) if row else ()


def large_star(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join each larger neighbour of a row to the least of the row and its neighbours; sorted edges both ways."""
    for a, b, first in _with_first(batches):
        larger = b > a
        least = np.minimum(a, first)
        yield batch_of(a=b[larger], b=least[larger])


def small_star(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join each row and its smaller neighbours to the smallest of these; sorted edges from the larger end."""
    for a, b, first in _with_first(batches):
        own = run_starts(a)
        ends, least = np.concatenate((b, a[own])), np.concatenate((first, first[own]))
        apart = ends != least
        yield batch_of(a=ends[apart], b=least[apart])


def _with_first(batches: Batches) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
    """Yield the ends of edges sorted by (a, b), with the first b of each a, also of one that began before."""
    open_row, open_first = None, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        a, b = whole(batch, "a"), whole(batch, "b")
        starts = run_starts(a)
        firsts = b[starts]
        if open_row == a[0]:
            firsts[0] = open_first
        open_row, open_first = a[-1], int(firsts[-1])
        yield a, b, np.repeat(firsts, np.diff(np.append(starts, len(a))))


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
    count = (of_hub[0] or 0) if of_hub else 0
    room = job.settings.search.join_bytes / BYTES_A_SHINGLE - count
    fitting, more, left_out = _fitting(large, room, job)
    joined = hub.union(members.join(fitting, "part").select("row")).distinct()
    small = of_family.where(f"not {is_large} and size > 2").select("part")
    closed = members.join(small, "part").select("row")
    return Families(part, job.keep(joined, "joined", counted=True), closed, count + more, left_out)


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
