"""Packages: zip archives of XML parts, as which Office, OpenDocument and EPUB store documents.

The parts of an Office package refer to each other by relations (ECMA-376 part 2). Elements and attributes have the
prefixes of ``_PREFIXES`` here, not those in the file; the namespaces of Strict Office files have the same prefixes
as the transitional ones, so that both are read alike.
"""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

from neardup.errors import InputError
from neardup.io.formats import content as contents

_UNUSABLE = (
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

_OFFICE = {
    "wordprocessingml/main": "w",
    "spreadsheetml/main": "x",
    "presentationml/main": "p",
    "officeDocument/math": "m",
    "officeDocument/relationships": "r",
    "drawingml/main": "a",
    "drawingml/chart": "c",
    "drawingml/diagram": "dgm",
    "drawingml/spreadsheetDrawing": "xdr",
    "drawingml/wordprocessingDrawing": "wp",
}
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES = {
    **{f"http://purl.oclc.org/ooxml/{name}": prefix for name, prefix in _OFFICE.items()},
    **{
        f"http://schemas.openxmlformats.org/{'/2006/'.join(name.split('/'))}": prefix
        for name, prefix in _OFFICE.items()
    },
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
    "http://schemas.microsoft.com/office/powerpoint/2018/8/main": "p188",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "tc",
    "urn:schemas-microsoft-com:vml": "v",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://www.w3.org/2001/04/xmlenc#": "enc",
    "http://www.w3.org/1999/xlink": "xlink",
    **{
        f"{_OPEN}{name}:1.0": name
        for name in ("office", "text", "table", "style", "presentation", "meta", "form", "manifest")
    },
    f"{_OPEN}drawing:1.0": "draw",
    f"{_OPEN}svg-compatible:1.0": "svg",
}
"""The prefix of each namespace that readers know; all others have the prefix ``?``."""

# Dublin Core properties that describe a document (ECMA-376 part 2, 8.3), and their metadata keys.
_DESCRIBED = {"dc:title": "title", "dc:creator": "author", "dcterms:created": "date", "meta:creation-date": "date"}

# The kinds of relations to content that people see and no reader reads, and the words for it.
_UNREAD = {
    "image": "images",
    "oleObject": "embedded objects",
    "aFChunk": "embedded documents",
    "subDocument": "embedded documents",
    "audio": "videos and sounds",
    "video": "videos and sounds",
    "media": "videos and sounds",
    "control": "form controls",
    "ctrlProp": "form controls",
    "vbaProject": "macros",
}
_EMBEDDED = "package"
"""The kind of relation to a whole file of another program."""


class Relation(NamedTuple):
    """A reference of a part to another one, or to a place outside of the package."""

    kind: str
    target: str
    is_external: bool


class _Names(dict[str, str]):
    """The names of elements and attributes with their prefixes, by the names that the parser reports."""

    def __missing__(self, name: str) -> str:
        space, _, local = name.rpartition(" ")
        self[name] = short = f"{_PREFIXES.get(space, '?')}:{local}" if space else local
        return short


class Handlers:
    """The handlers of the elements of a part; by default they do nothing."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        """Handle the start of an element. Return True to skip all that is in it, its end included."""
        return None

    def end(self, tag: str) -> None:
        """Handle the end of an element."""

    def characters(self, text: str) -> None:
        """Handle text."""


class People(Handlers):
    """The names of those who comment on a workbook or on slides, by their ids."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        if tag in ("tc:person", "p:cmAuthor", "p188:author"):
            name = attributes.get("displayName") or attributes.get("name", "")
            self.names[attributes.get("id", "")] = name


class Text:
    """Text that grows by ``pieces``, to the greatest length of the text of a document."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = 0

    def add(self, text: str) -> None:
        """Append text. Raises InputError if it becomes too long."""
        self.pieces.append(text)
        self._length += len(text)
        if self._length > contents.TEXT_CHARACTERS:
            raise contents.long_error()

    def end_line(self) -> None:
        """End the line, unless the text is at the beginning of one."""
        if self.pieces and not self.pieces[-1].endswith("\n"):
            self.add("\n")

    def line(self, text: str) -> None:
        """Append a line of its own, without the white space around it; none for an empty text."""
        if text := text.strip():
            self.end_line()
            self.add(f"{text}\n")

    def replace(self, place: int, text: str) -> None:
        """Replace the pieces from this one on. Raises InputError if the text becomes too long."""
        self._length -= sum(map(len, self.pieces[place:]))
        del self.pieces[place:]
        self.add(text)

    def __str__(self) -> str:
        return "".join(self.pieces).strip()


class Package:
    """An opened package, and the content besides its text.

    Raises InputError for a package that unpacks to more than the limit.
    """

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        # names of parts do not depend on the case of letters (ECMA-376 part 2, 6.2.2.3)
        self._parts = {info.filename.replace("\\", "/").lower(): info for info in self._archive.infolist()}
        # zipfile unpacks no part further than it claims
        if sum(info.file_size for info in self._archive.infolist()) > contents.UNPACKED_BYTES:
            raise InputError(
                f"It unpacks to more than {contents.UNPACKED_BYTES >> 20} MB",
                "Documents that people write",
                "Leave this file out if it is a zip bomb",
            )
        self._names = _Names()
        self.unread: list[tuple[str, bytes]] = []
        """Parts that people see and the text lacks: kinds in the plural, each with its content."""
        self.drawn: dict[str, str] = {}
        """The texts of the charts and diagrams read so far, by their parts."""
        self._apart: dict[str, Text] = {}
        self._relations: dict[str, dict[str, Relation]] = {}
        self._digests: dict[str, bytes] = {}
        self._embedded: dict[str, tuple[str, int, str]] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def names(self, folder: str) -> list[str]:
        """Return the names of all parts below a folder, in lower case and sorted."""
        return sorted(name for name in self._parts if name.startswith(folder) and not name.endswith("/"))

    def part(self, name: str) -> bytes:
        """Return a part as a whole. Raises KeyError if it is missing."""
        return self._archive.read(self._parts[name.lower()])

    def parse(self, name: str, handlers: Handlers) -> None:
        """Parse one part, which may contain no document type; the content of ``mc:Fallback`` is skipped.

        Raises KeyError if it is missing, and the errors of damaged archives and XML.
        """
        names, parser = self._names, expat.ParserCreate(namespace_separator=" ")
        depth = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            tag = names[name]
            if tag == "mc:Fallback" or handlers.start(tag, attributes):
                skip()

        def skip() -> None:
            nonlocal depth
            depth = 1
            parser.StartElementHandler, parser.EndElementHandler = deeper, higher
            parser.CharacterDataHandler = None

        def deeper(*_: object) -> None:
            nonlocal depth
            depth += 1

        def higher(_: str) -> None:
            nonlocal depth
            depth -= 1
            if not depth:
                read_on()

        def read_on() -> None:
            parser.StartElementHandler, parser.EndElementHandler = start, lambda name: handlers.end(names[name])
            parser.CharacterDataHandler = handlers.characters

        read_on()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_doctype
        with self._archive.open(self._parts[name.lower()]) as part:
            while block := part.read(_BLOCK_BYTES):
                parser.Parse(block, False)
        parser.Parse(b"", True)

    def attribute(self, attributes: Mapping[str, str], name: str) -> str:
        """Return the attribute of this name with its prefix, such as ``r:id``; "" without one."""
        return next((value for key, value in attributes.items() if self._names[key] == name), "")

    def prefixed_names(self, attributes: Mapping[str, str]) -> dict[str, str]:
        """Return attributes by their names with prefixes."""
        return {self._names[key]: value for key, value in attributes.items()}

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relations of a part (of the package for "") by their ids, with the full names of targets.

        Relations to parts that are missing are left out.
        """
        if name not in self._relations:
            folder, base = posixpath.split(name)
            described = posixpath.join(folder, "_rels", f"{base}.rels")
            reader = _Relations(folder)
            if described in self:
                self.parse(described, reader)
            known = {id: one for id, one in reader.relations.items() if one.is_external or one.target in self}
            self._relations[name] = known
        return self._relations[name]

    def related_parts(self, name: str, *kinds: str) -> Iterator[str]:
        """Yield the parts to which a part has relations of certain kinds, in the order of the relations."""
        for relation in self.relations(name).values():
            if relation.kind in kinds and not relation.is_external:
                yield relation.target

    def main_part(self) -> str:
        """Return the name of the part that is the document. Raises InputError if there is none."""
        if "_rels/.rels" not in self:
            raise KeyError("There is no item named '_rels/.rels' in the archive")
        for name in self.related_parts("", "officeDocument"):
            return name
        raise InputError("It is a zip file without a document", "An office file", "Check its format")

    def leave_unread(self, name: str) -> None:
        """Note the content of a part that is in no text: images, objects, sounds, macros."""
        for kind, target, is_external in self.relations(name).values():
            if is_external and kind in _UNREAD:
                self.unread.append((f"linked {_UNREAD[kind]}", target.encode("utf-8", "replace")))
            elif kind in _UNREAD:
                self.unread.append((_UNREAD[kind], self.digest(target)))
            elif kind == _EMBEDDED and not is_external:
                data = self.part(target)
                self._embedded[target] = posixpath.basename(target), len(data), sha256(data).hexdigest()

    def apart(self, kind: str) -> Text:
        """Return the text of this kind (in the plural, or uncountable) that is not in the text of the document."""
        return self._apart.setdefault(kind, Text())

    def digest(self, name: str) -> bytes:
        """Return the SHA-256 of a part. Raises KeyError if it is missing."""
        # a part may be shown a million times, and is unpacked once
        if name not in self._digests:
            self._digests[name] = sha256(self.part(name)).digest()
        return self._digests[name]

    def properties(self) -> dict[str, object]:
        """Return the title, the author and the creation date of an Office file."""
        return self.described_by(next(self.related_parts("", "core-properties"), ""))

    def described_by(self, name: str) -> dict[str, object]:
        """Return the title, the author and the creation date that a part has in elements of Dublin Core."""
        reader = _Properties()
        if name in self:
            self.parse(name, reader)
        date = reader.values.pop("date", "")
        return {
            **reader.values,
            **contents.cleaned_metadata(lambda: {"date": contents.utc(datetime.fromisoformat(date))}),
        }

    def content(self, text: str, say: Callable[[], Mapping[str, object]] | None = None) -> contents.Content:
        """Return the content of the document with this text, and the metadata of ``say`` or of Office."""
        if len(text) > contents.TEXT_CHARACTERS:
            raise contents.long_error()
        words = ((kind, str(apart).encode("utf-8", "replace")) for kind, apart in self._apart.items())
        self.unread += [(kind, content) for kind, content in words if content]
        beside = (*contents.sorted_attachments(self._embedded.values()), *contents.unread(self.unread))
        return contents.Content(text, contents.cleaned_metadata(say or self.properties), beside)


def read_package(data: bytes, kind: str, read: Callable[[Package], contents.Content]) -> contents.Content:
    """Return the result of ``read`` for a package. Raises InputError for one that is damaged."""
    try:
        return read(Package(data))
    except _UNUSABLE as error:
        raise InputError(
            f"It is not {contents.file_of(kind)}, or is damaged: {error}",
            f"{contents.file_of(kind).replace('a', 'A', 1)} that is complete and has no password",
            "Open it in its program and save it again",
        ) from error


def _refuse_doctype(*_: object) -> None:
    # Office allows no document type (ECMA-376 part 2, 8.1.4), which could declare entity bombs and external
    # entities
    raise InputError(
        "Its XML declares a document type", "XML without one, as office files have it", "Save it again"
    )


class _Relations(Handlers):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.relations: dict[str, Relation] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag != "rel:Relationship":
            return
        kind, target = attributes.get("Type", "").rpartition("/")[2], attributes.get("Target", "")
        is_external = attributes.get("TargetMode") == "External"
        if not is_external:
            with suppress(ValueError):
                target = posixpath.normpath(posixpath.join("/", self._folder, unquote(target))).lstrip("/")
        self.relations[attributes.get("Id", "")] = Relation(kind, target, is_external)


class _Properties(Handlers):
    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._key: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._key = _DESCRIBED.get(tag)

    def end(self, tag: str) -> None:
        self._key = None

    def characters(self, text: str) -> None:
        if self._key and len(self.values.get(self._key, "")) < contents.VALUE_CHARACTERS:
            self.values[self._key] = self.values.get(self._key, "") + text
