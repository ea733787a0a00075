"""``neardup pairs`` as a process: what it prints and writes, mistakes, and hostile names."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import neardup as nd
from support.command_line import Result, result_in
from support.messages import has_parts

HOSTILE = "=cmd|\x1b[31m<b>"
TEXTS = {
    "a": "the ferry to the island leaves every morning at eight except on sundays",
    HOSTILE: "the ferry to the island leaves every morning at nine except on sundays",
    "c": "the bus to the harbour leaves every morning at nine except on sundays",
    "d": "a grey coat with two keys in its pocket was found at the office",
    "e": "the ferry to the island leaves every morning at eight except on sundays",
}


def run(command: str, folder: Path, *given: str, status: int = 0) -> Result:
    return result_in(folder, *command.split(), *given, status=status)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()]
    (tmp_path / "all.jsonl").write_text("".join(lines))
    (tmp_path / "old.jsonl").write_text("".join(lines[:2]))
    (tmp_path / "new.jsonl").write_text("".join(lines[2:]))
    return tmp_path


def test_the_pairs_are_printed_with_their_counts_and_no_name_reaches_the_terminal(folder: Path) -> None:
    printed = run("pairs", folder, "all.jsonl", "--top", "1").out
    assert "\x1b" not in printed
    first, last = printed.splitlines()[-2:]
    assert has_parts(first, "a", "=cmd", " of 9 + 9")
    assert has_parts(last, "1 pair of 4 documents", "1 exact copy")


def test_a_file_has_all_columns_and_is_not_replaced_unasked(folder: Path) -> None:
    run("pairs", folder, "all.jsonl", "--top", "2", "-o", "pairs.csv")
    with open(folder / "pairs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["id_b"] == f"'{HOSTILE}"
    assert [row["copies_a"] for row in rows] == ["1", "0"]
    refused = run("pairs", folder, "all.jsonl", "-o", "pairs.csv", status=2).err
    assert has_parts(refused, "pairs.csv", "--overwrite")
    run("pairs", folder, "all.jsonl", "-o", "pairs.csv", "--overwrite")
    run("pairs", folder, "all.jsonl", "-o", "pairs.parquet", "--measure", "lcs")
    table = pq.read_table(folder / "pairs.parquet")
    expected = nd.top_pairs(str(folder / "all.jsonl"), measure="lcs").pairs
    assert table.to_pylist() == expected.to_pylist()


def test_the_nearest_old_documents_and_rows_that_cannot_be_read(folder: Path) -> None:
    with open(folder / "new.jsonl", "a") as file:
        file.write("{broken\n")
    done = run("pairs", folder, "new.jsonl", "--against", "old.jsonl", "--top", "1", "--json", status=1)
    account = json.loads(done.out)
    assert [(row["id_a"], row["id_b"]) for row in account["pairs"]] == [(HOSTILE, "c"), ("a", "e")]
    assert account["problems"][0]["row"] == 3
    assert has_parts(done.err, "1 row", "new.jsonl row 3")


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (["--top", "0"], ("top is 0", "1 or more")),
        (["--threshold", "2"], ("threshold is 2", "0 to 1")),
        (["-o", "-"], ("-o is -", "--json")),
        (["-o", "pairs.txt"], ("pairs.txt", ".csv")),
        (["--against", "old.jsonl", "--across", "id"], ("across", "reference set")),
        (["--against-id", "id"], ("reference set", "--against")),
    ],
)
def test_mistakes_are_explained(folder: Path, given: list[str], parts: tuple[str, ...]) -> None:
    assert has_parts(run("pairs", folder, "all.jsonl", *given, status=2).err, *parts)


def test_a_memory_limit_is_followed_or_refused(folder: Path) -> None:
    words = " ".join(f"w{number}" for number in range(400_000))
    (folder / "long.txt").write_text(words)
    (folder / "other.txt").write_text(words.replace("w77 ", "x "))
    assert has_parts(run("pairs", folder, "all.jsonl", "--memory", "1GB").out, "4 documents")
    refused = run("pairs", folder, "long.txt", "other.txt", "--memory", "240MB", status=2).err
    assert has_parts(refused, "--memory", "dedup")
