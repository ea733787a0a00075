"""Identify files without text by their first bytes.

A file is text until its bytes prove otherwise. Bytes that are valid UTF-8, UTF-16 or UTF-32 are text, however they
begin. So are 8-bit texts: their letters are invalid UTF-8, but they contain none of the control characters that
make up a tenth of packed data. Signatures only name the kind of a file whose bytes are not text.
"""

import codecs
import os
import re

from neardup.errors import InputError

HEAD_BYTES = 64 << 10
"""Number of bytes that are examined at the start of a file."""

NOT_EXTRACTED = "unreadable"
"""A document of a known format whose text could not be extracted."""

BINARY = "binary"
"""A file without text, of a kind that is not in the list."""

MAILBOX = "mailbox"

DATA = "data file"
"""A file of rows in a folder of documents."""

RESOURCE = "web resource"
"""A style sheet, script or data of a web page, by its media type."""

# Controls that occur in texts: line ends, tabs, page feeds, backspaces of old printers, terminal escapes.
_TEXT_CONTROLS = b"\t\n\v\f\r\b\x1b\x1a"
_CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in _TEXT_CONTROLS)

# Packed and random data have 25 in 256; a text that went through a faulty program has a few.
_CONTROL_SHARE = 1 / 25
_NUL_SHARE = 1 / 1000
_SHOWN_SHARE = 0.95
_ASCII, _ASCII_SHARE = bytes(range(32, 127)), 0.7

