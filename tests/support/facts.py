"""Tests of the tables of facts that other packages state: a table a package, a test a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from neardup.errors import NeardupError

Held = Mapping[str, Callable[[], bool]]
Refused = Mapping[str, tuple[str, Callable[[], object]]] | Mapping[str, tuple[Any, str, Callable[[], object]]]


def held_test(held: Held) -> Callable[[str], None]:
    """Return the test that each fact holds."""

    @pytest.mark.parametrize("fact", held)
    def test_a_fact_holds(fact: str) -> None:
        assert held[fact]()

    return test_a_fact_holds


def refused_test(refused: Refused, kind: type[NeardupError] = NeardupError) -> Callable[[str], None]:
    """Return the test that an error names the way: of this ``kind``, or of the one that precedes the way."""

    @pytest.mark.parametrize("fact", refused)
    def test_what_is_not_there_names_the_way(fact: str) -> None:
        row: tuple[Any, ...] = refused[fact]
        *own, way, call = row
        with pytest.raises(own[0] if own else kind) as error:
            call()
        assert way in str(error.value)

    return test_what_is_not_there_names_the_way
