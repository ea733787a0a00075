"""SIGTERM and SIGHUP end a command like Ctrl-C: partial output is removed."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

SIGNALS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)

_AGAIN = 0.01
"""Seconds until a signal is repeated whose exception was lost."""


class StoppedError(KeyboardInterrupt):
    """Raised when a signal stops this process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Make the signals raise StoppedError in the main thread, except signals that already have a handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    before = sys.unraisablehook

    def ask_again(unraisable: Any) -> None:
        """Repeat a signal whose exception was raised in ``__del__``, where the interpreter drops it.

        Compiling kernels runs many of these methods.
        """
        lost = unraisable.exc_value
        if isinstance(lost, KeyboardInterrupt):
            number = lost.number if isinstance(lost, StoppedError) else signal.SIGINT
            threading.Timer(_AGAIN, _thread.interrupt_main, [number]).start()
        else:
            before(unraisable)

    try:
        for number in mine:
            signal.signal(number, _stop)
        sys.unraisablehook = ask_again
        yield
    finally:
        sys.unraisablehook = before
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def leave(status: int) -> NoReturn:
    """End the process at once, while threads are in native code that nothing can interrupt.

    An ordinary end would close their files under them, and the process would crash. Everything that was
    acknowledged is on the disk.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _stop(number: int, frame: FrameType | None) -> None:
    raise StoppedError(number)
