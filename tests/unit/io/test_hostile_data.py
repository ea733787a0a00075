"""Data files that exceed the limits, change while they are read, or are damaged."""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import changed_bytes
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import check_before, save
from neardup.deduplication.run.stages.records import Inputs
from neardup.errors import InputError, OutputError
from neardup.io.readers import (
    base,
    choose_columns,
    lines,
    open_documents,
    parquet,
)
from neardup.io.readers.parquet_pages import pages_of, read_footer
from neardup.settings import Settings
from support.full_run import FULL
from support.messages import assert_refused, has_parts
from support.reading import read_all

TABLE = pa.table({"id": range(2000), "text": [f"document {i} of many" * (i % 9) for i in range(2000)]})


def written(path: Path, table: pa.Table = TABLE, **options: object) -> Path:
    pq.write_table(table, path, **options)
    return path


def test_a_parquet_file_that_is_cut_while_it_is_read_is_said_to_have_changed(tmp_path: Path) -> None:
    """It was mapped into memory: access to the first byte behind the new end ended the process by SIGBUS."""
    path = written(tmp_path / "a.parquet", row_group_size=200)
    documents = open_documents(path, chunk_bytes=4000)
    chunks = documents.chunks()
    assert len(next(chunks).read(["text"]).row_numbers)
    os.truncate(path, path.stat().st_size // 3)
    with pytest.raises(InputError, match=r"a\.parquet changed while it was read: .* bytes .* bytes at first"):
        [chunk.read(["text"]) for chunk in chunks]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.csv", "folder/a.txt"])
def test_a_file_that_is_overwritten_between_passes_is_said_to_have_changed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if name == "a.parquet":
        written(path)
    elif name == "a.arrow":
        with pa.ipc.new_file(str(path), TABLE.schema) as file:
            file.write_table(TABLE)
    else:
        path.write_text('{"text": "a"}\n' if name == "a.jsonl" else "text\na\n")
    documents = open_documents(path.parent if name.startswith("folder") else path)
    before = [len(chunk.read(["text"]).row_numbers) for chunk in documents.chunks()]
    assert sum(before)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError):
        [chunk.read(["text"]) for chunk in documents.chunks()]


def test_changed_bytes_are_never_a_mistake_of_ours() -> None:
    """Of 2,500 such files, 51 ended as a mistake of ours, and one aborted inside Arrow (seed 496 did here)."""
    for kind, seeds in (
        ("parquet", [*range(4), 177, 496, 596, 1172]),
        ("arrow", [*range(2), 130, 136, 209, 323, 627]),
    ):
        told = dict(changed_bytes.outcomes(kind, seeds))
        assert list(told) == seeds
        assert not [outcome for outcome in told.values() if outcome.startswith(("mistake", "crash"))]
        assert {outcome.partition(":")[0] for outcome in told.values()} >= {"done", "refused"}


