"""Groups and decisions: against their definitions on real texts, and the promises of each rule on made ones."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from support import shared_data
from support.full_run import FULL
from support.grouped import HOWS, all_true_pairs, expected_groups, groups_of, pairs_of, rank_of
from support.made_texts import Writer, resemblance, shingles
from support.messages import has_parts
from support.small_limits import small_hubs

CERTAIN = 0.999999
"""The recall that these tests ask for, so that the groups do not depend on a missed pair."""

# --- real texts against brute force


@cache
def different(name: str) -> tuple[list[str], list[int]]:
    """Return the texts of a set without exact copies, and their numbers in it."""
    texts, firsts = list(shared_data.documents(name).values()), shared_data.firsts(name)
    numbers = [k for k, first in enumerate(firsts) if first == k]
    return [texts[k] for k in numbers], numbers


def true_pairs(name: str, threshold: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return the true pairs of ``different`` texts, in their numbering."""
    place = {number: k for k, number in enumerate(different(name)[1])}
    found = {}
    for (a, b), counted in shared_data.all_pairs(name).items():
        similarity = Fraction(counted.shared, counted.union)
        if similarity >= threshold:
            found[place[a], place[b]] = similarity
    return found


@pytest.mark.part(5)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("name", shared_data.PROSE)
def test_groups_of_real_texts_are_those_of_the_definition(name: str, threshold: float, how: str) -> None:
    texts, numbers = different(name)
    least = Fraction(repr(threshold))
    pairs = true_pairs(name, least)
    rank = rank_of([len(shared_data.tokens(name)[k]) for k in numbers])
    found = nd.find(texts, threshold=threshold, method="lsh", recall=CERTAIN, groups=how)
    assert groups_of(found) == expected_groups(how, pairs, rank)
    sets = [shared_data.sets(name)[k] for k in numbers]
    for row in found.groups.to_pylist():
        counted = shared_data.count(sets[row["id"]], sets[row["group"]])
        assert row["similarity"] == counted.resemblance
        assert row["kept"] == row["representative"]
        assert how == "components" or Fraction(counted.shared, counted.union) >= least
    if how == "complete":
        for members in groups_of(found).values():
            assert all(pair in pairs for pair in couples(members))


def couples(members: frozenset[Any]) -> list[tuple[Any, Any]]:
    ordered = sorted(members)
    return [(a, b) for k, b in enumerate(ordered) for a in ordered[:k]]


@pytest.mark.part(4)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", shared_data.PROSE)
def test_exact_copies_follow_the_first_of_them(name: str, how: str) -> None:
    """The groups are as without the copies, and every copy is in the group of its first."""
    texts, numbers = list(shared_data.documents(name).values()), different(name)[1]
    whole = nd.find(texts, threshold=0.7, method="lsh", recall=CERTAIN, groups=how)
    alone = nd.find(different(name)[0], threshold=0.7, method="lsh", recall=CERTAIN, groups=how)
    first = shared_data.firsts(name)
    group_of = {row["id"]: row["group"] for row in whole.groups.to_pylist()}
    assert all(group_of[k] == group_of[first[k]] for k in range(len(texts)) if first[k] != k)
    without_copies = {head: {k for k in of if first[k] == k} for head, of in groups_of(whole).items()}
    renumbered = {numbers[head]: {numbers[k] for k in of} for head, of in groups_of(alone).items()}
    assert {head: of for head, of in without_copies.items() if len(of) > 1} == renumbered


# --- a chain


@cache
def chain() -> list[list[str]]:
    """Return v1 … v5 of 300 words: each the one before with 20 words replaced, J of neighbours about .85."""
    writer = Writer(seed=11)
    versions = [writer.words(300)]
    for k in range(4):
        begin = 10 + 60 * k
        words = list(versions[-1])
        words[begin : begin + 20] = writer.words(20)
        versions.append(words)
    return versions


