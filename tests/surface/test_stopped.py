"""A command that receives a signal: the files it has written are removed, and the exit status names the signal."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neardup import Collection
from neardup.cli.messages import StoppedError, stoppable
from support import forked
from support.messages import has_parts

if os.name == "nt":
    pytest.skip("Windows has no such signals", allow_module_level=True)

ENDLESS = """
import sys
import time
from pathlib import Path
import {module} as module

def endless(*documents, **settings):
    print("under way", flush=True)
    while True:
        time.sleep(0.01)

module.{function} = endless
sys.argv = ["neardup", *{arguments!r}]
from neardup.cli import main
main()
"""

# a child ignores what nohup ignores
HEAR = "import signal\nif hasattr(signal, 'SIGHUP'):\n    signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"


@contextmanager
def under_way(module: str, function: str, *arguments: object) -> Iterator[forked.Child]:
    """A command whose work never ends."""
    program = ENDLESS.format(module=module, function=function, arguments=[*map(str, arguments)])
    process = forked.start(HEAR + program, loaded=["neardup.cli", module])
    try:
        assert process.line() == "under way\n", process.err.read_text()
        yield process
    finally:
        process.kill()
        process.folder.cleanup()


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, 143, "stopped by SIGTERM, nothing was written\n"),
        (signal.SIGHUP, 129, "stopped by SIGHUP, nothing was written\n"),
        (signal.SIGINT, 130, "interrupted, nothing was written\n"),
    ],
)
def test_a_signal_leaves_no_partial_folder(
    mails: Path, tmp_path: Path, number: signal.Signals, status: int, said: str
) -> None:
    with under_way("neardup.deduplication.run.find", "run", "dedup", mails, "-o", tmp_path / "out") as process:
        assert any(path.name.startswith(".out.partial-") for path in tmp_path.iterdir())
        process.send_signal(number)
        done = process.done(60)
    assert (done.returncode, done.stdout, done.stderr) == (status, "under way\n", said)
    assert list(tmp_path.iterdir()) == [mails]


def test_a_signal_leaves_no_partial_page(mails: Path, tmp_path: Path) -> None:
    arguments = ("compare", mails, mails, "--html", tmp_path / "page.html")
    with under_way("neardup.comparison.compare", "compare", *arguments) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    assert list(tmp_path.iterdir()) == [mails]


IN_PIECES = """
import sys
import time
import neardup.collection.arrivals as pending

pending.TOGETHER, group = 4, pending.Pending.group

def stopping(self, numbers):
    if self.compared == 8:
        print("under way", flush=True)
        while True:
            time.sleep(0.01)
    group(self, numbers)

pending.Pending.group = stopping
sys.argv = ["neardup", "collection", "groups", {path!r}, "--complete"]
from neardup.cli import main
main()
"""


def interrupted(program: str) -> str:
    """Return what a program that says it is under way prints on standard error after SIGINT."""
    process = forked.start(HEAR + program, loaded=["neardup.cli", "neardup.collection"])
    try:
        assert process.line() == "under way\n", process.err.read_text()
        process.send_signal(signal.SIGINT)
        done = process.done(60)
    finally:
        process.kill()
        process.folder.cleanup()
    assert done.returncode == 130
    return str(done.stderr)


def test_groups_that_are_stored_in_pieces_are_named_when_the_work_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with Collection(path) as made:
        made.add([{"id": f"{k}", "text": f"the same words of the letters of family {k // 2}"} for k in range(20)])
    said = interrupted(IN_PIECES.format(path=str(path)))
    assert has_parts(said, "8 of 20 documents compared", "4 groups in all", "run it again")
    assert "nothing was written" not in said
    with Collection(path) as made:
        assert len(made.groups().groups) == 4
        assert made.group_pending().compared == 12
        assert len(made.groups().groups) == 10


REGROUPED = """
import sys
import time
import neardup.collection.groups.thresholds as groups

groups.TOGETHER, change = 4, groups.GroupThresholds._change

def stopping(self, numbers):
    if numbers[0] > 8:
        print("under way", flush=True)
        while True:
            time.sleep(0.01)
    change(self, numbers)

groups.GroupThresholds._change = stopping
sys.argv = ["neardup", "collection", "groups", {path!r}, "--regroup", "--threshold", "0.9"]
from neardup.cli import main
main()
"""


def test_groups_that_were_regrouped_are_counted_when_the_work_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with Collection(path) as made:
        made.add([{"id": f"{k}", "text": f"the same words of the letters of family {k // 2}"} for k in range(20)])
        made.group_pending()
    said = interrupted(REGROUPED.format(path=str(path)))
    assert has_parts(said, "8 of 10 groups regrouped", "10 groups in all", "run it again")
    with Collection(path) as made:
        assert [group.threshold for group in made.groups().groups] == [0.9] * 8 + [0.8] * 2
        assert made.regroup(0.9).regrouped == 2


class Finalised:
    """Gets a signal at the worst moment: the interpreter drops what is raised here."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(10):  # bytecodes, between which signals are handled
            pass


def test_a_signal_that_comes_while_an_object_is_finalised_is_not_lost() -> None:
    def stopped() -> None:
        with stoppable():
            Finalised()
            while True:
                time.sleep(0.001)

    with pytest.raises(StoppedError):
        stopped()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_is_ignored_stays_ignored() -> None:
    """As nohup has it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
