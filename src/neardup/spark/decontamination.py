"""Find test items in the rows of a DataFrame: the cluster scans and cuts rows, the driver weighs the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.decontamination import (
    CONTAMINATED_BY,
    MARKER,
    TAG,
    TRAINED,
    Action,
    Contamination,
    ContaminationKeywords,
    Cutter,
    ItemSearch,
    MatchRules,
    Scanned,
    TrainingScan,
    WindowCounts,
    as_page,
    cut_rows,
    ids_of,
    lines_of,
    read_items,
    rules_of,
    scan,
    weigh_candidates,
)
from neardup.deduplication.runs import Meter
from neardup.errors import InputError, OutputError, SettingError
from neardup.io.inputs import Chosen, NativeLines, NativeTable, open_documents
from neardup.io.outputs import line_pieces
from neardup.runtime import Silent
from neardup.settings import SettingKeywords, Settings
from neardup.spark.dedup import GONE, numbered
from neardup.spark.files import LINE, ROW_ID
from neardup.spark.job import Batches, quoted, require_frame
from neardup.tables import CUTS, one_array

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import Column, DataFrame

    from neardup.spark.files import Opened

_PARTS = "candidates binary, texts bigint, windows binary, documents binary"
_HITS = f"{GONE} string, items array<int>, {CONTAMINATED_BY} array<string>"
_CUT = pa.list_(pa.struct([("begin", pa.int64()), ("end", pa.int64()), ("text", pa.string())]))
_CHANGED = f"{GONE} string, changed binary, cuts array<struct<begin: bigint, end: bigint, text: string>>"


@dataclass(frozen=True, eq=False)
class Decontaminated:
    """The rows as a DataFrame, ``kept``: without those with test items, tagged, or cut; and the evidence.

    ``matches``, ``common`` and ``phrases`` are the tables of :func:`neardup.decontaminate`, ``cuts`` has the
    passages that were cut, and ``account`` the counts and rules, all on the driver; ``str()`` shows them in words,
    and ``page()`` as HTML.
    """

    kept: DataFrame
    contamination: Contamination
    cuts: pa.Table
    account: dict[str, Any]
    changed: DataFrame | None = None
    """The texts without the passages, stored on the disks of the executors until ``release()``."""

    @property
    def matches(self) -> pa.Table:
        """The matches with evidence."""
        return self.contamination.matches

    @property
    def common(self) -> pa.Table:
        """The matches by common text alone."""
        return self.contamination.common

    @property
    def phrases(self) -> pa.Table:
        """The common shingles."""
        return self.contamination.phrases

    def __str__(self) -> str:
        return "\n".join(lines_of(self.contamination))

    def page(self) -> str:
        """The report as a self-contained page of HTML."""
        return as_page(self.contamination)

    def release(self) -> None:
        """Drop the stored texts; ``kept`` computes them again."""
        if self.changed is not None:
            self.changed.unpersist()


@dataclass(frozen=True, eq=False)
class _Training:
    """The training rows: a frame with all columns, and (row, id, text).

    ``key`` is the column of the frame that tells rows apart, ``text`` the one whose values are cut, and ``field``
    the key of the text in these values if they are lines of JSON.
    """

    table: DataFrame
    rows: DataFrame
    key: str
    text: str
    columns: Sequence[str]
    given: Opened | None = None
    field: str | None = None


def decontaminate(
    df: DataFrame,
    *,
    text: str,
    id: str,
    against: str | Path | Sequence[str | Path],
    fields: Sequence[str] = (),
    against_id: str | None = None,
    action: Action = "drop",
    marker: str = MARKER,
    **settings: Unpack[ContaminationKeywords],
) -> Decontaminated:
    """Find the rows of ``df`` that contain test items on its Spark session, with the evidence for each.

    ``text`` and ``id`` name columns; each id names one row, and rows with the id of a contaminated one are treated
    like it. ``action``: "drop" such rows, "tag" all with the column ``contaminated_by``, "cut" the passages, with
    ``marker`` in their place, or "report" without a change of rows. ``against`` are files that the driver reads,
    and the other arguments those of :func:`neardup.decontaminate`, whose tables the result has; ``row`` orders the
    rows, and ``source`` is "". The items, all matches and all cuts are in the memory of the driver.

    Raises SettingError for settings out of range, InputError for unusable columns, and OutputError if there is a
    column with the name of the tags.
    """
    require_frame(df, "df")
    training = _Training(df, numbered(df, text, id), id, text, df.columns)
    return _run(training, _search(against, fields, against_id, settings), action, marker)


def decontaminate_files(
    given: Opened,
    against: Sequence[str],
    fields: Sequence[str],
    id: str | None,
    settings: Any,
    action: Action,
    marker: str,
) -> Decontaminated:
    """Like :func:`decontaminate`, for files; ``given.table`` has the columns of the kept rows."""
    of_lines = given.lines is not None
    text, field = (LINE, given.column) if of_lines else (given.text, None)
    training = _Training(given.table, given.rows, ROW_ID, text, given.columns, given, field)
    return _run(training, _search(against, fields, id, settings), action, marker)


def _search(
    against: str | Path | Sequence[str | Path], fields: Sequence[str], id: str | None, settings: Any
) -> ItemSearch:
    given = dict(settings)
    rules: MatchRules = rules_of(given.pop("threshold", 0.8), given.pop("run", 13), given.pop("common", 0.001))
    chosen = Settings.of(**cast(SettingKeywords, {**given, "threads": 1}))  # the cores are those of the executors
    if chosen.shingles.unit != "word" or chosen.cleaning.is_on:
        raise SettingError("decontaminate compares words as they are", "unit word, and no mask", "Leave it out")
    names = [against] if isinstance(against, str | Path) else list(against)
    if not names:
        raise InputError("No test set was given", "Files with test items", "Name them with against")
    items = read_items(names, [fields] if isinstance(fields, str) else fields, id, chosen, Meter(Silent()))
    return ItemSearch.of(items, chosen, rules)


def _run(training: _Training, search: ItemSearch, action: Action, marker: str) -> Decontaminated:
    if action not in get_args(Action):
        raise SettingError(f"action is {action!r}", ", ".join(get_args(Action)))
    if action == "tag" and CONTAMINATED_BY in map(str.lower, training.columns):
        raise OutputError(f'The input has a column "{CONTAMINATED_BY}" already', "", "Rename that column")
    scanned, keys = _scan_of(training, search)
    contamination = weigh_candidates(scanned, open_documents([""]), Chosen("text", "id", ()), Meter(Silent()))
    hits = [
        (keys[source, row], [*items], contamination.test_sets_of(source, row))
        for source, of_source in contamination.hits.items()
        for row, items in of_source.items()
    ]
    frame = training.table.sparkSession.createDataFrame(hits, _HITS)
    account = {**contamination.as_dict(), "action": action}
    if action == "report":
        return Decontaminated(training.table, contamination, CUTS.empty_table(), account)
    account["kept"] = contamination.read - (contamination.contaminated if action == "drop" else 0)
    if action != "cut":
        rows = _left(training, frame) if action == "drop" else _tagged(training, frame)
        return Decontaminated(rows, contamination, CUTS.empty_table(), account)
    cutter = Cutter(contamination.weights, search.settings.shingles.length, marker)
    changed = _changed(training, frame, cutter)
    cuts = _cuts(changed, {key: place for place, key in keys.items()}, ids_of(contamination.matches))
    account |= {"marker": marker, "cuts": cuts.num_rows}
    return Decontaminated(_without_passages(training, changed), contamination, cuts, account, changed)


def _scan_of(training: _Training, search: ItemSearch) -> tuple[TrainingScan, dict[tuple[str, int], str]]:
    """Scan the rows on the executors: their candidates in the order of the rows, and the key of each place."""
    shared = training.table.sparkSession.sparkContext.broadcast(search)  # never part of a plan or a log
    try:
        parts = training.rows.mapInArrow(partial(_scanned, shared), _PARTS).collect()
    finally:
        shared.unpersist()
    counts, scanned = WindowCounts(search.items), [TRAINED.empty_table()]
    for part in parts:
        candidates = pa.ipc.open_stream(part["candidates"]).read_all()
        windows, documents = (np.frombuffer(part[name], np.int64) for name in ("windows", "documents"))
        counts.add(Scanned(part["texts"], candidates, windows, documents))
        scanned.append(candidates)
    candidates = pa.concat_tables(scanned).combine_chunks()
    candidates = candidates.take(np.argsort(candidates["row"].to_numpy(), kind="stable"))
    rows, given = candidates["row"].to_numpy(), training.given
    sources, keys = [""] * len(rows), candidates["id"].to_pylist()
    if given is not None:
        keys = list(map(str, rows.tolist()))
        sources, rows = given.places(rows)
        candidates = candidates.set_column(1, TRAINED.field("source"), pa.array(sources, pa.large_string()))
        candidates = candidates.set_column(2, TRAINED.field("row"), pa.array(rows))
    places = zip(sources, rows.tolist(), strict=True)
    names = [""] if given is None else given.files
    return TrainingScan(search, candidates, counts, names), dict(zip(places, keys, strict=True))


def _same(training: _Training) -> Column:
    from pyspark.sql import functions

    return functions.col(quoted(training.key)).cast("string") == functions.col(GONE)


def _left(training: _Training, hits: DataFrame) -> DataFrame:
    """The rows without test items."""
    return training.table.join(hits.select(GONE), _same(training), "left_anti")


def _tagged(training: _Training, hits: DataFrame) -> DataFrame:
    """All rows with their test sets, or null, in a column; in lines of JSON, as a key."""
    tagged = training.table.join(hits.select(GONE, CONTAMINATED_BY), _same(training), "left").drop(GONE)
    if training.field is None:
        return tagged
    return tagged.select(LINE, CONTAMINATED_BY).mapInArrow(_tag_lines, f"{LINE} string")


def _tag_lines(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        tags = pa.table([batch.column(CONTAMINATED_BY).cast(TAG.field(0).type)], TAG)
        pieces = line_pieces(_lines_of(batch.column(LINE)), np.ones(batch.num_rows, np.bool_), tags) or []
        yield pa.record_batch([pa.array([piece.decode().removesuffix("\n") for piece in pieces])], [LINE])


def _changed(training: _Training, hits: DataFrame, cutter: Cutter) -> DataFrame:
    """(key, changed, cuts) of the rows with test items."""
    from pyspark import StorageLevel

    columns = [f"{quoted(training.text)} as text", GONE, "items"]
    rows = training.table.join(hits.select(GONE, "items"), _same(training)).selectExpr(*columns)
    shared = rows.sparkSession.sparkContext.broadcast(cutter)
    cut = rows.mapInArrow(partial(_cut_texts, shared, training.field), _CHANGED)
    return cut.persist(StorageLevel.DISK_ONLY)


def _cut_texts(shared: Broadcast[Cutter], field: str | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the texts of rows, or their lines of JSON, without the passages of their items, and the passages."""
    for batch in batches:
        items = dict(enumerate(batch.column("items").to_pylist()))
        texts = batch.column("text")
        native = (
            _lines_of(texts)
            if field is not None
            else NativeTable(np.arange(len(texts)), pa.table({"text": texts}))
        )
        cut = cut_rows(native, field or "text", items, shared.value)
        cuts: list[list[dict[str, Any]]] = [[] for _ in items]
        for row, begin, end, text in cut.passages:
            cuts[row].append({"begin": begin, "end": end, "text": text})
        if isinstance(cut.native, NativeLines):
            places = zip(cut.native.starts.tolist(), cut.native.ends.tolist(), strict=True)
            changed = pa.array([cut.native.data[begin:end].rstrip(b"\n") for begin, end in places], pa.binary())
        else:
            changed = one_array(cast(NativeTable, cut.native).table.column("text")).cast(pa.binary())
        yield pa.record_batch([batch.column(GONE), changed, pa.array(cuts, _CUT)], [GONE, "changed", "cuts"])


