"""The documents of hub buckets → an exact join among them, prepared for lazy search.

A bucket with thousands of members is a crowd of true copies, or boilerplate shared by many unlike texts. Its
members are joined exactly instead: each is listed under its rarest shingles, and every pair at or above the
threshold meets in one such list. No pair of a hub bucket is lost, and most of its false pairs are never
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.join.criterion import takes_any_subset
from neardup.join.frequent import searched, without_bits
from neardup.join.partners import with_possible_partners
from neardup.join.related import EVERYONE, Related
from neardup.join.repeats import repeats_of
from neardup.join.shingle_store import DocumentSets, ShingleStore
from neardup.kernels.join import met_pairs as met_kernels
from neardup.kernels.join import prefix_index as kernels
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.parities import fill_parities, parity_words
from neardup.kernels.sets import Criterion
from neardup.kernels.sorting import equal_groups
from neardup.runtime import ordered_map, worker_count
from neardup.tables import Bools, Int32s, Int64s, UInt8s, UInt64s, verified_table

_ALL = 1 << 62
"""More pairs than there are."""

_SLICE = 1024
"""Documents of one task, at least; tasks that look for partners are larger among many documents."""


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

    Documents in ``left_out`` (bool[hubs]) are skipped, as are pairs of two documents below ``first_new``.
    ``limit`` is the maximum number of partners of a document, including the ``known`` partners (int64[hubs]) it
    has elsewhere; None: no limit.
    """

    criterion: Criterion
    left_out: Bools
    known: Int64s
    limit: int | None
    first_new: int


def join_hubs(
    documents: Int64s,
    total: int,
    store: ShingleStore,
    criterion: Criterion,
    threads: int,
    related: Related = EVERYONE,
) -> PrefixIndex:
    """Build the prefix lists of the hub ``documents`` (ascending numbers below ``total``) for a criterion.

    Only pairs of ``related`` documents are found in them.
    """
    return joined(documents, total, store, criterion, threads, related).hubs


def joined(
    documents: Int64s,
    total: int,
    store: ShingleStore,
    criterion: Criterion,
    threads: int,
    related: Related = EVERYONE,
) -> Joined:
    """Like :func:`join_hubs`, and count the entries that could differ under another key."""
    if not len(documents):
        return Joined(no_hubs(total), 0)
    return joined_sets(documents, total, store.get(documents), criterion, threads, related)


def joined_sets(
    documents: Int64s,
    total: int,
    found: DocumentSets,
    criterion: Criterion,
    threads: int,
    related: Related = EVERYONE,
) -> Joined:
    """Like :func:`joined`, from sets that were read already; some may be of other documents."""
    sets, at = found.sets, found.index(documents)
    # in the order of memory
    some = found.possible if len(at) == len(found.documents) else None
    if some is None:
        some = with_possible_partners(sets.hashes, sets.offsets[at], sets.sizes[at], criterion, threads)
    repeats = repeats_of(sets.hashes, sets.offsets[at[some]], sets.sizes[at[some]], threads)
    order = np.argsort(sets.sizes[at], kind="stable")
    sizes, starts = sets.sizes[at[order]], sets.offsets[at[order]]
    listed = np.zeros(len(at), np.bool_)
    listed[some] = True
    listed = listed[order]
    reach: Int32s | None
    prefixes, reach, largest = _prefixes_among(listed, sets.hashes, starts, sizes, repeats, criterion, threads)
    tied = np.count_nonzero(repeats[prefixes.entries & np.uint64(len(repeats) - 1)] == np.iinfo(np.uint8).max)
    if takes_any_subset(criterion.measure):
        marked = no_marks(len(prefixes.entries))
        kernels.mark_entries(prefixes.entries, marked)
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
    of_entries = np.full(len(at_entry), kernels.FARTHEST) if reach is None else reach[at_entry]
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


def no_hubs(total: int) -> PrefixIndex:
    """An empty join, for corpora without hubs."""
    nothing, one, no_words = np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint64)
    local, no_reach = np.full(total, -1, np.int64), np.zeros(0, np.int32)
    documents = nothing, local, no_words, nothing, nothing, nothing
    entries = one, nothing, nothing, nothing, nothing, no_reach, one
    sides = no_words, nothing, nothing, no_words
    return PrefixIndex(*documents, *entries, nothing, nothing, no_words, one, *sides)


def lookups(hubs: PrefixIndex, limit: int) -> int:
    """About how many pairs the join looks at, with at most ``limit`` from each list for each document."""
    return int(kernels.count_lookups(hubs, limit))


def pairs_of(hubs: PrefixIndex, search: HubSearch, threads: int) -> tuple[pa.Table, Bools]:
    """The VERIFIED table of the pairs of hub documents, and which documents exceed the limit (bool[hubs]).

    The table excludes pairs with a document that is left out or exceeds the limit.
    """
    partners = search.known.copy()
    found = np.concatenate([np.empty((0, 3), np.int64), *met_pairs(hubs, search, partners, threads)])
    over = exceeding(search, partners)
    if search.limit is None:
        return verified(hubs, found), over
    return verified(hubs, found[~(over[found[:, 0]] | over[found[:, 1]])]), over


