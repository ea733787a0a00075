"""The memory, disk space and time that a run will take, from a sample of its input.

The memory is a sum of parts: ``benchmarks/predictions.py`` compares it with runs of many shapes, in which the
constants were measured; docs/explanation/memory.md lists them by stage. Each stage frees its arrays, so the
parts of the stage that needs most count. Documents of one template meet in most lists and bands, also those whose
pairs do not reach the threshold, and every stage after the first pass looks at them again: their number is
estimated, too.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from neardup import display
from neardup.deduplication.group.leaders import GroupRules, group
from neardup.deduplication.join.common_crowds import CROWD
from neardup.deduplication.join.corpus import Corpus, CorpusChunk
from neardup.deduplication.join.criterion import criterion_of, every_pair, whole
from neardup.deduplication.join.first_pass import HASH_BYTES, read_chunks
from neardup.deduplication.join.method import Choice, choose, join_room, surely_exact
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.shingle_store import held_shingles
from neardup.deduplication.run.asked_columns import parts_of, require_reference
from neardup.io.fingerprints import ReadChunk
from neardup.io.inputs import Chosen, Documents, Reference
from neardup.io.outputs import waiting_bytes, writer_threads
from neardup.kernels import sets as kernels
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import worker_count
from neardup.settings import (
    CHUNK,
    MEASURES,
    PROCESS,
    GroupSettings,
    SearchSettings,
    Settings,
    Shingles,
    Work,
    ratio,
)
from neardup.tables import Bools, Int64s, UInt64s, verified_table
from neardup.text.lsh.bands import nearest_plan
from neardup.text.sketch import ShingleSets

A_DOCUMENT = 199
"""Bytes that are held for every document at the moment that needs most, after the search."""

_IN_THE_SEARCH = 135
"""Bytes that are held for every document until the pairs are known, besides sketches and shingles."""

_CHUNK_TIMES = 4.4
"""A small input has chunks of less than 8 MB: this many times its bytes."""

_REPEATS = 1.5
"""Bytes for each shingle while an exact join counts them."""

_AN_ENTRY = 43
"""Bytes for each entry of a prefix while its lists are made; a prefix has (1 − threshold) of the shingles."""

_WITH_PARTNERS = {"word": 0.3, "char": 1.0}
"""The share of the shingles of a ``unit`` in documents with a possible partner; the others have no entries."""

_CANDIDATES, _FILED = 0.25, 0.3
"""The share of the shingles that are in documents of proposed pairs: held at a time, and in working files."""

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
"""Most pairs counted for each document of a crowd unless all are asked for (--pairs all).

