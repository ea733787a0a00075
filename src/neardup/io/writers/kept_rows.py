"""Write the kept documents in the format of the input, or as JSON in a stream, while the next chunks are read."""

import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from neardup.errors import OutputError
from neardup.io.readers import base
from neardup.io.readers.arrow import is_bytes, plain, size_of, valid_strings
from neardup.io.writers.filesystem import unwritable_error
from neardup.io.writers.folder import OutputFolder
from neardup.io.writers.kept_formats import kept_rows, line_pieces
from neardup.io.writers.kept_layout import KEPT, ONE_FILE, KeptLayout, OpenedKept, SplitSink, opened_kept
from neardup.runtime import Advance, is_memory_failure, ordered_map, worker_count
from neardup.tables import Bools, Int64s

_WAITING_BYTES = 32 << 20
"""Most bytes that wait to be written while the next are read; half of them where one thread encodes."""


class KeptWriter:
    """Writes the kept rows of each chunk, chunk after chunk.

    Also a context manager: on an exception it stops its thread and writes no more.
    """

    def __init__(self, opened: OpenedKept, documents: base.Documents, threads: int = 1) -> None:
        self._opened, sink = opened, opened.sink
        self._sink: base.Sink = sink
        self.rows = 0
        self._bytes_in = documents.size_bytes or 0
        self._open = True
        self._thread: Background[Any] = Background(
            sink.write, _WAITING_BYTES if threads > 1 else _WAITING_BYTES // 2
        )

    @property
    def path(self) -> Path:
        """The file or folder that is written."""
        return self._sink.path

    def natives(self, wanted: Collection[int] | None = None) -> base.Natives:
        """Yield each wanted chunk (None: all), and a function that reads the rows that ``write`` expects."""
        return self._opened.natives(wanted)

    def account(self) -> dict[str, Any]:
        """Return the files that were written, for ``run.json``; after ``close``."""
        return self._opened.account(self.rows)

    def write(
        self, native: base.NativeRows, keep: npt.NDArray[np.bool_], extra: Any = None, values: Int64s | None = None
    ) -> None:
        """Write the rows of a chunk for which ``keep`` is true, with their rows of ``extra`` as columns.

        ``keep``, ``extra`` and ``values``, the numbers of the values of the rows if each value has its files, have
        one entry for each row of ``native``.
        """
        try:
            if isinstance(self._sink, SplitSink) and values is not None:
                item = self._sink.prepare_split(native, keep, extra, values)
            else:
                item = self._sink.prepare(native, keep, extra)
            self.rows += int(keep.sum())
            if item is not None:
                self._thread.put(item, _weight(native))
        except (OSError, pa.ArrowException) as error:
            raise _failed_error(self.path, error) from error

    def close(self) -> tuple[int, int]:
        """Finish and return the sizes of the input and of the output, in bytes."""
        try:
            if self._open:
                self._thread.close()
                self._open = False
                self._sink.close()
            return self._bytes_in, _size(self.path)
        except (OSError, pa.ArrowException) as error:
            raise _failed_error(self.path, error) from error

    def __enter__(self) -> "KeptWriter":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        elif self._open:
            self._thread.stop()
            with suppress(OSError, pa.ArrowException):
                self._sink.close()


@dataclass(frozen=True, eq=False)
class ChunkRows:
    """Which rows of a chunk to write, bool[rows]; the columns ``extra`` of all its rows, and their ``values``.

    ``native`` are the rows with changes; None: those that were read.
    """

    keep: Bools
    extra: Any = None
    values: Int64s | None = None
    native: base.NativeRows | None = None


@dataclass(frozen=True)
class WrittenRows:
    """The number of rows read and of those kept, and the ``files`` they are in, for ``run.json``."""

    read: int
    kept: int
    files: dict[str, Any]


