"""Text on a terminal: how wide it is, lines of styled text that fit, and colour where it is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias
from unicodedata import category, east_asian_width

Fragment: TypeAlias = tuple[str, str]
"""A piece of text and the name of its style, "" for none."""

TAB = "    "
LEAST_ROOM = 4

_PARTS = re.compile(r"\n|[^\S\n\xa0]+|[\S\xa0]+")
_RESET = "\x1b[0m"
_SOFT_HYPHEN = "\u00ad"  # a format character, but terminals give it a column


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters two, marks and joiners none.

    >>> columns("東京 e\\u0301")
    6
    """
    return len(text) if text.isascii() else sum(map(_column, text))


@lru_cache(1 << 12)
def _column(char: str) -> int:
    if "\u1160" <= char <= "\u11ff":  # vowels and finals of Hangul are written into the syllable before
        return 0
    if category(char) in ("Mn", "Me", "Cf"):
        return int(char == _SOFT_HYPHEN)
    return 2 if east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """The text, cut to ``width`` columns where it is longer.

    >>> shortened("the night is dark", 12), shortened("dark", 12)
    ('the night i…', 'dark')
    """
    if columns(text) <= width:
        return text
    while columns(text) >= width:
        text = text[:-1]
    return text + "…"


def tail(text: str, width: int) -> str:
    """The end of a text, where names of files differ.

    >>> tail("reports/2001/march.txt", 12)
    '…1/march.txt'
    """
    return text if columns(text) <= width else "…" + shortened(text[::-1], width)[-2::-1]


def wrapped(fragments: Iterable[Fragment], width: int) -> list[list[Fragment]]:
    r"""Styled text as lines of at most ``width`` columns (2 or more).

    Lines end at the ends of lines of the text and, where they are too long, at white space; words too long
    for a line anywhere. Indentation stays; blank lines in a row become one. No-break spaces hold words together
    and become spaces.

    >>> wrapped([("to the ", ""), ("mayor", "bold"), (",", "")], 12)
    [[('to the', '')], [('mayor', 'bold'), (',', '')]]
    """
    page = _Page(width)
    for text, style in fragments:
        for part in _PARTS.findall(text.replace("\t", TAB)):
            if part == "\n":
                page.end_line()
            elif part.isspace():
                page.blank(part, style)
            else:
                page.word(part, style)
    return page.done()


class _Page:
    """Lines as they are filled. A word is held until it ends: it may be of several styles."""

    def __init__(self, width: int) -> None:
        self._lines: list[list[Fragment]] = []
        self._width = width
        self._line: list[Fragment] = []
        self._used = 0
        self._blank: Fragment = ("", "")
        self._word: list[Fragment] = []

    def blank(self, text: str, style: str) -> None:
        self._place()
        self._blank = (self._blank[0] + text, style)

    def word(self, text: str, style: str) -> None:
        self._word.append((text.replace("\xa0", " "), style))

    def end_line(self) -> None:
        self._place()
        self._blank = ("", "")
        if self._line or (self._lines and self._lines[-1]):
            self._break()

    def done(self) -> list[list[Fragment]]:
        self._place()
        if self._line:
            self._break()
        return self._lines

    def _place(self) -> None:
        """Put the held word on this line or the next one."""
        if not self._word:
            return
        blank, style = self._blank
        indent = min(columns(blank), self._width // 2) if not self._line else columns(blank)
        size = sum(columns(text) for text, _ in self._word)
        room = self._width - self._used - indent
        # a word longer than a line, as all of a text without spaces may be, begins where the last one ended
        if self._line and room < size and (size <= self._width or room < LEAST_ROOM):
            self._break()
            indent = 0
        if indent:
            self._add(blank[:indent], style, indent)
        for text, style in self._word:
            self._fill(text, style)
        self._word, self._blank = [], ("", "")

    def _fill(self, text: str, style: str) -> None:
        size = columns(text)
        while self._used + size > self._width:
            part, used = _head(text, self._width - self._used)
            if part:
                self._add(part, style, used)
            self._break()
            text = text[len(part) :]
            size -= used
        if text:
            self._add(text, style, size)

    def _add(self, text: str, style: str, size: int) -> None:
        if self._line and self._line[-1][1] == style:
            text = self._line.pop()[0] + text
        self._line.append((text, style))
        self._used += size

    def _break(self) -> None:
        self._lines.append(self._line)
        self._line, self._used = [], 0


def _head(text: str, width: int) -> tuple[str, int]:
    """As much of a text as fits, and the columns of it."""
    used = 0
    for at, char in enumerate(text):
        size = _column(char)
        if used + size > width:
            return text[:at], used
        used += size
    return text, used


def painted(line: Iterable[Fragment], codes: Mapping[str, str]) -> Iterator[str]:
    r"""A line as strings, styles made colours (``codes``: SGR parameters by style; none: no colour).

    >>> "".join(painted([("gone", "removed"), (" stays", "")], {"removed": "31"}))
    '\x1b[31mgone\x1b[0m stays'
    """
    for text, style in line:
        code = codes.get(style)
        yield f"\x1b[{code}m{text}{_RESET}" if code else text
