"""Extract the text of documents: PDF, office files, HTML and mail; plain text is decoded only.

``read`` and ``extract`` work in this process: a hostile file can make them run as long, or fail as badly, as the
parser of its format allows. ``Extractor`` does the same in a separate process, which is ended when a file exceeds
its limits.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Literal, TypeAlias

from neardup.errors import InputError
from neardup.io.formats.content import DIGITAL, FILE_BYTES, Content, file_of
from neardup.runtime import installed_version
from neardup.settings import described_point, entry_points_of, loaded_point

DocumentFormat: TypeAlias = Literal[
    "text", "html", "pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "rtf", "epub", "eml", "msg", "registered"
]

SUFFIXES: dict[str, DocumentFormat] = {
    **dict.fromkeys((".txt", ".text", ".md", ".markdown"), "text"),
    **dict.fromkeys((".html", ".htm"), "html"),
    ".pdf": "pdf",
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "docx"),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), "pptx"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), "xlsx"),
    **dict.fromkeys((".odt", ".ott"), "odt"),
    **dict.fromkeys((".ods", ".ots"), "ods"),
    **dict.fromkeys((".odp", ".otp"), "odp"),
    ".rtf": "rtf",
    ".epub": "epub",
    ".eml": "eml",
    ".msg": "msg",
}
"""The format of each suffix; other suffixes may be ``registered``, and files with none of them are plain text."""

_PLACES: dict[DocumentFormat, tuple[str, str]] = {
    "html": ("web", "read_html"),
    "pdf": ("pdf", "read_pdf"),
    "docx": ("word", "read_docx"),
    "pptx": ("slides", "read_pptx"),
    "xlsx": ("workbook", "read_xlsx"),
    **dict.fromkeys(("odt", "ods", "odp"), ("opendocument", "read_odf")),
    "rtf": ("rtf", "read_rtf"),
    "epub": ("ebook", "read_epub"),
    "eml": ("mail", "read_eml"),
    "msg": ("mail", "read_msg"),
}

_PACKAGES = ("pypdfium2", "olefile", "charset-normalizer", "trafilatura")

GROUP = "neardup.extractors"
"""The group of the entry points of other packages. The name of one is a suffix ("wpd"), its object a function from
the bytes of a file to its text. They cannot replace a format of this program, so that its texts depend on no
other package."""

_SUFFIX = re.compile(r"\.?([a-z0-9]{1,16})")

Pages: TypeAlias = Literal["all", "main"]
"""The text of a web page: all of it that is visible, or its main content."""

_ZIPS: tuple[DocumentFormat, ...] = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub")

# Formats that tell themselves whether their text is that of a scan; programs write the others.
_TELLING: tuple[DocumentFormat, ...] = ("html", "pdf")

_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

# PDF readers look for the header in this many bytes (ISO 32000-1, implementation note 13).
_HEADER_BYTES = 1024


def extract(data: bytes, name: str, pages: Pages = "all") -> str:
    r"""Return the text of a document, from the bytes of the file and its name.

    Plain text and Markdown are decoded as UTF-8 and otherwise left unchanged. Raises InputError for a file that is
    damaged, protected, in another format than its name indicates, or over a limit of
    :mod:`neardup.io.formats.content`; and when the package for its format is not installed.

    ``pages``: all visible text of a web page, or its main content.

    >>> extract(b"# A title\n\ntext", "a.md"), extract(b"<h1>A title</h1>text", "a.html")
    ('# A title\n\ntext', 'A title\ntext')
    """
    return read(data, name, pages).text


def read(data: bytes, name: str, pages: Pages = "all") -> Content:
    r"""Read the text of a document as ``extract`` does, with the metadata of the file.

    >>> read(b"From: Ann <ann@example.org>\nSubject: boats\n\nThree of them.", "a.eml").metadata
    {'from': ['ann@example.org', 'Ann'], 'subject': 'boats'}
    """
    format = format_of(name, data)
    if format == "text":
        return Content(data.decode("utf-8", "replace"))
    refuse_size(len(data))
    if format == "registered":
        return read_registered(_suffix(name), data)
    if format in ("eml", "msg"):
        format = _mail_of(format, data)
    _check_signature(format, data)
    module, function = ("web", "read_main") if format == "html" and pages == "main" else _PLACES[format]
    read_it: Callable[[bytes], Content] = getattr(import_module(f"neardup.io.formats.{module}"), function)
    content = read_it(data)
    return content if format in _TELLING else replace(content, origin=DIGITAL)


def load(name: str, pages: Pages = "all") -> None:
    """Import the libraries that read files of this name, if that takes seconds."""
    if format_by_name(name) == "html" and pages == "main":
        import_module("neardup.io.formats.web").load_main()


def format_by_name(name: str) -> DocumentFormat | None:
    """Return the format of a file name's suffix, or None for an unknown suffix."""
    suffix = _suffix(name)
    return SUFFIXES.get(suffix) or ("registered" if suffix in registered_formats() else None)


