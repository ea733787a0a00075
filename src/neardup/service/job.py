"""The work of a thread for a request, and the future of its result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from neardup.runtime import Deadline


@dataclass(eq=False)
class Job:
    """``work``, which must begin by its deadline."""

    work: Callable[[], Any]
    deadline: Deadline
    future: Future[Any] = field(default_factory=Future)

    def done(self) -> Any:
        """Return the result of the work. Raises the error of the deadline if it is too late to begin."""
        self.deadline.check()
        return self.work()
