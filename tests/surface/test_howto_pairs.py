"""The page on looking at one pair shows what is printed."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import Run, write_rows
from support.paths import DOCS

PAGE = DOCS / "howto" / "pairs.md"
NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay, where the crane stands, and pay the fee at the gate."
)
LIBRARY = (
    "The library opens at nine on weekdays and at ten on Saturdays; books can be returned at any time through the "
    "hatch beside the door."
)
ROWS = [
    {"id": "notice-1", "text": NOTICE},
    {"id": "notice-2", "text": NOTICE.replace("Friday", "Monday").replace(" at the gate", "")},
    {"id": "library", "text": LIBRARY},
    {"id": "notice-3", "text": NOTICE.upper()},
]


def shown() -> Iterator[tuple[str, list[str]]]:
    """The commands of the page in their order, each with the lines it is said to print."""
    for block in re.findall(r"^```\n(\$ .*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, [line for line in lines if line not in ("...", "error: ...")]


def test_every_command_prints_what_the_page_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "notices.jsonl", ROWS)
    (tmp_path / "archive").mkdir()
    commands = list(shown())
    assert len(commands) == 8
    for command, lines in commands:
        if command.startswith("mv "):
            (tmp_path / "notices.jsonl").rename(tmp_path / "archive" / "notices.jsonl")
            continue
        result = run(*shlex.split(command)[1:])
        printed = iter((result.out + result.err).splitlines())
        assert not [line for line in lines if line not in printed], command  # each after the one before
    assert (tmp_path / "whole" / "texts.parquet").exists()
