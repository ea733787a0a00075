"""Objects and files that are replaced while they are read: the rows are of one version, or the error says so."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from neardup.errors import InputError
from neardup.io.readers import open_documents
from neardup.io.storage.spool import SPOOL
from neardup.io.storage.systems import filesystem
from support import storage_servers
from support.messages import has_parts
from support.storage_servers import FileServer, serving

pytest.importorskip("aiohttp", reason="neardup[http] is not installed")

ROWS = 400


def rows(version: str, count: int = ROWS) -> list[dict[str, str]]:
    """Rows that name their version; those of versions of one length take as many bytes."""
    draw = random.Random(7)
    return [{"id": f"{number:06}", "text": f"{version} {draw.randbytes(2000).hex()}"} for number in range(count)]


def jsonl(version: str, count: int = ROWS) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows(version, count))


def csv(version: str, count: int = ROWS) -> bytes:
    return b"id,text\n" + b"".join(f"{row['id']},{row['text']}\n".encode() for row in rows(version, count))


def parquet(version: str, count: int = ROWS) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows(version, count)), sink, row_group_size=50, compression="none")
    return sink.getvalue()


def arrow(version: str, count: int = ROWS) -> bytes:
    sink, table = io.BytesIO(), pa.Table.from_pylist(rows(version, count))
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, 50)
    return sink.getvalue()


def zipped(version: str, count: int = ROWS) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for half in range(2):
            archive.writestr(f"{half}.jsonl", jsonl(version, count))
    return sink.getvalue()


class FormatCase(NamedTuple):
    """A format by the suffix of its files, and a function that makes the bytes of one."""

    suffix: str
    made: Callable[[str, int], bytes]


FORMATS = (
    FormatCase("jsonl", jsonl),
    FormatCase("csv", csv),
    FormatCase("parquet", parquet),
    FormatCase("arrow", arrow),
    FormatCase("jsonl.gz", lambda version, count: gzip.compress(jsonl(version, count), 0, mtime=0)),
    FormatCase("jsonl.zst", lambda version, count: pa.Codec("zstd").compress(jsonl(version, count), asbytes=True)),
    FormatCase("zip", zipped),
)


@cache
def content(suffix: str, how: str) -> bytes | None:
    """The bytes of the first version ("") or of the one that replaces it; None if the object vanishes."""
    made = next(case.made for case in FORMATS if case.suffix == suffix)
    first = made("alpha", ROWS)
    if how == "same size":
        names = ("bravo", *(f"b{letter}avo" for letter in "abcdefghijklmnopqstuvwxyz"))
        others = (made(name, ROWS) for name in names)
        return next((data for data in others if len(data) == len(first)), made("bravo", ROWS))
    sizes = {"": first, "other size": made("bravissimo", ROWS), "shorter": made("bravo", 40), "vanished": None}
    return sizes[how]


CHANGES = ("same size", "other size", "shorter", "vanished")


class Place(NamedTuple):
    """The name of an input, and a function that puts other bytes there, or removes it."""

    name: str
    put: Callable[[bytes | None], None]


def put_by(url: str) -> Callable[[bytes | None], None]:
    def put(data: bytes | None) -> None:
        system, path = filesystem(url)
        if data is None:
            system.rm_file(path)
            return
        with system.open(path, "wb") as file:
            file.write(data)

    return put


def local(name: str, folder: Path, _: pytest.MonkeyPatch) -> AbstractContextManager[Place]:
    path = folder / name

    def put(data: bytes | None) -> None:
        path.unlink(missing_ok=True)
        if data is not None:
            (folder / "new").write_bytes(data)
            os.replace(folder / "new", path)

    return nullcontext(Place(str(path), put))


def http(*told: str, ranges: bool = True, length: bool = True) -> Callable[..., AbstractContextManager[Place]]:
    @contextmanager
    def served(name: str, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Place]:
        patch.setenv("NEARDUP_NETWORK_SECONDS", "20")
        with serving(FileServer({}, told=told, ranges=ranges, length=length)) as server:

            def put(data: bytes | None) -> None:
                server.modified = f"Mon, 02 Mar 2026 10:00:0{len(server.files) % 10} GMT"
                server.files.pop(name, None)
                if data is not None:
                    server.files[name] = data

            yield Place(f"{server.url}/{name}", put)

    return served


def s3(name: str, folder: Path, patch: pytest.MonkeyPatch) -> AbstractContextManager[Place]:
    patch.setenv("AWS_ENDPOINT_URL", storage_servers.s3())
    for variable, value in storage_servers.S3_KEYS.items():
        patch.setenv(variable, value)
    return nullcontext(Place(url := f"s3://box/{folder.name}/{name}", put_by(url)))


def gs(name: str, folder: Path, patch: pytest.MonkeyPatch) -> AbstractContextManager[Place]:
    patch.setenv("STORAGE_EMULATOR_HOST", address := storage_servers.gcs())
    key = quote(f"{folder.name}/{name}", safe="")

    def put(data: bytes | None) -> None:
        """By a plain request: Arrow's client waits a second for ``100 Continue`` before each upload."""
        removed, sent = f"{address}/storage/v1/b/box/o/{key}", f"{address}/upload/storage/v1/b/box/o"
        to = removed if data is None else f"{sent}?uploadType=media&name={key}"
        method = "DELETE" if data is None else "POST"
        urlopen(Request(to, data, {"Content-Type": "text/plain"}, method=method), timeout=60).close()

    return nullcontext(Place(f"gs://box/{folder.name}/{name}", put))


