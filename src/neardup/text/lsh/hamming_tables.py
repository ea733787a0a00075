"""Blocks and tables for a Hamming distance: how a search that misses nothing looks at few fingerprints.

The bits are cut into d + m blocks. Two fingerprints that differ in at most d bits differ in at most d blocks, so
they agree in at least m of them. There is one table for each choice of m blocks, sorted by the bits of the
chosen blocks, and in one table such a pair is adjacent. In a table with a prefix of p bits, about n / 2ᵖ of n
fingerprints remain to be looked at. More blocks mean longer prefixes and more tables. A design of two levels cuts
the bits outside the first prefix once more (Manku, Jain and Das Sarma, Detecting Near-Duplicates for Web Crawling,
2007, section 3).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import acos, comb, pi
from typing import Any

from neardup.display.view import PlainData
from neardup.errors import SettingError
from neardup.settings import check

PROBE = 32
"""Cost of entering a fingerprint into a table, or finding its place in one, in comparisons of two fingerprints."""

MOST_DOCUMENTS = 10**15

_DEARER = 2
"""Number of alternatives listed beyond the one with the least work."""

MOST_TABLES = 1000
MOST_OF_TWO_LEVELS = 100

POINTS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0)
"""Resemblances at which the curve is evaluated."""

Level = tuple[int, int]
"""(blocks, chosen): the number of blocks the bits are cut into, and how many of them each table chooses."""


@dataclass(frozen=True)
class Design(PlainData):
    """One way to cut ``bits`` bits for ``documents`` fingerprints.

    ``levels``: the number of blocks and how many are chosen, at each level (none: compare all with all).
    ``prefixes``: (bits of the prefix, tables that have it), the shortest first.
    """

    bits: int
    documents: int
    levels: tuple[Level, ...]
    prefixes: tuple[tuple[int, int], ...]

    @property
    def tables(self) -> int:
        """Number of tables."""
        return sum(tables for _, tables in self.prefixes)

    @property
    def candidates(self) -> float:
        """Expected number of fingerprints that a query looks at in all tables, for random bits."""
        return sum(tables * self.documents * 2.0**-prefix for prefix, tables in self.prefixes)

    @property
    def work(self) -> float:
        """Expected cost of a query, in comparisons of two fingerprints."""
        return self.tables * PROBE + self.candidates

    def masks(self, positions: Sequence[int]) -> list[int]:
        """Cut the given bit positions, and return the prefix of each table as a bit mask.

        >>> [f"{mask:04b}" for mask in designs(4, 1, 1)[1].masks(range(4))]
        ['0011', '1100']
        """
        combined = [0]
        for blocks, chosen in self.levels:
            combined = [mask | more for mask in combined for more in _choices(positions, mask, blocks, chosen)]
        return combined

    def as_dict(self) -> dict[str, Any]:
        """The design as plain data."""
        return {
            "levels": [{"blocks": blocks, "chosen": chosen} for blocks, chosen in self.levels],
            "tables": self.tables,
            "prefixes": [{"bits": prefix, "tables": tables} for prefix, tables in self.prefixes],
            "candidates_per_table": self.candidates / self.tables,
            "candidates_per_query": self.candidates,
            "work_per_query": self.work,
        }


@dataclass(frozen=True)
class HammingPlan(PlainData):
    """The cost of a search within ``distance`` of ``bits`` bits among ``documents``, and the pairs it can find.

    ``design`` has the least expected work. ``alternatives`` are the designs that no other design beats in both
    tables (memory) and candidates (time), the fewest tables first. They include ``design`` and up to two designs
    with more tables.
    """

    documents: int
    bits: int
    distance: int
    design: Design
    alternatives: tuple[Design, ...]

    def probability(self, resemblance: float) -> float:
        """Probability that a pair of this resemblance is within the distance.

        For two feature sets of the same size, in which no feature repeats: cos θ = 2J / (1 + J), and each bit
        differs with probability θ / π (Charikar 2002); bits are assumed independent.

        >>> round(hamming_plan(10**6).probability(0.97), 2), round(hamming_plan(10**6).probability(0.8), 2)
        (0.52, 0.01)
        """
        differs = expected_share(2 * resemblance / (1 + resemblance))
        return sum(
            comb(self.bits, k) * differs**k * (1 - differs) ** (self.bits - k) for k in range(self.distance + 1)
        )

    def half_found(self) -> float:
        """The resemblance at which half of the pairs are within the distance.

        >>> round(hamming_plan(10**6).half_found(), 3)
        0.968
        """
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if self.probability(middle) >= 0.5 else (middle, high)
        return high

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        curve = [[point, self.probability(point)] for point in POINTS]
        return {**super().as_dict(), "half_found": self.half_found(), "curve": curve}


def expected_share(cosine: float) -> float:
    """Share of the bits in which the fingerprints of two feature vectors differ, θ / π, from cos θ.

    >>> expected_share(1.0), expected_share(0.0)
    (0.0, 0.5)
    """
    return acos(max(-1.0, min(1.0, cosine))) / pi


def hamming_plan(documents: int, bits: int = 64, distance: int = 3) -> HammingPlan:
    """Plan the tables with the least expected work for this many fingerprints. Raises SettingError.

    >>> [(p.design.tables, p.design.prefixes) for p in (hamming_plan(2**34, 64, 2), hamming_plan(2**33, 64, 3))]
    [(6, ((32, 6),)), (20, ((31, 4), (32, 12), (33, 4)))]
    """
    check(bits, distance)
    if not 1 <= documents <= MOST_DOCUMENTS:
        raise SettingError(f"documents is {documents}", "A number from 1 to 10^15")
    every = designs(bits, distance, documents)
    best = min(every, key=lambda design: (design.work, design.tables))
    front: list[Design] = []
    for design in sorted(every, key=lambda design: (design.tables, design.candidates)):
        if not front or design.candidates < front[-1].candidates:
            front.append(design)
    return HammingPlan(documents, bits, distance, best, tuple(front[: front.index(best) + 1 + _DEARER]))


@lru_cache(maxsize=1024)
def best_design(bits: int, distance: int, documents: int) -> Design:
    """The design with the least expected work for any number of bits."""
    return min(designs(bits, distance, documents), key=lambda design: (design.work, design.tables))


def designs(bits: int, distance: int, documents: int) -> list[Design]:
    """All designs of one and two levels without too many tables; the first compares all with all."""
    most = bits if distance else 1  # equal fingerprints agree in all blocks, however many there are
    one = [
        (blocks, blocks - distance)
        for blocks in range(distance + 1, most + 1)
        if comb(blocks, distance) <= MOST_TABLES
    ]
    levels: list[tuple[Level, ...]] = [(), *((level,) for level in one)]
    few = [level for level in one if comb(*level) <= MOST_OF_TWO_LEVELS]
    levels += [
        (first, second) for first in few for second in few if comb(*first) * comb(*second) <= MOST_OF_TWO_LEVELS
    ]
    prefix_levels = (_prefixes(bits, cut) for cut in levels)
    return [
        Design(bits, documents, cut, prefixes)
        for cut, prefixes in zip(levels, prefix_levels, strict=True)
        if prefixes
    ]


def even_blocks(bits: int, blocks: int) -> tuple[int, ...]:
    """Distribute ``bits`` over ``blocks`` blocks as evenly as possible; the larger blocks come first.

    >>> even_blocks(64, 6)
    (11, 11, 11, 11, 10, 10)
    """
    size, larger = divmod(bits, blocks)
    return (size + 1,) * larger + (size,) * (blocks - larger)


@lru_cache(maxsize=4096)
def _prefixes(bits: int, levels: tuple[Level, ...]) -> tuple[tuple[int, int], ...]:
    """(bits of the prefix, tables that have it); empty if there are too few bits for all blocks."""
    if not levels:
        return ((0, 1),)
    (blocks, chosen), *rest = levels
    if bits < blocks:
        return ()
    size, larger = divmod(bits, blocks)
    prefixes: Counter[int] = Counter()
    for taken in range(max(0, chosen - (blocks - larger)), min(larger, chosen) + 1):
        ways = comb(larger, taken) * comb(blocks - larger, chosen - taken)
        prefix = size * chosen + taken
        below = _prefixes(bits - prefix, tuple(rest))
        if not below:
            return ()
        for more, tables in below:
            prefixes[prefix + more] += ways * tables
    return tuple(sorted(prefixes.items()))


def _choices(positions: Sequence[int], taken: int, blocks: int, chosen: int) -> Iterator[int]:
    """One mask for each choice of blocks from the positions that are not taken."""
    free = [position for position in positions if not taken >> position & 1]
    cut, start = [], 0
    for size in even_blocks(len(free), blocks):
        cut.append(sum(1 << position for position in free[start : start + size]))
        start += size
    for choice in combinations(cut, chosen):
        yield sum(choice)
