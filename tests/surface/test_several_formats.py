"""Parquet beside JSONL beside CSV, and several tables, as one input: each file is kept in its own form."""

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neardup as nd
from neardup.io.readers import choose_columns, open_files
from support.command_line import BASE, NEAR, OTHER, Run, run_json, write_rows
from support.messages import has_parts

Rows = list[dict[str, Any]]
TEXTS = [BASE, OTHER, "third " * 20 + OTHER, " ".join(f"d{i}" for i in range(40))]


def write(path: Path, rows: Rows) -> Path:
    """Write rows in the form of the suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    elif path.suffix == ".arrow":
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        write_rows(path, rows)
    return path


def read(path: Path) -> Rows:
    """Read the rows of a file of the suffix."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copies of BASE in three formats; ``lang`` is missing in the JSONL, ``meta`` is in no other file."""
    place = tmp_path / "in"
    place.mkdir()
    write(place / "a.parquet", [{"id": "a", "text": BASE, "year": 1, "lang": "en"}])
    write(place / "b.jsonl", [{"text": NEAR, "id": "b", "year": 3, "meta": {"site": "x"}}])
    write(
        place / "c.csv",
        [
            {"id": "c", "text": BASE.upper(), "year": 2, "lang": "en"},
            {"id": "d", "text": OTHER, "year": 0, "lang": "de"},
        ],
    )
    return place


