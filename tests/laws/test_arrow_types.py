"""Kept rows have the values and types of the input, for all Arrow types that programs write, as text or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.arrow import chosen, may_compress
from neardup.io.readers.ipc import codec_of
from neardup.settings import Settings
from support.made_columns import LONG, bystanders, texts

WORDS = [" ".join(f"{name}{i}" for i in range(60)) for name in ("word", "other", "third")]
TEXTS = [WORDS[0], WORDS[1], WORDS[0], WORDS[2], WORDS[0] + " end", None]
STAY = [1, 3, 4, 5]
"""The rows of TEXTS that stay: the longest of the near copies, and the row without text."""


def _parquet(table: Any, path: Path) -> None:
    pq.write_table(table, path)


def _file(table: Any, path: Path) -> None:
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)


def _stream(table: Any, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as file:
        file.write_table(table)


FILES: dict[str, tuple[str, Callable[[Any, Path], None], Callable[[Path], Any]]] = {
    "parquet": ("parquet", _parquet, pq.read_table),
    "ipc file": ("arrow", _file, lambda path: pa.ipc.open_file(str(path)).read_all()),
    "ipc stream": ("arrow", _stream, lambda path: pa.ipc.open_stream(str(path)).read_all()),
}
IN_MEMORY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "table": (lambda table: table, lambda back: back),
    "batches": (lambda table: table.to_batches(), pa.Table.from_batches),
    "reader": (
        lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        lambda back: back.read_all(),
    ),
    "iterator": (lambda table: iter(table.to_batches()), lambda back: pa.Table.from_batches(list(back))),
}


def in_parquet(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that pyarrow can write to Parquet."""
    found = {}
    for name, column in columns.items():
        try:
            _parquet(pa.table({name: column}), pa.BufferOutputStream())
        except pa.ArrowNotImplementedError:
            continue
        found[name] = column
    return found


def kept_of_file(form: str, table: Any, folder: Path) -> tuple[Any, Any]:
    """Return the table as the file has it, and the rows that ``dedup`` keeps."""
    suffix, write, read = FILES[form]
    path = folder / f"in.{suffix}"
    write(table, path)
    dedup(path, folder / "out")
    return read(path), read(folder / "out" / f"kept.{suffix}")


def dedup(path: Path, out: Path) -> None:
    """Write a result."""
    documents = open_documents(path)
    columns = choose_columns(documents, "text", None)
    save(run(Inputs(documents, columns, Settings(), action="dedup")), out, action="dedup")


def require_same(whole: Any, kept: Any) -> None:
    """Assert that these are the rows that stay, column by column."""
    for name in whole.column_names:
        assert kept.column(name).type == whole.column(name).type, name
        values = whole.column(name).to_pylist()
        assert kept.column(name).to_pylist() == [values[i] for i in STAY], name


@pytest.mark.parametrize("form", FILES)
def test_columns_of_all_types_come_back_from_files(form: str, tmp_path: Path) -> None:
    columns = bystanders(len(TEXTS))
    if form == "parquet":
        columns = in_parquet(columns)
    assert len(columns) > 50
    require_same(*kept_of_file(form, pa.table({"text": TEXTS, **columns}), tmp_path))


@pytest.mark.parametrize("form", IN_MEMORY)
def test_columns_of_all_types_come_back_in_memory(form: str) -> None:
    given, read = IN_MEMORY[form]
    table = pa.table({"text": TEXTS, **bystanders(len(TEXTS))})
    require_same(table, read(neardup.dedup(given(table), text="text")))


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("kind", texts(TEXTS))
def test_texts_of_all_types_are_compared_and_come_back(kind: str, form: str, tmp_path: Path) -> None:
    columns = {"text": texts(TEXTS)[kind]}
    if form == "parquet" and not in_parquet(columns):
        pytest.skip("this pyarrow does not write it to Parquet")
    require_same(*kept_of_file(form, pa.table({**columns, "n": range(len(TEXTS))}), tmp_path))


@pytest.mark.parametrize("form", IN_MEMORY)
def test_texts_of_all_types_in_memory_are_compared_and_come_back(form: str) -> None:
    given, read = IN_MEMORY[form]
    for column in texts(TEXTS).values():
        table = pa.table({"text": column, "n": range(len(TEXTS))})
        require_same(table, read(neardup.dedup(given(table), text="text")))


ROLES: dict[str, dict[str, Any]] = {
    "id": {"id": "name"},
    "within": {"within": "label"},
    "across": {"across": "label"},
    "max": {"keep": "max:label"},
    "min": {"keep": "min:number"},
    "order": {"keep": "order:label=y,z"},
    "sources": {"count": True, "sources": "label"},
}
ROWS = len(TEXTS)
VALUES = {
    "name": [f"n{i}" for i in range(ROWS)],
    "label": ["x", "y", "x", None, "z", "x"],
    "number": [str(100 - 9 * i) for i in range(ROWS)],
}


