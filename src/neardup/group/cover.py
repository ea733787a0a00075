"""Which near copies stay so that each document removed loses at most a share of its shingles.

A greedy cover, group by group. In the order of the keep policy, a document stays if more than the share of its
shingles is in no document that stays so far. Then, in the opposite order, a document is removed after all if the
ones added after it hold enough of it, and if no removed document loses too much by that. Both steps are linear in
the shingles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.group.residue import Residue
from neardup.tables import Bools, Int64s


def cover(candidates: Residue, group: Int64s, rank: Int64s, allowed: Int64s) -> Bools:
    """bool[documents]: which documents stay, given what the documents that stay anyway do not hold of each.

    ``group`` and ``rank`` are those of the documents, and ``allowed`` the number of shingles that each may lose.
    """
    found = _Shared.of(candidates, group)
    order = np.lexsort((rank, group))
    held = np.zeros(found.different, np.int64)
    stays = np.zeros(len(group), np.bool_)
    for document in order.tolist():
        shingles = found.of_document(document)
        if np.count_nonzero(held[shingles] == 0) > allowed[document]:
            stays[document] = True
            held[shingles] += 1
    _take_back(found, stays, held, allowed, order)
    return stays


def _take_back(found: _Shared, stays: Bools, held: Int64s, allowed: Int64s, order: Int64s) -> None:
    """Let documents go that others made redundant; ``held`` counts the documents with each shingle that stay."""
    owner = np.repeat(np.arange(len(stays)), np.diff(found.starts))
    lost = np.bincount(owner[held[found.shingles] == 0], minlength=len(stays))
    for document in order[stays[order]][::-1].tolist():
        shingles = found.of_document(document)
        alone = shingles[held[shingles] == 1]
        if len(alone) > allowed[document]:
            continue
        losing, times = np.unique(found.with_any(alone), return_counts=True)
        gone = ~stays[losing]
        losing, times = losing[gone], times[gone]
        if (lost[losing] + times > allowed[losing]).any():
            continue
        lost[losing] += times
        lost[document] = len(alone)
        held[shingles] -= 1
        stays[document] = False


@dataclass(frozen=True)
class _Shared:
    """The shingles of documents, numbered, and the documents that have each.

    Those of document d are ``shingles[starts[d]:starts[d + 1]]``; the documents with shingle s are
    ``documents[firsts[s]:firsts[s + 1]]``.
    """

    different: int
    shingles: Int64s
    starts: Int64s
    documents: Int64s
    firsts: Int64s

    @classmethod
    def of(cls, residue: Residue, group: Int64s) -> _Shared:
        """Number the shingles of a residue; ``group`` is that of each document."""
        keys, shingles = np.unique(residue.by_group(group), return_inverse=True)
        starts = np.concatenate(([0], np.cumsum(residue.counts(len(group)))))
        firsts = np.concatenate(([0], np.cumsum(np.bincount(shingles, minlength=len(keys)))))
        owners = residue.owner[np.argsort(shingles, kind="stable")]
        return cls(len(keys), shingles, starts, owners, firsts)

    def of_document(self, document: int) -> Int64s:
        """The shingles of a document."""
        return self.shingles[self.starts[document] : self.starts[document + 1]]

    def with_any(self, shingles: Int64s) -> Int64s:
        """The documents with each of ``shingles``, one entry for each shingle of a document."""
        first, until = self.firsts[shingles], self.firsts[shingles + 1]
        sizes = until - first
        at = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(first, sizes)
        documents: Int64s = self.documents[at]
        return documents
