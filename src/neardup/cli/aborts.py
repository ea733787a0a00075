"""A message and a clean-up when native code aborts the process for lack of memory.

LLVM, and C++ without a handler for bad_alloc, call abort(). Python's own signal handlers would run at the next
bytecode, which never comes, so a C handler is installed.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_RESERVE_BYTES = 8 << 20
"""Address space that is freed for the last message; nothing is stored in it."""

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)


@contextmanager
def aborts_in_words(words: Callable[[], str], status: int) -> Iterator[None]:
    """Make abort() print ``words()``, remove partial output and end the process with ``status``."""
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
