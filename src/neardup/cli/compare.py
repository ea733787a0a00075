"""``neardup compare``: two documents side by side, with all measures."""

from __future__ import annotations

import json as notation
import os
import sys
from collections.abc import Iterable
from itertools import chain, islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.configured import given_here
from neardup.cli.documents import refuse_page_over_input
from neardup.cli.messages import warn
from neardup.cli.options.on_files import CompareOptions
from neardup.cli.pairs import TwoTexts, about, pair_of
from neardup.cli.shown import WIDTH
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison

BATCH = 1000
"""Lines to print at a time."""


def compare(options: CompareOptions) -> int:
    """Show the common text of two documents, side by side, with all measures."""
    refuse_page_over_input(options.html, () if options.literal else (options.a, options.b))
    from neardup.io.writers import OutputPage, common_access

    if options.html is None:
        pair = pair_of(options)
        found = _compared(pair, options)
    else:
        # opened before the comparison, so that an unwritable page is reported at once
        pair = pair_of(options)
        with OutputPage(options.html, overwrite=options.overwrite, access=common_access(pair.files)) as page:
            found = _compared(pair, options)
            page.write(found.html(names=pair.names, full=options.full))
    _show(found, pair, options)
    return 0


def _compared(pair: TwoTexts, options: CompareOptions) -> Comparison:
    from neardup.comparison.compare import compare as compared
    from neardup.join.base_documents import base_texts

    given = as_compared(options.settings.checked().as_dict())
    stored = {name: value for name, value in pair.settings.items() if name not in given_here(options.explicit)}
    return compared(
        *pair.texts,
        min_chunk=options.min_chunk,
        **{**given, **stored},
        ignore=base_texts(options.ignore),
    )


def _show(found: Comparison, pair: TwoTexts, options: CompareOptions) -> None:
    from neardup.comparison.show import as_text, facts_of, notes_on

    colour = _has_colour()
    width = options.width or (get_terminal_size().columns if sys.stdout.isatty() else WIDTH)
    if options.json:
        typer.echo(notation.dumps({**pair.described, **found.as_dict()}))
        for note in notes_on(found):
            warn(note)
    elif options.html is None:
        _print(chain(about(pair, width), as_text(found, pair.names, width, colour=colour, full=options.full)))
    else:
        _print([*about(pair, width), *facts_of(found, width), "", f"written  {display.printable(options.html)}"])


def _has_colour() -> bool:
    """Whether to print colour: on a terminal, unless disabled (https://no-color.org) or unsupported."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[str]) -> None:
    """Print lines in batches; characters that the encoding of the terminal lacks are escaped."""
    encoding, lines = sys.stdout.encoding or "utf-8", iter(lines)
    while batch := list(islice(lines, BATCH)):
        typer.echo("\n".join(batch).encode(encoding, "backslashreplace").decode(encoding))
