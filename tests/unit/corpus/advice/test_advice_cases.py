"""The recommended settings on hard cases: nearly the best of a grid, or the advice says that it is unsure."""

from __future__ import annotations

import numpy as np
import pytest

import neardup as nd
from neardup.corpus.advice import effects
from support.advice_grid import ENOUGH, grid, score, together
from support.made_advice_cases import CASES
from support.messages import has_parts

SEEDS = (1, 2, 3)

SURE = {"mixed scans", "forms", "mail", "contracts", "articles and abstracts"}
"""The cases that must be sure, even small ones. The others have few pairs, or relatives of several kinds."""


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_the_recommendation_is_right_or_unsure(name: str, seed: int) -> None:
    texts, families = CASES[name].made(seed, CASES[name].small)
    advice, truth = nd.advise(texts), together(families)
    groups = nd.find(texts, **advice.recommended.settings).groups
    found = np.arange(len(texts))
    found[groups["id"].to_numpy()] = -1 - groups["group"].to_numpy()
    best = max(score(together(one), truth)[0] for _, one in grid(texts))
    reached = score(together(found), truth)[0]
    assert reached >= ENOUGH * best or not advice.seen.sure, advice.recommended.command
    assert advice.seen.sure == (advice.seen.doubt == "")
    assert advice.seen.sure or name not in SURE, advice.seen.doubt
    if name in ("one pair", "strangers"):
        assert reached == best == 1


def test_a_gap_of_few_pairs_is_unsure_and_says_how_many() -> None:
    texts, _ = CASES["one pair"].made(1, 40)
    advice = nd.advise(texts)
    assert (advice.seen.outcome, advice.seen.sure) == ("gap", False)
    assert "Only 1 pair of versions" in advice.seen.doubt
    assert not any(look.clear or look.expected_f1 for look in advice.seen.looks if look.pairs == 1)
    for said in (str(advice), advice._repr_html_()):
        assert has_parts(" ".join(said.split()), "unsure", "1 pair")
    assert "\n\nThe closest at" in str(advice)  # a paragraph of its own
    assert "19 of 20" not in " ".join(advice.recommended.reasons)


def test_the_table_of_effects_has_the_row_of_the_recommendation() -> None:
    texts, _ = CASES["mixed scans"].made(1, 12)
    texts += texts[:3]
    advice = nd.advise(texts)
    removed = nd.find(texts, **advice.recommended.settings).run.counts.removed
    asked = next(step for step in advice.thresholds if step.threshold == advice.settings["threshold"])
    assert advice.recommended.effect.removed == removed > asked.removed == 3
    assert advice.recommended.documents == len(texts)
    (row,) = [line for line in str(advice).splitlines() if line.startswith(" recommended")]
    assert row.split()[3] == str(removed)
    assert "<td>recommended" in advice._repr_html_() or ">recommended<" in advice._repr_html_()


def test_the_effect_is_measured_on_a_part_of_a_large_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, _ = CASES["mixed scans"].made(1, 12)
    monkeypatch.setattr(effects, "MOST_WORK", 10 * sum(len(text.encode()) for text in texts[:10]))
    advice = nd.advise(texts)
    assert advice.recommended.documents == 10
    assert "of the first 10 documents" in " ".join(str(advice).split())
