"""Several processes that add to one collection: each waits for its turn, with its documents prepared."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from neardup import Collection
from neardup.collection.store import sqlite
from neardup.collection.store.sqlite import SqliteStore as Store
from neardup.errors import OutputError
from support import forked

PROCESSES = 8
ADDING = """
import sys
from neardup.collection import intake
from neardup.collection.store.sqlite import SqliteStore as Store

made, begin, prepare = [], Store._begin, intake._prepare

def prepared(*given):
    made.append(prepare(*given))
    return made[-1]

def beginning(self, connection):
    print("waiting with", sum(len(one.entries) for one in made), flush=True)
    begin(self, connection)

intake._prepare, Store._begin = prepared, beginning
sys.argv = ["neardup", "collection", "add", {path!r}, {file!r}, "--wait", "300", *{more!r}]
from neardup.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="processes are forked")
@pytest.mark.parametrize("more", [(), ("--threshold", "80%")])
def test_processes_that_add_wait_with_prepared_documents(tmp_path: Path, more: tuple[str, ...]) -> None:
    path = tmp_path / "mail.neardup"
    Collection(path).close()
    files = [tmp_path / f"{k}.jsonl" for k in range(PROCESSES)]
    for k, file in enumerate(files):
        rows = ({"id": f"{k}-{n}", "text": f"the letter {n} of the harbour office number {k}"} for n in range(3))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = [
            forked.start(
                ADDING.format(path=str(path), file=str(file), more=[*more]),
                loaded=["neardup.cli", "neardup.collection"],
            )
            for file in files
        ]
        try:
            for process in running:
                assert process.line() == "waiting with 3\n", process.err.read_text()
            other.execute("ROLLBACK")
            for process in running:
                done = process.done(120)
                assert done.returncode == 0, done.stderr
        finally:
            for process in running:
                process.kill()
                process.folder.cleanup()
    with Collection(path) as made:
        assert len(made) == 3 * PROCESSES
        assert made.check() == []


def test_pauses_between_attempts_do_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a process that has waited long has the same chance as one that comes late; at the end it is refused."""
    path = tmp_path / "mail.neardup"
    pauses: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(sqlite, "sleep", sleep)
    monkeypatch.setattr(sqlite, "monotonic", lambda: clock[0])
    with Collection(path, wait=2) as made, closing(sqlite3.connect(path, isolation_level=None)) as other:
        made.put("before", "a text")
        assert not pauses
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutputError):
            made.put("id", "a text")
        assert 100 <= len(pauses) <= 4001
        assert max(pauses) <= 0.003
        assert sum(pauses) == pytest.approx(2)
        other.execute("ROLLBACK")
        made.put("id", "a text")
        assert isinstance(made.store, Store)
        assert len(made) == 2
