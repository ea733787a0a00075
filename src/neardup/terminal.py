"""Text on a terminal: how wide it is, what of it fits, and colour where it is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias
from unicodedata import category, east_asian_width

Fragment: TypeAlias = tuple[str, str]
"""A piece of text and the name of its style, "" for none."""

TAB = "    "

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


def painted(line: Iterable[Fragment], codes: Mapping[str, str]) -> Iterator[str]:
    r"""A line as strings, styles made colours (``codes``: SGR parameters by style; none: no colour).

    >>> "".join(painted([("gone", "removed"), (" stays", "")], {"removed": "31"}))
    '\x1b[31mgone\x1b[0m stays'
    """
    for text, style in line:
        code = codes.get(style)
        yield f"\x1b[{code}m{text}{_RESET}" if code else text
