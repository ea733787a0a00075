"""The settings as keywords with types are those of the table, and a type checker finds a misspelt one."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from neardup.settings import FIELDS, Field, Settings
from neardup.settings.keywords import SettingKeywords
from support.paths import ROOT, SOURCE


def expected(field: Field) -> Any:
    """The type of a keyword: one value or several, or the text that a rule reads."""
    if field.many:
        return str | Sequence[str]
    if field.rule.read is None:
        return field.type
    return str | Collection[str] if field.type is str else field.type | str


def test_keywords_are_the_settings() -> None:
    hints = get_type_hints(SettingKeywords)
    assert list(hints) == list(FIELDS)
    assert hints == {name: expected(field) for name, field in FIELDS.items()}
    assert not SettingKeywords.__required_keys__


def test_functions_with_settings_take_typed_keywords() -> None:
    allowed = {"Unpack[SettingKeywords]", "Unpack[FindKeywords]", "Unpack[CollectionKeywords]"}
    allowed |= {"Unpack[ContaminationKeywords]", "Unpack[TopKeywords]"}
    seen = 0
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "**settings" not in source:  # to parse all the others takes seconds
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.args.kwarg and node.args.kwarg.arg == "settings":
                seen += 1
                where = f"{path.relative_to(SOURCE)}: {node.name}"
                assert node.args.kwarg.annotation is not None, where
                assert ast.unparse(node.args.kwarg.annotation) in allowed, where
    assert seen > 5


CALLS = """
from neardup.deduplication.run.find import dedup
from neardup.deduplication.run.find import find
from neardup.settings.settings import Settings

find([], treshold=0.8)
dedup([], treshold=0.8)
Settings.of(treshold=0.8)
find([], slots="many")
found: list[dict[str, int]] = dedup([{"a": 1}], threshold=0.8, keep=["first", "longest"], memory="2GB")
"""


def test_a_misspelt_setting_is_an_error_of_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    snippet = tmp_path / "calls.py"
    snippet.write_text(CALLS, encoding="utf-8")
    files = [
        SOURCE / name
        for name in (
            "deduplication/run/find.py",
            "deduplication/run/asked_columns.py",
            "settings/settings.py",
            "settings/keywords.py",
        )
    ]
    # other modules count as unknown, so that this takes seconds
    options = ["--no-incremental", "--follow-imports=skip", "--ignore-missing-imports", "--config-file="]
    line = [
        sys.executable,
        "-m",
        "mypy",
        *options,
        str(snippet),
        *map(str, files),
        SOURCE / "settings/__init__.py",
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT / "src")
    errors = [said.partition("calls.py:")[2] for said in done.stdout.splitlines() if "calls.py:" in said]
    errors = [said for said in errors if " error: " in said]
    assert [said.partition(":")[0] for said in errors] == ["6", "7", "8", "9"], done.stdout
    assert all('did you mean "threshold"?' in said for said in errors[:3])


def test_keywords_are_checked_when_they_are_used() -> None:
    assert Settings.of(memory="2GB", keep=["first"]).search.memory == 2.0
