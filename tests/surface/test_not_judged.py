"""What was compared with nothing stays: documents without text, files that hold none, mails that carry more."""

from __future__ import annotations

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup as nd
from support.command_line import BASE, NEAR, Run, run_json, write_rows
from support.made_files import make_folder, msg, pdf, zip_of
from support.messages import has_parts

SCAN = pdf(
    [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
    ]
)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(40)
MAILBOX = "".join(f"From a@b.org Mon Jan  6 10:0{k}:00 2020\nSubject: {k}\n\nbody {k}\n\n" for k in range(3))


def mail(*carried: tuple[str, bytes], text: str = BASE, subject: str = "Plans") -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"] = "a@example.org", subject
    made.set_content(text)
    for name, content in carried:
        made.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def test_five_scans_are_not_copies_of_each_other(run: Run, tmp_path: Path) -> None:
    files = {f"scan{k}.pdf": SCAN for k in range(5)} | {"a.txt": BASE.encode(), "b.txt": NEAR.encode()}
    make_folder(tmp_path / "in", files)
    said = run("dedup", tmp_path / "in", "-o", tmp_path / "out")
    assert (said.status, said.err) == (0, "")
    assert "not judged    5 files: 5 without text (kept)\n" in said.out
    assert names(tmp_path / "out" / "kept") == files.keys() - {"b.txt"}
    assert rows(tmp_path / "out" / "copies.parquet") == []
    told = run_json(tmp_path / "out")
    assert told["counts"]["not_judged"] == 5
    assert told["not_judged"]["kinds"] == {"without text": 5}
    assert [row["id"] for row in told["not_judged"]["listed"]] == [f"scan{k}.pdf" for k in range(5)]

    loaded = nd.load(tmp_path / "out")
    assert has_parts(str(loaded.why("scan3.pdf")), "scan3.pdf", "not judged", "kept: without text")
    assert loaded.at(0.99).not_judged.equals(loaded.not_judged)


def test_a_zip_file_represents_no_leases_and_what_is_no_text_is_kept(run: Run, tmp_path: Path) -> None:
    files = {
        "a.dat": zip_of({"lease.txt": BASE * 3}),
        "lease.txt": BASE.encode(),
        "lease2.txt": NEAR.encode(),
        "photo.jpg": b"\xff\xd8\xff\xe0" + bytes(range(256)) * 4,
        "picture.txt": PNG,
        "secret.pdf": b"%PDF-1.4 cut off",
        "sub/old": MAILBOX.encode(),
        "table": zip_of({"[Content_Types].xml": "x", "xl/workbook.xml": "x"}),
        "umlauts.txt": "Grüße aus dem Süden".encode("latin-1"),
        "wide.txt": "Grüße aus dem Norden".encode("utf-16"),
    }
    make_folder(tmp_path / "in", files)
    said = run("dedup", tmp_path / "in", "-o", tmp_path / "out")
    # what is no text is no mistake, a document that could not be read is one
    assert said.status == 1
    assert "not judged    6 files: 2 images, 1 zip, 1 unreadable, 1 mailbox, 1 spreadsheet (kept)\n" in said.out
    assert has_parts(said.out, "kept          3", "6 files")
    kept = tmp_path / "out" / "kept"
    assert names(kept) == files.keys() - {"lease2.txt"}
    assert all((kept / name).read_bytes() == files[name] for name in names(kept))
    listed = {row["id"]: row for row in rows(tmp_path / "out" / "not_judged.parquet")}
    assert {id: row["kind"] for id, row in listed.items()} == {
        "a.dat": "zip",
        "photo.jpg": "image",
        "picture.txt": "image",
        "secret.pdf": "unreadable",
        "sub/old": "mailbox",
        "table": "spreadsheet",
    }
    assert list(listed) == sorted(listed)
    loaded = nd.load(tmp_path / "out")
    assert loaded.not_judged["id"].type == loaded.groups["id"].type
    assert loaded.why("a.dat").not_judged is not None
    assert "in .mbox" in listed["sub/old"]["reason"]
    groups = rows(tmp_path / "out" / "groups.parquet")
    assert {row["id"] for row in groups} == {"lease.txt", "lease2.txt"}
    (problem,) = map(json.loads, (tmp_path / "out" / "problems.jsonl").read_text().splitlines())
    assert (problem["file"], problem["kind"]) == ("secret.pdf", "unreadable")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
