"""Groups as the tests compare them: from a run, and from all true pairs by the definitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

import neardup as nd

HOWS = ("principal", "components", "complete")

Pair = tuple[int, int]
Groups = dict[object, frozenset[object]]


def groups_of(found: nd.Found) -> Groups:
    """Return the members of every group by its id, after checking that the table is in order."""
    members: dict[object, list[object]] = {}
    for row in found.groups.to_pylist():
        members.setdefault(row["group"], []).append(row["id"])
        assert row["representative"] == (row["id"] == row["group"])
    for head, of_group in members.items():
        assert of_group[0] == head  # the representative comes first
        assert len(of_group) == len(set(of_group)) > 1
    ids = found.groups["id"].to_pylist()
    assert len(set(ids)) == len(ids)
    return {head: frozenset(of_group) for head, of_group in members.items()}


def groups_by_leader(leader: Sequence[int]) -> Groups:
    """Return the groups of two or more documents, each by its leader."""
    members: dict[object, set[object]] = {}
    for d, head in enumerate(leader):
        members.setdefault(head, set()).add(d)
    return {head: frozenset(of_group) for head, of_group in members.items() if len(of_group) > 1}


def expected_groups(how: str, pairs: Mapping[Pair, Fraction], rank: Sequence[int], reference: int = 0) -> Groups:
    """Return the groups by definition; ``pairs`` holds every pair at or above the threshold.

    principal, complete: documents come best first; each joins the leader it is most similar to (the better ranked
    of equals; one of the reference documents, numbered below ``reference``, before all others), or leads itself.
    With complete it needs to be alike with all members, else the next leader is asked. A reference document
    leads itself. components: whatever any chain of pairs joins, led by the best.
    """
    if how == "components":
        return groups_by_leader(component_leaders(pairs, rank))
    partners: dict[int, dict[int, Fraction]] = {d: {} for d in range(len(rank))}
    for (a, b), similarity in pairs.items():
        partners[a][b] = partners[b][a] = similarity
    members: dict[int, list[int]] = {}
    for d in sorted(range(len(rank)), key=rank.__getitem__):
        leaders = [] if d < reference else [head for head in members if head in partners[d]]
        leaders.sort(key=lambda head, d=d: (head >= reference, -partners[d][head], rank[head]))  # type: ignore[misc]
        if how == "complete":
            leaders = [head for head in leaders if partners[d].keys() >= set(members[head])]
        members.setdefault(leaders[0] if leaders else d, []).append(d)
    return {head: frozenset(of_group) for head, of_group in members.items() if len(of_group) > 1}


def component_leaders(pairs: Collection[Pair], rank: Sequence[int]) -> list[int]:
    """Return the best-ranked document linked to each: union-find, smaller rank to the top."""
    parent = list(range(len(rank)))

    def root(d: int) -> int:
        while parent[d] != d:
            d = parent[d]
        return d

    for a, b in pairs:
        better, worse = sorted((root(a), root(b)), key=rank.__getitem__)
        parent[worse] = better
    return [root(d) for d in range(len(rank))]


def rank_of(values: Sequence[float]) -> list[int]:
    """Return the rank of each value, the largest first and the first of equals first."""
    rank = [0] * len(values)
    for place, k in enumerate(sorted(range(len(values)), key=lambda k: (-values[k], k))):
        rank[k] = place
    return rank


def pairs_of(found: nd.Found) -> set[Pair]:
    """Return the ids of the reported pairs."""
    return ids_of(found.pairs)


def ids_of(pairs: pa.Table) -> set[Pair]:
    return set(zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True))


def all_true_pairs(sets: Sequence[set[tuple[str, ...]]], threshold: Fraction) -> dict[Pair, Fraction]:
    """Return every pair of sets with J at or above the threshold, by brute force."""
    found = {}
    for b, of_b in enumerate(sets):
        for a, of_a in enumerate(sets[:b]):
            shared = len(of_a & of_b)
            if Fraction(shared, len(of_a) + len(of_b) - shared) >= threshold:
                found[a, b] = Fraction(shared, len(of_a) + len(of_b) - shared)
    return found
