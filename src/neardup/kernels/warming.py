"""Kernels compiled before they are called: those a command needs, from a list, in other processes as well.

Numba compiles in one thread of a process; so that two processors compile, a process that finds the cache cold
starts another one, which goes through the list of the command, what takes longest first. Whoever needs what
another process compiles goes on with something else of the list. ``scripts/kernels`` makes the list.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

LIST = "entries.txt"
LATER = "large"
"""What only large inputs need: no first run waits for it before it is called."""
COMMON = ("demo", "dedup", "group", "lsh", "compare", "add", "search", "serve", LATER)
"""What ``neardup warm`` compiles for without ``--all``: commands, and the method of large inputs."""
HELPERS = 3
"""Processes that help at most."""
_KERNELS = "neardup.kernels"


class Entry(NamedTuple):
    """A kernel that Python calls, with the types of its arguments, and the commands that call it so."""

    kernel: str
    types: str
    commands: frozenset[str]


@cache
def listed() -> tuple[Entry, ...]:
    """All that is listed, in the order in which it is used."""
    found = []
    for line in (files(_KERNELS) / LIST).read_text(encoding="utf-8").splitlines():
        commands, kernel, types = line.split("\t")
        found.append(Entry(kernel, types, frozenset(commands.split(","))))
    return tuple(found)


def entries_of(commands: Iterable[str]) -> list[Entry]:
    """What the commands call, in the order in which they do."""
    wanted = set(commands)
    return [entry for entry in listed() if entry.commands & wanted]


def all_commands() -> list[str]:
    """Every command of the list; "other" stands for options that few need."""
    return sorted({command for entry in listed() for command in entry.commands})


def line_of(kernel: Any, arguments: Iterable[Any]) -> tuple[str, str]:
    """An entry as the list holds it: the kernel and the types of its arguments."""
    from neardup.kernels.signatures import spelled

    return kernel.spelled.removeprefix(f"{_KERNELS}."), f"({', '.join(map(spelled, arguments))})"


def compile_entry(entry: Entry, wait: bool) -> bool:
    """Compile an entry unless it is kept already; whether it is there now.

    Without ``wait`` what another process compiles is left to it. An entry that no kernel has any more is passed
    over: a list that is behind its kernels costs time, and nothing else.
    """
    from numba.core.errors import NumbaError

    from neardup.kernels import compile_cache
    from neardup.kernels.signatures import read

    module, _, name = entry.kernel.partition(":")
    try:
        kernel = getattr(import_module(f"{_KERNELS}.{module}"), name)
        arguments = tuple(read(entry.types))
        file = kernel.file_name(arguments)
        if compile_cache.kept(file):
            return True
        if not wait:
            with compile_cache.locked(file, patience=0) as free:
                if not free:
                    return False
        kernel.compile(arguments)
    except (ImportError, AttributeError, ValueError, TypeError, NumbaError):
        return False
    return True


def missing(entries: Sequence[Entry]) -> list[Entry]:
    """Those that are not kept; all of them where nothing can be."""
    from neardup.kernels import compile_cache
    from neardup.kernels.signatures import read

    absent = []
    for entry in entries:
        module, _, name = entry.kernel.partition(":")
        with suppress(ImportError, AttributeError, ValueError, TypeError):
            kernel = getattr(import_module(f"{_KERNELS}.{module}"), name)
            if not compile_cache.kept(kernel.file_name(tuple(read(entry.types)))):
                absent.append(entry)
    return absent


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def helped(commands: Sequence[str], helpers: int | None = None) -> Iterator[list[subprocess.Popen[str]]]:
    """Other processes that compile what the commands need, ended at the end; none where nothing can be kept.

    Without ``helpers`` this process compiles as well: it is number 0, and its helpers are numbered from 1.
    """
    from neardup.kernels import compile_cache

    most = min(HELPERS, processors() - 1) if helpers is None else helpers
    started: list[subprocess.Popen[str]] = []
    try:
        if sys.executable and compile_cache.folders().write:
            for number in range(most):
                with suppress(OSError):
                    started.append(_start(commands, number + (helpers is None)))
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.communicate()


def _start(commands: Sequence[str], number: int) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "neardup.kernels.warming", str(number), *commands]
    return subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def share(entries: Sequence[Entry], number: int) -> list[Entry]:
    """The entries in the order in which process ``number`` takes them, 0 being the one that is helped.

    What takes longest goes first, so that none of it is left at the end. Process 0 begins with the longest of all
    and goes on with what has most of its code in common with that, for a process prepares each part once; the
    others come to these last.
    """
    known = [(entry, needed) for entry in entries if (needed := _needed(entry))]
    known.sort(key=lambda pair: (-_weight(pair[1]), pair[0]))
    if not known:
        return list(entries)
    (longest, common), *others = known
    akin = [entry for entry, needed in others if 2 * _weight(needed & common) > _weight(needed)]
    apart = [entry for entry, _ in others if entry not in akin]
    gone = [entry for entry in entries if not _needed(entry)]
    if number == 0:
        return [longest, *akin, *apart, *gone]
    begin = (number - 1) % max(len(apart), 1)
    apart = apart[begin:] + apart[:begin]
    return [*apart[:1], longest, *apart[1:], *akin, *gone]


def _needed(entry: Entry) -> frozenset[Any]:
    """The kernels that are compiled with an entry, none for one that is no more."""
    module, _, name = entry.kernel.partition(":")
    try:
        return frozenset(getattr(import_module(f"{_KERNELS}.{module}"), name).needed)
    except (ImportError, AttributeError):
        return frozenset()


def _weight(kernels: Iterable[Any]) -> int:
    """About what it costs to compile kernels: bytes of their Python code."""
    return sum(len(kernel.py_func.__code__.co_code) for kernel in kernels)


class Spare:
    """Compiles what a command will need later, one entry at a time, while it waits for another process."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = commands
        self._left: list[Entry] | None = None

    def __call__(self) -> bool:
        """Compile an entry that nobody has compiled or is compiling; whether there was one."""
        if self._left is None:
            self._left = share(entries_of(self._commands), 0)[::-1]
        while self._left:
            entry = self._left.pop()
            if compile_entry(entry, wait=False):
                return True
        return False


def compile_share(number: int, commands: Sequence[str], done: Callable[[str], None]) -> None:
    """Compile what no other process has compiled or is compiling; ``done`` is called with each kernel."""
    for entry in share(entries_of(commands), number):
        if compile_entry(entry, wait=False):
            done(entry.kernel)


def _say(kernel: str) -> None:
    sys.stdout.write(f"{kernel}\n")
    sys.stdout.flush()


def main() -> None:
    """A helper: its number and the commands are its arguments."""
    number, *commands = sys.argv[1:]
    with suppress(KeyboardInterrupt, BrokenPipeError):
        compile_share(int(number), commands, _say)


if __name__ == "__main__":
    main()