def write_kept(
    folder: OutputFolder,
    documents: base.Documents,
    rows_of: Callable[[base.Chunk, base.NativeRows], ChunkRows],
    threads: int,
    advance: Advance,
    *,
    extra: Any = None,
    judged: Collection[int] | None = None,
    layout: KeptLayout | None = None,
) -> WrittenRows:
    """Write the rows of documents that stay, in the order of the input.

    ``rows_of`` chooses among the rows of each chunk, and again in each pass of a layout with many values.
    ``judged`` are the chunks with rows that may stay; None: all. ``layout`` has the files of the input by default;
    the other parameters are those of ``open_kept``.
    """
    layout = KeptLayout.of(documents) if layout is None else layout
    others = layout.name == KEPT  # files and records that are no rows stay
    read = kept = 0
    files: dict[str, Any] = {}
    for some in layout.portions:
        opened = open_kept(folder, documents, extra, threads, layout=layout, some=some)
        with opened as writer:
            for chunk, native in ordered_map(read_native, writer.natives(judged), threads):
                rows = rows_of(chunk, native)
                native = rows.native or native
                writer.write(native if others else base.rows_alone(native), rows.keep, rows.extra, rows.values)
                if not some.start:  # the other passes read the same
                    read, kept = read + len(rows.keep), kept + int(rows.keep.sum())
                    advance(len(rows.keep))
            writer.close()
        account = writer.account()
        files = {**account, **{name: files[name] + account[name] for name in ("files", "listed") if files}}
    if not others:
        _rename(folder.path(layout.name), layout.name)
    return WrittenRows(read, kept, files)


def _place(folder: OutputFolder, layout: KeptLayout) -> Path:
    """Return the folder in which to write the files of a layout, which are named kept there."""
    if layout.name == KEPT:
        return folder.path()
    place = folder.path(layout.name)
    place.mkdir(exist_ok=True)
    return place


def _rename(place: Path, name: str) -> None:
    """Move the files of the folder ``place`` beside it, and name them by ``name`` in place of kept."""
    hidden = place.rename(place.with_name(f".{name}"))
    for written in list(hidden.iterdir()):
        written.rename(place.with_name(written.name.replace(KEPT, name, 1)))
    hidden.rmdir()


def read_native(item: tuple[base.Chunk, Callable[[], base.NativeRows]]) -> tuple[base.Chunk, base.NativeRows]:
    """Return a chunk and its native rows; in any thread."""
    chunk, read = item
    return chunk, read()


def open_kept(
    folder: OutputFolder,
    documents: base.Documents,
    extra: Any = None,
    threads: int = 0,
    *,
    layout: KeptLayout = ONE_FILE,
    some: range = range(0),
) -> KeptWriter:
    """Return the writer of the kept documents.

    ``extra`` is the schema of the columns added to every row. ``threads`` threads encode (0: one per core).
    The rows come from ``natives``. ``layout``: the files to write, and
    ``some`` the values whose rows are written now, where each value has its files.
    """
    if extra is not None:
        check_extra(documents, extra.names)
    try:
        if isinstance(folder, StreamOutput):
            sink = StreamSink(
                folder.stream, "text" if documents.format == "text" else getattr(documents, "text", None)
            )
            return KeptWriter(OpenedKept(sink, partial(stream_natives, documents), lambda _: {}), documents)
        threads = worker_count(threads)
        opened = opened_kept(layout, _place(folder, layout), documents, extra, threads, some)
        return KeptWriter(opened, documents, threads)
    except (OSError, pa.ArrowException) as error:
        raise _failed_error(folder.target / "kept", error) from error


def check_extra(documents: base.Documents, extra: Sequence[str]) -> None:
    """Raise OutputError if these columns cannot be added to the documents."""
    if not base.have_columns(documents):
        rows = "WARC records" if "warc" in base.formats_of(documents) else "Text files"
        raise OutputError(
            f"{rows} have no place for further columns",
            "Parquet, JSONL, CSV or a table",
            "Use groups.parquet, which holds the same",
        )
    names = {column.name for column in documents.columns}
    clash = [name for name in extra if name in names]
    if clash:
        raise OutputError(
            f'The input has a column "{clash[0]}" already',
            f"An input without the columns {', '.join(extra)}",
            "Rename that column, or use groups.parquet, which holds the same",
        )


def _weight(native: base.NativeRows) -> int:
    """Return how much memory the rows use while they wait to be written."""
    if isinstance(native, base.NativeTable):
        return size_of(native.table)
    return len(native.data) if isinstance(native, base.NativeLines | base.NativeRecords) else 0


def _size(path: Path) -> int:
    if not path.exists():  # a stream
        return 0
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def _failed_error(path: Path, error: BaseException) -> OutputError:
    if is_memory_failure(error):
        raise MemoryError(str(error)) from error
    if isinstance(error, BrokenPipeError):  # the reader of standard output has ended
        raise error
    if isinstance(error, OSError) and error.errno:
        return unwritable_error(path.name, error)
    return OutputError(
        f"Cannot write {path.name}: {error}",
        "A folder that may be written, on a disk with room",
        "Choose another output folder",
    )


Item = TypeVar("Item")


