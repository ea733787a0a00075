"""The files of the kept rows of a run: one, one for each file of the input, or several by size or value."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from neardup.errors import OutputError
from neardup.io.containers.spools import STDIN
from neardup.io.place import name_below, shown_name
from neardup.io.readers import base
from neardup.io.readers.arrow import cut_by_bytes, row_lengths
from neardup.io.readers.folders import NULL_PARTITION, format_of_source
from neardup.io.readers.sources import Source
from neardup.io.writers.kept_parquet import GROUP_BYTES
from neardup.tables import Int64s

Form = Literal["one file", "as the input", "by size", "by value"]

_Rows = base.NativeTable | base.NativeLines | base.NativeRecords

KEPT = "kept"
OPEN_FILES = 64
"""Values whose files are open at the same time; the rows of further values are written in further passes."""
_EXPECTED = 8 * GROUP_BYTES // OPEN_FILES
"""Row groups of several open files together take no more memory than those of one file."""

_LONGEST = 120
"""Characters of a value in the name of a folder; a longer one is cut, and a digest follows."""
_BROKEN = re.compile("%[0-9A-F]?$")

_PARTS = 32
"""A file is filled in this many portions or more, so that its size is right within a few percent."""

_MOST = 8 << 20
"""Bytes of a portion, at most."""


@dataclass(frozen=True)
class KeptLayout:
    """The files to write: their ``form``, and for files of one size this ``size`` in bytes.

    ``by`` are the folders of the values of a column, by the number of the value. Files are named by ``name``.
    """

    form: Form = "one file"
    size: int = 0
    by: tuple[str, ...] = ()
    name: str = KEPT

    @classmethod
    def of(cls, documents: base.Documents, file_size: int = 0, by: Sequence[str] = ()) -> "KeptLayout":
        """Return the layout for documents: files of about ``file_size`` bytes, else as many as the input has.

        The rows of a single file, and files of one size, are in the folders ``by`` of their values, if any.
        Raises OutputError for sizes of documents that are files themselves.
        """
        if file_size:
            if documents.format in ("text", "mixed"):
                kind = "Documents that are files" if documents.format == "text" else "Inputs of several formats"
                raise OutputError(
                    f"{kind} cannot be written into files of one size",
                    "Parquet, JSONL, CSV or Arrow with --file-size",
                    "Leave out --file-size: the kept files are copied",
                )
            split = tuple(by) if base.have_columns(documents) else ()
            return cls("by value" if split else "by size", file_size, split)
        several = isinstance(documents, base.SeparateFiles) and len(documents.sources) > 1
        if by and not several and base.have_columns(documents):
            return cls("by value", 0, tuple(by))
        return cls("as the input" if several else "one file")

    @property
    def portions(self) -> list[range]:
        """The numbers of the values written in each pass; one empty range where values do not count."""
        firsts = range(0, max(1, len(self.by)), OPEN_FILES)
        return [range(first, min(first + OPEN_FILES, len(self.by))) for first in firsts]


ONE_FILE = KeptLayout()


@dataclass(frozen=True)
class OpenedKept:
    """An opened sink, how to read the rows that it expects, and after its end the files it has written.

    ``account`` gets the number of all rows.
    """

    sink: base.Sink
    natives: Callable[[Collection[int] | None], base.Natives]
    account: Callable[[int], dict[str, Any]]


def opened_kept(
    layout: KeptLayout,
    folder: Path,
    documents: base.Documents,
    extra: Any,
    threads: int,
    some: range,
) -> OpenedKept:
    """Open the sink of a layout in a folder; ``some`` are the values to write. Raises OSError."""

    def whole(wanted: Collection[int] | None) -> base.Natives:
        return ((chunk, chunk.read_native) for chunk in documents.chunks(wanted, None))

    if layout.form == "as the input" and isinstance(documents, base.SeparateFiles):
        separate = documents.separate(extra, threads)
        places = places_of(documents.sources, documents.findings.roots)
        paths = [name_below(place, source.path) for place, source in zip(places, documents.sources, strict=True)]
        apart = SeparateSink(folder / "kept", separate, paths)
        return OpenedKept(apart, separate.natives, lambda _: _of_inputs(documents, places, apart.rows))
    one = partial(_one_sized, documents, extra, threads)
    if layout.form == "by value":
        split = SplitSink(
            folder / "kept", partial(_of_value, layout, one), layout.by[some.start : some.stop], some.start
        )
        return OpenedKept(split, whole, lambda _: _of_values(layout, split.rows))
    if layout.form == "by size":
        sized = BySizeSink(folder / "kept", one, layout.size)
        return OpenedKept(sized, whole, lambda _: _account("by size", sized.names, sized.rows))
    sink = documents.sink(folder, extra, threads)
    return OpenedKept(sink, whole, partial(_of_sink, sink))


def _one_sized(documents: base.Documents, extra: Any, threads: int, folder: Path) -> base.SizedSink:
    sink = documents.sink(folder, extra, threads)
    if not isinstance(sink, base.SizedSink):
        raise OutputError(f"{documents.format} cannot be written in several files", "Parquet, JSONL, CSV or Arrow")
    return sink


def _of_value(layout: KeptLayout, one: Callable[[Path], base.SizedSink], folder: Path) -> base.Sink:
    """Open the file of a value in its folder, or its files of one size."""
    if layout.size:
        return BySizeSink(folder, one, layout.size, min(layout.size, _EXPECTED))
    sink = one(folder)
    sink.expect(_EXPECTED)
    return sink


def _of_values(layout: KeptLayout, rows: Mapping[int, int]) -> dict[str, Any]:
    listed = [{"file": f"kept/{layout.by[code]}", "rows": rows[code]} for code in sorted(rows)]
    return {"form": layout.form, "files": len(rows), "listed": listed}


def _of_sink(sink: base.Sink, rows: int) -> dict[str, Any]:
    files = getattr(sink, "files", 1)
    if files != 1:
        return {"form": "as the input", "files": files, "listed": []}
    return {"form": "one file", "files": 1, "listed": [{"file": sink.path.name, "rows": rows}]}


def _account(form: Form, names: list[str], rows: list[int]) -> dict[str, Any]:
    listed = [{"file": f"kept/{name}", "rows": count} for name, count in zip(names, rows, strict=True)]
    return {"form": form, "files": len(names), "listed": listed[: base.LISTED]}


def _of_inputs(documents: base.SeparateFiles, places: list[str], rows: list[int]) -> dict[str, Any]:
    found = _account("as the input", places, rows)
    listed = [
        {"input": source.name, **one} for source, one in zip(documents.sources, found["listed"], strict=False)
    ]
    return {**found, "listed": listed}


class SeparateSink:
    """Writes the rows of one file of the input after the other; one output is open at a time.

    A file whose rows all go becomes a file without rows, so that each readable file has its output.
    """

    def __init__(self, path: Path, separate: base.Separate, places: Sequence[str]) -> None:
        self.path = path
        self._separate, self._places = separate, places
        self._position = -1
        self._sink: base.Sink | None = None
        self.rows = [0] * len(places)
        path.mkdir()

    def prepare(self, native: _Rows, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the rows; they are chosen when their file is open."""
        return (native, keep, extra) if keep.any() or isinstance(native, base.NativeRecords) else None

    def write(self, item: Any) -> None:
        """Write the kept rows into the output of their file."""
        native, keep, extra = item
        self._go_to(native.position)
        assert self._sink is not None
        self.rows[native.position] += int(keep.sum())
        prepared = self._sink.prepare(native, keep, extra)
        if prepared is not None:
            self._sink.write(prepared)

    def close(self) -> None:
        """Finish the last file, and write those without rows after it."""
        self._go_to(len(self._places))

    def _go_to(self, position: int) -> None:
        """Finish the files before a position, and open the one there."""
        while self._position < position:
            sink, self._sink = self._sink, None
            if sink is not None:
                sink.close()
            self._position += 1
            if self._position < len(self._places):
                self._sink = self._open_sink(self._position)

    def _open_sink(self, position: int) -> base.Sink | None:
        path = self.path / self._places[position]
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():  # names that differ in case alone are one name on some file systems
            raise FileExistsError(17, "two files of the input have this name", str(path))
        return self._separate.open(position, path)


