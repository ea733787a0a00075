"""One row of a file by its recorded place: the same as in a read of the whole file."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.readers import choose_columns, csv_records, open_files
from neardup.io.readers.csv_records import Dialect
from neardup.io.readers.digests import BLOCK_BYTES, BLOCKS, digest_of_bytes, digest_of_file, open_regular
from neardup.io.readers.lookup import read_fields, read_row
from neardup.io.readers.places import Recorded, RecordedFiles, places_of
from neardup.io.readers.rows import read_file_row
from neardup.settings import ReadingSettings
from support.full_run import FULL

AUTO = ReadingSettings()
WORDS = ["plain", 'say "yes"', "two\nlines", "a,b", "", "größe", "tab\tbed", "x" * 300]


def some_texts(count: int) -> list[str]:
    drawn = random.Random(5)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 6))) for _ in range(count)]


def recorded(
    path: Path, chunk_bytes: int = 1 << 20, reading: ReadingSettings = AUTO
) -> tuple[Recorded, dict[int, str]]:
    """A file with its places, and its texts by row number as a read of all of it returns them."""
    documents = open_files([path], chunk_bytes=chunk_bytes, reading=reading)
    columns = choose_columns(documents, "text", "id")
    texts = {}
    for chunk in documents.chunks(None, [columns.text]):
        rows = chunk.read([columns.text])
        values = rows.table.column(0).cast(pa.binary()).to_pylist()
        texts.update(
            zip(rows.row_numbers.tolist(), (value.decode("utf-8", "replace") for value in values), strict=True)
        )
    files = RecordedFiles(places_of(documents, columns.text, columns.id, reference=False))
    assert len(files) == 1
    return files[0], texts


def check_all(file: Recorded, texts: dict[int, str], reading: ReadingSettings = AUTO) -> None:
    for row, text in texts.items():
        found = read_row(file, row, reading)
        assert found.text.decode("utf-8", "replace") == text, row
    for row in (max(texts) + 1, max(texts) + 100_000, -1):
        with pytest.raises(InputError, match="has no row"):
            read_row(file, row, reading)


def jsonl_of(texts: list[str]) -> bytes:
    return b"".join(json.dumps({"id": f"d{i}", "text": text}).encode() + b"\n" for i, text in enumerate(texts))


def csv_of(texts: list[str], end: str = "\r\n", delimiter: str = ",") -> bytes:
    quoted = ('"' + text.replace('"', '""') + '"' for text in texts)
    lines = [f"id{delimiter}text", *(f"d{i}{delimiter}{text}" for i, text in enumerate(quoted))]
    return "".join(line + end for line in lines).encode()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "_READ_BYTES", 700)


# --- JSONL


def test_every_line_is_found_from_the_start_of_its_block(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = jsonl_of(some_texts(300)).splitlines(keepends=True)
    lines[5] = b"\n"
    lines[6] = b"not JSON\n"
    lines[200] = lines[200].replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(lines).removesuffix(b"\n"))
    file, texts = recorded(path, chunk_bytes=4000)
    assert len(file.stretches) > 5
    assert sorted({*range(300)} - texts.keys()) == [5, 6]
    check_all(file, texts)
    with pytest.raises(InputError, match=r"Row 5 of .*not a document.*line is empty"):
        read_row(file, 5, AUTO)
    with pytest.raises(InputError, match=r"Row 6 of .*not a document.*JSON"):
        read_row(file, 6, AUTO)


def test_ids_are_read_with_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "text": "seven"}\n{"id": "8", "text": null}\n', encoding="utf-8")
    file, _ = recorded_files_of(path)
    assert (read_row(file, 0, AUTO).id, read_row(file, 1, AUTO).id) == (7, "8")
    assert read_row(file, 1, AUTO).text == b""


def recorded_files_of(path: Path) -> tuple[Recorded, Any]:
    documents = open_files([path])
    columns = choose_columns(documents, "text", "id")
    list(documents.chunks())
    places = places_of(documents, columns.text, columns.id, reference=False)
    return RecordedFiles(places)[0], documents


# --- CSV


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_record_is_found_from_the_place_before_it(tmp_path: Path, small_blocks: None, end: str) -> None:
    path = tmp_path / "a.csv"
    content = (
        csv_of(some_texts(200), end)
        .replace(b"d50,", b"d50,one too many,")
        .replace(b"d90,", end.encode() * 3 + b"d90,")
    )
    path.write_bytes(content)
    file, texts = recorded(path)
    assert len(file.stretches) > 10
    assert sorted({*range(200)} - texts.keys()) == [50]
    check_all(file, texts)
    with pytest.raises(InputError, match=r"Row 50 of .*not a document.*3 fields instead of 2"):
        read_row(file, 50, AUTO)


def test_after_a_stray_quote_records_are_found_by_reading_on(tmp_path: Path, small_blocks: None) -> None:
    path = tmp_path / "a.csv"
    content = (
        csv_of(some_texts(100), "\n") + b'stray,12" of snow\nopen,6" and\n' + csv_of(some_texts(50), "\n")[8:]
    )
    path.write_bytes(content)
    file, texts = recorded(path)
    assert file.stretches[-1][0] <= 100
    assert len(texts) == 152
    check_all(file, texts)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_delimiter_is_found_or_given(tmp_path: Path, small_blocks: None, delimiter: str) -> None:
    path = tmp_path / "a.csv"
    texts = [text.translate(str.maketrans("\n,\t", "   ")) for text in some_texts(50)]
    path.write_bytes(b"\xef\xbb\xbf" + csv_of(texts, "\n", delimiter))
    for reading in (AUTO, ReadingSettings(delimiter="tab" if delimiter == "\t" else delimiter)):
        file, texts = recorded(path, reading=reading)
        check_all(file, texts, reading)


def test_places_are_where_the_records_of_a_slow_reader_begin(small_blocks: None) -> None:
    class Given:
        def __init__(self, data: bytes) -> None:
            self.data, self.error = data, None

        def read(self, size: int) -> bytes:
            given, self.data = self.data[:size], self.data[size:]
            return given

        def close(self) -> None: ...

    drawn = random.Random(11)
    for _ in range(40):
        fields = drawn.choices(["a", "", '"q"', '"a ""b"" c"', '"x\ny"', '"\r\n\n"', "longer text here"], k=400)
        data = b"".join(
            f"{a},{b}".encode() + drawn.choice([b"\n", b"\r\n", b"\n\n"])
            for a, b in zip(fields, fields[::-1], strict=True)
        )
        begins = slow_begins(data)
        found = csv_records.record_places(Given(data), Dialect(","))  # type: ignore[arg-type]
        assert found
        for record, offset in found:
            assert begins[record + 1] == offset + len(data[offset:]) - len(data[offset:].lstrip(b"\r\n"))


def slow_begins(data: bytes) -> list[int]:
    """Where each record that is not an empty line begins, one character after the other; the last is the end."""
    begins, quoted, start = [], False, 0
    for at in range(len(data)):
        byte = data[at : at + 1]
        if byte == b'"':
            quoted = not quoted
        elif byte in b"\r\n" and not quoted:
            if at > start:
                begins.append(start)
            start = at + 1
    return [*begins, len(data)]


# --- the other formats


@pytest.mark.parametrize(
    "name", ["a.jsonl.gz", "a.csv.gz", "latin.jsonl", "a.parquet", "groups.parquet", "a.arrow"]
)
def test_files_without_places_are_read_from_the_start(tmp_path: Path, name: str) -> None:
    path, texts = tmp_path / name, some_texts(120 if FULL else 60)
    table = pa.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts})
    reading = AUTO
    if name == "a.jsonl.gz":
        path.write_bytes(gzip.compress(jsonl_of(texts)))
    elif name == "a.csv.gz":
        path.write_bytes(gzip.compress(csv_of(texts)))
    elif name == "latin.jsonl":
        reading = ReadingSettings(encoding="latin-1")
        lines = (
            json.dumps({"id": str(i), "text": text}, ensure_ascii=False) + "\n" for i, text in enumerate(texts)
        )
        path.write_bytes("".join(lines).encode("latin-1"))
    elif name == "a.arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=17)
    else:
        pq.write_table(table, path, row_group_size=7 if name == "groups.parquet" else 1000)
    file, found = recorded(path, reading=reading)
    assert list(found.values()) == texts
    assert all(offset is None for _, offset in file.stretches)
    check_all(file, found, reading)


def test_a_damaged_row_group_is_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": [str(i) for i in range(400)], "text": [f"text {i} " * 50 for i in range(400)]})
    pq.write_table(table, path, row_group_size=100, write_page_checksum=True, use_dictionary=False)
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(2).column(1)
    data[at.data_page_offset + at.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)
    file, _ = recorded(path)
    assert read_row(file, 150, AUTO).text.startswith(b"text 150 ")
    with pytest.raises(InputError, match=r"Row 250 of .*not a document.*rows 200 to 299"):
        read_row(file, 250, AUTO)


# --- rows that a person names


@pytest.mark.parametrize("made", [jsonl_of, csv_of])
def test_a_row_of_a_file_by_its_number(tmp_path: Path, made: Any) -> None:
    path, texts = tmp_path / ("a.jsonl" if made is jsonl_of else "a.csv"), some_texts(30)
    path.write_bytes(made(texts))
    for row in (0, 17, 29):
        assert read_file_row(str(path), row, None, AUTO) == texts[row]
    assert read_file_row(str(path), 3, "id", AUTO) == "d3"
    with pytest.raises(InputError, match=r"has no row 30\. Allowed: Rows 0 to 29"):
        read_file_row(str(path), 30, None, AUTO)


def test_a_document_and_a_folder_have_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    with pytest.raises(InputError, match="no rows"):
        read_file_row(str(tmp_path / "a.txt"), 0, None, AUTO)
    with pytest.raises(InputError, match="is a folder"):
        read_file_row(str(tmp_path), 0, None, AUTO)


# --- digests


def test_a_digest_is_that_of_the_content_and_of_samples_of_large_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for size in (0, 1, BLOCKS * BLOCK_BYTES, BLOCKS * BLOCK_BYTES + 1, 3 * BLOCKS * BLOCK_BYTES):
        data = random.Random(size).randbytes(size)
        path.write_bytes(data)
        assert digest_of_file(str(path)) == digest_of_bytes(data)
        assert digest_of_bytes(data + b"x") != digest_of_bytes(data)
        if data:
            for at in (0, size - 1):
                other = bytearray(data)
                other[at] ^= 1
                assert digest_of_bytes(bytes(other)) != digest_of_bytes(data)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(str(tmp_path / "pipe"))


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_other_values_of_a_row_are_read_from_its_place(tmp_path: Path, form: str) -> None:
    rows = [{"id": f"d{i}", "text": text, "from": f"ann {i}", "day": i} for i, text in enumerate(some_texts(300))]
    path = tmp_path / f"mails.{form}"
    if form == "jsonl":
        lines = [json.dumps({**row, "list": [1], "none": None, "record": {"a": 1}}) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif form == "csv":
        pa_csv.write_csv(pa.Table.from_pylist(rows), path)
    else:
        pq.write_table(pa.Table.from_pylist(rows).append_column("list", pa.array([[1]] * 300)), path)
    file, _ = recorded(path, 4096)
    for row in (0, 17, 299):
        found = {name: str(value) for name, value in read_fields(file, row, AUTO).items()}
        assert found == {"from": f"ann {row}", "day": str(row)}
    with pytest.raises(InputError, match="has no row"):
        read_fields(file, 300, AUTO)


def test_a_line_is_found_after_the_file_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    for texts in (some_texts(2000), ["short"] * 10_000):
        path.write_bytes(jsonl_of(texts))
        file, known = recorded(path)
        for row in (0, len(texts) // 2, len(texts) - 1):
            assert read_row(file, row, AUTO).text.decode() == known[row]
