"""Threads that read: each has its own connection to the collection, and handles one request at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from neardup.runtime import Deadline
from neardup.web.refusals import stopping, timeout

T = TypeVar("T")

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


class Workers:
    """``threads`` threads. ``Middleware`` limits the number of requests, and thereby of waiting jobs.

    They are daemon threads, so that an uninterruptible computation does not keep the program from ending.
    """

    def __init__(self, threads: int) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The approximate number of waiting jobs."""
        return self._jobs.qsize()

    async def run(self, work: Callable[[], T], deadline: Deadline) -> T:
        """Return the result of ``work``. Raises RefusedError if it runs beyond the deadline.

        Work that has not begun by then never begins.
        """
        if self._closed:
            raise stopping()
        job = Job(work, deadline)
        self._jobs.put(job)
        try:
            result: T = await asyncio.wait_for(asyncio.wrap_future(job.future), deadline.left + GRACE)
        except TimeoutError:
            raise timeout() from None
        return result

    def close(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for running work; return whether it all ended."""
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        deadline = Deadline(seconds)
        for thread in self._threads:
            thread.join(max(0.0, deadline.left))
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
            del job  # frees the text before the next request
