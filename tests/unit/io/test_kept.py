from __future__ import annotations

import csv
import gzip
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import OutputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.parquet_pages import StoredColumn, read_footer
from neardup.io.writers import OutputFolder, open_kept
from neardup.io.writers.kept_formats import ArrowSink, CsvSink
from neardup.io.writers.kept_parquet import is_dictionary

TEXTS = [f'text {i}, "quoted"\nü ' * (i % 5) for i in range(1000)]
TABLE = pa.table(
    {"id": range(1000), "text": TEXTS, "lang": ["en", "de"] * 500, "tags": [[i] for i in range(1000)]}
).replace_schema_metadata({"made": "by hand"})
KEEP = np.random.default_rng(1).random(1000) < 0.6
EXTRA = pa.table({"group": range(1000), "similarity": np.arange(1000) / 1000})


def keep_rows(
    inputs: object, out: Path, keep: np.ndarray[Any, Any], extra: pa.Table | None = None, **options: Any
) -> tuple[Path, tuple[int, int]]:
    """Write the rows of the input for which ``keep`` is true and return the file and its sizes."""
    documents = open_documents(inputs, **options)
    choose_columns(documents, None, None)
    row = 0
    schema = None if extra is None else extra.schema
    with OutputFolder(out) as folder, open_kept(folder, documents, schema) as writer:
        for chunk in documents.chunks():
            native = chunk.read_native()
            rows = len(native.row_numbers)
            part = None if extra is None else extra.slice(row, rows)
            writer.write(native, keep[row : row + rows], part)
            row += rows
        sizes = writer.close()
        name = writer.path.name
    return out / name, sizes


def test_row_groups_are_as_long_as_in_the_input(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet", row_group_size=100)
    path, sizes = keep_rows(tmp_path / "in.parquet", tmp_path / "out", KEEP)
    assert sizes == ((tmp_path / "in.parquet").stat().st_size, path.stat().st_size)
    metadata = pq.read_metadata(path)
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert set(rows[:-1]) == {100}
    assert sum(rows) == KEEP.sum()


def stored(path: Path) -> tuple[StoredColumn, ...]:
    with pa.OSFile(str(path)) as file:
        return read_footer(file, pq.read_metadata(path))[0].columns


def test_encodings_follow_the_input(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [rng.bytes(60).hex() for _ in range(40_000)]
    table = pa.table({"text": texts, "lang": ["en", "de"] * 20_000, "plain": range(40_000)})
    pq.write_table(table, tmp_path / "in.parquet", use_dictionary=["text", "lang"], write_statistics=["lang"])
    assert [is_dictionary(column) for column in stored(tmp_path / "in.parquet")] == [False, True, False]
    path, _ = keep_rows(tmp_path / "in.parquet", tmp_path / "out", np.ones(40_000, np.bool_))
    after = pq.read_metadata(path).row_group(0)
    assert [after.column(i).has_dictionary_page for i in range(3)] == [False, True, False]
    assert [after.column(i).is_stats_set for i in range(3)] == [False, True, False]
    pq.write_table(table, tmp_path / "v1.parquet", version="1.0")
    assert not is_dictionary(stored(tmp_path / "v1.parquet")[0])


def test_pandas_reads_its_table_again(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["a", "b", "c"], "lang": pd.Categorical(["x", "y", "x"])})
    frame.to_parquet(tmp_path / "in.parquet")
    path, _ = keep_rows(tmp_path / "in.parquet", tmp_path / "out", np.array([True, False, True]))
    assert pd.read_parquet(path).to_dict("list") == {"text": ["a", "c"], "lang": ["x", "x"]}


def test_a_table_in_memory(tmp_path: Path) -> None:
    path, sizes = keep_rows(TABLE, tmp_path / "out", KEEP, EXTRA, chunk_bytes=1000)
    wanted = TABLE.append_column("group", EXTRA["group"]).append_column("similarity", EXTRA["similarity"])
    assert path.name == "kept.parquet"
    assert pq.read_table(path).equals(wanted.filter(pa.array(KEEP)))
    assert sizes[0] == TABLE.nbytes


def json_lines(end: bytes = b"\n") -> list[bytes]:
    return [json.dumps({"text": text, "id": i}).encode() + end for i, text in enumerate(TEXTS)]


@pytest.mark.parametrize("keep", [KEEP, np.ones(1000, np.bool_), np.zeros(1000, np.bool_)])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_jsonl_lines_are_not_touched(tmp_path: Path, keep: np.ndarray[Any, Any], end: bytes) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"".join(json_lines(end)))
    path, sizes = keep_rows(tmp_path / "in.jsonl", tmp_path / "out", keep, chunk_bytes=1000)
    assert path.name == "kept.jsonl"
    assert path.read_bytes() == b"".join(line for line, k in zip(json_lines(end), keep, strict=True) if k)
    assert sizes[1] == path.stat().st_size