def test_rows_without_text_keep_their_other_columns(run: Run, tmp_path: Path, suffix: str) -> None:
    texts = [None, "", "...", BASE, None, "", NEAR]
    made = [{"id": f"r{k}", "text": text, "amount": 10 * k} for k, text in enumerate(texts)]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        write_rows(path, made)
    elif suffix == "parquet":
        import pyarrow as pa

        pq.write_table(pa.Table.from_pylist(made), path)
    else:
        lines = [f"{row['id']},{row['text'] or ''},{row['amount']}" for row in made]
        path.write_text("\n".join(["id,text,amount", *lines]) + "\n")

    def kept(*options: str) -> tuple[int, str]:
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        said = run("dedup", path, "-o", out, *options)
        assert said.status == 0
        counts = run_json(out)["counts"]
        assert counts["read"] == len(texts) == counts["removed"] + counts["kept"]
        return counts["kept"], said.out

    assert kept()[0] == 6
    assert "not judged    5 rows: 5 without text (kept)\n" in kept()[1]
    assert kept("--empty", "keep")[0] == 6
    one = kept("--empty", "one")
    assert one[0] == 2
    assert "not judged" not in one[1]
    number, said = kept("--empty", "drop")
    assert number == 1
    assert "not judged    5 rows: 5 without text (removed)\n" in said


def test_dropped_documents_go_with_a_reason(tmp_path: Path) -> None:
    found = nd.find(["", BASE, NEAR, "---"], empty="drop", threshold=0.5)
    assert found.removed.to_pylist()[1:] == [
        {"id": id, "kept_id": None, "similarity": None, "reason": "without text, and empty is drop"}
        for id in (0, 3)
    ]
    assert has_parts(str(found.why(3)), "3 ", "not judged", "removed: without text", "empty is drop")
    assert found.run.bytes.removed_text == len(NEAR) + 3
    found.save(tmp_path / "result")
    later = nd.load(tmp_path / "result").at(1.0)
    assert later.removed["id"].to_pylist() == [0, 3]
    counts = later.run.counts
    assert (counts.removed, counts.kept, later.run.bytes.removed_text) == (2, 2, 3)
    with pytest.raises(nd.SettingError):
        nd.find(["", "a"], empty="all")


def test_group_and_annotate_remove_nothing_that_was_not_judged(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{"id": k, "text": text} for k, text in enumerate(["", "", BASE])])
    for command in (("group",), ("dedup", "--annotate")):
        out = tmp_path / command[-1].strip("-")
        said = run(*command, path, "-o", out, "--empty", "drop")
        assert "not judged    2 rows: 2 without text (" in said.out
        assert run_json(out)["settings"]["empty"] == "drop"
    assert len((tmp_path / "annotate" / "kept.jsonl").read_text().splitlines()) == 3
    assert all(row["kept"] for row in rows(tmp_path / "group" / "not_judged.parquet"))


def test_files_of_a_reference_set_that_hold_no_text_are_said(run: Run, tmp_path: Path) -> None:
    make_folder(tmp_path / "old", {"old.png": PNG, "a.txt": BASE.encode(), "empty.txt": b""})
    make_folder(tmp_path / "new", {"new.png": PNG, "b.txt": NEAR.encode(), "empty2.txt": b""})
    said = run("dedup", tmp_path / "new", "--against", tmp_path / "old", "-o", tmp_path / "out")
    assert said.status == 0
    assert has_parts(said.out, "note", "nothing was compared: 1 image\n")
    assert "not judged    2 files: 1 without text, 1 image (kept)\n" in said.out
    assert names(tmp_path / "out" / "kept") == {"new.png", "empty2.txt"}


def test_what_holds_no_text_is_refused_where_one_document_is_asked_for(run: Run, tmp_path: Path) -> None:
    make_folder(tmp_path, {"in/a.dat": zip_of({"a": BASE}), "in/b": MAILBOX.encode(), "in/c.txt": BASE.encode()})
    said = run("compare", tmp_path / "in" / "a.dat", tmp_path / "in" / "c.txt")
    assert (said.status, said.out) == (2, "")
    assert has_parts(said.err, "a.dat:", "not text (zip)")
    said = run(
        "collection", "add", tmp_path / "all.neardup", tmp_path / "in", "--problems", tmp_path / "problems.jsonl"
    )
    assert said.status == 1
    assert "1 document added" in said.out
    problems = [json.loads(line) for line in (tmp_path / "problems.jsonl").read_text().splitlines()]
    assert [(problem["file"], problem["kind"]) for problem in problems] == [
        ("a.dat", "zip"),
        ("b", "mailbox"),
    ]


PLAN, OTHER_PLAN, MAP = ("plan.pdf", b"%PDF plan one"), ("plan.pdf", b"%PDF plan two"), ("map.png", PNG)