def _lines_of(texts: pa.Array) -> NativeLines:
    lines = [line + b"\n" for line in texts.cast(pa.binary()).to_pylist()]
    ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
    return NativeLines(np.arange(len(lines)), b"".join(lines), np.append(0, ends[:-1]), ends)


def _cuts(
    changed: DataFrame, places: Mapping[str, tuple[str, int]], ids: Mapping[tuple[str, int], str]
) -> pa.Table:
    """The passages that are cut (CUTS), in the order of ``places``: the file and row by the key."""
    by_key = {row[GONE]: row["cuts"] for row in changed.select(GONE, "cuts").collect()}
    rows = [(ids[place], *place, *cut) for key, place in places.items() for cut in by_key.get(key, ())]
    columns = zip(*rows, strict=True) if rows else ((),) * len(CUTS)
    return pa.table([pa.array(c, k.type) for c, k in zip(columns, CUTS, strict=True)], CUTS)


def _without_passages(training: _Training, changed: DataFrame) -> DataFrame:
    """All rows, with the changed texts in place of theirs."""
    from pyspark.sql import functions

    table = training.table
    rows = table.join(changed.select(GONE, "changed"), _same(training), "left")
    kind = table.schema.fields[table.columns.index(training.text)].dataType
    columns = {name: functions.col(quoted(name)) for name in table.columns}
    text = functions.coalesce(functions.col("changed").cast(kind), columns[training.text])
    return rows.select(*{**columns, training.text: text.alias(training.text)}.values())


def _scanned(shared: Broadcast[ItemSearch], batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the candidates of each batch as an Arrow stream, and its counts."""
    for batch in batches:
        texts = pc.fill_null(batch.column("text").cast(pa.large_binary()), b"")
        scanned = scan(texts, shared.value)
        places = scanned.candidates["text"]
        columns = [
            batch.column("id").cast(pa.large_string()).take(places.combine_chunks()),
            pa.array([""] * len(places), pa.large_string()),
            batch.column("row").take(places.combine_chunks()),
        ]
        sink = pa.BufferOutputStream()
        table = pa.table([*columns, *scanned.candidates.columns[1:]], schema=TRAINED)
        with pa.ipc.new_stream(sink, TRAINED) as writer:
            writer.write_table(table)
        numbers = (scanned.windows.astype(np.int64).tobytes(), scanned.documents.astype(np.int64).tobytes())
        values = [sink.getvalue().to_pybytes(), scanned.texts, *numbers]
        yield pa.record_batch(
            [pa.array([value]) for value in values], ["candidates", "texts", "windows", "documents"]
        )
