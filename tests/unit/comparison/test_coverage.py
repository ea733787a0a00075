"""What shared shingles cover: the bounds of the joins by common text, and the kernels against naive twins."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import ceil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.comparison import matching as found
from neardup.kernels.formulas import LARGER, RESEMBLANCE
from neardup.kernels.join.cover_prefixes import cover_prefixes
from neardup.kernels.match.chunks import INFORMATION, LITERAL, Counting
from neardup.kernels.sets import largest_partner, least_shared
from neardup.kernels.sketch.documents import number_occurrences
from neardup.text.keys import PUBLIC, key_of
from support import reference, reference_coverage, reference_matching
from support.chunk_counts import least_shared_shingles
from support.made_sets import THRESHOLDS, criterion
from support.reference_matching import windows
from support.strategies import mixed_hash

MATCHINGS = {"literal": LITERAL, "information": INFORMATION}
EITHER = pytest.mark.parametrize("matching", MATCHINGS)


@st.composite
def repetitive_pair(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Return two sequences over few tokens that share pieces and repeat them, and w."""
    token = st.integers(0, draw(st.sampled_from([0, 1, 2, 5, 40])))
    a, b = (draw(st.lists(token, max_size=30)) for _ in range(2))
    for _ in range(draw(st.integers(0, 4))):
        into, other = draw(st.sampled_from([(a, b), (b, a), (a, a), (b, b)]))
        start, at = draw(st.integers(0, len(other))), draw(st.integers(0, len(into)))
        into[at:at] = other[start : start + draw(st.integers(1, 12))]
    return a, b, draw(st.integers(1, 5))


def common_text(a: list[int], b: list[int], w: int, matching: str) -> int:
    pair = found.pair_of(np.array(a, np.uint64), np.array(b, np.uint64))
    return getattr(found, matching)(pair, w).common  # type: ignore[no-any-return]


@EITHER
@given(drawn=repetitive_pair())
@example(drawn=([1] * 20, [1] * 20, 5))
@example(drawn=([1] * 9, [1] * 30, 5))
def test_shared_shingles_cover_the_common_text_in_both(
    matching: str, drawn: tuple[list[int], list[int], int]
) -> None:
    a, b, w = drawn
    common = common_text(a, b, w, matching)
    if min(len(a), len(b)) < w:
        assert common in (0, len(a) if a == b else 0, reference_matching.information(a, b, w)[2])
        return
    shared = set(windows(a, w)) & set(windows(b, w))
    for tokens in (a, b):
        assert reference_coverage.covered(tokens, shared, w, matching) >= common


@EITHER
@given(drawn=repetitive_pair(), threshold=st.sampled_from(THRESHOLDS), seed=st.integers(0, 5))
@example(drawn=([1] * 20, [1] * 21, 5), threshold=Fraction(1, 2), seed=0)
def test_a_pair_meets_in_both_prefixes_and_shares_as_many_as_both_ask(
    matching: str, drawn: tuple[list[int], list[int], int], threshold: Fraction, seed: int
) -> None:
    """By either formula, whatever the frequencies are said to be."""
    a, b, w = drawn
    if min(len(a), len(b)) < w or a == b:
        return
    common = common_text(a, b, w, matching)
    sizes = [len(reference_coverage.counting_tokens(tokens, w, matching)) for tokens in (a, b)]
    repeats = np.random.default_rng(seed).integers(1, 4, 16).astype(np.uint8)
    for formula in (LARGER, RESEMBLANCE):
        asked = criterion(threshold, formula)
        if common < least_shared(*sizes, asked):
            continue
        prefixes, bounds = zip(*(prefix_of(tokens, w, matching, asked, repeats) for tokens in (a, b)), strict=True)
        assert prefixes[0] & prefixes[1]
        shared = set(windows(a, w)) & set(windows(b, w))
        assert len(shared) >= max(least for _, _, least in bounds)
        assert [size for size, _, _ in bounds] == sizes
        assert sizes[1] <= bounds[0][1] or sizes[1] < sizes[0]
        assert sizes[0] <= bounds[1][1] or sizes[0] < sizes[1]


