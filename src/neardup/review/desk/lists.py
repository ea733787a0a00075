"""The list of groups: its orders, and pages that begin after a place in them."""

from __future__ import annotations

from functools import cached_property
from zlib import crc32

import numpy as np

from neardup.errors import InputError
from neardup.review.desk.decided import Decided
from neardup.review.desk.index import ResultIndex
from neardup.review.source import ORDERS, Order
from neardup.tables import Int64s


class Ordered:
    """The place of each group in every order: whole numbers, no two the same."""

    def __init__(self, index: ResultIndex) -> None:
        self._index = index

    def keys(self, order: Order, decided: Decided) -> Int64s:
        """Return int64[groups], ascending in the order of the list. Raises InputError for an unknown order."""
        if order not in ORDERS:
            raise InputError(f"There is no order {order!r}", ", ".join(ORDERS))
        if order == "undecided":  # groups move behind all others when they are decided
            return self._by_stake + np.where(decided.open, 0, len(self._index))
        return {
            "stake": self._by_stake,
            "size": self._by_size,
            "similarity": self._by_similarity,
            "place": np.arange(len(self._index)),
        }[order]

    def warm(self) -> None:
        """Sort by everything."""
        assert len(self._by_stake) == len(self._by_size) == len(self._by_similarity)

    @cached_property
    def _by_stake(self) -> Int64s:
        return ranked(-self._index.stake)

    @cached_property
    def _by_size(self) -> Int64s:
        return ranked(-self._index.size)

    @cached_property
    def _by_similarity(self) -> Int64s:
        return ranked(self._index.lowest)  # unknown similarities come last


def ranked(values: np.ndarray) -> Int64s:
    """Return the rank of each value, ascending; equal ones in their order, NaN last.

    >>> ranked(np.array([3, 1, 3])).tolist()
    [1, 0, 2]
    """
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def page(keys: Int64s, after: str, limit: int, question: str) -> tuple[Int64s, str]:
    """Return the places of the first ``limit`` of some distinct ``keys`` after a token, and the next token.

    A token is valid only for the ``question`` that it belongs to. Raises InputError for another one.
    """
    if limit < 1:
        raise InputError(f"A page of {limit:,} lines is empty", "1 or more")
    last = _last(after, question)
    places = np.flatnonzero(keys > last) if after else np.arange(len(keys))
    if len(places) > limit:
        few = places[np.argpartition(keys[places], limit - 1)[:limit]]
        few = few[np.argsort(keys[few])]
        return few, f"{keys[few[-1]]}-{_mark(question)}"
    return places[np.argsort(keys[places])], ""


def _last(after: str, question: str) -> int:
    if not after:
        return -1
    key, _, mark = after.partition("-")
    if not (key.isascii() and key.isdigit() and len(key) <= 18) or mark != _mark(question):
        raise InputError(
            "This page belongs to another list", "The `next` of a page with the same filter", "Begin with page 1"
        )
    return int(key)


def _mark(question: str) -> str:
    """Return a short digest: it guards against mistakes, not against people."""
    return f"{crc32(question.encode('utf-8', 'surrogatepass')):08x}"
