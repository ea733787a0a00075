"""The time that a page may take to read its texts."""

from __future__ import annotations

from time import monotonic

SECONDS = 2.0
"""Seconds that a page waits for texts; then it is shown as it is, and refreshes itself."""


class Budget:
    """The rest of a time; ``short`` is set once something had to be left out because the time was over."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = monotonic() + (SECONDS if seconds is None else seconds)
        self.short = False

    def left(self) -> float:
        """Return the seconds that are left, 0 if none are."""
        return max(0.0, self._end - monotonic())

    def allows(self) -> bool:
        """Return whether there is time for one more thing; if not, that is noted."""
        in_time = monotonic() < self._end
        self.short = self.short or not in_time
        return in_time