def test_components_join_a_chain_that_principal_does_not() -> None:
    versions = chain()
    neighbours = [resemblance(a, b) for a, b in pairwise(versions)]
    ends = resemblance(versions[0], versions[-1])
    assert min(neighbours) >= 0.8 > resemblance(versions[0], versions[2]) > ends
    texts = [" ".join(words) for words in versions]

    joined = nd.find(texts, method="lsh", recall=CERTAIN, groups="components")
    assert groups_of(joined) == {0: frozenset(range(5))}
    similarity = joined.groups["similarity"].to_pylist()
    assert similarity == [1.0, *(resemblance(versions[0], words) for words in versions[1:])]
    chaining = joined.run.chaining
    assert chaining.groups == 1
    weakest = chaining.weakest
    assert (weakest.group, weakest.id_a, weakest.id_b, weakest.similarity) == (0, 0, 4, ends)

    principal = nd.find(texts, method="lsh", recall=CERTAIN)
    assert groups_of(principal) == {0: frozenset({0, 1}), 2: frozenset({2, 3})}
    chaining = principal.run.chaining
    assert (chaining.groups, chaining.weakest) == (0, None)
    assert pairs_of(principal) == pairs_of(joined) == {(0, 1), (1, 2), (2, 3), (3, 4)}

    middle = nd.find(table(texts, [1, 2, 9, 4, 3]), method="lsh", recall=CERTAIN, keep="max:score")
    assert groups_of(middle) == {2: frozenset({1, 2, 3})}


def test_a_large_group_is_warned_of() -> None:
    writer = Writer(seed=3)
    words = writer.words(200)
    alike = [" ".join([*words, f"number{k}"]) for k in range(30)]
    texts = [*alike, *(" ".join(writer.words(30)) for _ in range(1500))]
    (warning,) = nd.find(texts).run.warnings
    assert has_parts(warning, "one group", "30 of 1,530", "1.9 %")
    assert nd.find(texts[20:]).run.warnings == []


# --- which one is kept


def table(texts: list[str], scores: list[Any]) -> pa.Table:
    return pa.table({"text": texts, "score": pa.array(scores)})


@cache
def alike() -> list[str]:
    """Return four texts with J ≥ .9 of each two; the third is the longest, the second and fourth the shortest."""
    words = Writer(seed=12).words(200)
    return [" ".join(some) for some in (words[:198], words[:196], words, words[4:])]


@pytest.mark.parametrize(
    ("keep", "scores", "kept"),
    [
        ("longest", [0, 0, 0, 0], 2),
        ("first", [0, 0, 0, 0], 0),
        ("last", [0, 0, 0, 0], 3),
        ("max:score", [1, 7, 3, 5], 1),
        ("min:score", [4, 7, 3, 5], 2),
        ("max:score", [1, 7, 3, 7], 1),
        ("min:score", [3, 7, 3, 5], 0),
        ("max:score", [None, -2, None, -3], 1),
        ("min:score", [None, None, 8, 9], 2),
        ("max:score", [None, None, None, 1], 3),
        ("max:score", [float("nan"), None, 1.5, 0.5], 2),
        ("min:score", [float("nan"), float("inf"), None, 9.0], 3),
        ("max:score", [float("nan"), float("-inf"), None, float("-inf")], 1),
        ("max:score", ["9", "10", "2", None], 1),
        ("max:score", ["2024-01-31", "2024-02-01", "2023-12-01", ""], 1),
        ("min:score", ["2024-01-31", "2024-02-01", "2023-12-01", None], 2),
        ("max:score", [2**62 + 1, 2**62 + 3, 2**62 + 2, 2**62], 1),
        ("max:score", [True, False, None, False], 0),
    ],
)
def test_the_policy_says_which_document_is_kept(keep: str, scores: list[Any], kept: int) -> None:
    found = nd.find(table(alike(), scores), method="lsh", recall=CERTAIN, keep=keep)
    assert groups_of(found) == {kept: frozenset(range(4))}
    assert [row["id"] for row in found.groups.to_pylist() if row["kept"]] == [kept]
    assert sorted(found.removed["id"].to_pylist()) == [k for k in range(4) if k != kept]


@pytest.mark.parametrize(("keep", "kept"), [("first", 0), ("last", 2), ("max:score", 1), ("longest", 0)])
def test_the_policy_holds_among_exact_copies_too(keep: str, kept: int) -> None:
    """The table of pairs names the first copy; the one that is kept is the one the policy says."""
    text = alike()[0]
    found = nd.find(table([text, text.upper(), text, "something else"], [1, 3, 2, 9]), keep=keep)
    assert groups_of(found) == {kept: frozenset({0, 1, 2})}
    assert found.copies.select(["id", "copy_of"]).to_pylist() == [{"id": 1, "copy_of": 0}, {"id": 2, "copy_of": 0}]
    assert found.groups["similarity"].to_pylist() == [1.0, 1.0, 1.0]


