"""Workbooks (XLSX): the cells of every sheet as they are stored, comments, text boxes and charts.

A cell has its own value: a number in the shortest form that is the same number, a date as ISO writes it, the
stored result of a formula. How a cell shows its number (decimals, percent, currency) is not read.
"""

import re
from collections.abc import Mapping
from datetime import date, timedelta

from neardup.io.formats import content as contents
from neardup.io.formats.drawings import drawn_text, shortest
from neardup.io.formats.package import Handlers, Package, People, Text, read_package
from neardup.io.formats.tables import TableCell, TableRows

# Built-in formats of dates and times (ECMA-376 part 1, 18.8.30), those of East Asia included.
_DATES = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
_TIMES = {18, 19, 20, 21, 22, 45, 47}
_SPANS = {46}

# In a format: quoted text, escaped characters, and brackets, but for those of elapsed hours, minutes and seconds.
_LITERAL = re.compile(r'"[^"]*"|[\\_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]|General|AM/PM|A/P', re.IGNORECASE)
_SPAN = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)

_LAST_DAY = 2_958_465
_DAY_SECONDS = 86_400

# The codes in headers and footers for fonts, places and numbers (ECMA-376 part 1, 18.3.1.39).
_PRINT_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|\d+|[^&])')

_PRINTED = {f"x:{which}{where}" for which in ("odd", "even", "first") for where in ("Header", "Footer")}
_COLUMN = re.compile("[A-Z]{1,3}")
_MOST_COLUMNS = 16_384
_TEXTS = ("s", "str", "inlineStr")

_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


def read_xlsx(data: bytes) -> contents.Content:
    """Return the sheets of a workbook, each row a line below the name of its sheet; title, author, date.

    Comments, text boxes, charts, and the headers and footers of prints follow the cells of their sheet. The text
    of a workbook in which no sheet has any is empty. Raises InputError for data that is not an XLSX file, is
    damaged, protected, or unpacks to more than the limit.
    """
    return read_package(data, "XLSX", _read)


def _read(package: Package) -> contents.Content:
    """Read the sheets in the order of their tabs."""
    main = package.main_part()
    book = _Book(package)
    package.parse(main, book)
    package.leave_unread(main)
    relations = package.relations(main)
    shared, styles = _Strings(), _Styles()
    for name in package.related_parts(main, "sharedStrings"):
        package.parse(name, shared)
    for name in package.related_parts(main, "styles"):
        package.parse(name, styles)
    for name in package.related_parts(main, "richValueRel"):  # images within cells
        package.leave_unread(name)
    people = People()
    for name in package.related_parts(main, "person"):
        package.parse(name, people)
    text, has_content = Text(), False
    for title, state, id in book.sheets:
        sheet = Text()
        if id in relations and not relations[id].is_external:
            reader = _Sheet(sheet, shared.strings, styles.kinds(), book.is_1904)
            _read_sheet(package, relations[id].target, reader, people.names)
        text.line(title if state in ("", "visible") else f"{title} (hidden)")
        body = str(sheet)
        has_content = has_content or bool(body)
        text.add(f"{body}\n\n" if body else "\n")
    return package.content(str(text) if has_content else "")


def _read_sheet(package: Package, name: str, reader: "_Sheet", people: Mapping[str, str]) -> None:
    text = reader.text
    package.parse(name, reader)
    package.leave_unread(name)
    if reader.formulas:
        package.unread.append(("formulas", "\n".join(reader.formulas).encode("utf-8", "replace")))
    threads = list(package.related_parts(name, "threadedComment"))
    for part in threads or package.related_parts(name, "comments"):
        package.parse(part, _Comments(text, people))
    for part in package.related_parts(name, "drawing"):
        text.line(drawn_text(package, part, values=False))
        package.leave_unread(part)
    for part in package.related_parts(name, "vmlDrawing"):
        package.leave_unread(part)
    for line in reader.printed:
        text.line(line)


class _Book(Handlers):
    """The sheets of a workbook: names, states and relations; and where it begins to count days."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.sheets: list[tuple[str, str, str]] = []
        self.is_1904 = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "x:sheet":
            id = self._package.attribute(attributes, "r:id")
            self.sheets.append((attributes.get("name", ""), attributes.get("state", ""), id))
        elif tag == "x:workbookPr":
            self.is_1904 = attributes.get("date1904") in ("1", "true")


class _Strings(Handlers):
    """The texts that cells share; readings of East Asian characters are left out, as cells do not show them."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._pieces: list[str] = []
        self._is_open = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool:
        self._is_open = tag == "x:t"
        return tag == "x:rPh"

    def end(self, tag: str) -> None:
        self._is_open = False
        if tag == "x:si":
            self.strings.append(unescaped_cell("".join(self._pieces)))
            self._pieces = []

    def characters(self, text: str) -> None:
        if self._is_open:
            self._pieces.append(text)


