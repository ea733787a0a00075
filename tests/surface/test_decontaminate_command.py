"""``neardup decontaminate``: outputs, messages and refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command_line import Result, result_in, run_json

DRAW = random.Random(8)
WORDS = [f"word{number}" for number in range(4000)]
ITEMS = [" ".join(DRAW.choices(WORDS, k=30)) for _ in range(5)]
TRAIN = [" ".join(DRAW.choices(WORDS, k=60)) for _ in range(20)]
TRAIN[4] += " " + ITEMS[2]
TRAIN[11] = f"<b>{ITEMS[0]}</b>"


def run(command: str, folder: Path, *given: str, status: int = 0) -> Result:
    return result_in(folder, *command.split(), *given, status=status)


BASE = ("decontaminate", "train.parquet", "--against", "test.jsonl", "--fields", "question")


def decontaminated(folder: Path, *given: str, status: int = 0) -> Result:
    return run(BASE[0], folder, *BASE[1:], *given, status=status)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"key": [f"t{k}" for k in range(len(TRAIN))], "stars": list(range(len(TRAIN))), "text": TRAIN}
    pq.write_table(pa.table(rows), tmp_path / "train.parquet", row_group_size=7)
    lines = (json.dumps({"question": item, "n": k}) + "\n" for k, item in enumerate(ITEMS))
    (tmp_path / "test.jsonl").write_text("".join(lines))
    return tmp_path


def test_documents_with_items_go_and_the_others_keep_all_their_columns(folder: Path) -> None:
    printed = decontaminated(folder, "-o", "out").out
    assert "2 of 5 items" in printed
    kept = pq.read_table(folder / "out" / "kept.parquet")
    before = pq.read_table(folder / "train.parquet")
    assert kept.equals(before.filter([k not in (4, 11) for k in range(len(TRAIN))]))
    matches = pq.read_table(folder / "out" / "matches.parquet").to_pylist()
    named = [(match["id"], match["item"], match["share"]) for match in matches]
    assert named == [("t4", "test.jsonl#2", 1), ("t11", "test.jsonl#0", 1)]
    account = run_json(folder / "out")
    assert account["counts"]["contaminated"] == 2
    (of_set,) = account["test_sets"]
    assert of_set == {"test_set": "test.jsonl", "items": 5, "found": 2, "only_common": 0, "documents": 2}


def test_tags_name_the_test_sets_and_nothing_goes(folder: Path) -> None:
    decontaminated(folder, "-o", "out", "--tag")
    kept = pq.read_table(folder / "out" / "kept.parquet")
    tags = kept["contaminated_by"].to_pylist()
    assert {k: tag for k, tag in enumerate(tags) if tag} == {4: ["test.jsonl"], 11: ["test.jsonl"]}
    assert kept.drop_columns(["contaminated_by"]).equals(pq.read_table(folder / "train.parquet"))


def test_a_dry_run_writes_nothing_and_prints_its_account(folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = decontaminated(folder, "--dry-run", "--json")
    assert json.loads(done.out)["counts"]["matches"] == 2
    assert sorted(folder.iterdir()) == before


def test_what_is_missing_or_wrong_is_named(folder: Path) -> None:
    assert "--against" in run("decontaminate", folder, "train.parquet", "-o", "out", status=2).err
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
    assert '"answer"' in wrong.err
    assert "Choose one with --fields" in wrong.err
    given = ("train.parquet", "--against", "test.jsonl", "--fields", "question", "--against-id", "nosuch")
    assert "--against-id" in run("decontaminate", folder, *given, "--dry-run", status=2).err
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
    assert "1 row" in done.err
    assert len((folder / "some" / "problems.jsonl").read_text().splitlines()) == 1


def test_passages_are_cut_and_the_page_is_written(folder: Path) -> None:
    decontaminated(folder, "-o", "out", "--cut", "--marker", "<cut>")
    texts = pq.read_table(folder / "out" / "kept.parquet")["text"].to_pylist()
    assert texts[11] == "<b><cut></b>"
    assert texts[4].endswith(" <cut>")
    assert [text for k, text in enumerate(texts) if k not in (4, 11)] == [
        text for k, text in enumerate(TRAIN) if k not in (4, 11)
    ]
    assert "<!DOCTYPE html>" in (folder / "out" / "report.html").read_text()


def test_parts_are_written_with_the_scans_of_all(folder: Path) -> None:
    whole = pq.read_table(folder / "train.parquet")
    for number, part in enumerate((whole.slice(0, 10), whole.slice(10))):
        pq.write_table(part, folder / f"part{number}.parquet")
        given = ("decontaminate", f"part{number}.parquet", *BASE[2:], "-o", f"scan{number}", "--report-only")
        run(given[0], folder, *given[1:])
        assert not list((folder / f"scan{number}").glob("kept*"))
    scans = ("--scanned", "scan0", "--scanned", "scan1")
    run("decontaminate", folder, "part1.parquet", *BASE[2:], *scans, "-o", "out1")
    kept = pq.read_table(folder / "out1" / "kept.parquet")
    assert kept["key"].to_pylist() == [f"t{k}" for k in range(10, 20) if k != 11]
    assert run_json(folder / "out1")["counts"]["documents"] == len(TRAIN)
    assert "train.parquet" in decontaminated(folder, *scans, "-o", "out", status=2).err
    assert "share" in decontaminated(folder, *scans, "--threshold", "0.5", "-o", "out", status=2).err


def test_a_resumed_run_leaves_no_journal_and_rows_go_to_a_stream(folder: Path) -> None:
    decontaminated(folder, "-o", "out")
    decontaminated(folder, "-o", "again", "--resume")
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    first, other = (pq.read_table(folder / name / "matches.parquet") for name in ("out", "again"))
    assert first.equals(other)
    lines = decontaminated(folder, "-o", "-").out.splitlines()
    assert [json.loads(line)["key"] for line in lines] == [f"t{k}" for k in range(20) if k not in (4, 11)]


def test_a_killed_run_goes_on_and_writes_the_same_bytes(tmp_path: Path) -> None:
    texts = [" ".join(WORDS[(k * j) % 4000] for j in range(1, 120)) for k in range(20_000)]
    texts[19_000] += " " + ITEMS[1]
    pq.write_table(pa.table({"text": [*TRAIN, *texts]}), tmp_path / "train.parquet", row_group_size=200)
    (tmp_path / "test.jsonl").write_text("".join(json.dumps({"question": item}) + "\n" for item in ITEMS))
    decontaminated(tmp_path, "-o", "out", "--resume")
    typed = [sys.executable, "-m", "neardup", "decontaminate", "train.parquet", "--against", "test.jsonl"]
    with subprocess.Popen(
        [*typed, "--fields", "question", "-o", "again", "--resume", "--threads", "1"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None and sum(path.stat().st_size for path in tmp_path.glob(".again*/*")) < 20_000:
            time.sleep(0.01)
        process.kill()
    if not (tmp_path / "again").exists():  # else it was faster than this test
        assert list(tmp_path.glob(".again.resume"))
        decontaminated(tmp_path, "-o", "again", "--resume")
    for name in ("kept.parquet", "matches.parquet", "common.parquet", "common_shingles.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    accounts = [run_json(tmp_path / name) for name in ("out", "again")]
    assert accounts[0] | {"seconds": {}} == accounts[1] | {"seconds": {}}
    assert accounts[0]["counts"]["contaminated"] == 3


def test_items_of_one_id_in_two_test_sets_are_named_with_their_set(folder: Path) -> None:
    (folder / "other.jsonl").write_text(json.dumps({"id": "q", "question": ITEMS[0]}) + "\n")
    (folder / "one.jsonl").write_text(json.dumps({"id": "q", "question": ITEMS[0]}) + "\n")
    printed = run(
        "decontaminate", folder, "train.parquet", "--against", "one.jsonl", "--against", "other.jsonl", "--dry-run"
    )
    lines = [line for line in printed.out.splitlines() if "contains" in line and "q of" in line]
    assert len(set(lines)) == 2


def test_outputs_that_exclude_each_other_are_refused(folder: Path) -> None:
    assert "--cut" in decontaminated(folder, "-o", "out", "--cut", "--tag", status=2).err
    assert "--marker" in decontaminated(folder, "-o", "out", "--marker", "x", status=2).err
    assert "no scan" in decontaminated(folder, "-o", "out", "--scanned", "nowhere", status=2).err
    assert not (folder / "out").exists()


def test_each_turn_of_a_chat_is_looked_for_alone_unless_several_items_have_it(folder: Path) -> None:
    words = [f"turn{number}" for number in range(200)]
    prompt, turns = " ".join(words[:20]), [" ".join(words[k : k + 20]) for k in range(20, 180, 20)]
    chats = [
        [{"role": "system", "content": prompt}, *({"role": "user", "content": turns[2 * k + j]} for j in range(2))]
        for k in range(3)
    ]
    rows = [{"id": f"c{k}", "messages": chat} for k, chat in enumerate(chats)]
    rows += [{"id": "alone", "messages": [{"role": "user", "content": turns[6]}]}, {"id": "no", "messages": None}]
    lines = [*map(json.dumps, rows), '{"id": "half", "messages": [{"content": "\\ud800"}, {"content": "b"}]}', "["]
    (folder / "chats.jsonl").write_text("\n".join(lines))
    pq.write_table(pa.Table.from_pylist(rows), folder / "chats.parquet")
    training = [prompt, f"before {turns[1]} after", f"{prompt} {turns[4]} {turns[5]}", turns[6]]
    pq.write_table(pa.table({"id": ["p", "t", "whole", "one"], "text": training}), folder / "chat_train.parquet")
    for against, status in (("chats.jsonl", 1), ("chats.parquet", 0)):
        out = f"out-{status}"
        run("decontaminate", folder, "chat_train.parquet", "--against", against, "-o", out, status=status)
        matches = pq.read_table(folder / out / "matches.parquet").to_pylist()
        assert {(row["id"], row["item"], row["field"]) for row in matches} == {
            ("t", "c0", "messages[2]"),
            ("whole", "c2", "messages"),
            ("whole", "c2", "messages[1]"),
            ("whole", "c2", "messages[2]"),
            ("one", "alone", "messages"),
        }
