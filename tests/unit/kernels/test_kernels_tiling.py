"""What greedy tiling is made of, each part against its twin; and one way to find the tiles against the other."""

import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neardup.comparison import matching
from neardup.kernels.match import free_places as places
from neardup.kernels.match import long_runs, nearest, runs
from neardup.kernels.match import window_hashes as extents
from support.compared_texts import ids
from support.reference_matching import maximal_runs, windows

Marks = list[tuple[int, int]]
BASE = np.uint64(0x1A2B_9E37_79B9_7F4B)


@st.composite
def marked_texts(draw: st.DrawFn) -> tuple[list[int], list[int], list[bool], list[bool]]:
    """Return two texts over few tokens that share pieces, and for each token whether it is free."""
    token = st.integers(0, draw(st.integers(0, 4)))
    a, b = draw(st.lists(token, min_size=1, max_size=90)), draw(st.lists(token, min_size=1, max_size=90))
    for _ in range(draw(st.integers(0, 3))):
        start, at = draw(st.integers(0, len(a))), draw(st.integers(0, len(b)))
        b = b[:at] + a[start : start + draw(st.integers(1, 60))] + b[at:]
    free = []
    for tokens in (a, b):
        flags = [True] * len(tokens)
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(tokens)))
            flags[start : start + draw(st.integers(0, 6))] = [False] * len(flags[start : start + 6])
        free.append(flags[: len(tokens)] + [True] * (len(tokens) - len(flags)))
    return a, b, free[0], free[1]


def state_of(free_a: list[bool], free_b: list[bool]) -> places.FreePlaces:
    return places.free_where(np.array(free_a, np.bool_), np.array(free_b, np.bool_))


def text_of(a: list[int], b: list[int]) -> long_runs.Text:
    return long_runs.text_of(np.array(a + b, np.int32), len(a), BASE)


@given(marked_texts(), st.integers(1, 9), st.integers(1, 255))
@settings(deadline=None)
def test_what_is_free(drawn: tuple[list[int], list[int], list[bool], list[bool]], least: int, most: int) -> None:
    _, _, free_a, free_b = drawn
    state, m, total = state_of(free_a, free_b), len(free_a), len(free_a) + len(free_b)
    lengths = []
    for flags in (free_a, free_b):
        lengths += [
            next((k for k, flag in enumerate(flags[at:]) if not flag), len(flags) - at) for at in range(len(flags))
        ]
    assert places.free_lengths(state, m, total, most).tolist() == [min(length, most) for length in lengths]
    begins = [at for at in range(m) if lengths[at] >= least and (at == 0 or lengths[at - 1] == 0)]
    assert places.stretches(state, 0, m, least).tolist() == [[at, at + lengths[at]] for at in begins]


@given(st.lists(st.integers(0, 2), min_size=2, max_size=200), st.data())
@settings(deadline=None)
def test_how_far_two_places_agree(tokens: list[int], data: st.DataObject) -> None:
    period = data.draw(st.integers(1, 90))
    tokens = (tokens + tokens[:period] * 3)[:260]
    i = data.draw(st.integers(0, len(tokens) - 1))
    j = data.draw(st.integers(i, len(tokens) - 1))
    text = text_of(tokens, [])
    most = data.draw(st.integers(0, len(tokens) - j))
    same = next((k for k in range(most) if tokens[i + k] != tokens[j + k]), most)
    assert extents.equal(text.tokens, i, j, most) == same
    assert extents.agree_after(text.tokens, text.prefix, text.powers, i, j, most) == same
    most = data.draw(st.integers(0, i))
    same = next((k for k in range(most) if tokens[i - k - 1] != tokens[j - k - 1]), most)
    assert extents.agree_before(text.tokens, text.prefix, text.powers, i, j, most) == same


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.integers(1, 20))
@settings(deadline=None)
def test_windows_have_equal_hashes_exactly_when_they_are_equal(tokens: list[int], length: int) -> None:
    prefix, power = extents.prefix_hashes(np.array(tokens, np.int32), BASE), extents.power_of(length, BASE)
    hashes = [int(extents.window_hash(prefix, at, length, power)) for at in range(len(tokens) - length + 1)]
    expected = windows(tokens, length)
    assert [hashes.index(value) for value in hashes] == [expected.index(window) for window in expected]
    assert all(value < (1 << 61) - 1 for value in hashes)


def test_a_window_hash_is_the_polynomial() -> None:
    prime, tokens = (1 << 61) - 1, [7, 0, 2**31 - 1, 7, 3]
    base = int(BASE)
    prefix = extents.prefix_hashes(np.array(tokens, np.int32), BASE)
    for length in range(1, 6):
        for at in range(6 - length):
            expected = sum(
                (token + 1) * pow(base, length - 1 - k, prime) for k, token in enumerate(tokens[at : at + length])
            )
            assert extents.window_hash(prefix, at, length, extents.power_of(length, BASE)) == expected % prime
    assert extents.doubled_powers(BASE).tolist() == [pow(base, 1 << k, prime) for k in range(31)]


