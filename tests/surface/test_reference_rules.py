"""What a reference set removes: with it alone, which side is held, and how much of each file may go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.errors import OutputError, SettingError
from support.command_line import Run, run_json, write_rows
from support.made_texts import Writer
from support.messages import has_parts

WRITER = Writer(seed=81)
ITEM, FIRST, SECOND = (WRITER.words(40) for _ in range(3))
OLD = [{"id": "q", "text": " ".join(ITEM)}]
NEW: list[dict[str, Any]] = [
    {"id": "holds", "text": " ".join([*WRITER.words(100), *ITEM, *WRITER.words(100)]), "site": "a"},
    {"id": "equal", "text": " ".join(ITEM).upper(), "site": "a"},
    {"id": "excerpt", "text": " ".join(ITEM[5:30]), "site": "b"},
    {"id": "one", "text": " ".join(FIRST), "site": "b"},
    {"id": "same", "text": " ".join(FIRST), "site": "b"},
    {"id": "like", "text": " ".join([*FIRST, "more"]), "site": None},
]
HELD = ["--measure", "containment", "--direction"]


def kept(out: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--no-self"], ["holds", "excerpt", "one", "same", "like"]),
        (["--no-self", "--measure", "containment"], ["holds", "one", "same", "like"]),
        (["--no-self", *HELD, "old-in-new"], ["excerpt", "one", "same", "like"]),
        (["--no-self", *HELD, "either"], ["one", "same", "like"]),
        ([*HELD, "either"], ["like"]),
        (["--no-self", "--method", "lsh"], ["holds", "excerpt", "one", "same", "like"]),
    ],
)
def test_the_documents_that_stay(run: Run, tmp_path: Path, options: list[str], left: list[str]) -> None:
    new, old = write_rows(tmp_path / "new.jsonl", NEW), write_rows(tmp_path / "old.jsonl", OLD)
    said = run("dedup", new, "--against", old, "-o", tmp_path / "out", *options)
    assert said.status == 0, said.err
    assert kept(tmp_path / "out") == left
    assert run("fingerprint", old, "-o", tmp_path / "fp").status == 0
    again = run("dedup", new, "--against", tmp_path / "fp", "-o", tmp_path / "again", *options)
    if "--direction" not in options and "--measure" not in options:
        assert again.status == 0, again.err
        assert kept(tmp_path / "again") == left
    # the stored result can be questioned like any other
    assert nd.load(tmp_path / "out").at(0.95).run.counts.removed <= len(NEW) - len(left)


def test_reasons_say_which_side_is_held() -> None:
    found = nd.find(NEW, against=OLD, measure="containment", direction="either", no_self=True)
    reasons = {row["id"]: row["reason"] for row in found.removed.to_pylist()}
    assert "of the smaller one" in reasons["holds"]
    found = nd.find(NEW, against=OLD, measure="containment", direction="old-in-new", no_self=True)
    reasons = {row["id"]: row["reason"] for row in found.removed.to_pylist()}
    assert "of that document" in reasons["holds"]
    found = nd.find(NEW, against=OLD, measure="containment", no_self=True)
    reasons = {row["id"]: row["reason"] for row in found.removed.to_pylist()}
    assert "of this document" in reasons["excerpt"]


@pytest.mark.parametrize("settings", [{"no_self": True}, {"direction": "either", "measure": "containment"}])
def test_settings_that_need_a_reference_set(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        nd.find(["a text"], **settings)


def test_settings_that_contradict_each_other() -> None:
    no_self = {"no_self": True}
    for settings in ({"direction": "either"}, {**no_self, "across": "site"}, {**no_self, "empty": "one"}):
        with pytest.raises(SettingError):
            nd.find(NEW, against=OLD, **settings)  # type: ignore[arg-type]


def test_too_much_of_one_file_stops_the_run_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    other = [{"id": f"o{k}", "text": " ".join(WRITER.words(30))} for k in range(20)]
    (tmp_path / "new").mkdir()
    write_rows(tmp_path / "new" / "mine.jsonl", NEW)
    write_rows(tmp_path / "new" / "other.jsonl", other)
    asked = ("dedup", tmp_path / "new", "--against", write_rows(tmp_path / "old.jsonl", OLD), *HELD, "either")
    said = run(*asked, "--most-removed", "50%", "-o", tmp_path / "out")
    assert said.status == 2
    mine, others = str(tmp_path / "new" / "mine.jsonl"), str(tmp_path / "new" / "other.jsonl")
    assert has_parts(said.err, f"5 of 6 documents of {mine}", "--most-removed")
    assert not (tmp_path / "out").exists()
    dry = run(*asked, "--most-removed", "50%", "--dry-run")
    assert dry.status == 2  # as the run itself
    assert f"5 of 6 documents of {mine}" in dry.out + dry.err
    assert run(*asked, "--most-removed", "84%", "-o", tmp_path / "out").status == 0
    account = run_json(tmp_path / "out")
    assert account["removed_by"]["files"] == [
        {"name": others, "read": 20, "removed": 0},
        {"name": mine, "read": 6, "removed": 5},
    ]


def test_too_much_of_one_source_stops_python_too() -> None:
    asked: dict[str, Any] = {"against": OLD, "measure": "containment", "direction": "either", "no_self": True}
    sources: dict[str, Any] = {"count": True, "sources": "site"}
    with pytest.raises(OutputError):
        nd.dedup(NEW, most_removed=0.6, **asked, **sources)
    found = nd.find(NEW, most_removed=0.6, **asked, **sources)
    shares = [(one.name, one.read, one.removed) for one in found.run.removed_by.sources]
    assert shares == [("b", 3, 1), ("a", 2, 2), (None, 1, 0)]
    assert len(nd.dedup(NEW, most_removed=0.5, **asked)) == 3


def test_a_file_that_loses_most_of_its_documents_is_noticed(tmp_path: Path) -> None:
    texts = [" ".join(WRITER.words(30)) for _ in range(120)]
    found = nd.find(pa.table({"text": texts}), against=texts[:100])
    assert any(has_parts(text, "100 of 120 documents", "--most-removed") for text in found.run.warnings)
