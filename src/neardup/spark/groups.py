"""Edges between documents → connected components → groups, pairs and fates.

Each partition first contracts its edges to a forest by union–find, which leaves few. If these fit in the driver,
they are finished there. Otherwise large-star and small-star operations alternate on the table of edges (Kiveris,
Lattanzi, Mirrokni, Rastogi and Vassilvitskii 2014, "Connected components in MapReduce and beyond") until nothing
changes; their number of rounds grows with the logarithm of the longest chain.

The groups of components are made by the very functions of a run on one machine. No pair leaves its component, so
the components of a task are a small run of their own: its rows keep their order, and everything that a group
depends on is inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.groups import Grouped, GroupRules, Ids, JudgedRows, keep_rank, merge_tables, unite
from neardup.deduplication.pairs import (
    BYTES_A_SHINGLE,
    EVERYONE,
    HUB,
    Alike,
    Corpus,
    DocumentSets,
    ExactJoin,
    FeatureStores,
    FoundPairs,
    PairRoom,
    Pairs,
    first_of_equal,
    join_documents,
    verify,
)
from neardup.deduplication.results import copy_table, pair_table
from neardup.deduplication.runs import (
    FATES,
    MemberTable,
    Meter,
    Pipeline,
    ShinglePairs,
    Stage,
    copies,
    group,
    group_rules,
    leader_distances,
    member_table,
    pairs_of_leaders,
    reported_pairs,
)
from neardup.deduplication.texts import NO_TEXTS, CopyDifferences
from neardup.runtime import Silent
from neardup.settings import MEASURES, RECORDS, SearchSettings, Settings
from neardup.spark.job import Batches, batch_of, concatenated, run_starts, sets_in, whole, whole_runs
from neardup.tables import CANDIDATES, OLD_LEADS, Bools, Int64s, one_array, verified_table
from neardup.text.keys import Key

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.job import SparkJob


ROW, PAIR = 0, 1
IS_HUB, IS_CLOSED = 1, 2
"""Marks of a row: its document is joined exactly; all pairs of its family are compared."""
INPUT = (
    "part long, kind int, x long, y long, n1 long, n2 long, n3 long, words long, characters long, id {id}, "
    "shingles binary"
)
"""A row: its number, the first row of its document, units, bytes, marks, hashes of its words and characters, id,
set. A pair: a, b, shared, sizes."""

GROUPS = {
    "id": "{id}",
    "group": "{id}",
    "representative": "boolean",
    "similarity": "double",
    "identical": "boolean",
    "kept": "boolean",
    "reason": "string",
    "shingles": "long",
    "lost_shingles": "long",
    "size": "long",
}
COPIES = {"id": "{id}", "copy_of": "{id}", "identical_to": "{id}"}
_TYPES = {"boolean": pa.bool_(), "double": pa.float64(), "string": pa.string(), "long": pa.int64()}
_ENOUGH = 1 << 26
"""Bytes of components that a task decides at a time."""
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
    job.rows["members"] = 2 * job.rows[f"{name}-contracted"]  # at most
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


def tables_of(measure: str, against: bool) -> dict[str, dict[str, str]]:
    """The columns of the tables of a result, with their types; {id} is the type of the ids."""
    pairs = {"id_a": "{id}", "id_b": "{id}", "shared": "long", "size_a": "long", "size_b": "long"}
    pairs |= dict.fromkeys(("resemblance", "containment_a", "containment_b"), "double")
    if own := MEASURES[measure].column:
        pairs[own] = "double"
    if against:
        pairs["a_in_reference"] = "boolean"
    groups = {**GROUPS, OLD_LEADS: "boolean"} if against else GROUPS
    return {"groups": groups, "pairs": pairs, "copies": COPIES}


def _schema_of(measure: str, against: bool, of_id: str) -> str:
    """The schema of the rows that ``_decide`` makes: of all tables, each row filling the columns of one."""
    wide = {
        f"{name}_{column}": kind
        for name, columns in tables_of(measure, against).items()
        for column, kind in columns.items()
    }
    parts = [f"{name} {kind.format(id=of_id)}" for name, kind in wide.items()]
    return ", ".join(["of string", *parts])


def result_rows(
    frame: DataFrame, copies: DataFrame, pairs: DataFrame, parts: Families, job: SparkJob
) -> DataFrame:
    """The rows of all tables of the result: those of components, and of copies that are in none; kept."""
    of_id, part = frame.schema["id"].dataType.simpleString(), parts.part
    copied = copies.selectExpr("first as row").distinct()
    doubled = copied.join(part, "row", "left_anti").selectExpr("row", "row as part")
    firsts = part.union(doubled)
    members = firsts.selectExpr("row", "row as first", "part").union(
        copies.join(firsts.withColumnRenamed("row", "first"), "first").select("row", "first", "part")
    )
    marked = members.join(parts.hub.selectExpr("row", f"{IS_HUB} as h"), "row", "left")
    marked = marked.join(parts.closed.selectExpr("row", f"{IS_CLOSED} as c"), "row", "left")
    of_frame = frame.select("row", "units", "bytes", "id", "shingles", "key_a", "characters")
    # the sets of all other documents need not move
    rows = of_frame.join(job.broadcast(marked, "copies", "copies", "members"), "row").selectExpr(
        "part",
        f"{ROW} as kind",
        "row as x",
        "first as y",
        "units as n1",
        "bytes as n2",
        "cast(coalesce(h, 0) + coalesce(c, 0) as long) as n3",
        "key_a as words",
        "characters",
        "id",
        "if(row = first, shingles, null) as shingles",
    )
    of_pairs = pairs.join(part.withColumnRenamed("row", "a"), "a").selectExpr(
        "part",
        f"{PAIR} as kind",
        "a as x",
        "b as y",
        "shared as n1",
        "size_a as n2",
        "size_b as n3",
        "cast(null as long) as words",
        "cast(null as long) as characters",
        f"cast(null as {of_id}) as id",
        "cast(null as binary) as shingles",
    )
    together = rows.union(of_pairs).repartition("part").sortWithinPartitions("part", "kind", "x", "y")
    work = partial(_decide, job.settings, job.key, job.first_new)
    schema = _schema_of(job.settings.search.measure, job.first_new > 0, of_id)
    return job.keep(together.mapInArrow(work, schema), "decided")


def _decide(settings: Settings, key: Broadcast[Key], first_new: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the result for rows and pairs (``INPUT``) sorted by part, kind, x and y."""
    # the memory of a task is that of its components; a limit is for the choice of documents to join
    search = replace(settings.search, memory=0.0)
    work = replace(settings.work, threads=settings.work.threads or 1)
    settings = replace(settings, search=search, work=work)
    records = [getattr(settings, record) for record in RECORDS]
    tables = tables_of(search.measure, first_new > 0)
    for table in whole_runs(batches, "part", _ENOUGH):
        rows, part, stores = _part_of(table, settings, key.value, first_new)
        unread = CopyDifferences(why=NO_TEXTS)
        given = [rows, part, stores, EVERYONE, PairRoom(), Meter(Silent()), unread, *records]
        (outcome,) = Pipeline.of(STAGES, given, [ComponentTables]).run(*given)
        for name, rows_of_table in outcome.by_name.items():
            if rows_of_table.num_rows:
                yield _widened(name, rows_of_table, tables, rows.ids.of(np.empty(0, np.int64)).type)


