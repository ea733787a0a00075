"""Parquet and JSONL on the file systems of Spark: rows in the order of their files, and results as folders.

Spark has no unsigned numbers, times, half floats or nanoseconds, and its writer knows only its own types. So a
column of Parquet is read as a type that holds its values (``carrier``), and Arrow writes the kept rows with the
types of the input. What neither Spark nor a cast can carry is refused before any work.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import RawIOBase
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import InputError, OutputError
from neardup.io.inputs import paths_of
from neardup.io.place import without_secrets
from neardup.spark.job import OWN, Batches, quoted, require_column, require_free
from neardup.tables import Int64s

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PARQUET, JSONL = "parquet", "jsonl"
_SUFFIXES = {".parquet": PARQUET, ".jsonl": JSONL, ".ndjson": JSONL, ".jsonl.gz": JSONL, ".jsonl.bz2": JSONL}
_LOGS = {"Delta": "_delta_log", "Iceberg": "metadata/*.metadata.json", "Lance": "_versions/*.manifest"}
"""The files of the logs of tables with versions, as Spark's file systems find them."""
LINE = "value"
_TXT = ".txt"
_SPECIAL = re.compile(r"[\[\]{}*?\\]")
"""The characters of a pattern; in the name of a file they need a backslash."""
_SLASHES = r"'^(\\w+):/+', '$1:/'"
"""Spark writes file:/ or file:/// before one and the same path."""
ROW_ID, _PLACED, _FILED, _NUMBER = (f"{OWN}{name}" for name in ("row", "place", "file", "number"))
_LISTED = f"if({_NUMBER} is null, raise_error(concat({_FILED}, ' was not there at the start')), {_NUMBER})"
_FILE, _BLOCK, _PLACE = 17, 15, 30
"""Bits of a row number of JSONL: the file, the place of its block in steps of 4 MB, and the line within it."""
END = "1"
"""The last byte of a Parquet file, PAR1. Spark's writer of text puts it behind each value."""
_MAGIC, _TAIL, _GUESS = b"PAR1", 8, 1 << 16
_ARROW_SCHEMA, _OF_SPARK = b"ARROW:schema", b"org.apache.spark."
_GROUP_BYTES = 1 << 26
_READERS = 16
_CODECS = {"uncompressed": "none", "lz4_raw": "lz4", "lzo": "none"}
_DIGITS = 38
_CARRIED = (
    f"Numbers of any width, decimals of up to {_DIGITS} digits, strings, bytes, dates, times, timestamps, "
    "durations, and lists, records, maps and dictionaries of them"
)
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.null(): pa.int32(),
}
_WAY = "Leave the column out or store it as another type, or run on one machine (without --engine)"


@dataclass(frozen=True)
class Footer:
    """The columns of a file as Arrow reads them, and as it encodes them."""

    schema: pa.Schema
    stored: pa.Schema
    codec: str | None  # None without rows
    times: int  # columns of timestamps
    int96: int  # those of them that are stored as INT96


