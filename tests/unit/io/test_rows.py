"""One row of a data file by its number, and the digests of files."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.readers.rows import read_file_row
from neardup.io.readers.sources import BLOCK_BYTES, BLOCKS, digest_of_bytes, digest_of_file, open_regular
from neardup.settings import ReadingSettings

AUTO = ReadingSettings()
WORDS = ["plain", 'say "yes"', "two\nlines", "a,b", "", "größe", "tab\tbed", "x" * 300]


def some_texts(count: int) -> list[str]:
    drawn = random.Random(5)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 6))) for _ in range(count)]


def jsonl_of(texts: list[str]) -> bytes:
    return b"".join(json.dumps({"id": f"d{i}", "text": text}).encode() + b"\n" for i, text in enumerate(texts))


def csv_of(texts: list[str], end: str = "\r\n", delimiter: str = ",") -> bytes:
    quoted = ('"' + text.replace('"', '""') + '"' for text in texts)
    lines = [f"id{delimiter}text", *(f"d{i}{delimiter}{text}" for i, text in enumerate(quoted))]
    return "".join(line + end for line in lines).encode()


def test_a_damaged_row_group_is_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": [str(i) for i in range(400)], "text": [f"text {i} " * 50 for i in range(400)]})
    pq.write_table(table, path, row_group_size=100, write_page_checksum=True, use_dictionary=False)
    data = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(2).column(1)
    data[at.data_page_offset + at.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(data)
    assert read_file_row(str(path), 150, "text", AUTO).startswith("text 150 ")
    with pytest.raises(InputError, match=r"Row 250 of .* is not a document: rows 200 to 299 are lost"):
        read_file_row(str(path), 250, "text", AUTO)


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
    with pytest.raises(InputError, match=r"one document.* no rows"):
        read_file_row(str(tmp_path / "a.txt"), 0, None, AUTO)
    with pytest.raises(InputError):
        read_file_row(str(tmp_path), 0, None, AUTO)


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
