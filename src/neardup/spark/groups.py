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

from neardup.group.decisions import decisions_of, heads_of, leader_pairs, settle
from neardup.group.leaders import GroupRules, group, merged
from neardup.group.lost import standing, with_lost
from neardup.group.rows import Ids, JudgedRows, classes, keep_rank
from neardup.join.corpus import Corpus
from neardup.join.criterion import at_least, criterion_of, every_pair
from neardup.join.prefix_join import joined
from neardup.join.shingle_store import DocumentSets, ShingleStore
from neardup.join.verification import verify
from neardup.kernels.text.keyed import Key
from neardup.measures import MEASURES
from neardup.run.lost_text import with_lost_columns
from neardup.run.tables import copy_table, group_table, pair_table
from neardup.settings import Settings
from neardup.settings.rules import KEEP_NONE
from neardup.spark.arrays import Batches, sets_in, whole, whole_runs
from neardup.tables import CANDIDATES, VERIFIED, Bools, Int64s, column, one_array, verified_table

if TYPE_CHECKING:
    from pyspark import Broadcast


ROW, PAIR = 0, 1
HUB, CLOSED = 1, 2
"""Marks of a row: its document is joined exactly; all pairs of its family are compared."""
INPUT = "part long, kind int, x long, y long, n1 long, n2 long, n3 long, id {id}, shingles binary"
"""A row: its number, the first row of its text, units, bytes, marks, id, set. A pair: a, b, shared, sizes."""

GROUPS = {
    "id": "{id}",
    "group": "{id}",
    "representative": "boolean",
    "similarity": "double",
    "kept": "boolean",
    "reason": "string",
    "shingles": "long",
    "lost_shingles": "long",
    "size": "long",
}
_TYPES = {"boolean": pa.bool_(), "double": pa.float64(), "string": pa.string(), "long": pa.int64()}
_ENOUGH = 1 << 26
"""Bytes of components that a task decides at a time."""


def tables_of(settings: Settings, against: bool) -> dict[str, dict[str, str]]:
    """The columns of the tables of a result, with their types; {id} is the type of the ids."""
    pairs = {"id_a": "{id}", "id_b": "{id}", "shared": "long", "size_a": "long", "size_b": "long"}
    pairs |= dict.fromkeys(("resemblance", "containment_a", "containment_b"), "double")
    if own := MEASURES[settings.search.measure].column:
        pairs[own] = "double"
    if against:
        pairs["a_in_reference"] = "boolean"
    return {"groups": GROUPS, "pairs": pairs, "copies": {"id": "{id}", "copy_of": "{id}"}}


def schema_of(settings: Settings, against: bool, of_id: str) -> str:
    """The schema of the rows that ``decide`` makes: of all tables, each row filling the columns of one."""
    wide = {
        f"{name}_{column}": kind
        for name, columns in tables_of(settings, against).items()
        for column, kind in columns.items()
    }
    parts = [f"{name} {kind.format(id=of_id)}" for name, kind in wide.items()]
    return ", ".join(["of string", *parts])


