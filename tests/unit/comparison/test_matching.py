"""Matching kernels against their twins, on random sequences over few tokens, and what bounds the work."""

import random
import time
from functools import cache
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.comparison import matching
from neardup.errors import InputError, SettingError
from neardup.kernels import names as window_kernels
from support.chunk_counts import chunk_measures, least_shared_shingles
from support.compared_texts import ids
from support.full_run import FULL
from support.messages import assert_refused
from support.reference_matching import (
    best_literal,
    covered,
    information,
    lcs,
    literal,
    redundant,
    shingles,
    upper_bound,
    windows,
)

Sequences = tuple[list[int], list[int], int]
SALT = np.uint64(0x5EED_5EED)
FEW_RUNS = (1 << 19, 60, 8, 1)


@st.composite
def sequences(draw: st.DrawFn, most: int = 30) -> Sequences:
    """Return two sequences over few tokens, often sharing a piece, and a length of chunks."""
    token = st.integers(0, draw(st.integers(0, 4)))
    a, b = draw(st.lists(token, max_size=most)), draw(st.lists(token, max_size=most))
    start = draw(st.integers(0, len(a)))
    at = draw(st.integers(0, len(b)))
    return a, (b[:at] + a[start : start + 9] + b[at:])[:most], draw(st.integers(1, 6))


@given(sequences(), st.integers(1, 7))
def test_names_are_equal_exactly_for_equal_windows(drawn: Sequences, length: int) -> None:
    tokens = drawn[0] + drawn[1]
    if len(tokens) < length:
        return
    names = np.empty(len(tokens), np.int32)
    plain = np.empty(len(tokens), np.int32)
    window_kernels.name_keys(ids(tokens), len(tokens), plain)
    expected = windows(tokens, length)
    window_kernels.name_windows(plain, length, SALT ^ np.uint64(99), np.empty(len(tokens), np.uint64), names)
    salted = names.tolist()
    n_names = window_kernels.name_windows(plain, length, SALT, np.empty(len(tokens), np.uint64), names)
    assert names[: len(expected)].tolist() == salted[: len(expected)]
    assert n_names == len(set(expected))
    assert list(names[: len(expected)]) == [list(dict.fromkeys(expected)).index(window) for window in expected]


@given(sequences())
def test_literal_is_the_greedy_tiling(drawn: Sequences) -> None:
    a, b, w = drawn
    expected = literal(a, b, w)
    pair = matching.pair_of(ids(a), ids(b))
    for most_runs in FEW_RUNS:
        found = matching.literal(pair, w, most_runs)
        assert found.upper_bound == upper_bound(a, b, w)
        assert found.common == found.tiles[:, 2].sum() <= found.upper_bound
        if most_runs < FEW_RUNS[0] and list(map(tuple, found.tiles.tolist())) != expected:
            assert found.capped or found.proven
            check_tiles(a, b, w, found.tiles.tolist())
        else:
            assert list(map(tuple, found.tiles.tolist())) == expected


def check_tiles(a: list[int], b: list[int], w: int, tiles: list[list[int]]) -> None:
    """Check that tiles are equal runs of at least w tokens, disjoint in both."""
    for i, j, length in tiles:
        assert length >= w
        assert a[i : i + length] == b[j : j + length]
    for side in (0, 1):
        places = [tile[side] + k for tile in tiles for k in range(tile[2])]
        assert len(set(places)) == len(places)


@given(sequences(most=12))
def test_tiling_lies_between_nothing_and_the_optimum_and_that_below_the_bound(drawn: Sequences) -> None:
    a, b, w = drawn
    found = matching.literal(matching.pair_of(ids(a), ids(b)), w)
    best = best_literal(a, b, w)
    assert found.common <= best <= found.upper_bound
    assert (found.common > 0) == (best > 0)
    assert not found.proven or found.common == best


