"""The folder that keeps machine code between runs: one that nobody else can write to, or none.

The code in it is unpickled and run, so a file is read only if it belongs to this user (or to root), if nobody else
can write to it, and if its digest is right; damaged files are deleted. Each state of kernels, Numba, Python and
processor has its own folder: Numba notices a change in a file, but not in a callee from another file.
"""

import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

OURS, NUMBAS = "NEARDUP_CACHE_DIR", "NUMBA_CACHE_DIR"
"""Environment variables that name the folder; the first has precedence over the second."""
STARTED, READY = "started", "ready"
watchers: list[Callable[[str, str], None]] = []
"""Called with the name of a kernel that must be compiled (STARTED), or of an entry that can be called (READY)."""
idle: list[Callable[[], bool]] = []
"""Called to compile something else while another process compiles a needed kernel; False if nothing is left."""

_HEAD = b"neardup kernel 1\n"
_DIGEST_BYTES = 32
_TEMPORARY = ("/tmp", "/var/tmp")
_PATIENCE = 120.0
"""Seconds to wait for another process that compiles the same kernel; after that it is compiled here, too."""
_STEP = 0.02


class Folders(NamedTuple):
    """The folders to read compiled kernels from, the one to write to (None: nowhere), and notes for people."""

    read: tuple[Path, ...]
    write: Path | None
    notes: tuple[str, ...]


_without: list[str] = []
"""The reason why nothing is kept, if nothing is."""


def keep_nothing(why: str) -> None:
    """Use no folder from now on, even if one exists; ``why`` is the note for people."""
    _without[:] = [why]
    folders.cache_clear()


@cache
def folders() -> Folders:
    """Return the folders of this process, chosen once: a variable, the user's cache, a temporary folder, none."""
    if _without:
        return Folders((), None, tuple(_without))
    read: list[Path] = []
    notes: list[str] = []
    for base, name in _bases():
        made, trouble = _leaf(base, shared=not name, asked=name in (OURS, NUMBAS))
        if trouble and name:
            notes.append(f"{base} ({name}) is not used for compiled code: {trouble}")
        if made is None:
            continue
        read.append(made)
        if os.access(made, os.W_OK | os.X_OK):
            return Folders(tuple(read), made, tuple(notes))
    notes.append(
        "no folder can keep compiled code: every command compiles again, up to a minute each time. "
        f"Set {OURS} to a folder of yours"
    )
    return Folders(tuple(read), None, tuple(notes))


def _bases() -> Iterator[tuple[Path, str]]:
    """Yield folders to try, best first, each with the variable that names it; "" for one that others also use."""
    for variable in (OURS, NUMBAS):
        if named := os.environ.get(variable):
            yield Path(named), variable
    if user := _user_cache():
        yield user / "neardup", "cache of the user"
    yield from ((base, "") for base in _temporary())


