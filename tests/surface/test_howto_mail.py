"""The page on a collection of mail shows what is printed."""

from pathlib import Path

import pytest

from support import made_mails
from support.command_line import Run
from support.paths import DOCS
from support.shown_commands import commands, require_shown


def test_every_command_prints_what_the_page_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_mails.write(tmp_path / "letters")
    monkeypatch.chdir(tmp_path)
    shown = list(commands(DOCS / "howto" / "mail.md"))
    assert len(shown) == 8
    for command, lines in shown:
        assert lines
        require_shown(run, command, lines)
