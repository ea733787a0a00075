"""Messages for failures, lack of memory and warnings, the signals that stop a command, and its exit status."""

import _thread
import atexit
import ctypes
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn, Protocol, TypeVar

import typer

from neardup import display
from neardup.cli.log import Log, current, current_log
from neardup.cli.options.general import LogOptions
from neardup.errors import CORE, NeardupError, OutputError, SettingError, labelled_parts, without_core
from neardup.runtime import Advance, Progress, is_memory_failure, reporting_lines

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

LEAST = 300_000_000
"""With less address space a library may end the process without an exception: NumPy on import (210 MB)."""
LOADED = 400_000_000
"""Address space of the libraries before the first document (measured on two cores: 370 MB)."""
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_RESERVE_BYTES = 8 << 20
"""Address space that is freed for the last message; nothing is stored in it."""
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)
_doing: list[str] = []
"""The stages in progress, or those at the time of the failure."""


_ENDED_BY: dict[int, str] = {
    signal.SIGABRT: "A library needs more memory than is available for neardup",
    signal.SIGSEGV: "A library failed, perhaps because there is not enough memory for neardup",
}
_LAST_SECONDS = 10
"""Seconds for the message and the removal of partial output after a crash."""
_OF_A_THREAD = "thread started by"
"""In the report of a thread that failed outside of its own program."""
DONE, REJECTED, DIFFERENT, ERROR, UNSEEN, INTERRUPTED, UNREAD = 0, 1, 1, 2, 3, 130, 141
"""The exit statuses. UNREAD is that of a program that SIGPIPE ends: the reader of its output went away."""
SIGNALLED = 128
"""Offset of the exit status of a command that a signal ended, as in shells."""
TRACEBACK = "NEARDUP_TRACEBACK"
T = TypeVar("T")
_AGAIN = 0.01
"""Seconds until a signal is repeated whose exception was lost."""
_OF_OUTPUT = (errno.ENOSPC, errno.EBADF, errno.EIO)
"""Failures without the name of a file: the writers of files name theirs."""
_RIGHTS = ("Files that you may read, folders that you may write", "Change its rights, or choose another one")


