"""Candidate pairs → those with enough common text, counted on the tokens: chunks, or tokens in the same order.

Pairs are counted as they are proposed, and only the pairs that meet the criterion are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.join.common_crowds import apart, crowds_of
from neardup.join.shingle_store import ShingleStore
from neardup.join.verify import blocks
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.match.chunks import WorkLimits, common_text
from neardup.kernels.match.information import IN_ORDER, INFORMATION, LITERAL, Counting
from neardup.kernels.match.limits import MOST_RUNS, MOST_STEPS
from neardup.kernels.sets import Criterion
from neardup.measures import MEASURES
from neardup.runtime import Advance, ordered_map
from neardup.settings import SearchSettings, Shingles
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, column, verified_table
from neardup.text.keys import salt

_SLICE = 256
"""Documents whose partners one task looks for (with 8 bytes for every document of the corpus)."""

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
        found = store.get(np.unique(ends))
        at = found.index(ends)

        def work(first: int, ends: Int64s = ends, at: Int64s = at, streams: ShingleSets = found.sets) -> _Part:
            part = slice(first, first + _PAIRS)
            return _counted(ends[part], at[part], streams, counting, criterion)

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

    def count(self, ends: Int64s) -> _Part:
        """Count the common text of pairs (int64[n, 2], a < b)."""
        return _counted(ends, ends, self.sets, self.counting, self.criterion)

    def count_many(self, ends: Int64s) -> list[_Part]:
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
        return _total(_met(index, meets, streams, reference, advance))
    with_leaders: list[_Part] = []

    def count(ends: Int64s) -> Int64s:
        parts = streams.count_many(ends)
        with_leaders.extend(part._replace(rows=part.rows[:0]) for part in parts)
        return np.concatenate([np.empty((0, 5), np.int64), *(part.rows for part in parts)])

    crowds = crowds_of(index, rank, streams.criterion.measure, count)
    while crowds is not None and crowds.members.any():
        parts = _met(apart(index, crowds.members), meets, streams, reference, advance)
        outside = np.concatenate([part.rows[:, :2] for part in parts])
        certain = crowds.without_doubtful(outside, rank)
        if (certain.members == crowds.members).all():
            return _total([*parts, *with_leaders, _Part(crowds.inside, 0, 0)])
        crowds = certain
    return _total(_met(index, meets, streams, reference, advance))


def _met(index: PrefixIndex, meets: Meets, streams: Streams, reference: int, advance: Advance) -> list[_Part]:
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


def _counted(ends: Int64s, at: Int64s, streams: ShingleSets, counting: Counting, criterion: Criterion) -> _Part:
    """Count the pairs ``ends`` (int64[n, 2] document numbers); ``at`` (int64[n, 2]) are their token streams."""
    limits = WorkLimits(MOST_RUNS, MOST_STEPS, salt())
    counts = common_text(streams.hashes, streams.offsets, streams.ranks, at, counting, criterion, limits)
    enough = counts[:, 0] >= 0
    rows = np.column_stack((ends[enough], counts[enough, :3]))
    return _Part(rows, len(ends), int(counts[:, 3].sum()))


def _total(parts: Sequence[_Part]) -> CommonText:
    rows = np.concatenate([np.empty((0, 5), np.int64), *(part.rows for part in parts)])
    return CommonText(
        verified_table(*rows.T), sum(part.candidates for part in parts), sum(part.capped for part in parts)
    )
