"""The content read from a document, and its limits: any document may be hostile."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from neardup.errors import InputError, unusable

FILE_BYTES = 256 << 20
"""Size of a file. Each thread holds the bytes of one file as a whole; scans of thousands of pages stay below."""

UNPACKED_BYTES = 256 << 20
"""Unpacked size of a part of a DOCX. The markup of a book of a thousand pages is about 20 MB; a zip bomb turns
kilobytes into gigabytes."""

TEXT_CHARACTERS = 64_000_000
"""Length of the text in characters. The longest novels have 10 million."""

PAGES = 20_000
"""Pages of a PDF. A page costs milliseconds, and a small file can claim millions of pages."""

NESTED_PARTS = 100
"""Nesting depth of the parts of a mail. Forwarding a mail adds one or two levels."""

ATTACHMENTS = 1_000
"""Attachments of a document. One with more is refused, since it could not be described in full."""

VALUE_CHARACTERS = 1_000
"""Length of a metadata value; longer values are cut. Subjects of a thousand characters exist."""

VALUES = 1_000
"""Addresses and names in a mail header. A list of all employees does not help to find a mail."""

SECONDS = 60.0
"""Seconds for one file: a thousand times the usual time, and the longest acceptable wait for an endless loop. The
only limit that depends on the machine; most files made to be slow reach another limit first."""

SECONDS_AGAIN = 600.0
"""Seconds for a file that was read before: a later pass must not fail because the machine is busy."""

MEMORY_BYTES = 3 << 30
"""Address space of the process that reads a file, where the system can limit it: enough for the largest file, its
decoded streams and its text."""


LISTS = ("from", "to", "cc")
"""Metadata keys that hold a list of strings: addresses in lower case, and names."""

METADATA = (*LISTS, "date", "subject", "title", "author", "url")
"""All metadata keys. ``date`` is the time of sending or creation, in UTC, as 2020-01-31T16:30:00Z."""

Metadata: TypeAlias = Mapping[str, str | list[str]]

ORIGIN = "origin"
"""The column of how a document came to its text: written by a program, read by OCR, or unknown."""

DIGITAL, UNKNOWN, SCAN = "digital", "unknown", "scan"


ATTACHED, UNREAD = "attachment", "unread"
"""A file of its own within a document; a part of the document that people see, and that is not in its text."""


class Attachment(NamedTuple):
    """A part of a document that is not in its text: its name, its size in bytes, and the SHA-256 of its content.

    The name of an ``UNREAD`` part is the kind of its content in the plural: images, comments.
    """

    name: str
    size: int
    sha256: str
    kind: str = ATTACHED


@dataclass(frozen=True)
class Content:
    """The text of a document, its metadata (those ``METADATA`` keys that have a value), and its other parts.

    ``attachments``: those ``attached``, sorted by name, size and hash, regardless of their order; then the parts
    ``unread``. ``origin``: ``DIGITAL`` or ``SCAN`` if the file shows that.
    """

    text: str
    metadata: Metadata = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    origin: str = field(default=UNKNOWN, repr=False)


def sorted_attachments(found: Iterable[tuple[str, int, str]]) -> tuple[Attachment, ...]:
    """Return the attachments sorted, with printable names. Raises InputError for more than ``ATTACHMENTS``.

    >>> [one[:3] for one in sorted_attachments([("plan.pdf", 4, "88d4"), ("a\\n.txt", 1, "ca97")])]
    [('a .txt', 1, 'ca97'), ('plan.pdf', 4, '88d4')]
    """
    listed: list[Attachment] = []
    for name, size, sha256 in found:
        listed.append(Attachment(_line(name), size, sha256))
        if len(listed) > ATTACHMENTS:
            raise InputError(
                f"It has more than {ATTACHMENTS:,} attachments",
                "A document that people send",
                "Leave this file out",
            )
    return tuple(sorted(listed))


def unread(parts: Iterable[tuple[str, bytes]]) -> tuple[Attachment, ...]:
    """Return the parts of a document that its text lacks: one for each kind, with a digest of all of that kind.

    ``parts`` are (kind in the plural, content), in the order in which people see them. The content is the bytes of
    the part, or its own digest: it is only compared with that of other documents.

    >>> [(one.name, one.size) for one in unread([("images", b"png"), ("comments", b"no"), ("images", b"gif")])]
    [('comments', 2), ('images', 6)]
    """
    digests: dict[str, tuple[int, Any]] = {}
    for kind, content in parts:
        size, digest = digests.get(kind) or (0, hashlib.sha256())
        digest.update(b"%d:" % len(content) + content)
        digests[kind] = size + len(content), digest
    in_order = ((kind, *digests[kind]) for kind in sorted(digests))
    return tuple(Attachment(kind, size, digest.hexdigest(), UNREAD) for kind, size, digest in in_order)


def cleaned_metadata(say: Callable[[], Mapping[str, object]]) -> Metadata:
    """Return the result of ``say``, cleaned for storage: white space joined, long values cut, empty ones left out.

    Bad metadata never prevents a document from being read: when ``say`` fails, the result is empty.

    >>> cleaned_metadata(lambda: {"title": " A\\n title ", "to": ["a@b.org", ""], "author": None, "cc": []})
    {'title': 'A title', 'to': ['a@b.org']}
    """
    try:
        found = say()
    except Exception:  # parsers of headers and dates raise unpredictable errors on hostile files
        return {}
    made: dict[str, str | list[str]] = {}
    for key, value in found.items():
        if isinstance(value, str) and (text := _line(value)):
            made[key] = text
        elif isinstance(value, list) and (texts := _lines(value)):
            made[key] = texts
    return made


def utc(when: datetime) -> str:
    """Return a point in time in the format of the metadata; a time without a zone is taken as UTC.

    >>> utc(datetime.fromisoformat("2020-01-31T17:30:00+01:00"))
    '2020-01-31T16:30:00Z'
    """
    known = when if when.tzinfo else when.replace(tzinfo=UTC)
    return known.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _line(value: str) -> str:
    # cut a long value before splitting it, so that the cost is bounded by the length of the result
    text = " ".join(value[: 2 * VALUE_CHARACTERS].split())[:VALUE_CHARACTERS]
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be written


def _lines(values: Iterable[object]) -> list[str]:
    texts = (_line(value) for value in values if isinstance(value, str))
    return list(dict.fromkeys(text for text in texts if text))[:VALUES]


def lack_error(what: str, package: str, error: ImportError, extra: str = "formats") -> InputError:
    """Return the error for a format whose package cannot be imported, with the way out.

    >>> print(lack_error("A PDF file", "pypdfium2", ModuleNotFoundError(name="pypdfium2")))
    A PDF file needs pypdfium2, which is not installed. Try: pip install ".[formats]" in a clone of neardup.
    """
    why, do = unusable(package, extra, error)
    return InputError(f"{what} needs {package}, which {why}", "", do)


def file_of(kind: str) -> str:
    """Return a file of this kind with its article.

    >>> file_of("PDF"), file_of("EPUB")
    ('a PDF file', 'an EPUB file')
    """
    return f"{'an' if kind[0] in 'EMORX' else 'a'} {kind} file"


def long_error() -> InputError:
    """Return the error for a text that is longer than allowed."""
    return InputError(
        f"Its text has more than {TEXT_CHARACTERS // 10**6} million characters",
        "Documents that people read",
        "Split it, or leave it out",
    )