def test_mails_with_other_attachments_are_not_exact_copies(run: Run, tmp_path: Path) -> None:
    files = {
        "1.eml": mail(PLAN),
        "2.eml": mail(PLAN),  # an exact copy
        "3.eml": mail(OTHER_PLAN),
        "4.eml": mail(PLAN, MAP),
        "5.eml": mail(),
        "6.eml": mail(("renamed.pdf", PLAN[1])),
        "7.eml": mail(PLAN, MAP),
    }
    make_folder(tmp_path / "in", files)
    said = run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--keep", "first")
    assert said.status == 0
    assert rows(tmp_path / "out" / "copies.parquet") == [
        {"id": "2.eml", "copy_of": "1.eml", "identical_to": "1.eml", "difference": None},
        {"id": "7.eml", "copy_of": "4.eml", "identical_to": "4.eml", "difference": None},
    ]
    assert names(tmp_path / "out" / "kept") == {"1.eml", "3.eml", "4.eml"}
    groups = {row["id"]: row for row in rows(tmp_path / "out" / "groups.parquet")}
    near, also = "near copy of 1.eml: resemblance 1.000; ", "; its exact copy 4.eml stays"
    assert {id: row["reason"] for id, row in groups.items()} == {
        "1.eml": "represents 6 other documents",
        "2.eml": "exact copy of 1.eml: identical, with the same 1 attachment: plan.pdf",
        "3.eml": near + "kept: has 1 attachment that 1.eml lacks: plan.pdf",
        "4.eml": near + "kept: has 1 attachment that 1.eml lacks: map.png",
        "5.eml": near + "has no attachments; 1.eml has 1 attachment: plan.pdf",
        "6.eml": near + "the same attachments under other names",
        "7.eml": f"exact copy of 4.eml: identical, {near}has 1 attachment that 1.eml lacks: map.png{also}",
    }
    assert [(one["name"], one["size"]) for one in groups["4.eml"]["attachments"]] == [
        ("map.png", len(PNG)),
        ("plan.pdf", len(PLAN[1])),
    ]
    assert groups["5.eml"]["attachments"] is None
    differ = {
        (row["id_a"], row["id_b"]): row["attachments_differ"] for row in rows(tmp_path / "out" / "pairs.parquet")
    }
    assert len(differ) == 10
    assert all(differ.values())

    # from the stored result the same decisions are made
    found = nd.load(tmp_path / "out")
    assert found.at(1.0).groups.equals(found.groups)
    assert run("regroup", tmp_path / "out", "--threshold", "0.9", "-o", tmp_path / "strict").status == 0
    assert nd.load(tmp_path / "strict").groups["kept"].equals(found.groups["kept"])
    grouped = nd.find(tmp_path / "in", keep="last", empty="drop")
    assert grouped.removed["id"].to_pylist() == ["1.eml", "2.eml", "4.eml", "5.eml", "6.eml"]


def test_a_mail_stays_whose_attachment_the_reference_set_lacks(tmp_path: Path) -> None:
    make_folder(tmp_path / "old", {"old.eml": mail(MAP)})
    make_folder(tmp_path / "new", {"a.eml": mail(MAP), "b.eml": mail(PLAN), "c.eml": mail(text=NEAR)})
    found = nd.find(tmp_path / "new", against=tmp_path / "old")
    assert found.removed["id"].to_pylist() == ["a.eml", "c.eml"]
    assert found.why("b.eml").kept


def test_a_mail_of_attachments_alone_is_not_without_content(tmp_path: Path) -> None:
    make_folder(tmp_path, {"a.eml": mail(PLAN, text="", subject=""), "b.eml": mail(text="", subject="")})
    found = nd.find(tmp_path, empty="drop")
    assert found.removed["id"].to_pylist() == ["b.eml"]
    assert has_parts(
        str(found.why("a.eml")), "a.eml", "not judged", "kept: without text", "1 attachment: plan.pdf."
    )
    assert nd.find(tmp_path, empty="one").copies.num_rows == 0


def test_outlook_messages_with_other_attachments_are_not_exact_copies(tmp_path: Path) -> None:
    pytest.importorskip("olefile")

    def outlook(*carried: tuple[str, bytes]) -> bytes:
        streams = {"0037001F": "Plans".encode("utf-16-le"), "1000001F": BASE.encode("utf-16-le")}
        inside = {}
        for number, (name, content) in enumerate(carried):
            place = f"__attach_version1.0_#{number:08X}/__substg1.0_"
            inside |= {f"{place}3707001F": name.encode("utf-16-le"), f"{place}37010102": content}
        return msg(streams, inside=inside)

    make_folder(
        tmp_path,
        {"a.msg": outlook(PLAN), "b.msg": outlook(PLAN), "c.msg": outlook(MAP, PLAN), "d.eml": mail(PLAN)},
    )
    found = nd.find(tmp_path, keep="first")
    assert {row["id"]: row["copy_of"] for row in found.copies.to_pylist()} == {"b.msg": "a.msg", "d.eml": "a.msg"}
    assert found.removed["id"].to_pylist() == ["b.msg", "d.eml"]
    assert "kept: has 1 attachment that a.msg lacks: map.png" in str(found.why("c.msg"))
