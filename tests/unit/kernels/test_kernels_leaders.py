"""Pairs and hubs to groups, against groups by brute force from the similarities of all found pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from neardup.deduplication.group import leaders as stage
from neardup.deduplication.group.leaders import Grouped, group, merge_tables, partner_lists
from neardup.deduplication.join.pairs import PairRoom, Pairs
from neardup.deduplication.join.prefix_join import join_documents
from neardup.io.writers.scratch import Scratch
from neardup.kernels.components import best_of_tree, tree_root, unite
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.leaders import OldDocuments, _compare_squares
from neardup.settings import Settings
from neardup.tables import verified_table
from support import made_sets, reference, reference_search
from support.made_sets import THRESHOLDS, MadeStore

TruePairs = dict[tuple[int, int], Fraction]


@dataclass(frozen=True)
class Example:
    """A collection, where its pairs come from, and the groups it is to be put into.

    The found pairs are those of the table, a part of all true pairs, and all true ones among the hub documents.
    """

    sets: list[set[int]]
    threshold: Fraction
    inside: list[int]  # the documents of hubs
    table: list[tuple[int, int]]
    rank: list[int]
    reference: int
    crowd: int

    @cached_property
    def true(self) -> TruePairs:
        return reference_search.all_pairs(self.sets, self.threshold, self.reference)

    @cached_property
    def among_hubs(self) -> TruePairs:
        return {pair: value for pair, value in self.true.items() if set(pair) <= set(self.inside)}

    @cached_property
    def found(self) -> TruePairs:
        return self.among_hubs | {pair: self.true[pair] for pair in self.table}

    @property
    def hubs(self) -> PrefixIndex:
        least = made_sets.criterion(self.threshold)
        return join_documents(np.array(self.inside, np.int64), len(self.sets), MadeStore(self.sets), least, 1).hubs  # type: ignore[arg-type]

    def grouped(self, groups: str, pairs: str) -> Grouped:
        form = Settings.of(groups=groups, pairs=pairs, threshold=float(self.threshold), threads=2)
        table = made_sets.pair_table(self.sets, self.table)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage, "CROWD", self.crowd)
            rank, least = np.array(self.rank, np.int64), made_sets.criterion(self.threshold)
            return group(Pairs.of(table), self.hubs, rank, self.reference, made_sets.rules(least, form))

    def expected(self, groups: str) -> list[int]:
        if groups == "components":
            return reference_search.components(self.found, self.rank)
        if groups == "complete":
            return reference_search.complete(self.found, self.rank, self.reference)
        return reference_search.principal(self.found, self.rank, self.reference)


@st.composite
def examples(draw: st.DrawFn, all_found: bool = False, realistic: bool = False) -> Example:
    """Return an example; ``realistic``: reference documents rank before all others, as the keep policies do."""
    sets = draw(made_sets.collections())
    threshold = draw(st.sampled_from(THRESHOLDS))
    numbers = range(len(sets))
    inside = draw(st.lists(st.sampled_from([True, True, False]), min_size=len(sets), max_size=len(sets)))
    reference = draw(st.sampled_from([0, 0, len(sets) // 4, len(sets) // 2, len(sets)]))
    rank = draw(st.permutations(numbers))
    if realistic:
        order = sorted(numbers, key=lambda d: (d >= reference, rank[d]))
        rank = [order.index(d) for d in numbers]
    true = reference_search.all_pairs(sets, threshold, reference)
    outside = [pair for pair in true if all_found and not (inside[pair[0]] and inside[pair[1]])]
    more = draw(st.sets(st.sampled_from(sorted(true)))) if true else set()
    table = sorted({*outside, *more})
    event(f"about {len(true) // 10 * 10} true pairs")
    hub = [d for d in numbers if inside[d]]
    return Example(sets, threshold, hub, table, list(rank), reference, draw(st.sampled_from([0, 1, 3, 1000])))


HOW = pytest.mark.parametrize("groups", ["principal", "complete", "components"])


def leader_pairs(leader: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(d, head), max(d, head)) for d, head in enumerate(leader) if d != head}


@pytest.mark.part(3)
@HOW
@given(case=st.one_of(examples(), examples(all_found=True), examples(realistic=True)))
def test_groups_are_those_by_brute_force(groups: str, case: Example) -> None:
    expected = case.expected(groups)
    for pairs in ("needed", "all"):
        assert case.grouped(groups, pairs).leader.tolist() == expected, pairs


@pytest.mark.part(3)
@HOW
@given(case=st.one_of(examples(), examples(realistic=True)))
def test_reported_pairs(groups: str, case: Example) -> None:
    """All: every found pair. Needed: a part of them, with each member and its leader, complete without crowds."""
    every = case.grouped(groups, "all")
    assert made_sets.pairs_of(every.pairs.table(), case.sets) == case.found
    assert every.crowds == ()
    assert not len(every.popular)
    needed = case.grouped(groups, "needed")
    reported = made_sets.pairs_of(needed.pairs.table(), case.sets)
    assert reported.items() <= case.found.items()
    # the groups around leaders report crowds, also where components are requested
    leader = case.expected("complete" if groups == "complete" else "principal")
    crowded = {d for d, head in enumerate(leader) if head in {crowd.leader for crowd in needed.crowds}}
    crowded |= set(needed.popular.tolist())
    least = {pair for pair in case.found if not crowded & set(pair)} | leader_pairs(leader)
    assert least == set(reported) if groups != "components" else least <= set(reported)


@given(examples())
def test_the_members_of_a_group_pair_as_promised(case: Example) -> None:
    for d, head in enumerate(case.grouped("principal", "needed").leader.tolist()):
        assert d == head or (min(d, head), max(d, head)) in case.found
        assert d == head or d >= case.reference
    leader = case.grouped("complete", "needed").leader.tolist()
    groups = [[d for d, its_leader in enumerate(leader) if its_leader == head] for head in set(leader)]
    assert {pair for group in groups for pair in combinations(group, 2)} <= set(case.found)


@given(examples())
def test_crowds_are_told(case: Example) -> None:
    """A crowd is named by its leader, with its size and a bound on the pairs that are not reported."""
    needed = case.grouped("principal", "needed")
    reported = made_sets.pairs_of(needed.pairs.table(), case.sets)
    leader = needed.leader.tolist()
    for crowd in needed.crowds:
        members = [d for d, head in enumerate(leader) if head == crowd.leader]
        within = [pair for pair in case.found if set(pair) <= set(members)]
        assert crowd.members == len(members) > 1
        assert len([pair for pair in within if pair not in reported]) <= crowd.left_out
        assert crowd.left_out == len(members) * (len(members) - 1) // 2 - (len(members) - 1)
    heads = {crowd.leader for crowd in needed.crowds}
    large = {head for head in leader if leader.count(head) - 1 > case.crowd}
    assert large <= heads


def chain(shared: Sequence[int], sizes: Sequence[int]) -> pa.Table:
    """Return a VERIFIED table of neighbours 0–1, 1–2, … with these overlaps and sizes."""
    rows = [(k, k + 1, common, *sizes[k : k + 2]) for k, common in enumerate(shared)]
    return verified_table(*np.array(rows, np.int64).T)


LIKE = [10, 10, 10]  # of sets of 15: each shares half of the union with the next
MIDDLE = [10, 14, 10]


@pytest.mark.parametrize(
    ("groups", "shared", "rank", "reference", "expected"),
    [
        ("principal", LIKE, [0, 1, 2, 3], 0, [0, 0, 2, 2]),
        ("principal", LIKE, [1, 0, 2, 3], 0, [1, 1, 1, 3]),
        ("complete", LIKE, [1, 0, 2, 3], 0, [1, 1, 2, 2]),
        ("components", LIKE, [3, 2, 0, 1], 0, [2, 2, 2, 2]),
        ("principal", LIKE, [0, 3, 1, 2], 0, [0, 0, 2, 2]),  # as similar to both: the better ranked leader
        ("principal", LIKE, [1, 3, 0, 2], 0, [0, 2, 2, 2]),
        ("principal", MIDDLE, [0, 3, 1, 2], 0, [0, 2, 2, 2]),  # the more similar leader
        ("principal", MIDDLE, [0, 3, 1, 2], 1, [0, 0, 2, 2]),  # a reference document before it
        ("complete", MIDDLE, [0, 3, 1, 2], 0, [0, 0, 2, 2]),  # the more similar one has a member that is not
    ],
)
def test_groups_of_a_chain(
    groups: str, shared: list[int], rank: list[int], reference: int, expected: list[int]
) -> None:
    """By hand: pairs 0–1, 1–2 and 2–3."""
    case = Example([{1}] * 4, Fraction(1, 2), [], [], rank, reference, 1000)
    least, form = made_sets.criterion(Fraction(1, 2)), Settings.of(groups=groups, threshold=0.5)
    table = chain(shared, [15, 15, 15, 15])
    assert (
        group(Pairs.of(table), case.hubs, np.array(rank), reference, made_sets.rules(least, form)).leader.tolist()
        == expected
    )


@pytest.mark.parametrize("pairs", ["needed", "all"])
def test_a_crowd_does_not_link_two_reference_documents(pairs: str) -> None:
    """0 and 1 are reference documents and alike; the crowd of 0 is like 0 and not like 1."""
    first = set(range(20))
    sets = [first, first - {0, 1, 2, 3}] + [first | {100 + n} for n in range(6)]
    case = Example(sets, Fraction(4, 5), list(range(8)), [], list(range(8)), 2, 3)
    assert reference_search.resemblance(sets[0], sets[1]) == case.threshold
    assert case.grouped("components", pairs).leader.tolist() == [0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("better", [0, 1])
def test_similarities_are_compared_without_rounding(better: int) -> None:
    """Two leaders whose similarities differ by 10⁻¹⁸, less than a float resolves; the larger one wins."""
    larger, smaller = (10**9 - 1, 10**9), (10**9 - 2, 10**9 - 1)
    assert larger[0] / larger[1] - smaller[0] / smaller[1] == pytest.approx(0, abs=1e-15)
    assert Fraction(*larger) > Fraction(*smaller)
    of_leader = [larger, smaller] if better == 0 else [smaller, larger]
    rows = [[k, 2, shared, shared, union] for k, (shared, union) in enumerate(of_leader)]
    table = verified_table(*np.array(rows, np.int64).T)
    for rank in ([0, 1, 2], [1, 0, 2]):
        least, form = made_sets.criterion(Fraction(9, 10)), Settings.of(threshold=0.9)
        leader = group(Pairs.of(table), None, np.array(rank), 0, made_sets.rules(least, form)).leader
        assert leader.tolist() == [0, 1, better]


def test_members_that_lack_the_same_of_their_leader() -> None:
    """All three lack the same half of 0; what each has of its own keeps 3 from pairing with 2, not with 1."""
    half = set(range(5))
    sets = [set(range(10)), half, half | set(range(20, 26)), half | set(range(30, 36))]
    for rank in ([0, 1, 2, 3], [0, 2, 1, 3]):
        case = Example(made_sets.hashed(sets, reference.mix64), Fraction(3, 10), [0, 1, 2, 3], [], rank, 0, 1000)
        assert case.expected("complete") == [0, 0, 0, 3]
        assert case.grouped("complete", "needed").leader.tolist() == [0, 0, 0, 3]
        assert case.grouped("principal", "needed").leader.tolist() == [0, 0, 0, 0]


def test_a_document_with_more_partners_than_the_buffer_holds() -> None:
    """A hundred leaders, of which the last is the most similar, in the table and in the hubs."""
    sets = [set(range(10 * k, 10 * k + 10 + k // 99)) for k in range(100)] + [set(range(1001))]
    for inside in ([], list(range(101))):
        table = [] if inside else [(k, 100) for k in range(100)]
        case = Example(sets, Fraction(1, 200), inside, table, list(range(101)), 0, 1000)
        for groups in ("principal", "complete"):
            assert case.grouped(groups, "all").leader.tolist() == [*range(100), 99]
            assert case.expected(groups) == [*range(100), 99]


@pytest.mark.parametrize("most", [2, 1000])
@given(case=examples())
def test_partner_lists(case: Example, most: int) -> None:
    """In memory, and in files if the pairs exceed the room."""
    pairs, room = Pairs.of(made_sets.pair_table(case.sets, case.table)), PairRoom(Scratch(), most)
    lists = partner_lists(pairs, len(case.sets), RESEMBLANCE, OldDocuments(0, RESEMBLANCE), room)
    for d, (begin, end) in enumerate(pairwise(lists.begin.tolist())):
        own = {pair: case.true[pair] for pair in case.table if d in pair}
        partners = lists.partners[begin:end].tolist()
        values = [
            Fraction(*both)
            for both in zip(lists.shared[begin:end].tolist(), lists.whole[begin:end].tolist(), strict=True)
        ]
        assert {(min(d, p), max(d, p)): value for p, value in zip(partners, values, strict=True)} == own
        assert len(partners) == len(own)


@given(examples(), st.data())
def test_merged_tables_hold_each_pair_once(case: Example, data: st.DataObject) -> None:
    parts = (
        data.draw(st.lists(st.sets(st.sampled_from(sorted(case.true))), min_size=1, max_size=3))
        if case.true
        else [set()]
    )
    tables = [made_sets.pair_table(case.sets, sorted(part)) for part in parts]
    assert set(made_sets.pairs_of(merge_tables(*tables), case.sets)) == set().union(*parts)


EDGES = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=30)


@given(EDGES, st.permutations(range(20)))
@example([(0, 19), (19, 5), (5, 0), (3, 3)], list(range(20)))
def test_trees(edges: list[tuple[int, int]], rank: list[int]) -> None:
    parent = np.arange(20)
    unite(parent, np.array([a for a, _ in edges], np.int64), np.array([b for _, b in edges], np.int64))
    expected = reference_search.components(edges, rank)
    assert best_of_tree(parent, np.array(rank)).tolist() == expected
    roots = [tree_root(parent, d) for d in range(20)]
    assert roots == reference_search.components(edges, range(20))  # the smallest number is the root


LENGTHS = st.one_of(st.integers(1, 40), st.integers(1, 2**31 - 1))


@given(LENGTHS, LENGTHS, LENGTHS, LENGTHS, LENGTHS)
@example(3, 18, 1, 2, 1)
@example(2**31 - 2, 2**31 - 1, 2**31 - 3, 2**31 - 2, 2**31 - 1)
def test_squares_are_compared_without_rounding(shared: int, other: int, less: int, size: int, more: int) -> None:
    """Fractions of products of two lengths, of which a product has up to 124 bits."""
    one, two = Fraction(shared**2, size * other), Fraction(less**2, size * more)
    assert _compare_squares(shared, size * other, less, size * more) == (one > two) - (one < two)
    twice = min(shared, 2**15), 2 * min(size, 2**15)
    assert _compare_squares(twice[0], twice[1], 2 * twice[0], 4 * twice[1]) == 0
