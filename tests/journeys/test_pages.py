"""Every page can be followed: in an environment with what it tells its reader to install, in an empty folder.

A page brings its files itself, or names files that each reader has of his own; ``OWN`` makes such files. What
cannot be run is in ``NOT_RUN`` with its reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.journey_files import OWN
from support.journeys import Reader, blocks_of, installed_by, pages

NOT_RUN = {
    "README.md": {"pip install . && neardup demo": "installs, and runs the suite that this is part of"},
}
"""By page, the beginnings of blocks that are not run, each with the reason."""
PAGES = {page.name: page for page in pages()}
FOLLOWED = ("README.md", "first-dedup.md", "two-documents.md", "a-collection.md", "mail.md")


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_reader_can_follow(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    if name in OWN:
        OWN[name](folder)
    reader = Reader.of(PAGES[name], folder)
    reader.follow(PAGES[name], [*NOT_RUN.get(name, {})])
    assert not reader.faults, "\n\n".join(reader.faults)


def test_what_is_not_run_is_on_its_page() -> None:
    for name, reasons in NOT_RUN.items():
        for begin, reason in reasons.items():
            assert any(block.text.startswith(begin) for block in blocks_of(PAGES[name])), (name, begin)
            assert reason


def test_the_extras_of_a_page_are_read() -> None:
    assert installed_by(PAGES["README.md"]) == ({"formats", "office", "web", "service"}, set())
