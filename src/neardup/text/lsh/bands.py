"""Bands × rows for a threshold and a recall, and the probability curve that results.

A signature of k slots is cut into bands; two documents become a candidate pair if all rows of some band agree.
With bands of r₁ … r_b rows the probability is 1 − Π(1 − J^rᵢ) (Leskovec, Rajaraman and Ullman, Mining of Massive
Datasets, section 3.4, where all rᵢ are equal).
"""

from dataclasses import dataclass
from math import prod
from typing import Any

from neardup.display import counted, similarity
from neardup.display.pictures import SCurve
from neardup.display.view import PlainData, facts, heading, view
from neardup.errors import SettingError
from neardup.settings import Settings


@dataclass(frozen=True, repr=False)
class Plan(PlainData):
    """How signatures of ``slots`` slots are cut into bands.

    ``bands`` holds the number of rows of each band, in slot order; the sum is the number of slots. In a notebook a
    plan shows its curve.
    """

    threshold: float
    recall: float
    slots: int
    bands: tuple[int, ...]

    def probability(self, similarity: float) -> float:
        """Probability that a pair of this resemblance becomes a candidate (the S-curve).

        >>> round(plan(0.8, 0.99).probability(0.8), 4)
        0.9919
        """
        return 1 - prod(1 - similarity**rows for rows in self.bands)

    @property
    def suffices(self) -> bool:
        """Whether the bands reach the recall at the threshold."""
        return self.probability(self.threshold) >= self.recall

    def candidates(self, pairs_by_similarity: dict[float, float]) -> float:
        """Expected number of candidates, given the number of pairs at each similarity."""
        return sum(count * self.probability(j) for j, count in pairs_by_similarity.items())

    def curve(self, points: int = 20) -> list[tuple[float, float]]:
        """(similarity, probability) at equal steps from 0 to 1."""
        return [(i / points, self.probability(i / points)) for i in range(points + 1)]

    def svg(self) -> str:
        """Return the S-curve as an SVG image: the threshold, and the areas of pairs missed and compared in vain.

        >>> plan(0.8, 0.99).svg().count("threshold 0.8")
        1
        """
        return self._curve().picture().file("neardup-plan")

    def figure(self) -> str:
        """Return the S-curve as an HTML figure, for views in notebooks."""
        return str(self._curve().figure())

    def __repr__(self) -> str:
        reached = similarity(self.probability(self.threshold), 4)
        return (
            f"Plan(threshold={self.threshold:g}, recall={self.recall:g}: {self.slots} slots in {self._cut()}, "
            f"{reached} found at the threshold)"
        )

    def _repr_html_(self) -> str:
        lines = (
            ("threshold", f"{self.threshold:g}"),
            ("recall asked", f"{self.recall:g}"),
            ("bands", f"{self._cut()}, {counted(self.slots, 'slot')}"),
            ("found at the threshold", similarity(self.probability(self.threshold), 4)),
        )
        return view(heading("Plan"), facts(lines), self._curve().figure())

    def _cut(self) -> str:
        """Return the bands in words.

        >>> plan(0.8, 0.99)._cut(), plan(1.0, 0.5, 8)._cut()
        ('19 bands of 6 or 7 rows', '1 band of 8 rows')
        """
        rows = " or ".join(str(count) for count in sorted(set(self.bands)))
        return f"{counted(len(self.bands), 'band')} of {rows} row{'s' * (rows != '1')}"

    def _curve(self) -> SCurve:
        return SCurve(self.probability, self.threshold, f"{self.slots} slots in {self._cut()}")

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data, with the recall it reaches at its threshold."""
        curve = [list(point) for point in self.curve()]
        return {**super().as_dict(), "recall_at_threshold": self.probability(self.threshold), "curve": curve}


def even_bands(slots: int, bands: int) -> tuple[int, ...]:
    """Distribute ``slots`` rows over ``bands`` bands as evenly as possible; the longer bands come first.

    >>> even_bands(128, 19)[:5], len(even_bands(128, 19))
    ((7, 7, 7, 7, 7), 19)
    """
    rows, longer = divmod(slots, bands)
    return (rows + 1,) * longer + (rows,) * (bands - longer)


def nearest_plan(threshold: float, recall: float, slots: int) -> Plan:
    """Return the bands of :func:`plan`, or the ones that find most if none reach the recall.

    For a run that may join exactly, and then needs no bands.

    >>> nearest_plan(0.01, 0.99, 128).suffices
    False
    """
    Settings.of(threshold=threshold, recall=recall, slots=slots, sketch="classic")  # classic allows any slot count
    cuts = (Plan(threshold, recall, slots, even_bands(slots, bands)) for bands in range(1, slots + 1))
    return next((cut for cut in cuts if cut.suffices), Plan(threshold, recall, slots, even_bands(slots, slots)))


def plan(threshold: float = 0.8, recall: float = 0.99, slots: int = 128) -> Plan:
    """Return the cheapest bands that find pairs at ``threshold`` with probability ``recall`` or better.

    All slots are used: bands differ by at most one row, so none is left over. Both costs of a run grow with the
    number of bands: each band needs one sort of all documents, and more bands propose more candidates at every
    similarity, because 1 − Π(1 − J^rᵢ) grows. The fewest bands that reach the recall are therefore the cheapest
    for any corpus. Raises SettingError if even one row per band does not reach the recall.

    >>> plan(0.8, 0.99).bands[-1], len(plan(0.8, 0.99).bands)
    (6, 19)
    """
    best = nearest_plan(threshold, recall, slots)
    if best.suffices:
        return best
    raise SettingError(
        f"With {slots} slots no bands reach recall {recall:g} at threshold {threshold:g}",
        f"At most {similarity(best.probability(threshold), 4)} is possible there",
        "Raise the threshold or the number of slots, or lower the recall",
    )
