"""JSONL: one JSON object per line; a chunk contains the raw bytes of its lines and is parsed when read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.base import (
    CHUNK_BYTES,
    Chunk,
    Column,
    Format,
    LineProblems,
    NativeLines,
    NativeRows,
    ReadRows,
    Sink,
    failure_text,
    no_rows,
    shown,
    too_long,
)
from neardup.io.readers.fields import VirtualColumns
from neardup.io.readers.files import UNREADABLE, FileChunk
from neardup.io.readers.json_records import REMEMBERED, Parsed, Parser, guess_columns, guess_types, parsed_objects
from neardup.io.readers.lines import (
    BYTE_ORDER_MARK,
    LongLine,
    Span,
    StreamDocuments,
    count_lines,
    line_blocks,
    read_span,
    with_keys,
)
from neardup.io.readers.sources import Source, suffix_of
from neardup.io.writers.kept_formats import LinesSink

# The columns are guessed from this many first rows, since a file has no list of its keys.
SAMPLE_ROWS = 100
_SAMPLE_BYTES = 1 << 20
_WITHOUT_KEYS, _NO_VALUE = b"{}", b"{} \t\r\n"


class JsonlDocuments(StreamDocuments):
    """Files of one JSON object per line."""

    format: Format = "jsonl"

    def __init__(self, sources: Sequence[Source], chunk_bytes: int = CHUNK_BYTES, encoding: str = "auto") -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.find_charsets(encoding)
        self._spans: dict[int, list[Span]] = {}
        self.types: dict[str, Any] = {}
        self.columns = self._guess()
        self.parser = Parser(self.columns)

    def require(self, text: str, id: str | None) -> None:
        """Reject lines without a text that is a string or null, or with an id of another type."""
        self.parser = Parser(self.columns, text, id)

    @property
    def virtual(self) -> VirtualColumns:
        """The columns that are made of several fields, or of nested ones."""
        return self.parser.virtual

    @property
    def kept_name(self) -> str:
        """``kept.jsonl``, compressed like the input."""
        return f"kept.jsonl{suffix_of(self.compression)}"

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> Sink:
        """Open a file for lines; those of one file are compressed like it."""
        return LinesSink(path, self.compression if position is None else self.sources[position].compression)

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[Chunk | None]:
        """Yield the chunks of one file."""
        known = self._spans.get(position)
        if known is None:
            yield from self._first_pass(position, first, want)
            return
        path = self.sources[position].path
        for index, span in enumerate(known, first):
            load = partial(read_span, path, span)
            if not want(index):
                yield None
            elif span.too_long is not None:
                yield self._too_long(position, index, span.first_row, span.too_long)
            else:
                yield LinesChunk(index, self, position, span.first_row, load)

    def _too_long(self, position: int, index: int, row: int, beginning: bytes) -> Chunk:
        return self.failed(position, index, too_long("the line"), row, shown(beginning))

    def _first_pass(self, position: int, first: int, want: Callable[[int], bool]) -> Iterator[Chunk | None]:
        source = self.sources[position]
        stream = self.stream(position)
        spans: list[Span] = []
        row = offset = 0
        tail = b""
        try:
            for index, block in enumerate(line_blocks(stream.read, self._chunk_bytes), first):
                if isinstance(block, LongLine):
                    yield self._too_long(position, index, row, block.beginning) if want(index) else None
                    spans.append(Span(offset, block.length, row, block.beginning))
                    row, offset = row + 1, offset + block.length
                    continue
                if stream.error is not None and not block.endswith(b"\n"):
                    tail = block  # the partial line at the end of a broken stream does not count
                    break
                load = partial(bytes, block)
                yield LinesChunk(index, self, position, row, load) if want(index) else None
                spans.append(Span(offset, len(block), row))
                row, offset = row + count_lines(block), offset + len(block)
        finally:
            stream.close()
        if stream.error is not None:
            index = first + len(spans)
            lost = self.rest_lost(position, index, stream.error, row, shown(tail) or None)
            yield lost if want(index) else None
        elif source.is_local and not source.compression and self.is_utf8(position):
            self._spans[position] = spans

    def partition(self, position: int) -> bytes | None:
        """Return the partition keys of a file's folders that its lines lack, as a JSON object; None if none."""
        known = {column.name for column in self.columns}
        told = {key: value for key, value in self.sources[position].partition if key not in known}
        return msgspec.json.encode(told) if told else None

    def no_native(self) -> NativeRows:
        """Return no lines."""
        return NativeLines(no_rows(), b"", no_rows(), no_rows())

    def _guess(self) -> tuple[Column, ...]:
        """Return the keys of the first good lines of the first file that has any."""
        bad, without_keys, cut_off = "", False, False
        for position in range(len(self.sources)):
            lines: list[bytes] = []
            try:
                lines, empty = self._first_lines(position)
                without_keys = without_keys or empty
            except UNREADABLE as error:
                cut_off = cut_off or not bad
                bad = bad or failure_text(error)
            objects = list(islice(parsed_objects(lines), SAMPLE_ROWS))
            if objects:
                self.types = guess_types(objects)
                return guess_columns(objects)
            bad = bad or (f"its first line is {shown(lines[0])[:80]!r}" if lines else "")
        if bad and not without_keys:
            raise InputError(
                f"{self.names[0]} holds no JSON object in its first lines: {bad}",
                "One JSON object a line",
                "Check that the file is whole"
                if cut_off
                else "For one JSON array, convert it first: jq -c '.[]' file.json > file.jsonl",
            )
        return ()

    def _first_lines(self, position: int) -> tuple[list[bytes], bool]:
        """Return the first lines of a file, and whether objects without any key were among them.

        Such objects and blank lines are passed over, however many there are: they show no column.
        """
        stream, lines, empty = self.stream(position), list[bytes](), False
        read = used = 0
        try:
            for block in line_blocks(stream.read, _SAMPLE_BYTES):
                read += 1
                if isinstance(block, bytes):
                    data = block.removeprefix(BYTE_ORDER_MARK) if read == 1 else block
                    empty = empty or _WITHOUT_KEYS in data
                    if not data.strip(_NO_VALUE):
                        continue
                    lines += [line for line in data.split(b"\n") if line.strip(_NO_VALUE)]
                used += 1
                if used == 2:  # the first ends with a line end, the last line of a short file may lack one
                    break
        finally:
            stream.close()
        if not read and stream.error is not None:
            raise stream.error
        return lines[: 10 * SAMPLE_ROWS], empty


