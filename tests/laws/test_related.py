"""Who may remove whom, against a twin in plain Python: pairs within and across values, and what stays."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.run.lost_text import COLUMNS
from support import shared_data
from support.grouped import HOWS, groups_of, ids_of
from support.reference_related import Row, counted, expected, ranked

CERTAIN = 0.999999
THRESHOLD = Fraction(7, 10)
LANGUAGES, SPLITS = ("de", "en", None, "fr"), ("train", "test", "train", "train", None)
METHODS: dict[str, dict[str, Any]] = {
    "exact": {"method": "exact"},
    "lsh": {"method": "lsh", "recall": CERTAIN},
}


@cache
def rows() -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The texts of the project's own collection, every third of them again with another value, and their rows."""
    texts = list(shared_data.documents("own").values())
    tokens, sets = shared_data.tokens("own"), shared_data.sets("own")
    places = [*range(len(texts)), *range(0, len(texts), 3), *range(0, len(texts), 9)]
    made = [
        Row(tuple(tokens[place]), frozenset(sets[place]), LANGUAGES[k % 7 % 4], SPLITS[k % 11 % 5])
        for k, place in enumerate(places)
    ]
    return tuple(texts[place] for place in places), tuple(made)


@cache
def alike() -> Mapping[tuple[int, int], Fraction]:
    """All pairs of rows at or above the threshold."""
    found, own = {}, rows()[1]
    holders: dict[object, list[int]] = {}
    for b, row in enumerate(own):
        shared: dict[int, int] = {}
        for shingle in row.shingles:
            for a in holders.setdefault(shingle, []):
                shared[a] = shared.get(a, 0) + 1
            holders[shingle].append(b)
        for a, count in shared.items():
            union = len(own[a].shingles) + len(row.shingles) - count
            if Fraction(count, union) >= THRESHOLD:
                found[a, b] = Fraction(count, union)
    return found


def only(*names: str) -> tuple[Row, ...]:
    """The rows with the values of the named columns, and none of the others."""
    kept = [{name: getattr(row, name) for name in names} for row in rows()[1]]
    return tuple(Row(row.tokens, row.shingles, **values) for row, values in zip(rows()[1], kept, strict=True))


def table(**more: list[Any]) -> pa.Table:
    texts, own = rows()
    columns = {"text": list(texts), "lang": [row.within for row in own], "split": [row.across for row in own]}
    return pa.table({**columns, **more})


def find(**settings: Any) -> nd.Found:
    return nd.find(table(), text="text", threshold=float(THRESHOLD), **settings)


def longest() -> list[int]:
    own = rows()[1]
    return ranked(len(own), lambda k: (False, -len(own[k].tokens)))


def removed(found: nd.Found) -> set[object]:
    return set(found.removed["id"].to_pylist())


