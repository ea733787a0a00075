"""What only a store in PostgreSQL must do: answer as SQLite does, share a database, and survive its server."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection, Near
from neardup.collection.contract import StoreUnavailableError
from neardup.collection.store import is_there
from neardup.errors import FormatError, InputError, OutputError
from neardup.io.place import DatabaseURL, place_of
from support.command_line import exit_status
from support.postgres_server import Server, missing, programs, server, url_for

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

ODD_IDS = ["a\0b", "a", "a\1", "a\1\1", "ä", "\U0001f600", "", "Z", "'; DROP TABLE documents; --", "%s", "1"]
VALUES: list[Any] = [
    1, 1.0, True, "1", 2**53, 2**53 + 1, float(2**53), 2**70, -(2**63), 1e-320, -0.0, "x\0y", "x", None
]  # fmt: skip
QUERIES = [
    "harbour",
    "harbour AND NOT office",
    '"the harbour office"',
    "n>=1",
    "n=1",
    "n!=1",
    'n="x"',
    "n<9007199254740993",
    "tag:a OR harbour",
    "tag:hot",
    "tag!=hot AND NOT tag:x",
    "tag>=b OR tag<A",
    "FINGERPRINT:d3_20_100 AND tag:hot",
    "FINGERPRINT:d3_20_100",
    "FINGERPRINT:d7_1_100 AND harbour",
    "SIMILAR:d3_30",
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return url_for(tmp_path)


def sql(url: str, *statements: str) -> list[Any]:
    """Run statements in the schema of a collection, as another program; the rows of the last."""
    import psycopg

    place = DatabaseURL.of(url)
    with psycopg.connect(**place.options, autocommit=True) as connection:  # type: ignore[arg-type]
        connection.execute(f'SET search_path = "{place.schema}"')  # type: ignore[call-overload]
        for statement in statements:
            done = connection.execute(statement)  # type: ignore[call-overload]
        return list(done.fetchall()) if done.description else []


def documents(count: int) -> list[dict[str, Any]]:
    draw = random.Random(5)
    words = "the harbour office is closed on friday because of a storm letter ship mail grün 東京".split()  # noqa: SIM905
    rows = []
    for k in range(count):
        text = " ".join(draw.choices(words, k=draw.randrange(1, 40)))
        if k > 3 and k % 3 == 0:
            text = f"{rows[k - 3]['text']} {text[:30]}"
        metadata = {"n": VALUES[k % len(VALUES)], "tag": ["a", "b"][: k % 3]}
        rows.append({"id": f"d{k}", "text": text, "metadata": metadata})
    return rows


def answers(collection: Collection) -> list[Any]:
    """Everything that a user sees of a collection."""
    found: list[Any] = [list(collection), len(collection), collection.check()]
    for query in QUERIES:
        after: str | None = None
        while True:
            page = collection.search(query, limit=7, after=after)
            found.append((query, page.found, [hit.as_dict() for hit in page.hits]))
            after = page.next
            if after is None:
                break
    groups = [
        (group.id, group.representative, [one.id for one in group.members]) for group in collection.groups().groups
    ]
    return [*found, groups, [one.as_dict() for one in collection.list(limit=1000).documents]]


def test_its_answers_are_those_of_sqlite(tmp_path: Path, url: str) -> None:
    results = []
    for place in (tmp_path / "a.neardup", url):
        with Collection(place, scale=2) as collection:
            collection.add(documents(60), near=Near(0.5, recall=1), on_near="link")
            collection.add([{"id": id, "text": f"letter {k}"} for k, id in enumerate(ODD_IDS) if id])
            collection.remove(["d4", "d6", "a\1"])
            collection.put("d9", "the harbour office is open again on friday and so is the mail")
            collection.update_metadata("d8", {"n": 1, "tag": ["c"]})
            collection.decide("d3", "d12", "not alike")
            collection.tag("hot", query="tag:a", by="ann")
            collection.tag("x\u00e4", ["d1", "d3", "d40"])
            collection.tag("hot", ["d1"], on=False)
            with contextlib.suppress(RuntimeError), collection.together():
                collection.put("lost", "the harbour")
                raise RuntimeError
            results.append(answers(collection))
            collection.compact()
            assert answers(collection) == results[-1]
    assert results[0] == results[1]


def test_collections_share_a_database_with_other_tables(url: str, tmp_path: Path) -> None:
    other = url_for(tmp_path / "other")
    sql(url, "CREATE TABLE IF NOT EXISTS public.theirs (a int)", "INSERT INTO public.theirs VALUES (1)")
    with Collection(url) as one, Collection(other) as two:
        one.put("a", "the harbour office")
        two.put("b", "pay by friday")
        assert (list(one), list(two)) == (["a"], ["b"])
    assert sql(url, "SELECT count(*) > 0 FROM public.theirs") == [(True,)]
    assert is_there(place_of(url))
    assert not is_there(place_of(url_for(tmp_path / "absent")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("CREATE TABLE more (a int)", "'more"),
        ("DROP TABLE facts", "'facts"),
        ("ALTER TABLE texts ALTER COLUMN packed TYPE text USING ''", "texts.packed"),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
            "CREATE TRIGGER t BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION f()",
            "'t'",
        ),
        ("CREATE RULE r AS ON INSERT TO documents DO INSTEAD NOTHING", "'r'"),
        ("UPDATE header SET value = 'x' WHERE key = 'settings'", "header was changed"),
    ],
)
def test_a_changed_schema_is_refused(url: str, change: str, message: str) -> None:
    Collection(url).close()
    sql(url, change)
    with pytest.raises(FormatError, match=message):
        Collection(url)


@pytest.mark.parametrize("table", ["header (key text, value text)", "header (a int)", "mine (a int)"])
def test_a_schema_of_another_program_is_refused_and_not_touched(url: str, table: str) -> None:
    sql(url, f"CREATE SCHEMA {DatabaseURL.of(url).schema}", f"CREATE TABLE {table}")
    with pytest.raises(FormatError):
        Collection(url)
    assert sql(url, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace") == [(1,)]


def test_damage_is_found(url: str) -> None:
    with Collection(url) as collection:
        collection.add(documents(20))
        sql(url, "UPDATE documents SET tokens = tokens + 1 WHERE number = 3")
        assert any("d2" in fault for fault in collection.check())
        sql(url, "UPDATE documents SET tokens = tokens - 1 WHERE number = 3", "DELETE FROM word_postings")
        assert any(fault.startswith("words: ") for fault in collection.check())


def test_an_earlier_version_is_converted_on_request(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.collection.store import postgres

    with Collection(url) as collection:
        collection.put("a", "the harbour office")
    sql(url, "UPDATE header SET value = '7' WHERE key = 'format'")
    for upgrade in (False, True, False):  # a later version keeps its number
        with pytest.raises(FormatError):
            Collection(url, upgrade=upgrade)
    sql(url, "UPDATE header SET value = '0' WHERE key = 'format'")
    with pytest.raises(FormatError):
        Collection(url, upgrade=True)
    monkeypatch.setitem(postgres.STEPS, 0, lambda tables: tables.run("UPDATE keys SET name = name"))  # type: ignore[arg-type]
    with Collection(url, upgrade=True) as collection:
        assert list(collection) == ["a"]
    with Collection(url) as collection:
        collection.put("b", "another")


def test_a_user_without_rights_is_told_what_to_grant(url: str) -> None:
    with Collection(url) as collection:
        collection.put("a", "the harbour office")
    schema = DatabaseURL.of(url).schema
    sql(url, f"DROP ROLE IF EXISTS guest_{schema}", f"CREATE ROLE guest_{schema} LOGIN")
    guest = url.replace("neardup@", f"guest_{schema}@")
    with pytest.raises(StoreUnavailableError, match="permission denied for schema"):
        Collection(guest)
    sql(url, f"GRANT USAGE ON SCHEMA {schema} TO guest_{schema}")
    with pytest.raises(StoreUnavailableError):
        Collection(guest, readonly=True)
    sql(url, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest_{schema}")
    with Collection(guest, readonly=True) as collection:
        assert collection.search("harbour").found == 1


def test_a_server_that_is_too_old_is_named_with_the_versions_that_do(tmp_path: Path) -> None:
    """The server of the test greets as version 12 does; it is asked nothing."""
    messages = (b"R", b"\0\0\0\0"), (b"S", b"server_version\x0012.22 (Debian)\0"), (b"Z", b"I")
    greeting = b"".join(kind + struct.pack(">i", len(body) + 4) + body for kind, body in messages)
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            for _ in range(2):
                with listening.accept()[0] as connection:
                    connection.recv(1024)
                    connection.sendall(greeting)
                    asked.append(connection.recv(1024))

        server_thread = threading.Thread(target=greet, daemon=True)
        server_thread.start()
        url = f"postgresql://ann@127.0.0.1:{listening.getsockname()[1]}/mails?sslmode=disable&gssencmode=disable"
        with pytest.raises(StoreUnavailableError, match=r"12\.22.*13 or later.*pg_upgrade"):
            Collection(url)
        assert exit_status("collection", "search", url, "harbour") == 2
        server_thread.join()
    assert all(one[:1] in (b"", b"X") for one in asked)  # X: the end of the session


def test_a_password_is_in_no_message(tmp_path: Path) -> None:
    secret = "tops3cret"
    places = [
        f"postgresql://ann:{secret}@127.0.0.1:1/db?connect_timeout=2",
        f"postgresql://ann@127.0.0.1:1/db?password={secret}&connect_timeout=2",
        f"postgresql://ann:{secret}@host:port/db",
        f"postgresql://ann:{secret}@h/db?schema=No",
        f"postgresql://ann:{secret}@h/db?nothing={secret}",
        f"postgresql://ann:{secret}@h/db?{secret}",
        f"postgres://ann:{secret}%zz@127.0.0.1:1/?connect_timeout=2",
    ]
    for place in places:
        with pytest.raises((InputError, StoreUnavailableError)) as raised:
            Collection(place)
        error: BaseException | None = raised.value
        while error is not None:
            assert secret not in f"{error} {error!r}"
            error = error.__cause__


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("postgresql://ann:x@db:5433/mails?schema=a_1", "postgresql://ann@db:5433/mails?schema=a_1"),
        ("postgres://db/mails", "postgresql://db/mails"),
        ("postgresql:/db/mails", "postgresql://db/mails"),
        ("postgresql://[::1]/mails?sslmode=require", "postgresql://[::1]/mails?sslmode=require"),
        ("postgresql:///mails?host=/run/pg", "postgresql:///mails?host=/run/pg"),
    ],
)
def test_a_url_is_shown_as_one_that_opens_the_same(place: str, shown: str) -> None:
    read = DatabaseURL.of(place)
    assert str(read) == shown
    again = DatabaseURL.of(shown)
    assert {**read.options, "password": ""} == {**again.options, "password": ""}
    assert (again.schema, again.connections) == (read.schema, read.connections)


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that the test may kill."""
    made = Server()
    yield made
    made.remove()


