"""The files of kept rows: one for each file of the input, files of one size, folders of values, a stream."""

from __future__ import annotations

import gzip
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from neardup.errors import OutputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.sources import Source
from neardup.io.writers import KeptLayout, OutputFolder, StreamOutput, open_kept, read_native, value_folder
from neardup.io.writers.kept_layout import places_of

ROWS = [{"id": i, "text": f'text {i}, "quoted"\nü ' * (i % 5), "n": i / 2} for i in range(300)]
PARTS = {"lang=de/a": ROWS[:100], "lang=de/b": ROWS[100:101], "lang=fr/a": ROWS[101:]}
KEEP = np.random.default_rng(1).random(300) < 0.6
KEEP[100] = False


def write(folder: Path, kind: str) -> dict[str, Path]:
    """Write the parts as files of a kind: the second differs in the order of its columns and its compression."""
    written = {}
    for number, (name, rows) in enumerate(PARTS.items()):
        table = pa.Table.from_pylist(rows)
        table = table.select(["text", "n", "id"]) if number == 1 else table
        path = folder / f"{name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "parquet":
            table = table if number != 1 else table.set_column(2, "id", table["id"].cast(pa.int32()))
            pq.write_table(table, path, compression=["zstd", "gzip", "snappy"][number], row_group_size=40)
        elif kind == "csv":
            pacsv.write_csv(table, path, pacsv.WriteOptions(delimiter=";" if number == 1 else ","))
        elif kind == "arrow":
            opened = pa.ipc.new_stream if number == 1 else pa.ipc.new_file
            with opened(str(path), table.schema) as file:
                file.write_table(table)
        else:
            lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
            path = path.with_name(path.name + ".gz") if number == 1 else path
            path.write_bytes(gzip.compress(lines) if number == 1 else lines)
        written[name] = path
    return written


def keep_rows(folder: Path, out: Path, keep: Any, extra: Any = None, **how: Any) -> dict[str, Any]:
    """Write the rows of a folder for which ``keep`` is true, and return the account of the files."""
    file_size, threads = how.get("size", 0), how.get("threads", 1)
    documents = open_documents(folder, chunk_bytes=how.get("chunk_bytes", 3000))
    choose_columns(documents, "text", "id")
    list(documents.chunks())
    layout, row = KeptLayout.of(documents, file_size), 0
    asked = (documents, None if extra is None else extra.schema, threads)
    with OutputFolder(out) as made, open_kept(made, *asked, layout=layout) as writer:
        for _, native in map(read_native, writer.natives()):
            rows = len(native.row_numbers)
            writer.write(native, keep[row : row + rows], None if extra is None else extra.slice(row, rows))
            row += rows
        writer.close()
    return writer.account()


def table_of(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path, partitioning=None)
    if path.suffix == ".csv":
        delimiter = ";" if path.read_bytes()[:5].count(b";") or b";" in path.read_bytes().split(b"\n")[0] else ","
        everything = pacsv.ConvertOptions(column_types=dict.fromkeys(("id", "text", "n"), pa.string()))
        options = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        return pacsv.read_csv(path, parse_options=options, convert_options=everything)
    if path.suffix == ".arrow":
        is_file = path.read_bytes().startswith(b"ARROW1")
        return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(str(path)).read_all()
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return pa.table({"line": pa.array(data.splitlines(keepends=True), pa.binary())})


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "jsonl"])
def test_each_file_has_its_output_with_its_own_columns(tmp_path: Path, kind: str) -> None:
    written = write(tmp_path / "in", kind)
    account = keep_rows(tmp_path / "in", tmp_path / "out", KEEP)
    names = [str(path.relative_to(tmp_path / "in")) for path in written.values()]
    kept = tmp_path / "out" / "kept"
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()) == sorted(names)
    first = 0
    for path, name in zip(written.values(), names, strict=True):
        before, after = table_of(path), table_of(kept / name)
        mine = KEEP[first : first + before.num_rows]
        assert after.equals(before.filter(pa.array(mine)))
        assert after.column_names == before.column_names  # the partition is in the name of the folder
        first += before.num_rows
    assert first == len(KEEP)
    listed = [(one["file"], one["rows"]) for one in account["listed"]]
    assert listed == [(f"kept/{name}", int(rows)) for name, rows in zip(names, counts(), strict=True)]
    assert (account["form"], account["files"]) == ("as the input", 3)


