from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.io.readers import base, choose_columns, open_documents, parquet, parquet_pages
from neardup.io.readers.base import Problem
from neardup.io.writers import OutputFolder, open_kept
from neardup.io.writers.kept_parquet import PagesSink

ROWS = 2000
RANDOM = np.random.default_rng(8)
TEXTS = [RANDOM.bytes(RANDOM.integers(1, 40)).hex() * (i % 3 + 1) for i in range(ROWS)]
TABLE = pa.table(
    {
        "id": [f"doc {i}" for i in range(ROWS)],
        "text": [None if i % 50 == 7 else text for i, text in enumerate(TEXTS)],
        "lang": pa.array(["en", "de"] * (ROWS // 2)).dictionary_encode(),
        "tags": [[i, None] if i % 3 else None for i in range(ROWS)],
    }
).replace_schema_metadata({"made": "by hand"})
EXTRA = pa.table({"group": range(ROWS), "similarity": np.arange(ROWS) / ROWS})
KEEPS = {
    "all": np.ones(ROWS, np.bool_),
    "none": np.zeros(ROWS, np.bool_),
    "most": RANDOM.random(ROWS) < 0.998,
    "some": RANDOM.random(ROWS) < 0.5,
    "beginning": np.arange(ROWS) < 1234,
}
SMALL = {"data_page_size": 1000, "write_batch_size": 16, "dictionary_pagesize_limit": 3000}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"row_group_size": 700, "compression": "zstd", "data_page_version": "2.0", "write_page_checksum": True},
    {"compression": "none", "use_dictionary": False, "write_page_index": True},
    {"compression": {"text": "gzip", "id": "snappy"}},
]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_pages, "_GROUP_BYTES", 0)


def kept(
    inputs: object,
    out: Path,
    keep: np.ndarray[Any, Any],
    extra: pa.Table | None = None,
    *,
    threads: int = 2,
    copied: bool = True,
) -> tuple[Path, list[Problem]]:
    """Write the rows for which ``keep`` is true, by row number; the file and the problems met."""
    documents = open_documents(inputs, chunk_bytes=9000)
    choose_columns(documents, "text", None)
    schema, problems, row = None if extra is None else extra.schema, [], 0
    with (
        OutputFolder(out) as folder,
        open_kept(folder, documents, schema, threads, judged=copied) as writer,
    ):
        assert isinstance(writer._sink, PagesSink) == copied
        for _, read in writer.natives(range(10_000)):
            native = read()
            here = row + np.arange(len(native.row_numbers))
            writer.write(native, keep[here], None if extra is None else extra.take(here))
            problems += native.problems
            row += len(native.row_numbers)
        name = writer.path.name
        writer.close()
    return out / name, problems


@pytest.mark.part(5)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", KEEPS)
@pytest.mark.parametrize("big", [False, True])
def test_the_rows_are_those_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], name: str, big: bool
) -> None:
    if big:
        monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 1000)
    source, keep = tmp_path / "in.parquet", KEEPS[name]
    pq.write_table(TABLE, source, **SMALL, **options)
    path, problems = kept(source, tmp_path / "out", keep)
    whole = pq.read_table(source)
    assert not problems
    assert pq.read_table(path, page_checksum_verification=True).to_pylist() == whole.filter(keep).to_pylist()
    assert pl.read_parquet(path).equals(pl.from_arrow(whole.filter(keep)))
    assert pq.read_schema(path).equals(pq.read_schema(source), check_metadata=True)
    for group in range(pq.read_metadata(path).num_row_groups):
        column = pq.read_metadata(path).row_group(group).column(1)
        assert column.compression == pq.read_metadata(source).row_group(0).column(1).compression
        assert column.total_compressed_size > 0
        assert not column.has_offset_index


