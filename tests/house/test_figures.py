"""Measured figures in README and documentation are those of the tables of results."""

import re
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import figures
from figures import Figure, as_shown

UNITS = r"s|ms|MB|GB|MB/s|times the|times as|times at|bytes a shingle|documents a second"
"""Units of measurement: a number before one of these is a figure."""


def test_every_figure_of_a_page_is_that_of_its_table() -> None:
    differing = [f"{figure.page}: {shown}, measured {expected}" for figure, shown, expected in figures.stale()]
    assert not differing, "python benchmarks/figures.py --write"


def test_the_speed_of_the_readme_has_no_figure_without_a_table() -> None:
    section = (ROOT / "README.md").read_text().split("## Speed\n")[1].split("\n## ")[0]
    listed = [figure.pattern.search(section) for figure in figures.figures() if figure.page == "README.md"]
    starts = {met.start("number") for met in listed if met}
    with_unit = re.finditer(rf"(?:{figures.NUMBER})\s(?:{UNITS})\b", section)
    missing = [met[0] for met in with_unit if met.start() not in starts]
    assert set(missing) == {"1.3 GB"}, "the size of the corpus is the note of a table, not a cell"


PAGE = "One run\ntakes {} s, and the copy .5 s."
TABLES = "# T\n\n## Time\n\n| way | seconds |\n|---|---|\n| run | 1,234.55 |\n| copy | 0.5 |\n"


def test_a_stale_figure_is_seen_and_corrected(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(TABLES)
    (tmp_path / "page.md").write_text(PAGE.format("1,234.4"))
    figure = Figure("page.md", "run takes {} s,", "t.md", "Time", ("run",), "seconds")
    shown, measured = figure.shown(tmp_path), figure.measured(tmp_path)
    assert (shown, measured) == ("1,234.4", "1,234.55")
    expected = as_shown(measured, shown)
    assert expected == "1,234.6"
    assert figures.corrected(PAGE.format(shown), figure, expected) == PAGE.format("1,234.6")


@pytest.mark.parametrize(
    ("measured", "shown", "scale", "expected"),
    [
        ("1,386", "1.4", "0.001", "1.4"),
        ("0.244", ".25", "1", ".24"),
        ("209", ".3", "0.001", ".2"),
        ("12.5", "1", "1", "13"),
    ],
)
def test_a_figure_keeps_the_form_of_its_page(measured: str, shown: str, scale: str, expected: str) -> None:
    assert as_shown(measured, shown, scale) == expected


def test_a_figure_without_its_words_or_its_cell_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(TABLES)
    (tmp_path / "page.md").write_text("nothing")
    with pytest.raises(ValueError, match=r"page\.md"):
        Figure("page.md", "takes {} s", "t.md", "Time", ("run",), "seconds").shown(tmp_path)
    with pytest.raises(ValueError, match="walk"):
        Figure("page.md", "takes {} s", "t.md", "Time", ("walk",), "seconds").measured(tmp_path)
