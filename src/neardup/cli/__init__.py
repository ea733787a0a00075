"""The command line: parses options, calls the library, and prints results. It contains no algorithm."""

from __future__ import annotations

import os
import sys

from neardup.cli.hidden import hide_pandas
from neardup.io.names import ESCAPED


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):  # names of files may have no form in the encoding of the terminal
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ESCAPED)
    try:
        from neardup.cli.help import show_if_asked

        show_if_asked(sys.argv[1:])
        hide_pandas()
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


def _open_closed_streams() -> None:
    """Open the standard streams that were closed (``>&-``) to nowhere.

    Otherwise the next file that is opened would become standard output, and receive all that is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _is_of_memory(error: BaseException) -> bool:
    """The same test as in runtime.py, which may itself be impossible to load."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "failed to map" in said or "cannot allocate" in said
