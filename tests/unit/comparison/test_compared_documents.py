"""``neardup.compare`` of texts and of files: the name of a file is not compared as a text without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

import neardup as nd
from neardup.comparison.compare import compare as compare_texts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.txt").write_text(TEXT)
    (tmp_path / "new.html").write_text(f"<p>{TEXT}</p>")
    (tmp_path / "NOTES").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize(("a", "b"), [("old.txt", "new.html"), (TEXT, "old.txt"), ("NOTES", "NOTES")])
def test_the_names_of_files_are_refused_with_the_way_to_read_them(folder: Path, a: str, b: str) -> None:
    with pytest.raises(nd.InputError, match=r"Give Path\('"):
        nd.compare(a, b)


def test_files_are_read_and_compared_with_texts(folder: Path) -> None:
    assert nd.compare(Path("old.txt"), Path("new.html")).measures["resemblance"] == 1
    assert nd.compare(TEXT, folder / "NOTES").measures["resemblance"] == 1
    with pytest.raises(nd.InputError):
        nd.compare(TEXT, Path("none.txt"))


def test_names_are_texts_where_no_file_is_or_a_space_follows(folder: Path) -> None:
    assert nd.compare("none.txt", "none.txt").measures["resemblance"] == 1
    assert nd.compare("old.txt ", "old.txt ").measures["resemblance"] == 1
    assert nd.compare(TEXT, "NOTES").measures["resemblance"] == 0


def test_texts_of_documents_are_never_names(folder: Path) -> None:
    assert compare_texts("old.txt", "old.txt").measures["resemblance"] == 1
    assert nd.find(["old.txt ", "other words"]).compare(0, 1).measures["resemblance"] == 0
