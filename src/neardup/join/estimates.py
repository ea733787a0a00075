"""The expected number of missed pairs, as the estimates of a run state it, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

FEW = 1.5
"""The variance of families is multiplied by this: few families carry it, and it is estimated from those few
(the square of Student's t over the normal quantile is 1.5 at seven families)."""

_BOUNDED = 0.1
"""An estimate counts as an upper bound if more than this share of it, and more than this many pairs, is one."""


@dataclass(frozen=True)
class Missing:
    """The expected number of missed pairs, its ``variance``, and the variance if pairs were unrelated (``alone``).

    ``bounded`` of the ``estimated`` pairs are an upper bound, from parts of families too large to examine whole.
    """

    estimated: float = 0.0
    variance: float = 0.0
    alone: float = 0.0
    bounded: float = 0.0

    def __add__(self, other: Missing) -> Missing:
        return Missing(
            self.estimated + other.estimated,
            self.variance + other.variance,
            self.alone + other.alone,
            self.bounded + other.bounded,
        )

    @property
    def mostly_bounded(self) -> bool:
        """Whether the part of the estimate that is an upper bound is large enough to make the whole one."""
        return self.bounded > max(_BOUNDED * self.estimated, _BOUNDED)

    @property
    def together(self) -> float:
        """How many pairs are missed together, on average; 1 for unrelated pairs."""
        return max(1.0, self.variance / self.alone) if self.alone else 1.0
