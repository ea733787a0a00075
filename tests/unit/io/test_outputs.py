from __future__ import annotations

import hashlib
import json
import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import OutputError
from neardup.io.writers import OutputFolder
from support.command_line import run_json


@dataclass
class Row:
    a: int
    b: str | None


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_everything_is_there_at_the_end_and_nothing_before(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with OutputFolder(target) as folder:
        folder.write_table("t.parquet", pa.table({"a": [1, 2]}))
        folder.write_json(
            "run.json", {"b": np.int64(1), "a": np.array([1.5, 2]), "c": tmp_path, "ü": float("nan")}
        )
        folder.write_jsonl("r.jsonl", [Row(1, "x\n"), {"a": 2}])
        folder.path("raw").write_bytes(b"raw")
        assert not target.exists()
        (place,) = target.parent.iterdir()
        assert place.name.startswith(".out.partial-")
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert entries(target.parent) == ["out"]
    assert entries(target) == ["manifest.json", "r.jsonl", "raw", "run.json", "t.parquet"]
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["files"]["raw"] == {"bytes": 3}
    assert manifest["files"]["t.parquet"] == {
        "bytes": (target / "t.parquet").stat().st_size,
        "sha256": hashlib.sha256((target / "t.parquet").read_bytes()).hexdigest(),
    }
    assert pq.read_table(target / "t.parquet").to_pydict() == {"a": [1, 2]}
    assert (target / "run.json").read_text() == (
        '{\n  "a": [\n    1.5,\n    2.0\n  ],\n  "b": 1,\n  "c": '
        + json.dumps(str(tmp_path))
        + ',\n  "ü": null\n}\n'
    )
    lines = (target / "r.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 1, "b": "x\n"}, {"a": 2}]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def interrupted() -> None:
        with OutputFolder(tmp_path / "out") as folder:
            folder.write_json("run.json", {})
            raise error

    with pytest.raises(error):
        interrupted()
    assert entries(tmp_path) == []


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError), OutputFolder(tmp_path / "out"):
        pass
    assert entries(tmp_path) == ["out"]


def result(path: Path, value: int, *, overwrite: bool = False) -> None:
    with OutputFolder(path, overwrite=overwrite) as folder:
        folder.write_json("run.json", value)


def test_overwrite_replaces_a_result_as_a_whole(tmp_path: Path) -> None:
    result(tmp_path / "out", 1)
    result(tmp_path / "out", 2, overwrite=True)
    assert entries(tmp_path) == ["out"]
    assert entries(tmp_path / "out") == ["manifest.json", "run.json"]
    assert run_json(tmp_path / "out") == 2
    (tmp_path / "empty").mkdir()
    result(tmp_path / "empty", 3, overwrite=True)


def test_overwrite_keeps_the_old_result_when_the_new_one_fails(tmp_path: Path) -> None:
    result(tmp_path / "out", 1)

    def failing() -> None:
        with OutputFolder(tmp_path / "out", overwrite=True):
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - any error will do
        failing()
    assert run_json(tmp_path / "out") == 1
    assert entries(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_overwrite_deletes_nothing_but_results(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious").write_text("x")
    target = {"folder": home, "file": home / "precious", "link": tmp_path / "link"}[kind]
    if kind == "link":
        target.symlink_to(home)
    with pytest.raises(OutputError), OutputFolder(target, overwrite=True):
        pass
    assert (home / "precious").read_text() == "x"


def test_the_same_folder_twice_at_a_time(tmp_path: Path) -> None:
    def twice() -> None:
        with OutputFolder(tmp_path / "out") as first:
            first.write_json("run.json", 1)
            with pytest.raises(OutputError, match="being written"), OutputFolder(tmp_path / "out"):
                pass
            assert first.path("run.json").exists()

    twice()
    assert entries(tmp_path) == ["out"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError), OutputFolder(tmp_path / "file" / "out"):
        pass


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        for write in (
            lambda: folder.write_json("no/x.json", 1),
            lambda: folder.write_jsonl("no/x.jsonl", []),
            lambda: folder.write_table("no/x.parquet", pa.table({"a": [1]})),
        ):
            with pytest.raises(OutputError):
                write()
