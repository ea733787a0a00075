"""Other settings on the same documents: the pairs they would find, and their cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.advice.record import BandChoice, ShingleChoice
from neardup.advice.sample import SampledTexts
from neardup.advice.spread import alike, exactly
from neardup.errors import SettingError
from neardup.join.common_shingles import most_documents
from neardup.join.criterion import every_pair
from neardup.join.missing import missed_with
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import verify_pairs
from neardup.lsh.bands import Plan, plan
from neardup.run.found import Found
from neardup.settings import Settings, ratio
from neardup.sketch.base_text import NO_BASE_TEXT, BaseText, base_text_of, left_sets
from neardup.sketch.documents import ShingleSets, shingle_sets, sign
from neardup.tables import Floats, Int64s, column
from neardup.text.keys import process_key

SLOTS = (64, 128, 256)
RECALLS = (0.9, 0.99, 0.999)
SHINGLES = (("word", 3), ("word", 5), ("word", 8), ("char", 5), ("char", 9))

TRIED_BYTES = 20_000_000
"""Other shingles are tried only on the first documents: characters make five times as many shingles."""

COMPARED_BYTES = 200_000_000
"""Other shingles are tried only on the first documents whose pairs have at most this many bytes of text."""

RANDOM_PAIRS = 2000
HIGH = 0.95
"""This share of the random pairs is at most as similar as ``random_high``."""

LETTERS = 5
"""Letters per word, for counting a changed word in characters."""


def band_choices(pairs: pa.Table, settings: Settings) -> Iterator[BandChoice]:
    """Yield the expected results of LSH with 64, 128 and 256 slots (and the given number) at the usual recalls."""
    threshold, sketch = settings.search.threshold, settings.sketch.sketch
    enough = alike(pairs, ratio(threshold))
    wanted, unwanted = pairs.filter(pa.array(enough)), pairs.filter(pa.array(~enough))
    for slots in sorted({*SLOTS, settings.sketch.slots}):
        for recall in sorted({*RECALLS, settings.search.recall}):
            try:
                planned = plan(threshold, recall, slots)
            except SettingError:
                yield BandChoice(slots, recall, None, None, None, None, 4 * slots)
                continue
            missed = _missed(planned, sketch, wanted)
            yield BandChoice(
                slots=slots,
                recall=recall,
                bands=planned.bands,
                expected_recall=float(1 - missed.mean()) if len(missed) else None,
                missed=float(missed.sum()),
                false_candidates=float((1 - _missed(planned, sketch, unwanted)).sum()),
                signature_bytes=4 * slots,
            )


def _missed(planned: Plan, sketch: str, pairs: pa.Table) -> Floats:
    """Return the probability that LSH misses each pair, because its signatures agree in no band."""
    shared = column(pairs, "shared")
    return missed_with(planned, sketch, shared, column(pairs, "size_a") + column(pairs, "size_b") - shared)


def shingle_choices(sample: SampledTexts, found: Found, settings: Settings) -> Iterator[ShingleChoice]:
    """Yield the results of words and characters of several lengths (and the given ones) at the threshold.

    The first documents are tried, fewer of a crowd in which most are alike: see TRIED_BYTES and COMPARED_BYTES.
    ``found`` holds the pairs of the sample.
    """
    first = sample.first(min(TRIED_BYTES, _affordable(sample, found)))
    own = (settings.shingles.unit, settings.shingles.length)
    for unit, length in dict.fromkeys((own, *SHINGLES)):
        values = {**settings.as_dict(), "unit": unit, "length": length}
        yield shingle_choice(first, Settings.of(**values))


def _affordable(sample: SampledTexts, found: Found) -> int:
    """Return the bytes of the first documents whose pairs together have at most COMPARED_BYTES of text."""
    sizes = sample.sizes
    a, b = column(found.pairs, "id_a"), column(found.pairs, "id_b")
    last = np.maximum(a, b)
    of_each = np.bincount(last, sizes[a] + sizes[b], minlength=len(sizes))
    fits = int(np.searchsorted(np.cumsum(of_each), COMPARED_BYTES, side="right"))
    return int(sizes[:fits].sum())


def shingle_choice(sample: SampledTexts, settings: Settings) -> ShingleChoice:
    """Return the results of the shingles of ``settings`` on the sample."""
    unit, length, threshold = settings.shingles.unit, settings.shingles.length, settings.search.threshold
    texts, found = sample.texts, exactly(sample, threshold, settings)
    units, sets = unit_counts(texts, settings), sets_of(texts, settings, base_of(sample, settings))
    full = sets.sizes > 0
    once = np.setdiff1d(np.flatnonzero(full), found.copies["id"].to_numpy())
    median, high = np.quantile(random_resemblances(sets, once), [0.5, HIGH])
    documents = max(int(full.sum()), 1)
    return ShingleChoice(
        unit=unit,
        length=length,
        documents=len(texts),
        pairs=found.pairs.num_rows,
        removed=found.run["counts"]["removed"],
        median_shingles=float(np.median(sets.sizes[full])) if full.any() else 0.0,
        shorter=int((full & (units < length)).sum()) / documents,
        fragile=int((full & (sets.sizes < sturdy_from(settings))).sum()) / documents,
        random_median=float(median),
        random_high=float(high),
    )


def sturdy_from(settings: Settings) -> float:
    """Return the number of shingles from which a document stays at the threshold if one of its words changes.

    The word destroys x shingles and adds x new ones, so n shingles keep resemblance (n − x)/(n + x) ≥ t,
    or n ≥ x (1 + t)/(1 − t). For words, x is the shingle length; for characters, the shingle length plus the
    letters of a word less one.

    >>> sturdy_from(Settings()), sturdy_from(Settings.of(unit="char", threshold=0.5))
    (45.0, 27.0)
    """
    top, whole = ratio(settings.search.threshold)
    lost = settings.shingles.length + (LETTERS - 1 if settings.shingles.unit == "char" else 0)
    return lost * (whole + top) / (whole - top) if whole > top else float("inf")


def unit_counts(texts: pa.Array, settings: Settings) -> Int64s:
    """Return int64[n]: the tokens (characters) of each text."""
    least = Settings.of(unit=settings.shingles.unit, length=settings.shingles.length, slots=1)
    units, _ = sign(texts, least, np.empty((len(texts), 1), np.uint32), np.empty((0, 2), np.uint64))
    return units


def sets_of(texts: pa.Array, settings: Settings, base: BaseText = NO_BASE_TEXT) -> ShingleSets:
    """Return the shingle set of every text, in order, without ``base``; empty for a text without a token."""
    rows = np.arange(len(texts))
    if len(base):
        return left_sets(texts, rows, settings, process_key(), "shingles", base)
    return shingle_sets(texts, rows, settings, process_key())


def base_of(sample: SampledTexts, settings: Settings) -> BaseText:
    """Return the shingles of ``settings`` that do not count: of the base texts, and those that are too common.

    They are learned from the first documents of the sample, see TRIED_BYTES.
    """
    ignored = base_text_of(sample.base, settings, process_key()) if len(sample.base) else NO_BASE_TEXT
    if not settings.base.ignore_common:
        return ignored
    texts = sample.first(TRIED_BYTES).texts
    if not len(texts):
        return ignored
    once = pc.unique(texts)
    sets = sets_of(once, settings, ignored)
    hashes, documents = np.unique(sets.hashes, return_counts=True)
    different = int((unit_counts(once, settings) > 0).sum())
    return ignored | BaseText(
        hashes[documents > most_documents(settings.base.ignore_common, different)], np.empty(0, np.uint64)
    )


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
