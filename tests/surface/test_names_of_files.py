"""Names of files that are not UTF-8, and all names in a locale without Unicode: listed, copied and found again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from neardup.io.place import ESCAPED, name_below, path_of, shown_name
from support.command_line import BASE, NEAR, OTHER

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
LOCALES = {
    "utf-8": {"PYTHONUTF8": "1"},
    "posix": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


def can_be_made(folder: Path) -> bool:
    try:
        (folder / os.fsdecode(b"\xff")).touch()
    except (OSError, UnicodeError):
        return False
    return os.name == "posix"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of documents and one of data, with names in bytes."""
    if not can_be_made(tmp_path):
        pytest.skip("this file system has Unicode names only")
    base = os.fsencode(tmp_path)
    for folder in (b"f", b"d"):
        os.mkdir(base + b"/" + folder)
    for name, content in (
        (b"f/a.txt", BASE.encode()),
        (b"f/b\xff.txt", NEAR.encode() + b" more words at its end"),
        (b"f/\xc3\xbc\xfe.txt", OTHER.encode()),
        (b"f/\xc3\xbc.txt", b"third " + OTHER.replace("other", "third").encode()),
        (b"f/image\xff.png", PNG),
        *((b"d/" + name, _rows()) for name in (b"x\xff.jsonl", b"x\xfe.jsonl", b"y\xc3\xbc.jsonl")),
    ):
        with open(base + b"/" + name, "wb") as file:
            file.write(content)
    return tmp_path


def _rows() -> bytes:
    return b"".join(json.dumps({"text": text}).encode() + b"\n" for text in (BASE, OTHER))


def typed(place: Path, locale: str, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    others = ("LC_", "LANG", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONCOERCECLOCALE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    command = [sys.executable, "-m", "neardup", *arguments]
    return subprocess.run(command, cwd=place, env={**kept, **LOCALES[locale]}, capture_output=True, check=False)


def below(folder: bytes) -> set[bytes]:
    return {
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in names
    }


def account(folder: bytes) -> dict[str, Any]:
    with open(folder + b"/run.json", "rb") as file:
        found: dict[str, Any] = json.load(file)
    return found


@pytest.mark.parametrize("locale", LOCALES)
def test_documents_are_compared_listed_copied_and_found_again(locale: str, place: Path) -> None:
    out = os.fsencode(place) + b"/o\xff"
    done = typed(place, locale, "dedup", "f", "-o", out, "--resume")
    assert done.returncode == 0, done.stderr
    assert below(out + b"/kept") == {b"b\xff.txt", b"\xc3\xbc\xfe.txt", b"\xc3\xbc.txt", b"image\xff.png"}
    with open(out + b"/kept/image\xff.png", "rb") as file:
        assert file.read() == PNG
    with open(out + b"/groups.parquet", "rb") as file:
        assert pq.read_table(file)["id"].to_pylist() == ["b\\xff.txt", "a.txt"]
    assert locale == "posix" or b"o\\xff" in done.stdout
    shown = typed(place, locale, "show", out, "b\\xff.txt")
    assert shown.returncode == 0, shown.stderr
    assert b"kept     b\\xff.txt (this document)" in shown.stdout
    assert b"word0 word1" in shown.stdout
    said = typed(place, locale, "dedup", "f", "--dry-run", "--json")
    assert json.loads(said.stdout)["counts"]["kept"] == 3


@pytest.mark.parametrize("locale", LOCALES)
def test_data_files_keep_their_names(locale: str, place: Path) -> None:
    done = typed(place, locale, "dedup", "d", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert below(os.fsencode(place) + b"/out/kept") == {b"x\xff.jsonl", b"x\xfe.jsonl", b"y\xc3\xbc.jsonl"}
    listed = account(os.fsencode(place) + b"/out")["kept_files"]["listed"]
    assert [one["file"] for one in listed] == ["kept/x\\xfe.jsonl", "kept/x\\xff.jsonl", "kept/yü.jsonl"]
    one = typed(place, locale, "dedup", b"d/x\xff.jsonl", "-o", "one")
    assert one.returncode == 0, one.stderr


@pytest.mark.parametrize("locale", LOCALES)
def test_parts_plans_groups_and_reports(locale: str, place: Path) -> None:
    for arguments, status in (
        (("fingerprint", "f", "-o", b"fp\xff"), 1),  # it counts the image as rejected
        (("merge", b"fp\xff", "-o", "merged"), 0),
        (("plan", "f"), 1),
        (("plan", "d"), 0),
        (("group", "d", "-o", "groups"), 0),
        (("report", "groups", "-o", "page.html"), 0),
        (("compare", "f/a.txt", b"f/b\xff.txt"), 0),
    ):
        done = typed(place, locale, *arguments)
        assert done.returncode == status, (arguments, done.stderr)
    assert account(os.fsencode(place) + b"/merged")["counts"]["removed"] == 1


@pytest.mark.parametrize("locale", LOCALES)
def test_members_of_archives_keep_their_bytes(locale: str, place: Path) -> None:
    with tarfile.open(place / "in.tar", "w", encoding="utf-8", errors="surrogateescape") as file:
        for name in ("a.txt", "b\udcff.txt", "ü.txt"):
            file.add(place / "f" / name, name)
    done = typed(place, locale, "dedup", "in.tar", "-o", "out")
    assert done.returncode == 0, done.stderr
    with tarfile.open(place / "out" / "kept.tar", encoding="utf-8", errors="surrogateescape") as file:
        assert set(file.getnames()) == {"b\udcff.txt", "ü.txt"}
    shown = typed(place, locale, "show", "out", "in.tar!/b\\xff.txt")
    assert shown.returncode == 0, shown.stderr


def test_shown_names_lead_back_to_the_files(place: Path) -> None:
    for raw in (b"f/b\xff.txt", b"f/\xc3\xbc.txt", b"f/a.txt"):
        path = os.fsdecode(os.fsencode(place) + b"/" + raw)
        assert path_of(shown_name(path)) == path
        assert name_below(shown_name(os.path.basename(path)), path) == os.path.basename(path)
    literal = str(place / "c\\xff.txt")
    Path(literal).touch()
    assert path_of(shown_name(literal)) == literal


def test_characters_without_a_form_are_escapes_that_json_reads() -> None:
    printed = '"b€\U0001f600ü"'.encode("ascii", ESCAPED).decode()
    assert json.loads(printed) == "b€\U0001f600ü"
    assert "a\udcff".encode("utf-8", ESCAPED) == b"a\\xff"


def test_every_byte_that_is_no_text_has_an_escape() -> None:
    """The bytes of a name that are not UTF-8 are the lone surrogates from U+DC80 to U+DCFF."""
    for byte in range(0x80, 0x100):
        assert chr(0xDC00 + byte).encode("ascii", ESCAPED) == rf"\x{byte:02x}".encode()
    assert "\udc7f\ude00".encode("ascii", ESCAPED) == rb"\udc7f\ude00"
