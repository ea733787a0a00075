"""Office files, zip archives of XML: DOCX with ``expat``, the others with markitdown.

Only the converters of markitdown are used, on bytes in memory: no plugin runs, and nothing is fetched. What they
return is Markdown.
"""

import io
import os
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any
from xml.parsers import expat

from neardup.errors import InputError
from neardup.io.formats import content as contents

UNUSABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    OSError,
    expat.ExpatError,
    ValueError,
)
"""The errors of a damaged or unusual archive or XML."""

_BLOCK_BYTES = 1 << 16

# Dublin Core properties that describe a package (ECMA-376 part 2, 8.3), and their metadata keys.
_DESCRIBED = {
    "http://purl.org/dc/elements/1.1/ title": "title",
    "http://purl.org/dc/elements/1.1/ creator": "author",
    "http://purl.org/dc/terms/ created": "date",
}


def require_sound(archive: zipfile.ZipFile, *, doctypes: bool) -> None:
    """Refuse an archive that unpacks to more than the limit or, without ``doctypes``, whose XML declares one.

    For archives that a library is about to parse. Raises InputError, and the errors of damaged archives.
    """
    total = sum(info.file_size for info in archive.infolist())  # zipfile unpacks no part further than it claims
    if total > contents.UNPACKED_BYTES:
        raise _too_large("It")
    for info in () if doctypes else archive.infolist():
        if info.filename.lower().endswith((".xml", ".rels", ".vml")):
            with archive.open(info) as part, suppress(_RootError):
                _require_no_doctype(part)


class _RootError(Exception):
    """The root element begins: no document type can follow."""


def _require_no_doctype(part: Any) -> None:
    def root(*_: Any) -> None:
        raise _RootError

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = _refuse_doctype, root
    while block := part.read(_BLOCK_BYTES):
        parser.Parse(block, False)


def part_of(archive: zipfile.ZipFile, kind: str) -> str | None:
    """Return the name of the part of this kind, from the package's relationships."""
    targets: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.endswith(" Relationship") and attributes.get("Type", "").endswith(kind):
            targets.append(attributes.get("Target", "").lstrip("/"))

    parse_part(archive, "_rels/.rels", start, lambda name: None, lambda text: None)
    return targets[0] if targets else None


def properties(archive: zipfile.ZipFile) -> dict[str, object]:
    """Return the title, the author and the creation date of an office file."""
    name = part_of(archive, "/core-properties")
    if name is None:
        return {}
    found: dict[str, str] = {}
    inside: list[str] = []

    def characters(text: str) -> None:
        key = _DESCRIBED.get(inside[-1]) if inside else None
        if key and len(found.get(key, "")) < contents.VALUE_CHARACTERS:
            found[key] = found.get(key, "") + text

    parse_part(archive, name, lambda element, _: inside.append(element), lambda _: inside.clear(), characters)
    date = contents.described(lambda: {"date": contents.utc(datetime.fromisoformat(found.pop("date")))})
    return {**found, **date}


