"""A package of somebody else that ends the program: an error that names the package, not a silent end."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import neardup as nd
from neardup.io.formats import read_registered
from neardup.settings import extensions
from neardup.text import tokenizers
from support.messages import assert_refused


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


def test_a_package_that_exits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "tokenizer_of", lambda name: _Point(False).load())
    monkeypatch.setattr(tokenizers, "tokenizer_version", lambda name: "theirs 1.0")
    formats = sys.modules[read_registered.__module__]
    monkeypatch.setattr(formats, "registered_formats", lambda: {".odt": _Point(False)})
    imported = lambda: extensions.loaded_point("tokenizer theirs", _Point(True))  # type: ignore[arg-type]  # noqa: E731
    assert_refused(
        (nd.InputError, r"SystemExit: 3.* theirs 1\.0", imported),
        (nd.InputError, r"SystemExit: 3.* theirs 1\.0", lambda: tokenizers.tokens_as_words("a text", "theirs")),
        (nd.InputError, r"\.odt .*ends the program: 3", lambda: read_registered(".odt", b"data")),
    )
