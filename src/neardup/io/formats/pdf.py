"""Read the text of a PDF file with PDFium; its title, its author, and its creation date."""

import re
import threading
from datetime import datetime
from typing import Any

from neardup.errors import InputError
from neardup.io.formats.content import PAGES, TEXT_CHARACTERS, Content, described, missing, too_long, utc

# PDFium keeps state for the whole process: one call at a time, for all documents.
_ONE_AT_A_TIME = threading.Lock()

# PDFium returns a hyphen at the end of a line as U+0002 or U+FFFE, with or without the line end; the word
# continues.
_BROKEN_WORD = re.compile("[\x02\ufffe](?:\r?\n)?")

# D:20200131173000+01'00' (ISO 32000-1, 7.9.4); everything after the year is optional
_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([+-]\d{2})'?(\d{2})?)?", re.ASCII)


def read_pdf(data: bytes) -> Content:
    """Return the text of all pages, in the order in which the file draws it; title, author, date.

    A page that is an image has no text. Raises InputError for a file that is damaged, needs a password, or has too
    many pages; and when pypdfium2 is not installed.
    """
    try:
        import pypdfium2
    except ImportError as error:
        raise missing("A PDF file", "pypdfium2", error) from None
    with _ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise _unreadable(str(error)) from error
        try:
            return Content(_text(document), described(lambda: _metadata(document)))
        except pypdfium2.PdfiumError as error:
            raise _unreadable(str(error)) from error
        finally:
            document.close()


def _text(document: Any) -> str:
    pages, length = len(document), 0
    if pages > PAGES:
        raise InputError(f"It has {pages} pages", f"At most {PAGES}", "Split it, or leave it out")
    parts = []
    for number in range(pages):
        page = document[number]
        try:
            layer = page.get_textpage()
            try:
                parts.append(layer.get_text_range())
            finally:
                layer.close()
        finally:
            page.close()
        length += len(parts[-1])
        if length > TEXT_CHARACTERS:
            raise too_long()
    return _BROKEN_WORD.sub("", "\n".join(parts)).strip()


def _metadata(document: Any) -> dict[str, object]:
    known = document.get_metadata_dict(skip_empty=True)
    date = described(lambda: {"date": _date(known["CreationDate"])})
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


def _unreadable(reason: str) -> InputError:
    if "password" in reason.lower():
        return InputError("It is protected by a password", "A PDF that opens without one", "Remove the password")
    return InputError(
        f"It is not a PDF file, or is damaged: {reason}", "A complete PDF file", "Save or download it again"
    )
