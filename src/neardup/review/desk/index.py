"""A result as columns of numbers: its groups, their members, and the stored pairs. Made once, then only read."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.comparison.kinds.names import KINDS
from neardup.errors import InputError
from neardup.review.desk.documents import ResultDocuments
from neardup.review.desk.pairs import StoredPairs
from neardup.review.stake import lost_bytes
from neardup.run.kinds import KIND
from neardup.run.looking import similarities
from neardup.run.records import ResultRecord
from neardup.tables import Bools, Floats, Int64s, column


class ResultIndex:
    """Groups are numbered in the order of the result, members in the order of groups, representative first.

    ``members`` are document numbers; members of group g are those from ``offsets[g]`` to ``offsets[g + 1]``.
    ``near`` marks the members to judge: neither the representative nor a copy of a member before them.
    """

    def __init__(self, found: ResultRecord) -> None:
        if not found.ranks.num_columns:
            raise InputError(
                "This result has no table of ranks",
                "A result of neardup.find or neardup.load",
                "Run neardup on the documents again",
            )
        self.found = found
        self.documents = ResultDocuments(found.ranks)
        self._place(found.groups)
        self.pairs = stored_pairs(found, self.documents, found.pairs)
        self._measure(found.groups.take(pa.array(self._order)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _place(self, groups: pa.Table) -> None:
        """Number the groups, and put their members in order."""
        names = groups["group"].combine_chunks()
        coded = pc.dictionary_encode(names)
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        group = coded.indices.to_numpy().astype(np.int64)
        leads = groups["representative"].to_numpy().astype(np.bool_)
        self._order = np.lexsort((~leads, group))
        count = len(coded.dictionary)
        self.group = group[self._order]
        self.leads: Bools = leads[self._order]
        self.offsets: Int64s = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=count)))).astype(
            np.int64
        )
        self.members = self.documents.numbers(groups["id"], self.old_heads(groups, leads))[self._order]
        self.heads: Int64s = self.members[self.offsets[:-1]]
        self.group_of: Int64s = np.full(len(self.documents), -1, np.int64)
        self.group_of[self.members] = self.group
        self.member_of: Int64s = np.full(len(self.documents), -1, np.int64)
        self.member_of[self.members] = np.arange(len(self.members))

    def old_heads(self, groups: pa.Table, leads: Bools) -> Bools | None:
        """Return which rows are representatives in the reference set, by the reasons of their members."""
        if not self.documents.in_reference.any():
            return None
        names = groups["group"].combine_chunks()
        said = pc.match_substring(groups["reason"], " in the reference set").to_numpy().astype(np.bool_)
        old = names.filter(pa.array(said & ~leads))
        found: Bools = leads & pc.is_in(names, value_set=pc.unique(old)).to_numpy(zero_copy_only=False)
        return found

    def _measure(self, groups: pa.Table) -> None:
        """Count for each group, and describe each member, in the order of members."""
        self.similarity: Floats = pc.fill_null(groups["similarity"], np.nan).to_numpy()
        self.kept: Bools = groups["kept"].to_numpy().astype(np.bool_)
        self.table = groups
        self.near = self._near()
        self.size: Int64s = np.diff(self.offsets)
        self.lost, self.stake = self._lost(groups)
        self.copies = self.size - 1 - self._sum(self.near)
        self.lowest, self.highest = (self._extreme(how) for how in (np.fmin, np.fmax))
        self.kinds = self.pairs.kinds_of(self.members, self.heads[self.group])

    def _near(self) -> Bools:
        """Return which members are neither the representative nor an exact copy of a member before them."""
        text = self.documents.first[self.members]
        key = self.group * (len(self.documents) + 1) + text
        _, first = np.unique(key, return_index=True)
        near = np.zeros(len(key), np.bool_)
        near[first] = True
        return near & ~self.leads

    def _lost(self, groups: pa.Table) -> tuple[Int64s, Int64s]:
        """Return the shingles and the bytes of text that no document of each group holds that stays."""
        if "lost_shingles" not in groups.column_names:
            return (np.zeros(len(self), np.int64),) * 2
        lost = np.where(self.kept, -1, pc.fill_null(groups["lost_shingles"], -1).to_numpy())
        shingles = pc.fill_null(groups["shingles"], 0).to_numpy()
        sizes, texts = (of[self.members] for of in (self.documents.bytes, self.documents.first))
        return self._sum(np.maximum(lost, 0)), self._sum(
            lost_bytes(~self.kept, lost, shingles, sizes, self.group, texts)
        )

    def _sum(self, values: Int64s | Bools) -> Int64s:
        """Return the sum of the values of the members of each group."""
        total = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
        return total[self.offsets[1:]] - total[self.offsets[:-1]]

    def _extreme(self, how: np.ufunc) -> Floats:
        """Return the lowest or highest similarity of the near members; of all others if every one is a copy."""
        counts = self.near | (~self.leads & (self.copies == self.size - 1)[self.group])
        values = np.where(counts, self.similarity, np.nan)
        return how.reduceat(values, self.offsets[:-1]) if len(self) else np.empty(0)

    def any_of(self, flags: Bools) -> Bools:
        """Return which groups have a member with the flag (bool[members])."""
        found = np.zeros(len(self), np.bool_)
        found[self.group[flags]] = True
        return found

    def of_documents(self, documents: Int64s) -> Bools:
        """Return which groups have one of some documents as a member."""
        found = np.zeros(len(self), np.bool_)
        groups = self.group_of[documents]
        found[groups[groups >= 0]] = True
        return found

    def at(self, key: int) -> int:
        """Return the number of the group with a key. Raises InputError if there is none."""
        document = self.documents.at(key)
        group = int(self.group_of[document])
        if group < 0 or self.heads[group] != document:
            raise InputError(f"There is no group {key} in this result", "The key of a group on a page")
        return group

    def key(self, group: int) -> int:
        """Return the key of a group."""
        return int(self.documents.rows[self.heads[group]])

    def slice(self, group: int) -> slice:
        """Return the places of the members of a group."""
        return slice(int(self.offsets[group]), int(self.offsets[group + 1]))

    @cached_property
    def missed(self) -> StoredPairs | None:
        """The pairs that the audit found missing; None without an audit."""
        found = self.found
        return None if found.missed is None else stored_pairs(found, self.documents, found.missed)


def stored_pairs(found: ResultRecord, documents: ResultDocuments, table: pa.Table) -> StoredPairs:
    """Return a table of pairs by document number."""
    old = table["a_in_reference"].to_numpy().astype(np.bool_) if "a_in_reference" in table.column_names else None
    ends = documents.numbers(table["id_a"], old), documents.numbers(table["id_b"])
    kinds = np.full(table.num_rows, -1, np.int8)
    if KIND in table.column_names:
        named = pc.fill_null(pc.index_in(table[KIND], value_set=pa.array(KINDS)), -1)
        kinds = named.to_numpy().astype(np.int8)
    counts = tuple(column(table, name) for name in ("shared", "size_a", "size_b"))
    return StoredPairs(ends, documents.first, similarities(found, table), kinds, counts)
