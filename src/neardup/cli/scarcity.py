"""Memory that is not enough: what was being done, how much this process may have, what to do."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neardup import display
from neardup.runtime import Advance, Progress

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

LEAST = 256_000_000
"""With less address space NumPy ends the process while it is loaded, without an exception (measured: 150 MB)."""
LOADED = 700_000_000
"""Address space that the libraries and kernels take before the first document (measured: 640 MB)."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_doing: list[str] = []
"""The stages that are under way, or were when the work failed."""


class Noted:
    """A watcher that passes everything on, and remembers which stage failed."""

    def __init__(self, progress: Progress) -> None:
        self.shown = progress
        _doing.clear()

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """A stage of the watcher."""
        _doing.append(name)
        with self.shown.stage(name, total, unit) as advance:
            yield advance
        _doing.pop()


def limit() -> int | None:
    """The bytes of address space that this process may take, where there is a limit."""
    if resource is None or not hasattr(resource, "RLIMIT_AS"):
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else int(soft)


def _require_memory() -> None:
    """Raise MemoryError where not even the libraries can be loaded; ask for little where there is a limit."""
    _doing.clear()
    allowed = limit()
    if allowed is None:
        return
    # one buffer and stack for each core of the machine, of which nothing here makes use
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if allowed < LEAST:
        _doing.append("loading libraries")
        raise MemoryError


def drop_frames(failure: BaseException) -> None:
    """Give back what the failed work held: words need memory, too."""
    traceback.clear_frames(failure.__traceback__)


def no_memory(command: str, given: str = "There is not enough memory for neardup") -> str:
    """The error in words."""
    during = f" ({_doing[-1]})" if _doing else ""
    return "\n".join(
        (
            f"{given} {command}{during}",
            f"{_allowed()}; loading neardup alone takes about {display.size(LOADED)} of address space",
            "Allow it more, give fewer documents at a time or smaller ones, or choose fewer --threads",
        )
    )


@contextmanager
def limited(command: str) -> Iterator[None]:
    """Where the address space has a limit: refuse one too small, and say it when native code aborts."""
    _require_memory()
    if limit() is None:
        yield
        return
    from neardup.cli.aborts import aborts_in_words

    def words() -> str:
        said = no_memory(command, "A library needs more memory than there is for neardup")
        return "\nerror: " + said.replace("\n", "\n       ") + "\n"

    with aborts_in_words(words, status=2):
        yield


def _allowed() -> str:
    """How much memory this process may have."""
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
