"""``neardup explain`` from outside."""

import io
import json
import re
import shlex
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

import neardup as nd
from neardup.comparison.walkthrough import EXAMPLE
from neardup.display.view import policy_for
from support.browser import chromium
from support.command_line import Run
from support.messages import has_parts
from support.paths import DOCS
from support.plain_pages import HOSTILE, require_plain

PAGE = DOCS / "explanation" / "walkthrough.md"


@pytest.fixture
def sentences(tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"{name}.txt" for name in "cab"]
    for file, text in zip(files, EXAMPLE, strict=True):
        file.write_text(text + "\n", encoding="utf-8")
    return files


def test_the_example_is_what_the_library_gives(run: Run) -> None:
    result = run("explain", "--example")
    assert (result.status, result.err) == (0, "")
    assert result.out == nd.explain(EXAMPLE).text(80) + "\n"
    assert max(map(len, result.out.splitlines())) <= 80


def test_coefficients_give_what_the_seed_draws(run: Run) -> None:
    result = run("explain", "--example", "--coefficients", "4:9,14:4,8:14,3:10")
    assert result.out == run("explain", "--example", "--seed", "1").out
    assert result.out != run("explain", "--example", "--seed", "2").out


def test_files_keep_their_order_and_may_come_twice(run: Run, sentences: list[Path]) -> None:
    data = json.loads(run("explain", *sentences, sentences[0], "--json").out)
    assert [document["name"] for document in data["documents"]] == [str(f) for f in (*sentences, sentences[0])]
    assert data["drawn"][0]["signatures"] == [[1, 0, 2, 1], [1, 0, 5, 1], [1, 1, 0, 1], [2, 3, 0, 2]]


def test_json_is_the_plain_data(run: Run) -> None:
    typed = ("--slots", "8,32", "--family", "mod-p,one-permutation", "--band-rows", "2", "--length", "2")
    made = nd.explain(EXAMPLE, slots=[8, 32], family=["mod-p", "one-permutation"], band_rows=2, length=2)
    assert json.loads(run("explain", "--example", *typed, "--json").out) == made.as_dict()


def test_standard_input_is_a_document(run: Run, sentences: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.BytesIO(EXAMPLE[1].encode() + b" \xff")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=typed))
    data = json.loads(run("explain", sentences[0], "-", "--json").out)
    assert [document["name"] for document in data["documents"]] == [str(sentences[0]), "-"]
    assert data["documents"][1]["beginning"] == EXAMPLE[1] + " \ufffd"
    assert data["pairs"][0]["shared"] == 3


def test_literal_texts(run: Run) -> None:
    assert run("explain", "--literal", *EXAMPLE).out == run("explain", "--example").out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ["The night is dark.", "The moon?"],
            'error: There is no file "The night is dark."\n'
            "       Allowed: Names of files, or - for standard input\n"
            "       Try: Give --literal to use the arguments themselves as documents\n",
        ),
        (["a\x1b[2J" + 500 * "x"], f'error: There is no file "a\\x1b[2J{55 * "x"}…"\n'),
        ([], "error: No document was given\n"),
        (["--example", "x"], "error: --example was given with documents\n"),
        (["--literal", "x"], "error: There is only one document\n"),
        (["-", "-"], "error: - was given twice\n"),
        (["--example", "--slots", "4,x"], "error: --slots has 'x'\n"),
        (["--example", "--coefficients", "4:9,14"], "error: --coefficients has '14'\n"),
        (["--example", "--coefficients", "4:9,a:b"], "error: --coefficients has 'a'\n"),
        (["--example", "--family", "mod-q"], "error: The family of hash functions is 'mod-q'\n"),
        (["--example", "--length", "0"], "error: length is 0\n       Allowed: a number from 1 to 64"),
    ],
    ids=str,
)
def test_what_is_refused(run: Run, typed: list[str], said: str) -> None:
    result = run("explain", *typed)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(said)


def test_a_folder_of_many_documents_is_refused(run: Run, tmp_path: Path) -> None:
    for i in range(11):
        (tmp_path / f"{i}.txt").write_text("text", encoding="utf-8")
    result = run("explain", tmp_path)
    assert result.status == 2
    assert has_parts(result.err, "error: ", "more than 10 documents")


