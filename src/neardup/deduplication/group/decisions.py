"""Leaders of documents → the decision about every row: its group, its representative, kept or not."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from neardup.deduplication.group.leaders import GroupRules
from neardup.deduplication.group.rows import CopyClasses, JudgedRows
from neardup.deduplication.join.criterion import similarity_of
from neardup.io.contents import Carried, in_samples, lacking_places
from neardup.settings import ratio
from neardup.tables import Bools, Floats, Int64s, column, distinct


@dataclass(frozen=True, eq=False)
class Heads:
    """The representative of each row: ``rows`` (int64[rows]), the row itself outside groups.

    ``moved`` (bool[rows]) marks the rows to which people gave another representative, and ``listed`` are rows
    that people decided about: they get a decision also outside groups.
    """

    rows: Int64s
    moved: Bools
    listed: Int64s

    @classmethod
    def of(cls, rows: Int64s) -> "Heads":
        """The representatives before any decision of people."""
        return cls(rows, np.zeros(len(rows), np.bool_), np.empty(0, np.int64))


@dataclass(frozen=True)
class Passages:
    """The passages that members lose: their ``units``, −1 if not looked up, and the text of the ``longest``."""

    units: Int64s
    longest: pa.Array  # of strings, null without a passage


@dataclass(frozen=True)
class LostShingles:
    """The text that goes with each member of a group if it is removed: one entry per entry of the decisions.

    ``shingles`` are its different shingles, ``lost`` those that no document of its group holds that stays: 0 for a
    member that stays and for its exact copies, −1 where unknown. ``spared`` marks members that stay because too
    much would be lost.
    """

    shingles: Int64s
    lost: Int64s
    spared: Bools
    passages: Passages | None = None


@dataclass(frozen=True)
class Decisions:
    """One entry per member of a group, ordered by group, representative first, then input order.

    ``similarity`` is NaN where the similarity to the representative is unknown, which happens only in components
    made from stored scores. ``lost`` is None until the lost text is counted.
    """

    rows: Int64s
    representative_row: Int64s
    similarity: Floats
    exact: Bools  # the row has the same unit stream as its representative
    kept: Bools
    placed: Bools  # people gave the member another representative
    none_goes: bool = False  # nothing was meant to be removed, so staying needs no reason
    lost: LostShingles | None = None
    dropped: Int64s = field(default_factory=lambda: np.empty(0, np.int64))  # rows without text that go

    @property
    def is_representative(self) -> Bools:
        """Whether a member is the representative itself."""
        same: Bools = self.rows == self.representative_row
        return same

    def part(self, which: slice | Bools) -> "Decisions":
        """The decisions about some members, without their lost passages."""
        names = ("rows", "representative_row", "similarity", "exact", "kept", "placed")
        lost = self.lost
        if lost is not None:
            lost = LostShingles(lost.shingles[which], lost.lost[which], lost.spared[which])
        return replace(self, lost=lost, **{name: getattr(self, name)[which] for name in names})

    def all_kept(self) -> "Decisions":
        """The same groups with every member kept."""
        nothing = np.empty(0, np.int64)
        return replace(self, kept=np.ones(len(self.rows), np.bool_), none_goes=True, dropped=nothing, lost=None)

    def none_kept(self, first_new: int) -> "Decisions":
        """The same groups with every member removed, except those of the reference set, before ``first_new``."""
        return replace(self, kept=self.rows < first_new)

    @property
    def gone(self) -> Int64s:
        """The rows that are removed."""
        return np.concatenate((self.rows[~self.kept], self.dropped))


def heads_of(rows: JudgedRows, documents: CopyClasses, leader: Int64s) -> Heads:
    """The row that represents each row, by the ``leader`` (int64[documents]) of its document."""
    has_text, heads = documents.of_row >= 0, np.full(len(rows), -1)
    if len(leader):
        heads = np.where(has_text, documents.best_row[leader[documents.of_row]], -1)
    heads = np.where(has_text, heads, _best_empty(rows.copy_of, has_text, rows.rank))
    return Heads.of(_without_lone_copies(heads, rows, documents, leader))


def decisions_of(
    rows: JudgedRows, documents: CopyClasses, heads: Heads, pairs: pa.Table, rules: GroupRules
) -> Decisions:
    """Turn the representatives of rows into decisions: by policy, only representatives stay.

    ``pairs`` holds the counts of documents and those of their representatives. The similarity of a member to its
    representative is by the measure, seen from the member; to a document of the reference set it is seen from the
    side that ``direction`` says.
    """
    members = np.bincount(heads.rows, minlength=len(rows))
    in_group = members[heads.rows] > 1
    in_group[heads.listed] = True
    grouped = np.flatnonzero(in_group)
    head = heads.rows[grouped]
    order = np.lexsort((grouped, grouped != head, head))
    grouped, head = grouped[order], head[order]
    exact = documents.of_row[grouped] == documents.of_row[head]
    shared, own, other = with_leader(documents, grouped, head, exact, pairs)
    seen = similarity_of(shared, own, other, rules.criterion.measure)
    if rows.first_new:
        of_old = similarity_of(shared, own, other, rules.of_old)
        seen = np.where((head < rows.first_new) & (grouped >= rows.first_new), of_old, seen)
    known = np.where(shared < 0, np.nan, seen)
    similarity = np.where(exact, 1.0, known)
    kept = (grouped == head) | same_side(rows, grouped, head)
    return Decisions(grouped, head, similarity, exact, kept, heads.moved[grouped])


def same_side(rows: JudgedRows, one: Int64s, other: Int64s) -> Bools:
    """bool[n]: whether the rows one[k], other[k] never remove each other because of ``across``."""
    if not len(rows.across):
        return np.zeros(len(one), np.bool_)
    same: Bools = rows.across[one] == rows.across[other]
    return same


def _without_lone_copies(heads: Int64s, rows: JudgedRows, documents: CopyClasses, leader: Int64s) -> Int64s:
    """With ``across``, the rows of a document that follows none and leads no other are heads of themselves.

    They are copies of each other with the same value, which is no reason to put them into a group.
    """
    if not len(rows.across) or not len(leader):
        return heads
    alone = np.bincount(leader, minlength=len(leader))[leader] == 1
    full = documents.of_row >= 0
    lone = full & alone[np.where(full, documents.of_row, 0)]
    return np.where(lone, np.arange(len(rows)), heads)


def settle(
    decisions: Decisions, rows: JudgedRows, documents: CopyClasses, pairs: pa.Table, least_contained: float
) -> Decisions:
    """Apply the rules of a run to the decisions: required containment, attachments, and the reference set.

    A row with an attachment that no remaining row has is not removed.
    """
    if least_contained > 0:
        decisions = only_contained(decisions, documents, pairs, least_contained)
    decisions = with_attachments(decisions, documents, rows.attachments)
    return new_only(decisions, rows.first_new) if rows.first_new else decisions


def only_contained(decisions: Decisions, documents: CopyClasses, pairs: pa.Table, least: float) -> Decisions:
    """Keep near copies whose representative contains less than ``least`` of their shingles.

    For a pair that is not in ``pairs`` the containment counts as unknown, and the document is kept.
    """
    heads = decisions.representative_row
    shared, size, _ = with_leader(documents, decisions.rows, heads, decisions.exact, pairs)
    numerator, denominator = ratio(least)
    spared = ~decisions.exact & (shared * denominator < numerator * size)
    return replace(decisions, kept=decisions.kept | spared)


def with_attachments(decisions: Decisions, documents: CopyClasses, carried: Carried) -> Decisions:
    """Keep rows with an attachment that their representative lacks; among exact copies only the best such row.

    Files of samples all stay.
    """
    lost = lacking_places(decisions.rows, decisions.representative_row, carried)
    kept = decisions.kept.copy()
    lost = lost[~kept[lost]]
    best = documents.best_row[documents.of_row[decisions.rows[lost]]]
    stay = (best == decisions.rows[lost]) | in_samples(decisions.rows[lost], carried)
    kept[lost[stay]] = True
    return replace(decisions, kept=kept)


def new_only(decisions: Decisions, first_new: int) -> Decisions:
    """Drop reference rows that represent nothing new; keep the other reference rows only as representatives."""
    head = decisions.representative_row
    has_new = np.zeros(int(head.max(initial=-1)) + 1, np.bool_)
    has_new[head[decisions.rows >= first_new]] = True
    stays = has_new[head] & ((decisions.rows >= first_new) | decisions.is_representative)
    return decisions.part(stays)


def leader_keys(heads: Int64s, documents: CopyClasses) -> Int64s:
    """a · 2³² + b, ascending, of the documents and those of their representatives."""
    own, other = documents.of_row, documents.of_row[heads]
    follows = (own != other) & (own >= 0)
    a, b = np.minimum(own, other)[follows], np.maximum(own, other)[follows]
    return distinct(_key(a, b))


def _best_empty(copy_of: Int64s, has_text: Bools, row_rank: Int64s) -> Int64s:
    """For each row without text, the preferred row among its copies, or the row itself; −1 for other rows."""
    empty, heads = np.flatnonzero(~has_text), np.full(len(copy_of), -1, np.int64)
    if len(empty):
        best = np.full(len(copy_of), len(copy_of), np.int64)
        np.minimum.at(best, copy_of[empty], row_rank[empty])
        heads[empty] = np.argsort(row_rank)[best[copy_of[empty]]]
    return heads


def with_leader(
    documents: CopyClasses, rows: Int64s, heads: Int64s, exact: Bools, pairs: pa.Table
) -> tuple[Int64s, Int64s, Int64s]:
    """(shared, own size, size of the representative) for each row and its representative; 0 for exact copies.

    For a pair that is not in ``pairs``: −1, 0 and 0.
    """
    shared, size, head_size = (np.zeros(len(rows), np.int64) for _ in range(3))
    near = np.flatnonzero(~exact)
    own, other = documents.of_row[rows[near]], documents.of_row[heads[near]]
    known, places = _places(_key(column(pairs, "a"), column(pairs, "b")), _key(*np.sort((own, other), axis=0)))
    shared[near[~known]] = -1
    near, own, other, places = near[known], own[known], other[known], places[known]
    of_pair = {name: column(pairs, name)[places] for name in ("shared", "size_a", "size_b")}
    shared[near] = of_pair["shared"]
    size[near] = np.where(own < other, of_pair["size_a"], of_pair["size_b"])
    head_size[near] = np.where(own < other, of_pair["size_b"], of_pair["size_a"])
    return shared, size, head_size


def _places(keys: Int64s, wanted: Int64s) -> tuple[Bools, Int64s]:
    """(whether it is present, where) for each wanted number in the ascending ``keys``."""
    places = np.searchsorted(keys, wanted)
    known = np.zeros(len(wanted), np.bool_)
    inside = places < len(keys)
    known[inside] = keys[places[inside]] == wanted[inside]
    return known, places


def _key(a: Int64s, b: Int64s) -> Int64s:
    return (a << 32) | b
