"""Shared by the tests of all readers: reading everything, and the rules that hold for every input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.io.readers.base import Documents, NativeFiles, NativeLines, NativeRecords, NativeTable, Problem


def read_all(
    documents: Documents, columns: Sequence[str]
) -> tuple[list[dict[str, Any]], list[int], list[Problem]]:
    """Return rows, row numbers and problems, after checking that a second pass gives the same."""
    first, second = _pass(documents, columns), _pass(documents, columns)
    assert first == second
    check_chunks(documents, columns)
    return first


def _pass(documents: Documents, columns: Sequence[str]) -> Any:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    problems: list[Problem] = []
    for chunk in documents.chunks(columns=columns):
        got = chunk.read(columns)
        assert got.table.column_names == list(columns)
        assert got.table.num_rows == len(got.row_numbers)
        assert got.row_numbers.dtype == np.int64
        assert (np.diff(got.row_numbers) > 0).all()
        rows += raw(got.table).to_pylist()
        numbers += got.row_numbers.tolist()
        problems += got.problems
    return rows, numbers, problems


def raw(table: pa.Table) -> pa.Table:
    """Return the strings as bytes: strings may hold bytes that are not UTF-8."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_binary()))
    return table


def check_chunks(documents: Documents, columns: Sequence[str]) -> None:
    """Check indexes, wanted subsets, other column choices and native rows against the plain pass."""
    plain = [(c.index, c.source, c.read(columns)) for c in documents.chunks(columns=columns)]
    assert [index for index, _, _ in plain] == list(range(len(plain)))
    for wanted in ({0}, {len(plain) - 1}, set(range(0, len(plain), 2)), set()):
        some = [(c.index, c.source, c.read(columns)) for c in documents.chunks(wanted, columns)]
        assert [index for index, _, _ in some] == sorted(i for i in wanted if 0 <= i < len(plain))
        for index, source, rows in some:
            assert source == plain[index][1]
            assert raw(rows.table).equals(raw(plain[index][2].table))
            assert rows.row_numbers.tolist() == plain[index][2].row_numbers.tolist()
            assert rows.problems == plain[index][2].problems
    natives = [chunk.read_native() for chunk in documents.chunks()]
    for (_, _, rows), native in zip(plain, natives, strict=True):
        assert native.row_numbers.tolist() == rows.row_numbers.tolist()
        assert native_length(native) == len(rows.row_numbers)


def native_length(native: Any) -> int:
    """Return how many rows native rows hold."""
    if isinstance(native, NativeTable):
        return int(native.table.num_rows)
    if isinstance(native, NativeLines):
        assert len(native.starts) == len(native.ends)
        return len(native.starts)
    if isinstance(native, NativeRecords):
        assert len(native.rows) <= len(native.starts) == len(native.ends) == len(native.events)
        return len(native.rows)
    assert isinstance(native, NativeFiles)
    return len(native.sources)


def lines_of(documents: Documents) -> list[bytes]:
    """Return the raw good lines of a JSONL input."""
    lines: list[bytes] = []
    for chunk in documents.chunks():
        native = chunk.read_native()
        assert isinstance(native, NativeLines)
        lines += [native.data[s:e] for s, e in zip(native.starts, native.ends, strict=True)]
    return lines
