"""Warm-up in the background: kernels, statements and file pages that the first requests would wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from neardup.kernels import compile_cache
from neardup.kernels.warming import compile_entry, entries_of, helped, missing, share
from neardup.service.executor import Executor
from neardup.web import logs

COMMAND = "serve"


class Warming:
    """A thread that compiles, and then uses the collection once."""

    def __init__(self, executor: Executor, warm: Callable[[], None]) -> None:
        self._desk, self._warm, self._using = executor, warm, threading.Lock()
        self._thread = threading.Thread(target=_warm, args=(executor, self._once), daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread still runs, perhaps in native code that nothing can interrupt."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread."""
        self._thread.join(seconds)

    def let_go(self, seconds: float) -> bool:
        """After the executor was closed, return whether the thread uses the collection no more; wait for that."""
        free = self._using.acquire(timeout=seconds)
        if free:
            self._using.release()
        return free

    def _once(self) -> None:
        with self._using:
            if not self._desk.closed:
                self._warm()


def warm_behind(executor: Executor, warm: Callable[[], None]) -> Warming:
    """Compile in a thread and in other processes, then call ``warm``, and accept requests.

    A failure here does not keep the service from accepting requests: it occurs again, and is reported, when a
    request needs the same thing.
    """
    executor.warmed.clear()
    return Warming(executor, warm)


def _warm(executor: Executor, warm: Callable[[], None]) -> None:
    begin = monotonic()
    compiling = _Compiling()
    compile_cache.watchers.append(compiling.watch)
    try:
        entries = missing(entries_of([COMMAND]))
        with helped([COMMAND], helpers=None if entries else 0):
            for entry in share(entries, 0):
                if executor.closed:
                    return
                compile_entry(entry, wait=False)
            warm()
    except Exception as error:
        if not executor.closed:
            logs.mistake(error, "")
    finally:
        compile_cache.watchers.remove(compiling.watch)
        executor.warmed.set()
    if not executor.closed:
        logs.event("ready", seconds=round(monotonic() - begin, 3))


class _Compiling:
    """Logs once that kernels are being compiled, and whether they are kept."""

    def __init__(self) -> None:
        self._said = False

    def watch(self, what: str, _: str) -> None:
        if what == compile_cache.STARTED and not self._said:
            self._said = True
            logs.event("compiling", kept=compile_cache.folders().write is not None)
