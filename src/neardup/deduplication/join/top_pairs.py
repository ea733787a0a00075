"""Rows → their most similar pairs, without a threshold.

Exact joins at falling thresholds. A join returns every pair at or above its threshold, so that the search has
ended when it has enough of them; the last join has no threshold, and returns all pairs that have anything in
common. Within a join the threshold rises: as soon as enough pairs are known, further ones count only if they
are at least as similar as the last one (Xiao, Wang, Lin and Shang 2009, "Top-k set similarity joins"). So
a crowd of a million pairs at one threshold costs neither their memory nor their counts. Joins at high
thresholds cost little, and those at falling ones more and more: all together cost about as much as the last.

The nearest documents of each new one need no join by a measure of sets: see ``nearest_pairs``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isqrt

import numpy as np

from neardup.deduplication.join.common_text import (
    Meets,
    Streams,
    chunk_index,
    counting_of,
    equal_short_texts,
    of_multisets,
)
from neardup.deduplication.join.criterion import Related, similarity_of
from neardup.deduplication.join.prefix_join import (
    HubSearch,
    candidates_of,
    hub_table,
    join_documents,
    joined_sets,
    met_pairs,
)
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.errors import SettingError
from neardup.kernels.formulas import COSINE, RESEMBLANCE
from neardup.kernels.join import (
    PrefixIndex,
    ShingleLists,
    fill_members,
    meeting_pairs,
    nearest_of_each,
    numbers_of,
    slots_of,
)
from neardup.kernels.sets import Criterion, meets, part, verify_pairs, whole
from neardup.runtime import Progress, ordered_map
from neardup.settings import MEASURES, Features
from neardup.tables import VERIFIED, Bools, Floats, Int64s, column
from neardup.text.sketch import ShingleSets

THRESHOLDS = tuple(Fraction(percent, 100) for percent in (95, 90, 80, 65, 50, 35, 20, 10, 5))
"""The thresholds of the joins, before the one without a threshold."""

MOST_TIES = 10_000_000
"""Pairs that are held: the wanted ones, and those as similar as the last of them (40 bytes each)."""

_AT_ONCE = 1 << 12
"""Pairs that a thread finds between two looks at the threshold, about."""

_PROPOSED = 1 << 14
"""The same, of pairs whose common text is counted."""

_HASHES = 1 << 22
"""Hashes that one task looks up."""

_SEEDS = 4
"""Documents with most shingles in common whose common text is counted first, for each wanted one."""

_LEVELS = 20
"""The bars of documents are rounded down to these parts of one, so that many pairs are counted at a time."""

_SLICE = 256
"""Documents whose partners by common text one task looks for (8 bytes for every document)."""


@dataclass(frozen=True)
class Wanted:
    """The number of pairs, and the ``least`` similarity; 0: anything in common.

    With ``nearest`` this many of each new document, with documents of the reference set, and else of all.
    """

    top: int
    least: Fraction = Fraction(0)
    nearest: bool = False


class BestPairs:
    """The most similar of the pairs that are added, with all that are as similar as the last of them.

    ``groups`` (int64[documents]) are the groups of documents b, each of which has ``top`` pairs of its own; all
    together have at most ``most``. Rows are int64[n, 5]: a, b, |A∩B|, |A|, |B|. ``bar`` is the similarity of the
    last pair wanted, once it is known; None with several groups.
    """

    def __init__(self, top: int, formula: int, groups: Int64s, most: int = MOST_TIES) -> None:
        self._most, self._top, self._formula, self._groups = most, top, formula, groups
        self._parts: list[Int64s] = []
        self._added, self._room = 0, max(_AT_ONCE, 2 * top)
        self.bar: Fraction | None = None

    def add(self, rows: Int64s) -> None:
        """Add pairs, each of them once."""
        self._parts.append(rows)
        self._added += len(rows)
        if self._added > self._room:
            self._room = max(self._room, 2 * len(self.rows()))

    def rows(self) -> Int64s:
        """Return the best pairs so far, by group, and in it the most similar first, by their documents a and b.

        Raises SettingError if there are more than ``most``.
        """
        rows = np.concatenate([np.empty((0, 5), np.int64), *self._parts])
        values, groups = self.values(rows), self._groups[rows[:, 1]]
        order = np.lexsort((rows[:, 1], rows[:, 0], -values, groups))
        rows, values, groups = rows[order], values[order], groups[order]
        sizes = np.bincount(groups, minlength=1)
        lasts = np.minimum(np.cumsum(sizes) - 1, np.cumsum(sizes) - sizes + self._top - 1)
        rows = rows[values >= values[lasts[groups]]] if len(rows) else rows
        if len(rows) > self._most:
            raise SettingError(
                f"More than {self._most:,} pairs are the most similar, or as similar as the last of them",
                f"At most {self._most:,} pairs",
                "Give a smaller number with --top, or find such pairs with neardup dedup",
            )
        self._parts, self._added = [rows], len(rows)
        if len(sizes) == 1 and sizes[0] >= self._top:
            self.bar = self._fraction(rows[-1])
        return rows

    def values(self, rows: Int64s) -> Floats:
        """float64[n]: the similarities, of containment the greater one.

        Shares of integers below 2²⁶ are different as floats if they are different (a difference is 2⁻⁵² at least),
        and equal if they are equal, since division rounds correctly. So are cosines of documents below 2¹²
        shingles; those of larger ones may be equal, or change places, if they differ by less than 2⁻⁵¹.
        """
        least, most = np.minimum(rows[:, 3], rows[:, 4]), np.maximum(rows[:, 3], rows[:, 4])
        return similarity_of(rows[:, 2], least, most, self._formula)

    def _fraction(self, row: Int64s) -> Fraction:
        shared, (size, other) = int(row[2]), sorted(map(int, row[3:]))
        share = Fraction(int(part(shared, self._formula)), int(whole(shared, size, other, self._formula)))
        # of a cosine, whose square this is, a fraction that is no larger
        return Fraction(isqrt(int(share * 10**12)), 10**6) if self._formula == COSINE else share

    def complete(self) -> Bools:
        """bool[documents]: the documents in groups that have all their pairs."""
        full: Bools = np.bincount(self._groups[self.rows()[:, 1]], minlength=len(self._groups)) >= self._top
        return full[self._groups]


def most_similar(rows: Rows, sets: DocumentSets | None, wanted: Wanted, progress: Progress) -> Int64s:
    """Return the wanted pairs (int64[n, 5]: a, b, |A∩B|, |A|, |B|), in the order of :meth:`BestPairs.rows`.

    They are pairs by the measure of the settings, complete with those as similar as the last, and fewer than
    wanted only if no others have anything in common, or ``wanted.least``. ``sets`` are the features of all
    documents if they are known. Raises SettingError for too many ties.
    """
    documents, measure = len(rows.unique), MEASURES[rows.settings.search.measure]
    if not documents:
        return np.empty((0, 5), np.int64)
    if wanted.nearest and measure.counting == "set":
        sets = rows.sets(measure.features).get(np.arange(documents)) if sets is None else sets
        about = rows.first_new_document, wanted, measure.formula, rows.related, rows.settings.work.threads
        return nearest_pairs(sets.sets, *about, progress)
    groups = np.arange(documents) if wanted.nearest else np.zeros(documents, np.int64)
    join = _SetJoin(rows, sets) if measure.counting == "set" else _CommonTextJoin(rows)
    first_new, parts = rows.first_new_document, []
    done = np.zeros(documents, np.bool_)
    if wanted.nearest and isinstance(join, _CommonTextJoin):
        join.bars = join.first_bars(wanted, progress)
    for threshold in _falling_thresholds(wanted.least):
        best = BestPairs(wanted.top, measure.formula, groups)
        later = done
        if wanted.nearest and threshold > wanted.least:  # the bar of a document says at which threshold it ends
            later = done | (join.bars < float(threshold))
            if later[first_new:].all():
                continue
        with progress.stage("join", None, "pairs") as advance:
            for similar in join.pairs(threshold, best, later):
                best.add(similar[~later[similar[:, 1]]])
                advance(len(similar))
        ended, complete = best.rows(), best.complete()
        parts.append(ended[complete[ended[:, 1]]] if threshold > wanted.least else ended)
        done |= complete & (np.arange(documents) >= first_new)
        if done[first_new:].all():
            break
    together = np.concatenate(parts)
    return together[np.argsort(groups[together[:, 1]], kind="stable")]


def nearest_pairs(
    sets: ShingleSets, old: int, wanted: Wanted, formula: int, related: Related, threads: int, progress: Progress
) -> Int64s:
    """Return the pairs of each set from ``old`` on with its nearest ones before, in the order of BestPairs.rows.

    Unlike the joins, this reads lists of shingles, once at most, and has a threshold for each document.
    """
    lists, new = _lists_of(sets, old, related, threads), len(sets.sizes) - old
    best, power = BestPairs(wanted.top, formula, np.arange(len(sets.sizes))), 1 + (formula == COSINE)

    def work(first: int) -> Int64s:
        span = first, min(first + _SLICE, new)
        found: Int64s = nearest_of_each(lists, span, wanted.top, float(wanted.least**power), formula)
        return found

    with progress.stage("nearest", new, "documents") as advance:
        spans = range(0, new, _SLICE)
        for pairs, first in zip(ordered_map(work, spans, threads), spans, strict=True):
            ends = pairs[:, 0], pairs[:, 1]
            best.add(np.column_stack([*ends, pairs[:, 2], *(sets.sizes[end] for end in ends)]))
            advance(min(_SLICE, new - first))
    rows, least = best.rows(), wanted.least
    enough = np.empty(len(rows), np.bool_)  # the square of a cosine was compared as a float
    meets(*rows[:, 2:].T.copy(), Criterion(least.numerator, least.denominator, formula), enough)
    return rows[enough]


def _lists_of(sets: ShingleSets, old: int, related: Related, threads: int) -> ShingleLists:
    """The sets before ``old`` with each shingle of the others, of those that any of them has."""
    bound, new = sets.offsets[old], len(sets.sizes) - old
    distinct = np.unique(sets.hashes[bound:])
    slots, numbers = slots_of(distinct), np.empty(len(sets.hashes), np.int32)

    def work(first: int) -> None:
        some = slice(first, first + _HASHES)
        numbers_of(sets.hashes[some], distinct, slots, numbers[some])

    for _ in ordered_map(work, range(0, len(numbers), _HASHES), threads):
        pass
    of_old, of_new = numbers[:bound], numbers[bound:]
    lengths = np.bincount(of_old[of_old >= 0], minlength=len(distinct))
    order = np.argsort(lengths, kind="stable")
    first, rank = np.zeros(len(order) + 1, np.int64), np.empty(len(order), np.int64)
    first[1:], rank[order] = np.cumsum(lengths[order]), np.arange(len(order))
    members = np.empty(int(first[-1]), np.int32)
    fill_members(of_old, sets.offsets[: old + 1], first[rank], members)
    shared = lengths[of_new] > 0
    owner = np.repeat(np.arange(new), sets.sizes[old:])[shared]
    owner, list_of = np.divmod(np.sort(owner * (len(distinct) + 1) + rank[of_new[shared]]), len(distinct) + 1)
    begin = np.searchsorted(owner, np.arange(new + 1))
    about = sets.hashes, sets.offsets, old, first, members, begin, list_of.astype(np.int32)
    return ShingleLists(*about, related.across, related.within)


def _falling_thresholds(least: Fraction) -> Iterator[Fraction]:
    """Yield the thresholds of the joins; the last is ``least``."""
    yield from (threshold for threshold in THRESHOLDS if threshold > least)
    yield least


def _criterion(threshold: Fraction, best: BestPairs, formula: int, sizes: Int64s) -> Criterion:
    """The criterion of the pairs that count now; without a threshold, that of all with anything in common."""
    least = max(threshold, best.bar or threshold)
    if not least:
        least = Fraction(1, 2 * int(sizes.max(initial=0)) + 1)  # no fraction of two documents has a larger whole
    return Criterion(least.numerator, least.denominator, formula)


class _SetJoin:
    """The pairs of all documents by a measure of sets."""

    bars: Floats = np.empty(0)

    def __init__(self, rows: Rows, sets: DocumentSets | None) -> None:
        measure, self._rows = MEASURES[rows.settings.search.measure], rows
        self._formula, self._documents = measure.formula, np.arange(len(rows.unique))
        self._store = rows.sets(measure.features)
        # those that may have a partner are known by another threshold, if at all
        self._sets = self._store.get(self._documents) if sets is None else replace(sets, possible=None)

    def pairs(self, threshold: Fraction, best: BestPairs, done: Bools) -> Iterator[Int64s]:
        """Yield the pairs at or above the threshold, except those of documents that are ``done``."""
        rows, sizes = self._rows, self._sets.sets.sizes
        settings, total = rows.settings, len(self._documents)
        now = partial(_criterion, threshold, best, self._formula, sizes)
        threads, criterion = settings.work.threads, now()
        hubs = joined_sets(self._documents, total, self._sets, criterion, threads, rows.related).hubs
        search = HubSearch(
            criterion, done[hubs.documents], np.zeros(total, np.int64), None, rows.first_new_document
        )
        for numbered in met_pairs(hubs, search, search.known.copy(), threads, _AT_ONCE, rising=now):
            pairs = hub_table(hubs, numbered)
            yield np.column_stack([column(pairs, name) for name in VERIFIED.names])


class _CommonTextJoin:
    """The pairs of all documents by a measure of common text."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._documents = rows, np.arange(len(rows.unique))
        self._measure = MEASURES[rows.settings.search.measure]
        self._in_order = self._measure.counting == "order"
        features: Features = "bag" if self._in_order else "shingles" if rows.corpus.base is None else "runs"
        self._store = rows.sets(features)
        self._sets = self._store.get(self._documents)
        self._tokens = rows.sets("tokens").get(self._documents).sets
        self.bars: Floats = np.zeros(len(self._documents))
        """A similarity that the last wanted pair of each document has at least."""

    def first_bars(self, wanted: Wanted, progress: Progress) -> Floats:
        """Return the bars of new documents, by the common text with those that share most shingles."""
        rows, settings, bars = self._rows, self._rows.settings, np.zeros(len(self._documents))
        shingles = rows.sets("shingles").get(self._documents).sets
        about = rows.first_new_document, Wanted(_SEEDS * wanted.top, nearest=True), RESEMBLANCE, rows.related
        seeds = nearest_pairs(shingles, *about, settings.work.threads, progress)[:, :2]
        best = BestPairs(wanted.top, self._measure.formula, self._documents)
        everything = _criterion(Fraction(0), best, self._measure.formula, self._tokens.sizes)
        counting = counting_of(settings.search, settings.shingles)
        for counted in Streams(self._tokens, everything, counting, settings.work.threads).count_many(seeds):
            best.add(counted.rows)
        ended = best.rows()
        full = best.complete()[ended[:, 1]]
        bars[ended[full, 1]] = best.values(ended)[full]  # the last one of each document is the least
        return bars

    def _count(self, ends: Int64s, streams: Streams) -> list[Int64s]:
        """The pairs that reach the bars of their documents b."""
        levels = np.floor(self.bars[ends[:, 1]] * _LEVELS - 1e-6).astype(np.int64)
        parts = []
        for level in np.unique(levels).tolist():
            least, of = Fraction(max(level, 0), _LEVELS), streams.criterion
            if least > Fraction(of.numerator, of.denominator):
                of = Criterion(least.numerator, least.denominator, of.measure)
            some = self._possible(ends[levels == level], of) if self._in_order else ends[levels == level]
            parts.append(replace(streams, criterion=of).count(some).rows)
        return parts

    def _possible(self, ends: Int64s, criterion: Criterion) -> Int64s:
        """The pairs whose tokens, without their order, meet the criterion: no others do with it."""
        bags, shared = self._sets.sets, np.empty(len(ends), np.int64)
        verify_pairs(bags.hashes, bags.offsets, *ends.T.copy(), of_multisets(criterion), shared)
        return ends[shared >= 0]

    def pairs(self, threshold: Fraction, best: BestPairs, done: Bools) -> Iterator[Int64s]:
        """Yield the pairs at or above the threshold; those of documents that are ``done`` are not counted."""
        rows, settings = self._rows, self._rows.settings
        now = partial(_criterion, threshold, best, self._measure.formula, self._tokens.sizes)
        counting, reference = counting_of(settings.search, settings.shingles), rows.first_new_document
        streams = Streams(self._tokens, now(), counting, settings.work.threads)
        index, meets = self._index(streams)

        def work(first: int) -> list[Int64s]:
            seen, until, parts = np.full(len(self._documents), -1, np.int64), first + _SLICE, []
            until = min(until, len(self._documents))
            while first < until:
                pairs, first = meets(index, (first, until), seen, reference, _PROPOSED)
                ends = np.sort(index.documents[pairs], axis=1)
                parts += self._count(ends[~done[ends[:, 1]]], replace(streams, criterion=now()))
            return parts

        for parts in ordered_map(work, range(0, len(self._documents), _SLICE), settings.work.threads):
            yield from parts
        if not self._in_order:
            short = equal_short_texts(
                self._sets.sets, self._tokens, settings.shingles.length, rows.related, reference
            )
            yield np.column_stack([column(short, name) for name in VERIFIED.names])

    def _index(self, streams: Streams) -> tuple[PrefixIndex, Meets]:
        """The lists in which the pairs meet, and the kernel that looks through them."""
        rows, criterion, threads = self._rows, streams.criterion, streams.threads
        if self._in_order:
            bags, total = of_multisets(criterion), len(self._documents)
            return join_documents(self._documents, total, self._store, bags, threads, rows.related).hubs, partial(
                candidates_of, bags
            )
        texts = self._sets.sets, self._tokens, criterion, streams.counting, threads
        return chunk_index(*texts, rows.corpus.key.shingles, rows.related), meeting_pairs
