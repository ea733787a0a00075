"""OpenDocument files (ODT, ODS, ODP): texts, sheets and slides, read by the same rules as those of Office.

A document is one part, ``content.xml``, with headers, footers and masters in ``styles.xml`` (ODF 1.3 part 3).
"""

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import unquote

from neardup.errors import InputError
from neardup.io.formats import content as contents
from neardup.io.formats.drawings import shortest
from neardup.io.formats.package import Handlers, Package, Text, read_package
from neardup.io.formats.tables import TableCell, TableRows
from neardup.io.formats.workbook import column_letters

_CONTENT, _STYLES, _META, _MANIFEST = "content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml"
_PARAGRAPHS = {
    *("text:p", "text:h", "presentation:header-decl", "presentation:footer-decl", "presentation:date-time-decl")
}
_CELLS = {"table:table-cell", "table:covered-table-cell"}

# Elements whose text is not in the text of the document, and the words for it.
_APART = {
    "text:deletion": "deleted text",
    "table:tracked-changes": "deleted text",
    "text:hidden-text": "hidden text",
    "text:hidden-paragraph": "hidden text",
    "text:ruby-text": "readings above characters",
    "svg:title": "alternative texts",
    "svg:desc": "alternative texts",
}

# Elements without text of the document: who changed it and when, numbers of pages and notes, names of sheets.
_SKIPPED = {
    *("office:change-info", "dc:date", "meta:date-string", "text:page-number", "text:page-count"),
    *(
        "meta:creator-initials",
        "?:sender-initials",
        "text:note-citation",
        "text:sheet-name",
        "office:scripts",
        "office:font-face-decls",
    ),
}
_UNREAD = {"draw:image": "images", "draw:object-ole": "embedded objects", "draw:plugin": "videos and sounds"}
_VALUES = {
    "float": "office:value",
    "percentage": "office:value",
    "currency": "office:value",
    "date": "office:date-value",
    "time": "office:time-value",
    "boolean": "office:boolean-value",
}
_SPAN = re.compile(r"PT(\d+)H(\d+)M(\d+(?:[.,]\d+)?)S")
_MOST_SPACES = 100


def read_odf(data: bytes) -> contents.Content:
    """Return the text of an OpenDocument file, the sheets of one, or its slides; title, author, date.

    Headers come first, then the body, notes and footers; changes are taken as accepted. Cells have their own
    values, as those of XLSX. Raises InputError for data that is not an OpenDocument file, is damaged, protected by
    a password, or unpacks to more than the limit.
    """
    return read_package(data, "OpenDocument", _read)


def _read(package: Package) -> contents.Content:
    """Read the body with its notes, between the headers and the footers."""
    protection = _Protection()
    if _MANIFEST in package:
        package.parse(_MANIFEST, protection)
    if protection.is_protected:
        raise InputError(
            "It is protected by a password", "A file that opens without one", "Save it without a password"
        )
    text = Text()
    body = _Body(package, text)
    package.parse(_CONTENT, body)
    above, below = Text(), Text()
    if _STYLES in package:
        package.parse(_STYLES, _Masters(package, above, below, body.masters))
    package.unread += [("macros", package.digest(name)) for name in package.names("basic/")]
    if body.formulas:
        package.unread.append(("formulas", "\n".join(body.formulas).encode("utf-8", "replace")))
    whole = "\n".join(part for part in (str(above), str(text), *body.notes, str(below)) if part)
    return package.content(whole if body.has_text(str(text)) else "", lambda: package.described_by(_META))


class _Protection(Handlers):
    def __init__(self) -> None:
        self.is_protected = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.is_protected |= tag == "manifest:encryption-data"


