"""Counting drawn sets against streamed ones, against the naive twin: every pair, exact numbers, nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.deduplication.run.recall import shingle_postings
from neardup.kernels.join.audit import is_pair, partners, sizes_that_fit
from neardup.text.sketch.documents import ShingleSets
from support import reference_audit
from support.made_sets import THRESHOLDS, collections, criterion, laid_out

EVERYTHING = 1 << 40


def shingle_sets(sets: list[set[int]]) -> ShingleSets:
    hashes, starts, sizes = laid_out(sets)
    return ShingleSets(hashes, np.append(starts, sizes.sum()))


def counted(
    sets: list[set[int]], drawn: list[set[int]], threshold: Fraction, enough: int = EVERYTHING, often: int = 3
) -> set:
    """Return (k, s, shared) as the kernel counts them, stopping and going on as it asks."""
    of_drawn, of_all = shingle_sets(drawn), shingle_sets(sets)
    order = np.argsort(of_drawn.sizes, kind="stable")
    table, asked = shingle_postings(of_drawn, order), criterion(threshold)
    rows, at = [], 0
    while at < len(sets):
        found, at = partners(of_all.hashes, of_all.offsets, at, table, asked, enough, often)
        rows += [(k, int(order[s]), shared) for k, s, shared in found.tolist()]
    assert len(rows) == len(set(rows))
    return set(rows)


@given(collections(), st.data())
def test_every_pair_and_no_other(sets: list[set[int]], data: st.DataObject) -> None:
    sets = [values for values in sets if values] or [{1}]
    drawn = data.draw(st.lists(st.sampled_from(sets), min_size=1, max_size=12))
    threshold = data.draw(st.sampled_from(THRESHOLDS))
    enough = data.draw(st.sampled_from([1, 2, EVERYTHING]))
    often = data.draw(st.sampled_from([0, 1, 4, EVERYTHING]))
    assert counted(sets, drawn, threshold, enough, often) == reference_audit.partners(sets, drawn, threshold)


def test_a_pair_exactly_at_the_threshold_counts() -> None:
    base = set(range(100, 100 + 4 * 60))
    for k in range(1, 60):
        shared = set(sorted(base)[: 4 * k])
        at, below = shared | set(range(10**6, 10**6 + k)), shared | set(range(10**7, 10**7 + k + 1))
        assert counted([at, below], [shared], Fraction(4, 5)) == {(0, 0, 4 * k)}


@pytest.mark.parametrize("often", [0, 3, 38, 39, EVERYTHING])
@pytest.mark.parametrize("page", [5, 20, 50])
def test_boilerplate_in_every_document_leaves_exact_counts(often: int, page: int) -> None:
    """A page is in all documents, and neighbours share more; counts must not leak into the next document."""
    sets = [set(range(1, page)) | set(range(1000 + 7 * k, 1050 + 8 * k)) for k in range(39)]
    sets += [set(range(1, page)) | {10_000 + k} for k in range(9)]
    for threshold in (Fraction(3, 5), Fraction(4, 5)):
        expected = reference_audit.partners(sets, sets, threshold)
        assert len(expected) > len(sets)
        assert counted(sets, sets, threshold, often=often) == expected


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 60), st.sampled_from(THRESHOLDS))
@example([], 5, Fraction(1, 2))
def test_sizes_that_fit(sizes: list[int], size: int, threshold: Fraction) -> None:
    ordered = np.array(sorted(sizes), np.int64)
    low, high = sizes_that_fit(ordered, size, criterion(threshold))
    fit = [k for k, other in enumerate(ordered) if Fraction(min(size, other), max(size, other)) >= threshold]
    assert list(range(low, high)) == fit


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_criterion(threshold: Fraction) -> None:
    for a, b in ((10, 10), (7, 13), (1, 1), (40, 9)):
        for shared in range(min(a, b) + 1):
            expected = Fraction(shared, a + b - shared) >= threshold
            assert is_pair(shared, a, b, criterion(threshold)) == expected