class Background(Generic[Item]):
    """Calls ``work`` for each item in order, in a thread; put or close raises its exception, and no item follows.

    Besides the item at work, items of at most ``most`` bytes wait, or one.
    """

    def __init__(self, work: Callable[[Item], None], most: int) -> None:
        self._work, self._most = work, most
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="neardup-writer")
        self._items: deque[tuple[Future[None], int]] = deque()
        self._failed = False

    def put(self, item: Item, size: int) -> None:
        """Put an item into the queue; blocks while too many bytes are waiting."""
        while self._items and (self._items[0][0].done() or self._is_full(size)):
            self._items.popleft()[0].result()
        self._items.append((self._pool.submit(self._run, item), size))

    def close(self) -> None:
        """Wait until all items are written."""
        while self._items:
            self._items.popleft()[0].result()
        self._pool.shutdown()

    def stop(self) -> None:
        """End the thread without writing the waiting items."""
        self._pool.shutdown(cancel_futures=True)

    def _is_full(self, size: int) -> bool:
        waiting = sum(waits for _, waits in islice(self._items, 1, None))
        return waiting > 0 and waiting + size > self._most

    def _run(self, item: Item) -> None:
        if self._failed:
            return
        try:
            self._work(item)
        except BaseException:
            self._failed = True
            raise


class StreamOutput(OutputFolder):
    """A stream of the kept rows as an output: it has no folder, and the tables of a result are not written."""

    rows_only = True

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(Path(tempfile.gettempdir()) / "-")
        self.stream = stream

    def begin(self) -> None:
        """Do nothing: the stream is open."""

    def end(self, *, whole: bool) -> None:
        """Hand the last lines over."""
        if whole:
            self.stream.flush()

    def write_tables(self, name: str, schema: Any, tables: Iterable[Any]) -> None:
        """Drop tables."""

    def write_json(self, name: str, value: object) -> None:
        """Drop a value."""


class StreamSink:
    """Writes rows to a stream: lines of JSONL as they are, all others as JSON objects."""

    path = Path("standard output")

    def __init__(self, stream: BinaryIO, text: str | None) -> None:
        self._stream, self._text = stream, text
        self._encode = msgspec.json.Encoder(enc_hook=str).encode

    def prepare(self, native: base.NativeTable | base.NativeLines, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the kept lines."""
        if isinstance(native, base.NativeLines):
            return line_pieces(native, keep, extra)
        table = kept_rows(native.table, keep, extra)
        if table is None:
            return None
        try:
            return [self._encode(row) + b"\n" for row in _plain(table, self._text).to_pylist()]
        except UnicodeDecodeError as error:
            raise OutputError(
                f"A nested value is not valid UTF-8, and has no form in JSON: {error.reason}",
                "Texts in UTF-8",
                "Give -o DIR, which writes the rows as the input has them",
            ) from error

    def write(self, item: list[Any]) -> None:
        """Write the lines."""
        self._stream.writelines(item)

    def close(self) -> None:
        """Hand the lines over; the stream stays open."""
        self._stream.flush()


def stream_natives(documents: base.Documents, wanted: Collection[int] | None) -> base.Natives:
    """Yield each wanted chunk and a function that reads its rows; documents that are files become id and text."""
    columns = {"text": ["id", "text"], "warc": [column.name for column in documents.columns]}.get(documents.format)
    for chunk in documents.chunks(wanted, columns):
        yield chunk, chunk.read_native if columns is None else partial(_rows_of, chunk, columns)


def _rows_of(chunk: base.Chunk, columns: Sequence[str]) -> base.NativeRows:
    read = chunk.read(columns)
    return base.NativeTable(read.row_numbers, read.table, tuple(read.problems))


def _plain(table: pa.Table, text: str | None) -> pa.Table:
    """Return a table whose values Python can hold: valid strings, and times in nanoseconds as text."""
    table = plain(table)
    for position, field in enumerate(table.schema):
        column, kind = table.column(position), field.type
        if (pt.is_timestamp(kind) or pt.is_time64(kind)) and kind.unit == "ns":
            column = column.cast(pa.string())
        elif pt.is_duration(kind) and kind.unit == "ns":
            column = column.cast(pa.int64())
        elif field.name == text and is_bytes(kind):
            column = _texts(column)
        table = table.set_column(position, field.name, column)
    return valid_strings(table, "")


def _texts(column: Any) -> Any:
    """Return bytes as texts; invalid UTF-8 is replaced."""
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])
