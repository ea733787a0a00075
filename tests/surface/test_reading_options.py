"""Runs over folders as people have them: what is read, what is said of it, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from support.command_line import Run, run_json
from support.messages import has_parts

WORDS = "Grüße aus der schönen Stadt Köln am Rhein, wo es täglich regnet und man Kölsch trinkt"
TABLE = pa.table(
    {"id": ["a", "b", "c"], "text": [WORDS, WORDS, "something else that is short"], "n": [[1], [], None]}
)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_what_is_kept_of_a_saved_dataset_is_an_arrow_file_again(run: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "in").mkdir()
    opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with opened(str(tmp_path / "in" / "data.arrow"), TABLE.schema) as file:
        file.write_table(TABLE)
    (tmp_path / "in" / "dataset_info.json").write_text("{}")
    (tmp_path / "in" / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    result = run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--annotate")
    assert result.status == 0, result.err
    assert "left aside: dataset_info.json, state.json (beside the data)" in " ".join(result.out.split())
    read = pa.ipc.open_file if kind == "file" else pa.ipc.open_stream
    with read(str(tmp_path / "out" / "kept.arrow")) as reader:
        kept = reader.read_all()
    assert kept.select(TABLE.column_names).equals(TABLE)
    assert kept["group"].to_pylist() == ["a", "a", None]
    assert run_json(tmp_path / "out")["reading"]["left_aside"] == 2


def test_encodings_are_in_the_summary_and_one_by_one_in_the_account(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, encoding in (("a.txt", "cp1252"), ("b.txt", "utf-16"), ("c.txt", "utf-8")):
        (tmp_path / "in" / name).write_bytes(WORDS.encode(encoding))
    result = run("group", tmp_path / "in", "-o", tmp_path / "in" / "result")
    assert result.status == 0, result.err
    assert "not UTF-8: 1 cp1252" in result.out
    assert "1 utf-16-le" in result.out
    told = run_json(tmp_path / "in" / "result")
    assert told["counts"]["exact_copies"] == 2
    assert told["counts"]["invalid_utf8"] == 0
    assert [(file["file"], file["how"]) for file in told["reading"]["encoded_files"]] == [
        ("a.txt", "detected"),
        ("b.txt", "byte order mark"),
    ]
    again = run("group", tmp_path / "in", "--encoding", "cp1252", "--dry-run", "--json")
    said = json.loads(again.out)
    assert said["reading"]["encodings"] == {"cp1252": 3}
    assert said["reading"]["left_aside_files"] == [{"name": "result", "why": "a result of neardup"}]
    assert said["counts"]["exact_copies"] == 0


def test_delimiter_and_encoding_of_csv(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(f"id;text\n1;{WORDS}\n2;{WORDS}!\n".encode("cp1252"))
    result = run("dedup", tmp_path / "a.csv", "-o", tmp_path / "out")
    assert result.status == 0, result.err
    assert "delimiter: ; (guessed from" in result.out
    assert (tmp_path / "out" / "kept.csv").read_text() == f'"id";"text"\n"1";"{WORDS}"\n'
    refused = run("dedup", tmp_path / "a.csv", "--delimiter", "ab", "--dry-run")
    assert refused.status == 2
    assert has_parts(refused.err, "delimiter is 'ab'", "Allowed: auto, tab")


def test_columns_and_types_of_all_files_are_in_what_is_kept(run: Run, tmp_path: Path) -> None:
    other = TABLE.set_column(2, "n", pa.array(["x", "y", None]))
    for place, table in (("lang=de", TABLE), ("lang=fr", other)):
        (tmp_path / "in" / place).mkdir(parents=True)
        pq.write_table(table, tmp_path / "in" / place / "part.parquet")
    result = run("dedup", tmp_path / "in", "-o", tmp_path / "out")
    assert result.status == 0, result.err
    kept = tmp_path / "out" / "kept"
    assert pq.ParquetFile(kept / "lang=de" / "part.parquet").read().equals(TABLE.take([0, 2]))
    assert pq.ParquetFile(kept / "lang=fr" / "part.parquet").read().num_rows == 0
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "one", "--file-size", "1GB").status == 0
    together = pq.read_table(tmp_path / "one" / "kept" / "kept-00000.parquet")
    assert together["lang"].to_pylist() == ["de", "de"]
    assert together["n"].to_pylist() == ["[1]", None]
    assert 'column "n" is list' in " ".join(result.out.split())


def test_the_advice_keeps_to_the_encoding_it_was_given(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(f"id|text\n1|{WORDS}\n2|{WORDS}!\n".encode("cp850"))
    result = run("plan", tmp_path / "a.csv", "--encoding", "cp850", "--delimiter", "|")
    assert result.status == 0, result.err
    assert "--encoding cp850 --delimiter '|'" in " ".join(result.out.split())


def test_a_clash_of_columns_is_told_before_the_work(run: Run, tmp_path: Path) -> None:
    pq.write_table(TABLE.append_column("group", TABLE["id"]), tmp_path / "a.parquet")
    result = run("dedup", tmp_path / "a.parquet", "-o", tmp_path / "out", "--annotate")
    assert result.status == 2
    assert '"group" already' in result.err
    assert not (tmp_path / "out").exists()
