"""Folder, name, suffix, size and time of files, and headers of mails, decide what is compared and what stays."""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from neardup.io.readers import choose_columns, open_documents
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


def test_other_columns_are_named(run: Run, tmp_path: Path) -> None:
    wrong = run("dedup", folder(tmp_path), "-o", tmp_path / "out", "--within", "foldr")
    assert wrong.status == 2
    assert has_parts(wrong.err, '"foldr"', "suffix, size", "folder")