def test_greedy_is_not_always_the_best_and_then_not_said_to_be() -> None:
    a, b = [1, 2, 3, 4, 5, 6], [3, 4, 5, 9, 1, 2, 3, 8, 4, 5, 6]
    found = matching.literal(matching.pair_of(ids(a), ids(b)), 2)
    assert found.tiles.tolist() == [[0, 4, 2], [2, 0, 3]]  # 3 4 5 are nearest; 1 2 3 and 4 5 6 would be more
    assert (found.common, best_literal(a, b, 2), found.upper_bound) == (5, 6, 6)
    assert not found.proven


@given(sequences())
def test_information_is_that_of_the_definition(drawn: Sequences) -> None:
    a, b, w = drawn
    found = matching.information(matching.pair_of(ids(a), ids(b)), w)
    assert found.redundant_a.tolist() == redundant(a, w)
    assert found.redundant_b.tolist() == redundant(b, w)
    assert found.covered_a.tolist() == covered(a, b, w)
    assert found.covered_b.tolist() == covered(b, a, w)
    assert (found.new_a, found.new_b, found.common) == information(a, b, w)


@given(sequences(), st.integers(1, 6))
def test_shingles_are_counted_as_sets_and_multisets(drawn: Sequences, length: int) -> None:
    a, b, _ = drawn
    found = matching.shingle_counts(matching.pair_of(ids(a), ids(b)), length)
    all_a, all_b = shingles(a, length), shingles(b, length)
    kinds = set(all_a) | set(all_b)
    assert (found.size_a, found.size_b) == (len(set(all_a)), len(set(all_b)))
    assert found.shared == len(set(all_a) & set(all_b))
    assert found.least == sum(min(all_a.count(kind), all_b.count(kind)) for kind in kinds)
    assert found.most == sum(max(all_a.count(kind), all_b.count(kind)) for kind in kinds)


@given(sequences())
def test_lcs_is_that_of_the_table(drawn: Sequences) -> None:
    a, b, w = drawn
    pair = matching.pair_of(ids(a), ids(b))
    tiles = matching.literal(pair, w).tiles
    assert matching.lcs(pair, tiles) == (lcs(a, b), False)
    bounded, capped = matching.lcs(pair, tiles, steps=0)
    assert bounded <= lcs(a, b)
    assert capped or bounded == lcs(a, b)


@pytest.mark.parametrize("size", [63, 64, 65, 255, 256, 257, 300, 700])
def test_lcs_over_the_edges_of_words_and_strips(size: int) -> None:
    chosen = random.Random(size)
    a = [chosen.randrange(6) for _ in range(size)]
    b = [chosen.randrange(6) for _ in range(size + 40)]
    pair = matching.pair_of(ids(a), ids(b))
    assert matching.lcs(pair, np.empty((0, 3), np.int64)) == (lcs(a, b), False)


def test_a_chain_of_tiles_bounds_the_lcs_and_takes_the_heavier_order() -> None:
    first, second, third = (list(range(k, k + size)) for k, size in ((0, 6), (100, 9), (200, 7)))
    pair = matching.pair_of(ids([*first, *second, *third]), ids([*second, 77, *first, 78, *third]))
    assert matching.lcs(pair, matching.literal(pair).tiles, steps=0) == (9 + 7, True)


@given(st.lists(sequences(), min_size=1, max_size=4), st.integers(1, 6))
def test_many_pairs_at_once_are_as_one_by_one(drawn: list[Sequences], w: int) -> None:
    documents = [tokens for a, b, _ in drawn for tokens in (a, b)]
    offsets = np.cumsum([0, *map(len, documents)])
    a, b = np.divmod(np.arange(len(documents) ** 2), len(documents))
    counts = chunk_measures(ids([t for tokens in documents for t in tokens]), offsets, a, b, min_chunk=w)
    for k in range(len(a)):
        pair = matching.pair_of(ids(documents[a[k]]), ids(documents[b[k]]))
        one, info = matching.literal(pair, w), matching.information(pair, w)
        assert counts.common_literal[k] == one.common
        assert counts.common_literal_upper_bound[k] == one.upper_bound
        assert (counts.new_a[k], counts.new_b[k]) == (info.new_a, info.new_b)
        assert counts.common_information[k] == info.common
        assert (counts.tokens_a[k], counts.tokens_b[k]) == (len(documents[a[k]]), len(documents[b[k]]))
        assert not counts.capped[k]


