"""Read the text of a PDF file with PDFium: the text that its pages show, filled forms and remarks included.

PDFium reads the text of a page alone. Forms and annotations are first made part of the page, as printing does.
"""

import ctypes
import hashlib
import math
import re
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import Any

from neardup.errors import InputError
from neardup.io.formats import content as contents
from neardup.io.formats.content import PAGES, TEXT_CHARACTERS, Content, lack_error, long_error, utc

# PDFium keeps state for the whole process: one call at a time, for all documents.
_ONE_AT_A_TIME = threading.Lock()

# PDFium returns a hyphen at the end of a line as U+0002 or U+FFFE, with or without the line end; the word
# continues.
_BROKEN_WORD = re.compile("[\x02\ufffe](?:\r?\n)?")

# D:20200131173000+01'00' (ISO 32000-1, 7.9.4); everything after the year is optional
_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([+-]\d{2})'?(\d{2})?)?", re.ASCII)


# The dictionary of an image is never packed (ISO 32000-1, 7.5.7); its bytes follow it.
_IMAGE = re.compile(rb"/Subtype\s*/Image\b")
_BEGIN, _END = re.compile(rb"stream\r?\n"), b"endstream"

# A scanned page is one image, which may lack the margins.
_COVERING = 0.8
_MOST_OBJECTS, _DEEPEST = 10_000, 8
"""Texts and images of a page that are looked at, and the depth of forms; with more, the origin is unknown."""

# Annotations of these types are no part of the page: places to click, windows that open, marks for printers.
_NOT_SHOWN = ("LINK", "POPUP", "PRINTERMARK", "TRAPNET")
_TYPES = ("TEXT", "FREETEXT", "FILEATTACHMENT", "WIDGET", *_NOT_SHOWN)
_CHECKED, _VALUED = ("CHECKBOX", "RADIOBUTTON"), ("TEXTFIELD", "COMBOBOX", "LISTBOX")


def read_pdf(data: bytes) -> Content:
    """Return the text of all pages, in the order in which the file draws it; title, author, date.

    The values of forms, free text and stamps follow the text of their page. A page that is an image has no text.
    Embedded files are attachments; images, comments, check marks and drawn annotations are unread parts.
    Raises InputError for a file that is damaged, needs a password, or has too many pages; and when pypdfium2 is
    not installed.
    """
    try:
        import pypdfium2
    except ImportError as error:
        raise lack_error("A PDF file", "pypdfium2", error) from None
    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise _unreadable_error(str(error)) from error
        others, origins = _Others(list(_images(data))), set[str]()
        try:
            document.init_forms()
            others.attach_embedded(document)
            text = _text(document, others, origins)
            metadata = contents.cleaned_metadata(lambda: _metadata(document))
            return Content(text, metadata, others.attachments(), one_origin(origins))
        except pypdfium2.PdfiumError as error:
            raise _unreadable_error(str(error)) from error
        finally:
            document.close()


def _text(document: Any, others: "_Others", origins: set[str]) -> str:
    """Return the text of all pages, and add their origins."""
    pages, length = len(document), 0
    if pages > PAGES:
        raise InputError(f"It has {pages} pages", f"At most {PAGES}", "Split it, or leave it out")
    parts = []
    for number in range(pages):
        with closing(document[number]) as page:
            origins.add(_origin(page))  # before forms are made part of the page
            shown = _Shown() if _pdfium().FPDFPage_GetAnnotCount(page) < 1 else others.of_page(page)
            before = text = _text_of(page)
        if shown.drawn:  # the page has changed, and is opened again
            with closing(document[number]) as page:
                text = _text_of(page)
        parts.append(shown.added_to(before, text))
        length += len(parts[-1])
        if length > TEXT_CHARACTERS:
            raise long_error()
    return _BROKEN_WORD.sub("", "\n".join(parts)).strip()


def one_origin(origins: Collection[str]) -> str:
    """Return the origin of a document by those of its pages, but for blank ones ("").

    >>> [one_origin(pages) for pages in (["scan", ""], ["digital"], ["digital", "scan"], [""])]
    ['scan', 'digital', 'unknown', 'unknown']
    """
    known = {*origins} - {""}
    return known.pop() if len(known) == 1 else contents.UNKNOWN