def counts() -> list[int]:
    ends = np.cumsum([0, *map(len, PARTS.values())])
    return [int(KEEP[a:b].sum()) for a, b in pairwise(ends)]


def test_kept_files_are_compressed_as_each_input_is(tmp_path: Path) -> None:
    written = write(tmp_path / "in", "parquet")
    keep_rows(tmp_path / "in", tmp_path / "out", np.ones(300, np.bool_))
    for path in written.values():
        after = pq.read_metadata(tmp_path / "out" / "kept" / path.relative_to(tmp_path / "in")).row_group(0)
        before = pq.read_metadata(path).row_group(0)
        assert [after.column(i).compression for i in range(3)] == [before.column(i).compression for i in range(3)]


def test_added_columns_follow_those_of_each_file(tmp_path: Path) -> None:
    write(tmp_path / "in", "parquet")
    extra = pa.table({"copies": range(300)})
    keep_rows(tmp_path / "in", tmp_path / "out", np.ones(300, np.bool_), extra)
    found = table_of(tmp_path / "out" / "kept" / "lang=fr" / "a.parquet")
    assert found.column_names == ["id", "text", "n", "copies"]
    assert found["copies"].to_pylist() == list(range(101, 300))
    assert table_of(tmp_path / "out" / "kept" / "lang=de" / "b.parquet").column_names == [
        "text",
        "n",
        "id",
        "copies",
    ]


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "jsonl"])
def test_files_of_one_size_hold_all_rows_in_order(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "in", kind)
    size = 3000
    account = keep_rows(tmp_path / "in", tmp_path / "out", KEEP, size=size, chunk_bytes=2000)
    files = sorted((tmp_path / "out" / "kept").iterdir())
    assert [path.name.partition(".")[0] for path in files] == [f"kept-{i:05}" for i in range(len(files))]
    assert len(files) > 2
    ids: list[int] = []
    for path, listed in zip(files, account["listed"], strict=True):
        table = table_of(path)
        assert listed == {"file": f"kept/{path.name}", "rows": table.num_rows}
        lines = table["line"].to_pylist() if kind == "jsonl" else None
        ids += [json.loads(line)["id"] for line in lines] if lines else list(map(int, table["id"].to_pylist()))
    assert ids == np.flatnonzero(KEEP).tolist()
    if kind == "jsonl":
        sizes = [path.stat().st_size for path in files]
        longest = max(len(json.dumps(row)) for row in ROWS) + 20
        assert all(size <= found < size + longest for found in sizes[:-1])


def test_files_of_one_size_are_the_same_for_any_number_of_threads(tmp_path: Path) -> None:
    write(tmp_path / "in", "parquet")
    for threads in (1, 4):
        keep_rows(tmp_path / "in", tmp_path / f"out{threads}", KEEP, size=9000, threads=threads)
    one, four = (sorted((tmp_path / f"out{threads}" / "kept").iterdir()) for threads in (1, 4))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in four]
    assert len(one) > 1


def test_compressed_lines_are_the_same_bytes_in_each_run(tmp_path: Path) -> None:
    write(tmp_path / "in", "jsonl")
    for out in ("one", "two"):
        keep_rows(tmp_path / "in", tmp_path / out, np.ones(300, np.bool_))
    one, two = ((tmp_path / out / "kept" / "lang=de" / "b.jsonl.gz").read_bytes() for out in ("one", "two"))
    assert one == two
    assert one[4:8] == b"\0\0\0\0"  # no time


