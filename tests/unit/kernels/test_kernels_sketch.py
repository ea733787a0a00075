"""Shingle hashes to MinHash signatures, against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.kernels.sketch.minhash import classic, low_halves, one_permutation, sketch_sets
from neardup.text.sketch.documents import SEED, classic_coefficients, splitmix64
from support import reference, strategies

SLOTS = st.sampled_from([1, 2, 4, 8, 16, 64])
# The single slot of a one-slot signature has 64-bit ranks, and all ones is its mark for empty
HASHES = st.one_of(strategies.words64(), st.integers(0, 2**64 - 1)).filter(lambda value: value < 2**64 - 1)


def kernel_classic(hashes: list[int], slots: int) -> list[int]:
    values = np.array([*hashes, 0], np.uint64)
    low, out = np.zeros(len(hashes) + 63, np.uint32), np.zeros(slots, np.uint32)
    low_halves(values, len(hashes), low)
    classic(low, len(hashes), *classic_coefficients(slots), out)
    return [int(value) for value in out]


def kernel_one_permutation(hashes: list[int], slots: int) -> tuple[list[int], list[bool]]:
    values = np.array([*hashes, 0], np.uint64)
    low, best = np.zeros(len(hashes) + 63, np.uint32), np.zeros(slots, np.uint64)
    spare, out = np.zeros(slots, np.uint32), np.zeros(slots, np.uint32)
    one_permutation(values, len(hashes), *classic_coefficients(slots), (low, best, spare), out)
    return [int(value) for value in out], [value != 2**64 - 1 for value in best.tolist()]


def kernel_sets(sets: list[list[int]], slots: int, sketch: str) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    offsets = np.concatenate(([0], np.cumsum([len(values) for values in sets]))).astype(np.int64)
    hashes = np.array([value for values in sets for value in values], np.uint64)
    signatures = np.zeros((len(sets), slots), np.uint32)
    chosen = np.ones((len(sets), slots), np.bool_)
    sketch_sets(hashes, offsets, sketch == "classic", *classic_coefficients(slots), signatures, chosen)
    return signatures, chosen


@given(strategies.words64())
def test_splitmix64(state: int) -> None:
    assert splitmix64(state) == reference.splitmix64(state)


def test_splitmix64_as_published() -> None:
    """The first outputs of the generator with seed 1234567 (the test vector of most implementations)."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    states = [(1234567 + step * 0x9E3779B97F4A7C15) % 2**64 for step in range(3)]
    assert [splitmix64(state) for state in states] == expected
    assert [reference.splitmix64(state) for state in states] == expected


@pytest.mark.parametrize("slots", [1, 2, 128, 4096])
def test_coefficients(slots: int) -> None:
    a, b = classic_coefficients(slots)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == reference.coefficients(slots)
    assert (a & 1).all()
    assert not a.flags.writeable
    assert not b.flags.writeable
    assert SEED.to_bytes(8, "big") == b"neardup1"


@given(st.lists(HASHES, min_size=1, max_size=40), st.one_of(SLOTS, st.integers(1, 9)))
@example([0] * 15, 4)
@example([0] * 16, 4)
def test_classic(hashes: list[int], slots: int) -> None:
    assert kernel_classic(hashes, slots) == reference.classic(hashes, slots)


@given(st.lists(HASHES, min_size=1, max_size=40), SLOTS)
@example([2**63] * 15, 2)
@example([2**63] * 16, 2)
@example([2**63 - 1, 2**64 - 2], 2)
def test_one_permutation(hashes: list[int], slots: int) -> None:
    assert kernel_one_permutation(hashes, slots) == reference.one_permutation(hashes, slots)


@pytest.mark.parametrize("size", [*range(1, 10), 16, 64, 99, 100, 101, 127, 128, 129, 130, 160, 161, 400])
def test_sketches_of_every_way_to_run_the_loops(size: int) -> None:
    """Few shingles run over the slots and many over the shingles; all shingles fall in one slot or anywhere."""
    anywhere = [reference.mix64(size << 32 | number) for number in range(size)]
    for hashes in (anywhere, [value >> 3 for value in anywhere]):
        for slots in (1, 4, 128):
            assert kernel_classic(hashes, slots) == reference.classic(hashes, slots)
            assert kernel_one_permutation(hashes, slots) == reference.one_permutation(hashes, slots)
    assert kernel_classic(anywhere, 7) == reference.classic(anywhere, 7)


@pytest.mark.parametrize("slots", [1, 2, 128])
def test_one_permutation_without_a_slot_to_fill(slots: int) -> None:
    hashes = [reference.mix64(number) for number in range(40 * slots)]
    expected, chosen = reference.one_permutation(hashes, slots)
    assert all(chosen)
    assert kernel_one_permutation(hashes, slots) == (expected, chosen)


@given(st.lists(st.lists(HASHES, max_size=20), max_size=6), SLOTS, st.sampled_from(["one-permutation", "classic"]))
def test_sketches_of_sets(sets: list[list[int]], slots: int, sketch: str) -> None:
    signatures, chosen = kernel_sets(sets, slots, sketch)
    expected = [reference.sketch_set(values, slots, sketch) for values in sets]
    assert signatures.tolist() == [signature for signature, _ in expected]
    assert chosen.tolist() == [slots_chosen for _, slots_chosen in expected]


def test_sketch_of_a_set_larger_than_the_scratch() -> None:
    hashes = [reference.mix64(number) for number in range(5000)]
    signatures, chosen = kernel_sets([[], hashes, hashes[:3]], 4, "one-permutation")
    assert signatures.tolist() == [reference.sketch_set(part, 4, "x")[0] for part in ([], hashes, hashes[:3])]
    assert chosen[1].all()


@given(st.lists(HASHES, min_size=1, max_size=30), SLOTS)
def test_order_and_repeats_change_nothing(hashes: list[int], slots: int) -> None:
    again = hashes[::-1] + hashes[: len(hashes) // 2]
    assert kernel_classic(again, slots) == kernel_classic(hashes, slots)
    assert kernel_one_permutation(again, slots) == kernel_one_permutation(hashes, slots)


@pytest.mark.part(2)
@pytest.mark.parametrize("sketch", ["one-permutation", "classic"])
@pytest.mark.parametrize("size", [3, 40, 400])
def test_slots_match_about_as_often_as_the_sets_overlap(sketch: str, size: int) -> None:
    """Two sets of resemblance 1/2 over many made sets: the mean stays within five standard errors."""
    slots, repeats = 64, 200
    rates = []
    for seed in range(repeats):
        numbers = [reference.mix64(seed << 32 | number) for number in range(4 * size)]
        a, b = numbers[: 3 * size], numbers[size:]
        signatures, _ = kernel_sets([a, b], slots, sketch)
        rates.append(float((signatures[0] == signatures[1]).mean()))
    assert abs(np.mean(rates) - 0.5) < 5 * np.sqrt(0.25 / (slots * repeats))
