"""``neardup verify``: results are confirmed, and each fault that somebody plants in one is found."""

import gzip
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from neardup import verifier
from support import reference, shared_data, strategies
from support.command_line import BASE, ROWS, Run, write_rows
from support.messages import has_parts
from support.paths import ROOT
from support.sealed import seal

Rows = list[dict[str, Any]]
CHECKS = ("manifest", "texts", "copies", "pairs", "groups", "fates", "lost", "kept", "missing")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The documents of our own, with groups, copies and lost text."""
    rows: Rows = [{"id": id, "text": text} for id, text in shared_data.documents("own").items()]
    return write_rows(tmp_path / "own.jsonl", rows)


def checks(run: Run, folder: Path, *more: object) -> dict[str, str]:
    """The lines of the checks of a result without a difference."""
    result = run("verify", folder, *more, "--json")
    answer = json.loads(result.out)
    assert answer["difference"] is None
    assert result.status == 0
    assert tuple(answer["checks"]) == CHECKS
    return dict(answer["checks"])


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "lsh", "--threshold", "0.6"),
        ("--measure", "containment"),
        ("--measure", "overlap", "--groups", "complete"),
        ("--measure", "vocabulary", "--threshold", "0.7"),
        ("--measure", "multiset", "--groups", "components"),
        ("--measure", "chunk-union"),
        ("--measure", "lcs"),
        ("--unit", "char", "--length", "7"),
        ("--lose", "0.02", "--count"),
        ("--only-contained", "0.9"),
        ("--annotate",),
        ("--keep", "none"),
        ("--audit", "50", "--kinds"),
        ("--shard-size", "10kB"),
        ("--no-store-texts",),
        ("--empty", "drop"),
    ],
)
def test_the_results_of_all_settings_are_confirmed(
    run: Run, own: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert run("dedup", own, "-o", tmp_path / "out", *options).status == 0
    lines = checks(run, tmp_path / "out")
    assert not lines["kept"].startswith("not")


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
    lines = checks(run, tmp_path / "out")
    assert "3 read from the inputs" in lines["texts"]
    assert lines["kept"].startswith("2 rows")
    assert lines["missing"].startswith("nothing")


def test_folders_reference_sets_and_rejected_lines_are_confirmed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    for name, text in (("a.txt", ROWS[0]["text"]), ("sub/b.txt", ROWS[1]["text"]), ("empty.txt", "")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    assert run("dedup", folder, "-o", tmp_path / "one").status == 0
    assert checks(run, tmp_path / "one")["kept"].startswith("3 rows")

    new, old = tmp_path / "new.jsonl", write_rows(tmp_path / "old.jsonl", ROWS[1:])
    new.write_text("".join(f"{json.dumps(row)}\n\n{{torn\n" for row in ROWS), encoding="utf-8")
    assert run("dedup", new, "--against", old, "-o", tmp_path / "two").status == 1
    assert checks(run, tmp_path / "two")["missing"].startswith("not counted")


def test_moved_inputs_are_named_and_without_texts_they_are_needed(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out", "--no-store-texts").status == 0
    (tmp_path / "elsewhere").mkdir()
    own.rename(tmp_path / "elsewhere" / own.name)
    refused = run("verify", tmp_path / "out")
    assert refused.status == 2
    assert has_parts(refused.err, "texts are missing", "after it")
    checks(run, tmp_path / "out", tmp_path / "elsewhere" / own.name)


def test_a_result_whose_settings_leave_text_out_is_refused(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out", "--ignore-numbers").status == 0
    refused = run("verify", tmp_path / "out")
    assert refused.status == 2
    assert has_parts(refused.err, "texts out", "--ignore-numbers")


# --- faults


def table(folder: Path, name: str, change: Callable[[Rows], object]) -> None:
    """Change the rows of a table, and make a manifest that agrees with it."""
    path = folder / f"{name}.parquet"
    schema, rows = pq.read_schema(path), pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    seal(folder)


def raised(column: str, rows: Rows) -> None:
    """Raise the first value of a column by one."""
    row = next(row for row in rows if row[column] is not None)
    row[column] += 1


def swapped_fates(rows: Rows) -> None:
    """Keep a removed member, and remove its representative."""
    gone = next(row for row in rows if not row["kept"] and row["lost_shingles"])
    head = next(row for row in rows if row["id"] == gone["group"])
    gone["kept"], head["kept"] = True, False


def one_pair_less(rows: Rows) -> None:
    rows.pop()


def another_member(rows: Rows) -> None:
    """Put a member into another group."""
    first = next(row for row in rows if not row["representative"])
    first["group"] = next(row["group"] for row in rows if row["group"] != first["group"])


FAULTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a damaged file": ("manifest", lambda out: (out / "problems.jsonl").write_bytes(b"\n")),
    "a count": ("pairs", lambda out: table(out, "pairs", lambda rows: raised("shared", rows))),
    "a missing pair": ("pairs", lambda out: table(out, "pairs", one_pair_less)),
    "a size of a group": ("groups", lambda out: table(out, "groups", lambda rows: raised("size", rows))),
    "a similarity": ("groups", lambda out: table(out, "groups", lambda rows: raised("similarity", rows))),
    "a member elsewhere": ("groups", lambda out: table(out, "groups", another_member)),
    "lost shingles": ("lost", lambda out: table(out, "groups", lambda rows: raised("lost_shingles", rows))),
    "other fates": ("lost", lambda out: table(out, "groups", swapped_fates)),
    "a copy that is none": (
        "copies",
        lambda out: table(
            out, "copies", lambda rows: rows.append({**rows[0], "id": rows[0]["copy_of"], "copy_of": OTHER})
        ),
    ),
    "a stored text": (
        "texts",
        lambda out: table(out, "texts", lambda rows: rows[0].update(text=rows[0]["text"] + b" more")),
    ),
}
OTHER = next(iter(shared_data.documents("own")))


def difference(run: Run, out: Path) -> tuple[str, str]:
    """The check that found a difference, and its words."""
    result = run("verify", out, "--json")
    assert result.status == 1
    answer = json.loads(result.out)
    return CHECKS[len(answer["checks"])], answer["difference"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_table_is_found(run: Run, own: Path, tmp_path: Path, fault: str) -> None:
    out = tmp_path / "out"
    assert run("dedup", own, "-o", out).status == 0
    assert checks(run, out)["missing"].startswith("nothing")
    check, plant = FAULTS[fault]
    plant(out)
    assert difference(run, out)[0] == check


def test_a_kept_row_that_is_missing_changed_or_removed_by_the_tables_is_found(
    run: Run, own: Path, tmp_path: Path
) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    kept = tmp_path / "out" / "kept.jsonl"
    lines = kept.read_bytes().splitlines(keepends=True)
    for changed in (lines[1:], [lines[0].replace(b'"text": "', b'"text": "x'), *lines[1:]], [*lines, lines[0]]):
        kept.write_bytes(b"".join(changed))
        seal(tmp_path / "out")
        assert difference(run, tmp_path / "out")[0] == "kept"


def test_a_pair_that_an_exact_result_misses_is_found_by_comparing_all_documents(
    run: Run, own: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run("dedup", own, "-o", out).status == 0
    run_json = json.loads((out / "run.json").read_text(encoding="utf-8"))
    linked = {id for row in pq.read_table(out / "groups.parquet").to_pylist() for id in (row["id"], row["group"])}
    pairs = pq.read_table(out / "pairs.parquet").to_pylist()
    heads = {row["group"] for row in pq.read_table(out / "groups.parquet").to_pylist()}
    extra = next(row for row in pairs if not {row["id_a"], row["id_b"]} & heads and row["id_a"] in linked)
    table(out, "pairs", lambda rows: rows.remove(extra))
    run_json["counts"]["pairs"] -= 1
    (out / "run.json").write_text(json.dumps(run_json), encoding="utf-8")
    seal(out)
    assert difference(run, out)[0] == "missing"


def test_pairs_of_compressed_texts_are_not_missed(run: Run, tmp_path: Path) -> None:
    """The verifier has the stored texts of those in pairs only, so it cannot look for others."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt.gz").write_bytes(gzip.compress(f"{BASE} {number}".encode()))
    (folder / "3.txt").write_text(f"{BASE} 3")
    assert run("dedup", folder, "-o", tmp_path / "out").status == 0
    lines = checks(run, tmp_path / "out")
    assert lines["missing"].startswith("not counted")
    assert lines["pairs"].startswith("6 of 6 counted again")
    assert run("verify", tmp_path / "out").status == 0


