"""The HTTP server: listening, stopping without losing anything, and threads that read."""

import asyncio
import gc
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from types import FrameType
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp

from neardup.errors import OutputError, SettingError
from neardup.runtime import Deadline
from neardup.service.web.limits import CONNECTIONS, READING_SECONDS, Limits, stopping_error

KEEP_SECONDS = 15
"""Seconds for which a connection stays open without a request."""
HEAD_BYTES = 64 << 10
"""Bytes of address and headers."""


class Server(uvicorn.Server):
    """Finishes pending requests after the first signal, and stops at once after the second."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self._tell()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after a signal, without raising it again at the end, since a requested stop is not a failure."""
        if self.should_exit:
            os._exit(128 + sig)  # everything acknowledged is on the disk
        self.should_exit = True


def collect_less() -> None:
    """Let the collector of cycles ignore everything loaded so far, and look at new objects more seldom.

    With the modules and kernels of a process, a full collection takes .2 s, in which no thread runs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


_THRESHOLDS = 10_000, 10, 10


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OutputError if that fails, SettingError for an invalid port."""
    if not 0 <= port <= 65_535:  # some systems would use the port modulo 65,536
        raise SettingError(f"--port is {port}", "A whole number from 0 to 65,535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # with its protocol: asyncio sets TCP_NODELAY only on sockets declared as TCP
        listening = socket.socket(found[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):  # for its connections: ends those of clients that read nothing
                limit = round(1000 * READING_SECONDS)
                listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)
            listening.bind(found[4])
            listening.listen(512)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise OutputError(
            f"Cannot listen at {host} port {port}: {error.strerror}",
            "A free port",
            "Choose another --port, or 0 for any",
        ) from error
    return listening


def run(app: ASGIApp, limits: Limits, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve an application until a signal arrives; ``started`` is called when requests can arrive."""
    Server(config(app, limits), started).run(sockets=[listening])


def config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Return the settings of the HTTP server."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=KEEP_SECONDS,
        timeout_graceful_shutdown=max(1, round(limits.stop_seconds)),
    )


def address_of(listening: socket.socket) -> str:
    """Return the address for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


Result = TypeVar("Result")
GRACE = 0.5
"""Seconds after the time limit in which work may notice it and raise its own error."""


@dataclass(eq=False)
class Job:
    """``work``, which must begin by its deadline."""

    work: Callable[[], Any]
    deadline: Deadline
    future: Future[Any] = field(default_factory=Future)

    def done(self) -> Any:
        """Return the result of the work. Raises the error of the deadline if it is too late to begin."""
        self.deadline.check()
        return self.work()


class Turn:
    """Lets threads compute one after the other, in the order in which they came.

    Threads that compute at the same time take longer than one after the other: each statement of a database gives
    the interpreter away, and waits for it again. Who takes longer than ``patience`` seconds holds up no others.
    """

    def __init__(self, patience: float) -> None:
        self._patience, self._changed = patience, threading.Condition()
        self._numbers, self._present = count(), dict[int, float]()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait until those who came before are gone, or have been here for ``patience`` seconds."""
        with self._changed:
            mine, now = next(self._numbers), monotonic()
            left = max(self._present.values(), default=now - self._patience) + self._patience - now
            self._present[mine] = now
            self._changed.wait_for(lambda: min(self._present) == mine, max(0.0, left))
        try:
            yield
        finally:
            with self._changed:
                del self._present[mine]
                self._changed.notify_all()


class Workers:
    """``threads`` threads. ``Middleware`` limits the number of requests, and thereby of waiting jobs.

    With ``patience`` (seconds), a job begins beside others only when all of these have lasted so long: short jobs
    run one after the other, so that threads do not contend for the interpreter, and long ones hold up no others.
    They are daemon threads, so that an uninterruptible computation does not keep the program from ending.
    """

    def __init__(self, threads: int, patience: float = 0.0) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._patience, self._closed = patience, False
        self.turn = Turn(patience)
        self._begun: dict[int, float] = {}
        """When the job of each thread began."""
        self._crowded = threading.Event()
        """Set while jobs wait behind others."""
        works = [self._help if patience and number else self._work for number in range(threads)]
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The approximate number of waiting jobs."""
        return self._jobs.qsize()

    async def run(self, work: Callable[[], Result], deadline: Deadline, *, to_its_end: bool = False) -> Result:
        """Return the result of ``work``. Raises the error of the deadline if it runs beyond it.

        Work that has not begun by then never begins. ``to_its_end``: wait for work that has begun.
        """
        if self._closed:
            raise stopping_error()
        job = Job(work, deadline)
        self._jobs.put(job)
        if self._begun:
            self._crowded.set()
        try:
            most = None if to_its_end else deadline.left + GRACE
            result: Result = await asyncio.wait_for(asyncio.wrap_future(job.future), most)
        except TimeoutError:
            raise deadline.late_error() from None
        return result

    def close(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for running work; return whether it all ended."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        self._crowded.set()
        deadline = Deadline(seconds)
        for thread in self._threads:
            thread.join(max(0.0, deadline.left))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self.turn.taken() if self._patience else nullcontext():
                self._do(job)
            del job  # frees the text before the next request

    def _help(self) -> None:
        """Do jobs that wait behind long ones."""
        while self._crowded.wait():
            self._crowded.clear()  # before the look: a job that arrives after it sets it again
            while self._jobs.qsize():
                latest = max(self._begun.copy().values(), default=inf)
                if not self._closed and latest > monotonic() - self._patience:
                    sleep(self._patience / 4)
                    continue
                with suppress(Empty):
                    job = self._jobs.get_nowait()
                    if job is None:
                        return
                    self._do(job)
                    del job

    def _do(self, job: Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        self._begun[threading.get_ident()] = monotonic()
        if self._jobs.qsize():
            self._crowded.set()
        try:
            result = job.done()
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
        finally:
            del self._begun[threading.get_ident()]
