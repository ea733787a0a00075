"""The contract of all readers: an input is a sequence of chunks, a chunk returns rows and problems."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.formats.charsets import UTF_8, Charset
from neardup.io.place import shown_name
from neardup.io.readers.sources import Source
from neardup.runtime import is_memory_failure
from neardup.tables import Bools

LISTED = 1000
"""Maximum number of files that ``run.json`` lists one by one; beyond it, only the number is stored."""

NAMED = 3
"""Maximum number of files that a note names."""

# Large enough that the overhead of a chunk (a task, a few calls into Arrow) is negligible, small enough that the
# chunks in flight on a many-core machine stay within a few hundred megabytes.
CHUNK_BYTES = 8 << 20
# A rejected line is shown, not archived: this many characters are enough to see the mistake.
RAW_CHARACTERS = 1000

ROW_BYTES = 64 << 20
"""Size of a row, and so of a field. The longest novels have 10 MB; each thread holds several copies of a row while
processing it."""

COLUMNS = 10_000
"""Columns of a table. Each costs some kilobytes for every chunk of rows."""

DICTIONARY_BYTES = 256 << 20
"""Size of the distinct values of a column in a row group of Parquet; most writers stop at 1 MB."""

PAGE_BYTES, PAGE_RATIO = 256 << 20, 100
"""Size of an unpacked page of Parquet, unless it is at most ``PAGE_RATIO`` times its stored size. Writers put a
thousand values into a page regardless of length, so a page of books may be bigger; text packs to a tenth."""


@dataclass(frozen=True)
class Aside:
    """A file or folder that is not input, and why."""

    name: str
    why: str


@dataclass
class Findings:
    """The findings about an input; readers add to them, the account of a run reads them."""

    notes: list[str] = field(default_factory=list)
    aside: list[Aside] = field(default_factory=list)
    encodings: dict[str, Charset] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    """The folders that were named as input, and the fixed parts of patterns: names of outputs begin there."""

    other_records: dict[str, Counter[str]] = field(default_factory=dict)
    """For each WARC file, the number of the records of each type that are not documents."""

    def tell(self, name: str, charset: Charset) -> None:
        """Record the encoding of a file, unless it is plain UTF-8."""
        if charset != UTF_8:
            self.encodings[name] = charset

    def as_dict(self) -> dict[str, Any]:
        """Return the findings for ``run.json``, with lists of at most ``LISTED`` files."""
        encodings = sorted(self.encodings.items())
        return {
            "roots": list(map(shown_name, self.roots)),
            "left_aside": len(self.aside),
            "left_aside_files": [asdict(aside) for aside in self.aside[:LISTED]],
            "encodings": dict(sorted(Counter(encoded.encoding for _, encoded in encodings).items())),
            "encoded_files": [{"file": name, **asdict(encoded)} for name, encoded in encodings[:LISTED]],
        }

    def reading_notes(self) -> list[str]:
        """Return sentences about the encodings and the other records; complete when all files have been read."""
        return [*self._encoding_notes(), *self._record_notes()]

    def _record_notes(self) -> list[str]:
        total = sum(self.other_records.values(), Counter[str]())
        kinds = ", ".join(f"{count:,} {kind or 'without a type'}" for kind, count in sorted(total.items()))
        return [f"records that are not documents, not judged: {kinds}"] if total else []

    def _encoding_notes(self) -> list[str]:
        if not self.encodings:
            return []
        by_name: dict[str, list[float]] = {}
        for _, encoded in sorted(self.encodings.items()):
            by_name.setdefault(encoded.encoding, []).append(encoded.certainty)
        parts = [f"{len(sure)} {name}{_certainty(sure)}" for name, sure in sorted(by_name.items())]
        return [f"not UTF-8: {', '.join(parts)}; run.json lists the files, --encoding overrides"]


def aside_note(aside: Sequence[Aside]) -> list[str]:
    """Return a sentence that names the files left aside, grouped by reason."""
    if not aside:
        return []
    by_reason: dict[str, list[str]] = {}
    for item in aside:
        by_reason.setdefault(item.why, []).append(item.name)
    return [f"left aside: {'; '.join(f'{names_in_words(names)} ({why})' for why, names in by_reason.items())}"]


def names_in_words(names: Iterable[str]) -> str:
    """Return the first names and the number of the others.

    >>> names_in_words(["a", "b"]), names_in_words("abcdef")
    ('a, b', 'a, b, c and 3 more')
    """
    every = list(names)
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def _certainty(sure: Sequence[float]) -> str:
    low, high = min(sure), max(sure)
    if low == 1:
        return ""
    return f" (certainty {low:.2f})" if low == high else f" (certainty {low:.2f} to {high:.2f})"


Format: TypeAlias = Literal["parquet", "jsonl", "csv", "ipc", "warc", "table", "mixed", "text", "arrow"]
WITHOUT_COLUMNS: frozenset[Format] = frozenset(("text", "warc"))
"""Formats whose documents have no place for further columns; see ``have_columns``."""
Kind: TypeAlias = Literal["text", "integer", "number", "truth", "other"]
RowNumbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Problem:
    """One row (or file, when ``row`` is None) that could not be read, and why.

    For a document in a folder, ``file`` is its name and ``kind`` its kind: ``unreadable`` if its text could not be
    extracted, one of ``formats.kinds`` if it has no text, None if the file itself could not be read.
    """

    source: str
    row: int | None
    reason: str
    raw: str | None = None
    file: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Column:
    """A column that may be chosen: the kinds integer and number matter for ids and for ``--keep max:COLUMN``."""

    name: str
    kind: Kind


@dataclass(frozen=True, eq=False)
class ReadRows:
    """The result of reading one chunk: a table with the good rows, and the rejected rows as problems.

    ``replaced`` counts the invalid UTF-8 sequences that the reader itself had to replace by U+FFFD; most formats
    pass the bytes on, and the text kernel replaces and counts them.
    """

    table: pa.Table
    row_numbers: RowNumbers
    problems: Sequence[Problem] = ()
    replaced: int = 0


@dataclass(frozen=True, eq=False)
class NativeTable:
    """The good rows of a Parquet, CSV or Arrow chunk of the file ``position``, with all their columns."""

    row_numbers: RowNumbers
    table: pa.Table
    problems: tuple[Problem, ...] = ()
    position: int = 0


@dataclass(frozen=True, eq=False)
class NativeLines:
    """The good rows of a JSONL chunk of the file ``position``: ``data[starts[i]:ends[i]]`` is line i, ended."""

    row_numbers: RowNumbers
    data: bytes
    starts: RowNumbers
    ends: RowNumbers
    problems: tuple[Problem, ...] = ()
    position: int = 0


@dataclass(frozen=True, eq=False)
class NativeFiles:
    """The good rows of a text chunk: the files themselves and the path of each in the output.

    ``left_aside`` are files without readable text, which are not rows. ``others`` has the other files of the
    sample of each row, if any row has some.
    """

    row_numbers: RowNumbers
    names: tuple[str, ...]
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...] = ()
    left_aside: tuple[Source, ...] = ()
    others: tuple[tuple[Source, ...], ...] = ()


class Capture(NamedTuple):
    """A record that stays: its address, date and identifier, and the SHA-1 of its payload in Base 32."""

    url: str | None
    date: str
    id: str
    payload: str


class Removal(NamedTuple):
    """Why a record goes: the record that stays in its place, None if it is not in a WARC file, and the reason."""

    kept: Capture | None
    reason: str


@dataclass(frozen=True, eq=False)
class NativeRecords:
    """The records of a WARC chunk of the file ``position``: ``data[starts[i]:ends[i]]`` is record i.

    ``rows`` has the record of each good row. A record that is no row belongs to the rows with the same of
    ``events``; without such a row it always stays. ``packed``: each record is a gzip member.
    """

    row_numbers: RowNumbers
    data: bytes
    starts: RowNumbers
    ends: RowNumbers
    events: RowNumbers
    rows: RowNumbers
    packed: bool = False
    problems: tuple[Problem, ...] = ()
    position: int = 0

    def of_events(self) -> "NativeRecords":
        """Return the rows and the records that belong to rows."""
        theirs = np.isin(self.events, self.events[self.rows])
        return replace(
            self,
            starts=self.starts[theirs],
            ends=self.ends[theirs],
            events=self.events[theirs],
            rows=np.cumsum(theirs)[self.rows] - 1,
        )

    def kept_records(self, keep: Bools) -> Bools:
        """Return which records stay, bool[records], if ``keep`` tells that of the good rows."""
        count = int(self.events.max(initial=-1)) + 1
        of_row = self.events[self.rows]
        with_rows = np.bincount(of_row, minlength=count) > 0
        with_kept = np.bincount(of_row[keep], minlength=count) > 0
        stay: Bools = (with_kept | ~with_rows)[self.events]
        stay[self.rows] = keep
        return stay


NativeRows: TypeAlias = NativeTable | NativeLines | NativeFiles | NativeRecords


def rows_alone(native: NativeRows) -> NativeRows:
    """Return native rows without the files and records that are no rows and belong to none."""
    if isinstance(native, NativeFiles):
        return replace(native, left_aside=())
    if isinstance(native, NativeRecords):
        return native.of_events()
    return native


class Chunk(Protocol):
    """Consecutive rows of one source; can be read alone, in any thread, any number of times.

    The good rows are the same in every read, for any choice of columns. The one exception is a damaged Parquet or
    CSV column that an earlier read did not touch; the row numbers and problems of the read show it.
    """

    @property
    def index(self) -> int:
        """Number of the chunk within the whole input, ascending in input order."""

    @property
    def source(self) -> str:
        """Display name of the file."""

    @property
    def first_row(self) -> int:
        """Number within the file of the first row, good or not."""

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Read the requested columns, in the requested order."""

    def read_native(self) -> NativeRows:
        """Return the good rows with all their content, as in the file."""


