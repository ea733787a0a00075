"""Small files of every format, made by hand, so that no binary file is kept and every byte can be made wrong."""

from __future__ import annotations

import html
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from urllib.parse import urljoin
from xml.sax.saxutils import escape

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATION = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
SECTOR, SMALL_SECTOR, SMALL_UNTIL = 512, 64, 4096
END, FREE, FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def make_folder(folder: Path, files: dict[str, bytes]) -> Path:
    """Write the files, by their names in the folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects, the first of them the catalog."""
    made, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (len(places) + 1, trailer)
    return bytes(made + b"startxref\n%d\n%%%%EOF\n" % start)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object of a PDF."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def packed_stream(content: bytes, times: int = 1) -> bytes:
    """A stream object of a PDF, deflated as often as asked for."""
    for _ in range(times):
        content = zlib.compress(content, 9)
    return stream(content, b"/Filter [%s]" % (b"/FlateDecode " * times))


def pdf_of_streams(pages: Sequence[bytes], trailer: bytes = b"", info: bytes = b"") -> bytes:
    """A PDF with a page for each stream object, set in Helvetica; ``info`` are entries such as /Title (x)."""
    numbers = [4 + 2 * i for i in range(len(pages))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), b" ".join(b"%d 0 R" % n for n in numbers)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F 3 0 R >> >> >>" % (number + 1),
            page,
        ]
    if info:
        objects.append(b"<< %s >>" % info)
        trailer += b" /Info %d 0 R" % len(objects)
    return pdf(objects, trailer)


def drawn(lines: Sequence[str]) -> bytes:
    """The content of a page that shows these lines."""
    shown = b""
    for line in lines:
        raw = line.encode("cp1252")
        for special in (b"\\", b"(", b")"):
            raw = raw.replace(special, b"\\" + special)
        shown += b"(%s) Tj T*\n" % raw
    return b"BT /F 10 Tf 12 TL 40 750 Td\n%sET" % shown


def pdf_of(*texts: str, info: bytes = b"") -> bytes:
    """A PDF with a page for each text, broken into lines."""
    return pdf_of_streams([packed_stream(drawn(wrap(text, 90))) for text in texts], info=info)


def zip_of(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return made.getvalue()


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def relations(parts: Mapping[str, str], external: Mapping[str, str] | None = None) -> str:
    """A part of relations: for each target its kind, or a whole address of a kind; the ids are r1, r2, …

    ``external`` are targets outside of the package.
    """
    entries = [(target, kind, "") for target, kind in parts.items()]
    entries += [(target, kind, ' TargetMode="External"') for target, kind in (external or {}).items()]
    named = (
        f'<Relationship Id="r{number}" Type="{urljoin(_OFFICE, kind)}" Target="{escape(target)}"{mode}/>'
        for number, (target, kind, mode) in enumerate(entries, 1)
    )
    space = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
    return f"<Relationships {space}>{''.join(named)}</Relationships>"


def docx(body: str | bytes, properties: str = "", **more: str | bytes) -> bytes:
    """A DOCX file with this XML in its body; ``more`` are further parts in the folder word, without .xml.

    The kind of their relation is their name without its number, and the ids are r1, r2, … in their order.
    ``properties`` is XML that describes the document: dc:title, dc:creator, dcterms:created.
    """
    core = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
    document = (
        body if isinstance(body, bytes) else f"<w:document {WORD} {RELATION}><w:body>{body}</w:body></w:document>"
    )
    kinds = {f"{name}.xml": name.rstrip("0123456789") for name in more}
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"word/document.xml": "officeDocument", "core.xml": core}),
        "word/document.xml": document,
        "word/_rels/document.xml.rels": relations(kinds),
    }
    spaces = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    parts |= {"core.xml": f"<properties {spaces}>{properties}</properties>"} if properties else {}
    return zip_of(parts | {f"word/{name}.xml": content for name, content in more.items()})


def docx_of(text: str) -> bytes:
    """A DOCX file with a paragraph for each line."""
    lines = (f'<w:p><w:r><w:t xml:space="preserve">{escape(line)}</w:t></w:r></w:p>' for line in text.splitlines())
    return docx("".join(lines))


def html_of(text: str) -> bytes:
    """A web page with a paragraph for each line."""
    body = "".join(f"<p>{html.escape(line)}</p>" for line in text.splitlines())
    head = "<title>a page</title><style>p { color: red }</style>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def eml_of(text: str, subject: str | None = None) -> bytes:
    """A mail as mail programs send it."""
    mail = EmailMessage()
    mail["From"], mail["To"] = "a@example.org", "b@example.org"
    if subject is not None:
        mail["Subject"] = subject
    mail.set_content(text, cte="quoted-printable")
    return mail.as_bytes()


