"""Shingles of some documents of a group that the other documents there do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.join.shingle_store import ShingleStore
from neardup.tables import Bools, Int64s, UInt64s

_PORTION = 1 << 22
"""Shingles of a portion of groups."""

_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)


@dataclass(frozen=True)
class Residue:
    """The shingles found: ``hashes[k]`` is one of the document with the index ``owner[k]``; owners ascend."""

    owner: Int64s
    hashes: UInt64s

    def counts(self, documents: int) -> Int64s:
        """int64[documents]: the number of shingles of each document."""
        return np.bincount(self.owner, minlength=documents)

    def by_group(self, group: Int64s) -> UInt64s:
        """uint64: keys that are equal for equal shingles of documents of one ``group``."""
        keys: UInt64s = self.hashes ^ (group.astype(np.uint64) * _ODD)[self.owner]
        return keys


def residue(documents: Int64s, group: Int64s, base: Bools, store: ShingleStore) -> Residue:
    """The shingles of ``documents`` (ascending) that the base of their group does not hold.

    ``group`` is the group of each document, and ``base`` (bool[documents]) marks the documents of the bases, of
    which no shingles are returned. Groups are loaded in portions, and a group larger than a portion alone. The
    time is linear in the shingles, but for the logarithm of the size of a base.
    """
    # imported late: other runs need not wait for this kernel
    from neardup.kernels.group.residues import residues

    owners, hashes = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for members in _portions(group, base, store.bound(documents)):
        found = store.get(np.sort(documents[members]))
        at = found.index(documents[members])
        firsts = np.concatenate(([0], np.flatnonzero(np.diff(group[members])) + 1, [len(members)]))
        bases = np.add.reduceat(base[members].astype(np.int64), firsts[:-1])
        counts = np.empty(len(members), np.int64)
        out = np.empty(int(found.sets.sizes[at][~base[members]].sum()), np.uint64)
        used = residues(found.sets.hashes, found.sets.offsets, at, firsts, bases, out, counts)
        owners.append(np.repeat(members, counts))
        hashes.append(out[:used].copy())
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return Residue(owner[order], np.concatenate(hashes)[order])


def _portions(group: Int64s, base: Bools, bound: Int64s) -> Iterator[Int64s]:
    """Yield the indexes of whole groups, group by group and the base of each first, about a portion at a time.

    ``bound`` is at least the number of shingles of each document.
    """
    if not len(group):
        return
    order = np.lexsort((~base, group))
    first = np.concatenate(([True], np.diff(group[order]) > 0))
    before = (np.cumsum(bound[order]) - bound[order])[first]
    portion = (before // _PORTION)[np.cumsum(first) - 1]
    yield from np.split(order, np.flatnonzero(np.diff(portion)) + 1)
