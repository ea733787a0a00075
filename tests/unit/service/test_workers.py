"""The supervisor of several workers, in this process: who dies or hangs is replaced, and a signal ends all.

The workers are shell scripts, which say that they accept requests as workers do: by bytes on standard output.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from neardup.errors import OutputError, SettingError
from neardup.io.files import shared_numbers
from neardup.service import workers
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from neardup.service.workers import GONE, PACE, Pace, Supervisor, WorkerSettings, require_workers
from support.until_signal import meanwhile

pytestmark = pytest.mark.skipif(os.name == "nt", reason="several workers need a system that passes sockets on")
LIVES = "echo $$ >> $TMPDIR/starts; printf .; exec sed d"
"""A worker that accepts requests, writes nothing more, and ends with its standard input."""


@pytest.fixture
def events() -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """The fields of the events of a name that were logged."""
    logger, records = workers.monitoring.LOGGER, list[Any]()
    level, handler = logger.level, logging.NullHandler()
    handler.handle = lambda record: records.append(record) or True  # type: ignore[method-assign, func-returns-value]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lambda name: [record.fields for record in records if record.getMessage() == name]
    logger.removeHandler(handler)
    logger.setLevel(level)


def supervisor(
    folder: Path, script: str, count: int = 2, started: Callable[[], None] = int, pace: Pace = PACE
) -> Supervisor:
    with open(os.devnull, "rb") as listening:
        descriptor = os.dup(listening.fileno())
    part = WorkerSettings(folder / "all", None, True, 1.0, Tokens(()), Limits(stop_seconds=1), descriptor, folder)
    return Supervisor(part, count, started, ("sh", "-c", script), pace)


def until(condition: Callable[[], bool]) -> None:
    end = monotonic() + 20
    while not condition() and monotonic() < end:
        sleep(0.01)
    assert condition()


def starts(folder: Path) -> list[int]:
    path = folder / "starts"
    return list(map(int, path.read_text().split())) if path.exists() else []


def test_a_dead_worker_is_started_again(tmp_path: Path, events: Any) -> None:
    ready = threading.Event()
    house = supervisor(tmp_path, LIVES, started=ready.set)

    def act() -> None:
        assert ready.wait(20)
        os.kill(starts(tmp_path)[0], signal.SIGKILL)
        until(lambda: len(starts(tmp_path)) == 3)

    with meanwhile(act):
        assert house.run(), "all ended in time"
    assert len(starts(tmp_path)) == 3
    [ended] = events("worker_ended")
    assert (ended["process"], ended["status"], ended["pause"]) == (starts(tmp_path)[0], -signal.SIGKILL, 0)
    assert list(shared_numbers(tmp_path / "connections")) == [GONE, GONE], (
        "no other worker waits for one that ended"
    )


def test_workers_that_die_in_a_row_are_started_after_longer_pauses(tmp_path: Path, events: Any) -> None:
    pace = Pace(shortest_pause=0.02, longest_pause=0.05, step=0.05)
    house = supervisor(tmp_path, "printf .", count=1, pace=pace)
    with meanwhile(lambda: until(lambda: len(events("worker_ended")) >= 5)):
        house.run()
    assert [event["pause"] for event in events("worker_ended")][:5] == [0, 0.02, 0.04, 0.05, 0.05]


def test_a_silent_worker_is_killed_and_replaced(tmp_path: Path, events: Any) -> None:
    house = supervisor(tmp_path, LIVES, count=1, pace=Pace(hung=0.1, step=0.05))
    with meanwhile(lambda: until(lambda: len(starts(tmp_path)) >= 2)):
        house.run()
    assert events("worker_hung")[0]["process"] == starts(tmp_path)[0]
    assert events("worker_ended")[0]["status"] == -signal.SIGKILL


def test_a_worker_that_cannot_start_ends_the_service(tmp_path: Path) -> None:
    told = []
    house = supervisor(tmp_path, "exit 3", started=lambda: told.append(1))
    with pytest.raises(OutputError):
        house.run()
    assert not told, "the service was not announced"


def test_it_is_announced_once_when_all_workers_accept(tmp_path: Path) -> None:
    told: list[int] = []
    house = supervisor(tmp_path, LIVES, 3, lambda: told.append(len(starts(tmp_path))))
    with meanwhile(lambda: until(lambda: bool(told))):
        house.run()
    assert told == [3]


@pytest.mark.parametrize(("count", "allowed"), [(0, False), (1, True), (64, True), (65, False)])
def test_the_number_of_workers(count: int, allowed: bool) -> None:
    if allowed:
        require_workers(count)
    else:
        with pytest.raises(SettingError):
            require_workers(count)


def test_an_unexpected_error_is_logged_by_its_place_and_not_by_its_message(events: Any) -> None:
    def deeper(left: int) -> None:
        if not left:
            raise ValueError("the text of a document")
        deeper(left - 1)

    try:
        deeper(20)
    except ValueError as error:
        workers.monitoring.mistake(error, "GET /v1/search")
    [fields] = events("mistake")
    assert (fields["request"], fields["error"]) == ("GET /v1/search", "ValueError")
    assert len(fields["where"]) == 8
    assert all(place.startswith("test_workers.py:") for place in fields["where"])
    assert "document" not in str(fields)