class Noted:
    """A watcher that forwards everything, and remembers the stage that failed."""

    def __init__(self, progress: Progress) -> None:
        self.shown = progress
        _doing.clear()

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Forward a stage."""
        _doing.append(name)
        with self.shown.stage(name, total, unit) as advance:
            yield advance
        _doing.pop()


def limit() -> int | None:
    """Return the limit of the address space of this process in bytes, or None."""
    if resource is None or not hasattr(resource, "RLIMIT_AS"):
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else int(soft)


@contextmanager
def limited_memory(command: str) -> Iterator[None]:
    """If the address space is limited, refuse a limit that is too small, and report failures of native code."""
    _require_memory()
    if limit() is None:
        yield
        return

    def words(number: int) -> str:
        words_of_error = no_memory(command, _ENDED_BY[number])
        return "\nerror: " + words_of_error.replace("\n", "\n       ") + "\n"

    with crashes_in_words(words, status=2), aborts_without_memory_for_a_thread():
        yield


def _require_memory() -> None:
    """Raise MemoryError if not even the libraries can be loaded; request little memory if it is limited."""
    _doing.clear()
    allowed = limit()
    if allowed is None:
        return
    # OpenBLAS allocates a buffer and a stack for each core, which are not used
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if allowed < LEAST:
        _doing.append("loading libraries")
        raise MemoryError


def drop_frames(failure: BaseException) -> None:
    """Free the memory of the failed work, since the message needs memory, too."""
    traceback.clear_frames(failure.__traceback__)


def no_memory(command: str, given: str = "There is not enough memory for neardup") -> str:
    """Return the message of the error."""
    during = f" ({_doing[-1]})" if _doing else ""
    needed = f"loading neardup alone takes about {display.size(LOADED)} of address space"
    do = "Allow it more, give fewer documents at a time or smaller ones, or choose fewer --threads"
    return "\n".join(labelled_parts(f"{given} {command}{during}\n{_limit_in_words()}; {needed}", do=do))


def _limit_in_words() -> str:
    """Return the memory limit of this process in words."""
    address_space = limit()
    if address_space is not None:
        return f"This process may take {display.size(address_space)} of address space (ulimit -v)"
    for name in _CGROUPS:
        try:
            allowed = int(Path(name).read_text())
        except (OSError, ValueError):
            continue
        if allowed < 1 << 60:
            return f"This container may take {display.size(allowed)} (cgroup)"
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "This machine has no more"
    return f"This machine has {display.size(whole)}"


@contextmanager
def crashes_in_words(words: Callable[[int], str], status: int) -> Iterator[None]:
    """Make a crash print ``words(signal)``, remove partial output and end the process with ``status``.

    C++ without a handler for bad_alloc calls abort(); other code uses the address that it did not get.
    Python's own signal handlers would run at the next bytecode, which never comes, so a C handler is installed.
    """
    # the handler runs once at most: if it fails, the process ends as before
    install = getattr(ctypes.CDLL(None), "sysv_signal", None) if os.name == "posix" else None
    if install is None:
        yield
        return
    reserve = [bytearray(_RESERVE_BYTES)]

    def end(number: int) -> None:
        try:
            signal.alarm(_LAST_SECONDS)  # the thread may hold a lock that is needed
            reserve.clear()
            os.write(2, words(number).encode("utf-8", "replace"))
            atexit._run_exitfuncs()
        finally:
            os._exit(status)

    handler = _Handler(end)
    install.restype, install.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    before = {number: install(number, ctypes.cast(handler, ctypes.c_void_p)) for number in _ENDED_BY}
    try:
        yield
    finally:
        for number, previous in before.items():
            install(number, previous)


@contextmanager
def aborts_without_memory_for_a_thread() -> Iterator[None]:
    """Abort if a thread fails for lack of memory before its first line.

    ``Thread.start`` waits for that line, for ever. The failure is only reported to ``sys.unraisablehook``, in a
    thread that may have no memory for a frame of Python. Therefore the hook is a method in C, and gives the report
    to a thread that already runs.
    """
    failures: SimpleQueue[Any] = SimpleQueue()
    before = sys.unraisablehook

    def watch() -> None:
        while (failure := failures.get()) is not None:
            if issubclass(failure.exc_type, MemoryError) and _OF_A_THREAD in (failure.err_msg or ""):
                os.abort()
            before(failure)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    sys.unraisablehook = failures.put
    try:
        yield
    finally:
        sys.unraisablehook = before
        failures.put(None)
        watcher.join()


SIGNALS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    _say("warning", text, typer.colors.YELLOW)


def error(text: str) -> None:
    """Print an error on standard error: the mistake, then a line for each further part."""
    _say("error", text, typer.colors.RED)


def note(text: str) -> None:
    """Print a line about the work on standard error."""
    log = current()
    if log is None or not log.say("note", text):
        typer.echo(text, err=True)


def _say(kind: str, text: str, color: str) -> None:
    log = current()
    if log is not None and log.say(kind, text):
        return
    first, *rest = text.splitlines() or [""]
    indent = " " * (len(kind) + 2)
    typer.echo(typer.style(f"{kind}: ", fg=color, bold=True) + first, err=True)
    for line in rest:
        typer.echo(indent + line, err=True)


def guard_command(command: Callable[[T], int], name: str) -> Callable[[T, Callable[[], LogOptions]], None]:
    """Wrap the command of that name: report its failures in words, log its work, and exit with its status."""

    def run(options: T, log_options: Callable[[], LogOptions]) -> None:
        try:
            asked = log_options()
            log = Log(name, asked)
            log.start()
            with current_log(log):
                status = asked.status_of(_status(command, name, options))
                log.end(status)
        except (SettingError, OutputError) as mistake:  # of the log itself
            error(_words(mistake))
            status = ERROR
        raise typer.Exit(status)

    return run


def _status(command: Callable[[T], int], name: str, options: T) -> int:
    """Run a command, report its failure in words, and return its exit status."""
    try:
        with stoppable(), limited_memory(name), reporting_lines(note):
            status = command(options)
            sys.stdout.flush()
    except StoppedError as stopped:
        number = signal.Signals(stopped.number).name
        note(f"stopped by {number}, {_outputs_in_words(stopped)}")
        return SIGNALLED + stopped.number
    except KeyboardInterrupt as stopped:
        note(f"interrupted, {_outputs_in_words(stopped)}")
        return INTERRUPTED
    except BrokenPipeError:
        _stop_writing()
        return UNREAD
    except Exception as failure:
        if TRACEBACK in os.environ:
            raise
        _explain(failure, name)
        return ERROR
    return status


@contextmanager
def told_if_stopped(sentence: Callable[[], str]) -> Iterator[None]:
    """Report ``sentence()`` in place of "nothing was written" when the work within the block is stopped.

    For work that is stored in pieces. What the work itself has said comes first.
    """
    try:
        yield
    except KeyboardInterrupt as stopped:
        if not getattr(stopped, "__notes__", ()):
            stopped.add_note(sentence())
        raise


class Parts(Protocol):
    """Finished parts of a run on disk, which a later run takes up."""

    def __len__(self) -> int:
        """Return their number."""

    def close(self) -> None:
        """Close their files."""


P = TypeVar("P", bound=Parts)


@contextmanager
def resumable(parts: P) -> Iterator[P]:
    """Report the finished parts of an earlier run, and those that are kept if the block is stopped; close them."""

    def kept_parts() -> str:
        kept = display.counted(len(parts), "finished part")
        return f"no result was written; {kept} kept, with which the command goes on"

    if len(parts):
        note(f"going on with {display.counted(len(parts), 'finished part')} of an earlier run")
    try:
        with told_if_stopped(kept_parts):
            yield parts
    finally:
        parts.close()


def _outputs_in_words(stopped: KeyboardInterrupt) -> str:
    """Return the words for the output of a stopped command."""
    return "; ".join(getattr(stopped, "__notes__", ())) or "nothing was written"


def _stop_writing() -> None:
    """Discard further output: the reader has closed the pipe, as in ``neardup demo | head``, or the disk is full.

    Otherwise the buffered rest would be written at exit and fail again.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(failure: Exception, command: str) -> None:
    if is_memory_failure(failure, limited=limit() is not None):
        drop_frames(failure)
        error(no_memory(command))
    else:
        error(_words(failure))
    try:
        sys.stdout.flush()
    except OSError:
        _stop_writing()


def _words(failure: Exception) -> str:
    if isinstance(failure, NeardupError):
        return failure.lines()
    if isinstance(failure, OSError) and failure.strerror:
        place = failure.filename or ("standard output" if failure.errno in _OF_OUTPUT else "")
        words = f"{place}: {failure.strerror}" if place else failure.strerror
        return "\n".join(labelled_parts(words, *_RIGHTS)) if isinstance(failure, PermissionError) else words
    if isinstance(failure, ModuleNotFoundError) and failure.name in CORE:
        return "\n".join(labelled_parts(*without_core(failure.name)))
    if isinstance(failure, ImportError) and (parts := getattr(failure, "parts", ())):  # of the compiled kernels
        return "\n".join(labelled_parts(*parts))
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

        Arrays that kernels return have such a method.
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
