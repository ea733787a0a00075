"""A section: a title, sentences, tables and drawings; as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from neardup.display import columns, shortened
from neardup.display.svg import Picture
from neardup.display.view import heading, paragraph, preformatted, table

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

    def html(self, inline: bool) -> str:
        """Return an HTML table; every cell is escaped. ``inline``: see ``display.view.table``."""
        numbers = frozenset(range(len(self.head))) - self.left
        return table(self.head, self.rows, numbers, inline=inline)

    def _placed(self, column: int, cell: str, width: int) -> str:
        if column in self.left:
            cell = shortened(cell, width)
            return cell + " " * (width - columns(cell))
        return " " * (width - columns(cell)) + cell


@dataclass(frozen=True)
class Drawing:
    """Preformatted lines whose characters align vertically, and the ``pictures`` that HTML has instead."""

    lines: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()

    def text(self, width: int) -> Iterator[str]:
        """Yield the lines unchanged; they were drawn for a fixed width."""
        yield from self.lines

    def html(self, inline: bool) -> str:
        """Return the pictures as figures; without any, the lines in a monospaced font, escaped."""
        if self.pictures:
            return "".join(picture.figure() for picture in self.pictures)
        return preformatted("\n".join(self.lines))


@dataclass(frozen=True)
class Section:
    """A title, the sentences ``says``, tables and drawings, and ``notes``; ``beside``: the sentences in HTML."""

    title: str
    says: tuple[str, ...] = ()
    parts: tuple[ShownTable | Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

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

    def html(self, inline: bool = True, level: int = 4) -> str:
        """Return the section as HTML with a heading of this level; all text is escaped."""
        before, after = ("".join(map(paragraph, texts)) for texts in (self.beside or self.says, self.notes))
        parts = "".join(part.html(inline) for part in self.parts)
        return f"{heading(self.title, level)}{before}{parts}{after}"


def folded(texts: Sequence[str], width: int) -> Iterator[str]:
    """Yield paragraphs in lines of at most ``width`` characters."""
    for text in texts:
        yield from wrap(text, width)
