"""A run under a memory limit gives the same bytes as one without, however little it holds at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.io.readers import choose_columns, open_documents
from neardup.io.writers import scratch
from neardup.join import portions
from neardup.run.find import run
from neardup.run.save import save
from neardup.runtime import Silent
from neardup.settings import SearchSettings
from support import shared_data

SETS = (*shared_data.OWN, *shared_data.WORD_SETS[1:], "udhr", "thaigov_th")
LIMITS = ("1MB", "40MB", "2GB")
"""The first forces every spill; the last none but that of the band keys."""

METHODS: dict[str, dict[str, Any]] = {
    "lsh": {"method": "lsh", "recall": 0.9},
    "simhash": {"sketch": "simhash", "distance": 8},
    "related": {"method": "lsh", "across": "side", "within": "side2"},
}


def files_of(source: Path, out: Path, **settings: Any) -> dict[str, bytes]:
    """The files of a run, ``run.json`` without what the limit may change."""
    documents = open_documents(source)
    columns = choose_columns(documents, "text", "id")
    with scratch.working_in(out.parent):
        outcome = run(documents, columns, nd.Settings.of(**settings), None, Silent(), "dedup")
    save(outcome, out, action="dedup")
    files = {path.name: path.read_bytes() for path in out.iterdir()}
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


@pytest.mark.parametrize("name", SETS)
def test_a_limit_changes_no_byte(source: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the room of the exact join decides about documents that LSH hands over; it is the same here for all limits
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    unit = "char" if name in shared_data.CHAR_SETS else "word"
    for method in METHODS if name in shared_data.OWN else ("lsh",):
        settings = {**METHODS[method], "unit": unit, "threshold": 0.5}
        free = files_of(source, tmp_path / f"{method} free", **settings)
        for limit in LIMITS[: 1 if method != "lsh" else None]:
            held = files_of(source, tmp_path / f"{method} {limit}", memory=limit, **settings)
            assert held == free, (method, limit)
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["documents.jsonl"]


@pytest.mark.parametrize("name", ["own"])
def test_every_spill_happens(source: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of a megabyte the bands are sorted in parts, and the sets of candidates are in a file."""
    monkeypatch.setattr(SearchSettings, "join_bytes", 10**9)
    monkeypatch.setattr(portions, "_FEWEST", 8)
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
    split = portions.bands_at_once
    monkeypatch.setattr(portions, "_BAND_BYTES", 2000)
    monkeypatch.setattr(
        "neardup.join.searches.bands_at_once", lambda *given: (parts.append(split(*given)), parts[-1])[1]
    )
    held = files_of(source, tmp_path / "held", memory="1MB", **settings)
    assert held == free
    bands = len(json.loads(free["run.json"])["plan"]["bands"])
    assert len(made) > bands
    assert parts[0][1] > 1
