"""Blocks and tables for a Hamming distance miss nothing and cost what they say; the published ones come out."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import SettingError
from neardup.text.lsh.hamming_tables import PROBE, HammingPlan, designs, even_blocks
from support import reference_hamming as twin

PUBLISHED = 2**34


def described(plan: HammingPlan) -> dict[int, tuple[int, int]]:
    """Return tables → shortest and longest prefix of all that is proposed."""
    return {other.tables: (other.prefixes[0][0], other.prefixes[-1][0]) for other in plan.alternatives}


def test_two_bits_of_64_in_six_tables() -> None:
    design = nd.hamming_plan(PUBLISHED, 64, 2).design
    assert (design.levels, design.tables, design.prefixes) == (((4, 2),), 6, ((32, 6),))
    assert design.candidates / design.tables == 4


@pytest.mark.parametrize("documents", [8 * 10**9, 2**33, PUBLISHED])
def test_three_bits_of_64_for_the_web(documents: int) -> None:
    plan = nd.hamming_plan(documents)
    assert (plan.design.levels, plan.design.tables) == (((6, 3),), 20)
    assert plan.design.prefixes == ((31, 4), (32, 12), (33, 4))
    expected = {4: (16, 16), 10: (25, 26), 16: (28, 28), 20: (31, 33)}
    assert {tables: described(plan)[tables] for tables in expected} == expected


def test_probes_of_the_published_alternatives() -> None:
    plan = nd.hamming_plan(PUBLISHED)
    looked_at = {other.tables: other.candidates / other.tables for other in plan.alternatives}
    assert looked_at[4] == 2**18
    assert 2**8 < looked_at[10] < 2**9
    assert looked_at[16] == 2**6
    assert 4 <= looked_at[20] < 8


@given(st.integers(1, 12), st.integers(0, 5), st.data())
def test_no_error_pattern_hits_every_table(bits: int, distance: int, data: st.DataObject) -> None:
    design = data.draw(st.sampled_from(designs(bits, distance, 1000)))
    positions = data.draw(st.permutations(range(bits)))
    masks = design.masks(positions)
    assert len(masks) == design.tables
    for changed in combinations(range(bits), min(distance, bits)):
        wrong = sum(1 << bit for bit in changed)
        assert any(mask & wrong == 0 for mask in masks)


@given(st.integers(1, 40), st.integers(0, 6), st.data())
def test_prefixes_are_those_of_the_masks(bits: int, distance: int, data: st.DataObject) -> None:
    design = data.draw(st.sampled_from(designs(bits, distance, 10**6)))
    sizes = sorted(mask.bit_count() for mask in design.masks(range(bits)))
    assert sizes == [prefix for prefix, tables in design.prefixes for _ in range(tables)]
    assert sizes == twin.prefix_sizes(bits, design.levels)
    expected = sum(10**6 / 2**size for size in sizes)
    assert design.candidates == pytest.approx(expected)
    assert design.work == pytest.approx(expected + PROBE * len(sizes))


@given(st.integers(1, 10**12), st.sampled_from([64, 128]), st.integers(0, 16))
def test_nothing_is_cheaper_and_nothing_listed_is_beaten(documents: int, bits: int, distance: int) -> None:
    plan = nd.hamming_plan(documents, bits, distance)
    every = designs(bits, distance, documents)
    assert plan.design.work == min(design.work for design in every)
    assert plan.design in plan.alternatives
    for listed in plan.alternatives:
        for other in every:
            better = other.tables <= listed.tables and other.candidates <= listed.candidates
            assert not better or (other.tables, other.candidates) == (listed.tables, listed.candidates)


@given(st.integers(1, 300), st.data())
def test_even_blocks(bits: int, data: st.DataObject) -> None:
    blocks = data.draw(st.integers(1, bits))
    sizes = even_blocks(bits, blocks)
    assert (len(sizes), sum(sizes)) == (blocks, bits)
    assert max(sizes) - min(sizes) <= 1
    assert list(sizes) == sorted(sizes, reverse=True)


def test_what_three_of_64_bits_find() -> None:
    """The published figures: P(H ≤ 3) and P(H ≤ 10) by resemblance."""
    three, ten = nd.hamming_plan(10**6), nd.hamming_plan(10**6, 64, 10)
    found = {0.7: 0.001, 0.8: 0.009, 0.9: 0.09, 0.95: 0.31, 0.98: 0.67, 0.99: 0.85}
    assert {j: round(three.probability(j), len(str(p)) - 2) for j, p in found.items()} == found
    for j, share in {0.5: 0.03, 0.7: 0.29, 0.8: 0.63, 0.9: 0.94, 0.95: 0.99}.items():
        assert ten.probability(j) == pytest.approx(share, abs=0.01)
    assert three.probability(1) == 1
    assert three.probability(three.half_found()) == pytest.approx(0.5)
    assert three.half_found() == pytest.approx(0.97, abs=0.005)


def test_as_plain_data() -> None:
    data = nd.hamming_plan(1000, 128, 2).as_dict()
    assert (data["documents"], data["bits"], data["distance"]) == (1000, 128, 2)
    assert data["design"] in data["alternatives"]
    assert data["curve"][-1] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0,), "documents is 0. Allowed: A number from 1 to 10^15."),
        ((10**16,), "A number from 1 to 10^15"),
        ((10, 32), "bits is 32. Allowed: a multiple of 64 bits up to 1024."),
        ((10, 64, 17), "distance is 17. Allowed: a number from 0 to 16"),
        ((10, 128, 33), "distance is 33. Allowed: a number from 0 to 32"),
        ((10, 64, -1), "distance is -1."),
    ],
)
def test_refused(arguments: tuple[int, ...], said: str) -> None:
    with pytest.raises(SettingError) as error:
        nd.hamming_plan(*arguments)
    assert said in str(error.value)


def test_a_block_may_have_one_bit() -> None:
    levels = {design.levels for design in designs(5, 1, 100)}
    assert {levels_of for levels_of in levels if len(levels_of) < 2} == {(), *(((n, n - 1),) for n in range(2, 6))}
