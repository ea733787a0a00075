"""Which tests the short run leaves out; ``tests/short.toml`` is the table, with the reason for each file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from support.full_run import COARSER, EXAMPLES
from support.paths import ROOT, TESTS


@dataclass(frozen=True)
class Choice:
    """The table: folders that run whole, files of other folders that run, and files that are left out."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    left_out: dict[str, str]

    def __contains__(self, nodeid: str) -> bool:
        """Whether a test, a file or a folder, named from the root of the repository, belongs to the short run."""
        path = nodeid.partition("::")[0]
        function = nodeid.partition("[")[0]
        if path in self.left_out or function in self.left_out:
            return False
        folders = {str(parent) for parent in PurePosixPath(path).parents}
        return path in self.files or function in self.files or not folders.isdisjoint(self.folders)


@cache
def choice() -> Choice:
    """Read the table."""
    table = tomllib.loads((TESTS / "short.toml").read_text(encoding="utf-8"))
    return Choice(tuple(table["folders"]), tuple(table["files"]), table["left_out"])


def imported_in_short_run(path: Path) -> bool:
    """Whether the short run takes a test file, or one test of it."""
    name = path.relative_to(ROOT).as_posix()
    return name in choice() or any(file.startswith(f"{name}::") for file in choice().files)


def short_of(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items that the short run takes."""
    chosen = choice()
    return [item for item in items if item.nodeid in chosen]


def explanation() -> str:
    """Return a line about the tests left out, for the head of pytest's report."""
    others = {path.relative_to(ROOT).as_posix() for path in TESTS.glob("*/**/test_*.py")}
    absent = sum(not imported_in_short_run(ROOT / path) for path in others)
    return (
        f"short run: {len(others) - absent} of {len(others)} test files (tests/short.toml has the others), at "
        f"most {EXAMPLES} examples, 1 in {COARSER} cases of large grids; ./scripts/test --all runs everything"
    )
