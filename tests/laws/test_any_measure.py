"""Any measure as the criterion of a run: the pairs and integers of brute force, and groups by the definition."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.join import common_text
from neardup.deduplication.run.find import run
from neardup.deduplication.run.stages.records import Inputs
from neardup.errors import SettingError
from neardup.io.readers import choose_columns, open_documents
from neardup.settings import Settings
from support import reference_measured, shared_data
from support.grouped import HOWS, expected_groups, groups_of, ids_of, pairs_of, rank_of
from support.made_texts import Writer
from support.messages import has_parts
from support.reference_matching import shingles
from support.reference_measured import MEASURES, OF_SHINGLES, Integers, counted_pairs, different, different_tokens

SETS = ("own", "django_docs", "law_de", "license_texts", "irplag_java")
EVERY = pytest.mark.parametrize(("measure", "matching"), MEASURES)
OF_SETS = [*MEASURES, *((name, "literal") for name in OF_SHINGLES)]
AND_OF_SHINGLES = pytest.mark.parametrize(("measure", "matching"), OF_SETS)
CHUNKS = [pair for pair in MEASURES if pair[0].startswith("chunk")]
TEXT = [*CHUNKS, ("lcs", "literal")]


def kind_of(measure: str, matching: str) -> str:
    return matching if measure.startswith("chunk") else measure


@pytest.mark.part(16)
@AND_OF_SHINGLES
@pytest.mark.parametrize("name", SETS)
def test_all_pairs_of_real_texts_with_their_integers(name: str, measure: str, matching: str) -> None:
    everything = counted_pairs(name, kind_of(measure, matching))
    shingles = shared_sizes(name)
    for threshold in (0.3, 0.6, 0.8, 1.0):
        least = Fraction(repr(threshold))
        expected = {pair: counts for pair, counts in everything.items() if counts.reaches(measure, least)}
        found = nd.find(different(name), measure=measure, matching=matching, threshold=threshold, pairs="all")
        assert pairs_of(found) == set(expected)
        for row in found.pairs.to_pylist():
            counts = expected[row["id_a"], row["id_b"]]
            assert Integers.of(row, measure) == counts
            assert row[measure.replace("-", "_")] == counts.shown(measure)
            assert (row["shared"], row["size_a"], row["size_b"]) == shingles(row["id_a"], row["id_b"])
        assert found.run.choice.method == "exact"
        assert measure in found.run.recall.statement


@cache
def shared_sizes(name: str) -> Any:
    """Return a function from a pair to the counts of its shingle sets; all thresholds share it."""
    sets = [set(shingles(tokens, 5)) for tokens in different_tokens(name)]
    return cache(lambda a, b: (len(sets[a] & sets[b]), len(sets[a]), len(sets[b])))


@st.composite
def collections(draw: st.DrawFn) -> list[str]:
    """Return texts over few words, some short, that are made of pieces of one another and repeat them."""
    word = st.integers(0, draw(st.sampled_from([0, 1, 3, 8, 50])))
    texts: list[list[int]] = []
    for _ in range(draw(st.integers(2, 9))):
        tokens = draw(st.lists(word, max_size=draw(st.sampled_from([3, 12, 30]))))
        for _ in range(draw(st.integers(0, 3)) if texts else 0):
            other = draw(st.sampled_from([*texts, tokens]))
            start, at = draw(st.integers(0, len(other))), draw(st.integers(0, len(tokens)))
            tokens = tokens[:at] + other[start : start + draw(st.integers(1, 25))] + tokens[at:]
        texts.append(tokens)
    return [" ".join(f"w{token}" for token in tokens) for tokens in texts]


@pytest.mark.part(3)
@AND_OF_SHINGLES
@given(
    texts=collections(),
    threshold=st.sampled_from([0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0]),
    length=st.integers(1, 6),
    how=st.sampled_from(HOWS),
)
def test_made_up_texts_give_the_pairs_and_groups_of_compare(
    measure: str, matching: str, texts: list[str], threshold: float, length: int, how: str
) -> None:
    form: dict[str, Any] = {"measure": measure, "matching": matching, "length": length, "threads": 1}
    found = nd.find(texts, threshold=threshold, groups=how, **form)
    copies = set(found.copies["id"].to_pylist()) | {k for k, text in enumerate(texts) if not text}
    values = reference_measured.by_compare(texts, measure, matching, length)
    expected = {pair: value for pair, value in values.items() if value >= threshold and not copies & set(pair)}
    rows = {(row["id_a"], row["id_b"]): row for row in found.pairs.to_pylist()}
    assert {pair: row[measure.replace("-", "_")] for pair, row in rows.items()} == expected
    if copies:
        return
    exact = {pair: Integers.of(row, measure).value(measure) for pair, row in rows.items()}
    rank = rank_of([len(text.split()) for text in texts])
    assert groups_of(found) == expected_groups(how, exact, rank)
    for row in found.groups.to_pylist():  # of components, also those far from their representative
        if not row["representative"]:
            pair = min(row["id"], row["group"]), max(row["id"], row["group"])
            assert row["similarity"] == values[pair]


@pytest.mark.part(4)
@AND_OF_SHINGLES
def test_a_reference_set_is_compared_with_and_not_searched(measure: str, matching: str) -> None:
    texts = different(shared_data.or_own("license_texts"))
    old, new = texts[:70], texts[70:]
    form: dict[str, Any] = {"measure": measure, "matching": matching, "threshold": 0.6, "pairs": "all"}
    found = nd.find(new, against=old, **form)
    together = pairs_of(nd.find(texts, **form))
    expected = {(a, b) for a, b in together if b >= 70}
    rows = found.pairs.to_pylist()
    numbers = {(row["id_a"] if row["a_in_reference"] else row["id_a"] + 70, row["id_b"] + 70) for row in rows}
    assert numbers == expected
    assert any(row["a_in_reference"] for row in rows)


@pytest.mark.part(4)
@EVERY
def test_threads_change_nothing(measure: str, matching: str) -> None:
    tables = [
        nd.find(
            different(shared_data.or_own("law_de")),
            measure=measure,
            matching=matching,
            threshold=0.4,
            threads=threads,
        )
        for threads in (1, 3)
    ]
    assert tables[0].pairs.equals(tables[1].pairs)
    assert tables[0].groups.equals(tables[1].groups)


@pytest.mark.part(4)
@pytest.mark.parametrize(("measure", "matching"), TEXT)
def test_small_tasks_change_nothing(measure: str, matching: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form: dict[str, Any] = {"measure": measure, "matching": matching, "threshold": 0.3, "groups": "components"}
    plain = nd.find(different(shared_data.or_own("site_policy")), **form)
    for name, size in (("_SLICE", 7), ("_ENOUGH", 1), ("_PAIRS", 3)):
        monkeypatch.setattr(common_text, name, size)
    monkeypatch.setattr(common_text, "_SLICE", 5)
    small = nd.find(different(shared_data.or_own("site_policy")), **form, memory=0.001)  # in temporary files
    assert plain.pairs.equals(small.pairs)
    assert plain.groups.equals(small.groups)


def test_characters_are_chunks_too() -> None:
    texts = ["Report on the state of the roads", "Report 0n the state of the roads", "Nothing alike here at all"]
    found = nd.find(texts, unit="char", measure="chunk-union", threshold=0.8)
    (row,) = found.pairs.to_pylist()
    compared = nd.compare(*texts[:2], unit="char").measures
    assert (row["common"], row["chunk_union"]) == (compared["common_literal"], compared["chunk_union_literal"])


def test_a_text_pasted_twice_is_the_same_by_information() -> None:
    words = Writer(seed=81).words(40)
    texts = [" ".join(words), " ".join(words + words), " ".join(Writer(seed=82).words(40))]
    found = nd.find(texts, measure="chunk-union", matching="information", threshold=1.0)
    assert found.removed.to_pylist() == [
        {
            "id": 0,
            "kept_id": 1,
            "similarity": 1.0,
            "reason": "near copy of 1: chunk-union by information 1.000",
        }
    ]
    assert has_parts(str(found.why(0)), "have 40 tokens", "100.0 % of the 40 in 0")
    assert nd.find(texts, measure="chunk-union", threshold=0.6).pairs.num_rows == 0
    (row,) = nd.find(texts, measure="chunk-union", threshold=0.5).pairs.to_pylist()
    assert (row["common"], row["total_a"], row["total_b"], row["chunk_union"]) == (40, 40, 80, 0.5)


def test_only_what_the_kept_document_contains_goes() -> None:
    """--only-contained asks for shingles whatever the measure is."""
    words = Writer(seed=83).words(60)
    moved = words[30:] + words[:30]
    texts = [" ".join([*words, "end"]), " ".join(moved)]
    form: dict[str, Any] = {"measure": "vocabulary", "threshold": 0.9}
    assert nd.find(texts, **form).removed["id"].to_pylist() == [1]
    assert nd.find(texts, **form, only_contained=0.9).removed["id"].to_pylist() == [1]
    assert nd.find(texts, **form, only_contained=0.99).removed["id"].to_pylist() == []
    (row,) = nd.find(texts, **form).pairs.to_pylist()
    assert 0.9 <= row["containment_b"] < 0.99


def test_boilerplate_that_is_not_enough_proposes_nothing() -> None:
    """A page that hundreds of texts share covers less of each than the threshold asks: no pair meets."""
    writer = Writer(seed=84)
    page = writer.words(60)
    texts = [" ".join([*writer.words(40), *page]) for _ in range(300)]
    found = nd.find(texts, measure="chunk-longest", threshold=0.8)
    assert found.pairs.num_rows == 0
    documents = open_documents(texts)
    form = Settings.of(measure="chunk-longest", threshold=0.8)
    looked = run(Inputs(documents, choose_columns(documents, None, None), form))
    assert looked.run.search.compared < 100  # of 44,850 pairs
    assert nd.find(texts, measure="chunk-longest", threshold=0.6).pairs.num_rows == 300 * 299 // 2


@pytest.mark.parametrize("measure", ["vocabulary", "multiset"])
def test_an_audit_of_sets_finds_nothing_missed(measure: str) -> None:
    found = nd.find(
        different(shared_data.or_own("django_docs")), measure=measure, threshold=0.5, audit=1000, pairs="all"
    )
    audit = found.run.audit
    assert audit.pairs == audit.found == found.pairs.num_rows > 0
    assert found.missed is not None
    assert found.missed.schema.equals(found.pairs.schema)
    assert found.missed.num_rows == 0


def test_an_audit_lists_a_lost_pair_with_all_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    form: dict[str, Any] = {"measure": "multiset", "threshold": 0.5}
    whole = nd.find(different(shared_data.or_own("django_docs")), **form)
    with monkeypatch.context() as patch:
        patch.setattr(
            "neardup.deduplication.join.prefix_join.joined_pairs",
            lambda *given: (np.zeros((0, 3), np.int64), given[2][1]),
        )
        lossy = nd.find(different(shared_data.or_own("django_docs")), **form, audit=1000)
    assert lossy.missed is not None
    assert lossy.missed.num_rows > 0
    assert ids_of(lossy.missed) | pairs_of(lossy) == pairs_of(whole)
    missed = {(row["id_a"], row["id_b"]): row for row in lossy.missed.to_pylist()}
    assert [row for row in whole.pairs.to_pylist() if (row["id_a"], row["id_b"]) in missed] == list(
        missed.values()
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("text", ["", "one two", "one two three four five"])
@EVERY
def test_nothing_to_find(text: str, measure: str, matching: str) -> None:
    for texts in ([text], [text, text], [text, "quite another text of seven words altogether"]):
        found = nd.find(texts, measure=measure, matching=matching, threshold=0.1)
        assert found.pairs.num_rows == 0
        assert found.pairs.column_names[-4:-1] == ["common", "total_a", "total_b"]


def test_what_is_not_counted_in_full_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_text, "MOST_RUNS", 4)
    chosen = random.Random(1)
    texts = [" ".join(chosen.choices(("x", "y"), k=600)) for _ in range(2)]
    found = nd.find(texts, measure="chunk-union", threshold=0.1)
    (warning,) = found.run.warnings
    assert has_parts(warning, "undercounted", "1 pair: ")
    assert nd.find(map(" ".join, ("abcdef", "abcdeg")), measure="chunk-union", threshold=0.1).run.warnings == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"measure": "chunk-union", "method": "lsh"}, "measure resemblance"),
        ({"measure": "multiset", "method": "lsh"}, "measure resemblance"),
        ({"measure": "chunk-longest", "audit": 10}, "every pair is found anyway"),
        ({"measure": "lcs", "audit": 10}, "every pair is found anyway"),
        ({"measure": "lcs", "method": "lsh"}, "measure resemblance"),
        ({"measure": "vocabulary", "unit": "char"}, "Choose unit word"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        nd.find(["a b c d e f"], **values)


@pytest.mark.part(3)
@EVERY
def test_the_real_sets_have_pairs_of_every_kind(measure: str, matching: str) -> None:
    """So that the laws above are about something."""
    values = counted_pairs("own", kind_of(measure, matching)).values()
    assert sum(counts.reaches(measure, Fraction(4, 5)) for counts in values) > 20
