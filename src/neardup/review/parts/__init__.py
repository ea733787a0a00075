"""The parts that the report and the live pages share: the frame, the style, and tables."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from neardup.comparison.views import PACKAGE, style_sheet
from neardup.display.view import environment

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def style() -> str:
    """Return the style sheet of all pages: that of comparisons, and the rules of the other parts."""
    own = files(__name__).joinpath("style.css").read_text(encoding="utf-8")
    return f"{style_sheet()}\n{own}"


def templates_of(*packages: str) -> Environment:
    """Return the environment for the templates in ``packages``, then for those here and of comparisons."""
    return environment(*packages, __name__, PACKAGE)
