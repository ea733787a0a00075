"""The lines of lists of a collection: groups, members and pairs, read from its documents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from math import isnan
from typing import TypeVar

import numpy as np

from neardup.collection import Collection
from neardup.collection.collection import Document
from neardup.collection.groups.records import StoredGroup, StoredMember
from neardup.errors import InputError
from neardup.review.desk.collected import Collected
from neardup.review.desk.differences import difference_of
from neardup.review.desk.texts import beginning
from neardup.review.source import GroupLine, Key, MemberLine, PairLine

T = TypeVar("T")
K = TypeVar("K")

_HELD = 2000
_COMPARED = 100
"""Members whose difference is put into words; more are listed without."""


class CollectionLines:
    """Makes the lines of pages from a collection; ``forget`` when it changes."""

    def __init__(self, collection: Collection, collected: Collected) -> None:
        self._collection, self._collected = collection, collected
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._at = -1

    def key(self, id: str) -> Key:
        """Return the internal number of a document."""
        with self._collection.view() as view:
            number = view.number(id)
        if number is None:
            raise InputError(f"There is no document {id!r} any more", "A document of the collection")
        return number

    def id(self, key: Key) -> str:
        """Return the id of a document. Raises InputError for an unknown number."""
        with self._collection.view() as view:
            if key not in view.everything():
                raise InputError(f"There is no document {key} here", "The key of a document on a page")
            return view.ids(np.array([key], np.int64))[0]

    def keys(self, a: str, b: str) -> tuple[Key, Key]:
        """Return the internal numbers of two documents."""
        return self.key(a), self.key(b)

    def group(self, group: StoredGroup) -> GroupLine:
        """Return the line of a group in the list."""
        near = [member for member in group.members if member.id != group.representative]
        values = [member.resemblance for member in near]
        weakest = min(near, key=lambda member: member.resemblance, default=None)
        differs = "" if weakest is None else self._differs(weakest.id, group.representative)
        if differs and len(near) > 1:
            differs += f"; {len(near) - 1:,} other{'s' * (len(near) > 2)}"
        return GroupLine(
            group.id,
            group.representative,
            beginning(self._document(group.representative).text),
            group.size,
            0,
            min(values, default=None),
            max(values, default=None),
            differs,
            0,
            self._collected.decided(group),
            len(near),
        )

    def members(self, group: StoredGroup) -> tuple[MemberLine, ...]:
        """Return the members of a group, the representative first."""
        in_order = sorted(group.members, key=lambda member: member.id != group.representative)
        return tuple(
            self.member(member.id, group.representative, member, compared=number < _COMPARED)
            for number, member in enumerate(in_order)
        )

    def member(
        self, id: str, other: str, counts: StoredMember | None, *, compared: bool = True, led: bool | None = None
    ) -> MemberLine:
        """Return a document seen from ``other``; ``counts`` are those with it, if they are stored."""
        document, decision = self._document(id), self._collected.of(id, other)
        leads = id == other if led is None else led
        near = None if counts is None or id == other else counts
        held = "represents the group" if leads else "in the group by a decision"
        by_text = counts is not None and counts.held_by == "resemblance"
        return MemberLine(
            key=self.key(id),
            id=id,
            words=beginning(document.text),
            size=len(document.text.encode("utf-8", "replace")),
            representative=leads,
            exact_copy=False,
            similarity=None if near is None else near.resemblance,
            containment=None if near is None or not near.size else near.shared / near.size,
            contained=None if near is None or not near.of_size else near.shared / near.of_size,
            kind=self._differs(id, other) if compared and id != other else "",
            kept=True,
            reason="in the group by its resemblance" if by_text and not leads else held if counts else "",
            lost="",
            where="",
            metadata=tuple((name, str(value)) for name, value in document.metadata.items()),
            verdict=None if decision is None else decision.verdict,
            note="" if decision is None else decision.note,
        )

    def pair(self, pair: tuple[str, str, float], why: str) -> PairLine:
        """Return the line of two documents with their resemblance in a queue."""
        a, b, value = pair
        words = beginning(self._document(a).text), beginning(self._document(b).text)
        verdict = self._collected.verdict(a, b)
        known = None if isnan(value) else value
        return PairLine(*self.keys(a, b), a, b, words, known, self._differs(a, b), verdict, why)

    def _document(self, id: str) -> Document:
        self._forget()
        return _kept(self._documents, id, partial(self._collection.get, id))

    def _differs(self, id: str, head: str) -> str:
        texts = self._document(id).text, self._document(head).text
        return _kept(self._said, (id, head), lambda: difference_of(*texts))

    def _forget(self) -> None:
        """Drop what was read before the last change: documents can be replaced."""
        changes = self._collection.store.totals().change
        if changes != self._at:
            self._documents.clear()
            self._said.clear()
            self._at = changes


def _kept(held: OrderedDict[K, T], key: K, make: Callable[[], T]) -> T:
    """Return a value from the last ones held, or make it."""
    if key not in held:
        held[key] = make()
        if len(held) > _HELD:
            held.popitem(last=False)
    return held[key]
