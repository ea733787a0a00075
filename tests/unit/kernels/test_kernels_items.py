"""The windows of test items: their numbers, the rarest of each, and those a text has, against naive counts."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.match.runs import longest_run, longest_runs
from neardup.kernels.passages.streams import ascii_run_bytes
from neardup.kernels.sketch.windows import distinct_windows, number_windows, places_matched, rarest_windows
from neardup.text.sketch.cleaning import text_batch
from support.reference import tokens as tokens_of

ITEMS = st.lists(st.lists(st.integers(0, 12), max_size=9), min_size=1, max_size=9)


def laid_out(items: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([*chain(*items)], np.int32), np.cumsum([0, *map(len, items)])


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=60))
def test_windows_are_numbered_by_their_first_places(drawn: list[tuple[int, bool]]) -> None:
    values = [(value, kind) for value, kind in drawn]
    hashes, kinds = np.array([v for v, _ in values], np.uint64), np.array([k for _, k in values], np.bool_)
    numbers, distinct = np.empty(len(values), np.int32), []
    for kind in (False, True):
        distinct += number_windows(hashes, kinds, kind, len(distinct), numbers).tolist()
    expected = [[*dict.fromkeys(value for value, one in values if one == kind)] for kind in (False, True)]
    assert distinct == [*chain(*expected)]
    assert [distinct[number] for number in numbers.tolist()] == hashes.tolist()


@given(ITEMS, st.integers(1, 4))
def test_each_item_is_proposed_by_its_rarest_windows(items: list[list[int]], most_missing: int) -> None:
    places, offsets = distinct_windows(*laid_out(items))
    sets = [sorted(set(item)) for item in items]
    assert [places[a:b].tolist() for a, b in pairwise(offsets)] == sets
    least = np.array([max(1, len(item) - most_missing + 1) for item in sets])
    proposed, starts = rarest_windows((places, offsets), least, 13)
    frequency = Counter([*chain(*sets)])
    expected: dict[int, list[int]] = {window: [] for window in range(13)}
    for number, item in enumerate(sets):
        ranked = sorted(item, key=lambda window: (frequency[window], window))
        for window in ranked[: len(item) - int(least[number]) + 1]:
            expected[window].append(number)
    assert {w: proposed[starts[w] : starts[w + 1]].tolist() for w in range(13)} == expected


@given(ITEMS, st.sets(st.integers(0, 12)))
def test_the_places_of_an_item_that_a_text_has(items: list[list[int]], text: set[int]) -> None:
    met = np.array([(0, window) for window in sorted(text)], np.int64).reshape(-1, 2)
    numbers = np.arange(len(items))
    ranges = np.tile((0, len(met)), (len(items), 1))
    matched, ends = places_matched(met, ranges, numbers, *laid_out(items))
    found = np.split(matched, ends[:-1])
    assert [part.tolist() for part in found] == [
        [place for place, window in enumerate(item) if window in text] for item in items
    ]


@given(ITEMS, ITEMS)
def test_runs_of_many_pairs_are_those_of_each(first: list[list[int]], second: list[list[int]]) -> None:
    sides = [(np.array([*chain(*side)], np.uint64), np.cumsum([len(s) for s in side])) for side in (first, second)]
    pairs = np.array([(a, b) for a in range(len(first)) for b in range(len(second))])
    one = [longest_run(np.array(first[a], np.uint64), np.array(second[b], np.uint64)) for a, b in pairs.tolist()]
    assert list(map(tuple, longest_runs(*sides, pairs).tolist())) == one


def test_the_bytes_of_runs_of_tokens() -> None:
    texts = ["One, two - three.", "", "vier fünf", "(six)seven"]
    runs = np.array([(0, 0, 3), (0, 1, 1), (2, 0, 1), (3, 1, 1)])
    places = ascii_run_bytes(text_batch(pa.array(texts, pa.large_string())), runs).tolist()
    assert places[2] == [-1, -1]
    for (text, first, count), (begin, end) in zip(runs.tolist(), places, strict=True):
        if begin >= 0:
            assert tokens_of(texts[text][begin:end]) == tokens_of(texts[text])[first : first + count]
