"""Bands for a threshold and a recall, against brute force over all numbers of bands."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from neardup.errors import SettingError
from neardup.text.lsh.bands import Plan, even_bands, plan
from support.messages import has_parts

SLOTS = st.sampled_from([1, 2, 4, 16, 64, 128, 256, 1024])
THRESHOLDS = st.integers(1, 100).map(lambda percent: percent / 100)
RECALLS = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999, 0.999999])


def chance_by_hand(similarity: float, bands: tuple[int, ...]) -> float:
    """1 − P(no band agrees), one band after the other."""
    none = 1.0
    for rows in bands:
        agree = 1.0
        for _ in range(rows):
            agree *= similarity
        none *= 1 - agree
    return 1 - none


def made(threshold: float, recall: float, slots: int) -> Plan:
    """Return the plan; examples that no bands can satisfy are passed over."""
    assume(chance_by_hand(threshold, (1,) * slots) >= recall + 1e-12)
    return plan(threshold, recall, slots)


@given(st.integers(1, 300), st.data())
def test_even_bands(slots: int, data: st.DataObject) -> None:
    bands = data.draw(st.integers(1, slots))
    rows = even_bands(slots, bands)
    assert len(rows) == bands
    assert sum(rows) == slots
    assert max(rows) - min(rows) <= 1
    assert list(rows) == sorted(rows, reverse=True)


@given(THRESHOLDS, RECALLS, SLOTS)
@example(0.8, 0.99, 128)
def test_all_slots_are_used_and_the_recall_is_reached(threshold: float, recall: float, slots: int) -> None:
    chosen = made(threshold, recall, slots)
    assert sum(chosen.bands) == slots == chosen.slots
    assert chosen.probability(threshold) >= recall
    assert (chosen.threshold, chosen.recall) == (threshold, recall)


@given(THRESHOLDS, RECALLS, SLOTS)
@example(0.8, 0.99, 128)
def test_no_fewer_bands_would_do(threshold: float, recall: float, slots: int) -> None:
    enough = len(made(threshold, recall, slots).bands)
    chances = ((bands, chance_by_hand(threshold, even_bands(slots, bands))) for bands in range(1, slots + 1))
    assert next(bands for bands, chance in chances if chance >= recall - 1e-12) == enough


@given(THRESHOLDS, RECALLS, SLOTS)
def test_the_curve_rises_from_zero_to_one(threshold: float, recall: float, slots: int) -> None:
    curve = made(threshold, recall, slots).curve(50)
    assert [similarity for similarity, _ in curve] == [k / 50 for k in range(51)]
    assert curve[0] == (0, 0)
    assert curve[-1] == (1, 1)
    assert all(low <= high for (_, low), (_, high) in pairwise(curve))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.floats(0, 1))
def test_probability(rows: list[int], similarity: float) -> None:
    bands = tuple(rows)
    expected = chance_by_hand(similarity, bands)
    assert Plan(0.5, 0.5, sum(bands), bands).probability(similarity) == pytest.approx(expected, abs=1e-12)


def test_the_table_of_the_textbook() -> None:
    """Mining of Massive Datasets, figure 3.8: the S-curve of 20 bands of 5 rows."""
    table = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975, 0.8: 0.9996}
    chosen = Plan(0.5, 0.5, 100, (5,) * 20)
    for similarity, printed in table.items():
        assert chosen.probability(similarity) == pytest.approx(printed, abs=0.0006)


@pytest.mark.parametrize(
    ("threshold", "recall", "slots", "bands", "longest"),
    [(0.8, 0.99, 128, 19, 7), (0.5, 0.9, 128, 33, 4), (0.9, 0.99, 128, 12, 11), (1.0, 0.99, 128, 1, 128)],
)
def test_known_plans(threshold: float, recall: float, slots: int, bands: int, longest: int) -> None:
    chosen = plan(threshold, recall, slots)
    assert (len(chosen.bands), chosen.bands[0]) == (bands, longest)
    assert bands == 1 or chance_by_hand(threshold, even_bands(slots, bands - 1)) < recall


def test_expected_candidates() -> None:
    chosen = plan()
    assert chosen.candidates({}) == 0
    assert chosen.candidates({1.0: 5, 0.0: 1000}) == 5
    assert chosen.candidates({0.5: 200}) == pytest.approx(200 * chosen.probability(0.5))


def test_as_plain_data() -> None:
    chosen = plan(0.8, 0.99, 128)
    data = chosen.as_dict()
    assert data["bands"] == list(chosen.bands)
    assert data["recall_at_threshold"] == chosen.probability(0.8) >= data["recall"] == 0.99
    assert data["curve"] == [list(point) for point in chosen.curve()]
    assert (data["threshold"], data["slots"]) == (0.8, 128)


def test_a_recall_out_of_reach() -> None:
    with pytest.raises(SettingError) as caught:
        plan(0.01, 0.99, 128)
    best = chance_by_hand(0.01, (1,) * 128)
    assert has_parts(
        str(caught.value),
        "128 slots",
        "recall 0.99 at threshold 0.01",
        f"Allowed: At most {best:.4f}",
        "Try: Raise the threshold",
        "lower the recall",
    )


def test_settings_that_are_not_allowed() -> None:
    with pytest.raises(SettingError) as caught:
        plan(0, 1, 5000)
    assert [line.partition(" is ")[0] for line in str(caught.value).splitlines()] == [
        "threshold",
        "recall",
        "slots",
    ]