def test_each_file_is_kept_in_its_own_form(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("dedup", folder, "-o", out, "--keep", "max:year", "--write-removed", "--memory", "400MB")
    assert result.status == 0, result.err
    kept = {path.name: read(path) for path in sorted((out / "kept").iterdir())}
    assert kept["b.jsonl"] == read(folder / "b.jsonl")
    assert [row["id"] for row in kept["c.csv"]] == ["d"]
    assert kept["a.parquet"] == []
    removed = [row for path in sorted((out / "removed").iterdir()) for row in read(path)]
    assert [(row["id"], row["kept_id"]) for row in removed] == [("a", "b"), ("c", "b")]
    assert run("verify", out).status == 3  # the removed rows are not looked at
    assert has_parts("".join(run("show", out, "c").out.split()), f"row0of{folder / 'c.csv'}")
    assert run("report", out, "-o", tmp_path / "report.html").status == 0
    assert run("apply", out, "-o", tmp_path / "final").status == 0
    for path in (out / "kept").iterdir():
        assert (tmp_path / "final" / "kept" / path.name).read_bytes() == path.read_bytes()


def test_a_missing_column_is_null_and_added_columns_are_in_all_files(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    result = run("dedup", folder, "-o", tmp_path / "out", "--within", "lang", "--count", "--sources", "lang")
    assert result.status == 0, result.err
    assert has_parts(result.out, "3 values", "1 document without one")
    kept = {path.name: read(path) for path in (tmp_path / "out" / "kept").iterdir()}
    assert kept["a.parquet"][0]["sources"] == '["en"]'  # CSV has no lists
    assert kept["b.jsonl"][0]["copies"] == 0
    nested = run("dedup", folder, "-o", tmp_path / "nested", "--within", "meta.site")
    assert has_parts(nested.out, "2 values", "3 documents without one")
    stored = pq.read_table(tmp_path / "out" / "texts.parquet")
    assert stored.num_rows == 2


def test_references_are_of_several_kinds(run: Run, folder: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.jsonl", [{"id": "n", "text": NEAR}, {"id": "m", "text": TEXTS[3]}])
    against = [part for path in sorted(folder.iterdir()) for part in ("--against", path)]
    assert run("dedup", new, *against, "-o", tmp_path / "out").status == 0
    assert [row["id"] for row in read(tmp_path / "out" / "kept.jsonl")] == ["m"]


def test_fingerprints_and_collections_take_them(run: Run, folder: Path, tmp_path: Path) -> None:
    parts = [tmp_path / "first", tmp_path / "second"]
    inputs = [[folder / "a.parquet", folder / "b.jsonl"], [folder / "c.csv"]]
    for part, files in zip(parts, inputs, strict=True):
        assert run("fingerprint", *files, "-o", part).status == 0
    merged = run("merge", *parts, "-o", tmp_path / "merged")
    assert merged.status == 0, merged.err
    assert run("part", *inputs[0], "--of", tmp_path / "merged", "-o", tmp_path / "kept").status == 0
    assert read(tmp_path / "kept" / "kept" / "b.jsonl") == []
    assert run("dedup", folder / "c.csv", "--against", parts[0], "-o", tmp_path / "new").status == 0
    assert [row["id"] for row in read(tmp_path / "new" / "kept.csv")] == ["d"]
    assert run("collection", "add", tmp_path / "all.db", folder).status == 0
    assert has_parts(run("collection", "info", tmp_path / "all.db").out, "4")


@pytest.mark.parametrize(
    ("rows", "options", "parts"),
    [
        ({"body": "no text here"}, (), ("No column of strings is in all inputs", "body")),
        ({"body": "no text here"}, ("--text", "text"), ("missing in", "x.jsonl")),
        ({"id": "x", "text": 5}, (), ('"text"', "text in", "integer in", "x.jsonl")),
        ({"id": "x", "text": "x", "year": "new"}, ("--keep", "max:year"), ('"year"', "integer in", "text in")),
        ({"id": "x", "text": "x", "lang": ["en"]}, ("--within", "lang"), ("--within", '"lang"')),
        ({"id": "x", "text": "x"}, ("--file-size", "1MB"), ("several formats",)),
    ],
)
def test_conflicts_are_errors_before_the_work(
    rows: dict[str, Any], options: tuple[str, ...], parts: tuple[str, ...], run: Run, folder: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "x.jsonl", [rows])
    result = run("dedup", folder / "a.parquet", other, *options, "-o", tmp_path / "out")
    assert result.status != 0
    assert has_parts(" ".join(result.err.split()), *parts)
    assert not (tmp_path / "out").exists()


def test_an_archive_of_several_formats(run: Run, folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "all.zip", "-o", out, "--keep", "first").status == 0
    assert [row["id"] for row in read(out / "kept" / "c.csv")] == ["d"]
    assert run("verify", out).status == 0
    assert run("apply", out, "-o", tmp_path / "final").status == 0


def test_several_tables_and_a_table_beside_files(run: Run, folder: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("deltalake", reason="the extra delta is not installed")
    for name, text in (("old", BASE), ("new", NEAR), ("new", OTHER)):
        library.write_deltalake(tmp_path / name, pa.table({"id": [text[:5]], "text": [text]}), mode="append")
    tables = [tmp_path / "old", f"{tmp_path / 'new'}@v0", tmp_path / "new"]
    out = tmp_path / "out"
    result = run("dedup", *tables, folder / "b.jsonl", "-o", out, "--keep", "first")
    assert result.status == 0, result.err
    account = run_json(out)["kept_files"]["listed"]
    assert [(Path(one["file"]).name, one["rows"]) for one in account] == [
        ("old@v0.parquet", 1),
        ("new@v0.parquet", 0),
        ("new@v1.parquet", 1),
        ("b.jsonl", 0),
    ]
    assert run("verify", out).status == 0
    assert run("apply", out, "-o", tmp_path / "final").status == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    forms=st.lists(st.sampled_from((".parquet", ".jsonl", ".csv", ".arrow")), min_size=2, max_size=6),
    draws=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    wanted=st.sets(st.integers(0, 20)),
)
def test_the_groups_are_those_of_one_file(
    forms: list[str], draws: list[int], wanted: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    rows = [{"id": f"r{k}", "text": f"{TEXTS[draw]} end{k % 2}", "score": k % 5} for k, draw in enumerate(draws)]
    share = -(-len(rows) // len(forms))
    files = [
        write(folder / f"{k}{form}", rows[k * share : (k + 1) * share])
        for k, form in enumerate(forms)
        if rows[k * share : (k + 1) * share]
    ]
    one = nd.find(write(folder / "one.jsonl", rows), keep="max:score")
    several = nd.find(files, keep="max:score")
    assert several.groups.to_pylist() == one.groups.to_pylist()
    documents = open_files(files, chunk_bytes=100)
    columns = choose_columns(documents, None, None)
    every = list(documents.chunks())
    assert [chunk.index for chunk in every] == list(range(len(every)))
    read_ids = [chunk.read([str(columns.id)]).table["id"].to_pylist() for chunk in every]
    assert [id for ids in read_ids for id in ids] == [row["id"] for row in rows]
    again = {chunk.index: chunk.read(["id"]).table["id"].to_pylist() for chunk in documents.chunks(wanted)}
    assert again == {index: read_ids[index] for index in sorted(wanted) if index < len(every)}
