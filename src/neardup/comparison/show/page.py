"""A comparison as HTML: a self-contained page, and a fragment of it for notebooks.

The texts are untrusted until they are escaped: every piece of them goes through ``_text``. The page has no script,
and its policy allows none; the policy names its only style sheet by hash.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.show.cells import TextRows, escaped
from neardup.comparison.show.differences import differences_of, rows_that_differ
from neardup.comparison.show.words import (
    base_sentence,
    common_sentence,
    differences_sentence,
    notes_on,
    unit_of,
    value_of,
)
from neardup.display import counted, number, printable
from neardup.kernels.show.rows import EQUAL_ROW

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.comparison.result import ComparisonRecord

GENERATOR = "neardup compare"
EQUAL_ROWS, EQUAL_CHARACTERS = 2, 200
"""Rows of equal text shown around a difference, and the length from which the rest is folded."""
NOTEBOOK_CHARACTERS = 400_000
"""Limit for both texts together: a notebook file stores every output, and some show none above 10 MB."""
_BASE_LEGEND = '; <span class="base">base text</span> does not count'
LISTED, LISTED_OPEN = 1000, 12
"""Most differences in the list, and most in a list that starts open; the texts show all differences."""


@cache
def _style() -> str:
    return files("neardup.comparison.show").joinpath("style.css").read_text(encoding="utf-8")


def as_page(found: ComparisonRecord, names: tuple[str, str], *, full: bool) -> str:
    """Return a whole HTML document; ``names`` of A and B. With ``full``, long equal stretches are unfolded."""
    style = _style()
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"{printable(names[0])} compared with {printable(names[1])}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            f'<meta name="generator" content="{GENERATOR}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            '<body class="neardup">',
            f"<h1>{_name(names[0])} compared with {_name(names[1])}</h1>",
            *_Body(found, names, full, prefix="", level=2).parts(),
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
    body = _Body(found, ("A", "B"), full=False, prefix=f"n{both.hexdigest()[:8]}-", level=4)
    small = len(found.a.text) + len(found.b.text) <= NOTEBOOK_CHARACTERS
    parts = body.parts() if small else body.parts_without_texts()
    return f'<div class="neardup"><style>{_style()}</style>{"".join(parts)}</div>'


def _name(name: str) -> str:
    return f'<bdi lang="">{escape(printable(name))}</bdi>'


def _labelled(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter}: {_name(name)}"


class _Body:
    """The parts of a page; ``prefix`` makes ids unique among several, ``level`` is the level of headings."""

    def __init__(
        self, found: ComparisonRecord, names: tuple[str, str], full: bool, prefix: str, level: int
    ) -> None:
        self._found = found
        self._alignment: Alignment = found.alignment
        self._names = names
        self._full = full
        self._id = prefix
        self._level = level
        self._differing = rows_that_differ(self._alignment)

    def parts(self) -> Iterator[str]:
        """Yield the page from top to bottom."""
        yield from self._summary()
        yield from self._list()
        yield f'<section aria-labelledby="{self._id}texts">{self._heading("texts", "The two texts")}'
        yield from self._texts()
        yield "</section>"
        yield from self._measures()

    def parts_without_texts(self) -> Iterator[str]:
        """Yield the parts that remain if the texts are too long for a notebook."""
        yield from self._summary()
        yield '<p class="note">The texts are long and not shown here: html() makes a page with them.</p>'
        yield from self._measures()

    def _heading(self, id: str, words: str) -> str:
        return f'<h{self._level} id="{self._id}{id}">{words}</h{self._level}>'

    def _summary(self) -> Iterator[str]:
        settings = self._found.settings
        read_as = f"shingles of {counted(settings['length'], unit_of(self._found))}, "
        read_as += f"matches of {settings['min_chunk']} or more{'; numbers left out' * settings['ignore_numbers']}"
        facts = [(letter, _name(name)) for letter, name in zip("AB", self._names, strict=True) if name != letter]
        of = {name: value_of(value)[0] for name, value in self._found.measures.items()}
        alike = f"resemblance {of['resemblance']}; containment {of['containment_a']} of A in B, "
        alike += f"{of['containment_b']} of B in A"
        facts += [
            ("Kind", escape(self._found.difference)),
            ("Alike", alike),
            ("In common", escape(common_sentence(self._found))),
        ]
        facts += [("Base text", escape(base_sentence(self._found)))] * self._found.ignores
        facts += [("Differences", escape(differences_sentence(self._alignment))), ("Compared by", read_as)]
        yield "<dl>" + "".join(f"<dt>{label}</dt><dd>{said}</dd>" for label, said in facts) + "</dl>"
        yield from (f'<p class="note">{escape(note)}</p>' for note in notes_on(self._found))
        yield (
            "<p>A number begins a match and leads to its other half. <del>Only in A</del>, <ins>only in B</ins>, "
            '<mark class="c0">moved</mark>; ≈ is equal but for case or punctuation'
            f"{_BASE_LEGEND * self._found.ignores}.</p>"
        )

    def _texts(self) -> Iterator[str]:
        heads = ('<span class="unheard">Difference</span>', *map(_labelled, "AB", self._names))
        cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
        yield (
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup>'
            f"<thead><tr>{cells}</tr></thead><tbody>"
        )
        kinds = self._alignment.table.kinds
        new = np.flatnonzero(np.diff(kinds == EQUAL_ROW, prepend=2, append=2)).tolist()
        body = TextRows(self._found, self._id)
        for begin, end in pairwise(new):
            if kinds[begin] == EQUAL_ROW:
                yield from self._equal(body, begin, end)
            else:
                yield from body.rows(begin, end)
        yield "</tbody></table>"

    def _equal(self, body: TextRows, begin: int, end: int) -> Iterator[str]:
        """Yield equal rows; a long stretch is folded except for its ends."""
        rows = len(self._alignment.table)
        first = begin + EQUAL_ROWS if begin else begin
        last = max(first, end - EQUAL_ROWS if end < rows else end)
        if self._full or body.size(first, last) <= EQUAL_CHARACTERS:
            yield from body.rows(begin, end)
            return
        yield from body.rows(begin, first)
        yield (
            '<tr class="equal folded"><td colspan="3" class="fold"><details>'
            f"<summary>{body.inside(first, last)}</summary>"
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup><tbody>'
        )
        yield from body.rows(first, last)
        yield "</tbody></table></details></td></tr>"
        yield from body.rows(last, end)

    def _list(self) -> Iterator[str]:
        count = len(self._differing)
        if not count:
            return
        yield f'<nav aria-labelledby="{self._id}differences">{self._heading("differences", "Differences")}'
        shown = " open" if self._full or count <= LISTED_OPEN else ""
        yield f"<details{shown}><summary>{counted(count, 'difference')} as a list</summary>"
        yield '<ol class="list">'
        for difference in differences_of(self._alignment, LISTED):
            said = "".join(
                f'<q dir="auto" lang="">{escaped(part)}</q>' if quoted else escape(part)
                for part, quoted in difference.said
            )
            yield f'<li><a href="#{self._id}d{difference.number}">{difference.words}</a> {said}</li>'
        yield "</ol>"
        if count > LISTED:
            yield f"<p>The first {number(LISTED)} of {number(count)}; the texts show all.</p>"
        yield "</details></nav>"

    def _measures(self) -> Iterator[str]:
        yield f'<section aria-labelledby="{self._id}measures">{self._heading("measures", "Measures")}'
        head = "".join(f'<th scope="col">{name}</th>' for name in ("measure", "value", "kind", "definition"))
        yield f'<table class="measures"><thead><tr>{head}</tr></thead><tbody>'
        for name, value, kind, sentence in self._found.described():
            said, interval = value_of(value)
            said += f"<br>95 % interval {interval}" if interval else ""
            cells = f'<td class="value">{said}</td><td>{kind}</td><td>{escape(sentence)}</td>'
            yield f'<tr><th scope="row">{name}</th>{cells}</tr>'
        yield "</tbody></table>"
        if self._found.proven:
            yield "<p>Proven: no choice of matches has more common text than the one shown.</p>"
        yield "</section>"
