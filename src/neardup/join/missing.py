"""Found pairs, family by family → an estimate of how many pairs are missed, with its uncertainty.

After closing (``closing.py``) a pair is found if a chain of proposed pairs connects its documents. The probability
of that depends on the whole family, not on the pair alone. Families are therefore sketched again with other seeds
(``resketch.py``), and the pairs that fall apart are counted. A pair found with probability π represents 1/π pairs
(Horvitz and Thompson 1952). Pairs of a family are missed together, so the variance is computed over the seeds for
whole families.

In a family of two no other document can connect the pair: its π is that of LSH, known exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.join.closing import families_in, families_of
from neardup.join.estimates import FEW, Missing
from neardup.join.lsh_candidates import HUB
from neardup.join.pair_file import PairRoom, Pairs, batches, documents_in, filtered
from neardup.join.resketch import proposed_again
from neardup.join.shingle_store import ShingleStore, sets_at
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.sketch.agreement import no_band_agrees, none_whole
from neardup.lsh.bands import Plan
from neardup.sketch.documents import ShingleSets
from neardup.tables import VERIFIED, Bools, Floats, Int64s, column

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
    a: Int64s, b: Int64s, family: Int64s, proposed: Iterable[Bools], drawn: DrawnFamilies | None = None
) -> Missing:
    """Estimate the missed pairs from the pairs a[k], b[k] of families, using proposals by LSH with other seeds.

    ``family`` (int64[pairs], from 0 on) is the family of each pair; ``proposed`` yields bool[pairs] for each seed.
    ``drawn`` holds the number of families that each family represents; None: each represents itself.
    """
    number = int(family.max(initial=-1)) + 1
    drawn = drawn or DrawnFamilies(np.ones(number), np.ones(number))
    of_pair = np.ones(len(a)) if drawn.pairs is None else drawn.pairs
    found = np.array([_joined(a, b, hit) for hit in proposed], np.bool_).reshape(-1, len(a))
    # unbiased for 1/π, except for pairs that hardly any seed finds
    each = (len(found) + 1) / (found.sum(axis=0) + 1)
    odds = each - 1
    off = np.array([np.bincount(family, (1 - hit * each) * of_pair, number) for hit in found]).reshape(-1, number)
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
        pairs = filtered(pairs, outside, room or PairRoom())

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

    The pairs of limited documents are those of crowds (``missing_crowds.py``).
    Documents of large buckets (``in_buckets``) with few partners met through text they share with many unlike
    documents. They meet through it with any seed, so their pairs are certain to be found.
    """
    room, inside = room or PairRoom(), (index.local >= 0) & ~limited
    pairs = filtered(pairs, lambda some: inside[column(some, "a")] & inside[column(some, "b")], room)
    partners = np.zeros(len(limited), np.int64)
    for some in batches(pairs):
        for end in ("a", "b"):
            partners += np.bincount(column(some, end), minlength=len(limited))
    boilerplate = np.zeros(len(limited), np.bool_)
    boilerplate[in_buckets] = True
    boilerplate &= partners < HUB
    crowded = pairs.num_rows > _MANY
    if crowded:
        pairs = _thinned(pairs, partners >= HUB, room)

    def sure(some: pa.Table) -> Bools:
        a, b = column(some, "a"), column(some, "b")
        surely: Bools = boilerplate[a] & boilerplate[b]
        return surely | _of_popular(a, b, partners >= HUB) if crowded else surely

    def fetch(documents: Int64s) -> ShingleSets:
        at = index.local[documents]
        return sets_at(index.hashes, index.starts[at], index.sizes[at])

    return missing_pairs(pairs, plan, sketch, sure, fetch, threads)


def _of_popular(a: Int64s, b: Int64s, popular: Bools) -> Bools:
    """bool[pairs]: the pairs of two popular documents."""
    both: Bools = popular[a] & popular[b]
    return both


