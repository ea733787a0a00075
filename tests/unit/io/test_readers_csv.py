from __future__ import annotations

import csv
import io
import re
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import cast

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.csv import CsvStream, Dialect
from neardup.io.readers.lines import Stream
from neardup.io.readers.sources import Source
from support.messages import assert_refused, has_parts
from support.reading import read_all


def opened(path: Path, content: bytes, chunk_bytes: int = 300) -> Documents:
    path.write_bytes(content)
    return open_documents(path, chunk_bytes=chunk_bytes)


def texts(documents: Documents) -> list[bytes]:
    return [row["text"] for row in read_all(documents, ["text"])[0]]


def as_csv(rows: list[list[str]], end: str = "\n", delimiter: str = ",") -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator=end, delimiter=delimiter).writerows(rows)
    return buffer.getvalue().encode()


TEXTS = [f'text {i}, with "quotes"\nand lines ' * (i % 5) + "." for i in range(300)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t"), ("A.CSV", ",")])
def test_rows(tmp_path: Path, end: str, name: str, delimiter: str) -> None:
    rows = [["id", "text"], *([str(i), text] for i, text in enumerate(TEXTS))]
    content = as_csv(rows, end, delimiter)
    for data in (content, content.rstrip(b"\r\n")):
        got, numbers, problems = read_all(opened(tmp_path / name, data), ["text", "id"])
        assert got == [{"text": t.encode(), "id": str(i).encode()} for i, t in enumerate(TEXTS)]
        assert numbers == list(range(300))
        assert not problems


def test_columns_and_kinds(tmp_path: Path) -> None:
    documents = opened(tmp_path / "a.csv", b"id,text,n,empty,mixed\n1,a,1,,1\n-2,b,2.5,,x\n")
    assert [(c.name, c.kind) for c in documents.columns] == [
        ("id", "integer"),
        ("text", "text"),
        ("n", "number"),
        ("empty", "text"),
        ("mixed", "text"),
    ]


def test_nothing_is_taken_for_null(tmp_path: Path) -> None:
    assert texts(opened(tmp_path / "a.csv", b'id,text\n1,NA\n2,null\n3,""\n4,\n')) == [
        b"NA",
        b"null",
        b"",
        b"",
    ]


def test_records_of_another_width_are_problems(tmp_path: Path) -> None:
    lines = [b"0,a", b"1", b"2,b,c", b'3,"good', b'one"', b"4,d", b"5,e,\xff", b"6,f"]
    content = b"id,text\n" + b"\n".join(lines) + b"\n7\n8\n"
    got, numbers, problems = read_all(opened(tmp_path / "a.csv", content), ["text"])
    assert [row["text"] for row in got] == [b"a", b"good\none", b"d", b"f"]
    assert numbers == [0, 3, 4, 6]
    assert [(p.row, p.reason) for p in problems] == [
        (1, "1 fields instead of 2"),
        (2, "3 fields instead of 2"),
        (5, "3 fields instead of 2"),
        (7, "1 fields instead of 2"),
        (8, "1 fields instead of 2"),
    ]
    assert problems[1].raw == "2,b,c"


@pytest.mark.parametrize("chunk_bytes", [30, 100, 10_000])
def test_rejected_records_are_numbered_over_all_blocks(tmp_path: Path, chunk_bytes: int) -> None:
    content = b"id,text\n" + b"".join(b"bad\n" if i % 3 == 1 else b"%d,x\n" % i for i in range(500))
    documents = opened(tmp_path / "a.csv", content, chunk_bytes)
    got, numbers, problems = read_all(documents, ["id"])
    assert [int(row["id"]) for row in got] == numbers == [i for i in range(500) if i % 3 != 1]
    assert [p.row for p in problems] == [i for i in range(500) if i % 3 == 1]


def test_a_record_longer_than_a_block(tmp_path: Path) -> None:
    rows = [["id", "text"], *([str(i), "x" * (5000 if i in (40, 80) else 9)] for i in range(100))]
    got, numbers, problems = read_all(opened(tmp_path / "a.csv", as_csv(rows), 100), ["id"])
    assert [int(row["id"]) for row in got] == numbers == list(range(100))
    assert not problems


def test_long_records_among_rejected_ones(tmp_path: Path) -> None:
    lines = [b"bad" if i % 4 == 2 else b"%d,%s" % (i, b"x" * (3000 if i == 51 else 5)) for i in range(100)]
    got, numbers, problems = read_all(opened(tmp_path / "a.csv", b"id,text\n" + b"\n".join(lines), 100), ["id"])
    assert [int(row["id"]) for row in got] == numbers == [i for i in range(100) if i % 4 != 2]
    assert [p.row for p in problems] == [i for i in range(100) if i % 4 == 2]


def test_a_field_of_50_megabytes(tmp_path: Path) -> None:
    long = b"word " * 10_000_000
    documents = opened(tmp_path / "a.csv", b'id,text\n1,a\n2,"' + long + b'"\n3,b\n', 8 << 20)
    got = [t for c in documents.chunks(columns=["text"]) for t in c.read(["text"]).table["text"].to_pylist()]
    assert len(got) == 3
    for text, expected in zip(got, ["a", long.decode(), "b"], strict=True):
        assert text == expected, difference(text, expected)


def difference(text: str, expected: str) -> str:
    """Say where two long texts differ: pytest shows only the beginnings of those in a list."""
    place = next((k for k, (a, b) in enumerate(zip(text, expected, strict=False)) if a != b), len(text))
    around = slice(max(0, place - 40), place + 40)
    return f"{len(text)} and {len(expected)} characters, from {place} on {text[around]!r} and {expected[around]!r}"


def test_a_file_that_is_read_ahead_is_not_closed() -> None:
    """Its number would be that of the next file, which would lose the bytes that are read."""
    content = b'id,text\n1,a\n2,"' + b"word " * 200_000 + b'"\n3,b\n'
    closed_in_a_read: list[bool] = []

    class Slow(io.BytesIO):
        error = None
        reading = False

        def read(self, size: int | None = -1, /) -> bytes:
            self.reading = True
            sleep(0.02)
            self.reading = False
            return super().read(size)

        def close(self) -> None:
            closed_in_a_read.append(self.reading)
            super().close()

    names = ("id", "text")
    stream = CsvStream("a.csv", lambda: cast(Stream, Slow(content)), Dialect(","), names, names, 100_000)
    rows = [row for batch in stream.batches() for row in batch.table.to_pylist()]
    assert [(row["id"], len(row["text"])) for row in rows] == [("1", 1), ("2", 1_000_000), ("3", 1)]
    assert closed_in_a_read
    assert not any(closed_in_a_read)


@pytest.mark.parametrize("block", [50_000, 100_000])
def test_an_error_of_reading_does_not_pass_through_arrow(block: int) -> None:
    """Its thread for reading would free it and, with the traceback, the reader, which waits for this thread."""

    class Changed(io.BytesIO):
        error = None

        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= 100_000:
                raise InputError("a.csv changed", "The same file", "Run again")
            return super().read(size)

    names = ("id", "text")
    content = b"id,text\n" + b"1,words of a row\n" * 20_000
    stream = CsvStream("a.csv", lambda: cast(Stream, Changed(content)), Dialect(","), names, names, block)
    with pytest.raises(InputError) as caught:
        deque(stream.batches())
    assert not [entry.path for entry in caught.traceback if "pyarrow" in str(entry.path)]


def test_hostile_bytes(tmp_path: Path) -> None:
    assert texts(opened(tmp_path / "a.csv", b"\xef\xbb\xbfid,text\n1,\xff\xfe\n2,a\x00b\n")) == [
        b"\xff\xfe",
        b"a\x00b",
    ]


def test_bytes_stay_when_records_are_rejected(tmp_path: Path) -> None:
    content = "\ufeffid,té\n1,ü\n".encode() + b"2\n3,\xff\xe9\n4,\n5,a,\xff\n" + "6,\u20ac\n".encode()
    for chunk_bytes in (25, 300):
        documents = opened(tmp_path / "a.csv", content, chunk_bytes)
        got, numbers, problems = read_all(documents, ["té", "id"])
        assert [row["té"] for row in got] == ["ü".encode(), b"\xff\xe9", b"", "\u20ac".encode()]
        assert numbers == [0, 2, 3, 5]
        assert [(p.row, p.raw) for p in problems] == [(1, "2"), (4, "5,a,\ufffd")]


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    got, numbers, _ = read_all(opened(tmp_path / "a.csv", b"id,text\n\n1,a\n\n\n2,b\n\n"), ["text"])
    assert ([row["text"] for row in got], numbers) == ([b"a", b"b"], [0, 1])


def test_a_header_alone(tmp_path: Path) -> None:
    documents = opened(tmp_path / "a.csv", b"id,text\n")
    assert choose_columns(documents, "text", None).text == "text"
    assert read_all(documents, ["text"]) == ([], [], [])


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe,b\n1,2\n"])
def test_no_header(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="is not a CSV file with a header row"):
        opened(tmp_path / "a.csv", content)
    (tmp_path / "b.csv").write_bytes(b"text\nx\n")
    got, _, problems = read_all(open_documents(tmp_path), ["text"])
    assert got == [{"text": b"x"}]
    assert [(p.source, p.row) for p in problems] == [(str(tmp_path / "a.csv"), None)]


def test_headers_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\na\n")
    (tmp_path / "b.csv").write_bytes(b"body\na\n")
    assert_refused(
        (InputError, "is missing in", lambda: open_documents(tmp_path)),
        (InputError, "more than once", lambda: opened(tmp_path / "a.csv", b"text,text\na,b\n")),
    )


def test_columns_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,a\n")
    (tmp_path / "b.tsv").write_bytes(b"text\tid\nb\t2\n")
    documents = open_documents(tmp_path)
    assert read_all(documents, ["id", "text"])[0] == [{"id": b"1", "text": b"a"}, {"id": b"2", "text": b"b"}]
    assert [c.read_native().table.column_names for c in documents.chunks()] == [["id", "text"]] * 2


def test_files_of_pandas_and_polars(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "n": range(300)})
    frame.to_csv(tmp_path / "1.csv", index=False)
    pl.DataFrame(frame).write_csv(tmp_path / "2.csv")
    assert texts(open_documents(tmp_path)) == [t.encode() for t in TEXTS * 2]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r")), max_size=30))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, values: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.csv"
    content = as_csv([["id", "text"], *(["1", value] for value in values)])
    assert texts(opened(path, content)) == [value.encode() for value in values]


