"""Numbers and untrusted text for people (``words``); the style, tables and pictures of pages and notebooks.

``spellings`` has the right spelling of guessed names.
"""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.display.spellings import meant, near_miss
from neardup.display.words import (
    ALL_LEFT_OUT, BASE_TEXT_ONLY, BYTE_UNITS, TAB, WITHOUT_TEXT, Extent, Fragment, Line, aligned_lines,
    beginning, colour_line, columns, counted, distinct, duration, escaped_parts, middle_cut, number, percent,
    printable, shorten, similarity, size, tail, visible, without_common,
)
