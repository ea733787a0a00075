r"""The rows of tables as lines of text, for all formats: ``Pump | 1,200``, below the row of heads.

The separator and the mark below the heads are those of tables in Markdown (GitHub Flavored Markdown 0.29, 4.10),
and hold no word: the words of a table are the same as without them. Views of a text find the heads by the mark.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from neardup.io.formats import content as contents

SEPARATOR = " | "
"""Between the cells of a row, so that an empty cell counts."""

MARK = "---"
"""A cell of the line between the row of heads and the rows below it."""

ROW_CHARACTERS = 1_000
"""A row without heads is one line up to this length: pages have whole articles side by side in tables."""

MOST_SPANNED = 100
"""Columns that one cell spans; and the columns in which a cell may span rows."""

_PIPE = re.compile(r"\|")
_SPACES = re.compile("[ \t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]+")


class TableCell(NamedTuple):
    """A cell: its text, whether it is a head, and the columns and rows that it spans."""

    text: str
    is_head: bool = False
    columns: int = 1
    rows: int = 1


def span(number: str | None) -> int:
    """Return the number of columns or rows that a cell claims to span; 1 for an unreadable number.

    >>> span("2"), span("0"), span(None), span("9" * 50)
    (2, 1, 1, 65534)
    """
    fits = number is not None and number.isascii() and number.isdecimal()
    return min(max(int(number[:9] if number else ""), 1), 65534) if fits else 1


class TableRows:
    r"""The rows of one table, which come one by one.

    >>> table = TableRows()
    >>> heads = table.line([TableCell("Item", True), TableCell("Amount", True)], is_head=True)
    >>> heads + (table.line([TableCell("Pump\n(large)"), TableCell("1,200")]) or "") + table.end()
    'Item | Amount\n--- | ---\nPump (large) | 1,200\n\n'
    """

    def __init__(self) -> None:
        self._heads = 0  # columns of the row of heads
        self._has_body = False
        self._length = 0
        self._number = 0  # of the row
        self._covered: dict[int, int] = {}  # by column: the last row that a cell above spans

    @property
    def has_heads(self) -> bool:
        """Whether a row of heads was read: each row below it is a line, however long."""
        return self._heads > 0

    def line(self, cells: Sequence[TableCell], is_head: bool = False) -> str | None:
        """Return the row as one line with its end, below the mark of heads; None if it is not one line.

        A row without heads is one line if several of its cells have text, and all together at most
        ``ROW_CHARACTERS``. ``is_head``: the table says so; or all cells with text are heads. Raises InputError for
        cells that make the text too long.
        """
        filled = [cell for cell in cells if cell.text and not cell.text.isspace()]
        heads = len(filled) > 1 and not self._has_body and (is_head or all(cell.is_head for cell in filled))
        fits = len(filled) > 1 and sum(len(cell.text) for cell in filled) <= ROW_CHARACTERS
        if not (heads or (self.has_heads and filled) or fits):
            self.skip(cells)
            return None
        row = self._place(cells)
        mark = ""
        if heads:
            self._heads = len(row)
        elif self.has_heads and not self._has_body:
            mark = f"{SEPARATOR.join([MARK] * self._heads)}\n"
        self._has_body |= not heads
        line = f"{mark}{SEPARATOR.join(row)}\n"
        self._length += len(line)
        if self._length > contents.TEXT_CHARACTERS:
            raise contents.long_error()
        return line

    def skip(self, cells: Sequence[TableCell]) -> None:
        """Pass a row that is not written as one line, but may have cells that span others."""
        self._has_body |= any(cell.text and not cell.text.isspace() for cell in cells)
        self._place(cells if any(cell.rows > 1 for cell in cells) else ())

    def end(self) -> str:
        """Return the end of the table: an empty line, if it has a row of heads with rows below it."""
        return "\n" if self.has_heads and self._has_body else ""

    def _place(self, cells: Sequence[TableCell]) -> list[str]:
        """Return the texts of a row by column, without empty ones at the end; note the rows that cells span."""
        row: list[str] = []
        column = 0
        for cell in cells:
            while self._covered.get(column, -1) >= self._number:
                column += 1
            if text := _SPACES.sub(" ", cell.text).strip():
                if column * len(SEPARATOR) > contents.TEXT_CHARACTERS:
                    raise contents.long_error()
                row += [""] * (column - len(row))
                row.append(_PIPE.sub(r"\\|", text))
            columns = min(cell.columns, MOST_SPANNED)
            if cell.rows > 1:
                last = self._number + cell.rows - 1
                self._covered |= dict.fromkeys(range(column, min(column + columns, MOST_SPANNED)), last)
            column += columns
        self._number += 1
        return row
