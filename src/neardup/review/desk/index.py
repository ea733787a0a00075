"""A result as columns of numbers: its documents, groups, members and stored pairs. Made once, then only read."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.comparison.kinds import KINDS
from neardup.deduplication.results import KIND, ResultRecord, with_side_names
from neardup.deduplication.texts import similarities
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.decisions import Id
from neardup.tables import OLD_LEADS, Bools, Floats, Int64s, column


class ResultDocuments:
    """The rows of the table of ranks: documents in pairs and copies, numbered from 0 in the order of the input.

    ``rows`` (int64[n]) are their rows in the run, ascending: the keys of their pages. ``first`` is the number of
    the first document with the same words, ``identical`` is equal for documents with the same characters, and
    ``bytes`` is the size of the text.
    """

    def __init__(self, ranks: pa.Table) -> None:
        self.table = ranks.sort_by("row") if ranks.num_rows else ranks
        self.rows: Int64s = column(self.table, "row")
        self.first: Int64s = np.searchsorted(self.rows, column(self.table, "first"))
        self.identical: Int64s = column(self.table, "identical")
        self.bytes: Int64s = column(self.table, "bytes")
        self.in_reference: Bools = self.table["reference"].to_numpy().astype(np.bool_)
        self._ids: pa.Array = pa.concat_arrays(self.table["id"].chunks) if len(self.rows) else pa.array([])

    def __len__(self) -> int:
        return len(self.rows)

    def id(self, document: int) -> Id:
        """Return the id of a document."""
        return self._list[document]

    def at(self, key: int) -> int:
        """Return the number of the document with a key. Raises InputError if there is none."""
        place = int(np.searchsorted(self.rows, key))
        if place == len(self.rows) or self.rows[place] != key:
            raise InputError(f"There is no document {key} in this result", "The key of a document on a page")
        return place

    def number(self, id: Id) -> int | None:
        """Return the number of a document by its id; None for an unknown id.

        If a document of the reference set has the same id, the one of the new input counts.
        """
        return self._number_of.get(id)

    def numbers(self, ids: pa.ChunkedArray, in_reference: Bools | None = None) -> Int64s:
        """Return the numbers of some ids: those of the new input, except where ``in_reference`` is set."""
        new, old = np.flatnonzero(~self.in_reference), np.flatnonzero(self.in_reference)
        known = self._among(ids, new)
        lacking = known < 0 if in_reference is None else (known < 0) | in_reference
        if len(old) and lacking.any():
            known[lacking] = self._among(ids.filter(pa.array(lacking)), old)
        return known

    def _among(self, ids: pa.ChunkedArray, numbers: Int64s) -> Int64s:
        if not len(numbers):
            return np.full(len(ids), -1, np.int64)
        known = self._ids if len(numbers) == len(self) else self._ids.take(pa.array(numbers))
        places = pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy().astype(np.int64)
        return np.where(places < 0, -1, numbers[places])

    @cached_property
    def _list(self) -> list[Id]:
        ids: list[Id] = self._ids.to_pylist()
        return ids

    @cached_property
    def _number_of(self) -> dict[Id, int]:
        ids = self._list
        order = np.argsort(~self.in_reference, kind="stable").tolist()  # new documents last, so that they win
        return {ids[number]: number for number in order}

    def with_word(self, word: str) -> Bools:
        """Return which documents have a word in their ids, in any case of letters."""
        small = pc.utf8_lower(pa.scalar(word)).as_py()
        fits: Bools = pc.match_substring(self._small_ids, small).to_numpy(zero_copy_only=False)
        return fits

    @cached_property
    def _small_ids(self) -> pa.Array:
        return pc.utf8_lower(self._ids.cast(pa.large_string()))

    def where_id_is(self, text: str) -> Int64s:
        """Return the documents whose id, as text, is ``text``."""
        same = pc.equal(pc.cast(self._ids, pa.large_string()), text) if len(self) else pa.array([], pa.bool_())
        return np.flatnonzero(same.to_numpy(zero_copy_only=False))

    def printable_id(self, document: int) -> str:
        """Return the id on one line, with escapes for control characters."""
        return printable(self.id(document))


Kinds = NDArray[np.int8]
"""Numbers in ``KINDS``; −1 where the kind is not known."""


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """Pairs of documents by number; exact copies are represented by the ``first`` document with their text.

    ``similarity`` is that of the measure of the run. ``counts`` are the shingles of both, and of each.
    """

    ends: tuple[Int64s, Int64s]
    first: Int64s
    similarity: Floats
    kinds: Kinds
    counts: tuple[Int64s, ...]

    def __len__(self) -> int:
        return len(self.similarity)

    def warm(self) -> None:
        """Sort the pairs in all ways."""
        assert len(self._sorted[0]) == len(self.sorted_similarity) == len(self._adjacent[1]) // 2

    def none(self) -> "StoredPairs":
        """Return a record without pairs, of the same documents."""
        counts = tuple(numbers[:0] for numbers in self.counts)
        return StoredPairs(
            (self.ends[0][:0], self.ends[1][:0]), self.first, self.similarity[:0], self.kinds[:0], counts
        )

    def places(self, a: Int64s, b: Int64s) -> Int64s:
        """Return the places of some pairs of documents, in any order of a and b; −1 for those not stored."""
        if not len(self):
            return np.full(len(a), -1, np.int64)
        wanted = self._codes(self.first[a], self.first[b])
        codes, order = self._sorted
        positions = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[positions] == wanted, order[positions], -1)

    def place(self, a: int, b: int) -> int:
        """Return the place of one pair, −1 if it is not stored."""
        return int(self.places(np.array([a]), np.array([b]))[0])

    def kinds_of(self, a: Int64s, b: Int64s) -> Kinds:
        """Return the kinds of some pairs of documents."""
        places = self.places(a, b)
        kinds = np.full(len(places), -1, np.int8)
        kinds[places >= 0] = self.kinds[places[places >= 0]]
        return kinds

    def containments(self, a: int, b: int) -> tuple[float, float] | None:
        """Return the share of a's shingles that is in b, and of b's in a; None if the pair is not stored."""
        if self.first[a] == self.first[b]:
            return 1.0, 1.0
        place = self.place(a, b)
        if place < 0:
            return None
        shared, size_a, size_b = (int(numbers[place]) for numbers in self.counts)
        shares = shared / size_a, shared / size_b
        return shares if self.first[self.ends[0][place]] == self.first[a] else shares[::-1]

    def similarity_of(self, a: int, b: int) -> float | None:
        """Return the stored similarity of two documents; 1 for exact copies, None if the pair is not stored."""
        if self.first[a] == self.first[b]:
            return 1.0
        place = self.place(a, b)
        return float(self.similarity[place]) if place >= 0 else None

    def around(self, document: int) -> tuple[Int64s, Int64s]:
        """Return the partners of a document by number, and the places of the pairs."""
        starts, partners, places = self._adjacent
        own = int(self.first[document])
        inside = slice(int(starts[own]), int(starts[own + 1]))
        return partners[inside], places[inside]

    def _codes(self, a: Int64s, b: Int64s) -> Int64s:
        return np.minimum(a, b) * len(self.first) + np.maximum(a, b)

    @cached_property
    def by_similarity(self) -> Int64s:
        """The places of the pairs, the least similar first."""
        return np.argsort(self.similarity, kind="stable")

    @cached_property
    def sorted_similarity(self) -> Floats:
        """The similarities in this order."""
        return self.similarity[self.by_similarity]

    @cached_property
    def _sorted(self) -> tuple[Int64s, Int64s]:
        codes = self._codes(*(self.first[end] for end in self.ends))
        order = np.argsort(codes, kind="stable")
        return codes[order], order

    @cached_property
    def _adjacent(self) -> tuple[Int64s, Int64s, Int64s]:
        a, b = (self.first[end] for end in self.ends)
        own, other = np.concatenate((a, b)), np.concatenate((b, a))
        order = np.argsort(own, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=len(self.first)))))
        places = np.tile(np.arange(len(self)), 2)
        return starts, other[order], places[order]


class ResultIndex:
    """Groups are numbered in the order of the result, members in the order of groups, representative first.

    ``members`` are document numbers; members of group g are those from ``offsets[g]`` to ``offsets[g + 1]``.
    ``near`` marks the members to judge: neither the representative nor identical to a member before them.
    """

    def __init__(self, result: ResultRecord) -> None:
        if not result.ranks.num_columns:
            raise InputError(
                "This result has no table of ranks",
                "A result of neardup.find or neardup.load",
                "Run neardup on the documents again",
            )
        self.found = result = with_side_names(result)
        self.documents = ResultDocuments(result.ranks)
        self._place(result.groups)
        self.pairs = stored_pairs(result, self.documents, result.pairs)
        self._measure(result.groups.take(pa.array(self._order)))

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
        self.members = self.documents.numbers(groups["id"], old_heads(groups))[self._order]
        self.heads: Int64s = self.members[self.offsets[:-1]]
        self.group_of: Int64s = np.full(len(self.documents), -1, np.int64)
        self.group_of[self.members] = self.group
        self.member_of: Int64s = np.full(len(self.documents), -1, np.int64)
        self.member_of[self.members] = np.arange(len(self.members))

    def _measure(self, groups: pa.Table) -> None:
        """Count for each group, and describe each member, in the order of members."""
        self.similarity: Floats = pc.fill_null(groups["similarity"], np.nan).to_numpy()
        self.kept: Bools = groups["kept"].to_numpy().astype(np.bool_)
        self.table = groups
        self.near = self._near_copies()
        self.size: Int64s = np.diff(self.offsets)
        self.lost, self.lost_bytes = self._lost_sizes(groups)
        self.stake = self._sum(self.lost_bytes)
        self.copies = self.size - 1 - self._sum(self.near)
        self.lowest, self.highest = (self._extreme(how) for how in (np.fmin, np.fmax))
        self.kinds = self.pairs.kinds_of(self.members, self.heads[self.group])

    def _near_copies(self) -> Bools:
        """Return which members are neither the representative nor identical to a member before them."""
        characters = self.documents.identical[self.members]
        key = self.group * (int(characters.max(initial=0)) + 1) + characters
        _, first = np.unique(key, return_index=True)
        near = np.zeros(len(key), np.bool_)
        near[first] = True
        return near & ~self.leads

    def _lost_sizes(self, groups: pa.Table) -> tuple[Int64s, Int64s]:
        """Return the lost shingles of each group and the lost bytes of each member: in no document that stays."""
        if "lost_shingles" not in groups.column_names:
            return np.zeros(len(self), np.int64), np.zeros(len(self.members), np.int64)
        lost = np.where(self.kept, -1, pc.fill_null(groups["lost_shingles"], -1).to_numpy())
        shingles = pc.fill_null(groups["shingles"], 0).to_numpy()
        sizes, texts = (of[self.members] for of in (self.documents.bytes, self.documents.first))
        return self._sum(np.maximum(lost, 0)), lost_bytes(~self.kept, lost, shingles, sizes, self.group, texts)

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
        any_member = np.zeros(len(self), np.bool_)
        any_member[self.group[flags]] = True
        return any_member

    def of_documents(self, documents: Int64s) -> Bools:
        """Return which groups have one of some documents as a member."""
        groups_of = np.zeros(len(self), np.bool_)
        groups = self.group_of[documents]
        groups_of[groups[groups >= 0]] = True
        return groups_of

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
        result = self.found
        return None if result.missed is None else stored_pairs(result, self.documents, result.missed)


def old_heads(groups: pa.Table) -> Bools | None:
    """Return which rows of a table of groups are representatives in the reference set; None without one."""
    if OLD_LEADS not in groups.column_names:
        return None
    heads: Bools = pc.and_(groups["representative"], groups[OLD_LEADS]).to_numpy()
    return heads


def stored_pairs(result: ResultRecord, documents: ResultDocuments, table: pa.Table) -> StoredPairs:
    """Return a table of pairs by document number."""
    old = table["a_in_reference"].to_numpy().astype(np.bool_) if "a_in_reference" in table.column_names else None
    ends = documents.numbers(table["id_a"], old), documents.numbers(table["id_b"])
    kinds = np.full(table.num_rows, -1, np.int8)
    if KIND in table.column_names:
        named = pc.fill_null(pc.index_in(table[KIND], value_set=pa.array(KINDS)), -1)
        kinds = named.to_numpy().astype(np.int8)
    counts = tuple(column(table, name) for name in ("shared", "size_a", "size_b"))
    return StoredPairs(ends, documents.first, similarities(result, table), kinds, counts)


def lost_bytes(
    removed: Bools, lost: Int64s, shingles: Int64s, size: Int64s, group: Int64s, text: Int64s
) -> Int64s:
    """Return the bytes lost with each member of a group; arrays have one entry a member.

    They are the ``size`` of a removed member times the share of its ``shingles`` that is ``lost``, rounded. Of
    exact copies, which have the same ``text``, the first in a group counts. Documents that stay lose nothing;
    where the lost shingles are unknown (−1) nothing is counted, and a sum is a lower bound.

    >>> one = np.ones(4, np.int64)
    >>> lost_bytes(one > 0, np.array([1, 1, 2, -1]), 4 * one, 100 * one, 0 * one, np.array([5, 5, 6, 7])).tolist()
    [25, 0, 50, 0]
    """
    losing = np.flatnonzero(removed & (lost > 0) & (shingles > 0))
    keys = group[losing] * (int(text.max(initial=0)) + 1) + text[losing]
    _, first = np.unique(keys, return_index=True)
    counted = losing[first]
    sizes = np.zeros(len(removed), np.int64)
    sizes[counted] = np.round(size[counted] * (lost[counted] / shingles[counted])).astype(np.int64)
    return sizes
