"""Documents → every pair with enough common text, in chunks of at least as many tokens as a shingle has.

Candidates come from lists of shingles (``kernels/join/cover_prefixes.py``). Two documents at or above the
threshold share shingles that cover enough of both, and meet in the list of a shingle that is not too frequent. No
pair is lost. The chunks of each candidate are then counted on the tokens (``common_text.py``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.join.common_text import CommonText, Streams, counting_of, pairs_of
from neardup.join.criterion import criterion_of
from neardup.join.prefix_join import Numbered, Prefixes, index_of
from neardup.join.related import EVERYONE, Related
from neardup.join.repeats import repeats_of
from neardup.join.rows import Rows
from neardup.kernels.join.cover_prefixes import Requirements, cover_prefixes, meeting_pairs
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.match.information import Counting
from neardup.kernels.sets import Criterion
from neardup.runtime import Progress, ordered_map
from neardup.sketch.documents import ShingleSets
from neardup.tables import VERIFIED, Int32s, Int64s, UInt64s, column, verified_table

_SLICE = 256
"""Documents whose prefixes one task chooses."""


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
        found = pairs_of(index, meeting_pairs, tokens, rows.first_new_document, rank, advance)
    short = equal_short_texts(sets, streams, settings.shingles.length, rows.related, rows.first_new_document)
    if not short.num_rows:
        return found
    together = pa.concat_tables([found.pairs, short])
    return replace(found, pairs=verified_table(*(column(together, name) for name in VERIFIED.names)))


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
    other = place + 1 + np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
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

    ``factors`` are the factors by which tokens become shingles (``kernels.text.keyed.Key``). Only pairs of
    ``related`` documents meet.
    """
    starts = sets.offsets[:-1]
    repeats = repeats_of(sets.hashes, starts, sets.sizes, threads)

    def work(first: int) -> tuple[UInt64s, Int32s, Requirements]:
        offsets = streams.offsets[first : first + _SLICE + 1]
        entries, owner, asked = cover_prefixes(streams.hashes, offsets, repeats, counting, criterion, factors)
        return entries, owner + np.int32(first), asked

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
