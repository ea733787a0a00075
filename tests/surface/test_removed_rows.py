"""--write-removed: the rows that go, in the form of the input, with their reasons."""

import gzip
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from support.command_line import BASE, NEAR, OTHER, ROWS, Run, write_rows
from support.messages import has_parts

TABLE = pa.Table.from_pylist(ROWS)
GONE = [{**ROWS[1], "kept_id": "a"}, {**ROWS[2], "kept_id": "a"}]


def jsonl(path: Path) -> Path:
    with gzip.open(path / "in.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)
    return path / "in.jsonl.gz"


def parquet(path: Path) -> Path:
    pq.write_table(TABLE, path / "in.parquet")
    return path / "in.parquet"


def csv(path: Path) -> Path:
    pacsv.write_csv(TABLE, path / "in.csv")
    return path / "in.csv"


def rows_in(path: Path) -> list[dict[str, object]]:
    if path.name.endswith(".jsonl.gz"):
        with gzip.open(path, "rt") as file:
            return [json.loads(line) for line in file]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        return pacsv.read_csv(path).to_pylist()
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("made", [jsonl, parquet, csv])
def test_kept_and_removed_rows_are_all_rows(made: object, run: Run, tmp_path: Path) -> None:
    given = made(tmp_path)  # type: ignore[operator]
    out = tmp_path / "out"
    assert run("dedup", given, "-o", out, "--write-removed", "--keep", "first").status == 0
    removed = rows_in(out / given.name.replace("in", "removed", 1))
    reasons = [str(row.pop("reason")) for row in removed]
    assert removed == GONE
    assert has_parts(reasons[0], "near copy of a")
    assert has_parts(reasons[1], "exact copy of a")
    kept = rows_in(out / given.name.replace("in", "kept", 1))
    assert sorted(row["id"] for row in (*kept, *removed)) == ["a", "b", "c", "d"]
    again = run("dedup", given, "-o", out, "--write-removed", "--overwrite")
    assert again.status == 0, again.err


def test_rows_of_several_files_are_in_several_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    write_rows(folder / "a.jsonl", ROWS[:2])
    write_rows(folder / "sub" / "b.jsonl", [*ROWS[2:], {"id": "e", "text": ""}])
    out = tmp_path / "out"
    assert run("dedup", folder, "-o", out, "--write-removed", "--empty", "drop").status == 0
    found = {
        path.relative_to(out / "removed").as_posix(): path.read_text()
        for path in (out / "removed").rglob("*.jsonl")
    }
    ids = {name: [json.loads(line)["id"] for line in text.splitlines()] for name, text in found.items()}
    assert ids == {"a.jsonl": ["b"], "sub/b.jsonl": ["c", "e"]}
    last = json.loads(found["sub/b.jsonl"].splitlines()[-1])
    assert (last["kept_id"], "without text" in last["reason"]) == (None, True)


def test_documents_are_files_and_members(run: Run, tmp_path: Path) -> None:
    files = {"a.txt": BASE, "b.txt": NEAR, "c.png": "\0\1\2" * 99, "d.txt": OTHER}
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "in.zip", "-o", out, "--write-removed", "--keep", "first").status == 0
    names = {name: zipfile.ZipFile(out / f"{name}.zip").namelist() for name in ("kept", "removed")}
    assert names == {"kept": ["a.txt", "c.png", "d.txt"], "removed": ["b.txt"]}


def test_rows_that_saved_fingerprints_remove(run: Run, tmp_path: Path) -> None:
    old = write_rows(tmp_path / "old.jsonl", ROWS[:1])
    assert run("fingerprint", old, "-o", tmp_path / "fp").status == 0
    files = [parquet(tmp_path), write_rows(tmp_path / "more.jsonl", [{**ROWS[2], "id": "m"}])]
    out = tmp_path / "out"
    result = run("dedup", *files, "--against", tmp_path / "fp", "-o", out, "--write-removed")
    assert result.status == 0, result.err
    removed = [row for name in ("in.parquet", "more.jsonl") for row in rows_in(out / "removed" / name)]
    assert [(row["id"], row["kept_id"]) for row in removed] == [("a", "a"), ("b", "a"), ("c", "a"), ("m", "a")]
    assert has_parts(str(removed[0]["reason"]), "exact copy of a", "the reference set")
    assert [row["id"] for row in rows_in(out / "kept" / "in.parquet")] == ["d"]
    again = run("apply", out, "-o", tmp_path / "final")
    assert again.status == 0, again.err
    shards = ("--file-size", "1MB", "--no-self")
    assert run("dedup", files[0], "--against", tmp_path / "fp", "-o", tmp_path / "shards", *shards).status == 0
    assert rows_in(tmp_path / "shards" / "kept" / "kept-00000.parquet") == ROWS[3:]


def test_mistakes_are_named_before_the_work(run: Run, tmp_path: Path) -> None:
    given = write_rows(tmp_path / "in.jsonl", [{**row, "reason": "x"} for row in ROWS])
    clash = run("dedup", given, "-o", tmp_path / "out", "--write-removed")
    assert has_parts(clash.err, "reason", "kept_id, reason")
    both = run("dedup", given, "-o", tmp_path / "out", "--write-removed", "--annotate")
    assert has_parts(both.err, "--annotate", "--write-removed")
    stream = run("dedup", given, "-o", "-", "--write-removed")
    assert has_parts(stream.err, "--write-removed", "-o -")
    assert [clash.status, both.status, stream.status] == [2, 2, 2]
