"""Machine services that every stage of a run shares: progress, threads, deadlines, memory, secrets."""

import ctypes
import errno
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from math import inf
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Protocol, TypeVar

from neardup.errors import SettingError

Advance = Callable[[int], None]
"""A callback that receives the amount of work done since the last call, in the unit of the stage."""

# Messages of libraries that report lack of memory without MemoryError: C++, the loader of shared objects, threads.
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
_ASKED = re.compile(r"alloc of size (\d+)")

_MOST_ASKED = 1 << 40
"""No valid input needs this many bytes in one piece; a request for more comes from a damaged file."""

_IF_LIMITED = ("error return without exception set",)
"""Messages that report lack of memory only if the process has a limit: from an interpreter without memory."""

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of malloc.h."""

STATUS = Path("/proc/self/status")

SECRET_BYTES = 32

_SECRET = "NEARDUP_KEY"
"""The environment variable that replaces the generator, to reproduce a failure under a known key."""


class Progress(Protocol):
    """An observer of the stages of a run."""

    def stage(self, name: str, total: int | None, unit: str) -> AbstractContextManager[Advance]:
        """Open a stage of ``total`` units ("bytes", "bands", "pairs", …; None: unknown)."""
        ...


def report_nothing(amount: int) -> None:
    """Report no progress."""


class Silent:
    """The observer that shows nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Open a stage that is not shown."""
        yield report_nothing


SILENT = Silent()


class SoFar(NamedTuple):
    """A stage that is under way: ``done`` units of ``total`` (None: unknown)."""

    name: str
    done: int
    total: int | None
    unit: str


class Watched:
    """The observer that another thread asks how far the work is: ``now`` is the stage under way, None between two.

    >>> watched = Watched()
    >>> with watched.stage("alignment", 8, "rows") as advance:
    ...     advance(3)
    ...     watched.now
    SoFar(name='alignment', done=3, total=8, unit='rows')
    """

    def __init__(self) -> None:
        self.now: SoFar | None = None

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Open a stage."""
        done = 0

        def advance(amount: int) -> None:
            nonlocal done
            done += amount
            self.now = SoFar(name, done, total, unit)

        advance(0)
        try:
            yield advance
        finally:
            self.now = None


_listeners: list[Callable[[str], None]] = []


def report(line: str) -> None:
    """Pass a line about a long wait, from any thread, to the functions that show such lines."""
    for listener in _listeners:
        listener(line)


@contextmanager
def reporting_lines(show: Callable[[str], None]) -> Iterator[None]:
    """Show the lines of :func:`report` within the block."""
    _listeners.append(show)
    try:
        yield
    finally:
        _listeners.remove(show)


Item = TypeVar("Item")


Result = TypeVar("Result")


