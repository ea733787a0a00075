"""Progress is for people who watch: bars on a terminal, nothing elsewhere."""

import io
import sys

import pytest
from rich.console import Console

from neardup.cli import output
from neardup.cli.messages import Noted
from neardup.runtime import Silent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_watches_a_pipe() -> None:
    with output.watcher() as progress:
        assert isinstance(progress, Noted)
        assert isinstance(progress.shown, Silent)


def test_bars_are_drawn_on_a_terminal_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with output.watcher() as progress, progress.stage("fingerprint", 2_000_000, "bytes") as advance:
        advance(1_000_000)
    drawn = terminal.getvalue()
    assert "fingerprint" in drawn
    assert "2.0 MB" in drawn
    assert drawn.endswith("\x1b[2K")


def test_rate_of_a_stage() -> None:
    assert output._rate(0, None, "bytes") == "0 bytes"
    assert output._rate(5_000_000, 2_500_000, "bytes") == "5.0 MB, 2.5 MB/s"
    assert output._rate(12_000, 3000, "pairs") == "12,000 pairs, 3,000/s"


def test_a_stage_of_unknown_size_shows_no_end() -> None:
    console = Console(file=Terminal(), force_terminal=True, width=100)
    with output._bars(console) as bars, output.Shown(bars).stage("group", None, "documents") as advance:
        advance(3)
        assert [task.total for task in bars.tasks] == [None]
