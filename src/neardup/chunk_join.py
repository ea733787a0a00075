"""Documents → every pair with enough common text, in chunks of at least as many tokens as a shingle has.

Candidates come from lists of shingles (``kernels/coverage.py``): two documents at or above the threshold share
shingles that cover enough of both, and meet in the list of one that is not too frequent. No pair is lost. The
chunks of each candidate are then counted on the tokens. Pairs are counted as they are proposed; only true ones
are held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.corpus import Corpus, Fingerprints
from neardup.criterion import criterion_of
from neardup.fingerprints import ShingleSets
from neardup.hubs import Listed, entries_of, lists_of, repeats_of
from neardup.kernels.chunks import common_text
from neardup.kernels.coverage import (
    INFORMATION,
    LITERAL,
    Asked,
    Counting,
    Meeting,
    cover_prefixes,
    meeting_pairs,
)
from neardup.kernels.sets import Criterion
from neardup.matching import MOST_RUNS
from neardup.parallel import ordered_map
from neardup.progress import Advance, Progress
from neardup.settings import Settings
from neardup.shingle_store import ShingleStore
from neardup.tables import VERIFIED, Int32s, Int64s, UInt64s, column, verified_table
from neardup.verify import blocks

_SLICE = 256
"""Documents of which one task takes the prefixes, or looks for the partners (with 8 bytes for every document)."""

_ENOUGH = 1 << 16
"""Candidates that a task holds before it counts their chunks."""

_PAIRS = 256
"""Given pairs that one task counts."""


@dataclass(frozen=True)
class ChunkPairs:
    """The VERIFIED ``pairs``: common tokens, and tokens of each document. ``candidates`` were counted.

    ``capped`` of these hold text that repeats too often to try every way to match it: what is counted is what
    ``compare`` counts, and may be less than what the greedy choice of chunks has.
    """

    pairs: pa.Table
    candidates: int
    capped: int


def counting_of(settings: Settings) -> Counting:
    """How the settings want common text to be counted."""
    matching = INFORMATION if settings.search.matching == "information" else LITERAL
    return Counting(settings.shingles.length, matching)


def join_chunks(corpus: Corpus, prints: Fingerprints, reference: int, progress: Progress) -> ChunkPairs:
    """Every pair of the documents at or above the threshold, without those of two below ``reference``."""
    documents, settings = np.arange(len(prints.unique)), corpus.settings
    if not len(documents):
        return ChunkPairs(VERIFIED.empty_table(), 0, 0)
    with progress.stage("shingles", len(documents), "documents"):
        sets = ShingleStore(corpus, prints).get(documents).sets
        streams = ShingleStore(corpus, prints, "tokens").get(documents).sets
    with progress.stage("join", len(documents), "documents"):
        meeting = meeting_of(sets, streams, settings)
    with progress.stage("chunks", len(documents), "documents") as advance:
        return pairs_of(meeting, streams, reference, settings, advance)


def count_chunks(
    pairs: pa.Table, store: ShingleStore, criterion: Criterion, settings: Settings, advance: Advance
) -> ChunkPairs:
    """Those of the given ``pairs`` (columns a, b) that meet the ``criterion``; ``store`` is one of tokens.

    Documents are taken in blocks, as ``verify`` does. ``advance`` is called with the number of pairs done.
    """
    a, b = column(pairs, "a"), column(pairs, "b")
    parts = []
    for inside in blocks(a, b, store):
        ends = np.column_stack((a[inside], b[inside]))
        found = store.get(np.unique(ends))
        at, counting = found.index(ends), counting_of(settings)

        def work(first: int, ends: Int64s = ends, at: Int64s = at, streams: ShingleSets = found.sets) -> _Part:
            part = slice(first, first + _PAIRS)
            return _counted(ends[part], at[part], streams, counting, criterion)  # noqa: B023 the same in every block

        for part in ordered_map(work, range(0, len(ends), _PAIRS), settings.work.threads):
            advance(part.candidates)
            parts.append(part)
    return _total(parts)


def meeting_of(sets: ShingleSets, streams: ShingleSets, settings: Settings) -> Meeting:
    """The lists in which the pairs of all documents meet, from their shingle sets and their tokens."""
    starts, threads = sets.offsets[:-1], settings.work.threads
    repeats = repeats_of(sets.hashes, starts, sets.sizes, threads)
    criterion, counting = criterion_of(settings.search), counting_of(settings)

    def work(first: int) -> tuple[UInt64s, Int32s, Asked]:
        offsets = streams.offsets[first : first + _SLICE + 1]
        entries, owner, asked = cover_prefixes(streams.hashes, offsets, repeats, counting, criterion)
        return entries, owner + np.int32(first), asked

    done = list(ordered_map(work, range(0, len(starts), _SLICE), threads))
    entries, owner = (np.concatenate([part[k] for part in done]) for k in (0, 1))
    sizes, largest, least = (np.concatenate([part[2][k] for part in done]) for k in range(3))
    order = np.argsort(sizes, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    by_size = np.argsort(number[owner], kind="stable")
    listed = Listed(entries[by_size], number[owner[by_size]], np.ones(len(entries), np.bool_))
    members, first, in_prefix = lists_of(listed)
    begin, _, list_of, place = entries_of(members, first, in_prefix, len(order))
    ends = sets.offsets[1:]
    of_documents = (starts[order], ends[order], sizes[order], largest[order], least[order])
    return Meeting(order, sets.hashes, *of_documents, begin, list_of, place, members, first)


def pairs_of(
    meeting: Meeting, streams: ShingleSets, reference: int, settings: Settings, advance: Advance
) -> ChunkPairs:
    """The pairs of the documents of ``meeting`` that meet the criterion; ``advance`` counts documents."""
    documents, criterion, counting = len(meeting.documents), criterion_of(settings.search), counting_of(settings)

    def work(first: int) -> list[_Part]:
        seen, until, parts = np.full(documents, -1, np.int64), min(first + _SLICE, documents), []
        while first < until:
            met, first = meeting_pairs(meeting, (first, until), seen, reference, _ENOUGH)
            ends = np.sort(meeting.documents[met], axis=1)
            parts.append(_counted(ends, ends, streams, counting, criterion))
        return parts

    found = []
    for parts in ordered_map(work, range(0, documents, _SLICE), settings.work.threads):
        found += parts
        advance(min(_SLICE, documents))
    return _total(found)


class _Part(NamedTuple):
    """Some pairs that were counted."""

    rows: Int64s  # int64[·, 5] of those with enough: a, b, common, size of a, size of b
    candidates: int
    capped: int


def _counted(ends: Int64s, at: Int64s, streams: ShingleSets, counting: Counting, criterion: Criterion) -> _Part:
    """The pairs ``ends`` (int64[n, 2] document numbers), whose tokens are the streams ``at`` (int64[n, 2])."""
    counts = common_text(streams.hashes, streams.offsets, at, counting, criterion, MOST_RUNS)
    enough = counts[:, 0] >= 0
    rows = np.column_stack((ends[enough], counts[enough, :3]))
    return _Part(rows, len(ends), int(counts[:, 3].sum()))


def _total(parts: Sequence[_Part]) -> ChunkPairs:
    rows = np.concatenate([np.empty((0, 5), np.int64), *(part.rows for part in parts)])
    return ChunkPairs(
        verified_table(*rows.T), sum(part.candidates for part in parts), sum(part.capped for part in parts)
    )
