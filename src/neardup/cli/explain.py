"""``neardup explain``: the textbook tables for a few small documents."""

from __future__ import annotations

import json as notation
import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, cast

import typer

from neardup.cli.documents import naming, refuse_page_over_input, refuse_second_input
from neardup.cli.options.on_files import ExplainOptions
from neardup.cli.shown import WIDTH
from neardup.display import printable
from neardup.errors import InputError, SettingError

if TYPE_CHECKING:
    from neardup.text.normalise import Unit
    from neardup.walkthrough import Explanation

WIDEST = 120


def explain(options: ExplainOptions) -> int:
    """Show the textbook tables for a few small documents."""
    refuse_page_over_input(options.html, () if options.literal else options.names)
    if options.html is None:
        tables = _explained(options)
    else:
        from neardup.io.writers import OutputPage, common_access

        files = [] if options.literal or options.example else [name for name in options.names if name != "-"]
        with OutputPage(options.html, overwrite=options.overwrite, access=common_access(files)) as page:
            tables = _explained(options)
            page.write(tables.html())
    if options.json:
        typer.echo(notation.dumps(tables.as_dict(), indent=2, ensure_ascii=False))
    elif options.html is not None:
        typer.echo(f"{tables!r}\nwritten  {printable(options.html)}")
    else:
        width = min(get_terminal_size().columns, WIDEST) if sys.stdout.isatty() else WIDTH
        typer.echo(tables.text(width))
    return 0


def _explained(options: ExplainOptions) -> Explanation:
    from neardup.walkthrough import explain as explained

    numbers, coefficients = options.numbers, options.coefficients
    return explained(
        _documents(options),
        length=options.length,
        unit=cast("Unit", options.unit),  # checked there
        family=options.family.split(","),
        slots=None if numbers is None else [_whole("--slots", part) for part in numbers.split(",")],
        seed=options.seed,
        coefficients=None if coefficients is None else list(_pairs(coefficients)),
        band_rows=options.band_rows,
    )


def _documents(options: ExplainOptions) -> Any:
    """Return the documents in a form for ``nd.explain``."""
    if options.example:
        if options.names or options.literal:
            raise InputError("--example was given with documents", "One or the other", "Leave one out")
        from neardup.walkthrough import EXAMPLE

        return list(EXAMPLE)
    if not options.names:
        raise InputError(
            "No document was given",
            "Two to ten files, - for standard input, or texts after --literal",
            "Name them, or give --example to see three sentences explained",
        )
    if options.literal:
        return list(options.names)
    refuse_second_input(options.names)
    import pyarrow as pa

    named = [document for name in options.names for document in _read(name)]
    return pa.table({"id": [name for name, _ in named], "text": [text for _, text in named]})


def _read(name: str) -> list[tuple[str, str]]:
    from neardup.io.readers import open_files
    from neardup.walkthrough import CHARACTERS, read_small

    if name == "-":
        # four bytes hold any character, so a text that is cut off is refused for its length
        return [("-", sys.stdin.buffer.read(4 * CHARACTERS + 1).decode("utf-8", "replace"))]
    with naming(name):
        documents = open_files([name])
    return read_small(documents)


def _pairs(typed: str) -> Iterator[tuple[int, int]]:
    """Yield the pairs (a, b) of 4:9,14:4."""
    for part in typed.split(","):
        a, colon, b = part.partition(":")
        if not colon:
            raise SettingError(
                f"--coefficients has {part!r}", "Pairs a:b of whole numbers with commas, such as 4:9,14:4"
            )
        yield _whole("--coefficients", a), _whole("--coefficients", b)


def _whole(option: str, typed: str) -> int:
    try:
        return int(typed)
    except ValueError as error:
        raise SettingError(f"{option} has {typed!r}", "Whole numbers, with commas between them") from error
