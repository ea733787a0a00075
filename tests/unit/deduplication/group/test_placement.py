"""Groups under decisions are those of the rules in plain Python."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.deduplication.group.placement import (
    GOES,
    OTHER_GROUP,
    OVERTAKEN,
    REFERENCE,
    Constraints,
    Verdicts,
    place,
    stays_after,
)
from support import reference_decisions

ROWS = 9
PAIRS = st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)).filter(lambda pair: pair[0] != pair[1])


def table(pairs: Any) -> Any:
    return np.array(list(pairs), np.int64).reshape(-1, 2)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Groups led by their best row, and decisions on them; a pair is not together and apart at once."""
    rank = draw(st.permutations(range(ROWS)))
    of = draw(st.lists(st.integers(0, 3), min_size=ROWS, max_size=ROWS))
    heads = [min((row for row in range(ROWS) if of[row] == of[k]), key=lambda row: rank[row]) for k in range(ROWS)]
    decided = draw(st.dictionaries(PAIRS.map(lambda p: (min(p), max(p))), st.sampled_from("taac"), max_size=7))
    return {
        "rank": rank,
        "heads": heads,
        "together": [pair for pair, kind in decided.items() if kind == "t"],
        "apart": [pair for pair, kind in decided.items() if kind == "a"],
        "chosen": [pair for pair, kind in decided.items() if kind == "c"],
        "goes": draw(st.sets(st.integers(0, ROWS - 1), max_size=2)),
        "alike": draw(st.sets(PAIRS.map(frozenset), max_size=8)),
    }


def placed(case: dict[str, Any], first_new: int = 0) -> Any:
    asked = Constraints(
        table(case["together"]),
        table(case["apart"]),
        table(case["chosen"]),
        np.array(sorted(case["goes"]), np.int64),
        first_new,
    )
    heads, rank = np.array(case["heads"], np.int64), np.array(case["rank"], np.int64)
    return place(heads, rank, asked, lambda a, b: a == b or frozenset((a, b)) in case["alike"])


@given(cases())
def test_groups_follow_the_rules(case: dict[str, Any]) -> None:
    found = placed(case)
    decisions = {name: case[name] for name in ("together", "apart", "chosen")}
    expected = reference_decisions.placed(case["heads"], case["rank"], decisions, case["goes"], case["alike"])
    assert found.heads.tolist() == expected


@given(cases())
def test_no_two_documents_that_are_not_alike_share_a_group(case: dict[str, Any]) -> None:
    found = placed(case)
    heads = found.heads
    assert all(heads[a] != heads[b] for a, b in case["apart"])
    refused = {case["together"][index] for index in found.refused}
    assert all(heads[a] == heads[b] for a, b in case["together"] if (a, b) not in refused)
    assert (heads[heads] == heads).all()


@given(cases(), st.sets(st.integers(0, ROWS - 1)), st.sets(st.integers(0, ROWS - 1), max_size=2))
def test_fates_follow_the_rules(case: dict[str, Any], stays: set[int], both: set[int]) -> None:
    heads = np.array(case["heads"])
    duplicates = [(a, b) for a, b in case["together"] if heads[a] == heads[b]]
    kept = heads == np.arange(ROWS)
    sure = stays - case["goes"]
    asked = Verdicts(table(duplicates), *(np.array(sorted(s), np.int64) for s in (both, sure, case["goes"])))
    found = stays_after(np.arange(ROWS), kept, heads, np.array(case["rank"]), asked)
    decisions = {"both": both, "stays": sure, "goes": case["goes"]}
    expected = reference_decisions.staying(
        case["heads"], case["rank"], np.flatnonzero(kept).tolist(), decisions, duplicates
    )
    assert set(np.flatnonzero(found).tolist()) == expected


GROUP = {"rank": list(range(ROWS)), "heads": [0, 0, 0, 3, 3, 3, 6, 7, 8], "goes": set(), "alike": set()}


def case_of(**changes: Any) -> dict[str, Any]:
    return {**GROUP, "together": [], "apart": [], "chosen": [], **changes}


def test_duplicates_across_groups_merge_them() -> None:
    assert placed(case_of(together=[(2, 4), (5, 6)])).heads.tolist() == [0, 0, 0, 0, 0, 0, 0, 7, 8]


def test_a_document_that_is_not_alike_leaves_its_group() -> None:
    assert placed(case_of(apart=[(0, 2)])).heads.tolist()[:3] == [0, 0, 2]
    assert placed(case_of(apart=[(0, 1), (0, 2)])).heads.tolist()[:3] == [0, 1, 2]
    near = case_of(apart=[(0, 1), (0, 2)], alike={frozenset((1, 2))})
    assert placed(near).heads.tolist()[:3] == [0, 1, 1]


def test_contradicting_decisions_are_reported() -> None:
    found = placed(case_of(together=[(0, 1), (1, 3)], apart=[(7, 8), (0, 3)]))
    assert found.refused == {1: 1}
    assert found.heads.tolist()[:6] == [0, 0, 0, 3, 3, 3]


def test_a_choice_of_representative_says_why_it_has_no_effect() -> None:
    found = placed(case_of(chosen=[(0, 1), (0, 4), (0, 2), (3, 5)], goes={5}))
    assert found.heads.tolist()[:6] == [1, 1, 1, 3, 3, 3]
    assert found.unused == {1: OTHER_GROUP, 2: OVERTAKEN, 3: GOES}
    assert placed(case_of(chosen=[(0, 1)]), first_new=1).unused == {0: REFERENCE}


def test_twenty_thousand_decisions_are_placed_quickly() -> None:
    rows = 40_000
    heads = np.arange(rows) // 2 * 2
    pairs = np.column_stack((np.arange(0, rows, 2), np.arange(1, rows, 2)))
    star = np.column_stack((np.zeros(rows // 2, np.int64), np.arange(1, rows, 2)))
    none = table([])
    for together, apart in ((pairs, none), (none, pairs), (star, none)):
        begin = time.process_time()
        asked = Constraints(together, apart, pairs[:1000], np.empty(0, np.int64))
        place(heads, np.arange(rows), asked, lambda a, b: False)
        assert time.process_time() - begin < 5  # .2 s on one core
