"""A headless Chromium, and pages of a review on a server in this process."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

import pytest

PATHS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT = 20.0


def chromium() -> str:
    """The path of the browser; skips the tests where there is none."""
    found = next(filter(None, map(shutil.which, PATHS)), None)
    if found is None:
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium)")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """One browser for all tests of a module."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    with api.sync_playwright() as started:
        made = started.chromium.launch(executable_path=path, args=OPTIONS)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application on a free port."""
    import uvicorn

    from neardup.service.server import address_of, listen

    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        late = monotonic() + WAIT
        while not server.started:
            assert monotonic() < late
            sleep(0.01)
        try:
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join(WAIT)


def processor_seconds() -> float:
    """Seconds of processor time of this process and its children so far."""
    return sum(os.times()[:4])