def _widened(
    name: str, table: pa.Table, tables: Mapping[str, Mapping[str, str]], of_id: pa.DataType
) -> pa.RecordBatch:
    """The rows of the table ``name`` with the columns of all tables."""
    columns: dict[str, pa.Array] = {"of": pa.array([name] * table.num_rows, pa.string())}
    for other, names in tables.items():
        for one, kind in names.items():
            own = _TYPES.get(kind, of_id)
            if other == name and one not in table.column_names:  # of a part without reference documents
                columns[f"{other}_{one}"] = pa.array(np.zeros(table.num_rows, np.bool_))
            elif other == name:
                columns[f"{other}_{one}"] = one_array(table.column(one)).cast(own)
            else:
                columns[f"{other}_{one}"] = pa.nulls(table.num_rows, own)
    return pa.record_batch(list(columns.values()), names=list(columns))


@dataclass(frozen=True, eq=False)
class Component:
    """The documents of some components: their pairs, and their shingle sets, which their store finds here."""

    hub: Int64s  # document numbers
    closed: Bools  # of documents
    pairs: pa.Table  # VERIFIED
    family: Int64s  # of documents: the number of the part
    sets: DocumentSets


@dataclass(frozen=True)
class ComponentTables:
    """The tables of a result, by name."""

    by_name: dict[str, pa.Table]


