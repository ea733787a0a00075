"""The page on a collection of mail shows what is printed."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import made_mails
from support.command_line import Run
from support.paths import DOCS

PAGE = DOCS / "howto" / "mail.md"


def shown() -> Iterator[tuple[str, list[str]]]:
    """The commands of the page in their order, each with the lines it is said to print."""
    for block in re.findall(r"^```\n(\$ neardup .*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        for part in re.split(r"^\$ neardup ", block, flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def test_every_command_prints_what_the_page_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_mails.write(tmp_path / "letters")
    monkeypatch.chdir(tmp_path)
    commands = list(shown())
    assert len(commands) == 8
    for command, lines in commands:
        result = run(*shlex.split(command))
        printed = iter((result.out + result.err).splitlines())
        wanted = [line for line in lines if line != "..."]
        assert wanted
        assert not [line for line in wanted if line not in printed], command  # each after the one before
        if "..." not in lines:
            assert len(lines) == len((result.out + result.err).splitlines()), command
