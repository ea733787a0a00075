"""How a CSV file separates and quotes its fields: as its name says, else as its first lines do."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import islice

from neardup.io.readers.sources import Source

DELIMITERS = ",;\t|"
"""What the first lines may show; any other character has to be named."""

# The sniffer's patterns may take time quadratic in what they are given.
_SNIFFED_BYTES = 8 << 10
_LINES = 50


@dataclass(frozen=True)
class Dialect:
    """What stands between fields, and around those that hold it; whether the first lines told."""

    delimiter: str
    quote: str = '"'
    sniffed: bool = False


def usual_delimiter(source: Source) -> str:
    """Return the tab for ``.tsv`` files, the comma for others."""
    return "\t" if ".tsv" in source.path.lower()[-8:] else ","


def dialect_of(source: Source, head: bytes, asked: str = "auto") -> Dialect:
    r"""Return the dialect of a file that begins with ``head`` (UTF-8); ``asked`` is a delimiter, tab or auto.

    The usual delimiter stays unless the first lines have one width with another one only.

    >>> dialect_of(Source("a.csv", "a.csv"), b"id;text\n1;a, b\n2;c\n").delimiter
    ';'
    """
    usual = Dialect(usual_delimiter(source))
    if asked != "auto":
        return Dialect("\t" if asked == "tab" else asked)
    lines = _lines(head)
    if not lines or _fits(lines, usual):
        return usual
    try:
        found = csv.Sniffer().sniff("".join(lines), DELIMITERS)
    except csv.Error:
        return usual
    quote = "'" if found.quotechar == "'" and '"' not in "".join(lines) else '"'
    sniffed = Dialect(found.delimiter, quote, sniffed=True)
    return sniffed if _fits(lines, sniffed) else usual


def _lines(head: bytes) -> list[str]:
    """Return the first whole lines."""
    text = head[:_SNIFFED_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    lines = text.splitlines(keepends=True)
    return lines[:_LINES] if len(head) <= _SNIFFED_BYTES else lines[:-1][:_LINES]


def _fits(lines: list[str], dialect: Dialect) -> bool:
    """Whether all records have the same number of fields, at least two."""
    try:
        rows = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        widths = [len(row) for row in islice(rows, _LINES) if row]
    except csv.Error:
        return False
    whole = widths[:-1] or widths  # the last may go on behind the lines at hand
    return len(set(whole)) == 1 and whole[0] > 1