def test_inputs_that_are_not_read_are_named_at_the_end(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in "ab":
            archive.writestr(f"{name}.txt", " ".join(f"word{number}" for number in range(99)))
    assert run("dedup", tmp_path / "all.zip", "-o", tmp_path / "out").status == 0
    done = run("verify", tmp_path / "out")
    assert done.status == 0
    assert done.out.splitlines()[-1].split(None, 1)[1].startswith("no difference; 2 inputs not read")


def test_an_input_that_has_gone_and_a_folder_that_is_no_result_are_explained(
    run: Run, own: Path, tmp_path: Path
) -> None:
    (tmp_path / "moved.jsonl").write_bytes(own.read_bytes())
    assert run("group", tmp_path / "moved.jsonl", "-o", tmp_path / "out").status == 0
    (tmp_path / "moved.jsonl").rename(tmp_path / "other.jsonl")
    lines = dict(line.split(None, 1) for line in run("verify", tmp_path / "out").out.splitlines())
    assert has_parts(lines["texts"], "moved.jsonl' (FileNotFoundError: ")
    assert has_parts(lines["kept"], "not compared", "no kept rows")
    for name in ("nowhere", "other.jsonl"):
        assert has_parts(run("verify", tmp_path / name).err, name, "not a result", "Allowed: ", "neardup group")


# --- the file by itself


def test_the_file_runs_alone_and_has_300_lines(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("dedup", own, "-o", tmp_path / "out").status == 0
    source = ROOT / "src" / "neardup" / "verifier.py"
    text = source.read_text(encoding="utf-8")
    assert sum(1 for line in text.splitlines() if line.strip()) <= 300
    assert "import neardup" not in text
    assert "from neardup" not in text
    alone = tmp_path / "verifier.py"
    alone.write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-I", alone, tmp_path / "out"], capture_output=True, text=True, check=False, timeout=300
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.split()[0] for line in ended.stdout.splitlines()] == list(CHECKS)
    (tmp_path / "out" / "kept.jsonl").write_bytes(b"")
    command = [sys.executable, "-I", alone, tmp_path / "out"]
    assert subprocess.run(command, capture_output=True, check=False, timeout=300).returncode == 1
    command = [sys.executable, "-I", alone, tmp_path]
    assert subprocess.run(command, capture_output=True, check=False, timeout=300).returncode == 2


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
