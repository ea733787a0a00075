"""The common base of all inputs made of files: numbers chunks across files and reports lost files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.io.readers import base
from neardup.io.readers.arrow import no_rows_of
from neardup.io.readers.sources import Source, Stamp, require_same

UNREADABLE = (OSError, EOFError, pa.ArrowException, UnicodeDecodeError)


class FileDocuments(ABC):
    """Documents in files of one format, which adds ``pieces``, the chunks of one file, and sinks for its rows.

    ``schema`` is that of native rows, if the format has one. ``failures`` has the reasons for which files cannot
    be opened, by position; ``failure`` begins the sentences about them.
    """

    format: base.Format
    columns: tuple[base.Column, ...] = ()
    schema: Any
    failure: str

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)
        self.findings = base.Findings()
        self.names = tuple(source.name for source in self.sources)
        self.failures: dict[int, str] = {}
        self._stamps: dict[int, Stamp | None] = {}
        # Chunks per file, once counted; allows a later pass to skip a file without opening it.
        self._counts: list[int | None] = [None] * len(self.sources)

    def take_stamp(self, position: int) -> None:
        """Record the state of a file, so that later reads can check that it is unchanged."""
        self._stamps.setdefault(position, self.sources[position].stamp())

    def require_unchanged(self, position: int) -> None:
        """Raise InputError if a file has changed since it was first opened."""
        if position in self._stamps:
            require_same(self.sources[position], self._stamps[position])

    @property
    def size_bytes(self) -> int | None:
        """Size of all files as stored, if known."""
        sizes = [source.size for source in self.sources]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def require(self, text: str, id: str | None) -> None:  # noqa: B027 - only JSONL has a choice here
        """Accept any row: columns of this format have types."""

    @property
    def chunk_count(self) -> int | None:
        """Number of chunks of all files; None before a pass over them has ended."""
        return None if None in self._counts else sum(count or 0 for count in self._counts)

    @abstractmethod
    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        """Yield the chunks of one file, numbered from ``first``; an unwanted one may be None."""

    def no_native(self) -> base.NativeRows:
        """Return native rows of this format without any row."""
        return base.NativeTable(base.no_rows(), no_rows_of(self.schema))

    @property
    @abstractmethod
    def kept_name(self) -> str:
        """The name of a file with the kept rows of all files."""

    @abstractmethod
    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> base.Sink:
        """Open a file for native rows of the file at a position, as that file is; None: of all files."""

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> base.Sink:
        """Open the file ``kept_name``; see ``Documents.sink``."""
        return self.open_sink(folder / self.kept_name, None, extra, threads)

    def separate(self, extra: Any, threads: int) -> base.Separate:
        """Return how to write the rows of each file apart; see ``SeparateFiles.separate``."""

        def open_file(position: int, path: Path) -> base.Sink | None:
            return None if position in self.failures else self.open_sink(path, position, extra, threads)

        def natives(wanted: Collection[int] | None) -> base.Natives:
            chunks: Iterator[Any] = self.chunks(wanted, None)
            return ((chunk, partial(chunk.read_native, own=True)) for chunk in chunks)

        return base.Separate(natives, open_file)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[base.Chunk]:
        """Yield the chunks of all files in order."""
        chosen = None if wanted is None else frozenset(wanted)
        last = None if chosen is None else max(chosen, default=-1)
        first = 0
        for position in range(len(self.sources)):
            if last is not None and first > last:
                return
            known = self._counts[position]
            if known is None or chosen is None or any(first + i in chosen for i in range(known)):
                yield from self._one_file(position, first, chosen, columns)
                known = self._counts[position]
                if known is None:  # ended early: all wanted chunks have been yielded
                    return
            first += known

    def _pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        if position in self.failures:
            yield self.failed_chunk(position, first, f"{self.failure}: {self.failures[position]}")
        else:
            yield from self.pieces(position, first, want, columns)

    def _one_file(
        self, position: int, first: int, chosen: frozenset[int] | None, columns: Sequence[str] | None
    ) -> Iterator[base.Chunk]:
        """Yield the wanted chunks of one file, and count all of them unless the end is not needed."""
        index = first
        last = None if chosen is None else max(chosen)
        self.require_unchanged(position)
        try:
            for piece in self._pieces(position, first, lambda i: chosen is None or i in chosen, columns):
                if piece is not None and (chosen is None or index in chosen):
                    yield piece
                index += 1
                if last is not None and index > last:
                    return
        except UNREADABLE as error:
            self.require_unchanged(position)
            if chosen is None or index in chosen:
                yield self.failed_chunk(position, index, f"cannot read the file: {base.failure_text(error)}")
            index += 1
        self.require_unchanged(position)
        self._counts[position] = index - first

    def failed_chunk(
        self, position: int, index: int, reason: str, row: int | None = None, raw: str | None = None
    ) -> base.FailedChunk:
        """Return a chunk that only carries a problem of the file."""
        name = self.names[position]
        return base.FailedChunk(index, name, base.Problem(name, row, reason, raw), self.no_native())

    def rest_lost(
        self, position: int, index: int, error: BaseException, row: int, raw: str | None = None
    ) -> base.FailedChunk:
        """Return a chunk with the problem of a file that can be read up to a row."""
        reason = f"reading stopped here, the rest of the file is lost: {base.failure_text(error)}"
        return self.failed_chunk(position, index, reason, row, raw)


@dataclass(frozen=True, eq=False)
class FileChunk:
    """Consecutive rows of the file of ``owner`` at a position."""

    index: int
    owner: Any
    position: int
    first_row: int

    @property
    def source(self) -> str:
        """Display name of the file."""
        return str(self.owner.names[self.position])
