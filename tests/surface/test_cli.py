"""The commands, seen from outside."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.command_line import BASE, ROWS, Run, run_json, write_rows
from support.messages import has_parts

TABLES = ["copies.parquet", "groups.parquet", "not_judged.parquet", "pairs.parquet", "ranks.parquet"]
ALWAYS = [*TABLES, "run.json"]


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def fates(out: Path) -> dict[str, tuple[str, bool]]:
    return {row["id"]: (row["group"], row["kept"]) for row in rows(out / "groups.parquet")}


def test_dedup_writes_what_stays_and_the_evidence(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("dedup", mails, "-o", out)
    assert (result.status, result.err) == (0, "")
    assert {path.name for path in out.iterdir()} >= {*ALWAYS, "kept.jsonl"}
    lines = mails.read_text(encoding="utf-8").splitlines(keepends=True)
    assert (out / "kept.jsonl").read_text(encoding="utf-8") == lines[0] + lines[3]
    assert fates(out) == {"a": ("a", True), "b": ("a", False), "c": ("a", False)}
    [copy] = rows(out / "copies.parquet")
    assert (copy["id"], copy["copy_of"], copy["identical_to"]) == ("c", "a", None)
    (pair,) = rows(out / "pairs.parquet")
    assert [pair[name] for name in ("id_a", "id_b", "shared", "size_a", "size_b")] == ["a", "b", 95, 96, 96]
    assert run_json(out)["action"] == "dedup"


def test_dedup_summary_says_what_happened(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = dict(line.split("  ", 1) for line in run("dedup", mails, "-o", out).out.splitlines() if "  " in line)
    said = {label: text.strip() for label, text in said.items()}
    assert said["documents"] == "4 read"
    assert said["exact copies"].startswith("1 (0 identical, 1 ")
    assert (said["near copies"], said["groups"]) == ("1", "1")
    assert said["removed"].startswith("2 documents (50.0 %), ")
    assert said["kept"] == "2"
    assert {"recall", "time", "memory"} <= set(said)


def test_commands_do_not_wait_for_pandas() -> None:
    assert find_spec("pandas"), "Arrow imports it to convert a value"
    code = """
import runpy, sys
sys.argv = ["neardup", "demo"]
try:
    runpy.run_module("neardup", run_name="__main__", alter_sys=True)
except SystemExit:
    assert "pyarrow" in sys.modules
    assert "pandas" not in sys.modules
import pandas  # hidden only while the command ran
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.PIPE).returncode == 0


