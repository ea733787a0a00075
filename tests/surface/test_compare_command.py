"""``neardup compare`` from outside."""

import io
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import neardup as nd
from neardup.cli import documents as command
from neardup.comparison import compare
from neardup.io.writers.output import stamped_page
from support.command_line import Run
from support.made_files import docx_of
from support.messages import has_parts
from support.paths import GOLDEN, ROOT

TUTORIAL = ROOT / "docs" / "tutorial" / "two-documents.md"
A, B = GOLDEN / "memo_a.txt", GOLDEN / "memo_b.txt"
TEXTS = (A.read_text(encoding="utf-8"), B.read_text(encoding="utf-8"))
SENTENCES = ("The night is dark and the moon is red.", "The night is dark and the moon was pale.")


def test_both_texts_and_the_measures(run: Run) -> None:
    for width in (70, 140):
        result = run("compare", A, B, "--width", width)
        assert (result.status, result.err) == (0, "")
        assert result.out == nd.compare(*TEXTS).text(width, names=(str(A), str(B))) + "\n"


def test_in_a_pipe_it_is_eighty_columns_without_colour(run: Run) -> None:
    assert run("compare", A, B).out == run("compare", A, B, "--width", 80).out
    assert "\x1b" not in run("compare", A, B).out


def test_json_is_the_plain_data(run: Run) -> None:
    typed = ("--length", 3, "--min-chunk", 4, "--stop-words", "en", "--ignore-numbers", "--unit", "word")
    result = run("compare", A, B, *typed, "--json")
    made = nd.compare(*TEXTS, length=3, min_chunk=4, stop_words="en", ignore_numbers=True)
    assert (result.status, result.err) == (0, "")
    assert json.loads(result.out) == made.as_dict()
    assert (
        json.loads(run("compare", A, B, "--unit", "char", "--json").out)
        == nd.compare(*TEXTS, unit="char").as_dict()
    )


def test_standard_input_and_literal_texts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    literal = run("compare", "--literal", *SENTENCES)
    assert literal.out == nd.compare(*SENTENCES).text(80) + "\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(SENTENCES[0].encode() + b"\xff")))
    piped = json.loads(run("compare", "-", A, "--json").out)
    assert piped == nd.compare(SENTENCES[0] + "ÿ", TEXTS[0]).as_dict()


def test_formats_may_differ(run: Run, tmp_path: Path) -> None:
    page, document = tmp_path / "a.html", tmp_path / "b.docx"
    page.write_text(f"<p>{SENTENCES[0]}<script>no()</script>", encoding="utf-8")
    document.write_bytes(docx_of(SENTENCES[0]))
    measures = json.loads(run("compare", page, document, "--json").out)["measures"]
    assert (measures["tokens_a"], measures["resemblance"]) == (9, 1.0)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("one", "One!"), "warning: A and B have the same tokens in the same order"),
        (("one", ""), "warning: B has no token: it is like no other text."),
        (("?", "!"), "warning: A and B have no token: there is nothing to compare"),
    ],
)
def test_json_with_a_warning(run: Run, texts: tuple[str, str], said: str) -> None:
    result = run("compare", "--literal", *texts, "--json")
    assert result.status == 0
    assert result.err.startswith(said)
    assert json.loads(result.out)["measures"]


