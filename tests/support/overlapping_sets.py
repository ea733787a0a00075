"""Random sets with a known overlap, and the limit of what is measured on them: for the statistics of sketches."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

SIGMAS = 6.2
"""Standard errors outside of which a normal variable is with probability 5.7·10⁻¹⁰."""
WITH_ID = {"ids": lambda cell: "-".join(map(str, cell))}


class Cell(NamedTuple):
    """Two sets of ``n`` ids for a family of sketches, about as alike as ``similarity``."""

    family: str
    n: int
    similarity: float
    ids: str = "random"

    @property
    def common(self) -> int:
        """The number of common ids that comes closest to the similarity."""
        return round(2 * self.n * self.similarity / (1 + self.similarity))

    @property
    def union(self) -> int:
        return 2 * self.n - self.common

    @property
    def exact(self) -> float:
        return self.common / self.union

    def sides(self, ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the two sets of each row, one after the other: of the first ids, and of the last ones."""
        return ids[:, : self.n].ravel(), ids[:, self.n - self.common :].ravel()
