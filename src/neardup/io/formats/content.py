"""The content read from a document: its text, its metadata and its attachments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from neardup.errors import InputError
from neardup.io.formats.limits import ATTACHMENTS, VALUE_CHARACTERS, VALUES

LISTS = ("from", "to", "cc")
"""Metadata keys that hold a list of strings: addresses in lower case, and names."""

METADATA = (*LISTS, "date", "subject", "title", "author")
"""All metadata keys. ``date`` is the time of sending or creation, in UTC, as 2020-01-31T16:30:00Z."""

Metadata: TypeAlias = Mapping[str, str | list[str]]


class Attachment(NamedTuple):
    """A file in a mail: its name, its size in bytes, and the SHA-256 of its content in hexadecimal digits."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Content:
    """The text of a document, its metadata (those ``METADATA`` keys that have a value), and its attachments.

    ``attachments`` are sorted by name, size and hash, regardless of their order in the mail.
    """

    text: str
    metadata: Metadata = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()


def attached(found: Iterable[tuple[str, int, str]]) -> tuple[Attachment, ...]:
    """Return the attachments sorted, with printable names. Raises InputError for more than ``ATTACHMENTS``.

    >>> attached([("plan.pdf", 4, "88d4"), ("a\\n.txt", 1, "ca97")])
    (Attachment(name='a .txt', size=1, sha256='ca97'), Attachment(name='plan.pdf', size=4, sha256='88d4'))
    """
    listed: list[Attachment] = []
    for name, size, sha256 in found:
        listed.append(Attachment(_line(name), size, sha256))
        if len(listed) > ATTACHMENTS:
            raise InputError(
                f"It has more than {ATTACHMENTS:,} attachments", "A mail that people send", "Leave this file out"
            )
    return tuple(sorted(listed))


def described(say: Callable[[], Mapping[str, object]]) -> Metadata:
    """Return the result of ``say``, cleaned for storage: white space joined, long values cut, empty ones left out.

    Bad metadata never prevents a document from being read: when ``say`` fails, the result is empty.

    >>> described(lambda: {"title": " A\\n title ", "to": ["a@b.org", ""], "author": None, "cc": []})
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
