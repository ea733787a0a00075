"""Threads that read: each has its own connection to the collection, and takes one request after the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import TypeVar

from neardup.service.job import Job
from neardup.service.refusals import stopping, timeout

T = TypeVar("T")

GRACE = 0.5
"""Seconds that work gets to notice that its time is over and to say so itself."""


class Workers:
    """``threads`` threads. How many jobs wait is bounded by who calls: ``Gate`` lets only so many requests in.

    Daemon threads, because a computation that no clock interrupts must not keep the program from ending.
    """

    def __init__(self, threads: int) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Jobs that no thread has taken yet, about."""
        return self._jobs.qsize()

    async def run(self, work: Callable[[], T], until: float) -> T:
        """The result of ``work``. Raises RefusedError when it has not ended by ``until`` (of ``monotonic()``).

        What has not begun by then never begins.
        """
        if self._closed:
            raise stopping()
        job = Job(work, until)
        self._jobs.put(job)
        try:
            result: T = await asyncio.wait_for(asyncio.wrap_future(job.future), until + GRACE - monotonic())
        except TimeoutError:
            raise timeout() from None
        return result

    def close(self, seconds: float) -> bool:
        """Let what has begun end, at most so many seconds; whether it did."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        until = monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            try:
                result = job.done()
            except BaseException as error:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)
            del job  # a text that was worked on is not kept until the next request
