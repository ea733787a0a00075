"""Extractors of other packages, found by their entry points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup.io.formats import extract, format_of, packages, registered_formats
from support.command_line import Run, run_json
from support.made_package import installed_package

MODULE = """
def read_upside(data):
    return data.decode("utf-8")[::-1]

def read_number(data):
    return 7

def fails(data):
    raise ValueError("no such page")
"""
POINTS = """[neardup.extractors]
upside = some_extractors:read_upside
.num = some_extractors:read_number
bad = some_extractors:fails
gone = some_extractors:missing
pdf = some_extractors:read_upside
two words = some_extractors:read_upside
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with extractors, on the import path."""
    place = tmp_path / "place"
    with installed_package(place, "some_extractors", MODULE, POINTS, monkeypatch):
        yield place


def test_only_new_suffixes_are_registered(installed: Path) -> None:
    assert {".upside", ".num", ".bad", ".gone"} <= registered_formats().keys()
    assert not any(" " in suffix for suffix in registered_formats())
    assert format_of("a.UPSIDE", b"") == "registered"
    assert format_of("a.pdf", b"") == "pdf"
    assert format_of("a.unknown", b"") == "text"
    assert extract(b"ereh", "a.upside") == "here"
    assert packages()["neardup.extractors .upside"] == "some-extractors 1.2"


def test_a_run_reads_by_them_and_records_their_versions(run: Run, installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    text = "one two three four five six seven eight"
    (folder / "a.txt").write_text(text)
    (folder / "b.upside").write_text(text[::-1])
    (folder / "c.num").write_text(text)
    (folder / "d.bad").write_text(text)
    (folder / "e.gone").write_text(text)
    done = run("dedup", folder, "-o", tmp_path / "out")
    assert done.status == 1
    account = run_json(tmp_path / "out")
    assert account["versions"]["neardup.extractors .upside"] == "some-extractors 1.2"
    assert account["counts"]["removed"] == 1
    problems = [json.loads(line) for line in (tmp_path / "out" / "problems.jsonl").read_text().splitlines()]
    reasons = {problem["file"]: problem["reason"] for problem in problems}
    assert "returns int" in reasons["c.num"]
    assert "ValueError: no such page" in reasons["d.bad"]
    assert "cannot be loaded" in reasons["e.gone"]
    assert "some-extractors 1.2" in reasons["e.gone"]
    kept = {path.name for path in (tmp_path / "out" / "kept").rglob("*") if path.is_file()}
    assert kept >= {"c.num", "d.bad", "e.gone"}
