"""The exact join in parts gives the bytes of the join in memory: sets, measures, kinds of groups, limits."""

from __future__ import annotations

from typing import Any

import pytest

import neardup as nd
from neardup.deduplication.join.exact_parts import ExactParts
from support import shared_data
from support.full_run import FULL
from support.made_texts import Writer

TABLES = ("pairs", "groups", "copies", "ranks")
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"threshold": 0.8},
    "all pairs, low": {"threshold": 0.3, "pairs": "all"},
    "components": {"threshold": 0.6, "groups": "components"},
    "complete": {"threshold": 0.6, "groups": "complete"},
    "overlap": {"threshold": 0.7, "measure": "overlap"},
    "containment": {"threshold": 0.8, "measure": "containment"},
    "multiset": {"threshold": 0.7, "measure": "multiset"},
    "against": {"threshold": 0.7, "keep": "longest"},
}


@pytest.fixture
def made_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the number of parts of each run in parts."""
    numbers: list[int] = []
    plain = ExactParts.indexes

    def noted(parts: ExactParts) -> Any:
        numbers.append(len(parts.parts))
        return plain(parts)

    monkeypatch.setattr(ExactParts, "indexes", noted)
    return numbers


def assert_alike(texts: list[str], limits: tuple[float, ...], made_in: list[int], **asked: Any) -> None:
    expected = nd.find(texts, method="exact", memory=100.0, **asked)
    assert not made_in
    for limit in limits:
        found = nd.find(texts, method="exact", memory=limit, **asked)
        for name in TABLES:
            assert getattr(found, name).equals(getattr(expected, name)), (name, limit)
    assert made_in


@pytest.mark.part(3)
@pytest.mark.parametrize("kind", KINDS)
def test_one_set_with_any_settings(kind: str, made_in: list[int]) -> None:
    texts = list(shared_data.documents("own").values())
    asked = dict(KINDS[kind])
    if kind == "against":
        asked["against"] = texts[::3]
    assert_alike(texts, (0.001,), made_in, **asked)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", ["django_docs", "law_de", "license_texts"])
def test_real_sets_at_several_limits(name: str, made_in: list[int]) -> None:
    assert_alike(list(shared_data.documents(name).values()), (0.001, 0.003), made_in, threshold=0.6)


@pytest.mark.parametrize("groups", ["principal", "components"])
def test_crowds_larger_than_a_part(groups: str, made_in: list[int]) -> None:
    """Two crowds of forms among unlike texts, each larger than CROWD, one family, and a part of its own."""
    writer = Writer(7)
    heads = [writer.text(60), writer.text(60)]
    forms = [f"{heads[k % 2]} number {k} of the year {k // 7}" for k in range(2300 if FULL else 2040)]
    texts = [*(writer.text(80) for _ in range(200)), *forms, *(writer.text(80) for _ in range(200))]
    assert_alike(texts, (0.001,), made_in, threshold=0.7, groups=groups)
    assert made_in[0] >= 2
