"""One file, one name, one log: what two names of a file, or the log of another copy, would do to a collection."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from neardup.collection import Collection
from neardup.collection.store.file import HAS_LOCKS
from neardup.errors import FormatError, InputError
from support import forked
from support.messages import has_parts

OPENS = (
    "import sys; from neardup.collection import Collection; from neardup.errors import NeardupError\n"
    "try: print('opened', len(Collection(sys.argv[1])))\n"
    "except NeardupError as error: print('refused', error)"
)
TEXTS = ["the harbour office is closed on Friday", "pay by Friday", "receipts for March", "before noon"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mail.neardup"
    with Collection(path) as made:
        made.put_prepared(made.prepare(["a"], TEXTS[:1], [{}]))
    return path


def opened_elsewhere(path: Path) -> str:
    """What another process says that opens it."""
    done = forked.run(OPENS, path)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not HAS_LOCKS, reason="there are no locks of open files")
def test_a_file_is_not_open_under_two_names(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    linked = tmp_path / "other" / "linked.neardup"
    os.link(path, linked)
    symbolic = tmp_path / "symbolic.neardup"
    symbolic.symlink_to(path)
    with Collection(path) as first:
        with pytest.raises(InputError) as refusal:
            Collection(linked)
        assert "Use that name" in str(refusal.value)
        assert has_parts(opened_elsewhere(linked), f"refused {linked}", "another name")
        assert opened_elsewhere(path) == opened_elsewhere(symbolic) == "opened 1"
        with Collection(symbolic) as second:
            second.put_prepared(second.prepare(["b"], TEXTS[1:2], [{}]))
        assert len(first) == 2
        first.put_prepared(first.prepare(["c"], TEXTS[2:3], [{}]))
        assert opened_elsewhere(path) == "opened 3"
    with Collection(linked) as alone:
        assert list(alone) == ["a", "b", "c"]
        assert alone.check() == []


def killed(path: Path, folder: Path, ids: str = "bc") -> tuple[Path, Path]:
    """The file and the log that a process leaves behind when it is killed, in a folder of their own."""
    folder.mkdir()
    with Collection(path) as collection:
        for id in ids:
            collection.put_prepared(collection.prepare([id], [f"{TEXTS[1]} {id}"], [{}]))
        file, log = folder / "mail.neardup", folder / "mail.neardup-wal"
        shutil.copy(path, file)
        shutil.copy(f"{path}-wal", log)
    return file, log


def test_the_log_of_a_killed_process_is_applied(path: Path, tmp_path: Path) -> None:
    file, _ = killed(path, tmp_path / "killed")
    with Collection(file) as again:
        assert list(again) == ["a", "b", "c"]
        assert again.check() == []


def test_a_file_into_which_its_log_was_copied_in_part_is_opened(path: Path, tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    with Collection(path) as collection:
        collection.put_prepared(collection.prepare(["b"], TEXTS[1:2], [{}]))
        with closing(sqlite3.connect(path)) as reader, collection.view():  # behind this view nothing is copied
            collection.store.numbers(["a"])
            with closing(sqlite3.connect(path)) as writer:
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
            reader.execute("SELECT 1")
        collection.put_prepared(collection.prepare(["c"], TEXTS[2:3], [{}]))
        for name in ("mail.neardup", "mail.neardup-wal"):
            shutil.copy(tmp_path / name, tmp_path / "killed" / name)
    with Collection(tmp_path / "killed" / "mail.neardup") as again:
        assert list(again) == ["a", "b", "c"]
        assert again.check() == []


def test_a_file_that_was_compacted_when_its_process_was_killed_is_opened(path: Path, tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    with Collection(path) as collection:
        collection.remove("a")
        collection.put_prepared(collection.prepare(["b"], TEXTS[1:2], [{}]))
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            other.execute("VACUUM")
            for name in ("mail.neardup", "mail.neardup-wal"):
                shutil.copy(tmp_path / name, tmp_path / "killed" / name)
    with Collection(tmp_path / "killed" / "mail.neardup") as again:
        assert list(again) == ["b"]
        assert again.check() == []


def an_older_copy(path: Path, made: Path) -> None:
    shutil.copy(path, made)
    with Collection(path) as collection:
        collection.put_prepared(collection.prepare(["between"], TEXTS[3:], [{}]))


def a_newer_copy(path: Path, made: Path) -> None:
    with Collection(path) as collection:
        collection.put_prepared(collection.prepare(["new"], TEXTS[3:], [{}]))
    shutil.copy(path, made)


def a_copy_with_other_pages(path: Path, made: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", (str(made),))
    with closing(sqlite3.connect(made)) as connection:  # such a copy has no log at first
        connection.execute("PRAGMA journal_mode = WAL")


def another_collection(path: Path, made: Path) -> None:
    with Collection(made) as other:
        other.put_prepared(other.prepare(["other"], TEXTS[3:], [{}]))


def another_history(path: Path, made: Path) -> None:
    """As many transactions as the other one, and the same number of documents."""
    shutil.copy(path, made)
    with Collection(made) as other:
        other.put_prepared(other.prepare(["x"], TEXTS[3:], [{}]))


@pytest.mark.parametrize(
    "backup",
    [an_older_copy, a_newer_copy, a_copy_with_other_pages, another_collection, another_history],
    ids=lambda backup: backup.__name__,
)
def test_a_backup_beside_the_log_of_a_killed_process(path: Path, tmp_path: Path, backup: object) -> None:
    made = tmp_path / "backup"
    if backup is a_newer_copy:
        file, log = killed(path, tmp_path / "killed")
        a_newer_copy(path, made)
    else:
        backup(path, made)  # type: ignore[operator]
        file, log = killed(path, tmp_path / "killed")
    with Collection(made) as known:
        ids = list(known)
    shutil.copy(made, file)
    before = file.read_bytes(), log.read_bytes()
    for readonly in (False, True):
        with pytest.raises(FormatError, match="not belong to") as refusal:
            Collection(file, readonly=readonly)
        assert "move mail.neardup-wal and mail.neardup-shm away" in str(refusal.value)
    assert (file.read_bytes(), log.read_bytes()) == before
    log.rename(tmp_path / "aside")
    with Collection(file) as again:
        assert list(again) == ids
        assert again.check() == []


def test_a_log_without_a_whole_transaction_is_no_obstacle(path: Path, tmp_path: Path) -> None:
    file, log = killed(path, tmp_path / "killed")
    log.write_bytes(log.read_bytes()[: 32 + 24 + 100])
    with Collection(file) as again:
        assert list(again) == ["a"]


def test_a_second_collection_in_a_process_takes_no_lock_from_the_first(path: Path, tmp_path: Path) -> None:
    """To close any descriptor of a file takes away the locks of the process; others would then remove the log."""
    with Collection(path) as first:
        first.put_prepared(first.prepare(["b"], TEXTS[1:2], [{}]))
        Collection(path).close()
        assert opened_elsewhere(path) == "opened 2"  # it is not the last one out, and leaves the log
        first.put_prepared(first.prepare(["c"], TEXTS[2:3], [{}]))
        assert opened_elsewhere(path) == "opened 3"
    with Collection(path) as again:
        assert list(again) == ["a", "b", "c"]


@pytest.mark.parametrize("name", [":memory:", "file::memory:?cache=shared", "file:a.neardup"])
def test_a_name_for_sqlite_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as failure:
        Collection(name)
    assert has_parts(str(failure.value), name, "file", "PostgreSQL")
    assert not list(tmp_path.iterdir())
