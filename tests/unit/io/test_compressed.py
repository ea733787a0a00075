"""gzip, zstd, xz and bzip2 behave alike: whole, in several streams, cut off, damaged and hostile."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.io.containers.codecs import COMPRESSIONS, unpacked_bytes, unpacked_stream
from neardup.io.readers import choose_columns, open_documents
from neardup.io.writers import OutputFolder, open_kept
from neardup.io.writers.kept_formats import CompressedFile
from support.reading import read_all


def pack_lz4(data: bytes) -> bytes:
    """A frame of blocks, as Arrow writes them."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "lz4") as file:
        for start in range(0, len(data), 1 << 12):
            file.write(data[start : start + (1 << 12)])
            file.flush()
    return bytes(packed.getvalue())


# Small blocks, so that a cut off file has whole blocks before the cut.
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    ".xz": lzma.compress,
    ".bz2": lambda data: bz2.compress(data, 1),
    ".lz4": lambda data: pack_lz4(data),
}
UNPACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".zst": lambda data: bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".lz4": lambda data: bytes(pa.CompressedInputStream(pa.BufferReader(data), "lz4").read()),
}
ROWS = [{"id": i, "text": f"{i} {i * 7919 % 100_003:x} {i * 104_729 % 65_521:x}"} for i in range(10_000)]
JSONL = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
CSV = b"id,text\n" + b"".join(f"{row['id']},{row['text']}\n".encode() for row in ROWS)

every_codec = pytest.mark.parametrize("suffix", PACKED)


def test_all_codecs_are_tested() -> None:
    assert PACKED.keys() == COMPRESSIONS.keys()