def value_folder(column: str, value: str | None) -> str:
    """Return the name of the folder for a value, which leads nowhere else whatever the value is.

    >>> value_folder("lang", "de"), value_folder("box", "../a b"), value_folder("box", None)
    ('lang=de', 'box=..%2Fa%20b', 'box=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{_quoted_name(column)}={NULL_PARTITION if value is None else _quoted_name(value)}"


def _quoted_name(text: str) -> str:
    quoted = quote(text, safe="", errors="replace")
    if text == NULL_PARTITION:
        return quoted.replace("_", "%5F", 1)
    if len(quoted) <= _LONGEST:
        return quoted
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{_BROKEN.sub('', quoted[: _LONGEST - 17])}-{digest}"


class SplitSink:
    """Writes the rows of some values, each into the file of its value; ``open_one`` opens it in a folder."""

    def __init__(
        self, path: Path, open_one: Callable[[Path], base.Sink], folders: Sequence[str], first: int
    ) -> None:
        self.path = path
        self._open_one, self._folders, self._first = open_one, folders, first
        self._sinks: dict[int, base.Sink] = {}
        self.rows: dict[int, int] = {}
        path.mkdir(exist_ok=True)

    def prepare(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Refuse rows without their values."""
        raise TypeError("the rows of a split need their values")

    def prepare_split(self, native: Any, keep: npt.NDArray[np.bool_], extra: Any, codes: Int64s) -> Any:
        """Return the rows with their values; they are chosen when the files are open."""
        mine = keep & (codes >= self._first) & (codes < self._first + len(self._folders))
        return (native, mine, extra, codes) if mine.any() else None

    def write(self, item: Any) -> None:
        """Write the kept rows of each value."""
        native, keep, extra, codes = item
        for code in np.unique(codes[keep]).tolist():
            mine = keep & (codes == code)
            sink = self._sinks.get(code) or self._open_sink(code)
            self.rows[code] += int(mine.sum())
            sink.write(sink.prepare(native, mine, extra))

    def close(self) -> None:
        """Finish all files."""
        for sink in self._sinks.values():
            sink.close()

    def _open_sink(self, code: int) -> base.Sink:
        folder = self.path / self._folders[code - self._first]
        folder.mkdir()
        self._sinks[code] = self._open_one(folder)
        self.rows[code] = 0
        return self._sinks[code]


