"""Damaged files: refused, found by ``check``, or without effect; never a wrong answer that nobody notices."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.collection import Collection
from neardup.collection.store.file import WRITING, connect
from neardup.errors import NeardupError
from support import damaged_files
from support.damaged_files import PAGE, answers, make, places
from support.full_run import FULL

FLIPS, PAGES = (25, 20) if FULL else (10, 8)
"""Flipped bits for each kind of place, and damaged pages; 20 000 were tried when this was written."""

Good = tuple[bytes, dict[str, Any], dict[str, list[int]]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Good:
    """The bytes of a file, what it answers, and the places in it."""
    path = tmp_path_factory.mktemp("good") / "x.neardup"
    make(path)
    with Collection(path) as collection:
        assert collection.check() == []
        answered = answers(collection)
        packed = collection.store.packed(collection.store.everything())
    assert all(answered["searches"].values()), "no query finds nothing"
    return path.read_bytes(), answered, dict(places(path.read_bytes(), packed))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.neardup"


def outcome(path: Path, data: bytes, answered: dict[str, Any]) -> str:
    """What becomes of a file with these bytes: "refused", "found by check" or "no effect"; asserts it is one."""
    for other in path.parent.glob(f"{path.name}?*"):
        other.unlink()
    path.write_bytes(data)
    try:
        with Collection(path) as collection:
            try:
                now = answers(collection)
            except NeardupError:
                now = None
            faults = collection.check()
    except NeardupError:
        return "refused"
    if now is None:
        return "refused"
    assert faults or now == answered, "a wrong answer that nobody notices"
    return "found by check" if faults else "no effect"


def test_there_are_places_of_every_kind(good: Good) -> None:
    data, _, kinds = good
    assert set(kinds) == {"header", "text", "free page", "overflow page", *damaged_files.BTREES.values()}
    assert min(map(len, kinds.values())) >= 100
    whole = sum(len(found) for kind, found in kinds.items() if kind != "text")
    assert whole == len(data), "and every byte is one of them"


KINDS = ["header", "text", "free page", "overflow page", *damaged_files.BTREES.values()]


@pytest.mark.part(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit(good: Good, path: Path, kind: str) -> None:
    data, answered, kinds = good
    draw = random.Random(kind)
    became: Counter[str] = Counter()
    used = [place for place in kinds[kind] if data[place]] or kinds[kind]  # a page may be mostly empty
    for k in range(FLIPS):
        changed = bytearray(data)
        changed[draw.choice(used if k % 2 else kinds[kind])] ^= 1 << draw.randrange(8)
        became[outcome(path, bytes(changed), answered)] += 1
    if kind in ("text", "overflow page"):
        assert became["refused"] >= FLIPS - 2, (
            "texts are guarded; a compressed one ends with up to seven idle bits"
        )
    elif kind != "free page":
        assert became["refused"] + became["found by check"]


@pytest.mark.part(2)
@pytest.mark.parametrize("kind", ["zeros", "noise", "another page", "an old page"])
def test_a_damaged_page(good: Good, path: Path, kind: str) -> None:
    data, answered, _ = good
    draw = random.Random(kind)
    became: Counter[str] = Counter()
    for _ in range(PAGES):
        page = draw.randrange(1, len(data) // PAGE) * PAGE
        other = draw.randrange(1, len(data) // PAGE) * PAGE
        new = {
            "zeros": bytes(PAGE),
            "noise": draw.randbytes(PAGE),
            "another page": data[other : other + PAGE],
            "an old page": data[page : page + PAGE // 2] + data[other + PAGE // 2 : other + PAGE],
        }[kind]
        became[outcome(path, data[:page] + new + data[page + PAGE :], answered)] += 1
    assert became["refused"] + became["found by check"] > PAGES // 4


def test_a_file_cut_off_anywhere(good: Good, path: Path) -> None:
    data, answered, _ = good
    draw = random.Random(9)
    sizes = [0, 1, 16, 99, 100, PAGE - 1, PAGE, 2 * PAGE, len(data) - PAGE, len(data) - 1]
    for size in (*sizes, *(draw.randrange(len(data)) for _ in range(20)), *range(5 * PAGE, len(data), 25 * PAGE)):
        assert outcome(path, data[:size], answered) != "no effect", size


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list open files")
def test_a_refused_file_is_closed(path: Path) -> None:
    path.write_bytes(bytes(4 * PAGE))
    with pytest.raises(sqlite3.DatabaseError) as refused:
        connect(path, WRITING, readonly=False, frozen=False, wait=1)
    opened = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    assert str(path.resolve()) not in opened, refused.value


def test_bytes_behind_the_end(good: Good, path: Path) -> None:
    data, answered, _ = good
    for more in (b"x", bytes(PAGE), random.Random(1).randbytes(PAGE)):
        outcome(path, data + more, answered)


def test_a_damaged_log_ends_at_a_commit(tmp_path: Path) -> None:
    """The log has a checksum over all that precedes: everything committed up to the damage is there."""
    whole, path = tmp_path / "whole.neardup", tmp_path / "x.neardup"
    states: list[dict[str, str]] = [{}]
    with Collection(whole) as collection:
        for k in range(6):
            collection.add(
                pa.table({"id": [f"{k}.{n}" for n in range(9)], "text": [f"text {k} of {n}" for n in range(9)]})
            )
            states.append({id: collection.get(id).text for id in collection})
        files = {suffix: Path(f"{whole}{suffix}").read_bytes() for suffix in ("", "-wal")}
    assert len(files["-wal"]) > 20 * PAGE
    draw = random.Random(5)
    seen = set()
    for _ in range(40):
        log = bytearray(files["-wal"])
        place = draw.randrange(len(log))
        log[place] ^= 1 << draw.randrange(8)
        if draw.random() < 0.3:
            del log[place:]
        path.write_bytes(files[""])
        Path(f"{path}-wal").write_bytes(log)
        try:
            with Collection(path) as collection:
                assert collection.check() == []
                found = {id: collection.get(id).text for id in collection}
            assert found in states
            seen.add(len(found))
        except NeardupError:
            seen.add(-1)
    assert len(seen) > 3
    shutil.rmtree(tmp_path)