def az(name: str, folder: Path, patch: pytest.MonkeyPatch) -> AbstractContextManager[Place]:
    patch.setenv("AZURE_STORAGE_CONNECTION_STRING", storage_servers.azure())
    return nullcontext(Place(url := f"az://box/{folder.name}/{name}", put_by(url)))


class SizedFiles(MemoryFileSystem):
    """A plugin that says nothing of a file but its size."""

    protocol = "sized"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return MemoryFileSystem._strip_protocol(path.replace("sized://", "memory://"))

    def info(self, path: str, **given: object) -> dict[str, object]:
        return {key: value for key, value in super().info(path, **given).items() if key != "created"}


def plugin(scheme: str) -> Callable[..., AbstractContextManager[Place]]:
    @contextmanager
    def served(name: str, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Place]:
        fsspec.register_implementation("sized", SizedFiles, clobber=True)
        MemoryFileSystem.store.clear()
        yield Place(url := f"{scheme}://box/{folder.name}/{name}", put_by(url))
        MemoryFileSystem.store.clear()

    return served


STORES: dict[str, Callable[[str, Path, pytest.MonkeyPatch], AbstractContextManager[Place]]] = {
    "local": local,
    "http, tags, If-Match": http("etag", "heeds"),
    "http, tags": http("etag"),
    "http, times": http("modified"),
    "http, nothing": http(),
    "http, tags, no ranges": http("etag", ranges=False),
    "http, nothing, no length": http(ranges=False, length=False),
    "s3": s3,
    "gs": gs,
    "az": az,
    "plugin": plugin("memory"),
    "plugin, nothing": plugin("sized"),
}
COPIES = ("http, nothing", "http, tags, no ranges", "http, nothing, no length", "plugin, nothing")
"""The whole is fetched from them, into a spool with room."""
MOMENTS = ("opened", "first chunk", "first pass")

CASES = [(store, case) for store in STORES for case in FORMATS if store == "local" or case.suffix != "zip"]
"""Archives at URLs are not opened."""


def versions(place: Place, moment: str, put: Callable[[], None]) -> set[str]:
    """Read an input twice, which changes at a moment; return the versions of the rows."""
    documents = open_documents(place.name, chunk_bytes=64 << 10)
    documents.require("text", "id")
    if moment == "opened":
        put()
    seen: set[str] = set()
    for turn in range(2):
        count = 0
        for number, chunk in enumerate(documents.chunks(None, ["text"])):
            read = chunk.read(["text"])
            assert not read.problems, read.problems
            texts = [bytes(text) for text in read.table["text"].cast(pa.large_binary()).to_pylist()]
            seen |= {text.split()[0].decode() for text in texts}
            count += len(texts)
            if (turn, number, moment) == (0, 0, "first chunk"):
                put()
        assert count in (ROWS, 2 * ROWS) or count == 40 or count == 80, count
        if (turn, moment) == (0, "first pass"):
            put()
    return seen


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize(("store", "case"), CASES, ids=lambda part: getattr(part, "suffix", part))
def test_rows_of_one_version_or_the_error(
    store: str, how: str, case: FormatCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, errors = SPOOL._most, []
    for moment in MOMENTS:
        folder = tmp_path / f"{moment} {how}".replace(" ", "-")
        folder.mkdir()
        with STORES[store](f"a.{case.suffix}", folder, monkeypatch) as place:
            place.put(content(case.suffix, ""))
            SPOOL._most = None if store in COPIES else 0  # no byte is kept, so that each is asked for again
            try:
                seen = versions(place, moment, lambda put=place.put: put(content(case.suffix, how)))
            except InputError as error:
                errors.append(str(error))
            else:
                assert len(seen) == 1, seen
            finally:
                SPOOL._most = room
    assert all(has_parts(error, f"a.{case.suffix}", "changed while", "was read") for error in errors), errors
    assert errors or store in COPIES
