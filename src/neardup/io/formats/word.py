"""Read the text of a DOCX file, its title, its author, and its creation date.

The XML is parsed as a stream, so that only the text is held in memory.
"""

from __future__ import annotations

import io
import posixpath
import zipfile

from neardup.errors import InputError
from neardup.io.formats.content import Content, described
from neardup.io.formats.limits import TEXT_CHARACTERS
from neardup.io.formats.packed import UNUSABLE, parse_part, part_of, properties
from neardup.io.formats.refusals import too_long

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


def read_docx(data: bytes) -> Content:
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
            return Content(words.text(), described(lambda: properties(archive)))
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
        if self._length > TEXT_CHARACTERS:
            raise too_long()


def _local(name: str, namespaces: tuple[str, ...]) -> str | None:
    """Return the name without its namespace if that is one of the given ones, else None."""
    return next((name[len(space) :] for space in namespaces if name.startswith(space)), None)


def _is_on(attributes: dict[str, str]) -> bool:
    values = [value for name, value in attributes.items() if name.endswith(" val")]
    return not values or values[0] not in ("0", "false", "off")
