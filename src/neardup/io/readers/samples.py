"""Files that belong together: those of one folder or archive whose names differ in the suffix alone.

A sample of WebDataset is ``000000.txt``, ``000000.json`` and ``000000.jpg``, in a folder or in an archive. Without
one of its files a sample is broken, so none of them is removed by itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from neardup.io.attachments import BESIDE
from neardup.io.containers.codecs import COMPRESSIONS
from neardup.io.formats import Attachment
from neardup.io.readers.findings import NAMED, named
from neardup.io.readers.maildirs import is_message
from neardup.io.readers.sources import Source

# numbers are no suffixes: 2020.01 and 2020.02 do not belong together
_SUFFIX = re.compile(r"\.[a-z][a-z0-9_]*", re.IGNORECASE | re.ASCII)


def samples(files: Sequence[Source]) -> dict[int, tuple[Attachment, ...]]:
    """Return, for each file that belongs to a sample, by place, the first few of the other files of its sample.

    >>> found = samples([Source(name, name) for name in ("a.txt", "a.mask.png", "b.txt", "b.v2.txt")])
    >>> [(place, other.name) for place, others in found.items() for other in others]
    [(0, 'a.mask.png'), (1, 'a.txt')]
    """
    stems: dict[str, list[tuple[str, int]]] = {}
    of_place = [_split(file.path) for file in files]
    for place, (stem, suffix) in enumerate(of_place):
        if not is_message(files[place].path):
            stems.setdefault(stem, []).append((suffix, place))
    linked: dict[int, list[int]] = {}
    for place, (stem, suffix) in enumerate(of_place):
        for shorter in _beginnings(stem):
            for other_suffix, other in stems.get(shorter, ()):
                if other_suffix != suffix:
                    _link(linked, place, other)
                    _link(linked, other, place)
    return {place: tuple(map(_beside, (files[i] for i in sorted(linked[place])))) for place in sorted(linked)}


def samples_note(files: Sequence[Source], found: Iterable[int]) -> list[str]:
    """Return a sentence about the files that belong to samples."""
    names = [files[place].name for place in found]
    if not names:
        return []
    return [
        f"{len(names):,} files share their names, up to the suffix, with others: compared, and all kept, since a "
        f"sample without one of its files is broken: {named(names)}"
    ]


def _link(linked: dict[int, list[int]], place: int, other: int) -> None:
    others = linked.setdefault(place, [])
    if len(others) < NAMED and other not in others:
        others.append(other)


def _beside(file: Source) -> Attachment:
    return Attachment(os.path.basename(file.name), file.size or 0, BESIDE)


def _split(path: str) -> tuple[str, str]:
    """Return a path without its suffix, and the suffix; that of a compression does not count."""
    stem, suffix = os.path.splitext(path)
    if suffix.lower() in COMPRESSIONS:
        stem, suffix = os.path.splitext(stem)
    return (stem, suffix) if _SUFFIX.fullmatch(suffix) else (stem + suffix, "")


def _beginnings(stem: str) -> Iterator[str]:
    """Yield the stem, and the stem without its further suffixes: a.mask.png goes with a.txt."""
    yield stem
    while _SUFFIX.fullmatch((parts := os.path.splitext(stem))[1]):
        stem = parts[0]
        yield stem
