"""``neardup compare``: two documents side by side, with all measures."""

from __future__ import annotations

import json as notation
import os
import sys
from collections.abc import Iterable
from itertools import islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.documents import naming, refuse_second_input
from neardup.cli.messages import warn
from neardup.cli.options.on_files import CompareOptions
from neardup.cli.shown import WIDTH
from neardup.errors import OutputError

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison

LITERAL = ("A", "B")
"""Names of typed texts."""
BATCH = 1000
"""Lines to print at a time."""


def compare(options: CompareOptions) -> int:
    """Show the common text of two documents, side by side, with all measures.

    Text, HTML, PDF, DOCX and mail. Exit status: 0 done, whether the documents are equal or not; 2 error.
    """
    _refuse_overwriting_input(options)
    from neardup.io.writers import OutputPage, common_access

    texts = (options.a, options.b) if options.literal else _texts(options)
    names = LITERAL if options.literal else (_name(options.a), _name(options.b))
    if options.html is None:
        found = _compared(texts, options)
    else:
        # opened before the work, so that an unwritable page is reported at once
        access = common_access(() if options.literal else (name for name in (options.a, options.b) if name != "-"))
        with OutputPage(options.html, overwrite=options.overwrite, access=access) as page:
            found = _compared(texts, options)
            page.write(found.html(names=names, full=options.full))
    _show(found, names, options)
    return 0


def _compared(texts: tuple[str, str], options: CompareOptions) -> Comparison:
    from neardup.comparison.compare import compare as compared
    from neardup.join.base_documents import base_texts

    return compared(
        *texts,
        length=options.length,
        unit=options.unit,
        min_chunk=options.min_chunk,
        stop_words=options.stop_words,
        ignore_numbers=options.ignore_numbers,
        ignore=base_texts(options.ignore),
    )


def _refuse_overwriting_input(options: CompareOptions) -> None:
    if options.html is None or options.literal:
        return
    for name in (options.a, options.b):
        if os.path.exists(name) and os.path.exists(options.html) and os.path.samefile(name, options.html):
            raise OutputError(
                f"{display.printable(name)} is a document and the page",
                "A page with another name",
                "Choose another name after --html",
            )


def _texts(options: CompareOptions) -> tuple[str, str]:
    refuse_second_input((options.a, options.b))
    return _read(options.a), _read(options.b)


def _read(name: str) -> str:
    from neardup.io.readers import read_document, read_stream

    if name == "-":
        return read_stream(sys.stdin.buffer)
    with naming(name):
        return read_document(name)


def _name(typed: str) -> str:
    return "standard input" if typed == "-" else os.fsencode(typed).decode("utf-8", "replace")


def _show(found: Comparison, names: tuple[str, str], options: CompareOptions) -> None:
    from neardup.comparison.show import as_text, facts_of, notes_on

    colour = _has_colour()
    width = options.width or (get_terminal_size().columns if sys.stdout.isatty() else WIDTH)
    if options.json:
        typer.echo(notation.dumps(found.as_dict()))
        for note in notes_on(found):
            warn(note)
    elif options.html is None:
        _print(as_text(found, names, width, colour=colour, full=options.full))
    else:
        _print([*facts_of(found, width), "", f"written  {display.printable(options.html)}"])


def _has_colour() -> bool:
    """Whether to print colour: on a terminal, unless disabled (https://no-color.org) or unsupported."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[str]) -> None:
    """Print lines in batches; characters that the encoding of the terminal lacks are escaped."""
    encoding, lines = sys.stdout.encoding or "utf-8", iter(lines)
    while batch := list(islice(lines, BATCH)):
        typer.echo("\n".join(batch).encode(encoding, "backslashreplace").decode(encoding))
