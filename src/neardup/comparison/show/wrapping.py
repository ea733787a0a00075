"""Styled text cut into lines that fit on a terminal, and painted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neardup.display import Fragment, columns, painted

LEAST_ROOM = 4
"""A word longer than a line begins directly after the last one, if at least this many columns are left."""

HARD_SPACE = "\u00a0"
"""Keeps words together until lines are cut, and is then shown as a space."""

_WORDS = re.compile(rf"\n|[\S{HARD_SPACE}]+")


@dataclass(frozen=True, slots=True)
class Cut:
    """A line: the characters [indent, solid) and [begin, end) of its text, and its width in columns."""

    indent: int
    solid: int
    begin: int
    end: int
    columns: int

    def __bool__(self) -> bool:
        return self.indent < self.solid or self.begin < self.end


EMPTY = Cut(0, 0, 0, 0, 0)


def cut_lines(text: str, width: int) -> list[Cut]:
    """Cut a text into lines of at most ``width`` columns (2 or more).

    Lines end at line feeds and, if they are too long, at white space; words too long for a line are cut anywhere.
    Indentation stays, up to half of the width; blank lines in a row become one, and none remains at the beginning.
    """
    if len(text) <= width and text.isascii() and not text[:1].isspace() and "\n" not in text[:-1]:
        size = len(text.rstrip())
        return [Cut(0, 0, 0, size, size)] if size else []
    cutter = _Cutter(text, width)
    for found in _WORDS.finditer(text):
        if text[found.start()] == "\n":
            cutter.end_line(found.end())
        else:
            cutter.place(*found.span())
    return cutter.lines()


class _Cutter:
    """The lines of a text that are complete, and the one being filled."""

    def __init__(self, text: str, width: int) -> None:
        self._text, self._width = text, width
        self._lines: list[Cut] = []
        self._now: tuple[int, int, int] | None = None  # of the current line: indent, solid, begin
        self._used, self._end = 0, 0  # its columns; the white space from ``_end`` on waits for a word
        self._is_blank = True  # the last line is blank, or there is none

    def lines(self) -> list[Cut]:
        """Return all lines."""
        if self._now is not None:
            self._close()
        return self._lines

    def end_line(self, after: int) -> None:
        """Handle a line feed: end the line, unless it is empty and follows an empty line or is the first."""
        if self._now is not None:
            self._close()
            self._is_blank = False
        elif not self._is_blank:
            self._lines.append(EMPTY)
            self._is_blank = True
        self._used, self._end = 0, after

    def place(self, word: int, stop: int) -> None:
        """Put a word on the line, or on the next one."""
        text, width = self._text, self._width
        indent, size = columns(text[self._end : word]), columns(text[word:stop])
        if self._now is None:
            self._begin(self._end, word, min(indent, width // 2))
        else:
            room = width - self._used - indent
            if room < size and (size <= width or room < LEAST_ROOM):
                self._close()
                self._begin(word, word, 0)
            else:
                self._used += indent
        if self._used + size <= width:
            self._used += size
        else:
            self._place_long(word, stop)
        self._end = stop

    def _place_long(self, word: int, stop: int) -> None:
        for at in range(word, stop):
            size = columns(self._text[at])
            if self._used + size > self._width:
                self._end = at if at > word else self._end
                self._close()
                self._begin(at, at, 0)
            self._used += size
            self._end = at + 1

    def _begin(self, blank: int, word: int, indent: int) -> None:
        """Begin a line with ``indent`` columns of the white space [blank, word)."""
        used, solid = 0, blank
        while solid < word and used + (size := columns(self._text[solid])) <= indent:
            used, solid = used + size, solid + 1
        self._now, self._used, self._end = (blank, solid, word), used, word

    def _close(self) -> None:
        if self._now is not None:
            self._lines.append(Cut(*self._now, self._end, self._used))
        self._now, self._used = None, 0


class Styled:
    """Styled text as lines of at most ``width`` columns."""

    def __init__(self, fragments: Sequence[Fragment], width: int) -> None:
        self._fragments = fragments
        self._text = "".join(text for text, _ in fragments)
        self.cuts = cut_lines(self._text, width)

    def strings(self, codes: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines; ``codes`` maps styles to colours (empty: no colour)."""
        text = self._text.replace(HARD_SPACE, " ")
        if not codes:
            for cut in self.cuts:
                yield text[cut.indent : cut.solid] + text[cut.begin : cut.end]
            return
        starts, styles = self._parts(), [style for _, style in self._fragments]
        for cut in self.cuts:
            spans = ((cut.indent, cut.solid), (cut.begin, cut.end))
            yield "".join(painted(_merged(text, spans, starts, styles), codes))

    def _parts(self) -> list[int]:
        """Return the start of each fragment, before the white space that it falls in.

        White space between two words has one style, the last one assigned to it.
        """
        starts, at = [], 0
        for text, _ in self._fragments:
            starts.append(at)
            at += len(text)
        return [self._settled(start) for start in starts]

    def _settled(self, start: int) -> int:
        text = self._text
        if start < len(text) and _is_blank(text[start]):
            while start and _is_blank(text[start - 1]):
                start -= 1
        return start


def _is_blank(char: str) -> bool:
    return char.isspace() and char not in f"\n{HARD_SPACE}"


def _merged(
    text: str, spans: Iterable[tuple[int, int]], starts: list[int], styles: list[str]
) -> Iterator[Fragment]:
    """Yield the spans of a line; adjacent text of one style is one fragment."""
    last, style = "", ""
    for begin, end in spans:
        at, part = begin, bisect_right(starts, begin) - 1
        while at < end:
            stop = min(end, starts[part + 1]) if part + 1 < len(starts) else end
            if stop > at:
                if last and styles[part] != style:
                    yield last, style
                    last = ""
                last, style = last + text[at:stop], styles[part]
            at, part = max(at, stop), part + 1
    if last:
        yield last, style