def _user_cache() -> Path | None:
    """Return the cache folder of the user, if the user has a home: a container may use any number as the user."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) if os.path.isabs(named) else None
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    return Path(home, "Library", "Caches") if sys.platform == "darwin" else Path(home, ".cache")


def _temporary() -> Iterator[Path]:
    """Yield a folder of this user in each existing temporary folder."""
    for named in (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), *_TEMPORARY):
        if named and os.path.isdir(named):
            yield Path(named, f"neardup-{os.getuid()}" if hasattr(os, "getuid") else "neardup")


def _leaf(base: Path, shared: bool, asked: bool) -> tuple[Path | None, str]:
    """Return the folder in ``base`` for the current kernels, created if need be; otherwise None, and the reason.

    ``shared``: others can make entries beside ``base``, so it must not be a link. ``asked``: the user named the
    folder and gets a reason if it cannot be made; a container without a home needs no note.
    """
    try:
        with suppress(FileExistsError):
            if shared:
                base.mkdir(0o700)
            else:
                base.mkdir(0o700, parents=True, exist_ok=True)
        trouble = _not_safe(base.lstat() if shared else base.stat(), sticky=not shared)
        if trouble:
            return None, trouble
        leaf = base / f"neardup-{state()}"
        with suppress(FileExistsError):
            leaf.mkdir(0o700)
        return (None, trouble) if (trouble := _not_safe(leaf.lstat(), sticky=False)) else (leaf, "")
    except OSError as error:
        return None, (error.strerror or str(error)).lower() if asked else ""


def _not_safe(found: os.stat_result, sticky: bool) -> str:
    """Return why others could put code into a folder or file, "" if only this user (and root) can.

    ``sticky``: accept a folder in which all can make entries, but each can change only their own.
    """
    if not hasattr(os, "getuid"):  # Windows: access lists close the folders of a user to others
        return ""
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if found.st_uid not in (os.getuid(), 0):
        return "it belongs to another user"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not (sticky and found.st_mode & stat.S_ISVTX):
        return "others can write to it (chmod go-w allows it)"
    return ""


@cache
def state() -> str:
    """Return the digest of everything that machine code depends on, except the kernel and its argument types."""
    import llvmlite
    import numba
    import numpy
    from llvmlite import binding
    from numba.core import config

    whole = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted(here.rglob("*.py*")):
        if path.suffix in (".py", ".pyc") and path.parent.name != "__pycache__":
            whole.update(path.relative_to(here).as_posix().encode() + b"\0" + path.read_bytes())
    name, features = (getattr(config, choice, None) for choice in ("CPU_NAME", "CPU_FEATURES"))
    choices = (
        "OPT",
        "LOOP_VECTORIZE",
        "SLP_VECTORIZE",
        "BOUNDSCHECK",
        "DEBUGINFO_DEFAULT",
        "CPU_NAME",
        "CPU_FEATURES",
    )
    facts = (
        *(numba.__version__, llvmlite.__version__, numpy.__version__, sys.version, sys.platform),
        *(str(getattr(config, choice, None)) for choice in choices),
        *(binding.get_process_triple(), name or binding.get_host_cpu_name()),
        binding.get_host_cpu_features().flatten() if features is None else features,
    )
    whole.update("\0".join(facts).encode())
    return whole.hexdigest()[:20]


def load(name: str) -> bytes | None:
    """Return the bytes kept under a name; None if there are none, or if they are damaged or not from this user."""
    for folder in folders().read:
        path = folder / name
        try:
            # O_NOFOLLOW: the file itself must be ours, not the target of a link of ours
            with os.fdopen(os.open(path, os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_BINARY")), "rb") as file:
                if _not_safe(os.fstat(file.fileno()), sticky=False):
                    continue
                content = file.read()
        except OSError:
            continue
        head, digest, payload = content[: len(_HEAD)], content[len(_HEAD) :][:_DIGEST_BYTES], content[_BEGIN:]
        if head == _HEAD and digest == hashlib.sha256(payload).digest():
            return payload
        discard(name)
    return None


def keep(name: str, payload: bytes) -> None:
    """Keep bytes under a name, written atomically; a full disk is not an error."""
    folder = folders().write
    if folder is None:
        return
    partial = folder / f"{name}.{uuid4().hex[:16]}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flag("O_NOFOLLOW") | _flag("O_BINARY")
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            file.write(_HEAD + hashlib.sha256(payload).digest() + payload)
        os.replace(partial, folder / name)
    except OSError:
        with suppress(OSError):
            partial.unlink()


def discard(name: str) -> None:
    """Delete the bytes kept under a name."""
    if folder := folders().write:
        with suppress(OSError):
            (folder / name).unlink()


def tell(what: str, name: str) -> None:
    """Report the state of a kernel to the watchers."""
    for watcher in tuple(watchers):
        watcher(what, name)


def use_time() -> bool:
    """Compile something else, if any idle worker has work; return whether anything was done."""
    return any(work() for work in tuple(idle))


def kept(name: str) -> bool:
    """Return whether a file exists under a name, damaged or not."""
    return any((folder / name).exists() for folder in folders().read)


@contextmanager
def locked(name: str, patience: float = _PATIENCE) -> Iterator[bool]:
    """Hold the lock of a name; yield False if another process still holds it after ``patience`` seconds.

    A lock ends with its process. Where locks are not possible, each process compiles for itself.
    """
    folder = folders().write
    try:
        if folder is None:
            raise OSError
        handle = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | _flag("O_NOFOLLOW"), 0o600)
    except OSError:
        yield True
        return
    try:
        until = time.monotonic() + patience
        while not (mine := _try_to_lock(handle)) and time.monotonic() < until:
            time.sleep(_STEP)
        yield mine
    finally:
        os.close(handle)


def _try_to_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):  # a file system without locks
        return True
    return True


def _flag(name: str) -> int:
    """Return a flag of ``os.open``, 0 if the system lacks it."""
    return int(getattr(os, name, 0))


_BEGIN = len(_HEAD) + _DIGEST_BYTES
