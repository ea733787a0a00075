"""Sizes that keep the house liveable."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_LINES, FUNCTION_LINES, PARAMETERS = 400, 60, 8
FORBIDDEN = {"utils", "util", "helpers", "helper", "core", "common", "misc"}

FILES = sorted(
    path for folder in ("src", "tests", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_file_and_its_functions_are_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= FILE_LINES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FUNCTION):
            assert lines(node) <= FUNCTION_LINES, f"{node.name} has {lines(node)} lines"
            assert parameters(node) <= PARAMETERS, f"{node.name} has {parameters(node)} parameters"


def lines(node: FUNCTION) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def parameters(node: FUNCTION) -> int:
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([argument for argument in names if argument.arg not in ("self", "cls")])


def test_rooms_are_named_by_what_they_hold() -> None:
    assert not [name(path) for path in FILES if FORBIDDEN & {part.removesuffix(".py") for part in path.parts}]
