"""The memory, disk space and time that a run will take, from a sample of its input.

The memory is a sum of parts: ``benchmarks/predictions.py`` compares it with runs of many shapes, in which the
constants were measured; docs/explanation/memory.md lists them by stage. Each stage frees its arrays, so the
parts of the stage that needs most count. The time is that of the stages, too: rates of the first pass and of
reading texts again are measured with the sample, in processor time, so that other work on the machine does not
count; the others are constants. An exact join of the sample shows how many entries and look-ups that of all has,
and its bands how many documents are proposed. Documents of one template meet in most lists and bands, also those
whose pairs do not reach the threshold, and every stage after the first pass looks at them again: their number is
estimated, too.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neardup import display
from neardup.deduplication.group.leaders import GroupRules, group
from neardup.deduplication.join.candidates import SignatureBands, band_candidates, near_candidates
from neardup.deduplication.join.common_crowds import CROWD
from neardup.deduplication.join.common_shingles import most_documents
from neardup.deduplication.join.corpus import Corpus, CorpusChunk
from neardup.deduplication.join.criterion import at_least, criterion_of, every_pair
from neardup.deduplication.join.first_pass import HASH_BYTES, KeptSets, expects_exact, read_chunks
from neardup.deduplication.join.method import (
    AGAIN_TIME,
    MOST_OF_A_LIST,
    Choice,
    choose,
    join_room,
    reconsider,
    surely_exact,
)
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.prefix_join import joined_sets, lookups
from neardup.deduplication.join.shingle_store import DocumentSets, held_shingles, most_held, sets_at
from neardup.deduplication.run.asked_columns import parts_of, require_reference
from neardup.io.fingerprints import ReadChunk
from neardup.io.inputs import CHUNK_BYTES, Chosen, Documents, Reference
from neardup.io.outputs import waiting_bytes, writer_threads
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import report_nothing, worker_count
from neardup.settings import (
    CHUNK,
    MEASURES,
    PROCESS,
    GroupSettings,
    SearchSettings,
    Settings,
    Work,
    ratio,
)
from neardup.tables import Bools, Int64s, column, verified_table
from neardup.text.lsh.bands import Plan, nearest_plan
from neardup.text.sketch import ShingleSets

A_DOCUMENT = 199
"""Bytes that are held for every document at the moment that needs most, after the search."""

_IN_THE_SEARCH = 135
"""Bytes that are held for every document until the pairs are known, besides sketches and shingles."""

_CHUNK_TIMES = 4.4
"""A small input has chunks of less than 8 MB: this many times its bytes."""

_REPEATS = 1.5
"""Bytes for each shingle while an exact join counts them."""

_AN_ENTRY = 90
"""Bytes for each entry of a list while the lists are made (measured: 82 to 99)."""

_PROPOSED = 0.3
"""The share of the documents in proposed pairs, if the sample is too small a part to show it."""

_FEW = 10
"""The share is that of the sample if this many documents of it are proposed, or if it has one in this many."""

_MORE = 0.3
"""A document that has this share of its prefix more in common than most others has a partner."""

_LISTED, _SIGNED = 6_000_000, 1 << 14
"""Shingles of the sample that are joined, and documents whose bands are searched."""

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

START = 0.7
"""Seconds of the start and the end of a run."""

_ALONE = {"row": 0.7e-6, "entry": 440e-9, "lookup": 80e-9}
"""Processor seconds in one thread: for each row, and for each entry and look-up of an exact join."""

_SHARED = {"lookup": 250e-9, "shingle": 10e-9, "sorted": 600e-9, "drawn": 1e-6}
"""Those that all threads share: for each look-up and shingle of an exact join, document that bands or fingerprints
sort, and shingle of the families that the estimate of recall draws."""

_TEXTS, _PARQUET, _A_FILE = 7e-9, 5e-9, 300e-6
"""Those for each byte of the texts of groups, for each byte of kept Parquet, and for each file of a folder."""

_SEARCHED = 1.5
"""Fingerprints are searched in a time that grows with this power of their number (measured: 1.46 and 1.52)."""

_DRAWN, _COMMON_PASSES = 1 << 19, 3
"""Most shingles of the families that are drawn, and passes over all sets to leave out the common shingles."""


@dataclass(frozen=True)
class Amounts:
    """About how many ``documents`` there are, their ``bytes`` of text, and the ``shingles`` of different ones.

    A set has each shingle once: the share ``distinct`` of them all, and ``remaining`` of those without the common
    ones. An exact join has ``entries`` in its lists and makes ``lookups``. The share ``proposed`` of the different
    documents is in proposed pairs, the share ``grouped`` of all in groups, and ``waiting`` are the bytes of rows
    that wait to be written.
    """

    documents: int
    bytes: int
    shingles: int
    waiting: int = 0
    distinct: float = 1.0
    remaining: float = 1.0
    entries: int = 0
    lookups: int = 0
    proposed: float = _PROPOSED
    grouped: float = _PROPOSED

    @property
    def in_sets(self) -> int:
        """Shingles in the sets of all documents."""
        return round(self.distinct * self.shingles)

    @property
    def of_candidates(self) -> int:
        """Shingles in the sets of proposed pairs."""
        return round(self.proposed * self.remaining * self.in_sets)


def process_bytes(amounts: Amounts, work: Work) -> int:
    """Bytes that do not depend on the number of documents: the process, and its chunks in flight."""
    chunks = CHUNK * (worker_count(work.threads) + 2)
    return PROCESS + min(chunks, round(_CHUNK_TIMES * amounts.bytes))


def memory_bytes(amounts: Amounts, settings: Settings, choice: Choice | None) -> int:
    """The largest number of bytes at a time; ``choice`` is None for a search by SimHash."""
    documents, search, common = amounts.documents, settings.search, settings.base.ignore_common > 0
    candidates = HASH_BYTES * min(held_shingles(search), amounts.of_candidates)
    searching = _IN_THE_SEARCH * documents + common * _of_common(amounts, settings)
    if choice is None:
        searching += settings.simhash.bits // 8 * documents + candidates
    elif choice.method == "exact":
        searching += _of_join(amounts, search)
    else:
        signatures = 0 if search.limit is not None and not common else 4 * settings.sketch.slots * documents
        searching += max(signatures, candidates)
    process = process_bytes(amounts, settings.work)
    return process + max(A_DOCUMENT * documents + amounts.waiting, searching)


def _of_common(amounts: Amounts, settings: Settings) -> int:
    """Bytes of the sets in which common shingles are counted: all if they may be held, else those in flight."""
    if amounts.shingles <= most_held(settings.search):
        return HASH_BYTES * amounts.in_sets
    in_flight = (process_bytes(amounts, settings.work) - PROCESS) / max(1, _CHUNK_TIMES * amounts.bytes)
    return round(HASH_BYTES * in_flight * amounts.in_sets)


def _waiting_rows(documents: Any, amounts: Amounts, settings: Settings) -> int:
    """Bytes of the row groups that wait to be written: of kept Parquet, or else of the texts of groups."""
    footers = getattr(documents, "metadata", None) or ()
    footer = next((one for one in footers if one is not None), None)
    if documents.format != "parquet" or footer is None:
        return waiting_bytes(round(amounts.grouped * amounts.bytes), 1)
    largest = max((footer.row_group(k).total_byte_size for k in range(footer.num_row_groups)), default=0)
    return waiting_bytes(min(amounts.bytes, largest), writer_threads(settings.work.threads, settings.search.room))


def _of_join(amounts: Amounts, search: SearchSettings) -> int:
    """Bytes of the sets of an exact join, of the counts, and of the lists; a join in parts keeps to its room."""
    whole = HASH_BYTES * amounts.in_sets + max(round(_REPEATS * amounts.in_sets), _AN_ENTRY * amounts.entries)
    return min(whole, join_room(search)) if surely_exact(search) else whole


def seconds(
    amounts: Amounts, settings: Settings, choice: Choice | None, form: str, first: float, read: float
) -> float:
    """The seconds of a run of documents of the format ``form`` on a machine that does nothing else.

    ``first`` and ``read`` are the processor seconds of the first pass, and of reading the texts again.
    """
    search, in_thread = settings.search, _ALONE["row"] * amounts.documents
    sets = 1e-9 * AGAIN_TIME[settings.shingles.unit] * amounts.shingles
    in_thread += _TEXTS * amounts.grouped * amounts.bytes + _A_FILE * amounts.documents * (form == "text")
    work = first + 2 * read + _PARQUET * amounts.bytes * (form == "parquet")
    if settings.base.ignore_common > 0:
        work += _COMMON_PASSES * (read + sets)
    if choice is not None and choice.method == "exact":
        in_thread += _ALONE["entry"] * amounts.entries + _ALONE["lookup"] * amounts.lookups
        work += _SHARED["shingle"] * amounts.in_sets + _SHARED["lookup"] * amounts.lookups
        work += (read + sets) * (search.limit is not None and not surely_exact(search))
    else:
        work += _SHARED["sorted"] * amounts.documents + read + amounts.proposed * amounts.remaining * sets
        work += _SHARED["drawn"] * min(_DRAWN, amounts.of_candidates) * (choice is not None)
    return START + in_thread + work / worker_count(settings.work.threads)


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


def _read_sample(corpus: Corpus, slots: int, expected: bool) -> tuple[list[ReadChunk], list[Any], float]:
    """The first chunks of a corpus, sketches of different documents in each, and processor seconds.

    They are read as by a run with these ``slots``, or one in which an exact join is ``expected``.
    """
    for _ in read_chunks(corpus, slots, KeptSets(corpus, expected), most=1):
        pass  # loads the kernels, which takes as long as several chunks
    begin, sample, sketches, name = time.process_time(), [], [], "signature" if slots else "simhash"
    for read in read_chunks(corpus, slots, KeptSets(corpus, expected), most=CHUNKS):
        if name in read:
            sketches.append(read.numbers(name)[_some_rows(_different_rows([read]), _SIGNED)])
        sample.append(read.without("signature").without("sets"))
    return sample, sketches, time.process_time() - begin


def _sample_sets(corpus: Corpus, sample: Sequence[ReadChunk], joined: bool) -> tuple[ShingleSets, float, float]:
    """The sets of different documents, the share of their shingles that is in them, and seconds for each row.

    The texts of the fewest chunks that have enough documents are read once more; the seconds are those of reading
    alone, in processor time.
    """
    begin, firsts = time.process_time(), np.cumsum([0, *map(len, sample)])
    read = sample[: int(np.searchsorted(firsts[1:], MOST_SAMPLED)) + 1]
    pieces = tuple(
        CorpusChunk(one.facts.part, one.facts.index, one.facts.source, int(first), one.row_numbers)
        for one, first in zip(read, firsts, strict=False)
    )
    units, rows = np.concatenate([one.units for one in read]), _different_rows(read)
    rows = _some_rows(
        rows, round(_LISTED * len(rows) / max(1, int(units[rows].sum()))) if joined else MOST_SAMPLED
    )
    room = np.empty(int(units[rows].sum()), np.uint64)
    sets = replace(corpus, pieces=pieces).shingle_sets(rows, room)
    spent = time.process_time() - begin
    reading = max(spent - 1e-9 * AGAIN_TIME[corpus.settings.shingles.unit] * len(room), spent / 4)
    return sets, len(sets.hashes) / max(1, len(room)), reading / max(1, len(units))


def _different_rows(read: Sequence[ReadChunk]) -> Int64s:
    """Rows of different documents that are not empty, ascending."""
    if not read:
        return np.empty(0, np.int64)
    rows = np.sort(np.unique(np.concatenate([one.keys for one in read]), axis=0, return_index=True)[1])
    different: Int64s = rows[np.concatenate([one.units for one in read])[rows] > 0]
    return different


def _some_rows(rows: Int64s, most: int) -> Int64s:
    """At most this many of the rows, but FEWEST_SAMPLED in any case, evenly spaced."""
    count = min(len(rows), max(most, FEWEST_SAMPLED))
    evenly: Int64s = rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]
    return evenly


def _share_left(sets: ShingleSets, ignore_common: float) -> float:
    """The share of the shingles in the ``sets`` that is not in more than this share of the documents."""
    if not ignore_common or not len(sets.hashes):
        return 1.0
    counts = np.unique(sets.hashes, return_counts=True)[1]
    common = counts > most_documents(ignore_common, len(sets.sizes))
    return float(1 - counts[common].sum() / len(sets.hashes))


def join_of_all(sets: ShingleSets, documents: int, search: SearchSettings, threads: int) -> dict[str, Any]:
    """The entries and look-ups of an exact join of this many ``documents``, and the share of them in pairs.

    The sample is joined, its first half, and it without those documents that have many more entries in common than
    most: they have a partner. The others have some by chance, and more with each further document.
    """

    def join(places: Int64s) -> tuple[float, Bools, int]:
        some, every = _some(sets, places), np.arange(len(places))
        hubs = joined_sets(every, len(every), DocumentSets(every, some), criterion_of(search), threads).hubs
        listed = np.bincount(hubs.documents[hubs.members], minlength=len(every))
        shares = np.minimum(1, listed / (1 + (1 - search.threshold) * some.sizes))
        return float(shares.mean()), shares > np.median(shares) + _MORE, lookups(hubs, MOST_OF_A_LIST)

    every, scale = np.arange(len(sets.sizes)), documents / len(sets.sizes)
    near, near_in_half = join(every)[1], join(every[: -(-len(every) // 2)])[1]
    chance, _, looked_up = join(every[~near])
    share = share_of_all(near, near_in_half, scale)
    prefixes = scale * ((1 - search.threshold) * len(sets.hashes) + len(every))
    paired = share * prefixes
    entries = paired + (1 - share) * (1 - (1 - chance) ** scale) * prefixes
    return {"entries": round(entries), "lookups": round(paired + looked_up * scale**2), "proposed": share}


def share_of_all(near: Bools, half: Bools, scale: float) -> float:
    """The share of all documents that are ``near`` others, of ``scale`` times as many as the sample has.

    In the first ``half`` of the sample the share is half as large if partners are anywhere among the documents,
    and as large if they are close by. Families differ in size, so the odds grow with the documents, not the share.
    """
    share = float(near.mean())
    if near.sum() < _FEW and scale > _FEW:
        return _PROPOSED
    return share if half.mean() > share / np.sqrt(2) else scale * share / (1 - share + scale * share)


def _proposed_share(sketches: Any, documents: int, bands: Plan | None, settings: Settings) -> float:
    """The share of this many ``documents`` that is in proposed pairs, from the sketches of a sample."""
    sampled, threads = len(sketches), settings.work.threads
    if bands is None:
        found = near_candidates(sketches, settings.simhash.distance, 0, threads, report_nothing)
    else:
        found = band_candidates(SignatureBands((sketches,), bands), len(bands.bands), 0, threads, report_nothing)
    pairs, near, half = found.pairs.table(), np.zeros(sampled, np.bool_), -(-sampled // 2)
    near_in_half, within = near[:half].copy(), column(pairs, "b") < half
    for name in ("a", "b"):
        near[column(pairs, name)], near_in_half[column(pairs, name)[within]] = True, True
    near[found.hub] = True
    return share_of_all(near, near_in_half, documents / sampled)


def _some(sets: ShingleSets, places: Int64s) -> ShingleSets:
    return sets_at(sets.hashes, sets.offsets[places], sets.sizes[places])


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
    """bool[n]: which pairs with ``shared`` shingles meet the criterion, in either direction."""
    return at_least(verified_table(a, b, shared, sizes[a], sizes[b]), criterion) & (shared > 0)


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
    search, limit, threads = settings.search, settings.search.limit, settings.work.threads
    begin = time.process_time()
    bands = None if settings.by_simhash else nearest_plan(search.threshold, search.recall, settings.sketch.slots)
    parts = parts_of(documents, columns, settings.keep, settings.relations, against)
    corpus = Corpus.of(parts, settings, empty_alike=settings.keep.empty == "one")
    expected = limit is None and not resume and expects_exact(corpus)
    slots = 0 if bands is None or surely_exact(search) or expected else settings.sketch.slots
    sample, sketches, first = _read_sample(corpus, slots, expected)
    rows, text = sum(map(len, sample)), sum(read.bytes_read for read in sample)
    inputs = [documents, *([] if against is None else [against.documents])]
    if documents.format in ("jsonl", "csv") and len(inputs) == len(getattr(documents, "sources", ())) == 1:
        text = max(text, min(documents.size_bytes or 0, CHUNKS * CHUNK_BYTES))  # with the names of fields
    total = max(rows, sum(_rows(one, rows, text) for one in inputs))
    scale, share = total / max(1, rows), len(_different_rows(sample)) / max(1, rows)
    units, different, first = sum(int(read.units.sum()) for read in sample), round(share * total), first * scale
    amounts = Amounts(total, round(text * scale), round(units * scale * share))
    choice = chosen = None if bands is None else choose(search, amounts.shingles, settings.shingles.unit)
    crowds, again, beside = NO_CROWDS, first / 2, 0.0
    if sketches and different:
        signed, before = np.concatenate(sketches), time.process_time()
        amounts = replace(amounts, proposed=_proposed_share(signed, different, bands, settings))
        beside = (bands is None) * (time.process_time() - before) * (different / len(signed)) ** _SEARCHED
    if bands is not None and choice is not None and rows:
        sets, in_sets, a_row = _sample_sets(corpus, sample, choice.method == "exact")
        again, remaining = min(first, a_row * total), _share_left(sets, settings.base.ignore_common)
        amounts = replace(amounts, distinct=in_sets, remaining=remaining)
        if choice.method == "exact" and MEASURES[search.measure].features == "shingles" and len(sets.sizes):
            amounts = replace(amounts, **join_of_all(sets, different, search, threads))
            chosen = choice if surely_exact(search) else reconsider(choice, search, amounts.lookups)
        if different > CROWD and len(sets.sizes) > 1:
            most = min(MOST_SAMPLED, int(np.sqrt(STEPS / sets.sizes.mean())))
            crowds = crowding_of(
                _some(sets, _some_rows(np.arange(len(sets.sizes)), most)), different, search, settings.grouping
            )
    amounts = replace(amounts, grouped=1 - (1 - amounts.proposed) * share)
    amounts = replace(amounts, waiting=_waiting_rows(documents, amounts, settings))
    sketch = 4 * slots or 8 * (settings.simhash.bits // 64) * settings.by_simhash
    banded = 8 * len(bands.bands) if bands is not None and slots else sketch
    bands_filed, joined = 0 if limit is None else banded * total, chosen is not None and chosen.method == "exact"
    disk = max(bands_filed, _filed_sets(search, amounts, different, joined))  # the sets are read after the bands
    disk += resume * ((sketch if limit is None else banded) + 48) * total
    disk += 0 if limit is None else A_PAIR * crowds.pairs
    memory = max(memory_bytes(amounts, settings, one) for one in (choice, chosen))
    beside += crowds.seconds + (limit is not None) * (time.process_time() - begin)  # a run with a limit predicts
    spent = seconds(amounts, settings, chosen, documents.format, first, again) + beside / worker_count(threads)
    return RunCost(
        documents=total,
        memory=memory + (crowds.memory if limit is None else 0),
        disk=disk,
        seconds=spent,
        limit=limit,
        process=process_bytes(amounts, settings.work),
        a_pair=0 if limit is None else A_PAIR,
        crowds=crowds,
    )


def _filed_sets(search: SearchSettings, amounts: Amounts, documents: int, joined: bool) -> int:
    """Bytes of the sets that the memory does not hold: those of candidates, or all with the prefixes of a join.

    A join that is not surely exact is chosen only if its sets fit.
    """
    if not surely_exact(search):
        fit = joined or search.limit is None or amounts.proposed * amounts.shingles <= held_shingles(search)
        return 0 if fit else HASH_BYTES * amounts.of_candidates
    if HASH_BYTES * amounts.shingles <= join_room(search):
        return 0
    entries = round((1 - search.threshold) * amounts.in_sets) + documents
    return HASH_BYTES * amounts.in_sets + ENTRY_BYTES * entries


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
