"""The texts of a stored result: those of the run, read from start to end and one by one."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.texts import FIELD_WIDTH, InputTexts, StoredTexts
from neardup.errors import InputError, NeardupError
from neardup.io.writers import OutputFolder, folder
from neardup.tables import TEXTS as TEXTS_SCHEMA
from neardup.tables import column
from support.command_line import result_in

TEXTS = [f"the moon is red over the hills {n // 2} and the mill stands by the river {n % 2}" for n in range(40)]


def write(folder: Path, form: str) -> Path:
    rows = pa.table({"text": TEXTS, "other": list(range(len(TEXTS)))})
    path = folder / f"texts.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n\n" for text in TEXTS), encoding="utf-8")
    elif form == "csv":
        pa_csv.write_csv(rows, path)
    elif form == "parquet":
        pq.write_table(rows, path, row_group_size=7)
    else:
        path.mkdir()
        for number, text in enumerate(TEXTS):
            (path / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return path


@pytest.mark.part(2)
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "txt"])
def test_the_stored_texts_are_those_of_the_run(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_GROUP_BYTES", 500)  # several row groups
    run = nd.find(write(tmp_path, form), threshold=0.5)
    run.save(tmp_path / "result")
    found = nd.load(tmp_path / "result")
    assert run.texts is not None
    assert found.texts is not None
    rows = column(found.ranks, "row")
    expected = dict(run.texts.each(rows))
    assert len(expected) == len(TEXTS)
    single = [found.look(id).text.encode() for id in found.ranks["id"].to_pylist()]
    assert single == list(expected.values())
    assert dict(found.texts.each(rows)) == expected
    for some in (rows[::3], rows[5:6], rows[:0]):
        assert dict(found.texts.each(some)) == {row: expected[row] for row in some.tolist()}
    stored, read = (pa.concat_tables(texts.to_store(rows)) for texts in (found.texts, run.texts))
    assert stored.schema == TEXTS_SCHEMA
    assert stored.equals(read)


@pytest.mark.parametrize("seed", range(5))
def test_the_row_groups_of_texts_do_not_depend_on_the_tables(tmp_path: Path, seed: int) -> None:
    """A row group ends with the text that fills it, in whichever table the text comes."""
    draw = np.random.default_rng(seed)
    texts = [b"x" * int(size) for size in draw.choice([0, 10, 70_000, 600_000], 60)]
    table = pa.table([range(60), texts, [None] * 60], schema=TEXTS_SCHEMA)
    cuts = np.sort(draw.integers(0, 61, 8)).tolist()
    for name, ends in (("one", [60]), ("some", [*cuts, 60]), ("each", range(1, 61))):
        with OutputFolder(tmp_path / name) as made, made.texts("texts.parquet") as file:
            for begin, end in pairwise([0, *ends]):
                file.add(table.slice(begin, end - begin))
    paths = [tmp_path / name / "texts.parquet" for name in ("one", "some", "each")]
    assert len({path.read_bytes() for path in paths}) == 1
    stored = pq.ParquetFile(paths[0])
    assert stored.read().replace_schema_metadata().equals(table)
    *full, _ = (stored.read_row_group(group)["text"].to_pylist() for group in range(stored.num_row_groups))
    assert full
    for group in full:
        assert sum(map(len, group[:-1])) < folder._GROUP_BYTES <= sum(map(len, group))


def mixed(folder: Path) -> None:
    """Write files in which a column has another type, or is missing, and one column is in the names of folders."""
    for part in range(4):
        rows = {"text": TEXTS[part::4], "price": pa.array([part] * 10, pa.int32() if part % 2 else pa.float64())}
        place = folder / f"year={2020 + part}" / "a.parquet"
        place.parent.mkdir(parents=True)
        pq.write_table(pa.table(rows), place, row_group_size=4)


def views(folder: Path) -> None:
    """Write texts and other values in views and dictionaries, with nulls, and a row group without a row."""
    folder.mkdir()
    names = pa.array([None, "Anna", "Bern\u00e9"] * 13 + ["Anna"]).dictionary_encode()
    texts = pa.array([None if n % 9 == 8 else text for n, text in enumerate(TEXTS)], pa.string_view())
    table = pa.table({"name": names, "text": texts, "day": pa.array([date(2026, 1, 1)] * 40)})
    with pq.ParquetWriter(folder / "a.parquet", table.schema) as writer:
        for part in (table[:7], table[:0], table[7:]):
            writer.write_table(part)


def damaged(folder: Path) -> None:
    """Write a file in which a column of one of four row groups, not the text, cannot be read."""
    folder.mkdir()
    path = folder / "a.parquet"
    table = pa.table({"text": TEXTS, "note": [f"note {n} " * 100 for n in range(len(TEXTS))]})
    pq.write_table(table, path, use_dictionary=False, write_page_checksum=True, row_group_size=10)
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(1).column(1)
    data[at.data_page_offset + at.total_compressed_size - 20] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("options", [[], ["--write-removed"], ["--annotate"]])
@pytest.mark.parametrize("make", [mixed, views, damaged])
def test_texts_taken_from_written_rows_are_those_that_are_read(
    tmp_path: Path, make: Callable[[Path], None], options: list[str]
) -> None:
    make(tmp_path / "input")
    found = nd.find(tmp_path / "input", text="text", threshold=0.5)
    assert isinstance(found.texts, InputTexts)
    assert found.texts.maker_of_texts(column(found.ranks, "row")) is not None
    found.save(tmp_path / "read")
    choice = ["--text", "text", "--threshold", ".5", *options]
    status = 1 if make is damaged else 0
    result_in(tmp_path, "dedup", "input", "-o", "written", *choice, status=status)
    read, written = (pq.read_table(tmp_path / name / "texts.parquet") for name in ("read", "written"))
    assert read.num_rows > 20
    assert written.equals(read)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_other_values_are_stored_with_the_text(tmp_path: Path, form: str) -> None:
    rows = [{"id": f"d{i}", "text": text, "from": f"ann {i}", "day": i} for i, text in enumerate(TEXTS)]
    path = tmp_path / f"mails.{form}"
    if form == "jsonl":
        lines = [json.dumps({**row, "list": [1], "none": None, "record": {"a": 1}}) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif form == "csv":
        pa_csv.write_csv(pa.Table.from_pylist(rows), path)
    else:
        dates = pa.array([date(2026, 1, 1)] * len(rows))
        table = pa.Table.from_pylist(rows).append_column("list", pa.array([[1]] * len(rows)))
        pq.write_table(table.append_column("date", dates), path)
    run = nd.find(path, text="text", id="id", threshold=0.5)
    run.save(tmp_path / "result")
    texts = nd.load(tmp_path / "result").texts
    assert texts is not None
    for row in (0, 17, 39):
        expected = {"from": f"ann {row}", "day": str(row)} | ({"date": "2026-01-01"} if form == "parquet" else {})
        assert texts.fields(row) == expected
        assert run.texts is not None
        assert run.texts.fields(row) == expected


def test_long_values_are_cut_and_a_damaged_column_costs_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": TEXTS, "note": [f"note {n} " * 100 for n in range(len(TEXTS))]})
    pq.write_table(table, path, use_dictionary=False, write_page_checksum=True)
    nd.find(path, text="text", threshold=0.5).save(tmp_path / "whole")
    whole = nd.load(tmp_path / "whole").texts
    assert whole is not None
    assert len(whole.fields(0)["note"]) == FIELD_WIDTH
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(0).column(1)
    data[at.data_page_offset + at.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)
    nd.find(path, text="text", threshold=0.5).save(tmp_path / "damaged")
    damaged = nd.load(tmp_path / "damaged").texts
    assert damaged is not None
    rows = np.arange(len(TEXTS))
    assert list(damaged.each(rows)) == list(whole.each(rows))
    assert damaged.fields(0) == {}


def stored(folder: Path, table: pa.Table) -> StoredTexts:
    """The texts in a folder, in row groups of four."""
    pq.write_table(table, folder / "texts.parquet", row_group_size=4)
    return StoredTexts(folder, np.arange(table.num_rows), lambda row: ("", row))


def of_rows(rows: Sequence[int]) -> pa.Table:
    texts = [f"text {row}".encode() for row in rows]
    return pa.table([rows, texts, [f'{{"n":"{row}"}}' for row in rows]], schema=TEXTS_SCHEMA)


def test_texts_that_are_brought_are_those_that_are_looked_at(tmp_path: Path) -> None:
    texts, again = (stored(tmp_path, of_rows(range(12))) for _ in range(2))
    assert texts.read_ahead(np.array([1, 5, 6, 11]))
    for row in (1, 5, 6, 11, 3):  # the last one was not brought
        assert texts.look(row, row) == again.look(row, row)
        assert texts.fields(row) == {"n": str(row)}
    assert not texts.read_ahead(np.empty(0, np.int64))


def require_text(texts: StoredTexts, row: int) -> None:
    """A stored row has the text that ``of_rows`` gave it."""
    looked = texts.look(row, row)
    assert looked is not None
    assert looked.text == f"text {row}"


def test_rows_that_were_swapped_are_not_brought_under_the_wrong_document(tmp_path: Path) -> None:
    texts = stored(tmp_path, of_rows([0, 2, 1, 3, 4, 5, 6, 7]))
    assert texts.read_ahead(np.arange(8))
    for row in (0, 3, 4, 5, 6, 7):
        require_text(texts, row)
    for row in (1, 2):
        with pytest.raises(InputError, match="of other documents"):
            texts.look(row, row)
    assert not texts.read_ahead(np.array([1, 2]))


def test_a_part_that_cannot_be_read_costs_only_its_own_texts(tmp_path: Path) -> None:
    stored(tmp_path, of_rows(range(12)))
    path = tmp_path / "texts.parquet"
    part = pq.read_metadata(path).row_group(1).column(1)
    data, begin = bytearray(path.read_bytes()), part.dictionary_page_offset or part.data_page_offset
    data[begin : begin + part.total_compressed_size] = b"\xff" * part.total_compressed_size
    path.write_bytes(data)
    texts = StoredTexts(tmp_path, np.arange(12), lambda row: ("", row))
    assert texts.read_ahead(np.arange(12))
    for row in (0, 3, 8, 11):
        require_text(texts, row)
    for row in (4, 7):
        with pytest.raises(NeardupError):
            texts.look(row, row)
    assert not texts.read_ahead(np.array([4, 7]))