# (offset, kind, beginnings): signatures from the definitions of the formats; the first that fits counts
_SIGNATURES: tuple[tuple[int, str, tuple[bytes, ...]], ...] = (
    (0, "image", (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")),
    (0, "image", (b"\0\0\1\0", b"8BPS\0", b"\xff\x0a", b"\0\0\0\x0cjP  ")),
    (8, "image", (b"WEBP",)),
    (4, "image", (b"ftypheic", b"ftypavif")),
    (4, "audio", (b"ftypM4A",)),
    (4, "video", (b"ftyp",)),
    (8, "video", (b"AVI ",)),
    (0, "video", (b"\x1aE\xdf\xa3", b"FLV\1", b"\0\0\1\xba", b"\0\0\1\xb3")),
    (8, "audio", (b"WAVE",)),
    (0, "audio", (b"ID3", b"OggS\0", b"fLaC\0", b"\xff\xfb", b"\xff\xf3", b"MThd\0")),
    (0, "gzip", (b"\x1f\x8b",)),
    (0, "zstd", (b"\x28\xb5\x2f\xfd",)),
    (0, "lz4", (b"\x04\x22\x4d\x18",)),
    (0, "bzip2", (b"BZh",)),
    (0, "xz", (b"\xfd7zXZ\0",)),
    (0, "7z", (b"7z\xbc\xaf\x27\x1c",)),
    (0, "rar", (b"Rar!\x1a\x07",)),
    (257, "tar", (b"ustar",)),
    (0, "arrow", (b"ARROW1\0\0", b"\xff\xff\xff\xff")),
    (0, "parquet", (b"PAR1",)),
    (0, "avro", (b"Obj\1",)),
    (0, "orc", (b"ORC",)),
    (0, "hdf5", (b"\x89HDF\r\n\x1a\n",)),
    (0, "numpy", (b"\x93NUMPY",)),
    (0, "sqlite", (b"SQLite format 3\0",)),
    (0, "program", (b"!<arch>\n", b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe")),
    (0, "program", (b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\0asm")),
    (0, "font", (b"\0\1\0\0\0", b"OTTO", b"wOFF", b"wOF2")),
    (0, "pdf", (b"%PDF-",)),
    (0, "image", (b"BM",)),
)

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_EMPTY_ZIP = b"PK\x05\x06"

# Data with these first bytes is not text in any encoding.
_SURE = (
    *(b"\x89PNG\r\n\x1a\n", _ZIP, _EMPTY_ZIP, _OLE, b"\xff\xd8\xff", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"),
    *(
        beginning
        for offset, _, beginnings in _SIGNATURES
        for beginning in beginnings
        if not offset and len(beginning) > 3 and beginning.translate(None, _CONTROLS) != beginning
    ),
)

# The name of a member starts 30 bytes after its signature (APPNOTE.TXT, 4.3.7).
_OFFICE = re.compile(rb"PK\x03\x04.{26}(word|xl|ppt)/", re.DOTALL)
_OFFICE_KINDS = {b"word": "word document", b"xl": "spreadsheet", b"ppt": "presentation"}
_MIMETYPE = re.compile(
    rb"PK\x03\x04.{26}mimetypeapplication/(epub|vnd\.oasis\.opendocument\.(text|spreadsheet|presentation|))",
    re.DOTALL,
)
_OPEN_KINDS = {b"spreadsheet": "spreadsheet", b"presentation": "presentation"}

_OLE_SUFFIXES = {".doc": "word document", ".xls": "spreadsheet", ".ppt": "presentation", ".msg": "outlook message"}

# A mailbox: a line "From address date", then the header of the first mail (RFC 4155).
_MAILBOX = re.compile(rb"From \S+ +\w{3} +\w{3} +\d{1,2} [^\n]{0,60}\d{4}[^\n]{0,10}\r?\n[A-Za-z][\w-]{0,60}:")
_NEXT_MAIL = re.compile(rb"\n\r?\n" + _MAILBOX.pattern)
_TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown")

_ADVICE = {
    **dict.fromkeys(("zip", "tar"), "Name the archive itself with its suffix, or unpack it"),
    **dict.fromkeys(("7z", "rar"), "Unpack it to compare its contents"),
    **dict.fromkeys(("gzip", "bzip2", "xz", "zstd", "lz4"), "Unpack it to compare its contents"),
    "spreadsheet": "Save it as XLSX or ODS, under a name that ends so",
    "presentation": "Save it as PPTX or ODP, under a name that ends so",
    "opendocument text": "Give it a name that ends in .odt",
    "e-book": "Give it a name that ends in .epub",
    "word document": "Save it as DOCX, under a name that ends in .docx",
    "outlook message": "Give it a name that ends in .msg",
    "pdf": "Give it a name that ends in .pdf",
    **dict.fromkeys(
        ("arrow", "avro", "orc", "hdf5", "numpy", "sqlite"), "Save its texts as Parquet, JSONL or CSV"
    ),
    "parquet": "Name the file itself, and not the folder around it",
    DATA: "Name it, or a pattern of such files, to compare its rows",
    MAILBOX: "Give it a name that ends in .mbox; name the mailbox itself to read its mails",
}


class NotTextError(InputError):
    """A file without text; ``kind`` is one of the kinds that ``kind_of`` returns."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        words = {MAILBOX: "a mailbox of several mails", DATA: "a file of rows in a folder of documents"}
        what = words.get(kind, f"not text ({kind})")
        super().__init__(
            f"It is {what}", "Text, HTML, PDF, an office file or a mail", _ADVICE.get(kind, "Leave it out")
        )


def refuse_kind(head: bytes, name: str) -> None:
    """Raise NotTextError for a file without text, from its first bytes and its name."""
    kind = kind_of(head, name)
    if kind is not None:
        raise NotTextError(kind)


def kind_of(head: bytes, name: str) -> str | None:
    r"""Return the kind of a file without text, from its first ``HEAD_BYTES`` bytes; None for text.

    The name only decides where the bytes cannot: between old office files, and between mailboxes and texts that
    quote one.

    >>> kind_of(b"\x89PNG\r\n\x1a\n\0", "a.txt"), kind_of(b"caf\xe9", "a"), kind_of(b"BMW sells cars", "a")
    ('image', None, None)
    """
    suffix = os.path.splitext(name.lower())[1]
    if not is_binary(head):
        return MAILBOX if suffix not in _TEXT_SUFFIXES and _is_mailbox(head, suffix) else None
    if head.startswith((_ZIP, _EMPTY_ZIP)):
        return _kind_of_zip(head)
    if head.startswith(_OLE):
        return _OLE_SUFFIXES.get(suffix, "office file")
    return _signature_kind(head) or BINARY


def _signature_kind(head: bytes) -> str | None:
    """Return the kind of the first signature that matches."""
    return next((kind for offset, kind, beginnings in _SIGNATURES if head.startswith(beginnings, offset)), None)


def _is_mailbox(head: bytes, suffix: str) -> bool:
    """Return whether a file begins as a mailbox, and has a mailbox suffix or contains a second mail."""
    begins = _MAILBOX.match(head)
    return bool(begins) and (suffix in (".mbox", ".mbx") or bool(_NEXT_MAIL.search(head)))


def is_binary(head: bytes) -> bool:
    r"""Return whether the beginning of a file is not text in any encoding, judged by NULs and control characters.

    >>> is_binary(b"\x00\x01\x02\x03"), is_binary("über".encode("utf-16")), is_binary("über".encode("latin-1"))
    (True, False, False)
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return False
    if head.startswith(_SURE):
        return True
    nuls = head.count(0)
    if nuls > head.endswith(b"\0"):  # one at the end is a C string terminator
        if _signature_kind(head):
            return True
        return nuls > _NUL_SHARE * len(head) and not _is_wide(head, nuls)
    controls = len(head) - len(head.translate(None, _CONTROLS)) - nuls
    return controls > _CONTROL_SHARE * len(head) and not _is_utf8(head)


def _is_wide(head: bytes, nuls: int) -> bool:
    """Return whether bytes with NULs are UTF-16 or UTF-32 without a mark: they decode to printable text."""
    wide = ["utf-32-le", "utf-32-be"] if nuls * 2 > len(head) else ["utf-16-le", "utf-16-be"]
    # ASCII letters with few NULs between them decode to Chinese in UTF-16, but are never such a text
    ascii_letters = len(head) - len(head.translate(None, _ASCII))
    if ascii_letters > _ASCII_SHARE * len(head):
        return False
    for encoding in wide:
        try:
            found = codecs.getincrementaldecoder(encoding)("strict").decode(head)
        except UnicodeDecodeError:
            continue
        # in real text, most NULs are the high bytes of spaces and line ends
        spaced = "32" in encoding or sum(char < "\u0100" for char in found) * 2 >= nuls
        if spaced and sum(map(_is_shown, found)) >= _SHOWN_SHARE * len(found):
            return True
    return False


def _is_shown(char: str) -> bool:
    return char.isprintable() or char.isspace()


def _is_utf8(head: bytes) -> bool:
    """Return whether the bytes are UTF-8; the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _kind_of_zip(head: bytes) -> str:
    opened = _MIMETYPE.match(head)
    if opened:
        return "e-book" if opened[1] == b"epub" else _OPEN_KINDS.get(opened[2], "opendocument text")
    office = _OFFICE.search(head)
    return _OFFICE_KINDS[office[1]] if office else "zip"
