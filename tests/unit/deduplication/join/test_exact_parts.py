"""The exact join in parts: pairs as brute force finds them, whole families, and the twin of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.deduplication.join.criterion import EVERYONE
from neardup.deduplication.join.exact_parts import ExactParts, Join, exact_parts
from neardup.deduplication.join.prefix_join import HubSearch, pairs_of
from neardup.deduplication.join.shingle_store import SpilledSets
from neardup.errors import OutputError
from neardup.io.writers.scratch import Scratch
from neardup.kernels.components import Outlines, PrefixLists, best_of_tree, unite_met
from neardup.kernels.formulas import COSINE, DICE, LARGER, OVERLAP, RESEMBLANCE
from neardup.kernels.join.prefix_index import FARTHEST
from neardup.kernels.sets import differ_in_more, fill_parities, least_shared, parity_words
from neardup.text.sketch.documents import ShingleSets
from support import made_sets, reference_join

MEASURES = {
    RESEMBLANCE: reference_join.resemblance,
    OVERLAP: reference_join.overlap,
    LARGER: reference_join.larger,
    DICE: reference_join.dice,
    COSINE: reference_join.cosine,
}
ROOMS = st.sampled_from([64, 1000, 20_000, 10**8])
Rows = list[tuple[int, ...]]


def filed(sets: Sequence[set[int]], scratch: Scratch) -> SpilledSets:
    """Return the sets in a file, written in two portions."""
    made = SpilledSets(np.arange(len(sets)), scratch.numbers())
    for part in (sets[: len(sets) // 2], sets[len(sets) // 2 :]):
        hashes, starts, sizes = made_sets.laid_out(part)
        made.add(ShingleSets(hashes, np.append(starts, sizes.sum())))
    return made


def split(sets: Sequence[set[int]], join: Join) -> ExactParts:
    scratch = Scratch()
    return exact_parts(filed(sets, scratch), join, scratch, lambda done: None)


def joined(threshold: Fraction, measure: int = RESEMBLANCE, room: int = 64, first_new: int = 0) -> Join:
    return Join(made_sets.criterion(threshold, measure), EVERYONE, first_new, room, 1)


def pairs_in(parts: ExactParts) -> Rows:
    """Return (a, b, |A∩B|, |A|, |B|) of all pairs in the parts, with the numbers of the run."""
    rows: Rows = []
    for documents, index in parts.indexes():
        n = len(documents)
        old = int(np.searchsorted(documents, parts.asked.first_new))
        every = HubSearch(parts.asked.criterion, np.zeros(n, np.bool_), np.zeros(n, np.int64), None, old)
        met, _ = pairs_of(index, every, 1)
        table = met.table()
        for a, b, *counts in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True):
            rows.append((int(documents[a]), int(documents[b]), *counts))
    return sorted(rows)


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", MEASURES)
@given(sets=made_sets.collections(), threshold=st.sampled_from(made_sets.THRESHOLDS), room=ROOMS)
@settings(max_examples=20)
def test_the_parts_have_all_pairs(measure: int, sets: list[set[int]], threshold: Fraction, room: int) -> None:
    parts = split(sets, joined(threshold, measure, room))
    inside = [int(document) for part in parts.parts for document in part]
    assert len(inside) == len(set(inside))
    assert all((np.diff(part) > 0).all() for part in parts.parts)
    expected = reference_join.join(reference_join.sets_of_numbers(sets), MEASURES[measure](threshold)).rows()
    assert pairs_in(parts) == expected


@given(made_sets.collections(), st.integers(0, 8))
@settings(max_examples=20)
def test_pairs_of_two_reference_documents_are_left_out(sets: list[set[int]], first_new: int) -> None:
    parts = split(sets, joined(Fraction(1, 2), first_new=first_new))
    expected = reference_join.join(reference_join.sets_of_numbers(sets), MEASURES[RESEMBLANCE](Fraction(1, 2)))
    assert pairs_in(parts) == [row for row in expected.rows() if row[1] >= first_new]


def test_documents_without_a_partner_are_in_no_part_and_parts_are_small() -> None:
    strangers = [set(range(1000 * k, 1000 * k + 20)) for k in range(50)]
    sets = [{hash_of(value) for value in values} for values in [*strangers, *strangers[:20]]]
    parts = split(sets, joined(Fraction(4, 5), room=4000))
    assert sorted(int(document) for part in parts.parts for document in part) == [*range(20), *range(50, 70)]
    assert len(parts.parts) > 2
    assert max(map(len, parts.parts)) <= 4000 // 16 // 20


def hash_of(value: int) -> int:
    return (value * 0x9E37_79B9_7F4A_7C15 + 0x1234_5678_9ABC_DEF1) % (1 << 64)


@given(made_sets.collections(), st.data())
@settings(max_examples=25)
def test_the_kernel_connects_as_its_twin_does(sets: list[set[int]], data: st.DataObject) -> None:
    """All places of lists are compared naively; a limit of tries only makes families larger."""
    lists, inside, reach = [], [], []
    order = sorted(range(len(sets)), key=lambda d: (len(sets[d]), d))
    for value in sorted(set().union(*sets)):
        if len(found := [d for d in order if value in sets[d]]) > 1:
            lists.append(found)
            inside.append([data.draw(st.booleans()) for _ in found])
            reach.append([data.draw(st.sampled_from([int(FARTHEST), 1, 3, 6, 20])) for _ in found])
    hashes, starts, sizes = made_sets.laid_out(sets)
    begin = parity_words(sizes)
    words = np.zeros(begin[-1], np.uint64)
    fill_parities(hashes, starts, sizes, begin, words)
    largest = np.array([data.draw(st.integers(1, 40)) for _ in sets], np.int64)
    across = np.array(data.draw(st.sampled_from([[], [d % 3 for d in range(len(sets))]])), np.uint64)
    outlines, asked = Outlines(sizes, largest, words, begin, across), made_sets.criterion(Fraction(1, 2))
    old = data.draw(st.integers(0, len(sets)))
    expected = np.arange(len(sets))
    for members, in_prefix, of_place in zip(lists, inside, reach, strict=True):
        for i, j in combinations(range(len(members)), 2):
            x, y = members[i], members[j]
            apart = int(sizes[x] + sizes[y]) - 2 * least_shared(sizes[x], sizes[y], asked)
            if (
                in_prefix[i]
                and sizes[y] <= min(largest[x], of_place[i])
                and sizes[x] <= min(largest[y], of_place[j])
                and not (len(across) and across[x] == across[y])
                and max(x, y) >= old
                and not differ_in_more(words, begin, x, y, apart)
            ):
                expected[expected == expected[x]] = expected[y]
    first = np.cumsum([0, *map(len, lists)])
    columns = (lists, np.int32), (reach, np.int32), (inside, np.bool_)
    flat = [np.array([*chain.from_iterable(part)], kind) for part, kind in columns]
    for most in (10**6, 0):
        parent = np.arange(len(sets))
        unite_met(PrefixLists(*flat, first), outlines, asked, old, most, parent)
        family = best_of_tree(parent, np.arange(len(sets)))
        for x, y in combinations(range(len(sets)), 2):
            together = expected[x] == expected[y]
            assert family[x] == family[y] if together else most == 0 or family[x] != family[y]


def test_a_folder_without_room_for_working_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        Scratch(tmp_path / "missing").numbers()


@given(made_sets.collections(), st.data())
@settings(max_examples=30)
def test_sets_in_a_file_are_the_same_sets(sets: list[set[int]], data: st.DataObject) -> None:
    made = filed(sets, Scratch())
    assert len(made) == len(sets)
    wanted = [d for d in range(len(sets)) if data.draw(st.booleans())]
    found = made.load(np.array(wanted, np.int64))
    parts = np.split(found.sets.hashes, found.sets.offsets[1:-1])[: len(wanted)]
    assert [set(part.tolist()) for part in parts] == [sets[d] for d in wanted]
    most = data.draw(st.integers(1, 60))
    following = 0
    for first, part in made.ranges(most):
        assert first == following
        assert len(part.hashes) <= most or len(part.sizes) == 1
        following += len(part.sizes)
        for k, size in enumerate(part.sizes.tolist()):
            begin = int(part.offsets[k])
            assert set(part.hashes[begin : begin + size].tolist()) == sets[first + k]
    assert following == len(sets)
