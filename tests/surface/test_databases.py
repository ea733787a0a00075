"""Documents that a query returns: of SQLite and DuckDB in files of their programs, and of a PostgreSQL server."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from support import postgres_server
from support.command_line import Run
from support.messages import has_parts

BASE = "the quick brown fox jumps over the lazy dog and runs far away from the old grey house"
ROWS = [(f"d{n}", f"{BASE} number {n % 7} of them", n) for n in range(60)]
QUERY = "SELECT id, body, n FROM letters ORDER BY n"


def _sqlite(folder: Path) -> str:
    pytest.importorskip("adbc_driver_sqlite", reason="neardup[sql] is not installed")
    with sqlite3.connect(folder / "a.db") as connection:
        connection.execute("CREATE TABLE letters (id TEXT, body TEXT, n INTEGER)")
        connection.executemany("INSERT INTO letters VALUES (?, ?, ?)", ROWS)
    connection.close()
    return str(folder / "a.db")


def _duckdb(folder: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(folder / "a.duckdb")
    connection.execute("CREATE TABLE letters (id TEXT, body TEXT, n INTEGER)")
    connection.executemany("INSERT INTO letters VALUES (?, ?, ?)", ROWS)
    connection.close()
    return str(folder / "a.duckdb")


def _postgresql(folder: Path) -> str:
    pytest.importorskip("adbc_driver_postgresql", reason="neardup[sql] is not installed")
    if postgres_server.missing():
        pytest.skip(postgres_server.missing())
    import psycopg

    server = postgres_server.server()
    url = f"postgresql://{postgres_server.USER}:pass-of-the-test@/postgres?host={server.folder}"
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS letters")
        connection.execute(
            "CREATE TABLE letters (id TEXT, body TEXT, n INTEGER, more JSONB DEFAULT '{}', x NUMERIC)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO letters VALUES (%s, %s, %s)", ROWS)
    return url


@pytest.fixture(params=[_sqlite, _duckdb, _postgresql])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    made: Callable[[Path], str] = request.param
    return made(tmp_path)


def test_the_rows_that_stay_are_those_of_a_table(database: str) -> None:
    table = pa.table([list(column) for column in zip(*ROWS, strict=True)], names=["id", "body", "n"])
    expected = nd.dedup(table, text="body", id="id")
    got = nd.dedup(database, query=QUERY, text="body", id="id")
    assert pa.table(got).to_pylist() == expected.to_pylist()
    every = nd.find(database, query="SELECT * FROM letters", text="body", id="id")
    assert every.run.counts.removed == len(ROWS) - len(expected) > 0


def test_a_result_has_parquet_and_no_password(database: str, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--query", QUERY, "--text", "body", "--id", "id", "-o", out, "--json"]
    result = run("dedup", database, *words)
    assert result.status == 0, result.err
    kept = pq.read_table(out / "kept.parquet")
    assert kept.column_names[:3] == ["id", "body", "n"]
    assert kept.num_rows == json.loads(result.out)["counts"]["kept"]
    assert b"pass-of-the-test" not in b"".join(file.read_bytes() for file in out.iterdir())
    assert run("show", out, "d7").status == 0
    assert run("compare", out, "d0", "d7").status == 0


@pytest.mark.parametrize("query", ["DELETE FROM letters", "SELECT nothing FROM nowhere", "SELECT 1 AS one", ";"])
def test_no_query_writes_and_each_failure_is_an_error_in_words(database: str, query: str) -> None:
    with pytest.raises(nd.InputError) as caught:
        nd.find(database, query=query)
    assert "pass-of-the-test" not in str(caught.value)
    assert nd.find(database, query=QUERY, text="body").run.counts.read == len(ROWS)


def test_a_database_needs_a_query_and_a_query_a_database(database: str, run: Run, tmp_path: Path) -> None:
    result = run("dedup", database, "--dry-run")
    assert (result.status, "--query" in result.err, "pass-of-the-test" in result.err) == (2, True, False)
    (tmp_path / "a.jsonl").write_text('{"text": "a b c"}\n')
    assert run("dedup", tmp_path / "a.jsonl", "--query", QUERY, "--dry-run").status == 2
    words = ["--query", QUERY, "--text", "body", "-o", tmp_path / "out"]
    assert run("dedup", database, *words, "--resume").status == 2
    against = run("dedup", database, "--against", tmp_path / "a.jsonl", "--against-text", "text", *words)
    assert against.status == 0, against.err


def test_a_column_of_sqlite_with_several_types_is_named_with_a_query(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite", reason="neardup[sql] is not installed")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE letters (id, body)")
        rows = [(number, f"{BASE} {number}") for number in range(5000)]
        connection.executemany("INSERT INTO letters VALUES (?, ?)", [*rows, ("last", BASE)])
    connection.close()
    said = run("dedup", tmp_path / "a.db", "--query", "SELECT id, body FROM letters", "--dry-run")
    assert said.status == 2
    assert has_parts(said.err, 'the column "id"', "whole numbers", "text")
    cast = said.err.partition("SELECT ")[2].partition(", …")[0]
    done = run("dedup", tmp_path / "a.db", "--query", f"SELECT {cast}, body FROM letters", "--dry-run", "--quiet")
    assert (done.status, done.out.startswith("5,001 documents")) == (0, True), done.err


def test_types_of_duckdb_that_become_others_are_noted(run: Run, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(tmp_path / "a.duckdb")
    columns = "uuid() AS u, '101'::BIT AS b, 1::HUGEINT AS h, '10:00:00+01'::TIMETZ AS z, '[1]'::JSON AS j"
    connection.execute(f"CREATE TABLE letters AS SELECT '{BASE}' AS body, 1 AS n, {columns}")
    connection.close()
    said = run("dedup", tmp_path / "a.duckdb", "--query", "FROM letters", "--text", "body", "-o", tmp_path / "out")
    notes = [line for line in said.out.splitlines() if "has the type" in line]
    assert [line.split('"')[1] for line in notes] == ["u", "b", "h", "z", "j"]
    kept = pq.read_schema(tmp_path / "out" / "kept.parquet")
    assert [str(kept.field(name).type) for name in "ubhz"] == [
        "string",
        "binary",
        "decimal128(38, 0)",
        "time64[us]",
    ]
