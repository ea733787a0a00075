"""Components of documents → groups, pairs and fates, by the very functions of a run on one machine.

No pair leaves its component, so the components of a task are a small run of their own: its rows keep their
order, and everything that a group depends on is inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.groups import Grouped, GroupRules, Ids, JudgedRows, keep_rank, merged
from neardup.deduplication.pairs import (
    EVERYONE,
    Alike,
    Corpus,
    DocumentSets,
    ExactJoin,
    FeatureStores,
    FoundPairs,
    PairRoom,
    Pairs,
    first_of_equal,
    joined,
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
from neardup.spark.job import Batches, sets_in, whole, whole_runs
from neardup.tables import CANDIDATES, OLD_LEADS, Bools, Int64s, one_array, verified_table
from neardup.text.keys import Key

if TYPE_CHECKING:
    from pyspark import Broadcast


ROW, PAIR = 0, 1
HUB, CLOSED = 1, 2
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


def schema_of(measure: str, against: bool, of_id: str) -> str:
    """The schema of the rows that ``decide`` makes: of all tables, each row filling the columns of one."""
    wide = {
        f"{name}_{column}": kind
        for name, columns in tables_of(measure, against).items()
        for column, kind in columns.items()
    }
    parts = [f"{name} {kind.format(id=of_id)}" for name, kind in wide.items()]
    return ", ".join(["of string", *parts])


def decide(settings: Settings, key: Broadcast[Key], first_new: int, batches: Batches) -> Iterator[pa.RecordBatch]:
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
    return judged, Component(np.flatnonzero(marked & HUB), (marked & CLOSED) > 0, edges, family, sets), stores


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
    return FoundPairs(Pairs.of(merged(part.pairs, verified)))


def hub_index(part: Component, judged: JudgedRows, stores: FeatureStores, rules: GroupRules) -> ExactJoin:
    """Index the documents of large buckets, which are joined exactly."""
    if not len(part.hub):
        return ExactJoin()
    return ExactJoin(joined(part.hub, len(judged.unique), stores.of(), rules.criterion, rules.threads).hubs)


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
