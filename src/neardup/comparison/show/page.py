"""A comparison as HTML: a self-contained page, and a fragment of it for notebooks.

The texts are untrusted until they are escaped: every piece of them goes through ``cells.escaped``. The page has no
script, and its policy allows none; the policy names its only style sheet by hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.alignment import ROW_KINDS
from neardup.comparison.show.words import (
    WORDS,
    base_sentence,
    base_spans,
    common_sentence,
    cut_at,
    differences_of,
    differences_sentence,
    left_out_sentence,
    notes_on,
    one_sided_matches,
    part_of,
    restyled,
    rows_that_differ,
    rules_sentence,
    style_words,
    uncounted,
    unit_of,
    value_of,
    way_to,
)
from neardup.display import counted, escaped_parts, number, printable
from neardup.display.style import notebook_style, page_style
from neardup.display.view import whole_page
from neardup.kernels.rows import CHANGED, EQUAL_ROW, MOVED

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment, Pieces
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


EQUAL_ROWS, EQUAL_CHARACTERS = 2, 200
"""Rows of equal text shown around a difference, and the length from which the rest is folded."""
_BASE_LEGEND = '; <span class="base">{}</span> does not count'
LISTED, LISTED_BRIEFLY, LISTED_OPEN = 1000, 30, 12
"""Most differences in the list, in that of a page with a limit, and in a list that starts open."""


class ComparisonBody:
    """The parts of a page; ``prefix`` makes ids unique among several, ``level`` is the level of headings.

    With ``most``, at most that many characters of the two texts are shown: folded text is left out, and the rows
    end where the next one would exceed the limit.
    """

    def __init__(
        self,
        found: ComparisonRecord,
        names: tuple[str, str],
        full: bool,
        prefix: str,
        level: int,
        most: int | None = None,
    ) -> None:
        self._found = found
        self._alignment: Alignment = found.alignment
        self._names = names
        self._full = full
        self._id = prefix
        self._level = level
        self._most = most
        self._differing = rows_that_differ(self._alignment)

    def parts(self) -> Iterator[str]:
        """Yield the page from top to bottom."""
        yield from self.summary()
        yield from self.differences()
        yield from self.texts()
        yield from self.measures()

    def parts_without_texts(self) -> Iterator[str]:
        """Yield the parts that remain if the texts are too long for a notebook."""
        yield from self.summary()
        yield '<p class="note">The texts are long and not shown here: html() makes a page with them.</p>'
        yield from self.measures()

    def _begin(self, tag: str, id: str, words: str) -> str:
        """Return the begin of a part with its heading: a landmark, unless it is one of several on a page."""
        heading = f'<h{self._level} id="{self._id}{id}">{words}</h{self._level}>'
        return f"<div>{heading}" if self._id else f'<{tag} aria-labelledby="{id}">{heading}'

    def _end(self, tag: str) -> str:
        return "</div>" if self._id else f"</{tag}>"

    def summary(self) -> Iterator[str]:
        """Yield the facts about the pair, the warnings, and the legend."""
        settings = self._found.settings
        read_as = f"shingles of {counted(settings['length'], unit_of(self._found))}, "
        read_as += f"matches of {settings['min_chunk']} or more{rules_sentence(self._found)}"
        facts = [(letter, named(name)) for letter, name in zip("AB", self._names, strict=True) if name != letter]
        of = {name: value_of(value)[0] for name, value in self._found.measures.items()}
        alike = f"resemblance {of['resemblance']}; containment {of['containment_a']} of A in B, "
        alike += f"{of['containment_b']} of B in A"
        facts += [
            ("Kind", escape(self._found.difference)),
            ("Alike", alike),
            ("In common", escape(common_sentence(self._found))),
        ]
        facts += [("Base text", escape(base_sentence(self._found)))] * self._found.ignores
        facts += [("Left out", escape(left_out_sentence(self._found)))] * self._found.leaves_out
        facts += [("Differences", escape(differences_sentence(self._alignment))), ("Compared by", read_as)]
        yield "<dl>" + "".join(f"<dt>{label}</dt><dd>{said}</dd>" for label, said in facts) + "</dl>"
        yield from (f'<p class="note">{escape(note)}</p>' for note in notes_on(self._found))
        yield (
            "<p>A number begins a match and leads to its other half. <del>Only in A</del>, <ins>only in B</ins>, "
            f'<mark class="c0">moved</mark>; ≈ is equal but for {style_words(self._found)}'
            f"{_BASE_LEGEND.format(name) if (name := self._uncounted) else ''}.</p>"
        )

    @property
    def _uncounted(self) -> str:
        return uncounted(self._found) or "base text" * self._found.ignores

    def texts(self) -> Iterator[str]:
        """Yield the section with the two texts side by side."""
        yield self._begin("section", "texts", "The two texts")
        yield from self._texts()
        yield self._end("section")

    def _texts(self) -> Iterator[str]:
        heads = ('<span class="unheard">Difference</span>', *map(_labelled, "AB", self._names))
        cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
        yield (
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup>'
            f"<thead><tr>{cells}</tr></thead><tbody>"
        )
        for begin, end, folded in self._stretches:
            if folded:
                yield from self._folded(begin, end)
            else:
                yield from self._body.rows(begin, end)
        yield "</tbody></table>"
        if not self._stretches or self._stretches[-1][1] < len(self._alignment.table):
            yield '<p class="note">The texts are long: the rest of them is not on this page.</p>'

    def _folded(self, begin: int, end: int) -> Iterator[str]:
        """Yield equal rows as one row that opens; on a page with a limit, as one row that counts them."""
        said = self._body.inside(begin, end)
        if self._most is not None:
            yield f'<tr class="equal folded"><td colspan="3" class="nothing">{said}, not on this page</td></tr>'
            return
        yield (
            '<tr class="equal folded"><td colspan="3" class="fold"><details>'
            f"<summary>{said}</summary>"
            '<table class="texts"><colgroup><col class="number"><col><col></colgroup><tbody>'
        )
        yield from self._body.rows(begin, end)
        yield "</tbody></table></details></td></tr>"

    @cached_property
    def _body(self) -> TextRows:
        return TextRows(self._found, self._id)

    @cached_property
    def _stretches(self) -> list[tuple[int, int, bool]]:
        """The rows on the page as stretches [begin, end), each with a flag: whether it is folded."""
        found = []
        room = self._most
        for begin, end, folded in self._all_stretches():
            if room is not None and not folded:
                left = room - np.cumsum([self._body.characters(row) for row in range(begin, end)])
                fits = int((left >= 0).sum())
                found += [(begin, begin + fits, False)] * bool(fits)
                if begin + fits < end:
                    break
                room = int(left[-1])
            else:
                found.append((begin, end, folded))
        if room is not None:
            self._body.show_only([(begin, end) for begin, end, folded in found if not folded])
        return found

    @property
    def _shown(self) -> int:
        """The number of rows from the first to the last on the page."""
        return max((end for _, end, folded in self._stretches if not folded), default=0)

    def _all_stretches(self) -> Iterator[tuple[int, int, bool]]:
        """Yield stretches that differ, and equal ones; a long equal stretch is folded except for its ends."""
        kinds, rows = self._alignment.table.kinds, len(self._alignment.table)
        new = np.flatnonzero(np.diff(kinds == EQUAL_ROW, prepend=2, append=2)).tolist()
        for begin, end in pairwise(new):
            first = begin + EQUAL_ROWS if begin else begin
            last = max(first, end - EQUAL_ROWS if end < rows else end)
            if kinds[begin] != EQUAL_ROW or self._full or self._body.size(first, last) <= EQUAL_CHARACTERS:
                yield begin, end, False
                continue
            if begin < first:
                yield begin, first, False
            yield first, last, True
            if last < end:
                yield last, end, False

    def differences(self) -> Iterator[str]:
        """Yield the list of differences with links to their rows; nothing for equal texts."""
        count = len(self._differing)
        if not count:
            return
        yield self._begin("nav", "differences", "Differences")
        shown = " open" if self._full or count <= LISTED_OPEN else ""
        yield f"<details{shown}><summary>{counted(count, 'difference')} as a list</summary>"
        yield '<ol class="list">'
        most = LISTED if self._most is None else LISTED_BRIEFLY
        on_page = int((self._differing < self._shown).sum())
        for difference in differences_of(self._alignment, most):
            said = "".join(
                f'<q dir="auto" lang="">{escaped(part)}</q>' if quoted else escape(part)
                for part, quoted in difference.said
            )
            link = f'<a href="#{self._id}d{difference.number}">{difference.words}</a>'
            yield f"<li>{link if difference.number <= on_page else difference.words} {said}</li>"
        yield "</ol>"
        if count > most:
            more = "; the texts show all" if on_page == count else ""
            yield f"<p>The first {number(most)} of {number(count)}{more}.</p>"
        yield f"</details>{self._end('nav')}"

    def measures(self) -> Iterator[str]:
        """Yield the table of all measures."""
        yield self._begin("section", "measures", "Measures")
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
        yield self._end("section")


def named(name: str) -> str:
    """Return a name as HTML: on one line, with escapes, apart from the direction of the text around it."""
    return f'<bdi lang="">{escape(printable(name))}</bdi>'


def _labelled(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter}: {named(name)}"


COLOURS = 6
_EQUAL = '<span class="unheard">equal</span>'
_BASE = '<span class="base" title="does not count">{}</span>'


def escaped(text: str) -> str:
    """Return document text as HTML: invisible characters as boxed escapes, everything else as text."""
    return "".join(
        f'<code class="unseen">{escape(part)}</code>' if unseen else escape(part)
        for part, unseen in escaped_parts(text)
    )


class _Side:
    """One text, and the places of its rows and of the pieces that have markup."""

    def __init__(self, text: str, pieces: Pieces, base: list[tuple[int, int]]) -> None:
        self._text, self._base = text, base
        self.rows: list[list[int]] = pieces.spans_of_rows.tolist()
        marked = np.flatnonzero((pieces.kinds == CHANGED) | (pieces.kinds == MOVED) | pieces.opens)
        columns = (pieces.kinds, *pieces.spans.T, pieces.matches, pieces.opens)
        self.marked = list(zip(*(column[marked].tolist() for column in columns), strict=True))
        self.first: list[int] = np.searchsorted(marked, pieces.first).tolist()
        self.filled: list[bool] = (np.diff(pieces.first) > 0).tolist()

    def shown(self, begin: int, end: int) -> str:
        """Return the characters [begin, end) as HTML."""
        if not self._base:
            return escaped(part_of(self._text, begin, end)) if begin < end else ""
        parts = ((escaped(part_of(self._text, *span)), inside) for *span, inside in cut_at(self._base, begin, end))
        return "".join(_BASE.format(part) if inside and part.strip() else part for part, inside in parts)


class TextRows:
    """The rows of the table that holds the two texts; ``prefix`` makes ids unique."""

    def __init__(self, found: ComparisonRecord, prefix: str) -> None:
        alignment = self._alignment = found.alignment
        self._id, self._unit = prefix, unit_of(found)
        self._kinds = alignment.table.kinds.tolist()
        self._other_style = restyled(alignment).tolist()
        self._numbers = np.cumsum(alignment.table.kinds != EQUAL_ROW).tolist()
        self._count = len(rows_that_differ(alignment))
        self._units, self._moved = alignment.units.tolist(), alignment.moved.tolist()
        texts = (alignment.text_a, alignment.text_b)
        base = (base_spans(found, which) for which in (0, 1))
        self._sides = [_Side(*side) for side in zip(texts, alignment.table.sides, base, strict=True)]
        self._alone = one_sided_matches(alignment)
        self._on_page = np.ones(len(alignment.table), np.bool_)

    def size(self, begin: int, end: int) -> int:
        """Return the number of characters that the equal rows [begin, end) have in A."""
        spans = self._alignment.table.a.spans_of_rows[begin:end]
        return int(spans[-1, 1] - spans[0, 0]) if len(spans) else 0

    def show_only(self, stretches: list[tuple[int, int]]) -> None:
        """Link only to the rows [begin, end) of these stretches, because the page leaves out the others."""
        rows = np.zeros(len(self._numbers), np.bool_)
        for begin, end in stretches:
            rows[begin:end] = True
        self._on_page = rows
        shown = np.flatnonzero(rows)
        self._count = int(self._numbers[shown[-1]]) if len(shown) else 0

    def characters(self, row: int) -> int:
        """Return the number of characters that a row has in both texts."""
        return sum(end - begin for begin, end in (side.rows[row] for side in self._sides))

    def inside(self, begin: int, end: int) -> str:
        """Return the label of a fold that hides these equal rows."""
        pieces, text = self._alignment.table.a, self._alignment.text_a
        part = slice(pieces.first[begin], pieces.first[end])
        matches = pieces.matches[part][pieces.opens[part]]
        words = sum(len(text[first:last].split()) for first, last in pieces.spans_of_rows[begin:end].tolist())
        said = f"{counted(words, 'equal word')} in {counted(end - begin, 'row')}"
        if not len(matches):
            return said
        named = f"match {matches[0]}" if len(matches) == 1 else f"matches {matches.min()} to {matches.max()}"
        return f"{said}, {named}"

    def rows(self, begin: int, end: int) -> Iterator[str]:
        """Yield the rows [begin, end)."""
        for row in range(begin, end):
            kind: str = ROW_KINDS[self._kinds[row]]
            head = identity = ""
            if kind != "equal":
                head, identity = self._steps(self._numbers[row], kind)
            elif self._other_style[row]:
                head = '<span class="mark" title="equal but for case or punctuation">≈</span>'
            else:
                kind, head = "equal same", _EQUAL
            cells = f"{self._cell(row, 0)}{self._cell(row, 1)}"
            yield f'<tr class="{kind}"{identity}><th scope="row">{head}</th>{cells}</tr>'

    def _steps(self, n: int, kind: str) -> tuple[str, str]:
        """Return the number of a difference with links to its neighbours, and the ``id`` they link to."""
        words, mark = WORDS[kind]
        steps = [(n - 1, "↑", "previous"), (n + 1, "↓", "next")]
        links = "".join(
            f'<a class="step" href="#{self._id}d{to}" aria-label="{which} difference">{arrow}</a>'
            for to, arrow, which in steps
            if 1 <= to <= self._count
        )
        label = f'<span class="unheard">{words}, difference </span>'
        return f"<b>{mark}{label}{number(n)}</b>{links}", f' id="{self._id}d{n}"'

    def _cell(self, row: int, which: int) -> str:
        letter = "AB"[which]
        if not self._sides[which].filled[row]:
            return f'<td class="nothing" data-side="{letter}">{self.elsewhere(row, which)}</td>'
        return f'<td dir="auto" lang="" data-side="{letter}">{self.content(row, which)}</td>'

    def elsewhere(self, row: int, which: int) -> str:
        """Return links to where the text of a row is in A (0) or B (1), if it is only moved; else ""."""
        return ", ".join(self._way(match, 1 - which) for match in self._alone[1 - which].get(row, ()))

    def content(self, row: int, which: int) -> str:
        """Return the text of a row in A (0) or B (1) with its marks; "" if it has none."""
        side = self._sides[which]
        (at, end), shown, content = side.rows[row], side.shown, ""
        for kind, begin, stop, match, opens in side.marked[side.first[row] : side.first[row + 1]]:
            content += shown(at, begin)
            if opens:
                content += self._badge(match, which)
            at = stop
            if kind == CHANGED:
                content += f"<ins>{shown(begin, stop)}</ins>" if which else f"<del>{shown(begin, stop)}</del>"
            elif kind == MOVED:
                content += f'<mark class="c{match % COLOURS}">{shown(begin, stop)}</mark>'
            else:
                at = begin
        return (content + shown(at, end)).rstrip("\n")

    def _way(self, match: int, side: int) -> str:
        """Return a link from the place that moved text left to the place where it is now."""
        there, said = "ab"[1 - side], f"match {match} {way_to(self._alignment, match, side)}"
        return f'<a href="#{self._id}{there}{match}">{said}</a>' if self._is_on_page(match, 1 - side) else said

    def _is_on_page(self, match: int, side: int) -> bool:
        return bool(self._on_page[self._alignment.rows_of_matches[side][match]])

    def _badge(self, match: int, which: int) -> str:
        """Return the number of a match as a link to its other half."""
        moved, here, there = self._moved[match - 1], "ab"[which], "ab"[1 - which]
        label = f"match {match}, {counted(self._units[match - 1], self._unit)}{', moved' * moved}"
        if not self._is_on_page(match, 1 - which):
            return f'<span class="match c{match % COLOURS}" title="{label}">{"~" * moved}{match}</span>'
        label += f": go to it in {there.upper()}"
        return (
            f'<a class="match c{match % COLOURS}" id="{self._id}{here}{match}" '
            f'href="#{self._id}{there}{match}" aria-label="{label}" title="{label}">'
            f"{'~' * moved}{match}</a>"
        )
