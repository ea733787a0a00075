"""The effect of thresholds and of other settings on the exact pairs of the sample, and their cost."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.comparison.compare import compare
from neardup.corpus.advice.record import BandChoice, Bin, NearThreshold, ShingleChoice, SideBySide, Step
from neardup.corpus.advice.sample import TRIED_BYTES, SampledTexts, base_of, sets_of, unit_counts
from neardup.deduplication.join.base_documents import BaseDocuments
from neardup.deduplication.pairs import at_least, every_pair, missed_with
from neardup.deduplication.results import Found, lost_text
from neardup.deduplication.runs import Inputs, run
from neardup.errors import SettingError
from neardup.io.inputs import choose_columns, open_documents
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.settings import SearchSettings, Settings, Shingles, Sketch, ratio
from neardup.tables import Bools, Floats, Int64s, column
from neardup.text.lsh.bands import Plan, plan
from neardup.text.sketch import ShingleSets

PARTS = 20
"""Bins of the histogram between 0 and 1, each .05 wide."""

LOWEST = 6
"""The first bin of a histogram, .3, unless the threshold is lower."""

STEPS = tuple(part / PARTS for part in range(10, PARTS + 1))
"""The thresholds tried: .5, .55 … 1."""

WIDTH = Fraction(1, PARTS)
"""A pair is close to the threshold within this distance."""

EXAMPLES = 5

MOST_PAIRS = 5_000_000
"""More pairs than this are not listed merely for counting."""

EXACT: dict[str, Any] = {"method": "exact", "slots": 16, "recall": 0.5}
"""The engine that misses no pair. It still plans bands: 16 slots are the fewest it accepts from .05 up."""


MOST_WORK = 24_000_000_000
"""The most documents, times their bytes, on which the effect of the recommended settings is measured."""

GIVEN = ("unit", "length", "ignore_common", "groups", "within", "across", "keep", "lose", "threads")
"""The asked settings that change pairs or removals."""


def lowest(threshold: float) -> float:
    """Return where the histogram begins: .3, or below a low threshold.

    >>> lowest(0.8), lowest(0.3), lowest(0.1)
    (0.3, 0.25, 0.05)
    """
    below = (Fraction(repr(float(threshold))) - WIDTH) // WIDTH
    return min(LOWEST, max(1, int(below))) / PARTS


def histogram(pairs: pa.Table, low: float) -> tuple[Bin, ...]:
    """Count the pairs in each step of .05 from ``low`` (a multiple of .05) up, and those at exactly 1."""
    shared = column(pairs, "shared")
    union = column(pairs, "size_a") + column(pairs, "size_b") - shared
    counts = np.bincount(shared * PARTS // union, minlength=PARTS + 1)
    first = round(low * PARTS)
    return tuple(
        Bin(part / PARTS, min(part + 1, PARTS) / PARTS, int(counts[part])) for part in range(first, PARTS + 1)
    )


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
    crowds: int = sum(crowd.pairs_left_out for crowd in result.run.crowds)
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


def alike(pairs: pa.Table, least: tuple[int, int]) -> Bools:
    """Return bool[pairs]: whether the resemblance is at least ``least`` (p, q), in whole numbers."""
    return at_least(pairs, Criterion(*least, RESEMBLANCE))


def steps(result: Found, results: dict[float, Found]) -> Iterator[Step]:
    """Yield the effect of each threshold, from the ``results`` at each, highest first.

    Pairs that crowds left out of ``result`` may appear in a stricter result; a lower threshold never has fewer.
    """
    most = 0
    for threshold, stricter in sorted(results.items(), reverse=True):
        most = max(most, stricter.pairs.num_rows, int(alike(result.pairs, ratio(threshold)).sum()))
        yield _step(threshold, most, stricter)


def _step(threshold: float, pairs: int, result: Found) -> Step:
    counts, lost = result.run.counts, lost_text(result)
    return Step(
        threshold=threshold,
        pairs=pairs,
        groups=counts.groups,
        removed=counts.removed,
        removed_share=counts.removed / max(counts.read, 1),
        removed_bytes=result.run.bytes.removed_text,
        losing=lost.losing,
        lost_share=lost.share,
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


def near(pairs: pa.Table, sample: SampledTexts, threshold: float, shingles: Shingles) -> NearThreshold:
    """Return the pairs within .05 of the threshold, both ends included, and the closest ones side by side."""
    middle = Fraction(repr(float(threshold)))
    low, high = max(middle - WIDTH, Fraction(0)), middle + WIDTH
    union = column(pairs, "size_a") + column(pairs, "size_b") - column(pairs, "shared")
    enough = alike(pairs, (low.numerator, low.denominator))
    not_above = column(pairs, "shared") * high.denominator <= high.numerator * union
    over = alike(pairs, ratio(threshold))
    close = np.flatnonzero(enough & not_above)
    examples = (_measured(pairs, int(k), sample, shingles) for k in _closest(pairs, close, threshold))
    return NearThreshold(
        threshold=threshold,
        width=float(WIDTH),
        above=int(over[close].sum()),
        below=int((~over[close]).sum()),
        examples=tuple(sorted(examples, key=lambda pair: -float(pair.measures["resemblance"]))),
    )


def _closest(pairs: pa.Table, among: Int64s, threshold: float) -> list[int]:
    """Return the pairs closest to the threshold, each document in at most one, to show different cases."""
    away = np.abs(pairs["resemblance"].to_numpy()[among] - threshold)
    a, b = column(pairs, "id_a"), column(pairs, "id_b")
    chosen: list[int] = []
    seen: set[int] = set()
    for k in among[np.argsort(away, kind="stable")].tolist():
        if len(chosen) == EXAMPLES:
            break
        ends = {int(a[k]), int(b[k])}
        if not ends & seen:
            chosen.append(k)
            seen |= ends
    return chosen


def _measured(pairs: pa.Table, k: int, sample: SampledTexts, shingles: Shingles) -> SideBySide:
    texts, names = [], []
    for end in ("id_a", "id_b"):
        row = pairs[end][k].as_py()
        texts.append(sample.texts[row].as_py().decode("utf-8", "replace"))
        names.append(sample.ids[row].as_py())
    measures = compare(*texts, unit=shingles.unit, length=shingles.length).measures
    return SideBySide(names[0], names[1], measures)


SLOTS = (64, 128, 256)
RECALLS = (0.9, 0.99, 0.999)
SHINGLES = (("word", 3), ("word", 5), ("word", 8), ("char", 5), ("char", 9))


COMPARED_BYTES = 200_000_000
"""Other shingles are tried only on the first documents whose pairs have at most this many bytes of text."""

RANDOM_PAIRS = 2000
HIGH = 0.95
"""This share of the random pairs is at most as similar as ``random_high``."""

LETTERS = 5
"""Letters per word, for counting a changed word in characters."""


def band_choices(pairs: pa.Table, search: SearchSettings, sketch: Sketch) -> Iterator[BandChoice]:
    """Yield the expected results of LSH with 64, 128 and 256 slots (and the given number) at the usual recalls."""
    enough = alike(pairs, ratio(search.threshold))
    wanted, unwanted = pairs.filter(pa.array(enough)), pairs.filter(pa.array(~enough))
    for slots in sorted({*SLOTS, sketch.slots}):
        for recall in sorted({*RECALLS, search.recall}):
            try:
                planned = plan(search.threshold, recall, slots)
            except SettingError:
                yield BandChoice(slots, recall, None, None, None, None, 4 * slots)
                continue
            missed = _missed(planned, sketch.sketch, wanted)
            yield BandChoice(
                slots=slots,
                recall=recall,
                bands=planned.bands,
                expected_recall=float(1 - missed.mean()) if len(missed) else None,
                missed=float(missed.sum()),
                false_candidates=float((1 - _missed(planned, sketch.sketch, unwanted)).sum()),
                signature_bytes=4 * slots,
            )


def _missed(planned: Plan, sketch: str, pairs: pa.Table) -> Floats:
    """Return the probability that LSH misses each pair, because its signatures agree in no band."""
    shared = column(pairs, "shared")
    return missed_with(planned, sketch, shared, column(pairs, "size_a") + column(pairs, "size_b") - shared)


def shingle_choices(sample: SampledTexts, result: Found, settings: Settings) -> Iterator[ShingleChoice]:
    """Yield the results of words and characters of several lengths (and the given ones) at the threshold.

    The first documents are tried, fewer of a crowd in which most are alike: see TRIED_BYTES and COMPARED_BYTES.
    ``result`` holds the pairs of the sample.
    """
    first = sample.first(min(TRIED_BYTES, _affordable(sample, result)))
    own = (settings.shingles.unit, settings.shingles.length)
    for unit, length in dict.fromkeys((own, *SHINGLES)):
        values = {**settings.as_dict(), "unit": unit, "length": length}
        yield shingle_choice(first, Settings.of(**values))


def _affordable(sample: SampledTexts, result: Found) -> int:
    """Return the bytes of the first documents whose pairs together have at most COMPARED_BYTES of text."""
    sizes = sample.sizes
    a, b = column(result.pairs, "id_a"), column(result.pairs, "id_b")
    last = np.maximum(a, b)
    of_each = np.bincount(last, sizes[a] + sizes[b], minlength=len(sizes))
    fits = int(np.searchsorted(np.cumsum(of_each), COMPARED_BYTES, side="right"))
    return int(sizes[:fits].sum())


def shingle_choice(sample: SampledTexts, settings: Settings) -> ShingleChoice:
    """Return the results of the shingles of ``settings`` on the sample."""
    unit, length, threshold = settings.shingles.unit, settings.shingles.length, settings.search.threshold
    texts, result = sample.texts, exactly(sample, threshold, settings)
    units, sets = unit_counts(texts, settings.shingles), sets_of(texts, settings, base_of(sample, settings))
    full = sets.sizes > 0
    once = np.setdiff1d(np.flatnonzero(full), result.copies["id"].to_numpy())
    median, high = np.quantile(random_resemblances(sets, once), [0.5, HIGH])
    documents = max(int(full.sum()), 1)
    return ShingleChoice(
        unit=unit,
        length=length,
        documents=len(texts),
        pairs=result.pairs.num_rows,
        removed=result.run.counts.removed,
        median_shingles=float(np.median(sets.sizes[full])) if full.any() else 0.0,
        shorter=int((full & (units < length)).sum()) / documents,
        fragile=int((full & (sets.sizes < sturdy_from(threshold, shingles_lost(unit, length)))).sum()) / documents,
        random_median=float(median),
        random_high=float(high),
    )


def shingles_lost(unit: str, length: int) -> int:
    """Return how many shingles a changed word destroys; it adds as many new ones."""
    return length + (LETTERS - 1 if unit == "char" else 0)


def sturdy_from(threshold: float, lost: int) -> float:
    """Return the number of shingles from which a document stays at the threshold if a change takes ``lost`` ones.

    As many new ones come, so n shingles keep resemblance (n − x)/(n + x) ≥ t, or n ≥ x (1 + t)/(1 − t).

    >>> sturdy_from(0.8, shingles_lost("word", 5)), sturdy_from(0.5, shingles_lost("char", 5))
    (45.0, 27.0)
    """
    top, whole = ratio(threshold)
    return lost * (whole + top) / (whole - top) if whole > top else float("inf")


def random_resemblances(sets: ShingleSets, among: Int64s) -> Floats:
    """Return the resemblance of random pairs of sets, the same at every call; of all pairs if they are few.

    ``among`` are the numbers of the sets, none of them empty. Returns a single 0 if there is no pair.
    """
    n = len(among)
    if n < 2:
        return np.zeros(1)
    if n * (n - 1) // 2 <= RANDOM_PAIRS:
        a, b = np.triu_indices(n, 1)
    else:
        drawn = np.random.default_rng(0)
        a = drawn.integers(0, n, RANDOM_PAIRS)
        b = (a + drawn.integers(1, n, RANDOM_PAIRS)) % n
    shared = np.empty(len(a), np.int64)
    verify_pairs(sets.hashes, sets.offsets, among[a], among[b], every_pair(RESEMBLANCE), shared)
    together: Floats = shared / (sets.sizes[among[a]] + sets.sizes[among[b]] - shared)
    return together
