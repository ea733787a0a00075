"""A result as one self-contained page: no network, no script, and a policy that allows neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neardup.display import printable
from neardup.errors import SettingError
from neardup.review.parts.frame import environment, self_contained
from neardup.review.report.chosen import SHOWN
from neardup.review.report.content import ReportContent
from neardup.runtime import installed_version

if TYPE_CHECKING:
    from neardup.run.found import Found

GENERATOR = "neardup report"
PAIRS, GROUPS = 10, 20
MOST_PAIRS, MOST_GROUPS = 100, 1000
"""Largest numbers of pairs side by side, and of lines in a list of groups."""


def report_page(
    found: Found, *, pairs: int = PAIRS, groups: int = GROUPS, title: str = "", written: str = ""
) -> str:
    """Return the report of a result as HTML.

    ``pairs`` is the number of pairs side by side, ``groups`` the length of a list of groups. ``title`` is the name
    of the result; ``written`` is the date of the page. Texts that cannot be read are left out, with the reason.

    Raises SettingError for numbers out of range.
    """
    check_lengths(pairs, groups)
    content = ReportContent(found, groups=groups, pairs=pairs)
    heading = f"Near-duplicates in {printable(title)}" if title else "Near-duplicates"
    return self_contained(
        environment("neardup.review.report"),
        "report.html",
        title=heading,
        generator=GENERATOR,
        report=content,
        written=written,
        most=SHOWN,
        version=installed_version("neardup"),
    )


def check_lengths(pairs: int, groups: int) -> None:
    """Raise SettingError for lists that are too long for a page."""
    for name, value, most in (("pairs", pairs, MOST_PAIRS), ("groups", groups, MOST_GROUPS)):
        if not 0 <= value <= most:
            raise SettingError(f"{name} is {value}", f"A whole number from 0 to {most:,}")
