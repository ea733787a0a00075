"""A run under a memory limit gives the same bytes as one without, however little it holds at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.group import leaders
from neardup.deduplication.join import candidates, pairs, shingle_store
from neardup.deduplication.run.by_value import by_value
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import CHUNK_BYTES, choose_columns, choose_reference, open_documents
from neardup.io.writers import scratch
from neardup.settings import SearchSettings
from support import shared_data
from support.full_run import FULL

SETS = (*shared_data.OWN, *shared_data.WORD_SETS[1:], "udhr", "thaigov_th")
LIMITS = ("1MB", "40MB", "2GB")
"""The first forces every spill; the last none but that of the band keys."""

METHODS: dict[str, dict[str, Any]] = {
    "lsh": {"method": "lsh", "recall": 0.9},
    "simhash": {"sketch": "simhash", "distance": 8},
    "related": {"method": "lsh", "across": "side", "within": "side2"},
}


def files_of(
    source: Path, out: Path, against: Path | None = None, chunk_bytes: int = CHUNK_BYTES, **settings: Any
) -> dict[str, bytes]:
    """The files of a run, ``run.json`` without what the limit may change."""
    documents, old = (
        open_documents(source, chunk_bytes=chunk_bytes),
        None if against is None else open_documents(against),
    )
    columns = choose_columns(documents, "text", "id")
    with scratch.working_in(out.parent):
        reference = None if old is None else choose_reference(old, columns)
        outcome = run(Inputs(documents, columns, nd.Settings.of(**settings), reference, "dedup"))
    save(outcome, out, action="dedup")
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    del files["manifest.json"]  # has the digest of run.json
    account = json.loads(files.pop("run.json"))
    for name in ("seconds", "peak_memory_bytes", "settings_digest"):
        del account[name]
    del account["settings"]["memory"]
    return {**files, "run.json": json.dumps(account).encode()}


@pytest.fixture
def source(name: str, tmp_path: Path) -> Path:
    """A file with the documents of a set, and two columns by which they may be related."""
    path = tmp_path / "documents.jsonl"
    texts = shared_data.documents(name)
    rows = [{"id": id, "text": text, "side": k % 3, "side2": k % 2} for k, (id, text) in enumerate(texts.items())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.part(8)
@pytest.mark.parametrize("name", SETS)
def test_a_limit_changes_no_byte(source: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the room of the exact join decides about documents that LSH hands over; it is the same here for all limits
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    unit = "char" if name in shared_data.CHAR_SETS else "word"
    for method in METHODS if name in shared_data.OWN else ("lsh",):
        settings = {**METHODS[method], "unit": unit, "threshold": 0.5}
        free = files_of(source, tmp_path / f"{method} free", **settings)
        for limit in LIMITS[:: 1 if FULL else 2] if method == "lsh" else LIMITS[:1]:
            held = files_of(source, tmp_path / f"{method} {limit}", memory=limit, **settings)
            assert held == free, (method, limit)
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["documents.jsonl"]


@pytest.mark.parametrize("name", ["own"])
@pytest.mark.parametrize("files", [1, 3])
def test_a_limit_changes_no_byte_of_parquet(source: Path, files: int, tmp_path: Path) -> None:
    """Kept rows come in many chunks, and make few row groups: one of the input has as many rows as all others."""
    rows = pj.read_json(source)
    (tmp_path / "in").mkdir()
    size = len(rows) // files
    for number in range(files):
        part = rows.slice(number * size, size)
        with pq.ParquetWriter(tmp_path / "in" / f"{number}.parquet", rows.schema) as writer:
            writer.write_table(part.slice(0, size // 2))
            writer.write_table(part.slice(size // 2), row_group_size=3)
    free, held = (
        files_of(tmp_path / "in", tmp_path / limit, chunk_bytes=1000, memory=limit, method="lsh", threshold=0.5)
        for limit in ("2GB", "1MB")
    )
    assert held == free
    assert sum(name.startswith("kept") for name in free) == files


@pytest.mark.parametrize("name", ["own"])
def test_every_spill_happens(source: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of a megabyte the bands are sorted in parts, and the sets of candidates are in a file."""
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    monkeypatch.setattr(pairs, "_FEWEST", 8)
    monkeypatch.setattr(shingle_store, "_FEWEST", 8)
    made: list[scratch.NumberFile] = []
    plain = scratch.Scratch.numbers

    def noted(self: scratch.Scratch, *given: Any) -> scratch.NumberFile:
        made.append(plain(self, *given))
        return made[-1]

    monkeypatch.setattr(scratch.Scratch, "numbers", noted)
    settings: dict[str, Any] = {"method": "lsh", "threshold": 0.5}
    free = files_of(source, tmp_path / "free", **settings)
    assert not made
    parts = []
    split = candidates.bands_at_once
    monkeypatch.setattr(candidates, "_BAND_BYTES", 2000)
    monkeypatch.setattr(
        "neardup.deduplication.join.search.bands_at_once",
        lambda *given: (parts.append(split(*given)), parts[-1])[1],
    )
    held = files_of(source, tmp_path / "held", memory="1MB", **settings)
    assert held == free
    bands = len(json.loads(free["run.json"])["plan"]["bands"])
    assert len(made) > bands
    assert parts[0][1] > 1


