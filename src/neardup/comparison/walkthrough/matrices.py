"""The resemblances of a few documents, exact and estimated side by side, as tables and heat maps."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from neardup.comparison.walkthrough.chapters import NARROWEST, Drawing, Section, ShownTable
from neardup.comparison.walkthrough.explanation import read_small
from neardup.display import counted, similarity
from neardup.display.pictures import heat_map
from neardup.display.view import PlainData, name_of, view
from neardup.tables import Floats
from neardup.text.sketch import MinHash, jaccard, shingles

MOST = 50
"""The most documents."""
_LISTED = 20
"""Pairs that are listed; the matrices have all."""
_HEAD = ("document", "document", "exact", "estimated", "difference")


@dataclass(frozen=True, eq=False, repr=False)
class Similarities(PlainData):
    """The result of :func:`similarities`: two symmetric matrices, which print and render as tables.

    ``exact`` and ``estimated`` are float64[n, n] in the order of ``names``, the ids of the documents; ``slots`` is
    the number of slots of the signatures that were compared.
    """

    names: tuple[str, ...]
    exact: Floats
    estimated: Floats
    slots: int
    length: int
    unit: str

    def pairs(self) -> Iterator[tuple[str, str, float, float]]:
        """Yield every pair, the most similar first: both names, the exact and the estimated resemblance."""
        order = sorted(combinations(range(len(self.names)), 2), key=lambda pair: -self.exact[pair])
        for a, b in order:
            yield self.names[a], self.names[b], float(self.exact[a, b]), float(self.estimated[a, b])

    def __str__(self) -> str:
        return "\n".join(self._section().text(NARROWEST))

    def __repr__(self) -> str:
        return f"Similarities({counted(len(self.names), 'document')}, {self.slots} slots)"

    def _repr_html_(self) -> str:
        return view(self._section().html())

    def _section(self) -> Section:
        names = [name_of(name) for name in self.names]
        maps = (
            heat_map(names, self.exact.tolist(), "Exact resemblance", "Exact:"),
            heat_map(names, self.estimated.tolist(), "Estimated resemblance", f"From {self.slots} slots:"),
        )
        rows = [
            (name_of(a), name_of(b), similarity(exact), similarity(estimated), f"{estimated - exact:+.3f}")
            for a, b, exact, estimated in islice(self.pairs(), _LISTED)
        ]
        left = len(self.names) * (len(self.names) - 1) // 2 - len(rows)
        more = (f"… and {counted(left, 'less similar pair')}",) if left else ()
        parts = ShownTable(_HEAD, tuple(rows), frozenset({0, 1})), Drawing((), maps)
        return Section("Similarities", (self._sentence(),), parts, more)

    def _sentence(self) -> str:
        kind = "words" if self.unit == "word" else "characters"
        shingled = f"{counted(len(self.names), 'document')}, shingles of {self.length} {kind}"
        return f"Resemblance of {shingled}: counted, and estimated from {self.slots} slots"


def similarities(documents: Any, *, length: int = 5, unit: str = "word", slots: int = 128) -> Similarities:
    """Compare all pairs of 2 to 50 documents: their exact resemblance, and its estimate by MinHash.

    ``documents`` accepts the same inputs as ``find``; a list of str contains the texts themselves. All together
    have at most 1,000,000 characters; ``find`` and ``Index`` are for more. Two documents without a token resemble
    each other by 1. Raises InputError for other inputs, and SettingError for a length, unit or slots out of range.

    >>> found = similarities(["the night is dark", "the night is red", "the moon"], length=2, slots=64)
    >>> found.exact.round(2).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> found.estimated.shape, list(found.pairs())[0][:3]
    ((3, 3), ('text 1', 'text 2', 0.5))
    """
    family = MinHash(slots, length=length, unit=unit)
    named = read_small(documents, least=2, most=MOST)
    sets = [shingles(text, length=length, unit=unit) for _, text in named]
    exact = np.array([[jaccard(one, other) for other in sets] for one in sets], np.float64)
    signatures = family.sketch([text for _, text in named])
    estimated = (signatures[:, None] == signatures).mean(axis=2)
    return Similarities(tuple(name for name, _ in named), exact, estimated, slots, length, unit)
