"""Memory of this process: how much it took at most, and giving back what a finished stage no longer needs."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

STATUS = Path("/proc/self/status")


def release_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Arrays of a few megabytes each, freed after a stage, otherwise stay with the allocators, and the next stage's
    come on top of them.
    """
    pa.default_memory_pool().release_unused()
    with suppress(
        AttributeError, OSError, TypeError
    ):  # where there is no glibc; Windows: no library without a name
        ctypes.CDLL(None).malloc_trim(0)


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes; 0 where the system does not say."""
    try:  # what getrusage says, a process inherits from the one that started it
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
