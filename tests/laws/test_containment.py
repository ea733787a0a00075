"""Containment and overlap as what a run looks for: every pair of brute force, and members that are contained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.group.leaders import group
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.prefix_join import join_documents
from neardup.errors import SettingError
from neardup.kernels.formulas import CONTAINMENT
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.settings import Settings
from support import made_sets, reference, shared_data
from support.grouped import groups_by_leader, groups_of, pairs_of, rank_of
from support.made_sets import THRESHOLDS, MadeStore
from support.made_texts import Writer

SETS = ("own", "django_docs", "law_de", "license_texts", "irplag_java", "bible_pd", "site_policy")

Pair = tuple[int, int]


def overlapping(sets: Sequence[set[int]], least: Fraction, reference: int = 0) -> dict[Pair, int]:
    """Return |A∩B| of every pair whose smaller set is in the larger one by at least this share."""
    pairs = ((a, b) for a, b in combinations(range(len(sets)), 2) if b >= reference)
    shared = {(a, b): len(sets[a] & sets[b]) for a, b in pairs}
    return {
        (a, b): both for (a, b), both in shared.items() if both and both >= least * min(len(sets[a]), len(sets[b]))
    }


def joined(sets: Sequence[set[int]], least: Fraction, measure: int) -> PrefixIndex:
    asked = made_sets.criterion(least, measure)
    return join_documents(np.arange(len(sets)), len(sets), MadeStore(sets), asked, 2).hubs  # type: ignore[arg-type]


@pytest.mark.part(14)
@pytest.mark.parametrize("measure", ["containment", "overlap"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("name", SETS)
def test_all_pairs_of_real_text(name: str, threshold: float, measure: str) -> None:
    texts = list(shared_data.documents(name).values())
    found = nd.find(texts, threshold=threshold, measure=measure, pairs="all")
    copies = {row["id"] for row in found.copies.to_pylist()}
    least = Fraction(repr(threshold))
    expected = {
        pair: counted
        for pair, counted in shared_data.all_pairs(name).items()
        if Fraction(counted.shared, min(counted.size_a, counted.size_b)) >= least and not copies & set(pair)
    }
    assert pairs_of(found) == set(expected)
    for row in found.pairs.to_pylist():
        counted = expected[row["id_a"], row["id_b"]]
        assert (row["shared"], row["size_a"], row["size_b"]) == (counted.shared, counted.size_a, counted.size_b)
        if measure == "overlap":
            assert row["overlap"] == counted.shared / min(counted.size_a, counted.size_b)
    assert found.run.choice.method == "exact"
    assert measure in found.run.recall.statement


def contained_groups(sets: Sequence[set[int]], least: Fraction, rank: Sequence[int]) -> Mapping[object, object]:
    """Return the groups by definition: best first, each joins the leader that holds most of it, if enough."""
    leader: dict[int, int] = {}
    for d in sorted(range(len(sets)), key=rank.__getitem__):
        heads = [head for head in leader if leader[head] == head]
        held = {head: Fraction(len(sets[d] & sets[head]), len(sets[d])) for head in heads}
        heads = sorted((h for h in heads if held[h] >= least), key=lambda h, held=held: (-held[h], rank[h]))
        leader[d] = heads[0] if heads else d
    return groups_by_leader([leader[d] for d in range(len(sets))])


@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.booleans(), st.data())
def test_a_member_is_contained_in_its_leader(
    sets: list[set[int]], threshold: Fraction, in_hubs: bool, data: st.DataObject
) -> None:
    """The same from a table of pairs and from the prefix lists."""
    sets = [values for values in sets if values]
    rank = data.draw(st.permutations(range(len(sets))))
    asked = made_sets.criterion(threshold, CONTAINMENT)
    table = made_sets.pair_table(sets, [] if in_hubs else list(overlapping(sets, threshold)))
    index = joined(sets, threshold, CONTAINMENT) if in_hubs else None
    form = Settings.of(threshold=float(threshold), measure="containment", threads=1)
    leader = group(
        Pairs.of(table), index, np.array(rank, np.int64), 0, made_sets.rules(asked, form)
    ).leader.tolist()
    assert groups_by_leader(leader) == contained_groups(sets, threshold, rank)


HELD: Mapping[str, Callable[[int, int, int], Fraction]] = {
    "new-in-old": lambda shared, new, old: Fraction(shared, new),
    "old-in-new": lambda shared, new, old: Fraction(shared, old),
    "either": lambda shared, new, old: Fraction(shared, min(new, old)),
}
"""How much of a pair of a new and an old document counts, by the setting."""


def held_groups(
    sets: Sequence[set[int]], old: int, least: Fraction, rank: Sequence[int], held: str
) -> Mapping[object, object]:
    """Return the groups by definition: old documents lead, and take new ones by the side that is held."""
    leader = {d: d for d in range(old)}
    for d in sorted(range(old, len(sets)), key=rank.__getitem__):
        heads = [head for head in leader if leader[head] == head]
        value = {
            head: HELD[held if head < old else "new-in-old"](
                len(sets[d] & sets[head]), len(sets[d]), len(sets[head])
            )
            for head in heads
        }
        heads = [head for head in heads if value[head] >= least]
        heads.sort(key=lambda h, value=value: (h >= old, -value[h], rank[h]))
        leader[d] = heads[0] if heads else d
    return groups_by_leader([leader[d] for d in range(len(sets))])


@pytest.mark.parametrize("held", list(HELD))
@given(made_sets.collections(), st.sampled_from(THRESHOLDS), st.booleans(), st.data())
def test_the_side_that_has_to_be_held(
    held: str, sets: list[set[int]], threshold: Fraction, in_hubs: bool, data: st.DataObject
) -> None:
    """The same from a table of pairs and from the prefix lists."""
    sets = [values for values in sets if values]
    old = data.draw(st.integers(0, len(sets)))
    new_rank = data.draw(st.permutations(range(old, len(sets))))
    rank = [*range(old), *new_rank]
    asked = made_sets.criterion(threshold, CONTAINMENT)
    table = made_sets.pair_table(sets, [] if in_hubs else list(overlapping(sets, threshold, old)))
    index = joined(sets, threshold, CONTAINMENT) if in_hubs else None
    form = Settings.of(threshold=float(threshold), measure="containment", threads=1, direction=held)
    leader = group(
        Pairs.of(table), index, np.array(rank, np.int64), old, made_sets.rules(asked, form)
    ).leader.tolist()
    assert groups_by_leader(leader) == held_groups(sets, old, threshold, rank, held)


@pytest.mark.parametrize("name", ["own", "django_docs"])
def test_documents_that_hold_a_test_item_of_real_text(name: str) -> None:
    """Every pair whose old side is held goes by old-in-new, with and without a memory limit."""
    texts = list(shared_data.documents(shared_data.or_own(name)).values())
    items = [" ".join(text.split()[10:60]) for text in texts[::5] if len(text.split()) > 70]
    shingles = [reference.shingle_set(text, 5, "word") for text in texts]
    of_items = [reference.shingle_set(item, 5, "word") for item in items]
    held = [any(len(one & item) >= Fraction("0.8") * len(item) for item in of_items) for one in shingles]
    for more in ({}, {"memory": "1GB"}):
        found = nd.find(
            texts,
            against=items,
            measure="containment",
            direction="old-in-new",
            no_self=True,
            **more,  # type: ignore[arg-type]
        )
        assert set(found.removed["id"].to_pylist()) == {number for number, goes in enumerate(held) if goes}
        near = [row for row in found.removed.to_pylist() if row["similarity"] is not None]
        assert all(0.8 <= row["similarity"] <= 1 for row in near)
    unheld = nd.find(texts, against=items, measure="containment", no_self=True)
    stay = sum(held) - unheld.run.counts.removed
    assert any(text.startswith(f"{stay} of {sum(held)} documents that hold") for text in unheld.run.warnings)


def test_a_part_goes_and_the_whole_stays() -> None:
    """An excerpt repeats the report; the report does not repeat the excerpt."""
    writer = Writer(seed=71)
    words = writer.words(300)
    report, excerpt, other = " ".join(words), " ".join(words[40:100]), writer.text(80)
    found = nd.find([excerpt, report, other], measure="containment", threshold=0.9)
    reason = "near copy of 1: containment 1.000 (of this document in that one)"
    assert found.removed.to_pylist() == [{"id": 0, "kept_id": 1, "similarity": 1.0, "reason": reason}]
    # kept first, the excerpt cannot stand for the report: only a fifth of that is in it
    kept_first = nd.find([excerpt, report, other], measure="containment", threshold=0.9, keep="first")
    assert kept_first.removed.num_rows == 0
    assert pairs_of(kept_first) == {(0, 1)}
    # the overlap has no direction
    symmetric = nd.find([excerpt, report, other], measure="overlap", threshold=0.9, keep="first")
    assert symmetric.removed["id"].to_pylist() == [1]
    assert nd.find([excerpt, report, other], threshold=0.3).pairs.num_rows == 0


def test_components_by_overlap_hold_whatever_a_chain_joins() -> None:
    writer = Writer(seed=72)
    words = writer.words(400)
    texts = [" ".join(words[:200]), " ".join(words[150:210]), " ".join(words[190:400])]
    found = nd.find(texts, measure="overlap", threshold=0.3, groups="components")
    assert pairs_of(found) == {(0, 1), (1, 2)} - ({(1, 2)} if _overlap(texts[1], texts[2]) < 0.3 else set())
    assert {len(members) for members in groups_of(found).values()} <= {2, 3}


def _overlap(a: str, b: str) -> float:
    both = [{tuple(text.split()[i : i + 5]) for i in range(len(text.split()) - 4)} for text in (a, b)]
    return len(both[0] & both[1]) / min(map(len, both))


def test_lsh_does_not_claim_to_find_containment() -> None:
    with pytest.raises(SettingError):
        nd.find(["a b c d e f"], method="lsh", measure="containment")


def test_ranks_decide_as_ever() -> None:
    """The longest is kept, whichever way round the input has them."""
    words = Writer(seed=73).words(120)
    texts = [" ".join(words[: 40 + 20 * k]) for k in range(4)]
    rank = rank_of([len(text.split()) for text in texts])
    assert rank == [3, 2, 1, 0]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        rows = pa.table({"text": [texts[k] for k in order], "id": order})
        found = nd.find(rows, measure="containment", threshold=1.0)
        assert groups_of(found) == {3: frozenset(range(4))}
