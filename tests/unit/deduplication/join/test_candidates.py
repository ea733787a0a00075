"""Candidates that are among the finished parts of a run are not searched for again; a part that lacks is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neardup.deduplication.join import candidates
from neardup.deduplication.join.candidates import Candidates, kept_candidates
from neardup.deduplication.join.pairs import PairRoom, PairSorter
from neardup.io.writers.scratch import RunJournal, Scratch


def made(room: PairRoom) -> Candidates:
    a, b = np.triu_indices(30, 1)
    sorter = PairSorter(room, counted=False)
    sorter.add_keys((a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64))
    return Candidates(sorter.finish(), np.array([3, 5]), 1, 7)


def rows_of(found: Candidates) -> list[dict[str, int]]:
    return [row for table in found.pairs.batches() for row in table.to_pylist()]


@pytest.mark.parametrize("most", [50, 10_000])
def test_kept_candidates_are_those_that_were_found(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_AT_ONCE", 100)
    room = PairRoom(Scratch(tmp_path), most)
    expected, searches = made(room), []

    def search() -> Candidates:
        searches.append(1)
        return expected

    journal = RunJournal(tmp_path / "journal", {}, b"s" * 32)
    assert kept_candidates(None, room, search) is kept_candidates(journal, room, search) is expected
    journal.close()
    again = RunJournal(tmp_path / "journal", {}, b"s" * 32)
    found = kept_candidates(again, room, search)
    assert len(searches) == 2
    assert rows_of(found) == rows_of(expected)
    assert found.pairs.exceeds(room) == (most == 50)
    assert (found.hub.tolist(), found.hub_buckets, found.largest_bucket) == ([3, 5], 1, 7)
    del again._places["candidates 1"]
    assert kept_candidates(again, room, search) is expected
    again.close()
    assert len(searches) == 3
