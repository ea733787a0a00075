"""Lines that a reader is about to see, made in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

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
