"""The statements of a Python file, without their expressions: a tenth of the nodes that ``ast.walk`` visits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(source: Path | ast.AST) -> Iterator[ast.AST]:
    """Yield all statements, handlers and cases, outer ones first."""
    waiting = [ast.parse(source.read_text(encoding="utf-8")) if isinstance(source, Path) else source]
    while waiting:
        node = waiting.pop()
        for name in _BLOCKS:
            inner = getattr(node, name, ())
            if isinstance(inner, list):  # the body of a lambda is an expression
                yield from inner
                waiting.extend(inner)
