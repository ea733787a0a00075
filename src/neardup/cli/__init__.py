"""The command line: parses options, calls the library, and prints results. It contains no algorithm."""

from __future__ import annotations

import os
import sys

from neardup.cli.hidden import hide_pandas
from neardup.cli.stored_help import stored_help


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    if page := stored_help(sys.argv[1:]):
        _show(page)
    hide_pandas()
    try:
        from neardup.cli.app import app
    except KeyboardInterrupt:  # the imports take long enough for an interrupt
        sys.exit(130)
    except (ImportError, MemoryError, OSError) as error:
        if not _is_of_memory(error):
            raise
        # the labels of errors.py, which perhaps cannot be imported
        sys.stderr.write("error: Not enough memory to load neardup\n       Try: Allow it more (ulimit -v)\n")
        sys.exit(2)
    app(prog_name="neardup")


def _show(page: str) -> None:
    """Print a page and exit."""
    try:
        sys.stdout.write(page)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; nothing may be written at the exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _is_of_memory(error: BaseException) -> bool:
    """The same test as in runtime.py, which may itself be impossible to load."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "failed to map" in said or "cannot allocate" in said
