"""The view of a value in a notebook: a title, facts, tables and pictures, all text escaped.

Notebooks that are not trusted drop the style sheet, and some sites drop the pictures. So cells have their side as
an attribute, too, and pictures have their numbers in words.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from neardup.display.style import notebook_style
from neardup.display.words import Line, escaped_parts, printable, shortened


def view(*parts: str) -> str:
    """Return HTML for a notebook: the parts, which are HTML, and the style that only they follow."""
    return f'<div class="neardup view"><style>{notebook_style()}</style>{"".join(parts)}</div>'


def heading(words: str, level: int = 4) -> str:
    """Return a heading, escaped."""
    return f"<h{level}>{escape(printable(words))}</h{level}>"


def paragraph(words: str) -> str:
    """Return a paragraph, escaped."""
    return f"<p>{escape(printable(words))}</p>"


def preformatted(words: str) -> str:
    """Return lines in a monospaced font, escaped."""
    return f"<pre>{escape(words)}</pre>"


def facts(lines: Iterable[Line]) -> str:
    """Return labelled lines as a table; both are escaped."""
    cells = ((escape(printable(label)), escape(printable(said))) for label, said in lines)
    rows = "".join(
        f'<tr><th scope="row" {_LEFT}>{label}</th><td {_LEFT}>{said}</td></tr>' for label, said in cells
    )
    return f"<table><tbody>{rows}</tbody></table>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: frozenset[int] = frozenset(),
    *,
    inline: bool = True,
) -> str:
    """Return a table of cells, all escaped; the columns ``numbers`` are flush right.

    ``inline``: the cells have their side as a style attribute, too, which pages with a policy do not allow.
    """
    attributes = [_side(column in numbers, inline) for column in range(len(head))]
    top = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>' for name, side in zip(head, attributes, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{side}>{escape(cell)}</td>" for cell, side in zip(row, attributes, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


WORDS = 80
"""Columns of the first words of a text."""
NAME = 60
"""Longest id, in columns."""
_LEFT, _RIGHT = 'style="text-align:left"', 'class="number" style="text-align:right"'


def _side(is_number: bool, inline: bool) -> str:
    if inline:
        return f" {_RIGHT if is_number else _LEFT}"
    return ' class="number"' if is_number else ""


def name_of(id: object) -> str:
    """Return an id on one line, with escapes; a long one is cut.

    >>> name_of("a\\n")
    'a\\\\n'
    """
    return shortened(printable(id)[: 4 * NAME], NAME)


def excerpt(text: str, width: int = WORDS) -> str:
    r"""Return the beginning of a text on one line, with escapes.

    >>> excerpt("pay\u202e  12\r\nnow and then", 14)
    'pay\\u202e 12…'
    """
    # not more than the line could show: the text may be long
    flat = " ".join(text[: 8 * width].split())
    shown = "".join(part for part, _ in escaped_parts(flat))
    return shortened(shown if len(text) <= 8 * width else shown + "…", width).replace(" …", "…")


def policy_for(style: str) -> str:
    """Return the content security policy of a self-contained page: nothing but this style."""
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def whole_page(title: str, body: str, style: str, generator: str, kind: str = "neardup") -> str:
    """Return an HTML document; ``title`` is escaped here, ``body`` is HTML. ``generator`` names the command.

    ``kind`` are the classes of the body.

    ``io.writers.OutputPage`` recognises the beginning.
    """
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_for(style))}">',
            f'<meta name="generator" content="{escape(generator)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            f'<body class="{kind}">',
            body,
            "</body>",
            "</html>",
            "",
        ]
    )
