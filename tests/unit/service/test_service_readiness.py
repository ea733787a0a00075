"""While the service compiles it lives, says that it is not ready, and keeps requests or refuses them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup.service import logs, readiness
from support.made_service import Service, serving


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(readiness, "missing", lambda entries: [])
    with serving(tmp_path / "mail.neardup", seconds=0.2) as made:
        yield made


def test_health_answers_while_kernels_compile(service: Service) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def warm() -> None:
        begun.set()
        assert go_on.wait(30)

    thread = readiness.warm_behind(service.desk, warm)
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
        assert refused.error["given"] == "The service is starting and still compiles"
        assert int(refused.headers["retry-after"]) > 0
    go_on.set()
    thread.join(30)
    assert service("GET", "/ready").status == 200
    assert service("GET", "/v1/documents/a").status == 404


def test_a_request_waits_for_what_ends_in_time(service: Service) -> None:
    service.desk.limits = service.desk.limits.of(seconds=60)
    service.desk.warmed.clear()
    threading.Timer(0.05, service.desk.warmed.set).start()
    assert service("GET", "/v1/stats").status == 200


def test_what_fails_while_it_warms_is_logged_and_lets_requests_in(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(logs, "mistake", lambda error, request: seen.append(error))

    def warm() -> None:
        raise OSError("the disk is gone")

    readiness.warm_behind(service.desk, warm).join(30)
    assert [str(error) for error in seen] == ["the disk is gone"]
    assert service("GET", "/ready").status == 200
