"""Sizes that keep the house liveable."""

import ast
from collections.abc import Iterator
from pathlib import Path

from support.statements import statements

ROOT = Path(__file__).parents[2]
FILE_LINES, FUNCTION_LINES, PARAMETERS = 700, 60, 8
ONE_FILE = "src/neardup/verifier.py"
"""The only file of its kind: it is copied out, and imports nothing of the package."""
FORBIDDEN = {"utils", "util", "helpers", "helper", "core", "common", "misc"}

FILES = sorted(
    path for folder in ("src", "tests", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_and_their_functions_are_small() -> None:
    assert [fault for path in FILES for fault in faults(path)] == []


def test_no_statement_is_left_out() -> None:
    """As far into a file as ``ast.walk`` goes."""
    for path in FILES[::20]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        walked = {node for node in ast.walk(tree) if isinstance(node, ast.stmt)}
        assert {node for node in statements(tree) if isinstance(node, ast.stmt)} == walked, path


def faults(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    if (count := source.count("\n")) > (1000 if name(path) == ONE_FILE else FILE_LINES):
        yield f"{name(path)} has {count} lines"
    for node in statements(ast.parse(source)):
        if isinstance(node, FUNCTION):
            if lines(node) > FUNCTION_LINES:
                yield f"{name(path)}: {node.name} has {lines(node)} lines"
            if parameters(node) > PARAMETERS:
                yield f"{name(path)}: {node.name} has {parameters(node)} parameters"


def lines(node: FUNCTION) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def parameters(node: FUNCTION) -> int:
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([argument for argument in names if argument.arg not in ("self", "cls")])


def test_rooms_are_named_by_what_they_hold() -> None:
    assert not [name(path) for path in FILES if FORBIDDEN & {part.removesuffix(".py") for part in path.parts}]