Letters of 12,500, 25,000, 50,000 and 300,000 documents: .44, 1.1, 1.4 and 2.5 million are counted, .40, 1.5, .72
and 4.4 listed.
The sample cannot tell groups of a little more than CROWD members from those of a little less.
"""

PAIR_MEMORY = 250
"""Bytes in memory for each counted pair without a limit: .94, .95 and 1.11 of the memory these letters take."""

CHUNKS = 3
"""Chunks of the sample, of about 8 MB each."""

ENTRY_BYTES = 16
"""Bytes in a working file for each entry of a prefix; a prefix has (1 − threshold) of the shingles, and one."""

A_PAIR = 140
"""Bytes of working files for each pair, whose number only the search knows (measured: 5.1 million took 722 MB)."""

WHOLE, START = 3.5, 0.8
"""A run takes this many times as long as its first pass, and the seconds of its start and its end."""


@dataclass(frozen=True)
class Amounts:
    """About how many ``documents`` there are, their ``bytes`` of text, and the ``shingles`` of different ones.

    ``waiting`` are the bytes of kept rows that wait to be written.
    """

    documents: int
    bytes: int
    shingles: int
    waiting: int = 0


def process_bytes(amounts: Amounts, work: Work) -> int:
    """Bytes that do not depend on the number of documents: the process, and its chunks in flight."""
    chunks = CHUNK * (worker_count(work.threads) + 2)
    return PROCESS + min(chunks, round(_CHUNK_TIMES * amounts.bytes))


def memory_bytes(amounts: Amounts, settings: Settings, choice: Choice | None) -> int:
    """The largest number of bytes at a time; ``choice`` is None for a search by SimHash."""
    documents = amounts.documents
    searching = _IN_THE_SEARCH * documents
    if choice is None:
        searching += settings.simhash.bits // 8 * documents + _of_candidates(amounts, settings.search)
    elif choice.method == "exact":
        searching += _of_join(amounts, settings.search, settings.shingles)
    else:
        signatures = 0 if settings.search.limit is not None else 4 * settings.sketch.slots * documents
        searching += max(signatures, _of_candidates(amounts, settings.search))
    process = process_bytes(amounts, settings.work)
    return process + max(A_DOCUMENT * documents + amounts.waiting, searching)


def _waiting_rows(documents: Any, text: int, settings: Settings) -> int:
    """Bytes of the row groups that wait to be written, of Parquet with this many bytes of ``text``."""
    footers = getattr(documents, "metadata", None) or ()
    footer = next((one for one in footers if one is not None), None)
    if documents.format != "parquet" or footer is None:
        return 0
    largest = max((footer.row_group(k).total_byte_size for k in range(footer.num_row_groups)), default=0)
    return waiting_bytes(min(text, largest), writer_threads(settings.work.threads, settings.search.room))


def _of_join(amounts: Amounts, search: SearchSettings, shingles: Shingles) -> int:
    """Bytes of the sets of an exact join, of the counts, and of the lists; a join in parts keeps to its room."""
    entries = _WITH_PARTNERS[shingles.unit] * ((1 - search.threshold) * amounts.shingles + amounts.documents)
    whole = round((HASH_BYTES + _REPEATS) * amounts.shingles + _AN_ENTRY * entries)
    return min(whole, join_room(search)) if surely_exact(search) else whole


def _of_candidates(amounts: Amounts, search: SearchSettings) -> int:
    """Bytes of the shingle sets of proposed pairs."""
    return HASH_BYTES * min(held_shingles(search), round(_CANDIDATES * amounts.shingles))


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


def estimate_crowds(
    corpus: Corpus, read: Sequence[ReadChunk], documents: int, grouping: GroupSettings
) -> Crowding:
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
    rows = _sample_rows(np.concatenate([one.keys for one in read]), units)
    if len(rows) < 2:
        return NO_CROWDS
    room = np.empty(int(units[rows].sum()), np.uint64)
    sets = replace(corpus, pieces=pieces).shingle_sets(rows, room)
    return crowding_of(sets, documents, corpus.settings.search, grouping)


def _sample_rows(keys: UInt64s, units: Int64s) -> Int64s:
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
    alike = _meets_criterion(sets.sizes, a, b, shared, Criterion(numerator, ALIKE * denominator, RESEMBLANCE))
    criterion = criterion_of(search)
    formula = criterion.measure if MEASURES[search.measure].of_shingles else RESEMBLANCE
    met = _meets_criterion(sets.sizes, a, b, shared, criterion._replace(measure=formula))
    resembled = _ends(a[alike], b[alike], sampled)
    crowded = (resembled >= SEEN) & (resembled * documents > CROWD * sampled)
    scale = documents / sampled
    a, b = a[met], b[met]
    listed = scale * _ends(a, b, sampled) / 2
    if grouping.pairs != "all":
        pairs = Pairs.of(verified_table(a, b, shared[met], sets.sizes[a], sets.sizes[b]))
        rules = GroupRules(criterion._replace(measure=formula), formula, grouping, threads=0)
        leader = group(pairs, None, np.arange(sampled), 0, rules).leader
        members = np.bincount(leader, minlength=sampled)[leader]
        of_crowd = (members > 1) & (scale * members > CROWD)
        outside = ~(of_crowd[a] | of_crowd[b])  # the pairs of a crowd are listed with its leader alone
        partners = scale * _ends(a[outside], b[outside], sampled)
        listed = np.where(of_crowd | (partners > CROWD), 1, np.minimum(partners / 2, LISTED))
    return Crowding(
        documents=round(scale * int(crowded.sum())),
        shingles=round(scale * int(sets.sizes[crowded].sum())),
        pairs=round(scale * float(listed[crowded].sum())),
    )


def _meets_criterion(sizes: Int64s, a: Int64s, b: Int64s, shared: Int64s, criterion: Criterion) -> Bools:
    """bool[n]: which pairs with ``shared`` shingles meet the criterion, seen from the smaller set."""
    smaller, larger = np.minimum(sizes[a], sizes[b]), np.maximum(sizes[a], sizes[b])
    parts = kernels.part(shared, criterion.measure) * criterion.denominator
    enough: Bools = parts >= criterion.numerator * whole(shared, smaller, larger, criterion.measure)
    return enough & (shared > 0)


def _ends(a: Int64s, b: Int64s, sampled: int) -> Int64s:
    """int64[sampled]: how many of the pairs have each document."""
    return np.bincount(a, minlength=sampled) + np.bincount(b, minlength=sampled)


@dataclass(frozen=True)
class RunCost:
    """About how many ``documents`` there are, and the bytes and seconds that the run takes.

    ``disk`` is the space for working files, besides ``a_pair`` bytes for each pair; ``limit`` that of the
    settings, None without one. ``process`` is the part of ``memory`` that does not depend on the number of
    documents. ``crowds`` are the documents that resemble many others.
    """

    documents: int
    memory: int
    disk: int
    seconds: float
    limit: int | None
    process: int = PROCESS
    a_pair: int = 0
    crowds: Crowding = NO_CROWDS

    @property
    def in_words(self) -> str:
        """The prediction in one line."""
        other = "other " if self.crowds.pairs else ""
        pairs = f" and {self.a_pair} bytes for each {other}pair" if self.a_pair else ""
        working = f", {display.size(self.disk)} of working files{pairs}" if self.disk or self.a_pair else ""
        crowded = self.crowds.documents
        alike = f" (about {display.number(crowded)} documents resemble each other)" if crowded else ""
        return (
            f"about {display.number(self.documents)} documents, {display.size(self.memory)} of memory{working}, "
            f"{display.duration(self.seconds)}{alike}"
        )

    @property
    def least(self) -> int:
        """The smallest limit that can be kept: the process, and the part held for every document."""
        return self.process + A_DOCUMENT * self.documents

    @property
    def warning(self) -> str | None:
        """A sentence if the limit is below the bytes that are held for every document."""
        if self.limit is None or self.memory <= self.limit:
            return None
        limit, memory, process = (display.size(bytes) for bytes in (self.limit, self.memory, self.process))
        return (
            f"--memory {limit} will not hold: {display.number(self.documents)} documents take about {memory}, "
            f"{A_DOCUMENT} bytes each besides the {process} of the process"
        )


def predict(
    documents: Documents, columns: Chosen, settings: Settings, against: Reference | None, *, resume: bool = False
) -> RunCost:
    """Fingerprint the first chunks, and predict the rest. ``resume``: the run keeps its finished parts on disk."""
    require_reference(settings.keep, settings.relations, against)
    search = settings.search
    bands = None if settings.by_simhash else nearest_plan(search.threshold, search.recall, settings.sketch.slots)
    slots = 0 if bands is None or surely_exact(search) else settings.sketch.slots
    rows = text = units = 0
    sample: list[ReadChunk] = []
    begin = first = time.perf_counter()
    later = 0
    parts = parts_of(documents, columns, settings.keep, settings.relations, against)
    corpus = Corpus.of(parts, settings, empty_alike=settings.keep.empty == "one")
    for number, read in enumerate(islice(read_chunks(corpus, slots), CHUNKS)):
        rows, text, units = rows + len(read), text + read.bytes_read, units + int(read.units.sum())
        sample.append(read.without("signature"))
        if number == 0:  # kernels were loaded meanwhile
            first = time.perf_counter()
        else:
            later += read.bytes_read
    spent = time.perf_counter() - (first if later else begin)
    inputs = [documents, *([] if against is None else [against.documents])]
    total = max(rows, sum(_rows(one, rows, text) for one in inputs))
    scale = total / rows if rows else 0.0
    sketch = 4 * slots or 8 * (settings.simhash.bits // 64) * settings.by_simhash
    banded = 8 * len(bands.bands) if bands is not None and slots else sketch
    limit = search.limit
    different = _different([read.keys for read in sample])
    shingles = round(units * scale * different)
    crowds = estimate_crowds(corpus, sample, round(different * total), settings.grouping)
    written = round(text * scale)
    amounts = Amounts(total, written, shingles, _waiting_rows(documents, written, settings))
    choice = None if bands is None else choose(search, shingles, settings.shingles.unit)
    bands_filed = 0 if limit is None else banded * total  # removed before the sets of candidates are read
    disk = max(bands_filed, _filed_sets(search, shingles, round(different * total)))
    disk += resume * ((sketch if limit is None else banded) + 48) * total
    disk += 0 if limit is None else A_PAIR * crowds.pairs
    return RunCost(
        documents=total,
        memory=memory_bytes(amounts, settings, choice) + (crowds.memory if limit is None else 0),
        disk=disk,
        seconds=START + WHOLE * spent * text * scale / (later or text or 1) + crowds.seconds,
        limit=limit,
        process=process_bytes(amounts, settings.work),
        a_pair=0 if limit is None else A_PAIR,
        crowds=crowds,
    )


def _different(keys: list[Any]) -> float:
    """The share of the documents that are not exact copies of earlier ones, by the keys of a sample."""
    hashes = np.concatenate([np.empty((0, 2), np.uint64), *keys])
    return len(np.unique(hashes, axis=0)) / len(hashes) if len(hashes) else 1.0


def _filed_sets(search: SearchSettings, shingles: int, documents: int) -> int:
    """Bytes of the sets that the memory does not hold: those of candidates, or all with the prefixes of a join."""
    if not surely_exact(search):
        candidates = round(_FILED * shingles)
        return 0 if search.limit is None or candidates <= held_shingles(search) else HASH_BYTES * candidates
    if HASH_BYTES * shingles <= join_room(search):
        return 0
    return HASH_BYTES * shingles + round(ENTRY_BYTES * ((1 - search.threshold) * shingles + documents))


def _rows(documents: Any, rows: int, text: int) -> int:
    """About how many rows an input has: from its footers, its number of files, or its size."""
    inputs = getattr(documents, "inputs", ())
    if inputs:
        return sum(_rows(one, rows, text) for one in inputs)
    metadata = getattr(documents, "metadata", None)
    if documents.format == "parquet" and metadata is not None:
        return sum(footer.num_rows for footer in metadata if footer is not None)
    if documents.format == "text":
        return len(documents.sources)
    return round((documents.size_bytes or text) * rows / text) if text else rows