@runtime_checkable
class RememberingChunk(Protocol):
    """A chunk whose first reading leaves more behind than its rows: what later readings and the account need."""

    def memory(self) -> str:
        """Facts from the first reading, as JSON."""

    def remember(self, memory: str) -> None:
        """Take over the facts from a first reading in another process."""


def memory_of(chunk: Chunk) -> str | None:
    """Return the facts that the first reading of a chunk left behind, None if it leaves none."""
    return chunk.memory() if isinstance(chunk, RememberingChunk) else None


def remind(chunk: Chunk, memory: str | None) -> None:
    """Give a chunk the facts from its first reading in another process, if there are any."""
    if memory is not None and isinstance(chunk, RememberingChunk):
        chunk.remember(memory)


class Sink(Protocol):
    """A writer of kept rows in one format: its caller prepares items, a background thread writes them."""

    path: Path

    def prepare(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the part of a chunk to write."""

    def write(self, item: Any) -> None:
        """Write one prepared item."""

    def close(self) -> None:
        """Finish the file."""


@runtime_checkable
class SizedSink(Sink, Protocol):
    """A sink that knows how much it has written, for files of about one size."""

    @property
    def size(self) -> int:
        """The bytes of the file so far, about; they follow from the rows alone, whatever the number of threads."""

    def expect(self, size: int) -> None:
        """Prepare for a file of about this many bytes, before any row is written."""


class Documents(Protocol):
    """A whole input: one or many files of one format or of several, or Arrow data in memory."""

    @property
    def format(self) -> Format:
        """The storage format of the documents."""

    @property
    def names(self) -> tuple[str, ...]:
        """The display names of the sources."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that may be chosen as text, id or sort column."""

    @property
    def size_bytes(self) -> int | None:
        """Size of the input as stored, if known."""

    @property
    def findings(self) -> Findings:
        """Facts about the input besides its rows; complete after a pass over it."""

    def require(self, text: str, id: str | None) -> None:
        """Define a good row: its text is a string, its id a string or an integer.

        ``choose_columns`` calls it, before the first full pass over the chunks.
        """

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield the chunks in order; the same indexes and rows at every call.

        With ``wanted``, yields only those chunks and skips the others as cheaply as the format allows. ``columns``
        names the columns that ``read`` will request (None: all, and ``read_native``); formats that can only be
        decoded in one pass (CSV, huge Parquet row groups) decode no others.
        """

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open a file (or folder) ``kept`` in ``folder`` for native rows, in the format of the input.

        ``extra`` is the schema of the columns added to every row, or None. At most ``threads`` threads encode.
        """


def formats_of(documents: Documents) -> frozenset[Format]:
    """Return the formats of the files of an input."""
    formats: frozenset[Format] = getattr(documents, "formats", frozenset((documents.format,)))
    return formats


def have_columns(documents: Documents) -> bool:
    """Return whether the rows of an input have a place for further columns."""
    return WITHOUT_COLUMNS.isdisjoint(formats_of(documents))


def as_opened(documents: Documents) -> Documents:
    """Return the documents as they were opened, of those that were fingerprinted in this process."""
    opened: Documents = getattr(documents, "documents", documents)
    return opened


Natives: TypeAlias = Iterator[tuple[Chunk, Callable[[], NativeRows]]]
"""Chunks, each with a function that reads its native rows."""


@dataclass(frozen=True)
class Separate:
    """How the rows of each file of an input are read and written apart, with the columns of that file alone.

    ``natives`` yields chunks (None: all). ``open`` returns the sink of the file at a position, at a path; None for
    a file whose columns are unknown because it cannot be read.
    """

    natives: Callable[[Collection[int] | None], Natives]
    open: Callable[[int, Path], Sink | None]


@runtime_checkable
class SeparateFiles(Protocol):
    """An input of data files whose kept rows can be written into one file for each."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files, in the order of their rows."""

    def separate(self, extra: Any, threads: int) -> Separate:
        """Return how to read and write the files apart; ``extra`` is the schema of further columns, or None."""


@runtime_checkable
class ReplacesRows(Protocol):
    """Documents that can be written with other records in the place of those that go."""

    removals: Any
    """Returns why the row of a number in the file at a position goes, or None: nothing is in its place."""

    def capture(self, source: str, number: int) -> Any:
        """Return the parts of a row that such a record names."""


@runtime_checkable
class GivesBack(Protocol):
    """Documents that came from an object of the caller: they return rows in its type."""

    def give_back(self, stays: Bools) -> Any:
        """Return the rows for which ``stays`` (bool[rows]) is true. Raises InputError if it has changed."""


@dataclass(frozen=True)
class FailedChunk:
    """A chunk without rows that carries the problem of a whole file or of a lost part of it."""

    index: int
    source: str
    problem: Problem
    native: NativeRows = field(repr=False)

    @property
    def first_row(self) -> int:
        """The first lost row, if that is known."""
        return self.problem.row or 0

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Read no rows and the problem."""
        empty = pa.table({name: pa.array([], pa.large_string()) for name in columns})
        return ReadRows(empty, no_rows(), (self.problem,))

    def read_native(self, *, own: bool = False) -> NativeRows:
        """Return no rows."""
        return self.native


def no_rows() -> RowNumbers:
    """Return an empty array of row numbers."""
    return np.empty(0, np.int64)


def rejected_text(raw: bytes) -> str:
    """Return rejected bytes as text for a Problem, cut to a readable length."""
    return raw[: 4 * RAW_CHARACTERS].decode("utf-8", "replace")[:RAW_CHARACTERS]


def failure_text(error: BaseException) -> str:
    """Return the first line of an error, or its class name when it has no message.

    Raises MemoryError for an error that reports a lack of memory, since the file is not its cause.
    """
    if is_memory_failure(error):
        raise MemoryError(str(error)) from error
    lines: list[Any] = str(error).strip().splitlines()
    return str(lines[0]) if lines else type(error).__name__


class _Lazy(Sequence[Problem]):
    """Problems that are created on access; equal to any sequence of the same problems."""

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> Problem: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Problem]: ...
    def __getitem__(self, place: int | slice) -> Problem | Sequence[Problem]:
        places = range(len(self))[place]
        return self.at(places) if isinstance(places, int) else tuple(map(self.at, places))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class LineProblems(_Lazy):
    """The rejected lines of one chunk. Repeated reasons and short lines share one string each."""

    def __init__(self, source: str, rows: RowNumbers, reasons: Sequence[str], raw: Sequence[str]) -> None:
        self._source, self._rows, self._reasons, self._raw = source, rows, reasons, raw

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        return Problem(self._source, int(self._rows[place]), self._reasons[place], self._raw[place])


class Problems(_Lazy):
    """The problems of many chunks, one after the other."""

    def __init__(self) -> None:
        self._parts: list[Sequence[Problem]] = []
        self._ends: list[int] = []

    def add(self, found: Sequence[Problem]) -> None:
        """Add the problems of one more chunk."""
        if found:
            self._ends.append(len(self) + len(found))
            self._parts.append(found)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Problem]:
        for part in self._parts:
            yield from part

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        number = bisect_right(self._ends, place)
        return self._parts[number][place - (self._ends[number - 1] if number else 0)]


def too_long(what: str) -> str:
    """Return the reason for rejecting a row.

    >>> too_long("the line")
    'the line is longer than 64 MB, the most a row may have'
    """
    return f"{what} is longer than {ROW_BYTES >> 20} MB, the most a row may have"


def refuse_columns(name: str, count: int) -> None:
    """Raise InputError for a table with more columns than the limit."""
    if count > COLUMNS:
        raise InputError(
            f"{name} has {count:,} columns",
            f"At most {COLUMNS:,} columns",
            "Leave columns out, or turn them into rows",
        )
