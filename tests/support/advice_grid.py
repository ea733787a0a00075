"""The commands that ``neardup plan`` can recommend, and the groups of each, from all pairs of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from neardup.corpus.advice import outlook
from neardup.corpus.advice.gap import groups_at, spanning_tree
from neardup.corpus.advice.sample import KINDS, SampledTexts, base_of, counts_of, unit_counts
from neardup.settings import Settings
from neardup.settings.records import Shingles
from support.reference_advice import as_texts

THRESHOLDS = tuple(step / 20 for step in range(1, 20))

ENOUGH = 0.9
"""A recommendation is right if its F1 is at least this part of the best F1 of the grid."""


def grid(texts: Sequence[str], shares: Sequence[float] = (0.0,)) -> Iterator[tuple[str, Any]]:
    """Yield each command in words, and int64[n]: the group of each document.

    ``shares`` are those of ``--ignore-common``.
    """
    every = as_texts(texts)
    sample = SampledTexts(every, every, True, (), ())
    for share, kind in product(shares, KINDS):
        settings = Settings.of(ignore_common=share)
        units = unit_counts(every, Shingles(unit=kind.unit))
        counts = counts_of(every, kind, settings, base_of(sample, kind.settings(settings)))
        for measure in outlook.MEASURES:
            similar = counts.similar(measure)
            tree = spanning_tree(similar)
            for threshold in THRESHOLDS:
                said = f"{kind.unit} {kind.length} {measure} {threshold:g}" + f" common {share:g}" * bool(share)
                yield f"{said} principal", outlook._principal(similar, threshold, units)
                yield f"{said} components", groups_at(tree, threshold)


def together(groups: Any) -> Any:
    """Return bool[n, n]: the pairs within the groups."""
    pairs = np.equal.outer(np.asarray(groups), np.asarray(groups))
    np.fill_diagonal(pairs, False)
    return pairs


def score(found: Any, truth: Any) -> tuple[float, float, float]:
    """Return F1, precision and recall of bool[n, n]; nothing found where nothing is to be found is right."""
    pairs, relatives, right = int(found.sum()), int(truth.sum()), int((found & truth).sum())
    if not pairs and not relatives:
        return 1.0, 1.0, 1.0
    return (
        2 * right / (pairs + relatives),
        right / pairs if pairs else 1.0,
        right / relatives if relatives else 1.0,
    )
