"""Pairs from anywhere are grouped as a run groups its own."""

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from support.messages import assert_refused

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=25)


@given(PAIRS)
def test_components_are_the_connected_ones(pairs: list[tuple[int, int]]) -> None:
    sets: list[set[int]] = []
    for a, b in pairs:
        touched = [one for one in sets if a in one or b in one]
        sets = [one for one in sets if one not in touched] + [set().union({a, b}, *touched)]
    found = nd.group_pairs(pairs, how="components")
    assert sorted(sorted(group) for group in found) == sorted(sorted(one) for one in sets if len(one) > 1)


@given(PAIRS)
def test_members_are_in_a_pair_with_their_representative(pairs: list[tuple[int, int]]) -> None:
    known = {frozenset(pair) for pair in pairs}
    groups = nd.group_pairs(pairs)
    assert all(frozenset((group[0], other)) in known for group in groups for other in group[1:])
    assert sum(map(len, groups)) == len({id for group in groups for id in group})
    for group in nd.group_pairs(pairs, how="complete"):
        assert all(frozenset(ends) in known for ends in combinations(group, 2))


def test_a_run_gives_the_same_groups() -> None:
    # a chain: each text has one more word replaced than the one before
    texts = [" ".join([f"w{n}" for n in range(k, 40)] + [f"x{n}" for n in range(k)]) for k in range(0, 24, 2)]
    found = nd.find(texts, threshold=0.7, pairs="all")
    pairs = [
        (row["id_a"], row["id_b"], row["shared"] / (row["size_a"] + row["size_b"] - row["shared"]))
        for row in found.pairs.to_pylist()
    ]
    of_run: dict[int, list[Any]] = {}
    for row in found.groups.to_pylist():  # the representative comes first
        of_run.setdefault(row["group"], []).append(row["id"])
    assert len(of_run) > 1
    assert sorted(nd.group_pairs(pairs, order=range(len(texts)))) == sorted(of_run.values())


def test_the_most_similar_representative_wins() -> None:
    pairs = [("a", "x", 0.8), ("b", "x", 0.9)]
    assert nd.group_pairs(pairs, order="abx") == [["b", "x"]]
    assert nd.group_pairs([("a", "x"), ("b", "x")], order="abx") == [["a", "x"]]


def test_faults_are_named() -> None:
    assert_refused(
        (nd.InputError, "A pair is 'ab'", lambda: nd.group_pairs(["ab"])),
        (nd.InputError, "pair is 2", lambda: nd.group_pairs([("a", "b", 2)])),
        (nd.SettingError, "groups is 'some'", lambda: nd.group_pairs([], how="some")),
    )
