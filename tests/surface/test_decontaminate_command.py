"""``neardup decontaminate`` as a process: outputs, messages and refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DRAW = random.Random(8)
WORDS = [f"word{number}" for number in range(4000)]
ITEMS = [" ".join(DRAW.choices(WORDS, k=30)) for _ in range(5)]
TRAIN = [" ".join(DRAW.choices(WORDS, k=60)) for _ in range(20)]
TRAIN[4] += " " + ITEMS[2]
TRAIN[11] = f"<b>{ITEMS[0]}</b>"


def run(command: str, folder: Path, *given: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    typed = [sys.executable, "-m", "neardup", command, *given]
    done = subprocess.run(typed, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"key": [f"t{k}" for k in range(len(TRAIN))], "stars": list(range(len(TRAIN))), "text": TRAIN}
    pq.write_table(pa.table(rows), tmp_path / "train.parquet", row_group_size=7)
    lines = (json.dumps({"question": item, "n": k}) + "\n" for k, item in enumerate(ITEMS))
    (tmp_path / "test.jsonl").write_text("".join(lines))
    return tmp_path


def test_documents_with_items_go_and_the_others_keep_all_their_columns(folder: Path) -> None:
    printed = run(
        "decontaminate", folder, "train.parquet", "--against", "test.jsonl", "--fields", "question", "-o", "out"
    ).stdout
    assert "2 of 5 items" in printed
    kept = pq.read_table(folder / "out" / "kept.parquet")
    before = pq.read_table(folder / "train.parquet")
    assert kept.equals(before.filter([k not in (4, 11) for k in range(len(TRAIN))]))
    matches = pq.read_table(folder / "out" / "matches.parquet").to_pylist()
    named = [(match["id"], match["item"], match["share"]) for match in matches]
    assert named == [("t4", "test.jsonl#2", 1), ("t11", "test.jsonl#0", 1)]
    account = json.loads((folder / "out" / "run.json").read_text())
    assert account["counts"]["contaminated"] == 2
    assert account["test_sets"] == [{"test_set": "test.jsonl", "items": 5, "found": 2, "documents": 2}]


def test_tags_name_the_test_sets_and_nothing_goes(folder: Path) -> None:
    run(
        "decontaminate",
        folder,
        "train.parquet",
        "--against",
        "test.jsonl",
        "--fields",
        "question",
        "-o",
        "out",
        "--tag",
    )
    kept = pq.read_table(folder / "out" / "kept.parquet")
    tags = kept["contaminated_by"].to_pylist()
    assert {k: tag for k, tag in enumerate(tags) if tag} == {4: ["test.jsonl"], 11: ["test.jsonl"]}
    assert kept.drop_columns(["contaminated_by"]).equals(pq.read_table(folder / "train.parquet"))


def test_a_dry_run_writes_nothing_and_prints_its_account(folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = run(
        "decontaminate",
        folder,
        "train.parquet",
        "--against",
        "test.jsonl",
        "--fields",
        "question",
        "--dry-run",
        "--json",
    )
    assert json.loads(done.stdout)["counts"]["matches"] == 2
    assert sorted(folder.iterdir()) == before


def test_what_is_missing_or_wrong_is_named(folder: Path) -> None:
    assert "--against" in run("decontaminate", folder, "train.parquet", "-o", "out", status=2).stderr
    wrong = run(
        "decontaminate",
        folder,
        "train.parquet",
        "--against",
        "test.jsonl",
        "--fields",
        "answer",
        "-o",
        "out",
        status=2,
    )
    assert "answer" in wrong.stderr
    assert not (folder / "out").exists()
    (folder / "train.jsonl").write_text('{"text": "a b c d e"}\nbroken\n')
    done = run(
        "decontaminate",
        folder,
        "train.jsonl",
        "--against",
        "test.jsonl",
        "--fields",
        "question",
        "-o",
        "some",
        status=1,
    )
    assert "1 row" in done.stderr
    assert len((folder / "some" / "problems.jsonl").read_text().splitlines()) == 1
