"""--audit from outside: the line of the summary, missed.parquet, run.json."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support import shared_data
from support.command_line import Run, run_json, write_rows


@pytest.mark.parametrize("command", ["dedup", "group"])
def test_an_audit_writes_what_was_missed(run: Run, tmp_path: Path, command: str) -> None:
    texts = shared_data.documents(shared_data.or_own("license_texts"))
    rows = [{"id": id, "text": text} for id, text in texts.items()]
    source, out = write_rows(tmp_path / "texts.jsonl", rows), tmp_path / "out"
    weak = ("--method", "lsh", "--threshold", 0.5, "--recall", 0.5, "--sketch", "one-permutation:8")
    result = run(command, source, "-o", out, *weak, "--audit", 1000)
    assert result.status == 0
    audit = run_json(out)["audit"]
    missed, pairs = pq.read_table(out / "missed.parquet"), pq.read_table(out / "pairs.parquet")
    assert missed.schema.equals(pairs.schema)
    assert missed.num_rows == audit["pairs"] - audit["found"] > 0
    assert set(missed["id_a"].to_pylist()) <= set(texts)
    assert audit["found"] == pairs.num_rows
    (line,) = [line for line in result.out.splitlines() if line.startswith("audit ")]
    assert f"{audit['found']} of their {audit['pairs']} pairs found" in line
    assert "missed.parquet" in result.out


def test_without_an_audit_there_is_no_such_file(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("dedup", mails, "-o", out)
    assert not (out / "missed.parquet").exists()
    assert not [line for line in result.out.splitlines() if line.startswith("audit ")]
    assert run_json(out)["audit"] is None


def test_a_dry_run_audits_and_writes_nothing(run: Run, mails: Path) -> None:
    result = run("dedup", mails, "--dry-run", "--audit", 5, "--json")
    audit = json.loads(result.out)["audit"]
    assert (audit["documents"], audit["drawn"], audit["pairs"], audit["found"]) == (3, 3, 1, 1)


def test_a_number_out_of_range_is_refused(run: Run, mails: Path) -> None:
    result = run("dedup", mails, "--dry-run", "--audit", 1_000_001)
    assert result.status == 2
    assert "audit is 1000001\n       Allowed: a number from 0 to 1,000,000 documents\n" in result.err
