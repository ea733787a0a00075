"""The documents of hub buckets → an exact join among them, prepared for lazy search.

A bucket with thousands of members is a crowd of true copies, or boilerplate shared by many unlike texts. Its
members are joined exactly instead: each is listed under its rarest shingles, and every pair at or above the
threshold meets in one such list. No pair of a hub bucket is lost, and most of its false pairs are never
looked at. Most documents have too many shingles of their own for a partner, and leave early; documents that share
most shingles with many others have their frequent shingles as bits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.criterion import EVERYONE, Related, takes_any_subset
from neardup.deduplication.join.pairs import PairRoom, Pairs, gather
from neardup.deduplication.join.shingle_store import DocumentSets, ShingleStore
from neardup.kernels.join import (
    FARTHEST,
    PrefixIndex,
    Searched,
    count_lookups,
    count_repeats,
    fill_frequent,
    fill_may_lack,
    fill_rest,
    joined_pairs,
    mark_entries,
    marked_shingles,
    rare_prefixes,
    unique_in_range,
)
from neardup.kernels.sets import Criterion, fill_parities, parity_words
from neardup.kernels.sorting import DIGIT, equal_groups, sorted_by_key
from neardup.runtime import Advance, ordered_map, report_nothing, worker_count
from neardup.tables import Bools, Int32s, Int64s, UInt8s, UInt64s, column, numbers_in, verified_table

_IN_RANGE = 1 << 21
"""Shingles in a range of hashes, about: their filter has at most 4 MB. Fewer are not worth it."""

_ROUNDS = 16
"""Ranges are counted in this many rounds, each among the sets that the rounds before have left."""

_LONG = 256
"""Lists that hold this many places to pass for each document are long: texts of one template are in them."""

_DRAWN, _SORTED = 4096, 1 << 20
"""Most documents that are looked at for frequent shingles, and most shingles of theirs, which are sorted."""

_FREQUENT = 64
"""A shingle is frequent if it is in more than one of this many documents."""

_WORDS = 4
"""Words of bits for a document, at most; together at most as many as their parities have."""

_LEAST_WORDS = 2
"""Bits are not worth it for sets with fewer words of parities on average: these rule out as many pairs."""

_MERGED = 4
"""Bits are not worth it if more than one of this many shingles would have to be merged all the same."""

_SLICE = 1 << 14
"""Documents of one task."""

_FEWEST = 1024
"""Documents whose partners one task looks for, at least."""


def repeats_of(hashes: UInt64s, starts: Int64s, sizes: Int64s, threads: int) -> UInt8s:
    """How often each shingle occurs again, by its low bits; needs about four bytes of scratch per shingle."""
    counted = Repeats(max(16, int(sizes.sum()).bit_length()), threads)
    counted.add(hashes, starts, sizes)
    return counted.cells


class Repeats:
    """How often each shingle occurs again: ``cells`` (uint8[2^bits], saturating), by the low bits of its hash.

    Fewer cells than shingles are allowed: collisions cost time in the join, never a pair. Sets are added in any
    order; counting needs two more bytes per cell.
    """

    def __init__(self, bits: int, threads: int) -> None:
        self.cells, self._seen = np.zeros(1 << bits, np.uint8), np.zeros(1 << (bits - 2), np.uint64)
        # each part reads all hashes and counts its own; below 2¹⁶ words a part, threads would share words
        self._parts = 1 << min(max(0, bits - 18), worker_count(threads).bit_length() - 1)
        self._threads = threads

    def add(self, hashes: UInt64s, starts: Int64s, sizes: Int64s) -> None:
        """Count the sets of ``sizes`` that begin at ``starts``."""

        def work(part: int) -> None:
            count_repeats(hashes, starts, sizes, self._seen, self.cells, part, self._parts)

        for _ in ordered_map(work, range(self._parts), self._threads):
            pass


def with_possible_partners(
    hashes: UInt64s, starts: Int64s, sizes: Int64s, criterion: Criterion, threads: int
) -> Int64s:
    """Return the numbers (int64, ascending) of the sets whose unique shingles leave room for a partner.

    Set k is ``hashes[starts[k]:starts[k] + sizes[k]]``, ascending. No set with a partner is missing. Of few
    shingles, and for measures that any subset meets, all are returned. The same for any number of threads.
    """
    left = np.arange(len(sizes))
    ranges = 1 << max(0, (int(sizes.sum()) // _IN_RANGE).bit_length())
    if ranges == 1 or takes_any_subset(criterion.measure):
        return left
    may_lack, unique = np.empty(len(sizes), np.int64), np.zeros(len(sizes), np.int64)
    fill_may_lack(sizes, criterion, may_lack)
    width = (1 << 64) // ranges
    step = max(2, ranges // _ROUNDS)
    for first in range(0, ranges, step):
        words = 1 << max(4, int(sizes[left].sum() // (8 * ranges)).bit_length())

        def count(number: int, left: Int64s = left, words: int = words) -> Int32s:
            span = np.array([number * width, (number + 1) * width - 1], np.uint64)
            counts = np.empty(len(left), np.int32)
            unique_in_range(hashes, starts, sizes, left, span, np.zeros((words, 2), np.uint64), counts)
            return counts

        for with_partners in ordered_map(count, range(first, min(first + step, ranges)), threads):
            unique[left] += with_partners
        left = left[unique[left] <= may_lack[left]]
    return left


def search_plan(hubs: PrefixIndex, left_out: Bools, threads: int, apart: Bools | None = None) -> Searched:
    """The documents to search, with bits if their lists are long: all but those ``left_out`` (bool[hubs]).

    No two documents that are ``apart`` (bool[hubs]; None: any two may be) are a pair.
    """
    index, lengths = without_bits(left_out, apart), np.diff(hubs.first)
    count, words = len(index.inside), np.diff(hubs.parity_at)[index.inside].sum()
    if not count or words < _LEAST_WORDS * count or (lengths * lengths).sum() <= 2 * _LONG * count:
        return index
    return _with_bits(index, hubs, threads)


def without_bits(left_out: Bools, apart: Bools | None = None) -> Searched:
    """All documents but those ``left_out`` (bool[hubs]), like ``search_plan``; their sets are merged."""
    kind = np.zeros(len(left_out), np.uint8) if apart is None else apart.astype(np.uint8)
    kind[left_out] = 2
    inside, others = np.flatnonzero(~left_out), np.flatnonzero(kind == 0)
    nothing, words = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    return Searched(kind, inside, others, np.zeros(0, np.int32), words, nothing, words, words)


def _with_bits(plain: Searched, hubs: PrefixIndex, threads: int) -> Searched:
    inside, hashes = plain.inside, hubs.hashes
    starts, sizes = hubs.starts[inside], hubs.sizes[inside]
    frequent = _frequent(hubs, inside)
    repeats = repeats_of(hashes, starts, sizes, threads)
    bits, counts = np.zeros((len(inside), -(-len(frequent) // 64)), np.uint64), np.empty(len(inside), np.int64)
    spans = [slice(first, first + _SLICE) for first in range(0, len(inside), _SLICE)]

    def count(span: slice) -> None:
        fill_frequent(hashes, starts[span], sizes[span], frequent, repeats, bits[span], counts[span])

    for _ in ordered_map(count, spans, threads):
        pass
    rest_at = np.concatenate(([0], np.cumsum(counts)))
    if not len(frequent) or _MERGED * rest_at[-1] > sizes.sum():
        return plain
    rest, rest_bits = np.empty(rest_at[-1], np.uint64), np.zeros(len(inside), np.uint64)

    def fill(span: slice) -> None:
        ends = rest_at[span.start : span.stop + 1]
        fill_rest(hashes, starts[span], sizes[span], frequent, repeats, ends, rest, rest_bits[span])

    for _ in ordered_map(fill, spans, threads):
        pass
    place = np.full(len(hubs.documents), -1, np.int32)
    place[inside] = np.arange(len(inside), dtype=np.int32)
    return Searched(plain.kind, inside, plain.others, place, bits.ravel(), rest_at, rest, rest_bits)


def _frequent(hubs: PrefixIndex, inside: Int64s, most: int = _SORTED) -> UInt64s:
    """The most frequent shingles (uint64, ascending) of the documents inside; about ``most`` are looked at."""
    drawn = inside[:: max(-(-len(inside) // _DRAWN), -(-int(hubs.sizes[inside].sum()) // most))]
    sets = [hubs.hashes[hubs.starts[x] : hubs.starts[x] + hubs.sizes[x]] for x in drawn]
    values, counts = np.unique(np.concatenate(sets), return_counts=True)
    words = min(_WORDS, int(np.diff(hubs.parity_at)[inside].sum()) // len(inside))
    many = np.flatnonzero(counts > max(1, len(drawn) // _FREQUENT))
    chosen = many[np.argsort(-counts[many], kind="stable")][: 64 * words]
    return np.sort(values[chosen])


class Prefixes(NamedTuple):
    """Documents under shingles: ``entries`` (hashes), the ``owner`` of each, ``in_prefix`` of that owner."""

    entries: UInt64s
    owner: Int32s
    in_prefix: Bools


class Numbered(NamedTuple):
    """The documents of an index, numbered by size, with the fields of ``PrefixIndex``.

    Only the ``listed`` ones can have partners; None: all.
    """

    documents: Int64s
    hashes: UInt64s
    starts: Int64s
    ends: Int64s
    sizes: Int64s
    largest: Int64s
    least: Int64s | None = None
    across: UInt64s | None = None
    listed: Bools | None = None
    within: UInt64s | None = None


class Joined(NamedTuple):
    """The ``hubs``, and the number of their prefix entries that are ``tied``.

    Shingles in more than 255 documents count as equally frequent, so hashes alone decide which of them are in a
    prefix. Such an entry can cost anything up to the longest list.
    """

    hubs: PrefixIndex
    tied: int


@dataclass(frozen=True)
class HubSearch:
    """Which pairs of hub documents to return: those that meet the ``criterion`` that the index was built for.

    Documents in ``left_out`` (bool[hubs]) are skipped, as are pairs of two documents below ``first_new``. No two
    of those ``apart`` (bool[hubs]; None: any two may be) are a pair, so they are not compared.
    ``limit`` is the maximum number of partners of a document, including the ``known`` partners (int64[hubs]) it
    has elsewhere; None: no limit.
    """

    criterion: Criterion
    left_out: Bools
    known: Int64s
    limit: int | None
    first_new: int
    apart: Bools | None = None


def join_documents(
    documents: Int64s,
    total: int,
    store: ShingleStore,
    criterion: Criterion,
    threads: int,
    related: Related = EVERYONE,
) -> Joined:
    """Build the prefix lists of the hub ``documents`` (ascending numbers below ``total``) for a criterion.

    Only pairs of ``related`` documents are found in them. The entries that could differ under another key are
    counted.
    """
    if not len(documents):
        return Joined(empty_index(total), 0)
    return joined_sets(documents, total, store.get(documents), criterion, threads, related)


def joined_sets(
    documents: Int64s,
    total: int,
    document_sets: DocumentSets,
    criterion: Criterion,
    threads: int,
    related: Related = EVERYONE,
) -> Joined:
    """Like :func:`join_documents`, from sets that were read already; some may be of other documents."""
    sets, places = document_sets.sets, document_sets.index(documents)
    # in the order of memory
    some = document_sets.possible if len(places) == len(document_sets.documents) else None
    if some is None:
        some = with_possible_partners(sets.hashes, sets.offsets[places], sets.sizes[places], criterion, threads)
    repeats = repeats_of(sets.hashes, sets.offsets[places[some]], sets.sizes[places[some]], threads)
    order = _order_of(sets.sizes[places], int(sets.sizes.max(initial=0)))
    sizes, starts = sets.sizes[places[order]], sets.offsets[places[order]]
    listed = np.zeros(len(places), np.bool_)
    listed[some] = True
    listed = listed[order]
    reach: Int32s | None
    prefixes, reach, largest = _prefixes_among(listed, sets.hashes, starts, sizes, repeats, criterion, threads)
    tied = np.count_nonzero(repeats[prefixes.entries & np.uint64(len(repeats) - 1)] == np.iinfo(np.uint8).max)
    if takes_any_subset(criterion.measure):
        marked = no_marks(len(prefixes.entries))
        mark_entries(prefixes.entries, marked)
        prefixes = with_hosts(sets.hashes, starts, sizes, prefixes, marked, threads)
        reach = None  # a host may be at any place in the list
    del repeats
    mine = related.of(documents[order])
    prefixes = prefixes._replace(entries=mine.apart(prefixes.entries, prefixes.owner))
    about = documents[order], sets.hashes, starts, starts + sizes, sizes, largest
    numbered = Numbered(*about, across=mine.across, listed=listed, within=mine.within)
    return Joined(index_of(numbered, prefixes, reach, total, threads), int(tied))


def _prefixes_among(
    listed: Bools,
    hashes: UInt64s,
    starts: Int64s,
    sizes: Int64s,
    repeats: UInt8s,
    criterion: Criterion,
    threads: int,
) -> tuple[Prefixes, Int32s, Int64s]:
    """Like ``prefixes_of``, for the ``listed`` documents alone; the others have no partner."""
    numbers = np.flatnonzero(listed)
    prefixes, reach, of_these = prefixes_of(hashes, starts[numbers], sizes[numbers], repeats, criterion, threads)
    largest = np.zeros(len(sizes), np.int64)
    largest[numbers] = of_these
    return prefixes._replace(owner=numbers.astype(np.int32)[prefixes.owner]), reach, largest


def index_of(numbered: Numbered, listed: Prefixes, reach: Int32s | None, total: int, threads: int) -> PrefixIndex:
    """The index of ``numbered`` documents, of ``total``, that are ``listed`` (by number) under shingles.

    ``reach`` (int32[entries]) bounds the partner that is first met at an entry; None: unbounded.
    """
    members, first, at_entry = _lists_of(listed)
    count = len(numbered.documents)
    begin, probes, list_of, place = _entries_of(members, first, listed.in_prefix[at_entry], count)
    local = np.full(total, -1, np.int64)
    local[numbered.documents] = np.arange(count)
    of_entries = np.full(len(at_entry), FARTHEST) if reach is None else reach[at_entry]
    return PrefixIndex(
        documents=numbered.documents,
        local=local,
        hashes=numbered.hashes,
        starts=numbered.starts,
        ends=numbered.ends,
        sizes=numbered.sizes,
        begin=begin,
        probes=probes,
        list_of=list_of,
        place=place,
        members=members,
        reach=of_entries,
        first=first,
        largest=numbered.largest,
        least=np.zeros(0, np.int64) if numbered.least is None else numbered.least,
        **_parities(numbered, threads),
        **sides(members, first, numbered.across),
        within=np.zeros(0, np.uint64) if numbered.within is None else numbered.within,
    )


def empty_index(total: int) -> PrefixIndex:
    """An empty join, for corpora without hubs."""
    nothing, one, no_words = np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint64)
    local, no_reach = np.full(total, -1, np.int64), np.zeros(0, np.int32)
    documents = nothing, local, no_words, nothing, nothing, nothing
    entries = one, nothing, nothing, nothing, nothing, no_reach, one
    sides = no_words, nothing, nothing, no_words
    return PrefixIndex(*documents, *entries, nothing, nothing, no_words, one, *sides)


def lookups(hubs: PrefixIndex, limit: int) -> int:
    """About how many pairs the join looks at, with at most ``limit`` from each list for each document."""
    return int(count_lookups(hubs, limit))


def pairs_of(
    hubs: PrefixIndex,
    search: HubSearch,
    threads: int,
    room: PairRoom | None = None,
    advance: Advance = report_nothing,
) -> tuple[Pairs, Bools]:
    """The pairs of hub documents (VERIFIED), and which documents exceed the limit (bool[hubs]).

    Pairs with a document that is left out or exceeds the limit are left out.
    """
    room, partners = room or PairRoom(), search.known.copy()
    looked_up = met_pairs(hubs, search, partners, threads, room.most // 4, advance)
    rows = chain([np.empty((0, 3), np.int64)], looked_up)
    met = gather((hub_table(hubs, some) for some in rows), room)
    over = exceeds_limit(search, partners)

    def within(some: pa.Table) -> Bools:
        kept: Bools = ~(over[hubs.local[column(some, "a")]] | over[hubs.local[column(some, "b")]])
        return kept

    return met.filter(within, room) if over.any() else met, over


def met_pairs(
    hubs: PrefixIndex,
    search: HubSearch,
    partners: Int64s,
    threads: int,
    most: int,
    advance: Advance = report_nothing,
    rising: Callable[[], Criterion] | None = None,
) -> Iterator[Int64s]:
    """Yield the pairs of hub documents as rows (x, y, |x∩y|) of hub numbers, about ``most`` in a thread at a time.

    ``rising`` returns the criterion that pairs must meet from now on: that of the search, or a stricter one.

    ``partners`` (int64[hubs]) counts the partners of each document; a document that exceeds the limit in the end
    may have some of its pairs among the yielded ones.
    """
    limit, behind = -1 if search.limit is None else search.limit, len(hubs.documents)
    inside = search_plan(hubs, search.left_out, threads, search.apart)

    def work(span: tuple[int, int]) -> tuple[Int64s, tuple[int, int]]:
        pairs, until = joined_pairs(
            hubs, rising() if rising else search.criterion, span, inside, partners, limit, search.first_new, most
        )
        return pairs, (int(until), span[1])

    # each task clears 8 bytes for every document; one thread has nobody to share with
    workers = worker_count(threads)
    step = max(_SLICE if workers == 1 else _FEWEST, behind // (16 * workers))
    spans = [(first, min(first + step, behind)) for first in range(0, behind, step)]
    done = 0
    for met, rest in ordered_map(work, spans, threads):
        yield met
        while rest[0] < rest[1]:
            met, rest = work(rest)
            yield met
        advance(rest[1] - done)
        done = rest[1]


def exceeds_limit(search: HubSearch, partners: Int64s) -> Bools:
    """bool[hubs]: which documents exceed the limit by these numbers of ``partners``."""
    if search.limit is None:
        return np.zeros(len(partners), np.bool_)
    over: Bools = (partners > search.limit) & ~search.left_out
    return over


def candidates_of(
    criterion: Criterion, hubs: PrefixIndex, span: tuple[int, int], seen: Int64s, first_new: int, enough: int
) -> tuple[Int64s, int]:
    """Return the pairs of the documents in ``span``, for ``common_text.pairs_of``."""
    nobody, partners = np.zeros(len(hubs.documents), np.bool_), np.zeros(len(hubs.documents), np.int64)
    pairs, until = joined_pairs(hubs, criterion, span, without_bits(nobody), partners, -1, first_new, enough)
    return pairs[:, :2], int(until)


def hub_table(hubs: PrefixIndex, pairs: Int64s) -> pa.Table:
    """The VERIFIED table of rows (x, y, |x∩y|) of hub numbers."""
    a, b = hubs.documents[pairs[:, 0]], hubs.documents[pairs[:, 1]]
    size_a, size_b = hubs.sizes[pairs[:, 0]], hubs.sizes[pairs[:, 1]]
    swap = a > b
    ends = np.where(swap, b, a), np.where(swap, a, b)
    return verified_table(*ends, pairs[:, 2], np.where(swap, size_b, size_a), np.where(swap, size_a, size_b))


def prefixes_of(
    hashes: UInt64s,
    starts: Int64s,
    sizes: Int64s,
    repeats: UInt8s,
    criterion: Criterion,
    threads: int,
) -> tuple[Prefixes, Int32s, Int64s]:
    """The prefixes of all documents, in document order; the reach of each entry; the largest partner of each."""

    def work(first: int) -> tuple[UInt64s, Int32s, Int64s, Int32s]:
        span = slice(first, first + _SLICE)
        entries, owner, largest, reach = rare_prefixes(hashes, starts[span], sizes[span], repeats, criterion)
        return entries, owner + np.int32(first), largest, reach

    done = list(ordered_map(work, range(0, max(1, len(sizes)), _SLICE), threads))
    entries, owners, largest, reach = (np.concatenate([part[k] for part in done]) for k in range(4))
    return Prefixes(entries, owners, np.ones(len(entries), np.bool_)), reach, largest


def sides(members: Int64s, first: Int64s, across: UInt64s | None) -> dict[str, Any]:
    """The sides of all documents, and the runs of members of one side in the lists; empty without sides."""
    if across is None or not len(across):
        return {"across": np.zeros(0, np.uint64), **dict.fromkeys(("run_begin", "run_end"), np.zeros(0, np.int64))}
    sides = across[members]
    begins = np.ones(len(members), np.bool_)
    begins[1:] = sides[1:] != sides[:-1]
    begins[first[:-1]] = True
    cuts = np.append(np.flatnonzero(begins), len(members))
    run = np.cumsum(begins) - 1
    return {"across": across, "run_begin": cuts[run], "run_end": cuts[run + 1]}


def _parities(numbered: Numbered, threads: int) -> dict[str, Any]:
    """The parities of all documents, and where the parities of each document begin; none for common text."""
    if numbered.least is not None:
        return {"parities": np.zeros(0, np.uint64), "parity_at": np.zeros(1, np.int64)}
    each = np.diff(parity_words(numbered.sizes))
    if numbered.listed is not None:
        each[~numbered.listed] = 0
    words, begin = np.zeros(int(each.sum()), np.uint64), np.concatenate(([0], np.cumsum(each)))
    starts, sizes, places = numbered.starts[each > 0], numbered.sizes[each > 0], begin[np.append(each > 0, True)]

    def work(first: int) -> None:
        last = min(first + _SLICE, len(sizes))
        fill_parities(numbered.hashes, starts[first:last], sizes[first:last], places[first : last + 1], words)

    for _ in ordered_map(work, range(0, len(sizes), _SLICE), threads):
        pass
    return {"parities": words, "parity_at": begin}


def with_hosts(
    hashes: UInt64s, starts: Int64s, sizes: Int64s, prefixes: Prefixes, marked: UInt64s, threads: int
) -> Prefixes:
    """The prefixes, and every document listed under each of its shingles that is in another document's prefix.

    One bit per hash in ``marked`` (uint64[power of two]; ``mark_entries``) marks these shingles. A bit set by
    chance makes a list without a prefix, and no pair.
    """

    def work(first: int) -> Prefixes:
        last = min(first + _SLICE, len(sizes))
        low, high = np.searchsorted(prefixes.owner, (first, last))
        own = prefixes.entries[low:high], prefixes.owner[low:high] - np.int32(first)
        entries, owner, inside = marked_shingles(hashes, starts[first:last], sizes[first:last], *own, marked)
        return Prefixes(entries, owner + np.int32(first), inside)

    done = list(ordered_map(work, range(0, len(sizes), _SLICE), threads))
    return Prefixes(*(np.concatenate([part[k] for part in done]) for k in range(3)))


def no_marks(entries: int) -> UInt64s:
    """Marks for about this many entries of prefixes, none of them set."""
    return np.zeros(1 << max(10, entries.bit_length() - 3), np.uint64)


def _lists_of(listed: Prefixes) -> tuple[Int64s, Int64s, Int64s]:
    """(members, first, entry): the owners of each entry that several documents share, by size; its number."""
    order, starts, lengths = equal_groups(listed.entries)  # in input order, and owners arrive by size
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    entry = order[numbers_in(starts, lengths)]
    return listed.owner[entry].astype(np.int64), first, entry


def _entries_of(
    members: Int64s, first: Int64s, in_prefix: Bools, documents: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """(begin, probes, list_of, place): the lists each document is in, and its places; its own prefix first."""
    list_of = np.repeat(np.arange(len(first) - 1), np.diff(first))
    place = np.arange(len(members)) - np.repeat(first[:-1], np.diff(first))
    order = _order_of(2 * members + ~in_prefix, 2 * documents)
    begin = np.concatenate(([0], np.cumsum(np.bincount(members, minlength=documents)))).astype(np.int64)
    probes = begin[:-1] + np.bincount(members[in_prefix], minlength=documents)
    return begin, probes, list_of[order], place[order]


def _order_of(numbers: Int64s, most: int) -> Int32s:
    """int32[n]: the order that sorts ``numbers`` from 0 to ``most``, stable."""
    bits = most.bit_length() or 1
    order: Int32s = sorted_by_key(numbers.astype(np.uint64) << np.uint64(64 - bits), -(-bits // DIGIT))
    return order
