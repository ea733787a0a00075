"""The part of a memory limit that is left for documents: the process itself is within the limit, too."""

from __future__ import annotations

PROCESS = 240_000_000
"""Bytes of a process that has read nothing: interpreter, libraries and compiled kernels (measured on Linux)."""

CHUNK = 36_000_000
"""Bytes of a chunk of 8 MB in flight: the bytes themselves, the columns, the tokens (measured: 32 to 39 MB)."""

_CHUNKS = 3
"""Chunks that a limit counts. On two cores there are four, but the search holds none."""

_LEAST_SHARE = 20
"""A limit that does not even hold the process leaves a twentieth: the stages then hold as little as they can."""

JOIN_BYTES = 1_000_000_000
"""The bytes that an exact join may use in a run without a memory limit."""

JOIN_SHARE = 0.6
"""The share of the memory for documents that an exact join may use; the rest is for everything else."""


def room_of(limit: int) -> int:
    """The bytes of a limit that are left for documents and pairs.

    >>> room_of(2_000_000_000), room_of(1_000_000)
    (1652000000, 50000)
    """
    return max(limit - PROCESS - _CHUNKS * CHUNK, limit // _LEAST_SHARE)


def join_bytes_of(limit: int | None) -> int:
    """The bytes that an exact join may use.

    >>> join_bytes_of(None), join_bytes_of(2_000_000_000)
    (1000000000, 991200000)
    """
    return JOIN_BYTES if limit is None else round(JOIN_SHARE * room_of(limit))
