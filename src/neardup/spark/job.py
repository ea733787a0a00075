"""A job on Spark: its settings and session, the tables that it keeps, its result, and checks of its input.

Spark has no unsigned integers, so a hash travels as the int64 with the same bits, and a shingle set as bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.deduplication.groups import keep_columns
from neardup.deduplication.pairs import Plan
from neardup.errors import InputError, SettingError
from neardup.settings import (
    FIELDS,
    MEASURES,
    OPTION_FIELDS,
    Settings,
    Shingles,
    SimHashing,
    Sketch,
    Work,
    names_of,
)
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.keys import Key
from neardup.text.sketch import ShingleSets

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


OPTIONS = frozenset(
    ("inputs", "out", "text", "id", "against", "engine", "master", "json", "overwrite", *OPTION_FIELDS)
)
"""The options of ``neardup dedup`` that a run on Spark follows; ``checked`` looks at the values of settings."""
_FOLLOWED = frozenset(
    (
        *names_of(Shingles, Sketch, SimHashing, Work),
        *("method", "measure", "matching", "threshold", "recall", "copies", "memory"),
        *("groups", "pairs", "keep", "only_contained", "lose", "empty"),
    )
)
"""The settings that a run on Spark follows; it refuses all others."""

_MEASURES = [name for name, measure in MEASURES.items() if measure.of_shingles]

LOGGING = Path(__file__).parent / "log4j2.properties"
"""How the driver logs when the command starts it: what goes wrong, and lost tasks and machines."""

OWN = "_neardup_"
"""How the names of our own columns begin, beside the columns of the input."""

_WORD = 8
SENT = 2_000_000
"""Rows of a few numbers that may be sent to all executors: 64 MB."""


def checked(values: Mapping[str, Any]) -> Settings:
    """Return the settings of a run on Spark. Raises SettingError that names all that cannot be followed."""
    settings = Settings.of(**values)
    given, usual = settings.as_dict(), Settings().as_dict()
    refused = [
        _refused_option(name, given[name])
        for name in FIELDS
        if name not in _FOLLOWED and given[name] != usual[name]
    ]
    if settings.by_simhash:
        refused.append("sketch simhash")
    measure = settings.search.measure
    if measure not in _MEASURES:
        refused.append(f"measure {measure}")
    if keep_columns(settings.keep.keep):
        refused.append("keep by a column, such as digital by origin")
    if refused:
        raise SettingError(
            f"A run on Spark does not have: {', '.join(refused)}",
            f"Measures of shingles ({', '.join(_MEASURES)}), resemblance also by LSH; keep longest, first, last "
            "or none",
            "Leave them out, or run on one machine (neardup.find, or the command without --engine)",
        )
    return settings


def _refused_option(name: str, value: Any) -> str:
    return name if isinstance(value, bool) else f"{name} {', '.join(value) if isinstance(value, list) else value}"


@dataclass(frozen=True, eq=False)
class SparkJob:
    """The parts that all stages share.

    ``key`` hashes the features that are counted; it is broadcast, and never part of a plan or a log. Rows below
    ``first_new`` belong to the reference set. ``work`` is a folder that all machines can write to: stages are kept
    there as Parquet, and else on the disks of the executors, which a lost machine takes with it.
    """

    spark: SparkSession
    settings: Settings
    plan: Plan
    key: Broadcast[Key]
    first_new: int = 0
    work: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def keep(self, table: DataFrame, name: str, counted: bool = False) -> DataFrame:
        """Compute a table once and return it as it is stored; ``rows`` has its size if it is ``counted``."""
        from pyspark import StorageLevel

        began = monotonic()
        self.spark.sparkContext.setJobDescription(f"neardup: {name}")
        if self.work is None:
            # a checkpoint ends the plan of the table; plans that grow from stage to stage take minutes
            stored = table.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        else:
            place = f"{self.work.rstrip('/')}/{name}"
            table.write.mode("overwrite").parquet(place)
            stored = self.spark.read.schema(table.schema).parquet(place)
        if counted:
            self.rows[name] = stored.count()
        self.spark.sparkContext.setJobDescription("neardup")
        self.seconds[name] = monotonic() - began
        return stored

    def broadcast(self, table: DataFrame, *counted: str, width: int = 1) -> DataFrame:
        """``table``, which goes to all executors if it has at most the rows ``counted``, and these are few."""
        from pyspark.sql import functions

        return functions.broadcast(table) if width * sum(self.rows[name] for name in counted) <= SENT else table

    def release(self) -> None:
        """Drop the key; Spark drops the tables in its storage when nobody refers to them any more."""
        with contextlib.suppress(Exception):  # the session may have ended
            self.key.unpersist()


@dataclass(frozen=True, eq=False)
class Deduplicated:
    """The tables of a result as DataFrames; those of a run on one machine have the same columns and values.

    ``kept``    the documents that stay, with all their columns
    ``groups``  id, group (the id of the representative), representative, similarity, kept, reason, shingles,
    lost_shingles, size
    ``pairs``   id_a, id_b, shared, size_a, size_b, resemblance, containment_a, containment_b, and the measure
    ``copies``  id, copy_of, identical_to: exact copies
    ``counts``  read, without_text, documents, copies, pairs, groups, kept, removed; by LSH also met (candidate
    pairs and hub documents), verified, joined (documents to join exactly), and left_out of that join

    The tables are on the disks of the executors, or in the folder ``work`` until it is deleted.
    """

    kept: DataFrame
    groups: DataFrame
    pairs: DataFrame
    copies: DataFrame
    counts: dict[str, int]
    settings: Settings
    method: str
    job: SparkJob

    def release(self) -> None:
        """Drop the secret key of the job from the executors."""
        self.job.release()

    def account(self) -> dict[str, Any]:
        """The settings, the method, the counts, and the seconds of the stages, as plain data."""
        values = {name: value for record in asdict(self.settings).values() for name, value in record.items()}
        seconds = {name: round(spent, 3) for name, spent in self.job.seconds.items()}
        return {"settings": values, "method": self.method, "counts": self.counts, "seconds": seconds}


def quoted(name: str) -> str:
    """Return the name of a column as SQL and ``DataFrame.select`` read it: dots and backticks are part of it.

    >>> print(quoted("a.b`c"))
    `a.b``c`
    """
    return "`" + name.replace("`", "``") + "`"


def require_frame(df: DataFrame, argument: str) -> None:
    """Raise InputError unless ``df`` is a finite DataFrame of a running classic session, with free names."""
    from pyspark.sql import DataFrame

    module = type(df).__module__
    if not isinstance(df, DataFrame) and not module.startswith("pyspark.sql.connect"):
        raise InputError(
            f"{argument} is a {type(df).__qualname__} of {module.partition('.')[0]}",
            "A DataFrame of PySpark",
            "spark.createDataFrame makes one; neardup.dedup takes other frames, on one machine",
        )
    if module.startswith("pyspark.sql.connect"):
        raise InputError(
            f"{argument} is a DataFrame of Spark Connect",
            "A DataFrame of a session with a SparkContext",
            "Run the job on a cluster of its own, with SparkSession.builder.master(…)",
        )
    if df.sparkSession.sparkContext._jsc is None:
        raise InputError(
            f"The SparkSession of {argument} has been stopped",
            "A running session",
            "Read the input again in a new one",
        )
    if df.isStreaming:
        raise InputError(
            f"{argument} is a stream", "A DataFrame that ends", "Store it first, or call dedup in foreachBatch"
        )
    require_free(df)


def require_column(spark: SparkSession, columns: Sequence[str], name: object, way: str) -> None:
    """Raise InputError unless ``name`` names exactly one of ``columns``, as Spark compares names."""
    listed = ", ".join(columns)
    if name not in columns:
        raise InputError(f'There is no column "{name}"', listed, way)
    exact = spark.conf.get("spark.sql.caseSensitive") == "true"
    alike = [one for one in columns if one == name or (not exact and one.lower() == str(name).lower())]
    if len(alike) > 1:
        raise InputError(
            f'"{name}" names {len(alike)} columns',
            "One column with the name; Spark ignores case unless spark.sql.caseSensitive is set",
            "Rename the others with withColumnRenamed or toDF",
        )


def require_free(df: DataFrame) -> None:
    """Raise InputError if a column has a name that this package gives to its own."""
    taken = [name for name in df.columns if name.lower().startswith(OWN)]
    if taken:
        raise InputError(f'The column "{taken[0]}" has a name that neardup uses itself', "", "Rename it")


Batches = Iterator[pa.RecordBatch]


def whole(batch: pa.RecordBatch | pa.Table, name: str) -> Int64s:
    """int64[rows]: a column of whole numbers, in memory that the kernels may write to."""
    numbers: Int64s = np.array(batch.column(name).to_numpy(zero_copy_only=False), np.int64)
    return numbers


def truths(batch: pa.RecordBatch | pa.Table, name: str) -> Bools:
    """bool[rows]: a column of truth values."""
    values: Bools = np.array(batch.column(name).to_numpy(zero_copy_only=False), np.bool_)
    return values


def words(values: pa.Array) -> tuple[UInt64s, Int64s]:
    """(uint64, int64[n + 1]): the 64-bit words of binary values, one value after the other, and their offsets."""
    large = values.cast(pa.large_binary())
    _, offset_buffer, value_buffer = large.buffers()
    offsets = np.frombuffer(offset_buffer, "<i8")[large.offset : large.offset + len(large) + 1] // _WORD
    if value_buffer is None or not len(large):
        return np.empty(0, np.uint64), np.zeros(len(large) + 1, np.int64)
    # a copy, because kernels are compiled for arrays that can be written to
    copied = np.array(np.frombuffer(value_buffer, "<u8", offsets[-1]), np.uint64)
    return copied[offsets[0] :], offsets - offsets[0]


def binary(values: UInt64s, offsets: Int64s) -> pa.Array:
    """Binary values from 64-bit words: value k is ``values[offsets[k]:offsets[k + 1]]``."""
    buffers = [None, pa.py_buffer((offsets * _WORD).astype(np.int32)), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def sets_in(values: pa.Array) -> ShingleSets:
    """The shingle sets in a binary column; a null is an empty set."""
    return ShingleSets(*words(values))


def signed(values: UInt64s) -> Int64s:
    """The int64 with the same bits."""
    return values.view(np.int64)


def unsigned(values: Int64s) -> UInt64s:
    """The uint64 with the same bits."""
    return values.view(np.uint64)


def batch_of(**columns: Any) -> pa.RecordBatch:
    """A batch of these columns: arrays of NumPy or Arrow."""
    arrays = [values if isinstance(values, pa.Array) else pa.array(values) for values in columns.values()]
    return pa.record_batch(arrays, names=list(columns))


def run_starts(keys: Int64s) -> Int64s:
    """The places at which a run of equal ``keys`` begins."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))


def whole_runs(batches: Batches, name: str, enough: int) -> Iterator[pa.Table]:
    """Yield tables of at least ``enough`` bytes, cut only where the sorted column ``name`` changes.

    The last table may be smaller, and one run of equal values may be larger.
    """
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        size += batch.nbytes
        if size < enough:
            continue
        cut = int(run_starts(whole(batch, name))[-1])
        if cut == 0 and len(waiting) == 1:
            continue
        if cut == 0 and batch.column(name)[0] == waiting[-2].column(name)[-1]:
            continue  # one run goes through all of the batch
        yield pa.Table.from_batches([*waiting[:-1], batch.slice(0, cut)])
        waiting = [batch.slice(cut)]
        size = waiting[0].nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def concatenated(parts: Sequence[Int64s]) -> Int64s:
    """The arrays one after the other; int64[0] without any."""
    return np.concatenate([np.empty(0, np.int64), *parts])