@pytest.mark.part(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("across", [False, True], ids=["within", "across"])
def test_pairs_groups_and_removals_are_those_of_the_twin(across: bool, how: str, method: str) -> None:
    role, column = ("across", "split") if across else ("within", "lang")
    found = find(groups=how, pairs="all", **{role: column}, **METHODS[method])
    told = expected(only(role), alike(), how, longest(), across=across)
    assert len(told.pairs) > 50
    assert len(told.groups) > 20
    assert ids_of(found.pairs) == told.pairs
    assert groups_of(found) == {head: frozenset(inside) for head, inside in told.groups.items()}
    assert removed(found) == told.removed


@pytest.mark.parametrize("method", METHODS)
def test_both_relations_hold_at_once(method: str) -> None:
    found = find(within="lang", across="split", **METHODS[method])
    told = expected(rows()[1], alike(), "principal", longest(), across=True)
    assert len(told.pairs) > 10
    assert ids_of(found.pairs) == told.pairs
    assert removed(found) == told.removed


def test_several_columns_count_as_one_value() -> None:
    together = [f"{row.within}/{row.across}" for row in rows()[1]]
    one = nd.find(table(both=together), text="text", within="both", threshold=0.7)
    assert one.groups.equals(find(within=["lang", "split"]).groups)


@pytest.mark.parametrize("settings", [{"sketch": "simhash", "distance": 16}, {"measure": "containment"}])
def test_other_searches_find_only_related_pairs(settings: dict[str, Any]) -> None:
    free = ids_of(find(pairs="all", **settings).pairs)
    for role, column in (("within", "lang"), ("across", "split")):
        own = only(role)
        found = ids_of(find(pairs="all", **settings, **{role: column}).pairs)
        assert found
        for a, b in found:
            assert (getattr(own[a], role) == getattr(own[b], role)) == (role == "within")
        firsts = {(row.tokens, row.within, row.across): k for k, row in reversed(list(enumerate(own)))}
        for a, b in free:
            same = getattr(own[a], role) == getattr(own[b], role)
            if same == (role == "within") and {a, b} <= set(firsts.values()):
                assert (a, b) in found


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", ["chunk-longest", "lcs", "overlap", "multiset", "vocabulary"])
def test_every_measure_compares_only_within(measure: str) -> None:
    """A run over the documents of one value is the run within, as far as that value goes."""
    found = find(within="lang", measure=measure)
    own = rows()[1]
    assert ids_of(found.pairs)
    for value in set(LANGUAGES):
        places = [k for k, row in enumerate(own) if row.within == value]
        alone = nd.find(table().take(places), text="text", threshold=0.7, measure=measure)
        assert {(places[a], places[b]) for a, b in ids_of(alone.pairs)} == {
            (a, b) for a, b in ids_of(found.pairs) if own[a].within == value
        }


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", ["chunk-longest", "lcs", "overlap"])
def test_every_measure_compares_only_across(measure: str) -> None:
    own, free = only("across"), ids_of(find(measure=measure, pairs="all").pairs)
    found = ids_of(find(across="split", measure=measure, pairs="all").pairs)
    assert found
    assert all(own[a].across != own[b].across for a, b in found)
    assert {(a, b) for a, b in free if own[a].across != own[b].across} <= found


@pytest.mark.parametrize("measure", ["resemblance", "overlap", "chunk-longest", "chunk-union", "lcs"])
def test_equal_texts_across_are_pairs_however_short(measure: str) -> None:
    texts = ["to be", "to be", "To  be!", "not", "not", "to"]
    made = pa.table({"text": texts, "split": ["x", "y", "x", "y", "y", "x"]})
    found = nd.find(made, text="text", across="split", measure=measure)
    assert ids_of(found.pairs) == {(0, 1)}
    assert set(found.groups["id"].to_pylist()) == {0, 1, 2}
    assert removed(found) == {1}


@pytest.mark.part(2)
@pytest.mark.parametrize("how", HOWS)
def test_crowds_of_one_side_meet_the_few_of_another(how: str) -> None:
    """Two crowds of forms, train and test: no pair within one, and each finds its nearest in the other."""
    form = " ".join(f"word{k}" for k in range(60))
    texts = [f"{form} {k}" for k in range(1500)] + [f"{form} eval {k}" for k in range(3)]
    made = pa.table({"text": texts, "split": ["train"] * 1500 + ["test"] * 3})
    found = nd.find(made, text="text", across="split", keep="order:split=test", groups=how)
    assert len(removed(found)) == (1500 if how != "complete" else 3)
    assert all(a < 1500 <= b for a, b in ids_of(found.pairs))


@pytest.mark.parametrize("method", METHODS)
def test_within_a_column_of_one_value_is_the_same_as_without(method: str) -> None:
    one = nd.find(table(same=["x"] * len(rows()[0])), text="text", within="same", threshold=0.7, **METHODS[method])
    free = find(**METHODS[method])
    for name in ("pairs", "groups", "copies", "ranks"):
        assert getattr(one, name).equals(getattr(free, name)), name


@pytest.mark.parametrize("method", METHODS)
def test_within_a_column_of_different_values_nothing_is_found(method: str) -> None:
    numbers = list(range(len(rows()[0])))
    found = nd.find(table(number=numbers), text="text", within="number", threshold=0.7, **METHODS[method])
    assert found.pairs.num_rows == found.groups.num_rows == found.copies.num_rows == 0


def test_across_a_column_of_one_value_nothing_is_found() -> None:
    found = nd.find(table(same=[1] * len(rows()[0])), text="text", across="same", threshold=0.7)
    assert found.pairs.num_rows == found.groups.num_rows == 0
    assert found.run.counts.removed == 0


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "settings", [{"within": "lang"}, {"across": "split"}, {"across": "split", "keep": "none"}]
)
@pytest.mark.parametrize("method", METHODS)
def test_threads_change_nothing(method: str, settings: dict[str, Any]) -> None:
    one, many = (find(threads=threads, **METHODS[method], **settings) for threads in (1, 4))
    for name in ("pairs", "groups", "copies", "ranks"):
        assert getattr(one, name).equals(getattr(many, name)), name


def test_the_order_of_the_documents_changes_no_pair() -> None:
    places = [(k * 211) % len(rows()[0]) for k in range(len(rows()[0]))]
    assert len(set(places)) == len(places)
    moved = nd.find(table().take(places), text="text", threshold=0.7, across="split")
    own = rows()[1]

    def contents(pairs: set[tuple[int, int]], place: Any) -> set[frozenset[object]]:
        ends = (tuple(map(place, pair)) for pair in pairs)
        return {frozenset((own[k].tokens, own[k].across) for k in pair) for pair in ends}

    before = contents(ids_of(find(across="split").pairs), int)
    assert contents(ids_of(moved.pairs), places.__getitem__) == before


@pytest.mark.parametrize(("role", "column"), [("within", "lang"), ("across", "split")])
def test_an_audit_misses_no_pair_that_is_not_wanted(role: str, column: str) -> None:
    found = find(audit=1000, method="lsh", recall=CERTAIN, pairs="all", **{role: column})
    assert found.missed is not None
    assert found.missed.num_rows == 0
    assert found.run.audit.pairs == found.pairs.num_rows
    assert found.run.audit.recall == 1


