"""A section: a title, sentences, tables and drawings; as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from neardup.display import columns, shortened

GAP = 2


@dataclass(frozen=True)
class ShownTable:
    """Cells of text. Columns are aligned right except for those in ``left``, which may be cut to fit."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset()

    def text(self, width: int) -> Iterator[str]:
        """Yield lines of at most ``width`` columns, unless the right-aligned columns alone need more."""
        widths = [max(map(columns, cells)) for cells in zip(self.head, *self.rows, strict=True)]
        over = sum(widths) + GAP * len(widths) - width
        for column in sorted(self.left, key=lambda column: -widths[column]):
            kept = max(widths[column] - max(over, 0), min(widths[column], 12))
            over -= widths[column] - kept
            widths[column] = kept
        for cells in (self.head, *self.rows):
            placed = (self._placed(i, cell, widths[i]) for i, cell in enumerate(cells))
            yield (" " * GAP + (" " * GAP).join(placed)).rstrip()

    def html(self) -> str:
        """Return an HTML table; every cell is escaped."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        body = "".join("<tr>" + "".join(map(self._cell, range(len(row)), row)) + "</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _placed(self, column: int, cell: str, width: int) -> str:
        if column in self.left:
            cell = shortened(cell, width)
            return cell + " " * (width - columns(cell))
        return " " * (width - columns(cell)) + cell

    def _cell(self, column: int, cell: str) -> str:
        side = "left" if column in self.left else "right"
        return f'<td style="text-align: {side}">{escape(cell)}</td>'


@dataclass(frozen=True)
class Drawing:
    """Preformatted lines whose characters align vertically."""

    lines: tuple[str, ...]

    def text(self, width: int) -> Iterator[str]:
        """Yield the lines unchanged; they were drawn for a fixed width."""
        yield from self.lines

    def html(self) -> str:
        """Return the lines in a monospaced font, escaped."""
        return f"<pre>{escape(chr(10).join(self.lines))}</pre>"


@dataclass(frozen=True)
class Section:
    """A title, the sentences ``says``, tables and drawings, and ``notes``."""

    title: str
    says: tuple[str, ...] = ()
    parts: tuple[ShownTable | Drawing, ...] = ()
    notes: tuple[str, ...] = ()

    def text(self, width: int) -> Iterator[str]:
        """Yield the section as lines, with blank lines between its parts."""
        yield self.title
        yield "-" * len(self.title)
        yield from folded(self.says, width)
        for part in self.parts:
            yield ""
            yield from part.text(width)
        if self.notes:
            yield ""
            yield from folded(self.notes, width)

    def html(self) -> str:
        """Return the section as HTML; all text is escaped."""
        before, after = ("".join(f"<p>{escape(text)}</p>" for text in texts) for texts in (self.says, self.notes))
        return f"<h4>{escape(self.title)}</h4>{before}{''.join(part.html() for part in self.parts)}{after}"


def folded(texts: Sequence[str], width: int) -> Iterator[str]:
    """Yield paragraphs in lines of at most ``width`` characters."""
    for text in texts:
        yield from wrap(text, width)