def parse_part(
    archive: zipfile.ZipFile,
    name: str,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    characters: Callable[[str], None],
) -> None:
    """Parse one part of the package, allowing only XML's own entities and a limited number of bytes."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = _refuse_doctype
    unpacked = 0
    with archive.open(name) as part:
        while block := part.read(_BLOCK_BYTES):
            unpacked += len(block)
            if unpacked > contents.UNPACKED_BYTES:
                raise _too_large(f"{name} in it")
            parser.Parse(block, False)
    parser.Parse(b"", True)


def _refuse_doctype(*_: Any) -> None:
    # OOXML allows no document type (ECMA-376 part 2, 8.1.4), which could declare entity bombs and external
    # entities
    raise InputError("Its XML declares a document type", "XML without one, as DOCX demands", "Save it again")


def _too_large(what: str) -> InputError:
    return InputError(
        f"{what} unpacks to more than {contents.UNPACKED_BYTES >> 20} MB",
        "Documents that people write",
        "Leave this file out if it is a zip bomb",
    )


_SLIDE = re.compile(r"<!-- Slide number: \d+ -->\n?")
# pandas writes these into empty cells, and above columns without a name
_EMPTY_CELL = re.compile(r"(?<=\| )(?:NaN|Unnamed: \d+)(?= \|)")


def read_pptx(data: bytes) -> contents.Content:
    """Return the slides of a presentation in order: titles, texts, tables, notes; title, author, date.

    Raises InputError for data that is not a PPTX file, is damaged, protected or unpacks to more than the limit,
    and when markitdown is not installed.
    """
    return _read(data, "PptxConverter", ".pptx", "A presentation", lambda text: _SLIDE.sub("", text))


def read_xlsx(data: bytes) -> contents.Content:
    """Return the sheets of a workbook as tables, each below its name; title, author, date.

    Raises InputError as ``read_pptx`` does.
    """
    return _read(data, "XlsxConverter", ".xlsx", "A spreadsheet", lambda text: _EMPTY_CELL.sub("", text))


def read_epub(data: bytes) -> contents.Content:
    """Return title, authors and chapters of an e-book, in reading order.

    Raises InputError as ``read_pptx`` does.
    """
    return _read(data, "EpubConverter", ".epub", "An e-book", str)


# markitdown imports onnxruntime, which (1.32) stores a device id in the home folder, and sends events to its maker
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def load() -> None:
    """Import the library, which takes seconds, outside the time allowed for a file."""
    with suppress(ImportError):
        import markitdown.converters  # noqa: F401


def _read(data: bytes, converter: str, suffix: str, what: str, cleaned: Callable[[str], str]) -> contents.Content:
    try:
        from markitdown import MissingDependencyException, StreamInfo, converters
    except ImportError as error:
        raise contents.missing(what, "markitdown", error, "office") from None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # pages of e-books declare document types, and are not parsed as XML
            require_sound(archive, doctypes=suffix == ".epub")
            said = contents.described(lambda: properties(archive))
        made = getattr(converters, converter)().convert(io.BytesIO(data), StreamInfo(extension=suffix))
    except (InputError, MemoryError):
        raise
    except MissingDependencyException:
        package = f"markitdown[{suffix[1:]}]"
        raise contents.missing(what, package, ModuleNotFoundError(name=package), "office") from None
    except Exception as error:  # the libraries behind it fail in many ways on damaged files
        raise InputError(
            f"It is damaged, or not a file of the type {suffix[1:].upper()}: {type(error).__name__}: {error}",
            "A complete file without a password",
            "Open it in its program and save it again",
        ) from error
    if len(made.markdown) > contents.TEXT_CHARACTERS:
        raise contents.too_long()
    title = contents.described(lambda: {"title": made.title})
    return contents.Content(cleaned(made.markdown).strip(), {**title, **said})


# Namespaces of ECMA-376, transitional and strict.
_WORD = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main ",
    "http://purl.oclc.org/ooxml/wordprocessingml/main ",
)
_MATH = (
    "http://schemas.openxmlformats.org/officeDocument/2006/math ",
    "http://purl.oclc.org/ooxml/officeDocument/math ",
)
_FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"

# Text moved away by a tracked change, and phonetic readings above characters.
_SKIPPED = {"moveFrom", "rt"}

_INSTEAD = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def read_docx(data: bytes) -> contents.Content:
    """Return paragraphs, tables, text boxes, then footnotes and endnotes of a DOCX file; title, author, date.

    Headers, footers, comments, deleted and hidden text are left out. Raises InputError for data that is not a DOCX
    file, is damaged, protected, or unpacks to more than the limit.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            main = part_of(archive, "/officeDocument")
            if main is None:
                raise InputError("It is a zip file without a document", "A DOCX file", "Check its format")
            notes = [posixpath.join(posixpath.dirname(main), name) for name in ("footnotes.xml", "endnotes.xml")]
            words = _Words()
            for name in (main, *(note for note in notes if note in archive.namelist())):
                parse_part(archive, name, words.start, words.end, words.characters)
            return contents.Content(words.text(), contents.described(lambda: properties(archive)))
    except UNUSABLE as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> InputError:
    return InputError(
        f"It is not a DOCX file, or is damaged: {error}",
        "A DOCX file that is complete and has no password",
        "Open it in a word processor and save it again",
    )


class _Words:
    """The handlers of the parser, and the text so far."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._inside = 0  # depth within text elements
        self._skipping = 0  # depth within elements whose content is left out
        self._runs: list[bool] = []  # for each open run, whether it is hidden

    def text(self) -> str:
        return "".join(self._parts).strip()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name, _WORD)
        if self._skipping or name == _FALLBACK or local in _SKIPPED:
            self._skipping += 1
        elif local == "t" or _local(name, _MATH) == "t":
            self._inside += 1
        elif local == "r":
            self._runs.append(False)
        elif local == "vanish" and self._runs:
            self._runs[-1] = _is_on(attributes)
        elif local in _INSTEAD:
            # a tab within the properties of a paragraph is a tab stop, outside of any run
            if self._runs:
                self._add(_INSTEAD[local])
        elif local == "p":
            # a text box is nested in a paragraph, but its words are separate from those around it
            self._add("\n")

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        local = _local(name, _WORD)
        if local == "t" or _local(name, _MATH) == "t":
            self._inside -= 1
        elif local == "r" and self._runs:
            self._runs.pop()
        elif local == "p":
            self._add("\n")

    def characters(self, text: str) -> None:
        if self._inside and not self._skipping:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._runs and self._runs[-1]:
            return
        if text == "\n" and self._parts and self._parts[-1] == "\n":
            return
        self._parts.append(text)
        self._length += len(text)
        if self._length > contents.TEXT_CHARACTERS:
            raise contents.too_long()


def _local(name: str, namespaces: tuple[str, ...]) -> str | None:
    """Return the name without its namespace if that is one of the given ones, else None."""
    return next((name[len(space) :] for space in namespaces if name.startswith(space)), None)


def _is_on(attributes: dict[str, str]) -> bool:
    values = [value for name, value in attributes.items() if name.endswith(" val")]
    return not values or values[0] not in ("0", "false", "off")
