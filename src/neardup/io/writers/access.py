"""Permissions of outputs: only those who may read all of its input may read an output."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from neardup.io.readers.base import Documents

EVERYBODY = 0o666
"""Restricts nothing beyond the umask: for input that comes from no file of this system."""

_OWNER, _GROUP, _OTHERS = 0o600, 0o060, 0o006


def common_access(paths: Iterable[str | Path]) -> int:
    """Return the read and write permissions common to all the given files and folders; the owner's stay.

    Permissions of a group other than ours count for nothing, since the output will belong to our group. Files that
    cannot be examined, and standard input, restrict nothing.

    >>> oct(common_access([]))
    '0o666'
    """
    bits = EVERYBODY
    for path in paths:
        try:
            bits &= _shared(os.stat(path))
        except (OSError, ValueError):
            continue
    return bits


def access_of(documents: Documents, *others: Documents | None) -> int:
    """Return the permissions common to all files of the documents; data in memory and URLs restrict nothing."""
    every = (documents, *(other for other in others if other is not None))
    sources = (source for one in every for source in getattr(one, "sources", ()))
    files = (source.file for source in sources)
    return common_access({file for file in files if file is not None})


@contextmanager
def creating(access: int) -> Iterator[None]:
    """Limit the permissions of files this process creates within to ``access``; for one thread at a time."""
    before = os.umask(0o077)
    os.umask(before | (0o066 & ~access))
    try:
        yield
    finally:
        os.umask(before)


def restrict(path: Path, access: int) -> None:
    """Remove permissions beyond ``access`` from a file, or from a folder and everything in it."""
    if access == EVERYBODY or os.name == "nt":
        return
    if path.is_dir():
        for parent, _, names in os.walk(path):
            for name in names:
                _restrict_one(os.path.join(parent, name), access)
            _restrict_one(parent, access)
    else:
        _restrict_one(path, access)


def _restrict_one(path: str | Path, access: int) -> None:
    found = os.stat(path, follow_symlinks=False)
    # in a folder with the set-group-ID bit, new files belong to the folder's group
    allowed = access if found.st_gid == os.getegid() else _without_group(access)
    if stat.S_ISDIR(found.st_mode):
        allowed |= (allowed & 0o444) >> 2  # permission to read a folder implies permission to enter it
    mode = stat.S_IMODE(found.st_mode)
    if mode & ~allowed & 0o077:
        os.chmod(path, mode & (allowed | 0o7700))


def _shared(found: os.stat_result) -> int:
    mode = (found.st_mode & EVERYBODY) | _OWNER
    if stat.S_ISDIR(found.st_mode):  # without permission to enter, its files are unreadable
        mode &= ~0o066 | ((found.st_mode & 0o011) * 6)
    mine = not hasattr(os, "getegid") or found.st_gid == os.getegid()
    return mode if mine else _without_group(mode)


def _without_group(mode: int) -> int:
    """Return the mode with the group's permissions set to those of all others."""
    return (mode & ~_GROUP) | ((mode & _OTHERS) << 3)
