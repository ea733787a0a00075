"""Joins by the longest common subsequence: the bound, the bands, and what is not counted in full."""

from __future__ import annotations

import random
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison import matching
from neardup.deduplication.join import common_text
from neardup.deduplication.join.common_text import of_multisets
from neardup.deduplication.join.criterion import criterion_of
from neardup.kernels.formulas import DICE
from neardup.kernels.match.lcs import banded_length, common_in_order
from neardup.kernels.match.tiling import LCS_CAP
from neardup.kernels.sets import Criterion, largest_partner, least_shared, smallest_partner
from neardup.settings import SearchSettings, ratio
from support import reference_matching
from support.full_run import FULL
from support.messages import has_parts
from support.reference_order import lcs_in_band, lcs_of_long, value

THRESHOLDS = st.sampled_from([0.05, 0.3, 0.5, 0.55, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0]).map(
    lambda threshold: round(threshold, 6)
)


@st.composite
def alike(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return two sequences, the longer one first, often over few tokens: one is an edited form of the other."""
    token = st.integers(0, draw(st.sampled_from([0, 1, 2, 5, 40])))
    a = draw(st.lists(token, max_size=40))
    b = list(a)
    for _ in range(draw(st.integers(0, 8))):
        at, gone = draw(st.integers(0, len(b))), draw(st.integers(0, 4))
        b[at : at + gone] = draw(st.lists(token, max_size=4))
    return (a, b) if len(a) >= len(b) else (b, a)


# --- the bound


@given(st.integers(1, 300), st.integers(1, 300), THRESHOLDS)
def test_sizes_and_least_common_are_those_of_the_definition(size: int, other: int, threshold: float) -> None:
    asked, least = criterion_of(SearchSettings(measure="lcs", threshold=threshold)), Fraction(repr(threshold))
    needed = least_shared(size, other, asked)
    assert Fraction(2 * needed, size + other) >= least > Fraction(2 * (needed - 1), size + other)
    possible = Fraction(2 * min(size, other), size + other) >= least
    assert possible == (max(size, other) >= other >= smallest_partner(size, asked) and needed <= min(size, other))
    common = min(size, other)
    if other >= size:  # asked for partners of its size or above
        assert (other <= largest_partner(size, common, asked)) == possible


@given(alike(), THRESHOLDS)
@example(([1] * 40, [1] * 30), 0.8)
@example(([1, 2] * 20, [2, 1] * 20), 0.9)
def test_a_pair_has_enough_equal_tokens_in_any_order(pair: tuple[list[int], list[int]], threshold: float) -> None:
    """The threshold of the multisets is the exact one: t / (2 − t)."""
    a, b = pair
    wanted = Criterion(*ratio(threshold), DICE)
    asked, least = of_multisets(wanted), Fraction(repr(threshold))
    assert Fraction(asked.numerator, asked.denominator) == least / (2 - least)
    if b and value(reference_matching.lcs(a, b), a, b) >= least:
        shared = (Counter(a) & Counter(b)).total()
        assert shared >= least_shared(len(a), len(b), asked)


# --- the subsequence


@given(alike(), st.integers(0, 45), st.integers(0, 45))
def test_a_band_has_what_is_in_it_and_no_more_than_there_is(
    pair: tuple[list[int], list[int]], before: int, after: int
) -> None:
    a, b = (np.array(tokens, np.int32) for tokens in pair)
    found = banded_length(a, b, before, after, 0)
    assert lcs_in_band(*pair, before, after) <= found <= reference_matching.lcs(*pair)
    if before >= len(a) and after >= len(b):
        assert found == reference_matching.lcs(*pair)


def edited(size: int, edits: int, kinds: int, seed: int) -> tuple[list[int], list[int]]:
    """Return two long sequences that differ in this number of places."""
    chosen = random.Random(seed)
    a = [chosen.randrange(kinds) for _ in range(size)]
    b = list(a)
    for _ in range(edits):
        at = chosen.randrange(len(b))
        b[at : at + chosen.randrange(3)] = [chosen.randrange(kinds) for _ in range(chosen.randrange(3))]
    return a, b


LONG = [(700, 5, 9), (900, 60, 3), (1300, 40, 400), (1500, 700, 50), (2600, 300, 4), (2500, 4000, 6)]


@pytest.mark.parametrize(("size", "edits", "kinds"), LONG)
@pytest.mark.parametrize("shift", [0, 300, 900])
def test_long_sequences_have_the_length_of_the_twin(size: int, edits: int, kinds: int, shift: int) -> None:
    a, b = edited(size, edits, kinds, seed=size + shift)
    b = [kinds + 1] * (shift // 2) + [k % kinds for k in range(shift - shift // 2)] + b
    true = lcs_of_long(a, b)
    tokens = np.array([*a, *b], np.int32)
    assert common_in_order(tokens, len(a), 0, 10**9) == (true, False)
    for least in (1, true // 2, true - 1, true):
        assert common_in_order(tokens, len(a), least, 10**9) == (true, False)
    for least in (true + 1, true + 40, min(len(a), len(b))):
        length, capped = common_in_order(tokens, len(a), max(least, true + 1), 10**9)
        assert length <= true
        assert not capped
    bounded, capped = common_in_order(tokens, len(a), 0, 4 * 3 * 900)
    assert bounded <= true
    assert capped or bounded == true


@pytest.mark.parametrize(("kinds", "size", "noise"), [(2, 3000, 700), (3, 1500, 600), (4, 1200, 500)])
def test_a_narrow_band_is_not_taken_for_the_whole(kinds: int, size: int, noise: int) -> None:
    """The longest is far from the diagonal, and beside it there is nearly as much by chance."""
    chosen = random.Random(1)
    moved, first, last = (chosen.choices(range(kinds), k=length) for length in (size, noise, noise))
    a, b = [*moved, *last], [*first, *moved]
    true = lcs_of_long(a, b)
    names = np.array(a, np.int32), np.array(b, np.int32)
    assert banded_length(*names, 256, 256, 0) < true
    assert common_in_order(np.concatenate(names), len(a), 0, 10**9) == (true, False)
    assert common_in_order(np.concatenate(names), len(a), true, 10**9) == (true, False)


@given(alike())
def test_the_twin_of_long_sequences_is_the_table(pair: tuple[list[int], list[int]]) -> None:
    assert lcs_of_long(*pair) == reference_matching.lcs(*pair)


def test_rows_below_the_band_end_the_search() -> None:
    """A strip or two suffices for two megabytes that differ; a narrow band for nearly equal ones."""
    chosen = random.Random(4)
    a = [chosen.randrange(3000) for _ in range(150_000)]
    near = list(a)
    for _ in range(300):
        near[chosen.randrange(len(near))] = 3000
    unlike = [chosen.randrange(3000) for _ in range(150_000)]
    common_in_order(np.array([1, 2, 1, 2], np.int32), 2, 0, 10**9)
    begin = time.process_time()
    tokens = np.array([*a, *unlike], np.int32)
    assert common_in_order(tokens, len(a), 140_000, 10**9)[0] < 140_000
    length, capped = common_in_order(np.array([*a, *near], np.int32), len(a), 0, 10**9)
    assert 149_700 <= length < 150_000
    assert not capped
    assert time.process_time() - begin < 2  # hundredths; in full it takes a second for each


# --- in a run


def texts_of(*sequences: list[int]) -> list[str]:
    return [" ".join(f"w{token}" for token in tokens) for tokens in sequences]


@st.composite
def families(draw: st.DrawFn) -> list[list[int]]:
    """Return different sequences over few or many tokens that are edited forms of one another."""
    token = st.integers(0, draw(st.sampled_from([0, 1, 2, 4, 30])))
    found = [draw(st.lists(token, min_size=1, max_size=60))]
    for _ in range(draw(st.integers(1, 7))):
        tokens = list(draw(st.sampled_from(found)))
        for _ in range(draw(st.integers(0, 9))):
            at = draw(st.integers(0, len(tokens)))
            tokens[at : at + draw(st.integers(0, 3))] = draw(st.lists(token, max_size=3))
        found.append(tokens or [0])
    return [list(tokens) for tokens in dict.fromkeys(map(tuple, found))]


def expected_pairs(sequences: list[list[int]], least: Fraction) -> dict[tuple[int, int], Fraction]:
    values = {
        (i, j): value(reference_matching.lcs(a, b), a, b)
        for j, b in enumerate(sequences)
        for i, a in enumerate(sequences[:j])
    }
    return {pair: of for pair, of in values.items() if of >= least}


def found_pairs(sequences: list[list[int]], threshold: float) -> dict[tuple[int, int], Fraction]:
    rows = nd.find(texts_of(*sequences), measure="lcs", threshold=threshold, threads=1).pairs.to_pylist()
    return {
        (row["id_a"], row["id_b"]): Fraction(2 * row["common"], row["total_a"] + row["total_b"]) for row in rows
    }


@given(families(), THRESHOLDS, st.randoms(use_true_random=False))
def test_pairs_of_repetitive_texts_in_any_order(
    sequences: list[list[int]], threshold: float, chosen: random.Random
) -> None:
    expected = expected_pairs(sequences, Fraction(repr(threshold)))
    assert found_pairs(sequences, threshold) == expected
    order = list(range(len(sequences)))
    chosen.shuffle(order)
    again = found_pairs([sequences[k] for k in order], threshold)
    assert {tuple(sorted((order[a], order[b]))): of for (a, b), of in again.items()} == expected


@given(families())
def test_a_pair_exactly_at_the_threshold_counts(sequences: list[list[int]]) -> None:
    """Every value that has six decimals, as the threshold: the pair is in, and out a millionth above."""
    for pair, of in expected_pairs(sequences, Fraction(1, 10**6)).items():
        if 10**6 % of.denominator == 0 and of < 1:
            assert found_pairs(sequences, float(of))[pair] == of
            assert pair not in found_pairs(sequences, round(float(of) + 1e-6, 6))


def test_eight_of_ten_words() -> None:
    a, b = list(range(10)), [0, 1, 20, 2, 3, 4, 21, 5, 6, 7]
    assert found_pairs([a, b], 0.8) == {(0, 1): Fraction(4, 5)}
    assert found_pairs([a, b], 0.800001) == {}


def test_characters_are_counted_as_compare_does() -> None:
    texts = ["Report on the state of the roads", "Rep0rt 0n the state of teh roads", "Nothing alike here at all"]
    (row,) = nd.find(texts, unit="char", measure="lcs", threshold=0.8).pairs.to_pylist()
    compared = nd.compare(*texts[:2], unit="char").measures
    assert row["lcs"] == compared["lcs"] < 1
    assert (row["total_a"], row["total_b"]) == (compared["tokens_a"], compared["tokens_b"])


def test_neither_shingles_nor_matching_matter() -> None:
    sequences = [list(range(40)), [k for k in range(40) if k % 4], list(range(3, 44))]
    plain = nd.find(texts_of(*sequences), measure="lcs", threshold=0.7).pairs
    assert plain.num_rows == 3
    other = nd.find(texts_of(*sequences), measure="lcs", threshold=0.7, matching="information", length=2).pairs
    for name in ("id_a", "id_b", "common", "total_a", "total_b", "lcs"):
        assert plain[name].equals(other[name])


def test_what_is_not_counted_in_full_is_counted_along_chunks_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{k}" for k in range(60)]
    texts = [" ".join(words), " ".join([*words[:20], "x", *words[21:40], "y", *words[41:]])]
    plain = nd.find(texts, measure="lcs", threshold=0.5)
    assert plain.run.counts.capped == 0
    assert plain.run.warnings == []
    moved = " ".join([*words[40:], *words[20:40], *words[:20]])
    monkeypatch.setattr(common_text, "MOST_STEPS", 0)
    found = nd.find([texts[1], moved], measure="lcs", threshold=0.3)
    assert found.run.counts.capped == 1
    (warning,) = found.run.warnings
    assert has_parts(warning, "undercounted", f"1 pair: {LCS_CAP}")
    monkeypatch.setattr(matching.lcs, "__defaults__", (0,))
    compared = nd.compare(texts[1], moved)
    assert LCS_CAP in compared.caps
    assert found.pairs["lcs"].to_pylist() == [compared.measures["lcs"]]
    assert found.at(0.31).run.warnings == [warning]


@pytest.mark.parametrize(
    "name", ["one word", "two words", "a crowd", "two megabytes", "the same words in any order"]
)
def test_no_repetition_blows_up(name: str) -> None:
    chosen = random.Random(7)
    words, many = list(range(400)), 300 if FULL else 150
    texts = {
        "one word": lambda: [[1] * (20_000 - 7 * k) for k in range(30)],
        "two words": lambda: [chosen.choices((0, 1), k=20_000) for _ in range(6)],
        "a crowd": lambda: [[*words[:k], -k, *words[k:]] for k in range(many)],
        "two megabytes": lambda: [chosen.choices(words, k=170_000) for _ in range(2)],
        "the same words in any order": lambda: [chosen.sample(words, 400) for _ in range(many)],
    }[name]()
    nd.find(["a b c d", "a b c e"], measure="lcs", threshold=0.6)
    begin = time.process_time()
    found = nd.find(texts_of(*texts), measure="lcs", threshold=0.8)
    # one or two by itself; careless work takes minutes, and of half as many documents a quarter of them
    assert time.process_time() - begin < 8
    # two words by chance have .81 of their text in common (Chvátal and Sankoff 1975)
    expected = {"one word": 30 * 29 // 2, "two words": 15, "a crowd": many * (many - 1) // 2}
    assert found.pairs.num_rows == expected.get(name, 0)
    assert found.run.counts.capped == 0
