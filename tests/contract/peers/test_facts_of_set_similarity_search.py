"""Facts that the documentation and tests of SetSimilaritySearch state, one a row, held against this library.

Version 1.0.1 was run on these inputs in November 2026, and gives the values of ``HELD``. No code of it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import neardup as nd
from neardup.errors import InputError, NeardupError, SettingError
from support.facts import held_test, refused_test

SETS = [[1, 2, 3], [3, 4, 5], [2, 3, 4], [5, 6, 7]]
LINES = [
    ("1", "a"),
    ("1", "b"),
    ("1", "c"),
    ("1", "d"),
    ("2", "a"),
    ("2", "b"),
    ("2", "c"),
    ("3", "d"),
    ("3", "e"),
]
"""The file of its README, a set and an element a line."""
BY_ID = {id: [element for name, element in LINES if name == id] for id, _ in LINES}


def pairs(*collections: Any, threshold: float = 0.1, **how: Any) -> dict[tuple[Any, Any], float]:
    rows = nd.join(*collections, threshold=threshold, **how).to_pylist()
    return {(row["left"], row["right"]): row["similarity"] for row in rows}


HELD: dict[str, Callable[[], bool]] = {
    "all pairs of sets with at least the Jaccard similarity are found": lambda: (
        pairs(SETS) == {(0, 1): 0.2, (0, 2): 0.5, (1, 2): 0.5, (1, 3): 0.2}
    ),
    "a pair exactly at the threshold is found": lambda: set(pairs(SETS, threshold=0.5)) == {(0, 2), (1, 2)},
    "a pair is returned once": lambda: len(nd.join(SETS, threshold=0.1)) == 4,
    "the cosine is the intersection by the root of the product of sizes": lambda: (
        pairs([["a", "b", "c", "d"], ["a"]], measure="cosine") == {(0, 1): 1 / sqrt(4)}
    ),
    "the cosine of its sets": lambda: (
        pairs(SETS, measure="cosine") == {(0, 1): 1 / 3, (0, 2): 2 / 3, (1, 2): 2 / 3, (1, 3): 1 / 3}
    ),
    "containment_min is the intersection by the larger size": lambda: (
        pairs([["a", "b", "c", "d"], ["a"]], measure="overlap-max") == {(0, 1): 0.25}
    ),
    "a query finds its own set and those that share elements": lambda: (
        pairs([[3, 5, 4]], SETS) == {(0, 0): 0.2, (0, 1): 1.0, (0, 2): 0.5, (0, 3): 0.2}
    ),
    "a query may have elements that no set has": lambda: (
        pairs([[3, 4, 8]], SETS[:2]) == {(0, 0): 1 / 5, (0, 1): 2 / 4}
    ),
    "the containment of a query in a set is asymmetric": lambda: (
        pairs([[3, 5, 4]], SETS, measure="containment")
        == {(0, 0): 1 / 3, (0, 1): 1.0, (0, 2): 2 / 3, (0, 3): 1 / 3}
    ),
    "containment at a higher threshold": lambda: (
        set(pairs([[3, 5, 4]], SETS, measure="containment", threshold=0.5)) == {(0, 1), (0, 2)}
    ),
    "elements are strings or numbers": lambda: (
        pairs([["a", "b"], ["b", "a"]]) == pairs([[1, 2], [2, 1]]) == {(0, 1): 1.0}
    ),
    "sets have names": lambda: pairs(BY_ID, threshold=0.5) == {("1", "2"): 0.75},
    "sets without a common element are no pair": lambda: pairs([[1], [2], [3]]) == {},
}

REFUSED: dict[str, tuple[type[NeardupError], str, Callable[[], object]]] = {
    "a threshold of 0, for which all pairs are returned": (
        SettingError,
        "above 0",
        lambda: pairs(SETS, threshold=0),
    ),
    "a threshold above 1": (SettingError, "at most 1", lambda: pairs(SETS, threshold=1.5)),
    "another similarity function": (SettingError, "resemblance", lambda: pairs(SETS, measure="hamming")),
    "the keyword of its function": (
        SettingError,
        "'measure'",
        lambda: pairs(SETS, similarity_func_name="jaccard"),
    ),
    "elements of several types in one set": (InputError, "one type", lambda: pairs([["a", 1], ["a", 1]])),
}


def test_an_element_that_is_repeated_counts_once() -> None:
    """It asks for unique elements; version 1.0.1 returns a similarity of 1.5 for these sets."""
    assert pairs([["a", "a", "b"], ["a", "b"]]) == {(0, 1): 1.0}


def test_no_sets_have_no_pairs() -> None:
    """Version 1.0.1 raises an error."""
    assert pairs([]) == {}


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)
