"""Check the free disk space for an output before hours of work rather than after."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from neardup.errors import OutputError


def require_room(target: Path, needed: int) -> None:
    """Raise OutputError if the disk for ``target`` has fewer than ``needed`` bytes left."""
    folder = Path(os.path.abspath(os.path.expanduser(target))).parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # opening the folder reports that it cannot be used
    if free < needed:
        raise OutputError(
            f"The documents to be written take up to {_size(needed)}, and {folder} has {_size(free)} left",
            "A disk with room for them",
            "Make room, or choose another output folder",
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"
