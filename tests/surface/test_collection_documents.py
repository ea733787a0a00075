"""Files of every format in a collection: folders and single files, metadata, what cannot be read; and settings."""

import json
from pathlib import Path

import pytest

from neardup.collection import Collection
from support.command_line import BASE, OTHER, Run
from support.made_files import docx, docx_of, html_of, make_folder, msg_of, pdf_of
from support.messages import has_parts

PROPERTIES = "<dc:title>A title</dc:title><dc:creator>Ann Lee</dc:creator>"
MAIL = b"""\
From: Ann Lee <ann@example.org>
To: bob@example.org
Date: Fri, 31 Jan 2020 17:30:00 +0100
Subject: costs

"""
FILES = {
    "a.txt": BASE.encode(),
    "b.md": f"# {BASE}".encode(),
    "c.html": html_of(BASE),
    "d.docx": docx(f"<w:p><w:r><w:t>{BASE}</w:t></w:r></w:p>", PROPERTIES),
    "e.eml": MAIL + BASE.encode(),
    "f.msg": msg_of(BASE, "costs"),
    "sub/g.pdf": pdf_of(BASE),
    "sub/no suffix": BASE.encode(),
}
BROKEN = {
    "bad.pdf": b"%PDF-1.7 nothing",
    "locked.docx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "bomb.docx": docx(b'<!DOCTYPE w [<!ENTITY a "aaaaaaaa">]><w/>'),
    "none.msg": b"nothing",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "letters", FILES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.neardup"


def ids(path: Path) -> list[str]:
    with Collection(path, readonly=True) as collection:
        return sorted(collection)


def found(run: Run, path: Path, query: str) -> list[str]:
    return [hit["id"] for hit in json.loads(run("collection", "search", path, query, "--json").out)["hits"]]


def test_a_folder_of_all_formats(run: Run, folder: Path, path: Path) -> None:
    result = run("collection", "add", path, folder)
    assert (result.status, result.out, result.err) == (0, f"8 documents added; {path} holds 8\n", "")
    assert ids(path) == sorted(FILES)
    assert sorted(found(run, path, "FINGERPRINT:sub/g.pdf_95")) == sorted(set(FILES) - {"sub/g.pdf"})
    assert run("collection", "check", path).status == 0


def test_what_files_say_of_themselves_is_searched(run: Run, folder: Path, path: Path) -> None:
    run("collection", "add", path, folder)
    with Collection(path, readonly=True) as collection:
        assert collection.get("a.txt").metadata == {}
        assert collection.get("d.docx").metadata == {"title": "A title", "author": "Ann Lee"}
        assert collection.get("e.eml").metadata == {
            "from": ["ann@example.org", "Ann Lee"],
            "to": ["bob@example.org"],
            "date": "2020-01-31T16:30:00Z",
            "subject": "costs",
        }
    assert found(run, path, "subject:costs") == ["e.eml", "f.msg"]
    assert found(run, path, 'from:"Ann Lee" OR author:"Ann Lee"') == ["d.docx", "e.eml"]
    asked = "from:ann@example.org AND date>=2020-01-01 AND FINGERPRINT:a.txt_20_80 AND word7"
    assert found(run, path, asked) == ["e.eml"]
    assert found(run, path, asked.replace(">=2020-01-01", "<2020-01-31")) == []
    assert found(run, path, "date<=2020-01-31") == ["e.eml"]


def test_folders_and_single_files(run: Run, folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    for name in FILES:
        assert run("collection", "add", path, f"letters/{name}").out.startswith("1 document added")
    assert ids(path) == sorted(f"letters/{name}" for name in FILES)
    more = path.with_name("more.neardup")
    make_folder(folder.parent / "other", {"a.txt": b"another text of this name"})
    assert run("collection", "add", more, "letters", "other", "letters/a.txt").out.startswith("9 documents added")
    assert ids(more) == sorted([*(f"letters/{name}" for name in FILES), "other/a.txt"])


def test_a_collection_in_its_own_folder_is_no_document(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    own, listed = Path("own.neardup"), Path("problems.jsonl")
    for _ in range(2):
        assert run("collection", "add", own, ".", "--replace", "--problems", listed).status == 0
    assert ids(own) == sorted(FILES)
    with Collection(own) as collection:  # its log stands next to it
        collection.add(Path("."), on_duplicate="replace")
        collection.add([Path("a.txt"), Path("sub")], on_duplicate="skip")
        assert not [id for id in collection if "neardup" in id]
    assert run("collection", "add", own, "*", "--replace", "--problems", listed).status == 0
    assert "collection itself" in run("collection", "add", own, own).err
    make_folder(folder / "data", {"a.jsonl": b'{"id": "x", "text": "one"}\n'})
    monkeypatch.chdir(folder / "data")
    assert run("collection", "add", "own.neardup", ".").out.endswith("1 document added; own.neardup holds 1\n")
    assert run("collection", "add", "own.neardup", ".", "--replace").out.endswith(
        "0 documents added, 1 replaced; own.neardup holds 1\n"
    )


def test_files_that_cannot_be_read_are_listed(run: Run, folder: Path, path: Path, tmp_path: Path) -> None:
    make_folder(folder, BROKEN)
    listed, out = tmp_path / "problems.jsonl", tmp_path / "out"
    result = run("collection", "add", path, folder, "--problems", listed)
    assert result.status == 1
    assert result.out.startswith("8 documents added")
    assert f"4 rows rejected; {listed}" in result.err
    assert ids(path) == sorted(FILES)
    rows = [json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()]
    assert [row["reason"].partition(":")[0] for row in rows] == [f"cannot read {name}" for name in sorted(BROKEN)]
    assert "document type" in rows[1]["reason"]
    assert "password" in rows[2]["reason"]
    run("dedup", folder, "-o", out)
    assert listed.read_bytes() == (out / "problems.jsonl").read_bytes(), "the list that dedup writes"


def test_the_list_of_problems_replaces_only_its_like(run: Run, folder: Path, path: Path, tmp_path: Path) -> None:
    listed = tmp_path / "problems.jsonl"
    make_folder(folder, BROKEN)
    run("collection", "add", path, folder, "--problems", listed)
    for name in BROKEN:
        (folder / name).unlink()
    make_folder(folder, {"a.txt": b"other words"})
    assert run("collection", "add", path, folder, "--problems", listed).status == 2
    assert listed.read_bytes().count(b"\n") == 4, "an addition that failed leaves it as it was"
    assert run("collection", "add", path, folder, "--replace", "--problems", listed).status == 0
    assert listed.read_bytes() == b"", "nothing was rejected"
    mine = make_folder(tmp_path, {"mine.jsonl": b'{"id": 1}\n'}) / "mine.jsonl"
    result = run("collection", "add", path, folder, "--replace", "--problems", mine)
    assert (result.status, mine.read_bytes()) == (2, b'{"id": 1}\n')
    assert "list of problems" in result.err
    assert run("collection", "add", path, folder, "--problems", path / "p.jsonl").status == 2


def test_many_problems_are_all_listed(run: Run, path: Path, tmp_path: Path) -> None:
    listed = tmp_path / "problems.jsonl"
    lines = make_folder(tmp_path, {"in.jsonl": b'{"id": "a", "text": "x"}\n' + b"nonsense\n" * 1500}) / "in.jsonl"
    known = json.loads(run("collection", "add", path, lines, "--problems", listed, "--json").out)
    assert (known["added"], known["rejected"], len(known["problems"])) == (1, 1500, 1000)
    assert len(listed.read_bytes().splitlines()) == 1500


# the settings of a new collection


def test_settings_of_a_new_collection(run: Run, folder: Path, path: Path) -> None:
    result = run("collection", "add", path, folder, "--length", 4, "--slots", 128, "--scale", 8, "--floor", 3)
    assert result.status == 0
    known = json.loads(run("collection", "info", path, "--json").out)
    assert known["settings"] == {"length": 4, "slots": 128, "scale": 8, "floor": 3}
    assert run("collection", "add", path, folder, "--replace", "--scale", 8).status == 0
    assert run("collection", "search", path, "FINGERPRINT:a.txt_90_80").status == 0
    result = run("collection", "add", path, folder, "--replace", "--scale", 9, "--floor", 3)
    assert (result.status, result.out) == (2, "")
    assert has_parts(result.err, f"{path} was made", "scale 8, not 9")
    assert "fixed when" in result.err


def test_compact(run: Run, path: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "letters", {f"{k}.docx": docx_of(f"{OTHER} own{k} " * 20) for k in range(40)})
    run("collection", "add", path, folder)
    run("collection", "remove", path, *(f"{k}.docx" for k in range(1, 40)))
    result = run("collection", "compact", path)
    assert result.status == 0
    assert result.out.startswith(f"{path} has ")
    assert result.out.endswith(" before; it holds 1 document\n")
    known = json.loads(run("collection", "compact", path, "--upgrade", "--json").out)
    assert known["documents"] == 1
    assert known["after"] <= known["before"] == path.stat().st_size < 200_000
    assert run("collection", "check", path).status == 0
    assert "no collection" in run("collection", "compact", tmp_path / "none").err
