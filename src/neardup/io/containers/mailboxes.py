r"""Mailboxes in the mbox format (RFC 4155): where each message begins and ends, and the message as it was sent.

``mailbox`` of the standard library takes each line that begins with "From " for a new message, also in the middle
of a text, and needs a loop in Python for each line; messages are found by blocks of megabytes here.
"""

from __future__ import annotations

import io
import os
import re
from array import array
from typing import Any

import numpy as np

from neardup.io.containers import base
from neardup.io.containers.codecs import unpacked_file
from neardup.io.containers.spools import Held, Stretch

SUFFIX = ".eml"
"""The suffix of a message's name after its number."""

_BLOCK = 8 << 20
_FROM = b"From "
# Enough of the text around a line "From " to judge it: the end of the line before it and two lines.
_AHEAD, _BEHIND = 2 * base.LINE_BYTES, 4

# A time of day and a year, as in "From ann@example.org Fri Jul  8 12:08:34 2011"
_DATED = re.compile(rb"From [^\n]*?\d\d?:\d\d[^\n]*?\b\d{4}\b")
_HEADER = re.compile(rb"[^\n]*\n(?:>?[!-9;-~]{1,100}[ \t]*:|>From )")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


def begins_of(read: Any) -> tuple[array[int], int, int]:
    """Return the places at which messages begin (ascending), the length in bytes, and the bytes before the first.

    ``read(size)`` returns the next bytes of the mailbox. A line "From …" begins a message if two of three hold: an
    empty line, or nothing, is before it; it has a time and a year; a header follows it.
    At most ``MEMBERS`` + 1 places are returned.
    """
    places: array[int] = array("q")
    held, start = b"", 0  # the bytes at hand, and the place of the first of them
    checked = 0  # the place before which all is known
    while True:
        block = bytes(read(_BLOCK))
        held += block
        until = len(held) - _AHEAD if block else len(held)
        at = checked - start
        while (at := _next_from(held, at, start == 0)) >= 0 and at < until:
            if _begins(held, at, start == 0):
                places.append(start + at)
                if len(places) > base.MEMBERS:
                    return places, start + len(held), places[0]
            at += 1
        if not block:
            break
        checked = max(checked, start + until)
        drop = max(0, checked - start - base.LINE_BYTES)
        held, start = held[drop:], start + drop
    length = start + len(held)
    return places, length, places[0] if places else length


def _next_from(held: bytes, at: int, is_first: bool) -> int:
    """Return the place of the next "From " at the start of a line, or -1."""
    if at == 0 and is_first and held.startswith(_FROM):
        return 0
    found = held.find(b"\n" + _FROM, max(0, at - 1))
    return found + 1 if found >= 0 else -1


def _begins(held: bytes, at: int, is_first: bool) -> bool:
    before = held[max(0, at - _BEHIND) : at]
    alone = (at == 0 and is_first) or before.endswith((b"\n\n", b"\n\r\n", b"\r\r\n")) or not before.strip()
    line = held[at : at + _AHEAD]
    return alone + bool(_DATED.match(line)) + bool(_HEADER.match(line)) >= 2


def message_of(raw: bytes) -> bytes:
    r"""Return a message without the line "From …" of the mailbox, and with its own such lines as they were.

    >>> message_of(b"From a@b Fri Jul  8 12:08:34 2011\nSubject: x\n\n>From here\n\n")
    b'Subject: x\n\nFrom here\n'
    """
    message = raw.partition(b"\n")[2]
    if message.endswith(b"\n\n"):
        message = message[:-1]
    elif message.endswith(b"\n\r\n"):
        message = message[:-2]
    return _ESCAPED.sub(rb"\1", message) if b">From " in message else message


def number_of(name: str) -> int | None:
    """Return the number of a message, from 1, by its name; None for another name.

    >>> number_of("17.eml"), number_of("017.eml"), number_of("x.eml")
    (17, None, None)
    """
    digits = name.removesuffix(SUFFIX)
    plain = name.endswith(SUFFIX) and digits.isascii() and digits.isdigit() and len(digits) < base.NAME_BYTES
    return int(digits) if plain and len(digits) < 19 and not digits.startswith("0") else None


class MailboxMembers:
    """The messages of a mailbox in their order; the first is ``1.eml``. A compressed mailbox is unpacked first."""

    def __init__(self, path: str, codec: str | None) -> None:
        self.broken: str | None = None
        self.left_out: list[base.SkippedMember] = []
        if codec is None:
            self._held = Held(open(path, "rb"))  # noqa: SIM115 - closed with its last user
        else:
            self._held, self.broken = unpacked_file(path, codec, base.most_unpacked(os.path.getsize(path)))
        places, length, before = begins_of(self._held.stretch().read)
        begins = np.array(places, np.int64)
        if not len(begins) and length:
            raise OSError(self.broken or 'it is not a mailbox: no message in it begins with a line "From "')
        if len(begins) > base.MEMBERS:
            begins, length = begins[:-1], int(begins[-1])
            self.broken = f"it holds more than {base.MEMBERS:,} messages"
        if before and length:
            self.left_out.append(base.SkippedMember("", f"{before:,} bytes before the first message"))
        self._begins, self._ends = begins, np.append(begins[1:], length)
        if self.broken is not None and codec is not None and len(begins) and len(begins) <= base.MEMBERS:
            self._begins, self._ends = begins[:-1], self._ends[:-1]  # the last message may be cut off
        sizes = (self._ends - self._begins).tolist()
        self.members = [base.ArchiveMember(f"{number}{SUFFIX}", size) for number, size in enumerate(sizes, 1)]

    def open(self, name: str) -> io.BytesIO:
        """Open a message as it was sent. Raises OSError if there is none of that name, or it is too large."""
        if self.size(name) > base.MESSAGE_BYTES:
            raise OSError(f"it has more than {base.MESSAGE_BYTES >> 20} MB")
        return io.BytesIO(message_of(self.open_stored(name).read()))

    def open_stored(self, name: str) -> Stretch:
        """Open a message as it is stored, from its line "From " to the next one. Raises OSError."""
        begin, end = self._bounds(name)
        return self._held.stretch(begin, end - begin)

    def size(self, name: str) -> int:
        """Return the size of a message as it is stored. Raises OSError."""
        begin, end = self._bounds(name)
        return end - begin

    def _bounds(self, name: str) -> tuple[int, int]:
        number = number_of(name)
        if number is None or number > len(self._begins):
            raise base.absent_error(name)
        return int(self._begins[number - 1]), int(self._ends[number - 1])

    def member_properties(self, name: str) -> base.MemberProperties:
        """Return nothing of interest: messages have no properties of their own in a mailbox."""
        return base.MemberProperties()
