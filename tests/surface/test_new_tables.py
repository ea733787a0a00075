"""``--write-table``: the rows that stay as a new table of Delta Lake or Lance, read by its own library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import storage_servers
from support.command_line import Run

BASE = "the quick brown fox jumps over the lazy dog and runs far away from the old grey house"
TABLE = pa.table({"id": list(range(30)), "text": [f"{BASE} number {n % 7} of them" for n in range(30)]})


def delta(place: str, **options: str) -> pa.Table:
    library: Any = pytest.importorskip("deltalake")
    return library.DeltaTable(place, storage_options=options).to_pyarrow_table()


def lance(place: str, **options: str) -> pa.Table:
    library: Any = pytest.importorskip("lance")
    return library.dataset(place, storage_options=options).to_table()


READ = {"delta": delta, "lance": lance}


@pytest.mark.parametrize("form", READ)
def test_the_rows_that_stay_are_a_table(form: str, run: Run, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    place = tmp_path / f"clean.{form}"
    words = ["dedup", tmp_path / "a.parquet", "--write-table", place, "-o"]
    first = run(*words, tmp_path / "out")
    assert first.status == 0, first.err
    assert f"{place}: the kept rows" in " ".join(first.out.split())
    assert READ[form](str(place)).to_pydict() == pq.read_table(tmp_path / "out" / "kept.parquet").to_pydict()
    again = run(*words, tmp_path / "again")
    assert again.status == 2
    assert "exists" in again.err
    assert not (tmp_path / "again").exists()
    assert run("dedup", place, "-o", tmp_path / "of-table").status == 0


@pytest.mark.parametrize("form", READ)
def test_a_table_is_written_to_an_object_store(
    form: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = storage_servers.s3()
    for name, value in {**storage_servers.S3_KEYS, "AWS_ENDPOINT_URL": address}.items():
        monkeypatch.setenv(name, value)
    pq.write_table(TABLE, tmp_path / "a.parquet")
    place = f"s3://box/{tmp_path.name}/clean.{form}"
    done = run("dedup", tmp_path / "a.parquet", "--write-table", place, "-o", tmp_path / "out")
    assert done.status == 0, done.err
    written = READ[form](place, allow_http="true", aws_endpoint=address)
    assert written.num_rows == pq.read_table(tmp_path / "out" / "kept.parquet").num_rows


@pytest.mark.parametrize("name", ["clean.iceberg", "clean", "clean.parquet", "https://host/clean.delta"])
def test_other_tables_are_refused_before_the_work(name: str, run: Run, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    done = run("dedup", tmp_path / "a.parquet", "--write-table", name, "-o", tmp_path / "out")
    assert done.status == 2
    assert "error: " in done.err
    assert not (tmp_path / "out").exists()


def test_rows_without_types_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a b c"}\n')
    done = run("dedup", tmp_path / "a.jsonl", "--write-table", tmp_path / "a.delta", "-o", tmp_path / "out")
    assert done.status == 2
    assert not (tmp_path / "out").exists()
