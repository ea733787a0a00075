"""The shingles that no base of a group holds: the kernel against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.sets import residues
from support.made_sets import laid_out

ELEMENTS = st.one_of(st.integers(0, 40), st.sampled_from([0, 1 << 63, (1 << 64) - 1, 1 << 32]))
SETS = st.sets(ELEMENTS, max_size=30)
GROUP = st.tuples(st.lists(SETS, max_size=4), st.lists(SETS, max_size=4))


@given(st.lists(GROUP, max_size=6), st.randoms(use_true_random=False))
def test_what_no_set_of_the_base_holds(
    groups: list[tuple[list[set[int]], list[set[int]]]], choose: object
) -> None:
    sets = [of for base, others in groups for of in (*base, *others)]
    place = list(range(len(sets)))
    choose.shuffle(place)  # type: ignore[attr-defined]
    stored = [set[int]()] * len(sets)
    for number, at in enumerate(place):
        stored[at] = sets[number]
    hashes, starts, sizes = laid_out(stored)
    offsets = np.concatenate((starts, [len(hashes)])).astype(np.int64)
    assert (np.diff(offsets) == sizes).all()
    firsts = np.cumsum([0, *(len(base) + len(others) for base, others in groups)])
    bases = np.array([len(base) for base, _ in groups], np.int64)
    out, counts = np.zeros(len(hashes), np.uint64), np.full(len(sets), -1, np.int64)
    used = residues(hashes, offsets, np.array(place, np.int64), firsts.astype(np.int64), bases, out, counts)
    expected = [
        sorted(member.difference(*base)) if number >= len(base) else []
        for base, others in groups
        for number, member in enumerate((*base, *others))
    ]
    assert counts.tolist() == [len(found) for found in expected]
    assert out[:used].tolist() == [hash for found in expected for hash in found]


def test_a_small_set_is_found_in_a_large_base_and_a_large_one_in_a_small_base() -> None:
    large, small = np.arange(0, 200_000, 2, dtype=np.uint64), np.array([3, 4, 99_998, 199_998, 199_999], np.uint64)
    for base, other, expected in (
        (large, small, [3, 199_999]),
        (small, large, sorted(set(large.tolist()) - {4, 99_998, 199_998})),
    ):
        hashes, offsets = np.concatenate((base, other)), np.cumsum([0, len(base), len(other)])
        out, counts = np.empty(len(other), np.uint64), np.empty(2, np.int64)
        one = np.array([1], np.int64)
        used = residues(hashes, offsets, np.arange(2), np.array([0, 2]), one, out, counts)
        assert out[:used].tolist() == expected
        assert counts.tolist() == [0, len(expected)]