@pytest.mark.parametrize("kind", range(5))
def test_pages_and_footers_are_read_as_arrow_reads_them(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(changed_bytes.whole("parquet", kind))
    metadata = pq.read_metadata(path)
    with pa.OSFile(str(path)) as file:
        groups = read_footer(file, metadata)
        for i, group in enumerate(groups):
            for k, column in enumerate(group.columns):
                theirs = metadata.row_group(i).column(k)
                assert column.path == theirs.path_in_schema
                assert (column.values, column.stored) == (theirs.num_values, theirs.total_compressed_size)
                assert column.unpacked == theirs.total_uncompressed_size
                assert column.has_dictionary == theirs.has_dictionary_page
                pages = list(pages_of(file, column))
                assert sum(page.values for page in pages if not page.is_dictionary) == theirs.num_values
                assert any(page.is_dictionary for page in pages) == theirs.has_dictionary_page
    assert [group.rows for group in groups] == [
        metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
    ]


def repeating(path: Path, value: str, rows: int, before: int = 0) -> Path:
    values = pa.array([0] * before + [1] * rows, pa.int32())
    table = pa.table({"text": pa.DictionaryArray.from_arrays(values, pa.array(["x", value]))})
    return written(path, table, compression="zstd", dictionary_pagesize_limit=1 << 30)


def test_a_few_bytes_of_parquet_that_repeat_a_value_are_not_decoded_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9 kB with one value of 100 MB used up to 4.8 GB; the limits of this test are a thousandth of that."""
    monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 64 << 10)
    path = repeating(tmp_path / "a.parquet", "word " * 4000, 100, before=5000)
    assert path.stat().st_size < 9000
    documents = open_documents(path, chunk_bytes=8 << 10)
    sizes, rows = [], 0
    for chunk in documents.chunks():
        table = chunk.read(["text"]).table
        sizes.append(table.nbytes)
        rows += table.num_rows
    assert rows == 5100
    assert max(sizes) <= 5 * 20_000
    monkeypatch.setattr(base, "ROW_BYTES", 10_000)
    got, _, problems = read_all(open_documents(path), ["text"])
    assert not got
    assert has_parts(problems[0].reason, "column text", "longer than")


def test_a_row_of_parquet_that_is_too_long_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "ROW_BYTES", 10_000)
    table = pa.table({"id": [1, 2, 3], "text": ["a", "b" * 20_000, "c"]})
    path = written(tmp_path / "a.parquet", table, use_dictionary=False)
    got, numbers, problems = read_all(open_documents(path), ["text"])
    assert ([row["text"] for row in got], numbers) == ([b"a", b"c"], [0, 2])
    assert [(p.row, p.reason[:18]) for p in problems] == [(1, "the row is longer ")]


@pytest.mark.parametrize("place", [0, 3, 9])
def test_a_line_that_is_too_long_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(lines.line_blocks, "__defaults__", (100_000,))
    rows = [b'{"text": "%d"}' % i for i in range(10)]
    rows[place] = b'{"text": "%s"}' % (b"x" * 500_000)
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(rows))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(rows) + b"\n"))
    for name in ("a.jsonl", "b.jsonl.gz"):
        documents = open_documents(tmp_path / name, chunk_bytes=1000)
        if place == 0:
            documents.require("text", None)
        got, numbers, problems = read_all(documents, ["text"])
        good = [i for i in range(10) if i != place]
        assert ([int(row["text"]) for row in got], numbers) == (good, good)
        assert [p.row for p in problems] == [place]
        assert problems[0].reason.startswith("the line is longer")
        assert problems[0].raw.startswith('{"text": "xxx')


def test_two_gigabytes_of_zeros_are_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ROW_BYTES", 4 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(bytes(16 << 20), 1))
    with pytest.raises(InputError):
        open_documents(tmp_path / "a.csv.gz")


# The limit of a record is 60,000 bytes, so that each of these is twice as long or longer
LONG = b"wordy text " * (20_000 if FULL else 12_000)
LINES = b'line, with ""quotes""\n5,like a row' * (9_000 if FULL else 4_000)
GOOD = [b"%d,some words\n" % i for i in range(3000)]


def csv_around(*long: bytes) -> bytes:
    """Return a file with a thousand rows before each of the given byte strings, and after them."""
    parts = [b"id,text\n"]
    for number, between in enumerate((*long, b"")):
        parts += [*GOOD[1000 * number : 1000 * number + 1000], between]
    return b"".join(parts)


@pytest.mark.part(3)
@pytest.mark.parametrize("bad", [b"", b"9,a,b\n", b"9,a \xff\xfe,b\n"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_csv_record_that_is_too_long_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, packed: bool, bad: bytes
) -> None:
    """The rest of the file was lost. Quotes within, commas and line ends do not end the record."""
    monkeypatch.setattr(base, "ROW_BYTES", 60_000)
    first = b'a,"' + LINES + b'"' + end
    second = b"b," + LONG + end
    whole = csv_around(first, second + b'c,"' + LONG + b'"' + end) + bad
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(whole) if packed else whole)
    documents = open_documents(path, chunk_bytes=1000)
    for _ in range(2):
        got, numbers, problems = read_all(documents, ["id"])
        assert [int(row["id"]) for row in got] == list(range(3000))
        assert numbers == [*range(1000), *range(1001, 2001), *range(2003, 3003)]
        lost = [problem for problem in problems if "left out" in problem.reason]
        assert [problem.row for problem in lost] == [1000, 2001, 2002]
        start = whole.index(first)
        assert "record is longer than" in lost[0].reason
        assert lost[0].reason.endswith(f"bytes {start:,} to {start + len(first) - 1:,} are left out")
        assert [problem.row for problem in problems if problem not in lost] == ([3003] if bad else [])


def test_a_quote_that_nothing_closes_loses_the_rows_up_to_the_limit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It swallowed the rest of the file. Reading resumes behind the limit, and the lost part is reported."""
    monkeypatch.setattr(base, "ROW_BYTES", 60_000)
    rows = [b"%d,some more words\n" % i for i in range(20_000)]
    rows[5000] = b'5000,"some more words\n'
    whole = b"id,text\n" + b"".join(rows)
    path = tmp_path / "a.csv"
    path.write_bytes(whole)
    got, numbers, problems = read_all(open_documents(path, chunk_bytes=1000), ["id"])
    ids = [int(row["id"]) for row in got]
    again = ids[5000]
    assert ids == [*range(5000), *range(again, 20_000)]
    assert numbers == [*range(5000), *range(5001, 5001 + 20_000 - again)]
    start, end = whole.index(b'5000,"'), whole.index(b"\n%d," % again) + 1
    assert 60_000 < end - start < 60_100
    assert [problem.row for problem in problems] == [5000]
    assert has_parts(problems[0].reason, "an unclosed quote", "longer than")
    assert f"bytes {start:,} to {end - 1:,} are left" in problems[0].reason


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_hundred_thousand_columns_are_refused(tmp_path: Path, name: str) -> None:
    names = [f"c{i}" for i in range(base.COLUMNS + 1)]
    if name == "a.csv":
        (tmp_path / name).write_text(",".join(names) + "\n")
    else:
        written(tmp_path / name, pa.table({column: ["a"] for column in names}))
    with pytest.raises(InputError, match=r"has 10,001 columns\. Allowed: At most 10,000 columns"):
        open_documents(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_column_without_a_name_is_no_text(tmp_path: Path, name: str) -> None:
    if name == "a.parquet":
        written(tmp_path / name, pa.table({"": ["a"]}))
    else:
        (tmp_path / name).write_text('""\nsome words\n' if name == "a.csv" else '{"": "a"}\n')
    documents = open_documents(tmp_path / name)
    assert_refused(
        (InputError, "without a name only", lambda: choose_columns(documents, None, None)),
        (InputError, "without a name", lambda: choose_columns(open_documents(["a"]), "text", "")),
    )


def test_an_id_that_is_no_utf_8_gets_replacement_characters(tmp_path: Path) -> None:
    ids = pa.array([b"a\xff", b"b"], pa.binary()).view(pa.string())
    path = written(tmp_path / "a.parquet", pa.table({"id": ids, "text": ["a", "b"]}))
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    (chunk,) = documents.chunks()
    assert chunk.read(["id"]).table["id"].to_pylist() == ["a\ufffd", "b"]


def test_rows_that_cannot_be_written_are_problems_of_the_result(tmp_path: Path) -> None:
    """A column outside the comparison is damaged: the rows were missing from kept.parquet without a report."""
    path = written(tmp_path / "a.parquet", TABLE.append_column("n", TABLE["id"]), row_group_size=500)
    column = pq.read_metadata(path).row_group(1).column(2)
    with path.open("r+b") as file:
        file.seek(column.data_page_offset)
        file.write(b"\xff" * 30)
    documents = open_documents(path)
    columns = choose_columns(documents, "text", None)
    outcome = run(Inputs(documents, columns, Settings.of(), action="dedup"))
    assert not outcome.found.problems
    found = save(outcome, tmp_path / "out", action="dedup")
    assert [problem.row for problem in found.problems] == [500]
    assert found.run.counts.rejected == 1
    assert has_parts(found.run.warnings[-1], "not be written", "not judged", "damaged")
    assert found.run.counts.kept == pq.read_metadata(tmp_path / "out" / "kept.parquet").num_rows
    assert (tmp_path / "out" / "problems.jsonl").read_text().count("\n") == 1


def test_what_can_be_known_before_the_work_is_said_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = open_documents(written(tmp_path / "a.parquet", TABLE.append_column("group", TABLE["id"])))
    with pytest.raises(OutputError):
        check_before(documents, tmp_path / "out", "annotate")
    check_before(documents, tmp_path / "not" / "there" / "out", "dedup")
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OutputError, match=r"22\.9 kB.*1\.0 kB left"):
        check_before(documents, tmp_path / "out", "dedup")
    check_before(documents, tmp_path / "out", "group")
    lists = open_documents(written(tmp_path / "b.parquet", pa.table({"text": ["a"], "tags": [["b"]]})))
    reads = []
    monkeypatch.setattr(type(lists), "chunks", lambda *given: reads.append(given) or iter(()))
    with pytest.raises(InputError):
        run(Inputs(lists, choose_columns(lists, "text", None), Settings.of(keep="max:tags")))
    assert not reads


def test_a_small_parquet_file_whose_page_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """26 kB with one page of 800 MB used 2 GB before its rows were found too long; here a thousandth of it."""
    monkeypatch.setattr(base, "PAGE_BYTES", 256 << 10)
    texts = pa.table({"text": ["some words", "a" * 800_000]})
    path = written(tmp_path / "a.parquet", texts, row_group_size=1, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 2000
    before = pa.total_allocated_bytes()
    got, numbers, problems = read_all(open_documents(path), ["text"])
    assert pa.total_allocated_bytes() - before < 100_000
    assert ([row["text"] for row in got], numbers) == ([b"some words"], [0])
    assert [(p.source, p.row) for p in problems] == [(str(path), 1)]
    assert has_parts(problems[0].reason, "column text", "row group 1")
    assert "unpacks to 800,0" in problems[0].reason
    # at the same size but an ordinary packing ratio, it is a page of long texts
    drawn = np.random.default_rng(1).integers(32, 127, 800_000, np.uint8).tobytes().decode()
    written(path, pa.table({"text": ["a", drawn]}), compression="zstd", use_dictionary=False)
    assert read_all(open_documents(path), ["text"])[1] == [0, 1]


def test_a_footer_that_understates_its_row_group_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "BIG_GROUP_BYTES", 64 << 10)
    texts = [f"{i} " + "word " * 1000 for i in range(200)]
    path = written(tmp_path / "a.parquet", pa.table({"text": texts}), compression="zstd", use_dictionary=False)

    def understated(*given: object) -> tuple[object, ...]:
        groups = read_footer(*given)
        columns = [tuple(replace(column, unpacked=1) for column in group.columns) for group in groups]
        return tuple(replace(g, unpacked=1, columns=c) for g, c in zip(groups, columns, strict=True))

    monkeypatch.setattr(parquet, "read_footer", understated)
    chunks = list(open_documents(path, chunk_bytes=32 << 10).chunks())
    assert len(chunks) > 20
    assert sum(chunk.read(["text"]).table.num_rows for chunk in chunks) == 200
