"""Faults of ``neardup serve --workers``: a hung worker, the death of the one that writes, a full disk."""

import json
import os
import re
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import pytest

from neardup.collection import Collection
from neardup.service.web.limits import READING_SECONDS
from neardup.service.web.server import listen
from support.serve_command import WRITERS, Server, Writing, require_what_was_acknowledged, serving
from support.serve_workers import PATIENCE, metric, runs, serves, until, workers_of

resource = pytest.importorskip("resource", reason="needs POSIX")
pytestmark = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="reads /proc")

SOON = "import neardup.service.workers as workers; workers.PACE = workers.Pace(hung=3.0); "
"""The limit for hung workers, shorter than that of the product."""
WRITE_LOCK = 120
"""The byte of the shared memory of SQLite that is locked by the process that writes."""


def writer_of(server: Server) -> int | None:
    """The process that is in the middle of a transaction which writes."""
    shared = server.log.with_suffix(".neardup-shm").stat().st_ino
    locked = rf"WRITE (\d+) \w+:\w+:{shared} (\d+) (\d+)"
    for worker, begin, end in re.findall(locked, Path("/proc/locks").read_text()):
        if int(begin) <= WRITE_LOCK <= int(end):
            return int(worker)
    return None


def stop_writer(server: Server) -> int:
    """Stop the process that writes, in the middle of its transaction, and return it."""
    stopped: list[int] = []

    def stops() -> bool:
        worker = writer_of(server)
        if worker is None:
            return False
        os.kill(worker, signal.SIGSTOP)
        until(lambda: Path(f"/proc/{worker}/stat").read_text().rpartition(") ")[2][0] == "T")
        if writer_of(server) == worker:
            stopped.append(worker)
        else:  # it had finished before it stopped
            os.kill(worker, signal.SIGCONT)
        return bool(stopped)

    until(stops, pause=0.001)
    return stopped[0]


def finish(writers: list[Writing]) -> None:
    """Let the writers stop, so that what follows has the processors."""
    for writer in writers:
        writer.done.set()
    for writer in writers:
        writer.join(PATIENCE)
        assert not writer.is_alive()


@contextmanager
def written(path: Path, others: Iterable[str] = ()) -> Iterator[tuple[Server, list[Writing]]]:
    """Two workers, while many write; at the end the service stops, and what was acknowledged must be there.

    ``others`` are ids that the test writes itself.
    """
    with serving(path, "--workers", 2, "--seconds", 60, before=SOON) as server:
        workers = workers_of(server)
        writers = [Writing(server, str(number), again=True) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        until(lambda: sum(writer.acknowledged for writer in writers) >= 10)
        yield server, writers
        workers |= workers_of(server)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        assert not any(map(runs, workers))
    require_what_was_acknowledged(path, writers, most_doubtful=4, others=others)


def test_the_one_that_writes_is_killed_in_the_middle_of_its_transaction(tmp_path: Path) -> None:
    with written(tmp_path / "mail.neardup", others=["after"]) as (server, writers):
        os.kill(stop_writer(server), signal.SIGKILL)
        before = sum(writer.acknowledged for writer in writers)
        assert server.ask("PUT", "/v1/documents/after", {"text": "after its death"})[0] == 200
        until(lambda: sum(writer.acknowledged for writer in writers) >= before + 5)
        finish(writers)
        until(lambda: serves(server, 2, 3))
        assert len(server.ask("GET", "/v1/search?q=death")[1]["hits"]) == 1
    assert [event["status"] for event in server.events() if event["event"] == "worker_ended"] == [-9]


def test_one_that_hangs_while_it_writes_is_replaced(tmp_path: Path) -> None:
    """It hangs with the lock of the collection: until it is replaced, the other one can only read."""
    with written(tmp_path / "mail.neardup") as (server, writers):
        hung = stop_writer(server)
        before = sum(writer.acknowledged for writer in writers)
        # a new connection may be accepted by the one that hangs only until it is killed
        until(lambda: not runs(hung))
        until(lambda: sum(writer.acknowledged for writer in writers) >= before + 5)
        finish(writers)
        until(lambda: metric(server, "neardup_workers") == 2)
    hangs = [event["process"] for event in server.events() if event["event"] == "worker_hung"]
    assert hung in hangs
    ended = {event["process"]: event["status"] for event in server.events() if event["event"] == "worker_ended"}
    assert {ended[process] for process in hangs} == {-signal.SIGKILL}


def allow(server: Server, size: int) -> None:
    """No file of the service may become larger than this; what would be written beyond fails as on a full disk."""
    for process in (server.process.pid, *workers_of(server)):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk_and_a_worker_that_dies_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    known: dict[str, str] = {}
    with serving(path, "--workers", 2, "--seconds", 60) as server:
        allow(server, 2 << 20)
        for number in range(1000):
            text = " ".join(f"w{number}x{word}" for word in range(2000))
            status, answer = server.ask("PUT", f"/v1/documents/{number}", {"text": text})
            if status != 200:
                break
            known[str(number)] = text
        assert (status, answer["error"]["code"]) == (503, "unwritable")
        assert known
        os.kill(min(workers_of(server)), signal.SIGKILL)
        until(lambda: serves(server, 2, 3))
        for id, text in known.items():
            assert server.ask("GET", f"/v1/documents/{id}")[1]["text"] == text
        for _ in range(4):
            refused = server.ask("PUT", "/v1/documents/large", {"text": text * 3})
            assert (refused[0], refused[1]["error"]["code"]) == (503, "unwritable")
            assert server.ask("GET", "/health")[0] == 200
        allow(server, resource.RLIM_INFINITY)
        for number in range(4):
            known[f"again{number}"] = f"there is room again {number}"
            assert server.ask("PUT", f"/v1/documents/again{number}", {"text": known[f"again{number}"]})[0] == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        assert not [event for event in server.events() if event["event"] == "mistake"]
    with Collection(path) as collection:
        assert {id: collection.get(id).text for id in collection} == known
        assert collection.check() == []


LARGE = "seven words are in this long line\n" * 250_000
"""A text that fits in no buffer of a connection."""
SLOW = 8


def test_clients_that_do_not_read_keep_nobody_waiting(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup", "--workers", 2, "--seconds", 60) as server:
        assert server.ask("PUT", "/v1/documents/large", {"text": LARGE})[0] == 200
        slow = [socket.create_connection((server.host, server.port)) for _ in range(SLOW)]
        for one in slow:
            one.sendall(b"GET /v1/documents/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: metric(server, "neardup_requests_under_way") == SLOW)
        for number in range(20):
            text = f"quick {number}"
            assert server.ask("PUT", f"/v1/documents/{number}", {"text": text})[0] == 200
            assert server.ask("GET", f"/v1/documents/{number}")[1]["text"] == text
        assert server.ask("GET", "/v1/search?q=quick")[1]["found"] == 20
        until(lambda: metric(server, "neardup_requests_under_way") == SLOW)
        for one in slow[1:]:  # they go without having read
            one.close()
        until(lambda: metric(server, "neardup_requests_under_way") == 1)
        # one reads late, and receives all
        answer = HTTPResponse(slow[0])
        answer.begin()
        assert json.loads(answer.read())["text"] == LARGE
        slow[0].close()


def test_the_system_ends_connections_whose_clients_read_nothing() -> None:
    with (
        listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        limit = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert limit == 1000 * READING_SECONDS