def test_a_killed_server_loses_no_acknowledged_document(own_server: Server) -> None:
    url = own_server.url("kills")
    acknowledged: list[str] = []
    stop = threading.Event()
    others: list[BaseException] = []

    with Collection(url, wait=2) as collection:
        collection.put("first", "the harbour office is closed")

        def write() -> None:
            for k in range(100_000):
                if stop.is_set():
                    return
                try:
                    collection.put(f"d{k}", f"the harbour office is closed on day {k}")
                    acknowledged.append(f"d{k}")
                except OutputError as error:  # StoreUnavailableError is one
                    others.append(error)
                    stop.wait(0.05)

        writing = threading.Thread(target=write, daemon=True)
        writing.start()
        try:
            for _ in range(2):
                before = len(acknowledged)
                while len(acknowledged) < before + 5:
                    assert writing.is_alive()
                    stop.wait(0.01)
                own_server.kill()
                with pytest.raises(StoreUnavailableError):
                    collection.search("harbour")
                own_server.start()
                assert len(collection.search("harbour", limit=100).hits) >= min(100, before)
        finally:
            stop.set()
            writing.join()
        assert others
        assert set(collection).issuperset(acknowledged)
        assert collection.check() == []


def test_connections_that_the_server_ends_are_replaced(url: str) -> None:
    with Collection(url) as collection:
        collection.put("a", "the harbour office")
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'neardup'"
        sql(url, end)
        assert collection.search("harbour").found == 1
        sql(url, end)
        collection.put("b", "the harbour")
        assert list(collection) == ["a", "b"]
        with collection.view() as view:
            assert len(view.having(["harbour"])) == 2
            sql(url, end)
            with pytest.raises(StoreUnavailableError):
                view.having(["office"])
        assert list(collection) == ["a", "b"]


