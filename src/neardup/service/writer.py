"""The single writing thread: requests that arrive during a commit are committed together in the next one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from neardup.runtime import Deadline
from neardup.web.refusals import stopping
from neardup.web.workers import Job

T = TypeVar("T")

MOST_TOGETHER = 64
"""Largest number of requests in a transaction, so that the first need not wait long for the last."""


@dataclass(eq=False)
class _Outcome:
    write: Job
    result: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.error is None:
            self.write.future.set_result(self.result)
        else:
            self.write.future.set_exception(self.error)


class Writer:
    """``together`` is ``Collection.together``: one transaction, on the disk at the end of its block.

    ``observe`` receives the number of requests in each commit. A result is returned only when it is on the disk.
    If a batch cannot be committed, its requests are retried one by one.
    """

    def __init__(
        self, together: Callable[[], AbstractContextManager[None]], observe: Callable[[int], None]
    ) -> None:
        self._together, self._observe = together, observe
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The approximate number of waiting requests."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the writer accepts requests."""
        return self._thread.is_alive()

    async def run(self, work: Callable[[], T], deadline: Deadline) -> T:
        """Return the result of ``work`` when it is on the disk.

        Raises the error of the deadline if the work has not begun by then. Work that has begun runs to its end,
        so that every answer reports the real outcome.
        """
        if not self.alive:
            raise stopping()
        write = Job(work, deadline)
        self._queue.put(write)
        result: T = await asyncio.wrap_future(write.future)
        return result

    def close(self, seconds: float) -> bool:
        """Write the waiting requests, for at most ``seconds``; return whether all were written."""
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """Write one batch; return False after the last."""
        batch = [self._queue.get()]
        try:
            while len(batch) < MOST_TOGETHER:
                batch.append(self._queue.get_nowait())
        except Empty:
            pass
        # the request of a lost client is not begun
        writes = [write for write in batch if write and write.future.set_running_or_notify_cancel()]
        for outcome in self._committed(writes) if writes else ():
            outcome.tell()
        return None not in batch

    def _committed(self, writes: list[Job]) -> list[_Outcome]:
        outcomes: list[_Outcome] = []
        begun = False
        try:
            with self._together():
                begun = True
                outcomes = [_done(write) for write in writes]
        except Exception as error:
            if begun and len(writes) > 1:
                return [outcome for write in writes for outcome in self._committed([write])]
            # the error of a single request is the cause; the failed commit only follows from it
            known = [outcome.error for outcome in outcomes] if len(outcomes) == len(writes) == 1 else []
            return [_Outcome(write, error=next(filter(None, known), error)) for write in writes]
        self._observe(len(writes))
        return outcomes


def _done(write: Job) -> _Outcome:
    try:
        return _Outcome(write, write.done())
    except Exception as error:
        return _Outcome(write, error=error)
