"""Text in drawings, which all Office formats share: shapes, tables, charts and diagrams (DrawingML)."""

from collections.abc import Mapping

from neardup.io.formats.package import Handlers, Package, Text
from neardup.io.formats.tables import SEPARATOR

_TEXTS = {"a:t", "m:t"}
_VALUES = {"c:v", "cx:v", "cx:pt"}
_NUMBERS = {"c:numCache", "c:numLit"}


def shortest(number: str) -> str:
    """Return a number in the shortest form that is the same number; other text as it is.

    >>> [shortest(number) for number in ("13.125", "0.10000000000000001", "100.0", "1E3", "12345678901234567890")]
    ['13.125', '0.1', '100', '1000', '12345678901234567890']
    """
    try:
        if number.lstrip("-").isdecimal() and len(number) < 400:  # digits that a float could not hold
            return str(int(number))
        value = float(number)
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    except (ValueError, OverflowError):
        return number


class Shapes(Handlers):
    """Collects the text of shapes in the order of the file.

    ``values``: with the names and values of charts, where they are not the cells of the same workbook.
    """

    def __init__(self, package: Package, part: str, text: Text, values: bool = True) -> None:
        self.package, self.text = package, text
        self._relations = package.relations(part)
        self._values = values
        self._cell: list[str] | None = None  # the text of the open cell of a table
        self._row: list[str] = []
        self._open: str | None = None  # the element whose text is read
        self._is_number = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        """Handle the start of an element; numbers of slides are skipped."""
        if tag in _TEXTS or (tag in _VALUES and self._values):
            self._open = tag
        elif tag in _NUMBERS:
            self._is_number = True
        elif tag == "a:p":
            self._break()
        elif tag == "a:br":
            self.add("\n")
        elif tag == "a:tr":
            self._row = []
        elif tag == "a:tc":
            self._cell = []
        elif tag == "a:fld":
            return attributes.get("type", "").startswith("slidenum")
        elif tag in ("c:chart", "cx:chart"):
            self._add_related(self.package.attribute(attributes, "r:id"))
        elif tag == "dgm:relIds":
            self._add_related(self.package.attribute(attributes, "r:dm"))
        elif description := attributes.get("descr"):
            self.package.unread.append(("alternative texts", description.encode("utf-8", "replace")))
        return None

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        if tag == self._open:
            self._open = None
            if tag in _VALUES:
                self._break()
        elif tag in _NUMBERS:
            self._is_number = False
        elif tag == "a:p":
            self._break()
        elif tag == "a:tc" and self._cell is not None:
            self._row.append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag == "a:tr":
            self.text.line(SEPARATOR.join(self._row))

    def characters(self, text: str) -> None:
        """Handle text."""
        if self._open:
            self.add(shortest(text) if self._is_number else text)

    def add(self, text: str) -> None:
        """Append text to the open cell, or else to the text."""
        if self._cell is not None:
            self._cell.append(text)
        else:
            self.text.add(text)

    def _break(self) -> None:
        if self._cell is not None:
            self._cell.append("\n")
        else:
            self.text.end_line()

    def _add_related(self, id: str) -> None:
        if relation := self._relations.get(id):
            self.text.line(drawn_text(self.package, relation.target, self._values))


def drawn_text(package: Package, part: str, values: bool = True) -> str:
    """Return the text of a chart, a diagram or a page of shapes; each part is read once.

    ``values``: as for ``Shapes``.
    """
    if part not in package.drawn:
        text = Text()
        package.drawn[part] = ""  # a part that contains itself ends here
        package.parse(part, Shapes(package, part, text, values))
        package.drawn[part] = str(text)
    return package.drawn[part]
