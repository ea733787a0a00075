"""JSONL: one JSON object per line; a chunk contains the raw bytes of its lines and is parsed when read.

Whether a line is good depends only on the line and the required fields, so that every read of a chunk has the same
rows. The required fields are decoded in every read; the others are kept as raw JSON and decoded afterwards, and a
value that does not fit becomes null.
"""

import json
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.formats import kinds
from neardup.io.readers import base
from neardup.io.readers import lines as line_files
from neardup.io.readers.arrow import kind_of
from neardup.io.readers.fields import EACH, JOINED, FieldPath, Step, VirtualColumns, unnameable_error
from neardup.io.readers.files import UNREADABLE, FileChunk
from neardup.io.readers.sources import Source, suffix_of
from neardup.io.writers.kept_formats import LinesSink

# The columns are guessed from this many first rows, since a file has no list of its keys.
SAMPLE_ROWS = 100
_SAMPLE_BYTES = 1 << 20
_WITHOUT_KEYS, _NO_VALUE = b"{}", b"{} \t\r\n"

UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')
"""In the name of a field that msgspec cannot look up: it is written out but cannot be chosen."""

Tree = dict[Any, Any]
"""The fields below a node, by step; a leaf is its type."""

_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

REMEMBERED = 1000
"""Maximum number of rejected lines of a block that are remembered, to recognise repeats."""

_SHORT = 64

_LINES_AT_ONCE = 1 << 16

_MARK = re.compile(rb"^\xef\xbb\xbf", re.MULTILINE)


