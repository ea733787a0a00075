"""The text that goes with removed documents: their shingles that no document of their group holds that stays.

For most groups, the pair of each member with its representative is enough. The shingle sets are needed only if
several documents of a group stay.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.group.cover import cover
from neardup.group.decide import Decisions, LostShingles, with_leader
from neardup.group.residue import residue
from neardup.group.rows import CopyClasses
from neardup.join.shingle_store import ShingleStore
from neardup.settings import ratio
from neardup.tables import Bools, Int64s


@dataclass(frozen=True, eq=False)
class Standing:
    """The documents of a run, and which of them stay: one entry per document.

    ``group`` is the document that leads the group. ``shingles`` and ``without_leader`` count the different
    shingles of a document, and those that its leader does not hold; both are −1 where unknown, and 0 for leaders.
    """

    group: Int64s
    rank: Int64s
    stays: Bools
    shingles: Int64s
    without_leader: Int64s

    @property
    def several(self) -> Bools:
        """Which documents are in a group in which more documents stay than the leader."""
        stay = np.bincount(self.group[self.stays], minlength=len(self.group))
        several: Bools = stay[self.group] > 1
        return several

    def staying(self, documents: Int64s) -> Standing:
        """The same with further ``documents`` that stay."""
        stays = self.stays.copy()
        stays[documents] = True
        return replace(self, stays=stays)

    def at(self, decisions: Decisions, documents: CopyClasses) -> Standing:
        """The same as ``decisions`` of people leave the documents: also representatives may go.

        The text that goes with a group without a representative is unknown.
        """
        stays = self.stays.copy()
        of_row, kept = documents.of_row[decisions.rows], decisions.kept
        has_text = of_row >= 0
        stays[of_row[has_text]] = False
        stays[of_row[has_text & kept]] = True
        unled = ~stays[self.group]
        shingles, without = (np.where(unled, -1, numbers) for numbers in (self.shingles, self.without_leader))
        return replace(self, stays=stays, shingles=shingles, without_leader=without)


def standing(
    decisions: Decisions, documents: CopyClasses, leader: Int64s, first_new: int, pairs: pa.Table
) -> Standing:
    """The documents as ``decisions`` leave them; ``pairs`` are counted on shingles.

    Those below ``first_new`` are the reference set, and stay.
    """
    number = np.arange(len(leader))
    stays = (leader == number) | (number < first_new)
    of_row = documents.of_row[decisions.rows[decisions.kept]]
    stays[of_row[of_row >= 0]] = True
    rows, heads = documents.best_row, documents.best_row[leader]
    shared, own, _ = with_leader(documents, rows, heads, leader == number, pairs)
    unknown = shared < 0
    return Standing(leader, documents.rank, stays, np.where(unknown, -1, own), np.where(unknown, -1, own - shared))


def with_lost(
    decisions: Decisions, documents: CopyClasses, before: Standing, most: float, store: ShingleStore | None
) -> tuple[Decisions, Standing]:
    """The decisions with the text that is lost, and the documents as they leave them.

    Near copies that would lose more than the share ``most`` of their shingles stay.

    Of exact copies among those, only the best row stays. Without a ``store`` of the shingle sets some losses are
    unknown, and a document stays unless it is known that little enough would be lost.
    """
    needed = _needed(before, most)
    with store.hold(needed) if store is not None and len(needed) else nullcontext():
        after = _covered(before, most, store) if most < 1 else before
        lost = lost_by_document(after, store)
    spared_documents = after.stays & ~before.stays
    of_row = documents.of_row[decisions.rows]
    has_text = of_row >= 0
    own = np.where(has_text, of_row, 0)
    shingles, gone = np.zeros(len(of_row), np.int64), np.zeros(len(of_row), np.int64)
    spared = np.zeros(len(of_row), np.bool_)
    if len(lost):
        removed = has_text & ~after.stays[own]
        shingles[removed], gone[removed] = after.shingles[of_row[removed]], lost[of_row[removed]]
        spared = has_text & spared_documents[own] & (documents.best_row[own] == decisions.rows)
    return replace(decisions, kept=decisions.kept | spared, lost=LostShingles(shingles, gone, spared)), after


def lost_by_document(now: Standing, store: ShingleStore | None) -> Int64s:
    """int64[documents]: the shingles of each removed document that no document of its group holds that stays.

    0 for documents that stay; −1 where it is unknown, for want of the ``store`` or of a pair.
    """
    lost = np.where(now.stays, 0, now.without_leader)
    open_ones = ~now.stays & now.several & (lost != 0)
    if store is None:
        lost[open_ones] = -1
        return lost
    if open_ones.any():
        in_question = np.zeros(len(lost), np.bool_)
        in_question[now.group[open_ones]] = True
        documents = np.flatnonzero(open_ones | (now.stays & in_question[now.group]))
        left = residue(documents, now.group[documents], now.stays[documents], store)
        lost[documents] = left.counts(len(documents))
    return lost


def _needed(now: Standing, most: float) -> Int64s:
    """The documents (ascending) whose shingle sets are needed: those of groups in which several may stay."""
    in_question = ~now.stays & (now.without_leader != 0)
    may_stay = np.bincount(now.group[now.stays | _too_much(now, most)], minlength=len(now.group)) > 1
    relevant = np.zeros(len(now.group), np.bool_)
    relevant[now.group[in_question]] = True
    return np.flatnonzero((in_question | now.stays) & (relevant & may_stay)[now.group])


def _covered(now: Standing, most: float, store: ShingleStore | None) -> Standing:
    """The documents with those that stay because more than the share ``most`` of their shingles would be lost."""
    candidate = ~now.stays & _too_much(now, most)
    others = np.bincount(now.group[candidate], minlength=len(now.group))[now.group]
    chosen = candidate & ((others > 1) | now.several)
    if store is None:
        return now.staying(np.flatnonzero(candidate))
    alone = np.flatnonzero(candidate & ~chosen)
    if not chosen.any():
        return now.staying(alone)
    with_candidates = np.zeros(len(now.group), np.bool_)
    with_candidates[now.group[chosen]] = True
    documents = np.flatnonzero(chosen | (now.stays & with_candidates[now.group]))
    left = residue(documents, now.group[documents], now.stays[documents], store)
    allowed = _allowed(now.shingles[documents], most)
    stays = cover(left, now.group[documents], now.rank[documents], allowed)
    return now.staying(np.concatenate((alone, documents[stays])))


def _too_much(now: Standing, most: float) -> Bools:
    """Which documents have more than the share ``most`` of their shingles outside their leader, or may have."""
    too_much: Bools = (now.without_leader > _allowed(now.shingles, most)) | (now.without_leader < 0)
    return too_much


def _allowed(shingles: Int64s, most: float) -> Int64s:
    """The largest number of shingles that is at most the share ``most`` of each number of ``shingles``."""
    numerator, denominator = ratio(most)
    allowed: Int64s = np.maximum(shingles, 0) * numerator // denominator
    return allowed
