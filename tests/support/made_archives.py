"""Archives and mailboxes of every kind, whole and hostile, made in memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence

from support.made_files import zip_of

WHEN = "Mon Jan  6 10:00:00 2020"


def tar_of(parts: Mapping[str, bytes], more: Sequence[tarfile.TarInfo] = ()) -> bytes:
    """A tar archive of these files, and of ``more`` members without content."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in parts.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), 1_600_000_000, 0o640
            archive.addfile(info, io.BytesIO(content))
        for info in more:
            archive.addfile(info)
    return made.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A link, a device or a pipe of a tar archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


ARCHIVES: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {
    ".zip": lambda parts: zip_of(parts),
    ".tar": tar_of,
    ".tar.gz": lambda parts: gzip.compress(tar_of(parts), mtime=0),
    ".tgz": lambda parts: gzip.compress(tar_of(parts), mtime=0),
    ".tar.xz": lambda parts: lzma.compress(tar_of(parts)),
    ".tar.bz2": lambda parts: bz2.compress(tar_of(parts)),
}
"""An archive of some files, by its suffix."""


def encrypted_zip(parts: Mapping[str, bytes], secret: str) -> bytes:
    """A zip archive whose member ``secret`` is marked as encrypted."""
    data = bytearray(zip_of(parts))
    for head, flags, name in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = data.find(head)
        while at >= 0:
            if data.startswith(secret.encode(), at + name):
                data[at + flags] |= 1
            at = data.find(head, at + 4)
    return bytes(data)


def zip_with_link(name: str, target: str) -> bytes:
    """A zip archive with a symbolic link and a file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, target)
        archive.writestr("a.txt", "the only file of it")
    return made.getvalue()


def zip_that_claims(size: int, content: bytes) -> bytes:
    """A zip archive whose only member, a.txt, claims to unpack to ``size`` bytes."""
    data = bytearray(zip_of({"a.txt": content}))
    struct.pack_into("<I", data, data.find(b"PK\x03\x04") + 22, size)
    struct.pack_into("<I", data, data.find(b"PK\x01\x02") + 24, size)
    return bytes(data)


def mbox_of(messages: Sequence[bytes], sender: str = "a@example.org") -> bytes:
    """A mailbox of messages, whose own lines "From " are escaped."""
    made = b""
    for message in messages:
        escaped = b"\n".join(
            b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in message.split(b"\n")
        )
        made += f"From {sender} {WHEN}\n".encode() + escaped + b"\n" * (1 if escaped.endswith(b"\n") else 2)
    return made
