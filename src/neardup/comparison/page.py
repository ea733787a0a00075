"""A comparison as HTML: a page that needs nothing else, and the fragment of it that notebooks show.

The texts are hostile until they are escaped: every piece of them goes through ``_text``. The page has no script,
and its policy allows none; its one style sheet is named by its hash.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

from neardup.comparison.differences import Difference, differences_of
from neardup.comparison.words import (
    common_sentence,
    differences_sentence,
    notes_on,
    restyled,
    unit_of,
    value_of,
    way_to,
)
from neardup.views import counted, escaped_parts, number, printable

if TYPE_CHECKING:
    from neardup.alignment import Alignment, Piece, Row
    from neardup.measures import Comparison

GENERATOR = "neardup compare"
COLOURS = 6
EQUAL_ROWS, EQUAL_CHARACTERS = 2, 200
"""What is shown of equal text before and after a difference; more is folded away if it is longer than that."""
NOTEBOOK_CHARACTERS = 400_000
"""Of both texts together; a notebook keeps every output in its file, and some show none of more than 10 MB."""
LISTED, LISTED_OPEN = 1000, 12
"""Differences in the list, and in one that is open at first; the texts show all of them."""


@cache
def _style() -> str:
    return files("neardup.comparison").joinpath("style.css").read_text(encoding="utf-8")


def as_page(found: Comparison, names: tuple[str, str], *, full: bool) -> str:
    """A whole HTML document; ``names`` of A and B. With ``full`` long equal stretches are unfolded."""
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


def as_fragment(found: Comparison) -> str:
    """The same for a notebook: the style touches nothing outside, ids begin with a hash of the texts."""
    both = hashlib.sha256()
    for text in (found.a.text, found.b.text):
        both.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    body = _Body(found, ("A", "B"), full=False, prefix=f"n{both.hexdigest()[:8]}-", level=4)
    small = len(found.a.text) + len(found.b.text) <= NOTEBOOK_CHARACTERS
    parts = body.parts() if small else body.parts_without_texts()
    return f'<div class="neardup"><style>{_style()}</style>{"".join(parts)}</div>'


def _text(text: str) -> str:
    """Text of a document: what cannot be seen as an escape in a box, everything else as text."""
    return "".join(
        f'<code class="unseen">{escape(part)}</code>' if unseen else escape(part)
        for part, unseen in escaped_parts(text)
    )


def _name(name: str) -> str:
    return f'<bdi lang="">{escape(printable(name))}</bdi>'


def _labelled(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter}: {_name(name)}"


class _Body:
    """The parts of a page; ``prefix`` makes ids unique where there are several, ``level`` is that of headings."""

    def __init__(self, found: Comparison, names: tuple[str, str], full: bool, prefix: str, level: int) -> None:
        self._found = found
        self._alignment: Alignment = found.alignment
        self._names = names
        self._full = full
        self._id = prefix
        self._level = level
        self._differences = {difference.row: difference for difference in differences_of(self._alignment)}

    def parts(self) -> Iterator[str]:
        """The page from top to bottom."""
        yield from self._summary()
        yield from self._list()
        yield f'<section aria-labelledby="{self._id}texts">{self._heading("texts", "The two texts")}'
        yield from self._texts()
        yield "</section>"
        yield from self._measures()

    def parts_without_texts(self) -> Iterator[str]:
        """What is left of the page for texts that are too long to be kept in a notebook."""
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
        facts += [("Alike", alike), ("In common", escape(common_sentence(self._found)))]
        facts += [("Differences", escape(differences_sentence(self._alignment))), ("Compared by", read_as)]
        yield "<dl>" + "".join(f"<dt>{label}</dt><dd>{said}</dd>" for label, said in facts) + "</dl>"
        yield from (f'<p class="note">{escape(note)}</p>' for note in notes_on(self._found))
        yield (
            "<p>A number begins a match and leads to its other half. <del>Only in A</del>, <ins>only in B</ins>, "
            '<mark class="c0">moved</mark>; ≈ is equal but for case or punctuation.</p>'
        )

    def _texts(self) -> Iterator[str]:
        heads = ('<span class="unheard">Difference</span>', *map(_labelled, "AB", self._names))
        cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
        yield (
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup>'
            f"<thead><tr>{cells}</tr></thead><tbody>"
        )
        rows = list(enumerate(self._alignment.rows))
        for equal, group in groupby(rows, lambda numbered: numbered[1].kind == "equal"):
            stretch = list(group)
            yield from self._equal(stretch) if equal else (self._row(*numbered) for numbered in stretch)
        yield "</tbody></table>"

    def _equal(self, stretch: list[tuple[int, Row]]) -> Iterator[str]:
        """Equal rows, a long stretch folded away but for its ends."""
        first = EQUAL_ROWS if stretch[0][0] else 0
        last = EQUAL_ROWS if stretch[-1][0] + 1 < len(self._alignment.rows) else 0
        inner = stretch[first : max(first, len(stretch) - last)]
        if self._full or sum(self._size(row) for _, row in inner) <= EQUAL_CHARACTERS:
            yield from (self._row(*numbered) for numbered in stretch)
            return
        yield from (self._row(*numbered) for numbered in stretch[:first])
        yield (
            '<tr class="equal folded"><td colspan="3" class="fold"><details>'
            f"<summary>{self._inside(inner)}</summary>"
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup><tbody>'
        )
        yield from (self._row(*numbered) for numbered in inner)
        yield "</tbody></table></details></td></tr>"
        yield from (self._row(*numbered) for numbered in stretch[len(stretch) - last :])

    @staticmethod
    def _size(row: Row) -> int:
        return row.a[-1].end - row.a[0].begin

    def _inside(self, rows: Sequence[tuple[int, Row]]) -> str:
        """What a fold says of what is in it."""
        matches = [piece.match for _, row in rows for piece in row.a if piece.opens]
        text = self._alignment.text_a
        words = sum(len(text[row.a[0].begin : row.a[-1].end].split()) for _, row in rows)
        said = f"{counted(words, 'equal word')} in {counted(len(rows), 'row')}"
        if not matches:
            return said
        named = f"match {matches[0]}" if len(matches) == 1 else f"matches {min(matches)} to {max(matches)}"
        return f"{said}, {named}"

    def _row(self, at: int, row: Row) -> str:
        kind: str = row.kind
        if kind == "equal":
            other = restyled(self._alignment, row)
            head = '<span class="mark" title="equal but for case or punctuation">≈</span>' if other else ""
            kind = "equal" if other else "equal same"
            identity = ""
        else:
            head, identity = self._steps(self._differences[at])
        cells = "".join(self._cell(row, side) for side in (0, 1))
        return f'<tr class="{kind}"{identity}><th scope="row">{head}</th>{cells}</tr>'

    def _steps(self, difference: Difference) -> tuple[str, str]:
        """The number of a difference with links to the next ones, and the attribute that makes it their target."""
        n, last = difference.number, len(self._differences)
        steps = [(n - 1, "↑", "previous"), (n + 1, "↓", "next")]
        links = "".join(
            f'<a class="step" href="#{self._id}d{to}" aria-label="{words} difference">{arrow}</a>'
            for to, arrow, words in steps
            if 1 <= to <= last
        )
        label = f'<span class="unheard">{difference.words}, difference </span>'
        return f"<b>{difference.mark}{label}{number(n)}</b>{links}", f' id="{self._id}d{n}"'

    def _cell(self, row: Row, side: int) -> str:
        pieces = (row.a, row.b)[side]
        letter = "AB"[side]
        if not pieces:
            moved = [piece.match for piece in (row.b, row.a)[side] if piece.opens]
            ways = ", ".join(self._way(match, 1 - side) for match in moved)
            return f'<td class="nothing" data-side="{letter}">{ways}</td>'
        content = "".join(self._piece(row, piece, side) for piece in pieces)
        return f'<td dir="auto" lang="" data-side="{letter}">{content.rstrip(chr(10))}</td>'

    def _way(self, match: int, side: int) -> str:
        """A link from where moved text is not to where it is."""
        there = "ab"[1 - side]
        return f'<a href="#{self._id}{there}{match}">match {match} {way_to(self._alignment, match, side)}</a>'

    def _piece(self, row: Row, piece: Piece, side: int) -> str:
        text = _text((self._alignment.text_a, self._alignment.text_b)[side][piece.begin : piece.end])
        badge = self._badge(piece, side) if piece.opens else ""
        if piece.kind == "changed":
            return f"<del>{text}</del>" if side == 0 else f"<ins>{text}</ins>"
        if piece.kind == "moved":
            return f'{badge}<mark class="c{piece.match % COLOURS}">{text}</mark>'
        return badge + text

    def _badge(self, piece: Piece, side: int) -> str:
        """The number of a match, which leads to the other half."""
        match = self._alignment.matches[piece.match - 1]
        here, there = "ab"[side], "ab"[1 - side]
        label = f"match {match.number}, {counted(match.units, unit_of(self._found))}{', moved' * match.moved}"
        label += f": go to it in {there.upper()}"
        return (
            f'<a class="match c{match.number % COLOURS}" id="{self._id}{here}{match.number}" '
            f'href="#{self._id}{there}{match.number}" aria-label="{label}" title="{label}">'
            f"{'~' * match.moved}{match.number}</a>"
        )

    def _list(self) -> Iterator[str]:
        if not self._differences:
            return
        yield f'<nav aria-labelledby="{self._id}differences">{self._heading("differences", "Differences")}'
        shown = " open" if self._full or len(self._differences) <= LISTED_OPEN else ""
        yield f"<details{shown}><summary>{counted(len(self._differences), 'difference')} as a list</summary>"
        yield '<ol class="list">'
        for difference in list(self._differences.values())[:LISTED]:
            said = "".join(
                f'<q dir="auto" lang="">{_text(part)}</q>' if quoted else escape(part)
                for part, quoted in difference.said
            )
            yield f'<li><a href="#{self._id}d{difference.number}">{difference.words}</a> {said}</li>'
        yield "</ol>"
        if len(self._differences) > LISTED:
            yield f"<p>The first {number(LISTED)} of {number(len(self._differences))}; the texts show all.</p>"
        yield "</details></nav>"

    def _measures(self) -> Iterator[str]:
        yield f'<section aria-labelledby="{self._id}measures">{self._heading("measures", "Measures")}'
        head = "".join(f'<th scope="col">{name}</th>' for name in ("measure", "value", "kind", "what it is"))
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
