r"""The rows of tables as lines of text, for all formats: ``Pump | 1,200``, below the row of heads.

The separator and the mark below the heads are those of tables in Markdown (GitHub Flavored Markdown 0.29, 4.10),
and hold no word: the words of a table are the same as without them. Views of a text find the heads by the mark.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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
    """A cell: its text, whether it is a head (in a sheet: a text), and the columns and rows that it spans."""

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
        self._first: int | None = None  # of a sheet: columns of its first row, 0 if they are no heads

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
        if heads:
            self._heads = len(row)
        return self._line_of(row, is_body=not heads)

    def sheet_line(self, cells: Sequence[TableCell]) -> str | None:
        r"""Return a row of a sheet as one line with its end, below the mark of heads; None for an empty row.

        The first row of several cells has the heads if they are different texts without a gap, and a cell of the
        next row is no text. Raises InputError for cells that make the text too long.

        >>> sheet = TableRows()
        >>> rows = [TableCell("Item", True), TableCell("Sold", True)], [TableCell("Pump", True), TableCell("7")]
        >>> [sheet.sheet_line(row) for row in rows]
        ['Item | Sold\n', '--- | ---\nPump | 7\n']
        """
        row = self._place(cells)
        if not row:
            return None
        are_texts = all(cell.is_head for cell in cells if cell.text)
        if self._first is None:
            is_head = are_texts and len({*row} - {""}) == len(row)
            if len(row) > 1:  # others are titles
                self._first = len(row) if is_head else 0
            return self._line_of(row, is_body=not is_head and len(row) > 1)
        if not self._has_body and not are_texts:
            self._heads = self._first
        return self._line_of(row, is_body=True)

    def _line_of(self, row: Sequence[str], is_body: bool) -> str:
        is_first = is_body and not self._has_body and self.has_heads
        line = f"{SEPARATOR.join([MARK] * self._heads)}\n" * is_first + f"{SEPARATOR.join(row)}\n"
        self._has_body |= is_body
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


class OpenTables:
    """The tables that are open in a document, whose text is a list of pieces: where each cell of a row begins.

    Tables within a row that is one line have no rows of their own.
    """

    def __init__(self) -> None:
        self._tables: list[_OpenTable] = []  # the innermost last
        self._inside = 0  # tables within a row that is one line

    def __bool__(self) -> bool:
        return bool(self._tables)

    @property
    def is_between_rows(self) -> bool:
        """Whether the innermost table has no open cell."""
        return bool(self._tables) and not self._tables[-1].cells

    def keep_lines(self) -> None:
        """Note that the open row has lines of its own, such as those of a list."""
        if self._tables:
            self._tables[-1].has_lines |= self._tables[-1].cells is not None

    def begin_table(self) -> None:
        """Begin a table, perhaps within a cell of another one."""
        self.keep_lines()
        if self._inside or (self._tables and self._tables[-1].rows.has_heads):
            self._inside += 1
        else:
            self._tables.append(_OpenTable())

    def begin_row(self) -> None:
        """Begin a row."""
        if self._tables and not self._inside:
            self._tables[-1].cells, self._tables[-1].has_lines = [], False

    def mark(self, is_head: bool) -> None:
        """Note whether the open row and the next ones are in the head of the table."""
        if self._tables and not self._inside:
            self._tables[-1].is_head = is_head

    def begin_cell(self, place: int, cell: TableCell) -> None:
        """Begin a cell whose first piece has this number; the text of ``cell`` is empty."""
        if self._tables and not self._inside:
            if self._tables[-1].cells is None:
                self.begin_row()
            cells = self._tables[-1].cells
            if cells is not None:
                cells.append((place, cell))

    def widen(self, columns: int) -> None:
        """Note the columns that the open cell spans."""
        if self._tables and not self._inside and (cells := self._tables[-1].cells):
            cells[-1] = cells[-1][0], cells[-1][1]._replace(columns=columns)

    def end_row(self, pieces: Sequence[str]) -> tuple[int, str] | None:
        """End the row; return its first piece and the line with its end that replaces its pieces, or None."""
        if self._inside or not self._tables:
            return None
        table = self._tables[-1]
        cells, table.cells = table.cells, None
        if not cells:
            return None
        if table.has_lines and not table.rows.has_heads:
            table.rows.skip([cell for _, cell in cells])
            return None
        places = [*(place for place, _ in cells), len(pieces)]
        texts = ("".join(pieces[begin:end]) for begin, end in pairwise(places))
        line = table.rows.line(
            [cell._replace(text=text) for (_, cell), text in zip(cells, texts, strict=True)], table.is_head
        )
        return (places[0], line) if line else None

    def end_table(self) -> str:
        """End the innermost table, whose rows have ended; return the empty line that ends it, or ""."""
        if self._inside:
            self._inside -= 1
            return ""
        return self._tables.pop().rows.end() if self._tables else ""


@dataclass
class _OpenTable:
    """A table: its rows, the cells of the open one with the piece at which each begins, and what that row is."""

    rows: TableRows = field(default_factory=TableRows)
    cells: list[tuple[int, TableCell]] | None = None
    has_lines: bool = False
    is_head: bool = False
