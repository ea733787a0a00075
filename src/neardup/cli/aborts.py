"""Where memory is limited, native code may abort the process: words and cleaning up come from a handler C calls.

LLVM, and C++ where nobody catches bad_alloc, call abort(). Python's own handlers would run too late: at the next
bytecode, which never comes.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_RESERVE_BYTES = 8 << 20
"""Address space for the last words; nothing is stored there."""

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)


@contextmanager
def aborts_in_words(words: Callable[[], str], status: int) -> Iterator[None]:
    """Within it abort() prints ``words()``, removes partial output and ends the process with ``status``."""
    # of a handler that is called once at most: what fails in it ends the process as before
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
