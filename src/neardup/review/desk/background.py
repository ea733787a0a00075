"""The time that a page may take to read its texts, and work ahead of the reader in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from time import monotonic

SECONDS = 2.0
"""Seconds that a page waits for texts; then it is shown as it is, and refreshes itself."""


class Budget:
    """The rest of a time; ``short`` is set once something had to be left out because the time was over."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = monotonic() + (SECONDS if seconds is None else seconds)
        self.short = False

    def left(self) -> float:
        """Return the seconds that are left, 0 if none are."""
        return max(0.0, self._end - monotonic())

    def allows(self) -> bool:
        """Return whether there is time for one more thing; if not, that is noted."""
        in_time = monotonic() < self._end
        self.short = self.short or not in_time
        return in_time


LAST_WAIT = 5.0
"""Seconds that closing waits for a thread: the interpreter must not end while one of them reads or computes."""


class Ahead:
    """Runs the last given tasks in a thread of its own, one after the other; those given before are dropped."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: list[Callable[[], object]] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def give(self, tasks: Iterable[Callable[[], object]]) -> None:
        """Replace the tasks that have not begun."""
        with self._changed:
            self._tasks = list(tasks)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="lines ahead", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Stop after the present task."""
        with self._changed:
            self._closed, self._tasks = True, []
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST_WAIT)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._tasks and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                task = self._tasks.pop(0)
            task()
