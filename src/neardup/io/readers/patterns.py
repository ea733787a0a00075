"""Files that a pattern matches, where not every folder may be read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from neardup.io.containers.addresses import split_address
from neardup.io.readers.walk import not_input


def split_pattern(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Split a pattern into the folder before its first wildcard and the parts from there on; None for other names.

    >>> split_pattern("mails/2024/*.txt"), split_pattern("*"), split_pattern("a.zip!/[1].txt"), split_pattern("a")
    (('mails/2024', ('*.txt',)), ('.', ('*',)), None, None)
    """
    container, _ = split_address(name) or (name, "")
    if not glob.has_magic(container):
        return None
    parts = Path(name).parts
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:fixed]).as_posix(), parts[fixed:]


def matching(folder: str, parts: Sequence[str], allowed: Callable[[str], bool]) -> Iterator[str]:
    """Yield the visible files below a folder that the parts of a pattern match.

    ``allowed`` is asked about every file and folder, with all links followed, before it is opened; the others are
    as absent. ``**`` follows no link to a folder.
    """
    first, rest = parts[0], parts[1:]
    deep = first == "**"
    if deep and rest:
        yield from matching(folder, rest, allowed)
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # no folder, or one that may not be listed
        return
    for entry in entries:
        hidden = not_input(entry.name) and not first.startswith(".")
        if hidden or not (deep or fnmatch(entry.name, first)) or not allowed(os.path.realpath(entry.path)):
            continue
        if entry.is_dir():
            if deep and not entry.is_symlink():
                yield from matching(entry.path, parts, allowed)
            elif rest and not deep:
                yield from matching(entry.path, rest, allowed)
        elif entry.is_file() and not rest:
            yield entry.path
