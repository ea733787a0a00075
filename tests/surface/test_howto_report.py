"""The guide to reports shows what is printed."""

from pathlib import Path

import pytest

from support.command_line import Run, write_rows
from support.paths import DOCS
from support.shown_commands import commands, require_shown

NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay, where the crane stands, and pay the fee at the gate."
)
LIBRARY = (
    "The library opens at nine on weekdays and at ten on Saturdays; books can be returned at any time through the "
    "hatch beside the door."
)
TEXTS = {
    "notice-1": NOTICE,
    "notice-2": NOTICE.replace("Friday", "Monday").replace(" at the gate", ""),
    "library": LIBRARY,
    "notice-3": NOTICE.upper(),
}


def test_every_command_prints_what_the_guide_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "notices.jsonl", [{"id": id, "text": text} for id, text in TEXTS.items()])
    (tmp_path / "archive").mkdir()
    shown = list(commands(DOCS / "howto" / "report.md"))
    assert len(shown) == 4
    for command, lines in shown:
        if "--inputs" in command:
            (tmp_path / "notices.jsonl").rename(tmp_path / "archive" / "notices.jsonl")
        require_shown(run, command, lines)
    assert "The two texts" in (tmp_path / "report.html").read_text(encoding="utf-8")
