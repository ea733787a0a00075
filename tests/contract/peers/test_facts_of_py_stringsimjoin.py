"""Facts that the documentation of py_stringsimjoin states of its joins, one a row, held against this library.

Version 0.3.6 was run on these strings in November 2026, split at spaces into sets. No code of it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import pytest

import neardup as nd
from neardup.errors import SettingError
from support.facts import held_test

LEFT = {1: "data mining course", 2: "machine learning and data mining", 3: "deep learning"}
RIGHT = {1: "data mining", 2: "machine learning course", 3: "data"}


def pairs(measure: str, threshold: float, **how: Any) -> dict[tuple[int, int], float]:
    sides = ({id: set(text.split()) for id, text in table.items()} for table in (LEFT, RIGHT))
    rows = nd.join(*sides, measure=measure, threshold=threshold, **how).to_pylist()
    return {(row["left"], row["right"]): row["similarity"] for row in rows}


HELD: dict[str, Callable[[], bool]] = {
    "the overlap is the number of common tokens": lambda: (
        pairs("shared", 1) == {(1, 1): 2, (1, 2): 1, (1, 3): 1, (2, 1): 2, (2, 2): 2, (2, 3): 1, (3, 2): 1}
    ),
    "overlap at a size": lambda: pairs("shared", 2) == {(1, 1): 2, (2, 1): 2, (2, 2): 2},
    "the overlap coefficient is by the smaller size": lambda: (
        pairs("overlap", 0.5) == {(1, 1): 1.0, (1, 3): 1.0, (2, 1): 1.0, (2, 2): 2 / 3, (2, 3): 1.0, (3, 2): 1 / 2}
    ),
    "the overlap coefficient of subsets": lambda: set(pairs("overlap", 1)) == {(1, 1), (1, 3), (2, 1), (2, 3)},
    "dice is twice the overlap by both sizes": lambda: (
        pairs("dice", 0.5) == {(1, 1): 4 / 5, (1, 3): 2 / 4, (2, 1): 4 / 7, (2, 2): 4 / 8}
    ),
    "the cosine is the overlap by the root of the product": lambda: (
        pairs("cosine", 0.5)
        == {
            pair: pytest.approx(value, rel=1e-15)
            for pair, value in {
                (1, 1): 2 / sqrt(6),
                (1, 3): 1 / sqrt(3),
                (2, 1): 2 / sqrt(10),
                (2, 2): 2 / sqrt(15),
            }.items()
        }
    ),
    "the cosine at a higher threshold": lambda: set(pairs("cosine", 0.8)) == {(1, 1)},
}
EXACTLY: dict[str, Callable[[], bool]] = {
    "a Dice similarity of 4 / 5 at .8": lambda: pairs("dice", 0.8) == {(1, 1): 0.8},
    "a resemblance of 2 / 5 at .4": lambda: set(pairs("resemblance", 0.4)) == {(1, 1), (2, 1)},
}
"""Pairs exactly at the threshold, which version 0.3.6 does not return."""


test_a_fact_holds = held_test(HELD)


@pytest.mark.parametrize("pair", EXACTLY)
def test_a_pair_at_the_threshold_is_returned(pair: str) -> None:
    assert EXACTLY[pair]()


@pytest.mark.parametrize(("measure", "threshold"), [("shared", 0), ("shared", 0.8), ("dice", 3)])
def test_a_threshold_out_of_range_is_refused(measure: str, threshold: float) -> None:
    """Version 0.3.6 refuses the first and the last, and takes an overlap of .8 for 1."""
    with pytest.raises(SettingError):
        pairs(measure, threshold)
