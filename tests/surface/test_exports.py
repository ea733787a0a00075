"""Groups, decisions and tags leave as files that other programs read, and tags come back."""

from __future__ import annotations

import csv
import io
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError, SettingError
from neardup.io.decisions.records import FateOf, Judgement, Represents, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import _ROWS_OF
from neardup.io.writers.exports import FORMS, as_bytes_of, protected, unprotected
from neardup.run.exchange import exported, import_into
from support.command_line import Run
from support.hostile_ids import HOSTILE
from support.messages import has_parts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away"


needs_openpyxl = pytest.mark.skipif(find_spec("openpyxl") is None, reason="openpyxl is not installed")
WRITTEN = [pytest.param(form, marks=needs_openpyxl if form == "xlsx" else ()) for form in FORMS]


def reviewed(folder: Path, ids: list[Any]) -> nd.Found:
    """A result with one group of these ids, and decisions about the first three."""
    texts = [TEXT, TEXT, *(TEXT + f" today {number}" for number in range(len(ids) - 2))]
    found = nd.find(pa.table({"id": ids, "text": texts}), threshold=0.6, keep="first")
    found.save(folder)
    with DecisionStore(folder) as store:
        store.act(
            [Judgement(ids[2], ids[0], "keep both", "=note"), Tag(ids[2], "hot"), Tag(ids[2], "cold")],
            by="@Ann",
            what="w",
        )
        store.act([FateOf(ids[1], "keep"), Represents(ids[0], ids[1])], by="Ben", what="w")
    return nd.load(folder)


def state_of(folder: Path) -> Any:
    with DecisionStore(folder, read_only=True) as store:
        return store.state()


def read(data: bytes, form: str) -> list[dict[str, Any]]:
    """A file as another program reads it; values of CSV and DAT are texts."""
    if form == "parquet":
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(data)).to_pylist()
        return rows
    if form == "jsonl":
        return [json.loads(line) for line in data.decode().split("\n") if line]
    if form == "csv":
        return list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    if form == "xlsx":
        sheet = import_module("openpyxl").load_workbook(io.BytesIO(data)).active
        assert not [cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]
        names, *cells = sheet.iter_rows(values_only=True)
        return [dict(zip(names, row, strict=True)) for row in cells]
    lines = data.decode("utf-8-sig").split("\r\n")
    assert lines.pop() == ""
    values = [line[1:-1].split("\u00fe\x14\u00fe") for line in lines]
    return [dict(zip(values[0], row, strict=True)) for row in values[1:]]


@pytest.mark.parametrize("form", WRITTEN)
def test_every_form_holds_the_same(tmp_path: Path, form: str) -> None:
    found = reviewed(tmp_path / "out", ["a", "b", "c", "d"])
    rows = read(b"".join(exported(found, state_of(tmp_path / "out"), "groups", form)), form)
    assert [row["id"] for row in rows] == ["b", "a", "c", "d"]
    assert {row["group"] for row in rows} == {"b"}
    of_c = next(row for row in rows if row["id"] == "c")
    assert of_c["verdict"] == "keep both"
    assert of_c["tags"] in (["cold", "hot"], "cold; hot")
    assert [str(row["kept"]).lower() for row in rows] == ["true", "true", "true", "false"]
    assert [row["kind"] or "" for row in rows[:2]] == ["", "exact copy"]
    assert abs(float(of_c["similarity"]) - found.groups["similarity"][2].as_py()) < 1e-12
    rows = read(b"".join(exported(found, state_of(tmp_path / "out"), "decisions", form)), form)
    assert [(row["decision"], row["id"], row["other"] or None) for row in rows] == [
        ("keep", "b", None),
        ("represents", "a", "b"),
        ("keep both", "a", "c"),
    ]
    rows = read(b"".join(exported(found, state_of(tmp_path / "out"), "tags", form)), form)
    assert [row["id"] for row in rows] == ["c"]


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("number", [0, 1])
def test_hostile_ids_and_tags_come_back_as_they_are(tmp_path: Path, form: str, number: int) -> None:
    broken = {id for id in HOSTILE if any(char in id for char in "\r\n\x14")}
    ids = [
        id
        for id in (*HOSTILE, "=1+1", "'=1", "@x", "\u00feid\u00fe", "a\u00ae")
        if form != "dat" or id not in broken
    ]
    ids = ids[number::2]
    reviewed(tmp_path / "out", ids)
    state = state_of(tmp_path / "out")
    tags = ["=cmd|' /C calc'!A0", "-x", "þ", "®", '"', "a,b"]
    with DecisionStore(tmp_path / "out") as store:
        store.act([Tag(id, tag) for id in ids for tag in tags], by="Ann", what="w")
        state = store.state()
    file = tmp_path / f"tags.{form}"
    file.write_bytes(b"".join(exported(nd.load(tmp_path / "out"), state, "tags", form)))
    reviewed(tmp_path / "again", ids)
    added = import_into(tmp_path / "again", file, form, "Ann")
    assert (added.unknown, added.documents) == ((), len(ids))
    assert state_of(tmp_path / "again").tags == state.tags
    assert import_into(tmp_path / "again", file, form, "Ann").action is None