@dataclass(frozen=True)
class ParquetColumns:
    """The columns of Parquet files: as Arrow reads them (``schema``), and as it encodes them (``stored``).

    The two differ in what Arrow notes beside the types of Parquet: large strings, categories, durations, zones.
    """

    schema: pa.Schema
    stored: pa.Schema
    codec: str
    int96: bool

    def carriers(self) -> StructType:
        """The schema to read the files with."""
        from pyspark.sql.pandas.types import from_arrow_schema

        fields = [field.with_type(carrier(field.type)).with_nullable(True) for field in self.stored]
        return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)

    def of(self, frame: DataFrame) -> ParquetColumns:
        """The columns of ``frame``: those of the files, and others with the types that Spark gives them."""
        from pyspark.sql.pandas.types import to_arrow_schema

        more = to_arrow_schema(frame.schema, timezone="UTC")
        named = [(self.schema.get_field_index(name), name) for name in frame.columns]
        both = [
            [given.field(at) if at >= 0 else more.field(name) for at, name in named]
            for given in (self.schema, self.stored)
        ]
        schema, stored = (pa.schema(fields) for fields in both)
        return ParquetColumns(schema.with_metadata(self.schema.metadata), stored, self.codec, self.int96)

    def encode(self, batches: Batches, group_bytes: int = _GROUP_BYTES) -> Iterator[pa.RecordBatch]:
        """Yield the bytes of one Parquet file with all rows, cut behind ``END``, which is left out.

        Nothing is yielded without rows.
        """
        sink, waiting, size = _Sink(), list[pa.RecordBatch](), 0
        writer: pq.ParquetWriter | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            waiting.append(batch)
            size += batch.nbytes
            if size >= group_bytes:
                writer = writer or self._writer(sink)
                writer.write_table(self._table(waiting))
                waiting, size = [], 0
                yield from sink.take()
        if waiting:
            writer = writer or self._writer(sink)
            writer.write_table(self._table(waiting))
        if writer is not None:
            writer.close()
            yield from sink.take()

    def without_rows(self) -> bytes:
        """A Parquet file that has the columns and no rows."""
        sink = pa.BufferOutputStream()
        self._writer(sink).close()
        return bytes(sink.getvalue())

    def _writer(self, sink: Any) -> pq.ParquetWriter:
        writer = pq.ParquetWriter(
            sink,
            self.stored,
            compression=self.codec,
            compression_level=6 if self.codec == "gzip" else None,
            use_deprecated_int96_timestamps=self.int96,
            store_schema=False,
        )
        noted = base64.b64encode(self.schema.serialize())
        writer.add_key_value_metadata({**(self.schema.metadata or {}), _ARROW_SCHEMA: noted})
        return writer

    def _table(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        given = pa.Table.from_batches(batches)
        columns = [
            pa.chunked_array([as_stored(chunk, field.type) for chunk in values.chunks], field.type)
            for values, field in zip(given.columns, self.stored, strict=True)
        ]
        return pa.table(columns, self.stored)


class _Sink(RawIOBase):
    """Holds what was written until it is taken."""

    def __init__(self) -> None:
        self._waiting, self._place = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting += data
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield what comes before the last ``END``, and keep what is behind it."""
        until = self._waiting.rfind(END.encode())
        if until >= 0:
            # a string of Spark is any bytes
            values = pa.array([bytes(self._waiting[:until])], pa.binary()).view(pa.string())
            del self._waiting[: until + 1]
            yield pa.record_batch([values], ["value"])


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
    kinds: ParquetColumns | None = None
    """Those of Parquet."""

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

    paths = [_matches(spark, one) for one in inputs]
    # no format but text lists files without a look into them
    files = [file for some in paths for file in sorted(spark.read.text(some).inputFiles())]
    if not files:
        raise InputError(f"Spark cannot read {', '.join(inputs)}: no file is there", "Files, folders or patterns")
    _refuse_tables(spark, files)
    if len(files) >= 1 << _FILE:
        raise InputError(
            f"The input has {len(files):,} files", f"At most {(1 << _FILE) - 1:,}", "Join small files"
        )
    every = [path for some in paths for path in some]
    kinds = columns_of(spark, files) if format == PARQUET else None
    lines = spark.read.text(every) if kinds is None else spark.read.schema(kinds.carriers()).parquet(*every)
    number, text, id = _number_of(spark, files), text or "text", id or "id"
    path = f"regexp_replace(_metadata.file_path, {_SLASHES}) as {_FILED}"
    if kinds is not None:
        require_free(lines)
        require_column(spark, lines.columns, text, "Name it with --text")
        require_column(spark, lines.columns, id, "Name it with --id")
        table = lines.selectExpr("*", path, f"_metadata.row_index as {_PLACED}").join(number, _FILED, "left")
        row = f"({_LISTED} << {_BLOCK + _PLACE}) + {_PLACED} as {ROW_ID}"
        table = table.selectExpr(*map(quoted, lines.columns), row)
        return Opened(table, format, text, id, files, text, kinds=kinds)
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
        assert given.kinds is not None
        _write_parquet(kept.drop(ROW_ID), given.kinds, f"{out}/kept", mode)
    for name, table in tables.items():
        table.write.mode(mode).parquet(f"{out}/{name}")
    for name, text in texts.items():
        _write_bytes(given.table.sparkSession, f"{out}/{name}", text.encode())


def _write_parquet(rows: DataFrame, kinds: ParquetColumns, folder: str, mode: str) -> None:
    """Write rows as the files of Parquet that Arrow makes in the tasks.

    Only Spark can write to all of its file systems, and it writes any bytes as text. Its writer ends each value
    with a separator, which is the last byte of Parquet, and gives the files another suffix.
    """
    spark, kinds = rows.sparkSession, kinds.of(rows)
    numbered = rows.toDF(*map(str, range(len(rows.columns))))  # names with dots and backticks are no names there
    values = numbered.mapInArrow(kinds.encode, "value string")
    values.write.mode(mode).option("lineSep", END).option("compression", "none").text(folder)
    system, place = _system(spark, folder)
    written = [status for status in system.listStatus(place) if status.getPath().getName().endswith(_TXT)]
    for status in written:
        path = status.getPath()
        if status.getLen():
            parquet = f"{path.getName().removesuffix(_TXT)}.parquet"
            system.rename(path, _system(spark, f"{folder}/{parquet}")[1])
        else:
            system.delete(path, False)
    if not any(status.getLen() for status in written):
        _write_bytes(spark, f"{folder}/part-00000.parquet", kinds.without_rows())


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


def _matches(spark: SparkSession, path: str) -> list[str]:
    """The files and folders that a pattern matches: Spark warns of one that is no path, with a stack trace."""
    system, place = _system(spark, path)
    found = [status.getPath().toString() for status in system.globStatus(place) or ()]
    return [_SPECIAL.sub(r"\\\g<0>", one) for one in found]


def _write_bytes(spark: SparkSession, path: str, data: bytes) -> None:
    system, place = _system(spark, path)
    stream = system.create(place, True)
    try:
        stream.write(bytearray(data))
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


def columns_of(spark: SparkSession, files: Sequence[str]) -> ParquetColumns:
    """The columns of Parquet files, by their footers. Raises InputError for one that Spark would change."""
    with ThreadPoolExecutor(_READERS) as pool:
        footers = list(pool.map(lambda file: _footer(spark, file), files))
    times, in_int96 = (sum(footer.times for footer in footers), sum(footer.int96 for footer in footers))
    int96 = in_int96 > 0
    if int96 and in_int96 < times:
        raise InputError("Some timestamps are stored as INT96, others as INT64", "All in one way", _WAY)
    try:
        stored = pa.unify_schemas([footer.stored for footer in footers])
    except pa.ArrowException as error:
        raise InputError(
            f"The files have columns of several types: {error}", "One type in all files", _WAY
        ) from error
    # where the files differ in what Arrow notes beside the types, the first one counts
    noted = {field.name: field for footer in reversed(footers) for field in footer.schema}
    fields = [noted[field.name].with_nullable(field.nullable) for field in stored]
    metadata = {
        key: value
        for key, value in (footers[0].schema.metadata or {}).items()
        if not key.startswith(_OF_SPARK)  # its own schema would hide columns that are added
    }
    codec = next((footer.codec for footer in footers if footer.codec), "snappy")
    columns = ParquetColumns(pa.schema(fields, metadata), stored, codec, int96)
    written = pq.read_schema(pa.BufferReader(columns.without_rows()))
    for field, own, back in zip(columns.schema, stored, written, strict=True):
        if not (_is_carried(own.type) and back.type == field.type):
            raise InputError(f'Spark would change the column "{field.name}", {field.type}', _CARRIED, _WAY)
    return columns


def _footer(spark: SparkSession, file: str) -> Footer:
    """Read the footer of a file on a file system of Spark, by its URL."""
    data = _end_of(spark, file, _GUESS)
    need = int.from_bytes(data[-_TAIL:-4], "little") + _TAIL
    if data[-4:] != _MAGIC:
        raise InputError(f"{without_secrets(file)} is not Parquet", "Files of Parquet", "Give others, or JSONL")
    if need > len(data):
        data = _end_of(spark, file, need)
    read = pq.read_metadata(pa.BufferReader(_MAGIC + data[-need:]))
    schema = read.schema.to_arrow_schema()
    int96 = [read.schema.column(leaf).physical_type for leaf in range(len(read.schema))].count("INT96")
    if int96 and _OF_SPARK + b"version" not in (schema.metadata or {}):
        raise InputError(
            f"{without_secrets(file)} has timestamps as INT96 of another program, whose nanoseconds Spark cuts",
            "Timestamps as INT64",
            _WAY,
        )
    stored, times = _parquet_types(schema, int96 > 0)
    codec = None
    if read.num_row_groups and read.num_columns:
        codec = read.row_group(0).column(0).compression.lower()
        codec = _CODECS.get(codec, codec)
    return Footer(schema, stored, codec, times, int96)


def _end_of(spark: SparkSession, file: str, size: int) -> bytes:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    length = system.getFileStatus(path).getLen()
    stream = system.open(path)
    try:
        stream.seek(max(0, length - size))
        return bytes(stream.readNBytes(min(size, length)))
    finally:
        stream.close()


def _parquet_types(schema: pa.Schema, int96: bool) -> tuple[pa.Schema, int]:
    """The columns as Arrow reads them from Parquet alone, with INT96 as microseconds; the number of timestamps."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([], schema.remove_metadata()), sink, store_schema=False)
    times: list[pa.DataType] = []

    def note(kind: pa.DataType) -> pa.DataType:
        if not pa.types.is_timestamp(kind):
            return kind
        times.append(kind)
        return pa.timestamp("us", "UTC") if int96 else kind

    plain = pq.read_schema(pa.BufferReader(sink.getvalue()))
    return pa.schema([field.with_type(_map_values(field.type, note)) for field in plain]), len(times)


def _map_values(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with ``leaf`` of each type within its lists, records and maps."""
    if pa.types.is_map(kind):
        key, item = (field.with_type(_map_values(field.type, leaf)) for field in (kind.key_field, kind.item_field))
        return pa.map_(key, item)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_map_values(kind.value_type, leaf)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_map_values(field.type, leaf)) for field in kind])
    return leaf(kind)


def carrier(kind: pa.DataType) -> pa.DataType:
    """The type that Spark reads a stored one as."""
    return _map_values(kind, _carrier_of_value)


def _carrier_of_value(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return carrier(kind.storage_type)
    if pa.types.is_timestamp(kind):
        return pa.int64() if kind.unit == "ns" else pa.timestamp("us", kind.tz)
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision, _DIGITS), kind.scale)
    if pa.types.is_fixed_size_binary(kind) or kind == pa.float16():
        return pa.binary()
    if pa.types.is_time(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return _WIDER.get(kind, kind)


def as_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values that Spark carried, as the stored type ``kind``. Raises pa.ArrowException rather than change one."""
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    # no cast makes half floats of their bytes
    as_bytes = _map_values(kind, lambda one: pa.binary(2) if one == pa.float16() else one)
    cast = values.cast(as_bytes)
    return cast if as_bytes == kind else cast.view(kind)


def _is_carried(kind: pa.DataType) -> bool:
    """Whether Spark has a type for the values and there is a cast back."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_type

    by = carrier(kind)
    if pa.types.is_decimal(kind) and kind.precision > _DIGITS:
        return False
    try:
        from_arrow_type(by)
        as_stored(pa.array([], by), kind)
    except (PySparkException, pa.ArrowException):
        return False
    return True
