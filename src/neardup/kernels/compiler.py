"""The decorator of kernels: the fast way to compile if this Numba allows it, else the plain one.

The fast way (``linker.py``) builds on Numba's internals, which may change with any version. Versions up to the
newest that passed the tests are trusted. A newer one is first tried, once per machine and in a process of its own,
because wrong machine code can end a process. If the trial fails, kernels are compiled by ``numba.njit`` alone: the
results are the same, but nothing is kept on disk, so every process compiles all it needs.
"""

import logging
import subprocess
import sys
import threading
from typing import Any

import numba
from numba import config

from neardup.kernels import compile_cache
from neardup.kernels.compile_cache import READY, STARTED, tell

NEWEST = (0, 68)
"""The newest Numba that the whole suite passed with. Raise it when ``scripts/test`` passes with a newer one."""
FIRST_UNKNOWN = f"{NEWEST[0]}.{NEWEST[1] + 1}"
_VERDICT, _PASSED, _FAILED = "trial", b"passed", b"failed"
_SECONDS = 120.0
"""A trial takes two seconds; one that hangs has failed."""
if logging.getLogger("numba").level == logging.NOTSET:
    # Numba writes hundreds of thousands of lines at DEBUG while it compiles; who wants them sets its level
    logging.getLogger("numba").setLevel(logging.WARNING)
_compiling = threading.local()
"""The plain kernel that a thread is compiling; kernels compiled meanwhile are parts of it."""


def njit(function: Any = None, *, inline: str = "never", **_: Any) -> Any:
    """Turn a function into a kernel, which releases the GIL. It is kept on disk if there is a folder.

    >>> import numpy as np
    >>> @njit
    ... def total(values):
    ...     found = 0
    ...     for value in values:
    ...         found += value
    ...     return found
    >>> total(np.arange(4))
    6
    """
    if function is None:
        return lambda decorated: njit(decorated, inline=inline)
    if config.DISABLE_JIT:
        return function
    return _kernel(function, inline)


def _plain(function: Any, inline: Any) -> Any:
    """Return a kernel made by Numba, with the attributes of ``linker.Kernel``.

    It is not kept, not even by ``cache=True``: Numba numbers the functions it generates anew in each process, so
    that two kernels from different processes may give the same name to different functions, and one would run the
    other's.
    """
    made = numba.njit(nogil=True, inline=inline)(function)
    made.spelled = f"{function.__module__}:{function.__qualname__}"
    made.file_name = lambda arguments: f"{made.spelled}{arguments}"
    compile_it = made.compile

    def compile_and_tell(types: Any) -> Any:
        if types in made.signatures:
            return compile_it(types)
        outer, _compiling.now = getattr(_compiling, "now", None), made.spelled
        tell(STARTED, made.spelled)
        try:
            entry_point = compile_it(types)
        finally:
            _compiling.now = outer
        if outer is None:
            tell(READY, made.spelled)
        return entry_point

    made.compile = compile_and_tell
    return made


def _chosen() -> Any:
    """Return the function that makes kernels with the installed Numba."""
    if _tested(numba.__version__) or _trial():
        try:
            from neardup.kernels import linker
        except (ImportError, AttributeError):  # a part of Numba is missing; the plain way does not need it
            pass
        else:
            return linker.kernel
    compile_cache.keep_nothing(
        f"this neardup cannot keep compiled code with Numba {numba.__version__}: every command compiles again, "
        f"one or two minutes each time. Install a newer neardup, or numba<{FIRST_UNKNOWN}"
    )
    return _plain


def _tested(version: str) -> bool:
    """Return whether a version is at most ``NEWEST``. Its patches count as the same: they change no interface.

    >>> _tested("0.61.0"), _tested("1.0.0"), _tested("unknown")
    (True, False, False)
    """
    try:
        major, minor = map(int, version.split(".")[:2])
    except ValueError:
        return False
    return (major, minor) <= NEWEST


def _trial() -> bool:
    """Return whether kernels can be compiled and kept in the fast way; the verdict is kept with them."""
    known = compile_cache.load(_VERDICT)
    if known is not None:
        return known == _PASSED
    passed = False
    if sys.executable:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "neardup.kernels.trial"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
            passed = done.returncode == 0
        except OSError:
            return False  # a state of this machine, not of Numba: to be tried again
        except subprocess.TimeoutExpired:
            pass
    compile_cache.keep(_VERDICT, _PASSED if passed else _FAILED)
    return passed


_kernel = _chosen()
KEEPS = _kernel is not _plain
"""Whether compiled code can be kept at all."""
