"""The textbook families and signatures of a few bits: against their naive twins and the walk-through."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.walkthrough.families import FAMILIES
from neardup.errors import FormatError, InputError, SettingError
from neardup.text.sketch.signatures import Datasketch
from neardup.text.sketch.textbook import BBit, ModP, MultiplyShift
from support import reference, reference_families, strategies
from support.messages import assert_refused

MODULI = st.sampled_from([2, 6, 17, 10_000, 10_007, ModP.LARGEST, 2**32 - 1])
ROWS = st.lists(st.integers(0, 2**32 - 1), max_size=40)


def functions(family: Any) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in family.coefficients]


@given(ROWS, MODULI, st.integers(0, 2**63 - 1))
def test_mod_p_of_row_numbers(rows: list[int], prime: int, seed: int) -> None:
    rows = [row % prime for row in rows]
    family = ModP(9, prime=prime, seed=seed)
    assert all(0 < a < prime and 0 <= b < prime for a, b in functions(family))
    assert family.of_ids(rows).values.tolist() == reference_families.linear(rows, functions(family), prime)
    assert family.values(rows).tolist() == [[(a * x + b) % prime for a, b in functions(family)] for x in rows]


@given(ROWS, st.integers(1, 32), st.integers(0, 2**63 - 1))
def test_multiply_shift_of_row_numbers(rows: list[int], bits: int, seed: int) -> None:
    family = MultiplyShift(6, bits=bits, seed=seed)
    expected = reference_families.multiply_shift(rows, functions(family), bits)
    assert family.of_ids(rows).values.tolist() == expected
    values = [[(a * x + b) % 2**32 >> (32 - bits) for a, b in functions(family)] for x in rows]
    assert family.values(rows).tolist() == values


@given(st.lists(strategies.any_text(), max_size=3), st.sampled_from(["word", "char"]))
def test_signatures_of_texts(texts: list[str], unit: str) -> None:
    mod, shift = ModP(4, length=2, unit=unit), MultiplyShift(4, length=2, unit=unit)
    for k, text in enumerate(texts):
        hashes = reference.shingle_hashes(reference.unit_hashes(text, unit), 2)
        expected = reference_families.linear([h % mod.prime for h in hashes], functions(mod), mod.prime)
        assert mod.sketch(texts)[k].tolist() == mod.of(text).values.tolist() == expected
        low = [h % 2**32 for h in hashes]
        assert shift.of(text).values.tolist() == reference_families.multiply_shift(low, functions(shift), 32)
        assert mod.of(text).is_empty == (not hashes)


def test_the_functions_of_the_walk_through() -> None:
    """Row numbers under the textbook's coefficients: the same signatures as its tables."""
    given, rows = ((4, 9), (14, 4), (8, 14), (3, 10)), [1, 5, 9, 13]
    held = np.isin(np.arange(1, 17), rows)
    expected, _ = FAMILIES["mod-p"](np.arange(1, 17, dtype=np.uint64), 4, 1, given).signature(held)
    assert ModP(prime=17, coefficients=given).of_ids(rows).values.tolist() == expected.tolist()
    odd = ((5, 9), (15, 4))
    expected, _ = FAMILIES["multiply-shift"](np.arange(1, 17, dtype=np.uint64), 2, 1, odd).signature(held)
    assert MultiplyShift(bits=5, coefficients=odd).of_ids(rows).values.tolist() == expected.tolist()


@pytest.mark.parametrize("modulus", [ModP.LARGEST, 2**32 - 1])
def test_the_largest_numbers_do_not_overflow(modulus: int) -> None:
    top = modulus - 1
    family = ModP(prime=modulus, coefficients=[(top, top)])
    assert family.of_ids([top]).values.tolist() == [(top * top + top) % modulus]


@given(st.integers(2, 300), st.integers(0, 2**63 - 1), st.data())
def test_which_functions_are_permutations(modulus: int, seed: int, data: st.DataObject) -> None:
    drawn = ModP(20, prime=modulus, seed=seed)
    pairs = st.tuples(st.integers(1, modulus - 1), st.integers(0, modulus - 1))
    given = ModP(prime=modulus, coefficients=data.draw(st.lists(pairs, min_size=1, max_size=5)))
    for family in (drawn, given):
        orders = family.values(range(modulus)).T.tolist()
        assert family.permutes.tolist() == [sorted(order) == list(range(modulus)) for order in orders]
    assert drawn.permutes.all()


