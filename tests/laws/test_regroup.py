"""A stored result at a stricter threshold is what a run at that threshold finds, from the documents themselves."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import neardup as nd
from neardup.deduplication.join.criterion import shared_by, similarity_of
from neardup.deduplication.run import find
from neardup.deduplication.run.account import Chaining
from neardup.deduplication.run.lost_text import COLUMNS
from neardup.deduplication.run.regroup import outcomes
from neardup.deduplication.run.stages import groups
from neardup.deduplication.run.stages.records import Inputs
from neardup.errors import SettingError
from neardup.io.readers import choose_columns, open_files
from neardup.settings import Settings
from neardup.settings.measures import MEASURES
from support import shared_data
from support.grouped import HOWS, expected_groups, groups_of
from support.made_texts import Writer, resemblance
from support.messages import each_has_parts, has_parts

CERTAIN = 0.999999
TABLES = ("pairs", "groups", "copies", "ranks", "removed", "not_judged")
OF_THE_MOMENT: dict[str, Any] = {"seconds": {}, "peak_memory_bytes": 0}

RULES: list[dict[str, Any]] = [
    {"keep": "longest"},
    {"keep": "first", "only_contained": 0.97, "measure": "containment"},
    {"keep": "last", "measure": "overlap"},
    {"keep": "first", "measure": "overlap-max"},
    {"keep": "longest", "measure": "dice", "only_contained": 0.9},
    {"keep": "longest", "measure": "cosine"},
    {"keep": "max:score", "only_contained": 0.9},
    {"keep": "longest", "measure": "chunk-union", "matching": "information"},
    {"keep": "first", "measure": "chunk-longest", "only_contained": 0.9},
    {"keep": "max:score", "measure": "multiset", "only_contained": 0.95},
    {"keep": "last", "measure": "vocabulary"},
    {"keep": "first", "measure": "lcs"},
]


def rule_id(rules: dict[str, Any]) -> str:
    return "-".join(map(str, rules.values()))


def test_every_rule_has_an_id_of_its_own() -> None:
    assert len(set(map(rule_id, RULES))) == len(RULES)


def assert_same(stored: nd.Found, fresh: nd.Found) -> None:
    """All tables, and the account without the entries about the search itself."""
    for name in TABLES:
        if name != "groups":
            assert getattr(stored, name).equals(getattr(fresh, name)), name
    without = [name for name in fresh.groups.column_names if name not in COLUMNS]
    assert stored.groups.select(without).equals(fresh.groups.select(without))
    assert_same_loss(stored, fresh)
    for name in ("bytes", "settings", "settings_digest", "recall", "chaining", "large_clusters"):
        assert getattr(stored.run, name) == getattr(fresh.run, name), name
    said = [text for text in stored.run.warnings if not text.startswith("the text lost is unknown")]
    # a stored result does not know the files of its documents
    assert said == [text for text in fresh.run.warnings if "most-removed" not in text]
    assert len(stored.run.warnings) - len(said) == (stored.run.lost.unknown > 0)
    assert counts_of(stored) == counts_of(fresh)


def assert_same_loss(stored: nd.Found, fresh: nd.Found) -> None:
    """The same shingles, unknown only where several documents of a group stay; passages are not stored."""
    staying = Counter(row["group"] for row in fresh.groups.to_pylist() if row["kept"])
    for row, expected in zip(stored.groups.to_pylist(), fresh.groups.to_pylist(), strict=True):
        assert row["shingles"] == expected["shingles"]
        if row["lost_shingles"] is None and not row["kept"]:
            assert staying[row["group"]] > 1 or stored.run.settings["groups"] == "components"
        else:
            assert row["lost_shingles"] == expected["lost_shingles"]
    if not stored.run.lost.unknown:
        totals = ("removed", "losing", "unknown", "shingles", "lost")
        assert [getattr(stored.run.lost, name) for name in totals] == [
            getattr(fresh.run.lost, name) for name in totals
        ]


def counts_of(found: nd.Found) -> dict[str, int]:
    """Return the counts without those of the search itself."""
    return {
        name: n for name, n in structs.asdict(found.run.counts).items() if name not in ("candidates", "verified")
    }


def assert_law(stored: nd.Found, fresh: nd.Found, least: float) -> None:
    """The same; only where components broke up some similarities may be missing (``least``: stored threshold)."""
    if stored.groups["similarity"].null_count == 0:
        assert_same(stored, fresh)
    else:
        assert_same_but_for_chained(stored, fresh, least)


def assert_outcomes(stored: nd.Found, thresholds: list[float]) -> None:
    """The counts alone are those of the whole results."""
    whole = [(threshold, stored.at(threshold)) for threshold in thresholds]
    expected = [(value, of.run.counts.groups, of.groups.num_rows, of.run.counts.removed) for value, of in whole]
    assert list(outcomes(stored, thresholds)) == expected


def exactly(documents: pa.Table, threshold: float, **rules: Any) -> nd.Found:
    return nd.find(documents, text="text", threshold=threshold, method="exact", pairs="all", **rules)


# --- the law


def scored(name: str) -> pa.Table:
    texts = list(shared_data.documents(name).values())
    choose = random.Random(name)
    return pa.table({"text": texts, "score": [choose.randrange(50) for _ in texts]})


@pytest.mark.part(14)
@pytest.mark.parametrize("rules", RULES, ids=rule_id)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", ["own", "django_docs", "site_policy", "license_texts", "irplag_java"])
def test_real_texts(name: str, how: str, rules: dict[str, Any]) -> None:
    documents = scored(name)
    low = exactly(documents, 0.5, groups=how, **rules)
    high = exactly(documents, 0.8, groups=how, **rules)
    assert 0 < high.pairs.num_rows < low.pairs.num_rows
    assert_law(low.at(0.8), high, 0.5)


@pytest.mark.part(9)
@pytest.mark.parametrize("rules", RULES, ids=rule_id)
@pytest.mark.parametrize("how", HOWS)
def test_real_texts_with_a_reference_set(how: str, rules: dict[str, Any]) -> None:
    """Every third text is old; both sets number their documents from 0, so that an id alone is ambiguous."""
    documents = scored(shared_data.or_own("license_texts"))
    old = [k % 3 == 0 for k in range(documents.num_rows)]
    against, new = documents.filter(pa.array(old)), documents.filter(pa.array([not is_old for is_old in old]))
    low = exactly(new, 0.5, against=against, groups=how, **rules)
    high = exactly(new, 0.75, against=against, groups=how, **rules)
    assert low.ranks["reference"].unique().to_pylist() == [True, False]
    assert 0 < high.pairs.num_rows < low.pairs.num_rows
    assert_law(low.at(0.75), high, 0.5)
    assert_outcomes(low, [0.5, 0.75, 0.9])


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join)
CORPORA = st.lists(WORDS, max_size=24)
TENTHS = st.integers(3, 10)


@given(CORPORA, CORPORA, TENTHS, TENTHS, st.sampled_from(HOWS), st.sampled_from(RULES))
def test_made_texts(new: list[str], old: list[str], one: int, other: int, how: str, rules: dict[str, Any]) -> None:
    """Sets of at most eight letters: copies, empty texts, ties and pairs exactly at a threshold are many."""
    documents = pa.table({"text": pa.array(new, pa.string()), "score": [len(text) % 5 for text in new]})
    against = {"against": pa.table({"text": old})} if old else {}
    lower, higher = sorted((one / 10, other / 10))
    with pytest.MonkeyPatch.context() as patch:
        # giving back memory takes longer than all the rest of so small a run
        patch.setattr(groups, "release_memory", lambda: None)
        low, high = (
            exactly(documents, threshold, length=1, groups=how, **against, **rules)
            for threshold in (lower, higher)
        )
    assert_law(low.at(higher), high, lower)
    assert_outcomes(low, [lower, higher, 1.0])


def assert_same_but_for_chained(stored: nd.Found, fresh: nd.Found, least: float) -> None:
    """What only a chain joins may lack its similarity, which is then below the stored threshold."""
    assert stored.run.settings["groups"] == "components"
    for name in ("pairs", "copies", "ranks"):
        assert getattr(stored, name).equals(getattr(fresh, name)), name
    unknown = 0
    for row, expected in zip(stored.groups.to_pylist(), fresh.groups.to_pylist(), strict=True):
        if row["similarity"] is None:
            unknown += 1
            assert expected["similarity"] < least
            measure = Settings.of(**stored.run.settings).search.in_words
            assert f"chain of pairs: {measure} not stored" in row["reason"]
            assert row["kept"] or stored.run.settings["only_contained"] == 0
            row = {**row, **{name: expected[name] for name in ("similarity", "reason", "kept")}}
        assert {**row, **{name: expected[name] for name in COLUMNS}} == expected
    assert stored.run.chaining.groups == fresh.run.chaining.groups
    assert f"is unknown for {unknown} document" in " ".join(stored.run.warnings)


# --- whatever was stored


def assert_steps_do_not_matter(found: nd.Found, middle: float, high: float) -> None:
    straight, stepwise = found.at(high), found.at(middle).at(high)
    for name in TABLES:
        assert getattr(stepwise, name).equals(getattr(straight, name)), name
    same = (structs.replace(found.run, **OF_THE_MOMENT) for found in (stepwise, straight))
    assert len(set(map(repr, same))) == 1
    assert straight.run.regrouped_from.threshold == found.run.settings["threshold"]


@pytest.mark.part(2)
@pytest.mark.parametrize("how", HOWS)
def test_two_steps_are_one(how: str) -> None:
    found = nd.find(
        scored(shared_data.or_own("license_texts")), text="text", threshold=0.5, groups=how, method="lsh"
    )
    assert found.at(0.5) is found
    assert_steps_do_not_matter(found, 0.7, 0.85)


@pytest.mark.parametrize("how", ["principal", "complete"])
def test_pairs_found_by_lsh_are_grouped_by_the_definition(how: str) -> None:
    documents = scored(shared_data.or_own("irplag_java"))
    found = nd.find(documents, text="text", threshold=0.5, keep="first", groups=how, method="lsh")
    first = shared_data.firsts(shared_data.or_own("irplag_java"))
    pairs = {
        (row["id_a"], row["id_b"]): Fraction(row["shared"], row["size_a"] + row["size_b"] - row["shared"])
        for row in found.pairs.to_pylist()
    }
    near = {ends: similarity for ends, similarity in pairs.items() if similarity >= Fraction(7, 10)}
    assert 0 < len(near) < len(pairs)
    expected = expected_groups(how, near, range(documents.num_rows))
    without_copies = {head: {k for k in of if first[k] == k} for head, of in groups_of(found.at(0.7)).items()}
    assert {head: of for head, of in without_copies.items() if len(of) > 1} == expected


@pytest.mark.part(3)
@pytest.mark.parametrize("how", HOWS)
def test_of_a_crowd_only_proven_pairs_are_left_and_a_warning(how: str) -> None:
    """A page 1 300 times, each with a number of words of its own: pairs within are not all written."""
    writer = Writer(seed=41)
    page = writer.text(100)
    found = nd.find([f"{page} {writer.text(k % 12)}" for k in range(1300)], recall=CERTAIN, groups=how)
    assert found.run.large_clusters
    stored = found.at(0.85)
    (said,) = [text for text in stored.run.warnings if "--pairs all" in text]
    assert has_parts(said, "left out", "1 large cluster of 1,")
    ends = set(zip(stored.pairs["id_a"].to_pylist(), stored.pairs["id_b"].to_pylist(), strict=True))
    first = {row["id"]: row["copy_of"] for row in stored.copies.to_pylist()}
    gone = stored.removed.to_pylist()
    assert gone
    if how != "components":
        for row in gone:
            own, kept = (first.get(id, id) for id in (row["id"], row["kept_id"]))
            assert own == kept or (min(own, kept), max(own, kept)) in ends
    assert_steps_do_not_matter(found, 0.82, 0.85)


# --- chains


def chain(steps: list[int]) -> list[str]:
    """Return versions of 300 words, each the one before with some words replaced, at another place."""
    writer = Writer(seed=42)
    versions = [writer.words(300)]
    for k, replaced in enumerate(steps):
        words = list(versions[-1])
        words[10 + 60 * k : 10 + 60 * k + replaced] = writer.words(replaced)
        versions.append(words)
    neighbours = [resemblance(a, b) for a, b in pairwise(versions)]
    for similarity, replaced in zip(neighbours, steps, strict=True):
        assert 0.82 < similarity < 0.85 if replaced == 24 else similarity > 0.85
    return [" ".join(words) for words in versions]


def test_a_chain_with_the_same_representative_keeps_its_similarities() -> None:
    """The first pair stands, the last breaks away: 0 leads 1, 2 and 3 as before, of which 3 is far."""
    documents = pa.table({"text": chain([18, 18, 18, 24])})
    rules = {"groups": "components", "keep": "first", "only_contained": 0.5}
    low, high = (exactly(documents, threshold, **rules) for threshold in (0.8, 0.85))
    assert groups_of(low) == {0: frozenset(range(5))}
    assert groups_of(high) == {0: frozenset(range(4))}
    assert min(high.groups["similarity"].to_pylist()) < 0.8
    assert_same(low.at(0.85), high)


def test_a_chain_with_another_representative_has_similarities_that_nobody_stored() -> None:
    documents = pa.table({"text": chain([24, 18, 18, 18])})
    low = exactly(documents, 0.8, groups="components", keep="first")
    stored = low.at(0.85)
    assert groups_of(stored) == {1: frozenset({1, 2, 3, 4})}
    assert stored.groups["similarity"].null_count == 2
    assert has_parts(stored.groups["reason"].to_pylist()[3], "near copy of 1", "chain of pairs", "not stored")
    assert stored.run.chaining == Chaining(groups=1, weakest=None, components_would_chain=0)
    assert each_has_parts(
        stored.run.warnings,
        ("similarity to the representative", "unknown for 2 documents", "chain of pairs at this threshold"),
        ("text lost is unknown for 2 documents", "Run neardup on the documents"),
        ("1 group", "below the threshold 0.85"),
    )
    assert_same_but_for_chained(stored, exactly(documents, 0.85, groups="components", keep="first"), 0.8)
    spared = exactly(documents, 0.8, groups="components", keep="first", only_contained=0.1).at(0.85)
    # what the kept document holds of these two is not known: they are not removed
    assert spared.removed["id"].to_pylist() == [2]
    reason = spared.groups["reason"].to_pylist()[3]
    assert has_parts(reason, "; kept: its share", "not stored")


SIZES = st.integers(1, 10**9)


@given(st.sampled_from(sorted(MEASURES)), SIZES, SIZES, st.floats(0, 1))
def test_a_stored_similarity_tells_how_many_shingles_are_shared(
    measure: str, own: int, other: int, of: float
) -> None:
    shared = np.array([round(of * min(own, other))])
    sizes = np.array([own]), np.array([other])
    similarity = similarity_of(shared, *sizes, MEASURES[measure].formula)
    assert shared_by(similarity, *sizes, MEASURES[measure].formula) == shared


# --- exactly at a threshold


def test_a_pair_exactly_at_the_threshold_stays() -> None:
    words = [f"word{k}" for k in range(14)]
    found = nd.find([" ".join(words), " ".join(words[:13])], threshold=0.3, recall=CERTAIN)
    (pair,) = found.pairs.to_pylist()
    assert (pair["shared"], pair["size_a"], pair["size_b"]) == (9, 10, 9)
    assert found.at(0.9).pairs.num_rows == 1
    assert found.at(0.900001).pairs.num_rows == 0
    assert found.at(0.900001).groups.num_rows == 0


def test_a_document_whose_partner_joined_another_may_lead_a_group_of_its_own() -> None:
    """1 is near 0 and, less so, 2 near 1 alone: 1 joins 0 and 2 stands alone, until 0 and 1 are too far apart."""
    writer = Writer(seed=43)
    page = writer.words(300)
    versions = [page[:230] + writer.words(30), page[:260], page[:290]]
    near, nearer = resemblance(versions[0], versions[1]), resemblance(versions[1], versions[2])
    assert resemblance(versions[0], versions[2]) < 0.75 < near < 0.85 < nearer
    found = nd.find([" ".join(words) for words in versions], threshold=0.75, keep="first", recall=CERTAIN)
    assert groups_of(found) == {0: frozenset({0, 1})}
    assert groups_of(found.at(0.85)) == {1: frozenset({1, 2})}
    assert found.ranks["id"].to_pylist() == [0, 1, 2]
    assert found.at(0.85).ranks["id"].to_pylist() == [1, 2]


def test_the_outcomes_of_a_run_that_removes_nothing(tmp_path: Path) -> None:
    texts = [" ".join("abcdefgh"[first : first + 5]) for first in (0, 0, 1, 2, 3)]
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts), encoding="utf-8")
    settings = Settings.of(length=1, threshold=0.5)
    documents = open_files([str(rows)], reading=settings.reading)
    inputs = Inputs(documents, choose_columns(documents, "text", None), settings, action="group")
    found = find.run(inputs).found
    assert found.run.counts.removed == 0
    assert_outcomes(found, [0.5, 0.6, 0.9])
    with pytest.raises(SettingError):
        list(outcomes(found, [0.4]))


def test_documents_without_text_count_among_the_removed() -> None:
    found = nd.find(["", "a b c d", "a b c e", "a b c d f", "..."], length=1, threshold=0.5, empty="drop")
    assert found.run.counts.removed == 4
    assert_outcomes(found, [0.5, 0.7, 1.0])