def format_of(name: str, data: bytes) -> DocumentFormat:
    """Return the format for the suffix; without a known suffix, PDF if the file begins as a PDF, else text.

    >>> format_of("a.HTM", b""), format_of("download", b"%PDF-1.7"), format_of("a.txt", b"%PDF-1.7")
    ('html', 'pdf', 'text')
    """
    return format_by_name(name) or ("pdf" if data.startswith(_PDF) else "text")


def packages() -> dict[str, str]:
    """Return the versions of the installed format packages, since a version may change the extracted text."""
    versions = {name: installed_version(name) for name in _PACKAGES}
    return {name: version for name, version in versions.items() if version is not None} | _registered_versions()


def registered_formats() -> Mapping[str, EntryPoint]:
    """Return the entry point of each suffix (".wpd"), without those of other names."""
    return {f".{name}": point for name, point in entry_points_of(GROUP, _SUFFIX).items()}


def read_registered(suffix: str, data: bytes) -> Content:
    """Return the text of a file by the function registered for its suffix.

    Raises InputError if the function cannot be imported, or returns anything but a str. Its own errors pass.
    """
    point = registered_formats()[suffix]
    extract = loaded_point(f"extractor for {suffix}", point)
    try:
        text = extract(data)
    except SystemExit as error:
        raise InputError(
            f"The extractor for {suffix} ({point.value}) ends the program: {error}", "A str"
        ) from error
    if not isinstance(text, str):
        raise InputError(f"The extractor for {suffix} ({point.value}) returns {type(text).__name__}", "A str")
    return Content(text)


def _registered_versions() -> dict[str, str]:
    """Return the package and version of each registered extractor, by ``neardup.extractors`` and suffix."""
    return {f"{GROUP} {suffix}": described_point(point) for suffix, point in registered_formats().items()}


def _suffix(name: str) -> str:
    return os.path.splitext(name.lower())[1]


def refuse_size(size: int | None) -> None:
    """Raise InputError for a file that is too large to read as a whole."""
    if size is not None and size > FILE_BYTES:
        raise InputError(f"It has {size >> 20} MB", f"At most {FILE_BYTES >> 20} MB", "Split it, or leave it out")


def _mail_of(format: DocumentFormat, data: bytes) -> DocumentFormat:
    """Return the format of a mail: programs save both kinds under both suffixes."""
    if data.startswith(_OLE):
        return "msg"
    return "eml" if import_module("neardup.io.formats.mail").is_mail(data) else format


def _check_signature(format: DocumentFormat, data: bytes) -> None:
    """Refuse a file that does not begin as its format requires; the error names the actual format, if known."""
    if format == "pdf" and _PDF not in data[:_HEADER_BYTES]:
        raise InputError("It is not a PDF file", 'A file that begins with "%PDF-"', "Check its format")
    kind = format.upper()
    one = file_of(kind)
    if format in _ZIPS and data.startswith(_OLE):
        raise InputError(
            f"It is protected by a password, or an old .{format[:-1]} file",
            f"{one[0].upper()}{one[1:]} that opens without a password",
            f"Open it in its program and save it as {kind} without one",
        )
    if format in _ZIPS and not data.startswith(_ZIP):
        raise InputError(
            f"It is not {one}",
            f"{one[0].upper()}{one[1:]}, which is a zip file",
            "Check its format",
        )
    if format == "msg" and not data.startswith(_OLE):
        raise InputError("It is not an Outlook message", "A .msg file as Outlook saves it", "Check its format")
