"""Mails, of EML files (RFC 5322, MIME) and of Outlook: subject and body, people, date and attachments.

Outlook saves a mail as MAPI properties, which are the streams of an OLE file (MS-OXMSG).
"""

import codecs
import hashlib
import io
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, message_from_string
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any, TypeAlias

from neardup.errors import InputError
from neardup.io.formats import content as contents
from neardup.io.formats.charsets import charset_of, decode, utf8_text
from neardup.io.formats.web import decoded_page, page_of

# Longer lists of addresses are not read, as the parser takes quadratic time for some of them.
_LIST_CHARACTERS = 100 * contents.VALUES

# Types whose text is read, unless the part is attached as a file.
_TEXTS = ("text/plain", "text/html")

# Signatures prove who sent a mail; the same mail sent again has a different one.
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


# A field of a header, with the white space before its colon that old programs wrote (RFC 5322, 4.5).
_FIELD = rb"[!-9;-~]+[ \t]*:[^\n]*\n"
_SPACED = re.compile(rb"^([!-9;-~]+)[ \t]+:", re.MULTILINE)
_HEADERS = re.compile(rb"(?:\A|^--[^\n]*\n)(?:" + _FIELD + rb"(?:[ \t][^\n]*\n)*)+", re.MULTILINE)
_HEADER = re.compile(rb"(?:>?From [^\n]*\n)?" + _FIELD)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Transfer encodings of bytes in a declared charset; text of others is in the charset of the file.
_PACKED = ("base64", "quoted-printable")

_WORD = re.compile(r"\w+")

Parts: TypeAlias = list[tuple[str, bytes]]
"""Parts that are not read: kind, content."""

# MS-OXPROPS: number of a property; MS-OXCDATA 2.11.1: its type, the second half of a stream's name.
_SUBJECT, _BODY, _HTML, _RTF = 0x0037, 0x1000, 0x1013, 0x1009
_HEAD, _TO, _CC = 0x007D, 0x0E04, 0x0E03
_FROM = (0x5D01, 0x0C1F, 0x0C1A)  # PidTagSenderSmtpAddress, PidTagSenderEmailAddress, PidTagSenderName
_SENT, _DELIVERED = 0x0039, 0x0E06
_UNICODE, _STRING8, _BINARY = 0x001F, 0x001E, 0x0102
_NUMBER, _TIME = 0x0003, 0x0040
_DATA, _NAMES = 0x3701, (0x3707, 0x3704, 0x3001)  # PidTagAttachDataBinary; long name, short name, name shown
_CODE_PAGES = (0x3FDE, 0x3FFD)  # PidTagInternetCodepage, PidTagMessageCodepage
# MS-OXMSG 2.2.2: the storage of an attachment, followed by a number.
_ATTACHED = "__attach_version1.0_#"
# MS-OXMSG 2.4.1.1: the property stream of a top-level message has a header, then entries of 16 bytes.
_PROPERTY_HEADER, _PROPERTY_BYTES = 32, 16
# Times are counted in 100 ns from this date (MS-DTYP 2.3.3).
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def is_mail(data: bytes) -> bool:
    """Return whether data begins with the header of a mail, in any encoding."""
    return bool(_HEADER.match(_in_utf8(data[:1024])))


def read_eml(data: bytes) -> contents.Content:
    r"""Return the subject, an empty line and the visible text; metadata: from, to, cc, date, subject.

    Of several alternatives, uses the plain text, unless it lacks most of the page; else the HTML. Others are named
    as unread if their words differ. The text excludes attachments and attached forwarded messages; these are
    listed as attachments. Raises InputError for data that is not a mail, is nested too deep, or has too many
    attachments.

    >>> read_eml(b"Subject: =?utf-8?q?caf=C3=A9?=\nContent-Transfer-Encoding: quoted-printable\n\nan=20hour").text
    'café\n\nan hour'
    """
    plain = _in_utf8(data)
    recoded = plain is not data
    if _SPACED.search(plain):
        plain = _HEADERS.sub(lambda header: _SPACED.sub(rb"\1:", header[0]), plain)
    try:
        mail = message_from_bytes(plain)
    except RecursionError:
        raise _too_deep_error() from None
    if not mail.keys():
        raise InputError("It is not a mail: it has no header", "A mail as it was sent", "Check its format")
    if recoded:
        _declare_utf8(mail)
    unread: Parts = []
    body = "\n".join(_body_texts(mail, 0, unread))
    subject = header_text(_field(mail, "Subject"))
    text = "\n\n".join(part for part in (subject.strip(), body.strip()) if part)
    said = {**head_metadata(mail), **contents.cleaned_metadata(lambda: {"subject": subject})}
    return contents.Content(
        text, said, (*contents.sorted_attachments(_attachments(mail, 0)), *contents.unread(unread))
    )


