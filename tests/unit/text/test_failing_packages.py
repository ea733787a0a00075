"""A package of somebody else that ends the program: an error that names the package, not a silent end."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import neardup as nd
from neardup.io.formats import read_registered
from neardup.settings import extensions
from neardup.text import tokenizers


class _Dist:
    name, version = "theirs", "1.0"


class _Point:
    """An entry point whose import, or whose function, calls ``sys.exit``."""

    value, dist = "theirs:function", _Dist()

    def __init__(self, at_import: bool) -> None:
        self._at_import = at_import

    def load(self) -> Any:
        if self._at_import:
            sys.exit(3)
        return lambda *given: sys.exit(3)


def test_a_package_that_exits_at_its_import_is_named() -> None:
    with pytest.raises(nd.InputError, match=r"SystemExit: 3.* theirs 1\.0"):
        extensions.loaded_point("tokenizer theirs", _Point(True))  # type: ignore[arg-type]


def test_a_tokenizer_that_exits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "tokenizer_of", lambda name: _Point(False).load())
    monkeypatch.setattr(tokenizers, "tokenizer_version", lambda name: "theirs 1.0")
    with pytest.raises(nd.InputError, match=r"SystemExit: 3.* theirs 1\.0"):
        tokenizers.tokens_as_words("some text", "theirs")


def test_an_extractor_that_exits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[read_registered.__module__]
    monkeypatch.setattr(module, "registered", lambda: {".odt": _Point(False)})
    with pytest.raises(nd.InputError, match=r"\.odt .*ends the program: 3"):
        read_registered(".odt", b"data")
