"""Find how a CSV file separates and quotes its fields: from its name, or else from its first lines."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import islice

from neardup.io.readers.sources import Source

DELIMITERS = ",;\t|"
"""Delimiters that sniffing can find; any other must be given explicitly."""

# The sniffer's patterns may take time quadratic in the length of their input.
_SNIFFED_BYTES = 8 << 10
_LINES = 50


@dataclass(frozen=True)
class Dialect:
    """The field delimiter, the quote character, and whether both were found by sniffing."""

    delimiter: str
    quote: str = '"'
    sniffed: bool = False


def usual_delimiter(source: Source) -> str:
    """Return the tab for ``.tsv`` files, the comma for others."""
    return "\t" if ".tsv" in source.path.lower()[-8:] else ","


def dialect_of(source: Source, head: bytes, asked: str = "auto") -> Dialect:
    r"""Return the dialect of a file that begins with ``head`` (UTF-8); ``asked`` is a delimiter, tab or auto.

    Keeps the usual delimiter unless only another one splits the first lines into equal numbers of fields.

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
    """Return whether all records have the same number of fields, at least two."""
    try:
        rows = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        widths = [len(row) for row in islice(rows, _LINES) if row]
    except csv.Error:
        return False
    whole = widths[:-1] or widths  # the last record may continue after these lines
    return len(set(whole)) == 1 and whole[0] > 1