def met_pairs(
    hubs: PrefixIndex, search: HubSearch, partners: Int64s, threads: int, most: int = _ALL
) -> Iterator[Int64s]:
    """Yield the pairs of hub documents as rows (x, y, |x∩y|) of hub numbers, about ``most`` in a thread at a time.

    ``partners`` (int64[hubs]) counts the partners of each document; a document that exceeds the limit in the end
    may have some of its pairs among the yielded ones.
    """
    limit, behind = -1 if search.limit is None else search.limit, len(hubs.documents)
    inside = searched(hubs, search.left_out, threads)

    def work(span: tuple[int, int]) -> tuple[Int64s, tuple[int, int]]:
        found, until = met_kernels.met_pairs(
            hubs, search.criterion, span, inside, partners, limit, search.first_new, most
        )
        return found, (int(until), span[1])

    # each task clears 8 bytes for every document
    step = max(_SLICE, behind // (16 * worker_count(threads)))
    spans = [(first, min(first + step, behind)) for first in range(0, behind, step)]
    for found, rest in ordered_map(work, spans, threads):
        yield found
        while rest[0] < rest[1]:
            found, rest = work(rest)
            yield found


def exceeding(search: HubSearch, partners: Int64s) -> Bools:
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
    found, until = met_kernels.met_pairs(
        hubs, criterion, span, without_bits(nobody), partners, -1, first_new, enough
    )
    return found[:, :2], int(until)


def verified(hubs: PrefixIndex, found: Int64s) -> pa.Table:
    """The VERIFIED table of rows (x, y, |x∩y|) of hub numbers."""
    a, b = hubs.documents[found[:, 0]], hubs.documents[found[:, 1]]
    size_a, size_b = hubs.sizes[found[:, 0]], hubs.sizes[found[:, 1]]
    swap = a > b
    ends = np.where(swap, b, a), np.where(swap, a, b)
    return verified_table(*ends, found[:, 2], np.where(swap, size_b, size_a), np.where(swap, size_a, size_b))


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
        span = slice(first, first + 16 * _SLICE)
        entries, owner, largest = kernels.rare_prefixes(hashes, starts[span], sizes[span], repeats, criterion)
        reach = np.empty(len(entries), np.int32)
        kernels.fill_reach(entries, owner, sizes[span], repeats, criterion, reach)
        return entries, owner + np.int32(first), largest, reach

    done = list(ordered_map(work, range(0, max(1, len(sizes)), 16 * _SLICE), threads))
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
        last = min(first + 16 * _SLICE, len(sizes))
        fill_parities(numbered.hashes, starts[first:last], sizes[first:last], places[first : last + 1], words)

    for _ in ordered_map(work, range(0, len(sizes), 16 * _SLICE), threads):
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
        last = min(first + 16 * _SLICE, len(sizes))
        low, high = np.searchsorted(prefixes.owner, (first, last))
        own = prefixes.entries[low:high], prefixes.owner[low:high] - np.int32(first)
        entries, owner, inside = kernels.marked_shingles(
            hashes, starts[first:last], sizes[first:last], *own, marked
        )
        return Prefixes(entries, owner + np.int32(first), inside)

    done = list(ordered_map(work, range(0, len(sizes), 16 * _SLICE), threads))
    return Prefixes(*(np.concatenate([part[k] for part in done]) for k in range(3)))


def no_marks(entries: int) -> UInt64s:
    """Marks for about this many entries of prefixes, none of them set."""
    return np.zeros(1 << max(10, entries.bit_length() - 3), np.uint64)


def _lists_of(listed: Prefixes) -> tuple[Int64s, Int64s, Int64s]:
    """(members, first, entry): the owners of each entry that several documents share, by size; its number."""
    order, starts, lengths = equal_groups(listed.entries)  # in input order, and owners arrive by size
    first = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    at = np.arange(first[-1]) - np.repeat(first[:-1], lengths) + np.repeat(starts, lengths)
    entry = order[at]
    return listed.owner[entry].astype(np.int64), first, entry


def _entries_of(
    members: Int64s, first: Int64s, in_prefix: Bools, documents: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """(begin, probes, list_of, place): the lists each document is in, and its places; its own prefix first."""
    list_of = np.repeat(np.arange(len(first) - 1), np.diff(first))
    place = np.arange(len(members)) - np.repeat(first[:-1], np.diff(first))
    order = np.argsort(2 * members + ~in_prefix, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(members, minlength=documents)))).astype(np.int64)
    probes = begin[:-1] + np.bincount(members[in_prefix], minlength=documents)
    return begin, probes, list_of[order], place[order]