def test_the_minhash_values_of_exercise_3_3_3() -> None:
    """Leskovec, Rajaraman and Ullman, section 3.3: six rows from 0, modulus 6, and true permutations."""
    family = ModP(prime=6, coefficients=[(2, 1), (3, 2), (5, 2)])
    signatures = [family.of_ids(rows).values.tolist() for rows in ([2, 5], [0, 1], [3, 4], [0, 2, 4])]
    assert signatures == [[5, 2, 0], [1, 2, 1], [1, 2, 4], [1, 2, 0]]
    assert family.permutes.tolist() == [False, False, True]


@given(ROWS, ROWS)
def test_merged_signatures_are_those_of_the_union(a: list[int], b: list[int]) -> None:
    a, b = [x % ModP.LARGEST for x in a], [x % ModP.LARGEST for x in b]
    for family in (ModP(8), MultiplyShift(8, bits=12)):
        one, other = family.of_ids(a), family.of_ids(b)
        assert one | other == family.of_ids(a + b)
        assert hash(one | other) == hash(family.of_ids(b + a))
        equal = sum(x == y for x, y in zip(one.values.tolist(), other.values.tolist(), strict=True))
        expected = equal / 8 if bool(a) == bool(b) else 0
        assert one.resemblance(other).value == expected


def test_seeds_draw_other_functions_and_more_slots_keep_the_first() -> None:
    for kind in (ModP, MultiplyShift):
        assert functions(kind(8)) == functions(kind(32))[:8]
        assert not set(functions(kind(32))) & set(functions(kind(32, seed=2)))
        assert repr(kind(8)).startswith(kind.__name__ + "(")


