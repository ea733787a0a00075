"""Weighted MinHash: against its naive twin, on weights of any size, stored, indexed, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import FormatError, InputError, SettingError
from support import reference, reference_families

WEIGHTS = st.floats(1e-6, 1e6) | st.sampled_from([1.0, 2.0, 0.5, 3])
SETS = st.dictionaries(st.integers(0, 2**64 - 1), WEIGHTS, max_size=8)


@given(SETS, st.integers(1, 12))
def test_the_samples_of_weighted_ids(weights: dict[int, float], slots: int) -> None:
    expected = reference_families.weighted({reference.mix64(k): w for k, w in weights.items()}, slots)
    family = nd.WeightedMinHash(slots)
    made = family.of_weights(weights)
    assert made.values.tolist() == expected
    assert made.is_empty == (not weights)
    backwards = dict(reversed(weights.items()))
    assert family.sketch_weights([{}, backwards]).tolist() == [[2**64 - 1] * slots, expected]


def test_texts_and_ids_weigh_one_and_weights_of_nothing_are_not_there() -> None:
    family, text = nd.WeightedMinHash(32, length=2), "the moon is red over the bay"
    ones = dict.fromkeys(nd.shingles(text, length=2), 1.0)
    assert len(ones) == 6
    assert family.of_ids([3, 5, 3]) == family.of_weights({3: 1, 5: 1, 7: 0})
    assert family.sketch_ids([3, 5, 7], np.array([0, 2, 3])).tolist() == [
        family.of_ids([3, 5]).values.tolist(),
        family.of_ids([7]).values.tolist(),
    ]
    assert family.sketch([text, ""])[1].tolist() == family.of_weights({"moon": 0.0}).values.tolist()
    assert family.of(text).resemblance(family.of(text.upper())).value == 1
    assert family.of_weights({}).resemblance(family.of_weights({})).value == 1
    assert family.of_weights({"a": 1}).resemblance(family.of_weights({})).value == 0
    assert family.of_weights({"a": 1, 2: 1}) != family.of_weights({"a": 1, 3: 1})


def test_known_samples() -> None:
    """Written down on one machine: others must give the same, with weights at both ends of the range, too."""
    made = nd.WeightedMinHash(3).of_weights({"moon": 2.5, "red": 1e-320, 7: 1.7e308})
    assert [f"{value:016x}" for value in made.values.tolist()] == [
        "99aa26dca9747bc8",
        "830fbe44ced9bd7a",
        "f1f4ad84a69a7542",
    ]
    made = nd.WeightedMinHash(3).of_weights({"moon": 2.5, "red": 0.1, "dark": 3})
    assert [f"{value:016x}" for value in made.values.tolist()] == [
        "5a4b830d1c354756",
        "74b3f52ba4db7f40",
        "74b3f52ba4db7f40",
    ]


def test_a_weight_is_ever_the_same_sample_alone_and_few_samples_change_with_it() -> None:
    """Consistency: an element keeps its sample where its weight and those of others fall, until another wins."""
    family = nd.WeightedMinHash(512)
    before = family.of_weights({"a": 2.0, "b": 1.0})
    after = family.of_weights({"a": 2.0, "b": 0.5})
    alone = family.of_weights({"a": 2.0}).values
    kept = before.values == alone
    assert (after.values[kept] == alone[kept]).all()
    assert 0.5 < kept.mean() < 0.8


def test_signatures_are_stored_indexed_banded_and_cut(tmp_path: Path) -> None:
    family = nd.WeightedMinHash(64)
    sets = [{f"w{number % 9}": 1 + number % 5, f"x{number}": 1.0} for number in range(40)]
    made = family.sketch_weights(sets)
    nd.write_signatures(family.to_arrow(range(40), made, of_ids=True), tmp_path / "w.parquet")
    stored = nd.read_signatures(tmp_path / "w.parquet")
    assert repr(stored.family) == "WeightedMinHash(slots=64)"
    pairs = [(0, 9), (0, 1), (3, 3)]
    assert stored.resemblances(pairs).tolist() == [(made[a] == made[b]).mean() for a, b in pairs]
    index = nd.Index(0.5, family=family)
    for number, weights in enumerate(sets):
        index.add(number, family.of_weights(weights))
    index.save(tmp_path / "i.parquet")
    assert nd.Index.load(tmp_path / "i.parquet").query(family.of_weights(sets[7]))[0].id == 7
    small = nd.BBit(family, 16)
    assert small.resemblances(small.cut(made), [(3, 3)]).tolist() == [1]
    assert nd.LSH(made, rows=4).pairs().num_rows > 0


def test_refusals_name_the_element() -> None:
    family: Any = nd.WeightedMinHash()
    bad = {"-1": -1, "nan": float("nan"), "inf": float("inf"), "str": "1", "large": 10**400, "none": None}
    cases: list[tuple[type[Exception], str, Any]] = [
        (InputError, f"The weight of '{name}'", lambda weight=weight, name=name: family.of_weights({name: weight}))
        for name, weight in bad.items()
    ]
    one = family.of_weights({"a": 1})
    cases += [
        (InputError, "is a list", lambda: family.of_weights(["a"])),
        (InputError, "hold 1.5", lambda: family.of_weights({1.5: 1})),
        (InputError, "hold -1", lambda: family.of_weights({-1: 1})),
        (SettingError, "slots is 0", lambda: nd.WeightedMinHash(0)),
        (FormatError, "cannot be merged", lambda: one | one),
        (FormatError, "how large", lambda: one.size),
        (FormatError, "of texts", lambda: one.resemblance(family.of("a"))),
        (FormatError, "slots 64", lambda: one.resemblance(nd.WeightedMinHash(64).of_weights({"a": 1}))),
    ]
    for kind, part, call in cases:
        with pytest.raises(kind) as refused:
            call()
        assert part in str(refused.value)


@pytest.mark.parametrize("factor", [2.0**-500, 0.25, 8.0, 2.0**500])
def test_pairs_that_are_scaled_have_one_resemblance(factor: float) -> None:
    """The samples change with the scale, and the estimates stay near: Σ min / Σ max does not depend on it."""
    rng, family = np.random.default_rng(5), nd.WeightedMinHash(2048)
    a, b = ({k: float(w) for k, w in enumerate(rng.gamma(2.0, 1.0, 30))} for _ in range(2))
    exact = sum(min(a[k], b[k]) for k in a) / sum(max(a[k], b[k]) for k in a)
    scaled = [family.of_weights({k: w * factor for k, w in side.items()}) for side in (a, b)]
    assert abs(scaled[0].resemblance(scaled[1]).value - exact) < 6.2 * (exact * (1 - exact) / 2048) ** 0.5
