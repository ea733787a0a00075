"""The short run has a test of each command, and its table names existing tests."""

import ast
import re
import tomllib
from functools import cache

import pytest

from neardup.cli.commands import COMMANDS
from support.command_line import split_command
from support.paths import ROOT
from support.short_run import choice


@cache
def typed() -> set[str]:
    """The first arguments of calls, and the words of commands in lists, in the files of ``tests/short.toml``."""
    words = set()
    for name in choice().files:
        file, _, function = name.partition("::")
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if not function or getattr(node, "name", "") == function:
                words |= {
                    split_command([*filter(None, map(_text, call.args[:2]))])[0]
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") in RUNS
                }
    return words


def _text(part: ast.expr) -> str:
    """The first word of a text in the source; "" for anything else."""
    return part.value.partition(" ")[0] if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""


RUNS = ("run", "running", "started", "served")
"""The helpers of the tests that run a command."""
ELSEWHERE = {
    "look": "tests/surface/test_help.py: a path without a command",
    "mcp": "needs the extra mcp, which the short run does not install",
}


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - ELSEWHERE.keys()))
def test_each_command_is_run(command: str) -> None:
    assert command in typed()


def test_the_script_says_what_it_installs() -> None:
    script, environment = ((ROOT / "scripts" / name).read_text("utf-8") for name in ("test", "environment"))
    words = " ".join(script.split("echo 'installing ")[1].split(" >&2")[0].lower().replace("'", "").split())
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]["short"]
    extras = environment.split("--editable '.")[1].split("'")[0]
    assert words.startswith(f"neardup{extras} ")
    lacking = [name for name in (re.split(r"[-=>]", package)[0] for package in packages) if name not in words]
    assert not lacking


def test_the_table_names_what_there_is() -> None:
    chosen = choice()
    for name in [*chosen.folders, *chosen.files, *chosen.left_out]:
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name
    assert all(chosen.left_out.values()), "each file is left out for a reason"


def test_the_tests_of_kernels_are_there() -> None:
    names = (ROOT / "scripts" / "kernel_tests.txt").read_text(encoding="utf-8").split()
    assert names
    assert not [name for name in names if not (ROOT / name).exists()]
