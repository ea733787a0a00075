"""Threads and versions of packages."""

import threading
from collections.abc import Iterator

import pytest

import neardup
from neardup.runtime import installed_version, ordered_map


@pytest.mark.parametrize("threads", [1, 4])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    assert list(ordered_map(str, range(50), threads)) == [*map(str, range(50))]
    assert list(ordered_map(str, [], threads)) == []


def test_a_single_item_needs_no_other_thread() -> None:
    def where(_: int) -> str:
        return threading.current_thread().name

    def one() -> Iterator[int]:  # how many will come is not known
        yield 1

    here = threading.current_thread().name
    assert list(ordered_map(where, [1], 4)) == [here]
    assert here not in [*ordered_map(where, [1, 2], 4), *ordered_map(where, one(), 4)]


def test_versions_of_packages() -> None:
    assert installed_version("neardup") == neardup.__version__
    assert installed_version("no-such-package-of-anybody") is None
