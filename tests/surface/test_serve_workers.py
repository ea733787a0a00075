"""``neardup serve --workers``: kills of workers and of their supervisor, slow clients, stops, sums of metrics."""

import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import Run
from support.serve_command import TEXT, WRITERS, Server, Writing, require_what_was_acknowledged, serving
from support.serve_workers import PATIENCE, metric, runs, serves, until, value_of, workers_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")


def folder_of(worker: int) -> Path:
    """The folder of the temporary files of a worker."""
    variables = Path(f"/proc/{worker}/environ").read_text().split("\0")
    return Path(next(each for each in variables if each.startswith("TMPDIR=")).partition("=")[2])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "mail.neardup", "--workers", 2, "--seconds", 60) as made:
        workers = workers_of(made)
        yield made
    until(lambda: not any(map(runs, workers)))


def test_killed_while_many_write_they_are_replaced_and_nothing_is_lost(server: Server) -> None:
    """One worker of two is killed again and again, each time in the middle of the batches of both."""
    draw = random.Random(5)
    writers = [Writing(server, str(number), again=True) for number in range(WRITERS)]
    first = workers_of(server)
    assert len(first) == 2
    for writer in writers:
        writer.start()
    for turn in range(3):
        begin = sum(writer.acknowledged for writer in writers)
        until(lambda begin=begin: sum(writer.acknowledged for writer in writers) >= begin + 5)  # type: ignore[misc]
        time.sleep(draw.random() * 0.2)
        os.kill(draw.choice(sorted(workers_of(server))), signal.SIGKILL)
        # the other one serves
        assert server.ask("GET", "/health") == (200, {"status": "alive"})
        assert server.ask("PUT", f"/v1/documents/between{turn}", {"text": "between two workers"})[0] == 200
        until(lambda turn=turn: serves(server, 2, 3 + turn))  # type: ignore[misc]
    for writer in writers:
        writer.done.set()
        writer.join(PATIENCE)
        assert not writer.is_alive()
    last = workers_of(server)
    assert len(last) == 2
    assert len(server.ask("GET", "/v1/search?q=between")[1]["hits"]) == 3
    acknowledged = sum(writer.acknowledged for writer in writers)
    assert metric(server, "neardup_requests_total") > acknowledged
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert not any(map(runs, first | last))
    events = server.events()
    assert [event["status"] for event in events if event["event"] == "worker_ended"] == [-9] * 3
    assert events[-1]["finished"] is True
    between = [f"between{turn}" for turn in range(3)]
    require_what_was_acknowledged(server.log.with_suffix(".neardup"), writers, most_doubtful=4, others=between)


def test_slow_clients_and_the_metrics_of_both(server: Server) -> None:
    slow = [socket.create_connection((server.host, server.port)) for _ in range(30)]
    for one in slow:
        one.sendall(b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\n")
        one.sendall(b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n[")
    until(lambda: metric(server, "neardup_requests_arriving") == 30)
    for number in range(20):
        assert server.ask("PUT", f"/v1/documents/{number}", {"text": "quick"})[0] == 200
        assert server.ask("GET", f"/v1/documents/{number}")[0] == 200
    [folder] = set(map(folder_of, workers_of(server)))
    metrics = next(folder.rglob("counter_*.db")).parent
    (metrics / "counter_2.db").touch()  # as a process that starts leaves it for a moment
    (metrics / "gauge_livesum_2.db").symlink_to("gone")  # as one that has just ended
    # connections that stay are divided among the workers, those that come one after the other perhaps not
    waiting = [server.connect() for _ in range(10)]
    for one in waiting:
        one.connect()
    asked = {value_of(one, "neardup_write_batch_requests_sum") for one in waiting}
    assert asked == {20}, "each worker gives the sum of both"
    answering = {event.get("worker") for event in server.events() if event["event"] == "request"}
    assert answering == {0, 1}
    for one in waiting:
        one.close()
    for one in slow:
        one.close()


def test_without_its_supervisor_no_worker_stays(server: Server) -> None:
    workers = workers_of(server)
    [folder] = set(map(folder_of, workers))
    assert list(folder.iterdir())
    assert server.ask("PUT", "/v1/documents/a", {"text": "kept"})[0] == 200
    server.process.kill()
    until(lambda: not any(map(runs, workers)))
    assert not folder.exists()
    with serving(server.log.with_suffix(".neardup"), "--read-only", create=False) as served:
        assert served.ask("GET", "/v1/documents/a")[1]["text"] == "kept"


def test_a_second_signal_ends_all_at_once(server: Server) -> None:
    workers = workers_of(server)
    [folder] = set(map(folder_of, workers))
    with socket.create_connection((server.host, server.port)) as slow:
        slow.sendall(b"PUT /v1/documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        slow.sendall(b"Content-Length: 100\r\n\r\n{")
        until(lambda: metric(server, "neardup_requests_arriving") == 1)
        server.process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) == 128 + signal.SIGINT
    assert not any(map(runs, workers))
    assert not folder.exists()


def test_read_only_beside_a_service_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with serving(path) as writing, serving(path, "--read-only", create=False) as reading:
        assert writing.ask("PUT", "/v1/documents/a", {"text": TEXT})[0] == 200
        assert len(reading.ask("GET", "/v1/search?q=harbour")[1]["hits"]) == 1
        assert len(reading.ask("POST", "/v1/near", {"text": TEXT})[1]["hits"]) == 1
        for method, target, body in (
            ("PUT", "/v1/documents/b", {"text": "b"}),
            ("POST", "/v1/remove", {"ids": ["a"]}),
            ("DELETE", "/v1/documents/a", None),
        ):
            status, refusal = reading.ask(method, target, body)
            assert (status, refusal["error"]["code"]) == (403, "read_only")
        assert reading.ask("GET", "/ready")[0] in (200, 503)
        assert writing.ask("DELETE", "/v1/documents/a")[0] == 200
        assert reading.ask("GET", "/v1/documents/a")[0] == 404


def test_numbers_of_workers_that_there_cannot_be(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    for options in (("--workers", "2", "--page"), ("--workers", "0"), ("--workers", "1000")):
        result = run("serve", path, "--port", "0", *options)
        assert result.status == 2
        assert all(option in result.err for option in options)
    assert not path.exists()
