"""The two classes of exact copies in a process: counts, reasons, tables, `--copies`, the text lost."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.copy_differences import UNREAD
from neardup.deduplication.run.show import summary
from support.command_line import Run, run_json, write_rows

BALANCE = "Balance of the harbour café at the end of May: {} when the rate is {} 3 % of the sum"
ROWS = [
    {"id": "plus", "text": BALANCE.format("5,000.00", "<")},
    {"id": "minus", "text": BALANCE.format("-5,000.00", ">")},
    {
        "id": "lines",
        "text": " " + unicodedata.normalize("NFD", BALANCE.format("5,000.00", "<")).replace(" ", "\r\n "),
    },
    {"id": "again", "text": BALANCE.format("-5,000.00", ">")},
    {"id": "other", "text": "Nothing in this text is about money, and nobody would take it for a copy"},
]
COUNTS, NO_WORD, NO_TEXT = (
    "3 (2 identical, 1 with the same words)",
    "No word is lost with it",
    "No text is lost with it",
)
IDENTICAL, OF_ANOTHER = "exact copy of plus: identical", "exact copy of minus: identical, near copy of plus"
SAME_WORDS = "near copy of plus: resemblance 1.000; same words"
DIFFERENCE = "sign or operator: “-5,000.00” here, “5,000.00” there"
OF_SAME_WORDS = f"exact copy of plus: same words; {DIFFERENCE}"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    write_rows(path, ROWS)
    return path


def test_counts_reasons_and_tables_say_the_class(rows: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    said = run("dedup", rows, "-o", out)
    assert COUNTS in said.out
    assert "no word: " in said.out
    counts = run_json(out)["counts"]
    assert (counts["exact_copies"], counts["identical_copies"], counts["removed"]) == (3, 2, 3)
    copies = {row["id"]: row for row in pq.read_table(out / "copies.parquet").to_pylist()}
    assert {id: (row["copy_of"], row["identical_to"]) for id, row in copies.items()} == {
        "minus": ("plus", None),
        "lines": ("plus", "plus"),
        "again": ("plus", "minus"),
    }
    assert [copies[id]["difference"] for id in ("minus", "lines", "again")] == [DIFFERENCE, None, DIFFERENCE]
    groups = {row["id"]: row for row in pq.read_table(out / "groups.parquet").to_pylist()}
    assert groups["lines"]["reason"] == IDENTICAL
    assert groups["minus"]["reason"] == OF_SAME_WORDS
    assert [groups[id]["identical"] for id in ("plus", "lines", "minus", "again")] == [True, True, False, False]
    assert NO_WORD in " ".join(run("show", out, "minus").out.split())
    assert NO_TEXT in " ".join(run("show", out, "lines").out.split())


def test_identical_copies_alone_are_removed_by_that_alone(rows: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    assert run("dedup", rows, "-o", out, "--copies", "identical").status == 0
    account = run_json(out)
    assert account["settings"]["copies"] == "identical"
    assert (account["counts"]["exact_copies"], account["counts"]["identical_copies"]) == (2, 2)
    assert (account["counts"]["near_copies"], account["counts"]["pairs"]) == (1, 1)
    [pair] = pq.read_table(out / "pairs.parquet").to_pylist()
    assert (pair["id_a"], pair["id_b"], pair["resemblance"]) == ("plus", "minus", 1)
    reasons = {row["id"]: row["reason"] for row in pq.read_table(out / "groups.parquet").to_pylist()}
    assert reasons["minus"].startswith(SAME_WORDS)
    assert DIFFERENCE in reasons["minus"]
    assert reasons["again"].startswith(OF_ANOTHER)


def test_nothing_is_lost_only_if_all_removed_documents_are_identical() -> None:
    texts = [row["text"] for row in ROWS]
    assert "none: " in str(dict(summary(nd.find([texts[0], texts[2], texts[4]]).run))["text lost"])
    assert "no word: " in str(dict(summary(nd.find([texts[0], texts[1]]).run))["text lost"])


@pytest.mark.parametrize("keep", ["longest", "last"])
@pytest.mark.parametrize("copies", ["words", "identical"])
def test_a_stricter_threshold_and_a_stored_result_keep_the_classes(copies: str, keep: str, tmp_path: Path) -> None:
    found = nd.find(ROWS, text="text", id="id", copies=copies, keep=keep)
    stricter = nd.find(ROWS, text="text", id="id", copies=copies, keep=keep, threshold=0.95)
    found.save(tmp_path / "out")
    stored = nd.load(tmp_path / "out")
    for result in (found, stored):
        again = result.at(0.95)
        assert again.groups.equals(stricter.groups)
        assert again.copies.equals(stricter.copies)
        assert again.run.counts == stricter.run.counts


MARKS = ("5,000.00", "-5,000.00", "+5,000.00", "(5,000.00)")
VARIANTS = [{"id": f"r{k}", "text": BALANCE.format(mark, "<")} for k, mark in enumerate(MARKS)]


@pytest.mark.parametrize("copies", ["words", "identical"])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_every_reason_names_the_difference_from_the_document_that_it_names(
    copies: str, keep: str, tmp_path: Path, run: Run
) -> None:
    write_rows(tmp_path / "rows.jsonl", VARIANTS)
    out, kept = tmp_path / "out", 0 if keep == "first" else 3
    said = run("dedup", tmp_path / "rows.jsonl", "-o", out, "--copies", copies, "--keep", keep)
    assert said.status == 0
    stored, settings = nd.load(out), {"text": "text", "id": "id", "copies": copies, "keep": keep}
    for k in {0, 1, 2, 3} - {kept}:
        difference = f"“{MARKS[k]}” here, “{MARKS[kept]}” there"
        assert difference in " ".join(run("show", out, f"r{k}").out.split())
        assert difference in str(stored.why(f"r{k}"))
    assert stored.at(0.95).groups.equals(nd.find(VARIANTS, threshold=0.95, **settings).groups)


@pytest.mark.parametrize("copies", ["words", "identical"])
def test_parts_on_several_machines_have_the_classes_of_one_run(
    copies: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, some in (("a", ROWS[:2]), ("b", ROWS[2:])):
        write_rows(tmp_path / f"{name}.jsonl", some)
        assert run("fingerprint", f"{name}.jsonl", "-o", f"FP/{name}").status == 0
    write_rows(tmp_path / "all.jsonl", ROWS)
    assert run("merge", "FP", "-o", "merged", "--copies", copies).status == 0
    assert run("group", "all.jsonl", "-o", "whole", "--copies", copies).status == 0
    for table in ("copies", "pairs"):
        merged, whole = (pq.read_table(f"{folder}/{table}.parquet") for folder in ("merged", "whole"))
        assert merged.equals(whole), table


def test_a_merge_says_the_classes_where_the_texts_are_gone(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, some in (("a", ROWS[:1]), ("b", ROWS[1:3])):
        write_rows(tmp_path / f"{name}.jsonl", some)
        assert run("fingerprint", f"{name}.jsonl", "-o", f"FP/{name}", "--sketch", "simhash").status == 0
    (tmp_path / "b.jsonl").unlink()
    assert run("merge", "FP", "-o", "merged").status == 0
    reasons = {row["id"]: row["reason"] for row in pq.read_table("merged/groups.parquet").to_pylist()}
    assert reasons["lines"] == IDENTICAL
    assert UNREAD in reasons["minus"]