def test_group_removes_nothing(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("group", mails, "-o", out)
    assert result.status == 0
    assert {path.name for path in out.iterdir()} >= set(ALWAYS)
    assert not list(out.glob("kept.*"))
    assert fates(out) == {"a": ("a", True), "b": ("a", True), "c": ("a", True)}
    assert "removed" not in result.out


def test_annotate_writes_every_document_with_its_group(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("dedup", mails, "-o", out, "--annotate").status == 0
    written = [json.loads(line) for line in (out / "kept.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in written] == ["a", "b", "c", "d"]
    assert [row["group"] for row in written] == ["a", "a", "a", None]


def test_keep_chooses_the_representative(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("dedup", mails, "-o", out, "--keep", "max:year").err == ""
    assert fates(out) == {"b": ("b", True), "a": ("b", False), "c": ("b", False)}


def test_only_contained_spares_what_the_kept_one_does_not_hold(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("dedup", mails, "-o", out, "--only-contained", "1").err == ""
    assert fates(out) == {"a": ("a", True), "b": ("a", True), "c": ("a", False)}


def test_against_removes_what_is_known_already(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    new = write_rows(tmp_path / "new.jsonl", [{"id": "n", "text": ROWS[1]["text"]}, {"id": "m", "text": "fresh"}])
    assert run("dedup", new, "--against", mails, "-o", out).status == 0
    kept = [json.loads(line)["id"] for line in (out / "kept.jsonl").read_text(encoding="utf-8").splitlines()]
    assert kept == ["m"]


def test_dry_run_shows_the_groups_and_writes_nothing(run: Run, mails: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    result = run("dedup", mails, "--dry-run")
    assert result.status == 0
    assert sorted(tmp_path.rglob("*")) == before
    listed = result.out.split("\n\n")[0].splitlines()[-3:]
    fates = [line.split()[:3] for line in listed]
    assert fates == [["to", "keep", "a"], ["to", "remove", "b"], ["to", "remove", "c"]]
    assert "removed" not in result.out
    assert "kept" not in result.out
    by = run("dedup", mails, "--dry-run", "--by", "id")
    assert not {"removed", "kept", "by.parquet"} & set(by.out.replace(";", "").split())
    assert by.out.split()[:2] == ["by", "id"]
    group = run("group", mails, "--dry-run").out
    assert "remove" not in group
    assert has_parts(result.out, "near copy of a", "0.979 (shared 95 of 96 + 96 shingles)")
    assert "exact copy of a" in result.out
    assert result.out.endswith("written       nothing (dry run)\n")


@pytest.mark.parametrize("command", ["dedup", "group"])
def test_json_prints_the_run_and_nothing_else(run: Run, mails: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    printed = json.loads(run(command, mails, "-o", out, "--json").out)
    written = run_json(out)
    assert printed["action"] == written["action"] == command
    assert printed["counts"] == written["counts"]
    assert printed["out"] == str(out)
    assert printed["files"] == sorted(path.name for path in out.iterdir())


def test_json_of_a_dry_run_names_no_files(run: Run, mails: Path) -> None:
    printed = json.loads(run("dedup", mails, "--dry-run", "--json").out)
    assert (printed["out"], printed["files"]) == (None, [])


def test_rejected_rows_are_counted_listed_and_change_the_status(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with mails.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    result = run("dedup", mails, "-o", out)
    assert result.status == 1
    assert re.search("warning: 1 row rejected; problems.jsonl in .* lists it", result.err)
    assert "The first:" in result.err
    (problem,) = (out / "problems.jsonl").read_text(encoding="utf-8").splitlines()
    assert set(json.loads(problem)) >= {"source", "row", "reason"}


def test_overwrite_replaces_the_folder(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("group", mails, "-o", out)
    assert run("dedup", mails, "-o", out).status == 2
    assert run("dedup", mails, "-o", out, "--overwrite").status == 0
    assert (out / "kept.jsonl").exists()


def test_demo_explains_every_group(run: Run) -> None:
    result = run("demo")
    assert result.status == 0
    assert "exact copy of" in result.out
    assert "near copy of" in result.out
    assert "What to try next:" in result.out


def test_demo_json_is_the_run(run: Run) -> None:
    assert json.loads(run("demo", "--json").out)["counts"]["read"] > 0


def test_plan_draws_the_curve(run: Run) -> None:
    result = run("plan", "--threshold", "0.8")
    assert result.status == 0
    assert "bands   19: 14 of 7 rows, 5 of 6 rows; 128 slots, all used" in result.out
    assert "       0.8    0.9918  ########################################  <- threshold" in result.out


def test_plan_json_holds_the_bands(run: Run) -> None:
    assert sum(json.loads(run("plan", "--sketch", "one-permutation:64", "--json").out)["bands"]) == 64


def test_version_is_the_installed_one(run: Run) -> None:
    from importlib.metadata import version

    assert run("--version").out == f"neardup {version('neardup')}\n"


def test_a_reader_that_stops_reading_ends_the_command_in_silence() -> None:
    reading, writing = os.pipe()
    os.close(reading)  # before the command writes
    command = [sys.executable, "-m", "neardup", "plan"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_dry_run_ends_as_the_run_would_and_quiet_hides_no_warning(run: Run, mails: Path, tmp_path: Path) -> None:
    words = ("dedup", mails, "-o", tmp_path / "out", "--most-removed", "0.1", "--quiet")
    for given in (words, (*words, "--dry-run")):
        result = run(*given)
        assert result.status == 2
        assert has_parts(result.err, "would go", "10.0 %", "--most-removed")
    assert "to remove" in result.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["neardup.deduplication.runs.run", "neardup.deduplication.runs.fill"])
def test_interrupted_means_nothing_was_written(
    run: Run, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupted(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    result = run("dedup", mails, "-o", tmp_path / "out")
    assert (result.status, result.out, result.err) == (130, "", "interrupted, nothing was written\n")
    assert not (tmp_path / "out").exists()


def test_the_largest_groups_name_their_folder_once(run: Run, tmp_path: Path) -> None:
    """And the versions in it: an id is never cut at its end."""
    for version in (1, 2):
        path = tmp_path / "in" / "contracts" / "2403" / f"agreement_of_the_harbour_2403_v{version}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{BASE} {version}")
    lines = run(tmp_path / "in").out.splitlines()
    assert lines[0] == "2 documents in contracts/2403/"
    assert [line.split()[1][-6:] for line in lines[1:3]] == ["v1.txt", "v2.txt"]