def test_a_dat_file_refuses_ids_that_it_cannot_hold(tmp_path: Path) -> None:
    found = reviewed(tmp_path / "out", ["a\nb", "b", "c"])
    with pytest.raises(InputError, match=r"The id a\\nb has a character"):
        exported(found, state_of(tmp_path / "out"), "groups", "dat")  # before the first byte
    with pytest.raises(SettingError, match="One of csv, jsonl, parquet, dat, xlsx"):
        exported(found, state_of(tmp_path / "out"), "groups", "xls")


def test_a_dat_file_has_the_characters_that_review_platforms_expect(tmp_path: Path) -> None:
    found = reviewed(tmp_path / "out", ["a", "b", "c"])
    data = b"".join(exported(found, state_of(tmp_path / "out"), "tags", "dat"))
    assert (
        data.decode("utf-8-sig")
        == "\u00feid\u00fe\x14\u00fetags\u00fe\r\n\u00fec\u00fe\x14\u00fecold; hot\u00fe\r\n"
    )


@pytest.mark.parametrize("value", ["=1", "+1", "-1", "@x", "\t=1", "'=1", "''@", "'", "", "x=1", "=", "\r"])
def test_protected_values_are_restored(value: str) -> None:
    assert unprotected(protected(value)) == value
    assert not protected(value).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_commands_write_a_file_and_read_tags(run: Run, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "groups.csv"
    reviewed(out, ["a", "b", "c", "=d"])
    said = run("export", out, "-o", file)
    assert (said.status, said.err) == (0, "")
    assert has_parts(said.out, "4 members", "(2 values")
    assert run("export", out, "-o", file).status == 2
    assert run("export", out, "-o", file, "--overwrite", "--what", "decisions").status == 0
    (tmp_path / "mine.csv").write_text("mine")
    assert run("export", out, "-o", tmp_path / "mine.csv", "--overwrite").status == 2
    assert "Give --format" in run("export", out, "-o", "-").err
    assert run("export", out, "-o", "-", "--format", "csv", "--what", "tags").out == "id,tags\nc,cold; hot\n"
    assert has_parts(run("export", out, "-o", tmp_path / "x.txt").err, *(f".{form}" for form in FORMS))
    (tmp_path / "t.csv").write_text("DocID,Tags\na,hot; new\nzz,hot\n'=d,x\nb,\n")
    said = run("import", out, tmp_path / "t.csv", "--by", "Cy", "--id", "docid")
    assert said.status == 1
    assert said.out == "3 tags of 2 documents added (action 3)\n"
    assert has_parts(said.err, "1 id", "no pair", "zz")
    assert state_of(out).tags == {"a": ("hot", "new"), "c": ("cold", "hot"), "=d": ("x",)}
    said = run("import", out, tmp_path / "t.csv", "--by", "Cy")
    assert (said.status, has_parts(said.err, "Row 1 of", str(tmp_path / "t.csv"), 'no column "id"')) == (2, True)
    (tmp_path / "t.dat").write_bytes(b"\xfe\xff\xfe")
    assert "read as dat" in run("import", out, tmp_path / "t.dat", "--by", "Cy").err


def test_groups_and_decisions_of_a_collection_are_exported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "letters.neardup"
    with nd.Collection(path) as collection:
        near = [TEXT, TEXT + " today", "something else that is not like the others at all, and long enough"]
        collection.add(pa.table({"id": ["a", "=b", "c"], "text": near}), on_near="link", near=0.5)
        collection.decide("a", "c", "duplicate", by="Ann", note="the same letter")
    said = run("export", path, "-o", tmp_path / "g.jsonl")
    assert has_parts(said.out, "3 members of groups", "written")
    rows = read((tmp_path / "g.jsonl").read_bytes(), "jsonl")
    assert [(row["id"], row["group"], row["held_by"]) for row in rows] == [
        ("a", "a", "representative"),
        ("=b", "a", "resemblance"),
        ("c", "a", "decision"),
    ]
    assert run("export", path, "-o", tmp_path / "d.csv", "--what", "decisions").status == 0
    (row,) = read((tmp_path / "d.csv").read_bytes(), "csv")
    assert (row["decision"], row["id"], row["other"], row["by"]) == ("duplicate", "a", "c", "Ann")
    assert run("export", path, "-o", "-", "--format", "csv", "--what", "tags").out == "id,tags\n"


@pytest.mark.parametrize("form", WRITTEN)
def test_decisions_go_to_a_spreadsheet_and_come_back(run: Run, tmp_path: Path, form: str) -> None:
    """A table that nobody changed changes nothing; changed cells are decisions of the person who imports them."""
    out, file = tmp_path / "out", tmp_path / f"groups.{form}"
    reviewed(out, ["a", "b", "c", "d", "e"])
    assert run("export", out, "-o", file).status == 0
    assert run("import", out, file, "--by", "Cy").out == "nothing to add\n"
    table = pa.Table.from_pylist([dict(row) for row in _ROWS_OF[form](file)])
    changed = {
        "c": ("verdict", "duplicate"),
        "d": ("verdict", "Not alike"),
        "b": ("fate", "none"),
        "e": ("fate", "keep"),
    }
    rows = [
        {**row, changed[row["id"]][0]: changed[row["id"]][1]} if row["id"] in changed else row
        for row in table.to_pylist()
    ]
    file.write_bytes(b"".join(as_bytes_of(pa.Table.from_pylist(rows, table.schema), form, ("id", "group"))))
    assert has_parts(run("import", out, file, "--by", "Cy").out, "4 decisions", "action 3")
    state = state_of(out)
    assert [state.verdict(id, "b").verdict for id in "cd"] == ["duplicate", "not alike"]
    assert (state.fates["e"].fate, state.fates["e"].by) == ("keep", "Cy")
    assert "b" not in state.fates
    assert run("import", out, file, "--by", "Cy").out == "nothing to add\n"
    rows[0]["verdict"] = "perhaps"
    file.write_bytes(b"".join(as_bytes_of(pa.Table.from_pylist(rows, table.schema), form, ("id", "group"))))
    said = run("import", out, file, "--by", "Cy")
    assert (said.status, has_parts(said.err, "perhaps", "duplicate, keep both")) == (2, True)


def test_a_number_and_a_path_stay_when_the_representative_changes(tmp_path: Path) -> None:
    for name, end in (("one.txt", ""), ("two.txt", " today")):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(TEXT * 3 + end)
    found = nd.find(tmp_path / "in", threshold=0.5)
    found.save(tmp_path / "out")
    before = read(b"".join(exported(found, state_of(tmp_path / "out"), "groups", "jsonl")), "jsonl")
    with DecisionStore(tmp_path / "out") as store:
        lead = before[0]["group"]
        other = next(row["id"] for row in before if row["id"] != lead)
        store.act([Represents(lead, other)], by="Ann", what="w")
    after = read(
        b"".join(exported(nd.load(tmp_path / "out"), state_of(tmp_path / "out"), "groups", "jsonl")), "jsonl"
    )
    assert {row["group"] for row in after} == {other}
    assert {row["id"]: (row["number"], row["path"]) for row in after} == {
        row["id"]: (1, str(tmp_path / "in" / row["id"])) for row in before
    }
