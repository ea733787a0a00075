"""E-books (EPUB): the pages in reading order, each read as a web page is."""

import posixpath
from collections.abc import Mapping
from urllib.parse import unquote

from neardup.errors import InputError
from neardup.io.formats import content as contents
from neardup.io.formats.package import Handlers, Package, Text, read_package
from neardup.io.formats.web import read_html

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_UNREAD = {"image": "images", "audio": "videos and sounds", "video": "videos and sounds"}


def read_epub(data: bytes) -> contents.Content:
    """Return the pages of an e-book in reading order, notes included; title, author.

    Raises InputError for data that is not an EPUB file, is damaged, has encrypted pages, or unpacks to more than
    the limit.
    """
    return read_package(data, "EPUB", _read)


def _read(package: Package) -> contents.Content:
    """Read the pages in the order of the spine."""
    container = _Container()
    package.parse(_CONTAINER, container)
    book = _Book(posixpath.dirname(container.book))
    package.parse(container.book, book)
    locked = _Encryption()
    if _ENCRYPTION in package:
        package.parse(_ENCRYPTION, locked)
    text = Text()
    for name in (book.files[id] for id in book.spine if book.kinds.get(id) in _PAGES):
        if name in locked.files:
            raise InputError("Its pages are encrypted", "An e-book without copy protection", "Leave this file out")
        page = read_html(package.part(name))
        package.unread += [(one.name, bytes.fromhex(one.sha256)) for one in page.attachments]
        text.line(page.text)
        text.add("\n")
    for id, name in book.files.items():
        if (kind := _UNREAD.get(book.kinds[id].partition("/")[0])) and name in package:
            package.unread.append((kind, package.digest(name)))
    return package.content(str(text), lambda: package.described_by(container.book))


class _Container(Handlers):
    """The place of the package document, the first of them if an e-book has several."""

    def __init__(self) -> None:
        self.book = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag.endswith("rootfile") and not self.book:
            self.book = attributes.get("full-path", "")


class _Book(Handlers):
    """The files of an e-book by id, with their media types, and the ids of its pages in reading order."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.files: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.spine: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        id = attributes.get("id", "")
        local = tag.rpartition(":")[2]  # books older than EPUB 2 have no namespace
        if local == "item":
            place = posixpath.join("/", self._folder, unquote(attributes.get("href", "")))
            self.files[id] = posixpath.normpath(place).lstrip("/")
            self.kinds[id] = attributes.get("media-type", "").lower()
        elif local == "itemref":
            self.spine.append(attributes.get("idref", ""))


class _Encryption(Handlers):
    """The encrypted files of an e-book; fonts are often among them."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "enc:CipherReference":
            self.files.add(unquote(attributes.get("URI", "")))
