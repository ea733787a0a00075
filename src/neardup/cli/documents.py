"""Documents named on the command line one by one: what is said of a name that is no file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from neardup import display
from neardup.errors import InputError

NAME_SHOWN = 60


def refuse_second_input(names: Sequence[str]) -> None:
    """Refuse - given twice."""
    if names.count("-") > 1:
        raise InputError("- was given twice", "Standard input is one document", "Write the others to files")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Opening a file that is not there: say how texts are given instead of names."""
    try:
        yield
    except InputError as error:
        if "://" in name or os.path.exists(name):
            raise
        shown = display.printable(name if len(name) <= NAME_SHOWN else name[:NAME_SHOWN] + "…")
        raise InputError(
            f'There is no file "{shown}"',
            "The arguments are names of files, or - for standard input",
            "Give --literal to take the arguments themselves as the documents",
        ) from error
