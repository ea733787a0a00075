"""Read the subject and body of a mail (RFC 5322, MIME), its sender, recipients and date."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

from neardup.errors import InputError
from neardup.io.formats.charsets import decode
from neardup.io.formats.content import LISTS, Content, Metadata, attached, described, utc
from neardup.io.formats.limits import NESTED_PARTS, VALUES
from neardup.io.formats.web import html_text

# Longer lists of addresses are not read, as the parser takes quadratic time for some of them.
_LIST_CHARACTERS = 100 * VALUES

# Types whose text is read, unless the part is attached as a file.
_TEXTS = ("text/plain", "text/html")

# Signatures prove who sent a mail; the same mail sent again has a different one.
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


def read_eml(data: bytes) -> Content:
    r"""Return the subject, an empty line and the visible text; metadata: from, to, cc, date, subject.

    Of several alternatives, uses the plain text, else the HTML. The text excludes attachments and attached
    forwarded messages; these are listed as attachments. Raises InputError for data that is not a mail, is nested
    too deep, or has too many attachments.

    >>> read_eml(b"Subject: =?utf-8?q?caf=C3=A9?=\nContent-Transfer-Encoding: quoted-printable\n\nan=20hour").text
    'café\n\nan hour'
    """
    try:
        mail = message_from_bytes(data)
    except RecursionError:
        raise _too_deep() from None
    if not mail.keys():
        raise InputError("It is not a mail: it has no header", "A mail as it was sent", "Check its format")
    body = "\n".join(_shown(mail, 0))
    subject = header_text(str(mail["Subject"])) if "Subject" in mail else ""
    text = "\n\n".join(part for part in (subject.strip(), body.strip()) if part)
    said = {**head_metadata(mail), **described(lambda: {"subject": subject})}
    return Content(text, said, attached(_attachments(mail, 0)))


def head_metadata(mail: Message) -> Metadata:
    """Return the metadata in the header of a mail: from, to, cc, date."""
    said = [described(lambda key=key: {key: people(str(mail[key] or ""))}) for key in LISTS]  # type: ignore[misc]
    said.append(described(lambda: {"date": utc(parsedate_to_datetime(str(mail["Date"])))}))
    return dict(item for found in said for item in found.items())


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


def _shown(part: Message, depth: int) -> list[str]:
    """Return the texts of a part that appear in the body, in order."""
    if depth > NESTED_PARTS:
        raise _too_deep()
    kind = part.get_content_type()
    if _is_attached(part) or part.get_content_maintype() == "message":
        return []
    if part.is_multipart():
        inner = _children(part)
        if kind == "multipart/alternative":
            return _one_of(inner, depth)
        if kind == "multipart/related":
            inner = inner[:1]  # the page; the other parts are its images
        return [text for child in inner for text in _shown(child, depth + 1)]
    if kind not in _TEXTS or part.get_filename():
        return []
    content = part.get_payload(decode=True)
    text = decode(content if isinstance(content, bytes) else b"", part.get_content_charset())
    return [html_text(text) if kind == "text/html" else text]


def _one_of(alternatives: list[Message], depth: int) -> list[str]:
    """Return the plain text, unless it is missing or empty; else the first of the others with words."""
    plain_first = sorted(alternatives, key=lambda part: part.get_content_type() != "text/plain")
    for part in plain_first:
        texts = _shown(part, depth + 1)
        if any(text.strip() for text in texts):
            return texts
    return []


def _attachments(part: Message, depth: int) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and SHA-256 of the parts outside the text, including images within the text."""
    if depth > NESTED_PARTS:
        raise _too_deep()
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
    if depth > NESTED_PARTS:
        raise _too_deep()
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


def _too_deep() -> InputError:
    return InputError(
        f"Its parts are nested more than {NESTED_PARTS} deep", "A mail that people send", "Leave this file out"
    )
