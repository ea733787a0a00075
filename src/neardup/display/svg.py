"""Pictures as SVG without a library: elements as text, and a picture with its title and description in words.

Each kind of element has colours in its attributes, which are readable on light and on dark paper: text is in the
colour of the text around (``currentColor``), and areas are of middle lightness. They hold where a sanitiser drops
all styles. Where ``base.css`` is loaded, its rules replace them with the palette of the page or notebook.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from neardup.display.style import DARK, LIGHT
from neardup.display.view import part

if TYPE_CHECKING:
    from markupsafe import Markup

MIDDLE = {"bar": "#4f7fbf", "below": "#84848f", "loss": "#c4662e"}
"""Colours with a contrast of 3:1 or more to the light and to the dark paper."""

_KINDS = {
    "bar": f'fill="{MIDDLE["bar"]}"',
    "below": f'fill="{MIDDLE["below"]}"',
    "loss": f'fill="{MIDDLE["loss"]}"',
    "axis": f'fill="none" stroke="{MIDDLE["below"]}"',
    "line": 'fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="6 4"',
    "curve": 'fill="none" stroke="currentColor" stroke-width="2.5"',
    "span": f'fill="none" stroke="{MIDDLE["bar"]}" stroke-width="3"',
    "marked": f'stroke="{MIDDLE["loss"]}" stroke-width="3"',
    "cut": 'stroke="#808080" stroke-width="4"',
    "dot": 'fill="currentColor"',
}
_FONT = 'font-family="system-ui, sans-serif" fill="currentColor"'


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Return a line of text, escaped; ``anchor`` is start, middle or end.

    >>> text(1, 2, "<b>")
    '<text x="1" y="2" font-size="14" font-family="system-ui, sans-serif" fill="currentColor">&lt;b&gt;</text>'
    """
    named = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    size = 12 if "small" in kind else 14
    weight = ' font-weight="bold"' if "named" in kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}"{side} font-size="{size}"{weight} {_FONT}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str, more: str = "") -> str:
    """Return a rectangle; ``kind`` is one or more of the kinds, ``more`` further attributes."""
    place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return f'<rect class="{kind}" {place} {_attributes(kind)}{more and " " + more}/>'


def path(drawn: str, kind: str, more: str = "") -> str:
    """Return a path with the data ``drawn``."""
    return f'<path class="{kind}" d="{drawn}" {_attributes(kind)}{more and " " + more}/>'


def circle(x: float, y: float, radius: float, kind: str) -> str:
    """Return a circle."""
    return f'<circle class="{kind}" cx="{x:.2f}" cy="{y:.2f}" r="{radius:g}" {_attributes(kind)}/>'


def through(points: Iterable[tuple[float, float]]) -> str:
    """Return the path data of a line through points.

    >>> through([(0, 1), (2.5, 3)])
    'M0.00 1.00L2.50 3.00'
    """
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)


@dataclass(frozen=True)
class Picture:
    """A drawing of ``width`` × ``height``: elements in ``parts``, a title, and a description in words."""

    width: float
    height: float
    title: str
    said: str
    parts: tuple[str, ...]

    def inline(self) -> Markup:
        """Return the picture for use in HTML; ids in it are made of its content."""
        from markupsafe import Markup

        size = f'width="{self.width:g}" height="{self.height:g}" '
        return Markup(self._svg(f'class="picture" {size}', "".join(self.parts)))

    def figure(self, below: str = "") -> Markup:
        """Return the picture as a figure with its description as caption, and HTML ``below``."""
        return part("figure", self.inline(), self.said, below)

    def file(self, name: str = "neardup-picture") -> str:
        """Return the picture as a file of its own, on paper, light or dark as the system is."""
        paper = f'<rect class="paper" width="{self.width:g}" height="{self.height:g}" fill="{LIGHT["paper"]}"/>'
        start = f'xmlns="http://www.w3.org/2000/svg" class="{name}" '
        size = f'width="{self.width:g}" height="{self.height:g}" '
        return self._svg(start + size, "\n".join((_own_style(name), paper, *self.parts)), "\n") + "\n"

    def _svg(self, attributes: str, body: str, between: str = "") -> str:
        key = hashlib.sha256("".join((self.title, self.said, *self.parts)).encode("utf-8", "replace")).hexdigest()
        ids = f"p{key[:10]}-title", f"p{key[:10]}-text"
        start = f'<svg {attributes}viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
        named = f'<title id="{ids[0]}">{escape(self.title)}</title>'
        described = f'<desc id="{ids[1]}">{escape(self.said)}</desc>'
        return between.join((f'{start}aria-labelledby="{ids[0]} {ids[1]}">', named, described, body, "</svg>"))


def _own_style(name: str) -> str:
    """Return the style of a picture that no page is around."""
    light, dark = (_rules(name, colours) for colours in (LIGHT, DARK))
    return f"<style>\n{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>"


def _rules(name: str, colours: dict[str, str]) -> str:
    fills = "".join(f".{name} .{kind} {{ fill: {colours[kind]} }}\n" for kind in ("paper", *MIDDLE))
    strokes = (("axis", "edge"), ("span", "bar"), ("marked", "loss"), ("cut", "paper"))
    lines = "".join(f".{name} .{kind} {{ stroke: {colours[colour]} }}\n" for kind, colour in strokes)
    return f".{name} {{ color: {colours['ink']} }}\n{fills}{lines}"


def _attributes(kind: str) -> str:
    return " ".join(_KINDS[one] for one in kind.split() if one in _KINDS)
