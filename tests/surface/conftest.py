"""The command line from outside: arguments, output, the exit status."""

from pathlib import Path

import pytest

from support.command_line import ROWS, Result, Run, exit_status, write_rows


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: object) -> Result:
        status = exit_status(*arguments)
        printed = capsys.readouterr()
        return Result(status, printed.out, printed.err)

    return typed


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "mails.jsonl", ROWS)
