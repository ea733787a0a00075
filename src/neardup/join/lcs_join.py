"""Documents → every pair with enough text in common in the same order.

Every document is cut into enough pieces that any partner of its size or smaller must contain one of them word for
word (``kernels/join/pieces.py``). A document meets all documents that contain one of its pieces, so no pair is
lost. Pairs that meet and have enough equal tokens in any order are counted by their longest common subsequence
(``common_text.py``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from neardup.join.common_text import CommonText, pairs_of
from neardup.join.criterion import criterion_of
from neardup.join.prefix_join import Listed, entries_of, lists_of
from neardup.join.rows import Rows
from neardup.kernels.join.pieces import Held, choose_pieces, holders_met, run_sets
from neardup.kernels.join.prefix_index import count_repeats, mark_entries, marked_shingles
from neardup.kernels.sets import Criterion
from neardup.runtime import Progress, ordered_map
from neardup.settings import Settings, ratio
from neardup.sketch.documents import ShingleSets
from neardup.tables import VERIFIED, Bools, Int32s, Int64s, UInt16s, UInt64s

_SLICE = 256
"""Documents whose pieces one task chooses."""

_LENGTHS = (1, 2, 3, 5, 8, 13)
"""Possible lengths of pieces: long ones are rare, and trying few lengths takes little time."""


class Cut(NamedTuple):
    """How documents are cut: the possible ``lengths`` of pieces (int64), and the ``factors`` of their hashes."""

    lengths: Int64s
    factors: UInt64s


def join_in_order(rows: Rows, progress: Progress) -> CommonText:
    """Find every pair of documents at or above the threshold, except pairs of two of the reference set."""
    documents, settings = np.arange(len(rows.unique)), rows.settings
    if not len(documents):
        return CommonText(VERIFIED.empty_table(), 0, 0)
    with progress.stage("shingles", len(documents), "documents"):
        bags = rows.sets("bag").get(documents).sets
        streams = rows.sets("tokens").get(documents).sets
    with progress.stage("join", len(documents), "documents"):
        held = held_by(bags, streams, settings, rows.corpus.key.shingles)
    with progress.stage("lcs", len(documents), "documents") as advance:
        return pairs_of(held, holders_met, streams, rows.first_new_document, settings, advance)


def lengths_of(threshold: float) -> Int64s:
    """The possible lengths of pieces (int64): up to twice the length they have when all are equally long.

    >>> lengths_of(0.8).tolist(), lengths_of(0.5).tolist()
    ([1, 2, 3, 5], [1])
    """
    failing = 1 - Fraction(*ratio(threshold))
    longer = [length for length in _LENGTHS[1:] if length * failing <= 1 and 2 * failing < 1]
    return np.array(_LENGTHS[:1] + tuple(longer), np.int64)


def held_by(bags: ShingleSets, streams: ShingleSets, settings: Settings, factors: UInt64s) -> Held:
    """Build the lists of pieces and of the documents that contain them.

    ``bags`` holds the sorted tokens of all documents, ``streams`` their tokens in order. ``factors`` are the
    factors by which tokens become runs (``kernels.text.keyed.Key``).
    """
    criterion = criterion_of(settings.search)
    cut = Cut(lengths_of(settings.search.threshold), factors)
    own, largest = _pieces(streams, cut, criterion, settings.work.threads)
    sizes = streams.sizes
    listed = _with_holders(streams, cut, own, largest >= sizes, settings.work.threads)
    order = np.argsort(sizes, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    by_size = np.argsort(number[listed.owner], kind="stable")
    listed = Listed(listed.entries[by_size], number[listed.owner[by_size]], listed.in_prefix[by_size])
    members, first, entry = lists_of(listed)
    begin, probes, list_of, place = entries_of(members, first, listed.in_prefix[entry], len(order))
    ends = bags.offsets[:-1][order], bags.offsets[1:][order]
    return Held(
        order,
        bags.hashes,
        *ends,
        sizes[order],
        largest[order],
        begin,
        probes,
        list_of,
        place,
        members,
        first,
        criterion,
    )


def _repeats(streams: ShingleSets, cut: Cut, threads: int) -> UInt16s:
    """How many other documents contain a run of tokens, by the low bits of its hash; at most 16 bytes a token."""
    bits = max(16, int(streams.offsets[-1]).bit_length() + 1)
    repeats, seen = np.zeros(1 << bits, np.uint16), np.zeros(1 << (bits - 2), np.uint64)

    def work(first: int) -> tuple[UInt64s, Int64s, Int64s]:
        found: tuple[UInt64s, Int64s, Int64s]
        found = run_sets(streams.hashes, streams.offsets[first : first + _SLICE + 1], *cut)
        return found

    for hashes, starts, sizes in ordered_map(work, range(0, len(streams.sizes), _SLICE), threads):
        count_repeats(hashes, starts, sizes, seen, repeats, 0, 1)
    return repeats


def _pieces(streams: ShingleSets, cut: Cut, criterion: Criterion, threads: int) -> tuple[Listed, Int64s]:
    """The pieces of all documents, in document order, and the largest possible size of a partner of each."""
    repeats = _repeats(streams, cut, threads)

    def work(first: int) -> tuple[UInt64s, Int32s, Int64s]:
        offsets = streams.offsets[first : first + _SLICE + 1]
        entries, owner, largest = choose_pieces(streams.hashes, offsets, *cut, repeats, criterion)
        return entries, owner + np.int32(first), largest

    done = list(ordered_map(work, range(0, len(streams.sizes), _SLICE), threads))
    entries, owner, largest = (np.concatenate([part[k] for part in done]) for k in range(3))
    return Listed(entries, owner, np.ones(len(entries), np.bool_)), largest


def _with_holders(streams: ShingleSets, cut: Cut, own: Listed, partners: Bools, threads: int) -> Listed:
    """The pieces, and every document listed under each of its runs that is a piece of another document.

    Documents without ``partners`` are listed under their own pieces only. One bit per hash marks the pieces. A bit
    set by chance makes a list without a piece, and no pair.
    """
    marked = np.zeros(1 << max(10, len(own.entries).bit_length() - 2), np.uint64)
    mark_entries(own.entries, marked)

    def work(first: int) -> Listed:
        offsets = streams.offsets[first : first + _SLICE + 1]
        low, high = np.searchsorted(own.owner, (first, first + _SLICE))
        pieces = own.entries[low:high], own.owner[low:high] - np.int32(first)
        hashes, starts, sizes = run_sets(streams.hashes, offsets, *cut)
        hashes, owner, inside = marked_shingles(hashes, starts, sizes, *pieces, marked)
        owner = owner + np.int32(first)
        stays = inside | partners[owner]
        return Listed(hashes[stays], owner[stays], inside[stays])

    done = list(ordered_map(work, range(0, len(streams.sizes), _SLICE), threads))
    return Listed(*(np.concatenate([part[k] for part in done]) for k in range(3)))
