"""The second table of docs/reference/inputs.md, cell by cell: URLs and databases of real servers and programs."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import postgres_server, storage_servers
from support.command_line import Run, run_json
from support.storage_servers import FileServer, Relay, put_object, relaying, serving

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "inputs.md"
COLUMNS = (
    "read",
    "kept in its own form",
    "looked at later",
    "bytes fetched by `dedup`",
    "by `group --no-store-texts`",
)
DRAW = random.Random(11)
WORDS = [f"word{number}" for number in range(900)]
BASES = [" ".join(DRAW.choices(WORDS, k=60)) for _ in range(2000)]
TEXTS = [*BASES, *(f"{text} again" for text in BASES[:200])]
TABLE = pa.table(
    {
        "id": [f"r{number}" for number in range(len(TEXTS))],
        "text": TEXTS,
        "other": [DRAW.randbytes(500).hex() for _ in TEXTS],
    }
)


class Served(NamedTuple):
    """An input of a server or of a database: its name, and the bytes that were sent of it so far."""

    words: list[str]
    sent: Callable[[], int]
    size: int


def content(name: str) -> bytes:
    if name.endswith(".parquet"):
        sink = pa.BufferOutputStream()
        pq.write_table(TABLE, sink, row_group_size=500, use_dictionary=["id"])
        return bytes(sink.getvalue())
    return b"".join(json.dumps(row).encode() + b"\n" for row in TABLE.to_pylist())


def s3(name: str) -> Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Served]]:
    @contextmanager
    def served(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
        for variable, value in storage_servers.S3_KEYS.items():
            patch.setenv(variable, value)
        with relaying(Relay(storage_servers.s3())) as relay:
            patch.setenv("AWS_ENDPOINT_URL", relay.url)
            key, data = f"{folder.name}/{name}", content(name)
            put_object(f"s3://box/{key}", data)
            relay.sent.clear()
            yield Served([f"s3://box/{key}"], lambda: relay.sent.pop(f"/box/{key}", 0), len(data))

    return served


@contextmanager
def gcs(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
    patch.setenv("STORAGE_EMULATOR_HOST", storage_servers.gcs())
    data = content("a.jsonl")
    put_object(f"gs://box/{folder.name}/in/a.jsonl", data)
    yield Served([f"gs://box/{folder.name}/in"], lambda: -1, len(data))


@contextmanager
def azure(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
    patch.setenv("AZURE_STORAGE_CONNECTION_STRING", storage_servers.azure())
    data = content("a.parquet")
    put_object(f"az://box/{folder.name}/in/a.parquet", data)
    yield Served([f"az://box/{folder.name}/in"], lambda: -1, len(data))


def http(name: str, *, ranges: bool) -> Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Served]]:
    @contextmanager
    def served(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
        data = content(name)
        with serving(FileServer({name: data}, ranges=ranges)) as server:

            def sent() -> int:
                before, server.sent[name] = server.sent[name], 0
                return before

            yield Served([f"{server.url}/{name}"], sent, len(data))

    return served


def database(made: Callable[[Path], str]) -> Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Served]]:
    @contextmanager
    def served(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Served]:
        yield Served([made(folder), "--query", "SELECT * FROM letters ORDER BY id"], lambda: -1, 1)

    return served


def sqlite_file(folder: Path) -> str:
    pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is not installed")
    connection = sqlite3.connect(folder / "a.db")
    with connection:
        connection.execute("CREATE TABLE letters (id TEXT, text TEXT, other TEXT)")
        connection.executemany(
            "INSERT INTO letters VALUES (?, ?, ?)", zip(*TABLE.to_pydict().values(), strict=True)
        )
    connection.close()
    return str(folder / "a.db")


def duckdb_file(folder: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(folder / "a.duckdb")
    connection.register("rows", TABLE)
    connection.execute("CREATE TABLE letters AS SELECT * FROM rows")
    connection.close()
    return str(folder / "a.duckdb")


def postgresql(folder: Path) -> str:
    pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
    if postgres_server.missing():
        pytest.skip(postgres_server.missing())
    import psycopg

    url = f"postgresql://{postgres_server.USER}@/postgres?host={postgres_server.server().folder}"
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS letters")
        cursor.execute("CREATE TABLE letters (id TEXT, text TEXT, other TEXT)")
        with cursor.copy("COPY letters FROM STDIN") as copy:
            for row in zip(*TABLE.to_pydict().values(), strict=True):
                copy.write_row(row)
    return url


PLACES = {
    "a.parquet at s3://, moto": s3("a.parquet"),
    "a.jsonl at s3://, moto": s3("a.jsonl"),
    "a folder at gs://, gcp-storage-emulator": gcs,
    "a folder at az://, azurite": azure,
    "a.parquet at http:// with ranges": http("a.parquet", ranges=True),
    "a.jsonl at http:// with ranges": http("a.jsonl", ranges=True),
    "a.parquet at http:// without ranges": http("a.parquet", ranges=False),
    "a.jsonl at http:// without ranges": http("a.jsonl", ranges=False),
    "PostgreSQL, rows of psycopg": database(postgresql),
    "a.db of sqlite3": database(sqlite_file),
    "a.duckdb of DuckDB": database(duckdb_file),
}


def matrix() -> dict[str, list[str]]:
    """The cells of the table, by row."""
    section = PAGE.read_text(encoding="utf-8").split("\n## ")[1]
    rows = [
        [cell.strip() for cell in line.split("|")] for line in re.findall(r"^\| (.+) \|$", section, re.MULTILINE)
    ]
    assert rows[0][1:] == list(COLUMNS)
    return {row[0].replace("`", ""): row[1:] for row in rows[1:]}


def test_the_page_has_all_places() -> None:
    assert list(matrix()) == list(PLACES)


@pytest.mark.parametrize("name", PLACES)
def test_places_are_read_once(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = matrix()[name]
    with PLACES[name](tmp_path, monkeypatch) as served:
        out, fetched = tmp_path / "out", []
        for command in ("dedup", "group"):
            served.sent()
            more = ["--no-store-texts"] if command == "group" else []
            result = run(command, *served.words, "--id", "id", "-o", out / command, *more)
            assert (cells[0], result.status) == ("yes", 0), result.err
            counts = run_json(out / command)["counts"]
            assert (counts["read"], counts["removed"]) == (2200, 200 if command == "dedup" else 0)
            sent = served.sent()
            fetched.append("–" if sent < 0 else f"{sent / served.size:.1f} times")
    [kept] = (out / "dedup").glob("kept*")
    own = kept.suffix == Path(served.words[0]).suffix or "folder" in name
    assert cells[1] == ("yes" if own else "no: Parquet")
    assert (cells[2], run("show", out / "dedup", "r0").status) == ("yes", 0)
    assert cells[3:] == fetched
