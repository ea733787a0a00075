"""Parquet and JSONL on the file systems of Spark: rows in the order of their files, and results as folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from neardup.errors import InputError, OutputError
from neardup.io.inputs import paths_of
from neardup.io.place import without_secrets
from neardup.spark.job import OWN, Batches, quoted, require_column, require_free
from neardup.tables import Int64s

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET, JSONL = "parquet", "jsonl"
_SUFFIXES = {".parquet": PARQUET, ".jsonl": JSONL, ".ndjson": JSONL, ".jsonl.gz": JSONL, ".jsonl.bz2": JSONL}
_LOGS = {"Delta": "_delta_log", "Iceberg": "metadata/*.metadata.json", "Lance": "_versions/*.manifest"}
"""The files of the logs of tables with versions, as Spark's file systems find them."""
LINE = "value"
_SLASHES = r"'^(\\w+):/+', '$1:/'"
"""Spark writes file:/ or file:/// before one and the same path."""
ROW_ID, _PLACED, _FILED, _NUMBER = (f"{OWN}{name}" for name in ("row", "place", "file", "number"))
_LISTED = f"if({_NUMBER} is null, raise_error(concat({_FILED}, ' was not there at the start')), {_NUMBER})"
_FILE, _BLOCK, _PLACE = 17, 15, 30
"""Bits of a row number of JSONL: the file, the place of its block in steps of 4 MB, and the line within it."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An input: its columns, the number ``_neardup_row`` that orders its rows, and the ``lines`` of JSONL.

    ``text`` and ``id`` are columns of ``table``; ``column`` is the one of the input with the text.
    """

    table: DataFrame
    format: str
    text: str
    id: str
    files: Sequence[str]
    column: str
    lines: DataFrame | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of Parquet, or the keys of the first lines of JSONL."""
        if self.lines is None:
            return [name for name in self.table.columns if name != ROW_ID]
        return sorted({name for line in _first_lines(self.lines) for name in line})

    def places(self, rows: Int64s) -> tuple[list[str], Int64s]:
        """The file of each row, and its number there: its place in Parquet, and only an order in JSONL."""
        files = rows >> (_BLOCK + _PLACE)
        return [without_secrets(self.files[file]) for file in files.tolist()], rows & (
            (1 << (_BLOCK + _PLACE)) - 1
        )

    def rejected(self, read: int) -> int:
        """The number of lines that are not documents; ``read`` is the number of documents."""
        return 0 if self.lines is None else self.lines.where("trim(value) != ''").count() - read

    @property
    def rows(self) -> DataFrame:
        """(row, id, text) of all documents."""
        kind = "bigint" if _is_whole(self.table, self.id) else "string"
        id, text = quoted(self.id), quoted(self.text)
        return self.table.selectExpr(f"{ROW_ID} as row", f"cast({id} as {kind}) as id", f"{text} as text")


def opened(spark: SparkSession, inputs: Sequence[str], text: str | None, id: str | None) -> Opened:
    """Open files, folders or patterns, all Parquet or all JSONL. Raises InputError."""
    from pyspark.errors import PySparkException

    try:
        return _opened(spark, inputs, text, id)
    except PySparkException as error:  # nothing there, not Parquet, two columns of one name
        raise InputError(
            f"Spark cannot read {', '.join(inputs)}: {str(error).partition(chr(10))[0]}",
            "Files of Parquet with different columns, or of JSONL",
        ) from error


def _opened(spark: SparkSession, inputs: Sequence[str], text: str | None, id: str | None) -> Opened:
    formats = {_format_of(one) for one in inputs}
    if len(formats) != 1:
        raise InputError(
            "The inputs are of several formats" if formats else "No input was given",
            "Files that all end in .parquet, or all in .jsonl; a folder is taken as Parquet",
        )
    format = formats.pop()

    def read(*paths: str) -> DataFrame:
        return spark.read.parquet(*paths) if format == PARQUET else spark.read.text(list(paths))

    files = [file for one in inputs for file in sorted(read(one).inputFiles())]
    _refuse_tables(spark, files)
    if len(files) >= 1 << _FILE:
        raise InputError(
            f"The input has {len(files):,} files", f"At most {(1 << _FILE) - 1:,}", "Join small files"
        )
    lines = read(*inputs)
    number, text, id = _number_of(spark, files), text or "text", id or "id"
    path = f"regexp_replace(_metadata.file_path, {_SLASHES}) as {_FILED}"
    if format == PARQUET:
        require_free(lines)
        require_column(spark, lines.columns, text, "Name it with --text")
        require_column(spark, lines.columns, id, "Name it with --id")
        table = lines.selectExpr("*", path, f"_metadata.row_index as {_PLACED}").join(number, _FILED, "left")
        row = f"({_LISTED} << {_BLOCK + _PLACE}) + {_PLACED} as {ROW_ID}"
        return Opened(table.selectExpr(*map(quoted, lines.columns), row), format, text, id, files, text)
    _refuse_made((text, id))
    whole = isinstance(_first_id(lines, id), int)
    block = f"(least(_metadata.file_block_start >> 22, {(1 << _BLOCK) - 1}) << {_PLACE}) as _block"
    within = f"monotonically_increasing_id() & {(1 << _PLACE) - 1} as {_PLACED}"
    placed = lines.selectExpr(LINE, path, block, within).join(number, _FILED, "left")
    numbered = placed.selectExpr(LINE, f"({_LISTED} << {_BLOCK + _PLACE}) + _block + {_PLACED} as {ROW_ID}")
    schema = f"{LINE} string, {ROW_ID} long, id {'bigint' if whole else 'string'}, text string"
    parsed = numbered.mapInArrow(partial(_parse, text, id, whole), schema)
    return Opened(parsed, format, "text", "id", files, text, lines)


def _refuse_tables(spark: SparkSession, files: Sequence[str]) -> None:
    """Raise InputError for files of a table whose log decides which rows count; partitions are folders ``a=b``."""
    folders = {file.rpartition("/")[0] for file in files}
    while partitions := {folder for folder in folders if "=" in folder.rpartition("/")[2]}:
        folders = folders - partitions | {folder.rpartition("/")[0] for folder in partitions}
    for folder, (format, log) in product(sorted(folders), _LOGS.items()):
        # Iceberg and Lance have their data in a folder beside the log
        for parent in (folder, folder.rpartition("/")[0]):
            system, place = _system(spark, f"{parent}/{log}")
            if len(system.globStatus(place) or ()):
                raise InputError(
                    f"{parent} is a table of {format}, whose log decides which rows count",
                    "Folders of loose Parquet files, or of JSONL",
                    "Open it with Spark, and give the frame to neardup.spark.dedup",
                )


def write(
    kept: DataFrame | None,
    tables: Mapping[str, DataFrame],
    out: str,
    given: Opened,
    overwrite: bool,
    texts: Mapping[str, str],
) -> None:
    """Write the folders kept and those of the tables, and then the files with ``texts``."""
    mode = "overwrite" if overwrite else "error"
    if kept is not None and given.format == JSONL:
        kept.select(LINE).write.mode(mode).text(f"{out}/kept")
    elif kept is not None:
        kept.drop(ROW_ID).write.mode(mode).parquet(f"{out}/kept")
    for name, table in tables.items():
        table.write.mode(mode).parquet(f"{out}/{name}")
    for name, text in texts.items():
        _write_text(given.table.sparkSession, f"{out}/{name}", text)


def require_new(spark: SparkSession, out: str, overwrite: bool) -> None:
    """Raise OutputError if the output exists and is not to be replaced; remove it if it is."""
    system, place = _system(spark, out)
    if not system.exists(place):
        return
    if not overwrite:
        raise OutputError(
            f"{out} exists already",
            "A folder that does not exist yet",
            "Choose another one, or give --overwrite to replace it",
        )
    if not system.exists(_system(spark, f"{out}/run.json")[1]):
        raise OutputError(f"{out} is not a result of neardup", "A folder with run.json", "Choose another one")
    system.delete(place, True)


def remove(spark: SparkSession, folder: str) -> None:
    """Remove a folder of working tables."""
    system, place = _system(spark, folder)
    system.delete(place, True)


def _system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path as it takes it. Raises OutputError if Spark has none."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    jvm: Any = spark._jvm
    try:
        place = jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(spark._jsc.hadoopConfiguration()), place
    except Py4JJavaError as error:  # no such kind of file system, or a URL without its host
        raise OutputError(
            f"Spark cannot write to {path}: {error.java_exception.getMessage()}",
            "A folder on a file system that Spark is configured for",
            "Give its whole URL, such as hdfs://HOST:8020/FOLDER",
        ) from error


def _write_text(spark: SparkSession, path: str, text: str) -> None:
    system, place = _system(spark, path)
    stream = system.create(place, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def _format_of(path: str) -> str:
    name = path.rstrip("/").rpartition("/")[2].lower()
    for suffix, format in _SUFFIXES.items():
        if name.endswith(suffix):
            return format
    if "." in name and "*" not in name:
        raise InputError(f"{path} is neither Parquet nor JSONL", "Files .parquet or .jsonl, also compressed")
    return PARQUET


def _refuse_made(names: Iterable[str]) -> None:
    """Raise InputError for a text of several columns, or a field of a record: Spark reads one key of each line."""
    for name in names:
        if paths_of(name, ()):
            raise InputError(
                f'"{name}" cannot be read on Spark',
                "One column of the input",
                "Make that column first, or run on one machine (without --engine)",
            )


def _number_of(spark: SparkSession, files: list[str]) -> DataFrame:
    """The place of each file in the input."""
    from pyspark.sql import functions

    plain = [re.sub(r"^(\w+):/+", r"\1:/", file) for file in files]
    places = pa.table({_FILED: plain, _NUMBER: pa.array(range(len(files)), pa.int64())})
    return functions.broadcast(spark.createDataFrame(places))


def _is_whole(table: DataFrame, name: str) -> bool:
    from pyspark.sql import types

    kind = table.schema.fields[table.columns.index(name)].dataType
    return isinstance(kind, types.IntegralType)


def _first_lines(lines: DataFrame) -> Iterator[dict[str, Any]]:
    """Yield those of the first lines that are JSON objects."""
    for row in lines.head(20):
        try:
            yield msgspec.json.decode(row[LINE], type=dict[str, Any])
        except msgspec.MsgspecError:
            continue


def _first_id(lines: DataFrame, id: str) -> object:
    for line in _first_lines(lines):
        if id in line:
            return line[id]
    raise InputError(f'The first lines have no "{id}"', "JSON objects, one a line, each with an id", "Give --id")


def _parse(text: str, id: str, whole: bool, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the lines that are documents, with their ids and texts; others have no text and no id."""
    kind, of_id = (int, pa.int64()) if whole else (str, pa.string())
    schema = pa.schema([(LINE, pa.string()), (ROW_ID, pa.int64()), ("id", of_id), ("text", pa.string())])
    for batch in batches:
        lines = batch.column(LINE)
        ids: list[Any] = []
        texts: list[str | None] = []
        good: list[int] = []
        for number, line in enumerate(lines.to_pylist()):
            try:
                row = msgspec.json.decode(line)
                row_id, row_text = row[id], row.get(text)
            except (msgspec.MsgspecError, KeyError, TypeError, AttributeError):
                continue
            if isinstance(row_id, kind) and (row_text is None or isinstance(row_text, str)):
                good.append(number)
                ids.append(row_id)
                texts.append(row_text)
        chosen = pa.array(good, pa.int64())
        arrays = [lines.take(chosen).cast(pa.string()), batch.column(ROW_ID).take(chosen)]
        yield pa.record_batch([*arrays, pa.array(ids, of_id), pa.array(texts, pa.string())], schema=schema)
