"""Clients that do not wait for their answers, over real sockets: they keep no thread, no room and no place."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.collection.view import View
from neardup.runtime import Deadline
from neardup.service.app import make_app
from neardup.service.executor import Executor
from neardup.service.web import server
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from support.made_service import LOCAL

TEXT = " ".join(f"word{number}" for number in range(40))
SECONDS = 0.6
SOON = 30.0


@dataclass
class Network:
    """A service that listens, with one thread that reads."""

    executor: Executor
    app: Any
    port: int
    begun: list[float] = field(default_factory=list)

    def ask(self, method: str, target: str, data: Any = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        try:
            body = None if data is None else json.dumps(data)
            connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def send(self, method: str, target: str, data: Any = None) -> socket.socket:
        """A request, whose answer nobody has taken yet."""
        body = b"" if data is None else json.dumps(data).encode()
        head = f"{method} {target} HTTP/1.1\r\nHost: {LOCAL['host']}\r\nContent-Length: {len(body)}\r\n"
        client = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        return client

    @property
    def under_way(self) -> int:
        return int(self.app._under_way.taken)


@pytest.fixture
def network(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Network]:
    collection = Collection(tmp_path / "mail.neardup")
    ids = [f"d{number}" for number in range(50)]
    collection.put_prepared(collection.prepare(ids, [TEXT] * 50, [{}] * 50))
    executor = Executor(collection, Limits.of(threads=1, seconds=getattr(request, "param", SECONDS)))
    app = make_app(executor, Tokens())
    ready = threading.Event()
    with server.listen("127.0.0.1", 0) as listening:
        running = server.Server(server.config(app, executor.limits), ready.set)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        assert ready.wait(SOON)
        yield Network(executor, app, listening.getsockname()[1])
        running.should_exit = True
        thread.join(SOON)
    assert not thread.is_alive()
    assert executor.close()


@contextmanager
def slow_look_ups(network: Network, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each search makes look-ups for ever, as one of many documents would; each of them is short."""

    def slow(view: View) -> Any:
        network.begun.append(time.monotonic())
        while True:
            view.number("d1")
            time.sleep(0.01)

    with monkeypatch.context() as patched:
        patched.setattr(View, "everything", slow)
        yield


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


ENDLESS = ("GET", "/v1/search?q=NOT+zzz", None)


def test_an_abandoned_search_ends_at_its_time(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_look_ups(network, monkeypatch):
        client = network.send(*ENDLESS)
        until(lambda: bool(network.begun))
        client.close()
        until(lambda: network.under_way == 0)
        until(lambda: time.monotonic() > network.begun[0] + SECONDS)
        assert network.ask("GET", "/v1/documents/d1")[0] == 200, "the only thread that reads is free again"
        assert len(network.begun) == 1


def test_abandoned_requests_that_wait_are_never_begun(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    with slow_look_ups(network, monkeypatch):
        first = network.send(*ENDLESS)
        until(lambda: bool(network.begun))
        others = [network.send(*ENDLESS) for _ in range(20)]
        until(lambda: network.executor._workers.waiting == 20)
        for client in others:
            client.close()
        until(lambda: network.under_way == 1)
        assert network.ask("GET", "/v1/documents/d1")[0] == 200
        assert len(network.begun) == 1, "it has not waited for each of them"
        assert b" 503 " in first.recv(100)
        first.close()


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "request_",
    [
        ("POST", "/v1/near", {"text": TEXT}),
        ("POST", "/v1/compare", {"a": "d1", "b": "d2"}),
        ("POST", "/v1/search", {"query": "FINGERPRINT:d1_20_80"}),
        ("GET", "/v1/groups", None),
        ("GET", "/metrics", None),
    ],
)
def test_any_request_may_be_abandoned(network: Network, request_: tuple[str, str, Any]) -> None:
    """Many at once, closed before, while and after they are worked on."""
    for round_ in range(3):
        clients = [network.send(*request_) for _ in range(20)]
        time.sleep(0.01 * round_)
        for client in clients:
            client.close()
    until(lambda: network.under_way == network.executor._workers.waiting == network.app._bodies.taken == 0)
    assert network.ask(*request_)[0] == 200


def test_an_abandoned_change_that_waits_is_not_made(network: Network) -> None:
    release, taken = threading.Event(), threading.Event()

    def wait() -> None:
        taken.set()
        release.wait(3 * SOON)

    from neardup.service.web.server import Job

    network.executor._writer._queue.put(Job(wait, Deadline(9 * SOON)))
    assert taken.wait(SOON)
    client = network.send("PUT", "/v1/documents/never", {"text": TEXT})
    until(lambda: network.executor._writer.waiting == 1)
    client.close()
    until(lambda: network.under_way == 0)
    release.set()
    assert network.ask("PUT", "/v1/documents/then", {"text": TEXT})[0] == 200
    assert network.ask("GET", "/v1/documents/never")[0] == 404


@pytest.mark.parametrize("network", [SOON], indirect=True)  # its time must not end before the client leaves
def test_an_abandoned_request_is_logged_as_such(network: Network, caplog: pytest.LogCaptureFixture) -> None:
    blocked = threading.Event()
    with caplog.at_level("INFO", logger="neardup.service"):
        network.executor._workers._jobs.put(_job(lambda: blocked.wait(SOON)))
        client = network.send("GET", "/v1/documents/d1")
        until(lambda: network.under_way == 1)
        client.close()
        until(lambda: network.under_way == 0)
        until(lambda: bool(caplog.records))  # the line is written after the place is free
        blocked.set()
    [event] = [record.fields for record in caplog.records]  # type: ignore[attr-defined]
    assert (event["status"], event["bytes_out"]) == (499, 0)
    assert network.ask("GET", "/v1/documents/d1")[0] == 200


def _job(work: Callable[[], Any]) -> Any:
    from neardup.service.web.server import Job

    return Job(work, Deadline(SOON))
