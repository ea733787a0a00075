"""The lists, exports and copies of a collection that people ask for on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from neardup.collection import Collection
from support.command_line import Run
from support.messages import has_parts

HARBOUR = "the harbour office asks for the keys of the blue shed by noon and for the book of the tides"
TEXTS = {
    "a": HARBOUR,
    "b": f"{HARBOUR} today",
    "c": "please pay the invoice of the printer",
    "d\n\x1b[31m": HARBOUR,
}
YEARS = {"a": 2020, "b": 2021, "c": 2020, "d\n\x1b[31m": 2022}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mail.neardup"
    with Collection(path) as made:
        made.add([{"id": id, "text": text, "metadata": {"year": YEARS[id]}} for id, text in TEXTS.items()])
    return path


def test_a_page_of_the_list_leads_to_the_next(run: Run, path: Path) -> None:
    first = run("collection", "list", path, "--limit", 2)
    assert first.out.splitlines() == [
        'a  20 tokens  {"year": 2020}',
        'b  21 tokens  {"year": 2021}',
        "more: --after 2",
    ]
    rest = run("collection", "list", path, "--limit", 2, "--after", 2)
    assert [line.split("  ")[0] for line in rest.out.splitlines()] == ["c", r"d\n\x1b[31m"]
    pages = [
        json.loads(run("collection", "list", path, "--limit", 2, "--after", after, "--json").out)
        for after in (0, 2)
    ]
    assert [one["id"] for page in pages for one in page["documents"]] == list(TEXTS)
    assert pages[1]["next"] is None


def test_documents_without_a_group_are_compared_afterwards(run: Run, path: Path) -> None:
    assert f"neardup collection groups {path} --complete" in run("collection", "groups", path).out
    done = run("collection", "groups", path, "--complete", "--threshold", "80%")
    assert done.status == 0
    assert has_parts(done.out.splitlines()[0], "4 documents", "2 near another", "recall 0.9900", "2 linked")
    [group] = json.loads(run("collection", "groups", path, "--json").out)["groups"]
    assert sorted(member["id"] for member in group["members"]) == ["a", "b", "d\n\x1b[31m"]
    again = run("collection", "groups", path, "--complete")
    assert has_parts(again.out, "1 document", "0 near another")
    assert run("collection", "groups", path, "--regroup", "--threshold", 1).out.startswith("1 group brought")
    assert run("collection", "groups", path, "--regroup", "--threshold", 0.8).out.startswith("1 group brought")
    assert json.loads(run("collection", "groups", path, "--json").out)["groups"][0]["id"] == 1
    for wrong in (("--complete", "--threshold", 0.8), ()):
        assert run("collection", "groups", path, "--regroup", *wrong).status == 2


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_documents_are_exported_whole(run: Run, path: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"all.{form}"
    assert run("export", path, "-o", out, "--what", "documents").status == 0
    if form == "jsonl":
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n") if line]
    else:
        rows = pq.read_table(out).to_pylist()
    assert {row["id"]: row["text"] for row in rows} == TEXTS
    assert run("export", path, "-o", out, "--what", "documents").status == 2, "an export replaces nothing unasked"


def test_a_backup_is_a_collection_of_its_own(run: Run, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.neardup"
    assert run("collection", "backup", path, copy).status == 0
    with Collection(path) as first:
        first.remove("a")
    with Collection(copy, readonly=True) as second:
        assert list(second) == list(TEXTS)
        assert second.check() == []
    refused = run("collection", "backup", path, copy)
    assert refused.status == 2
    assert f"{copy} exists already" in refused.err
