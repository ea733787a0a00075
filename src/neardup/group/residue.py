"""Shingles of some documents of a group that the other documents there do not hold, counted group by group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.join.shingle_store import DocumentSets, ShingleStore, sets_at
from neardup.tables import Bools, Int64s, UInt64s

_PORTION = 1 << 22
"""Shingles of a portion of groups, and of the documents that are compared with the others at once."""

_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)


@dataclass(frozen=True)
class Residue:
    """The shingles found: ``key[k]`` is one of the document with the index ``owner[k]``; owners ascend.

    Equal keys are equal shingles of documents of one group: a key is a hash, mixed with the salt of the group.
    """

    owner: Int64s
    key: UInt64s

    def counts(self, documents: int) -> Int64s:
        """int64[documents]: the number of shingles of each document."""
        return np.bincount(self.owner, minlength=documents)


def residue(documents: Int64s, group: Int64s, base: Bools, store: ShingleStore) -> Residue:
    """The shingles of ``documents`` (ascending) that the base of their group does not hold.

    ``group`` is the group of each document, and ``base`` (bool[documents]) marks the documents of the bases, of
    which no shingles are returned. Groups are loaded in portions, and a group larger than a portion alone.
    """
    owners, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for inside in _portions(group, store.bound(documents)):
        salt = salts(group[inside])
        found = store.get(documents[inside])
        stays = base[inside]
        held = np.sort(_keys(found, documents[inside[stays]], salt[stays]))
        for others in _slices(inside[~stays], salt[~stays], store.bound(documents[inside[~stays]])):
            which, their_salt = others
            found_keys = _keys(found, documents[which], their_salt)
            owner = np.repeat(which, found.sets.sizes[found.index(documents[which])])
            missing = ~_holds(held, found_keys)
            owners.append(owner[missing])
            keys.append(found_keys[missing])
    owner, key = np.concatenate(owners), np.concatenate(keys)
    order = np.argsort(owner, kind="stable")
    return Residue(owner[order], key[order])


def salts(group: Int64s) -> UInt64s:
    """uint64[n]: what the keys of each group are mixed with, by exclusive or, so that groups differ."""
    return group.astype(np.uint64) * _ODD


def _portions(group: Int64s, bound: Int64s) -> Iterator[Int64s]:
    """Yield indexes (ascending) of whole groups, about a portion at a time; ``bound`` is at least the shingles."""
    if not len(group):
        return
    order = np.argsort(group, kind="stable")
    first = np.concatenate(([True], np.diff(group[order]) > 0))
    before = (np.cumsum(bound[order]) - bound[order])[first]
    portion = (before // _PORTION)[np.cumsum(first) - 1]
    for inside in np.split(order, np.flatnonzero(np.diff(portion)) + 1):
        yield np.sort(inside)


def _slices(which: Int64s, salt: UInt64s, bound: Int64s) -> Iterator[tuple[Int64s, UInt64s]]:
    """Yield the documents of a portion with their salt, as many at a time as a portion has shingles."""
    cuts = np.flatnonzero(np.diff((np.cumsum(bound) - bound) // _PORTION)) + 1
    yield from zip(np.split(which, cuts), np.split(salt, cuts), strict=True)


def _keys(found: DocumentSets, documents: Int64s, salt: UInt64s) -> UInt64s:
    """The shingles of ``documents``, one after the other, each with the salt of its group."""
    at, sets = found.index(documents), found.sets
    sizes = sets.sizes[at]
    keys: UInt64s = sets_at(sets.hashes, sets.offsets[at], sizes).hashes ^ np.repeat(salt, sizes)
    return keys


def _holds(held: UInt64s, keys: UInt64s) -> Bools:
    """bool[keys]: which keys are in ``held`` (ascending)."""
    if not len(held):
        return np.zeros(len(keys), np.bool_)
    holds: Bools = held[np.minimum(np.searchsorted(held, keys), len(held) - 1)] == keys
    return holds