def _in_utf8(data: bytes) -> bytes:
    """Return a mail that was saved as UTF-16, or with a byte order mark, in UTF-8; another one unchanged."""
    if not data.startswith(_MARKS) and b"\0" not in data[:64]:
        return data
    return utf8_text(data, charset_of(data[: 2 * (len(data) // 2)]))


def _declare_utf8(mail: Message) -> None:
    """Declare UTF-8 in all parts that are not packed."""
    for part in mail.walk():
        if str(part["Content-Transfer-Encoding"]).lower().strip() not in _PACKED and not part.is_multipart():
            part.set_param("charset", "utf-8")


def head_metadata(mail: Message) -> contents.Metadata:
    """Return the metadata in the header of a mail: from, to, cc, date."""
    said = [contents.cleaned_metadata(lambda key=key: {key: people(_field(mail, key))}) for key in contents.LISTS]  # type: ignore[misc]
    said.append(
        contents.cleaned_metadata(lambda: {"date": contents.utc(parsedate_to_datetime(str(mail["Date"])))})
    )
    return dict(item for found in said for item in found.items())


def _field(mail: Message, name: str) -> str:
    """Return a field of a header; bytes beyond ASCII are UTF-8 (RFC 6532), else Windows-1252."""
    value = next((str(value) for key, value in mail.raw_items() if key.lower() == name.lower()), "")
    return decode(value.encode("utf-8", "surrogateescape"), None)


def header_text(raw: str) -> str:
    """Return a header field with its encoded words decoded."""
    try:
        # unfold the lines; a broken encoded word stays as it is
        pieces = decode_header(raw.replace("\r", "").replace("\n", ""))
    except (HeaderParseError, ValueError):
        return raw
    return "".join(piece if isinstance(piece, str) else decode(piece, charset) for piece, charset in pieces)


def people(raw: str) -> list[str]:
    """Return the addresses of a header field in lower case, each followed by its name.

    >>> people('Ann Lee <Ann@Example.org>, bob@example.org')
    ['ann@example.org', 'Ann Lee', 'bob@example.org']
    """
    found = getaddresses([raw]) if len(raw) <= _LIST_CHARACTERS else []
    return [part for name, address in found for part in (address.lower(), header_text(name)) if part]


def _body_texts(part: Message, depth: int, unread: Parts) -> list[str]:
    """Return the texts of a part that appear in the body, in order; add the parts that are not read."""
    if depth > contents.NESTED_PARTS:
        raise _too_deep_error()
    kind = part.get_content_type()
    if _is_attached(part) or part.get_content_maintype() == "message":
        return []
    if part.is_multipart():
        inner = _children(part)
        if kind == "multipart/alternative":
            plain_first = sorted(inner, key=lambda part: part.get_content_type() != "text/plain")
            return _one_of([_body_texts(child, depth + 1, unread) for child in plain_first], unread)
        if kind == "multipart/related":
            inner = inner[:1]  # the page; the other parts are its images
        return [text for child in inner for text in _body_texts(child, depth + 1, unread)]
    if kind not in _TEXTS or part.get_filename():
        return []
    content = part.get_payload(decode=True)
    text = decode(content if isinstance(content, bytes) else b"", part.get_content_charset())
    return [_page(text, unread) if kind == "text/html" else text]


def _page(markup: str, unread: Parts) -> str:
    """Return the text of a page; add its unread parts, but for images that the mail carries: attachments."""
    page = page_of(markup)
    unread += [(kind, content) for kind, content in page.unread if not content.lower().startswith(b"cid:")]
    return page.text().strip()


def _one_of(alternatives: list[list[str]], unread: Parts) -> list[str]:
    """Return the first with words, unless it lacks more of the next than it has: a note to see the page.

    The others are added to the unread parts, unless they have the same words.
    """
    known = [(texts, _WORD.findall(" ".join(texts).casefold())) for texts in alternatives]
    first, *others = [(texts, words) for texts, words in known if words] or [([], [])]
    if others and len({*others[0][1]} - {*first[1]}) > len({*first[1]}):
        first, others = others[0], [first, *others[1:]]
    forms = [" ".join(words).encode("utf-8", "replace") for _, words in others if words != first[1]]
    unread += [("other forms", form) for form in forms]
    return first[0]


def _attachments(part: Message, depth: int) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and SHA-256 of the parts outside the text, including images within the text."""
    if depth > contents.NESTED_PARTS:
        raise _too_deep_error()
    kind, named = part.get_content_type(), part.get_filename()
    content = part.get_payload()
    if isinstance(content, list) and part.get_content_maintype() != "message":
        for child in _children(part):
            yield from _attachments(child, depth + 1)
    elif kind not in _SIGNATURES and (kind not in _TEXTS or named or _is_attached(part)):
        size, digest = 0, hashlib.sha256()
        for piece in _content(part, depth):
            size += len(piece)
            # a message is hashed piece by piece, each with its length, so that the boundaries count
            digest.update(b"%d:" % len(piece) + piece if isinstance(content, list) else piece)
        yield (header_text(str(named)).strip() if named else "") or kind, size, digest.hexdigest()


def _content(part: Message, depth: int) -> Iterator[bytes]:
    """Yield the content of a part; for an attached message, its headers and its parts."""
    if depth > contents.NESTED_PARTS:
        raise _too_deep_error()
    payload = part.get_payload()
    if not isinstance(payload, list):
        decoded = part.get_payload(decode=True)
        yield decoded if isinstance(decoded, bytes) else b""
        return
    for child in _children(part):
        for name, value in child.items():
            yield f"{name}: {value}\n".encode("utf-8", "surrogateescape")
        yield b"\n"
        yield from _content(child, depth + 1)


def _children(part: Message) -> list[Message]:
    return [child for child in part.get_payload() if isinstance(child, Message)]


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment"


def _too_deep_error() -> InputError:
    return InputError(
        f"Its parts are nested more than {contents.NESTED_PARTS} deep",
        "A mail that people send",
        "Leave this file out",
    )


def read_msg(data: bytes) -> contents.Content:
    """Return the subject, an empty line, and the body (plain text, else HTML); from, to, cc, date, subject.

    Attachments are listed and excluded from the text. Raises InputError for data that is not an Outlook message,
    is damaged, has too many attachments, or has its body only as RTF; and when olefile is not installed.
    """
    try:
        import olefile
    except ImportError as error:
        raise contents.lack_error("An Outlook message", "olefile", error) from None
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            message = _Message(ole)
            unread: Parts = []
            subject = message.string(_SUBJECT)
            body = "".join(_one_of([[message.string(_BODY)], [_page(message.html(), unread)]], unread))
            if not body.strip() and message.stream(_RTF, _BINARY) is not None:
                raise InputError(
                    "The body of this Outlook message is RTF only",
                    "A message with a body as plain text or HTML",
                    "Save it as .eml or as text",
                )
            metadata = {**_metadata(message), **contents.cleaned_metadata(lambda: {"subject": subject})}
            attachments = contents.sorted_attachments(message.attachments())
    except InputError:
        raise
    except Exception as error:  # damaged files make olefile fail in many ways: struct.error, OSError, TypeError …
        raise InputError(
            f"It is not an Outlook message, or is damaged: {error}",
            "A complete .msg file",
            "Save the message again",
        ) from error
    return contents.Content(
        "\n\n".join(part for part in (subject.strip(), body.strip()) if part),
        metadata,
        (*attachments, *contents.unread(unread)),
    )


def _metadata(message: "_Message") -> contents.Metadata:
    """Return the metadata of the header the mail arrived with; for a mail never sent, the values Outlook shows."""
    return {
        **contents.cleaned_metadata(lambda: {"from": [_person(message.string(number)) for number in _FROM]}),
        **contents.cleaned_metadata(
            lambda: {"to": message.string(_TO).split(";"), "cc": message.string(_CC).split(";")}
        ),
        **contents.cleaned_metadata(lambda: {"date": contents.utc(message.time(_SENT, _DELIVERED))}),
        **contents.cleaned_metadata(lambda: head_metadata(message_from_string(message.string(_HEAD)))),
    }


def _person(text: str) -> str:
    """Return an address in lower case, a name unchanged, and an empty string for a directory path."""
    return "" if text.upper().startswith("/O=") else text.lower() if "@" in text else text


class _Message:
    """The properties of the message itself; recipients and attachments have separate storages."""

    def __init__(self, ole: Any) -> None:
        self._ole = ole
        if not ole.exists("__properties_version1.0"):
            raise InputError(
                "It is an OLE file, but no message",
                "A .msg file as Outlook saves it",
                "Check its format",
            )
        properties = ole.openstream("__properties_version1.0").read()
        self._numbers, self._times = (
            _fixed_properties(properties, _NUMBER, "<I"),
            _fixed_properties(properties, _TIME, "<Q"),
        )

    def stream(self, number: int, kind: int, place: str = "") -> bytes | None:
        name = f"{place}__substg1.0_{number:04X}{kind:04X}"
        return self._read(name) if self._ole.exists(name) else None

    def _read(self, name: str) -> bytes:
        # a damaged size must not make olefile read more than the file could hold
        """Read a stream. Raises InputError for one that claims to be too large."""
        if self._ole.get_size(name) > contents.FILE_BYTES:
            raise InputError(f"{name} in it claims to be too large", "A complete .msg file", "Save it again")
        content: bytes = self._ole.openstream(name).read()
        return content

    def attachments(self) -> Iterator[tuple[str, int, str]]:
        """Yield name, size and SHA-256 of each attachment; an attached message counts with all its streams."""
        entries = self._ole.listdir(streams=True, storages=False)
        for storage in sorted({entry[0] for entry in entries if entry[0].startswith(_ATTACHED)}):
            name = next(
                (found for number in _NAMES if (found := self.string(number, f"{storage}/"))), "attachment"
            )
            data = self.stream(_DATA, _BINARY, f"{storage}/")
            if data is not None:
                yield name, len(data), hashlib.sha256(data).hexdigest()
                continue
            size, digest = 0, hashlib.sha256()
            for path in sorted("/".join(entry) for entry in entries if entry[0] == storage):
                content = self._read(path)
                digest.update(b"%d:%d:" % (len(path), len(content)) + path.encode("utf-8", "replace") + content)
                size += len(content)
            yield name, size, digest.hexdigest()

    def string(self, number: int, place: str = "") -> str:
        wide = self.stream(number, _UNICODE, place)
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = self.stream(number, _STRING8, place)
        return decode(narrow, self._charset()).rstrip("\0") if narrow is not None else ""

    def html(self) -> str:
        page = self.stream(_HTML, _BINARY)
        return decoded_page(page) if page is not None else self.string(_HTML)

    def time(self, *numbers: int) -> datetime:
        """Return the time of the first property that is present. Raises StopIteration if none is."""
        ticks = next(self._times[number] for number in numbers if number in self._times)
        return _EPOCH + timedelta(microseconds=ticks // 10)

    def _charset(self) -> str | None:
        pages = [self._numbers[number] for number in _CODE_PAGES if number in self._numbers]
        return {65001: "utf-8", 20127: None, 28591: "latin-1"}.get(pages[0], f"cp{pages[0]}") if pages else None


def _fixed_properties(stream: bytes, wanted: int, form: str) -> dict[int, int]:
    """Return the properties of a type of fixed length, by number."""
    found = {}
    for start in range(_PROPERTY_HEADER, len(stream) - _PROPERTY_BYTES + 1, _PROPERTY_BYTES):
        kind, number = struct.unpack_from("<HH", stream, start)
        if kind == wanted:
            (found[number],) = struct.unpack_from(form, stream, start + 8)
    return found
