"""What a thread is to do for a request, and the future that tells how it ended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from neardup.service.refusals import timeout


@dataclass(eq=False)
class Job:
    """``work``, to be begun by ``until`` (of ``monotonic()``)."""

    work: Callable[[], Any]
    until: float
    future: Future[Any] = field(default_factory=Future)

    def done(self) -> Any:
        """The result of the work. Raises RefusedError when it is too late to begin."""
        if monotonic() > self.until:
            raise timeout()
        return self.work()
