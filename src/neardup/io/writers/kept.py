"""Write the kept documents in the format of the input, while the next chunks are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import OutputError
from neardup.io.readers.base import Documents, NativeLines, NativeRows, NativeTable, Sink
from neardup.io.writers.background import Background
from neardup.io.writers.kept_pages import PagesSink
from neardup.io.writers.outputs import OutputFolder
from neardup.runtime import is_memory_failure, worker_count


class KeptWriter:
    """Writes the kept rows of each chunk, chunk after chunk.

    Also a context manager: on an exception it stops its thread and writes no more.
    """

    def __init__(self, sink: Sink, documents: Documents) -> None:
        self._sink = sink
        self._documents = documents
        self._bytes_in = documents.size_bytes or 0
        self._open = True
        self._thread: Background[Any] = Background(sink.write)

    @property
    def path(self) -> Path:
        """The file or folder that is written."""
        return self._sink.path

    def natives(self, wanted: Collection[int]) -> Iterator[tuple[int, Callable[[], NativeRows]]]:
        """Yield the index of each wanted chunk, and a function that reads the rows that ``write`` expects."""
        if isinstance(self._sink, PagesSink):
            return self._sink.text.natives(wanted)
        return ((chunk.index, chunk.read_native) for chunk in self._documents.chunks(wanted, None))

    def write(self, native: NativeRows, keep: npt.NDArray[np.bool_], extra: Any = None) -> None:
        """Write the rows of a chunk for which ``keep`` is true, with their rows of ``extra`` as columns.

        ``keep`` and ``extra`` have one entry for each row of ``native``.
        """
        try:
            item = self._sink.prepare(native, keep, extra)
            if item is not None:
                self._thread.put(item, _weight(native))
        except (OSError, pa.ArrowException) as error:
            raise _failed(self.path, error) from error

    def close(self) -> tuple[int, int]:
        """Finish and return the sizes of the input and of the output, in bytes."""
        try:
            if self._open:
                self._thread.close()
                self._open = False
                self._sink.close()
            return self._bytes_in, _size(self.path)
        except (OSError, pa.ArrowException) as error:
            raise _failed(self.path, error) from error

    def __enter__(self) -> KeptWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._open:
            self._thread.stop()
            with suppress(OSError, pa.ArrowException):
                self._sink.close()


def open_kept(
    folder: OutputFolder, documents: Documents, extra: Any = None, threads: int = 0, *, judged: bool = False
) -> KeptWriter:
    """Return the writer of the kept documents.

    ``extra`` is the schema of the columns added to every row. ``threads`` threads encode (0: one per core).
    ``judged``: the text of every row has been read, and no file has changed since, so that the text need not be
    decoded again to be written; the rows come from ``natives``.
    """
    if extra is not None:
        check_extra(documents, extra.names)
    try:
        return KeptWriter(_sink(folder.path(), documents, extra, worker_count(threads), judged), documents)
    except (OSError, pa.ArrowException) as error:
        raise _failed(folder.target / "kept", error) from error


def _sink(path: Path, documents: Documents, extra: Any, threads: int, judged: bool) -> Sink:
    copying = getattr(documents, "copying_sink", None) if judged else None
    sink: Sink | None = copying(path, extra, threads) if copying else None
    return documents.sink(path, extra, threads) if sink is None else sink


def check_extra(documents: Documents, extra: Sequence[str]) -> None:
    """Raise OutputError if these columns cannot be added to the documents."""
    if documents.format == "text":
        raise OutputError(
            "Text files have no place for further columns",
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


def _weight(native: NativeRows) -> int:
    """Return how much memory the rows use while they wait to be written."""
    if isinstance(native, NativeTable):
        return int(native.table.nbytes)
    return len(native.data) if isinstance(native, NativeLines) else 0


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def _failed(path: Path, error: BaseException) -> OutputError:
    if is_memory_failure(error):
        raise MemoryError(str(error)) from error
    return OutputError(
        f"Cannot write {path.name}: {error}",
        "A folder that may be written, on a disk with room",
        "Choose another output folder",
    )
