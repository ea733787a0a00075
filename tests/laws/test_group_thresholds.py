"""Groups brought to another threshold: they follow the rule of links at it, and keep their numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from neardup import Collection, LimitError, Near
from neardup.collection.groups import thresholds
from neardup.runtime import Deadline
from support.memory_collection import MemoryCollection
from support.pending_texts import groups, made_texts, put
from support.postgres_server import url_for


def similarities(texts: dict[str, str]) -> dict[frozenset[str], Fraction]:
    sets = {id: frozenset(MemoryCollection({id: text}).sets[0].tolist()) for id, text in texts.items()}
    return {
        frozenset((a, b)): Fraction(len(sets[a] & sets[b]), len(sets[a] | sets[b]))
        for a, b in combinations(texts, 2)
        if sets[a] | sets[b]
    }


def require_groups(collection: Collection, texts: dict[str, str], threshold: float) -> None:
    """Members reach representatives, and nobody else does: counted by sets of Python."""
    alike, least = similarities(texts), Fraction(str(threshold))
    near = {pair for pair, similarity in alike.items() if similarity >= least}
    alone = set(texts)
    heads = set()
    for group in collection.groups(limit=1000).groups:
        assert group.threshold == threshold
        assert len(group.members) >= 2
        heads.add(group.representative)
        for member in group.members:
            alone.remove(member.id)
            assert member.id == group.representative or {member.id, group.representative} in near
    assert not [pair for pair in near if pair <= alone | heads]
    assert collection.check() == []


@pytest.mark.parametrize("seed", range(3))
def test_groups_at_another_threshold_follow_the_rule(tmp_path: Path, seed: int) -> None:
    texts, random = made_texts(seed, families=16), Random(seed)
    with Collection(tmp_path / "made") as made:
        put(made, texts)
        made.group_pending(Near(0.8, 1))
        for threshold in (0.5, 0.9, *random.choices((0.4, 0.6, 0.7, 0.8, 0.95, 1.0), k=3)):
            before = {group.representative: group for group in made.groups().groups}
            while thresholds.regroup(made.store, Near(threshold, 1), 3)[1]:
                pass  # 3 in a transaction
            done = made.regroup(Near(threshold, 1))
            require_groups(made, texts, threshold)
            for group in made.groups().groups:
                old = before.get(group.representative)
                stays = old and {one.id for one in old.members} & {one.id for one in group.members}
                if old and stays and len(stays) > 1:
                    assert group.id == old.id
            last, state = made.changes()[-1], groups(made)
            again = made.regroup(Near(threshold, 1))
            assert (again.regrouped, again.linked) == (0, 0)
            assert (made.changes()[-1], groups(made)) == (last, state)
            assert done.recall == 1


@pytest.mark.parametrize("seed", range(3))
def test_decisions_hold_at_every_threshold(tmp_path: Path, seed: int) -> None:
    texts, random = made_texts(seed + 5), Random(seed)
    with Collection(tmp_path / "made") as made:
        put(made, texts)
        made.group_pending(Near(0.7, 1))
        ids = list(texts)
        made.decide(ids[0], ids[1], "duplicate")
        made.decide(ids[1], ids[5], "keep both")
        members = [one.id for one in max(made.groups().groups, key=lambda group: group.size).members]
        apart = next(two for two in combinations(members, 2) if not {*two} & {ids[0], ids[1], ids[5]})
        made.decide(*apart, "not alike")
        for threshold in random.choices((0.4, 0.6, 0.9, 1.0), k=4):
            made.regroup(Near(threshold, 1))
            assert len({made.group_of(id).id for id in (ids[0], ids[1], ids[5])}) == 1  # type: ignore[union-attr]
            one, other = made.group_of(apart[0]), made.group_of(apart[1])
            assert one is None or other is None or one.id != other.id
            assert made.check() == []
            assert {group.threshold for group in made.groups().groups} == {threshold}


def test_work_that_was_stopped_goes_on(tmp_path: Path) -> None:
    texts, near = made_texts(8, families=16), Near(0.5, 1)
    with Collection(tmp_path / "made") as made, Collection(tmp_path / "whole") as whole:
        for one in (made, whole):
            put(one, texts)
            one.group_pending(Near(0.9, 1))
        assert thresholds.regroup(made.store, near, 2)[0] == 2
        assert {group.threshold for group in made.groups().groups} == {0.9, 0.5}
        assert made.check() == []
        made.regroup(near)
        whole.regroup(near)
        assert groups(made) == groups(whole)


def test_the_groups_of_both_stores_are_alike(tmp_path: Path) -> None:
    texts = made_texts(4, families=16)
    with Collection(tmp_path / "made") as one, Collection(url_for(tmp_path / "made")) as other:
        for made in (one, other):
            put(made, texts)
            made.group_pending(Near(0.9, 1))
            made.regroup(Near(0.5, 1))
            made.regroup(Near(0.8, 1))
        assert groups(one) == groups(other)
        assert other.check() == []


def test_a_passed_time_limit_leaves_the_groups(tmp_path: Path) -> None:
    class Passing(Deadline):
        def check(self) -> None:
            raise LimitError("too long")

    with Collection(tmp_path / "made") as made:
        put(made, made_texts(3))
        made.group_pending(Near(0.9, 1))
        state = groups(made)
        with pytest.raises(LimitError):
            thresholds.regroup(made.store, Near(0.5), None, Passing(1000))
        assert groups(made) == state


@pytest.mark.parametrize("at_once", [1, 50])
def test_groups_whose_representatives_are_near_become_one_with_the_number_of_the_first(
    tmp_path: Path, at_once: int
) -> None:
    """At a lower threshold; and at a higher one again, each document is with those that it is near to."""
    words = [f"word{number}" for number in range(200)]
    texts = {
        f"{family}{version}": " ".join([*words[:120], *(f"{family}{n}" for n in range(40)), f"end{version}"])
        for family in "abc"
        for version in range(3)
    }
    with Collection(tmp_path / "made") as made:
        put(made, texts)
        made.group_pending(Near(0.9, 1))
        before = [(group.id, group.size) for group in made.groups().groups]
        assert [size for _, size in before] == [3, 3, 3]
        while thresholds.regroup(made.store, Near(0.5, 1), at_once)[1]:
            pass
        require_groups(made, texts, 0.5)
        assert [(group.id, group.size) for group in made.groups().groups] == [(before[0][0], 9)]
        made.regroup(Near(0.9, 1))
        require_groups(made, texts, 0.9)
        assert [group.size for group in made.groups().groups] == [3, 3, 3]
        assert made.groups().groups[0].id == before[0][0]