def test_the_longest_has_the_most_tokens_not_the_most_characters() -> None:
    words = Writer(seed=13).words(100)
    spaced = "   \n".join(words[:99])
    assert groups_of(nd.find([spaced, " ".join(words)])) == {1: frozenset({0, 1})}


# --- remove only what the kept one contains


def test_only_contained_spares_what_the_kept_document_does_not_hold() -> None:
    """Of a, b has 96 of 96 shingles and c 90 of 100; each lead by the longest."""
    words = Writer(seed=14).words(110)
    longest = " ".join(words)
    part, own = " ".join(words[:100]), " ".join([*words[:96], *(f"own{k}" for k in range(8))])
    sets = [shingles(text.split()) for text in (longest, part, own)]
    held = [Fraction(len(sets[0] & of), len(of)) for of in sets]
    assert held == [1, 1, Fraction(92, 100)]
    assert [resemblance(longest.split(), text.split()) >= 0.75 for text in (part, own)] == [True, True]
    for least, removed in [(0.0, [1, 2]), (0.92, [1, 2]), (0.921, [1]), (1.0, [1])]:
        found = nd.find(
            [longest, part, own, part], threshold=0.75, method="lsh", recall=CERTAIN, only_contained=least
        )
        assert groups_of(found) == {0: frozenset(range(4))}
        # the copy of a contained text is contained as well
        assert sorted(found.removed["id"].to_pylist()) == [*removed, 3]
        assert found.run.counts.removed == len(removed) + 1


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts"])
@pytest.mark.parametrize("least", [0.9, 0.97, 1.0])
def test_only_contained_on_real_texts_is_exact(name: str, least: float) -> None:
    texts, sets = list(shared_data.documents(name).values()), shared_data.sets(name)
    first = shared_data.firsts(name)
    found = nd.find(texts, threshold=0.5, only_contained=least)
    fates = set()
    for row in found.groups.to_pylist():
        own, kept = sets[row["id"]], sets[row["group"]]
        contained = Fraction(len(own & kept), len(own)) >= Fraction(repr(least))
        copy = first[row["id"]] == first[row["group"]]
        assert row["kept"] == (row["representative"] or not (copy or contained)), row
        fates.add(row["kept"])
    assert fates == {True, False}


def test_all_true_pairs_agrees_with_the_shared_oracle() -> None:
    """Two ways to count the same pairs, so that neither oracle is wrong alone."""
    name, least = shared_data.or_own("law_de"), Fraction(1, 2)
    sets = [set(shared_data.sets(name)[k]) for k in different(name)[1]]
    assert all_true_pairs(sets, least) == true_pairs(name, least)


@pytest.mark.part(2)
@pytest.mark.parametrize("hub", [100, 1])
@pytest.mark.parametrize("how", ["principal", "complete"])
def test_between_leaders_that_are_equally_similar_the_better_ranked_one_wins(
    how: str, hub: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the input order: a and b are each 96/116 like d, and 96/136 like each other."""
    small_hubs(monkeypatch, hub)
    words = Writer(seed=15).words(100)
    texts = {
        "a": [*words, *(f"a{k}" for k in range(20))],
        "b": [*words, *(f"b{k}" for k in range(20))],
        "d": words,
    }
    for scores in ({"a": 3, "b": 2, "d": 1}, {"a": 2, "b": 3, "d": 1}):
        for order in list(permutations(texts))[:: 1 if FULL else 2]:
            rows = [{"id": id, "text": " ".join(texts[id]), "score": scores[id]} for id in order]
            found = nd.find(pa.Table.from_pylist(rows), method="lsh", recall=CERTAIN, keep="max:score", groups=how)
            best = max("ab", key=scores.__getitem__)
            assert groups_of(found) == {best: frozenset({best, "d"})}


def test_a_crowd_of_which_every_bucket_is_a_hub() -> None:
    """One word at the end of a long text: documents agree in whole bands or stand alone; no pair is proposed."""
    words = Writer(seed=1).words(3000)
    found = nd.find([" ".join([*words, f"number{k}"]) for k in range(150)])
    assert found.run.counts.candidates == 0
    assert found.pairs.num_rows == 150 * 149 // 2
    assert groups_of(found) == {0: frozenset(range(150))}
