"""Which method a run takes, and why; the same pairs whether the shingles are in memory or in a file."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.join import method as room
from neardup.deduplication.join import search
from neardup.deduplication.join.exact_parts import ExactParts
from neardup.deduplication.join.method import BYTES_A_SHINGLE, choose, reconsider
from neardup.deduplication.join.shingle_store import SpilledSets
from neardup.errors import OutputError
from neardup.io.writers import scratch
from neardup.settings import SearchSettings
from support import shared_data


def licences() -> list[str]:
    """Return texts that share much: licences, or the filled-in forms of our own set before the rest of it."""
    found = shared_data.documents(shared_data.or_own("license_texts"))
    return [found[id] for id in sorted(found, key=lambda id: not id.startswith("form/"))]


@pytest.mark.parametrize(
    ("search", "shingles", "method"),
    [
        (SearchSettings(), 1_000, "exact"),
        (SearchSettings(memory=1.0), SearchSettings(memory=1.0).join_bytes // BYTES_A_SHINGLE, "exact"),
        (SearchSettings(memory=1.0), SearchSettings(memory=1.0).join_bytes // BYTES_A_SHINGLE + 1, "lsh"),
        (SearchSettings(method="lsh"), 1, "lsh"),
        (SearchSettings(method="exact"), 10**12, "exact"),
        (SearchSettings(measure="overlap"), 10**12, "exact"),
    ],
)
def test_the_method_by_memory(search: SearchSettings, shingles: int, method: str) -> None:
    choice = choose(search, shingles)
    assert choice.method == method
    assert choice.asked == search.method
    assert choice.why
    assert choice.as_dict()["exact_memory_bytes"] == 16 * shingles


@pytest.mark.parametrize(
    ("memory", "shingles", "unit", "method"),
    [
        (0, 30_000_000, "char", "exact"),  # its look-ups decide
        (4, 3_000_000, "char", "exact"),  # less than a second
        (4, 4_000_000, "char", "lsh"),  # more than LSH takes in all
        (4, 30_000_000, "word", "exact"),  # less than LSH takes in all
    ],
)
def test_the_method_by_expected_time(memory: float, shingles: int, unit: str, method: str) -> None:
    """Under a limit the texts are read again for the join, which fits in all of these."""
    search = SearchSettings(memory=memory)
    assert BYTES_A_SHINGLE * shingles <= search.join_bytes
    choice = choose(search, shingles, unit)
    assert choice.method == method
    if method == "lsh":
        assert "first pass" in choice.why


def test_the_limit_counts_the_process() -> None:
    """An exact join gets a share of what the process leaves, and something of a limit that holds no process."""
    assert SearchSettings(memory=0.25).join_bytes < 0.1 * 0.25e9
    assert 0.5 * 4e9 < SearchSettings(memory=4).join_bytes < 0.6 * 4e9
    assert 0 < SearchSettings(memory=0.001).join_bytes < 1e6
    sizes = [SearchSettings(memory=memory).join_bytes for memory in (0.001, 0.1, 0.23, 0.25, 0.4, 1, 100)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("unit", "most"), [("word", 30_000_000), ("char", 12_000_000)])
def test_characters_may_look_at_fewer_pairs(unit: str, most: int) -> None:
    choice, search = choose(SearchSettings(), 30_000_000, unit), SearchSettings()
    assert [reconsider(choice, search, count).method for count in (most, most + 1)] == ["exact", "lsh"]


@pytest.mark.parametrize(
    ("search", "lookups", "method"),
    [
        (SearchSettings(), 10_000_000, "exact"),
        (SearchSettings(), 10_000_001, "lsh"),
        (SearchSettings(method="exact"), 10**12, "exact"),
        (SearchSettings(measure="containment"), 10**12, "exact"),
    ],
)
def test_the_method_by_look_ups(search: SearchSettings, lookups: int, method: str) -> None:
    choice = reconsider(choose(search, 5_000_000), search, lookups)
    assert (choice.method, choice.lookups) == (method, lookups)


def test_what_was_chosen_and_why_is_in_the_account() -> None:
    found = nd.find(licences(), threshold=0.7)
    choice = found.run.choice
    assert (choice.asked, choice.method) == ("auto", "exact")
    assert choice.why.endswith("1.0 GB are allowed")
    assert choice.shingles >= sum(found.pairs["size_a"].unique().to_pylist())
    assert nd.find(licences(), threshold=0.7, memory=0.001).run.choice.method == "lsh"
    choice = nd.find(licences(), method="lsh").run.choice
    assert (choice.asked, choice.method, choice.why) == ("lsh", "lsh", "asked for")


def test_a_join_that_would_look_at_too_much_is_left_for_lsh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty licences look at 38 758 pairs at .3 and at few at .95; LSH then finds a part of what exact does."""
    monkeypatch.setattr(room, "FREE_LOOKUPS", 10)
    left, joined = nd.find(licences()[:40], threshold=0.3), nd.find(licences()[:40], threshold=0.95)
    for found, method in ((left, "lsh"), (joined, "exact")):
        choice = found.run.choice
        assert choice.method == method
    assert "more than" in left.run.choice.why
    assert left.run.recall.planned == 0.99
    exact = nd.find(licences()[:40], threshold=0.3, method="exact")
    assert 0 < left.pairs.num_rows <= exact.pairs.num_rows
    assert set(left.pairs.to_pylist()[0].items()) <= set(exact.pairs.to_pylist()[0].items())


def test_a_file_for_the_shingles_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    used = []
    real = search.exact_parts

    def noted(sets: SpilledSets, *more: Any) -> ExactParts:
        used.append(len(sets))
        return real(sets, *more)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(search, "exact_parts", noted)
    for measure in ("resemblance", "overlap"):
        small = nd.find(licences(), method="exact", measure=measure, threshold=0.5, memory=0.001)
        assert used
        used.clear()
        large = nd.find(licences(), method="exact", measure=measure, threshold=0.5)
        assert not used
        assert small.pairs.equals(large.pairs)
        assert small.groups.equals(large.groups)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OutputError, match=r"(?s)disk is full.*8\.0 MB.*TMPDIR"):
        scratch.scratch_array(1_000_000)
    assert scratch.scratch_array(0).size == 0


@pytest.mark.parametrize("missing", [True, False])
def test_a_system_without_posix_fallocate_takes_room_by_writing(
    monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    def unsupported(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    if missing:
        monkeypatch.delattr("os.posix_fallocate")
    else:
        monkeypatch.setattr(os, "posix_fallocate", unsupported)
    array = scratch.scratch_array(200_000)
    array[:] = np.arange(200_000)
    assert int(array[-1]) == 199_999


def test_a_file_that_cannot_be_mapped_is_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def unmapped(*file: object, **how: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(np, "memmap", unmapped)
    with pytest.raises(MemoryError):
        scratch.scratch_array(1000)
