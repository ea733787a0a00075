"""Rich Text Format (RTF 1.9.1), read by the same rules as Word documents."""

import re
from dataclasses import dataclass, replace

from neardup.errors import InputError
from neardup.io.formats import content as contents
from neardup.io.formats.package import Text
from neardup.io.formats.tables import OpenTables, TableCell

_BEGIN, _HEAD_BYTES = b"{\\rtf", 100

# A control word, a byte in hexadecimal digits, a control symbol, a brace, or text; line ends mean nothing.
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)"
)

_BREAKS = {"par", "line", "sect", "page", "column", "cell", "nestcell", "row", "nestrow", "softline"}
_OF_TABLES = {"trowd", "trhdr", "cell", "nestcell", "row"}
_SYMBOLS = {
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "qmspace": "\u2005",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_CHARACTERS = {b"~": "\xa0", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}

# Groups whose text is elsewhere than in the body: the place of each.
_NOTES, _COMMENTS, _FIELD = "notes", "comments", "field"
_PLACES = {
    **{name: name for name in ("header", "headerf", "headerl", "headerr", "title", "author")},
    **{name: name for name in ("footer", "footerf", "footerl", "footerr")},
    "footnote": _NOTES,
    "annotation": _COMMENTS,
    "atnauthor": _COMMENTS,
    "fldinst": _FIELD,
    "pict": "images",
    "objdata": "embedded objects",
}
_SKIPPED = {
    *("fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "revtbl", "rsidtbl", "generator"),
    *("listtext", "pntext", "nonshppict", "themedata", "datastore", "xmlnstbl", "latentstyles", "filetbl"),
    *("subject", "operator", "keywords", "comment", "doccomm", "company", "category", "manager", "hlinkbase"),
    *("creatim", "revtim", "printim", "buptim", "template", "bkmkstart", "bkmkend", "upr", "sp", "xe", "tc"),
    "nonesttables",
}
_READ_STARRED = {"shpinst", "shptxt", "shppict", "annotation", "atnauthor", "fldinst", "objdata", "shpgrp"}
_PAGE_FIELDS = ("PAGE", "NUMPAGES", "SECTIONPAGES")
_BINARY = ("images", "embedded objects")

# Code pages by the number of a character set (RTF 1.9.1, \fcharset).
_CHARSETS = {
    **dict.fromkeys((0, 1), "cp1252"),
    77: "mac-roman",
    128: "cp932",
    129: "cp949",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}


@dataclass(frozen=True)
class _State:
    """The properties of text in a group, which end with it."""

    place: str = ""  # where the text goes; "" for the body
    is_skipped: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    font: int = -1
    unicode_bytes: int = 1  # that follow a character of Unicode, for readers that know none


def read_rtf(data: bytes) -> contents.Content:
    r"""Return the headers of an RTF file, its body, notes and footers; title and author.

    Deleted and hidden text, comments, images and objects are noted as unread. Raises InputError for data that is
    not an RTF file, or is cut off.

    >>> read_rtf(rb"{\rtf1 caf\'e9 {\b bold}\par {\v hidden}\u8364? 5}").text
    'café bold\n€ 5'
    """
    if not data[:_HEAD_BYTES].lstrip().startswith(_BEGIN):
        raise InputError("It is not an RTF file", "A file that begins with {\\rtf", "Check its format")
    reader = _Reader()
    reader.read(data)
    return reader.content()


class _Reader:
    def __init__(self) -> None:
        self._texts: dict[str, Text] = {}
        self._state = _State()
        self._states: list[_State] = []
        self._is_starred = False
        self._skip = 0  # bytes of text that stand for a character before them
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font_table = 0  # depth of the table of fonts
        self._pending = bytearray()  # bytes of characters, which may have several
        self._has_first_page = self._has_even_pages = False
        self._fields: list[str] = []
        self._binary: list[tuple[str, list[bytes]]] = []
        self._tables = OpenTables()

    def read(self, data: bytes) -> None:
        """Read all tokens of the file."""
        place = 0
        while match := _TOKEN.match(data, place):
            place = match.end()
            word, number, byte, symbol, brace, text = match.groups()
            if byte:
                self._byte(bytes.fromhex(byte.decode()))
            elif text:
                self._plain(text)
            elif word == b"bin":  # bytes of a picture
                end = place + max(0, int(number or 0))
                self._pending += data[place:end]
                place = end
            elif word or symbol or brace:
                self._flush()
                if word:
                    self._word(word.decode(), None if number is None else int(number))
                elif brace:
                    self._group(brace)
                    if not self._states:
                        return
                elif symbol == b"*":
                    self._is_starred = True
                elif symbol in b"\r\n":
                    self._end_line()
                else:
                    self._add(_CHARACTERS.get(symbol, ""))
        raise InputError("It ends within a group, and so is cut off", "A complete RTF file", "Save it again")

    def content(self) -> contents.Content:
        """Return the text in the order of the page, and the parts that it lacks."""
        pages = ["", "r", *["l"] * self._has_even_pages, *["f"] * self._has_first_page]
        headers, footers = ([self._text(f"{kind}{page}") for page in pages] for kind in ("header", "footer"))
        parts = dict.fromkeys([*headers, self._text(""), self._text(_NOTES), *footers])
        kinds = ("comments", "deleted text", "hidden text")
        unread = [(kind, self._text(kind).encode("utf-8", "replace")) for kind in kinds]
        unread += [(kind, b"".join(pieces)) for kind, pieces in self._binary]
        metadata = contents.cleaned_metadata(lambda: {key: self._text(key) for key in ("title", "author")})
        text = "\n".join(part for part in parts if part)
        return contents.Content(text, metadata, contents.unread(part for part in unread if part[1]))

    def _text(self, place: str) -> str:
        text = str(self._texts.get(place, ""))
        # characters beyond 65,535 are stored as two halves
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _group(self, brace: bytes) -> None:
        self._is_starred = False
        if brace == b"{":
            self._states.append(self._state)
        elif self._states:
            if self._state.place in (_NOTES, _COMMENTS) and self._states[-1].place != self._state.place:
                self._end_line()
            if self._state.place == _FIELD and self._states[-1].place != _FIELD:
                self._fields.append(self._text(_FIELD))
                self._texts.pop(_FIELD, None)
            self._state = self._states.pop()
            self._font_table = min(self._font_table, len(self._states))

    def _word(self, word: str, number: int | None) -> None:
        is_starred, self._is_starred = self._is_starred, False
        if word in _OF_TABLES and self._target() is self._texts.get(""):
            self._continue_table(word)
        elif word in _BREAKS:
            self._end_line()
        elif word in _SYMBOLS:
            self._add(_SYMBOLS[word])
        elif word == "u" and number is not None:
            self._add_unit(number % 65536)
        elif word in _PLACES:
            self._state = replace(self._state, place=_PLACES[word])
            if self._state.place in _BINARY:
                self._binary.append((self._state.place, []))
        elif word == "fldrslt":
            words = self._fields.pop().split() if self._fields else []
            self._state = replace(
                self._state, is_skipped=self._state.is_skipped or words[:1] == _page_field(words)
            )
        elif word in _SKIPPED or (is_starred and word not in _READ_STARRED):
            self._state = replace(self._state, is_skipped=True)
            self._font_table = len(self._states) if word == "fonttbl" else self._font_table
        else:
            self._set(word, number)

    def _continue_table(self, word: str) -> None:
        """Begin a row of the table in the body, its next cell, or end the row; rows that follow are one table."""
        text = self._texts.setdefault("", Text())
        text.end_line()
        if word == "row":
            if row := self._tables.end_row(text.pieces):
                text.replace(*row)
        elif word == "trhdr":
            self._tables.mark(True)
        elif word == "nestcell":
            self._tables.keep_lines()
        elif word == "cell" or self._tables.is_between_rows or not self._tables:
            if not self._tables:
                self._tables.begin_table()
            if word == "trowd":
                self._tables.begin_row()
                self._tables.mark(False)
            self._tables.begin_cell(len(text.pieces), TableCell(""))

    def _set(self, word: str, number: int | None) -> None:
        """Set a property of text or of the document."""
        if word == "f" and number is not None:
            self._state = replace(self._state, font=number)
        elif word == "fcharset" and self._font_table:
            self._fonts[self._state.font] = _CHARSETS.get(number or 0, self._page)
        elif word in ("v", "deleted"):
            name = {"v": "is_hidden", "deleted": "is_deleted"}[word]
            self._state = replace(self._state, **{name: number != 0})  # type: ignore[arg-type]
        elif word == "plain":
            self._state = replace(self._state, is_hidden=False, is_deleted=False, font=-1)
        elif word == "uc":
            self._state = replace(self._state, unicode_bytes=max(0, min(number or 0, 8)))
        elif word == "ansicpg" and number:
            self._page = "utf-8" if number == 65001 else f"cp{number}"
        elif word in ("mac", "pc", "pca"):
            self._page = {"mac": "mac-roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "titlepg":
            self._has_first_page = True
        elif word == "facingp":
            self._has_even_pages = True

    def _byte(self, byte: bytes) -> None:
        if self._skip:
            self._skip -= 1
        else:
            self._pending += byte

    def _plain(self, text: bytes) -> None:
        skipped, self._skip = text[self._skip :], max(0, self._skip - len(text))
        self._pending += skipped

    def _flush(self) -> None:
        """Write the bytes that were collected, in the code page of their font."""
        self._skip = 0
        if self._pending:
            data, self._pending = bytes(self._pending), bytearray()
            if self._state.place in _BINARY or self._state.is_skipped:
                if self._binary and not self._state.is_skipped:
                    self._binary[-1][1].append(data)
                return
            page = self._fonts.get(self._state.font, self._page)
            try:
                self._add(data.decode(page, "replace"))
            except LookupError:
                self._add(data.decode("cp1252", "replace"))

    def _add_unit(self, unit: int) -> None:
        """Add a UTF-16 code unit, before bytes that repeat it for readers that know none."""
        self._add(chr(unit))
        self._skip = self._state.unicode_bytes

    def _target(self) -> Text | None:
        state = self._state
        if state.is_skipped or state.place in _BINARY:
            return None
        kind = "deleted text" if state.is_deleted else "hidden text" if state.is_hidden else state.place
        return self._texts.setdefault(kind, Text())

    def _add(self, text: str) -> None:
        if text and (target := self._target()):
            if self._tables.is_between_rows and target is self._texts.get("") and not text.isspace():
                target.add(self._tables.end_table())
            target.add(text)

    def _end_line(self) -> None:
        if target := self._target():
            target.end_line()


def _page_field(words: list[str]) -> list[str]:
    return [word for word in words[:1] if word.upper() in _PAGE_FIELDS]
