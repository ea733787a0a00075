"""Settings are checked by the method that runs: thresholds that no bands can serve are joined exactly."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from support.messages import has_parts

TEXTS = [
    "data science",
    "data",
    "science good",
    "a harbour by the sea " * 9,
    " ".join(f"w{n}" for n in range(150)) + " data",
]
LOW = 0.004


def pairs(measure: str) -> set[tuple[int, int]]:
    sets = [set(text.split()) for text in TEXTS]
    whole = {"resemblance": lambda a, b: len(a | b), "overlap": lambda a, b: min(len(a), len(b))}[measure]
    numbered = combinations(enumerate(sets), 2)
    return {(i, j) for (i, a), (j, b) in numbered if a & b and len(a & b) >= LOW * whole(a, b)}


@pytest.mark.parametrize("settings", [{}, {"method": "exact"}, {"measure": "overlap"}, {"memory": 0.36}], ids=str)
def test_a_threshold_near_0_is_joined_exactly(settings: dict[str, Any], tmp_path: Path) -> None:
    found = nd.find(TEXTS, threshold=LOW, length=1, pairs="all", **settings)
    seen = set(zip(found.pairs["id_a"].to_pylist(), found.pairs["id_b"].to_pylist(), strict=True))
    assert {tuple(sorted(pair)) for pair in seen} == pairs(settings.get("measure", "resemblance"))
    assert found.run.choice.method == "exact"
    found.save(tmp_path / "out")
    assert nd.load(tmp_path / "out").pairs.num_rows == len(seen)


def test_a_search_by_bands_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "data science"}\n' * 3)
    with pytest.raises(nd.SettingError) as raised:
        nd.find(tmp_path / "in.jsonl", threshold=LOW, method="lsh")
    assert has_parts(str(raised.value), "no bands", "0.004", "Raise the threshold")
