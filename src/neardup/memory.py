"""Memory that a finished stage no longer needs, given back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa


def release_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Arrays of a few megabytes each, freed after a stage, otherwise stay with the allocators, and the next stage's
    come on top of them.
    """
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # where there is no glibc
        ctypes.CDLL(None).malloc_trim(0)