def _origin(page: Any) -> str:
    """Return the origin of a page: a scan, if an image covers it, and no text is visible above that.

    OCR writes text that is not shown (ISO 32000-1, 9.3.6, mode 3), or below the image. Without such an image,
    visible text is digital. A page without any text and without such an image is blank, "".
    """
    area, is_covered, is_visible, is_read = abs(page.get_width() * page.get_height()), False, False, False
    for count, (is_text, shown) in enumerate(_objects(page)):
        if count == _MOST_OBJECTS:
            return contents.UNKNOWN
        is_read |= is_text
        if is_text:
            is_visible |= bool(shown)
        elif shown >= _COVERING * area:
            is_covered, is_visible = True, False
    if is_covered:
        return contents.UNKNOWN if is_visible else contents.SCAN
    return contents.DIGITAL if is_visible else contents.UNKNOWN if is_read else ""


def _objects(page: Any) -> Iterator[tuple[bool, float]]:
    """Yield the texts and images of a page, in the order in which they are drawn, also those within forms.

    Yields whether it is a text, and 1 if that is visible, or the area of an image.
    """
    raw, box, matrix = _pdfium(), [ctypes.c_float() for _ in range(4)], _pdfium().FS_MATRIX()
    # what is still to be drawn: a function for its objects, their number, the next one, and the scale of areas
    levels = [(partial(raw.FPDFPage_GetObject, page), raw.FPDFPage_CountObjects(page), 0, 1.0)]
    while levels:
        get, size, number, scale = levels.pop()
        if number >= size:
            continue
        levels.append((get, size, number + 1, scale))
        one = get(number)
        kind = raw.FPDFPageObj_GetType(one)
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            yield True, float(raw.FPDFTextObj_GetTextRenderMode(one) != raw.FPDF_TEXTRENDERMODE_INVISIBLE)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE and raw.FPDFPageObj_GetBounds(one, *box):
            left, bottom, right, top = (side.value for side in box)
            yield False, abs((right - left) * (top - bottom)) * scale
        elif kind == raw.FPDF_PAGEOBJ_FORM and len(levels) == _DEEPEST:
            yield from ((False, math.inf), (True, 1.0))  # not looked at: the origin is unknown
        elif kind == raw.FPDF_PAGEOBJ_FORM and raw.FPDFPageObj_GetMatrix(one, matrix):
            inner = scale * abs(matrix.a * matrix.d - matrix.b * matrix.c)
            levels.append((partial(raw.FPDFFormObj_GetObject, one), raw.FPDFFormObj_CountObjects(one), 0, inner))


def _text_of(page: Any) -> str:
    with closing(page.get_textpage()) as layer:
        text: str = layer.get_text_range()
    return text


