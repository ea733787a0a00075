"""The recall of a run: estimated from the pairs it found, or measured by an audit of sampled documents.

Every found pair has exact integers, so the probability π that LSH finds such a pair is known. A pair found with
probability π represents 1/π pairs, found and missed (Horvitz and Thompson 1952). The expected number of missed
pairs is Σ (1/π − 1), unbiased for any corpus. If chains of pairs are closed, 1 − π is the probability that a
family falls apart between the two documents. ``join/misses.py`` measures it; this module derives the recall from
it. A search by SimHash has no such π: see ``within_distance``.

An audit draws documents by strata, the same ones in every run, and counts their true pairs with all documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, inf, sqrt

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.criterion import EVERYONE, Related, criterion_of
from neardup.deduplication.join.misses import Missing
from neardup.deduplication.join.pairs import Pairs, keys_of
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.deduplication.run.account import AuditAccount, AuditedDocuments, Interval, Recall, Stratum
from neardup.display import Extent, similarity
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.join import DrawnDocuments, partners
from neardup.kernels.sets import Criterion
from neardup.kernels.shingles import mix_all
from neardup.runtime import Advance
from neardup.settings import MEASURES, SearchSettings, Shingles, SimHashing
from neardup.tables import VERIFIED, Bools, Int64s, column, verified_table
from neardup.text.hamming import HammingPlan
from neardup.text.intervals import Sampled, Share, share_of_totals, wilson
from neardup.text.lsh.bands import Plan
from neardup.text.sketch import ShingleSets

LEVEL = 0.95
"""The probability with which an interval should contain the truth."""

SINGLE = 0.02
"""If one more whole number changes the probability by more than this, the interval includes it."""


_NOTHING_LEFT = Extent("document", 0)
_UNLISTED = "; not every pair is listed (--pairs all lists them)"

SEED = 0x6E6561726475700A
"""Seed of the sample; fixed, so that an audit can be repeated."""

_SIZES = ("short", "medium", "long")

_ENOUGH = 1 << 20
"""Pairs that a thread collects before it checks which of them were found."""

_OFTEN = 16
"""A shingle in more drawn documents than this is boilerplate, and costs less if it is counted last."""


def missed_pairs(missing: Missing, at_threshold: float) -> Interval:
    """The number of missed pairs, from the estimate of the found pairs and the 1 − π of a pair at the threshold.

    The number of pairs missed for one found pair is the number of failures before a success of probability π:
    geometric, with mean (1 − π)/π and variance (1 − π)/π². The truth is modelled as a sum of such numbers, or of
    the estimates of families, by the negative binomial distribution with their mean and variance; the interval
    holds the likeliest whole numbers. For the interval one found pair at the threshold is added, so that few
    pairs, or none, do not look more certain than they are (the flat Bayesian prior for a binomial count). If pairs
    are missed together, as many are added as are missed together.

    >>> from neardup.deduplication.join.misses import of_pairs
    >>> missed_pairs(of_pairs(np.full(9900, 0.01)), 0.01)
    Interval(estimated=100.0, low=81, high=119)
    """
    more, together = at_threshold / (1 - at_threshold), missing.together
    mean = missing.estimated + together * more
    variance = missing.variance + together**2 * (more + more * more)
    low, high = _likeliest(mean, max(variance - mean, 1e-12 * mean))
    return Interval(missing.estimated, min(low, floor(missing.estimated)), max(high, ceil(missing.estimated)))


def predicted_recall(pairs: int, missed: Interval) -> Interval:
    """The recall that follows from ``pairs`` and missed pairs; 1 if there are none.

    >>> predicted_recall(98, Interval(2.0, 0, 5))
    Interval(estimated=0.98, low=0.9514563106796117, high=1.0)
    """

    def share(others: float) -> float:
        return pairs / (pairs + others) if pairs + others else 1.0

    return Interval(share(missed.estimated), share(missed.high), share(missed.low))


@dataclass(frozen=True)
class Predicted:
    """The data a recall is predicted from: the estimate of ``missing`` pairs, and the number of pairs ``found``.

    With ``bound`` the estimate is known to be too high, or too little is known about how pairs are missed
    together; then only one end of an interval is stated. ``measured`` is the recall an audit found, if there was
    one. ``unlisted``: of crowds, and of documents with many partners, not all pairs are listed. ``looked`` are the
    rows and files among which pairs were searched.
    """

    missing: Missing | None
    found: int
    bound: bool = False
    measured: Share | None = None
    unlisted: bool = False
    looked: Extent = _NOTHING_LEFT


def recall_of(
    search: SearchSettings, shingles: Shingles, simhash: SimHashing, plan: Plan | HammingPlan, proposed: Predicted
) -> Recall:
    """The planned recall, the recall predicted for this corpus, and the estimated number of missed pairs.

    For a search by SimHash no recall is planned, and none is estimated from the pairs it found.
    """
    threshold = search.threshold
    if isinstance(plan, HammingPlan):
        return within_distance(search, shingles, simhash, plan, proposed.looked)
    aside = proposed.looked.rest() + _UNLISTED * proposed.unlisted
    if proposed.missing is None:
        statement = f"exact: every pair at {search.in_words} {threshold:g} or above is found{aside}"
        everything = Interval(1.0, 1.0, 1.0)
        return Recall(1.0, 1.0, everything, Interval(0.0, 0, 0), False, statement)
    probability = plan.probability(threshold)
    if threshold < 1:  # floating point rounds an almost certain probability up to 1
        probability = min(probability, float(np.nextafter(1, 0)))
    missed = missed_pairs(proposed.missing, 1 - probability)
    predicted = predicted_recall(proposed.found, missed)
    planned = f"planned {similarity(probability, 4)} for a pair at resemblance {threshold:g}; predicted "
    rest = f"{similarity(predicted.estimated, 4)} of all pairs here; missed: "
    at_least = proposed.bound or proposed.missing.mostly_bounded
    if at_least:
        missed.low, predicted.high = 0, 1.0
        most = f"at most about {missed.estimated:,.0f} (95 %: up to {missed.high:,})"
        statement = f"{planned}at least about {rest}{most}{aside}; {_measured_in_words(proposed.measured)}"
    else:
        interval = f"(95 % interval {missed.low:,} to {missed.high:,})"
        statement = f"{planned}{rest}about {missed.estimated:,.0f} {interval}{aside}"
    return Recall(plan.recall, probability, predicted, missed, at_least, statement)


def _measured_in_words(recall: Share | None) -> str:
    if recall is None:
        return "--audit N measures it"
    shown = (similarity(number) for number in (recall.value, recall.low, recall.high))
    return "the audit measured {} (95 % interval {} to {})".format(*shown)


def within_distance(
    search: SearchSettings,
    shingles: Shingles,
    simhash: SimHashing,
    plan: HammingPlan,
    looked: Extent = _NOTHING_LEFT,
) -> Recall:
    """The recall of a search by SimHash, as far as it is known: ``at_threshold`` and the ``statement``.

    Within the distance nothing is missed, but the number of pairs within it is not planned. If the features are
    the shingles that the measure counts, ``at_threshold`` comes from a formula (``HammingPlan.probability``) for
    documents of the same size without repeats; with unequal sizes more pairs are within the distance. Otherwise
    ``at_threshold`` is None. Nothing is estimated from the found pairs, because they contain no information about
    pairs that a search at this distance almost never finds.

    >>> from neardup.text.lsh.hamming_tables import hamming_plan
    >>> simhash = SimHashing(features="shingle:5")
    >>> round(within_distance(SearchSettings(), Shingles(), simhash, hamming_plan(1000)).at_threshold, 4)
    0.0085
    """
    features, measure = simhash.features, MEASURES[search.measure]
    counted = measure.of_shingles and measure.formula == RESEMBLANCE
    same = counted and shingles.unit == "word" and features == f"shingle:{shingles.length}"
    probability, half = plan.probability(search.threshold) if same else None, similarity(plan.half_found())
    if probability is None:
        expected = f"half of the pairs whose features ({features}) have resemblance {half}, fewer below"
    else:
        share = similarity(probability, 4)
        expected = f"{share} of the pairs at resemblance {search.threshold:g}, half of the pairs at {half}"
    statement = (
        f"not planned: every pair at {search.in_words} {search.threshold:g} or above within {plan.distance} "
        f"of {plan.bits} bits is found, and the pairs that chains of them join; expected there: {expected}; "
        f"--audit N counts the missed pairs{looked.rest()}"
    )
    return Recall(None, probability, None, None, False, statement)


def _likeliest(mean: float, more: float) -> tuple[int, int]:
    """The likeliest range of whole numbers with probability LEVEL, for a count of variance ``mean + more``.

    The range is the one closest to LEVEL if its last number has little weight, otherwise the first to reach LEVEL.
    """
    if mean == 0:
        return 0, 0
    reach = 10 * sqrt(mean + more) + 30
    first = max(0, floor(mean - reach))
    counts = np.arange(first, ceil(mean + reach))
    # p(n + 1)/p(n) = (n + r)/(n + 1) · q of the negative binomial, with r = mean²/more and q = more/(mean + more)
    steps = np.log((counts * more + mean * mean) / (mean + more) / (counts + 1))
    weights = np.concatenate(([0.0], np.cumsum(steps)))
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    low = high = int(weights.argmax())
    weight = float(weights[low])
    while True:
        below = float(weights[low - 1]) if low > 0 else 0.0
        above = float(weights[high + 1])
        next_weight = weight + max(below, above)
        if next_weight >= LEVEL and max(below, above) <= SINGLE and next_weight - LEVEL > LEVEL - weight:
            break
        if below >= above:
            low -= 1
        else:
            high += 1
        weight = next_weight
        if weight >= LEVEL:
            break
    return first + low, first + high


@dataclass(frozen=True)
class Audit:
    """The outcome: the drawn documents have ``pairs`` true pairs, and the run ``found`` some of them.

    ``recall`` of pairs and ``reach`` of documents (the share with a partner that have at least one found pair) are
    estimates for the whole input; None if there are no pairs to find. ``missed`` are VERIFIED.
    """

    strata: list[Stratum]
    pairs: int
    found: int
    recall: Share | None
    reach: Share | None
    missed: Pairs

    def account(self) -> AuditAccount:
        """The content of ``run.json``."""

        def total(name: str) -> int:
            return sum(getattr(stratum, name) for stratum in self.strata)

        return AuditAccount(
            *_plain(self.recall),
            documents=total("documents"),
            drawn=total("drawn"),
            pairs=self.pairs,
            found=self.found,
            by_document=AuditedDocuments(*_plain(self.reach), total("with_partners"), total("reached")),
            strata=self.strata,
        )


def audit(rows: Rows, reported: Reported, search: SearchSettings, advance: Advance) -> Audit:
    """Draw the number of documents in the settings and compare them with all; ``advance`` counts documents.

    Every pair that the run looks for has an end in the new input, so only documents of the new input are drawn.
    The choice does not depend on the number of threads.
    """
    first_new = rows.first_new_document
    units = rows.units[rows.unique[first_new:]]
    if not len(units):
        return Audit([], 0, 0, None, None, Pairs.of(VERIFIED.empty_table()))
    wanted, features = search.audit, MEASURES[search.measure].features
    strata = strata_of(units, reported.has_pair()[first_new:], wanted)
    drawn = draw(strata, wanted)
    known = Known(rows.unique, first_new, criterion_of(search), reported, rows.related)
    count = Count(rows.sets(features).get(drawn + first_new).only(drawn + first_new), strata.of[drawn], known)
    tally = _total(rows.corpus.with_shingle_sets(rows.unique, count.of_chunk, features), advance)
    return _outcome(strata, strata.of[drawn], tally, most=2 if first_new else 1)


def _total(tallies: Iterable[Tally], advance: Advance) -> Tally:
    """The sum of the tallies of all chunks; there is at least one chunk."""
    total: Tally | None = None
    for tally in tallies:
        advance(tally.documents)
        total = tally if total is None else total + tally
    assert total is not None
    return total


def _outcome(strata: Strata, stratum: Int64s, tally: Tally, most: int) -> Audit:
    """The audit of drawn documents, each with its ``stratum``; a pair adds up to ``most`` to one of them."""
    partnered, reached = (tally.of > 0).astype(np.int64), (tally.hits > 0).astype(np.int64)
    members = [stratum == k for k in range(len(strata.names))]
    sizes = strata.sizes.tolist()
    counted = []
    for k, name in enumerate(strata.names):
        drawn, pairs, hits = int(members[k].sum()), int(tally.stratum_pairs[k]), int(tally.stratum_found[k])
        recall = wilson(hits / pairs, inf if drawn == sizes[k] else pairs) if pairs else None
        ends = int(partnered[members[k]].sum()), int(reached[members[k]].sum())
        counted.append(Stratum(*_plain(recall), *ends, name, sizes[k], drawn, pairs, hits))
    of_pairs = [Sampled(size, tally.hits[mine], tally.of[mine]) for size, mine in zip(sizes, members, strict=True)]
    documents = [Sampled(size, reached[mine], partnered[mine]) for size, mine in zip(sizes, members, strict=True)]
    missed = verified_table(*(column(tally.missed, name) for name in VERIFIED.names))
    recall, reach = share_of_totals(of_pairs, most), share_of_totals(documents)
    return Audit(counted, tally.pairs, tally.found, recall, reach, Pairs.of(missed))


def _plain(share: Share | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if share is None else (share.value, share.low, share.high)


@dataclass(frozen=True)
class Strata:
    """The stratum of each document of a population (int64, numbers of ``names``)."""

    of: Int64s
    names: tuple[str, ...]

    @property
    def sizes(self) -> Int64s:
        """Number of documents of each."""
        return np.bincount(self.of, minlength=len(self.names))


def strata_of(units: Int64s, has_pair: Bools, wanted: int) -> Strata:
    """Thirds by size (``units``) × with or without a reported pair; a single stratum if few are ``wanted``."""
    ordered = np.sort(units)
    thirds = [ordered[(len(units) * k + 2) // 3 - 1] for k in (1, 2)]
    by_size = (units > thirds[0]).astype(np.int64) + (units > thirds[1])
    label, of = np.unique(2 * by_size + ~has_pair, return_inverse=True)
    if wanted < len(label):
        return Strata(np.zeros(len(units), np.int64), ("all",))
    return Strata(of, tuple(f"{_SIZES[k // 2]}, {'in no pair' if k % 2 else 'in a pair'}" for k in label))


def allocate(sizes: Int64s, wanted: int) -> Int64s:
    """How many documents to draw from each stratum: equal numbers; others make up for strata that are too small.

    >>> allocate(np.array([10, 500, 300]), 100)
    array([10, 45, 45])
    """
    drawn, left = np.zeros(len(sizes), np.int64), wanted
    order = np.argsort(sizes, kind="stable")
    for done, k in enumerate(order):
        drawn[k] = min(int(sizes[k]), left // (len(order) - done))
        left -= int(drawn[k])
    return drawn


def draw(strata: Strata, wanted: int, seed: int = SEED) -> Int64s:
    """The drawn documents, ascending: in each stratum, those whose numbers have the smallest hashes."""
    numbers = np.arange(len(strata.of)).astype(np.uint64)
    hashes = np.empty(len(numbers), np.uint64)
    mix_all(numbers + np.uint64(seed), hashes)
    order = np.lexsort((hashes, strata.of))
    firsts = np.concatenate(([0], np.cumsum(strata.sizes)))
    each = allocate(strata.sizes, wanted)
    return np.sort(np.concatenate([order[first : first + n] for first, n in zip(firsts, each, strict=False)]))


@dataclass(frozen=True)
class Reported:
    """The pairs a run reports, in some collections (VERIFIED), and those it omits because there are too many.

    Pairs of two ``joined`` documents (bool[documents]) were joined exactly; not all pairs with a ``limited``
    document are written.
    """

    pairs: tuple[Pairs, ...]
    joined: Bools
    limited: Bools

    def has_pair(self) -> Bools:
        """bool[documents]: whether a pair of the document is reported."""
        has = np.zeros(len(self.joined), np.bool_)
        for pairs in self.pairs:
            has[pairs.documents(len(has))] = True
        return has

    def keys(self, drawn: Bools) -> Int64s:
        """The pairs with a ``drawn`` document, each as a · 2³² + b, ascending."""
        tables = (table for pairs in self.pairs for table in pairs.batches())
        keys = [keys_of(some)[drawn[column(some, "a")] | drawn[column(some, "b")]] for some in tables]
        return np.unique(np.concatenate(keys))

    def left_out(self, a: Int64s, b: Int64s) -> Bools:
        """Which pairs the run could find, but need not have written."""
        left_out: Bools = self.joined[a] & self.joined[b] & (self.limited[a] | self.limited[b])
        return left_out


@dataclass(frozen=True)
class Known:
    """All documents: their rows, the first that is not in the reference set, the criterion, the reported pairs."""

    rows: Int64s
    first_new: int
    criterion: Criterion
    reported: Reported
    related: Related = EVERYONE


@dataclass(frozen=True)
class Tally:
    """Counts of pairs: for each drawn document (int64[drawn]), and for each stratum and in all, each pair once.

    ``of`` counts true pairs and ``hits`` found ones. In these two, a pair with a reference document counts twice,
    because only one of its ends can be drawn. ``missed`` is a VERIFIED table.
    """

    documents: int
    of: Int64s
    hits: Int64s
    stratum_pairs: Int64s
    stratum_found: Int64s
    pairs: int
    found: int
    missed: pa.Table

    def __add__(self, other: Tally) -> Tally:
        mine, others = vars(self), vars(other)
        counts = {name: mine[name] + others[name] for name in mine if name != "missed"}
        # most tallies have none, and thousands of empty chunks would slow everything down
        missed = [table for table in (self.missed, other.missed) if table.num_rows]
        return Tally(**counts, missed=pa.concat_tables(missed) if missed else self.missed)


class Count:
    """Counts the pairs of the drawn documents with the documents that stream by."""

    def __init__(self, drawn: DocumentSets, stratum: Int64s, known: Known) -> None:
        self._order = np.argsort(drawn.sets.sizes, kind="stable")
        self._table = shingle_postings(drawn.sets, self._order)
        self._numbers, self._stratum = drawn.documents[self._order], stratum[self._order]
        self._place = np.full(len(known.rows), -1, np.int64)
        self._place[self._numbers] = np.arange(len(self._order))
        self._known, self._keys = known, known.reported.keys(self._place >= 0)

    def of_chunk(self, rows: Int64s, sets: ShingleSets) -> Tally:
        """The tally of the documents in some rows."""
        numbers, start = np.searchsorted(self._known.rows, rows), 0
        tally = self._tally(len(rows), np.empty((0, 3), np.int64), numbers, sets.sizes)
        while start < len(rows):
            pairs, start = partners(
                sets.hashes, sets.offsets, start, self._table, self._known.criterion, _ENOUGH, _OFTEN
            )
            tally += self._tally(0, pairs, numbers, sets.sizes)
        return tally

    def _tally(self, documents: int, pairs: Int64s, numbers: Int64s, sizes: Int64s) -> Tally:
        """The tally of ``pairs`` (set, drawn document, |A∩B|); the sets are documents ``numbers`` of ``sizes``."""
        pairs = pairs[numbers[pairs[:, 0]] != self._numbers[pairs[:, 1]]]
        other, drawn, shared = numbers[pairs[:, 0]], pairs[:, 1], pairs[:, 2]
        if self._known.related.restricts:
            wanted = self._known.related.may_pair(other, self._numbers[drawn])
            pairs, other, drawn, shared = pairs[wanted], other[wanted], drawn[wanted], shared[wanted]
        number, stratum, place = self._numbers[drawn], self._stratum[drawn], self._place[other]
        hits = self._is_reported(np.minimum(other, number), np.maximum(other, number))
        # the pair of two drawn documents comes from both; it counts once in all, and once in a stratum with both
        once = (place < 0) | (other > number)
        once_there = once | (self._stratum[place] != stratum)
        adds = np.where(other < self._known.first_new, 2, 1)
        missed = once & ~hits
        ends = number[missed], other[missed]
        both_sizes = self._table.sizes[drawn[missed]], sizes[pairs[missed, 0]]
        return Tally(
            documents,
            of=self._by_drawn(drawn, adds),
            hits=self._by_drawn(drawn[hits], adds[hits]),
            stratum_pairs=self._by_stratum(stratum[once_there]),
            stratum_found=self._by_stratum(stratum[hits & once_there]),
            pairs=int(once.sum()),
            found=int((hits & once).sum()),
            missed=_in_order(ends, shared[missed], both_sizes),
        )

    def _is_reported(self, a: Int64s, b: Int64s) -> Bools:
        keys = (a << 32) | b
        places = np.searchsorted(self._keys, keys)
        written = places < len(self._keys)
        written[written] = self._keys[places[written]] == keys[written]
        reported: Bools = written | self._known.reported.left_out(a, b)
        return reported

    def _by_drawn(self, drawn: Int64s, amounts: Int64s) -> Int64s:
        """Sums by drawn document, in the original order of the drawn documents."""
        sums = np.zeros(len(self._order), np.int64)
        np.add.at(sums, self._order[drawn], amounts)
        return sums

    def _by_stratum(self, strata: Int64s) -> Int64s:
        return np.bincount(strata, minlength=int(self._stratum.max()) + 1)


def _in_order(ends: tuple[Int64s, Int64s], shared: Int64s, sizes: tuple[Int64s, Int64s]) -> pa.Table:
    """The VERIFIED table of pairs whose two ends come in any order."""
    swap = ends[0] > ends[1]
    a, b = (np.where(swap, ends[1 - k], ends[k]) for k in (0, 1))
    size_a, size_b = (np.where(swap, sizes[1 - k], sizes[k]) for k in (0, 1))
    return verified_table(a, b, shared, size_a, size_b)


def shingle_postings(sets: ShingleSets, order: Int64s) -> DrawnDocuments:
    """The table of the shingles of sets that are numbered in the given ``order``, by size."""
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    owner = np.repeat(number, sets.sizes)
    positions = np.lexsort((owner, sets.hashes))
    hashes, members = sets.hashes[positions], owner[positions]
    first = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), hashes[1:] != hashes[:-1])))
    keys = hashes[first]
    bits = len(keys).bit_length()  # about one shingle in a cell
    in_cell = np.bincount((keys >> np.uint64(64 - bits)).astype(np.int64), minlength=1 << bits)
    cells = np.concatenate(([0], np.cumsum(in_cell)))
    return DrawnDocuments(keys, np.append(first, len(hashes)), members, cells, sets.sizes[order])