@cache
def installed_version(package: str) -> str | None:
    """Return the version of an installed package, None without it; its metadata are parsed once."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def worker_count(threads: int) -> int:
    """Return ``threads``, or, if it is 0, the number of cores available to this process."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` for every item, computed in worker threads, in the order of the items.

    At most ``threads + 2`` items are read ahead of the consumer, so a slow consumer bounds the memory. The first
    error of an item is raised when its turn comes; no further item is started after it. A single item needs no
    other thread, nor do the items of a list or a range if one thread works.
    """
    if isinstance(items, Sized) and (len(items) < 2 or worker_count(threads) == 1):
        yield from map(work, items)
        return
    workers = worker_count(threads)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="neardup") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Deadline:
    """The moment when the time of a piece of work ends: ``seconds`` from now (None: never).

    ``late`` makes the error of work that is not done by then. ``clock`` returns seconds and never goes back.

    >>> now = [0.0]
    >>> deadline = Deadline(2, clock=lambda: now[0])
    >>> deadline.check()
    >>> now[0] = 5.0
    >>> deadline.left, deadline.passed
    (-3.0, True)
    >>> deadline.check()
    Traceback (most recent call last):
    TimeoutError
    """

    def __init__(
        self,
        seconds: float | None,
        late: Callable[[], Exception] = TimeoutError,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._late, self._clock = late, clock
        self._end = None if seconds is None else clock() + seconds

    @property
    def limited(self) -> bool:
        """Whether the time ever ends."""
        return self._end is not None

    @property
    def left(self) -> float:
        """The seconds that are left: negative when the time is over, infinite without a limit."""
        return inf if self._end is None else self._end - self._clock()

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.left < 0

    def late_error(self) -> Exception:
        """Return the error of work that is not done in time."""
        return self._late()

    def check(self) -> None:
        """Raise the error of ``late`` if the time is over."""
        if self.passed:
            raise self.late_error()


UNLIMITED = Deadline(None)


def release_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Without this, arrays of a few megabytes each stay with the allocators after a stage, and the arrays of the next
    stage add to them.
    """
    import pyarrow as pa  # imported late: a caller that tests for memory failure may lack the memory to load it

    pa.default_memory_pool().release_unused()
    # not every platform has glibc, and Windows cannot load a library without a name
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def return_large_arrays() -> None:
    """Make every array of a megabyte or more go back to the system at once when it is freed, with glibc.

    Otherwise the C library keeps ever larger ones for later, which a memory limit leaves no room for.
    """
    # not every platform has glibc, and Windows cannot load a library without a name
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


def is_memory_failure(error: BaseException | None, limited: bool = False) -> bool:
    """Return whether an error, or one that it was raised from, reports a lack of memory.

    ``limited``: the process has a memory limit, so a library that fails to load is taken as a lack of memory.

    >>> is_memory_failure(RuntimeError("can't start new thread")), is_memory_failure(KeyError("x"))
    (True, False)

    A request for more memory than any machine has comes from a damaged file:

    >>> is_memory_failure(MemoryError("malloc of size 2594077280951176000 failed"))
    False
    """
    return any(_says_so(each, limited) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 100:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def _says_so(error: BaseException, limited: bool) -> bool:
    asked = _ASKED.search(str(error))
    if asked and int(asked[1]) > _MOST_ASKED:
        return False
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if not isinstance(error, ImportError | OSError | RuntimeError | SystemError):
        return False
    said = str(error).lower()
    return any(words in said for words in (*_SAID, *(_IF_LIMITED if limited else ())))


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes; 0 if the system does not report it."""
    try:  # preferred, because a process inherits the getrusage peak of its parent
        lines = STATUS.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return _peak_on_windows()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class _Counters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS of psapi.h."""

    _fields_ = (
        ("cb", ctypes.c_uint32),
        ("page_faults", ctypes.c_uint32),
        ("peak_working_set", ctypes.c_size_t),
        *((f"other_{k}", ctypes.c_size_t) for k in range(7)),
    )


def _peak_on_windows() -> int:
    try:
        kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
        ask = kernel32.K32GetProcessMemoryInfo
    except (AttributeError, OSError):
        return 0
    kernel32.GetCurrentProcess.restype = ctypes.c_void_p
    ask.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Counters), ctypes.c_uint32)
    found = _Counters(cb=ctypes.sizeof(_Counters))
    return int(found.peak_working_set) if ask(kernel32.GetCurrentProcess(), found, found.cb) else 0


def new_secret() -> bytes:
    """Return 32 bytes from the system's generator, or NEARDUP_KEY if set. Raises SettingError if it is invalid."""
    import secrets  # imported late: few commands need it

    given = os.environ.get(_SECRET)
    if given is None:
        return secrets.token_bytes(SECRET_BYTES)
    try:
        secret = bytes.fromhex(given)
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise SettingError(
            f"{_SECRET} in the environment is not a key",
            f"{2 * SECRET_BYTES} hexadecimal digits, to repeat a failure",
            "Remove it: a key is drawn by itself",
        )
    return secret
