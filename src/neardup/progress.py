"""How long work tells its watcher where it is: a protocol, and the silent watcher that is the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]
"""Called with the amount of work done since the last call, in the unit of the stage."""


class Progress(Protocol):
    """A watcher of the stages of a run."""

    def stage(self, name: str, total: int | None, unit: str) -> AbstractContextManager[Advance]:
        """Open a stage of ``total`` units ("bytes", "bands", "pairs", …; None: unknown)."""
        ...


class Silent:
    """The watcher that shows nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """A stage nobody sees."""
        yield lambda amount: None