def _part_of(
    table: pa.Table, settings: Settings, key: Key, first_new: int
) -> tuple[JudgedRows, Component, FeatureStores]:
    """The rows of a table in order, numbered from 0, and their documents."""
    is_row = pc.equal(table["kind"], ROW)
    rows, pairs = table.filter(is_row).sort_by("x"), table.filter(pc.invert(is_row))
    number, units, marks = (whole(rows, name) for name in ("x", "n1", "n3"))
    copy_of = np.searchsorted(number, whole(rows, "y"))
    unique = np.flatnonzero((copy_of == np.arange(len(number))) & (units > 0))
    stored = one_array(rows["shingles"]).take(pa.array(unique))
    sets = DocumentSets(np.arange(len(unique)), sets_in(stored))
    stores = FeatureStores(Corpus((), settings, key), units, unique)
    stores.of("shingles").adopt(sets)
    documents = number[unique]
    ends = (np.searchsorted(documents, whole(pairs, name)) for name in ("x", "y"))
    counts = (whole(pairs, name) for name in ("n1", "n2", "n3"))
    marked = marks[unique]
    first = int(np.searchsorted(number, first_new))
    rank = keep_rank(settings.keep.keep, units, first, {})
    ids = Ids((one_array(rows["id"]),))
    words = first_of_equal(whole(rows, "words"))
    alike = Alike(words, first_of_equal(whole(rows, "characters"), words))
    judged = JudgedRows(copy_of, alike, unique, first, rank, whole(rows, "n2"), ids)
    edges, family = verified_table(*ends, *counts), whole(rows, "part")[unique]
    hub, closed = np.flatnonzero(marked & IS_HUB), (marked & IS_CLOSED) > 0
    return judged, Component(hub, closed, edges, family, sets), stores


def close(
    part: Component, judged: JudgedRows, stores: FeatureStores, rules: GroupRules, meter: Meter
) -> FoundPairs:
    """Add the pairs of the small families that meet the criterion."""
    inside = np.flatnonzero(part.closed)
    inside = inside[np.argsort(part.family[inside], kind="stable")]
    if not len(inside):
        return FoundPairs(Pairs.of(part.pairs))
    _, starts, sizes = np.unique(part.family[inside], return_index=True, return_counts=True)
    ends: list[tuple[Int64s, Int64s]] = []
    for size in np.unique(sizes):
        first = starts[sizes == size]
        low, high = np.triu_indices(size, 1)
        ends.append((inside[first[:, None] + low].ravel(), inside[first[:, None] + high].ravel()))
    a, b = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
    wanted = b >= judged.first_new_document
    every = pa.table([a[wanted].astype(np.uint32), b[wanted].astype(np.uint32)], schema=CANDIDATES)
    with meter.stage("close", every.num_rows, "pairs") as advance:
        verified = verify(every, stores.of(), rules.criterion, rules.threads, advance)
    return FoundPairs(Pairs.of(merge_tables(part.pairs, verified)))


def hub_index(part: Component, judged: JudgedRows, stores: FeatureStores, rules: GroupRules) -> ExactJoin:
    """Index the documents of large buckets, which are joined exactly."""
    if not len(part.hub):
        return ExactJoin()
    return ExactJoin(
        join_documents(part.hub, len(judged.unique), stores.of(), rules.criterion, rules.threads).hubs
    )


def component_tables(
    judged: JudgedRows,
    grouped: Grouped,
    shingles: ShinglePairs,
    members: MemberTable,
    differences: CopyDifferences,
    search: SearchSettings,
) -> ComponentTables:
    """Make the tables of pairs and copies."""
    pairs = pair_table(grouped.pairs.table(), shingles.pairs, judged, search.measure)
    return ComponentTables({"groups": members.table, "pairs": pairs, "copies": copy_table(judged, differences)})


STAGES = (
    Stage(group_rules),
    Stage(copies),
    Stage(close),
    Stage(hub_index),
    Stage(group),
    Stage(pairs_of_leaders),
    Stage(leader_distances),
    *FATES,
    Stage(reported_pairs),
    Stage(member_table),
    Stage(component_tables),
)
