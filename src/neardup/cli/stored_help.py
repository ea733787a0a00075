"""The help of every command as it was printed when this version was made, so that no command has to be loaded.

Loading the commands takes many times as long as printing their help. ``scripts/docs`` writes ``help.txt``, and a
test holds it equal to the help that the commands print.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

COLUMNS = 80
"""The width of the stored pages."""
PAGE = "\f"
"""The character before each page; its first line is the command, empty for the help of the program."""

_FILE = Path(__file__).with_name("help.txt")


def stored_help(arguments: Sequence[str]) -> str:
    """Return the help that these arguments ask for; "" if they ask for more, or the page does not fit."""
    if not 1 <= len(arguments) <= 2 or arguments[-1] not in ("--help", "-h") or not _fits():
        return ""
    command = arguments[0] if len(arguments) == 2 else ""
    try:
        pages = _FILE.read_text(encoding="utf-8")
    except OSError:
        return ""
    begin = f"{PAGE}{command}\n"
    return pages.partition(begin)[2].partition(PAGE)[0]


def _fits() -> bool:
    """Whether the output has room for the stored pages, and their characters."""
    if "-" not in (encoding := (sys.stdout.encoding or "").lower()) or not encoding.startswith("utf"):
        return False
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):  # no terminal
        return True
    return width == COLUMNS or (width > COLUMNS and "COLUMNS" not in os.environ)


def show(page: str) -> None:
    """Print a page and exit."""
    status = 0
    try:
        sys.stdout.write(page)
        sys.stdout.flush()
    except OSError as error:
        # after BrokenPipeError the reader has seen enough
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: standard output: {error.strerror}\n")
            status = 2
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing may be written at the exit
    sys.exit(status)


def show_version() -> None:
    """Print the version and exit."""
    from neardup import __version__

    show(f"neardup {__version__}\n")
