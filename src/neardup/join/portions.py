"""How much each stage holds at a time under a memory limit; the results do not depend on it.

A stage frees its portion before the next one begins, so each may take a large share of the *room*: the rest of the
limit besides the process and the chunks in flight (``settings/records.py``). The other shares are for the bytes
that are held for every document (docs/explanation/memory.md).
"""

from __future__ import annotations

from neardup.io.writers.scratch import Scratch
from neardup.join.pair_file import PairRoom
from neardup.runtime import worker_count
from neardup.settings import SearchSettings, Work

HELD_SHINGLES = 1 << 26
"""Shingles (8 bytes each) that are held for several stages instead of being read again."""

MERGED_PAIRS = 1 << 24
"""Pairs from several bands are merged, and repeats dropped, whenever this many (128 MB) have accumulated."""

_FEWEST = 1 << 10

_BAND_BYTES = 26
"""Bytes a document while one band is searched: its key, its place in two orders, half a run, and the hub mark."""


def held_shingles(search: SearchSettings) -> int:
    """The most shingles held for several stages: an eighth of the room."""
    room = search.room
    return HELD_SHINGLES if room is None else max(_FEWEST, min(HELD_SHINGLES, room // 64))


def proposed_room(search: SearchSettings, scratch: Scratch | None) -> PairRoom:
    """Room for pairs without counts: a sixteenth of the room, three times that while they are sorted."""
    room = search.room
    return PairRoom(scratch, MERGED_PAIRS if room is None else max(_FEWEST, min(MERGED_PAIRS, room // 128)))


def verified_room(search: SearchSettings, scratch: Scratch | None) -> PairRoom:
    """Room for pairs with counts: about an eighth of the room while they are verified or sorted."""
    room = search.room
    return PairRoom(scratch, MERGED_PAIRS if room is None else max(_FEWEST, min(MERGED_PAIRS, room // 1024)))


def bands_at_once(documents: int, search: SearchSettings, work: Work) -> tuple[int, int]:
    """(threads, parts): how many bands are searched side by side, and in how many parts each.

    Together they take at most a quarter of the room, but for the 8 bytes a document of the keys of one band.
    """
    threads, left = worker_count(work.threads), search.room
    if left is None or not documents:
        return threads, 1
    room = max(1, left // 4)
    threads = max(1, min(threads, room // (_BAND_BYTES * documents)))
    return threads, max(1, -(-_BAND_BYTES * documents // room)) if threads == 1 else 1
