"""The parts of greedy tiling, each against its twin, and tiles found with a low limit against all."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.comparison import matching
from neardup.kernels.match import tiling
from support.compared_texts import ids
from support.reference_matching import maximal_runs, windows

Marks = list[tuple[int, int]]


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


def state_of(free_a: list[bool], free_b: list[bool]) -> tiling.FreePlaces:
    return tiling.free_where(np.array(free_a, np.bool_), np.array(free_b, np.bool_))


def names_of(a: list[int], b: list[int], w: int) -> tuple[np.ndarray, int]:
    """Return the names of the windows of w tokens, −1 where none begins, and their number."""
    kinds: dict[tuple[int, ...], int] = {}
    names = []
    for tokens in (a, b):
        found = windows(tokens, w)
        names += [kinds.setdefault(window, len(kinds)) for window in found] + [-1] * (len(tokens) - len(found))
    return np.array(names, np.int32), len(kinds)


@given(marked_texts(), st.integers(1, 8))
def test_windows_are_left_where_all_their_tokens_are_free(
    drawn: tuple[list[int], list[int], list[bool], list[bool]], w: int
) -> None:
    a, b, free_a, free_b = drawn
    names, _ = names_of(a, b, w)
    left = np.empty_like(names)
    tiling.windows_left(names, len(a), w, state_of(free_a, free_b), left)
    expected = []
    for flags in (free_a, free_b):
        expected += [at + w <= len(flags) and all(flags[at : at + w]) for at in range(len(flags))]
    assert left.tolist() == [name if free else -1 for name, free in zip(names.tolist(), expected, strict=True)]


def decoded(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int, int]]:
    pairs = zip(found[0].tolist(), found[1], strict=True)
    return [(*map(int, tiling.run_places(key)), length) for length, key in pairs]


@given(marked_texts(), st.integers(1, 12), st.integers(1, 4))
def test_common_runs_are_the_maximal_ones_and_near_ones_are_parts_of_them(
    drawn: tuple[list[int], list[int], list[bool], list[bool]], w: int, near: int
) -> None:
    a, b, free_a, free_b = drawn
    if min(len(a), len(b)) < w:
        return
    names, n_names = names_of(a, b, w)
    left = np.empty_like(names)
    tiling.windows_left(names, len(a), w, state_of(free_a, free_b), left)
    expected = maximal_runs(a, b, w, free_a, free_b)
    *held, whole = tiling.common_runs(left, len(a), w, n_names, 0, len(expected))
    assert whole
    assert sorted(decoded(held)) == expected
    if expected:
        assert not tiling.common_runs(left, len(a), w, n_names, 0, len(expected) - 1)[2]
    pairs = {(i + k, j + k) for i, j, length in expected for k in range(length - w + 1)}
    assert tiling.equal_pairs(left, len(a), w, n_names) == len(pairs)
    *held, whole = tiling.common_runs(left, len(a), w, n_names, near, len(pairs))
    assert whole
    ends = {(i - j, i + length) for i, j, length in expected}  # on which diagonal, and where it ends
    for i, j, length in decoded(held):
        assert (i, j) in pairs
        assert (i - j, i + length) in ends
    # the nearest equal window of each window of A begins in a run
    for i in {i for i, _ in pairs}:
        j = min((j for k, j in pairs if k == i), key=lambda j: (abs(i - j), j))
        assert any(i - j == x - y and x <= i < x + length for x, y, length in decoded(held))


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


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(120))
def test_tiles_do_not_depend_on_how_runs_are_found(seed: int) -> None:
    chosen = random.Random(seed)
    a, b = texts_with_moves(chosen)
    w = chosen.randrange(2, 9)
    pair = matching.pair_of(ids(a), ids(b))
    whole = matching.literal(pair, w)  # for few tokens all runs at once
    assert not whole.capped
    for most_runs in (1, 5, 40, 300, 2000, 1 << 18):
        found = matching.literal(pair, w, most_runs)
        if found.tiles.tolist() != whole.tiles.tolist():
            assert found.capped or found.proven
    assert not found.capped
