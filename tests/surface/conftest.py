"""The command line from outside: arguments, output, the exit status."""

import math
import sys
from pathlib import Path

import pytest

from neardup.cli import compiling, main
from support.command_line import ROWS, Result, Run, write_rows


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["neardup", *map(str, arguments)])
        monkeypatch.setattr(compiling, "PATIENCE", math.inf)  # whatever was compiled before this test
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return Result(int(stopped.value.code or 0), printed.out, printed.err)

    return typed


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "mails.jsonl", ROWS)
