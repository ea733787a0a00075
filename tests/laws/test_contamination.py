"""Which test items a text contains: the kernels, an index and the stated rules against sets of tuples."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.corpus.contamination.cuts import Cutter
from neardup.corpus.contamination.evidence import Weights, WindowCounts
from neardup.corpus.contamination.items import SHORTEST, WHOLE, ItemText, items_with_windows
from neardup.corpus.contamination.matches import ItemSearch, MatchRules, scan
from neardup.kernels.match.runs import longest_run
from neardup.settings import Settings
from neardup.text.keys import key_of, new_key
from support import reference

LENGTH = 5
tokens_of = cache(reference.tokens)


def texts_of(draw: random.Random) -> tuple[list[str], list[str]]:
    """Items of 1 to 40 tokens, and training texts that hold pieces of them, with words changed and left out."""
    words = [f"word{number}" for number in range(40)]
    items = [" ".join(draw.choices(words, k=draw.randrange(1, 40))) for _ in range(60)]
    train = []
    for _ in range(80):
        pieces = draw.choices(words, k=draw.randrange(60))
        for item in draw.sample(items, draw.randrange(4)):
            copied = item.split()
            for _ in range(draw.randrange(3)):
                copied[draw.randrange(len(copied))] = draw.choice(words)
            pieces += [
                *copied[: draw.choice((len(copied), draw.randrange(len(copied) + 1)))],
                *draw.choices(words, k=3),
            ]
        train.append(" ".join(pieces))
    return items, train


def named(items: list[str]) -> list[ItemText]:
    return [ItemText("set", str(number), "text", item) for number, item in enumerate(items)]


@cache
def windows_in(text: str, length: int) -> frozenset[tuple[str, ...]]:
    tokens = tokens_of(text)
    return frozenset(tuple(tokens[begin : begin + length]) for begin in range(len(tokens) - length + 1))


def contained(item: str, text: str, share: Fraction) -> tuple[int, int] | None:
    """Shared and all shingles of an item, if the text has enough of them: by sets of tuples."""
    tokens = tokens_of(item)
    if len(tokens) < SHORTEST:
        return None
    length = len(tokens) if len(tokens) < max(WHOLE, LENGTH) else LENGTH
    of_item, of_text = windows_in(item, length), windows_in(text, length)
    shared = len(of_item & of_text)
    return (shared, len(of_item)) if shared and Fraction(shared, len(of_item)) >= share else None


def longest_common(item: Sequence[Hashable], text: Sequence[Hashable]) -> int:
    """The longest common run of tokens, by a table of all pairs of places."""
    best, above = 0, [0] * (len(text) + 1)
    for token in item:
        row = [0] * (len(text) + 1)
        for place, other in enumerate(text):
            row[place + 1] = above[place] + 1 if token == other else 0
        best, above = max(best, *row), row
    return best


def occurrences(items: list[str], train: list[str], share: Fraction) -> dict[tuple[int, int], tuple[int, int]]:
    """By text and item: the shared and all shingles, by sets of tuples."""
    return {
        (row, k): counts
        for row, text in enumerate(train)
        for k, item in enumerate(items)
        if (counts := contained(item, text, share)) is not None
    }


def search_of(items: list[str], share: Fraction, length: int = LENGTH) -> ItemSearch:
    settings = Settings.of(length=length)
    return ItemSearch.of(items_with_windows(named(items), settings, new_key()), settings, MatchRules(share=share))


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_no_item_at_the_share_is_missed_and_none_below_it_is_found(seed: int, share: Fraction) -> None:
    items, train = texts_of(random.Random(seed))
    search = search_of(items, share)
    found = {}
    for match in scan(pa.array(train, pa.large_string()), search).candidates.to_pylist():
        item, text = match["item"], train[match["text"]]
        found[match["text"], item] = (match["shared"], int(search.items.sizes[item]))
        assert match["run"] == longest_common(tokens_of(items[item]), tokens_of(text))
        assert text[match["begin"] : match["end"]] == match["passage"]
        of_item = items[item][match["item_begin"] : match["item_end"]]
        assert tokens_of(match["passage"]) == tokens_of(of_item)
        assert len(tokens_of(of_item)) == match["run"]
        assert match["passage"] in match["context"]
    assert found == occurrences(items, train, share)
    assert len(found) > 10


def test_phrases_of_many_items_hide_none_of_them() -> None:
    """Only rare windows propose an item; those of a preamble of all items do not."""
    draw = random.Random(5)
    words = [f"word{number}" for number in range(300)]
    preamble = " ".join(draw.choices(words, k=20))
    items = [f"{preamble} {' '.join(draw.choices(words, k=draw.randrange(12)))}" for _ in range(50)]
    train = [preamble, *(f"{item} {' '.join(draw.choices(words, k=9))}" for item in items[:10])]
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        candidates = scan(pa.array(train, pa.large_string()), search_of(items, share)).candidates
        pairs = set(zip(candidates["text"].to_pylist(), candidates["item"].to_pylist(), strict=True))
        assert pairs == set(occurrences(items, train, share))


def test_the_documents_with_each_window_are_counted() -> None:
    items, train = texts_of(random.Random(9))
    search = search_of(items, Fraction(4, 5))
    counts = WindowCounts(search.items)
    for part in (train[:30], train[30:]):
        counts.add(scan(pa.array(part, pa.large_string()), search))
    assert counts.texts == len(train)
    for item, text in enumerate(items):
        tokens, length = tokens_of(text), int(search.items.lengths[item])
        for begin, window in enumerate(search.items.windows_of(item).tolist()):
            shingle = tuple(tokens[begin : begin + length])
            assert counts.documents[window] == sum(shingle in windows_in(text, length) for text in train)


def test_the_numbers_of_windows_do_not_depend_on_the_key() -> None:
    items, _ = texts_of(random.Random(2))
    one, other = (items_with_windows(named(items), Settings.of(), key_of(bytes([n]) * 32)) for n in (1, 2))
    assert one.windows.tolist() == other.windows.tolist()
    assert one.digest == other.digest


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(0, 4), max_size=60))
def test_the_longest_common_run_is_that_of_the_table_of_all_places(first: list[int], second: list[int]) -> None:
    begin, other, run = longest_run(np.array(first, np.uint64), np.array(second, np.uint64))
    assert run == longest_common(first, second)
    assert first[begin : begin + run] == second[other : other + run]


def test_the_longest_run_of_repetitive_texts_takes_linear_time() -> None:
    run = 200_000
    begin, other, length = longest_run(np.zeros(run, np.uint64), np.zeros(10 * run, np.uint64))
    assert (begin, other, length) == (0, 0, run)


@pytest.mark.parametrize("seed", range(3))
def test_a_cut_text_has_no_shingle_of_the_items_that_is_not_common(seed: int) -> None:
    items, train = texts_of(random.Random(seed))
    search = search_of(items, Fraction(1, 2))
    counts = WindowCounts(search.items)
    scanned = scan(pa.array(train, pa.large_string()), search)
    counts.add(scanned)
    weights = Weights(search.items, search.rules, counts.texts, counts.documents)
    cutter = Cutter(weights, LENGTH, "|")
    of_text: dict[int, list[int]] = {}
    for match in scanned.candidates.to_pylist():
        of_text.setdefault(match["text"], []).append(match["item"])
    assert of_text
    for row, numbers in of_text.items():
        passages = cutter.passages(train[row], numbers)
        pieces = cutter.cut(train[row], passages).split("|")
        assert len(pieces) == len(passages) + 1
        places = zip(pieces, passages, strict=False)
        assert "".join(piece + train[row][begin:end] for piece, (begin, end) in places) + pieces[-1] == train[row]
        for item in numbers:
            tokens, length = tokens_of(items[item]), int(search.items.lengths[item])
            for begin, window in enumerate(search.items.windows_of(item).tolist()):
                shingle = tuple(tokens[begin : begin + length])
                assert weights.common[window] or not any(shingle in windows_in(p, length) for p in pieces)
