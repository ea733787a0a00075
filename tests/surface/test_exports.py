"""Groups, decisions and tags leave as files that other programs read, and tags come back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email.message import EmailMessage
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.exchange import export_pieces, export_table, import_into
from neardup.errors import InputError, SettingError
from neardup.io.decisions.records import FateOf, Judgement, PairNote, Represents, SecondReview, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import _ROWS_OF
from neardup.io.readers.lines import BYTE_ORDER_MARK
from neardup.io.writers.exports import FORMS, as_bytes_of, protect_formula, unprotect_formula
from neardup.review.desk.desk import Desk
from support.command_line import Run
from support.hostile_ids import HOSTILE
from support.live_pages import live
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


def test_a_carriage_return_in_a_value_begins_no_row_of_csv() -> None:
    values = ["x\r=cmd|'/C calc'!A0", "a\r\n+b", "plain", "\r", 'a "quoted" one', "tab\tin"]
    table = pa.table({"id": values, "=1+1": values})
    data = b"".join(as_bytes_of(table, "csv", ("id",)))
    assert data.count(b"\n") == len(values) + 3, "one a row, and two in the second one"
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert rows[0] == ["id", "'=1+1"]
    assert [unprotect_formula(row[0]) for row in rows[1:]] == values
    outside = re.sub(rb'"(?:[^"]|"")*"', b"", data)
    assert b"\r" not in outside, "each program that splits lines there would see a row"


def read(data: bytes, form: str) -> list[dict[str, Any]]:
    """A file as another program reads it; values of CSV and DAT are texts."""
    if form == "parquet":
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(data)).to_pylist()
        return rows
    if form == "jsonl":
        return [json.loads(line) for line in data.decode().split("\n") if line]
    if form == "csv":
        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
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
    rows = read(b"".join(export_pieces(found, state_of(tmp_path / "out"), "groups", form)), form)
    assert [row["id"] for row in rows] == ["b", "a", "c", "d"]
    assert {row["group"] for row in rows} == {"b"}
    of_c = next(row for row in rows if row["id"] == "c")
    assert of_c["verdict"] == "keep both"
    assert of_c["tags"] in (["cold", "hot"], "cold; hot")
    assert [str(row["kept"]).lower() for row in rows] == ["true", "true", "true", "false"]
    assert [row["kind"] or "" for row in rows[:2]] == ["", "exact copy"]
    assert abs(float(of_c["similarity"]) - found.groups["similarity"][2].as_py()) < 1e-12
    rows = read(b"".join(export_pieces(found, state_of(tmp_path / "out"), "decisions", form)), form)
    assert [(row["decision"], row["id"], row["other"] or None) for row in rows] == [
        ("keep", "b", None),
        ("represents", "a", "b"),
        ("keep both", "a", "c"),
    ]
    rows = read(b"".join(export_pieces(found, state_of(tmp_path / "out"), "tags", form)), form)
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
    file.write_bytes(b"".join(export_pieces(nd.load(tmp_path / "out"), state, "tags", form)))
    reviewed(tmp_path / "again", ids)
    added = import_into(tmp_path / "again", file, form, "Ann")
    assert (added.unknown, added.documents) == ((), len(ids))
    assert state_of(tmp_path / "again").tags == state.tags
    assert import_into(tmp_path / "again", file, form, "Ann").action is None


def test_a_dat_file_refuses_ids_that_it_cannot_hold(tmp_path: Path) -> None:
    found = reviewed(tmp_path / "out", ["a\nb", "b", "c"])
    with pytest.raises(InputError, match=r"The id a\\nb has a character"):
        export_pieces(found, state_of(tmp_path / "out"), "groups", "dat")  # before the first byte
    with pytest.raises(SettingError):
        export_pieces(found, state_of(tmp_path / "out"), "groups", "xls")


def test_a_dat_file_has_the_characters_that_review_platforms_expect(tmp_path: Path) -> None:
    found = reviewed(tmp_path / "out", ["a", "b", "c"])
    data = b"".join(export_pieces(found, state_of(tmp_path / "out"), "tags", "dat"))
    assert (
        data.decode("utf-8-sig")
        == "\u00feid\u00fe\x14\u00fetags\u00fe\r\n\u00fec\u00fe\x14\u00fecold; hot\u00fe\r\n"
    )


@pytest.mark.parametrize("value", ["=1", "+1", "-1", "@x", "\t=1", "'=1", "''@", "'", "", "x=1", "=", "\r"])
def test_protected_values_are_restored(value: str) -> None:
    assert unprotect_formula(protect_formula(value)) == value
    assert not protect_formula(value).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_commands_write_a_file_and_read_tags(run: Run, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "groups.csv"
    reviewed(out, ["a", "b", "c", "=d"])
    said = run("export", out, "-o", file)
    assert (said.status, said.err) == (0, "")
    assert has_parts(said.out, "4 members", "(2 values")
    assert file.read_bytes() == BYTE_ORDER_MARK + run("export", out, "-o", "-", "--format", "csv").out.encode()
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


def test_no_import_replaces_a_first_verdict_that_waits_for_the_second_one(run: Run, tmp_path: Path) -> None:
    """Of a table of groups into a result: what waits for this person is left out, counted, and shown the way."""
    out, file = tmp_path / "out", tmp_path / "groups.csv"
    reviewed(out, ["a", "b", "c", "d"])
    with DecisionStore(out) as store:
        store.act([Judgement("b", "c", "duplicate"), Judgement("b", "d", "unsure")], by="Ann", what="w")
        store.act([SecondReview("b", "c", "Bea")], by="Max", what="w")
        number = store.state().number
    file.write_text("id,group,verdict,fate,tags,note\nc,b,not alike,,,\nd,b,duplicate,,,\n", encoding="utf-8")
    done = run("import", out, file, "--by", " Bea")
    assert (done.status, done.out) == (1, f"1 decision added (action {number + 1})\n")
    assert has_parts(done.err, "1 decision left out", "second verdict of  Bea", "Batches", f"neardup review {out}")
    again = run("import", out, file, "--by", "Bea")
    assert (again.status, again.out) == (1, "nothing to add\n")
    verdicts = {id: state_of(out).verdict("b", id) for id in "cd"}
    assert {id: (one.verdict, one.by) for id, one in verdicts.items() if one} == {
        "c": ("duplicate", "Ann"),
        "d": ("duplicate", "Bea"),
    }
    assert run("import", out, file, "--by", "Cy").out == f"1 decision added (action {number + 2})\n"


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


def test_a_note_on_an_undecided_pair_is_no_verdict_and_comes_back(run: Run, tmp_path: Path) -> None:
    found = reviewed(tmp_path / "out", ["a", "b", "c", "d"])
    found.save(tmp_path / "again")
    with DecisionStore(tmp_path / "out") as store:
        store.act([PairNote("d", "a", "ask Ben"), PairNote("c", "a", "signed")], by="Cy", what="note")
    table = export_table(nd.load(tmp_path / "out"), state_of(tmp_path / "out"), "groups")
    rows = {row["id"]: row for row in table.to_pylist()}
    assert [(rows[id]["verdict"], rows[id]["note"]) for id in "cd"] == [("keep both", "signed"), (None, "ask Ben")]
    said = run("export", str(tmp_path / "out"), "-o", "-", "--what", "decisions", "--format", "jsonl")
    notes = [row for line in said.out.splitlines() if (row := json.loads(line))["decision"] == "note"]
    assert [(row["id"], row["other"], row["note"], row["by"]) for row in notes] == [("a", "d", "ask Ben", "Cy")]
    run("export", str(tmp_path / "out"), "-o", str(tmp_path / "groups.csv"))
    for _ in range(2):
        import_into(tmp_path / "again", tmp_path / "groups.csv", "csv", "Dee")
    state = state_of(tmp_path / "again")
    assert (state.number, state.note("d", "b"), state.verdict("d", "b")) == (1, "ask Ben", None)


def test_a_number_and_a_path_stay_when_the_representative_changes(tmp_path: Path) -> None:
    for name, end in (("one.txt", ""), ("two.txt", " today")):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(TEXT * 3 + end)
    found = nd.find(tmp_path / "in", threshold=0.5)
    found.save(tmp_path / "out")
    before = read(b"".join(export_pieces(found, state_of(tmp_path / "out"), "groups", "jsonl")), "jsonl")
    with DecisionStore(tmp_path / "out") as store:
        lead = before[0]["group"]
        other = next(row["id"] for row in before if row["id"] != lead)
        store.act([Represents(lead, other)], by="Ann", what="w")
    after = read(
        b"".join(export_pieces(nd.load(tmp_path / "out"), state_of(tmp_path / "out"), "groups", "jsonl")), "jsonl"
    )
    assert {row["group"] for row in after} == {other}
    assert {row["id"]: (row["number"], row["path"]) for row in after} == {
        row["id"]: (1, str(tmp_path / "in" / row["id"])) for row in before
    }


MAILS = {
    "a.eml": (TEXT * 3, ("plan.pdf", "plan.pdf")),
    "b.eml": (TEXT * 3 + " today", ()),
    "c.eml": ("nothing in this letter is in any of the others, so that it stays alone", ("c.txt",)),
}


@pytest.fixture
def matter(tmp_path: Path, run: Run) -> Path:
    """A result of two mails alike, one alone, three notes alike, one alone, a file without text and a picture."""
    files = tmp_path / "in"
    files.mkdir()
    for name, (text, attached) in MAILS.items():
        mail = EmailMessage()
        mail["From"], mail["Date"] = "Ann <ann@b.org>", "Fri, 31 Jan 2020 16:30:00 +0000"
        mail.set_content(text)
        for number, of in enumerate(attached):
            mail.add_attachment(b"%d" % number, maintype="application", subtype="pdf", filename=of)
        (files / name).write_bytes(bytes(mail))
    for number in range(3):
        (files / f"n{number}.txt").write_text(
            "the tenant keeps the roof and the doors in good order " * 3 + str(number)
        )
    (files / "alone.txt").write_text("buy string and glue and paper for the office before friday afternoon please")
    (files / "empty.txt").write_text(" ")
    (files / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    assert run("dedup", files, "-o", tmp_path / "out", "--threshold", 0.5).status == 0
    return tmp_path / "out"


def everything(run: Run, out: Path, *options: Any) -> dict[str, dict[str, Any]]:
    """The rows of an export of all documents, in their order."""
    said = run("export", out, "-o", "-", "--format", "jsonl", "--all", *options)
    assert said.status == 0, said.err
    return {row["id"]: row for row in map(json.loads, said.out.splitlines())}


@pytest.mark.parametrize("form", WRITTEN)
def test_all_documents_are_rows_with_families_of_mails(run: Run, matter: Path, form: str) -> None:
    file = matter.parent / f"all.{form}"
    assert has_parts(run("export", matter, "-o", file, "--all").out, "5 members of groups", "7 other rows")
    rows = {row["id"]: row for row in read(file.read_bytes(), form)}
    assert list(rows) == [
        "b.eml",
        "a.eml",
        "a.eml!/plan.pdf",
        "a.eml!/plan.pdf (2)",
        "n0.txt",
        "n1.txt",
        "n2.txt",
        "alone.txt",
        "c.eml",
        "c.eml!/c.txt",
        "empty.txt",
        "logo.png",
    ]
    assert [id for id, row in rows.items() if row["number"]] == ["b.eml", "a.eml", "n0.txt", "n1.txt", "n2.txt"]
    assert {row["family"] for id, row in rows.items() if id.startswith("a.eml")} == {"a.eml"}
    assert all(row["family"] == id for id, row in rows.items() if "!" not in id)
    assert rows["a.eml"]["attachments"] in ("plan.pdf; plan.pdf", ["plan.pdf", "plan.pdf"])
    assert {rows[id]["path"] for id in ("c.eml", "c.eml!/c.txt")} == {str(matter.parent / "in" / "c.eml")}
    assert rows["c.eml!/c.txt"]["sha256"] == hashlib.sha256(b"0").hexdigest()
    assert [rows[id]["from"] for id in ("a.eml", "c.eml")] == ["ann@b.org, Ann"] * 2
    assert [rows[id]["reason"] for id in ("alone.txt", "c.eml")] == ["in no group"] * 2
    assert has_parts(rows["empty.txt"]["reason"], "without text")
    assert not {row["group"] or "" for row in rows.values()} - {"", "b.eml", "n0.txt"}
    assert run("import", matter, file, "--by", "Cy").out == "nothing to add\n"


def test_decisions_about_all_documents_come_back(run: Run, matter: Path) -> None:
    with DecisionStore(matter) as store:
        store.act(
            [Judgement("n2.txt", "n0.txt", "not alike"), Judgement("n2.txt", "n1.txt", "not alike")],
            by="Ann",
            what="w",
        )
    rows = everything(run, matter)
    assert (rows["n2.txt"]["group"], rows["n2.txt"]["number"], rows["n2.txt"]["verdict"]) == (
        None,
        None,
        "not alike",
    )
    rows["n2.txt"]["verdict"] = "none"
    rows["empty.txt"]["fate"] = "remove"
    rows["alone.txt"]["fate"] = "remove"
    file = matter.parent / "all.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    said = run("import", matter, file, "--by", "Cy")
    assert (said.status, has_parts(said.out, "2 decisions"), has_parts(said.err, "1 id", "alone.txt")) == (
        1,
        True,
        True,
    )
    assert state_of(matter).verdict("n2.txt", "n0.txt") is None
    assert state_of(matter).fates["empty.txt"].fate == "remove"
    rows["empty.txt"]["verdict"] = "duplicate"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    assert has_parts(run("import", matter, file, "--by", "Cy").err, "empty.txt", "no group")


def test_all_documents_are_read_from_an_input_that_moved_and_never_from_another_one(
    run: Run, matter: Path
) -> None:
    rows = everything(run, matter)
    files = (matter.parent / "in").rename(matter.parent / "elsewhere")
    said = run("export", matter, "-o", "-", "--format", "jsonl", "--all")
    assert (said.status, has_parts(said.err, "a.eml", "--inputs")) == (2, True)
    moved = everything(run, matter, "--inputs", files)
    assert moved == rows
    (files / "alone.txt").write_text("something else that nobody has read yet, but of another size")
    said = run("export", matter, "-o", "-", "--format", "jsonl", "--all", "--inputs", files)
    assert (said.status, has_parts(said.err, "alone.txt", "changed")) == (2, True)


def test_reading_all_documents_reports_its_progress(matter: Path) -> None:
    stages: list[tuple[str, int | None, str]] = []
    amounts: list[int] = []

    class Watched:
        @contextmanager
        def stage(self, name: str, total: int | None, unit: str) -> Iterator[Any]:
            stages.append((name, total, unit))
            yield amounts.append

    result = nd.load(matter)
    for every in (False, True):
        export_table(result, state_of(matter), "groups", every=every, progress=Watched())
    assert stages == [("read", result.run.counts.read, "documents")]
    assert sum(amounts) == result.run.counts.read


def test_all_rows_of_a_data_file_have_their_ids_and_columns(run: Run, tmp_path: Path) -> None:
    lines = [{"text": TEXT + end, "family": number} for number, end in enumerate(("", " today", "", " "))]
    lines[2]["text"] = "nothing here is in any of the other letters of this file, which are about foxes"
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("dedup", tmp_path / "d.jsonl", "-o", tmp_path / "out", "--threshold", 0.5).status == 0
    rows = everything(run, tmp_path / "out")
    assert [(id, row["family"]) for id, row in rows.items()][-1] == (f"{tmp_path}/d.jsonl#2", "2")  # its column
    assert len(rows) == 4
    assert {row["number"] for row in rows.values()} == {1, None}
    said = run("export", tmp_path / "out", "-o", "-", "--format", "csv", "--what", "tags", "--all")
    assert (said.status, has_parts(said.err, "tags", "groups")) == (2, True)


def test_groups_that_decisions_divide_join_and_make_have_numbers_of_their_own(run: Run, matter: Path) -> None:
    before = {id: row["number"] for id, row in everything(run, matter).items()}
    assert (before["b.eml"], before["n0.txt"]) == (2, 1) or (before["b.eml"], before["n0.txt"]) == (1, 2)

    def numbers(*changes: Any) -> dict[str, int]:
        with DecisionStore(matter) as store:
            store.act(changes, by="Ann", what="w")
        rows = everything(run, matter)
        of_group: dict[str, set[int]] = {}
        for row in rows.values():
            of_group.setdefault(row["group"], set()).add(row["number"])
        assert of_group.pop(None, {None}) == {None}  # type: ignore[call-overload]
        assert all(len(of) == 1 for of in of_group.values())
        assert len(set.union(*of_group.values())) == len(of_group)
        return {id: row["number"] for id, row in rows.items()}

    led = numbers(Represents("n0.txt", "n2.txt"))
    assert led == before
    apart = numbers(*(Judgement(a, b, "not alike") for a, b in (("n0.txt", "n1.txt"), ("n0.txt", "n2.txt"))))
    assert apart == {**before, "n0.txt": None}  # the other two keep the number without their first representative
    joined = numbers(Judgement("n1.txt", "b.eml", "duplicate"))
    assert {joined[id] for id in ("a.eml", "b.eml", "n1.txt", "n2.txt")} == {before["b.eml"]}


def test_the_review_saves_the_same_file_of_all_documents(run: Run, matter: Path) -> None:
    said = run("export", matter, "-o", "-", "--format", "jsonl", "--all")
    with closing(Desk.open(matter)) as desk, live(desk) as pages:
        assert pages.get("/export/groups.jsonl?all=1").text == said.out
        (matter.parent / "in").rename(matter.parent / "elsewhere")
        gone = pages.get("/export/groups.jsonl?all=1")
        assert (gone.status, has_parts(gone.words, "a.eml", "not there")) == (404, True)
    with nd.Collection(matter.parent / "c.neardup") as collection:
        collection.add([TEXT])
        with closing(Desk.of_collection(collection)) as desk, live(desk) as pages:
            assert "?all=1" not in pages.get("/export").text
            assert pages.get("/export/groups.csv?all=1").text == pages.get("/export/groups.csv").text
    said = run("export", matter.parent / "c.neardup", "-o", "-", "--format", "csv", "--all")
    assert (said.status, has_parts(said.err, "--all", "--what documents")) == (2, True)
