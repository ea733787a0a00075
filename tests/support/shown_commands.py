"""Pages that show commands and their output: the commands are run, and print what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from support.command_line import Run

VARYING = ("time  ", "memory  ")
"""The beginnings of lines whose numbers differ between machines."""


def blocks(page: Path, language: str = "") -> list[str]:
    """The fenced blocks of a page in a language; "" for those without one."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The commands of neardup on a page in their order, each with the lines that it prints there."""
    for block in blocks(page):
        if not block.startswith("$ neardup "):
            continue
        for part in re.split(r"^\$ neardup ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip().splitlines()
            yield command.partition("  #")[0], lines


def require_shown(run: Run, command: str, lines: list[str]) -> None:
    """Run a command, and require that it prints these lines in this order; "..." stands for any lines."""
    result = run(*shlex.split(command))
    assert result.status < 2, result.err
    everything = (result.out + result.err).rstrip().splitlines()
    printed = iter(map(_constant, everything))
    wanted = [line for line in map(_constant, lines) if line not in ("", "...")]
    assert not [line for line in wanted if line not in printed], command  # each after the one before
    if lines and "..." not in lines:
        assert [*map(_constant, lines)] == [*map(_constant, everything)], command


def _constant(line: str) -> str:
    return next((start for start in VARYING if line.startswith(start)), line)
