"""kill -9 at any moment: what was acknowledged is there, what was not is there whole or not at all."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neardup.collection import Collection
from support import killed_work
from support.full_run import FULL

KILLS = 50 if FULL else 30
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


class Nursery:
    """A process that has imported everything and forks children; one is alive at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def start(self, path: Path, log: Path, first: int) -> int:
        """The number of a new child, which works from step ``first`` on."""
        assert self.process.stdin
        self.process.stdin.write(f"{path}\t{log}\t{first}\n")
        self.process.stdin.flush()
        return int(self.said())

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def kill(self, child: int) -> None:
        os.kill(child, signal.SIGKILL)
        assert self.said() == "ended"


@contextmanager
def nursery() -> Iterator[Nursery]:
    process = subprocess.Popen(
        [sys.executable, killed_work.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield Nursery(process)
        finally:
            process.kill()


def last_done(log: Path) -> int:
    """The last step that was written down."""
    lines = log.read_bytes().splitlines() if log.exists() else []
    return int(lines[-1]) if lines else -1


def expected(step: int, known: dict[int, dict[str, str]]) -> dict[str, str]:
    """The documents that are there after a step; -1: before the first."""
    for k in range(max(known) + 1, step + 1):
        known[k] = killed_work.after(k, known[k - 1])
    return known[step]


def test_killed_at_any_moment_it_has_lost_nothing(tmp_path: Path) -> None:
    path, log = tmp_path / "killed.neardup", tmp_path / "log"
    draw = random.Random(3)
    known: dict[int, dict[str, str]] = {-1: {}}
    with nursery() as home:
        done = -1
        for life in range(KILLS):
            child = home.start(path, log, done + 1)
            # every third one dies while it opens the file, and perhaps mends what the one before it left
            while life % 3 and last_done(log) <= done:
                time.sleep(0.001)
            time.sleep(draw.random() * 0.05)
            home.kill(child)
            said = max(done, last_done(log))
            if not path.exists():
                assert said == -1
                continue
            with Collection(path) as collection:
                found = {id: collection.get(id).text for id in collection}
                assert collection.check() == []
            assert found in (expected(said, known), expected(said + 1, known)), (life, said)
            done = said + (found == known[said + 1])
    assert done >= KILLS // 2, "many steps were done"
    assert {killed_work.kind(step) for step in range(done)} == {
        "add",
        "remove",
        "replace",
        "link",
        "compact",
        "reopen",
    }
    assert {file.name for file in tmp_path.iterdir()} <= {"killed.neardup", "log"} | made_and_left(tmp_path)


def made_and_left(folder: Path) -> set[str]:
    """Collections that were not finished: hidden, and never taken for one."""
    return {file.name for file in folder.iterdir() if file.name.startswith(".killed.neardup.")}