def test_documents_that_are_files_have_no_size(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("text")
    with pytest.raises(OutputError):
        KeptLayout.of(open_documents(tmp_path / "in"), 1000)


def test_an_unreadable_file_has_no_output_and_others_have(tmp_path: Path) -> None:
    written = write(tmp_path / "in", "parquet")
    written["lang=de/b"].write_bytes(b"PAR1 no")
    keep_rows(tmp_path / "in", tmp_path / "out", np.ones(299, np.bool_))
    kept = tmp_path / "out" / "kept"
    assert sorted(path.name for path in kept.rglob("*.parquet")) == ["a.parquet", "a.parquet"]
    assert table_of(kept / "lang=fr" / "a.parquet").num_rows == 199


def test_places_are_relative_distinct_and_stay_inside() -> None:
    def places(*names: str, roots: tuple[str, ...] = ()) -> list[str]:
        return places_of([Source(name, f"/{i}/{name}") for i, name in enumerate(names)], roots)

    assert places("data/x/a.jsonl", "data/x/b.jsonl", roots=("data",)) == ["x/a.jsonl", "x/b.jsonl"]
    assert places("data/x/a.jsonl", "data/x/b.jsonl") == ["a.jsonl", "b.jsonl"]
    assert places("one/a.csv", "two/a.csv", roots=("one", "two")) == ["one/a.csv", "two/a.csv"]
    assert places("../a.csv", "../../b/a.csv", "c/a.csv")[2].endswith("/c/a.csv")
    assert not any(
        place.startswith(("..", "/")) for place in places("../../../../../../../../etc/x", "/etc/../y", "z")
    )
    assert places("d/�.csv.gz", "d/�.csv.gz", "d/�-2.csv.gz") == ["�.csv.gz", "�-2.csv.gz", "�-2-2.csv.gz"]
    assert places("s3://bucket/p/a.csv", "s3://bucket/q/a.csv", roots=("s3://bucket",)) == ["p/a.csv", "q/a.csv"]


def test_folders_of_values_are_distinct_and_lead_nowhere_else() -> None:
    hostile = ["..", "../x", "a/b", "a\\b", "", "\0", "x" * 5000, "x" * 5001, "é" * 100]
    hostile += ["__HIVE_DEFAULT_PARTITION__"]
    names = [value_folder("box", value) for value in (*hostile, None)]
    assert len(set(names)) == len(hostile) + 1
    assert all(len(name.encode()) < 255 and not set(name) & set("/\\\0") for name in names)
    assert all(name.startswith("box=") for name in names)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "jsonl"])
def test_a_stream_has_the_rows_as_json(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "in", kind)
    documents = open_documents(tmp_path / "in")
    choose_columns(documents, "text", "id")
    stream, row = io.BytesIO(), 0
    with StreamOutput(stream) as output, open_kept(output, documents) as writer:
        for _, native in map(read_native, writer.natives()):
            writer.write(native, KEEP[row : row + len(native.row_numbers)])
            row += len(native.row_numbers)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [int(found["id"]) for found in rows] == np.flatnonzero(KEEP).tolist()
    assert [found["text"] for found in rows] == [ROWS[i]["text"] for i in np.flatnonzero(KEEP)]
    assert {found["lang"] for found in rows} == {"de", "fr"}


def test_a_stream_writes_values_that_json_lacks(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array([b"a \xff b", b"c"], pa.binary()),
            "name": pa.array([b"n\xff", b"m"], pa.binary()).view(pa.string()),
            "at": pa.array([1_000_000_001, None], pa.timestamp("ns")),
            "left": pa.array([1, 2], pa.duration("ns")),
            "share": pa.array([float("nan"), 0.5]),
            "kind": pa.array(["x", "x"]).dictionary_encode(),
        }
    )
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table)
    documents = open_documents(tmp_path / "a.arrow")
    choose_columns(documents, "text", None)
    stream = io.BytesIO()
    with StreamOutput(stream) as output, open_kept(output, documents) as writer:
        for _, native in map(read_native, writer.natives()):
            writer.write(native, np.ones(2, np.bool_))
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "text": "a � b",
        "name": "n�",
        "at": "1970-01-01 00:00:01.000000001",
        "left": 1,
        "share": None,
        "kind": "x",
    }
    assert second["at"] is None


def test_the_reader_of_a_stream_may_leave(tmp_path: Path) -> None:
    class Closed(io.BytesIO):
        def writelines(self, lines: Any) -> None:
            raise BrokenPipeError

    write(tmp_path / "in", "jsonl")
    documents = open_documents(tmp_path / "in")
    choose_columns(documents, "text", "id")
    with pytest.raises(BrokenPipeError):
        stream_all(documents, Closed())


def stream_all(documents: Documents, stream: io.BytesIO) -> None:
    with StreamOutput(stream) as output, open_kept(output, documents) as writer:
        for _, native in map(read_native, writer.natives()):
            writer.write(native, np.ones(len(native.row_numbers), np.bool_))
        writer.close()
