"""The parts of a comparison as HTML: facts, list of differences, the two texts, measures.

The texts are untrusted until they are escaped: every piece of them goes through ``cells.escaped``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from neardup.comparison.show.cells import TextRows, escaped
from neardup.comparison.show.differences import differences_of, rows_that_differ
from neardup.comparison.show.words import (
    base_sentence,
    common_sentence,
    differences_sentence,
    left_out_sentence,
    notes_on,
    rules_sentence,
    style_words,
    uncounted,
    unit_of,
    value_of,
)
from neardup.display import counted, number, printable
from neardup.kernels.show.rows import EQUAL_ROW

if TYPE_CHECKING:
    from neardup.comparison.alignment import Alignment
    from neardup.comparison.result import ComparisonRecord

EQUAL_ROWS, EQUAL_CHARACTERS = 2, 200
"""Rows of equal text shown around a difference, and the length from which the rest is folded."""
_BASE_LEGEND = '; <span class="base">{}</span> does not count'
LISTED, LISTED_BRIEFLY, LISTED_OPEN = 1000, 30, 12
"""Most differences in the list, in that of a page with a limit, and in a list that starts open."""


def named(name: str) -> str:
    """Return a name as HTML: on one line, with escapes, apart from the direction of the text around it."""
    return f'<bdi lang="">{escape(printable(name))}</bdi>'


def _labelled(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter}: {named(name)}"


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