class BySizeSink:
    """Writes rows into ``kept-00000``, ``kept-00001`` …; the next file begins when one has reached ``size`` bytes.

    ``open_one`` opens the file ``kept`` of the format in a folder; rows wait in memory as in a file of
    ``expected`` bytes (0: ``size``). The sizes of files follow from the rows alone.
    """

    def __init__(
        self, path: Path, open_one: Callable[[Path], base.SizedSink], size: int, expected: int = 0
    ) -> None:
        self.path = path
        self._open_one, self._size, self._expected = open_one, size, expected or size
        self._portion = min(max(size // _PARTS, 1), _MOST)
        path.mkdir(exist_ok=True)
        self.names: list[str] = []
        self.rows: list[int] = []
        self._sink: base.SizedSink | None = None

    def prepare(self, native: _Rows, keep: npt.NDArray[np.bool_], extra: Any) -> Any:
        """Return the rows; they are chosen when their file is open."""
        return (native, keep, extra) if keep.any() or isinstance(native, base.NativeRecords) else None

    def write(self, item: Any) -> None:
        """Write the kept rows into the current file, and begin the next when it is full."""
        native, keep, extra = item
        for begin, end in self._portions(native):
            if not keep[begin:end].any() and not isinstance(native, base.NativeRecords):
                continue
            if self._sink is not None and self._sink.size >= self._size:
                self._end_file()
            sink = self._sink or self._next()
            more = None if extra is None else extra.slice(begin, end - begin)
            prepared = sink.prepare(_slice(native, begin, end), keep[begin:end], more)
            if prepared is not None:
                sink.write(prepared)
            self.rows[-1] += int(keep[begin:end].sum())

    def close(self) -> None:
        """Finish the last file; without any row, one file without rows is written."""
        if not self.names:
            self._next()
        if self._sink is not None:
            self._end_file()

    def _portions(self, native: _Rows) -> Iterator[tuple[int, int]]:
        if isinstance(native, base.NativeRecords):  # other records are between the rows
            yield 0, len(native.rows)
            return
        lines = isinstance(native, base.NativeLines)
        lengths = native.ends - native.starts if lines else row_lengths(native.table)  # type: ignore[union-attr]
        yield from pairwise([0, *cut_by_bytes(np.maximum(lengths, 1), self._portion)])

    def _next(self) -> base.SizedSink:
        folder = self.path / f".{len(self.rows):05}"
        folder.mkdir()
        self._sink = self._open_one(folder)
        self._sink.expect(self._expected)
        self.names.append(self._sink.path.name.replace("kept", f"kept-{len(self.rows):05}", 1))
        self.rows.append(0)
        return self._sink

    def _end_file(self) -> None:
        sink, self._sink = self._sink, None
        assert sink is not None
        sink.close()
        sink.path.rename(self.path / self.names[-1])
        sink.path.parent.rmdir()


def _slice(native: _Rows, begin: int, end: int) -> _Rows:
    if isinstance(native, base.NativeRecords):
        return native
    numbers = native.row_numbers[begin:end]
    if isinstance(native, base.NativeLines):
        return replace(native, row_numbers=numbers, starts=native.starts[begin:end], ends=native.ends[begin:end])
    return replace(native, row_numbers=numbers, table=native.table.slice(begin, end - begin))


def places_of(sources: Sequence[Source], roots: Sequence[str] = ()) -> list[str]:
    """Return the place of each file below ``kept``, with slashes; all places are distinct and lead nowhere else.

    ``roots`` are the folders that were named as input, and the fixed parts of patterns. Names are relative to the
    innermost folder around all roots and files outside them; standard input is in no folder. A name that is taken
    gets a number, in input order.

    >>> places_of([Source("data/lang=de/a.jsonl", "/x/data/lang=de/a.jsonl")], ["data"])
    ['lang=de/a.jsonl']
    >>> places_of([Source("a/x.csv", "/x/a/x.csv"), Source("b/x.csv", "/x/b/x.csv")])
    ['a/x.csv', 'b/x.csv']
    """
    names = [_path(source.name) + _suffix_of(source) for source in sources]
    folders = [_path(shown_name(root)) for root in roots]
    piped = [source.path == STDIN for source in sources]
    located = [name for name, is_piped in zip(names, piped, strict=True) if not is_piped]
    outside = [os.path.dirname(name) for name in located if not any(_is_below(name, folder) for folder in folders)]
    base = os.path.commonpath(
        [*(folder for folder in folders if any(_is_below(n, folder) for n in located)), *outside] or [os.curdir]
    )
    found: list[str] = []
    taken: set[str] = set()
    for name, is_piped in zip(names, piped, strict=True):
        inside = os.path.basename(name) if is_piped else os.path.relpath(name, base)
        place = _free(inside.replace(os.sep, "/"), taken)
        taken.add(place)
        found.append(place)
    return found


def _suffix_of(source: Source) -> str:
    """The suffix of kept rows whose source has none: a version of a table, and standard input."""
    return ".jsonl" if source.path == STDIN else ".parquet" if format_of_source(source) == "table" else ""


def _path(name: str) -> str:
    """Return a name or URL as an absolute path without ``..``; only the ends of these paths are used."""
    return (
        os.path.normpath(os.path.join(os.sep, *name.split("://", 1))) if "://" in name else os.path.abspath(name)
    )


def _is_below(name: str, folder: str) -> bool:
    return name.startswith(folder.rstrip(os.sep) + os.sep)


def _free(place: str, taken: set[str]) -> str:
    """Return the place, with a number before its extensions if it is taken."""
    path, number = PurePosixPath(place), 1
    stem, suffixes = _split(path.name)
    while place in taken:
        number += 1
        place = str(path.with_name(f"{stem}-{number}{suffixes}"))
    return place


def _split(name: str) -> tuple[str, str]:
    """Split a name at its first dot; one that begins with it has no suffixes."""
    stem, dot, suffixes = name.partition(".")
    return (stem, dot + suffixes) if stem else (name, "")
