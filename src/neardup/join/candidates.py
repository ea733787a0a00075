"""Proposed pairs, also among the finished parts of a run, so that a killed run does not search for them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.io.writers.scratch import RunJournal
from neardup.join.pair_file import PairRoom, Pairs, PairSorter, batches
from neardup.tables import CANDIDATES, Int64s, column

_AT_ONCE = 1 << 20
"""Pairs of one part: 8 MB."""

_HEAD = "candidates"


@dataclass(frozen=True)
class Candidates:
    """Proposed pairs, and the documents of hub buckets, whose pairs are not included."""

    pairs: Pairs
    hub: Int64s
    hub_buckets: int
    largest_bucket: int


def join_everything(documents: int) -> Candidates:
    """Propose no pairs: every document is joined with all others, as hub documents are, and no pair is missed.

    Compared with LSH the join (``prefix_join.py``) costs one count of all shingles, and memory for all sets at
    once: 8 bytes per shingle for the sets, up to 8 more for counts and prefix lists. If that does not fit, the
    join is made in parts (``exact_parts.py``).
    """
    return Candidates(CANDIDATES.empty_table(), np.arange(documents), 0, 0)


def kept_candidates(journal: RunJournal | None, room: PairRoom, make: Callable[[], Candidates]) -> Candidates:
    """The candidates of a run: those in its ``journal``, or else those that ``make`` finds, which are put there.

    The last part says how many there are, so that a search that was not finished counts for nothing.
    """
    if journal is None:
        return make()
    found = _found(journal, room)
    if found is None:
        found = make()
        _put(journal, found)
    return found


def _put(journal: RunJournal, found: Candidates) -> None:
    parts = 0
    for table in batches(found.pairs, _AT_ONCE):
        journal.put(f"{_HEAD} {parts}", table.combine_chunks())
        parts += 1
    told = {"parts": parts, "hub_buckets": found.hub_buckets, "largest_bucket": found.largest_bucket}
    head = pa.table({"hub": found.hub}).replace_schema_metadata({_HEAD: json.dumps(told)})
    journal.put(_HEAD, head)


def _found(journal: RunJournal, room: PairRoom) -> Candidates | None:
    """The candidates in the journal; None unless all parts are there."""
    head = journal.get(_HEAD)
    if head is None:
        return None
    told = json.loads((head.schema.metadata or {})[_HEAD.encode()])
    sorter = PairSorter(room, counted=False)
    for number in range(told["parts"]):
        table = journal.get(f"{_HEAD} {number}")
        if table is None:
            return None
        sorter.add(table)
    return Candidates(sorter.finish(), column(head, "hub"), told["hub_buckets"], told["largest_bucket"])
