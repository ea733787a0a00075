"""The worked numbers: texts written for them in golden/worked_measures.json, and the fractions that come out."""

import json
from typing import Any

import pytest

import neardup as nd
from support.paths import GOLDEN

GOLDEN = json.loads((GOLDEN / "worked_measures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["pairs"], ids=lambda case: case["case"])
def test_worked_numbers_come_out(case: dict[str, Any]) -> None:
    found = nd.compare(case["a"], case["b"], **case.get("settings", {}))
    expected = {
        name: value[0] / value[1] if isinstance(value, list) else value for name, value in case["measures"].items()
    }
    assert {name: found.measures[name] for name in expected} == expected
    if "new_tokens" in case:
        redundant = (found.redundant_a, found.redundant_b)
        assert [int((~flags).sum()) for flags in redundant] == case["new_tokens"]
    assert not found.degraded


@pytest.mark.parametrize("case", GOLDEN["sets"], ids=str)
def test_sets_of_anything(case: dict[str, Any]) -> None:
    shared, union = case["resemblance"]
    assert nd.jaccard(set(case["a"]), set(case["b"])) == shared / union


@pytest.mark.parametrize("chunk", range(3, 101))
def test_numerator_by_length_of_the_common_chunk(chunk: int) -> None:
    common = " ".join(f"c{k}" for k in range(chunk))
    found = nd.compare(f"left one {common} left two three", f"right {common} right again").measures
    assert found["common_literal"] == found["common_information"] == (chunk if chunk >= 5 else 0)
    assert found["shared"] == max(0, chunk - 4)
