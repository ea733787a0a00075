from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents, parquet
from support.reading import read_all

TABLE = pa.table(
    {
        "id": pa.array(range(1000), pa.int64()),
        "text": [None if i % 97 == 0 else f"document {i} " * (i % 7) for i in range(1000)],
        "score": [i / 7 for i in range(1000)],
        "tags": [[str(i)] for i in range(1000)],
    }
)
WANTED = [
    {"text": None if text is None else text.encode(), "id": i}
    for i, text in zip(range(1000), TABLE["text"].to_pylist(), strict=True)
]


def write(path: Path, table: pa.Table = TABLE, **options: object) -> str:
    pq.write_table(table, path, **options)
    return str(path)


@pytest.mark.part(2)
@pytest.mark.parametrize("rows", [1, 7, 250, 1000])
def test_rows_of_any_row_group_size(tmp_path: Path, rows: int) -> None:
    name = write(tmp_path / "a.parquet", row_group_size=rows)
    got, numbers, problems = read_all(open_documents(name, chunk_bytes=2000), ["text", "id"])
    assert (got, numbers, problems) == (WANTED, list(range(1000)), [])


def test_a_row_group_too_big_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 1000)
    name = write(tmp_path / "a.parquet")
    documents = open_documents(name, chunk_bytes=3000)
    got, numbers, problems = read_all(documents, ["text", "id"])
    assert (got, numbers, problems) == (WANTED, list(range(1000)), [])
    assert len(list(documents.chunks())) > 5


def test_one_row_is_looked_up_in_small_batches(tmp_path: Path) -> None:
    table = pa.table({"text": [f"{number:100}" for number in range(50_000)]})
    documents = open_documents(write(tmp_path / "a.parquet", table))
    assert isinstance(documents, parquet.ParquetDocuments)
    with documents.sources[0].open_raw() as raw:
        part = parquet.plan_group(documents.footers[0], 0, raw, partial(documents.open, 0))
    assert part.batch_rows is not None
    assert 0.5 < part.batch_rows * 100 / 2**20 <= 1


def test_a_repeated_text_counts_at_its_decoded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 1 << 20)
    table = pa.table({"text": ["the same text " * 50] * 20_000})
    name = write(tmp_path / "a.parquet", table)
    assert os.path.getsize(name) < 100_000
    sizes = [c.read(["text"]).table.nbytes for c in open_documents(name, chunk_bytes=1 << 20).chunks()]
    assert len(sizes) > 10
    assert max(sizes) < 2 << 20


def test_columns_and_kinds(tmp_path: Path) -> None:
    documents = open_documents(write(tmp_path / "a.parquet"))
    assert [(c.name, c.kind) for c in documents.columns] == [
        ("id", "integer"),
        ("text", "text"),
        ("score", "number"),
        ("tags", "other"),
    ]
    assert documents.names == (str(tmp_path / "a.parquet"),)
    assert documents.size_bytes == os.path.getsize(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]
)
def test_every_layout_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"text": pa.array(["a", None, "", "ü" * 50], kind)})
    try:
        path = write(tmp_path / "a.parquet", table)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow writes no string views")
    documents = open_documents(path)
    got, _, _ = read_all(documents, [choose_columns(documents, None, None).text])
    assert [row["text"] for row in got] == [b"a", None, b"", ("ü" * 50).encode()]


def test_a_categorical_is_decoded(tmp_path: Path) -> None:
    pd.DataFrame({"text": pd.Categorical(["x", "y", "x"])}).to_parquet(tmp_path / "a.parquet")
    got, _, _ = read_all(open_documents(tmp_path / "a.parquet"), ["text"])
    assert [row["text"] for row in got] == [b"x", b"y", b"x"]


def test_files_of_pandas_and_polars_go_together(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["a", "b"]}).to_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"text": ["c"]}).write_parquet(tmp_path / "2.parquet")
    documents = open_documents(tmp_path)
    got, numbers, _ = read_all(documents, ["text"])
    assert [row["text"] for row in got] == [b"a", b"b", b"c"]
    assert numbers == [0, 1, 0]
    assert documents.names == (str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet"))


def test_invalid_utf8_passes(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array([b"\xff\xfe", b"a\x00b"], pa.binary()).view(pa.string())})
    got, _, _ = read_all(open_documents(write(tmp_path / "a.parquet", table)), ["text"])
    assert [row["text"] for row in got] == [b"\xff\xfe", b"a\x00b"]


def test_a_column_name_with_a_dot(tmp_path: Path) -> None:
    table = pa.table({"a.b": ["x"], "a": [{"b": 1}]})
    got, _, _ = read_all(open_documents(write(tmp_path / "a.parquet", table)), ["a.b"])
    assert got == [{"a.b": b"x"}]


def test_no_rows_and_no_row_groups(tmp_path: Path) -> None:
    name = write(tmp_path / "a.parquet", TABLE.slice(0, 0))
    assert read_all(open_documents(name), ["text"]) == ([], [], [])


def test_a_million_empty_strings(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array([""] * 1_000_000)})
    documents = open_documents(write(tmp_path / "a.parquet", table))
    assert sum(chunk.read(["text"]).table.num_rows for chunk in documents.chunks()) == 1_000_000


