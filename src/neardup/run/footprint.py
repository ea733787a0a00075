"""The memory that a run takes, in parts that add up; ``benchmarks/predictions.py`` compares it with ten runs.

The constants were measured there. Each stage frees its arrays, so the parts of the stage that needs most count.
"""

from __future__ import annotations

from dataclasses import dataclass

from neardup.join.kept_sets import HASH_BYTES
from neardup.join.method import Choice, join_room, surely_exact
from neardup.join.portions import held_shingles
from neardup.runtime import worker_count
from neardup.settings import Settings
from neardup.settings.records import CHUNK, PROCESS

A_DOCUMENT = 175
"""Bytes that are held for every document at the moment that needs most, after the search."""

_IN_THE_SEARCH = 111
"""Bytes that are held for every document until the pairs are known, besides sketches and shingles."""

_CHUNK_TIMES = 4.4
"""A small input has chunks of less than 8 MB: this many times its bytes."""

_REPEATS = 1.5
"""Bytes for each shingle while an exact join counts them."""

_AN_ENTRY = 43
"""Bytes for each entry of a prefix while its lists are made; a prefix has (1 − threshold) of the shingles."""

_WITH_PARTNERS = {"word": 0.3, "char": 1.0}
"""The share of the shingles of a ``unit`` in documents with a possible partner; the others have no entries."""

_CANDIDATES = 0.25
"""The share of the shingles that are in documents of proposed pairs."""

_SIMHASH = 60_000_000
"""Bytes of the kernels and tables of a SimHash search."""


@dataclass(frozen=True)
class Amounts:
    """About how many ``documents`` there are, their ``bytes`` of text, and the ``shingles`` of different ones."""

    documents: int
    bytes: int
    shingles: int


def process_bytes(amounts: Amounts, settings: Settings) -> int:
    """Bytes that do not depend on the number of documents: the process, and its chunks in flight."""
    chunks = CHUNK * (worker_count(settings.work.threads) + 2)
    return PROCESS + min(chunks, round(_CHUNK_TIMES * amounts.bytes)) + _SIMHASH * settings.by_simhash


def memory_bytes(amounts: Amounts, settings: Settings, choice: Choice | None) -> int:
    """The largest number of bytes at a time; ``choice`` is None for a search by SimHash."""
    documents = amounts.documents
    searching = _IN_THE_SEARCH * documents
    if choice is None:
        searching += settings.simhash.bits // 8 * documents + _of_candidates(amounts, settings)
    elif choice.method == "exact":
        searching += _of_join(amounts, settings)
    else:
        held = 0 if settings.search.limit is not None else 4 * settings.sketch.slots * documents
        searching += max(held, _of_candidates(amounts, settings))
    return process_bytes(amounts, settings) + max(A_DOCUMENT * documents, searching)


def _of_join(amounts: Amounts, settings: Settings) -> int:
    """Bytes of the sets of an exact join, of the counts, and of the lists; a join in parts keeps to its room."""
    search = settings.search
    entries = _WITH_PARTNERS[settings.shingles.unit] * (
        (1 - search.threshold) * amounts.shingles + amounts.documents
    )
    whole = round((HASH_BYTES + _REPEATS) * amounts.shingles + _AN_ENTRY * entries)
    return min(whole, join_room(search)) if surely_exact(search) else whole


def _of_candidates(amounts: Amounts, settings: Settings) -> int:
    """Bytes of the shingle sets of proposed pairs."""
    return HASH_BYTES * min(held_shingles(settings.search), round(_CANDIDATES * amounts.shingles))