def test_jsonl_without_a_last_line_end_and_with_bad_lines(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(b'{"text":"\xc3\xbc\xc3\xbc"}\n\nbad\n{"text":"\xff"}')
    (tmp_path / "2.jsonl").write_bytes(b'{"text":"c"}')
    path, _ = keep_rows(tmp_path / "*.jsonl", tmp_path / "out", np.ones(3, np.bool_))
    assert path.read_bytes() == b'{"text":"\xc3\xbc\xc3\xbc"}\n{"text":"\xff"}\n{"text":"c"}\n'


def test_jsonl_annotated(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"".join(json_lines()))
    path, _ = keep_rows(tmp_path / "in.jsonl", tmp_path / "out", KEEP, EXTRA)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    wanted = [{"text": TEXTS[i], "id": i, "group": i, "similarity": i / 1000} for i in np.flatnonzero(KEEP)]
    assert rows == wanted


def test_compression_is_kept_when_all_have_it(tmp_path: Path) -> None:
    content = b"".join(json_lines())
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(content))
    path, _ = keep_rows(tmp_path / "1.jsonl.gz", tmp_path / "gz", np.ones(1000, np.bool_))
    assert path.name == "kept.jsonl.gz"
    assert gzip.decompress(path.read_bytes()) == content
    (tmp_path / "2.jsonl.zst").write_bytes(pa.Codec("zstd").compress(content, asbytes=True))
    path, _ = keep_rows(tmp_path / "2.jsonl.zst", tmp_path / "zst", np.ones(1000, np.bool_))
    assert path.name == "kept.jsonl.zst"
    assert pa.CompressedInputStream(str(path), "zstd").read() == content
    path, _ = keep_rows(f"{tmp_path}/*.jsonl.*", tmp_path / "both", np.ones(2000, np.bool_))
    assert path.name == "kept.jsonl"
    assert path.read_bytes() == content * 2


@pytest.mark.parametrize(("name", "delimiter"), [("in.csv", ","), ("in.tsv", "\t"), ("in.csv.gz", ",")])
@pytest.mark.parametrize("extra", [None, EXTRA])
def test_csv(tmp_path: Path, name: str, delimiter: str, extra: pa.Table | None) -> None:
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([["id", "text"], *([str(i), text] for i, text in enumerate(TEXTS))])
    path, _ = keep_rows(tmp_path / name, tmp_path / "out", KEEP, extra, chunk_bytes=1000)
    assert path.name == name.replace("in", "kept")
    with opener(path, "rt", newline="", encoding="utf-8") as file:
        got = list(csv.reader(file, delimiter=delimiter))
    more = [] if extra is None else ["group", "similarity"]
    assert got[0] == ["id", "text", *more]
    kept = np.flatnonzero(KEEP).tolist()
    assert [row[:2] for row in got[1:]] == [[str(i), TEXTS[i]] for i in kept]
    if extra is not None:
        assert [(int(row[2]), float(row[3])) for row in got[1:]] == [(i, i / 1000) for i in kept]


def test_csv_keeps_empty_values_and_broken_bytes(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b'text\n""\nx\xff\nbad,bad\n"\xc3\xbc\xc3\xbc\r\nb"\n')
    path, _ = keep_rows(tmp_path / "in.csv", tmp_path / "out", np.ones(3, np.bool_))
    again = open_documents(path)
    values = [
        row for chunk in again.chunks() for row in chunk.read(["text"]).table["text"].cast(pa.binary()).to_pylist()
    ]
    assert values == [b"", b"x\xff", b"\xc3\xbc\xc3\xbc\r\nb"]


def test_text_files_are_copied(tmp_path: Path) -> None:
    for name, content in {"d/sub/a.txt": b"a\xff", "d/sub/b.txt": b"b", "d/sub/deep/c.txt": b"c"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    path, sizes = keep_rows(tmp_path / "d", tmp_path / "out", np.array([True, False, True]))
    assert path.name == "kept"
    assert sorted(str(p.relative_to(path)) for p in path.rglob("*.txt")) == ["sub/a.txt", "sub/deep/c.txt"]
    assert (path / "sub/a.txt").read_bytes() == b"a\xff"
    assert sizes == (4, 3)
    files = [tmp_path / "d/sub/a.txt", tmp_path / "d/sub/deep/c.txt"]
    path, _ = keep_rows(files, tmp_path / "out2", np.ones(2, np.bool_))
    assert sorted(str(p.relative_to(path)) for p in path.rglob("*.txt")) == ["a.txt", "deep/c.txt"]


def test_text_files_named_from_elsewhere_stay_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one/a.txt", "two/a.txt", "cwd/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path / "cwd")
    path, _ = keep_rows([Path("../one/a.txt"), Path("../two/a.txt")], tmp_path / "out", np.ones(2, np.bool_))
    assert (path / "one/a.txt").read_text() == "one/a.txt"
    assert (path / "two/a.txt").read_text() == "two/a.txt"


