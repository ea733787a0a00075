"""The templates of all pages: their environment, the filters in them, and the style.

Autoescape is on, and a name that is missing is an error. A self-contained page holds its style and names it in its
policy by hash; a served page links to the style, and its policy is a header.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from neardup.comparison.show.page import escaped, named, style_sheet
from neardup.display import counted, number, percent, printable, similarity, size
from neardup.display.charts import PAIR, Histogram, Noun
from neardup.display.view import policy_for

PARTS = "neardup.review.parts"
UNKNOWN = "unknown"
EMPTY = "(empty)"
NAME = 120
"""Longest name on a page, in characters."""


@cache
def style() -> str:
    """Return the style sheet of all pages: that of comparisons, and the rules of the other parts."""
    own = files(PARTS).joinpath("style.css").read_text(encoding="utf-8")
    return f"{style_sheet()}\n{own}"


def environment(*packages: str) -> Environment:
    """Return the environment for the templates in ``packages``, then for the shared ones.

    Templates are in the folder ``templates`` of a package. The filters are ``share`` (a similarity or share, cut
    to three digits), ``number``, ``counted("group")``, ``size`` (of bytes), ``percent``, ``printable`` (one line,
    with escapes), ``shown`` (document text with visible marks for invisible characters) and ``named`` (an id on
    one line, with its own direction).
    """
    loaders = [PackageLoader(package, "templates") for package in (*packages, PARTS)]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        share=share,
        number=number,
        counted=counted,
        size=size,
        percent=percent,
        printable=printable,
        shown=shown,
        named=name_of,
    )
    return made


def self_contained(environment: Environment, template: str, **values: Any) -> str:
    """Return a page that needs no other file: its style is inside, and its policy allows nothing else."""
    sheet = style()
    return environment.get_template(template).render(style=Markup(sheet), policy=policy_for(sheet), **values)


def share(value: float | None, digits: int = 3) -> str:
    """Return a similarity or a share, rounded down; "unknown" for None.

    >>> share(0.99999), share(None)
    ('0.999', 'unknown')
    """
    return UNKNOWN if value is None else similarity(value, digits)


def shown(text: object) -> Markup:
    r"""Return document text as HTML: invisible characters, controls and lone surrogates as boxed escapes.

    >>> shown("<b>\u202e")
    Markup('&lt;b&gt;<code class="unseen">\\u202e</code>')
    """
    return Markup(escaped(str(text)))


def name_of(id: object) -> Markup:
    r"""Return an id as HTML: on one line, with escapes, apart from the direction of the text around it.

    A long id lacks its middle.

    >>> name_of("a<b>\n")
    Markup('<bdi lang="">a&lt;b&gt;\\n</bdi>')
    """
    name = str(id) or EMPTY
    if len(name) > NAME:
        name = f"{name[: NAME // 2]}…{name[-NAME // 2 :]}"
    return Markup(named(name))


def histogram(
    edges: Sequence[float], counts: Sequence[int], *, line: float | None, measure: str, noun: Noun = PAIR
) -> Markup:
    """Return a histogram as a figure: bars, a line at ``line`` (the threshold), and the numbers as a table.

    ``edges`` has one value more than ``counts``; the last interval includes its end.
    """
    return Markup(Histogram(edges, counts, line, measure, noun).figure())
