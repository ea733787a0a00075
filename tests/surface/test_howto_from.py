"""The commands on the pages for those who come from other tools do what they say."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from support.command_line import Run
from support.paths import ROOT

TEXT = "please hand in your travel costs for march with all receipts to the office upstairs by friday noon"
TEXTS = [TEXT, f"{TEXT} today", TEXT, "lunch is at noon in the canteen"]


def commands(page: str) -> list[list[str]]:
    """The commands in the tables of a page."""
    text = (ROOT / "docs" / "howto" / page).read_text(encoding="utf-8")
    rows = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    return [shlex.split(line)[1:] for line in re.findall(r"`(neardup [^`]+)`", rows) if "plan" not in line]


def shard(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@pytest.mark.parametrize(("number", "kept"), [(0, 2), (1, 3), (2, 3)])
def test_the_commands_for_text_dedup(run: Run, tmp_path: Path, number: int, kept: int) -> None:
    (tmp_path / "folder").mkdir()
    shard(tmp_path / "folder" / "a.jsonl", TEXTS)
    places = {"FOLDER": str(tmp_path / "folder"), "OUT": str(tmp_path / "out")}
    line = [places.get(word, word) for word in commands("from-text-dedup.md")[number]]
    done = run(*line)
    assert done.status == 0, done.err
    lines = (tmp_path / "out" / "kept.jsonl").read_text().splitlines()
    assert len(lines) == kept


def test_threshold_one_removes_what_differs_in_signs_alone(run: Run, tmp_path: Path) -> None:
    """The page says so of its third command; ``exact_hash`` keeps such texts."""
    shard(tmp_path / "a.jsonl", [TEXT, TEXT.upper(), f"{TEXT}!", f"{TEXT} 2"])
    line = commands("from-text-dedup.md")[2]
    places = {"FOLDER": str(tmp_path / "a.jsonl"), "OUT": str(tmp_path / "out")}
    assert run(*(places.get(word, word) for word in line)).status == 0
    kept = [json.loads(row)["text"] for row in (tmp_path / "out" / "kept.jsonl").read_text().splitlines()]
    assert kept == [TEXT, f"{TEXT} 2"]


OF_BOTH_PAGES = commands("from-datatrove.md") + commands("from-text-dedup.md")
PASSAGES = [line for line in OF_BOTH_PAGES if line[0] in ("passages", "decontaminate")]


@pytest.mark.parametrize("line", PASSAGES, ids=" ".join)
def test_the_commands_for_passages_and_test_items(run: Run, tmp_path: Path, line: list[str]) -> None:
    (tmp_path / "train").mkdir()
    long = " ".join(f"word{number}" for number in range(60))
    shard(tmp_path / "train" / "a.jsonl", [f"{long}.\n{TEXT}.\n", f"{TEXT}.\nAnother {long}."])
    shard(tmp_path / "tests.jsonl", [TEXT])
    places = {"FOLDER": "train", "SHARDS": "train", "TESTS": "tests.jsonl", "OUT": "out"}
    done = run(*(str(tmp_path / places[word]) if word in places else word for word in line))
    assert done.status == 0, done.err
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"run.json"} < written
    if "--cut" in line:
        (kept,) = (tmp_path / "out").rglob("kept*.jsonl")
        assert len(kept.read_text()) < len((tmp_path / "train" / "a.jsonl").read_text())


def test_the_commands_for_datatrove(run: Run, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    shard(shards / "a.jsonl", TEXTS[:2])
    shard(shards / "b.jsonl", TEXTS[2:])
    first, merge, last, whole = commands("from-datatrove.md")[:4]

    def at(line: list[str], name: str, part: str) -> list[str]:
        changed = {"FP/part-07": f"FP/{part}", "SHARDS": "shards", "cleaned/SHARD": f"cleaned/{name}"}
        changed["SHARD"] = f"shards/{name}.jsonl"
        folders = {"FP", "shards", "merged", "cleaned", "whole"}
        words = [changed.get(word, word) for word in line]
        return [str(tmp_path / word) if word.split("/")[0] in folders else word for word in words]

    for name, part in (("a", "part-00"), ("b", "part-01")):
        assert run(*at(first, name, part)).status == 0
    parts = [str(tmp_path / "FP" / part) for part in ("part-00", "part-01")]
    spread = [piece for word in at(merge, "", "") for piece in (parts if word.endswith("FP/part-*") else [word])]
    assert run(*spread).status == 0
    (tmp_path / "cleaned").mkdir()
    stay = []
    for name in ("a", "b"):
        done = run(*at(last, name, ""))
        assert done.status == 0, done.err
        stay += (tmp_path / "cleaned" / name / "kept.jsonl").read_text().splitlines()
    whole = ["whole" if word == "cleaned" else word for word in whole]
    assert run(*at(whole, "", "")).status == 0
    together = sorted((tmp_path / "whole").rglob("kept*"))
    files = [
        path for place in together for path in ([place] if place.is_file() else sorted(place.rglob("*.jsonl")))
    ]
    assert [line for path in files for line in path.read_text().splitlines()] == stay
    assert len(stay) == 2
