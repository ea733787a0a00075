"""A path that remembers the text it was made of: a URL loses a slash in a path of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # before Python 3.12, only the class of this system can be derived from


class TypedPath(_Path):
    """A path with the text that the user ``typed``."""

    typed: str


def typed_path(text: str | None) -> Path | None:
    """Return the path of a text, or None for None.

    >>> typed_path("hdfs:///clean").typed
    'hdfs:///clean'
    """
    if text is None:
        return None
    path = TypedPath(text)
    path.typed = text
    return path


def typed(path: Path) -> str:
    """Return the text that a path was made of."""
    return path.typed if isinstance(path, TypedPath) else str(path)
