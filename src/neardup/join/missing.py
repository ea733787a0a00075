"""Found pairs, family by family → how many pairs are missed, and how sure that is.

After closing (``closing.py``) a pair is found when a chain of proposed pairs joins its documents. How likely that
is depends on the whole family, not on the pair alone: families are sketched again with other seeds
(``resketch.py``), and what falls apart is counted. A pair found with probability π stands for 1/π (Horvitz and
Thompson 1952). Pairs of a family are missed together, so the variance is that of whole families over the seeds.

The pair of a family of two has nobody else to be joined by: its π is that of LSH, known exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.join.closing import families_of
from neardup.join.lsh_candidates import HUB
from neardup.join.resketch import proposed_again
from neardup.join.shingle_store import ShingleStore
from neardup.kernels.join.prefix_index import Hubs
from neardup.kernels.sketch.agreement import no_band_agrees, none_whole
from neardup.lsh.bands import Plan
from neardup.sketch.documents import ShingleSets
from neardup.tables import VERIFIED, Bools, Floats, Int64s, UInt64s, column

_SHINGLES = 1 << 19
"""Shingles of the families that are sketched again: with 100 seeds about half a second."""

_PAIRS = 1 << 16
"""Pairs of these families."""

_MANY = 1 << 22
"""Of more pairs of hub documents those within crowds are not looked at."""

_FEW = 1.5
"""The variance of families is taken this many times: few families carry it, and it is estimated from these
(the square of Student's t over the normal quantile is 1.5 at seven of them)."""


_ALMOST_SURELY = 1 - 1e-9
"""A pair that LSH would never find, and only a chain did, must not weigh infinitely."""

_NOTHING = 1e-3
"""Families that make no more missed pairs than this together are passed over."""

_BOUNDED = 0.1
"""An estimate of which more than this share, and more than so many pairs, is an upper bound is called one."""

_NEVER = 1e-9
"""A pair missed less often than this is not looked at more closely: a billion of them make one missed pair."""


def missed_with(plan: Plan, sketch: str, shared: Int64s, union: Int64s) -> Floats:
    """1 − π (float64[n]) of pairs that share ``shared`` of ``union`` ≥ 1 shingles: no band of ``plan`` agrees.

    Classic slots are independent, each agrees with probability J = shared / union, and no band with Π (1 − J^rᵢ).
    The slots that shingles of a one-permutation sketch choose hold different shingles, which makes the number
    of slots that agree vary less: a pair above the threshold is missed more rarely, by half and more. That
    probability is computed exactly (``kernels/sketch/agreement.py``).

    >>> twenty = np.array([20])
    >>> missed_with(Plan(0.8, 0.99, 2, (1, 1)), "classic", np.array([10]), twenty)
    array([0.25])
    """
    similarity, missed = shared / union, np.ones(len(shared))
    for rows in sorted(set(plan.bands)):
        missed *= (1 - similarity**rows) ** plan.bands.count(rows)
    close = np.flatnonzero(missed > _NEVER)
    if sketch == "one-permutation" and len(close):
        # many pairs have the same two numbers; ascending unions are what the kernel asks for
        numbers, of = np.unique((union[close] << 32) | shared[close], return_inverse=True)
        exact = np.empty(len(numbers))
        no_band_agrees(numbers & 0xFFFFFFFF, numbers >> 32, none_whole(np.array(plan.bands)), exact)
        missed[close] = exact[of]
    return missed


@dataclass(frozen=True)
class Missing:
    """The expected number of missed pairs, its ``variance``, and that of unrelated pairs (``alone``).

    ``bounded`` of the ``estimated`` ones are an upper bound, from parts of families too large to be looked at.
    """

    estimated: float = 0.0
    variance: float = 0.0
    alone: float = 0.0
    bounded: float = 0.0

    def __add__(self, other: Missing) -> Missing:
        return Missing(
            self.estimated + other.estimated,
            self.variance + other.variance,
            self.alone + other.alone,
            self.bounded + other.bounded,
        )

    @property
    def mostly_bounded(self) -> bool:
        """Whether so much of the estimate is an upper bound that it is one itself."""
        return self.bounded > max(_BOUNDED * self.estimated, _BOUNDED)

    @property
    def together(self) -> float:
        """How many pairs are missed together, on average; 1 for unrelated pairs."""
        return max(1.0, self.variance / self.alone) if self.alone else 1.0


def of_pairs(chances: Floats) -> Missing:
    """What unrelated pairs stand for that are missed with these probabilities.

    >>> of_pairs(np.array([0.5, 0.0]))
    Missing(estimated=1.0, variance=2.0, alone=2.0, bounded=0.0)
    """
    odds = chances / (1 - chances)
    spread = float((odds + odds * odds).sum())
    return Missing(float(odds.sum()), spread, spread)


def of_families(
    a: Int64s, b: Int64s, family: Int64s, proposed: Iterable[Bools], drawn: Drawn | None = None
) -> Missing:
    """What the pairs a[k], b[k] of families stand for, by the pairs that LSH proposes with other seeds.

    ``family`` (int64[pairs], from 0 on) is that of each pair; ``proposed`` gives bool[pairs] for each seed.
    ``drawn`` tells what each family stands for; None: for itself.
    """
    number = int(family.max(initial=-1)) + 1
    found = np.array([_joined(a, b, hit) for hit in proposed], np.bool_).reshape(-1, len(a))
    # unbiased for 1/π, but of pairs that are found with hardly any seed
    each = (len(found) + 1) / (found.sum(axis=0) + 1)
    odds = each - 1
    off = np.array([np.bincount(family, 1 - hit * each, number) for hit in found]).reshape(-1, number)
    # as a pair stands for 1/π pairs, a family stands for as many as its pairs do on average
    weight = np.bincount(family, each, number) / np.maximum(np.bincount(family, minlength=number), 1)
    estimated = np.bincount(family, odds, number)
    variance = _FEW * (off**2).mean(axis=0) * weight
    alone = np.bincount(family, odds + odds * odds, number)
    drawn = drawn or Drawn(np.ones(number), np.ones(number))
    whole = estimated * drawn.part
    spread = drawn.times * variance * drawn.part**2 + drawn.times * (drawn.times - 1) * whole**2
    stands_for = whole * drawn.times
    unrelated = float((alone * drawn.part * drawn.times).sum())
    bounded = float(stands_for[drawn.part > 1].sum())
    return Missing(float(stands_for.sum()), float(spread.sum()), unrelated, bounded)


@dataclass(frozen=True)
class Drawn:
    """Of each family that is looked at: how many it stands for, and its pairs over those of them looked at."""

    times: Floats
    part: Floats


def missing_outside(pairs: pa.Table, hub: Int64s, plan: Plan, sketch: str, store: ShingleStore) -> Missing:
    """What the found ``pairs`` (VERIFIED) stand for, but those of two ``hub`` documents."""
    is_hub = np.zeros(store.documents, np.bool_)
    is_hub[hub] = True
    pairs = pairs.filter(pa.array(~(is_hub[column(pairs, "a")] & is_hub[column(pairs, "b")])))

    def fetch(documents: Int64s) -> ShingleSets:
        found = store.get(documents)
        at = found.index(documents)
        return _sets_at(found.sets.hashes, found.sets.offsets[at], found.sets.sizes[at])

    return missing_pairs(pairs, plan, sketch, np.zeros(pairs.num_rows, np.bool_), fetch)


def missing_among(
    pairs: pa.Table, hubs: Hubs, in_buckets: Int64s, limited: Bools, plan: Plan, sketch: str
) -> Missing:
    """What the reported ``pairs`` of hub documents stand for; those with ``limited`` documents count for nothing.

    Documents of large buckets (``in_buckets``) with few partners met by what they have in common with many unlike
    ones, and do so with any seed: their pairs are found surely.
    """
    a, b = column(pairs, "a"), column(pairs, "b")
    kept = (hubs.local[a] >= 0) & (hubs.local[b] >= 0) & ~(limited[a] | limited[b])
    a, b = a[kept], b[kept]
    partners = np.bincount(a, minlength=len(limited)) + np.bincount(b, minlength=len(limited))
    boilerplate = np.zeros(len(limited), np.bool_)
    boilerplate[in_buckets] = True
    boilerplate &= partners < HUB
    sure = boilerplate[a] & boilerplate[b]
    if len(a) > _MANY:
        needed, within = _thinned(a, b, partners >= HUB)
        sure = (sure | within)[needed]
        kept[np.flatnonzero(kept)[~needed]] = False

    def fetch(documents: Int64s) -> ShingleSets:
        at = hubs.local[documents]
        return _sets_at(hubs.hashes, hubs.starts[at], hubs.sizes[at])

    return missing_pairs(pairs.filter(pa.array(kept)), plan, sketch, sure, fetch)


def _thinned(a: Int64s, b: Int64s, popular: Bools) -> tuple[Bools, Bools]:
    """(needed, within), bool[pairs] each: the pairs of two popular documents, and which pairs to look at.

    A document with so many partners is not lost; the pair with its first partner there holds it to its crowd.
    """
    within = popular[a] & popular[b]
    inside = np.flatnonzero(within)
    _, first = np.unique(b[inside], return_index=True)
    needed = ~within
    needed[inside[first]] = True
    return needed, within


def missing_pairs(
    pairs: pa.Table, plan: Plan, sketch: str, sure: Bools, fetch: Callable[[Int64s], ShingleSets]
) -> Missing:
    """What the found ``pairs`` (VERIFIED) of closed families stand for.

    ``sure`` (bool[pairs]) are found with any seed. ``fetch`` gives the shingle sets of documents (ascending).
    """
    ends, counts = (
        [column(pairs, name) for name in ("a", "b")],
        [column(pairs, name) for name in VERIFIED.names[2:]],
    )
    documents, local = np.unique(np.concatenate(ends), return_inverse=True)
    a, b = local[: pairs.num_rows], local[pairs.num_rows :]
    chances = missed_with(plan, sketch, counts[0], counts[1] + counts[2] - counts[0])
    chances[sure] = 0.0
    chances = np.minimum(chances, _ALMOST_SURELY)
    _, family = np.unique(families_of(a, b, len(documents)), return_inverse=True)
    twos = np.bincount(family)[family[a]] == 2 if len(a) else sure
    sizes = np.zeros(len(documents), np.int64)
    sizes[a], sizes[b] = counts[1], counts[2]
    more = ~twos
    part, drawn = _draw(family, sizes, a[more], b[more], chances[more])
    kept = np.flatnonzero(part[a[more]] & part[b[more]])
    total = of_pairs(chances[twos])
    if not len(kept):
        return total
    inside = np.flatnonzero(part)
    place = np.cumsum(part) - 1
    x, y = place[a[more][kept]], place[b[more][kept]]
    _, numbers = np.unique(family[inside], return_inverse=True)
    again = proposed_again(fetch(documents[inside]), numbers, x, y, plan, sketch)
    surely = sure[more][kept]
    return total + of_families(x, y, numbers[x], (hit | surely for hit in again), drawn)


def _draw(family: Int64s, sizes: Int64s, a: Int64s, b: Int64s, chances: Floats) -> tuple[Bools, Drawn]:
    """Which documents are looked at, and what their families stand for; all, where that is not too much.

    Families are drawn by their risk, the number of their pairs that LSH by itself would miss, which is more than
    are missed after closing. Of a family that is too large by itself, some documents are drawn.
    """
    number, rng = int(family.max(initial=-1)) + 1, np.random.default_rng(11)
    of_pair = family[a]
    pairs, risk = (np.bincount(of_pair, weight, number) for weight in (None, chances / (1 - chances)))
    shingles = np.bincount(family, sizes, number)
    share = np.minimum(
        1, np.minimum(_SHINGLES / 4 / np.maximum(shingles, 1), (_PAIRS / 4 / np.maximum(pairs, 1)) ** 0.5)
    )
    part = rng.random(len(family)) < share[family]
    looked_at = np.bincount(of_pair[part[a] & part[b]], minlength=number)
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
    # a drawn family none of whose documents has a partner among those looked at is none
    return part, Drawn(1 / chance[drawn], (pairs / np.maximum(looked_at, 1))[drawn])


def _sets_at(hashes: UInt64s, starts: Int64s, sizes: Int64s) -> ShingleSets:
    """The sets of ``sizes`` that begin at ``starts``, one after the other."""
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    at = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(starts, sizes)
    return ShingleSets(hashes[at], offsets)


def _joined(a: Int64s, b: Int64s, hit: Bools) -> Bools:
    """bool[pairs]: whether a chain of the pairs that are ``hit`` joins the two of each."""
    family = families_of(a[hit], b[hit], int(max(a.max(initial=-1), b.max(initial=-1))) + 1)
    joined: Bools = family[a] == family[b]
    return joined
