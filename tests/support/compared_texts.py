"""Pairs of texts to compare, and tokens as the numbers that kernels compare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from neardup.tables import UInt64s
from support.strategies import any_text, edited_pair

SENTENCES = (
    "Bring the keys of the shed.",
    "The boat is at the pier, ready to go.",
    "Pay 12 by Friday\n",
    "Pay 13 by Friday\n\n",
    "No.",
    "- a list - of few words\n",
    "the keys of the boat",
    "Dr. Who came. At noon?",
    "他说不。她走了。",
    "...\n",
    "½ ½ ½",
)


def made_text() -> st.SearchStrategy[str]:
    """Text in which sentences recur, in any order, at the ends of lines or not."""
    return st.lists(st.sampled_from(SENTENCES), max_size=9).map(" ".join)


def pairs() -> st.SearchStrategy[tuple[str, str]]:
    return st.one_of(st.tuples(made_text(), made_text()), edited_pair(), st.tuples(any_text(), any_text()))


def ids(tokens: Sequence[int]) -> UInt64s:
    return np.array(tokens, np.uint64)
