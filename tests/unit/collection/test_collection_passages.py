"""Passages of many texts at once against those of one text at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.collection.query.target import Target
from neardup.collection.search import longest_passage, longest_passages
from neardup.collection.sets import NO_BASE, CollectionBase
from neardup.text.keys import key_of
from support.strategies import any_text

KEY = key_of(bytes(32))
WORDS = st.lists(st.sampled_from(["one", "Two", "ﬁve…", "e\u0301t", "½", "東京"]), max_size=30).map(" ".join)
TEXTS = WORDS | any_text()


def target(text: str, length: int, base: CollectionBase = NO_BASE) -> Target:
    return Target("a text", text, None, None, None, length, KEY, base)


@given(TEXTS, st.lists(TEXTS, max_size=5), st.integers(1, 5), st.integers(0, 3))
def test_the_passages_of_many_texts_are_those_of_each(
    asked: str, texts: list[str], length: int, base: int
) -> None:
    plain = target(asked, length)
    own = target(asked, length, CollectionBase(np.sort(plain.hashes[:base]), ()))
    texts = [*texts, f"before {asked} after"]
    assert longest_passages(own, texts) == [longest_passage(own, text) for text in texts]
