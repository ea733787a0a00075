"""A service is ready when it listens, and closes nothing under a thread that still uses it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.collection.contract import StoreUnavailableError
from neardup.service import server
from neardup.service.web import server as web_server
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from support.made_service import serving


def test_a_service_is_ready_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup", seconds=30) as service:
        for target in ("/ready", "/health", "/v1/stats"):
            assert service("GET", target).status == 200


class _Page:
    """Pages with a thread that perhaps does not end."""

    def __init__(self, ended: bool) -> None:
        self._ended = ended

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Not asked."""

    def close(self, seconds: float) -> bool:
        return self._ended


@pytest.mark.parametrize("pages_end", [True, False])
def test_a_collection_is_not_closed_under_a_thread_that_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages_end: bool
) -> None:
    def run(app: Any, limits: Limits, listening: socket.socket, started: Any) -> None:
        started()

    monkeypatch.setattr(server, "run", run)
    collection = Collection(tmp_path / "mail.neardup")
    listening = web_server.listen("127.0.0.1", 0)
    addresses: list[str] = []
    pages = {"/x": _Page(pages_end)}
    assert server.serve(collection, Tokens(), Limits.of(), listening, addresses.append, pages) == pages_end
    assert len(addresses) == 1
    if pages_end:
        with pytest.raises(StoreUnavailableError):
            len(collection)
    else:
        assert len(collection) == 0
        collection.close()
