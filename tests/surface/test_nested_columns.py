"""A field of a record does for every option what a column with the same values does."""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.cli.option import options_of
from neardup.cli.options.on_files import DedupOptions
from support.command_line import BASE, NEAR, OTHER, Run, write_rows
from support.messages import has_parts


def relation(rows: list[dict[str, Any]]) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(pa.Table.from_pylist(rows))


TEXTS = [BASE, NEAR, BASE, OTHER, NEAR, OTHER]
VALUES = [("web", 3), ("book", 1), ("book", 5), ("web", 2), (None, 4), ("mail", 2)]
FLAT = [
    {"id": f"r{number}", "text": text, "source": source, "year": year}
    for number, (text, (source, year)) in enumerate(zip(TEXTS, VALUES, strict=True))
]
NESTED = [
    {"id": row["id"], "text": row["text"], "meta": {"at": {"source": row["source"]}, "year": row["year"]}}
    for row in FLAT
]
NAMES = {"source": "meta.at.source", "year": "meta.year"}
WRITERS = {
    "in.parquet": lambda rows, path: pq.write_table(pa.Table.from_pylist(rows), path),
    "duckdb.parquet": lambda rows, path: (
        duckdb.connect().from_arrow(pa.Table.from_pylist(rows)).write_parquet(str(path))
    ),
    "in.arrow": lambda rows, path: pl.DataFrame(rows).write_ipc(path),
    "in.jsonl": lambda rows, path: write_rows(path, rows),
}
OPTIONS = {
    "--within": "source",
    "--across": "source",
    "--by": "source",
    "--sources": "source",
    "--keep": "max:year,min:year,order:source=book,web",
    "--text": "",
    "--id": "",
    "--against-text": "",
    "--against-id": "",
}
"""The options that take a column; those of texts and ids are tried in tests/unit/io/test_fields.py."""


def nested(value: str) -> str:
    for name, field in NAMES.items():
        value = value.replace(name, field)
    return value


def given(option: str) -> list[list[str]]:
    values = OPTIONS[option].split(",m") if option == "--keep" else [OPTIONS[option]]
    values = ["max:year", "min:year", "order:source=book,web"] if option == "--keep" else values
    return [[option, value, *(["--count"] if option == "--sources" else [])] for value in values if value]


def test_all_options_with_a_column_are_tried() -> None:
    spelled = {one.spelling[0] for one in options_of(DedupOptions) if one.metavar == "COLUMN"}
    assert spelled <= {*OPTIONS}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("option", [option for option, value in OPTIONS.items() if value])
def test_a_field_does_what_a_column_does(name: str, option: str, run: Run, tmp_path: Path) -> None:
    for number, options in enumerate(given(option)):
        results = []
        for kind, rows in (("flat", FLAT), ("nested", NESTED)):
            path, out = tmp_path / f"{kind}-{name}", tmp_path / f"{kind}{number}"
            WRITERS[name](rows, path)
            asked = [options[0], options[1] if kind == "flat" else nested(options[1]), *options[2:]]
            result = run("dedup", path, "-o", out, *asked)
            assert result.status == 0, result.err
            groups = pq.read_table(out / "groups.parquet").to_pylist()
            kept = pq.read_table(out / "kept.parquet")["id"] if (out / "kept.parquet").exists() else None
            results.append((groups, kept))
        assert results[0] == results[1], options


@pytest.mark.parametrize("name", WRITERS)
def test_fields_that_are_not_there_are_named(name: str, run: Run, tmp_path: Path) -> None:
    WRITERS[name](NESTED, tmp_path / name)
    wrong = run("dedup", tmp_path / name, "-o", tmp_path / "out", "--within", "meta.at.sorce")
    assert wrong.status == 2
    assert has_parts(wrong.err, "meta.at.sorce", "meta.at.source")
    record = run("dedup", tmp_path / name, "-o", tmp_path / "out", "--keep", "max:meta.at")
    assert record.status == 2
    assert has_parts(record.err, "meta.at")


def test_rows_without_the_field_count_as_missing(run: Run, tmp_path: Path) -> None:
    rows = [*NESTED, {"id": "x", "text": BASE}, {"id": "y", "text": BASE, "meta": {"year": 9}}]
    path = write_rows(tmp_path / "in.jsonl", rows)
    assert run("dedup", path, "-o", tmp_path / "out", "--keep", "max:meta.year").status == 0
    kept = [json.loads(line)["id"] for line in (tmp_path / "out" / "kept.jsonl").read_text().splitlines()]
    assert kept == ["r3", "y"]


def test_fields_of_rows_in_memory_and_in_collections(run: Run, tmp_path: Path) -> None:
    for rows in (NESTED, pa.Table.from_pylist(NESTED), pl.DataFrame(NESTED)):
        nested_groups = nd.find(rows, within="meta.at.source", keep="max:meta.year", id="id").groups
        flat_groups = nd.find(FLAT, within="source", keep="max:year", id="id").groups
        assert nested_groups.to_pylist() == flat_groups.to_pylist()
    path = write_rows(tmp_path / "in.jsonl", NESTED)
    assert run("collection", "add", tmp_path / "c.db", path, "--meta", "meta.year").status == 0
    with nd.Collection(tmp_path / "c.db") as collection:
        assert {one.id: one.metadata for one in collection.documents()}["r2"] == {"meta.year": 5}
