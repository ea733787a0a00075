"""Word documents (DOCX): the text as if all changes were accepted, with headers, footers and notes."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from neardup.io.formats import content as contents
from neardup.io.formats.drawings import drawn_text
from neardup.io.formats.package import Handlers, Package, Text, read_package
from neardup.io.formats.tables import OpenTables, TableCell, span

# Elements whose text is not in the text of the document, and the words for it.
_APART = {
    "w:del": "deleted text",
    "w:moveFrom": "deleted text",
    "w:rt": "readings above characters",
}
_HIDDEN = "hidden text"

_TEXTS = {"w:t", "w:delText", "m:t", "a:t"}
_INSTEAD = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "w:ptab": "\t"}

# Elements that show something by their attributes or by another part.
_SHOWN = {
    *("w:sym", "w:checkBox", "w:ddList", "w:default", "w:checked", "w:result", "w:listEntry", "w:comment"),
    *("v:textpath", "c:chart", "cx:chart", "dgm:relIds"),
}

# Fields whose result depends on the page that they are on, or on the length of the document.
_PAGE_FIELDS = {"PAGE", "NUMPAGES", "SECTIONPAGES"}

_OF_TABLES = {"w:tbl", "w:tr", "w:tc", "w:tblHeader", "w:gridBefore", "w:gridSpan"}

_PARTS_BELOW = ("footnotes", "endnotes")


def read_docx(data: bytes) -> contents.Content:
    """Return the headers of a DOCX file, its body, footnotes, endnotes and footers; title, author, date.

    The body has paragraphs, tables, text boxes, charts and form fields; changes are taken as accepted. Each header
    and footer that pages show is read once. Deleted and hidden text, comments, images and objects are noted as
    unread. Raises InputError for data that is not a DOCX file, is damaged, protected, or unpacks to more than the
    limit.
    """
    return read_package(data, "DOCX", _read)


def _read(package: Package) -> contents.Content:
    """Read the headers, the body, its notes and the footers."""
    main = package.main_part()
    settings, body = _Settings(), Text()
    for name in package.related_parts(main, "settings"):
        package.parse(name, settings)
    words = _Words(package, main, body)
    package.parse(main, words)
    package.leave_unread(main)
    headers, footers = (
        _texts(package, words.shown_parts(kind, settings.has_even_pages))
        for kind in ("headerReference", "footerReference")
    )
    notes = _texts(package, package.related_parts(main, *_PARTS_BELOW))
    comments = _texts(package, package.related_parts(main, "comments"))
    package.unread += [("comments", text.encode("utf-8", "replace")) for text in comments]
    return package.content("\n".join(text for text in (*headers, str(body), *notes, *footers) if text))


def _texts(package: Package, names: Iterable[str]) -> list[str]:
    """Return the different texts of the named parts, in order."""
    texts = dict[str, None]()
    for name in dict.fromkeys(names):
        text = Text()
        package.parse(name, _Words(package, name, text))
        package.leave_unread(name)
        texts[str(text)] = None
    return [text for text in texts if text]


class _Settings(Handlers):
    """Whether even pages have headers and footers of their own."""

    def __init__(self) -> None:
        self.has_even_pages = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "w:evenAndOddHeaders":
            self.has_even_pages = _is_on(attributes)


class _Section:
    """The headers and footers to which a section refers: element, type and part of each."""

    def __init__(self) -> None:
        self.references: list[tuple[str, str, str]] = []
        self.has_first_page = False


class _Field:
    """A field: its instruction, and whether its result has begun."""

    def __init__(self, instruction: str = "") -> None:
        self.instruction = instruction
        self.has_result = bool(instruction)

    def is_of_page(self) -> bool:
        """Return whether a result has begun that depends on the page."""
        words = self.instruction.split(maxsplit=1)
        return self.has_result and bool(words) and words[0].upper() in _PAGE_FIELDS


class _Words(Handlers):
    """Writes the words of a part into a text."""

    def __init__(self, package: Package, part: str, text: Text) -> None:
        self._package, self._text = package, text
        self._relations = package.relations(part)
        self._sections: list[_Section] = []
        self._inside = 0  # depth within text elements
        self._apart: list[str] = []  # the open elements whose text is not that of the document
        self._runs: list[bool] = []  # for each open run, whether it is hidden
        self._properties = 0  # depth within properties of paragraphs, whose elements are no content
        self._fields: list[_Field] = []
        self._page_fields = 0  # open results that depend on the page
        self._is_instruction = False
        self._form: list[str] = []  # the values of an open check box or list of a form
        self._tables = OpenTables()

    def shown_parts(self, kind: str, has_even_pages: bool) -> list[str]:
        """Return the headers or footers that pages of the sections show."""
        return [
            part
            for section in self._sections
            for reference, pages, part in section.references
            if reference == kind
            and (pages != "first" or section.has_first_page)
            and (pages != "even" or has_even_pages)
        ]

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        if tag in _TEXTS:
            self._inside += 1
        elif tag == "w:r":
            self._runs.append(False)
        elif tag in ("w:p", "a:p"):
            # a text box is nested in a paragraph, but its words are separate from those around it
            self._break()
        elif tag in _APART:
            self._apart.append(_APART[tag])
        elif tag in _OF_TABLES:
            self._begin_cells(tag, attributes)
        elif tag in _INSTEAD:
            # a tab within the properties of a paragraph is a tab stop
            if self._runs and not self._properties:
                self._break() if _INSTEAD[tag] == "\n" else self._add(_INSTEAD[tag])
        elif tag in ("w:pPr", "w:sectPr"):
            self._properties += 1
            self._sections += [_Section()] if tag == "w:sectPr" else []
        elif tag == "w:vanish":
            if self._runs and not self._properties:
                self._runs[-1] = _is_on(attributes)
        elif tag.endswith("Reference") or tag == "w:titlePg":
            self._refer(tag, attributes)
        elif tag in ("w:fldChar", "w:fldSimple", "w:instrText"):
            self._field(tag, attributes)
        else:
            self._show(tag, attributes)
        return None

    def end(self, tag: str) -> None:
        if tag in _TEXTS:
            self._inside -= 1
        elif tag == "w:r" and self._runs:
            self._runs.pop()
        elif tag in ("w:p", "a:p"):
            self._break()
        elif tag in _APART:
            self._apart.pop()
        elif tag == "w:tr":
            if row := self._tables.end_row(self._text.pieces):
                self._text.replace(*row)
        elif tag == "w:tbl":
            if end := self._tables.end_table():
                self._text.add(end)
        elif tag in ("w:pPr", "w:sectPr"):
            self._properties -= 1
        elif tag == "w:instrText":
            self._is_instruction = False
        elif tag == "w:fldSimple" and self._fields:
            self._page_fields -= self._fields.pop().is_of_page()
        elif tag == "w:checkBox":
            self._add("☒" if self._form and self._form[-1] not in ("0", "false", "off") else "☐")
        elif tag == "w:ddList" and self._form:
            chosen, *entries = self._form if self._form[0].startswith("#") else ["#0", *self._form]
            with suppress(ValueError, IndexError):
                self._add(entries[int(chosen[1:])])

    def characters(self, text: str) -> None:
        if self._is_instruction and self._fields and not self._fields[-1].has_result:
            if len(self._fields[-1].instruction) < contents.VALUE_CHARACTERS:
                self._fields[-1].instruction += text[: contents.VALUE_CHARACTERS]
        elif self._inside:
            self._add(text)

    def _begin_cells(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin a table, a row or a cell, or note the columns that it spans."""
        if tag == "w:tbl":
            self._tables.begin_table()
        elif tag == "w:tr":
            self._text.end_line()
            self._tables.begin_row()
            self._tables.mark(False)
        elif tag == "w:tblHeader":
            self._tables.mark(_is_on(attributes))
        elif tag == "w:gridSpan":
            self._tables.widen(span(self._package.attribute(attributes, "w:val")))
        else:
            columns = span(self._package.attribute(attributes, "w:val")) if tag == "w:gridBefore" else 1
            self._tables.begin_cell(len(self._text.pieces), TableCell("", columns=columns))

    def _refer(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note a header or footer of the open section."""
        if not self._sections:
            return
        section = self._sections[-1]
        if tag == "w:titlePg":
            section.has_first_page = _is_on(attributes)
        elif relation := self._relations.get(self._package.attribute(attributes, "r:id")):
            kind = tag.rpartition(":")[2]
            section.references.append((kind, self._package.attribute(attributes, "w:type"), relation.target))

    def _field(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Follow a field: its instruction is not text, and the number of a page is none of the document."""
        if tag == "w:fldSimple":
            self._fields.append(_Field(self._package.attribute(attributes, "w:instr")))
            self._page_fields += self._fields[-1].is_of_page()
        elif tag == "w:instrText":
            self._is_instruction = True
        elif (kind := self._package.attribute(attributes, "w:fldCharType")) == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._page_fields -= self._fields[-1].is_of_page()
            self._fields[-1].has_result = True
            self._page_fields += self._fields[-1].is_of_page()
        elif kind == "end" and self._fields:
            self._page_fields -= self._fields.pop().is_of_page()

    def _show(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Write the text of symbols, form fields, word art, charts and diagrams."""
        if tag not in _SHOWN and "descr" not in attributes:
            return
        value = self._package.attribute(attributes, "w:val")
        if tag == "w:sym":
            with suppress(ValueError, OverflowError):
                self._add(chr(int(self._package.attribute(attributes, "w:char"), 16)))
        elif tag in ("w:checkBox", "w:ddList"):
            self._form = []
        elif tag in ("w:default", "w:checked"):
            self._form.append(value or "1")
        elif tag == "w:result":
            self._form.insert(0, f"#{value}")
        elif tag == "w:listEntry":
            self._form.append(value)
        elif tag == "w:comment":
            self._lines(self._package.attribute(attributes, "w:author"))
        elif tag == "v:textpath":
            self._lines(attributes.get("string", ""))
        elif tag in ("c:chart", "cx:chart", "dgm:relIds"):
            id = self._package.attribute(attributes, "r:dm" if tag == "dgm:relIds" else "r:id")
            if relation := self._relations.get(id):
                self._lines(drawn_text(self._package, relation.target))
        elif description := attributes.get("descr"):
            self._package.unread.append(("alternative texts", description.encode("utf-8", "replace")))

    def _lines(self, text: str) -> None:
        self._break()
        self._add(text)
        self._break()

    def _target(self) -> Text:
        """Return the text to which words belong at this place."""
        if self._apart:
            return self._package.apart(self._apart[-1])
        return self._package.apart(_HIDDEN) if self._runs and self._runs[-1] else self._text

    def _break(self) -> None:
        self._target().end_line()

    def _add(self, text: str) -> None:
        if not self._page_fields:
            self._target().add(text)


def _is_on(attributes: Mapping[str, str]) -> bool:
    values = [value for name, value in attributes.items() if name.endswith(" val")]
    return not values or values[0] not in ("0", "false", "off")
