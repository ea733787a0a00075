"""Questions to a result with many pairs: columns are filtered, and only what is shown becomes objects."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest

import neardup as nd
from neardup.deduplication.run import places
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.places import Outside, similarities
from neardup.deduplication.run.records import Id, Shared
from neardup.deduplication.run.views import DRAWN_MEMBERS


@pytest.fixture(scope="module")
def found() -> Found:
    """250 documents of one family, most of them pairs, in several groups; and exact copies of ten of them."""
    draw = random.Random(5)
    family, texts = [f"w{draw.randrange(900)}" for _ in range(60)], []
    for _ in range(250):
        words = list(family)
        for place in draw.sample(range(60), draw.randrange(1, 4)):
            words[place] = f"x{draw.randrange(900)}"
        texts.append(" ".join(words))
    return nd.find(texts + texts[:10], threshold=0.6, pairs="all", id=None)


def naive_outside(found: Found, id: Id) -> list[Outside]:
    """The nearest documents outside a group, from all pairs one by one."""
    group_of = {row["id"]: row["group"] for row in found.groups.to_pylist()}
    first = {row["id"]: row["copy_of"] for row in found.copies.to_pylist()}
    inside = {first.get(one, one) for one, group in group_of.items() if group == group_of[id]}
    ends = []
    for row, value in zip(found.pairs.to_pylist(), similarities(found, found.pairs).tolist(), strict=True):
        for member, other in ((row["id_a"], row["id_b"]), (row["id_b"], row["id_a"])):
            if member in inside and other not in inside:
                ends.append((-value, member != first.get(id, id), str(other), member, other))
    nearest: dict[Id, Outside] = {}
    for least, _, _, member, other in sorted(ends):
        nearest.setdefault(other, Outside(other, -least, member, group_of.get(other)))
    return list(nearest.values())


def test_every_evidence_is_that_of_all_pairs_one_by_one(found: Found) -> None:
    first = {row["id"]: row["copy_of"] for row in found.copies.to_pylist()}
    counts: dict[tuple[Id, Id], Shared] = {}
    for a, b, shared, size_a, size_b in zip(*(found.pairs[k].to_pylist() for k in range(5)), strict=True):
        counts[a, b], counts[b, a] = Shared(shared, size_a, size_b), Shared(shared, size_b, size_a)
    groups = found.first_groups(None)
    assert len(groups) > 3
    for group in groups:
        drawn = [member.id for member in group.members[:DRAWN_MEMBERS]]
        linked = [
            (a, b)
            for a, b in combinations(drawn, 2)
            if first.get(a, a) == first.get(b, b) or (first.get(a, a), first.get(b, b)) in counts
        ]
        assert [link[:2] for link in group.links] == linked
        for member in group.members:
            assert member.pair == counts.get((first.get(member.id, member.id), first.get(group.id, group.id)))
            assert found.why(member.id).member == member
    for id in (groups[0].id, groups[-1].id, 3, 155):
        outside = naive_outside(found, id)
        assert list(found.outside(id, 1000)) == outside
        assert list(found.outside(id, 3)) == outside[:3]
    assert any(naive_outside(found, group.id) for group in groups)


def test_objects_are_made_for_what_is_shown_alone(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counting(kind: Any) -> Any:
        return lambda *values: (made.append(kind), kind(*values))[1]

    monkeypatch.setattr(places, "Shared", counting(Shared))
    monkeypatch.setattr(places, "Outside", counting(Outside))
    group = max(found.first_groups(None), key=lambda group: len(group.members))
    most = 2 * (len(group.members) + DRAWN_MEMBERS * (DRAWN_MEMBERS - 1) // 2)
    assert found.pairs.num_rows > 2 * most
    made.clear()
    found.why(group.members[-1].id)
    found.outside(group.id, 3)
    assert len(made) <= 5
    found.group(group.id)
    assert len(made) <= 5 + most
