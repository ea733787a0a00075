"""Maildir: a folder with ``cur``, ``new`` and ``tmp``; each file in the first two is a mail, whatever its name."""

from __future__ import annotations

import os
from functools import lru_cache

PARTS = ("cur", "new", "tmp")
_READ = PARTS[:2]
UNDELIVERED = "mails that are being delivered"
BESIDE_MAILS = "beside the mails of a Maildir"


def is_maildir(folder: str) -> bool:
    """Return whether a folder is a Maildir."""
    return all(os.path.isdir(os.path.join(folder, part)) for part in PARTS)


def is_message(path: str) -> bool:
    """Return whether a file is a mail in a Maildir."""
    folder, part = os.path.split(os.path.dirname(path))
    return part in _READ and _is_maildir(folder)


@lru_cache(maxsize=1024)
def _is_maildir(folder: str) -> bool:
    return is_maildir(folder)
