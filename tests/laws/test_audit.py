"""An audit finds the true pairs of the drawn documents, and says of each whether the run has it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.join import search
from neardup.deduplication.join.pairs import PairRoom
from neardup.deduplication.run.find import run
from neardup.deduplication.run.recall import SEED, Strata, allocate, draw
from neardup.deduplication.run.stages import groups
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import choose_columns, open_documents
from neardup.text.intervals import Sampled, share_of_totals
from support import reference, reference_audit, shared_data
from support.made_texts import Writer, punctuated
from support.messages import has_parts

EVERYTHING = 1_000_000
WEAK: dict[str, Any] = {"method": "lsh", "threshold": 0.5, "recall": 0.5, "slots": 8, "pairs": "all"}
"""A plan that misses many pairs: four bands of two rows."""

SIZES = ["short", "medium", "long"]

Pair = tuple[int, int]


def texts_of(name: str) -> list[str]:
    return list(shared_data.documents(name).values())


@cache
def true_pairs(name: str, threshold: float) -> frozenset[Pair]:
    least = Fraction(repr(threshold))
    return frozenset(p for p, c in shared_data.all_pairs(name).items() if Fraction(c.shared, c.union) >= least)


def pairs_in(table: pa.Table | None) -> set[Pair]:
    assert table is not None
    return set(zip(table["id_a"].to_pylist(), table["id_b"].to_pylist(), strict=True))


def naive_strata(name: str, found: set[Pair]) -> dict[int, str]:
    """Return the strata of the documents that stand for themselves."""
    tokens, first = shared_data.tokens(name), shared_data.firsts(name)
    units = {k: len(tokens[k]) for k in range(len(tokens)) if first[k] == k and tokens[k]}
    return reference_audit.strata(units, {end for pair in found for end in pair})


def numbers_drawn(strata: dict[int, str], wanted: int) -> list[int]:
    """Return the ids of the documents that are drawn from these strata."""
    names = sorted(set(strata.values()), key=lambda name: (SIZES.index(name.split(",")[0]), name))
    ids, of = list(strata), np.array([names.index(name) for name in strata.values()])
    return [ids[k] for k in draw(Strata(of, tuple(names)), wanted)]


def weights(strata: dict[int, str], drawn: list[int]) -> dict[int, Fraction]:
    """Return N/n of the stratum of each drawn document."""
    names = list(strata.values())
    of_drawn = [strata[k] for k in drawn]
    return {k: Fraction(names.count(strata[k]), of_drawn.count(strata[k])) for k in drawn}


@pytest.mark.part(3)
@pytest.mark.parametrize("threshold", [0.3, 0.8])
@pytest.mark.parametrize("name", ["own", "license_texts", "irplag_java"])
def test_pairs_by_their_overlap_are_audited_as_such(name: str, threshold: float) -> None:
    found = nd.find(texts_of(name), threshold=threshold, measure="overlap", audit=EVERYTHING)
    least = Fraction(repr(threshold))
    true = [p for p, c in shared_data.all_pairs(name).items() if c.shared >= least * min(c.size_a, c.size_b)]
    said = found.run.audit
    assert said.pairs == said.found == len(true) > 0


@pytest.mark.part(2)
@pytest.mark.parametrize("threshold", [0.3, 0.8])
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_the_exact_method_has_no_miss(name: str, threshold: float) -> None:
    found = nd.find(texts_of(name), threshold=threshold, method="exact", audit=EVERYTHING)
    said = found.run.audit
    assert said.pairs == said.found == len(true_pairs(name, threshold)) > 0
    assert pairs_in(found.missed) == set()
    assert (said.recall, said.low, said.high) == (1, 1, 1)
    assert said.by_document.recall == 1


def test_an_exact_join_that_loses_pairs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the join is believed: take every third pair away behind its back."""
    name, whole = shared_data.or_own("license_texts"), groups.group_found

    def lossy(*arguments: Any) -> Any:
        grouped = whole(*arguments)
        kept = grouped.pairs.filter(lambda some: np.arange(some.num_rows) % 3 != 0, PairRoom())
        return replace(grouped, leader=np.arange(len(grouped.leader)), pairs=kept)

    monkeypatch.setattr(groups, "group_found", lossy)
    found = nd.find(texts_of(name), threshold=0.5, method="exact", audit=EVERYTHING)
    assert pairs_in(found.missed) == true_pairs(name, 0.5) - pairs_in(found.pairs)
    assert len(pairs_in(found.missed)) == -(-len(true_pairs(name, 0.5)) // 3)
    assert any("defect" in warning for warning in found.run.warnings)


def test_a_search_below_its_plan_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = search.band_candidates

    def lossy(*arguments: Any) -> Any:
        proposed = whole(*arguments)
        return replace(proposed, pairs=proposed.pairs.part(len(proposed.pairs) // 3, len(proposed.pairs)))

    texts = texts_of(shared_data.or_own("license_texts"))
    assert nd.find(texts, method="lsh", audit=EVERYTHING).run.warnings == []
    monkeypatch.setattr(search, "band_candidates", lossy)
    (warning,) = nd.find(texts, method="lsh", audit=EVERYTHING).run.warnings
    assert has_parts(warning, "the audit", "recall at 0.")
    assert "below the 0.990 that was planned" in warning


@pytest.mark.part(4)
@pytest.mark.parametrize("name", shared_data.PROSE)
def test_an_audit_of_all_lists_just_what_brute_force_has_and_the_run_has_not(name: str) -> None:
    found = nd.find(texts_of(name), **WEAK, audit=EVERYTHING)
    oracle, pairs = true_pairs(name, 0.5), pairs_in(found.pairs)
    assert pairs_in(found.missed) == oracle - pairs
    assert found.missed is not None
    assert found.missed.schema == found.pairs.schema
    for row in found.missed.to_pylist():
        counted = shared_data.all_pairs(name)[row["id_a"], row["id_b"]]
        assert (row["shared"], row["size_a"], row["size_b"]) == (counted.shared, counted.size_a, counted.size_b)
        assert row["resemblance"] == counted.resemblance
    said = found.run.audit
    assert (said.pairs, said.found) == (len(oracle), len(pairs))
    assert said.recall == said.low == said.high == pytest.approx(len(pairs) / len(oracle))


def test_the_weak_plan_does_miss_pairs() -> None:
    """Else the tests beside this one compare nothing with nothing."""
    missed = sum(
        pairs_found.missed.num_rows
        for pairs_found in map(weakly, (shared_data.or_own("license_texts"), shared_data.or_own("irplag_java")))
    )
    assert missed > 40  # closing finds most of what is missed together


def weakly(name: str, audit: int = EVERYTHING) -> Any:
    return nd.find(texts_of(name), **WEAK, audit=audit)


@pytest.mark.part(3)
@pytest.mark.parametrize("wanted", [1, 5, 6, 40, 100, EVERYTHING])
@pytest.mark.parametrize("name", ["own", "license_texts", "irplag_java"])
def test_every_number_is_that_of_the_definition(name: str, wanted: int) -> None:
    found = weakly(name, wanted)
    said, pairs, true = found.run.audit, pairs_in(found.pairs), true_pairs(name, 0.5)
    strata = naive_strata(name, pairs)
    if wanted < len(set(strata.values())):
        strata = dict.fromkeys(strata, "all")
        drawn = [list(strata)[k] for k in draw(Strata(np.zeros(len(strata), np.int64), ("all",)), wanted)]
    else:
        drawn = numbers_drawn(strata, wanted)
    assert said.drawn == len(drawn) == min(wanted, len(strata))
    assert said.documents == len(strata)
    assert {row.name for row in said.strata} == set(strata.values())
    for row in said.strata:
        mine = [document for document in drawn if strata[document] == row.name]
        counts = reference_audit.count(mine, true, pairs.__contains__)
        assert row.documents == list(strata.values()).count(row.name)
        assert row.drawn == len(mine)
        assert {key: getattr(row, key) for key in vars(counts)} == vars(counts)
        if counts.pairs:
            assert row.recall == pytest.approx(counts.found / counts.pairs)
    counts = reference_audit.count(drawn, true, pairs.__contains__)
    assert (said.pairs, said.found) == (counts.pairs, counts.found)
    assert pairs_in(found.missed) == {pair for pair in true - pairs if set(pair) & set(drawn)}
    if counts.pairs:
        weight = weights(strata, drawn)
        expected = reference_audit.pair_recall(weight, true, pairs.__contains__)
        assert said.recall == pytest.approx(float(expected))
        expected = reference_audit.document_recall(weight, true, pairs.__contains__)
        assert said.by_document.recall == pytest.approx(float(expected))
    else:
        assert said.recall is said.low is said.high is None


def test_pairs_of_two_reference_documents_are_not_looked_for() -> None:
    """Every third text is a reference document; both inputs name their documents by number."""
    name = shared_data.or_own("irplag_java")
    firsts = [k for k, first in enumerate(shared_data.firsts(name)) if first == k]
    old, new = firsts[::3], [k for place, k in enumerate(firsts) if place % 3]
    texts = texts_of(name)

    def ends(table: pa.Table | None) -> set[Pair]:
        assert table is not None
        rows = table.to_pylist()
        return {((old if row["a_in_reference"] else new)[row["id_a"]], new[row["id_b"]]) for row in rows}

    is_old = set(old)

    def by_old(pairs: AbstractSet[Pair]) -> set[Pair]:
        return {pair if pair[0] in is_old or pair[1] not in is_old else pair[::-1] for pair in pairs}

    def both(audit: int) -> nd.Found:
        return nd.find([texts[k] for k in new], against=[texts[k] for k in old], **WEAK, audit=audit)

    found = both(EVERYTHING)
    true = {pair for pair in by_old(true_pairs(name, 0.5)) if pair[1] not in is_old}
    pairs, missed = ends(found.pairs), ends(found.missed)
    assert missed == true - pairs
    assert {pair[0] in is_old for pair in missed} == {True, False}
    said = found.run.audit
    assert said.documents == said.drawn == len(new)
    # a pair counts as much with one end to be drawn as with two
    assert said.recall == pytest.approx(len(pairs) / len(true))
    thinly = both(90).run.audit
    assert thinly.low < thinly.recall < thinly.high
    assert thinly.low < said.recall < thinly.high


@pytest.mark.part(3)
@pytest.mark.parametrize("groups", ["principal", "components", "complete"])
def test_pairs_left_out_of_a_crowd_are_not_missed(groups: str) -> None:
    """1 100 forms of one page: each pair is known, only those with the representative are written."""
    page = Writer(seed=3).words(150)
    texts = [punctuated([*page[:75], f"number{k}", *page[75:]]) for k in range(1100)]
    found = nd.find(texts, threshold=0.8, groups=groups, audit=300, method="lsh")
    said = found.run.audit
    assert found.pairs.num_rows < 1100
    assert said.pairs == said.found == 300 * 299 // 2 + 300 * 800
    assert pairs_in(found.missed) == set()


def test_threads_and_chunks_change_nothing() -> None:
    texts = texts_of(shared_data.or_own("irplag_java"))
    random.Random(1).shuffle(texts)
    one, *others = [run_in_chunks(texts, threads, size) for threads, size in ((1, 1 << 23), (2, 4000), (8, 4000))]
    assert one.missed.num_rows > 10
    for other in others:
        assert other.run.audit == one.run.audit
        assert other.missed.equals(one.missed)


def run_in_chunks(texts: list[str], threads: int, size: int) -> Any:
    documents = open_documents(texts, chunk_bytes=size)
    settings = nd.Settings.of(**WEAK, audit=120, threads=threads)
    return run(Inputs(documents, choose_columns(documents, None, None), settings)).found


@pytest.mark.parametrize("texts", [[], ["", " "], ["one text that stands alone here"]])
def test_little_or_nothing_to_audit(texts: list[str]) -> None:
    found = nd.find(texts, audit=10)
    said = found.run.audit
    assert (said.pairs, said.found, said.recall) == (0, 0, None)
    assert said.drawn == said.documents == (1 if any(text.strip() for text in texts) else 0)
    assert pairs_in(found.missed) == set()


def test_no_audit_says_so() -> None:
    found = nd.find(["one text that stands alone here"])
    assert found.run.audit is None
    assert found.missed is None


@pytest.mark.parametrize("wanted", [60, 150])
def test_the_interval_of_an_audit_covers_the_recall(wanted: int) -> None:
    """Real pairs of real texts, drawn 400 times by other seeds; 95 % nominal, 90 % asked for."""
    name = shared_data.or_own("irplag_java")
    found = weakly(name)
    true, pairs = true_pairs(name, 0.5), pairs_in(found.pairs)
    strata = naive_strata(name, pairs)
    names, ids = sorted(set(strata.values())), list(strata)
    layers = Strata(np.array([names.index(strata[k]) for k in ids]), tuple(names))
    counts = (Counter(end for pair in some for end in pair) for some in (true, pairs))
    of, hits = (np.array([count[k] for k in ids]) for count in counts)
    estimates, held = [], 0
    for seed in range(400):
        drawn = draw(layers, wanted, seed * 0x9E3779B97F4A7C15 % (1 << 63))
        parts = [drawn[layers.of[drawn] == k] for k in range(len(names))]
        share = share_of_totals(
            [Sampled(int(n), hits[part], of[part]) for n, part in zip(layers.sizes, parts, strict=True)]
        )
        assert share is not None
        estimates.append(share.value)
        held += share.low <= len(pairs) / len(true) <= share.high
    print(
        f"{wanted} drawn: held {held} of 400; mean {np.mean(estimates):.4f}, recall {len(pairs) / len(true):.4f}"
    )
    assert held >= 360
    # a ratio of two sums has a small bias
    assert np.mean(estimates) == pytest.approx(len(pairs) / len(true), abs=0.02)


def test_the_draw_is_pinned() -> None:
    """An audit that is repeated draws the same documents: a known answer, and the rule it follows."""
    strata = Strata(np.arange(30) % 2, ("even", "odd"))
    assert draw(strata, 8).tolist() == [5, 9, 10, 16, 18, 20, 27, 29]
    by_hash = sorted(range(30), key=lambda k: reference.mix64(SEED + k))
    drawn = [k for half in (0, 1) for k in [k for k in by_hash if k % 2 == half][:4]]
    assert draw(strata, 8).tolist() == sorted(drawn)


@pytest.mark.parametrize("wanted", [6, 10, 100, 599, 600, 10_000])
def test_the_draw_is_even_and_random(wanted: int) -> None:
    """Every stratum gives as many as the others or all it has; each of its documents is as likely as the next."""
    sizes = np.array([3, 90, 500, 7])
    each = allocate(sizes, wanted)
    assert each.sum() == min(wanted, sizes.sum())
    assert (each <= sizes).all()
    assert (each[each < sizes] >= each.max() - 1).all()
    strata = Strata(np.random.default_rng(2).permutation(np.repeat(np.arange(4), sizes)), tuple("abcd"))
    seen = np.zeros(600)
    for seed in range(300):
        drawn = draw(strata, wanted, seed << 32)
        assert (np.diff(drawn) > 0).all()
        assert (np.bincount(strata.of[drawn], minlength=4) == each).all()
        seen[drawn] += 1
    expected = 300 * each[strata.of] / sizes[strata.of]
    # binomial: six standard deviations, in 600 · 6 comparisons
    assert (abs(seen - expected) <= 6 * np.sqrt(np.maximum(expected * (1 - expected / 300), 0)) + 1e-9).all()
