"""The first run on a machine: messages while kernels compile, and a helping process."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TypeVar

import typer

from neardup.cli.messages import warn
from neardup.kernels import compile_cache
from neardup.kernels.precompilation import Spare, entries_of, helped

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds of compiling before the first message."""
AGAIN = 10.0
"""Seconds between two lines where a line cannot be overwritten."""
_ONCE, _EACH_TIME = "compiling, once on this machine", "compiling"

_shown_by_bars = threading.Event()


@contextmanager
def shown_by_bars() -> Iterator[None]:
    """Within the context, the progress bars report compiling, and no line is written."""
    _shown_by_bars.set()
    try:
        yield
    finally:
        _shown_by_bars.clear()


class FirstRun:
    """Watches a command: writes a line if compiling takes long, and starts a helping process.

    The compiling thread calls it, under the lock of the compiler.
    """

    def __init__(self, command: str) -> None:
        self._command, self._done, self._spent = command, 0, 0.0
        self._since: float | None = None
        self._said: float | None = None
        self._open_line = False
        self._helping = ExitStack()
        self._started = False

    def watch(self, what: str, _: str) -> None:
        """Handle the start or the end of the compilation of a kernel."""
        now = monotonic()
        if what == compile_cache.STARTED:
            self._begin(now)
            if self._spent + now - (self._since or now) >= PATIENCE:
                self._say(now)
            return
        self._done += 1
        if self._since is not None:
            self._spent += now - self._since
            self._since = None

    def text(self) -> str:
        """Return the progress of a long compilation, or ""."""
        if self._since is None or self._spent + monotonic() - self._since < PATIENCE:
            return ""
        return self._words()

    def close(self) -> None:
        """End the watching, when the command has ended."""
        self._helping.close()
        if self._open_line:
            typer.echo("\r\x1b[K", nl=False, err=True)

    def _begin(self, now: float) -> None:
        if self._since is None:
            self._since = now
        if self._started:
            return
        self._started = True
        for note in compile_cache.folders().notes:
            warn(note)
        if self._helping.enter_context(helped([self._command], helpers=None)):
            spare = Spare([self._command])
            compile_cache.idle.append(spare)
            self._helping.callback(compile_cache.idle.remove, spare)

    def _say(self, now: float) -> None:
        if _shown_by_bars.is_set():
            return
        if sys.stderr.isatty():
            self._open_line = True
            typer.echo(f"\r{self._words()}\x1b[K", nl=False, err=True)
        elif self._said is None or now - self._said >= AGAIN:
            self._said = now
            typer.echo(self._words(), err=True)

    def _words(self) -> str:
        known = len(entries_of([self._command]))
        what = _ONCE if compile_cache.folders().write else _EACH_TIME
        return f"{what}: {self._done} of {known} kernels" if self._done < known else what


_now: list[FirstRun] = []


def compiling_now() -> str:
    """Return the progress of a long compilation of the running command, or ""."""
    return _now[-1].text() if _now else ""


def watched(command: Callable[[T], int]) -> Callable[[T], int]:
    """Wrap a command, so that a long compilation writes a line on standard error."""

    @functools.wraps(command)
    def run(options: T) -> int:
        first = FirstRun(command.__name__)
        compile_cache.watchers.append(first.watch)
        _now.append(first)
        try:
            return command(options)
        finally:
            _now.remove(first)
            compile_cache.watchers.remove(first.watch)
            first.close()

    return run
