"""Documents → every pair with enough common text: chunks, or tokens in the same order.

*Chunks* have at least as many tokens as a shingle. Candidates come from lists of shingles
(``kernels/join/cover_prefixes.py``). Two documents at or above the threshold share shingles that cover enough of
both, and meet in the list of a shingle that is not too frequent. No pair is lost.

*In the same order*: a common subsequence is a common multiset of tokens. 2·LCS / (a + b) ≥ t only if the Dice
coefficient of the two multisets is at least t, that is, if their resemblance is at least t / (2 − t). So the exact
join on multisets of tokens (``prefix_join.py``) proposes every pair.

Pairs are counted on the tokens as they are proposed, and only the pairs that meet the criterion are kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.common_crowds import apart, crowds_of
from neardup.deduplication.join.criterion import EVERYONE, Related, criterion_of
from neardup.deduplication.join.prefix_join import (
    Numbered,
    Prefixes,
    candidates_of,
    index_of,
    join_documents,
    repeats_of,
)
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.shingle_store import ShingleStore
from neardup.deduplication.join.verification import blocks
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.join import PrefixIndex, Requirements, covering_prefixes, meeting_pairs
from neardup.kernels.match import (
    IN_ORDER,
    INFORMATION,
    LITERAL,
    MOST_RUNS,
    MOST_STEPS,
    Counting,
    WorkLimits,
    common_text,
)
from neardup.kernels.sets import Criterion
from neardup.runtime import Advance, Progress, ordered_map
from neardup.settings import MEASURES, SearchSettings, Shingles
from neardup.tables import VERIFIED, Int32s, Int64s, UInt64s, column, numbers_in, verified_table
from neardup.text.keys import salt
from neardup.text.sketch import ShingleSets

_SLICE = 256
"""Documents whose prefixes one task chooses, or whose partners it looks for (8 bytes for every document)."""

_ENOUGH = 1 << 16
"""Candidates that a task collects before it counts their common text."""

_PAIRS = 256
"""Given pairs that one task counts."""

Meets = Callable[[Any, tuple[int, int], Int64s, int, int], tuple[Int64s, int]]
"""A kernel that proposes pairs, such as ``kernels.join.cover_prefixes.meeting_pairs``."""


@dataclass(frozen=True)
class CommonText:
    """The VERIFIED ``pairs``: common tokens, and the tokens of each document. ``candidates`` pairs were counted.

    For ``capped`` of the candidates not every match was tried, because the documents are too long or their text
    repeats too often. The count is then the one ``compare`` reports, and may be too low.
    """

    pairs: pa.Table
    candidates: int
    capped: int


def counting_of(search: SearchSettings, shingles: Shingles) -> Counting:
    """How common text is counted under these settings."""
    if MEASURES[search.measure].counting == "order":
        return Counting(shingles.length, IN_ORDER)
    return Counting(shingles.length, INFORMATION if search.matching == "information" else LITERAL)


def count_common(
    pairs: pa.Table,
    store: ShingleStore,
    criterion: Criterion,
    counting: Counting,
    threads: int,
    advance: Advance,
) -> CommonText:
    """Return those of the given ``pairs`` (columns a, b) that meet the ``criterion``; ``store`` holds tokens.

    Documents are loaded in blocks, as in ``verify``. ``advance`` is called with the number of pairs done.
    """
    a, b = column(pairs, "a"), column(pairs, "b")
    parts = []
    for inside in blocks(a, b, store):
        ends = np.column_stack((a[inside], b[inside]))
        streams_of = store.get(np.unique(ends))
        places = streams_of.index(ends)

        def work(
            first: int, ends: Int64s = ends, places: Int64s = places, streams: ShingleSets = streams_of.sets
        ) -> _Part:
            part = slice(first, first + _PAIRS)
            return _count(ends[part], places[part], streams, counting, criterion)

        for part in ordered_map(work, range(0, len(ends), _PAIRS), threads):
            advance(part.candidates)
            parts.append(part)
    return _total(parts)


@dataclass(frozen=True, eq=False)
class Streams:
    """The tokens of every document, and how the common text of two is counted and judged."""

    sets: ShingleSets
    criterion: Criterion
    counting: Counting
    threads: int

    def count(self, ends: Int64s) -> "_Part":
        """Count the common text of pairs (int64[n, 2], a < b)."""
        return _count(ends, ends, self.sets, self.counting, self.criterion)

    def count_many(self, ends: Int64s) -> "list[_Part]":
        """Count the common text of pairs in all threads."""
        slices = range(0, len(ends), _PAIRS)
        return list(ordered_map(lambda first: self.count(ends[first : first + _PAIRS]), slices, self.threads))


def pairs_of(
    index: PrefixIndex,
    meets: Meets,
    streams: Streams,
    reference: int,
    rank: Int64s | None,
    advance: Advance,
) -> CommonText:
    """Return the pairs that ``meets`` proposes from an ``index`` and that meet the criterion.

    ``advance`` is called with the number of documents done. With ``rank`` (a permutation, 0 the best to keep) the
    pairs within a crowd are only those with leaders.
    """
    if rank is None or reference or len(index.across) or len(index.within):
        return _total(_meetings(index, meets, streams, reference, advance))
    with_leaders: list[_Part] = []

    def count(ends: Int64s) -> Int64s:
        parts = streams.count_many(ends)
        with_leaders.extend(part._replace(rows=part.rows[:0]) for part in parts)
        return np.concatenate([np.empty((0, 5), np.int64), *(part.rows for part in parts)])

    crowds = crowds_of(index, rank, streams.criterion.measure, count)
    while crowds is not None and crowds.members.any():
        parts = _meetings(apart(index, crowds.members), meets, streams, reference, advance)
        outside = np.concatenate([part.rows[:, :2] for part in parts])
        certain = crowds.without_doubtful(outside, rank)
        if (certain.members == crowds.members).all():
            return _total([*parts, *with_leaders, _Part(crowds.inside, 0, 0)])
        crowds = certain
    return _total(_meetings(index, meets, streams, reference, advance))


def _meetings(
    index: PrefixIndex, meets: Meets, streams: Streams, reference: int, advance: Advance
) -> "list[_Part]":
    documents, counted = len(index.documents), []

    def work(first: int) -> list[_Part]:
        seen, until, parts = np.full(documents, -1, np.int64), min(first + _SLICE, documents), []
        while first < until:
            pairs, first = meets(index, (first, until), seen, reference, _ENOUGH)
            parts.append(streams.count(np.sort(index.documents[pairs], axis=1)))
        return parts

    for parts in ordered_map(work, range(0, documents, _SLICE), streams.threads):
        counted += parts
        advance(min(_SLICE, documents))
    return counted


class _Part(NamedTuple):
    """A batch of counted pairs."""

    rows: Int64s  # int64[·, 5] of the pairs with enough: a, b, common, size of a, size of b
    candidates: int
    capped: int


def _count(ends: Int64s, places: Int64s, streams: ShingleSets, counting: Counting, criterion: Criterion) -> _Part:
    """Count the pairs ``ends`` (int64[n, 2] document numbers) of the token streams ``places`` (int64[n, 2])."""
    limits = WorkLimits(MOST_RUNS, MOST_STEPS, salt())
    pairs = np.ascontiguousarray(places)
    counts = common_text(streams.hashes, streams.offsets, streams.ranks, pairs, counting, criterion, limits)
    enough = counts[:, 0] >= 0
    rows = np.column_stack((ends[enough], counts[enough, :3]))
    return _Part(rows, len(ends), int(counts[:, 3].sum()))


def _total(parts: Sequence[_Part]) -> CommonText:
    rows = np.concatenate([np.empty((0, 5), np.int64), *(part.rows for part in parts)])
    return CommonText(
        verified_table(*rows.T), sum(part.candidates for part in parts), sum(part.capped for part in parts)
    )


def join_chunks(rows: Rows, progress: Progress, rank: Int64s | None = None) -> CommonText:
    """Find every pair of documents at or above the threshold, except pairs of two of the reference set.

    With ``rank``, the pairs within a crowd are only those with leaders (``common_crowds.py``).
    """
    documents, settings = np.arange(len(rows.unique)), rows.settings
    if not len(documents):
        return CommonText(VERIFIED.empty_table(), 0, 0)
    with progress.stage("shingles", len(documents), "documents"):
        sets = rows.sets("shingles" if rows.corpus.base is None else "runs").get(documents).sets
        streams = rows.sets("tokens").get(documents).sets
    with progress.stage("join", len(documents), "documents"):
        criterion, counting = criterion_of(settings.search), counting_of(settings.search, settings.shingles)
        factors, threads = rows.corpus.key.shingles, settings.work.threads
        index = chunk_index(sets, streams, criterion, counting, threads, factors, rows.related)
    with progress.stage("chunks", len(documents), "documents") as advance:
        tokens = Streams(streams, criterion, counting, threads)
        candidates = pairs_of(index, meeting_pairs, tokens, rows.first_new_document, rank, advance)
    short = equal_short_texts(sets, streams, settings.shingles.length, rows.related, rows.first_new_document)
    if not short.num_rows:
        return candidates
    together = pa.concat_tables([candidates.pairs, short])
    return replace(candidates, pairs=verified_table(*(column(together, name) for name in VERIFIED.names)))


def equal_short_texts(
    sets: ShingleSets, streams: ShingleSets, length: int, related: Related, reference: int
) -> pa.Table:
    """The VERIFIED table of equal texts with fewer tokens than a chunk, on different sides.

    Without sides there is none, because equal texts are exact copies.
    """
    if not len(related.across):
        return VERIFIED.empty_table()
    short = np.flatnonzero((streams.sizes < length) & (sets.sizes == 1))
    text = sets.hashes[sets.offsets[short]]  # the only shingle is the whole text
    order = np.argsort(text, kind="stable")
    short, text = short[order], text[order]
    last = np.searchsorted(text, text, "right")
    counts = last - np.arange(len(short)) - 1
    place = np.repeat(np.arange(len(short)), counts)
    other = numbers_in(np.arange(1, len(short) + 1), counts)
    a, b = short[place], short[other]
    wanted = related.may_pair(a, b) & (b >= reference)
    tokens = streams.sizes[a[wanted]]
    return verified_table(a[wanted], b[wanted], tokens, tokens, tokens)


def chunk_index(
    sets: ShingleSets,
    streams: ShingleSets,
    criterion: Criterion,
    counting: Counting,
    threads: int,
    factors: UInt64s,
    related: Related = EVERYONE,
) -> PrefixIndex:
    """Build the lists in which the pairs of all documents meet, from their shingle sets and their tokens.

    ``factors`` are the factors by which tokens become shingles (``kernels.text.hashing.Key``). Only pairs of
    ``related`` documents meet.
    """
    starts = sets.offsets[:-1]
    repeats = repeats_of(sets.hashes, starts, sets.sizes, threads)

    def work(first: int) -> tuple[UInt64s, Int32s, Requirements]:
        offsets = streams.offsets[first : first + _SLICE + 1]
        entries, owner, prefixes = covering_prefixes(
            streams.hashes, offsets, repeats, counting, criterion, factors
        )
        return entries, owner + np.int32(first), prefixes

    done = list(ordered_map(work, range(0, len(starts), _SLICE), threads))
    entries, owner = (np.concatenate([part[k] for part in done]) for k in (0, 1))
    entries = related.apart(entries, owner)
    sizes, largest, least = (np.concatenate([part[2][k] for part in done]) for k in range(3))
    order = np.argsort(sizes, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    by_size = np.argsort(number[owner], kind="stable")
    listed = Prefixes(entries[by_size], number[owner[by_size]], np.ones(len(entries), np.bool_))
    shingles = sets.hashes, starts[order], sets.offsets[1:][order]
    mine = related.of(order)
    sides = mine.across, None, mine.within
    numbered = Numbered(order, *shingles, sizes[order], largest[order], least[order], *sides)
    return index_of(numbered, listed, None, len(order), threads)


def join_in_order(rows: Rows, progress: Progress, rank: Int64s | None = None) -> CommonText:
    """Find every pair of documents at or above the threshold, except pairs of two of the reference set.

    With ``rank``, the pairs within a crowd are only those with leaders (``common_crowds.py``).
    """
    documents, settings = np.arange(len(rows.unique)), rows.settings
    if not len(documents):
        return CommonText(VERIFIED.empty_table(), 0, 0)
    with progress.stage("shingles", len(documents), "documents"):
        bags = rows.sets("bag")
        document_bags = bags.get(documents)  # the store keeps nothing alive by itself
        streams = rows.sets("tokens").get(documents).sets
    with progress.stage("join", len(documents), "documents"):
        wanted = criterion_of(settings.search)
        criterion = of_multisets(wanted)
        index = join_documents(
            documents, len(documents), bags, criterion, settings.work.threads, rows.related
        ).hubs
        del document_bags
    with progress.stage("lcs", len(documents), "documents") as advance:
        counting = counting_of(settings.search, settings.shingles)
        tokens = Streams(streams, wanted, counting, settings.work.threads)
        meets = partial(candidates_of, criterion)
        return pairs_of(index, meets, tokens, rows.first_new_document, rank, advance)


def of_multisets(wanted: Criterion) -> Criterion:
    """The criterion that the token multisets of a pair meet if the pair meets the ``wanted`` one of common text.

    >>> of_multisets(Criterion(4, 5, MEASURES["lcs"].formula))
    Criterion(numerator=4, denominator=6, measure=0)
    """
    numerator, denominator, _ = wanted
    return Criterion(numerator, 2 * denominator - numerator, RESEMBLANCE)
