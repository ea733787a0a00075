"""The zip archives that office files are: their parts, parsed as streams, their properties, and their limits."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any
from xml.parsers import expat

from neardup.errors import InputError
from neardup.io.formats.content import described, utc
from neardup.io.formats.limits import UNPACKED_BYTES, VALUE_CHARACTERS

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
    if total > UNPACKED_BYTES:
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
        if key and len(found.get(key, "")) < VALUE_CHARACTERS:
            found[key] = found.get(key, "") + text

    parse_part(archive, name, lambda element, _: inside.append(element), lambda _: inside.clear(), characters)
    date = described(lambda: {"date": utc(datetime.fromisoformat(found.pop("date")))})
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
            if unpacked > UNPACKED_BYTES:
                raise _too_large(f"{name} in it")
            parser.Parse(block, False)
    parser.Parse(b"", True)


def _refuse_doctype(*_: Any) -> None:
    # OOXML allows no document type (ECMA-376 part 2, 8.1.4), which could declare entity bombs and external
    # entities
    raise InputError("Its XML declares a document type", "XML without one, as DOCX demands", "Save it again")


def _too_large(what: str) -> InputError:
    return InputError(
        f"{what} unpacks to more than {UNPACKED_BYTES >> 20} MB",
        "Documents that people write",
        "Leave this file out if it is a zip bomb",
    )
