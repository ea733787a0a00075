from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.io.readers import base, choose_columns, open_documents, parquet
from neardup.io.readers.base import Problem
from neardup.io.writers import OutputFolder, open_kept

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


def kept(
    inputs: object,
    out: Path,
    keep: np.ndarray[Any, Any],
    extra: pa.Table | None = None,
    *,
    threads: int = 2,
) -> tuple[Path, list[Problem]]:
    """Write the rows for which ``keep`` is true, by row number; the file and the problems met."""
    documents = open_documents(inputs, chunk_bytes=9000)
    choose_columns(documents, "text", None)
    schema, problems, row = None if extra is None else extra.schema, [], 0
    with (
        OutputFolder(out) as folder,
        open_kept(folder, documents, schema, threads) as writer,
    ):
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


def test_a_damaged_column_loses_the_rows_of_its_row_group(tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(TABLE, source, row_group_size=500, write_page_checksum=True, **SMALL)
    about = pq.read_metadata(source).row_group(1).column(3)
    data = bytearray(source.read_bytes())
    data[about.data_page_offset + about.total_compressed_size - 40] ^= 255
    source.write_bytes(bytes(data))
    path, problems = kept(source, tmp_path / "out", KEEPS["all"])
    assert problems
    left = pa.concat_tables([TABLE.slice(0, 1000), TABLE.slice(1500)])
    assert pq.read_table(path).to_pylist() == left.to_pylist()


@pytest.mark.parametrize("others", [TABLE.column_names, ["text"]])
def test_a_row_that_is_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    monkeypatch.setattr(base, "ROW_BYTES", 200)
    source = tmp_path / "in.parquet"
    pq.write_table(TABLE.select(others), source, **SMALL)
    path, problems = kept(source, tmp_path / "out", np.ones(ROWS, np.bool_))
    gone = {problem.row for problem in problems}
    assert gone
    assert pq.read_table(path).num_rows == ROWS - len(gone)
    longest = [max(map(len, filter(None, pq.read_table(file)["text"].to_pylist()))) for file in (path, source)]
    assert longest[0] <= 200 < longest[1]