def decide(settings: Settings, key: Broadcast[Key], first_new: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the result for rows and pairs (``INPUT``) sorted by part, kind, x and y."""
    # the memory of a task is that of its components; a limit is for the choice of documents to join
    settings = replace(settings, search=replace(settings.search, memory=0.0))
    tables = tables_of(settings, first_new > 0)
    for table in whole_runs(batches, "part", _ENOUGH):
        part = _part_of(table, settings, key.value, first_new)
        for name, made in _decided(part).items():
            if made.num_rows:
                yield _widened(name, made, tables, part.rows.ids.of(np.empty(0, np.int64)).type)


def _widened(
    name: str, made: pa.Table, tables: Mapping[str, Mapping[str, str]], of_id: pa.DataType
) -> pa.RecordBatch:
    """The rows of the table ``name`` with the columns of all tables."""
    columns: dict[str, pa.Array] = {"of": pa.array([name] * made.num_rows, pa.string())}
    for other, names in tables.items():
        for one, kind in names.items():
            own = _TYPES.get(kind, of_id)
            if other == name:
                columns[f"{other}_{one}"] = one_array(made.column(one)).cast(own)
            else:
                columns[f"{other}_{one}"] = pa.nulls(made.num_rows, own)
    return pa.record_batch(list(columns.values()), names=list(columns))


@dataclass(frozen=True, eq=False)
class Component:
    """Rows in order, numbered from 0, with the pairs and the shingle sets of their documents."""

    settings: Settings
    rows: JudgedRows
    hub: Int64s  # document numbers
    closed: Bools  # of documents
    pairs: pa.Table  # VERIFIED
    store: ShingleStore
    sets: DocumentSets
    family: Int64s  # of documents: the number of the part


def _part_of(table: pa.Table, settings: Settings, key: Key, first_new: int) -> Component:
    is_row = pc.equal(table["kind"], ROW)
    rows, pairs = table.filter(is_row).sort_by("x"), table.filter(pc.invert(is_row))
    number, units, marks = (whole(rows, name) for name in ("x", "n1", "n3"))
    copy_of = np.searchsorted(number, whole(rows, "y"))
    unique = np.flatnonzero((copy_of == np.arange(len(number))) & (units > 0))
    stored = one_array(rows["shingles"]).take(pa.array(unique))
    sets = DocumentSets(np.arange(len(unique)), sets_in(stored))
    store = ShingleStore(Corpus((), settings, key), units, unique, "shingles")
    store.adopt(sets)
    documents = number[unique]
    ends = (np.searchsorted(documents, whole(pairs, name)) for name in ("x", "y"))
    counts = (whole(pairs, name) for name in ("n1", "n2", "n3"))
    marked = marks[unique]
    first = int(np.searchsorted(number, first_new))
    rank = keep_rank(settings.keep.keep, units, first, {})
    ids = Ids((one_array(rows["id"]),))
    return Component(
        settings,
        JudgedRows(copy_of, unique, first, rank, whole(rows, "n2"), ids),
        np.flatnonzero(marked & HUB),
        (marked & CLOSED) > 0,
        verified_table(*ends, *counts),
        store,
        sets,
        whole(rows, "part")[unique],
    )


def _closed(part: Component) -> pa.Table:
    """The pairs, with all of the small families that meet the criterion."""
    inside = np.flatnonzero(part.closed)
    inside = inside[np.argsort(part.family[inside], kind="stable")]
    if not len(inside):
        return part.pairs
    _, starts, sizes = np.unique(part.family[inside], return_index=True, return_counts=True)
    ends: list[tuple[Int64s, Int64s]] = []
    for size in np.unique(sizes):
        first = starts[sizes == size]
        low, high = np.triu_indices(size, 1)
        ends.append((inside[first[:, None] + low].ravel(), inside[first[:, None] + high].ravel()))
    a, b = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
    wanted = b >= part.rows.first_new_document
    every = pa.table([a[wanted].astype(np.uint32), b[wanted].astype(np.uint32)], schema=CANDIDATES)
    found = verify(every, part.store, criterion_of(part.settings.search), 1, lambda done: None)
    return merged(part.pairs, found)


def _decided(part: Component) -> dict[str, pa.Table]:
    """The tables of a result; the steps are those of ``run.find``."""
    settings, store = part.settings, part.store
    rows, criterion = part.rows, criterion_of(settings.search)
    pairs, first_new = _closed(part), rows.first_new_document
    index = joined(part.hub, len(rows.unique), store, criterion, 1).hubs if len(part.hub) else None
    documents = classes(rows)
    rules = GroupRules.of(settings.search, settings.keep, settings.grouping, settings.work)
    groups = group(pairs, index, documents.rank, first_new, rules)
    heads = heads_of(rows, documents, groups.leader)
    far = _far_leaders(part, leader_pairs(heads.rows, documents, groups.pairs))
    scored = merged(groups.pairs, far)
    decisions = decisions_of(rows, documents, heads, scored, rules)
    decisions = settle(decisions, rows, documents, scored, settings.keep.only_contained)
    after = standing(decisions, documents, groups.leader, first_new, scored)
    if settings.keep.keep == KEEP_NONE:
        decisions = decisions.none_kept(rows.first_new)
    else:
        decisions, _ = with_lost(decisions, documents, after, settings.keep.lose, store)
    reported = merged(groups.pairs, far.filter(pa.array(_wanted(far, part, first_new))))
    return {
        "groups": with_lost_columns(group_table(decisions, rows, settings.search, settings.keep.held), decisions),
        "pairs": pair_table(reported, reported, rows, settings.search.measure),
        "copies": copy_table(rows),
    }


def _far_leaders(part: Component, ends: tuple[Int64s, Int64s]) -> pa.Table:
    """The pairs of documents with leaders that no pair was found with, at any similarity."""
    if not len(ends[0]):
        return VERIFIED.empty_table()
    pairs = pa.table([numbers.astype(np.uint32) for numbers in ends], schema=CANDIDATES)
    every = every_pair(MEASURES[part.settings.search.measure].formula)
    return verify(pairs, part.store, every, 1, lambda done: None)


def _wanted(far: pa.Table, part: Component, first_new: int) -> Bools:
    wanted: Bools = at_least(far, criterion_of(part.settings.search)) & (column(far, "b") >= first_new)
    return wanted
