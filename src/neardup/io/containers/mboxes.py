"""A mailbox as a container: each message is a member, named by its number."""

from __future__ import annotations

import io
import os

import numpy as np

from neardup.io.containers.base import ArchiveMember, MemberProperties, SkippedMember, absent
from neardup.io.containers.codecs import unpacked_file
from neardup.io.containers.limits import MEMBERS, MESSAGE_BYTES, most_unpacked
from neardup.io.containers.mailboxes import SUFFIX, begins_of, message_of, number_of
from neardup.io.containers.spools import Held, Stretch


class MailboxMembers:
    """The messages of a mailbox in their order; the first is ``1.eml``. A compressed mailbox is unpacked first."""

    def __init__(self, path: str, codec: str | None) -> None:
        self.broken: str | None = None
        self.left_out: list[SkippedMember] = []
        if codec is None:
            self._held = Held(open(path, "rb"))  # noqa: SIM115 - closed with its last user
        else:
            self._held, self.broken = unpacked_file(path, codec, most_unpacked(os.path.getsize(path)))
        places, length, before = begins_of(self._held.stretch().read)
        begins = np.array(places, np.int64)
        if not len(begins) and length:
            raise OSError(self.broken or 'it is not a mailbox: no message in it begins with a line "From "')
        if len(begins) > MEMBERS:
            begins, length = begins[:-1], int(begins[-1])
            self.broken = f"it holds more than {MEMBERS:,} messages"
        if before and length:
            self.left_out.append(SkippedMember("", f"{before:,} bytes before the first message"))
        self._begins, self._ends = begins, np.append(begins[1:], length)
        if self.broken is not None and codec is not None and len(begins) and len(begins) <= MEMBERS:
            self._begins, self._ends = begins[:-1], self._ends[:-1]  # the last message may be cut off
        sizes = (self._ends - self._begins).tolist()
        self.members = [ArchiveMember(f"{number}{SUFFIX}", size) for number, size in enumerate(sizes, 1)]

    def open(self, name: str) -> io.BytesIO:
        """Open a message as it was sent. Raises OSError if there is none of that name, or it is too large."""
        if self.size(name) > MESSAGE_BYTES:
            raise OSError(f"it has more than {MESSAGE_BYTES >> 20} MB")
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
            raise absent(name)
        return int(self._begins[number - 1]), int(self._ends[number - 1])

    def stored(self, name: str) -> MemberProperties:
        """Return nothing of interest: messages have no properties of their own in a mailbox."""
        return MemberProperties()
