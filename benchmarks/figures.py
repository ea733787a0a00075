"""The figures in README and documentation, each held equal to the cell of a table of results.

    python benchmarks/figures.py [--write]

``figures.toml`` says where a figure is and where it comes from. Without ``--write`` every figure that differs is
printed, and the exit status is 1; with it the pages get the figures of the tables. A figure keeps the number of
decimals that its page shows, and no more than the table has.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from table import sections

HERE = Path(__file__).parent
ROOT = HERE.parent
NUMBER = r"\d[\d,]*(?:\.\d+)?|\.\d+"


@dataclass(frozen=True)
class Figure:
    """One figure of a page, and its source."""

    page: str
    text: str
    """The words around it, on one line, with ``{}`` for the number."""
    file: str
    heading: str
    row: tuple[str, ...]
    """The first cells of the row of the table."""
    column: str
    scale: str = "1"
    """The factor from the table to the page, such as 0.001 from MB to GB."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The words, with any white space between them; the number is the group ``number``."""
        before, after = (r"\s+".join(map(re.escape, part.split(" "))) for part in self.text.split("{}"))
        return re.compile(f"(?P<before>{before})(?P<number>{NUMBER})(?P<after>{after})")

    def shown(self, pages: Path = ROOT) -> str:
        """The number as the page has it.

        Raises:
            ValueError: the words are on the page not once.
        """
        found = list(self.pattern.finditer((pages / self.page).read_text(encoding="utf-8")))
        if len(found) != 1:
            raise ValueError(f"{self.page} has {self.text!r} {len(found)} times")
        return found[0]["number"]

    def measured(self, results: Path = HERE / "results") -> str:
        """The cell of the table.

        Raises:
            ValueError: the table has no such heading, row or column.
        """
        for section in sections((results / self.file).read_text(encoding="utf-8").splitlines()):
            if section[0] == f"## {self.heading}":
                lines = [
                    [cell.strip() for cell in line.strip("|").split("|")] for line in section if line[:1] == "|"
                ]
                for cells in lines[2:]:
                    if tuple(cells[: len(self.row)]) == self.row and self.column in lines[0]:
                        return cells[lines[0].index(self.column)]
        raise ValueError(f"{self.file} has no cell {self.heading!r}, {self.row!r}, {self.column!r}")


def decimals(shown: str) -> int:
    """The number of digits behind the point."""
    return len(shown.partition(".")[2])


def as_shown(measured: str, shown: str, scale: str = "1") -> str:
    """A measured number with the decimals that the page shows, and its way to write numbers below one."""
    value = Decimal(measured.replace(",", "")) * Decimal(scale)
    rounded = value.quantize(Decimal(1).scaleb(-decimals(shown)), ROUND_HALF_UP)
    text = f"{rounded:,f}"
    return text[1:] if shown.startswith(".") and text.startswith("0.") else text


def figures(listed: Path = HERE / "figures.toml") -> list[Figure]:
    """The figures of the list."""
    with listed.open("rb") as file:
        return [
            Figure(page, **{**one, "row": tuple(one["row"])})
            for page, entries in tomllib.load(file).items()
            for one in entries
        ]


def stale() -> Iterator[tuple[Figure, str, str]]:
    """The figures that differ from their tables, as the page has them and as it should."""
    for figure in figures():
        shown = figure.shown()
        expected = as_shown(figure.measured(), shown, figure.scale)
        if shown != expected:
            yield figure, shown, expected


def corrected(text: str, figure: Figure, expected: str) -> str:
    """The text of a page with another number."""
    return figure.pattern.sub(lambda met: met["before"] + expected + met["after"], text)


def main() -> int:
    """Print the figures that differ, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the figures of the tables into the pages")
    write = parser.parse_args().write
    differing = list(stale())
    for figure, shown, expected in differing:
        print(f"{figure.page}: {figure.text.format(shown)!r}; {figure.file} has {expected}")
        if write:
            page = ROOT / figure.page
            page.write_text(corrected(page.read_text(encoding="utf-8"), figure, expected), encoding="utf-8")
    return int(bool(differing) and not write)


if __name__ == "__main__":
    sys.exit(main())