def decoded(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int, int]]:
    pairs = zip(found[0].tolist(), found[1], strict=True)
    return [(*map(int, runs.run_places(key)), length) for length, key in pairs]


NEAR_BUT_SHORT = [0, 4, 0, 4, 0, 4, 0, 1, 2, 3]
"""The token 0 stands three times near the beginning before it begins the run 0 1 2 3."""


@given(marked_texts(), st.integers(1, 25))
@example(([0, 1, 2, 3], NEAR_BUT_SHORT, [True] * 4, [True] * 10), 4)
@settings(max_examples=200, deadline=None)
def test_long_runs_are_all_there_once(
    drawn: tuple[list[int], list[int], list[bool], list[bool]], least: int
) -> None:
    a, b, free_a, free_b = drawn
    expected = maximal_runs(a, b, least, free_a, free_b)
    text, state = text_of(a, b), state_of(free_a, free_b)
    for length in {1, (least + 1) // 2, max(1, least * 3 // 4), least}:
        found = long_runs.draw(text, state, least, length, least - length + 1)
        *held, whole = long_runs.runs_of(text, found, least, 0, 1 << 19)
        assert whole
        assert sorted(decoded(held)) == expected
        *held, whole = long_runs.runs_of(text, found, least, 3, 1 << 19)
        assert not whole
        assert set(decoded(held)) <= set(expected)
        # the near windows of a short one may all be of shorter runs; tiling asks with windows of `least` tokens,
        # and each of these that both have is of a run
        assert length < least or bool(held[0].size) == bool(expected)
        if len(expected) > 1:
            assert not long_runs.runs_of(text, found, least, 0, len(expected) - 1)[2]


@given(marked_texts(), st.integers(1, 8))
@settings(deadline=None)
def test_windows_of_every_length_that_both_have(
    drawn: tuple[list[int], list[int], list[bool], list[bool]], least: int
) -> None:
    a, b, free_a, free_b = drawn
    text, most = text_of(a, b), 2 * least - 1
    free = places.free_lengths(state_of(free_a, free_b), len(a), len(a) + len(b), most)
    found, bounds, whole = nearest.climb(text, free, least, most, 1 << 20)
    assert whole
    assert not nearest.climb(text, free, least, most, 0)[2] or len(found) == 0
    for length in range(least, most + 1):
        part = found[bounds[length - least] : bounds[length - least + 1]].tolist()
        assert part == sorted(set(part))
        begins = [
            [at for at in range(len(flags)) if at + length <= len(flags) and all(flags[at : at + length])]
            for flags in (free_a, free_b)
        ]
        both = {tuple(a[at : at + length]) for at in begins[0]} & {tuple(b[at : at + length]) for at in begins[1]}
        common = [at for at in begins[0] if tuple(a[at : at + length]) in both]
        common += [len(a) + at for at in begins[1] if tuple(b[at : at + length]) in both]
        assert set(common) <= set(part)
        at = np.full(len(a) + len(b), -1, np.int32)
        line = nearest.line_up(text, np.array(part, np.int32), length, at)
        assert sorted(line.place.tolist()) == common
        check_line(line, a + b, len(a), length)


def check_line(line: nearest.Line, tokens: list[int], m: int, length: int) -> None:
    """Check that the windows of a kind are linked in the order of their distances from the beginning."""
    at = [(place if place < m else place - m, place) for place in line.place.tolist()]
    assert at == sorted(at)
    for k, place in enumerate(line.place.tolist()):
        window = tokens[place : place + length]
        like = [other for other in range(k) if tokens[line.place[other] : line.place[other] + length] == window]
        assert line.before[k] == (like[-1] if like else -1)
        assert line.before[k] < 0 or line.after[line.before[k]] == k
        assert line.at[place] == k


def texts_with_moves(chosen: random.Random) -> tuple[list[int], list[int]]:
    """Return a text over few tokens, and one of its pieces in another order with errors and text of its own."""
    kinds, size = chosen.choice((2, 3, 4, 9)), chosen.randrange(50, 400)
    a = [chosen.randrange(kinds) for _ in range(size)]
    if chosen.random() < 0.3:
        a = (a[: chosen.randrange(1, 40)] * size)[:size]
    b: list[int] = []
    while len(b) < size:
        start = chosen.randrange(size)
        b += a[start : start + chosen.choice((3, 12, 50, 200))]
        b += [chosen.randrange(kinds) for _ in range(chosen.randrange(4))]
    return a, b[: chosen.randrange(size, 2 * size)]


@pytest.mark.parametrize("seed", range(120))
def test_tiles_do_not_depend_on_how_runs_are_found(seed: int) -> None:
    chosen = random.Random(seed)
    a, b = texts_with_moves(chosen)
    w = chosen.randrange(2, 9)
    pair = matching.pair_of(ids(a), ids(b))
    whole = matching.literal(pair, w)  # for so few tokens all runs at once
    assert not whole.capped
    for most_runs in (1, 5, 40, 300, 2000):
        found = matching.literal(pair, w, most_runs)
        if found.capped:
            assert found.common <= whole.upper_bound
        else:
            assert found.tiles.tolist() == whole.tiles.tolist()
    assert not found.capped