def _outcome(table: Any, path: Path, role: dict[str, Any]) -> tuple[Any, Any]:
    _file(table, path)
    found = neardup.find(path, text="text", **role)
    return found.removed.to_pylist(), neardup.dedup(table, text="text", **role).to_pylist()


@pytest.mark.parametrize("role", ROLES)
def test_a_column_has_the_same_effect_in_any_type_of_strings(role: str, tmp_path: Path) -> None:
    """Columns that options name, as text and as dictionaries of text: polars writes views and categories."""
    plain = {name: pa.array(values, pa.string()) for name, values in VALUES.items()}
    path = tmp_path / "in.arrow"
    expected = _outcome(pa.table({"text": TEXTS, **plain}), path, ROLES[role])
    assert expected[0]
    for kind in (pa.large_string(), pa.string_view()):
        codes = {name: array.dictionary_encode() for name, array in plain.items()}
        categories = {
            name: pa.DictionaryArray.from_arrays(code.indices.cast(pa.uint32()), code.dictionary.cast(kind))
            for name, code in codes.items()
        }
        for columns in ({name: array.cast(kind) for name, array in plain.items()}, categories):
            assert _outcome(pa.table({"text": TEXTS, **columns}), path, ROLES[role]) == expected


@pytest.mark.parametrize("form", FILES)
def test_a_type_without_single_rows_is_refused_by_its_name(form: str, tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([6], pa.int32()), pa.array(["x"]))
    table = pa.table({"text": TEXTS, "within": pa.StructArray.from_arrays([runs], ["a"])})
    asks: list[Callable[[], object]] = [lambda: neardup.dedup(table, text="text")]
    if form != "parquet":
        FILES[form][1](table, tmp_path / "in.arrow")
        asks.append(lambda: open_documents(tmp_path / "in.arrow"))
    for ask in asks:
        with pytest.raises(neardup.NeardupError, match='"within" is struct<a: run_end_encoded'):
            ask()


def test_views_and_runs_in_slices_and_chunks_are_chosen() -> None:
    rng = np.random.default_rng(5)
    columns = bystanders(40)
    table = pa.concat_tables([pa.table(columns).slice(3, 20), pa.table(columns).slice(7, 1), pa.table(columns)])
    for share in (0.0, 0.3, 1.0):
        keep = rng.random(len(table)) < share
        found = chosen(table, keep)
        assert found.schema.equals(table.schema)
        found.validate(full=True)
        for name in table.column_names:
            values = table.column(name).to_pylist()
            assert found.column(name).to_pylist() == [values[i] for i in np.flatnonzero(keep)], name


def test_chosen_views_hold_no_bytes_of_other_rows() -> None:
    table = pa.table({"text": pa.array([LONG + str(i) for i in range(1000)], pa.string_view())})
    for rows in (slice(0, 10), slice(0, 1000)):
        keep = np.zeros(1000, np.bool_)
        keep[rows] = True
        parts = [chosen(table.slice(at, 100), keep[at : at + 100]) for at in range(0, 1000, 100)]
        stored = sum(part.get_total_buffer_size() for part in parts)
        assert stored < 2 * keep.sum() * (len(LONG) + 16) + 2000


def test_arrow_files_of_polars_are_compared_and_keep_their_types_and_codec(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": TEXTS, "raw": [b"1"] * 6, "tags": [[LONG]] * 6, "at": range(6)})
    frame.write_ipc(tmp_path / "in.arrow", compression="zstd")
    dedup(tmp_path / "in.arrow", tmp_path / "out")
    kept = tmp_path / "out" / "kept.arrow"
    assert pl.read_ipc(kept.read_bytes()).equals(frame[STAY])
    with pa.OSFile(str(kept)) as file:
        assert codec_of(file) == ("zstd" if may_compress(pa.schema([("a", pa.string_view())])) else None)
    schemas = [pa.ipc.open_file(str(path)).schema for path in (tmp_path / "in.arrow", kept)]
    assert schemas[0].equals(schemas[1])


@pytest.mark.parametrize("stream", [False, True])
def test_a_view_that_is_not_utf8_affects_its_row_alone(stream: bool, tmp_path: Path) -> None:
    raw = [b"\xff" + WORDS[0].encode(), *(None if each is None else each.encode() for each in TEXTS[1:])]
    table = pa.table({"text": pa.array(raw, pa.binary_view()).view(pa.string_view()), "n": range(6)})
    form = "ipc stream" if stream else "ipc file"
    _, kept = kept_of_file(form, table, tmp_path)
    assert kept.column("n").to_pylist() == STAY
