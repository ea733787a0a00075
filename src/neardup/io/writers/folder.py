"""The folder of a result, written atomically: in a temporary place first, renamed when all is on the disk."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.io.place import shown_values
from neardup.io.readers.manifest import MANIFEST, ChangedError, manifest_of, require_own
from neardup.io.writers.output import WholeFolder, stamped_page, stamped_schema
from neardup.io.writers.scratch import TABLE_ROWS, drop_mapped
from neardup.tables import FORMAT_VERSION, TEXTS

STAGES = "seconds"
"""The key of the stages of a run."""

_GROUP_BYTES = 1 << 19
"""Bytes of text in a row group. A text is decoded from the beginning of its group: in small ones that is quick."""


class OutputFolder(WholeFolder):
    """A result folder as a context manager; at the end ``manifest.json`` is added.

    Only a result of neardup without added files is replaced, and only on request. Raises OutputError.
    """

    rows_only = False
    """Whether the kept rows are all that is written."""

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite)
        self._digested: set[str] = set()

    def end(self, *, whole: bool) -> None:
        """Give a whole result its name."""
        if whole:
            versions = version("neardup"), FORMAT_VERSION
            self.path(MANIFEST).write_bytes(manifest_of(self.path(), self._digested, versions))
            self.publish()

    def require_own(self, folder: Path) -> None:
        """Raise OutputError unless the folder is empty, or a result without added files."""
        why = "it is not a folder"
        try:
            if folder.is_dir() and not folder.is_symlink():
                if any(folder.iterdir()):
                    require_own(folder)
                return
        except ChangedError as changed:
            why = str(changed)
        raise OutputError(
            f"{self.shown} is not a result of neardup: {why}",
            "Only an empty folder or a result as neardup has written it is overwritten",
            "Choose another name, or remove it yourself",
        )

    def write_table(self, name: str, table: Any) -> None:
        """Write an Arrow table as Parquet."""
        self.write_tables(name, table.schema, [table])

    def write_tables(self, name: str, schema: Any, tables: Iterable[Any]) -> None:
        """Write the rows of Arrow tables, one after the other, as one Parquet file."""
        # Result tables are ids and small numbers: zstd makes them smaller than snappy at the same speed.
        with (
            self.translated_errors(name),
            open(self.path(name), "wb") as file,
            pq.ParquetWriter(file, stamped_schema(schema), compression="zstd") as writer,
        ):
            for table in tables:
                for first in range(0, max(1, table.num_rows), TABLE_ROWS):
                    # in one piece, since the pages of a column depend on its pieces
                    writer.write_table(table.slice(first, TABLE_ROWS).combine_chunks(), TABLE_ROWS)
                    drop_mapped()
        self._digested.add(name)

    def texts(self, name: str) -> "TextsFile":
        """Open a file for the rows of TEXTS, ascending.

        The manifest has no digest of them, since they may be gigabytes.
        """
        return TextsFile(self, name)

    def remove(self, name: str) -> None:
        """Remove a file that was written."""
        self.path(name).unlink()

    def write_json(self, name: str, value: object) -> None:
        """Write a value as human-readable JSON: indented, keys sorted, except stages, which are in their order."""
        try:
            encoded = msgspec.json.encode(value, enc_hook=_plain_value, order="sorted")
        except UnicodeEncodeError:  # names of files that are not Unicode
            value = shown_values(msgspec.to_builtins(value, enc_hook=_plain_value))
            encoded = msgspec.json.encode(value, order="sorted")
        if isinstance(value, dict) and isinstance(value.get(STAGES), dict):
            plain = msgspec.json.decode(encoded)
            encoded = msgspec.json.encode({**plain, STAGES: {name: plain[STAGES][name] for name in value[STAGES]}})
        self._write_bytes(name, [msgspec.json.format(encoded, indent=2), b"\n"])

    def write_jsonl(self, name: str, rows: Iterable[object]) -> None:
        """Write one JSON object per line: mappings, dataclasses or structs."""
        encoder = msgspec.json.Encoder(enc_hook=_plain_value)
        self._write_bytes(name, (encoder.encode(row) + b"\n" for row in rows))

    def write_page(self, name: str, page: str) -> None:
        """Write a page in UTF-8; a lone surrogate becomes a question mark."""
        self._write_bytes(name, [stamped_page(page).encode("utf-8", "replace")])

    def _write_bytes(self, name: str, parts: Iterable[bytes]) -> None:
        with self.translated_errors(name), open(self.path(name), "wb") as file:
            file.writelines(parts)
        self._digested.add(name)


def _plain_value(value: Any) -> Any:
    """Encode numpy numbers and arrays, which msgspec does not support."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class TextsFile:
    """A Parquet file of texts in small row groups, as a context manager; holds a few megabytes at a time."""

    def __init__(self, folder: OutputFolder, name: str) -> None:
        # statistics would repeat whole texts, uncompressed
        options: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
        self._folder, self._name = folder, name
        with folder.translated_errors(name):
            self._file = open(folder.path(name), "wb")  # noqa: SIM115 - Arrow takes no path that is not Unicode
        self._writer = pq.ParquetWriter(self._file, stamped_schema(TEXTS), write_page_checksum=True, **options)
        self._group: list[pa.Table] = []
        self._size = 0

    def __enter__(self) -> "TextsFile":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._folder.translated_errors(self._name), self._file, self._writer:
            if error is None:
                self._write_group()

    def add(self, table: pa.Table) -> None:
        """Add rows of TEXTS."""
        ends = np.cumsum(pc.binary_length(table["text"]).to_numpy(), dtype=np.int64)
        begin, before = 0, 0
        while begin < table.num_rows:
            last = int(np.searchsorted(ends, before + _GROUP_BYTES - self._size))
            part = ends[begin : last + 1]
            self._group.append(table.slice(begin, len(part)))
            self._size += int(part[-1]) - before
            if last < table.num_rows:
                self._write_group()
            begin, before = last + 1, int(part[-1])

    def _write_group(self) -> None:
        """Write one row group, of one piece, since the pages of a column depend on its pieces."""
        with self._folder.translated_errors(self._name):
            self._writer.write_table(pa.concat_tables([TEXTS.empty_table(), *self._group]).combine_chunks())
        self._group, self._size = [], 0
