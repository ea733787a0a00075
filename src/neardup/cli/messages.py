"""Messages for failures and warnings, the signals that stop a command, and its exit status."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, TypeVar

import typer

from neardup.cli.memory import drop_frames, limit, limited, no_memory
from neardup.errors import NeardupError
from neardup.runtime import is_memory_failure

DONE, REJECTED, DIFFERENT, ERROR, INTERRUPTED = 0, 1, 1, 2, 130
SIGNALLED = 128
"""Offset of the exit status of a command that a signal ended, as in shells."""
TRACEBACK = "NEARDUP_TRACEBACK"
T = TypeVar("T")
SIGNALS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)
_AGAIN = 0.01
"""Seconds until a signal is repeated whose exception was lost."""


def warn(text: str) -> None:
    """Print a warning on standard error."""
    _say("warning", text, typer.colors.YELLOW)


def error(text: str) -> None:
    """Print an error on standard error: the mistake, then a line for each further part."""
    _say("error", text, typer.colors.RED)


def _say(kind: str, text: str, color: str) -> None:
    first, *rest = text.splitlines() or [""]
    indent = " " * (len(kind) + 2)
    typer.echo(typer.style(f"{kind}: ", fg=color, bold=True) + first, err=True)
    for line in rest:
        typer.echo(indent + line, err=True)


def guarded(command: Callable[[T], int], name: str) -> Callable[[T], None]:
    """Wrap the command of that name: report its failures in words, and exit with its status."""

    def run(options: T) -> None:
        try:
            with stoppable(), limited(name):
                status = command(options)
                sys.stdout.flush()
        except StoppedError as stopped:
            number = signal.Signals(stopped.number).name
            typer.echo(f"stopped by {number}, {_written(stopped)}", err=True)
            status = SIGNALLED + stopped.number
        except KeyboardInterrupt as stopped:
            typer.echo(f"interrupted, {_written(stopped)}", err=True)
            status = INTERRUPTED
        except BrokenPipeError:
            _stop_writing()
            status = DONE
        except Exception as failure:
            if TRACEBACK in os.environ:
                raise
            _explain(failure, name)
        raise typer.Exit(status)

    return run


@contextmanager
def told_if_stopped(said: Callable[[], str]) -> Iterator[None]:
    """Report ``said()`` in place of "nothing was written" when the work within the block is stopped.

    For work that is stored in pieces. What the work itself has said comes first.
    """
    try:
        yield
    except KeyboardInterrupt as stopped:
        if not getattr(stopped, "__notes__", ()):
            stopped.add_note(said())
        raise


def _written(stopped: KeyboardInterrupt) -> str:
    """Return the words for the output of a stopped command."""
    return "; ".join(getattr(stopped, "__notes__", ())) or "nothing was written"


def _stop_writing() -> None:
    """Discard further output after the reader has closed the pipe, as in ``neardup demo | head``.

    Otherwise the buffered rest would be written at exit and fail again.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(failure: Exception, command: str) -> NoReturn:
    if is_memory_failure(failure, limited=limit() is not None):
        drop_frames(failure)
        error(no_memory(command))
    else:
        error(_words(failure))
    raise typer.Exit(ERROR) from None


def _words(failure: Exception) -> str:
    if isinstance(failure, NeardupError):
        return failure.lines()
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.filename}: {failure.strerror}" if failure.filename else failure.strerror
    return (
        f"{type(failure).__name__}: {failure}\n"
        "This is an error in neardup, not in your documents. "
        f"Set {TRACEBACK}=1 to see where it happened, and report it."
    )


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


def _stop(number: int, frame: FrameType | None) -> None:
    raise StoppedError(number)


def leave(status: int) -> NoReturn:
    """End the process at once, while threads are in native code that nothing can interrupt.

    An ordinary end would close their files under them, and the process would crash. Everything that was
    acknowledged is on the disk.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