def _decoded(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


@every_codec
@pytest.mark.parametrize(("kind", "content"), [("jsonl", JSONL), ("csv", CSV)])
def test_a_whole_file_in_two_streams(tmp_path: Path, suffix: str, kind: str, content: bytes) -> None:
    path = tmp_path / f"a.{kind}{suffix}"
    content = b"".join(content.splitlines(keepends=True)[:301])
    half = content.index(b"\n", len(content) // 2) + 1
    path.write_bytes(PACKED[suffix](content[:half]) + PACKED[suffix](content[half:]))
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    rows, numbers, problems = read_all(documents, ["text"])
    count = 301 if kind == "jsonl" else 300
    assert (numbers, problems) == (list(range(count)), [])
    assert [row["text"].decode() for row in rows] == [row["text"] for row in ROWS[:count]]


def test_a_gzip_file_may_be_padded_with_zeros(tmp_path: Path) -> None:
    head, rest = (JSONL[:end] for end in (JSONL.index(b"\n") + 1, JSONL.index(b"\n", 5000) + 1))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(rest) + b"\0" * 512 + gzip.compress(head) + b"\0" * 100_000)
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    rows, _, problems = read_all(documents, ["text"])
    assert (len(rows), problems) == (rest.count(b"\n") + 1, [])
    path.write_bytes(gzip.compress(rest) + b"\0" * 100 + b"x")
    _, _, problems = read_all(open_documents(path), ["text"])
    assert problems, "what is no padding is no end"


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not here")
def test_a_window_that_is_too_long_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with open(
        f"{path}.zst", "wb"
    ) as file:  # of standard input, whose length is unknown: the window is what was asked
        subprocess.run(["zstd", "-q", "-1", "--long=28", "-c"], input=JSONL, stdout=file, check=True)
    with pytest.raises(InputError) as caught:
        choose_columns(open_documents(f"{path}.zst"), "text", "id")
    [command] = re.findall(r"zstd -d -M2048MB -c \S+ \| zstd -o OTHER", str(caught.value))
    command = command.replace("| zstd", "| zstd -q -1").replace("OTHER", "other.jsonl.zst")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    documents = open_documents(tmp_path / "other.jsonl.zst", chunk_bytes=1 << 20)
    assert len(read_all(documents, ["text"])[0]) == JSONL.count(b"\n")


@pytest.mark.skipif(shutil.which("lz4") is None, reason="the program lz4 is not here")
def test_frames_of_the_program_lz4_are_read(tmp_path: Path) -> None:
    packed = []
    for options in (["-1"], ["-9", "-BD", "-B4"], ["--content-size", "--no-frame-crc"]):
        done = subprocess.run(["lz4", "-c", *options], input=JSONL, capture_output=True, check=True)
        packed.append(done.stdout)
    path = tmp_path / "a.jsonl.lz4"
    path.write_bytes(b"".join(packed))
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    rows, _, problems = read_all(documents, ["text"])
    assert (len(rows), problems) == (3 * len(ROWS), [])


@pytest.mark.part(2)
@every_codec
@pytest.mark.parametrize(("kind", "content"), [("jsonl", JSONL), ("csv", CSV)])
def test_a_cut_off_file_has_the_rows_before_the_cut_and_a_problem(
    tmp_path: Path, suffix: str, kind: str, content: bytes
) -> None:
    whole = PACKED[suffix](content)
    path = tmp_path / f"a.{kind}{suffix}"
    path.write_bytes(whole[: len(whole) * 3 // 4])
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    chunks = [chunk.read(["text"]) for chunk in documents.chunks()]
    rows = [text for chunk in chunks for text in chunk.table["text"].to_pylist()]
    numbers = [number for chunk in chunks for number in chunk.row_numbers.tolist()]
    problems = [problem for chunk in chunks for problem in chunk.problems]
    assert 2000 < len(rows) < 10_000
    assert numbers == list(range(len(rows)))
    assert list(map(_decoded, rows)) == [row["text"] for row in ROWS[: len(rows)]]
    assert [(one.source, one.row) for one in problems] == [(str(path), len(rows))]
    assert "lost: Truncated compressed stream" in problems[0].reason


@every_codec
@pytest.mark.parametrize(("kind", "content"), [("jsonl", JSONL), ("csv", CSV)])
def test_a_file_cut_off_before_its_first_row_is_an_error_that_says_so(
    tmp_path: Path, suffix: str, kind: str, content: bytes
) -> None:
    path = tmp_path / f"a.{kind}{suffix}"
    path.write_bytes(PACKED[suffix](content)[:5])
    with pytest.raises(InputError, match="Truncated compressed stream") as caught:
        open_documents(path)
    assert "whole" in caught.value.do


@every_codec
def test_garbage_after_the_stream_is_a_problem(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.jsonl{suffix}").write_bytes(PACKED[suffix](b'{"text":"a"}\n') + b"garbage")
    documents = open_documents(tmp_path / f"a.jsonl{suffix}")
    choose_columns(documents, None, None)
    rows, _, problems = read_all(documents, ["text"])
    assert len(rows) <= 1
    assert len(problems) == 1


@every_codec
def test_kept_rows_have_the_compression_of_the_input(tmp_path: Path, suffix: str) -> None:
    for kind, content in (("jsonl", JSONL), ("csv", CSV)):
        path = tmp_path / f"in.{kind}{suffix}"
        path.write_bytes(PACKED[suffix](content))
        documents = open_documents(path)
        choose_columns(documents, "text", "id")
        with OutputFolder(tmp_path / f"{kind}-out") as folder, open_kept(folder, documents) as writer:
            for chunk in documents.chunks():
                native = chunk.read_native()
                writer.write(native, native.row_numbers < 100)
            writer.close()
            kept = writer.path.name
        assert kept == f"kept.{kind}{suffix}"
        found = UNPACKED[suffix]((tmp_path / f"{kind}-out" / kept).read_bytes())
        assert found.replace(b'"', b"").count(b"\n") == 100 + (kind == "csv")
        if kind == "jsonl":
            assert found == b"".join(JSONL.splitlines(keepends=True)[:100])


@every_codec
def test_a_compressed_document_is_read_and_one_that_is_cut_off_is_a_problem(tmp_path: Path, suffix: str) -> None:
    words = " ".join(ROWS[i]["text"] for i in range(100)).encode()  # type: ignore[misc]
    page = b"<title>x</title><p>a page</p>"
    (tmp_path / f"a.txt{suffix}").write_bytes(PACKED[suffix](words))
    (tmp_path / f"b.html{suffix}").write_bytes(PACKED[suffix](page))
    (tmp_path / f"c.txt{suffix}").write_bytes(PACKED[suffix](words)[:-4])
    (tmp_path / f"d.txt{suffix}").write_bytes(b"not packed at all")
    (tmp_path / f"e{suffix}").write_bytes(PACKED[suffix](b"\x89PNG\r\n\x1a\n\0\0\0"))
    documents = open_documents(tmp_path)
    choose_columns(documents, None, None)
    rows, _, problems = read_all(documents, ["id", "text"])
    assert rows == [
        {"id": f"a.txt{suffix}".encode(), "text": words},
        {"id": f"b.html{suffix}".encode(), "text": b"a page"},
    ]
    said = [(one.file, one.kind) for one in problems]
    assert said == [(f"c.txt{suffix}", "unreadable"), (f"d.txt{suffix}", "unreadable"), (f"e{suffix}", "image")]
    assert "cannot be unpacked" in problems[0].reason


@every_codec
def test_a_bomb_is_refused_at_the_limit(suffix: str) -> None:
    with pytest.raises(InputError, match="more than 1 MB"):
        unpacked_bytes(PACKED[suffix](bytes(4 << 20)), COMPRESSIONS[suffix], 1 << 20)


@every_codec
def test_a_compressed_file_has_the_same_bytes_at_every_time(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        file = CompressedFile(tmp_path / name / "x", COMPRESSIONS[suffix])
        file.write(JSONL)
        file.close()
    assert (tmp_path / "a" / "x").read_bytes() == (tmp_path / "b" / "x").read_bytes()
    assert UNPACKED[suffix]((tmp_path / "a" / "x").read_bytes()) == JSONL


def test_an_xz_file_that_asks_for_too_much_memory_is_damaged() -> None:
    # .lzma files name the size of their dictionary in plain bytes: 4 GB here
    greedy = b"\x5d\xff\xff\xff\xff" + b"\xff" * 8 + bytes(20)
    with unpacked_stream(pa.BufferReader(greedy), "xz") as stream, pytest.raises(OSError, match=r"[Mm]emory"):
        stream.read(100)


def test_xz_in_small_steps_with_padding_and_an_empty_file() -> None:
    data = lzma.compress(b"abc") + bytes(8) + lzma.compress(b"defg") + bytes(4)
    with unpacked_stream(pa.BufferReader(data), "xz") as stream:
        parts = []
        while part := stream.read(2):
            parts.append(part)
    assert b"".join(parts) == b"abcdefg"
    assert max(map(len, parts)) == 2
    assert unpacked_stream(pa.BufferReader(b""), "bz2").read(5) == b""


def test_rows_of_a_folder_are_counted_once(tmp_path: Path) -> None:
    for number, suffix in enumerate(PACKED):
        (tmp_path / f"{number}.jsonl{suffix}").write_bytes(PACKED[suffix](JSONL[: JSONL.index(b"\n", 5000) + 1]))
    documents = open_documents(tmp_path)
    choose_columns(documents, "text", "id")
    assert sum(len(chunk.read(["text"]).row_numbers) for chunk in documents.chunks()) == len(PACKED) * (
        JSONL[:5000].count(b"\n") + 1
    )
    assert np.unique([chunk.source for chunk in documents.chunks()]).size == len(PACKED)
