"""``neardup verify``: its lines, its exit status, and the file by itself."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from neardup import verifier
from support import reference, shared_data, strategies
from support.command_line import ROWS, Run, run_json, write_rows
from support.messages import has_parts
from support.paths import ROOT
from support.sealed import seal

Rows = list[dict[str, Any]]
CHECKS = verifier.Verifier.CHECKS


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The documents of our own, with groups, copies and lost text."""
    rows: Rows = [{"id": id, "text": text} for id, text in shared_data.documents("own").items()]
    return write_rows(tmp_path / "own.jsonl", rows)


def answer(run: Run, folder: Path, *more: object) -> tuple[int, dict[str, Any]]:
    """The exit status, and what the command says as JSON."""
    result = run("verify", folder, *more, "--json")
    return result.status, json.loads(result.out)


def test_a_result_is_confirmed_as_a_whole(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    status, said = answer(run, tmp_path / "out")
    assert (status, said["difference"], said["not_looked_at"]) == (0, None, {})
    assert tuple(said["checks"]) == CHECKS
    shown = run("verify", tmp_path / "out")
    assert shown.status == 0
    assert has_parts(shown.out.splitlines()[-1], "verified", "no difference", "derived again")


def test_what_was_not_looked_at_is_listed_with_counts(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out", "--method", "lsh", "--kinds").status == 0
    status, said = answer(run, tmp_path / "out")
    assert (status, said["difference"]) == (3, None)
    assert said["not_looked_at"].keys() >= {"pairs, kind", "run.json, recall"}
    shown = run("verify", tmp_path / "out")
    assert shown.status == 3
    assert has_parts(
        shown.out, "not looked at 1 run.json, recall", "verified", "no difference was seen", "were not looked at"
    )


def test_of_many_pairs_some_are_counted(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    pairs = run_json(tmp_path / "out")["counts"]["pairs"]
    status, said = answer(run, tmp_path / "out", "--sample", "5")
    assert status == 3
    assert said["not_looked_at"]["pairs, shared"] == pairs - 5


def test_of_many_documents_some_are_joined(
    run: Run, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier, "MOST", 9)
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    status, said = answer(run, tmp_path / "out")
    assert (status, said["difference"]) == (3, None)
    different = run_json(tmp_path / "out")["counts"]["different"]
    assert different - 9 in said["not_looked_at"].values()
    assert f"9 of {different} different" in said["checks"]["pairs"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson", "arrow"])
def test_inputs_that_polars_has_written_are_read_without_the_readers_of_the_package(
    run: Run, tmp_path: Path, suffix: str
) -> None:
    frame = pl.DataFrame([{**row, "note": 'quoted "text", and\nlines'} for row in ROWS])
    writers: dict[str, Callable[[Path], None]] = {
        "parquet": frame.write_parquet,
        "csv": frame.write_csv,
        "ndjson": frame.write_ndjson,
        "arrow": frame.write_ipc,
    }
    path = tmp_path / f"rows.{suffix}"
    writers[suffix](path)
    assert run("dedup", path, "-o", tmp_path / "out").status == 0
    status, said = answer(run, tmp_path / "out")
    assert (status, said["difference"]) == (0, None)
    assert said["checks"]["texts"].startswith("4 documents were read")
    assert said["checks"]["kept"].startswith("2 rows")


def test_a_difference_names_the_row_and_both_values(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    kept = tmp_path / "out" / "kept.jsonl"
    kept.write_bytes(kept.read_bytes().replace(b"mayor", b"maire", 1))
    seal(tmp_path / "out")
    status, said = answer(run, tmp_path / "out")
    assert status == 1
    assert len(said["checks"]) == CHECKS.index("kept")
    assert has_parts(said["difference"], "kept rows row", "the result has", "maire", "derived", "mayor")
    assert run("verify", tmp_path / "out").out.splitlines()[-1].startswith("difference")


def test_moved_inputs_are_named_after_the_result(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out", "--no-store-texts").status == 0
    (tmp_path / "elsewhere").mkdir()
    own.rename(tmp_path / "elsewhere" / own.name)
    status, said = answer(run, tmp_path / "out")
    assert status == 3
    assert any(has_parts(what, "input", own.name, "FileNotFoundError") for what in said["not_looked_at"])
    for named in (tmp_path / "elsewhere", tmp_path / "elsewhere" / own.name):
        assert answer(run, tmp_path / "out", named)[0] == 0


def test_an_input_that_has_changed_is_not_taken_for_the_one_that_was_read(
    run: Run, own: Path, tmp_path: Path
) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    own.write_bytes(own.read_bytes().replace(b"mayor", b"maire", 1))
    status, said = answer(run, tmp_path / "out")
    assert status == 3
    assert any(has_parts(what, "input", own.name, "digest") for what in said["not_looked_at"])


def test_outputs_of_other_commands_say_what_they_are(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("passages", own, "-o", tmp_path / "out", "--length", "10").status == 0
    status, said = answer(run, tmp_path / "out")
    assert status == 3
    assert has_parts(said["checks"]["texts"], "not looked at", "output of neardup passages")
    (tmp_path / "out" / "passages.parquet").write_bytes(b"PAR1")
    assert answer(run, tmp_path / "out")[0] == 1


def test_a_folder_that_is_no_result_is_explained(run: Run, own: Path, tmp_path: Path) -> None:
    for name in ("nowhere", "own.jsonl"):
        refused = run("verify", tmp_path / name)
        assert refused.status == 2
        assert has_parts(refused.err, name, "not a result", "Allowed: ", "neardup group")


# --- the file by itself


def test_the_file_runs_alone(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    source = ROOT / "src" / "neardup" / "verifier.py"
    text = source.read_text(encoding="utf-8")
    assert sum(1 for line in text.splitlines() if line.strip()) <= LINES
    assert "import neardup" not in text
    assert "from neardup" not in text
    alone = tmp_path / "verifier.py"
    alone.write_text(text, encoding="utf-8")

    def ended(folder: Path) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-I", alone, folder]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)

    whole = ended(tmp_path / "out")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert [line.split()[0] for line in whole.stdout.splitlines()] == list(CHECKS)
    (tmp_path / "out" / "kept.jsonl").write_bytes(b"")
    assert ended(tmp_path / "out").returncode == 1
    assert ended(tmp_path).returncode == 2
    assert run("dedup", own, "-o", tmp_path / "lsh", "--method", "lsh").status == 0
    assert ended(tmp_path / "lsh").returncode == 3


LINES = 900
"""The limit for the file, so that it can be read as a whole."""


@given(strategies.any_text())
def test_its_units_are_those_of_the_definition(text: str) -> None:
    assert list(verifier.units_of(text, "word")) == reference.tokens(text)
    assert list(verifier.units_of(text, "char")) == reference.characters(text)


def test_its_rules_hold_for_every_character() -> None:
    for char in strategies.comparable():
        assert verifier.kind(char) == kind_by_properties(char), hex(ord(char))
        assert verifier.folded(char) == reference.nfkc_cf(char), hex(ord(char))


def kind_by_properties(char: str) -> tuple[str, bool]:
    """The rule of a character by Script and Grapheme_Cluster_Break, in the words of the verifier."""
    state, continues = reference.state_of(char)
    return {"word-run": "word"}.get(state, state), continues


def test_a_table_may_have_the_recorded_columns_alone() -> None:
    data = b"text;id\na,b;1\nc;2\n"
    assert verifier.csv_of(data, ",;", ["text", "id"]) == (";", [["text", "id"], ["a,b", "1"], ["c", "2"]])


def test_a_packed_input_is_read() -> None:
    for suffix, packed in (("xz", lzma.compress), ("gz", gzip.compress), ("bz2", bz2.compress)):
        assert verifier.unpacked(f"in.jsonl.{suffix}", packed(b"content")) == b"content"


# --- a report


def test_a_report_is_compared_with_its_result(run: Run, own: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    assert run("report", tmp_path / "out", "-o", page, "--by", "Ann", "--pairs", "2").status == 0
    shown = run("verify", tmp_path / "out", "--report", page)
    assert shown.status == 0
    assert has_parts(shown.out.splitlines()[-1], "verified", "no difference")
    assert has_parts(shown.out, "only stated", "report by: Ann")
    text = page.read_text(encoding="utf-8")
    page.write_bytes(text.replace("</main>", "<p>Approved.</p></main>").replace("\n", "\r\n").encode())
    status, said = answer(run, tmp_path / "out", "--report", page)
    assert (status, len(said["differences"]), said["not_looked_at"]) == (1, 1, {})
    assert has_parts(said["differences"][0], "the page has", "Approved.")
    assert run("verify", tmp_path / "out", "--report", page).out.splitlines()[-1].startswith("difference")
    page.write_bytes(text.replace("\n", "\r\n").encode())
    assert answer(run, tmp_path / "out", "--report", page)[0] == 0


def test_a_report_beside_a_changed_result_is_a_difference(run: Run, own: Path, tmp_path: Path) -> None:
    page, out = tmp_path / "report.html", tmp_path / "out"
    assert run("dedup", own, "-o", out).status == 0
    assert run("report", out, "-o", page).status == 0
    (out / "kept.jsonl").write_bytes(b"")
    status, said = answer(run, out, "--report", page)
    assert status == 1
    assert has_parts(said["differences"][0], "result itself", "kept.jsonl")


def test_a_report_alone_is_read(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    for more in (["--sample", "2"], [own]):
        assert has_parts(run("verify", tmp_path / "out", *more, "--report", own).err, "--report", "Leave them out")
    for page in (own, tmp_path / "nowhere.html"):
        refused = run("verify", tmp_path / "out", "--report", page)
        assert refused.status == 2
        assert has_parts(refused.err, page.name, "Allowed: ", "neardup report")
