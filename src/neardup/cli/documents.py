"""Documents named one by one on the command line: errors for names that are not files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from neardup import display
from neardup.errors import InputError, OutputError

NAME_SHOWN = 60


def refuse_second_input(names: Sequence[str]) -> None:
    """Raise InputError if - is given twice."""
    if names.count("-") > 1:
        raise InputError("- was given twice", "One document on standard input", "Write the others to files")


def refuse_page_over_input(page: Path | None, names: Sequence[str]) -> None:
    """Raise OutputError if the page to write is one of the documents."""
    if page is None or not page.exists():
        return
    for name in names:
        if os.path.exists(name) and os.path.samefile(name, page):
            raise OutputError(
                f"{display.printable(name)} is a document and the page",
                "A page with another name",
                "Choose another name after --html",
            )


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Extend the error for a missing file: the argument may be a text, not a name."""
    try:
        yield
    except InputError as error:
        if "://" in name or os.path.exists(name):
            raise
        shown = display.printable(name if len(name) <= NAME_SHOWN else name[:NAME_SHOWN] + "…")
        raise InputError(
            f'There is no file "{shown}"',
            "Names of files, or - for standard input",
            "Give --literal to use the arguments themselves as documents",
        ) from error