def test_a_server_that_only_reads_is_searched(url: str) -> None:
    with Collection(url) as collection:
        collection.put("a", "the harbour office")
    reading = f"{url}&options=-cdefault_transaction_read_only%3Don"
    with Collection(reading, readonly=True) as collection:
        assert collection.search("harbour").found == 1
    with Collection(reading) as collection, pytest.raises(OutputError, match="replica"):
        collection.put("b", "more")


@pytest.mark.parametrize("what", ["documents", "kept", "groups", "decisions", "tags"])
def test_an_export_is_that_of_a_file(what: str, url: str, tmp_path: Path) -> None:
    written = []
    for number, place in enumerate((url, str(tmp_path / "mail.neardup"))):
        with Collection(place) as collection:
            collection.add(documents(30), near=0.5, on_near="link")
            collection.decide("d3", "d7", "keep both", by="ann")
            assert collection.tag("hot é", "d1", query="harbour", by="ann") is not None
            assert collection.tag("cold", ["d1", "d2"], on=True) is not None
            assert collection.undo("ann") is not None
            assert collection.tag("hot", ["d2"], group=collection.groups().groups[0].id) is not None
            assert collection.check() == []
        out = tmp_path / f"{number}.jsonl"
        assert exit_status("export", place, "-o", out, "--what", what) == 0
        written.append(re.sub(r'"at":"[^"]*"', "", out.read_text(encoding="utf-8")))
    assert written[0] == written[1] != ""


def test_a_dump_is_a_backup(url: str, tmp_path: Path) -> None:
    with Collection(url) as collection:
        collection.add(documents(30), near=0.5, on_near="link")
        before = answers(collection)
    place, folder = DatabaseURL.of(url), programs()
    assert folder is not None
    where = ["-h", place.options["host"], "-U", place.options["user"]]
    dump = tmp_path / "copy.dump"
    subprocess.run([folder / "pg_dump", *where, "-n", place.schema, "-Fc", "-f", dump, "postgres"], check=True)
    database = f"restored{os.getpid()}"
    subprocess.run([folder / "createdb", *where, database], check=True)
    subprocess.run([folder / "pg_restore", *where, "-d", database, dump], check=True)
    with Collection(server().url(place.schema, database)) as restored:
        assert answers(restored) == before
        restored.put("new", "the harbour office again")


def test_without_the_package_the_way_out_is_named(url: str) -> None:
    program = f"import sys; sys.modules['psycopg'] = None; import neardup; neardup.Collection({url!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert re.search(r"InputError: .*psycopg.*\[postgres\]", done.stderr)
