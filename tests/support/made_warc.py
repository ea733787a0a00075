"""WARC files as warcio writes them, and damaged ones."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4


class Page(NamedTuple):
    """A captured page: the body as it is stored, its type, and further headers of HTTP and of WARC."""

    url: str | None
    body: bytes
    media_type: str = "text/html"
    http: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def page_of(url: str, text: str, **more: Any) -> Page:
    return Page(
        url, f"<html><head><title>T {url}</title></head><body><p>{text}</p></body></html>".encode(), **more
    )


def records_of(pages: Sequence[Page], *, packed: bool = False, requests: bool = True) -> list[bytes]:
    """The records of a crawl: warcinfo, then for each page a request and a response that refer to each other."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    parts = []
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed, warc_version="1.1")

    def add(kind: str, url: str | None, number: int, **more: Any) -> None:
        headers = {
            "WARC-Record-ID": f"<urn:uuid:{kind}-{number}>",
            "WARC-Date": f"2026-01-01T00:00:{number % 60:02}Z",
        }
        headers |= dict(more.pop("headers", ()))
        record = writer.create_warc_record(url, kind, warc_headers_dict=headers, **more)
        if url is None:
            record.rec_headers.remove_header("WARC-Target-URI")
        stream.seek(0)
        stream.truncate()
        writer.write_record(record)
        parts.append(stream.getvalue())

    add(
        "warcinfo",
        None,
        0,
        payload=io.BytesIO(b"software: tests\r\n"),
        warc_content_type="application/warc-fields",
    )
    for number, page in enumerate(pages):
        if requests:
            asked = StatusAndHeaders("/ HTTP/1.1", [("Host", "example.org")], protocol="GET")
            other = {"WARC-Concurrent-To": f"<urn:uuid:response-{number}>"}
            add("request", page.url, number, http_headers=asked, headers=other.items())
        http = StatusAndHeaders("200 OK", [("Content-Type", page.media_type), *page.http], protocol="HTTP/1.1")
        add(
            "response",
            page.url,
            number,
            payload=io.BytesIO(page.body),
            length=len(page.body),
            http_headers=http,
            headers=page.headers,
        )
    return parts


def wet_records(texts: Sequence[str], *, packed: bool = False) -> list[bytes]:
    """The conversions of pages to plain text, as Common Crawl publishes them."""
    from warcio.warcwriter import WARCWriter

    parts = []
    for number, text in enumerate(texts):
        stream = io.BytesIO()
        writer = WARCWriter(stream, gzip=packed, warc_version="1.0")
        headers = {
            "WARC-Record-ID": f"<urn:uuid:conversion-{number}>",
            "WARC-Date": "2026-01-01T00:00:00Z",
            "WARC-Identified-Content-Language": "eng" if number % 2 else "deu",
        }
        record = writer.create_warc_record(
            f"https://example.org/{number}",
            "conversion",
            payload=io.BytesIO(text.encode()),
            warc_content_type="text/plain",
            warc_headers_dict=headers,
        )
        writer.write_record(record)
        parts.append(stream.getvalue())
    return parts


def write_warc(path: Path, records: Sequence[bytes]) -> Path:
    path.write_bytes(b"".join(records))
    return path


def headed(*lines: str, content: bytes = b"", length: int | str | None = None) -> bytes:
    """A record by hand, with these header lines and this content, of another ``length`` if one is given."""
    said = len(content) if length is None else length
    head = "\r\n".join(("WARC/1.0", *lines, f"Content-Length: {said}"))
    return head.encode() + b"\r\n\r\n" + content + b"\r\n\r\n"


def members(records: Sequence[bytes]) -> bytes:
    """The records, each in a gzip member."""
    return b"".join(gzip.compress(record, mtime=0) for record in records)


def read_by_warcio(path: Path) -> list[tuple[str, str | None, bytes]]:
    """Type, address and content of each record as warcio reads them."""
    from warcio.archiveiterator import ArchiveIterator

    with open(path, "rb") as file:
        return [
            (one.rec_type, one.rec_headers.get_header("WARC-Target-URI"), one.content_stream().read())
            for one in ArchiveIterator(file)
        ]
