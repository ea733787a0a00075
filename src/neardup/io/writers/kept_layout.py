"""The files of the kept rows of a run: one, one for each file of the input, or several by size or value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from neardup.errors import OutputError
from neardup.io.names import name_below
from neardup.io.readers.base import Documents, Natives, SeparateFiles, Sink, SizedSink
from neardup.io.readers.findings import LISTED
from neardup.io.writers.kept_pages import PagesSink
from neardup.io.writers.kept_parquet import GROUP_BYTES
from neardup.io.writers.kept_places import places_of
from neardup.io.writers.kept_separate import SeparateSink
from neardup.io.writers.kept_shards import ShardsSink
from neardup.io.writers.kept_split import SplitSink

Form = Literal["one file", "as the input", "shards", "by value"]

OPEN_FILES = 64
"""Values whose files are open at the same time; the rows of further values are written in further passes."""
_EXPECTED = 8 * GROUP_BYTES // OPEN_FILES
"""Row groups of several open files together take no more memory than those of one file."""


@dataclass(frozen=True)
class KeptLayout:
    """The files to write: their ``form``, and for files of one size this ``size`` in bytes.

    ``by`` are the folders of the values of a column, by the number of the value.
    """

    form: Form = "one file"
    size: int = 0
    by: tuple[str, ...] = ()

    @classmethod
    def of(cls, documents: Documents, shard_size: int = 0, by: Sequence[str] = ()) -> KeptLayout:
        """Return the layout for documents: files of about ``shard_size`` bytes, else as many as the input has.

        The rows of a single file, and files of one size, are in the folders ``by`` of their values, if any.
        Raises OutputError for sizes of documents that are files themselves.
        """
        if shard_size:
            if documents.format == "text":
                raise OutputError(
                    "Documents that are files cannot be written into files of one size",
                    "Parquet, JSONL, CSV or Arrow with --shard-size",
                    "Leave out --shard-size: the files that stay are copied",
                )
            return cls("by value" if by else "shards", shard_size, tuple(by))
        several = isinstance(documents, SeparateFiles) and len(documents.sources) > 1
        if by and not several and documents.format != "text":
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
    """An opened sink, how to read the rows that it expects, and after its end the files it has written."""

    sink: Sink
    natives: Callable[[Collection[int] | None], Natives]
    account: Callable[[], dict[str, Any]]


def opened_kept(
    layout: KeptLayout, folder: Path, documents: Documents, extra: Any, threads: int, judged: bool, some: range
) -> OpenedKept:
    """Open the sink of a layout in a folder; ``some`` are the values to write. Raises OSError."""

    def whole(wanted: Collection[int] | None) -> Natives:
        return ((chunk, chunk.read_native) for chunk in documents.chunks(wanted, None))

    if layout.form == "as the input" and isinstance(documents, SeparateFiles):
        separate = documents.separate(extra, threads, judged)
        places = places_of(documents.sources, documents.findings.roots)
        paths = [name_below(place, source.path) for place, source in zip(places, documents.sources, strict=True)]
        apart = SeparateSink(folder / "kept", separate, paths)
        return OpenedKept(apart, separate.natives, lambda: _of_inputs(documents, places, apart.rows))
    one = partial(_one_sized, documents, extra, threads)
    if layout.form == "by value":
        split = SplitSink(
            folder / "kept", partial(_of_value, layout, one), layout.by[some.start : some.stop], some.start
        )
        return OpenedKept(split, whole, lambda: _of_values(layout, split.rows))
    if layout.form == "shards":
        shards = ShardsSink(folder / "kept", one, layout.size)
        return OpenedKept(shards, whole, lambda: _account("shards", shards.names, shards.rows))
    copying = getattr(documents, "copying_sink", None) if judged else None
    sink: Sink | None = copying(folder, extra, threads) if copying else None
    if isinstance(sink, PagesSink):
        return OpenedKept(sink, sink.text.natives, _one_file)
    sink = documents.sink(folder, extra, threads) if sink is None else sink
    return OpenedKept(sink, whole, _one_file)


def _one_sized(documents: Documents, extra: Any, threads: int, folder: Path) -> SizedSink:
    sink = documents.sink(folder, extra, threads)
    if not isinstance(sink, SizedSink):
        raise OutputError(f"{documents.format} cannot be written in several files", "Parquet, JSONL, CSV or Arrow")
    return sink


def _of_value(layout: KeptLayout, one: Callable[[Path], SizedSink], folder: Path) -> Sink:
    """Open the file of a value in its folder, or its files of one size."""
    if layout.size:
        return ShardsSink(folder, one, layout.size, min(layout.size, _EXPECTED))
    sink = one(folder)
    sink.expect(_EXPECTED)
    return sink


def _of_values(layout: KeptLayout, rows: Mapping[int, int]) -> dict[str, Any]:
    listed = [{"file": f"kept/{layout.by[code]}", "rows": rows[code]} for code in sorted(rows)]
    return {"form": layout.form, "files": len(rows), "listed": listed}


def _one_file() -> dict[str, Any]:
    return {"form": "one file"}


def _account(form: Form, names: list[str], rows: list[int]) -> dict[str, Any]:
    listed = [{"file": f"kept/{name}", "rows": count} for name, count in zip(names, rows, strict=True)]
    return {"form": form, "files": len(names), "listed": listed[:LISTED]}


def _of_inputs(documents: SeparateFiles, places: list[str], rows: list[int]) -> dict[str, Any]:
    found = _account("as the input", places, rows)
    listed = [
        {"input": source.name, **one} for source, one in zip(documents.sources, found["listed"], strict=False)
    ]
    return {**found, "listed": listed}