# --- many pairs

RELATED: dict[str, dict[str, Any]] = {
    "lsh": {"method": "lsh", "audit": 60},
    "components": {"method": "lsh", "groups": "components"},
    "complete": {"method": "lsh", "groups": "complete", "pairs": "all"},
    "containment": {"measure": "containment"},
    "simhash": {"sketch": "simhash", "distance": 10, "lose": 0.1},
    "exact": {"method": "exact", "groups": "components"},
    "in order": {"measure": "lcs", "threshold": 0.7},
    "kinds": {"method": "lsh", "kinds": True},
}


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two files of 20 families of 17 documents, and two of 130 and 120: 18,000 pairs, and the chains between."""
    draw, rows = np.random.default_rng(3), []
    for family, members in enumerate([17] * 20 + [130, 120]):
        words = [f"w{number}" for number in draw.integers(0, 3000, 40)]
        for member in range(members):
            changed = list(words)
            for place in draw.choice(40, draw.integers(0, 3), replace=False):
                changed[place] = f"x{draw.integers(0, 4000)}"
            rows.append({"id": f"{family}-{member}", "text": " ".join(changed), "side": int(draw.integers(0, 3))})
    order, folder = draw.permutation(len(rows)), tmp_path_factory.mktemp("families")
    for name, part in (("new", order[300:]), ("old", order[:300])):
        lines = [json.dumps(rows[k]) + "\n" for k in part]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "new.jsonl", folder / "old.jsonl"


@pytest.mark.part(3)
@pytest.mark.parametrize("name", RELATED)
def test_a_limit_changes_no_byte_of_many_pairs(
    families: tuple[Path, Path], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs are sorted in files and merged, families are grouped in parts, and tables are written in pieces."""
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    monkeypatch.setattr(leaders, "CROWD", 60)
    merged, plain = [], pairs.PairSorter.finish

    def finish(self: pairs.PairSorter) -> pairs.Pairs:
        merged.append(plain(self))
        return merged[-1]

    new, old = families if name != "kinds" else families[::-1]  # the smaller one
    settings = {"threshold": 0.5, **RELATED[name]}
    for against in (None, old) if name in ("lsh", "exact") else (None,):
        more = {"across": "side"} if against else {}
        free = files_of(new, tmp_path / f"free {against is None}", against, **settings, **more)
        with monkeypatch.context() as patch:
            patch.setattr(pairs.PairSorter, "finish", finish)
            held = files_of(new, tmp_path / f"held {against is None}", against, memory="1MB", **settings, **more)
        assert held == free
    counts = json.loads(free["run.json"])["counts"]
    assert counts["pairs"] > 1000
    if name != "in order":
        assert any(some.most < len(some) for some in merged)


def test_a_limit_changes_no_count_of_values(
    families: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    documents = open_documents(list(families))
    columns = choose_columns(documents, "text", "id")
    with scratch.working_in(tmp_path):
        asked = ({"threshold": 0.5, "within": "side", **more} for more in ({}, {"memory": "1MB"}))
        free, held = (run(Inputs(documents, columns, nd.Settings.of(**one), None, "dedup")) for one in asked)
    assert held.run.groups.pairs.most < len(held.run.groups.pairs)
    assert by_value(held.run, "side").counts.equals(by_value(free.run, "side").counts)
