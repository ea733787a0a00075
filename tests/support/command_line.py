"""Shared by the tests of the command line: documents, and the result of a command."""

import io
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from neardup.cli import main

WORDS = [f"word{number}" for number in range(100)]
BASE = " ".join(WORDS)
NEAR = " ".join([*WORDS[:-1], "changed"])
"""BASE and NEAR have 96 shingles each, 95 of them in common: resemblance 95/97."""
OTHER = " ".join(f"other{number}" for number in range(50))

ROWS = [
    {"id": "a", "text": BASE, "year": 2001},
    {"id": "b", "text": NEAR, "year": 2003},
    {"id": "c", "text": BASE.upper(), "year": 2002},
    {"id": "d", "text": OTHER, "year": 2000},
]


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


def exit_status(*arguments: object) -> int:
    """Run a command in this process, and return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["neardup", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    return int(stopped.value.code or 0)


def result_in(folder: Path, *arguments: object, status: int = 0) -> Result:
    """Run a command in this process and in a folder; its exit status must be the given one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        ended = exit_status(*arguments)
    for stream in (out, err):
        stream.seek(0)
    result = Result(ended, out.read(), err.read())
    assert ended == status, result.err
    return result


Run = Callable[..., Result]


def run_json(folder: Path) -> dict[str, Any]:
    """Return the account of a run in its folder of results."""
    found: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return found


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def split_command(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command that these words call, of one word or two, and the words after it.

    >>> split_command(["collection", "add", "mail.neardup"]), split_command(["demo"])
    (('collection add', ['mail.neardup']), ('demo', []))
    """
    count = 2 if words[:1] == ["collection"] else 1
    return " ".join(words[:count]), [*words[count:]]