class _Words(Handlers):
    """Writes paragraphs into the innermost of several texts: that of a cell, a note, a comment or the document."""

    def __init__(self, package: Package, text: Text) -> None:
        self.package = package
        self.formulas: list[str] = []
        self._texts = [text]
        self._paragraphs = 0  # depth within paragraphs
        self._apart: list[str] = []
        self._frames: list[bool] = []  # for each open frame, whether its picture is one of its other content

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        if tag in _SKIPPED:
            return True
        if tag in _PARAGRAPHS:
            self._paragraphs += 1
            self._target().end_line()
        elif tag in _APART:
            self._apart.append(_APART[tag])
            self._paragraphs += tag.startswith("svg:")
        elif tag == "text:s":
            count = self.package.prefixed_names(attributes).get("text:c", "1")
            self.add(" " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES))
        elif tag in ("text:tab", "text:line-break"):
            self.add("\t" if tag == "text:tab" else "\n")
        elif tag.startswith("draw:"):
            self._draw(tag, self.package.prefixed_names(attributes))
        elif tag.startswith("form:"):
            self._fill(tag, self.package.prefixed_names(attributes))
        return None

    def end(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._paragraphs -= 1
            self._target().end_line()
        elif tag in _APART:
            self._paragraphs -= tag.startswith("svg:")
            self.package.apart(self._apart.pop()).end_line()
        elif tag == "draw:frame":
            self._frames.pop()

    def characters(self, text: str) -> None:
        if self._paragraphs:
            self.add(text)

    def add(self, text: str) -> None:
        self._target().add(text)

    def begin(self) -> None:
        """Begin a text within the text."""
        self._texts.append(Text())

    def finish(self) -> str:
        """End the text that began last, and return it."""
        return str(self._texts.pop())

    def _target(self) -> Text:
        return self.package.apart(self._apart[-1]) if self._apart else self._texts[-1]

    def _draw(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note pictures and objects; read charts and formulas, which are documents in folders of their own."""
        if tag == "draw:frame":
            self._frames.append(False)
        target = attributes.get("xlink:href", "")
        is_preview = tag == "draw:image" and any(self._frames[-1:])
        if tag in _UNREAD and "://" in target:
            self.package.unread.append((f"linked {_UNREAD[tag]}", target.encode("utf-8", "replace")))
            return
        name = posixpath.normpath(unquote(target)) if target else ""
        if tag == "draw:object":
            self._frames[-1:] = [True] * bool(self._frames)
            if f"{name}/{_CONTENT}" in self.package:
                self._target().line(_object_text(self.package, f"{name}/{_CONTENT}"))
        elif tag in _UNREAD and name in self.package and not is_preview:
            self.package.unread.append((_UNREAD[tag], self.package.digest(name)))

    def _fill(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Write the values of form fields."""
        if tag == "form:checkbox":
            state = attributes.get("form:current-state", attributes.get("form:state"))
            self._target().line(f"{'☒' if state == 'checked' else '☐'} {attributes.get('form:label', '')}")
        else:
            self._target().line(attributes.get("form:current-value", ""))


def _object_text(package: Package, name: str) -> str:
    """Return the text of a chart or formula; each is read once, and one that contains itself has none there."""
    if name not in package.drawn:
        package.drawn[name] = ""
        text = Text()
        package.parse(name, _Body(package, text))
        package.drawn[name] = str(text)
    return package.drawn[name]


class _Body(_Words):
    """The body of a document, of whichever kind."""

    def __init__(self, package: Package, text: Text) -> None:
        super().__init__(package, text)
        self.notes: list[str] = []
        self.masters: set[str] = set()
        self._kind = ""  # text, spreadsheet, presentation, chart
        self._sections: list[bool] = []  # for each open section, whether it is hidden
        self._names: list[str] = []  # of sheets, which alone are no text
        self._styles: dict[str, bool] = {}  # those of sheets and slides, and whether they hide them
        self._style = ""
        self._comments: list[str] = []
        self._author = ""  # of the open comment
        self._is_author = False
        self._row: list[TableCell] = []
        self._gap = 0  # empty cells before the next one
        self._tables: list[tuple[list[TableCell], int]] = []
        self._rows: list[TableRows] = []  # of the open tables
        self._in_heads = 0  # depth within rows of heads
        self._has_lines = False  # a table ended in the open row
        self._cell: dict[str, str] = {}
        self._repeated = 1  # rows
        self._line = 0  # number of the row

    def has_text(self, text: str) -> bool:
        """Return whether the text has more than names of sheets."""
        return not self._names or text.split() != " ".join(self._names).split()

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        named = self.package.prefixed_names(attributes) if not tag.startswith("text:") else {}
        if tag.startswith("office:") and not self._kind:
            local = tag.rpartition(":")[2]
            self._kind = local if local in ("text", "spreadsheet", "presentation", "chart", "drawing") else ""
        if tag == "style:style":
            self._style = named.get("style:name", "")
        elif tag in ("style:table-properties", "style:drawing-page-properties"):
            hidden = named.get("table:display") == "false" or named.get("presentation:visibility") == "hidden"
            self._styles[self._style] = hidden
        elif tag == "text:section":
            self._sections.append(self.package.attribute(attributes, "text:display") == "none")
            self._apart += ["hidden text"] * self._sections[-1]
        elif tag == "table:table":
            self._begin_table(named)
        elif tag == "table:table-header-rows":
            self._in_heads += 1
        elif tag == "table:table-row":
            self._row, self._gap, self._has_lines = [], 0, False
            self._repeated = _count(named.get("table:number-rows-repeated"))
        elif tag in _CELLS:
            self._cell = named
            self.begin()
        elif tag == "draw:page":
            self.masters.add(named.get("draw:master-page-name", ""))
            self._texts[0].line("(hidden slide)" if self._styles.get(named.get("draw:style-name", "")) else "")
        elif tag in ("office:annotation", "text:note", "presentation:notes"):
            self._author = ""
            self.begin()
        elif tag == "dc:creator":
            self._is_author = True
        return super().start(tag, attributes)

    def characters(self, text: str) -> None:
        if self._is_author:
            self._author += text if len(self._author) < contents.VALUE_CHARACTERS else ""
        else:
            super().characters(text)

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag in _CELLS:
            self._end_cell(self.finish())
        elif tag == "text:section" and self._sections.pop():
            self._apart.pop()
        elif tag == "table:table-header-rows":
            self._in_heads -= 1
        elif tag == "table:table-row":
            self._end_row()
        elif tag == "table:table":
            self._end_rows()
            self._rows.pop()
            self._row, self._gap = self._tables.pop() if self._tables else ([], 0)
            self._has_lines = True
            self._write_comments()
        elif tag == "dc:creator":
            self._is_author = False
        elif tag == "draw:page":
            self._write_comments()
            self._texts[0].add("\n")
        elif tag == "text:note":
            self.notes.append(self.finish())
        elif tag == "presentation:notes":
            notes = self.finish()
            self._texts[0].line(f"Notes: {notes}" if notes else "")
        elif tag == "office:annotation":
            self._end_comment(self.finish())

    def _begin_table(self, named: Mapping[str, str]) -> None:
        self._tables.append((self._row, self._gap))
        self._rows.append(TableRows())
        self._frames[-1:] = [True] * bool(self._frames)
        if self._kind == "spreadsheet" and len(self._tables) == 1:
            is_hidden = self._styles.get(named.get("table:style-name", ""), False)
            name = f"{named.get('table:name', '')}{' (hidden)' if is_hidden else ''}"
            self._names.append(name)
            self._line = 0
            self._texts[0].add("\n")
            self._texts[0].line(name)

    def _end_cell(self, text: str) -> None:
        value, count = self._value(text), _count(self._cell.get("table:number-columns-repeated"))
        is_text = self._kind == "spreadsheet" and self._cell.get("office:value-type", "string") == "string"
        if formula := self._cell.get("table:formula"):
            self.formulas.append(formula)
        self._cell = {}
        if not value:
            self._gap += count
            return
        if (self._gap + count) * (len(value) + 3) > contents.TEXT_CHARACTERS:
            raise contents.long_error()
        self._row += [TableCell("")] * self._gap + [TableCell(value, is_text)] * count
        self._gap = 0

    def _value(self, text: str) -> str:
        """Return the value of the cell that ends; its paragraphs show it in the format of the cell."""
        kind = self._cell.get("office:value-type", "")
        stored = self._cell.get(_VALUES.get(kind, ""), "")
        if not stored:
            formula = self._cell.get("table:formula", "")
            return text or (f"={formula.partition('=')[2]}" if formula and not kind else "")
        if kind == "boolean":
            return stored.upper()
        if kind == "time" and (span := _SPAN.fullmatch(stored)):
            hours, minutes, seconds = span.groups()
            return f"{int(hours):02}:{int(minutes):02}:{seconds.replace(',', '.')}"
        return stored.removesuffix("T00:00:00") if kind == "date" else shortest(stored)

    def _end_row(self) -> None:
        """Write the row, as one line or as the lines of its cells."""
        rows, cells = self._rows[-1] if self._rows else TableRows(), self._row
        is_within = any(outer.has_heads for outer in self._rows[:-1])  # a row that is one line
        for _ in range(self._repeated if cells else 1):
            if self._kind != "text":
                line = rows.sheet_line(cells)
            elif is_within or (self._has_lines and not rows.has_heads):
                line = None
            else:
                line = rows.line(cells, self._in_heads > 0)
            if cells:
                self._target().end_line()
                self._target().add(line or "".join(f"{cell.text}\n" for cell in cells if cell.text))
            elif self._kind != "text":
                self._end_rows()
        self._row, self._gap = [], 0
        self._line += self._repeated

    def _end_rows(self) -> None:
        """End the rows that follow each other; those of a sheet after an empty row may have other heads."""
        if self._rows:
            if end := self._rows[-1].end():
                self._target().add(end)
            self._rows[-1] = TableRows()

    def _end_comment(self, text: str) -> None:
        author = self._author.strip()
        if self._kind == "text":
            self.package.unread.append(("comments", f"{author}\n{text}".encode("utf-8", "replace")))
        else:
            place = f"{column_letters(len(self._row) + self._gap + 1)}{self._line + 1}"
            where = f" on {place}" if self._kind == "spreadsheet" else ""
            self._comments.append(f"Comment{where}, {author}: {text}" if author else f"Comment{where}: {text}")

    def _write_comments(self) -> None:
        for comment in self._comments:
            self._texts[0].line(comment)
        self._comments = []


class _Masters(_Words):
    """Headers and footers of pages, and the shapes of the masters of slides, without placeholders."""

    def __init__(self, package: Package, above: Text, below: Text, masters: set[str]) -> None:
        super().__init__(package, below)
        self._above, self._below, self._masters = above, below, masters
        self._shown: set[str] = set()

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        named = self.package.prefixed_names(attributes) if not tag.startswith("text:") else {}
        if tag in ("office:styles", "office:automatic-styles"):
            return True
        if tag == "style:master-page" and self._masters:
            return named.get("style:name", "") not in self._masters
        if tag.startswith(("style:header", "style:footer")):
            self.begin()
            return named.get("style:display") == "false" and self.finish() == ""
        if named.get("presentation:class"):
            return True
        return super().start(tag, attributes)

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag.startswith(("style:header", "style:footer")):
            text = self.finish()
            if text not in self._shown:
                self._shown.add(text)
                (self._above if tag.startswith("style:header") else self._below).line(text)


def _count(number: str | None) -> int:
    return int(number) if number and number.isdecimal() and len(number) < 8 else 1