def shown_on_page() -> list[tuple[str, list[str]]]:
    """Return the commands on the page of the walk-through, each with the lines it is said to print."""
    blocks = re.findall(r"^```\n\$ neardup (.*?)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return [(command, lines.splitlines()) for command, lines in blocks]


@pytest.mark.parametrize(("command", "lines"), shown_on_page(), ids=lambda part: part if type(part) is str else "")
def test_the_page_shows_what_is_printed(run: Run, command: str, lines: list[str]) -> None:
    printed = iter(run(*shlex.split(command)).out.splitlines())
    wanted = [line for line in lines if line not in ("", "...")]
    assert len(wanted) > 3
    assert not [line for line in wanted if line not in printed]  # each is looked for after the one before


def test_the_page_has_examples_and_every_key_of_the_data() -> None:
    assert len(shown_on_page()) >= 4
    text = PAGE.read_text(encoding="utf-8").partition("## As JSON")[2]
    data = nd.explain(EXAMPLE, band_rows=2).as_dict()
    assert not [key for key in sorted(keys_of(data)) if f"`{key}`" not in text]


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for part in value.values() for key in keys_of(part)}
    return {key for part in value for key in keys_of(part)} if isinstance(value, list) else set()


def test_a_page_of_the_tables(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("explain", "--literal", HOSTILE.replace("\ud800", ""), "the night is dark", "--html", page)
    assert done.out.endswith(f"written  {page}\n")
    written = page.read_text(encoding="utf-8")
    found = require_plain(written)
    assert "3. Signatures" in found.text
    assert "<script>alert(1)</script>" in found.text
    assert "prefers-color-scheme: dark" in written
    assert policy_for(written.partition("<style>")[2].partition("</style>")[0]) in unescape(written)


def test_a_page_is_not_written_over_a_document_or_another_page(run: Run, tmp_path: Path) -> None:
    one = tmp_path / "one.txt"
    one.write_text("the night is dark and the moon is red", encoding="utf-8")
    refused = run("explain", one, one, "--html", one, "--overwrite")
    assert refused.status == 2
    assert "document and the file" in refused.err
    page = tmp_path / "page.html"
    run("explain", "--example", "--html", page)
    assert "--overwrite" in run("explain", "--example", "--html", page).err
    run("explain", "--example", "--html", page, "--overwrite")
    assert one.read_text(encoding="utf-8").startswith("the night")


TABLES = """() => Object.fromEntries([...document.querySelectorAll("h2, h4")].map(heading => [
  heading.textContent, [...(heading.parentElement.querySelectorAll("table"))]
    .filter(table => heading.compareDocumentPosition(table) & 4)[0]]).map(([name, table]) => [
  name.replace(/^\\d+\\. /, ""), table && [...table.rows].map(row => [...row.cells].map(cell => {
    const box = cell.getBoundingClientRect();
    return [cell.textContent, box.x + box.width / 2, box.y + box.height / 2 + window.scrollY];
  }))]))"""
"""Each heading with the first table after it: the cells of its rows, each with its text and its middle."""
POINTED = (
    "([x, y]) => { const it = document.elementFromPoint(x, y); return [it.title, getComputedStyle(it).cursor] }"
)


@pytest.mark.parametrize("shown", ["page", "notebook"])
def test_a_value_shows_the_row_that_it_comes_from(run: Run, tmp_path: Path, shown: str) -> None:
    """In words beside it, and where the mouse is on it: the row, and its shingle."""
    page = tmp_path / "page.html"
    if shown == "page":
        run("explain", "--example", "--html", page)
    else:
        page.write_text(f"<!DOCTYPE html><title>t</title>{nd.explain(EXAMPLE).html()}", encoding="utf-8")
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 1000, "height": 5000})
        opened.goto(page.as_uri())
        tables = opened.evaluate(TABLES)
        shingles = {row[0][0]: [cell[0] for cell in row[1:]] for row in tables["Shingles × documents"][1:]}
        values = {row[0][0]: [int(cell[0]) for cell in row[1:5]] for row in tables["Hash functions"][1:]}
        head, *signatures = tables["Signatures"]
        assert ([name for name, *_ in head], len(signatures)) == (["", *"ABC"], 4)
        for slot, (_, *cells) in enumerate(signatures):
            for document, (words, x, y) in enumerate(cells, 1):
                value, row = re.match(r"(\d+) \(row (\d+)\)", words).groups()  # type: ignore[union-attr]
                opened.mouse.move(x, y)
                assert opened.evaluate(POINTED, [x, y]) == [f"row {row}: “{shingles[row][0]}”", "help"]
                held = [
                    values[one][slot]
                    for one, (_, *members) in shingles.items()
                    if members[document - 1] == "1" and one
                ]
                assert int(value) == values[row][slot] == min(held)
        opened.close()
