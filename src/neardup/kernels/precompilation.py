"""Compilation before the first call: the kernels a command needs, from a list, also in other processes.

Numba compiles in one thread of a process. To use several processors, a process that finds the cache cold starts
another one, which works through the list of the command, longest compile time first. A process that needs a kernel
another process is compiling continues with something else from the list. ``scripts/kernels`` makes the list.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

LIST = "entries.txt"
COMMON = ("demo", "dedup", "group", "lsh", "compare", "add", "search", "serve")
"""The entries that ``neardup warm`` compiles without ``--all``."""
HELPERS = 3
"""The most processes that help."""
_KERNELS = "neardup.kernels"


class Entry(NamedTuple):
    """A kernel that Python calls, its argument types, and the commands that call it with them."""

    kernel: str
    types: str
    commands: frozenset[str]


@cache
def listed() -> tuple[Entry, ...]:
    """Return all entries of the list, in order of use."""
    found = []
    for line in (files(_KERNELS) / LIST).read_text(encoding="utf-8").splitlines():
        commands, kernel, types = line.split("\t")
        found.append(Entry(kernel, types, frozenset(commands.split(","))))
    return tuple(found)


def entries_of(commands: Iterable[str]) -> list[Entry]:
    """Return the entries that the commands call, in order of use."""
    wanted = set(commands)
    return [entry for entry in listed() if entry.commands & wanted]


def all_commands() -> list[str]:
    """Return every command of the list; "other" represents rarely used options."""
    return sorted({command for entry in listed() for command in entry.commands})


def line_of(kernel: Any, arguments: Iterable[Any]) -> tuple[str, str]:
    """Return an entry in the form of the list: the kernel and the types of its arguments."""
    from neardup.kernels.signatures import spelled

    return kernel.spelled.removeprefix(f"{_KERNELS}."), f"({', '.join(map(spelled, arguments))})"


def compile_entry(entry: Entry, wait: bool) -> bool:
    """Compile an entry unless it is kept already; return whether it is available now.

    Without ``wait``, a kernel that another process compiles is left to it. An entry without a kernel is skipped:
    an outdated list only costs time.
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
    """Return the entries that are not kept; all of them if nothing can be kept."""
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
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def helped(commands: Sequence[str], helpers: int | None = None) -> Iterator[list[subprocess.Popen[str]]]:
    """Run processes that compile the kernels of the commands, and end them at exit; none if nothing can be kept.

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
    line = [sys.executable, "-m", "neardup.kernels.precompilation", str(number), *commands]
    return subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def share(entries: Sequence[Entry], number: int) -> list[Entry]:
    """Return the entries in the order for process ``number``; 0 is the process that is helped.

    Long compilations come first, so that none of them is left at the end. Process 0 begins with the longest one
    and continues with the entries that have most of their code in common with it, because a process prepares each
    part once; the other processes come to these last.
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
    """Return the kernels that are compiled with an entry; none if the kernel no longer exists."""
    module, _, name = entry.kernel.partition(":")
    try:
        return frozenset(getattr(import_module(f"{_KERNELS}.{module}"), name).needed)
    except (ImportError, AttributeError):
        return frozenset()


def _weight(kernels: Iterable[Any]) -> int:
    """Return the approximate cost of compiling kernels: bytes of their Python code."""
    return sum(len(kernel.py_func.__code__.co_code) for kernel in kernels)


class Spare:
    """Compiles the kernels a command will need later, one entry at a time, while it waits for another process."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = commands
        self._left: list[Entry] | None = None

    def __call__(self) -> bool:
        """Compile an entry that nobody has compiled or is compiling; return whether there was one."""
        if self._left is None:
            self._left = share(entries_of(self._commands), 0)[::-1]
        while self._left:
            entry = self._left.pop()
            if compile_entry(entry, wait=False):
                return True
        return False


def compile_share(number: int, commands: Sequence[str], done: Callable[[str], None]) -> None:
    """Compile the entries that no other process has compiled or is compiling; call ``done`` with each kernel."""
    for entry in share(entries_of(commands), number):
        if compile_entry(entry, wait=False):
            done(entry.kernel)


def _say(kernel: str) -> None:
    sys.stdout.write(f"{kernel}\n")
    sys.stdout.flush()


def _end_with(pipe: int) -> None:
    """End this process with the one that holds the other end of a pipe, however that ends."""

    def wait() -> None:
        # without a buffer: its lock would be held when the interpreter ends
        with suppress(OSError):
            while os.read(pipe, 1024):
                pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Run a helper: its number and the commands are its arguments, standard input a pipe from who started it."""
    number, *commands = sys.argv[1:]
    if sys.stdin is not None:
        _end_with(sys.stdin.fileno())
    with suppress(KeyboardInterrupt, BrokenPipeError):
        compile_share(int(number), commands, _say)


if __name__ == "__main__":
    main()
