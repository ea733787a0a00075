"""Parts that were fingerprinted apart and merged give the tables of one run over all of them, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.find import run
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.parts.merge import open_parts, with_settings
from neardup.deduplication.run.parts.rows import kept_of_part
from neardup.deduplication.run.parts.update import find_against, read_documents
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import choose_columns, choose_reference, open_files
from neardup.io.writers import OutputFolder
from neardup.runtime import Silent
from support import shared_data
from support.messages import assert_refused

CERTAIN = 0.999999
TABLES = ("pairs", "groups", "copies", "ranks", "not_judged", "places", "located")


def rows_of(name: str) -> list[dict[str, Any]]:
    documents = {**shared_data.documents(name), "nothing": "", "nothing again": " . "}
    return [
        {"id": id, "text": text, "score": len(text) % 7, "lang": "ab"[len(text) % 2]}
        for id, text in documents.items()
    ]


def as_jsonl(rows: list[dict[str, Any]], path: Path) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{torn\n")
    return path


def as_parquet(rows: list[dict[str, Any]], path: Path) -> Path:
    path = path.with_suffix(".parquet")
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=37)
    return path


def as_csv(rows: list[dict[str, Any]], path: Path) -> Path:
    path = path.with_suffix(".csv")
    pa.csv.write_csv(pa.Table.from_pylist(rows), path)
    return path


def as_folder(rows: list[dict[str, Any]], path: Path) -> Path:
    path.mkdir()
    for number, row in enumerate(rows):
        (path / f"{number:04}.txt").write_text(row["text"])
    (path / "no-text.bin").write_bytes(b"\x7fELF\x00\x01\x02" * 99)
    return path


WRITERS: dict[str, Callable[[list[dict[str, Any]], Path], Path]] = {
    "jsonl": as_jsonl,
    "parquet": as_parquet,
    "csv": as_csv,
    "folder": as_folder,
}


def split(rows: list[dict[str, Any]], cuts: Sequence[int], folder: Path, format: str) -> list[Path]:
    bounds = [0, *cuts, len(rows)]
    return [
        WRITERS[format](rows[first:until], folder / f"part-{number:02}")
        for number, (first, until) in enumerate(pairwise(bounds))
    ]


def fingerprinted(parts: Sequence[Path], out: Path, **settings: Any) -> list[Path]:
    for part in reversed(parts):  # in any order
        nd.fingerprint_part(part, out / part.name, **settings)
    return [out / part.name for part in parts]


def merged(folders: Sequence[Path], out: Path, **asked: Any) -> dict[str, bytes]:
    nd.merge(folders, **asked).save(out)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def in_one_run(parts: Sequence[Path], out: Path, **settings: Any) -> dict[str, bytes]:
    chosen = nd.Settings.of(**settings)
    documents = open_files(list(parts), reading=chosen.reading)
    outcome = run(Inputs(documents, choose_columns(documents, None, None), chosen, action="dedup"))
    save(outcome, out, action="dedup")
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def require_same_tables(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert {name for name in TABLES if one[f"{name}.parquet"] != other[f"{name}.parquet"]} == set()
    assert one["problems.jsonl"] == other["problems.jsonl"]
    runs = [json.loads(files["run.json"]) for files in (one, other)]
    for run_of in runs:
        for varying in ("seconds", "peak_memory_bytes"):
            run_of.pop(varying)
        run_of.pop("kept_files", None)  # a merged result has no kept rows
    assert runs[0] == runs[1]


CASES: dict[str, tuple[str, Sequence[int], dict[str, Any]]] = {
    "lsh": ("jsonl", (100, 101, 300), {"method": "lsh"}),
    "limit": ("jsonl", (200,), {"method": "lsh", "memory": 0.05, "threshold": 0.6}),
    "exact": ("parquet", (250,), {"method": "exact", "threshold": 0.5}),
    "text": ("folder", (100, 333), {"threshold": 0.6, "method": "lsh"}),
    "simhash": ("csv", (77, 300), {"sketch": "simhash", "threshold": 0.7}),
    "columns": ("csv", (200,), {"keep": ("max:score", "longest"), "within": ("lang",), "threshold": 0.6}),
    "across": ("jsonl", (200,), {"across": "lang", "threshold": 0.6, "count": True, "sources": "lang"}),
    "counted": ("csv", (150, 300), {"threshold": 0.6, "count": True, "sources": "lang", "empty": "drop"}),
    "chars": ("jsonl", (400,), {"unit": "char", "measure": "containment", "threshold": 0.8}),
    "common": ("jsonl", (200,), {"ignore_common": 0.05, "threshold": 0.6}),
    "dropped": ("csv", (200,), {"keep": ("max:score", "longest"), "threshold": 0.6, "empty": "drop"}),
    "kinds": ("jsonl", (200,), {"kinds": True, "threshold": 0.6, "empty": "drop"}),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("case", CASES)
def test_merged_parts_are_one_run(case: str, tmp_path: Path) -> None:
    format, cuts, settings = CASES[case]
    parts = split(rows_of("own"), cuts, tmp_path, format)
    folders = fingerprinted(parts, tmp_path / "FP", **settings)
    require_same_tables(merged(folders, tmp_path / "merged"), in_one_run(parts, tmp_path / "one", **settings))


@pytest.mark.parametrize("name", ["license_texts", "textreuse"])
def test_merged_parts_of_real_sets_are_one_run(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    parts = split(rows, (len(rows) // 3, len(rows) // 2), tmp_path, "jsonl")
    folders = fingerprinted(parts, tmp_path / "FP")
    asked = {"threshold": 0.6, "method": "lsh", "recall": 0.9, "groups": "components"}
    require_same_tables(
        merged(folders, tmp_path / "merged", **asked), in_one_run(parts, tmp_path / "one", **asked)
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("case", ["lsh", "text", "dropped", "across", "counted"])
def test_the_kept_rows_of_all_parts_are_those_of_one_run(case: str, tmp_path: Path) -> None:
    format, cuts, settings = CASES[case]
    parts = split(rows_of("own"), cuts, tmp_path, format)
    folders = fingerprinted(parts, tmp_path / "FP", **settings)
    merged(folders, tmp_path / "merged")
    in_one_run(parts, tmp_path / "one", **settings)
    found, kept, counted = nd.load(tmp_path / "merged"), [], 0
    for part in parts:
        with OutputFolder(tmp_path / "kept" / part.name) as folder:
            counted += kept_of_part(open_files([part]), found, "merged", folder).kept
        kept.append(kept_rows(tmp_path / "kept" / part.name))
    assert sorted(row for rows in kept for row in rows) == kept_rows(tmp_path / "one")
    assert counted == found.run.counts.kept


def kept_rows(folder: Path) -> list[bytes]:
    """The kept rows, or the kept files with their content, sorted."""
    kept = next(path for path in folder.iterdir() if path.name.startswith("kept"))
    if kept.is_dir():
        found = [path for path in kept.rglob("*") if path.is_file()]
        if not {path.suffix for path in found} & {".csv", ".jsonl"}:
            return sorted(path.read_bytes() for path in found)
        return sorted(row for path in found for row in path.read_bytes().splitlines()[path.suffix == ".csv" :])
    return sorted(kept.read_bytes().splitlines()[1 if kept.suffix == ".csv" else 0 :])


def test_a_part_that_is_not_merged_or_has_changed_is_named(tmp_path: Path) -> None:
    parts = split(rows_of("own"), (100, 200), tmp_path, "jsonl")
    folders = fingerprinted(parts, tmp_path / "FP")
    merged(folders[:2], tmp_path / "merged")
    found = nd.load(tmp_path / "merged")
    parts[1].write_text(parts[1].read_text() + '{"text": "one more"}\n')
    of_part = lambda part: kept_of_part(open_files([parts[part]]), found, "OUT", None)  # noqa: E731
    assert_refused(
        (nd.InputError, r"part-02\.jsonl is not .*parts of OUT", lambda: of_part(2)),
        (nd.InputError, r"part-01\.jsonl has changed since", lambda: of_part(1)),
        (nd.InputError, r"part-01\.jsonl has changed since", lambda: merged(folders, tmp_path / "again")),
    )


def dedup_against(new: Path, folders: Sequence[Path], **settings: Any) -> Found:
    against, shared = open_parts(folders)
    chosen = with_settings(shared, settings)
    documents = open_files([new], reading=chosen.reading)
    columns = choose_columns(documents, None, None)
    read = read_documents(documents, columns, chosen, against.secret, Silent())
    return find_against(read, columns, chosen, against, Silent())[0].found


@pytest.mark.part(3)
@pytest.mark.parametrize("planned", [0.7, 0.9], ids=["sorted bands", "scanned bands"])
@pytest.mark.parametrize("format", ["jsonl", "folder"])
def test_saved_fingerprints_are_a_reference_set(format: str, planned: float, tmp_path: Path) -> None:
    rows = [row for row in rows_of("own") if row["text"]]
    *old, new = split(rows, (150, 300), tmp_path, format)
    folders = fingerprinted(old, tmp_path / "FP", threshold=planned)
    for asked in ({"method": "lsh", "recall": CERTAIN, "slots": 128}, {"method": "exact"}):
        settings = {"threshold": 0.7, **asked}
        documents = open_files([new])
        columns = choose_columns(documents, None, None)
        reference = choose_reference(open_files(old), columns)
        one = run(Inputs(documents, columns, nd.Settings.of(**settings), reference, "dedup")).found
        saved = dedup_against(new, folders, **settings)
        for name in ("pairs", "groups", "copies", "not_judged"):
            assert getattr(saved, name).equals(getattr(one, name)), name
        assert saved.run.counts.removed == one.run.counts.removed > 0


def test_only_saved_documents_that_can_meet_a_new_one_take_part(tmp_path: Path) -> None:
    old, new = split(rows_of("own"), (400,), tmp_path, "jsonl")
    folders = fingerprinted([old], tmp_path / "FP", method="lsh")
    part = open_parts(folders)[0].parts[0]
    found = dedup_against(new, folders)
    assert found.run.counts.different < 0.7 * part.manifest.counts.rows
