"""Base texts of a collection: stored documents, such as templates, whose shingles count in no document."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from neardup import display
from neardup.collection.store import Store
from neardup.collection.stored import loaded
from neardup.errors import InputError, SettingError
from neardup.runtime import UNLIMITED, Deadline
from neardup.sketch.documents import shingle_sets
from neardup.tables import Bools, Int64s, UInt64s

Role: TypeAlias = Literal["document", "base"]
ROLES: tuple[Role, ...] = ("document", "base")

_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class CollectionBase:
    """The shingles of all base texts (uint64, sorted, distinct), and their state: (number, mark) of each text."""

    hashes: UInt64s
    state: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The numbers of the base texts."""
        return frozenset(number for number, _ in self.state)

    def contains(self, hashes: UInt64s) -> Bools:
        """bool[n]: which of the hashes are base text."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.bool_)
        # not isin, which sorts both: the base text may be much longer than a document
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        found: Bools = self.hashes[places] == hashes
        return found

    def without(self, hashes: UInt64s) -> UInt64s:
        """The hashes that count, in their order."""
        return hashes[~self.contains(hashes)] if len(self.hashes) else hashes


NO_BASE = CollectionBase(np.empty(0, np.uint64), ())

_known: WeakKeyDictionary[Store, CollectionBase] = WeakKeyDictionary()
_guard = threading.Lock()


def base_of(store: Store, deadline: Deadline = UNLIMITED) -> CollectionBase:
    """Return the base text in the state that the calling thread sees; read again only after a base text changed.

    Raises FormatError for damaged texts, and LimitError when the deadline passes.
    """
    with store.reading():
        state = tuple(sorted(store.base_texts().items()))
        if not state:
            return NO_BASE
        with _guard:
            known = _known.get(store)
        if known is None or known.state != state:
            known = CollectionBase(_shingles(store, state, deadline), state)
            with _guard:
                _known[store] = known
        return known


def texts_of(store: Store) -> list[str]:
    """Return the base texts, by number."""
    with store.reading():
        numbers = np.array(sorted(store.base_texts()), np.int64)
        return [text.decode("utf-8", "replace") for _, text in loaded(store, numbers)]


def role_of(name: object) -> Role:
    """Return the role of this name. Raises SettingError for an unknown one."""
    for role in ROLES:
        if name == role:
            return role
    raise SettingError(f"role is {name!r}", f"One of {', '.join(ROLES)}")


def require_no_groups(store: Store) -> None:
    """Raise InputError if there are groups: they were formed with the present base texts."""
    groups = store.groups.count()
    if groups:
        raise InputError(
            f"The base texts of this collection cannot change: it has {display.counted(groups, 'group')}",
            "Base texts that are added before the first group is formed; nothing was changed",
            "Add the base texts, and then the documents, to a new collection",
        )


def require_same_role(store: Store, replaced: Mapping[str, int], role: Role) -> None:
    """Raise InputError if a document would replace one of the other role."""
    bases = store.base_texts()
    other = next((id for id, number in replaced.items() if (number in bases) != (role == "base")), None)
    if other is not None:
        known = "an ordinary document" if role == "base" else "a base text"
        raise InputError(
            f"The document {other[:80]!r} is {known}, and would be replaced by one of another role",
            "A document of the same role; nothing was stored",
            "Remove it first, or add the new one in its role",
        )


def _shingles(store: Store, state: tuple[tuple[int, int], ...], deadline: Deadline) -> UInt64s:
    numbers: Int64s = np.array([number for number, _ in state], np.int64)
    settings, found = store.settings, [np.empty(0, np.uint64)]
    for begin in range(0, len(numbers), _AT_ONCE):
        deadline.check()
        texts = [text for _, text in loaded(store, numbers[begin : begin + _AT_ONCE])]
        array = pa.array(texts, pa.large_binary())
        sets = shingle_sets(array, np.arange(len(texts)), settings.fingerprint, settings.key)
        found.append(np.unique(sets.hashes))
    return np.unique(np.concatenate(found))


__all__ = ["NO_BASE", "ROLES", "CollectionBase", "Role", "base_of", "texts_of"]
