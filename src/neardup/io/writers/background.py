"""A thread that writes while other threads continue to read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")

# More than a row group of the output, so that the next can be read while one is written.
_WAITING_BYTES = 96 << 20


class Background(Generic[Item]):
    """Calls ``work`` for each item in order, in a thread; put or close raises its exception."""

    def __init__(self, work: Callable[[Item], None]) -> None:
        self._work = work
        self._waiting: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._ended = False
        self._error: BaseException | None = None
        self._change = threading.Condition()
        # A daemon: a run that is interrupted between two chunks must not wait for an idle writer.
        self._thread = threading.Thread(target=self._run, name="neardup-writer", daemon=True)
        self._thread.start()

    def put(self, item: Item, size: int) -> None:
        """Hand over an item; blocks while too many bytes are waiting."""
        with self._change:
            self._change.wait_for(lambda: self._error or not self._bytes or self._bytes + size <= _WAITING_BYTES)
            self._raise()
            self._waiting.append((item, size))
            self._bytes += size
            self._change.notify_all()

    def close(self) -> None:
        """Wait until all items are written."""
        self._end()
        self._raise()

    def stop(self) -> None:
        """End the thread without writing the waiting items."""
        with self._change:
            self._waiting.clear()
        self._end()

    def _end(self) -> None:
        with self._change:
            self._ended = True
            self._change.notify_all()
        self._thread.join()

    def _run(self) -> None:
        try:
            while (item := self._next()) is not None:
                self._work(item[0])
        except BaseException as error:
            with self._change:
                self._error = error
                self._change.notify_all()

    def _next(self) -> tuple[Item, int] | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            item = self._waiting.popleft()
            self._bytes -= item[1]
            self._change.notify_all()
            return item

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
