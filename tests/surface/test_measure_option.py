"""--measure and --matching from outside: what is found, and which measure the run says its groups mean."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError
from support.command_line import Run, run_json, write_rows
from support.messages import has_parts
from support.sealed import seal

SENTENCE = "Please hand in your travel costs for March with all receipts to the office upstairs by Friday noon"
ROWS = [
    {"id": "short", "text": SENTENCE},
    {"id": "typo", "text": SENTENCE.replace("receipts", "reciepts")},
    {"id": "twice", "text": f"{SENTENCE} {SENTENCE}"},
    {"id": "other", "text": "Nothing of this is in any of the others and so it stays alone"},
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "notes.jsonl", ROWS)


def test_group_by_common_text(run: Run, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("--measure", "chunk-union", "--matching", "information", "--threshold", ".8")
    result = run("group", source, "-o", out, *asked)
    assert result.status == 0
    pairs = pq.read_table(out / "pairs.parquet").to_pylist()
    assert [(row["id_a"], row["id_b"]) for row in pairs] == [
        ("short", "typo"),
        ("short", "twice"),
        ("typo", "twice"),
    ]
    measures = nd.compare(ROWS[0]["text"], ROWS[1]["text"]).measures
    assert pairs[0]["chunk_union"] == measures["chunk_union_information"] > 0.8 > pairs[0]["resemblance"]
    assert pairs[0]["common"] == measures["common_information"]
    account = run_json(out)
    assert (account["settings"]["measure"], account["settings"]["matching"]) == ("chunk-union", "information")
    assert (
        account["recall"]["statement"] == "exact: every pair at chunk-union by information 0.8 or above is found"
    )
    assert has_parts(account["choice"]["why"], "LSH", "chunk-union")
    assert "3 at chunk-union by information 0.8" in result.out
    reasons = pq.read_table(out / "groups.parquet")["reason"].to_pylist()
    assert reasons == [
        "represents 2 other documents",
        "near copy of twice: chunk-union by information 1.000",
        "near copy of twice: chunk-union by information 0.894",
    ]


def test_dedup_shows_the_integers_of_the_measure(run: Run, source: Path) -> None:
    result = run("dedup", source, "--dry-run", "--measure", "chunk-union")
    assert has_parts(result.out, "typo   near copy of short:", "chunk-union 0.894 (shared 17 of 18 + 18 tokens)")
    result = run("dedup", source, "--dry-run", "--measure", "vocabulary")
    assert has_parts(result.out, "near copy of twice:", "vocabulary 1.000 (shared 18 of 18 + 18 different words)")


def test_group_by_text_in_order(run: Run, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("group", source, "-o", out, "--measure", "lcs", "--threshold", ".8")
    assert result.status == 0
    (pair,) = pq.read_table(out / "pairs.parquet").to_pylist()
    assert (pair["id_a"], pair["id_b"]) == ("short", "typo")
    assert (pair["common"], pair["total_a"], pair["total_b"], pair["lcs"]) == (17, 18, 18, 34 / 36)
    assert pair["lcs"] == nd.compare(ROWS[0]["text"], ROWS[1]["text"]).measures["lcs"]
    account = run_json(out)
    assert has_parts(account["recall"]["statement"], "exact: every pair", "lcs 0.8 or above")
    assert has_parts(account["choice"]["why"], "LSH", "lcs")
    assert "1 at lcs 0.8" in result.out
    stricter = run("regroup", out, "-o", tmp_path / "stricter", "--threshold", ".95")
    assert stricter.status == 0
    assert pq.read_table(tmp_path / "stricter" / "pairs.parquet").num_rows == 0
    shown = run("dedup", source, "--dry-run", "--measure", "lcs", "--threshold", ".6")
    assert has_parts(shown.out, "near copy of twice:", "lcs 0.666 (shared 18 of 18 + 36 tokens", "same order")
    assert has_parts(shown.out, "near copy of twice:", "lcs 0.629 (shared 17 of 18 + 36 tokens", "same order")
    why = str(nd.load(out).why("typo"))
    assert has_parts(why, "have 17 tokens", "same order", "94.4 % of the 18 in typo")


def test_a_result_with_the_digest_of_other_settings_is_refused(run: Run, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("group", source, "-o", out, "--measure", "bag-of-words", "--threshold", ".5")
    account = run_json(out)
    assert account["settings"]["measure"] == "vocabulary"
    (out / "run.json").write_text(json.dumps({**account, "settings_digest": "0" * 16}), encoding="utf-8")
    seal(out)
    with pytest.raises(InputError, match="settings_digest"):
        nd.load(out)