@given(
    st.lists(st.sampled_from([b"a", b",", b'"', b"\n", b"\r", b"\r\n", b"\xff", b"1,b\n", b'"c""d"']), max_size=40)
)
def test_both_parsers_split_alike(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    """A record of another width at the beginning leaves the rest of the file to the second parser."""
    folder, content = tmp_path_factory.mktemp("both"), b"".join(parts)
    first = opened(folder / "first.csv", b"id,text\n" + content, 1000)
    second = opened(folder / "second.csv", b"id,text\none field\n" + content, 1000)
    rows, numbers, problems = read_all(first, ["id", "text"])
    again, numbered, reasons = read_all(second, ["id", "text"])
    assert (again, numbered) == (rows, [number + 1 for number in numbers])
    told = [re.sub("in line [0-9]+", "in its line", p.reason) for p in (*reasons[1:], *problems)]
    assert told[: len(problems)] == told[len(problems) :]
    assert [p.row for p in reasons[1:]] == [(p.row or 0) + 1 for p in problems]


def test_a_quote_that_is_never_closed_is_named_by_its_line(tmp_path: Path) -> None:
    rows = "".join(f"{k},text {k}\n" for k in range(3, 9))
    for opening, raw in (
        ('2,"a text\n', '"a text'),
        ('2,"one ""word""\n', '"one ""word""'),
        ('"2,a text\n', '"2,a'),
    ):
        path = tmp_path / "a.csv"
        path.write_text(f'id,text\n1,"a text, with\na line"\n{opening}{rows}')
        documents = open_documents(path)
        choose_columns(documents, "text", "id")
        for _ in range(2):
            kept, numbers, problems = read_all(documents, ["id"])
            assert ([row["id"] for row in kept], numbers) == ([b"1"], [0])
            [problem] = problems
            assert has_parts(problem.reason, "in line 4", "7 lines")
            assert problem.raw is not None
            assert problem.raw.startswith(raw)


@pytest.mark.parametrize("last", ['3,"six"', '3,"six"\n', '3,"a ""b"""\n', "3,six", '3,""', '3,5"', '3,5" "x'])
def test_quotes_within_fields_are_no_open_ones(tmp_path: Path, last: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'id,text\n1,"5"" pipe"\n2,6" pipe\n{last}')
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    kept, _, problems = read_all(documents, ["id"])
    assert ([row["id"] for row in kept], problems) == ([b"1", b"2", b"3"], [])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_the_line_of_a_delimiter_is_no_row(tmp_path: Path, delimiter: str, mark: bytes) -> None:
    lines = [f"sep={delimiter}", f"id{delimiter}text", f'1{delimiter}"a, b; c"', f"2{delimiter}d"]
    (tmp_path / "a.csv").write_bytes(mark + "\r\n".join(lines).encode())
    documents = open_documents(tmp_path / "a.csv")
    choose_columns(documents, None, None)
    kept, numbers, problems = read_all(documents, ["id", "text"])
    assert kept == [{"id": b"1", "text": b"a, b; c"}, {"id": b"2", "text": b"d"}]
    assert (numbers, problems) == ([0, 1], [])


def test_a_named_text_may_begin_with_numbers(tmp_path: Path) -> None:
    texts = [*map(str, range(200)), "a letter"]
    pd.DataFrame({"id": range(201), "text": texts}).to_csv(tmp_path / "a.csv", index=False)
    documents = open_documents(tmp_path / "a.csv")
    assert choose_columns(documents, "text", "id").text == "text"
    kept, _, problems = read_all(documents, ["text"])
    assert ([row["text"].decode() for row in kept], problems) == (texts, [])


MARK = b"\xef\xbb\xbf"
PARTS = (b"\n", b"\r\n", b"\r", MARK, MARK[:1], MARK[:2], b'"', b"a,", b"\xc3\xa9", b"'")


def without_marks(content: bytes, quote: bytes = b'"') -> bytes:
    """The naive twin: look at each place in turn."""
    out, at, quotes = b"", 0, 0
    while at < len(content):
        begins = content[at - 1 : at] in (b"\n", b"\r") and at > 0
        if begins and quotes % 2 == 0 and content.startswith(MARK, at):
            at += len(MARK)
            continue
        quotes += content[at : at + 1] == quote
        out, at = out + content[at : at + 1], at + 1
    return out


@given(st.lists(st.sampled_from(PARTS), max_size=14).map(b"".join), st.integers(1, 9))
def test_a_stream_has_no_marks_before_lines_outside_of_quotes(content: bytes, size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(content)
        stream = Stream(Source("a.csv", str(path)))
        stream.quote = b'"'
        parts = list(iter(lambda: stream.read(size), b""))
        stream.close()
    assert b"".join(parts) == without_marks(content)


@pytest.mark.parametrize("broken", [b"", b"too,many,fields\n"])
@pytest.mark.parametrize("chunk_bytes", [60, 1 << 20])
def test_a_byte_order_mark_amid_records_is_no_part_of_them(
    tmp_path: Path, chunk_bytes: int, broken: bytes
) -> None:
    """Files with marks that somebody has put together; within a quoted field a mark stays."""
    first = b'id,text\n1,"a ""b"""\n2,"c\n' + MARK + b'd"\n' + broken
    documents = opened(tmp_path / "a.csv", MARK + first + MARK + b'"3","e, f"\n' + MARK + b"4,g\n", chunk_bytes)
    rows, _, problems = read_all(documents, ["id", "text"])
    assert [row["id"] for row in rows] == [b"1", b"2", b"3", b"4"]
    assert [row["text"].decode() for row in rows] == ['a "b"', "c\n\ufeffd", "e, f", "g"]
    assert len(problems) == bool(broken)
