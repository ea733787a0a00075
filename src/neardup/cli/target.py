"""The place of the kept rows: a folder, or with ``-o -`` standard output, from which all reports stay away."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from neardup.errors import OutputError, SettingError
from neardup.io.names import require_local

if TYPE_CHECKING:
    from neardup.io.writers import OutputFolder

STREAM = Path("-")
_FOLDER_ONLY = {
    "resume": "--resume",
    "store_texts": "--store-texts",
    "shard_size": "--shard-size",
    "overwrite": "--overwrite",
}
"""Options that need a folder."""

T = TypeVar("T")

_rows: ContextVar[BinaryIO | None] = ContextVar("_rows", default=None)


def with_local_paths(command: Callable[[T], int]) -> Callable[[T], int]:
    """Wrap a command: raise OutputError for an option that names a file or folder here and is a URL.

    These are outputs, results, collections and keys; names of inputs are not paths. Spark itself writes to URLs.
    """

    @functools.wraps(command)
    def run(options: T) -> int:
        if getattr(options, "engine", None) != "spark":
            for field in dataclasses.fields(options):  # type: ignore[arg-type]
                given = getattr(options, field.name)
                for path in given if isinstance(given, list) else [given]:
                    if isinstance(path, Path):
                        require_local(path)
        return command(options)

    return run


class OutputOptions(Protocol):
    """The options of a command that writes a result."""

    @property
    def out(self) -> Path | None:
        """The folder, or STREAM."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is written."""

    @property
    def json(self) -> bool:
        """Whether the result is printed as JSON."""

    @property
    def overwrite(self) -> bool:
        """Whether an earlier folder is replaced."""

    @property
    def explicit(self) -> frozenset[str]:
        """The names of the given options."""


def refuse_unusable_out(options: OutputOptions) -> None:
    """Raise OutputError before the work rather than after it."""
    out = options.out
    if out == STREAM:
        given = [spelling for name, spelling in _FOLDER_ONLY.items() if name in options.explicit]
        if given:
            raise SettingError(
                f"{', '.join(given)} cannot be given with -o -",
                "-o -, which writes the kept rows to standard output and nothing else",
                "Leave it out, or give -o DIR",
            )
    if options.dry_run or out == STREAM:
        return
    if out is None:
        raise OutputError(
            "No folder for the results was given",
            "",
            "Give -o DIR, -o - for the kept rows on standard output, or --dry-run to write nothing",
        )
    if out.exists() and not options.overwrite:
        raise OutputError(
            f"{out} exists already",
            "A folder that does not exist yet",
            "Choose another one, or give --overwrite to replace it",
        )


@contextmanager
def reports_aside(out: Path | None) -> Iterator[None]:
    """Let rows have standard output within the block if ``out`` is a stream: everything printed goes to stderr."""
    if out != STREAM:
        yield
        return
    sys.stdout.flush()
    before = _rows.set(sys.stdout.buffer)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _rows.reset(before)


def open_output(out: Path, *, overwrite: bool) -> OutputFolder:
    """Return the output for a folder or a stream."""
    from neardup.io.writers import OutputFolder, StreamOutput

    rows = _rows.get()
    return OutputFolder(out, overwrite=overwrite) if out != STREAM or rows is None else StreamOutput(rows)