def damage(path: Path, group: int, column: str = "text") -> None:
    """Overwrite the pages of one column chunk."""
    metadata = pq.read_metadata(path).row_group(group)
    chunk = next(
        metadata.column(i) for i in range(metadata.num_columns) if metadata.column(i).path_in_schema == column
    )
    with open(path, "r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(b"\xff" * chunk.total_compressed_size)


@pytest.mark.parametrize("big", [False, True])
def test_a_damaged_row_group_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, big: bool
) -> None:
    if big:
        monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 100)
    write(tmp_path / "a.parquet", row_group_size=100)
    damage(tmp_path / "a.parquet", 3)
    chunk_bytes = 1000 if big else 1 << 20
    got, numbers, problems = read_all(open_documents(tmp_path / "a.parquet", chunk_bytes=chunk_bytes), ["text"])
    assert numbers == [i for i in range(1000) if not 300 <= i < 400]
    assert [row["text"] for row in got] == [WANTED[i]["text"] for i in numbers]
    assert [(p.row, "300 to 399" in p.reason) for p in problems] == [(300, True)]


def test_damage_in_a_column_that_was_not_read_is_told_by_the_native_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", row_group_size=100)
    damage(tmp_path / "a.parquet", 3, "score")
    documents = open_documents(tmp_path / "a.parquet")
    assert sum(len(chunk.read(["text"]).row_numbers) for chunk in documents.chunks()) == 1000
    natives = [chunk.read_native() for chunk in documents.chunks()]
    assert sum(len(native.row_numbers) for native in natives) == 900
    assert [problem.row for native in natives for problem in native.problems] == [300]


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"not at all")
    with pytest.raises(InputError, match=r"0\.parquet is not"):
        open_documents(tmp_path / "0.parquet")
    write(tmp_path / "1.parquet")
    got, _, problems = read_all(open_documents(tmp_path), ["text", "id"])
    assert got == WANTED
    assert [(p.source, p.row) for p in problems] == [(str(tmp_path / "0.parquet"), None)]


def test_a_file_cut_off(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError):
        open_documents(tmp_path / "a.parquet")


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet")
    write(tmp_path / "2.parquet", TABLE.drop_columns(["score"]))
    with pytest.raises(InputError, match=r'"score" is missing .*2\.parquet .*double .*1\.parquet'):
        open_documents(tmp_path)
    write(tmp_path / "2.parquet", TABLE.set_column(0, "id", TABLE["id"].cast(pa.int32())))


def test_columns_in_another_order_are_the_same_columns(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", TABLE.slice(0, 2))
    write(tmp_path / "2.parquet", TABLE.slice(2).select(["tags", "text", "score", "id"]))
    documents = open_documents(tmp_path)
    got, _, _ = read_all(documents, ["text", "id"])
    assert got == WANTED
    tables = [chunk.read_native().table for chunk in documents.chunks()]
    assert pa.concat_tables(tables).equals(TABLE)


def test_a_file_that_disappears_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet")
    documents = open_documents(tmp_path)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(InputError):
        list(documents.chunks())


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.table([["a"], ["b"]], names=["text", "text"])
    with pytest.raises(InputError):
        open_documents(write(tmp_path / "a.parquet", table))


def test_files_whose_last_wanted_chunk_is_early_are_not_read_on(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", row_group_size=100)
    write(tmp_path / "2.parquet", row_group_size=100)
    documents = open_documents(tmp_path, chunk_bytes=1000)
    assert [chunk.index for chunk in documents.chunks({0, 2})] == [0, 2]
    count = len(list(documents.chunks()))
    assert [chunk.index for chunk in documents.chunks({1, count - 1})] == [1, count - 1]


@pytest.mark.parametrize("first", ["null", "text"])
def test_a_file_in_which_no_row_has_a_text_fits_the_others(tmp_path: Path, first: str) -> None:
    texts = pa.table({"id": [1, 2], "text": ["a", "b"]})
    empty = pa.table({"id": [3, 4], "text": pa.nulls(2)})
    tables = (empty, texts) if first == "null" else (texts, empty)
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    documents = open_documents(tmp_path)
    choose_columns(documents, "text", "id")
    got, _, problems = read_all(documents, ["id", "text"])
    assert sorted((row["id"], row["text"]) for row in got if row["text"]) == [(1, b"a"), (2, b"b")]
    assert ([row["id"] for row in got if row["text"] is None], problems) == ([3, 4], [])
    kept = [chunk.read_native().table["text"].to_pylist() for chunk in documents.chunks()]
    assert sorted(kept, key=str) == [["a", "b"], [None, None]]
    pq.write_table(pa.table({"id": [5], "text": [5]}), tmp_path / "2.parquet")
    with pytest.raises(InputError):
        choose_columns(open_documents(tmp_path), "text", "id")


def test_a_footer_without_a_count_of_rows_is_read_by_its_row_groups(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    counted, none, other = b"\x16\x04\x19", b"\x16\x00\x19", b"\x16\x06\x19"  # field 3 of the footer: 2, 0, 3 rows
    before, found, after = data.partition(counted)
    assert found
    (tmp_path / "a.parquet").write_bytes(before + none + after)
    got, _, _ = read_all(open_documents(tmp_path / "a.parquet"), ["text"])
    assert [row["text"] for row in got] == [b"a", b"b"]
    (tmp_path / "a.parquet").write_bytes(before + other + after)
    with pytest.raises(InputError):
        open_documents(tmp_path / "a.parquet")