def _images(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the digest of each image in the file, packed as it is, in the order of the file."""
    place = 0
    while found := _IMAGE.search(data, place):
        begin = _BEGIN.search(data, found.end())
        place = data.find(_END, begin.end()) if begin else -1
        if begin is None or place < 0:
            return
        yield "images", hashlib.sha256(memoryview(data)[begin.end() : place]).digest()


@dataclass
class _Shown:
    """The forms and annotations of a page: whether they were ``drawn`` on it, and the texts that they show.

    An appearance may be missing, empty or older than the text.
    """

    drawn: bool = False
    values: list[str] = field(default_factory=list)

    def added_to(self, before: str, text: str) -> str:
        """Return the text of the page with those that it lacks; ``before`` is its text without appearances."""
        if not self.values:
            return text
        there = "".join(text.removeprefix(before).split())
        return "\n".join((text, *(value for value in self.values if "".join(value.split()) not in there)))


@dataclass
class _Others:
    """The parts of a PDF outside its text: those ``unread``, and the ``files`` that it carries."""

    unread: list[tuple[str, bytes]]
    files: list[tuple[str, int, str]] = field(default_factory=list)

    def attachments(self) -> tuple[contents.Attachment, ...]:
        return (*contents.sorted_attachments(self.files), *contents.unread(self.unread))

    def attach_embedded(self, document: Any) -> None:
        """Add the files and the XFA form of the document, whose pages other programs make."""
        raw = _pdfium()
        for number in range(raw.FPDFDoc_GetAttachmentCount(document)):
            self.attach(raw.FPDFDoc_GetAttachment(document, number))
        for number in range(max(0, raw.FPDF_GetXFAPacketCount(document))):
            packet = _bytes(lambda *buffer, k=number: raw.FPDF_GetXFAPacketContent(document, k, *buffer))
            self.unread.append(("XFA forms", packet))

    def attach(self, file: Any) -> None:
        if not file:
            return
        raw = _pdfium()
        name = _string(lambda *buffer: raw.FPDFAttachment_GetName(file, *buffer))
        content = _bytes(lambda *buffer: raw.FPDFAttachment_GetFile(file, *buffer))
        self.files.append((name or "attachment", len(content), hashlib.sha256(content).hexdigest()))

    def of_page(self, page: Any) -> _Shown:
        """Draw the forms and annotations of a page on it, without hidden ones; add those that are not read."""
        raw, shown, gone = _pdfium(), _Shown(), []
        types = _names_by_number("FPDF_ANNOT_", _TYPES)
        for number in range(raw.FPDFPage_GetAnnotCount(page)):
            annotation = raw.FPDFPage_GetAnnot(page, number)
            if not annotation:
                continue
            try:
                type = raw.FPDFAnnot_GetSubtype(annotation)
                kind = types.get(type, str(type))
                if kind not in _NOT_SHOWN and not self._read(_Annotation(annotation, kind, page.formenv), shown):
                    gone.append(number)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)
        for number in reversed(gone):
            raw.FPDFPage_RemoveAnnot(page, number)
        if shown.drawn and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_FAIL:
            self.unread.append(("annotations", b"%d" % len(self.unread)))
        return shown

    def _read(self, annotation: "_Annotation", shown: _Shown) -> bool:
        """Read the texts of an annotation, else add it as unread; return whether it is to be drawn."""
        if not annotation.is_shown:
            return False
        if annotation.has("OC"):  # on a layer, which may be hidden
            self.unread.append(("annotations on layers", annotation.drawing))
            return False
        if annotation.of == "WIDGET":
            return self._read_field(annotation, shown)
        if annotation.of == "FREETEXT":
            shown.drawn |= annotation.has("AP")
            shown.values.append(annotation.text("Contents"))
            return True
        if annotation.of == "FILEATTACHMENT":
            self.attach(_pdfium().FPDFAnnot_GetFileAttachment(annotation.raw))
        if annotation.of not in ("TEXT", "FILEATTACHMENT"):
            self.unread.append(("annotations", annotation.drawing))
            shown.drawn |= annotation.has("AP")
        if annotation.text("Contents") and not annotation.has("StateModel"):
            self.unread.append(("comments", annotation.text("Contents").encode("utf-8", "replace")))
        return True

    def _read_field(self, annotation: "_Annotation", shown: _Shown) -> bool:
        kind = annotation.field
        if kind in _CHECKED:  # a glyph of a font of signs
            self.unread.append(("check marks", annotation.mark))
            return False
        drawn = annotation.has("AP")
        shown.drawn |= drawn
        if kind == "TEXTFIELD" or (kind in _VALUED and not drawn):  # a list may show another text than its value
            shown.values.append(annotation.value)
        return True


class _Annotation:
    """An annotation of a page."""

    def __init__(self, raw: Any, of: str, form: Any) -> None:
        self.raw, self.of, self._form, self._api = raw, of, form, _pdfium()

    @property
    def is_shown(self) -> bool:
        """Whether people see it; the flag "invisible" is meant for annotations of unknown types alone."""
        flags, api = self._api.FPDFAnnot_GetFlags(self.raw), self._api
        if flags & (api.FPDF_ANNOT_FLAG_HIDDEN | api.FPDF_ANNOT_FLAG_NOVIEW):
            return False
        if flags & api.FPDF_ANNOT_FLAG_INVISIBLE:
            api.FPDFAnnot_SetFlags(self.raw, flags & ~api.FPDF_ANNOT_FLAG_INVISIBLE)
        return True

    def has(self, key: str) -> bool:
        return bool(self._api.FPDFAnnot_HasKey(self.raw, key.encode()))

    def text(self, key: str) -> str:
        return _string(lambda *buffer: self._api.FPDFAnnot_GetStringValue(self.raw, key.encode(), *buffer))

    @property
    def drawing(self) -> bytes:
        """Its place and its appearance, to be compared only."""
        box = self._api.FS_RECTF()
        self._api.FPDFAnnot_GetRect(self.raw, box)
        place = " ".join(f"{side:.1f}" for side in (box.left, box.bottom, box.right, box.top))
        appearance = _string(lambda *buffer: self._api.FPDFAnnot_GetAP(self.raw, 0, *buffer))
        return f"{self.of} {place} {self.text('Name')} {appearance}".encode("utf-8", "replace")

    @property
    def field(self) -> str:
        """The type of a field; an empty string for one of no form."""
        number = self._api.FPDFAnnot_GetFormFieldType(self._form, self.raw) if self._form else -1
        return _names_by_number("FPDF_FORMFIELD_", (*_CHECKED, *_VALUED)).get(number, "")

    @property
    def value(self) -> str:
        """The value of a field; an empty string for a password."""
        if self._api.FPDFAnnot_GetFormFieldFlags(self._form, self.raw) & self._api.FPDF_FORMFLAG_TEXT_PASSWORD:
            return ""
        return _string(lambda *buffer: self._api.FPDFAnnot_GetFormFieldValue(self._form, self.raw, *buffer))

    @property
    def mark(self) -> bytes:
        """The name of a box to be checked, and whether it is."""
        name = _string(lambda *buffer: self._api.FPDFAnnot_GetFormFieldName(self._form, self.raw, *buffer))
        checked = self._api.FPDFAnnot_IsChecked(self._form, self.raw)
        return f"{name} {bool(checked)}".encode("utf-8", "replace")


def _pdfium() -> Any:
    import pypdfium2.raw

    return pypdfium2.raw


@cache
def _names_by_number(prefix: str, names: tuple[str, ...]) -> dict[int, str]:
    """Return names of PDFium's constants, without their prefix, by number."""
    return {getattr(_pdfium(), prefix + name): name for name in names}


def _string(fill: Callable[..., int]) -> str:
    """Return the string (UTF-16 and a NUL) that a function of PDFium writes into a buffer."""
    size = fill(None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    fill(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _bytes(fill: Callable[..., int]) -> bytes:
    """Return the bytes that a function of PDFium writes into a buffer."""
    size = ctypes.c_ulong()
    if not fill(None, 0, size) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    fill(buffer, size.value, size)
    return buffer.raw


def _metadata(document: Any) -> dict[str, object]:
    known = document.get_metadata_dict(skip_empty=True)
    date = contents.cleaned_metadata(lambda: {"date": _date(known["CreationDate"])})
    return {"title": known.get("Title"), "author": known.get("Author"), **date}


def _date(raw: str) -> str:
    """Return a PDF date in the format of the metadata. Raises an exception for an invalid date.

    >>> _date("D:20200131173000+01'00'"), _date("D:2020")
    ('2020-01-31T16:30:00Z', '2020-01-01T00:00:00Z')
    """
    found = _DATE.match(raw)
    assert found is not None
    year, *rest = found.groups("")
    month, day, hour, minute, second, zone_hour, zone_minute = rest
    date = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    return utc(datetime.fromisoformat(f"{date}{zone_hour}:{zone_minute or '00'}" if zone_hour else date))


def _unreadable_error(reason: str) -> InputError:
    if "password" in reason.lower():
        return InputError("It is protected by a password", "A PDF that opens without one", "Remove the password")
    return InputError(
        f"It is not a PDF file, or is damaged: {reason}", "A complete PDF file", "Save or download it again"
    )