def test_the_pages_of_rows_that_stay_are_copied(tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(TABLE, source, use_dictionary=False, **SMALL)
    path, _ = kept(source, tmp_path / "out", KEEPS["all"])
    before, after = (pq.read_metadata(file).row_group(0).column(1) for file in (source, path))
    places = [(file, about.data_page_offset) for file, about in ((source, before), (path, after))]
    one, other = (file.read_bytes()[at : at + before.total_compressed_size] for file, at in places)
    assert one == other
    assert after.total_uncompressed_size == before.total_uncompressed_size
    assert after.statistics.null_count == before.statistics.null_count == ROWS // 50
    assert (after.statistics.min, after.statistics.max) == (before.statistics.min, before.statistics.max)


def test_the_bounds_of_the_text_hold_when_rows_go(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet", use_dictionary=False, row_group_size=500, **SMALL)
    path, _ = kept(tmp_path / "in.parquet", tmp_path / "out", KEEPS["some"])
    for group in range(pq.read_metadata(path).num_row_groups):
        found = pq.read_metadata(path).row_group(group).column(1).statistics
        values = pq.ParquetFile(path).read_row_group(group)["text"].drop_null().to_pylist()
        assert found.min <= min(values)
        assert max(values) <= found.max
        assert not found.has_null_count


@pytest.mark.parametrize("name", ["all", "most"])
def test_columns_are_added(tmp_path: Path, name: str) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet", **SMALL)
    path, _ = kept(tmp_path / "in.parquet", tmp_path / "out", KEEPS[name], EXTRA)
    wanted = TABLE.append_column("group", EXTRA["group"]).append_column("similarity", EXTRA["similarity"])
    assert pq.read_table(path).equals(wanted.filter(KEEPS[name]))


@pytest.mark.parametrize("extra", [None, EXTRA])
def test_text_alone_and_text_that_must_be_there(tmp_path: Path, extra: pa.Table | None) -> None:
    table = pa.table({"text": TEXTS}, schema=pa.schema([pa.field("text", pa.large_string(), nullable=False)]))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=900, **SMALL)
    path, _ = kept(tmp_path / "in.parquet", tmp_path / "out", KEEPS["most"], extra)
    found = pq.read_table(path)
    assert found.select(["text"]).equals(table.filter(KEEPS["most"]))
    assert not found.schema.field("text").nullable
    assert found.num_columns == (1 if extra is None else 3)


def test_several_files_and_any_number_of_threads(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(TABLE.slice(0, 600), tmp_path / "in" / "1.parquet", **SMALL)
    pq.write_table(TABLE.slice(600), tmp_path / "in" / "2.parquet", use_dictionary=False, **SMALL)
    files = [kept(tmp_path / "in", tmp_path / f"out{n}", KEEPS["some"], threads=n)[0] for n in (1, 2, 9)]
    one, *others = [file.read_bytes() for file in files]
    assert others == [one, one]
    assert pq.read_table(files[0]).equals(TABLE.filter(KEEPS["some"]))


def test_a_damaged_column_that_was_not_judged_loses_the_same_rows_as_ever(tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(TABLE, source, row_group_size=500, write_page_checksum=True, **SMALL)
    about = pq.read_metadata(source).row_group(1).column(3)
    data = bytearray(source.read_bytes())
    data[about.data_page_offset + about.total_compressed_size - 40] ^= 255
    source.write_bytes(bytes(data))
    keep = KEEPS["all"]
    (copied, problems), (plain, wanted) = (
        kept(source, tmp_path / f"{way}", keep, copied=way) for way in (True, False)
    )
    assert problems == wanted
    assert problems
    assert pq.read_table(copied).num_rows == ROWS - 500
    assert pq.read_table(copied).equals(pq.read_table(plain))


@pytest.mark.parametrize("others", [TABLE.column_names, ["text"]])
def test_a_row_that_is_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    monkeypatch.setattr(base, "ROW_BYTES", 200)
    source = tmp_path / "in.parquet"
    pq.write_table(TABLE.select(others), source, **SMALL)
    (copied, problems), (plain, wanted) = (
        kept(source, tmp_path / f"{way}", KEEPS["some"], copied=way) for way in (True, False)
    )
    assert sorted(problems, key=repr) == sorted(wanted, key=repr)
    assert problems
    assert pq.read_table(copied).equals(pq.read_table(plain))


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (TABLE.select(["id"]).append_column("text", pa.array(["a", "b"] * (ROWS // 2))), {}),
        (TABLE.set_column(1, "text", TABLE["text"].combine_chunks().dictionary_encode()), {}),
    ],
)
def test_text_in_a_dictionary_is_not_copied(tmp_path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    pq.write_table(table, tmp_path / "in.parquet", **options)
    path, _ = kept(tmp_path / "in.parquet", tmp_path / "out", KEEPS["some"], copied=False)
    documents = open_documents(tmp_path / "in.parquet")
    choose_columns(documents, "text", None)
    assert documents.copying_sink(tmp_path, None, 1) is None  # type: ignore[attr-defined]
    assert pq.read_table(path).num_rows == KEEPS["some"].sum()


def test_small_row_groups_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pq.write_table(TABLE, tmp_path / "in.parquet", **SMALL)
    kept(tmp_path / "in.parquet", tmp_path / "out", KEEPS["some"], copied=False)
