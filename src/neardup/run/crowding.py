"""How many documents of a sample resemble each other, and what these cost a run besides reading them.

Documents of one template meet in most lists and bands, also those whose pairs do not reach the threshold, and
every stage after the first pass looks at them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neardup.io.fingerprints.chunk import ReadChunk
from neardup.join.common_crowds import CROWD
from neardup.join.corpus import Corpus, CorpusChunk
from neardup.join.criterion import criterion_of, every_pair, whole
from neardup.kernels import sets as kernels
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.measures import MEASURES
from neardup.settings import GroupSettings, SearchSettings, ratio
from neardup.sketch.documents import ShingleSets
from neardup.tables import Bools, Int64s, UInt64s

MOST_SAMPLED, FEWEST_SAMPLED = 1000, 100
"""Documents whose pairs are all compared: fewer if they are long."""

STEPS = 60_000_000
"""Shingles looked at in all comparisons of the sample, about: a fifth of a second."""

ALIKE = 2
"""Documents resemble each other from the threshold divided by this: two letters of one template have .47 at .7."""

SEEN = 3
"""A document is in a crowd only if it resembles this many of the sample: fewer may be a small family."""

A_SHINGLE = 1.6e-6
"""Processor seconds for each shingle of a document in a crowd, besides those that any document takes.

This and the next two are from benchmarks/crowds.py: letters of 12,000, 24,000, 60,000 and 300,000 documents take
3.7, 7.2, 9.7 and 58 s more than as many unrelated texts, with 30 to 60 pairs listed for each document; 24,000 that
differ in one word 2 s, 24,000 menus of 320 shingles 13 s, with a pair or none for each.
"""

A_MET_PAIR = 5e-6
"""Processor seconds for each listed pair (12,000 letters: .25 million more, for --pairs all, take 1.3 s)."""

LISTED = 150
"""Most pairs counted for each document of a crowd unless all are asked for.

Letters of 12,000, 24,000 and 60,000 documents: .46, 1.11 and 1.54 million are counted, .36, 1.45 and 1.42 listed.
"""

PAIR_MEMORY = 250
"""Bytes in memory for each counted pair without a limit: .94, .95 and 1.11 of the memory these letters take."""


@dataclass(frozen=True)
class Crowding:
    """About how many ``documents`` are in crowds, their ``shingles``, and the ``pairs`` listed for them."""

    documents: int = 0
    shingles: int = 0
    pairs: int = 0

    @property
    def seconds(self) -> float:
        """Processor time besides that of as many documents that have nothing in common."""
        return A_SHINGLE * self.shingles + A_MET_PAIR * self.pairs

    @property
    def memory(self) -> int:
        """Bytes of the pairs in a run without a limit."""
        return PAIR_MEMORY * self.pairs


NO_CROWDS = Crowding()


def crowding(corpus: Corpus, read: Sequence[ReadChunk], documents: int, grouping: GroupSettings) -> Crowding:
    """Estimate the crowds among this many different ``documents``, of which some chunks have been ``read``.

    The texts of the sample are read once more. Nothing is known of a search by SimHash.
    """
    if corpus.settings.by_simhash or documents <= CROWD or not read:
        return NO_CROWDS
    firsts = np.cumsum([0, *(len(one) for one in read)])
    read = read[: int(np.searchsorted(firsts[1:], MOST_SAMPLED)) + 1]  # the fewest chunks, as they are read again
    pieces = tuple(
        CorpusChunk(one.facts.part, one.facts.index, one.facts.source, int(first), one.row_numbers)
        for one, first in zip(read, firsts, strict=False)
    )
    units = np.concatenate([one.units for one in read])
    rows = _sampled(np.concatenate([one.keys for one in read]), units)
    if len(rows) < 2:
        return NO_CROWDS
    room = np.empty(int(units[rows].sum()), np.uint64)
    sets = replace(corpus, pieces=pieces).shingle_sets(rows, room)
    return crowding_of(sets, documents, corpus.settings.search, grouping)


def _sampled(keys: UInt64s, units: Int64s) -> Int64s:
    """Rows of different documents that are not empty, evenly spaced and ascending."""
    rows = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    rows = rows[units[rows] > 0]
    mean = units[rows].mean() if len(rows) else 1
    most = int(np.clip(np.sqrt(STEPS / mean), FEWEST_SAMPLED, MOST_SAMPLED))
    spaced: Int64s = rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]
    return spaced


def crowding_of(sets: ShingleSets, documents: int, search: SearchSettings, grouping: GroupSettings) -> Crowding:
    """Estimate the crowds among this many ``documents`` from the ``sets`` of a sample of them."""
    sampled = len(sets.sizes)
    a, b = np.triu_indices(sampled, 1)
    shared = np.empty(len(a), np.int64)
    verify_pairs(sets.hashes, sets.offsets, a, b, every_pair(RESEMBLANCE), shared)
    numerator, denominator = ratio(search.threshold)
    alike = _meeting(sets.sizes, a, b, shared, Criterion(numerator, ALIKE * denominator, RESEMBLANCE))
    asked = criterion_of(search)
    formula = asked.measure if MEASURES[search.measure].of_shingles else RESEMBLANCE
    met = _meeting(sets.sizes, a, b, shared, asked._replace(measure=formula))
    resembled = _ends(a[alike], b[alike], sampled)
    crowded = (resembled >= SEEN) & (resembled * documents > CROWD * sampled)
    partners = _ends(a[met], b[met], sampled)[crowded] * documents / sampled
    listed = partners / 2
    if grouping.pairs != "all":
        listed = np.where(partners > CROWD, 1, np.minimum(listed, LISTED))
    scale = documents / sampled
    return Crowding(
        documents=round(scale * int(crowded.sum())),
        shingles=round(scale * int(sets.sizes[crowded].sum())),
        pairs=round(scale * float(listed.sum())),
    )


def _meeting(sizes: Int64s, a: Int64s, b: Int64s, shared: Int64s, criterion: Criterion) -> Bools:
    """bool[n]: which pairs with ``shared`` shingles meet the criterion, seen from the smaller set."""
    smaller, larger = np.minimum(sizes[a], sizes[b]), np.maximum(sizes[a], sizes[b])
    parts = kernels.part(shared, criterion.measure) * criterion.denominator
    enough: Bools = parts >= criterion.numerator * whole(shared, smaller, larger, criterion.measure)
    return enough & (shared > 0)


def _ends(a: Int64s, b: Int64s, sampled: int) -> Int64s:
    """int64[sampled]: how many of the pairs have each document."""
    return np.bincount(a, minlength=sampled) + np.bincount(b, minlength=sampled)
