"""The documents of a collection as bytes of a file, page by page: JSON Lines or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import SettingError
from neardup.io.writers.stamp import stamped

DocumentForm: TypeAlias = Literal["jsonl", "parquet"]
FORMS: tuple[DocumentForm, ...] = ("jsonl", "parquet")

Rows: TypeAlias = Sequence[Mapping[str, Any]]

_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.large_string()),
        ("metadata", pa.string()),
        ("role", pa.string()),
        ("group", pa.int64()),
    ]
)


def form_of(path: Path) -> str:
    """Return the form that the suffix of a file names, whether or not it is one of ``FORMS``."""
    return path.suffix.lower().removeprefix(".")


def document_bytes(pages: Iterable[Rows], form: str) -> Iterator[tuple[int, bytes]]:
    """Yield a file of documents in pieces, each with the number of its rows.

    A row has ``id``, ``text``, ``metadata``, ``role`` and ``group``. In Parquet, metadata is JSON text, because
    documents may differ in its fields. Raises SettingError for a form that is not one of ``FORMS``.
    """
    if form not in FORMS:
        raise SettingError(f"The form of the export is {form!r}", f"One of {', '.join(FORMS)}")
    return _jsonl(pages) if form == "jsonl" else _parquet(pages)


def _jsonl(pages: Iterable[Rows]) -> Iterator[tuple[int, bytes]]:
    for rows in pages:
        lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
        yield len(rows), "".join(lines).encode("utf-8")


class _Pieces(io.RawIOBase):
    """A file that keeps its bytes until they are taken."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        """Whether it can be written: always."""
        return True

    def write(self, data: Any) -> int:
        """Keep the bytes."""
        self._kept.append(bytes(data))
        self._at += len(self._kept[-1])
        return len(self._kept[-1])

    def tell(self) -> int:
        """The number of bytes written."""
        return self._at

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        kept, self._kept = self._kept, []
        return b"".join(kept)


def _parquet(pages: Iterable[Rows]) -> Iterator[tuple[int, bytes]]:
    pieces = _Pieces()
    with pq.ParquetWriter(pieces, stamped(_SCHEMA), compression="zstd") as writer:
        for rows in pages:
            plain = [
                {**row, "metadata": json.dumps(row["metadata"], ensure_ascii=False, allow_nan=False)}
                for row in rows
            ]
            writer.write_table(pa.Table.from_pylist(plain, _SCHEMA))
            yield len(rows), pieces.taken()
    yield 0, pieces.taken()


__all__ = ["FORMS", "DocumentForm", "document_bytes", "form_of"]
