"""A reviewed result that is written without comparing again keeps the same rows as a run with its decisions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.io.decisions.records import Change, FateOf, Judgement, Represents, Tag
from neardup.io.decisions.store import DecisionStore
from support.command_line import Run, run_json
from support.made_texts import Writer, edited
from support.messages import has_parts


def texts(seed: int = 2, families: int = 12) -> list[str]:
    writer, found = Writer(seed), []
    for family in range(families):
        words = writer.words(100)
        found.append(" ".join(words))
        found += [" ".join(edited(words, 0.6, writer)) for _ in range(family % 4)]
        found += [found[-1]] * (family % 3 == 1)
    random.Random(seed).shuffle(found)
    return found


def written(folder: Path, form: str) -> Path:
    """The texts as an input of this format; one text is empty, one line is no document."""
    found = [*texts(), ""]
    if form == "folder":
        (folder / "in").mkdir()
        for number, text in enumerate(found):
            (folder / "in" / f"{number}.txt").write_text(text, encoding="utf-8")
        (folder / "in" / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
        return folder / "in"
    path = folder / f"in.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"id": list(range(len(found))), "text": found}), path, row_group_size=7)
    elif form == "csv":
        path.write_text("id,text\n" + "".join(f'x{n},"{text}"\n' for n, text in enumerate(found)))
    else:
        lines = [json.dumps({"text": text, "more": n}) for n, text in enumerate(found)]
        path.write_text("\n".join([*lines[:5], "{broken", *lines[5:]]) + "\n", encoding="utf-8")
    return path


def decide(out: Path, seed: int = 3) -> list[Change]:
    """Random decisions on the documents of the groups."""
    found, rng = nd.load(out), random.Random(seed)
    members = found.groups["id"].to_pylist()
    pairs = {tuple(sorted(rng.sample(members, 2), key=str)) for _ in range(9)}
    changes: list[Change] = [
        Judgement(a, b, rng.choice(["duplicate", "keep both", "not alike", "unsure"])) for a, b in pairs
    ]
    changes += [FateOf(id, rng.choice(["keep", "remove"])) for id in rng.sample(members, 4)]
    one = next(row for row in found.groups.to_pylist() if not row["representative"])
    changes += [Represents(one["group"], one["id"]), Tag(members[0], "hot")]
    with DecisionStore(out) as store:
        store.act(changes, by="Ann", what="decided in a test")
    return changes


def kept_bytes(out: Path) -> dict[str, bytes]:
    """The kept documents by file."""
    found = [path for path in out.rglob("*") if path.relative_to(out).parts[0].startswith("kept")]
    return {str(path.relative_to(out)): path.read_bytes() for path in found if path.is_file()}


def fates_and_groups(out: Path) -> list[tuple[Any, ...]]:
    rows = nd.load(out).groups.to_pylist()
    return [(row["id"], row["group"], row["representative"], row["kept"], row["size"]) for row in rows]


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("jsonl", []),
        ("parquet", ["--keep", "first", "--empty", "drop", "--id", "id"]),
        ("csv", ["--measure", "containment", "--groups", "components"]),
        ("folder", ["--empty", "drop"]),
        ("csv", ["--against", "REFERENCE", "--across", "id"]),
        ("jsonl", ["--against", "REFERENCE"]),
        ("jsonl", ["--keep", "none", "--empty", "drop", "--measure", "chunk-union"]),
    ],
)
def test_the_same_rows_stay(run: Run, tmp_path: Path, form: str, options: list[str]) -> None:
    source = written(tmp_path, form)
    out, again, final = (tmp_path / name for name in ("out", "again", "final"))
    (tmp_path / "reference.csv").write_text(
        "id,text\n" + "".join(f"r{n},{text}\n" for n, text in enumerate(texts()[::5]))
    )
    common = ["--threshold", ".5", *(str(tmp_path / "reference.csv") if o == "REFERENCE" else o for o in options)]
    assert run("dedup", str(source), "-o", str(out), *common).status in (0, 1)
    decide(out)
    code = run("dedup", str(source), "-o", str(again), "--decisions", str(out), *common).status
    one = run("apply", str(out), "-o", str(final))
    assert one.status == code, one.err
    assert kept_bytes(again) == kept_bytes(final)
    assert fates_and_groups(again) == fates_and_groups(final)
    runs = [run_json(folder) for folder in (again, final)]
    assert runs[0]["counts"] == runs[1]["counts"]
    assert runs[0]["bytes"] == runs[1]["bytes"]
    assert runs[1]["removed_by"] in (None, runs[0]["removed_by"])  # never by the run before the decisions
    before = runs[1]["decisions"].pop("before")  # which a run with --decisions does not count
    counts = run_json(out)["counts"]
    assert before.items() >= {name: counts[name] for name in ("groups", "near_copies", "removed", "kept")}.items()
    assert runs[0]["decisions"] == runs[1]["decisions"]


def test_a_result_of_group_removes_what_a_dedup_would(run: Run, tmp_path: Path) -> None:
    source = written(tmp_path, "jsonl")
    out, again, final = (tmp_path / name for name in ("out", "again", "final"))
    run("group", str(source), "-o", str(out), "--threshold", ".5")
    decide(out)
    run("dedup", str(source), "-o", str(again), "--threshold", ".5", "--decisions", str(out))
    run("apply", str(out), "-o", str(final))
    assert kept_bytes(again) == kept_bytes(final)


def test_a_changed_or_moved_input_is_reported_with_the_way_out(run: Run, tmp_path: Path) -> None:
    source = written(tmp_path, "jsonl")
    out, final = tmp_path / "out", tmp_path / "final"
    run("dedup", str(source), "-o", str(out), "--threshold", ".5")
    decide(out)
    moved = tmp_path / "elsewhere" / "in.jsonl"
    moved.parent.mkdir()
    source.rename(moved)
    said = run("apply", str(out), "-o", str(final))
    assert (said.status, has_parts(said.err, "--inputs", "place of today")) == (2, True)
    assert not final.exists()
    assert run("apply", str(out), "-o", str(final), "--inputs", str(moved)).status == 1
    moved.write_bytes(moved.read_bytes() + b'{"text": "one more"}\n')
    said = run("apply", str(out), "-o", str(tmp_path / "f2"), "--inputs", str(moved))
    assert (said.status, "changed since" in said.err) == (2, True)


def test_a_folder_with_decisions_is_loaded_and_never_overwritten(run: Run, tmp_path: Path) -> None:
    source = written(tmp_path, "jsonl")
    out = tmp_path / "out"
    run("dedup", str(source), "-o", str(out), "--threshold", ".5")
    decide(out)
    said = run("dedup", str(source), "-o", str(out), "--overwrite")
    assert (said.status, "decisions of a review" in said.err) == (2, True)
    regrouped = run("regroup", str(out), "--threshold", ".9", "-o", str(tmp_path / "g"))
    assert (regrouped.status, "are not followed" in regrouped.err) == (1, True)
    for wrong in (["dedup", str(source), "--decisions", str(out)], ["apply", str(out)]):
        said = run(*wrong, "-o", str(out), "--overwrite")
        assert said.status == 2
        assert "Another folder" in said.err
