"""Crowds with common text: only the pairs with leaders are counted, and the results are those of all pairs."""

from __future__ import annotations

import random

import pytest

import neardup as nd
import neardup.deduplication.group.leaders
from neardup.deduplication.join import common_crowds, common_text

FEW = 8


@pytest.fixture(autouse=True)
def small_crowds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd of nine documents."""
    for module in (common_crowds, neardup.deduplication.group.leaders):
        monkeypatch.setattr(module, "CROWD", FEW)
    monkeypatch.setattr(common_crowds, "_BATCH", 16)


def families(draw: random.Random) -> list[str]:
    """Texts of a few templates with words changed, some cut off, and texts of their own, in any order."""
    stock = [f"w{number}" for number in range(300)]
    texts = []
    for _ in range(draw.randint(1, 3)):
        template = draw.choices(stock, k=draw.randint(12, 30))
        for _ in range(draw.randint(5, 60)):
            changed = list(template)
            for place in draw.sample(range(len(changed)), draw.randint(0, 3)):
                changed[place] = draw.choice(stock)
            texts.append(" ".join(changed[: draw.choice([len(changed), len(changed), 10])]))
    texts += [" ".join(draw.choices(stock, k=20)) for _ in range(draw.randint(0, 10))]
    # texts that share a half with a family, and come first in the order: longer ones are kept
    texts += [f"{draw.choice(texts)} {draw.choice(texts)}" for _ in range(draw.randint(0, 6))]
    draw.shuffle(texts)
    return texts


@pytest.mark.parametrize("measure", ["chunk-union", "chunk-longest", "lcs"])
@pytest.mark.parametrize("seed", range(6))
def test_a_crowd_has_the_groups_and_pairs_of_a_full_count(
    measure: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = families(random.Random(seed))
    settings = {"measure": measure, "threshold": 0.5 + 0.1 * (seed % 4), "length": 2}
    quick = nd.find(texts, **settings)
    monkeypatch.setattr(common_text, "crowds_of", lambda *_: None)
    full = nd.find(texts, **settings)
    assert quick.groups.equals(full.groups)
    assert quick.pairs.equals(full.pairs)
    assert quick.run.large_clusters == full.run.large_clusters
    assert quick.run.popular == full.run.popular


def test_most_pairs_of_a_crowd_are_not_counted() -> None:
    template = [f"w{number}" for number in range(60)]
    texts = [" ".join([*template[:30], f"x{number}", *template[31:]]) for number in range(400)]
    found = nd.find(texts, measure="chunk-union", threshold=0.7)
    assert found.run.counts.verified < 20 * len(texts)
    assert found.pairs.num_rows == len(texts) - 1
