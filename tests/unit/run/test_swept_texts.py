"""The texts of a stored result read from start to end: the same as those read one by one."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.tables import column

TEXTS = [f"the moon is red over the hills {n // 2} and the mill stands by the river {n % 2}" for n in range(40)]


def write(folder: Path, form: str) -> Path:
    rows = pa.table({"text": TEXTS, "other": list(range(len(TEXTS)))})
    path = folder / f"texts.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n\n" for text in TEXTS), encoding="utf-8")
    elif form == "csv":
        pa_csv.write_csv(rows, path)
    elif form == "parquet":
        pq.write_table(rows, path, row_group_size=7)
    else:
        path.mkdir()
        for number, text in enumerate(TEXTS):
            (path / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return path


@pytest.mark.part(2)
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "txt"])
@pytest.mark.parametrize("stored", [False, True])
def test_a_sweep_reads_what_single_look_ups_read(tmp_path: Path, form: str, stored: bool) -> None:
    path = write(tmp_path, form)
    nd.find(path, threshold=0.5).save(tmp_path / "result", store_texts=stored)
    found = nd.load(tmp_path / "result")
    assert found.texts is not None
    rows = column(found.ranks, "row")
    single = {
        row: found.look(id).text for row, id in zip(rows.tolist(), found.ranks["id"].to_pylist(), strict=True)
    }
    assert len(single) == len(TEXTS)
    assert {row: text.decode() for row, text in found.texts.sweep(rows)} == single
    some = rows[::3]
    assert [row for row, _ in found.texts.sweep(some)] == some.tolist()


def test_a_sweep_leaves_out_files_that_changed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = [json.dumps({"text": f"{text} {name}"}) + "\n" for text in TEXTS]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    nd.find([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], threshold=0.5).save(tmp_path / "result")
    (tmp_path / "a.jsonl").write_text("", encoding="utf-8")
    found = nd.load(tmp_path / "result")
    assert found.texts is not None
    texts = [text for _, text in found.texts.sweep(column(found.ranks, "row"))]
    assert len(texts) == len(TEXTS)
    assert all(text.endswith(b" b") for text in texts)