def msg(
    streams: Mapping[str, bytes],
    numbers: Mapping[int, int] | None = None,
    times: Mapping[int, int] | None = None,
    inside: Mapping[str, bytes] | None = None,
) -> bytes:
    """An Outlook message with these streams, such as 0037001F, these 32-bit properties and these times.

    ``inside`` are streams in storages, such as those of attachments, by their full names.
    """
    entries = b"".join(struct.pack("<HHII", 3, key, 6, value) + bytes(4) for key, value in (numbers or {}).items())
    entries += b"".join(struct.pack("<HHIQ", 0x40, key, 6, value) for key, value in (times or {}).items())
    named = {f"__substg1.0_{name}": content for name, content in streams.items()}
    return ole({"__properties_version1.0": bytes(32) + entries, **named, **(inside or {})})


def msg_of(text: str, subject: str = "") -> bytes:
    """An Outlook message in Unicode."""
    return msg({"0037001F": subject.encode("utf-16-le"), "1000001F": text.encode("utf-16-le")})


def ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE file (MS-CFB version 3) with these streams in its root; a/b is the stream b in the storage a."""
    sectors: list[bytes] = []
    chains: list[int] = []

    def put(content: bytes) -> int:
        first = len(sectors)
        count = -(-len(content) // SECTOR)
        sectors.extend(content[k * SECTOR : (k + 1) * SECTOR].ljust(SECTOR, b"\0") for k in range(count))
        chains.extend([*range(first + 1, first + count), END] if count else [])
        return first if count else END

    small, small_chains, places = b"", list[int](), {}
    for name, content in streams.items():
        if len(content) >= SMALL_UNTIL:
            places[name] = put(content)
            continue
        first, count = len(small_chains), -(-len(content) // SMALL_SECTOR)
        small += content.ljust(count * SMALL_SECTOR, b"\0")
        small_chains += [*range(first + 1, first + count), END] if count else []
        places[name] = first if count else END
    root = put(small)
    small_fat = put(b"".join(struct.pack("<I", link) for link in small_chains))
    small_fat_sectors = -(-4 * len(small_chains) // SECTOR)
    folders = sorted({name.rpartition("/")[0] for name in streams} - {""})
    order = [*_siblings(streams, "", folders), *(name for of in folders for name in _siblings(streams, of, []))]
    number = {name: place for place, name in enumerate(order, 1)}
    right = dict.fromkeys(order, FREE)
    for inside in (_siblings(streams, "", folders), *(_siblings(streams, of, []) for of in folders)):
        right.update((one, number[other]) for one, other in pairwise(inside))
    entries = [_entry("Root Entry", 5, FREE, 1 if order else FREE, root, len(small))]
    for name in order:
        if name in folders:
            child = number[_siblings(streams, name, [])[0]]
            entries.append(_entry(name, 1, right[name], child, 0, 0))
        else:
            entries.append(_entry(name.rpartition("/")[2], 2, right[name], FREE, places[name], len(streams[name])))
    entries += [bytes(68) + struct.pack("<III", FREE, FREE, FREE) + bytes(48)] * (-len(entries) % 4)
    directory = put(b"".join(entries))
    fat_sectors = 1
    while (len(sectors) + fat_sectors) * 4 > fat_sectors * SECTOR:
        fat_sectors += 1
    table = [*chains, *[FAT] * fat_sectors]
    table += [FREE] * (fat_sectors * SECTOR // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(6) + struct.pack("<IIIII", 0, fat_sectors, directory, 0, SMALL_UNTIL)
    header += struct.pack("<IIII", small_fat, small_fat_sectors, END, 0)
    where = [len(sectors) + k for k in range(fat_sectors)]
    header += b"".join(struct.pack("<I", sector) for sector in [*where, *[FREE] * (109 - len(where))])
    return header + b"".join(sectors) + b"".join(struct.pack("<I", link) for link in table)


def _siblings(streams: Mapping[str, bytes], folder: str, folders: Sequence[str]) -> list[str]:
    """The entries of a storage, in the order of MS-CFB 2.6.4."""
    names = [*folders, *(name for name in streams if name.rpartition("/")[0] == folder)]
    return sorted(names, key=lambda name: (len(name.rpartition("/")[2]), name.upper()))


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    entry = raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw), kind, 1, FREE, right, child)
    return entry + bytes(36) + struct.pack("<IQ", start, size)
