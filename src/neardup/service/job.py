"""The work of a thread for a request, and the future of its result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from neardup.service.refusals import timeout


@dataclass(eq=False)
class Job:
    """``work``, which must begin by ``until`` (of ``monotonic()``)."""

    work: Callable[[], Any]
    until: float
    future: Future[Any] = field(default_factory=Future)

    def done(self) -> Any:
        """Return the result of the work. Raises RefusedError if it is too late to begin."""
        if monotonic() > self.until:
            raise timeout()
        return self.work()