@dataclass(frozen=True, eq=False)
class LinesChunk(FileChunk):
    """Some lines of one file; ``load`` returns their bytes."""

    owner: JsonlDocuments
    load: Callable[[], bytes]

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Parse the lines and return the requested fields."""
        block = self._block()
        parsed = self.owner.parser.parse(block, tuple(dict.fromkeys(columns)))
        arrays = [parsed.column(name) for name in columns]
        table = pa.Table.from_arrays(arrays, names=list(columns))
        return ReadRows(table, self.first_row + parsed.lines, self._problems(block, parsed), parsed.replaced)

    def read_native(self, *, own: bool = False) -> NativeRows:
        """Return the good lines unchanged, with the partition keys of their folders added unless ``own``."""
        block = self._block()
        parsed = self.owner.parser.parse(block, ())
        starts, ends = parsed.starts[parsed.lines], parsed.stops[parsed.lines]
        keys = None if own else self.owner.partition(self.position)
        if keys is not None:
            lines = [with_keys(block[s:e], keys) for s, e in zip(starts.tolist(), ends.tolist(), strict=True)]
            block, ends = b"".join(lines), np.cumsum([len(line) for line in lines], dtype=np.int64)
            starts = ends - np.array([len(line) for line in lines], np.int64)
        return NativeLines(self.first_row + parsed.lines, block, starts, ends, (), self.position)

    def _block(self) -> bytes:
        block = self.load()
        return block.removeprefix(BYTE_ORDER_MARK) if self.first_row == 0 else block

    def _problems(self, block: bytes, parsed: Parsed) -> LineProblems:
        lines = parsed.rejected
        bounds = zip(parsed.starts[lines].tolist(), parsed.stops[lines].tolist(), strict=True)
        same: dict[str, str] = {}
        raw = [_shared(shown(block[start:stop].rstrip(b"\r\n")), same) for start, stop in bounds]
        return LineProblems(self.source, self.first_row + lines, parsed.reasons, raw)


def _shared(raw: str, same: dict[str, str]) -> str:
    """Return one shared string for identical rejected lines, for at most ``REMEMBERED`` different ones."""
    return same.setdefault(raw, raw) if len(same) < REMEMBERED else same.get(raw, raw)
