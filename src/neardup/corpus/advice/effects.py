"""The effect of thresholds, and of the recommended settings, on the exact pairs of the sample."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.corpus.advice.record import Step
from neardup.corpus.advice.sample import SampledTexts
from neardup.deduplication.join.base_documents import BaseDocuments
from neardup.deduplication.pairs import at_least
from neardup.deduplication.results import Found
from neardup.deduplication.runs import Inputs, run
from neardup.io.inputs import choose_columns, open_documents
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion
from neardup.settings import Settings, ratio

STEPS = tuple(part / 20 for part in range(10, 21))
"""The thresholds tried: .5, .55 … 1."""

MOST_PAIRS = 5_000_000
"""More pairs than this are not listed merely for counting."""

EXACT: dict[str, Any] = {"method": "exact", "slots": 16, "recall": 0.5}
"""The engine that misses no pair. It still plans bands: 16 slots are the fewest it accepts from .05 up."""

MOST_WORK = 24_000_000_000
"""The most documents, times their bytes, on which the effect of the recommended settings is measured."""

GIVEN = ("unit", "length", "ignore_common", "groups", "within", "across", "keep", "lose", "threads")
"""The asked settings that change pairs or removals."""


def lowest(threshold: float) -> float:
    """Return the resemblance from which on pairs are joined: .3, or the step of .05 below a low threshold.

    >>> lowest(0.8), lowest(0.3), lowest(0.1)
    (0.3, 0.25, 0.05)
    """
    below = int(20 * Fraction(repr(float(threshold)))) - 1
    return min(6, max(1, below)) / 20


def all_pairs(sample: SampledTexts, low: float, settings: Settings) -> Found:
    """Return every pair from ``low`` up; if crowds make them too many, only those that a run would report."""
    settings = replace(settings, keep=replace(settings.keep, lose=1.0))  # it changes no pair
    result = exactly(sample, low, settings)
    if 0 < left_out(result) <= MOST_PAIRS:
        return exactly(sample, low, settings, pairs="all")
    return result


def at(result: Found, threshold: float, sample: SampledTexts, settings: Settings) -> Found:
    """Return the result of a run at this stricter threshold.

    Runs again if ``result`` lacks pairs, or if a removal depends on the text that it would lose.
    """
    if left_out(result) or settings.keep.lose < 1:
        return exactly(sample, threshold, settings)
    stricter: Found = result.at(threshold)
    return stricter


def left_out(result: Found) -> int:
    """Return the approximate number of pairs that ``result`` lacks: those within crowds."""
    crowds: int = sum(crowd.pairs_left_out for crowd in result.run.large_clusters)
    return crowds + int(result.run.popular.pairs_left_out_at_least)


def exactly(sample: SampledTexts, threshold: float, settings: Settings, **named: Any) -> Found:
    """Join the texts exactly and return every pair, named by document numbers."""
    given = {name: settings.as_dict()[name] for name in GIVEN}
    wanted = Settings.of(threshold=threshold, **{**given, **EXACT, **named})
    text, number = (_unused(name, sample) for name in ("text", "number"))
    numbers = pa.array(np.arange(len(sample.texts)))
    opened = open_documents(pa.table({**sample.columns, text: sample.texts, number: numbers}))
    base = None
    if len(sample.base):
        base = BaseDocuments(open_documents(pa.table({"text": sample.base})), "text")
    return run(Inputs(opened, choose_columns(opened, text, number), wanted, ignore=base)).found


def _unused(name: str, sample: SampledTexts) -> str:
    """Return a name of a column that the sample does not have."""
    while name in sample.columns:
        name += "_"
    return name


def steps(result: Found, results: dict[float, Found]) -> Iterator[Step]:
    """Yield the effect of each threshold, from the ``results`` at each, highest first.

    Pairs that crowds left out of ``result`` may appear in a stricter result; a lower threshold never has fewer.
    """
    most = 0
    for threshold, stricter in sorted(results.items(), reverse=True):
        listed = int(at_least(result.pairs, Criterion(*ratio(threshold), RESEMBLANCE)).sum())
        most = max(most, stricter.pairs.num_rows, listed)
        yield _step(threshold, most, stricter)


def _step(threshold: float, pairs: int, result: Found) -> Step:
    counts, lost = result.run.counts, result.run.lost
    return Step(
        threshold=threshold,
        pairs=pairs,
        groups=counts.groups,
        removed=counts.removed,
        removed_share=counts.removed / max(counts.read, 1),
        removed_bytes=result.run.bytes.removed_text,
        losing=lost.losing,
        lost_share=lost.lost / lost.shingles if lost.shingles else 0.0,
    )


def effect(sample: SampledTexts, settings: Settings, chosen: dict[str, Any]) -> tuple[Step, int]:
    """Return the effect of the chosen settings in place of those asked for, and the documents it is measured on.

    These are the first documents of a large sample, because at a low threshold the work grows with the square of
    their number.
    """
    bytes_read = np.cumsum(sample.sizes)
    fits = int(np.searchsorted(bytes_read * np.arange(1, len(bytes_read) + 1), MOST_WORK, side="right"))
    part = sample.first(int(bytes_read[max(fits, 1) - 1]))
    changed = Settings.of(**{**settings.as_dict(), **chosen})
    result = exactly(part, changed.search.threshold, changed, measure=changed.search.measure, slots=128)
    return _step(changed.search.threshold, result.pairs.num_rows, result), len(part.texts)
