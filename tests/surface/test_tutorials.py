"""The tutorials: every command and every piece of Python runs, in order, and prints what the page shows."""

import json
import re
import shutil
from pathlib import Path

import pytest

from neardup.cli.demo_documents import documents_path
from support import made_mails
from support.command_line import Run, write_rows
from support.paths import DOCS
from support.shown_commands import blocks, commands, require_shown

TUTORIAL = DOCS / "tutorial"
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader, with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made_mails.write(tmp_path / "letters")
    shutil.copyfile(documents_path(), tmp_path / "mails.jsonl")
    for name, text in (("old", "memo_a"), ("new", "memo_b")):
        shutil.copyfile(GOLDEN / f"{text}.txt", tmp_path / f"{name}.txt")
    rows = [{"id": f"id-{k}", "text": f"The mail of number {k}", "from": "ann", "date": "2020"} for k in range(9)]
    write_rows(tmp_path / "inbox.jsonl", rows)
    return tmp_path


def run_page(run: Run, name: str, least: int) -> None:
    shown = list(commands(TUTORIAL / name))
    assert len(shown) >= least
    for command, lines in shown:
        require_shown(run, command, lines)


def test_the_first_deduplication(run: Run, folder: Path) -> None:
    run_page(run, "first-dedup.md", 5)
    text = (TUTORIAL / "first-dedup.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+\.\w+)` \|", text, flags=re.MULTILINE))
    assert len(listed) == 5
    assert {path.name for path in (folder / "cleaned").iterdir()} == {*listed, *IN_FOLDERS}
    assert json.loads((folder / "strict" / "run.json").read_text(encoding="utf-8"))["settings"]["threshold"] == 0.9


IN_FOLDERS = {
    *("kept.jsonl", "ranks.parquet", "not_judged.parquet", "manifest.json"),
    *("places.parquet", "located.parquet"),
}
"""Files of a result that the tutorial leaves to the reference."""


def test_two_documents(run: Run, folder: Path) -> None:
    run_page(run, "two-documents.md", 2)
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("old", "new")}
    [code] = blocks(TUTORIAL / "two-documents.md", "python")
    exec(code, dict(texts))


def test_a_collection(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(run, "a-collection.md", 5)
    [code] = blocks(TUTORIAL / "a-collection.md", "python")
    exec(code, {})
    assert capsys.readouterr().out == "The mail of number 8 12\n"
