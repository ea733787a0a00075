"""Read presentations, spreadsheets and e-books with markitdown: the text of the Markdown that it makes of them.

Only its converters are used, on bytes in memory: no plugin runs, and nothing is fetched.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress

from neardup.errors import InputError
from neardup.io.formats.content import Content, described
from neardup.io.formats.limits import TEXT_CHARACTERS
from neardup.io.formats.packed import properties, require_sound
from neardup.io.formats.refusals import missing, too_long

_SLIDE = re.compile(r"<!-- Slide number: \d+ -->\n?")
# pandas writes these into empty cells, and above columns without a name
_EMPTY_CELL = re.compile(r"(?<=\| )(?:NaN|Unnamed: \d+)(?= \|)")


def read_pptx(data: bytes) -> Content:
    """Return the slides of a presentation in order: titles, texts, tables, notes; title, author, date.

    Raises InputError for data that is not a PPTX file, is damaged, protected or unpacks to more than the limit,
    and when markitdown is not installed.
    """
    return _read(data, "PptxConverter", ".pptx", "A presentation", lambda text: _SLIDE.sub("", text))


def read_xlsx(data: bytes) -> Content:
    """Return the sheets of a workbook as tables, each below its name; title, author, date.

    Raises InputError as ``read_pptx`` does.
    """
    return _read(data, "XlsxConverter", ".xlsx", "A spreadsheet", lambda text: _EMPTY_CELL.sub("", text))


def read_epub(data: bytes) -> Content:
    """Return title, authors and chapters of an e-book, in reading order.

    Raises InputError as ``read_pptx`` does.
    """
    return _read(data, "EpubConverter", ".epub", "An e-book", str)


def load() -> None:
    """Import the library, which takes seconds, outside the time allowed for a file."""
    with suppress(ImportError):
        import markitdown.converters  # noqa: F401


def _read(data: bytes, converter: str, suffix: str, what: str, cleaned: Callable[[str], str]) -> Content:
    try:
        from markitdown import MissingDependencyException, StreamInfo, converters
    except ImportError as error:
        raise missing(what, "markitdown", error, "office") from None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # pages of e-books declare document types, and are not parsed as XML
            require_sound(archive, doctypes=suffix == ".epub")
            said = described(lambda: properties(archive))
        made = getattr(converters, converter)().convert(io.BytesIO(data), StreamInfo(extension=suffix))
    except (InputError, MemoryError):
        raise
    except MissingDependencyException:
        package = f"markitdown[{suffix[1:]}]"
        raise missing(what, package, ModuleNotFoundError(name=package), "office") from None
    except Exception as error:  # the libraries behind it fail in many ways on damaged files
        raise InputError(
            f"It is damaged, or not a file of the type {suffix[1:].upper()}: {type(error).__name__}: {error}",
            "A complete file without a password",
            "Open it in its program and save it again",
        ) from error
    if len(made.markdown) > TEXT_CHARACTERS:
        raise too_long()
    title = described(lambda: {"title": made.title})
    return Content(cleaned(made.markdown).strip(), {**title, **said})
