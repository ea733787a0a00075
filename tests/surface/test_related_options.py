"""The options that say who may remove whom, what stays, and what the kept documents stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from support.command_line import Run, write_rows
from support.messages import has_parts

FOX = "the quick brown fox jumps over the lazy dog and runs far away from all the others in the forest"
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": FOX, "split": "train", "site": "x", "fine": True, "score": 1.5, "tags": [1]},
    {"id": "b", "text": FOX, "split": "train", "site": "y", "fine": False, "score": 1, "tags": []},
    {"id": "c", "text": f"{FOX} today", "split": "test", "site": "x", "fine": True, "score": 2.5, "tags": [2]},
    {"id": "d", "text": f"{FOX} again", "split": None, "site": "", "fine": None, "score": None, "tags": []},
    {"id": "e", "text": "nothing like the others", "split": "test", "site": "z", "fine": True, "score": 0.5},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl", ROWS)


def kept(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "kept.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ([], "ce"),
        (["--within", "split"], "acde"),
        (["--within", "fine"], "bcde"),
        (["--within", "split", "--within", "site"], "abcde"),
        (["--across", "split", "--keep", "order:split=test,train"], "ce"),
        (["--across", "split", "--keep", "order:split=train,test"], "abe"),
        (["--keep", "none"], "e"),
        (["--across", "fine", "--within", "site", "--keep", "none"], "abcde"),
        (["--keep", "order:site=y", "--keep", "longest"], "be"),
    ],
)
def test_the_documents_that_stay(run: Run, rows: Path, tmp_path: Path, options: list[str], left: str) -> None:
    said = run("dedup", rows, "-o", tmp_path / "out", "--threshold", "0.88", *options)
    assert said.status == 0, said.err
    assert "".join(row["id"] for row in kept(tmp_path / "out")) == left


def test_the_summary_says_what_was_compared(run: Run, rows: Path) -> None:
    said = run("dedup", rows, "--dry-run", "--within", "split", "--across", "site").out
    assert has_parts(said, "within 3 values", '"split"; 1 document')
    assert has_parts(said, "across 4 values", '"site"; 1 document')


def test_a_listed_value_that_no_document_has_is_noted(run: Run, rows: Path) -> None:
    said = run("dedup", rows, "--dry-run", "--keep", "order:split=tset,train").out
    assert has_parts(said, "--keep order: no document", "'tset'", '"split"')


def test_the_reasons_say_why_whole_families_go_and_copies_stay(run: Run, rows: Path, tmp_path: Path) -> None:
    assert run("dedup", rows, "-o", tmp_path / "none", "--keep", "none").status == 0
    reasons = {row["id"]: row["reason"] for row in nd.load(tmp_path / "none").removed.to_pylist()}
    assert has_parts(reasons["c"], "represents 3 other", "keep is none")
    options = ("--across", "split", "--keep", "first")
    assert run("dedup", rows, "-o", tmp_path / "across", *options).status == 0
    assert has_parts(str(nd.load(tmp_path / "across").why("b")), "b is kept", "copy of a", "kept: across")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--within", "slpit"], 'There is no column "slpit"'),
        (["--within", "score"], '--within: the column "score" holds numbers with decimals'),
        (["--across", "tags"], '--across: the column "tags" holds values of other types, such as lists'),
        (["--keep", "order:score=1"], '--keep: the column "score" holds numbers with decimals'),
        (["--keep", "order:nix=1"], 'There is no column "nix"'),
        (["--count", "--sources", "tags"], '--sources: the column "tags" holds values of other types'),
        (["--sources", "site"], "sources is 'site' without count"),
        (["--keep", "order:split"], "keep is 'order:split'"),
        (["--keep", "none", "--groups", "complete"], "groups is 'complete' and keep is 'none'"),
    ],
)
def test_a_column_that_does_not_fit_is_an_error_before_the_work(
    run: Run, rows: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    found = run("dedup", rows, "-o", tmp_path / "out", *options)
    assert found.status == 2
    assert found.err.startswith(f"error: {said}")
    assert "\n       Allowed: " in found.err
    assert not (tmp_path / "out").exists()


def test_the_reference_set_needs_the_column_too(run: Run, rows: Path, tmp_path: Path) -> None:
    old = write_rows(tmp_path / "old.jsonl", [{"id": "o", "text": FOX}])
    for option in ("--within", "--across"):
        found = run("dedup", rows, "--against", old, "--dry-run", option, "split")
        assert has_parts(found.err, "error: ", 'no column "split"', "reference set\n")
    other = write_rows(tmp_path / "other.jsonl", [{"id": "o", "text": FOX, "split": "train"}])
    assert run("dedup", rows, "--against", other, "-o", tmp_path / "out", "--within", "split").status == 0
    assert [row["id"] for row in kept(tmp_path / "out")] == ["c", "d", "e"]


def test_the_reference_set_stays_when_families_go(run: Run, rows: Path, tmp_path: Path) -> None:
    old = write_rows(tmp_path / "old.jsonl", [{"id": "o", "text": f"{FOX} again"}])
    assert run("dedup", rows, "--against", old, "-o", tmp_path / "out", "--keep", "none").status == 0
    assert [row["id"] for row in kept(tmp_path / "out")] == ["e"]
    fates = {row["id"]: row["kept"] for row in nd.load(tmp_path / "out").groups.to_pylist()}
    assert fates == {"o": True, "a": False, "b": False, "c": False, "d": False}
    assert set(nd.load(tmp_path / "out").removed["kept_id"].to_pylist()) == {"o"}


COUNTED = {
    "c": {"copies": 3, "exact_copies": 0, "near_copies": 3, "sources": ["x", "y"]},
    "e": {"copies": 0, "exact_copies": 0, "near_copies": 0, "sources": ["z"]},
}


def test_counts_are_added_to_the_kept_rows(run: Run, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("dedup", rows, "-o", out, "--count", "--sources", "site").status == 0
    assert {row["id"]: {name: row[name] for name in COUNTED["c"]} for row in kept(out)} == COUNTED


def test_a_folder_of_texts_has_its_counts_in_the_groups(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for row in ROWS:
        (tmp_path / "in" / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--count").status == 0
    groups = pq.read_table(tmp_path / "out" / "groups.parquet").to_pylist()
    assert [(row["id"], row["size"], row["copies"]) for row in groups if row["kept"]] == [("c.txt", 4, 3)]


def test_counts_and_annotations_come_together(run: Run, rows: Path, tmp_path: Path) -> None:
    assert run("dedup", rows, "-o", tmp_path / "out", "--annotate", "--count").status == 0
    written = {row["id"]: row for row in kept(tmp_path / "out")}
    assert [(row["group"], row["copies"]) for row in written.values()] == [
        *(("c", None), ("c", None), ("c", 3), ("c", None)),
        (None, 0),
    ]


def test_a_column_of_that_name_is_an_error_before_the_work(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{**ROWS[0], "copies": 1}])
    found = run("dedup", path, "-o", tmp_path / "out", "--count")
    assert found.status == 2
    assert has_parts(found.err, "error: ", 'column "copies" already\n')
    assert run("dedup", path, "-o", tmp_path / "out").status == 0


def test_group_counts_what_each_representative_would_stand_for(run: Run, rows: Path, tmp_path: Path) -> None:
    assert run("group", rows, "-o", tmp_path / "out", "--count", "--sources", "site").status == 0
    groups = nd.load(tmp_path / "out").groups.to_pylist()
    assert all(row["kept"] for row in groups)
    assert [(row["id"], row["copies"], row["sources"]) for row in groups if row["representative"]] == [
        ("c", 3, ["x", "y"])
    ]


def test_groups_always_have_their_sizes(run: Run, rows: Path, tmp_path: Path) -> None:
    assert run("dedup", rows, "-o", tmp_path / "out").status == 0
    found = nd.load(tmp_path / "out")
    assert found.groups["size"].to_pylist() == [4, 4, 4, 4]
    assert found.at(0.91).groups["size"].to_pylist() == [3, 3, 3]


def test_values_of_files_with_other_types_are_compared_as_text() -> None:
    new = pa.table({"id": ["n"], "text": [FOX], "box": [5]})
    old = pa.table({"id": ["o", "p"], "text": [FOX, FOX], "box": ["6", "5"]})
    assert nd.find(new, against=old, within="box").removed["kept_id"].to_pylist() == ["p"]


def test_an_empty_string_is_a_missing_value() -> None:
    both = pa.table({"id": ["n", "o"], "text": [FOX, FOX], "box": ["", None]})
    assert nd.find(both, within="box").groups.num_rows == 2
    assert nd.find(both, across="box").groups.num_rows == 0
