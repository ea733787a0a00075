"""The documents in archives and mailboxes, as files of the input."""

from __future__ import annotations

import os

from neardup.errors import InputError
from neardup.io.containers.addresses import MARK, is_container, opened, split_address
from neardup.io.names import shown_name
from neardup.io.readers.findings import Aside
from neardup.io.readers.kinds import partition_of
from neardup.io.readers.sources import Source
from neardup.io.readers.walk import HIDDEN, not_input

_MAC = "__MACOSX"  # copies of file properties that macOS adds to archives


def unfolded(source: Source, aside: list[Aside]) -> list[Source]:
    """Return the members of an archive or mailbox, or the file itself; members that are not input go to ``aside``.

    An archive that cannot be opened stays as a file with a ``failure``; the lost rest of one that is cut off is a
    member without a name.
    """
    if not is_container(source.path) or source.is_remote:
        return [source]
    try:
        container = opened(source.path)
    except OSError as error:
        return [Source(source.name, source.path, source.size, failure=error.strerror or str(error))]
    found: list[Source] = []
    for name, size in container.members:
        why = _not_input(name)
        if why:
            aside.append(Aside(f"{source.name}{MARK}{shown_name(name)}", why))
        else:
            found.append(Source(f"{source.name}{MARK}{shown_name(name)}", f"{source.path}{MARK}{name}", size))
    for name, why in container.left_out:
        aside.append(Aside(f"{source.name}{MARK}{shown_name(name)}" if name else source.name, why))
    if container.broken is not None:
        found.append(Source(source.name, source.path + MARK, 0))
    return found


def is_lost(source: Source) -> bool:
    """Return whether this is an archive that could not be opened, or the lost rest of one."""
    return source.failure is not None or source.path.endswith(MARK)


def find_member(name: str, path: str) -> Source:
    """Return the member that a path names. Raises InputError if there is none."""
    container, member = split_address(path) or (path, "")
    try:
        with Source(name, path).open_raw() as file:
            return Source(name, os.path.abspath(path), int(file.size()))
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error}",
            f"A document in {container}",
            "Check the spelling" if member else f"Name the whole: {container}",
        ) from error


def holds_several(name: str, path: str) -> InputError:
    """Return the error for an archive or mailbox where one document is asked for."""
    try:
        first = next(iter(opened(path).members), None)
    except OSError as error:
        return InputError(f"{name} cannot be read: {error}", "One document", "Make or copy it again")
    example = f", such as {name}{MARK}{first.name}" if first else ""
    return InputError(f"{name} is an archive or mailbox", "One document", f"Name a document in it{example}")


def partition_in(name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the Hive partition encoded in the folders of a name, around an archive and in it.

    >>> partition_in("lang=en/a=b.zip!/date=2024/x.jsonl")
    (('lang', 'en'), ('date', '2024'))
    """
    archive, mark, inside = name.partition(MARK)
    return (*partition_of(archive), *partition_of(inside)) if mark else partition_of(name)


def _not_input(name: str) -> str | None:
    parts = name.split("/")
    if parts[0] == _MAC:
        return HIDDEN
    return next(filter(None, map(not_input, parts)), None)