@pytest.mark.part(2)
@pytest.mark.parametrize("threshold", [0.8, 0.95])
@pytest.mark.parametrize(
    "settings",
    [
        {"within": "lang"},
        {"across": "split", "count": True, "sources": "lang"},
        {"across": "split", "keep": "none"},
        {"keep": ["order:split=test,train", "last"], "count": True},
    ],
)
def test_a_stored_result_at_a_stricter_threshold_is_the_run_there(
    settings: dict[str, Any], threshold: float
) -> None:
    at = find(pairs="all", **settings).at(threshold)
    fresh = nd.find(table(), text="text", threshold=threshold, pairs="all", **settings)
    # similarities by a chain of pairs, which components have, are not all stored
    without = ["similarity", "reason"] if settings.get("keep") == "none" else []
    assert at.pairs.equals(fresh.pairs)
    assert at.copies.equals(fresh.copies)
    without += COLUMNS  # stored pairs show only a part of the text lost
    assert at.groups.drop_columns(without).equals(fresh.groups.drop_columns(without))


@pytest.mark.parametrize("across", ["", "split"])
@pytest.mark.parametrize("method", METHODS)
def test_none_leaves_no_document_of_a_family(method: str, across: str) -> None:
    found = find(keep="none", across=across, **METHODS[method])
    own = only("across") if across else only()
    told = expected(own, alike(), "components", longest(), across=bool(across), none=True)
    assert removed(found) == told.removed
    assert found.run.settings["groups"] == "components"
    assert not pa.compute.any(found.groups["kept"]).as_py()
    assert found.removed["kept_id"].null_count == found.removed.num_rows
    left = set(range(len(own))) - told.removed
    assert not any(
        a in left and b in left and (not across or own[a].across != own[b].across) for a, b in alike()
    ), "a document stays only if it is like no other"


def missing_last(values: list[Any], sign: int) -> Any:
    def key(k: int) -> tuple[bool, Any]:
        return (values[k] is None, 0 if values[k] is None else sign * values[k])

    return key


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "policies",
    [
        ["max:year", "longest"],
        ["order:split=test,train", "min:year", "last"],
        ["longest", "max:year"],
        ["order:lang=fr,en", "order:split=train", "first"],
    ],
)
def test_policies_decide_one_after_the_other(policies: list[str]) -> None:
    own = rows()[1]
    years = [None if k % 5 == 0 else 2000 + k * 7 % 4 for k in range(len(own))]

    def place(name: str, values: list[str]) -> Any:
        def key(k: int) -> tuple[bool, int]:
            value = getattr(own[k], {"lang": "within", "split": "across"}[name])
            return (value is None, values.index(value) if value in values else len(values))

        return key

    keys = {
        "max:year": missing_last(years, -1),
        "min:year": missing_last(years, 1),
        "longest": lambda k: (False, -len(own[k].tokens)),
        "first": lambda k: (False, k),
        "last": lambda k: (False, -k),
        "order:split=test,train": place("split", ["test", "train"]),
        "order:split=train": place("split", ["train"]),
        "order:lang=fr,en": place("lang", ["fr", "en"]),
    }
    found = nd.find(table(year=years), text="text", threshold=0.7, keep=policies)
    rank = ranked(len(own), *(keys[policy] for policy in policies))
    told = expected(only(), alike(), "principal", rank, across=False)
    assert groups_of(found) == {head: frozenset(inside) for head, inside in told.groups.items()}
    assert removed(found) == told.removed


@pytest.mark.part(2)
@pytest.mark.parametrize("settings", [{}, {"within": "lang"}, {"across": "split"}, {"groups": "components"}])
def test_counts_are_those_of_the_twin_and_add_up(settings: dict[str, Any]) -> None:
    found = find(count=True, sources="lang", **settings)
    role = next((name for name in ("within", "across") if name in settings), "")
    own = only(role) if role else only()
    how = settings.get("groups", "principal")
    told = expected(own, alike(), how, longest(), across=role == "across")
    counts = counted(own, told.groups, told.removed)
    listed = {row["id"]: row for row in found.groups.to_pylist()}
    for k, (exact, near) in counts.items():
        row = listed.get(k, {"copies": 0, "exact_copies": 0, "near_copies": 0})
        assert (row["exact_copies"], row["near_copies"], row["copies"]) == (exact, near, exact + near)
    assert sum(1 + exact + near for exact, near in counts.values()) == found.run.counts.read
    for head, inside in told.groups.items():
        assert listed[head]["size"] == len(inside)
        among = {rows()[1][k].within for k in inside & told.removed | {head}} - {None}
        if role != "across":
            assert listed[head]["sources"] == sorted(among)
    assert all(listed[k]["copies"] is None for k in told.removed)