class JsonlDocuments(line_files.StreamDocuments):
    """Files of one JSON object per line."""

    format: base.Format = "jsonl"

    def __init__(
        self, sources: Sequence[Source], chunk_bytes: int = base.CHUNK_BYTES, encoding: str = "auto"
    ) -> None:
        super().__init__(sources)
        self._chunk_bytes = chunk_bytes
        self.find_charsets(encoding)
        self._spans: dict[int, list[line_files.Span]] = {}
        self.arrays: set[int] = set()
        self.types: dict[str, Any] = {}
        self.unnameable: tuple[str, ...] = ()
        self.columns = self._guess()
        self.parser = Parser(self.columns)

    def require(self, text: str, id: str | None) -> None:
        """Reject lines without a text that is a string or null, or with an id of another type."""
        self.parser = Parser(self.columns, text, id)

    def find_late(self, name: str) -> bool:
        """Add a column that the first lines lack; return whether any line has a value of it."""
        keys, values = {json.dumps(name).encode(), json.dumps(name, ensure_ascii=False).encode()}, list[Any]()
        for position in range(len(self.sources)) if not UNNAMEABLE.search(name) else ():
            with closing(self.stream(position)) as stream:
                for block in line_files.line_blocks(stream.read, self._chunk_bytes):
                    if len(values) >= SAMPLE_ROWS or not isinstance(block, bytes):
                        continue
                    lines = [line for line in block.split(b"\n") if any(key in line for key in keys)]
                    objects = parsed_objects(map(_array_line, lines))
                    values += [{name: item[name]} for item in objects if item.get(name) is not None]
        self.columns += guess_columns(values[:SAMPLE_ROWS])
        self.types |= guess_types(values[:SAMPLE_ROWS])
        self.parser = self.parser.with_columns(self.columns)
        return bool(values)

    def offer(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> None:
        """Offer fields of records as columns."""
        self.parser = self.parser.with_fields(fields)

    @property
    def virtual(self) -> VirtualColumns:
        """The columns that are made of several fields, or of nested ones."""
        return self.parser.virtual

    @property
    def kept_name(self) -> str:
        """``kept.jsonl``, compressed like the input."""
        return f"kept.jsonl{suffix_of(self.compression)}"

    def open_sink(self, path: Path, position: int | None, extra: Any, threads: int) -> base.Sink:
        """Open a file for lines; those of one file are compressed like it."""
        return LinesSink(path, self.compression if position is None else self.sources[position].compression)

    def pieces(
        self, position: int, first: int, want: Callable[[int], bool], columns: Sequence[str] | None
    ) -> Iterator[base.Chunk | None]:
        """Yield the chunks of one file."""
        known = self._spans.get(position)
        if known is None:
            yield from self._first_pass(position, first, want)
            return
        path = self.sources[position].path
        for index, span in enumerate(known, first):
            load = partial(line_files.read_span, path, span)
            if not want(index):
                yield None
            elif span.too_long is not None:
                yield self._too_long(position, index, span.first_row, span.too_long)
            else:
                yield LinesChunk(index, self, position, span.first_row, load)

    def _too_long(self, position: int, index: int, row: int, beginning: bytes) -> base.Chunk:
        return self.failed_chunk(position, index, base.too_long("the line"), row, base.rejected_text(beginning))

    def _first_pass(self, position: int, first: int, want: Callable[[int], bool]) -> Iterator[base.Chunk | None]:
        source = self.sources[position]
        stream = self.stream(position)
        spans: list[line_files.Span] = []
        row = offset = 0
        tail = b""
        try:
            for index, block in enumerate(line_files.line_blocks(stream.read, self._chunk_bytes), first):
                if isinstance(block, line_files.LongLine):
                    yield self._too_long(position, index, row, block.beginning) if want(index) else None
                    spans.append(line_files.Span(offset, block.length, row, block.beginning))
                    row, offset = row + 1, offset + block.length
                    continue
                if stream.error is not None and not block.endswith(b"\n"):
                    tail = block  # the partial line at the end of a broken stream does not count
                    break
                if row == 0 and _begins_array(block):
                    self.arrays.add(position)
                load = partial(bytes, block)
                yield LinesChunk(index, self, position, row, load) if want(index) else None
                spans.append(line_files.Span(offset, len(block), row))
                row, offset = row + line_files.count_lines(block), offset + len(block)
        finally:
            stream.close()
        if stream.error is not None:
            index = first + len(spans)
            lost = self.rest_lost(position, index, stream.error, row, base.rejected_text(tail) or None)
            yield lost if want(index) else None
        elif source.is_local and not source.compression and self.is_utf8(position):
            self._spans[position] = spans

    def partition(self, position: int) -> bytes | None:
        """Return the partition keys of a file's folders that its lines lack, as a JSON object; None if none."""
        known = {column.name for column in self.columns}
        told = {key: value for key, value in self.sources[position].partition if key not in known}
        return msgspec.json.encode(told) if told else None

    def no_native(self) -> base.NativeRows:
        """Return no lines."""
        return base.NativeLines(base.no_rows(), b"", base.no_rows(), base.no_rows())

    def _guess(self) -> tuple[base.Column, ...]:
        """Return the keys of the first good lines of the first file that has any."""
        bad, do, without_keys, unread = "", "", False, False
        for position in range(len(self.sources)):
            lines, empty = list[bytes](), False
            try:
                lines, empty = self._first_lines(position)
            except UNREADABLE as error:
                unread = unread or not bad
                bad, do = bad or base.failure_text(error), do or "Check that the file is whole"
            objects = list(islice(parsed_objects(lines), SAMPLE_ROWS))
            if objects:
                self.types = guess_types(objects)
                columns = guess_columns(objects)
                self.unnameable = tuple(column.name for column in columns if UNNAMEABLE.search(column.name))
                if any(column.kind == "text" and column.name in self.unnameable for column in columns):
                    names = ", ".join(f'"{printable(name)}"' for name in self.unnameable)
                    self.findings.notes.append(f"fields that cannot be the text or the id by their names: {names}")
                return tuple(column for column in columns if column.name not in self.unnameable)
            if kind := kinds.kind_of(lines[0], "") if lines else None:
                bad = bad or f"its first bytes are those of another format ({kind})"
                do = do or "Give the file the extension of its format, or name another file"
            else:
                without_keys = without_keys or empty
            bad = bad or (f"its first line is {base.rejected_text(lines[0])[:80]!r}" if lines else "")
        if bad and not without_keys:
            seen = "cannot be read" if unread else "holds no JSON object in its first lines"
            raise InputError(
                f"{self.names[0]} {seen}: {bad}",
                "One JSON object a line",
                do or "For one JSON array, convert it first: jq -c '.[]' file.json > file.jsonl",
            )
        return ()

    def _first_lines(self, position: int) -> tuple[list[bytes], bool]:
        """Return the first lines of a file, and whether objects without any key were among them.

        Such objects and blank lines are passed over, however many there are: they show no column.
        """
        stream, lines, empty = self.stream(position), list[bytes](), False
        read = used = 0
        try:
            for block in line_files.line_blocks(stream.read, _SAMPLE_BYTES):
                read += 1
                if isinstance(block, bytes):
                    data = block.removeprefix(line_files.BYTE_ORDER_MARK) if read == 1 else block
                    empty = empty or _WITHOUT_KEYS in data
                    if not data.strip(_NO_VALUE):
                        continue
                    data = array_lines(data) if read == 1 and _begins_array(data) else data
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

    def read(self, columns: Sequence[str]) -> base.ReadRows:
        """Read the requested fields of the lines."""
        block = self._block()
        parsed = self.owner.parser.parse(block, tuple(dict.fromkeys(columns)))
        arrays = [parsed.column(name) for name in columns]
        table = pa.Table.from_arrays(arrays, names=list(columns))
        return base.ReadRows(table, self.first_row + parsed.lines, self._problems(block, parsed), parsed.replaced)

    def read_native(self, *, own: bool = False) -> base.NativeRows:
        """Return the good lines unchanged, with the partition keys of their folders added unless ``own``."""
        block = self._block()
        parsed = self.owner.parser.parse(block, ())
        starts, ends = parsed.starts[parsed.lines], parsed.stops[parsed.lines]
        keys = None if own else self.owner.partition(self.position)
        if keys is not None:
            lines = [
                line_files.with_keys(block[s:e], keys) for s, e in zip(starts.tolist(), ends.tolist(), strict=True)
            ]
            block, ends = b"".join(lines), np.cumsum([len(line) for line in lines], dtype=np.int64)
            starts = ends - np.array([len(line) for line in lines], np.int64)
        return base.NativeLines(self.first_row + parsed.lines, block, starts, ends, (), self.position)

    def _block(self) -> bytes:
        block = self.load()
        if line_files.BYTE_ORDER_MARK in block:  # of each of the files that somebody has put together
            block = _MARK.sub(b"", block)
        return array_lines(block) if self.position in self.owner.arrays else block

    def _problems(self, block: bytes, parsed: "Parsed") -> base.LineProblems:
        lines = parsed.rejected
        bounds = zip(parsed.starts[lines].tolist(), parsed.stops[lines].tolist(), strict=True)
        same: dict[str, str] = {}
        raw = [
            _shared_string(base.rejected_text(block[start:stop].rstrip(b"\r\n")), same) for start, stop in bounds
        ]
        return base.LineProblems(self.source, self.first_row + lines, parsed.reasons, raw)


def _begins_array(block: bytes) -> bool:
    return block.removeprefix(line_files.BYTE_ORDER_MARK).lstrip(_NO_VALUE).startswith(b"[")


def array_lines(block: bytes) -> bytes:
    r"""Return the lines of a JSON array with one value a line without its brackets and commas; as many lines.

    >>> array_lines(b'[\n{"a": [1]},\n{"a": 2}\n]\n')
    b'\n{"a": [1]}\n{"a": 2}\n\n'
    """
    return b"\n".join(map(_array_line, block.split(b"\n")))


def _array_line(line: bytes) -> bytes:
    line = line.strip().removesuffix(b",").rstrip()
    if line.startswith(b"["):
        line = line[1:].lstrip()
    return line[:-1].rstrip() if line == b"]" or line.endswith(b"}]") else line


def _shared_string(raw: str, same: dict[str, str]) -> str:
    """Return one shared string for identical rejected lines, for at most ``REMEMBERED`` different ones."""
    return same.setdefault(raw, raw) if len(same) < REMEMBERED else same.get(raw, raw)


@dataclass(frozen=True, eq=False)
class Parsed:
    """The lines of a block: the good ones by number, the rejected ones with their reasons."""

    names: tuple[str, ...]
    kinds: dict[str, base.Kind]
    id: str | None
    fields: "JsonFields"
    records: list[Any]
    lines: line_files.Positions
    rejected: line_files.Positions
    reasons: list[str]
    starts: line_files.Positions
    stops: line_files.Positions
    replaced: int = 0

    def column(self, name: str) -> Any:
        """Return the values of one field, or of a virtual column, as an Arrow array."""
        values = self._combined_values(name) if name in self.fields.columns else self._decoded_values(name)
        if values and isinstance(values[0], msgspec.Raw):
            values = _decode_all(values)
        return _id_array(values) if name == self.id else _array(values, self.kinds.get(name, "text"))

    def _decoded_values(self, name: str) -> list[Any]:
        attribute = f"f{self.names.index(name)}"
        return [getattr(record, attribute) for record in self.records]

    def _combined_values(self, name: str) -> list[Any]:
        make = self.fields.id if name == self.id or name in self.fields.values else self.fields.text
        roots = {root: self._decoded_values(root) for root, _ in self.fields.columns[name]}
        rows = zip(*roots.values(), strict=True)
        return [make(name, dict(zip(roots, values, strict=True))) for values in rows]


class Parser:
    """Parses blocks of lines, given the fields that a good line must have."""

    def __init__(
        self,
        columns: Sequence[base.Column],
        text: str | None = None,
        id: str | None = None,
        fields: Mapping[str, tuple[FieldPath, pa.DataType]] | None = None,
    ) -> None:
        self._given, self._values = (columns, text, id), fields
        self._kinds: dict[str, base.Kind] = {column.name: column.kind for column in columns}
        virtual = VirtualColumns.of(self._kinds, text, id).with_values(fields or {})
        self.virtual = virtual
        self._kinds |= {name: kind_of(type_) for name, type_ in virtual.types.items()}
        self._fields = JsonFields.of(virtual.made, id if id != text else None, virtual.types.keys())
        self._required: dict[str, Any] = dict(self._fields.types)
        if text is not None:
            self._kinds[text] = "text"
            if text not in virtual:
                self._required[text] = str | None
        if id is not None and id != text and id not in virtual:
            self._required[id] = self._required.get(id, str | None) | int
        self._text = None if text in virtual else text
        self._id = id if id != text else None

    def with_columns(self, columns: Sequence[base.Column]) -> "Parser":
        """Return a parser that knows these columns."""
        return Parser(columns, *self._given[1:], self._values)

    def with_fields(self, fields: Mapping[str, tuple[FieldPath, pa.DataType]]) -> "Parser":
        """Return a parser that offers fields of records as columns, too."""
        return Parser(*self._given, fields)

    def parse(self, block: bytes, names: tuple[str, ...]) -> Parsed:
        """Parse all lines of a block for the named fields."""
        plain = (name for name in names if name not in self._fields.columns)
        names = (*self._required, *(name for name in plain if name not in self._required))
        decoder = _decoder(names, tuple(self._required.items()), self._text)
        starts, ends, stops = line_files.line_bounds(block)
        lines = np.flatnonzero(ends > starts)
        records = _parse_at_once(decoder, block, starts[lines], ends[lines])
        rejected, reasons = np.empty(0, np.int64), list[str]()
        replaced = 0
        if records is None:
            records, lines, rejected, reasons = _parse_each(decoder, block, starts, ends)
            replaced = sum(_replaced_count(block[starts[line] : ends[line]]) for line in lines)
        return Parsed(
            names, self._kinds, self._id, self._fields, records, lines, rejected, reasons, starts, stops, replaced
        )


@lru_cache(maxsize=64)
def _decoder(names: tuple[str, ...], required: tuple[tuple[str, Any], ...], text: str | None) -> Any:
    types = dict(required)
    fields: list[Any] = []
    for i, name in enumerate(names):
        if name == text:  # no default: a line without a text is not a document
            fields.append((f"f{i}", types[name]))
        else:
            default = None if name in types else msgspec.Raw(b"null")
            fields.append((f"f{i}", types.get(name, msgspec.Raw), default))
    rename = {f"f{i}": name for i, name in enumerate(names)}
    record = msgspec.defstruct("Line", fields, rename=rename, gc=False, kw_only=True)
    return msgspec.json.Decoder(record)


def _parse_at_once(
    decoder: Any, block: bytes, starts: line_files.Positions, ends: line_files.Positions
) -> list[Any] | None:
    """Parse a block in one call, or return None when some line must be parsed separately.

    The call parses values, not lines. It is exact when every line begins with ``{`` and ends with ``}`` and there
    are as many values as lines: inside a value no ``{`` follows a ``}`` and a line end, so no value spans a line
    end, so each line contains at least one value, so exactly one.
    """
    if not len(starts):
        return []
    data = np.frombuffer(block, np.uint8)
    if not ((data[starts] == ord("{")).all() and (data[ends - 1] == ord("}")).all()):
        return None
    try:
        records: list[Any] = decoder.decode_lines(block)
    except _REFUSED:
        return None
    return records if len(records) == len(starts) else None


def _parse_each(
    decoder: Any, block: bytes, starts: line_files.Positions, ends: line_files.Positions
) -> tuple[list[Any], line_files.Positions, line_files.Positions, list[str]]:
    """Parse line by line: return the good records, their lines, the rejected lines and the reasons.

    A million lines may be rejected for the same reason, or be identical: repeats cost no object and no parsing.
    """
    records: list[Any] = []
    good, bad, reasons = array("q"), array("q"), list[str]()
    refused: dict[bytes, str] = {}
    for i, (start, end) in enumerate(_bounds(starts, ends)):
        line = block[start:end]
        if not line.strip():
            continue
        reason = refused.get(line) if end - start <= _SHORT else None
        if reason is None:
            try:
                records.append(_parse_one(decoder, line))
                good.append(i)
                continue
            except _REFUSED as error:
                reason = intern(_reason(error))
            if end - start <= _SHORT and len(refused) < REMEMBERED:
                refused[line] = reason
        bad.append(i)
        reasons.append(reason)
    return records, np.array(good, np.int64), np.array(bad, np.int64), reasons


def _bounds(starts: line_files.Positions, ends: line_files.Positions) -> Iterator[tuple[int, int]]:
    """Yield starts and ends as Python numbers, created a few at a time."""
    for first in range(0, len(starts), _LINES_AT_ONCE):
        some = slice(first, first + _LINES_AT_ONCE)
        yield from zip(starts[some].tolist(), ends[some].tolist(), strict=True)


def _parse_one(decoder: Any, line: bytes) -> Any:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except _REFUSED:
        repaired = _repaired_line(line)
        if repaired is None:
            raise
        return decoder.decode(repaired)


def _repaired_line(line: bytes) -> bytes | None:
    """Return strict JSON for common mistakes of other programs: broken UTF-8, lone surrogates, NaN."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _replaced_count(line: bytes) -> int:
    """Return how many invalid UTF-8 sequences of a line are read as U+FFFD."""
    return line.decode("utf-8", "replace").count("\ufffd") - line.count("\ufffd".encode())


def _reason(error: BaseException) -> str:
    message = str(error)
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return message if isinstance(error, msgspec.ValidationError) else f"not JSON: {message}"


def _decode_all(raws: Sequence[Any]) -> list[Any]:
    """Decode raw values in one call, or one by one if one of them is refused."""
    try:
        return list(msgspec.json.decode(b"[" + b",".join(map(bytes, raws)) + b"]"))
    except _REFUSED:
        return [_decode_raw(bytes(raw)) for raw in raws]


def _decode_raw(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except _REFUSED:
        repaired = _repaired_line(raw)
        try:
            return None if repaired is None else msgspec.json.decode(repaired)
        except _REFUSED:
            return None


def _id_array(values: list[Any]) -> Any:
    """Return ids as int64 if all in this chunk are 64-bit integers, else all as strings."""
    if values and all(value is None or type(value) is int for value in values):
        try:
            return pa.array(values, pa.int64())
        except (OverflowError, pa.ArrowException):
            pass  # integers of more than 64 bits stay exact as strings
    return pa.array([_string(value) for value in values], pa.large_string())


def _array(values: list[Any], kind: base.Kind) -> Any:
    if kind == "integer":
        return pa.array([v if type(v) is int and -(2**63) <= v < 2**63 else None for v in values], pa.int64())
    if kind == "number":
        return pa.array([_float(value) for value in values], pa.float64())
    if kind == "truth":
        return pa.array([value if type(value) is bool else None for value in values], pa.bool_())
    return pa.array([_string(value) for value in values], pa.large_string())


def _float(value: Any) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def _string(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None


def parsed_objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the lines that are JSON objects, fully decoded."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    for line in lines:
        try:
            yield _parse_one(decoder, line)
        except _REFUSED:
            continue


def guess_columns(objects: Sequence[dict[str, Any]]) -> tuple[base.Column, ...]:
    """Return the keys of the objects in order of appearance, with their kinds."""
    values: dict[str, list[Any]] = {}
    for item in objects:
        for name, value in item.items():
            values.setdefault(name, [])
            if value is not None:
                values[name].append(value)
    return tuple(base.Column(name, _kind(found)) for name, found in values.items())


def guess_types(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the Arrow types of the records and lists in the objects; None for values of several types."""
    found: dict[str, list[Any]] = {}
    for item in objects:
        for name, value in item.items():
            found.setdefault(name, []).append(value)
    nested = {name: values for name, values in found.items() if any(type(v) in (dict, list) for v in values)}
    return {name: _type(values) for name, values in nested.items()}


def _type(values: list[Any]) -> Any:
    try:
        return pa.infer_type(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _kind(values: list[Any]) -> base.Kind:
    """Return the kind of most values; the few of another type are rejected or become null when read."""
    strings, integers, floats = (sum(type(v) is t for v in values) for t in (str, int, float))
    if 2 * (strings + integers + floats) < len(values):
        return "truth" if 2 * sum(type(v) is bool for v in values) >= len(values) else "other"
    if strings * 2 >= len(values) or (strings and not floats):
        return "text"  # also a column of only nulls so far: it may contain texts further on
    return "number" if floats else "integer"


@dataclass(frozen=True)
class JsonFields:
    """Virtual columns of JSON lines: ``types`` of the fields that are decoded, and the steps of each column."""

    types: Mapping[str, Any]
    columns: Mapping[str, tuple[tuple[str, tuple[Step, ...]], ...]]
    values: Collection[str] = ()

    @classmethod
    def of(
        cls, columns: Mapping[str, Sequence[FieldPath]], id: str | None, values: Collection[str] = ()
    ) -> "JsonFields":
        """Return the fields of virtual ``columns``; the values of the column ``id`` may be integers.

        Those of the columns ``values`` are of any type.

        Raises InputError for paths that contradict each other.
        """
        tree: Tree = {}
        for name, paths in columns.items():
            for path in paths:
                leaf = int | str | None if name == id else str | None
                _grow(tree, path, Any if name in values and name != id else leaf)
        types = {root: _type_of(node) for root, node in tree.items()}
        steps = {
            name: tuple((path.root, _attributes(tree[path.root], path.steps)) for path in paths)
            for name, paths in columns.items()
        }
        return cls(types, steps, values)

    def text(self, name: str, roots: Mapping[str, Any]) -> str | None:
        """Return the joined parts of one line, given its decoded fields; None without any."""
        parts = [part for root, steps in self.columns[name] for part in _values(roots[root], steps)]
        return JOINED.join(map(str, parts)) if parts else None

    def id(self, name: str, roots: Mapping[str, Any]) -> Any:
        """Return the id of one line, given its decoded fields."""
        [(root, steps)] = self.columns[name]
        return next(_values(roots[root], steps), None)


def _grow(tree: Tree, path: FieldPath, leaf: Any) -> None:
    node, names = tree, (path.root, *path.steps)
    for number, name in enumerate(names, 1):
        if name is not EACH and UNNAMEABLE.search(name):
            raise unnameable_error(path.spelled)
        last, known = number == len(names), node.get(name)
        if (node and (name is EACH) != (EACH in node)) or (known is not None and isinstance(known, dict) == last):
            raise _contradicted_error(path)
        if last:
            node[name] = leaf if known is None else known | leaf
        else:
            node = node.setdefault(name, {})


def _contradicted_error(path: FieldPath) -> InputError:
    return InputError(
        f'"{path.spelled}" takes a field for something else than another name does',
        "A field is a text, a record or a list",
        "Name each field in one way",
    )


def _type_of(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if EACH in node:
        return list[_type_of(node[EACH])] | None  # type: ignore[misc]
    fields = [(f"f{number}", _type_of(below), None) for number, below in enumerate(node.values())]
    rename = {f"f{number}": name for number, name in enumerate(node)}
    return msgspec.defstruct("Record", fields, rename=rename, gc=False) | None


def _attributes(node: Any, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with the attribute of the struct in place of the name of each field."""
    found: list[Step] = []
    for step in steps:
        found.append(EACH if step is EACH else f"f{list(node).index(step)}")
        node = node[step]
    return tuple(found)


def _values(value: Any, steps: Sequence[Step]) -> Iterator[Any]:
    if value is None:
        return
    if not steps:
        yield value
    elif steps[0] is EACH:
        for item in value:
            yield from _values(item, steps[1:])
    else:
        yield from _values(getattr(value, steps[0]), steps[1:])