def _thinned(pairs: Pairs, popular: Bools, room: PairRoom) -> Pairs:
    """The pairs to look at: of those of two popular documents, the first of each second document.

    A document with this many partners is not lost; the pair with its first partner in the crowd keeps it there.
    """
    first = np.full(len(popular), -1, np.int64)
    for some in batches(pairs):
        a, b = column(some, "a"), column(some, "b")
        new = _of_popular(a, b, popular) & (first[b] < 0)
        first[b[new][::-1]] = a[new][::-1]  # the first of several is written last

    def needed(some: pa.Table) -> Bools:
        a, b = column(some, "a"), column(some, "b")
        found: Bools = ~_of_popular(a, b, popular) | (first[b] == a)
        return found

    return filtered(pairs, needed, room)


def missing_pairs(
    pairs: Pairs, plan: Plan, sketch: str, sure: Sure, fetch: Callable[[Int64s], ShingleSets], threads: int = 1
) -> Missing:
    """Estimate the missed pairs from the found ``pairs`` (VERIFIED) of closed families.

    Pairs that are ``sure`` are found with any seed. ``fetch`` returns the shingle sets of documents (ascending).
    """
    found = _FamilyPairs(pairs, plan, sketch, sure)
    part, drawn, chances = _draw(found)
    ends = [(a[kept], b[kept], surely[kept]) for a, b, surely, kept in found.inside(part)]
    a, b, surely = (np.concatenate(values) for values in zip(*ends, strict=True))
    total = of_pairs(found.of_twos)
    if not len(a):
        return total
    inside, place = np.flatnonzero(part), np.cumsum(part) - 1
    x, y = place[a], place[b]
    _, numbers = np.unique(found.family[inside], return_inverse=True)
    again = proposed_again(fetch(found.documents[inside]), numbers, (x, y), plan, sketch, threads)
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
        ends = max((int(column(some, "b").max()) for some in batches(pairs) if some.num_rows), default=-1) + 1
        self.documents = documents_in(pairs, ends)
        self._local = np.zeros(ends, np.int64)
        self._local[self.documents] = np.arange(len(self.documents))
        _, self.family = np.unique(families_in(pairs, ends)[self.documents], return_inverse=True)
        self._members = np.bincount(self.family)
        self.sizes = np.zeros(len(self.documents), np.int64)
        self.pairs, self.risk = np.zeros(self.number, np.int64), np.zeros(self.number)
        of_twos, partners = [np.empty(0)], np.zeros(len(self.documents), np.int64)
        for some, a, b in self._numbered():
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
        for some, a, b in self._numbered():
            more = self._members[self.family[a]] > 2
            a, b = a[more], b[more]
            yield a, b, self._sure(some)[more], part[a] & part[b]

    def _numbered(self) -> Iterator[tuple[pa.Table, Int64s, Int64s]]:
        for some in batches(self._pairs):
            yield some, self._local[column(some, "a")], self._local[column(some, "b")]


def _draw(found: _FamilyPairs) -> tuple[Bools, DrawnFamilies, Floats]:
    """The documents to examine, the families that theirs represent, and the probability of each document.

    These are all documents, unless there are too many.

    Families are drawn by their risk: the number of their pairs that LSH alone would miss, which is more than are
    missed after closing. From a family too large to examine whole, a sample of documents is drawn, and the one
    with most pairs: without it, nothing would remain of a document with thousands of partners that have no other.
    """
    number, rng = found.number, np.random.default_rng(11)
    family, sizes, pairs, risk = found.family, found.sizes, found.pairs, found.risk
    shingles = np.bincount(family, sizes, number)
    share = np.minimum(
        1, np.minimum(_SHINGLES / 4 / np.maximum(shingles, 1), (_PAIRS / 4 / np.maximum(pairs, 1)) ** 0.5)
    )
    chances = share[family]
    chances[found.heads] = 1
    part = rng.random(len(family)) < chances
    looked_at = np.zeros(number, np.int64)
    for a, _, _, kept in found.inside(part):
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


def _joined(a: Int64s, b: Int64s, hit: Bools) -> Bools:
    """bool[pairs]: whether a chain of the pairs marked in ``hit`` connects the two documents of each."""
    family = families_of(a[hit], b[hit], int(max(a.max(initial=-1), b.max(initial=-1))) + 1)
    joined: Bools = family[a] == family[b]
    return joined
