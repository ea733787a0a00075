"""Where the kept documents go: files like those of the input, files of one size, values, standard output."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup
from neardup.io.decisions.records import FateOf
from neardup.io.decisions.store import DecisionStore
from neardup.io.writers import kept_layout
from support.command_line import BASE, NEAR, OTHER, ROWS, Run, run_json, write_rows
from support.messages import has_parts


def many(letter: str, count: int) -> list[dict[str, Any]]:
    words = [f"{letter}{number}" for number in range(40)]
    return [
        {
            "id": f"{letter}-{i}",
            "text": " ".join([*words[:-1], f"end{i % 3}", f"{letter}{i // 3}"] * 2),
            "lang": letter,
        }
        for i in range(count)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two languages in three files, the same names in two folders, one compressed."""
    place = tmp_path / "data"
    for lang in ("de", "fr"):
        (place / f"lang={lang}").mkdir(parents=True)
    write_rows(place / "lang=de" / "a.jsonl", ROWS[:2])
    write_rows(place / "lang=fr" / "a.jsonl", ROWS[2:3])
    lines = (json.dumps(row) + "\n" for row in [ROWS[3], {"id": "e", "text": OTHER + " more", "year": 1}])
    (place / "lang=fr" / "b.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    return place


def test_several_files_keep_their_names_and_their_bytes(run: Run, folder: Path, tmp_path: Path) -> None:
    result = run("dedup", folder, "-o", tmp_path / "out", "--threshold", "0.7")
    assert result.status == 0, result.err
    assert "kept (3 files)" in " ".join(result.out.split())
    kept = tmp_path / "out" / "kept"
    first = (folder / "lang=de" / "a.jsonl").read_bytes().splitlines(keepends=True)[0]
    assert (kept / "lang=de" / "a.jsonl").read_bytes() == first
    assert (kept / "lang=fr" / "a.jsonl").read_bytes() == b""  # all its rows went
    rest = gzip.decompress((kept / "lang=fr" / "b.jsonl.gz").read_bytes())
    assert [json.loads(line)["id"] for line in rest.splitlines()] == ["e"]
    told = run_json(tmp_path / "out")["kept_files"]
    assert told["form"] == "as the input"
    assert [(one["file"], one["rows"]) for one in told["listed"]] == [
        ("kept/lang=de/a.jsonl", 1),
        ("kept/lang=fr/a.jsonl", 0),
        ("kept/lang=fr/b.jsonl.gz", 1),
    ]
    again = run("dedup", kept, "-o", tmp_path / "again")
    assert again.status == 0, again.err
    assert run_json(tmp_path / "again")["counts"]["read"] == 2


def test_results_of_several_files_can_be_loaded_shown_replaced_and_passed_over(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    out = folder / "out"
    assert run("dedup", folder, "-o", out, "--threshold", "0.7").status == 0
    assert neardup.load(out).why("b").group == "a"
    assert "removed" in run("show", out, "b").out
    assert run("report", out, "-o", tmp_path / "page.html").status == 0
    again = run("dedup", folder, "-o", out, "--threshold", "0.7", "--overwrite")
    assert again.status == 0, again.err
    assert run_json(out)["counts"]["read"] == 5
    (out / "kept" / "lang=de" / "mine.txt").write_text("mine")
    refused = run("dedup", folder, "-o", out, "--overwrite")
    assert refused.status == 2
    assert has_parts(refused.err, "in kept are not", "neardup has written")


def test_a_reviewed_result_has_the_files_of_its_input(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("dedup", folder, "-o", out, "--threshold", "0.7").status == 0
    with DecisionStore(out) as store:
        store.act([FateOf("c", "keep")], by="me", what="keep c")
    final = run("apply", out, "-o", tmp_path / "final")
    assert final.status == 0, final.err
    kept = tmp_path / "final" / "kept"
    assert (kept / "lang=de" / "a.jsonl").read_bytes() == (out / "kept" / "lang=de" / "a.jsonl").read_bytes()
    assert (kept / "lang=fr" / "a.jsonl").read_bytes() == (folder / "lang=fr" / "a.jsonl").read_bytes()
    assert [one["rows"] for one in run_json(tmp_path / "final")["kept_files"]["listed"]] == [1, 1, 1]
    stream = run("apply", out, "-o", "-")
    assert [json.loads(line)["id"] for line in stream.out.splitlines()] == ["a", "c", "e"]


def test_annotate_and_count_follow_each_file(run: Run, folder: Path, tmp_path: Path) -> None:
    result = run("dedup", folder, "-o", tmp_path / "out", "--annotate", "--count", "--threshold", "0.7")
    assert result.status == 0, result.err
    rows = [
        json.loads(line) for line in (tmp_path / "out" / "kept" / "lang=de" / "a.jsonl").read_text().splitlines()
    ]
    assert [(row["id"], row["group"], row["copies"]) for row in rows] == [("a", "a", 2), ("b", "a", None)]
    assert all("lang" not in row for row in rows)  # the name of the folder has it


@pytest.mark.parametrize("size", ["0", "much", "-1MB", "5"])
def test_sizes_that_are_none(run: Run, mails: Path, tmp_path: Path, size: str) -> None:
    result = run("dedup", mails, "-o", tmp_path / "out", f"--file-size={size}")
    if size == "5":  # gigabytes
        assert [path.name for path in (tmp_path / "out" / "kept").iterdir()] == ["kept-00000.jsonl"]
        return
    assert result.status == 2
    assert has_parts(result.err, f"--file-size is '{size}'", "Allowed: ", "500MB")


@pytest.mark.parametrize("open_files", [64, 1])
def test_by_equals_a_run_for_each_value(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_files: int
) -> None:
    monkeypatch.setattr(kept_layout, "OPEN_FILES", open_files)
    loose = ("--threshold", "0.6")
    rows = [*many("x", 20), *many("y", 12), {"id": "n", "text": BASE, "lang": None}]
    mixed = sorted(rows, key=lambda row: str(row["text"]))
    copied = [*mixed, {**mixed[0], "id": "other", "lang": "z"}]  # a copy in another language stays
    write_rows(tmp_path / "all.jsonl", copied)
    result = run("dedup", tmp_path / "all.jsonl", "-o", tmp_path / "out", "--by", "lang", *loose)
    assert result.status == 0, result.err
    told = run_json(tmp_path / "out")["by"]
    assert told["column"] == "lang"
    assert pq.read_table(tmp_path / "out" / "by.parquet").to_pylist() == told["listed"]
    by_value = {one["value"]: one for one in told["listed"]}
    assert list(by_value) == ["x", "y", None, "z"]
    for lang in ("x", "y", "z"):
        write_rows(tmp_path / f"{lang}.jsonl", [row for row in copied if row["lang"] == lang])
        assert run("dedup", tmp_path / f"{lang}.jsonl", "-o", tmp_path / lang, *loose).status == 0
        kept = tmp_path / "out" / "kept" / f"lang={lang}" / "kept.jsonl"
        assert kept.read_bytes() == (tmp_path / lang / "kept.jsonl").read_bytes()
        counts = run_json(tmp_path / lang)["counts"]
        assert {name: by_value[lang][name] for name in by_value[lang] if name != "value"} == {
            name: counts[name] for name in by_value[lang] if name != "value"
        }
    assert by_value["x"]["removed"] > 0
    null = tmp_path / "out" / "kept" / "lang=__HIVE_DEFAULT_PARTITION__" / "kept.jsonl"
    assert json.loads(null.read_text())["id"] == "n"
    table = " ".join(result.out.split())
    assert has_parts(table, "by lang", "read kept removed groups pairs")
    assert f"x 20 {by_value['x']['kept']}" in table
    assert "(no value) 1 1 0" in table


def test_by_with_several_files_and_with_sizes(run: Run, tmp_path: Path) -> None:
    for name in ("x", "y"):
        write_rows(tmp_path / f"{name}.jsonl", [*many(name, 9), *many("z", 3)])
    inputs = (tmp_path / "x.jsonl", tmp_path / "y.jsonl")
    assert run("dedup", *inputs, "--id", "lang", "--dry-run").status == 2  # not unique
    ids = ("--text", "text", "--by", "lang")
    assert run("dedup", *inputs, "-o", tmp_path / "out", *ids).status == 0
    assert sorted(path.name for path in (tmp_path / "out" / "kept").iterdir()) == ["x.jsonl", "y.jsonl"]
    assert run_json(tmp_path / "out")["by"]["values"] == 3
    result = run("dedup", *inputs, "-o", tmp_path / "sized", *ids, "--file-size", "1KB")
    assert result.status == 0, result.err
    assert (tmp_path / "sized" / "kept" / "lang=x" / "kept-00001.jsonl").exists()
    dry = run("group", *inputs, *ids, "--dry-run")
    assert "by lang" in dry.out
    stricter = run("regroup", tmp_path / "out", "--threshold", "0.95", "-o", tmp_path / "strict")
    assert stricter.status == 0, stricter.err
    assert "by" not in run_json(tmp_path / "strict")
    missing = run("dedup", *inputs, "--by", "lange", "--dry-run")
    assert missing.status == 2
    assert 'Did you mean "lang"?' in missing.err


def test_standard_output_has_the_kept_lines_and_nothing_else(run: Run, mails: Path, folder: Path) -> None:
    result = run("dedup", mails, "-o", "-", "--threshold", "0.7")
    lines = mails.read_text().splitlines(keepends=True)
    assert result.status == 0, result.err
    assert result.out == lines[0] + lines[3]
    assert has_parts(result.err, "2 rows", "standard output")
    assert "near copies" in result.err
    summary = run("dedup", mails, "-o", "-", "--json")
    assert summary.out.count("\n") == len(summary.out.splitlines()) == 2
    assert json.loads(summary.err[summary.err.index("{") :])["out"] == "-"
    everything = run("dedup", mails, "-o", "-", "--annotate", "--count")
    assert [json.loads(line)["group"] for line in everything.out.splitlines()] == ["a", "a", "a", None]


def test_documents_that_are_files_in_a_stream(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, text in (("a.txt", BASE), ("b.txt", NEAR), ("c.txt", OTHER)):
        (tmp_path / "in" / name).write_text(text)
    result = run("dedup", tmp_path / "in", "-o", "-")
    assert [json.loads(line) for line in result.out.splitlines()] == [
        {"id": "a.txt", "text": BASE},
        {"id": "c.txt", "text": OTHER},
    ]


def test_problems_count_in_the_status_of_a_stream(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROWS[0]) + "\nno json\n" + json.dumps(ROWS[3]) + "\n")
    result = run("dedup", tmp_path / "a.jsonl", "-o", "-")
    assert result.status == 1
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["a", "d"]
    assert "1 row rejected." in result.err


@pytest.mark.parametrize("options", [("--resume",), ("--store-texts",), ("--overwrite",), ("--file-size", "1MB")])
def test_options_that_need_a_folder(run: Run, mails: Path, options: tuple[str, ...]) -> None:
    result = run("dedup", mails, "-o", "-", *options)
    assert result.status == 2
    assert f"{options[0]} cannot be given with -o -" in result.err
    assert result.out == ""


def test_a_group_has_no_kept_rows_to_stream(run: Run, mails: Path) -> None:
    result = run("group", mails, "-o", "-")
    assert result.status == 2
    assert has_parts(result.err, "neardup group", "no rows")


def test_a_pipe_that_ends_early_is_quiet(tmp_path: Path) -> None:
    rows = [{"id": i, "text": f"{i} " + " ".join(f"w{i}-{k}" for k in range(200))} for i in range(400)]
    write_rows(tmp_path / "a.jsonl", rows)
    command = [sys.executable, "-m", "neardup", "dedup", str(tmp_path / "a.jsonl"), "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["id"] == 0
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait() == 141  # as of a program that the signal ends
    assert "Traceback" not in said
    assert "error" not in said.lower()


def test_the_number_of_kept_documents_is_that_of_their_files(run: Run, tmp_path: Path) -> None:
    for name, text in (("a", BASE), ("b", NEAR), ("c", OTHER), ("d/e", OTHER + " more words")):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / f"{name}.txt").write_text(text)
    result = run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--threshold", "0.95")
    files = [path for path in (tmp_path / "out" / "kept").rglob("*") if path.is_file()]
    assert f"kept ({len(files)} files)" in " ".join(result.out.split())
    assert run_json(tmp_path / "out")["kept_files"]["files"] == len(files) == 2
