"""Which test items a text contains: the kernels, an index and the stated rules against sets of tuples."""

from __future__ import annotations

import random
from fractions import Fraction

import pyarrow as pa
import pytest

from neardup.contamination.items import SHORTEST, WHOLE, ItemText, items_with_windows
from neardup.contamination.matches import MatchRules, Weights, scan
from neardup.settings import Settings
from neardup.text.keys import new_key
from support.reference import tokens as tokens_of

LENGTH = 5


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


def windows_in(tokens: list[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(tokens[begin : begin + length]) for begin in range(len(tokens) - length + 1)}


def contained(item: str, text: str, share: Fraction) -> tuple[int, int] | None:
    """Shared and all shingles of an item, if the text has enough of them: by sets of tuples."""
    tokens = tokens_of(item)
    if len(tokens) < SHORTEST:
        return None
    length = len(tokens) if len(tokens) < max(WHOLE, LENGTH) else LENGTH
    of_item, of_text = windows_in(tokens, length), windows_in(tokens_of(text), length)
    shared = len(of_item & of_text)
    return (shared, len(of_item)) if shared and Fraction(shared, len(of_item)) >= share else None


def longest_run(item: list[str], text: list[str]) -> int:
    """The longest common run of tokens, by a table of all pairs of places."""
    best, above = 0, [0] * (len(text) + 1)
    for token in item:
        row = [0] * (len(text) + 1)
        for place, other in enumerate(text):
            row[place + 1] = above[place] + 1 if token == other else 0
        best, above = max(best, *row), row
    return best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_no_item_at_the_share_is_missed_and_none_below_it_is_found(seed: int, share: Fraction) -> None:
    items, train = texts_of(random.Random(seed))
    settings, rules = Settings.of(), MatchRules(share=share)
    known = items_with_windows(named(items), settings, new_key())
    scanned = scan(pa.array(train, pa.large_string()), known, settings, rules)
    found = {}
    for match in scanned.matches:
        windows = known.windows[match.windows]
        item = int(windows.items[match.place])
        found[match.row, item] = (match.shared, int(windows.sizes[match.place]))
        text = train[match.row]
        assert match.run == longest_run(tokens_of(items[item]), tokens_of(text))
        assert text[match.begin : match.end] == match.passage
        assert " ".join(tokens_of(match.passage)) in " ".join(tokens_of(items[item]))
    expected = {
        (row, k): counts
        for row, text in enumerate(train)
        for k, item in enumerate(items)
        if (counts := contained(item, text, share)) is not None
    }
    assert found == expected
    assert len(found) > 10


def test_the_documents_with_each_window_are_counted() -> None:
    items, train = texts_of(random.Random(9))
    settings = Settings.of()
    known = items_with_windows(named(items), settings, new_key())
    weights = Weights(known)
    for part in (train[:30], train[30:]):
        weights.add(scan(pa.array(part, pa.large_string()), known, settings, MatchRules()))
    assert weights.texts == len(train)
    for number, windows in enumerate(known.windows):
        of_texts = [windows_in(tokens_of(text), windows.length) for text in train]
        for place, item in enumerate(windows.items.tolist()):
            tokens = tokens_of(items[item])
            for begin, value in enumerate(windows.of(place).tolist()):
                shingle = tuple(tokens[begin : begin + windows.length])
                at = windows.distinct.tolist().index(value)
                assert weights.documents[number][at] == sum(shingle in of_text for of_text in of_texts)
