"""Extract the visible text of a web page, its title, its author and its canonical address."""

import re
from contextlib import suppress
from html.parser import HTMLParser

from neardup.io.formats.charsets import decode
from neardup.io.formats.content import (
    DIGITAL,
    SCAN,
    TEXT_CHARACTERS,
    VALUE_CHARACTERS,
    Content,
    cleaned_metadata,
    lack_error,
    long_error,
    unread,
)
from neardup.io.formats.tables import OpenTables, TableCell, span

# Elements whose content is not text of the page. noscript and iframe hold fallback content.
_SKIPPED = frozenset(
    (
        *("script", "style", "title", "template", "noscript", "iframe", "object", "noembed", "noframes"),
        "datalist",
    )
)

# Elements that show something of another address: the attribute with it, and their kind.
_LINKED = {
    "img": ("src", "images"),
    **dict.fromkeys(("iframe", "frame"), ("src", "frames")),
    **dict.fromkeys(("video", "audio"), ("src", "videos and sounds")),
    "embed": ("src", "embedded objects"),
    "object": ("data", "embedded objects"),
}

# Types of input elements whose value is not shown as text (HTML Standard, "The input element").
_UNWRITTEN = frozenset(("hidden", "password", "file", "image", "range", "color", "checkbox", "radio"))

# Elements within a line (HTML Standard, "Phrasing content"): the text continues across them. All other elements,
# known or not, end a word.
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
        *("i", "ins", "kbd", "label", "mark", "nobr", "q", "rb", "ruby", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)

