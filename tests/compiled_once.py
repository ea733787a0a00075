"""Workers of pytest-xdist share the kernel cache: what one compiles, the others wait for and read.

Numba's cache may be written to by several processes, but then each compiles for itself, and two that store
different signatures of one kernel in the same instant may give both the same file name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: each worker compiles what it needs
    fcntl = None  # type: ignore[assignment]

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_held: dict[str, IO[bytes]] = {}
"""The locks of this process by path. A kernel that calls itself is compiled while its lock is held."""


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of a kernel, unless this process holds it; a process that ends has released it."""
    if path in _held:
        yield
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _held[path] = lock
        try:
            yield
        finally:
            del _held[path]


def compile_each_kernel_in_one_process() -> None:
    """From now on look for a kernel in the cache, compile it and store it under a lock of its own.

    Locks are taken from callers to callees, so that no two processes wait for each other; Numba's own lock comes
    first, so that no two threads do.
    """
    compile_it = Dispatcher.compile

    @wraps(compile_it)
    def compile(self: Dispatcher, sig: Any) -> Any:
        file = getattr(self._cache, "_cache_file", None)
        if file is None:
            return compile_it(self, sig)
        with global_compiler_lock, locked(f"{file._index_path}.lock"):
            return compile_it(self, sig)

    if fcntl is not None:
        Dispatcher.compile = compile
