"""One thread that writes while the others read on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")

# Enough that neither side waits for the other's uneven steps, few enough to hold only some chunks.
_WAITING = 4


class Background(Generic[Item]):
    """Calls ``work`` for each item in order, in a thread; its exception comes out of put or close."""

    def __init__(self, work: Callable[[Item], None]) -> None:
        self._work = work
        self._queue: queue.Queue[Item | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        # A daemon: a run that is broken off between two chunks must not wait for a writer no one feeds.
        self._thread = threading.Thread(target=self._run, name="neardup-writer", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Hand over an item; waits while too many are waiting."""
        self._raise()
        self._queue.put(item)

    def close(self) -> None:
        """Wait until all is written."""
        self._finish()
        self._raise()

    def stop(self) -> None:
        """End the thread without writing what still waits."""
        self._error = self._error or RuntimeError("writing was stopped")
        self._finish()

    def _finish(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if self._error is None:  # after an error items are only taken, so that put never waits for good
                try:
                    self._work(item)
                except BaseException as error:
                    self._error = error

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
