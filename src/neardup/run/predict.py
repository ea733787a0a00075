"""The memory, disk space and time that a run will take, from a sample of its input.

The numbers of bytes were measured with benchmarks/scale.py; docs/explanation/memory.md lists them by stage.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from neardup import display
from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import Chosen, Reference
from neardup.join.corpus import Corpus
from neardup.join.first_pass import read_chunks
from neardup.join.kept_sets import HASH_BYTES
from neardup.join.method import choose, join_room, surely_exact
from neardup.lsh.bands import plan
from neardup.run.asked_columns import parts_of, require_reference
from neardup.run.crowding import NO_CROWDS, Crowding, crowding
from neardup.run.footprint import A_DOCUMENT, Amounts, memory_bytes, process_bytes
from neardup.settings import SearchSettings, Settings
from neardup.settings.records import PROCESS

CHUNKS = 3
"""Chunks of the sample, of about 8 MB each."""

ENTRY_BYTES = 16
"""Bytes in a working file for each entry of a prefix; a prefix has (1 − threshold) of the shingles, and one."""

A_PAIR = 140
"""Bytes of working files for each pair, whose number only the search knows (measured: 5.1 million took 722 MB)."""

WHOLE = 2.6
"""A run takes this many times as long as its first pass."""


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
        """The smallest limit that can be kept: the process, and what is held for every document."""
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
    require_reference(settings, against)
    search = settings.search
    bands = None if settings.by_simhash else plan(search.threshold, search.recall, settings.sketch.slots)
    slots = 0 if bands is None or surely_exact(search) else settings.sketch.slots
    rows = text = units = 0
    sample: list[ReadChunk] = []
    begin = first = time.perf_counter()
    later = 0
    parts = parts_of(documents, columns, settings, against)
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
    crowds = crowding(corpus, sample, round(different * total), settings.grouping)
    amounts = Amounts(total, round(text * scale), shingles)
    choice = None if bands is None else choose(search, shingles, settings.shingles.unit)
    disk = (0 if limit is None else banded * total) + (
        resume * ((sketch if limit is None else banded) + 48) * total
    )
    disk += _filed_sets(search, shingles, round(different * total))
    disk += 0 if limit is None else A_PAIR * crowds.pairs
    return RunCost(
        documents=total,
        memory=memory_bytes(amounts, settings, choice) + (crowds.memory if limit is None else 0),
        disk=disk,
        seconds=WHOLE * spent * text * scale / (later or text or 1) + crowds.seconds,
        limit=limit,
        process=process_bytes(amounts, settings),
        a_pair=0 if limit is None else A_PAIR,
        crowds=crowds,
    )


def _different(keys: list[Any]) -> float:
    """The share of the documents that are not exact copies of earlier ones, by the keys of a sample."""
    found = np.concatenate([np.empty((0, 2), np.uint64), *keys])
    return len(np.unique(found, axis=0)) / len(found) if len(found) else 1.0


def _filed_sets(search: SearchSettings, shingles: int, documents: int) -> int:
    """Bytes of the sets and prefixes of an exact join that the memory does not hold."""
    if not surely_exact(search) or HASH_BYTES * shingles <= join_room(search):
        return 0
    return HASH_BYTES * shingles + round(ENTRY_BYTES * ((1 - search.threshold) * shingles + documents))


def _rows(documents: Any, rows: int, text: int) -> int:
    """About how many rows an input has: from its footers, its number of files, or its size."""
    metadata = getattr(documents, "metadata", None)
    if documents.format == "parquet" and metadata is not None:
        return sum(found.num_rows for found in metadata if found is not None)
    if documents.format == "text":
        return len(documents.sources)
    return round((documents.size_bytes or text) * rows / text) if text else rows
