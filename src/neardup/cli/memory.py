"""Errors for lack of memory: the stage that failed, the limit of this process, and the way out."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neardup import display
from neardup.errors import labelled
from neardup.runtime import Advance, Progress

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

LEAST = 600_000_000
"""With less address space a library may end the process without an exception: NumPy on import (measured: 150 MB),
or LLVM while it loads kernels (550 MB).
"""
LOADED = 700_000_000
"""Address space of the libraries and kernels before the first document (measured: 640 MB)."""
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_RESERVE_BYTES = 8 << 20
"""Address space that is freed for the last message; nothing is stored in it."""
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)
_doing: list[str] = []
"""The stages in progress, or those at the time of the failure."""


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
def limited(command: str) -> Iterator[None]:
    """If the address space is limited, refuse a limit that is too small, and report aborts of native code."""
    _require_memory()
    if limit() is None:
        yield
        return

    def words() -> str:
        said = no_memory(command, "A library needs more memory than is available for neardup")
        return "\nerror: " + said.replace("\n", "\n       ") + "\n"

    with aborts_in_words(words, status=2):
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
    return "\n".join(labelled(f"{given} {command}{during}\n{_allowed()}; {needed}", do=do))


def _allowed() -> str:
    """Return the memory limit of this process in words."""
    address_space = limit()
    if address_space is not None:
        return f"This process may take {display.size(address_space)} of address space (ulimit -v)"
    for name in _CGROUPS:
        try:
            said = int(Path(name).read_text())
        except (OSError, ValueError):
            continue
        if said < 1 << 60:
            return f"This container may take {display.size(said)} (cgroup)"
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "This machine has no more"
    return f"This machine has {display.size(whole)}"


@contextmanager
def aborts_in_words(words: Callable[[], str], status: int) -> Iterator[None]:
    """Make abort() print ``words()``, remove partial output and end the process with ``status``.

    LLVM, and C++ without a handler for bad_alloc, call abort(). Python's own signal handlers would run at the next
    bytecode, which never comes, so a C handler is installed.
    """
    # the handler runs once at most: if it fails, the process ends as before
    install = getattr(ctypes.CDLL(None), "sysv_signal", None) if os.name == "posix" else None
    if install is None:
        yield
        return
    reserve = [bytearray(_RESERVE_BYTES)]

    def end(number: int) -> None:
        try:
            reserve.clear()
            os.write(2, words().encode("utf-8", "replace"))
            atexit._run_exitfuncs()
        finally:
            os._exit(status)

    handler = _Handler(end)
    install.restype, install.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)
    before = install(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        install(signal.SIGABRT, before)
