"""The figures of benchmarks/quality.py against other computations of them, on small sets."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import reference, shared_data
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import quality
import quality_tools

COUNT = 8
LABELS = st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT)
PAIRS = st.sets(st.sampled_from(list(combinations(range(COUNT), 2))), max_size=12)
KEPT = st.sets(st.integers(0, COUNT - 1))


def together(labels: list[int]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in combinations(range(len(labels)), 2) if labels[a] == labels[b]}


@given(LABELS, LABELS)
def test_the_adjusted_rand_index_counts_pairs(a: list[int], b: list[int]) -> None:
    """The form of Hubert and Arabie over the four counts of pairs, with a loop over all pairs."""
    of_a, of_b = together(a), together(b)
    both, only_a, only_b = len(of_a & of_b), len(of_a - of_b), len(of_b - of_a)
    neither = COUNT * (COUNT - 1) // 2 - both - only_a - only_b
    under = (both + only_a) * (only_a + neither) + (both + only_b) * (only_b + neither)
    expected = Fraction(2 * (both * neither - only_a * only_b), under) if under else 1
    assert quality.adjusted_rand(a, b) == pytest.approx(float(expected))


@given(PAIRS)
def test_components_are_closures(pairs: set[tuple[int, int]]) -> None:
    closed = {(k, k) for k in range(COUNT)} | pairs | {(b, a) for a, b in pairs}
    for k, a, b in ((k, a, b) for k in range(COUNT) for a in range(COUNT) for b in range(COUNT)):
        if (a, k) in closed and (k, b) in closed:
            closed.add((a, b))
    labels = quality_tools.components(COUNT, pairs)
    assert labels == [min(a for a in range(COUNT) if (a, b) in closed) for b in range(COUNT)]


@given(PAIRS, LABELS, KEPT)
def test_groups_score_as_all_their_pairs(truth: set[tuple[int, int]], labels: list[int], kept: set[int]) -> None:
    of_groups = quality.score(COUNT, truth, {"labels": labels, "kept": kept})
    assert of_groups == quality.score(COUNT, truth, {"pairs": together(labels), "kept": kept})


@given(PAIRS, PAIRS, KEPT)
def test_each_document_counts_by_its_copies(
    truth: set[tuple[int, int]], reported: set[tuple[int, int]], kept: set[int]
) -> None:
    found = quality.score(COUNT, truth, {"pairs": reported, "kept": kept})
    assert found["found"] + found["missed"] == len(truth)
    assert found["found"] + found["below"] == len(reported)
    harm = orphans = left = 0
    for one in range(COUNT):
        copies = [a + b - one for a, b in truth if one in (a, b)]
        stays = [copy in kept for copy in copies]
        harm += one not in kept and not copies
        orphans += one not in kept and bool(copies) and not any(stays)
        left += one in kept and any(stays)
    assert (found["harm"], found["orphans"], found["left"]) == (harm, orphans, left)


@given(PAIRS)
def test_the_usual_loop_leaves_no_pair_and_no_orphan(pairs: set[tuple[int, int]]) -> None:
    kept = quality_tools.first_kept(COUNT, pairs)
    found = quality.score(COUNT, pairs, {"pairs": pairs, "kept": kept})
    assert (found["missed"], found["below"], found["harm"], found["orphans"], found["left"]) == (0, 0, 0, 0, 0)


def test_the_truth_is_every_pair_of_sets() -> None:
    texts = list(shared_data.documents("own").values())
    sets = [reference.shingle_set(text, 5, "word") for text in texts]
    expected = {
        (a, b)
        for a, b in combinations(range(len(texts)), 2)
        if sets[a] | sets[b] and Fraction(len(sets[a] & sets[b]), len(sets[a] | sets[b])) >= Fraction(4, 5)
    }
    assert expected
    assert quality.pairs_at(texts) == expected


@given(st.text("ab\n", max_size=3000))
def test_pieces_lose_nothing(text: str) -> None:
    found = list(quality.pieces(text))
    assert "".join(found) == text
    assert all(len(one) > quality.PIECE and one.endswith("\n\n") for one in found[:-1])