def test_many_pairs_have_the_two_measures() -> None:
    tokens, offsets = ids([*range(9), *range(4), *range(100, 106), *range(9)]), np.array([0, 9, 19, 19, 19, 28])
    counts = chunk_measures(tokens, offsets, np.array([0, 2, 0, 0]), np.array([4, 3, 2, 1]))
    assert counts.longest().tolist() == [1, 1, 0, 0]
    assert counts.union("information").tolist() == [1, 1, 0, 0]
    with pytest.raises(SettingError, match=r"'both' .*Allowed: One of literal, information"):
        counts.union("both")


def test_mistakes_are_told() -> None:
    none, one, ends = np.empty(0, np.int64), np.array([1]), np.array([0, 1, 1])
    assert_refused(
        (
            InputError,
            r"not there\. Allowed.*numbered 0 to 1",
            lambda: chunk_measures(ids([1]), ends, one, one + 1),
        ),
        (SettingError, "", lambda: chunk_measures(ids([]), np.array([0]), none, none, min_chunk=0)),
        (SettingError, r"'both' is not known", lambda: least_shared_shingles(3, 5, matching="both")),
    )


def flat(lists: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(lists))


THOUSAND = 1000 if FULL else 400  # quadratic work takes minutes, and without --full a sixth of them


@cache
def hostile() -> dict[str, tuple[list[int], list[int]]]:
    """Return pairs on which careless matching takes quadratic time or memory."""
    chosen = random.Random(5)
    k, words = THOUSAND, 120 * THOUSAND
    sentence = [[1, 2, 3, 4, 5, 100 + n] for n in range(20 * k)]
    other = [[1, 2, 3, 4, 5, 50_000 + n] for n in range(20 * k)]
    cells = [[1, 2, 3, chosen.randint(10, 30), 4, 5, 6] for _ in range(17 * k)]
    cells_too = [[1, 2, 3, chosen.randint(10, 30), 4, 5, 6] for _ in range(17 * k)]
    return {
        "one word": ([1] * 150 * k, [1] * 140 * k),
        "two words by turns": ([1, 2] * 70 * k, [2, 1] * 70 * k),
        "one sentence over and over": (flat(sentence), flat(other)),
        "a table": (flat(cells), flat(cells_too)),
        "two words by chance": (chosen.choices((0, 1), k=words), chosen.choices((0, 1), k=words)),
        "periods of 7 and 6": ([*range(7)] * 20 * k, [*range(6)] * 20 * k),
    }


@pytest.mark.parametrize("name", hostile())
def test_no_repetition_blows_up(name: str) -> None:
    a, b = hostile()[name]
    for part in (50, None):  # the first loads, or compiles
        begin = time.process_time()
        pair = matching.pair_of(ids(a[:part]), ids(b[:part]))
        found = matching.literal(pair)
        matching.information(pair)
        matching.lcs(pair, found.tiles)
    assert time.process_time() - begin < 5  # well below 1 s by itself
    check_tiles(a, b, 5, found.tiles.tolist())
    assert found.common <= found.upper_bound
    # repetition is no excuse: nearly all that can match does
    assert found.common >= 0.83 * found.upper_bound


def test_one_word_repeated_is_matched_in_full_and_not_capped() -> None:
    found = matching.literal(matching.pair_of(ids([1] * 20_000), ids([1] * 30_000)))
    assert found.tiles.tolist() == [[0, 0, 20_000]]
    assert found.proven
    assert not found.capped
