"""A comparison as HTML: a self-contained page, and a fragment of it for notebooks.

The texts are untrusted until they are escaped: every piece of them goes through ``cells.escaped``. The page has no
script, and its policy allows none; the policy names its only style sheet by hash.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from neardup.comparison.show.body import ComparisonBody, named
from neardup.display import printable

if TYPE_CHECKING:
    from neardup.comparison.result import ComparisonRecord

GENERATOR = "neardup compare"
NOTEBOOK_CHARACTERS = 400_000
"""Limit for both texts together: a notebook file stores every output, and some show none above 10 MB."""


@cache
def style_sheet() -> str:
    """Return the style of comparisons; everything in it is inside ``.neardup``."""
    return files("neardup.comparison.show").joinpath("style.css").read_text(encoding="utf-8")


def policy_for(style: str) -> str:
    """Return the content security policy of a self-contained page: nothing but this style."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def as_page(found: ComparisonRecord, names: tuple[str, str], *, full: bool) -> str:
    """Return a whole HTML document; ``names`` of A and B. With ``full``, long equal stretches are unfolded."""
    style = style_sheet()
    title = f"{printable(names[0])} compared with {printable(names[1])}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_for(style))}">',
            f'<meta name="generator" content="{GENERATOR}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            '<body class="neardup">',
            f"<h1>{named(names[0])} compared with {named(names[1])}</h1>",
            *ComparisonBody(found, names, full, prefix="", level=2).parts(),
            "</body>",
            "</html>",
            "",
        ]
    )


def as_fragment(found: ComparisonRecord) -> str:
    """Return a fragment for notebooks: its style affects nothing else, its ids begin with a hash of the texts."""
    both = hashlib.sha256()
    for text in (found.a.text, found.b.text):
        both.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    body = ComparisonBody(found, ("A", "B"), full=False, prefix=f"n{both.hexdigest()[:8]}-", level=4)
    small = len(found.a.text) + len(found.b.text) <= NOTEBOOK_CHARACTERS
    parts = body.parts() if small else body.parts_without_texts()
    return f'<div class="neardup"><style>{style_sheet()}</style>{"".join(parts)}</div>'
