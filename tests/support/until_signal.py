"""A server or supervisor that runs in this process until a signal, as a command runs it."""

from __future__ import annotations

import gc
import http.client
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

SECONDS = 20


def ignore(*_: object) -> None:
    """A handler of the signal."""


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Act in a thread, and then end what runs in the block by a signal, whatever happens."""

    def whole() -> None:
        try:
            act()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=whole)
    before = signal.signal(signal.SIGTERM, ignore)  # a signal that comes too late ends no test
    thread.start()
    try:
        yield
    finally:
        thread.join()
        after = signal.signal(signal.SIGTERM, before)
    assert after is ignore, "the handlers are put back"


@contextmanager
def asked(listening: socket.socket, *requests: tuple[str, str]) -> Iterator[list[tuple[int, bytes]]]:
    """Send requests to the server that runs in the block, then a signal; give the statuses and the bodies."""
    answers: list[tuple[int, bytes]] = []
    address = listening.getsockname()

    def ask() -> None:
        for method, target in requests:
            with closing(http.client.HTTPConnection(*address, timeout=SECONDS)) as connection:
                connection.request(method, target)
                answer = connection.getresponse()
                answers.append((answer.status, answer.read()))

    loggers = [logging.getLogger(name) for name in ("neardup.service", "uvicorn.error", "asyncio")]
    logged = [(logger, logger.level, logger.handlers, logger.propagate) for logger in loggers]
    threshold, hook = gc.get_threshold(), threading.excepthook
    try:
        with meanwhile(ask), closing(listening):
            yield answers
    finally:
        gc.set_threshold(*threshold)
        threading.excepthook = hook
        for logger, level, logger.handlers, logger.propagate in logged:
            logger.setLevel(level)
