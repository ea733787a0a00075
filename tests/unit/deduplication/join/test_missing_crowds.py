"""Members of crowds sketched again: which ones LSH gathers, against a plain twin, and what lost ones stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.deduplication.join.candidates import HUB
from neardup.deduplication.join.misses import Members, found_again, of_members
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion
from neardup.text.sketch.documents import ShingleSets

HALF = Criterion(1, 2, RESEMBLANCE)


def plain_found_again(bands: list[list[int]], leader: int, share: float, sets: list[set[int]]) -> list[bool]:
    """Return for each set but the leader whether it agrees with it, is in a large bucket, or met a partner."""
    numbers = range(len(sets))

    def stands_for(inside: list[int]) -> float:
        return sum(1 if k == leader else 1 / share for k in inside)

    buckets = [[k for k in numbers if keys[k] == keys[x]] for keys in bands for x in numbers]
    gathered = {k for bucket in buckets if stands_for(bucket) > HUB for k in bucket}
    gathered |= {k for bucket in buckets if leader in bucket for k in bucket if k != leader}
    lost = set(numbers) - gathered
    alike = {
        x
        for bucket in buckets
        for x in bucket
        for y in bucket
        if x != y and x in lost and 2 * len(sets[x] & sets[y]) >= len(sets[x] | sets[y])
    }
    return [k in gathered | alike for k in numbers if k != leader]


@given(st.data(), st.sampled_from([1.0, 0.5, 0.05, 0.01]))
def test_members_are_gathered_as_the_plain_twin_says(data: st.DataObject, share: float) -> None:
    sets = data.draw(st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=2, max_size=12))
    bands = [data.draw(st.lists(st.integers(0, 4), min_size=len(sets), max_size=len(sets))) for _ in range(2)]
    leader = data.draw(st.integers(0, len(sets) - 1))
    members = np.array([k for k in range(len(sets)) if k != leader])
    shares = np.where(np.arange(len(sets)) == leader, 1.0, share)
    ones = np.ones(len(members))
    drawn = Members(np.arange(len(sets)), members, ones.astype(np.int64) * leader, 0 * members, ones, shares)
    hashes = np.concatenate([np.array(sorted(values), np.uint64) for values in sets])
    made = ShingleSets(hashes, np.cumsum([0, *map(len, sets)]))
    found = found_again([np.array(keys, np.uint64) for keys in bands], drawn, made, HALF)
    assert found.tolist() == plain_found_again(bands, leader, share, sets)


def drawn_members(n: int, weight: float) -> Members:
    numbers = np.arange(1, n + 1)
    return Members(
        np.arange(n + 1), numbers, 0 * numbers, 0 * numbers, np.full(n, weight), np.full(n + 1, 1 / weight)
    )


def test_lost_members_stand_for_those_that_were_not_drawn() -> None:
    rng = np.random.default_rng(1)
    hits = rng.random((100, 400)) >= 0.05
    whole, some = of_members(drawn_members(400, 1.0), hits), of_members(drawn_members(400, 10.0), hits)
    assert whole.estimated == pytest.approx(400 * 0.05 / 0.95, rel=0.1)
    assert some.estimated == pytest.approx(10 * whole.estimated)
    assert whole.together < 2  # lost one by one
    assert some.variance > 10 * whole.variance * 0.5


def test_members_lost_with_their_leader_are_lost_together() -> None:
    hits = np.repeat(np.arange(100) % 20 > 0, 400).reshape(100, 400)
    assert of_members(drawn_members(400, 1.0), hits).together > 100
