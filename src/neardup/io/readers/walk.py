"""Find the files below a folder that may be input; all others are listed with a reason."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator

from neardup.io.names import shown_name
from neardup.io.readers.findings import Aside
from neardup.io.readers.maildirs import BESIDE_MAILS, UNDELIVERED, is_maildir

OTHER_PROGRAMS = frozenset(("thumbs.db", "desktop.ini", ".ds_store", "ehthumbs.db"))
HIDDEN, PROGRAMS, RESULT = "hidden", "made by other programs for themselves", "a result of neardup"
_OUTSIDE, _IRREGULAR, _CACHE = "a link out of the folder", "no regular file", "another revision, or a cache"

# A result has these files beside its account; another program's run.json has not.
_TABLES = frozenset(("run.json", "groups.parquet", "pairs.parquet"))
_ACCOUNT_BYTES = 64 << 20


def walk(root: str, left_out: Collection[str], aside: list[Aside]) -> Iterator[tuple[str, str]]:
    """Yield (name below the folder, path) of its visible, regular files; the rest goes to ``aside``.

    Links are followed to files inside the folder only. A snapshot in a cache of the Hugging Face hub consists of
    links to the blobs beside it, and these are followed too.
    """
    roots = (os.path.realpath(root), *_blobs(root))
    for folder, folders, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        if relative != "." and is_result(folder, files):
            folders[:] = []
            aside.append(Aside(shown_name(relative), RESULT))
            continue
        _prune(folder, relative, folders, aside)
        for name in files:
            path, below = os.path.join(folder, name), os.path.normpath(os.path.join(relative, name))
            if left_out and os.path.realpath(path) in left_out:
                continue
            why = not_input(name) or (BESIDE_MAILS if is_maildir(folder) else None) or _unfit(path, roots)
            if why:
                aside.append(Aside(shown_name(below), why))
            else:
                yield below, path


def not_input(name: str) -> str | None:
    """Return why a file of this name is not input, or None: it is hidden, or internal to other programs.

    >>> not_input("Thumbs.db"), not_input("a.txt")
    ('made by other programs for themselves', None)
    """
    if name.lower() in OTHER_PROGRAMS or name.startswith("~$"):
        return PROGRAMS
    return HIDDEN if name.startswith(".") else None


def is_result(folder: str, names: Iterable[str]) -> bool:
    """Return whether a folder with files of these names is the result of a run."""
    if not set(names) >= _TABLES:
        return False
    try:
        path = os.path.join(folder, "run.json")
        if os.path.getsize(path) > _ACCOUNT_BYTES:
            return False
        with open(path, "rb") as file:
            account = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(account, dict) and {"neardup_version", "format", "settings_digest"} <= account.keys()


def result_around(folder: str, base: str) -> str | None:
    """Return the folder, or one around it up to ``base``, that is a result of a run; else None."""
    folder = os.path.abspath(folder)
    base = os.path.abspath(base)
    while folder.startswith(base):
        try:
            if os.path.exists(os.path.join(folder, "run.json")) and is_result(folder, os.listdir(folder)):
                return folder
        except OSError:
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return None


def _prune(folder: str, relative: str, folders: list[str], aside: list[Aside]) -> None:
    """Remove folders without input: hidden ones, the store behind a hub's snapshots, mails not yet delivered."""
    hub = {"blobs", "refs"} if {"blobs", "snapshots"} <= set(folders) else set()
    mails = is_maildir(folder)
    why = dict.fromkeys(hub, _CACHE)
    for name in folders:
        # the folders of a Maildir, such as .Sent, are hidden folders within it
        if name.startswith(".") and not (mails and is_maildir(os.path.join(folder, name))):
            why[name] = HIDDEN
    if mails:
        why["tmp"] = UNDELIVERED
    for name in sorted(why.keys() & set(folders)):
        below = os.path.normpath(os.path.join(relative, name))
        if why[name] != UNDELIVERED or os.listdir(os.path.join(folder, name)):
            aside.append(Aside(shown_name(below) + "/", why[name]))
    folders[:] = [name for name in folders if name not in why]


def _unfit(path: str, roots: Iterable[str]) -> str | None:
    if os.path.islink(path):
        real = os.path.realpath(path)
        if not any(real.startswith(root + os.sep) for root in roots):
            return _OUTSIDE
    return None if os.path.isfile(path) else _IRREGULAR


def _blobs(root: str) -> Iterator[str]:
    """Yield the folder with the files of a hub's snapshot: ``.../blobs`` for ``.../snapshots/REVISION``."""
    before, found, _ = (os.path.realpath(root) + os.sep).rpartition(f"{os.sep}snapshots{os.sep}")
    blobs = os.path.join(before, "blobs")
    if found and os.path.isdir(blobs):
        yield os.path.realpath(blobs)