# Elements that keep their lines: a row around them is no line.
_LINED = frozenset(("pre", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6"))
_GROUPS = ("thead", "tbody", "tfoot")

# Metadata that every file of hOCR has (hOCR 1.2, 2.1 and 2.2).
_OF_OCR = ("ocr-system", "ocr-capabilities")

_CHARSET = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)

# Browsers look for a charset this far (HTML Standard, "prescan a byte stream").
_HEAD_BYTES = 1024

_COMMENT_END = re.compile(r"--!?>")


def read_html(data: bytes) -> Content:
    """Return the visible text of a page, its title, its author, and the address that it states as its own.

    The charset is the one the page declares, else UTF-8 or Windows-1252.

    >>> read_html(b"<title>A page</title><p>One<!-- no --><br>t<b>w</b>o &amp; three<script>no()</script>")
    Content(text='One\\ntwo & three', metadata={'title': 'A page'}, attachments=())
    """
    reader = page_of(decoded_page(data))
    metadata, origin = cleaned_metadata(reader.metadata), SCAN if reader.is_ocr else DIGITAL
    return Content(reader.text().strip(), metadata, unread(reader.unread), origin)


def decoded_page(data: bytes) -> str:
    """Return the markup of a page, in the charset that it declares, else in UTF-8 or Windows-1252."""
    head = data[:_HEAD_BYTES]
    found = _CHARSET.search(head) or _XML_ENCODING.match(head)
    charset = found[1].decode("ascii") if found else None
    # A page in which an ASCII name could be found is not in UTF-16, even if it says so.
    if charset and charset.lower().startswith(("utf-16", "utf-32")):
        charset = "utf-8"
    return decode(data, charset)


def read_main(data: bytes) -> Content:
    """Return the main content of a page by trafilatura, without menus, footers and the like; its metadata.

    A page without a main content has no text; images and the like are not named. Raises InputError when
    trafilatura is not installed.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise lack_error("The main content of a web page", "trafilatura", error, "web") from None
    page = decoded_page(data)
    found = trafilatura.extract(page, include_comments=False) if page.strip() else None
    if len(found or "") > TEXT_CHARACTERS:
        raise long_error()
    reader = page_of(page)
    origin = SCAN if reader.is_ocr else DIGITAL
    return Content((found or "").strip(), cleaned_metadata(reader.metadata), (), origin)


def load_main() -> None:
    """Import the library for main content, which takes seconds, outside the time allowed for a file."""
    with suppress(ImportError):
        import trafilatura  # noqa: F401


def page_of(markup: str) -> "_VisibleText":
    """Return a page that was read: its text, its unread parts, its metadata."""
    reader = _VisibleText()
    reader.feed(markup)
    reader.close()
    return reader


class _VisibleText(HTMLParser):
    """The visible text of a page, its title, author and address, and the parts ``unread``.

    Collects tokens without building a tree: the time is linear, and deep nesting costs nothing. Cells of a row are
    one line, as :mod:`neardup.io.formats.tables` says."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._skipped: str | None = None
        self._depth = 0
        self._options: list[tuple[bool, list[str]]] | None = None  # of the list that is open: chosen, text
        self._tables = OpenTables()
        self.unread: list[tuple[str, bytes]] = []
        self.title: str | None = None
        self._is_titled = False
        self.author: str | None = None
        self.url: str | None = None
        self.is_ocr = False  # the page says that it is hOCR

    def metadata(self) -> dict[str, str | None]:
        """The title, the author and the address of the page."""
        return {"title": self.title, "author": self.author, "url": self.url}

    def text(self) -> str:
        """Return the visible text read so far."""
        self._choose()
        while self._tables:
            self._end_cells("table")
        return "".join(self._parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == self._skipped:
            self._depth += 1
        elif self._skipped is None:
            if tag in _SKIPPED:
                self._skipped, self._depth = tag, 1
            else:
                self._end_word(tag)
                self._begin_cells(tag, attrs)
            if tag == "meta":
                self._describe(dict(attrs))
            elif tag == "link" and self.url is None:
                self._locate(dict(attrs))
            elif tag in _LINKED:
                self._see(*_LINKED[tag], dict(attrs))
            elif tag in ("input", "select", "option"):
                self._fill(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # "<script/>" does not end the element in HTML; "<br/>" is a start tag like any other
        self.handle_starttag(tag, attrs)
        if tag in self.CDATA_CONTENT_ELEMENTS:
            self.set_cdata_mode(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped is None:
            self._end_word(tag)
            if tag == "select":
                self._choose()
            self._end_cells(tag)
        elif tag == self._skipped:
            self._depth -= 1
            if not self._depth:
                self._skipped = None
                self._is_titled |= tag == "title"  # SVG drawings have titles, too

    def handle_data(self, data: str) -> None:
        if self._skipped is None:
            # between rows, an empty line would end the table
            is_between = self._tables.is_between_rows and self._parts[-1:] == ["\n"]
            if self._options or not (is_between and data.isspace()):
                (self._options[-1][1] if self._options else self._parts).append(data)
        elif self._skipped == "title" and not self._is_titled and len(self.title or "") < VALUE_CHARACTERS:
            self.title = (self.title or "") + data

    # Skip everything that begins with "<!" or "<?" as the HTML Standard says: the standard library's parser reads
    # some of it as text, fails on some, and differs between versions of Python.

    def parse_comment(self, i: int, report: int = 1) -> int:
        """Return the end of the comment that begins at ``i``."""
        end = _COMMENT_END.search(self.rawdata, i + 2)
        return end.end() if end else len(self.rawdata)

    def parse_html_declaration(self, i: int) -> int:
        """Return the end of the declaration that begins at ``i``."""
        if self.rawdata.startswith("<!--", i):
            return self.parse_comment(i)
        end = self.rawdata.find(">", i)
        return end + 1 if end >= 0 else len(self.rawdata)

    parse_pi = parse_html_declaration

    def _see(self, place: str, kind: str, attributes: dict[str, str | None]) -> None:
        """Note an image or the like, by its address, and read the text in its place.

        One of no size counts visits, and nobody sees it.
        """
        if {"0", "1"} & {attributes.get(side) for side in ("width", "height")}:
            return
        self._show(attributes.get("alt"))
        self.unread.append((kind, (attributes.get(place) or "").encode("utf-8", "replace")))

    def _fill(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Read the value of a field, and note the mark of a box."""
        kind = (attributes.get("type") or "text").lower()
        if tag == "select":
            self._choose()
            # a list of one line shows the chosen option alone
            if "multiple" not in attributes and (attributes.get("size") or "1") in ("0", "1"):
                self._options = []
        elif tag == "option" and self._options is not None:
            self._options.append(("selected" in attributes, []))
        elif tag == "option" or kind in ("checkbox", "radio"):
            name, chosen = attributes.get("name"), {"checked", "selected"} & attributes.keys()
            mark = f"{name} {attributes.get('value')} {bool(chosen)}"
            self.unread.append(("check marks", mark.encode("utf-8", "replace")))
        elif kind == "image":
            self._see("src", "images", attributes)
        elif kind not in _UNWRITTEN:
            self._show(attributes.get("value") or attributes.get("placeholder"))

    def _choose(self) -> None:
        """End a list of options: of those of one line the last chosen one is shown, else the first."""
        options, self._options = self._options or [], None
        chosen = [texts for is_chosen, texts in options if is_chosen][-1:] or [texts for _, texts in options[:1]]
        self._show("".join(chosen[0]) if chosen else None)

    def _show(self, text: str | None) -> None:
        if text:
            self._parts += [text, "\n"]

    def _describe(self, attributes: dict[str, str | None]) -> None:
        name = (attributes.get("name") or "").lower()
        if self.author is None and name == "author":
            self.author = attributes.get("content")
        self.is_ocr |= name in _OF_OCR

    def _locate(self, attributes: dict[str, str | None]) -> None:
        """Take the canonical address (RFC 6596), if it is a whole one."""
        address = (attributes.get("href") or "").strip()
        is_canonical = "canonical" in (attributes.get("rel") or "").lower().split()
        if is_canonical and address.startswith(("https://", "http://")):
            self.url = address

    def _end_word(self, tag: str) -> None:
        if tag not in _INLINE and self._parts and self._parts[-1] != "\n":
            self._parts.append("\n")

    def _begin_cells(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell, or note that the open row has lines of its own."""
        if tag == "table":
            self._tables.begin_table()
        elif tag in _LINED:
            self._tables.keep_lines()
        elif tag in _GROUPS or tag == "tr":
            self._end_row()
            if tag == "tr":
                self._tables.begin_row()
            else:
                self._tables.mark(tag == "thead")
        elif tag in ("td", "th"):
            spans = dict(attrs)
            cell = TableCell("", tag == "th", span(spans.get("colspan")), span(spans.get("rowspan")))
            self._tables.begin_cell(len(self._parts), cell)

    def _end_cells(self, tag: str) -> None:
        """End a table or a row."""
        if tag in _GROUPS or tag in ("tr", "table"):
            self._end_row()
        if tag in _GROUPS:
            self._tables.mark(False)
        elif tag == "table" and (end := self._tables.end_table()):
            self._parts.append(end)

    def _end_row(self) -> None:
        if row := self._tables.end_row(self._parts):
            place, line = row
            self._parts[place:] = [line[:-1], "\n"]
