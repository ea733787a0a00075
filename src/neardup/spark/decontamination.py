"""Find test items in the rows of a DataFrame: the cluster scans them, and the driver weighs the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.contamination.contamination import ContaminationKeywords, rules_of, weighed
from neardup.contamination.evidence import WindowCounts
from neardup.contamination.items import read_items
from neardup.contamination.matches import ItemSearch, MatchRules, Scanned, scan
from neardup.contamination.stream import TRAINED, TrainingScan
from neardup.contamination.views import lines_of
from neardup.errors import InputError, SettingError
from neardup.io.readers import open_documents
from neardup.io.readers.columns import Chosen
from neardup.run.pipeline import Meter
from neardup.runtime import Silent
from neardup.settings import SettingKeywords, Settings
from neardup.spark.dedup import GONE, numbered
from neardup.spark.job import Batches, quoted, require_frame, require_free
from neardup.text.keys import new_key

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from neardup.spark.files import Opened

_PARTS = "candidates binary, texts bigint, windows binary, documents binary"


@dataclass(frozen=True, eq=False)
class Decontaminated:
    """The rows without test items as a DataFrame, ``kept``, and the evidence on the driver.

    ``matches``, ``common`` and ``phrases`` are the tables of :func:`neardup.decontaminate`, and ``account`` its
    counts and rules; ``str()`` shows them in words.
    """

    kept: DataFrame
    matches: pa.Table
    common: pa.Table
    phrases: pa.Table
    account: dict[str, Any]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def decontaminate(
    df: DataFrame,
    *,
    text: str,
    id: str,
    against: str | Path | Sequence[str | Path],
    fields: Sequence[str] = (),
    against_id: str | None = None,
    **settings: Unpack[ContaminationKeywords],
) -> Decontaminated:
    """Find the rows of ``df`` that contain test items on its Spark session, with the evidence for each.

    ``text`` and ``id`` name columns; each id names one row, and rows with the id of a contaminated one go, too.
    ``against`` are files that the driver reads, and the other arguments those of :func:`neardup.decontaminate`,
    whose tables the result has; ``row`` orders the rows, and ``source`` is "". The items, and all matches, are in
    the memory of the driver. Raises SettingError for settings out of range, and InputError for unusable columns.
    """
    require_frame(df, "df")
    require_free(df)
    return _run(df, numbered(df, text, id), id, "", _search(against, fields, against_id, settings))


def decontaminate_files(
    given: Opened, source: str, against: Sequence[str], fields: Sequence[str], id: str | None, settings: Any
) -> Decontaminated:
    """Like :func:`decontaminate`, for files; ``given.table`` has the columns of the kept rows."""
    return _run(given.table, given.rows, given.id, source, _search(against, fields, id, settings))


def _search(
    against: str | Path | Sequence[str | Path], fields: Sequence[str], id: str | None, settings: Any
) -> ItemSearch:
    given = dict(settings)
    rules: MatchRules = rules_of(given.pop("at", 0.8), given.pop("run", 13), given.pop("common", 0.001))
    chosen = Settings.of(**cast(SettingKeywords, {**given, "threads": 1}))  # the cores are those of the executors
    if chosen.shingles.unit != "word" or chosen.cleaning.is_on:
        raise SettingError("decontaminate compares words as they are", "unit word, and no mask", "Leave it out")
    names = [against] if isinstance(against, str | Path) else list(against)
    if not names:
        raise InputError("No test set was given", "Files with test items", "Name them with against")
    items = read_items(
        names, [fields] if isinstance(fields, str) else fields, id, chosen, new_key(), Meter(Silent())
    )
    return ItemSearch.of(items, chosen, rules)


def _run(df: DataFrame, rows: DataFrame, id: str, source: str, search: ItemSearch) -> Decontaminated:
    from pyspark.sql import functions

    spark = df.sparkSession
    shared = spark.sparkContext.broadcast(search)  # never part of a plan or a log
    try:
        parts = rows.mapInArrow(partial(_scanned, shared, source), _PARTS).collect()
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
    training = TrainingScan(search, candidates, counts, [source])
    contamination = weighed(training, open_documents([""]), Chosen("text", "id", ()), Meter(Silent()))
    ids = pc.unique(contamination.matches["id"]).to_pylist()
    gone = spark.createDataFrame([(one,) for one in ids], f"{GONE} string")
    kept = df.join(gone, functions.col(quoted(id)).cast("string") == functions.col(GONE), "left_anti")
    tables = contamination.matches, contamination.common, contamination.phrases
    return Decontaminated(kept, *tables, contamination.as_dict(), tuple(lines_of(contamination)))


def _scanned(shared: Broadcast[ItemSearch], source: str, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the candidates of each batch as an Arrow stream, and its counts."""
    for batch in batches:
        texts = pc.fill_null(batch.column("text").cast(pa.large_binary()), b"")
        scanned = scan(texts, shared.value)
        places = scanned.candidates["text"]
        columns = [
            batch.column("id").cast(pa.large_string()).take(places.combine_chunks()),
            pa.array([source] * len(places), pa.large_string()),
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