def test_further_columns_must_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with OutputFolder(tmp_path / "out") as folder:
        with pytest.raises(OutputError, match=r"groups\.parquet"):
            open_kept(folder, open_documents(tmp_path / "a.txt"), EXTRA.schema)
        with pytest.raises(OutputError):
            open_kept(folder, open_documents(pa.table({"text": ["a"], "group": [1]})), EXTRA.schema)


def test_an_error_of_the_writer_comes_out(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "d" / name).write_text("x")
    documents = open_documents(tmp_path / "d")
    native = next(iter(documents.chunks())).read_native()
    (tmp_path / "d" / "a.txt").unlink()

    def run() -> None:
        with OutputFolder(tmp_path / "out") as folder, open_kept(folder, documents) as writer:
            writer.write(native, np.ones(2, np.bool_))
            writer.close()

    with pytest.raises(OutputError):
        run()
    assert not (tmp_path / "out").exists()
    assert not [thread for thread in threading.enumerate() if thread.name == "neardup-writer"]


def test_an_interrupted_run_stops_the_thread_and_leaves_nothing(tmp_path: Path) -> None:
    def run() -> None:
        documents = open_documents(TABLE)
        with OutputFolder(tmp_path / "out") as folder, open_kept(folder, documents) as writer:
            for chunk in documents.chunks():
                writer.write(chunk.read_native(), KEEP)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name == "neardup-writer"]


def test_categories_of_different_row_groups(tmp_path: Path) -> None:
    parts = [pa.table({"text": pa.array([word] * 10).dictionary_encode()}) for word in ("a", "b", "c")]
    with pq.ParquetWriter(tmp_path / "in.parquet", parts[0].schema) as file:
        for part in parts:
            file.write_table(part)
    path, _ = keep_rows(tmp_path / "in.parquet", tmp_path / "out", np.arange(30) % 3 > 0)
    assert pq.read_table(path)["text"].to_pylist() == ["a"] * 6 + ["b"] * 7 + ["c"] * 7


def test_views_in_memory(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "text": TEXTS,
            "list": [[text, "x"] for text in TEXTS],
            "category": pl.Series(TEXTS, dtype=pl.Categorical),
            "struct": [{"a": text} for text in TEXTS],
            "bytes": [text.encode() for text in TEXTS],
        }
    )
    path, _ = keep_rows(frame, tmp_path / "out", KEEP, chunk_bytes=5000)
    kept = [TEXTS[i] for i in np.flatnonzero(KEEP)]
    assert pq.read_table(path).to_pydict() == {
        "text": kept,
        "list": [[text, "x"] for text in kept],
        "category": kept,
        "struct": [{"a": text} for text in kept],
        "bytes": [text.encode() for text in kept],
    }
    frame.write_parquet(tmp_path / "in.parquet")
    path, _ = keep_rows(tmp_path / "in.parquet", tmp_path / "out2", KEEP)
    assert pq.read_table(path)["list"].to_pylist() == [[text, "x"] for text in kept]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_lists_of_added_columns_are_json_in_csv(tmp_path: Path, suffix: str) -> None:
    schema = pa.schema([("id", pa.string()), ("tags", pa.list_(pa.large_string()))])
    table = pa.table([["1", "2", "3"], [['a "b"', "c,d"], None, []]], schema=schema)
    compression = "gzip" if suffix.endswith(".gz") else None
    sink = CsvSink(tmp_path / f"kept{suffix}", schema, ",", compression)
    sink.write(table)
    sink.close()
    rows = pl.read_csv(tmp_path / f"kept{suffix}", infer_schema=False).to_dicts()
    assert [row["tags"] and json.loads(row["tags"]) for row in rows] == [['a "b"', "c,d"], None, []]


def test_nulls_among_the_values_of_a_dictionary_are_written(tmp_path: Path) -> None:
    whole = pa.array(["x", None, None, "y", "x"]).dictionary_encode(null_encoding="encode")
    assert whole.dictionary.null_count
    parts = [whole[:2], whole[2:]]
    schema = pa.schema([("tag", parts[0].type)])
    sink = ArrowSink(tmp_path / "kept.arrow", schema, stream=False)
    for part in parts:
        sink.write(pa.table([part], schema=schema))
    sink.close()
    table = pa.ipc.open_file(tmp_path / "kept.arrow").read_all()
    assert (table["tag"].to_pylist(), table.schema.types) == (["x", None, None, "y", "x"], schema.types)
