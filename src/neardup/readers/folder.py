"""Text files: one document a file, its id the path."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Column,
    Format,
    NativeFiles,
    NativeRows,
    Problem,
    Rows,
    failure_text,
)
from neardup.readers.files import UNREADABLE
from neardup.readers.memory import cut_by_bytes
from neardup.readers.sources import Source

# Opening a file costs about as much as reading this many bytes of it; it also bounds the files in a chunk.
_OPEN_COST = 16 << 10


class TextDocuments:
    """Files that are one document each; the row number of a document is its place in the sorted list."""

    format: Format = "text"
    columns = (Column("id", "text"), Column("text", "text"))

    def __init__(self, name: str, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES) -> None:
        self.names = (name,)
        self.sources = tuple(sources)
        sizes = [source.size for source in self.sources]
        self.size_bytes: int | None = sum(size or 0 for size in sizes)
        costs = np.array([(size or 0) + _OPEN_COST for size in sizes], np.int64)
        self._bounds = [0, *cut_by_bytes(costs, chunk_bytes)]

    def require(self, text: str, id: str | None) -> None:
        """Accept any file that can be read."""

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield the files in groups."""
        chosen = None if wanted is None else frozenset(wanted)
        for index, (start, end) in enumerate(pairwise(self._bounds)):
            if chosen is None or index in chosen:
                yield _FilesChunk(index, self.names[0], start, self.sources[start:end])


@dataclass(frozen=True, eq=False)
class _FilesChunk:
    index: int
    source: str
    first_row: int
    files: tuple[Source, ...]

    def read(self, columns: Sequence[str]) -> Rows:
        contents, good, problems = self._load()
        values: dict[str, Any] = {
            "id": pa.array([self.files[i].name for i in good], pa.large_string()),
            "text": pa.array(contents, pa.large_binary()),
        }
        table = pa.Table.from_arrays([values[name] for name in columns], names=list(columns))
        return Rows(table, self._numbers(good), problems)

    def read_native(self) -> NativeRows:
        _, good, problems = self._load()
        files = tuple(self.files[i] for i in good)
        return NativeFiles(self._numbers(good), tuple(file.name for file in files), files, problems)

    def _numbers(self, good: list[int]) -> Any:
        return self.first_row + np.array(good, np.int64)

    def _load(self) -> tuple[list[bytes], list[int], tuple[Problem, ...]]:
        contents, good, problems = [], [], []
        for i, file in enumerate(self.files):
            try:
                contents.append(file.read_bytes())
                good.append(i)
            except UNREADABLE as error:
                reason = f"cannot read {file.name}: {failure_text(error)}"
                problems.append(Problem(self.source, self.first_row + i, reason))
        return contents, good, tuple(problems)
