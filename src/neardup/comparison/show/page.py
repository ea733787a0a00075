"""A comparison as HTML: a self-contained page, and a fragment of it for notebooks.

The texts are untrusted until they are escaped: every piece of them goes through ``cells.escaped``. The page has no
script, and its policy allows none; the policy names its only style sheet by hash.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from neardup.comparison.show.body import ComparisonBody, named
from neardup.display import printable
from neardup.display.page import whole_page
from neardup.display.style import notebook_style, page_style

if TYPE_CHECKING:
    from neardup.comparison.result import ComparisonRecord

GENERATOR = "neardup compare"
NOTEBOOK_CHARACTERS = 400_000
"""Limit for both texts together: a notebook file stores every output, and some show none above 10 MB."""


def style_sheet() -> str:
    """Return the style of pages with comparisons; everything in it is inside ``.neardup``."""
    return page_style(_rules())


@cache
def _rules() -> str:
    return files("neardup.comparison.show").joinpath("style.css").read_text(encoding="utf-8")


def as_page(found: ComparisonRecord, names: tuple[str, str], *, full: bool) -> str:
    """Return a whole HTML document; ``names`` of A and B. With ``full``, long equal stretches are unfolded."""
    title = f"{printable(names[0])} compared with {printable(names[1])}"
    body = ComparisonBody(found, names, full, prefix="", level=2).parts()
    heading = f"<h1>{named(names[0])} compared with {named(names[1])}</h1>"
    return whole_page(title, "\n".join((heading, *body)), style_sheet(), GENERATOR)


def as_fragment(found: ComparisonRecord) -> str:
    """Return a fragment for notebooks: its style affects nothing else, its ids begin with a hash of the texts."""
    both = hashlib.sha256()
    for text in (found.a.text, found.b.text):
        both.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    body = ComparisonBody(found, ("A", "B"), full=False, prefix=f"n{both.hexdigest()[:8]}-", level=4)
    small = len(found.a.text) + len(found.b.text) <= NOTEBOOK_CHARACTERS
    parts = body.parts() if small else body.parts_without_texts()
    return f'<div class="neardup"><style>{notebook_style(_rules())}</style>{"".join(parts)}</div>'
