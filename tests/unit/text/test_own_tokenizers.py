"""The tokenizers of the program itself, by their names."""

from importlib.metadata import version
from pathlib import Path

import pytest

from neardup.settings.extensions import OWN, tokenizer_names, tokenizer_version
from neardup.text.tokenizers import tokenizer_of, tokens_of_code
from support.made_package import installed_package


def test_an_own_tokenizer_has_the_version_of_the_program() -> None:
    assert OWN == ("code",)
    assert tokenizer_names()[: len(OWN)] == OWN
    assert tokenizer_version("code") == f"neardup {version('neardup')}"
    assert tokenizer_of("code") is tokens_of_code


def test_one_of_another_package_is_named_after_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = "[neardup.tokenizers]\nmade = made_words:split\n"
    with installed_package(tmp_path, "made_words", "def split(text): ...\n", points, monkeypatch):
        assert tokenizer_names() == (*OWN, "made")
        assert tokenizer_version("made") == "made-words 1.2"
