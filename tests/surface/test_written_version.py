"""Every file that neardup writes, but the rows of users, has the version that wrote it."""

from __future__ import annotations

import json
import sqlite3
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import neardup as nd
from neardup.io.decisions.records import Tag
from neardup.io.decisions.store import DecisionStore
from support.command_line import ROWS, Run, write_rows

VERSION = version("neardup")


def version_in(path: Path) -> str | None:
    """The version in a file, by its kind."""
    if path.suffix == ".parquet":
        return (pq.read_schema(path).metadata or {}).get(b"neardup_version", b"").decode()
    if path.suffix == ".arrow":
        with pa.OSFile(str(path)) as file:
            return (pa.ipc.open_file(file).schema.metadata or {}).get(b"neardup_version", b"").decode()
    if path.suffix == ".json":
        found: str = json.loads(path.read_text())["neardup_version"]
        return found
    if path.suffix == ".html":
        return VERSION if f'<meta name="neardup_version" content="{VERSION}">' in path.read_text() else None
    return None


def test_the_files_of_a_result(run: Run, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    assert run("dedup", rows, "-o", tmp_path / "out", "--store-texts", "--audit", "10").status == 0
    files = {path.name: version_in(path) for path in (tmp_path / "out").iterdir()}
    for of_users in ("kept.jsonl", "problems.jsonl"):  # their lines are rows
        files.pop(of_users)
    assert files.keys() >= {"run.json", "manifest.json", "pairs.parquet", "texts.parquet", "missed.parquet"}
    assert set(files.values()) == {VERSION}, files


def test_pages_exports_signatures_and_collections(run: Run, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    out = tmp_path / "out"
    assert run("dedup", rows, "-o", out).status == 0
    assert run("report", out, "-o", tmp_path / "report.html").status == 0
    (tmp_path / "a.txt").write_text("one two three four five six")
    (tmp_path / "b.txt").write_text("one two three four five seven")
    pair = (tmp_path / "a.txt", tmp_path / "b.txt")
    assert run("compare", *pair, "--html", tmp_path / "pair.html").status == 0
    assert run("export", out, "-o", tmp_path / "groups.parquet").status == 0
    index = nd.Index()
    index.add("a", index.family.of("one two three"))
    index.save(tmp_path / "index.parquet")
    index.save(tmp_path / "index.arrow")
    names = ("report.html", "pair.html", "groups.parquet", "index.parquet", "index.arrow")
    assert {name: version_in(tmp_path / name) for name in names} == dict.fromkeys(names, VERSION)
    with nd.Collection(tmp_path / "mail.neardup"):
        pass
    connection = sqlite3.connect(tmp_path / "mail.neardup")
    assert connection.execute("SELECT value FROM header WHERE key = 'neardup_version'").fetchone() == (VERSION,)
    connection.close()


def test_fingerprints_have_it_in_their_manifest(run: Run, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    part = tmp_path / "FP" / "part-0"
    assert run("fingerprint", rows, "-o", part).status == 0
    [manifest] = part.glob("*.json")
    assert version_in(manifest) == VERSION


def test_decisions_have_it_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with DecisionStore(tmp_path) as store:
        store.act([Tag("a", "hot")], by="Ann", what="tag")
    connection = sqlite3.connect(tmp_path / "decisions.sqlite")
    assert connection.execute("SELECT value FROM about WHERE name = 'neardup_version'").fetchone() == (VERSION,)
    connection.close()