def unescaped_cell(text: str) -> str:
    """Return a text of a cell with its escaped characters.

    >>> unescaped_cell("one_x000D_two, _x005F_x000D_")
    'one\\rtwo, _x000D_'
    """
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


class _Styles(Handlers):
    """The formats of cells: only dates and times matter."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._cells: list[str] = []
        self._is_inside = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "x:numFmt":
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif tag == "x:cellXfs":
            self._is_inside = True
        elif tag == "x:xf" and self._is_inside:
            self._cells.append(attributes.get("numFmtId", "0"))

    def end(self, tag: str) -> None:
        if tag == "x:cellXfs":
            self._is_inside = False

    def kinds(self) -> list[str]:
        """Return for each style of cells the letters d for dates, t for times, s for spans of time."""
        return [self._kind(id) for id in self._cells]

    def _kind(self, id: str) -> str:
        if id in self._codes:
            return kind_of_code(self._codes[id])
        number = int(id) if id.isdecimal() else 0
        return "s" * (number in _SPANS) or "d" * (number in _DATES) + "t" * (number in _TIMES)


def kind_of_code(code: str) -> str:
    """Return the letters of the values that a format shows: d for dates, t for times, s for spans; "" for others.

    >>> [kind_of_code(code) for code in ('yyyy-mm-dd', '[h]:mm', 'h:mm AM/PM', '#,##0.00 "days"', '[Red]0.00')]
    ['d', 's', 't', '', '']
    """
    shown = _LITERAL.sub("", code.partition(";")[0]).lower()
    if _SPAN.search(shown):
        return "s"
    has_time = "h" in shown or "s" in shown
    has_date = "y" in shown or "d" in shown or ("m" in shown and not has_time)
    return "d" * has_date + "t" * has_time


def moment(days: float, kind: str, is_1904: bool) -> str | None:
    """Return a date or time in ISO form, exact to the millisecond; None for a number that is neither.

    ``days``: since the last day of 1899, or the first of 1904. ``kind``: of its format, as for ``kind_of_code``.

    >>> [moment(days, kind, False) for days, kind in ((45413.0, "d"), (45413.75, "d"), (0.75, "t"), (1.5, "s"))]
    ['2024-05-01', '2024-05-01T18:00:00', '18:00:00', '36:00:00']
    """
    if not 0 <= days <= _LAST_DAY + 1:
        return None
    day, thousandths = divmod(round(days * _DAY_SECONDS * 1000), _DAY_SECONDS * 1000)
    if kind == "s":
        return _clock(day * _DAY_SECONDS * 1000 + thousandths)
    if is_1904:
        shown = (date(1904, 1, 1) + timedelta(day)).isoformat()
    elif day == 60:  # a day that spreadsheets have, and the calendar has not
        shown = "1900-02-29"
    elif day:
        shown = (date(1899, 12, 30) + timedelta(day + (day < 60))).isoformat()
    else:
        shown = "1900-01-00"
    if not day and "d" not in kind:
        return _clock(thousandths)
    return f"{shown}T{_clock(thousandths)}" if thousandths else shown


def _clock(thousandths: int) -> str:
    seconds, part = divmod(thousandths, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{f'.{part:03}' if part else ''}"


class _Sheet(Handlers):
    """Writes the rows of a sheet into a text, cell by cell; cells without a value take no room."""

    def __init__(self, text: Text, strings: list[str], kinds: list[str], is_1904: bool) -> None:
        self.text = text
        self.formulas: list[str] = []
        self.printed: list[str] = []
        self._strings, self._kinds, self._is_1904 = strings, kinds, is_1904
        self._rows = TableRows()
        self._line = 0  # of the last row
        self._column = 0  # of the last cell of the row
        self._row: list[TableCell] = []
        self._cell: Mapping[str, str] = {}
        self._pieces: dict[str, list[str]] = {}  # the texts in the open cell by element: x:v, x:f, x:t
        self._open: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        if tag == "x:c":
            self._cell, self._pieces = attributes, {}
        elif tag in ("x:v", "x:f", "x:t") or tag in _PRINTED:
            self._open = tag
            self._pieces.setdefault(tag, [])
        elif tag == "x:row":
            number = attributes.get("r", "")
            self._column, self._row = 0, []
            self._begin_row(int(number) if number.isdecimal() and len(number) < 8 else self._line + 1)
        return tag == "x:rPh"

    def characters(self, text: str) -> None:
        if self._open:
            self._pieces[self._open].append(text)

    def end(self, tag: str) -> None:
        self._open = None
        if tag == "x:c":
            self._end_cell()
        elif tag == "x:row":
            self.text.end_line()
            if line := self._rows.sheet_line(self._row):
                self.text.add(line)
            else:
                self._end_table()
        elif tag == "x:sheetData":
            self._end_table()
        elif tag in _PRINTED:
            self.printed.append(_PRINT_CODE.sub(" ", "".join(self._pieces.pop(tag, ()))))

    def _begin_row(self, number: int) -> None:
        if number > self._line + 1:  # files leave out empty rows
            self._end_table()
        self._line = number

    def _end_table(self) -> None:
        """End the rows that follow each other; those after an empty row may have other heads."""
        if end := self._rows.end():
            self.text.add(end)
        self._rows = TableRows()

    def _end_cell(self) -> None:
        place = self._cell.get("r", "")
        self._column = column_number(place) or self._column + 1
        if "x:f" in self._pieces:
            self.formulas.append(f"{place}={self._text('x:f')}")
        value = self._value()
        if value:
            self._row += [TableCell("")] * (self._column - 1 - len(self._row))
            self._row.append(TableCell(value, is_head=self._cell.get("t") in _TEXTS))

    def _text(self, tag: str) -> str:
        return "".join(self._pieces.get(tag, ()))

    def _value(self) -> str:
        """Return the value of the cell that ends, as people write it."""
        kind, stored = self._cell.get("t", "n"), self._text("x:v")
        if kind == "inlineStr":
            return unescaped_cell(self._text("x:t"))
        if not stored:
            # the formula is all that a file without results holds
            return f"={self._text('x:f')}" if "x:f" in self._pieces and kind != "str" else ""
        if kind == "s":
            number = int(stored) if stored.strip().isdecimal() else -1
            return self._strings[number] if 0 <= number < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if stored.strip() in ("1", "true") else "FALSE"
        if kind == "n":
            return self._number(stored)
        return unescaped_cell(stored)  # texts of formulas, errors, and dates in ISO form

    def _number(self, stored: str) -> str:
        style = self._cell.get("s", "0")
        format = self._kinds[int(style)] if style.isdecimal() and int(style) < len(self._kinds) else ""
        if format:
            try:
                if written := moment(float(stored), format, self._is_1904):
                    return written
            except (ValueError, OverflowError):  # no number
                return stored
        return shortest(stored)


def column_letters(number: int) -> str:
    """Return the letters of a column by its number, from 1.

    >>> column_letters(1), column_letters(28)
    ('A', 'AB')
    """
    letters = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        letters = chr(65 + letter) + letters
    return letters


def column_number(place: str) -> int:
    """Return the number of the column of a cell, from 1; 0 for an unreadable place.

    >>> column_number("A1"), column_number("AB7"), column_number("")
    (1, 28, 0)
    """
    letters = _COLUMN.match(place)
    number = 0
    for letter in letters[0] if letters else "":
        number = 26 * number + ord(letter) - 64
    return number if number <= _MOST_COLUMNS else 0


class _Comments(Handlers):
    """Writes comments into a text, each with its cell and its author."""

    def __init__(self, text: Text, people: Mapping[str, str]) -> None:
        self._text, self._people = text, people
        self._authors: list[str] = []
        self._place = self._author = ""
        self._pieces: list[str] = []
        self._open: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag == "x:comment":
            number = attributes.get("authorId", "")
            is_known = number.isdecimal() and int(number) < len(self._authors)
            self._author = self._authors[int(number)] if is_known else ""
        elif tag == "tc:threadedComment":
            self._author = self._people.get(attributes.get("personId", ""), "")
        self._open = tag if tag in ("x:author", "x:t", "tc:text") else None
        if tag in ("x:comment", "tc:threadedComment"):
            self._place = attributes.get("ref", "")
        return tag == "x:rPh"

    def characters(self, text: str) -> None:
        if self._open:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        if tag == "x:author":
            self._authors.append("".join(self._pieces))
        elif tag in ("x:comment", "tc:threadedComment"):
            who = f", {self._author.strip()}" if self._author.strip() else ""
            self._text.line(f"Comment on {self._place}{who}: {unescaped_cell(''.join(self._pieces))}")
        if tag in ("x:author", "x:comment", "tc:threadedComment"):
            self._pieces = []
        self._open = None