def test_the_page_is_written_once(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("compare", A, B, "--html", page)
    assert (result.status, result.err) == (0, "")
    assert result.out.endswith(f"\nwritten  {page}\n")
    assert page.read_text(encoding="utf-8") == stamped_page(nd.compare(*TEXTS).html(names=(str(A), str(B))))
    refused = run("compare", A, B, "--html", page, "--full")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"error: {page} exists already\n")
    assert run("compare", A, B, "--html", page, "--full", "--overwrite").status == 0
    assert page.read_text(encoding="utf-8") == stamped_page(
        nd.compare(*TEXTS).html(names=(str(A), str(B)), full=True)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_only_pages_are_overwritten(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("<p>mine", encoding="utf-8")
    refused = run("compare", A, B, "--html", kept, "--overwrite")
    assert refused.status == 2
    assert has_parts(refused.err, f"error: {kept} is not a page", "\n")
    refused = run("compare", kept, B, "--html", kept, "--overwrite")
    assert has_parts(refused.err, f"error: {kept} is a document", "the file to write\n")
    assert kept.read_text(encoding="utf-8") == "<p>mine"
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    run("compare", A, B, "--html", page)
    link.symlink_to(page)
    assert run("compare", A, B, "--html", link, "--overwrite").status == 2
    assert link.is_symlink()


def test_the_differences_are_tracked_changes_of_a_document(run: Run, tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    redline, kept = tmp_path / "redline.docx", tmp_path / "kept.docx"
    made = run("compare", A, B, "--docx", redline)
    assert (made.status, made.out.splitlines()[-1]) == (0, f"written  {redline}")
    accepted = "\n".join(
        line.text for line in docx.Document(str(redline)).paragraphs
    )  # insertions are no runs of it
    assert set(accepted.split()) <= set(TEXTS[1].split())
    assert run("compare", A, B, "--docx", redline).status == 2
    assert run("compare", B, A, "--docx", redline, "--html", tmp_path / "page.html", "--overwrite").status == 0
    kept.write_bytes(docx_of("mine"))
    assert run("compare", A, B, "--docx", kept, "--overwrite").status == 2
    assert kept.read_bytes() == docx_of("mine")


def test_nothing_is_left_when_it_fails(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    monkeypatch.setattr(compare.Comparison, "html", lambda *_, **__: 1 / 0)
    assert run("compare", A, B, "--html", page).status == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    below = run("compare", A, B, "--html", tmp_path / "file" / "page.html")
    assert below.status == 2
    assert has_parts(below.err, f"error: Cannot write {tmp_path / 'file' / 'page.html'}: ", "another place")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_folder_of_a_page_is_made(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "new" / "folder" / "page.html"
    assert run("compare", A, B, "--html", page).status == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((A,), "Usage:"),
        (
            (A, "nowhere.txt"),
            'error: There is no file "nowhere.txt"\n       Allowed: Names of files, or -',
        ),
        ((A, A.parent), f"error: {A.parent} is a folder\n"),
        (("-", "-"), "error: - was given twice\n"),
        ((A, B, "--length", "0"), "error: length is 0\n       Allowed: a number from 1 to 64"),
        ((A, B, "--min-chunk", "0"), "error: min_chunk = 0 is not possible\n"),
        ((A, B, "--unit", "line"), "error: unit is "),
        ((A, B, "--stop-words", "xx"), "error: The language 'xx' has no list of stop words\n"),
    ],
    ids=str,
)
def test_what_is_refused(run: Run, typed: tuple[object, ...], said: str) -> None:
    result = run("compare", *typed)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(said)


def test_a_damaged_file_is_refused(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "a.docx"
    broken.write_bytes(b"PK\x03\x04 no zip")
    result = run("compare", broken, A)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"error: Cannot read {broken}: It is not a DOCX file, or is damaged")


@pytest.mark.parametrize(
    ("environment", "tty", "colour"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_when_there_is_colour(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], tty: bool, colour: bool
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: tty))
    assert command._has_colour() is colour


def test_an_encoding_without_the_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="ascii") as narrow:
        monkeypatch.setattr(sys, "stdout", narrow)
        command._print(["東京 │ x"])
        narrow.flush()
        assert written.getvalue() == rb"\u6771\u4eac \u2502 x" + os.linesep.encode()


def test_a_megabyte_takes_seconds(run: Run, tmp_path: Path) -> None:
    words = [f"word{k * k % 7919}" for k in range(130_000)]
    text = "\n".join(" ".join(words[k : k + 12]) for k in range(0, len(words), 12))
    changed = text.replace("word1600 ", "other ").replace("word1521 ", "")
    for name, content in (("a.txt", text), ("b.txt", changed)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert len(text) > 1_000_000
    run("compare", A, B)  # imports
    begin = time.process_time()
    result = run("compare", tmp_path / "a.txt", tmp_path / "b.txt", "--html", tmp_path / "page.html")
    assert result.status == 0
    assert time.process_time() - begin < 30  # 3 s on a quiet machine


def test_the_tutorial_shows_what_is_printed(run: Run) -> None:
    shown = TUTORIAL.read_text(encoding="utf-8").partition("$ neardup compare old.txt new.txt\n")[2]
    lines = [line for line in shown.partition("\n```")[0].splitlines() if line not in ("", "...")]
    assert len(lines) > 8
    printed = run("compare", A, B).out.splitlines()
    assert not [line for line in lines if line not in printed]
