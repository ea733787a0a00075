"""``neardup compare``: two documents side by side, with all measures."""

from __future__ import annotations

import json as notation
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.documents import naming, refuse_second_input
from neardup.cli.messages import warn
from neardup.cli.shown import WIDTH
from neardup.errors import OutputError

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison

LITERAL = ("A", "B")
"""Names of typed texts."""
BATCH = 1000
"""Lines to print at a time."""


@dataclass(frozen=True)
class Order:
    """The typed arguments other than the options of the comparison."""

    a: str
    b: str
    literal: bool
    html: Path | None
    overwrite: bool
    full: bool
    width: int | None
    json: bool


def compare(**typed: Any) -> int:
    """Show the common text of two documents, side by side, with all measures.

    Text, HTML, PDF, DOCX and mail. Exit status: 0 done, whether the documents are equal or not; 2 error.
    """
    order = Order(**{name: typed.pop(name) for name in Order.__dataclass_fields__})
    _refuse_overwriting_input(order)
    from neardup.comparison.compare import compare as compared
    from neardup.io.writers import OutputPage, common_access

    texts = (order.a, order.b) if order.literal else _texts(order)
    names = LITERAL if order.literal else (_name(order.a), _name(order.b))
    if order.html is None:
        found = compared(*texts, **typed)
    else:
        # opened before the work, so that an unwritable page is reported at once
        access = common_access(() if order.literal else (name for name in (order.a, order.b) if name != "-"))
        with OutputPage(order.html, overwrite=order.overwrite, access=access) as page:
            found = compared(*texts, **typed)
            page.write(found.html(names=names, full=order.full))
    _show(found, names, order)
    return 0


def _refuse_overwriting_input(order: Order) -> None:
    if order.html is None or order.literal:
        return
    for name in (order.a, order.b):
        if os.path.exists(name) and os.path.exists(order.html) and os.path.samefile(name, order.html):
            raise OutputError(
                f"{display.printable(name)} is a document and the page",
                "A page with another name",
                "Choose another name after --html",
            )


def _texts(order: Order) -> tuple[str, str]:
    refuse_second_input((order.a, order.b))
    return _read(order.a), _read(order.b)


def _read(name: str) -> str:
    from neardup.io.readers import read_document, read_stream

    if name == "-":
        return read_stream(sys.stdin.buffer)
    with naming(name):
        return read_document(name)


def _name(typed: str) -> str:
    return "standard input" if typed == "-" else os.fsencode(typed).decode("utf-8", "replace")


def _show(found: Comparison, names: tuple[str, str], order: Order) -> None:
    from neardup.comparison.show import as_text, facts_of, notes_on

    colour = _has_colour()
    width = order.width or (get_terminal_size().columns if sys.stdout.isatty() else WIDTH)
    if order.json:
        typer.echo(notation.dumps(found.as_dict()))
        for note in notes_on(found):
            warn(note)
    elif order.html is None:
        _print(as_text(found, names, width, colour=colour, full=order.full))
    else:
        _print([*facts_of(found, width), "", f"written  {display.printable(order.html)}"])


def _has_colour() -> bool:
    """Whether to print colour: on a terminal, unless disabled (https://no-color.org) or unsupported."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[str]) -> None:
    """Print lines in batches; characters that the encoding of the terminal lacks are escaped."""
    encoding, lines = sys.stdout.encoding or "utf-8", iter(lines)
    while batch := list(islice(lines, BATCH)):
        typer.echo("\n".join(batch).encode(encoding, "backslashreplace").decode(encoding))
