"""The text that goes with removed documents, and the documents that stay so that little of it is lost.

Lost are the shingles that no document of the group holds that stays. For most groups, the pair of each member with
its representative is enough. The shingle sets are needed only if several documents of a group stay.

If a share of its shingles is the most that a removed document may lose, a greedy cover decides, group by group. In
the order of the keep policy, a document stays if more than the share of its shingles is in no document that stays
so far. Then, in the opposite order, a document is removed after all if the ones added after it hold enough of it,
and if no removed document loses too much by that. Both steps are linear in the shingles.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.group.decisions import Decisions, LostShingles, Passages, with_leader
from neardup.deduplication.group.rows import CopyClasses
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.shingle_store import ShingleStore
from neardup.display import printable
from neardup.kernels.sets import residues
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.text import Key
from neardup.settings import Shingles, ratio
from neardup.tables import Bools, Int64s, UInt64s, numbers_in, places_among
from neardup.text.cleaning import Cleaner, cleaner_of
from neardup.text.units import read

_PORTION = 1 << 22
"""Shingles of a portion of groups."""

_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)

SMALL = 1 << 21
"""Units of a small run, in which the passages of up to MOST_DOCUMENTS removed documents are looked up."""

MOST_DOCUMENTS = 1000

IN_LARGE_RUNS = 10
"""The number in all other runs: reading the texts again would take too long there."""

MOST_UNITS = 1 << 21
"""Units (tokens or characters) of these documents, and of the ones that stay in their groups, together."""

EXCERPT = 120
"""Characters of a passage that are shown."""


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
    owners, hashes = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for members in _portions(group, base, store.upper_bounds(documents)):
        sets = store.get(np.sort(documents[members]))
        places = sets.index(documents[members])
        firsts = np.concatenate(([0], np.flatnonzero(np.diff(group[members])) + 1, [len(members)]))
        bases = np.add.reduceat(base[members].astype(np.int64), firsts[:-1])
        counts = np.empty(len(members), np.int64)
        out = np.empty(int(sets.sets.sizes[places][~base[members]].sum()), np.uint64)
        used = residues(sets.sets.hashes, sets.sets.offsets, places, firsts, bases, out, counts)
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


def cover(candidates: Residue, group: Int64s, rank: Int64s, allowed: Int64s) -> Bools:
    """bool[documents]: which documents stay, given what the documents that stay anyway do not hold of each.

    ``group`` and ``rank`` are those of the documents, and ``allowed`` the number of shingles that each may lose.
    """
    shared = _Shared.of(candidates, group)
    order = np.lexsort((rank, group))
    holders = np.zeros(shared.different, np.int64)
    stays = np.zeros(len(group), np.bool_)
    for document in order.tolist():
        shingles = shared.of_document(document)
        if np.count_nonzero(holders[shingles] == 0) > allowed[document]:
            stays[document] = True
            holders[shingles] += 1
    _take_back(shared, stays, holders, allowed, order)
    return stays


def _take_back(shared: "_Shared", stays: Bools, holders: Int64s, allowed: Int64s, order: Int64s) -> None:
    """Let documents go that others made redundant; ``holders`` counts the staying documents with each shingle."""
    owner = np.repeat(np.arange(len(stays)), np.diff(shared.starts))
    lost = np.bincount(owner[holders[shared.shingles] == 0], minlength=len(stays))
    for document in order[stays[order]][::-1].tolist():
        shingles = shared.of_document(document)
        alone = shingles[holders[shingles] == 1]
        if len(alone) > allowed[document]:
            continue
        losing, times = np.unique(shared.with_any(alone), return_counts=True)
        gone = ~stays[losing]
        losing, times = losing[gone], times[gone]
        if (lost[losing] + times > allowed[losing]).any():
            continue
        lost[losing] += times
        lost[document] = len(alone)
        holders[shingles] -= 1
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
    def of(cls, residue: Residue, group: Int64s) -> "_Shared":
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
        documents: Int64s = self.documents[numbers_in(first, until - first)]
        return documents


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

    def with_staying(self, documents: Int64s) -> "Standing":
        """The same with further ``documents`` that stay."""
        stays = self.stays.copy()
        stays[documents] = True
        return replace(self, stays=stays)

    def at(self, decisions: Decisions, documents: CopyClasses) -> "Standing":
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


def initial_standing(
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
    needed = _needed_documents(before, most)
    with store.hold(needed) if store is not None and len(needed) else nullcontext():
        after = _without_large_losses(before, most, store) if most < 1 else before
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


def _needed_documents(now: Standing, most: float) -> Int64s:
    """The documents (ascending) whose shingle sets are needed: those of groups in which several may stay."""
    in_question = ~now.stays & (now.without_leader != 0)
    may_stay = np.bincount(now.group[now.stays | _too_much(now, most)], minlength=len(now.group)) > 1
    relevant = np.zeros(len(now.group), np.bool_)
    relevant[now.group[in_question]] = True
    return np.flatnonzero((in_question | now.stays) & (relevant & may_stay)[now.group])


def _without_large_losses(now: Standing, most: float, store: ShingleStore | None) -> Standing:
    """The documents with those that stay because more than the share ``most`` of their shingles would be lost."""
    candidate = ~now.stays & _too_much(now, most)
    others = np.bincount(now.group[candidate], minlength=len(now.group))[now.group]
    chosen = candidate & ((others > 1) | now.several)
    if store is None:
        return now.with_staying(np.flatnonzero(candidate))
    alone = np.flatnonzero(candidate & ~chosen)
    if not chosen.any():
        return now.with_staying(alone)
    with_candidates = np.zeros(len(now.group), np.bool_)
    with_candidates[now.group[chosen]] = True
    documents = np.flatnonzero(chosen | (now.stays & with_candidates[now.group]))
    left = residue(documents, now.group[documents], now.stays[documents], store)
    allowed = _allowed_counts(now.shingles[documents], most)
    stays = cover(left, now.group[documents], now.rank[documents], allowed)
    return now.with_staying(np.concatenate((alone, documents[stays])))


def _too_much(now: Standing, most: float) -> Bools:
    """Which documents have more than the share ``most`` of their shingles outside their leader, or may have."""
    too_much: Bools = (now.without_leader > _allowed_counts(now.shingles, most)) | (now.without_leader < 0)
    return too_much


def _allowed_counts(shingles: Int64s, most: float) -> Int64s:
    """The largest number of shingles that is at most the share ``most`` of each number of ``shingles``."""
    numerator, denominator = ratio(most)
    allowed: Int64s = np.maximum(shingles, 0) * numerator // denominator
    return allowed


def with_passages(decisions: Decisions, documents: CopyClasses, now: Standing, rows: Rows) -> Decisions:
    """The decisions with the passages of the removed documents that lose most; one more pass over these texts."""
    if decisions.lost is None:
        return decisions
    of_row, lost = documents.of_row[decisions.rows], decisions.lost.lost
    entries = np.flatnonzero(lost > 0)
    losing, first = np.unique(of_row[entries], return_index=True)
    chosen = _chosen(losing, lost[entries[first]], now, rows.sets().upper_bounds(np.arange(len(rows.unique))))
    units, excerpts = np.where(lost == 0, 0, -1), np.full(len(lost), None, object)
    if len(chosen):
        residues_of = _passages(chosen, now, rows)
        inside = entries[np.isin(of_row[entries], chosen)]
        for entry, place in zip(inside.tolist(), np.searchsorted(chosen, of_row[inside]).tolist(), strict=True):
            units[entry], excerpts[entry] = residues_of[place]
    passages = Passages(units, pa.array(excerpts, pa.string()))
    return replace(decisions, lost=replace(decisions.lost, passages=passages))


def passage_of(
    text: str, lost: UInt64s, form: Shingles, key: Key, cleaner: Cleaner | None = None
) -> tuple[int, str | None]:
    """(units in passages, beginning of the longest passage) of a text, given its ``lost`` shingles (ascending).

    A unit is in a passage if every shingle that covers it is lost. The text of the passage is on one line, with
    escapes for characters that could control a terminal; None without passages.

    >>> from neardup.text.keys import process_key
    >>> form, key = Shingles(length=2), process_key()
    >>> hashes = shingles_in_order("pay the mayor in gold", form, key)
    >>> passage_of("pay the mayor in gold", np.sort(hashes[1:]), form, key)
    (3, 'mayor in gold')
    """
    units = read(text, cleaner=cleaner, key=key).units(form.unit == "word")
    hashes = _shingle_hashes(units.hashes, form, key)
    stays = np.flatnonzero(~places_among(hashes, lost)[0])
    change = np.zeros(len(units.hashes) + form.length, np.int8)
    change[stays] += 1
    change[stays + form.length] -= 1
    inside = np.zeros(len(units.hashes) + 2, np.int8)
    inside[1:-1] = np.cumsum(change)[: len(units.hashes)] == 0
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    begin, until = edges[::2], edges[1::2]
    if not len(begin):
        return 0, None
    longest = int(np.argmax(until - begin))
    return int((until - begin).sum()), _excerpt(units.quote(int(begin[longest]), int(until[longest])))


def shingles_in_order(text: str, form: Shingles, key: Key) -> UInt64s:
    """The hashes of the shingles of a text, in its order, repeats included."""
    return _shingle_hashes(read(text, key=key).units(form.unit == "word").hashes, form, key)


def _shingle_hashes(units: UInt64s, form: Shingles, key: Key) -> UInt64s:
    hashes = np.empty(max(1, len(units)), np.uint64)
    return hashes[: shingle_hashes(units, len(units), form.length, key.shingles, hashes)]


def _excerpt(passage: str) -> str:
    text = " ".join(passage[: 4 * EXCERPT].split())
    return printable(text[:EXCERPT]) + ("…" if len(text) > EXCERPT or len(passage) > 4 * EXCERPT else "")


def _chosen(losing: Int64s, lost: Int64s, now: Standing, size: Int64s) -> Int64s:
    """The documents (ascending) to look up: the ones that lose most, within the limits."""
    staying = np.bincount(now.group[now.stays], size[now.stays], len(size)).astype(np.int64)
    order = np.lexsort((losing, -lost))
    documents = losing[order]
    documents = documents[size[documents] + staying[now.group[documents]] <= MOST_UNITS // 4]
    cost = size[documents]
    _, first = np.unique(now.group[documents], return_index=True)
    cost[first] += staying[now.group[documents[first]]]
    most = MOST_DOCUMENTS if size.sum() <= SMALL else IN_LARGE_RUNS
    return np.sort(documents[np.cumsum(cost) <= MOST_UNITS][:most])


def _passages(chosen: Int64s, now: Standing, rows: Rows) -> list[tuple[int, str | None]]:
    """The passages of the ``chosen`` documents (ascending), in that order."""
    lost = _lost_shingles(chosen, now, rows.sets())
    wanted = rows.unique[chosen]
    key, form, cleaner = rows.corpus.key, rows.settings.shingles, cleaner_of(rows.settings.cleaning)

    def work(row: int, text: pa.Array) -> tuple[int, str | None]:
        return passage_of(_decode(text), lost[int(np.searchsorted(wanted, row))], form, key, cleaner)

    return list(rows.corpus.with_texts(wanted, work))


def _lost_shingles(chosen: Int64s, now: Standing, store: ShingleStore) -> list[UInt64s]:
    """The shingles (ascending) of each document that no document of its group holds that stays."""
    wanted = np.zeros(len(now.group), np.bool_)
    wanted[now.group[chosen]] = True
    documents = np.union1d(chosen, np.flatnonzero(now.stays & wanted[now.group]))
    left = residue(documents, now.group[documents], now.stays[documents], store)
    counts = left.counts(len(documents))[np.searchsorted(documents, chosen)]
    return np.split(left.hashes, np.cumsum(counts)[:-1])


def _decode(text: pa.Array) -> str:
    """The only text of an array; invalid bytes read as U+FFFD, as everywhere."""
    return str(pc.cast(text, pa.large_binary())[0].as_py(), "utf-8", "replace")
