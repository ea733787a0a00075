"""Files that are no collections, of other versions, damaged, full; and processes that are killed."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.collection import Collection
from neardup.collection.store import file, header, remove_untouched, schema
from neardup.collection.store.segments import SegmentWriting, postings_of
from neardup.collection.store.sqlite_tables import SqliteTables
from neardup.errors import FormatError, InputError, OutputError
from neardup.tables import UInt64s
from support.messages import has_parts

TEXTS = {f"id {place}": f"text {place} with some words of its own, word{place} among them" for place in range(40)}


def table(texts: dict[str, str]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values())})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "made.neardup"
    with Collection(made, scale=2) as collection:
        collection.add(table(TEXTS).append_column("year", [list(range(len(TEXTS)))]), metadata=["year"])
    return made


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    change(foreign, "CREATE TABLE t (x)")
    files = {
        "a text": b"some text\n" * 100,
        "empty": b"",
        "short": b"SQLite",
        "magic": b"SQLite format 3\0" + b"\0" * 84,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for name in (*files, "foreign.db"):
        before = (tmp_path / name).read_bytes()
        for readonly in (False, True):
            with pytest.raises(FormatError, match="not a neardup collection"):
                Collection(tmp_path / name, readonly=readonly)
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("version", [1, schema.WITH_BASE_TEXTS + 1])
def test_another_version_is_refused(path: Path, version: int) -> None:
    change(path, f"PRAGMA user_version = {version}")
    for upgrade in (False, True):
        with pytest.raises(
            FormatError, match=rf"version {version}\..*reads and writes version {schema.FORMAT_VERSION}"
        ):
            Collection(path, upgrade=upgrade)


@pytest.mark.parametrize("key", ["unicode", "fingerprint"])
def test_other_fingerprints_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    other = {"unicode": ("UNICODE_VERSION", "16.0.0"), "fingerprint": ("FINGERPRINT_VERSION", 3)}[key]
    monkeypatch.setattr(header, *other)
    with pytest.raises(FormatError, match=r"version 2 and Unicode 15\.0\.0"):
        Collection(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM texts; END",
        "CREATE VIEW v AS SELECT * FROM texts",
        "CREATE TABLE t (x)",
        "DROP TABLE facts",
        "ALTER TABLE documents ADD COLUMN x",
        "UPDATE header SET value = '{\"scale\": 3}' WHERE key = 'settings'",
        "DELETE FROM header",
    ],
)
def test_other_tables_are_refused(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(
        FormatError, match=r"is damaged: its (tables are not those of a collection|header was changed)"
    ):
        Collection(path)


def test_an_older_version_is_brought_up_step_by_step(path: Path) -> None:
    """Two earlier versions made up for the test: the tables of now are those with base texts."""
    now = schema.WITH_BASE_TEXTS
    change(path, "ALTER TABLE keys RENAME COLUMN name TO older", f"PRAGMA user_version = {now - 2}")
    done: list[int] = []

    def first(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE keys RENAME COLUMN older TO old")
        done.append(1)

    def second(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE keys RENAME COLUMN old TO name")
        schema.make_base_texts(connection)
        done.append(2)

    steps: dict[int, Callable[[sqlite3.Connection], None]] = {now - 2: first, now - 1: second}
    with pytest.raises(
        FormatError,
        match=rf"format version {now - 2}\. Allowed: .* version {now}\. Try: Make a copy .* compact --upgrade",
    ):
        file.require_current(now - 2, "x", steps, now)
    with pytest.raises(FormatError):
        file.require_current(now - 2, "x", {now - 1: second}, now)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        file.migrate(connection, "x", steps, now)
        assert connection.execute("PRAGMA user_version").fetchone() == (now,)
        assert schema.foreign_objects(connection) == []
        assert done == [1, 2]
        file.migrate(connection, "x", steps, now)
        assert done == [1, 2], "a current file is not touched"


def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    def first(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE keys RENAME COLUMN name TO other")

    def second(connection: sqlite3.Connection) -> None:
        raise RuntimeError("no")

    change(path, "PRAGMA user_version = 1")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(RuntimeError):
            file.migrate(connection, "x", {1: first, 2: second}, 3)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert schema.foreign_objects(connection) == []
    with pytest.raises(FormatError):
        file.require_current(1, "x", {}, 2)


@pytest.mark.parametrize("secret", [None, "", "00", "zz" * 32])
def test_a_collection_whose_secret_is_lost_is_damaged(path: Path, secret: str | None) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        header = dict(connection.execute("SELECT key, value FROM header WHERE key NOT IN ('seal', 'log')"))
        del header["secret"]
        header |= {} if secret is None else {"secret": secret}
        connection.execute("DELETE FROM header")
        header["seal"] = str(schema.seal(sorted(header.items())))
        connection.executemany("INSERT INTO header VALUES (?, ?)", header.items())
    with pytest.raises(FormatError):
        Collection(path)


def test_upgrading_a_current_file_opens_it(path: Path) -> None:
    with Collection(path, upgrade=True) as collection:
        assert len(collection) == len(TEXTS)


def test_what_was_derived_is_checked_against_the_texts(path: Path) -> None:
    wrong = {
        "DELETE FROM postings": "segment 1 of the posting lists is not as it was written",
        "DELETE FROM segments": "there are posting lists of no segment",
        "UPDATE segments SET last = 3": "a row of its posting lists was changed",
        "UPDATE postings SET data = ZEROBLOB(LENGTH(data))": "a block of its posting lists was changed",
        "UPDATE postings SET data = x''": "a block of its posting lists was changed",
        "UPDATE postings SET data = 'x'": "a stored value differs from the written one",
        "UPDATE postings SET block = block + 16777216": "segment 1 of the posting lists is not as it was written",
        "INSERT INTO terms (rowid, tokens) VALUES (50, 'word3')": "The words of the full-text index do not match",
        "INSERT INTO terms (terms) VALUES ('delete-all')": "The words of the full-text index do not match",
        "DELETE FROM texts WHERE number = 5": "documents lack their row or their text",
        "UPDATE documents SET tokens = 1 WHERE number = 2": "the row of document 'id 1' was changed",
        "UPDATE totals SET documents = 41": "its totals were changed",
        "UPDATE facts SET value = 99 WHERE document = 4": "The facts of the metadata do not match",
        "DELETE FROM facts WHERE document = 4": "The facts of the metadata do not match",
        "UPDATE keys SET name = 'yeer'": "The facts of the metadata do not match",
        "DELETE FROM keys": "The facts of the metadata do not match",
        "UPDATE documents SET id = x'00' WHERE number = 2": "an id is not text",
        "UPDATE documents SET shingles = 'x' WHERE number = 2": "the row of document 'id 1' was changed",
        "UPDATE totals SET seal = 'x'": "its totals were changed",
        "INSERT INTO terms (rowid, tokens) VALUES (7, 'twice')": "The words of the full-text index do not match",
    }
    data = path.read_bytes()
    for statement, says in wrong.items():
        path.write_bytes(data)
        change(path, statement)
        with Collection(path) as collection:
            assert says in "\n".join(collection.check()), statement


def add_postings(path: Path, hashes: UInt64s, document: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        SegmentWriting(SqliteTables(connection), path).add(postings_of(hashes, np.full(len(hashes), document)))


def test_postings_that_no_text_has(path: Path) -> None:
    add_postings(path, np.array([1], np.uint64), 50)
    with Collection(path) as collection:
        assert [has_parts(fault, "postings", "do not match") for fault in collection.check()] == [True]


def test_an_index_that_names_documents_that_are_not_there(path: Path) -> None:
    with Collection(path) as collection:
        collection.add(table({"long": " ".join(f"w{k}" for k in range(200))}))
        long = collection.store.numbers(["long"])["long"]
        hashes = np.concatenate([hashes[documents == long] for hashes, documents in collection.store.sampled()])
    word = "INSERT INTO terms (rowid, tokens) VALUES (99, 'word2')"
    fact = "INSERT INTO facts SELECT key, value, 99 FROM facts WHERE document = 3"
    wrong = {
        "FINGERPRINT:long_20_80": lambda: add_postings(path, hashes, 99),
        "word2": lambda: change(path, word),
        "year:2": lambda: change(path, fact),
    }
    data = path.read_bytes()
    for query, spoil in wrong.items():
        path.write_bytes(data)
        with Collection(path) as collection:
            assert collection.search(query, include_self=True).found
        spoil()
        with Collection(path) as collection:
            with pytest.raises(FormatError, match="not there"):
                collection.search(query)
            assert collection.check()


def test_a_number_in_use_is_not_given_again(path: Path) -> None:
    for statement in ("UPDATE sqlite_sequence SET seq = 3", "DELETE FROM sqlite_sequence"):
        change(path, statement)
        with Collection(path) as collection:
            collection.add([f"one more after {statement}"])
            assert collection.store.numbers(["id 0"]) == {"id 0": 1}
            assert collection.check() == []


def test_a_full_disk_stores_nothing_of_the_batch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = path.stat().st_size // 8192 + 4
    monkeypatch.setattr(file, "WRITING", (*file.WRITING, f"max_page_count = {pages}"))
    with Collection(path) as collection:
        with pytest.raises(OutputError, match=r"no space left.*Nothing.*stored"):
            collection.add([" ".join(f"new{number}" for number in range(20_000))])
        collection.add(table({"small": "a few words"}))
        assert list(collection) == [*TEXTS, "small"]
        assert collection.check() == []


def test_a_second_process_that_writes_is_waited_for(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with closing(other), Collection(path, wait=0.3) as collection:
        begin = time.monotonic()
        with pytest.raises(OutputError, match=r"another writer.*0\.3 seconds"):
            collection.add(["x"])
        assert time.monotonic() - begin > 0.25
        assert len(collection) == len(TEXTS), "readers are not held up"
        other.execute("ROLLBACK")
        collection.add(["x"])


def test_an_interrupted_creation_leaves_no_collection(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = path.with_name("new.neardup")

    def broken(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(OutputError):
        Collection(new)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(not file.HAS_LOCKS, reason="this system has no locks of open files")
def test_only_a_collection_in_which_nothing_was_ever_stored_and_that_nobody_has_open_can_be_removed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.neardup"
    assert not remove_untouched(path)
    with Collection(path):
        assert not remove_untouched(path)  # open in this process
        script = (
            "import sys; from pathlib import Path; from neardup.collection.store import remove_untouched as r; "
        )
        script += "print(r(Path(sys.argv[1])))"
        answer = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
        assert answer.stdout == "False\n"  # open in another one
    with Collection(path) as collection:
        collection.add(["one"])
        collection.remove(["#1"])
    assert not remove_untouched(path)
    assert path.exists()
    other = tmp_path / "b.neardup"
    Collection(other).close()
    assert remove_untouched(other)
    assert not other.exists()
    other.write_bytes(b"a letter")
    assert not remove_untouched(other)


@pytest.mark.skipif(not file.HAS_LOCKS, reason="this system has no locks of open files")
def test_a_collection_that_is_removed_while_it_is_opened_is_not_there(tmp_path: Path) -> None:
    from fcntl import F_OFD_SETLK, F_WRLCK, fcntl

    path = tmp_path / "a.neardup"
    Collection(path).close()
    byte = file._AREA + int.from_bytes(file._name(path)[:4], "big")
    with path.open("r+b") as held, ThreadPoolExecutor(1) as pool:
        fcntl(held, F_OFD_SETLK, file._FLOCK.pack(F_WRLCK, os.SEEK_SET, byte, 1, 0))
        opened = pool.submit(file.hold, path)
        with suppress(TimeoutError):  # it waits for the lock; a slow thread comes too late, and finds no file
            opened.result(0.5)
        path.unlink()
        held.close()
        with pytest.raises(InputError):
            opened.result()
