"""Memory: given back when a stage no longer needs it, and failures that mean there was not enough."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator
from contextlib import suppress

# How libraries say it where they raise no MemoryError: C++, the loader of shared objects, threads.
_SAID = (
    "bad_alloc",
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "cannot create thread",
    "unable to allocate",
    "malloc of size",
    "realloc of size",
    "out of memory",
)
_LOADING = "Could not find/load shared object file"


def release_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Arrays of a few megabytes each, freed after a stage, otherwise stay with the allocators, and the next stage's
    come on top of them.
    """
    import pyarrow as pa  # who asks whether memory was short may have none left to load it

    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # where there is no glibc
        ctypes.CDLL(None).malloc_trim(0)


def is_memory_failure(error: BaseException | None, limited: bool = False) -> bool:
    """Whether an error, or what it was raised from, says that there was not enough memory.

    ``limited``: the process has a limit of memory, and a library that cannot be loaded did not fit into it.

    >>> is_memory_failure(RuntimeError("can't start new thread")), is_memory_failure(KeyError("x"))
    (True, False)
    """
    return any(_says_so(each, limited) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 100:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def _says_so(error: BaseException, limited: bool) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if not isinstance(error, ImportError | OSError | RuntimeError | SystemError):
        return False
    said = str(error).lower()
    return any(words in said for words in _SAID) or (limited and (_LOADING.lower() in said))
