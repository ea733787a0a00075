"""The tests whose answer depends on the real sets: ``scripts/test --real`` runs these alone, beside the sets."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

import pytest

from support import shared_data

ONLY = "NEARDUP_REAL"
"""Variable: run only the tests of real sets."""
REAL = {*shared_data.WORD_SETS, *shared_data.CHAR_SETS} - {*shared_data.OWN}
_MARKS = REAL | {".here", ".or_own", ".is_here", ".PROSE", ".WORD_SETS", ".CHAR_SETS"}
"""Words in the source of a test that reads a real set where there is one."""


def only_real(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items of tests that read a real set, or all of them in an ordinary run."""
    return [item for item in items if reads_real_sets(item)] if ONLY in os.environ else items


def reads_real_sets(item: pytest.Item) -> bool:
    """Whether an item reads a real set; the cases of a set of our own are the same without the others."""
    case = getattr(item, "callspec", None)
    if case is not None and any(value in shared_data.OWN for value in case.params.values() if type(value) is str):
        return False
    return item.nodeid.split("::")[1].partition("[")[0] in readers(item.path)


@cache
def readers(path: Path) -> frozenset[str]:
    """Return the names of a module (helpers, fixtures, tests, …) that mention a mark, or a name that does."""
    words = dict(_words_by_name(ast.parse(path.read_text(encoding="utf-8"))))
    found: set[str] = set()
    while more := {name for name, said in words.items() if said & (_MARKS | found)} - found:
        found |= more
    return frozenset(found)


def _words_by_name(module: ast.Module) -> list[tuple[str, set[str]]]:
    """Return (name, words of its definition) for all names that a module defines at its top."""
    rows = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            rows.append((node.name, _words(node)))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            rows += [(name, _words(node)) for name in names]
    return rows


def _words(node: ast.AST) -> set[str]:
    """Return the names, attributes (also with their dot), arguments and strings in a piece of source."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found |= {one.attr, f".{one.attr}"}
        elif isinstance(one, ast.arg):
            found.add(one.arg)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            found.add(one.value)
    return found
