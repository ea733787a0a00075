"""WARC files: records, their texts and columns, kept ones byte for byte, and hostile files."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("warcio", reason="the extra warc is not installed")

import itertools

from neardup.io.containers.warc import member_records, stream_records
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.writers import OutputFolder, open_kept
from support.made_warc import (
    PNG,
    Page,
    headed,
    members,
    page_of,
    read_by_warcio,
    records_of,
    wet_records,
    write_warc,
)
from support.messages import has_parts
from support.reading import read_all

# warcio leaves the working files of its writer open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PAGES = [page_of(f"https://example.org/{i}", f"The words of page {i}.") for i in range(5)]
TEXTS = [f"Plain words of a page, number {i}.\n" for i in range(5)]


def opened(path: Path, id: str | None = None) -> Documents:
    documents = open_documents(path)
    choose_columns(documents, None, id)
    return documents


def texts_in(path: Path) -> list[str]:
    rows, *_ = read_all(opened(path), ["text"])
    return [row["text"].decode() for row in rows]


def problems_of(path: Path) -> list[str]:
    *_, problems = read_all(opened(path), ["text"])
    return [f"{problem.row} {problem.reason}" for problem in problems]


def kept(path: Path, out: Path, wanted: set[str]) -> Path:
    documents = opened(path)
    with OutputFolder(out) as folder, open_kept(folder, documents) as writer:
        for chunk, read in writer.natives():
            urls = chunk.read(["url"]).table["url"].to_pylist()
            writer.write(read(), np.array([url in wanted for url in urls], np.bool_))
        writer.close()
        name = writer.path.name
    return out / name


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_records_are_those_that_warcio_reads(packed: bool, block: int, tmp_path: Path) -> None:
    parts = records_of([*PAGES, Page("https://example.org/a.png", PNG, "image/png")], packed=packed)
    path = write_warc(tmp_path / "a.warc", parts)
    with open(path, "rb") as file:

        def read(size: int) -> bytes:
            return file.read(min(size, block))

        found = list(member_records(read, 1 << 20) if packed else stream_records(read))
    assert [(record.type, record.url) for record in found] == [one[:2] for one in read_by_warcio(path)]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    assert [(record.start, record.end) for record in found] == list(zip([0, *ends], ends, strict=False))


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_pages_have_text_address_date_title_and_headers(name: str, tmp_path: Path) -> None:
    path = write_warc(tmp_path / name, records_of(PAGES, packed=name.endswith("gz")))
    columns = ["url", "date", "title", "status", "content_type", "WARC-Record-ID", "text"]
    rows, numbers, problems = read_all(opened(path, "url"), columns)
    assert not problems
    assert [row["text"] for row in rows] == [f"The words of page {i}.".encode() for i in range(5)]
    said = {"url": b"https://example.org/1", "title": b"T https://example.org/1", "status": 200}
    assert rows[1].items() >= said.items()
    assert (rows[1]["content_type"], rows[1]["date"]) == (b"text/html", b"2026-01-01T00:00:01Z")
    assert rows[1]["WARC-Record-ID"] == b"<urn:uuid:response-1>"
    assert numbers == [2, 4, 6, 8, 10]


@pytest.mark.parametrize("compress", [lambda data: data, gzip.compress, members])
def test_conversions_are_read_however_they_are_packed(compress: object, tmp_path: Path) -> None:
    records = wet_records(TEXTS)
    data = members(records) if compress is members else compress(b"".join(records))  # type: ignore[operator]
    path = tmp_path / ("a.warc.wet" + ".gz" * (data[:2] == b"\x1f\x8b"))
    path.write_bytes(data)
    assert texts_in(path) == TEXTS
    out = kept(path, tmp_path / "out", {"https://example.org/3"})
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(out, "rb") as file:
        assert file.read() == records[3]
    assert texts_in(out) == [TEXTS[3]]


@pytest.mark.parametrize("packed", [False, True])
def test_kept_records_are_those_of_the_file_with_their_requests(packed: bool, tmp_path: Path) -> None:
    name = "a.warc.gz" if packed else "a.warc"
    parts = records_of(PAGES, packed=packed)
    path = write_warc(tmp_path / name, parts)
    out = kept(path, tmp_path / "out", {"https://example.org/0", "https://example.org/3"})
    assert out.name == f"kept.{name[2:]}"
    assert out.read_bytes() == b"".join([*parts[:3], *parts[7:9]])


def test_chunks_end_between_events(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc", records_of(PAGES))
    documents = open_documents(path, chunk_bytes=1)
    choose_columns(documents, None, None)
    for _ in range(2):  # the second pass reads stretches of the file
        chunks = list(documents.chunks())
        assert [chunk.first_row for chunk in chunks] == [0, 1, 3, 5, 7, 9]
        texts = [chunk.read(["text"]).table["text"].to_pylist() for chunk in chunks]
        assert texts == [[], *([f"The words of page {i}.".encode()] for i in range(5))]


def test_bodies_are_decoded_as_the_server_encoded_them(tmp_path: Path) -> None:
    body = "<p>Grüße aus Zürich".encode("latin-1")
    chunked = b"3\r\n<p>\r\n11\r\nin several chunks\r\n0\r\n\r\n"
    deflated = zlib.compress(b"<p>deflated")
    pages = [
        Page("http://a/1", gzip.compress(b"<p>packed"), http=(("Content-Encoding", "gzip"),)),
        Page("http://a/2", deflated, http=(("Content-Encoding", "deflate"),)),
        Page("http://a/3", b"<p>not packed", http=(("Content-Encoding", "gzip"),)),
        Page("http://a/4", chunked, http=(("Transfer-Encoding", "chunked"),)),
        Page("http://a/5", body, "text/html; charset=ISO-8859-1"),
        Page("http://a/6", "Grüße".encode("latin-1"), "text/plain; charset=latin-1"),
        Page("http://a/7", b"<html><p>sniffed", "application/octet-stream"),
    ]
    expected = ["packed", "deflated", "not packed", "in several chunks", "Grüße aus Zürich", "Grüße", "sniffed"]
    assert texts_in(write_warc(tmp_path / "a.warc.gz", records_of(pages, packed=True))) == expected


def test_what_is_not_text_is_not_judged(tmp_path: Path) -> None:
    pages = [
        Page("http://a/1", PNG, "image/png"),
        Page("http://a/2", b"body { }", "text/css"),
        Page("http://a/3", PNG, "text/html"),
        Page("http://a/4", b"x", http=(("Content-Encoding", "br"),)),
    ]
    documents = opened(write_warc(tmp_path / "a.warc", records_of(pages)))
    *_, problems = read_all(documents, ["text"])
    assert [problem.kind for problem in problems] == ["image", "web resource", "image", None]
    assert "'br'" in problems[3].reason
    assert has_parts(documents.findings.reading_notes()[0], "4 request", "1 warcinfo")


def test_records_about_records_are_no_documents(tmp_path: Path) -> None:
    record = headed("WARC-Type: resource", "WARC-Target-URI: urn:text:http://a/1", content=b"A page's own words.")
    path = write_warc(tmp_path / "a.warc", [*records_of(PAGES[:1]), record])
    assert texts_in(path) == ["The words of page 0."]


def test_a_page_without_an_address_has_none(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc", records_of([*PAGES[:2], PAGES[2]._replace(url=None)]))
    rows, *_ = read_all(opened(path), ["url", "text"])
    assert [row["url"] for row in rows] == [b"https://example.org/0", b"https://example.org/1", None]
    assert rows[2]["text"] == b"The words of page 2."


def test_a_web_archive_is_a_zip_of_warc_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as file:
        file.writestr("archive/data.warc.gz", b"".join(records_of(PAGES, packed=True)))
        file.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n')
        file.writestr("indexes/index.cdx.gz", gzip.compress(b"..."))
        file.writestr("datapackage.json", "{}")
    documents = opened(tmp_path / "a.wacz")
    rows, *_ = read_all(documents, ["text"])
    assert len(rows) == 5
    assert [one.name for one in documents.findings.aside] == [
        f"a.wacz!/{name}" for name in ("datapackage.json", "indexes/index.cdx.gz", "pages/pages.jsonl")
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        (headed("WARC-Type: conversion", content=b"x" * 50, length=7), ("Content-Length is wrong",)),
        (headed("WARC-Type: conversion", content=b"x", length="seven"), ("no Content-Length",)),
        (headed("WARC-Type: conversion", content=b"x", length=-5), ("no Content-Length",)),
        (headed(*(f"X-{i}: y" for i in range(10**6)), content=b"x"), ("header is longer than 1 MB",)),
        (headed("X: " + "y" * (2 << 20), content=b"x"), ("header is longer than 1 MB",)),
        (b"\x1b[31mnothing of the kind\r\n\r\n", ("does not begin with the version",)),
    ],
    ids=["short", "no number", "negative", "many headers", "long header", "noise"],
)
def test_a_damaged_record_is_a_problem_and_the_others_are_read(
    packed: bool, bad: bytes, parts: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    records = wet_records(TEXTS)
    both = [*records[:2], bad, *records[2:]]
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(members(both) if packed else b"".join(both))
    assert texts_in(path) == TEXTS
    [problem] = problems_of(path)
    assert has_parts(problem, "2 ", *parts)
    out = kept(path, tmp_path / "out", {f"https://example.org/{i}" for i in range(5)})
    assert out.read_bytes() == (members(records) if packed else b"".join(records))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lost", [1, 30, 200])
def test_a_file_that_is_cut_off_is_read_up_to_there(packed: bool, lost: int, tmp_path: Path) -> None:
    data = members(wet_records(TEXTS)) if packed else b"".join(wet_records(TEXTS)).rstrip()
    path = tmp_path / ("a.warc.gz" if packed else "a.warc")
    path.write_bytes(data[:-lost])
    assert texts_in(path) == TEXTS[:4]
    [problem] = problems_of(path)
    assert has_parts(problem, "4 ", "cut off")


def test_a_length_of_the_next_records_loses_one_record_only(tmp_path: Path) -> None:
    records = wet_records(TEXTS)
    wrong = headed("WARC-Type: conversion", content=b"x", length=300)
    path = write_warc(tmp_path / "a.warc", [wrong, *records])
    assert texts_in(path) == TEXTS
    assert len(problems_of(path)) == 1


def test_a_damaged_member_ends_the_file(tmp_path: Path) -> None:
    packed = [gzip.compress(record) for record in wet_records(TEXTS)]
    packed[2] = packed[2][:20] + b"\xff" * 20 + packed[2][40:]
    path = write_warc(tmp_path / "a.warc.gz", packed)
    assert texts_in(path) == TEXTS[:2]
    assert has_parts(problems_of(path)[0], "2 ", "damaged compressed stream")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_needs_little_memory(encoding: str, tmp_path: Path) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    body = pack(bytes(200 << 20))
    path = write_warc(
        tmp_path / "a.warc.gz",
        records_of([*PAGES[:1], Page("http://a/b", body, http=(("Content-Encoding", encoding),))], packed=True),
    )
    tracemalloc.start()
    assert texts_in(path) == ["The words of page 0."]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 << 20
    assert "64 MB" in problems_of(path)[0]


def test_a_file_that_unpacks_to_too_much_is_read_up_to_there() -> None:
    bomb = gzip.compress(headed("WARC-Type: conversion", content=bytes(30 << 20)))
    records = member_records(io.BytesIO(b"".join([*wet_records(TEXTS, packed=True), bomb])).read, 10 << 20)
    assert [next(records).number for _ in TEXTS] == [0, 1, 2, 3, 4]
    with pytest.raises(OSError, match="10 MB"):
        next(records)


def test_records_over_the_limit_are_problems_and_kept(tmp_path: Path) -> None:
    records = wet_records([TEXTS[0], "long words " * (6 << 20), TEXTS[1]])
    for path, data in ((tmp_path / "a.warc", b"".join(records)), (tmp_path / "b.warc.gz", members(records))):
        path.write_bytes(data)
        assert texts_in(path) == TEXTS[:2]
        [problem] = problems_of(path)
        assert has_parts(problem, "1 ", "64 MB")
        assert kept(path, tmp_path / path.stem, {"https://example.org/2"}).read_bytes().endswith(data[-300:])


def test_other_files_are_no_web_archives(tmp_path: Path) -> None:
    for name, data in (("a.warc", b"some words\n"), ("b.warc", b""), ("c.warc.gz", gzip.compress(b"words"))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(Exception, match="WARC") as error:
            opened(tmp_path / name)
        assert name in str(error.value)


@given(st.binary(max_size=300), st.integers(0, 400), st.booleans())
def test_changed_bytes_never_stop_the_reader(noise: bytes, place: int, packed: bool) -> None:
    whole = wet_records(TEXTS[:2])
    data = members(whole) if packed else b"".join(whole)
    changed = data[:place] + noise + data[place + len(noise) // 2 :]
    read = io.BytesIO(changed).read
    try:
        records = list(member_records(read, 1 << 20) if packed else stream_records(read))
    except OSError:
        return
    assert [record.number for record in records] == list(range(len(records)))
    assert all(record.start < record.end for record in records)
    assert all(a.end <= b.start for a, b in itertools.pairwise(records))
