"""The names of kept files: those of the input, below the folder that was named, distinct and inside ``kept``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from neardup.io.names import shown_name
from neardup.io.readers.sources import Source


def places_of(sources: Sequence[Source], roots: Sequence[str] = ()) -> list[str]:
    """Return the place of each file below ``kept``, with slashes; all places are distinct and lead nowhere else.

    ``roots`` are the folders that were named as input, and the fixed parts of patterns. Names are relative to the
    innermost folder around all roots and files outside them. A name that is taken gets a number, in input order.

    >>> places_of([Source("data/lang=de/a.jsonl", "/x/data/lang=de/a.jsonl")], ["data"])
    ['lang=de/a.jsonl']
    >>> places_of([Source("a/x.csv", "/x/a/x.csv"), Source("b/x.csv", "/x/b/x.csv")])
    ['a/x.csv', 'b/x.csv']
    """
    names = [_path(source.name) for source in sources]
    folders = [_path(shown_name(root)) for root in roots]
    outside = [os.path.dirname(name) for name in names if not any(_is_below(name, folder) for folder in folders)]
    base = os.path.commonpath(
        [*(folder for folder in folders if any(_is_below(n, folder) for n in names)), *outside]
    )
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        place = _free(os.path.relpath(name, base).replace(os.sep, "/"), taken)
        taken.add(place)
        found.append(place)
    return found


def _path(name: str) -> str:
    """Return a name or URL as an absolute path without ``..``; only the ends of these paths are used."""
    return (
        os.path.normpath(os.path.join(os.sep, *name.split("://", 1))) if "://" in name else os.path.abspath(name)
    )


def _is_below(name: str, folder: str) -> bool:
    return name.startswith(folder.rstrip(os.sep) + os.sep)


def _free(place: str, taken: set[str]) -> str:
    """Return the place, with a number before its extensions if it is taken."""
    path, number = PurePosixPath(place), 1
    stem, suffixes = _split(path.name)
    while place in taken:
        number += 1
        place = str(path.with_name(f"{stem}-{number}{suffixes}"))
    return place


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffixes = name.partition(".")
    return (stem, dot + suffixes) if stem else (name, "")
