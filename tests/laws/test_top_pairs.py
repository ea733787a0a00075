"""The most similar pairs by any measure: those of brute force over all pairs, with ties, in one order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.join import top_pairs as search
from neardup.errors import SettingError
from neardup.kernels.formulas import COSINE, RESEMBLANCE
from support import reference_measured, shared_data
from support.messages import has_parts
from support.reference_matching import shingles
from support.reference_measured import counted_pairs, different, different_tokens

OLDER = ("resemblance", "containment", "overlap")
OF_SHINGLES = (*OLDER, *reference_measured.OF_SHINGLES)
MEASURES = (*((name, "literal") for name in OF_SHINGLES), *reference_measured.MEASURES)
EVERY = pytest.mark.parametrize(("measure", "matching"), MEASURES)
SETS = ("own", "law_de", "license_texts", "irplag_java", "udhr")
SMALL = st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), max_size=9)

Row = tuple[int, int, float]


def best(values: dict[tuple[int, int], float], top: int, at: float = 0) -> list[Row]:
    """The naive twin: all pairs with something in common, sorted, down to the last one wanted and its ties."""
    rows = sorted(((-value, *pair) for pair, value in values.items() if value > 0 and value >= at))
    last = rows[min(top, len(rows)) - 1][0] if rows else 0
    return [(a, b, -value) for value, a, b in rows if value <= last]


def rows_of(found: nd.TopPairs) -> list[Row]:
    return [(row["id_a"], row["id_b"], row["similarity"]) for row in found.pairs.to_pylist()]


def compared(a: str, b: str, measure: str, matching: str, length: int) -> float:
    values = nd.compare(a, b, length=length).measures
    if measure == "containment":
        return max(values["containment_a"], values["containment_b"])
    return values[reference_measured.key_in_compare(measure, matching)]


@EVERY
@given(texts=SMALL, top=st.integers(1, 12), at=st.sampled_from([0, 0.3, 1]))
def test_the_best_pairs_of_small_documents(
    measure: str, matching: str, texts: list[str], top: int, at: float
) -> None:
    found = nd.top_pairs(texts, top=top, threshold=at, measure=measure, matching=matching, length=2)
    firsts = {text: texts.index(text) for text in texts if text}
    values = {
        (a, b): compared(texts[a], texts[b], measure, matching, 2) for a, b in combinations(firsts.values(), 2)
    }
    assert rows_of(found) == best(values, top, at)
    assert found.documents == len(firsts)
    assert found.copies == sum(map(bool, texts)) - len(firsts)


@EVERY
@given(old=SMALL, new=SMALL, top=st.integers(1, 3))
def test_the_nearest_of_each_new_document(
    measure: str, matching: str, old: list[str], new: list[str], top: int
) -> None:
    found = nd.top_pairs(new, against=old, top=top, measure=measure, matching=matching, length=2)
    expected = []
    for b, text in enumerate(new):
        if text and new.index(text) == b:
            values = {(old.index(other), b): compared(other, text, measure, matching, 2) for other in old if other}
            expected += best(values, top)
    assert rows_of(found) == expected


@EVERY
@pytest.mark.parametrize("name", SETS)
def test_the_best_pairs_of_real_texts_with_their_integers(name: str, measure: str, matching: str) -> None:
    texts, values = different(name), all_values(name, measure, matching)
    for top in (1, 10, 300):
        found = nd.top_pairs(texts, top=top, measure=measure, matching=matching)
        assert rows_of(found) == best(values, top)


def all_values(name: str, measure: str, matching: str) -> dict[tuple[int, int], float]:
    if measure not in OLDER:
        counted = counted_pairs(name, matching if measure.startswith("chunk") else measure)
        return {pair: counts.shown(measure) for pair, counts in counted.items()}
    sets = [set(shingles(tokens, 5)) for tokens in different_tokens(name)]
    whole: dict[str, Callable[[int, int, int], int]] = {
        "resemblance": lambda shared, a, b: a + b - shared,
        "containment": lambda shared, a, b: min(a, b),
        "overlap": lambda shared, a, b: min(a, b),
    }
    return {
        (a, b): shared / whole[measure](shared, len(sets[a]), len(sets[b]))
        for a, b in combinations(range(len(sets)), 2)
        if (shared := len(sets[a] & sets[b]))
    }


def test_a_crowd_of_ties_is_complete_and_does_not_depend_on_threads() -> None:
    # any two differ in one word each, in the same place: 4,950 pairs of one similarity
    crowd = [f"this is one of the letters that we send to number {n} of our clients" for n in range(100)]
    others = ["a text that is not in the crowd at all", "another text without anything in common"]
    found = [rows_of(nd.top_pairs([*others, *crowd], top=3, threads=threads)) for threads in (1, 2)]
    assert found[0] == found[1]
    assert [row[:2] for row in found[0]] == list(combinations(range(2, 102), 2))


def test_too_many_ties_are_refused() -> None:
    best = search.BestPairs(3, 0, np.zeros(100, np.int64), most=1000)
    with pytest.raises(SettingError) as error:
        best.add(np.array([(a, b, 1, 2, 2) for a, b in combinations(range(100), 2)]))
    assert has_parts(str(error.value), "1,000", "top")


@pytest.mark.parametrize("formula", [RESEMBLANCE, COSINE])
def test_the_threshold_rises_while_pairs_are_found(formula: int) -> None:
    draw = np.random.default_rng(3)
    shared = draw.integers(1, 100, 30_000)
    rows = np.column_stack([*np.divmod(np.arange(30_000), 200), shared, np.full((2, 30_000), 100).T])
    held = search.BestPairs(50, formula, np.zeros(200, np.int64))
    bars = []
    for some in np.array_split(rows, 100):
        held.add(some)
        bars.append(held.bar or Fraction(0))
    assert bars == sorted(bars)
    values = shared / (100 if formula == COSINE else 200 - shared)
    assert 0.9 < np.sort(values)[-50] - 1e-5 < float(bars[-1]) <= np.sort(values)[-50]
    assert len(held.rows()) == (values >= np.sort(values)[-50]).sum()


def test_values_of_columns_and_base_text_are_followed(tmp_path: Path) -> None:
    form = "name of the applicant and date of birth and signature of the clerk"
    ends = ("alpha beta gamma", "alpha beta delta", "eins zwei drei", "eins zwei vier")
    table = {"text": [f"{form} {end}" for end in ends], "lang": ["a", "b", "a", "b"]}

    def ends_of(**settings: Any) -> set[tuple[int, int]]:
        return {row[:2] for row in rows_of(nd.top_pairs(table, top=9, length=2, **settings))}

    assert ends_of(within="lang") == {(0, 2), (1, 3)}
    assert ends_of(across="lang") == {(0, 1), (0, 3), (1, 2), (2, 3)}
    (tmp_path / "form.txt").write_text(form)
    assert ends_of(ignore=str(tmp_path / "form.txt")) == {(0, 1), (2, 3)}
    assert ends_of(ignore_common=0.6) == {(0, 1), (2, 3)}


@pytest.mark.parametrize("name", shared_data.OWN)
def test_a_least_similarity_gives_the_pairs_of_a_run(name: str) -> None:
    texts = different(name)
    run = nd.find(texts, threshold=0.3, method="exact", pairs="all")
    found = nd.top_pairs(texts, top=10**6, threshold=0.3)
    assert {row[:2] for row in rows_of(found)} == {(row["id_a"], row["id_b"]) for row in run.pairs.to_pylist()}
    assert found.pairs["resemblance"].to_pylist() == sorted(run.pairs["resemblance"].to_pylist(), reverse=True)
