"""The nearest sets through lists of shingles against all pairs, with bounds, merging and reading on."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from neardup.deduplication.join.criterion import EVERYONE, Related
from neardup.deduplication.join.top_pairs import Wanted, nearest_pairs
from neardup.kernels.formulas import CONTAINMENT, DICE, LARGER, OVERLAP, RESEMBLANCE
from neardup.kernels.sets import part, whole
from neardup.runtime import Silent
from neardup.text.sketch.documents import ShingleSets
from support import made_sets

FORMULAS = pytest.mark.parametrize("formula", [RESEMBLANCE, CONTAINMENT, OVERLAP, LARGER, DICE])
OLD, NEW = 300, 12


@cache
def sets_of(kind: str) -> list[set[int]]:
    """Sets of skewed frequencies; with copies of some, or with half of the same frequent shingles in all."""
    draw = np.random.default_rng(5)
    hashes = draw.integers(1, 2**63, 4000).tolist()
    frequent = 60 if kind == "templates" else 0
    sets = []
    for _ in range(OLD + NEW):
        places = np.minimum(draw.zipf(1.3, int(draw.integers(1, 80))), 3999).tolist()
        common = draw.choice(frequent, frequent // 2, replace=False).tolist() if frequent else []
        sets.append({hashes[place] for place in (*places, *common)})
    if kind == "copies":
        for k in range(OLD, OLD + NEW):
            sets[k] = set(sorted(sets[k - OLD])[: -1 - k % 3] or sets[k]) | {hashes[k]}
    return sets


@cache
def values_of(kind: str, formula: int) -> list[tuple[Fraction, int, int, int]]:
    """The value, the two sets and the shared elements of each pair that shares some, by sets."""
    sets, rows = sets_of(kind), []
    for new in range(OLD, len(sets)):
        for old in range(OLD):
            shared, sizes = len(sets[old] & sets[new]), sorted((len(sets[old]), len(sets[new])))
            if shared:
                value = Fraction(int(part(shared, formula)), int(whole(shared, *sizes, formula)))
                rows.append((-value, old, new, shared))
    return rows


def naive(kind: str, wanted: Wanted, formula: int, related: Related) -> list[tuple[int, int, int]]:
    possible, found = values_of(kind, formula), []
    may_pair = related.may_pair(*(np.array([row[side] for row in possible]) for side in (1, 2)))
    some = [row for row, may in zip(possible, may_pair.tolist(), strict=True) if may and -row[0] >= wanted.least]
    for new in range(OLD, OLD + NEW):
        rows = [row for row in some if row[2] == new]
        last = sorted(rows)[: wanted.top][-1][0] if rows else 0
        found += [row[1:] for row in sorted(rows) if row[0] <= last]
    return found


@FORMULAS
@pytest.mark.parametrize("kind", ["any", "copies", "templates"])
@pytest.mark.parametrize("wanted", [Wanted(1), Wanted(5, Fraction(1, 5)), Wanted(1000)])
def test_the_nearest_sets_are_those_of_all_pairs(kind: str, wanted: Wanted, formula: int) -> None:
    sets = sets_of(kind)
    hashes, starts, sizes = made_sets.laid_out(sets)
    stored = ShingleSets(hashes, np.append(starts, starts[-1] + sizes[-1]))
    colours = np.arange(len(sets), dtype=np.uint64) % 5
    for related in (EVERYONE, Related(across=colours), Related(within=colours)):
        rows = nearest_pairs(stored, OLD, wanted, formula, related, 2, Silent())
        assert [tuple(row[:3]) for row in rows.tolist()] == naive(kind, wanted, formula, related)
        assert (rows[:, 3:] == sizes[rows[:, :2]]).all()


def test_no_old_or_no_new_set_has_no_pairs() -> None:
    for old in (0, 2):
        sets = ShingleSets(np.array([1, 2, 1], np.uint64), np.array([0, 2, 3]))
        assert not len(nearest_pairs(sets, old, Wanted(3), RESEMBLANCE, EVERYONE, 1, Silent()))
