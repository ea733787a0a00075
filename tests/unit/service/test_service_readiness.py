"""While the service compiles it lives, says that it is not ready, and keeps requests or refuses them."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.errors import NeardupError
from neardup.service import server
from neardup.web import monitoring
from neardup.web import server as web_server
from neardup.web.limits import Limits
from neardup.web.middleware import Tokens
from support.made_service import Service, serving


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(server, "missing", lambda entries: [])
    with serving(tmp_path / "mail.neardup", seconds=0.2) as made:
        yield made


def test_health_answers_while_kernels_compile(service: Service) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def warm() -> None:
        begun.set()
        assert go_on.wait(30)

    thread = server.Warming(service.executor, warm)
    assert begun.wait(30)
    assert service("GET", "/health").status == 200
    assert service("GET", "/metrics").status == 200
    for refused in (
        service("GET", "/ready"),
        service("GET", "/v1/documents/a"),
        service("DELETE", "/v1/documents/a"),
    ):
        assert refused.status == 503
        assert refused.error["code"] == "overloaded"
        assert "starting" in refused.error["given"]
        assert int(refused.headers["retry-after"]) > 0
    go_on.set()
    thread.join(30)
    assert service("GET", "/ready").status == 200
    assert service("GET", "/v1/documents/a").status == 404


def test_a_request_waits_for_what_ends_in_time(service: Service) -> None:
    service.executor.limits = service.executor.limits.of(seconds=60)
    service.executor.warmed.clear()
    threading.Timer(0.05, service.executor.warmed.set).start()
    assert service("GET", "/v1/stats").status == 200


def test_what_fails_while_it_warms_is_logged_and_lets_requests_in(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(monitoring, "mistake", lambda error, request: seen.append(error))

    def warm() -> None:
        raise OSError("the disk is gone")

    server.Warming(service.executor, warm).join(30)
    assert [str(error) for error in seen] == ["the disk is gone"]
    assert service("GET", "/ready").status == 200


class _Page:
    """Pages with a thread that perhaps does not end."""

    def __init__(self, ended: bool) -> None:
        self._ended = ended

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Not asked."""

    def close(self, seconds: float) -> bool:
        return self._ended


@pytest.mark.parametrize(("warms", "pages_end"), [(True, True), (False, False), (False, True)])
def test_a_collection_is_not_closed_under_a_thread_that_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warms: bool, pages_end: bool
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def warm(collection: Collection) -> None:
        begun.set()
        assert go_on.wait(30) or not warms

    def run(app: Any, limits: Limits, listening: socket.socket, started: Any) -> None:
        started()
        assert begun.wait(30)
        if not warms:
            go_on.set()

    monkeypatch.setattr(server, "missing", lambda entries: [])
    monkeypatch.setattr(server, "warm", warm)
    monkeypatch.setattr(server, "run", run)
    monkeypatch.setattr(server, "LOADING", 0.01 if warms else 30)
    collection = Collection(tmp_path / "mail.neardup")
    listening = web_server.listen("127.0.0.1", 0)
    ended = server.serve(collection, Tokens(), Limits.of(), listening, lambda _: None, {"/x": _Page(pages_end)})
    free = pages_end and not warms
    if free:
        with pytest.raises(NeardupError, match="closed"):
            len(collection)
    else:
        assert not ended
        assert len(collection) == 0
        go_on.set()
        collection.close()


def test_a_thread_that_still_compiles_does_not_begin_to_use_a_collection(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling, go_on = threading.Event(), threading.Event()
    used: list[str] = []

    def missing(entries: Any) -> list[Any]:
        compiling.set()
        assert go_on.wait(30)
        return []

    monkeypatch.setattr(server, "missing", missing)
    warming = server.Warming(service.executor, lambda: used.append("warm"))
    assert compiling.wait(30)
    service.executor.closed = True
    assert warming.let_go(30)
    assert warming.alive
    go_on.set()
    warming.join(30)
    assert not warming.alive
    assert not used


FIRST_REQUESTS = """
import sys
from neardup.collection import Collection
from neardup.kernels import compile_cache
from neardup.service.server import warm
text = "the harbour office is closed on friday because of the storm {}"
with Collection(sys.argv[1]) as mails:
    warm(mails)
    compile_cache.watchers.append(lambda state, name: print(state, name))
    for number in range(3):
        mails.put(f"{number}", text.format("and rain " * number), near=0.5, on_near="link")
    mails.search("harbour", fields="excerpt")
    mails.search('"harbour office" OR storm')
    mails.search("FINGERPRINT:0_20_80 AND NOT SIMILAR:1_90")
    mails.near(text, overlap=0.5)
    mails.compare("0", "1")
    mails.why_not("FINGERPRINT:0_99", "1")
    mails.remove("0")
"""


def test_no_first_request_waits_for_a_kernel(tmp_path: Path) -> None:
    """In a process of its own, whose kernels are loaded by the first call of each."""
    line = [sys.executable, "-c", FIRST_REQUESTS, str(tmp_path / "mail.neardup")]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout == ""
