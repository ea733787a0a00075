"""Folder, name, suffix, size and time of files, and headers of mails, decide what is compared and what stays."""

import csv
import json
import os
import tarfile
import zipfile
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path

import pytest

from neardup.io.readers import choose_columns, open_documents
from neardup.review.desk.desk import Desk
from neardup.review.source import Question
from support.command_line import BASE, NEAR, OTHER, Run
from support.made_files import eml_of
from support.messages import has_parts
from support.reading import read_all

FILES = {"a/one.txt": (BASE, 300), "a/two.md": (NEAR, 200), "b/three.TXT": (BASE, 100), "four.txt": (OTHER, 400)}
DAY = 24 * 3600


def folder(place: Path) -> Path:
    for name, (text, days) in FILES.items():
        path = place / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (days * DAY, days * DAY))
    return place / "in"


def tar(place: Path) -> Path:
    with tarfile.open(place / "in.tar", "w") as file:
        file.add(folder(place), "")
    return place / "in.tar"


def zipped(place: Path) -> Path:
    with zipfile.ZipFile(place / "in.zip", "w") as file:
        for name, (text, days) in FILES.items():
            file.writestr(zipfile.ZipInfo(name, (1981, 1, 1 + days // 100, 0, 0, 0)), text)
    return place / "in.zip"


def stays(made: object, run: Run, place: Path, *options: str) -> set[str]:
    given = made(place)  # type: ignore[operator]
    result = run("dedup", given, "-o", place / "out", "--write-removed", *options)
    assert result.status == 0, result.err
    [kept] = (place / "out").glob("kept*")
    if kept.suffix == ".tar":
        with tarfile.open(kept) as file:
            return set(file.getnames())
    if kept.suffix == ".zip":
        with zipfile.ZipFile(kept) as file:
            return set(file.namelist())
    return {path.relative_to(kept).as_posix() for path in kept.rglob("*.*")}


@pytest.mark.parametrize("made", [folder, tar, zipped])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--keep", "max:mtime"), {"a/one.txt"}),
        (("--keep", "min:mtime"), {"b/three.TXT"}),
        (("--keep", "max:size"), {"a/two.md"}),
        (("--within", "folder", "--keep", "first"), {"a/one.txt", "b/three.TXT"}),
        (("--across", "folder", "--keep", "min:mtime"), {"b/three.TXT"}),
        (("--within", "suffix", "--keep", "max:name"), {"b/three.TXT", "a/two.md"}),
    ],
    ids=["newest", "oldest", "largest", "folder", "folders", "suffix"],
)
def test_the_place_of_a_file_decides(
    made: object, options: tuple[str, ...], expected: set[str], run: Run, tmp_path: Path
) -> None:
    assert stays(made, run, tmp_path, *options) == expected | {"four.txt"}


def test_headers_of_mails_are_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, text in enumerate((BASE, NEAR)):
        (tmp_path / "in" / f"{number}.eml").write_bytes(eml_of(text, f"subject {number}"))
    documents = open_documents(tmp_path / "in")
    choose_columns(documents, None, None)
    rows, *_ = read_all(documents, ["name", "suffix", "folder", "subject"])
    assert [row["subject"] for row in rows] == [b"subject 0", b"subject 1"]
    assert rows[0] == {"name": b"0.eml", "suffix": b".eml", "folder": b".", "subject": b"subject 0"}
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "in", "-o", out, "--within", "subject").status == 0
    assert len(list((out / "kept").iterdir())) == 2


def mail(sender: str, to: str, day: int, text: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, f"day {day}"
    message["Date"] = f"{day:02} Jan 2022 10:00:00 +0000"
    message.set_content(text)
    return message.as_bytes()


PAGE = '<title>A page</title><link rel="canonical" href="https://example.org/{}"><p>{}'


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """Four versions of one text: of two senders, one of them under two names, and a web page."""
    folder = tmp_path / "in"
    folder.mkdir()
    senders = ("Ann <ann@example.org>", "Ann B <ann@example.org>", "bob@example.org")
    for day, sender in enumerate(senders, 1):
        content = mail(sender, "cy@example.org, Di <di@example.org>", day, f"{BASE} {day}")
        (folder / f"{day}.eml").write_bytes(content)
    (folder / "page.html").write_text(PAGE.format("a", f"{BASE} page"))
    return folder


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--within", "from", "--keep", "min:date"), {"1.eml", "3.eml", "page.html"}),
        (("--within", "to", "--keep", "max:date", "--by", "from"), {"2.eml", "3.eml", "page.html"}),
        (("--within", "url", "--keep", "max:subject", "--count", "--sources", "from"), {"3.eml", "page.html"}),
        (("--across", "title", "--keep", "order:url=https://example.org/a"), {"page.html"}),
    ],
)
def test_senders_dates_and_addresses_decide(
    options: tuple[str, ...], expected: set[str], run: Run, letters: Path, tmp_path: Path
) -> None:
    result = run("dedup", letters, "-o", tmp_path / "out", *options)
    assert result.status == 0, result.err
    kept = {path.name for path in (tmp_path / "out" / "kept").iterdir()}
    assert kept >= expected if "--across" in options else kept == expected


def test_results_hold_them_for_filters_and_exports(run: Run, letters: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "groups.csv"
    assert run("dedup", letters, "-o", out, "--keep", "min:date").status == 0
    assert run("export", out, "-o", file).status == 0
    with file.open(newline="", encoding="utf-8-sig") as lines:
        rows = {row["id"]: row for row in csv.DictReader(lines)}
    assert rows["2.eml"]["from"] == "ann@example.org, Ann B"
    assert (rows["2.eml"]["date"], rows["2.eml"]["subject"]) == ("2022-01-02T10:00:00Z", "day 2")
    assert (rows["page.html"]["url"], rows["page.html"]["title"]) == ("https://example.org/a", "A page")
    assert (rows["page.html"]["suffix"], rows["page.html"]["from"]) == (".html", "")
    assert json.loads(run("show", out, "3.eml", "--json").out)["fields"]["from"] == "bob@example.org"
    with closing(Desk.open(out)) as desk:
        desk._warming.join()
        expected = {"from:ann": 1, "suffix:html": 1, "subject:letter": 0, "date>=2022-01-04": 0, "url:example": 1}
        assert {words: desk.groups(Question(words)).found for words in expected} == expected
        facets = [facet.name for facet in desk.groups(Question()).facets]
        assert "Suffix" in facets
        assert "From" not in facets  # each sender has written one of the documents
        assert "Size" not in facets  # a filter by size means that of the group


def test_other_columns_are_named(run: Run, tmp_path: Path) -> None:
    wrong = run("dedup", folder(tmp_path), "-o", tmp_path / "out", "--within", "foldr")
    assert wrong.status == 2
    assert has_parts(wrong.err, '"foldr"', "suffix, size", "folder")