def prefix_of(
    tokens: list[int], w: int, matching: str, asked: object, repeats: np.ndarray
) -> tuple[set[int], tuple[int, int, int]]:
    """Return the prefix of one document, and its (size, largest partner, least)."""
    hashes = np.array(list(map(mixed_hash, tokens)), np.uint64)
    ends = np.array([0, len(tokens)], np.int64)
    entries, owner, of = cover_prefixes(
        hashes, ends, repeats, Counting(w, MATCHINGS[matching]), asked, PUBLIC.shingles
    )
    assert not owner.any()
    assert len(set(entries.tolist())) == len(entries)
    return set(entries.tolist()), (int(of.sizes[0]), int(of.largest[0]), int(of.least[0]))


@EITHER
@given(
    tokens=repetitive_pair().map(lambda drawn: drawn[0] + drawn[1]),
    w=st.integers(1, 5),
    threshold=st.sampled_from(THRESHOLDS),
    classes=st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
def test_prefix_size_and_bounds_are_those_of_the_definition(
    matching: str, tokens: list[int], w: int, threshold: Fraction, classes: list[int]
) -> None:
    """The order is (class, hash); shingles of class 0 are in no other document and do not count."""
    if not tokens:
        return
    asked, repeats = criterion(threshold, LARGER), np.array(classes, np.uint8)
    prefix, (size, largest, least) = prefix_of(tokens, w, matching, asked, repeats)
    assert size == len(reference_coverage.counting_tokens(tokens, w, matching))
    hash_of = {
        window: reference.shingle_hashes(list(map(mixed_hash, window)), w)[0] for window in windows(tokens, w)
    }
    order = sorted(
        (window for window, value in hash_of.items() if classes[value % 8]),
        key=lambda window: (classes[hash_of[window] % 8], hash_of[window]),
    )
    possible = reference_coverage.covered(tokens, order, w, matching)
    assert largest == largest_partner(size, possible, asked)
    if possible < reference_coverage.need(tokens, w, matching, threshold):
        assert not prefix
        assert largest == 0
        return
    expected = reference_coverage.prefix(tokens, order, w, matching, threshold)
    assert prefix == {hash_of[window] for window in expected}
    assert least == reference_coverage.least(tokens, order, w, matching, threshold)


def test_the_number_of_shingles_is_no_bound_by_information() -> None:
    """Few tokens can be new where most shingles are different: in the joints of known pieces in new orders."""
    pieces = [[10 * k + i for i in range(5)] for k in range(14)]
    once = [token for piece in pieces for token in piece]
    tokens = [*once, *(token for pair in permutations(pieces, 2) for piece in pair for token in piece)]
    assert reference_matching.information(once, tokens, 5) == (70, 70, 70)  # equal by information
    shingles, shared = set(windows(tokens, 5)), set(windows(once, 5))
    # a join by ⌈C / (2w − 1)⌉ ≥ ⌈|A| / (2w − 1)⌉ shingles of the larger set would lose the pair
    assert len(shared) < len(shingles) / 9
    assert least_shared_shingles(70, 5, matching="information") <= len(shared)
    _, (size, _, least) = prefix_of(tokens, 5, "information", criterion(Fraction(1), LARGER), np.ones(4, np.uint8))
    assert size == 70
    assert least <= len(shared)


def test_least_is_the_tokens_over_w_where_nothing_repeats() -> None:
    repeats = np.ones(4, np.uint8)
    for n, threshold in ((5, Fraction(1)), (97, Fraction(4, 5)), (100, Fraction(3, 10))):
        for matching in MATCHINGS:
            _, (_, _, least) = prefix_of(list(range(n)), 5, matching, criterion(threshold, LARGER), repeats)
            assert least == ceil(Fraction(ceil(threshold * n), 5))


@given(st.lists(st.lists(st.integers(0, 4), max_size=12), min_size=2, max_size=2))
def test_numbered_occurrences_are_a_multiset(drawn: list[list[int]]) -> None:
    numbered = []
    for values in drawn:
        hashes = np.array(list(map(mixed_hash, values)), np.uint64)
        number_occurrences(hashes, len(hashes), key_of(bytes(32)))
        numbered.append(set(hashes.tolist()))
        assert len(numbered[-1]) == len(values)
    a, b = map(Counter, drawn)
    assert len(numbered[0] & numbered[1]) == (a & b).total()
    assert len(numbered[0] | numbered[1]) == (a | b).total()