@given(ROWS, st.integers(1, 32))
def test_small_copies(rows: list[int], bits: int) -> None:
    base = MultiplyShift(12)
    small, whole = BBit(base, bits).of_ids(rows), base.of_ids(rows)
    mask = 2**bits - 1
    expected = [reference.mix64(value) & mask for value in whole.values.tolist()]
    assert small.values.tolist() == (expected if rows else [np.iinfo(small.values.dtype).max] * 12)
    assert small.is_empty == (not rows)
    family = BBit(base, bits)
    packed = family.pack(np.stack([small.values] * 2))
    written = sum((value & mask) << bits * slot for slot, value in enumerate(small.values.tolist()))
    assert packed[1].tobytes() == written.to_bytes((12 * bits + 7) // 8, "little")
    if small.is_empty or expected != [mask] * 12:
        assert family.unpack(packed).tolist() == [small.values.tolist()] * 2


@pytest.mark.parametrize(
    "base",
    [nd.MinHash(64), ModP(64), MultiplyShift(64), Datasketch(64), Datasketch(64, scheme="affine64")],
    ids=lambda base: f"{type(base).__name__} {np.dtype(base.dtype)}",
)
def test_small_copies_of_every_family(base: Any) -> None:
    small = BBit(base)
    wide = np.random.default_rng(1).integers(0, 2**31, (50, 64)).astype(base.dtype)
    assert (small.cut(np.full((1, 64), np.iinfo(base.dtype).max, base.dtype)) == 255).all()
    wide[1::2, :40] = wide[::2, :40]
    made = small.cut(wide)
    pairs = np.arange(50).reshape(-1, 2)
    agreeing = (made[::2] == made[1::2]).sum(axis=1)
    assert (agreeing >= 40).all()
    found = small.resemblances(made, pairs)
    assert np.allclose(found, (agreeing / 64 - 1 / 256) / (1 - 1 / 256))
    assert abs(found.mean() - 40 / 64) < 0.01


def test_small_copies_are_not_merged() -> None:
    family = BBit(nd.MinHash(4))
    with pytest.raises(FormatError):
        family.of("a") | family.of("b")


def test_an_estimate_of_small_copies_stays_within_its_range() -> None:
    family = BBit(nd.MinHash(64))
    for found in (
        family.of("one two three four five").resemblance(family.of("six seven eight nine ten")),
        family.of("").resemblance(family.of("six seven eight nine ten")),
    ):
        assert found.low == 0
        assert 0 <= found.value <= found.high < 0.1
    assert family.of("a b").resemblance(family.of("A  B")).value == 1
    assert family.of("").resemblance(family.of(" … ")).value == 1


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("bits", [1, 3, 8, 16, 32])
def test_the_least_number_of_agreeing_slots(threshold: float, bits: int) -> None:
    """Against the binomial distribution, summed up by its definition."""
    k = 64
    chance = threshold + (1 - threshold) / 2**bits
    q = BBit(nd.MinHash(k), bits).least_agreeing(threshold, risk=1e-4)

    def fewer(bound: int) -> float:
        return sum(comb(k, i) * chance**i * (1 - chance) ** (k - i) for i in range(bound))

    assert fewer(q) <= 1e-4
    assert q == k or fewer(q + 1) > 1e-4


def test_what_may_reach_a_threshold() -> None:
    family = BBit(nd.MinHash(128))
    text = " ".join(f"w{i}" for i in range(300))
    made = family.sketch([text, text + " more", "something else altogether, of other words"])
    assert family.may_reach(made, [(0, 1), (0, 2), (1, 2)], 0.8).tolist() == [True, False, False]
    assert family.may_reach(made, [(0, 0)], 0.8, other=made[2:]).tolist() == [False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModP(0), "slots is 0"),
        (lambda: ModP(prime=1), r"prime is 1\. Allowed: A whole number from 2 to 4,294,967,295"),
        (lambda: ModP(prime=2**32), "prime is 4294967296"),
        (
            lambda: ModP(prime=17, coefficients=[(17, 1)]),
            r"\(17, 1\) make no order of numbers below 17",
        ),
        (lambda: ModP(coefficients=[]), "not a list of pairs"),
        (lambda: ModP(coefficients=[(1, 2, 3)]), "not a list of pairs"),
        (lambda: ModP(seed=-1), "seed is -1"),
        (
            lambda: MultiplyShift(coefficients=[(2, 1)]),
            r"coefficients \(2, 1\) are not those of a multiply-shift function",
        ),
        (lambda: MultiplyShift(bits=33), "bits is 33"),
        (lambda: BBit(nd.MinHash(), 33), r"bits is 33\. Allowed: A whole number from 1 to 32"),
        (lambda: BBit(nd.MinHash(), 0), "bits is 0"),
        (lambda: BBit(BBit(nd.MinHash())), "BBit is to be of BBit"),
        (lambda: BBit(nd.SampledShingles()), "BBit is to be of SampledShingles"),
    ],
)
def test_parameters_that_are_refused(make: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make()


def test_row_numbers_that_are_refused() -> None:
    assert_refused(
        (InputError, r"hold 17\. Allowed: Row numbers .*modulus 17", lambda: ModP(prime=17).of_ids([1, 17])),
        (InputError, "", lambda: MultiplyShift().of_ids([2**32])),
        (InputError, r"hold 1\.5\. Allowed: .*whole numbers", lambda: BBit(nd.MinHash()).of_ids([1.5])),  # type: ignore[list-item]
        (InputError, r"a int\. Allowed: .*whole numbers", lambda: ModP().of_ids(5)),  # type: ignore[arg-type]
        (InputError, r"uint8\[n, 16\]", lambda: BBit(nd.MinHash(), 1).unpack(np.zeros((2, 17), np.uint8))),
        (InputError, r"uint16\[n, 128\]", lambda: BBit(nd.MinHash(), 9).pack(np.zeros((2, 128), np.uint8))),
    )


def test_reprs_are_short() -> None:
    family = ModP(64, prime=101)
    assert repr(family.of_ids([1, 2])) == f"Signature(64 slots, {family!r}, of ids)"
    assert repr(family) == "ModP(prime=101, slots=64, seed=1)"
