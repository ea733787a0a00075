"""Found pairs, family by family → an estimate of how many pairs are missed, with its uncertainty.

After closing (``verification.close``) a pair is found if a chain of proposed pairs connects its documents. The
probability of that depends on the whole family, not on the pair alone. Families are therefore sketched again with
other seeds, and the pairs that fall apart are counted. A pair found with probability π
represents 1/π pairs (Horvitz and Thompson 1952). Pairs of a family are missed together, so the variance is
computed over the seeds for whole families. In a family of two no other document can connect the pair: its π is
that of LSH, known exactly.

The documents of large buckets are joined exactly, so that a pair of two of them is never missed. But LSH gathers
these documents: one that shares no band with the others is not among them, and is lost to the whole crowd. Of a
crowd only the pair of each member with its leader is listed, so a lost member is one missed pair. The members are
therefore sketched again with other seeds, and those are counted that neither agree with their leader, nor are in a
large bucket, nor agree with another document of the crowd that is a pair with them.

Similarities alone do not determine which pairs are missed together; the sets do. Shingles that occur in the same
documents of a family are interchangeable, so the label of a shingle consists of the documents that contain it and
a number among the shingles with the same documents. Labels are hashed anew for each seed, then sketched and banded
as in a run. The result therefore depends only on which documents share how many shingles, not on the original
hashes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.candidates import HUB
from neardup.deduplication.join.pairs import PairRoom, Pairs
from neardup.deduplication.join.shingle_store import ShingleStore, sets_at
from neardup.deduplication.join.verification import families_in, families_of
from neardup.kernels.join import PrefixIndex
from neardup.kernels.lsh import band_keys
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.kernels.sketch import no_band_agrees, none_whole, sketch_sets
from neardup.kernels.sorting import equal_groups
from neardup.runtime import ordered_map
from neardup.tables import VERIFIED, Bools, Floats, Int64s, UInt64s, column, numbers_in
from neardup.text.lsh.bands import Plan
from neardup.text.sketch import ShingleSets, classic_coefficients

SEEDS = 100
"""Number of seeds with which families are sketched again."""

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))

FEW = 1.5
"""The variance of families is multiplied by this: few families carry it, and it is estimated from those few
(the square of Student's t over the normal quantile is 1.5 at seven families)."""

_BOUNDED = 0.1
"""An estimate counts as an upper bound if more than this share of it, and more than this many pairs, is one."""

_SHINGLES = 1 << 19
"""Shingles of the families sketched again: with 100 seeds they take about half a second."""

_PAIRS = 1 << 16
"""Pairs of the families sketched again."""

_MANY = 1 << 22
"""With more pairs of hub documents than this, pairs within crowds are not looked at."""

_ALMOST_SURELY = 1 - 1e-9
"""Cap on the probability of missing: a pair that only a chain could find must not get infinite weight."""

_NOTHING = 1e-3
"""Families are skipped while together they account for no more missed pairs than this."""

_NEVER = 1e-9
"""A pair missed less often than this is not examined further: a billion such pairs make one missed pair."""

_MEMBER_SHINGLES = 1 << 18
"""Shingles of the members sketched again; from larger crowds, members are drawn."""

_FEWEST = 64
"""Members of a crowd that are drawn, at least."""


def proposed_again(
    sets: ShingleSets, families: Int64s, ends: tuple[Int64s, Int64s], plan: Plan, sketch: str, threads: int = 1
) -> Iterator[Bools]:
    """Yield bool[pairs] for each of SEEDS seeds: which pairs of sets agree in a band of ``plan``.

    ``families`` (int64[sets]) numbers the family of each set; ``ends`` has the two sets of each pair.
    """
    a, b = ends

    def agreement(bands: Iterator[UInt64s]) -> Bools:
        hit = np.zeros(len(a), np.bool_)
        for keys in bands:
            hit |= keys[a] == keys[b]
        return hit

    return banded_again(sets, families, plan, sketch, agreement, threads)


def banded_again(
    sets: ShingleSets,
    families: Int64s,
    plan: Plan,
    sketch: str,
    look: Callable[[Iterator[UInt64s]], Bools],
    threads: int = 1,
) -> Iterator[Bools]:
    """Yield what ``look`` makes of the bands with each of SEEDS seeds: it receives the keys of all sets, by band.

    ``families`` (int64[sets]) numbers the family of each set. The keys of a band (uint64[sets]) are valid until
    the next one.
    """
    labels, documents = labels_of(sets, families), len(sets.offsets) - 1
    firsts, coefficients = np.concatenate(([0], np.cumsum(plan.bands))), classic_coefficients(plan.slots)

    def looked_at(seed: np.uint64) -> Bools:
        hashes, keys = _hashed_anew(labels, seed), np.empty(documents, np.uint64)
        signatures = np.empty((documents, plan.slots), np.uint32)
        chosen = np.empty((documents, plan.slots), np.bool_)
        sketch_sets(hashes, sets.offsets, sketch == "classic", *coefficients, signatures, chosen)

        def bands() -> Iterator[UInt64s]:
            for band, rows in enumerate(plan.bands):
                band_keys(signatures, firsts[band], rows, band, keys)
                yield keys

        return look(bands())

    return ordered_map(looked_at, mix_numbers(np.arange(SEEDS, dtype=np.uint64)), threads)


def _hashed_anew(labels: UInt64s, seed: np.uint64) -> UInt64s:
    """Return new hashes of the labels, which are already well mixed."""
    out, high = np.bitwise_xor(labels, seed), np.empty_like(labels)
    for factor in _MIX[:2]:
        np.multiply(out, factor, out=out)
        np.right_shift(out, np.uint64(32), out=high)
        np.bitwise_xor(out, high, out=out)
    return out


def labels_of(sets: ShingleSets, families: Int64s) -> UInt64s:
    """uint64[shingles]: the label of each shingle; within a family, equal shingles have equal labels.

    A label combines the numbers of the sets that contain the shingle with its number among the shingles of exactly
    those sets.
    """
    owner = np.repeat(np.arange(len(sets.offsets) - 1, dtype=np.uint64), sets.sizes)
    of_family = mix_numbers(families.astype(np.uint64) + np.uint64(1))
    places = sets.hashes ^ of_family[owner.astype(np.int64)]  # the same shingle in two families counts as two
    order = np.argsort(places, kind="stable")
    new = np.ones(len(order), np.bool_)
    new[1:] = places[order[1:]] != places[order[:-1]]
    group = np.cumsum(new) - 1
    if not len(order):
        return np.empty(0, np.uint64)
    holders = np.add.reduceat(mix_numbers(owner[order] + np.uint64(1)), np.flatnonzero(new))
    # the number of each shingle among those that the same sets contain
    like = np.argsort(holders, kind="stable")
    begins = np.ones(len(like), np.bool_)
    begins[1:] = holders[like[1:]] != holders[like[:-1]]
    label = np.arange(len(like))
    number = np.empty(len(like), np.uint64)
    number[like] = label - np.maximum.accumulate(np.where(begins, label, 0))
    labels = np.empty(len(order), np.uint64)
    # the sum alone would not distinguish number and holders
    labels[order] = mix_numbers(mix_numbers(holders) + number)[group]
    return labels


def mix_numbers(numbers: UInt64s) -> UInt64s:
    """uint64: each number well mixed (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    first, second, step = _MIX
    x = numbers + step
    x ^= x >> np.uint64(30)
    x *= first
    x ^= x >> np.uint64(27)
    x *= second
    x ^= x >> np.uint64(31)
    return x


@dataclass(frozen=True)
class Missing:
    """The expected number of missed pairs, its ``variance``, and the variance if pairs were unrelated (``alone``).

    ``bounded`` of the ``estimated`` pairs are an upper bound, from parts of families too large to examine whole.
    """

    estimated: float = 0.0
    variance: float = 0.0
    alone: float = 0.0
    bounded: float = 0.0

    def __add__(self, other: "Missing") -> "Missing":
        return Missing(
            self.estimated + other.estimated,
            self.variance + other.variance,
            self.alone + other.alone,
            self.bounded + other.bounded,
        )

    @property
    def mostly_bounded(self) -> bool:
        """Whether the part of the estimate that is an upper bound is large enough to make the whole one."""
        return self.bounded > max(_BOUNDED * self.estimated, _BOUNDED)

    @property
    def together(self) -> float:
        """How many pairs are missed together, on average; 1 for unrelated pairs."""
        return max(1.0, self.variance / self.alone) if self.alone else 1.0


def missed_with(plan: Plan, sketch: str, shared: Int64s, union: Int64s) -> Floats:
    """1 − π (float64[n]): the probability that no band of ``plan`` agrees, for pairs sharing shingles.

    The pairs share ``shared`` of ``union`` ≥ 1 shingles. Classic slots are independent: each agrees with
    probability J = shared / union, and no band agrees with probability Π (1 − J^rᵢ). In a one-permutation sketch
    the slots that shingles choose hold different shingles, so the number of slots that agree varies less: a pair
    above the threshold is missed less often, by half or more. That probability is computed exactly
    (``kernels/sketch/agreement.py``).

    >>> twenty = np.array([20])
    >>> missed_with(Plan(0.8, 0.99, 2, (1, 1)), "classic", np.array([10]), twenty)
    array([0.25])
    """
    similarity, missed = shared / union, np.ones(len(shared))
    for rows in sorted(set(plan.bands)):
        missed *= (1 - similarity**rows) ** plan.bands.count(rows)
    close = np.flatnonzero(missed > _NEVER)
    if sketch == "one-permutation" and len(close):
        # many pairs have the same two numbers; the kernel needs the unions in ascending order
        numbers, of = np.unique((union[close] << 32) | shared[close], return_inverse=True)
        exact = np.empty(len(numbers))
        no_band_agrees(numbers & 0xFFFFFFFF, numbers >> 32, none_whole(np.array(plan.bands)), exact)
        missed[close] = exact[of]
    return missed


def of_pairs(chances: Floats) -> Missing:
    """Estimate the missed pairs from unrelated found pairs that are missed with these probabilities.

    >>> of_pairs(np.array([0.5, 0.0]))
    Missing(estimated=1.0, variance=2.0, alone=2.0, bounded=0.0)
    """
    odds = chances / (1 - chances)
    spread = float((odds + odds * odds).sum())
    return Missing(float(odds.sum()), spread, spread)


def of_families(
    a: Int64s, b: Int64s, family: Int64s, proposed: Iterable[Bools], drawn: "DrawnFamilies | None" = None
) -> Missing:
    """Estimate the missed pairs from the pairs a[k], b[k] of families, using proposals by LSH with other seeds.

    ``family`` (int64[pairs], from 0 on) is the family of each pair; ``proposed`` yields bool[pairs] for each seed.
    ``drawn`` holds the number of families that each family represents; None: each represents itself.
    """
    number = int(family.max(initial=-1)) + 1
    drawn = drawn or DrawnFamilies(np.ones(number), np.ones(number))
    of_pair = np.ones(len(a)) if drawn.pairs is None else drawn.pairs
    connected = np.array([_is_connected(a, b, hit) for hit in proposed], np.bool_).reshape(-1, len(a))
    # unbiased for 1/π, except for pairs that hardly any seed finds
    each = (len(connected) + 1) / (connected.sum(axis=0) + 1)
    odds = each - 1
    off = np.array([np.bincount(family, (1 - hit * each) * of_pair, number) for hit in connected]).reshape(
        -1, number
    )
    # a pair represents 1/π pairs, and a family represents the average of that over its pairs
    weight = np.bincount(family, each * of_pair, number) / np.maximum(np.bincount(family, of_pair, number), 1e-300)
    estimated = np.bincount(family, odds * of_pair, number)
    variance = FEW * (off**2).mean(axis=0) * weight
    alone = np.bincount(family, (odds + odds * odds) * of_pair, number)
    whole = estimated * drawn.part
    spread = drawn.times * variance * drawn.part**2 + drawn.times * (drawn.times - 1) * whole**2
    stands_for = whole * drawn.times
    unrelated = float((alone * drawn.part * drawn.times).sum())
    bounded = float(stands_for[drawn.part > 1].sum())
    return Missing(float(stands_for.sum()), float(spread.sum()), unrelated, bounded)


@dataclass(frozen=True)
class DrawnFamilies:
    """For each examined family: how many families it represents, and the ratio of its pairs to those examined.

    ``pairs`` (float64[pairs], 1 on average over a family) are the weights of the examined pairs; None: all alike.
    """

    times: Floats
    part: Floats
    pairs: Floats | None = None


Sure = Callable[[pa.Table], Bools]
"""Which pairs of a table are found with any seed."""


def missing_outside(
    pairs: Pairs,
    hub: Int64s,
    plan: Plan,
    sketch: str,
    store: ShingleStore,
    room: PairRoom | None = None,
    threads: int = 1,
) -> Missing:
    """Estimate the missed pairs from the found ``pairs`` (VERIFIED), except pairs of two ``hub`` documents."""
    is_hub = np.zeros(store.documents, np.bool_)
    is_hub[hub] = True
    if len(hub):
        outside: Sure = lambda some: ~(is_hub[column(some, "a")] & is_hub[column(some, "b")])  # noqa: E731
        pairs = pairs.filter(outside, room or PairRoom())

    def fetch(documents: Int64s) -> ShingleSets:
        return store.get(documents).only(documents).sets

    return missing_pairs(pairs, plan, sketch, lambda some: np.zeros(some.num_rows, np.bool_), fetch, threads)


def missing_among(
    pairs: Pairs,
    index: PrefixIndex,
    in_buckets: Int64s,
    limited: Bools,
    plan: Plan,
    sketch: str,
    room: PairRoom | None = None,
    threads: int = 1,
) -> Missing:
    """Estimate the missed pairs from the reported ``pairs`` within the ``index``, ignoring ``limited`` documents.

    The pairs of limited documents are those of crowds (``missing_members``).
    Documents of large buckets (``in_buckets``) with few partners met through text they share with many unlike
    documents. They meet through it with any seed, so their pairs are certain to be found.
    """
    room, inside = room or PairRoom(), (index.local >= 0) & ~limited
    pairs = pairs.filter(lambda some: inside[column(some, "a")] & inside[column(some, "b")], room)
    partners = np.zeros(len(limited), np.int64)
    for some in pairs.batches():
        for end in ("a", "b"):
            partners += np.bincount(column(some, end), minlength=len(limited))
    boilerplate = np.zeros(len(limited), np.bool_)
    boilerplate[in_buckets] = True
    boilerplate &= partners < HUB
    crowded = len(pairs) > _MANY
    if crowded:
        pairs = _thin(pairs, partners >= HUB, room)

    def sure(some: pa.Table) -> Bools:
        a, b = column(some, "a"), column(some, "b")
        surely: Bools = boilerplate[a] & boilerplate[b]
        return surely | _of_popular(a, b, partners >= HUB) if crowded else surely

    def fetch(documents: Int64s) -> ShingleSets:
        places = index.local[documents]
        return sets_at(index.hashes, index.starts[places], index.sizes[places])

    return missing_pairs(pairs, plan, sketch, sure, fetch, threads)


def _of_popular(a: Int64s, b: Int64s, popular: Bools) -> Bools:
    """bool[pairs]: the pairs of two popular documents."""
    both: Bools = popular[a] & popular[b]
    return both


def _thin(pairs: Pairs, popular: Bools, room: PairRoom) -> Pairs:
    """The pairs to look at: of those of two popular documents, the first of each second document.

    A document with this many partners is not lost; the pair with its first partner in the crowd keeps it there.
    """
    first = np.full(len(popular), -1, np.int64)
    for some in pairs.batches():
        a, b = column(some, "a"), column(some, "b")
        new = _of_popular(a, b, popular) & (first[b] < 0)
        first[b[new][::-1]] = a[new][::-1]  # the first of several is written last

    def is_needed(some: pa.Table) -> Bools:
        a, b = column(some, "a"), column(some, "b")
        needed_pairs: Bools = ~_of_popular(a, b, popular) | (first[b] == a)
        return needed_pairs

    return pairs.filter(is_needed, room)


def missing_pairs(
    pairs: Pairs, plan: Plan, sketch: str, sure: Sure, fetch: Callable[[Int64s], ShingleSets], threads: int = 1
) -> Missing:
    """Estimate the missed pairs from the found ``pairs`` (VERIFIED) of closed families.

    Pairs that are ``sure`` are found with any seed. ``fetch`` returns the shingle sets of documents (ascending).
    """
    family_pairs = _FamilyPairs(pairs, plan, sketch, sure)
    part, drawn, chances = _draw(family_pairs)
    ends = [(a[kept], b[kept], surely[kept]) for a, b, surely, kept in family_pairs.inside(part)]
    a, b, surely = (np.concatenate(values) for values in zip(*ends, strict=True))
    total = of_pairs(family_pairs.of_twos)
    if not len(a):
        return total
    inside, place = np.flatnonzero(part), np.cumsum(part) - 1
    x, y = place[a], place[b]
    _, numbers = np.unique(family_pairs.family[inside], return_inverse=True)
    again = proposed_again(fetch(family_pairs.documents[inside]), numbers, (x, y), plan, sketch, threads)
    drawn = replace(drawn, pairs=_weights(a, b, chances, numbers[x]))
    return total + of_families(x, y, numbers[x], (hit | surely for hit in again), drawn)


def _weights(a: Int64s, b: Int64s, share: Floats, family: Int64s) -> Floats:
    """float64[pairs]: the weights of pairs whose ends were drawn with probabilities ``share``, 1 on average."""
    weights = 1 / (share[a] * share[b])
    mean = np.bincount(family, weights) / np.maximum(np.bincount(family), 1)
    even: Floats = weights / mean[family]
    return even


class _FamilyPairs:
    """The found pairs, read some at a time, and the families that they connect.

    ``documents`` (ascending) have a pair, and ``family`` and ``sizes`` are theirs. Of each family of more than two
    ``pairs`` counts the pairs, and ``risk`` sums the odds that LSH alone misses them; ``of_twos`` are the
    probabilities of the pairs of other families. ``heads`` are the documents with most pairs in each family.
    """

    def __init__(self, pairs: Pairs, plan: Plan, sketch: str, sure: Sure) -> None:
        self._pairs, self._sure = pairs, sure
        ends = max((int(column(some, "b").max()) for some in pairs.batches() if some.num_rows), default=-1) + 1
        self.documents = pairs.documents(ends)
        self._local = np.zeros(ends, np.int64)
        self._local[self.documents] = np.arange(len(self.documents))
        _, self.family = np.unique(families_in(pairs, ends)[self.documents], return_inverse=True)
        self._members = np.bincount(self.family)
        self.sizes = np.zeros(len(self.documents), np.int64)
        self.pairs, self.risk = np.zeros(self.number, np.int64), np.zeros(self.number)
        of_twos, partners = [np.empty(0)], np.zeros(len(self.documents), np.int64)
        for some, a, b in self._local_batches():
            shared, size_a, size_b = (column(some, name) for name in VERIFIED.names[2:])
            self.sizes[a], self.sizes[b] = size_a, size_b
            chances = missed_with(plan, sketch, shared, size_a + size_b - shared)
            chances[sure(some)] = 0.0
            chances = np.minimum(chances, _ALMOST_SURELY)
            more = self._members[self.family[a]] > 2
            of_twos.append(chances[~more])
            of_pair, chances = self.family[a[more]], chances[more]
            self.pairs += np.bincount(of_pair, minlength=self.number)
            np.add.at(self.risk, of_pair, chances / (1 - chances))  # rounds like one sum over all pairs
            partners += np.bincount(np.concatenate((a, b)), minlength=len(partners))
        self.of_twos = np.concatenate(of_twos)
        order = np.lexsort((-partners, self.family))
        self.heads = order[np.searchsorted(self.family[order], np.arange(self.number))]

    @property
    def number(self) -> int:
        """The number of families."""
        return len(self._members)

    def inside(self, part: Bools) -> Iterator[tuple[Int64s, Int64s, Bools, Bools]]:
        """Yield a, b, whether they are sure, and whether both are in the ``part``, of larger families."""
        nothing = np.empty(0, np.int64)
        yield nothing, nothing, nothing.astype(np.bool_), nothing.astype(np.bool_)
        for some, a, b in self._local_batches():
            more = self._members[self.family[a]] > 2
            a, b = a[more], b[more]
            yield a, b, self._sure(some)[more], part[a] & part[b]

    def _local_batches(self) -> Iterator[tuple[pa.Table, Int64s, Int64s]]:
        for some in self._pairs.batches():
            yield some, self._local[column(some, "a")], self._local[column(some, "b")]


def _draw(family_pairs: _FamilyPairs) -> tuple[Bools, DrawnFamilies, Floats]:
    """The documents to examine, the families that theirs represent, and the probability of each document.

    These are all documents, unless there are too many.

    Families are drawn by their risk: the number of their pairs that LSH alone would miss, which is more than are
    missed after closing. From a family too large to examine whole, a sample of documents is drawn, and the one
    with most pairs: without it, nothing would remain of a document with thousands of partners that have no other.
    """
    number, rng = family_pairs.number, np.random.default_rng(11)
    family, sizes, pairs, risk = family_pairs.family, family_pairs.sizes, family_pairs.pairs, family_pairs.risk
    shingles = np.bincount(family, sizes, number)
    share = np.minimum(
        1, np.minimum(_SHINGLES / 4 / np.maximum(shingles, 1), (_PAIRS / 4 / np.maximum(pairs, 1)) ** 0.5)
    )
    chances = share[family]
    chances[family_pairs.heads] = 1
    part = rng.random(len(family)) < chances
    looked_at = np.zeros(number, np.int64)
    for a, _, _, kept in family_pairs.inside(part):
        looked_at += np.bincount(family[a[kept]], minlength=number)
    cost = np.maximum(looked_at / _PAIRS, np.bincount(family, sizes * part, number) / _SHINGLES)
    order = np.argsort(risk, kind="stable")
    some = np.zeros(number, np.bool_)
    some[order] = np.cumsum(risk[order]) > _NOTHING
    some &= looked_at > 0
    scale = 1 / max(1e-300, float((risk * cost)[some].sum()))
    chance = (
        np.where(some, 1.0, 0.0) if cost[some].sum() <= 1 else np.where(some, np.minimum(1, risk * scale), 0.0)
    )
    drawn = rng.random(number) < chance
    part &= drawn[family]
    # a family whose sampled documents have no pair among them is never drawn
    return part, DrawnFamilies(1 / chance[drawn], (pairs / np.maximum(looked_at, 1))[drawn]), chances


def _is_connected(a: Int64s, b: Int64s, hit: Bools) -> Bools:
    """bool[pairs]: whether a chain of the pairs marked in ``hit`` connects the two documents of each."""
    family = families_of(a[hit], b[hit], int(max(a.max(initial=-1), b.max(initial=-1))) + 1)
    joined: Bools = family[a] == family[b]
    return joined


class Members(NamedTuple):
    """The pairs of ``member`` and ``leader`` (places in ``documents``), the ``crowd`` of each, and its ``weight``.

    ``documents`` (int64, ascending) are all these; of each, ``share`` documents of its crowd were drawn.
    """

    documents: Int64s
    member: Int64s
    leader: Int64s
    crowd: Int64s
    weight: Floats
    share: Floats


def missing_members(
    pairs: Pairs,
    index: PrefixIndex,
    limited: Bools,
    criterion: Criterion,
    plan: Plan,
    sketch: str,
    threads: int = 1,
) -> Missing:
    """Estimate the missed pairs from the reported ``pairs`` that have a ``limited`` document of the ``index``."""
    drawn = _draw_members(*_with_leaders(pairs, index, limited), index)
    if not len(drawn.member):
        return Missing()
    places = index.local[drawn.documents]
    sets = sets_at(index.hashes, index.starts[places], index.sizes[places])

    def look(bands: Iterator[UInt64s]) -> Bools:
        return found_again(bands, drawn, sets, criterion)

    one_family = np.zeros(len(drawn.documents), np.int64)
    return of_members(drawn, banded_again(sets, one_family, plan, sketch, look, threads))


def of_members(drawn: Members, connected: Iterable[Bools]) -> Missing:
    """Estimate the missed pairs from whether other seeds have ``connected`` each member (bool[members])."""
    hits = np.array(list(connected), np.bool_)
    # unbiased for 1/π, except for members that hardly any seed finds
    each = (len(hits) + 1) / (hits.sum(axis=0) + 1)
    odds, number = each - 1, int(drawn.crowd.max()) + 1
    alone = odds + odds * odds
    of_crowd = np.bincount(drawn.crowd, alone, number)
    weight = np.bincount(drawn.crowd, drawn.weight, number) / np.bincount(drawn.crowd, minlength=number)
    off = np.array([np.bincount(drawn.crowd, 1 - hit * each, number) for hit in hits])
    # members are lost together with the slots of their leader: this part grows with the square of the crowd
    together = np.maximum(0, (off**2).mean(axis=0) - of_crowd)
    variance = FEW * (weight**2 * together + weight * of_crowd)
    estimated, unrelated = (float((values * drawn.weight).sum()) for values in (odds, alone))
    return Missing(estimated, float(variance.sum()), unrelated)


def found_again(bands: Iterable[UInt64s], drawn: Members, sets: ShingleSets, criterion: Criterion) -> Bools:
    """bool[members]: which ones LSH gathers by these keys (uint64[documents] for each band)."""
    again, kept = np.zeros(len(drawn.documents), np.bool_), []
    agreed = np.zeros(len(drawn.member), np.bool_)
    for keys in bands:
        agreed |= keys[drawn.member] == keys[drawn.leader]
        order, starts, sizes = equal_groups(keys)
        several = np.flatnonzero(sizes > 1)
        bucket = np.repeat(several, sizes[several])
        inside = order[numbers_in(starts[several], sizes[several])]
        # a document stands for several of its bucket
        large = np.bincount(bucket, 1 / drawn.share[inside], len(sizes)) > HUB
        again[inside[large[bucket]]] = True
        kept.append((inside, bucket))
    again[drawn.member[agreed]] = True
    lost = np.flatnonzero(~again)
    if len(lost):
        again[_met_documents(lost, kept, sets, criterion)] = True
    gathered: Bools = again[drawn.member]
    return gathered


def _met_documents(
    lost: Int64s, buckets: list[tuple[Int64s, Int64s]], sets: ShingleSets, criterion: Criterion
) -> Int64s:
    """Those of the ``lost`` documents that are in a bucket with a document that is a pair with them."""
    is_lost = np.zeros(len(sets.sizes), np.bool_)
    is_lost[lost] = True
    ends = [np.empty((2, 0), np.int64)]
    for inside, bucket in buckets:  # buckets ascend
        places = np.flatnonzero(is_lost[inside])
        begin, end = (np.searchsorted(bucket, bucket[places], side) for side in ("left", "right"))
        others = inside[numbers_in(begin, end - begin)]
        ends.append(np.stack((np.repeat(inside[places], end - begin), others)))
    x, y = np.concatenate(ends, axis=1)
    x, y = x[x != y], y[x != y]
    shared = np.empty(len(x), np.int64)
    verify_pairs(sets.hashes, sets.offsets, x, y, criterion, shared)
    return np.unique(x[shared >= 0])


def _with_leaders(pairs: Pairs, index: PrefixIndex, limited: Bools) -> tuple[Int64s, Int64s]:
    """(members, leaders): the ends of the pairs with a limited document; the one with more such pairs leads."""
    inside, ends = index.local >= 0, [np.empty((0, 2), np.int64)]
    for some in pairs.batches():
        a, b = column(some, "a"), column(some, "b")
        chosen = inside[a] & inside[b] & (limited[a] | limited[b])
        ends.append(np.column_stack((a[chosen], b[chosen])))
    a, b = np.concatenate(ends).T
    counts = np.bincount(np.concatenate((a, b)), minlength=len(limited))
    leads = counts[a] >= counts[b]
    return np.where(leads, b, a), np.where(leads, a, b)


def _draw_members(members: Int64s, leaders: Int64s, index: PrefixIndex) -> Members:
    """All members and their leaders, or some of each crowd if they are too many."""
    heads, crowd, sizes = np.unique(leaders, return_inverse=True, return_counts=True)
    shingles = int(index.sizes[index.local[members]].sum())
    least = np.minimum(1, _FEWEST / sizes)
    share = np.maximum(min(1.0, _MEMBER_SHINGLES / max(1, shingles)), least)[crowd]
    kept = np.flatnonzero(np.random.default_rng(12).random(len(members)) < share)
    members, leaders, of = members[kept], leaders[kept], crowd[kept]
    drawn = np.bincount(of, minlength=len(heads))
    weight = (sizes / np.maximum(drawn, 1))[of]
    documents = np.unique(np.concatenate((members, leaders)))
    shares = np.ones(len(documents))
    shares[np.searchsorted(documents, members)] = 1 / weight
    shares[np.searchsorted(documents, leaders)] = 1  # a leader is there anyway
    ends = np.searchsorted(documents, members), np.searchsorted(documents, leaders)
    return Members(documents, *ends, np.unique(of, return_inverse=True)[1], weight, shares)
