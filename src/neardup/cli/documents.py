"""``neardup compare`` and ``explain``: documents that are named one by one."""

from __future__ import annotations

import json as notation
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, cast

import typer

from neardup import display
from neardup.cli.config import given_here
from neardup.cli.messages import warn
from neardup.cli.options.on_samples import CompareOptions, ExplainOptions
from neardup.cli.output import WIDTH, unbroken
from neardup.display import printable
from neardup.errors import InputError, OutputError, SettingError
from neardup.io.contents import Content, differing_kinds
from neardup.io.place import Place, file_at, is_url, place_of, url_in
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison
    from neardup.comparison.walkthrough import Explanation
    from neardup.deduplication.results import Found
    from neardup.unicode import Unit


BATCH = 1000
"""Lines to print at a time."""
MOST_DIGITS = 18
"""Digits of a row number; more do not fit into 64 bits."""
LITERAL = ("A", "B")
"""Names of typed texts."""
WIDEST = 120
NAME_SHOWN = 60


def compare(options: CompareOptions) -> int:
    """Show the common text of two documents, side by side, with the measures."""
    for output, name in ((options.html, "--html"), (options.docx, "--docx")):
        refuse_page_over_input(output, () if options.literal else (options.a, options.b), name)
    from neardup.io.outputs import OutputPage, OutputRedline, common_access

    pair = pair_of(options)
    with ExitStack() as outputs:  # opened before the comparison, so that an unwritable file is reported at once
        access = common_access(pair.files)
        if options.html is not None:
            page = outputs.enter_context(OutputPage(options.html, overwrite=options.overwrite, access=access))
        if options.docx is not None:
            word = outputs.enter_context(OutputRedline(options.docx, overwrite=options.overwrite, access=access))
        comparison = _compare(pair, options)
        if options.html is not None:
            page.write(comparison.html(names=pair.names, full=options.full))
        if options.docx is not None:
            word.write_bytes(comparison.docx())
    _show(comparison, pair, options)
    return 0


def _compare(pair: TwoTexts, options: CompareOptions) -> Comparison:
    from neardup.comparison.compare import compare as compared
    from neardup.deduplication.join.base_documents import base_texts

    given = as_compared(options.settings.to_settings().as_dict())
    stored = {name: value for name, value in pair.settings.items() if name not in given_here(options.explicit)}
    comparison = compared(
        *pair.texts,
        min_chunk=options.min_chunk,
        **{**given, **stored},
        ignore=base_texts(options.ignore),
    )
    return replace(comparison, not_compared=pair.not_compared)


def _show(comparison: Comparison, pair: TwoTexts, options: CompareOptions) -> None:
    from neardup.comparison.views import as_text, facts_of, notes_on

    colour = _has_colour()
    width = options.width or (get_terminal_size().columns if sys.stdout.isatty() else WIDTH)
    if options.json:
        typer.echo(notation.dumps({**pair.described, **comparison.as_dict()}))
        for note in notes_on(comparison):
            warn(note)
    elif not options.written:
        text = as_text(comparison, pair.names, width, colour=colour, full=options.full, every=options.every)
        _print(chain(about(pair, width), text))
    else:
        facts = facts_of(comparison, width, options.every)
        written = [f"written  {display.printable(path)}" for path in options.written]
        _print([*about(pair, width), *facts, "", *written])


def _has_colour() -> bool:
    """Whether to print colour: on a terminal, unless disabled (https://no-color.org) or unsupported."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[str]) -> None:
    """Print lines in batches; characters that the encoding of the terminal lacks are escaped."""
    encoding, lines = sys.stdout.encoding or "utf-8", iter(lines)
    while batch := list(islice(lines, BATCH)):
        typer.echo("\n".join(batch).encode(encoding, "backslashreplace").decode(encoding))


@dataclass(frozen=True)
class TwoTexts:
    """Two texts, their names, and lines about them; ``settings`` are those of the result or the collection."""

    texts: tuple[str, str]
    names: tuple[str, str]
    facts: tuple[display.Line, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    described: dict[str, Any] = field(default_factory=dict)
    not_compared: tuple[str, ...] = ()


def pair_of(options: CompareOptions) -> TwoTexts:
    """Read the two documents. Raises InputError for names that are not documents."""
    _refuse_other_options(options)
    if options.literal:
        return TwoTexts((options.a, options.b), LITERAL)
    if options.other is not None:
        ids = options.b, options.other
        if is_url(options.a):
            return _of_collection(place_of(options.a), ids)
        if url_in(options.a) is not None:
            return _of_result(options.a, ids)
        place = Path(options.a)
        if not place.exists():
            raise InputError(
                f"There is no result or collection {place}",
                "A result folder or the file of a collection",
                "Check the name",
            )
        return _of_collection(place, ids) if place.is_file() else _of_result(place, ids)
    refuse_second_input((options.a, options.b))
    names = (_name_of(options.a), _name_of(options.b))
    a, b = (_content_of(name, options) for name in (options.a, options.b))
    files = tuple(name for name in (options.a, options.b) if name != "-")
    return TwoTexts(
        (a.text, b.text), names, files=files, not_compared=differing_kinds(a.attachments, b.attachments)
    )


def _refuse_other_options(options: CompareOptions) -> None:
    if options.other is not None and options.literal:
        raise SettingError(
            "--literal was given with three arguments", "Two texts", "Leave the third out, or --literal"
        )


def _of_result(folder: str | Path, ids: tuple[str, str]) -> TwoTexts:
    from neardup.deduplication.results import load
    from neardup.deduplication.texts import differing_parts, fate, typed_id

    result = load(folder)
    a, b = (typed_id(result, id) for id in ids)
    looked = result.look(a), result.look(b)
    result, (a, b) = result.named, (document.id for document in looked)
    facts = []
    for letter, document in zip(LITERAL, looked, strict=True):
        about_it = f"{document.id}: {document.where}; {fate(result, document.id)}"
        facts.append((letter, display.printable(about_it)))
    facts.append(("result", _stored_pair_in_words(result, a, b)))
    settings = as_compared(result.run.settings)
    described = {
        letter: {"id": document.id, "where": document.where, "fate": fate(result, document.id)}
        for letter, document in zip(("document_a", "document_b"), looked, strict=True)
    }
    files = (str(folder), *(document.path for document in looked))
    texts, names = (looked[0].text, looked[1].text), (str(a), str(b))
    return TwoTexts(texts, names, tuple(facts), settings, files, described, differing_parts(result, a, b))


def _stored_pair_in_words(result: Found, a: str | int, b: str | int) -> str:
    from neardup.deduplication.texts import similarity_of_pair

    measure, threshold = (result.run.settings[name] for name in ("measure", "threshold"))
    pair = result.pair(a, b)
    if pair is None:
        return f"they are not a stored pair; pairs have {measure} {display.similarity(threshold)} or above"
    return f"{measure} {display.similarity(similarity_of_pair(result, pair))}, {pair}"


def _of_collection(path: Place, ids: tuple[str, str]) -> TwoTexts:
    from neardup.collection import Collection

    with Collection(path, readonly=True) as collection:
        a, b = (collection.get(id) for id in ids)
        settings = as_compared(collection.settings.as_dict())
    file = file_at(path)
    files = () if file is None else (str(file),)
    return TwoTexts((a.text, b.text), (a.id, b.id), settings=settings, files=files)


def _content_of(name: str, options: CompareOptions) -> Content:
    from neardup.io.inputs import document_content, format_of, read_stream

    if name == "-":
        return read_stream(sys.stdin.buffer)
    file, mark, row = name.rpartition("#")
    is_number = bool(mark) and row.isascii() and row.isdecimal() and len(row) <= MOST_DIGITS
    if is_number and not os.path.exists(name) and (url_in(name) is None or format_of(file) != "text"):
        return Content(_row(file, row, options))
    if os.path.isfile(os.path.join(name, "run.json")):
        raise InputError(
            f"{display.printable(name)} is a result, and two ids must follow it",
            "neardup compare RESULT ID ID",
            "Give both ids",
        )
    with named_missing_files(name):
        return document_content(name, pages=options.settings.pages)


def _row(file: str, row: str, options: CompareOptions) -> str:
    from neardup.io.inputs import read_file_row

    reading = options.settings.to_settings().reading
    return read_file_row(file, int(row), options.text, reading)


def _name_of(typed: str) -> str:
    return "standard input" if typed == "-" else os.fsencode(typed).decode("utf-8", "replace")


def about(pair: TwoTexts, width: int) -> Iterator[str]:
    """Yield the lines about the documents, and an empty one after them."""
    if pair.facts:
        for text in unbroken(pair.facts, width):
            yield from text.splitlines()
        yield ""


def explain(options: ExplainOptions) -> int:
    """Show the textbook tables for a few small documents."""
    refuse_page_over_input(options.html, () if options.literal else options.names)
    if options.html is None:
        tables = _explain(options)
    else:
        from neardup.io.outputs import OutputPage, common_access

        files = [] if options.literal or options.example else [name for name in options.names if name != "-"]
        with OutputPage(options.html, overwrite=options.overwrite, access=common_access(files)) as page:
            tables = _explain(options)
            page.write(tables.html())
    if options.json:
        typer.echo(notation.dumps(tables.as_dict(), indent=2, ensure_ascii=False))
    elif options.html is not None:
        typer.echo(f"{tables!r}\nwritten  {printable(options.html)}")
    else:
        width = min(get_terminal_size().columns, WIDEST) if sys.stdout.isatty() else WIDTH
        typer.echo(tables.text(width))
    return 0


def _explain(options: ExplainOptions) -> Explanation:
    from neardup.comparison.walkthrough import explain as explained

    numbers, coefficients = options.numbers, options.coefficients
    return explained(
        _documents(options),
        length=options.length,
        unit=cast("Unit", options.unit),  # checked there
        family=options.family.split(","),
        slots=None if numbers is None else [_whole("--slots", part) for part in numbers.split(",")],
        seed=options.seed,
        coefficients=None if coefficients is None else list(_pairs(coefficients)),
        orders=None if options.orders is None else list(_orders(options.orders)),
        modulus=options.modulus,
        first_row=options.first_row,
        band_rows=options.band_rows,
    )


def _documents(options: ExplainOptions) -> Any:
    """Return the documents in a form for ``nd.explain``."""
    if options.example:
        if options.names or options.literal:
            raise InputError("--example was given with documents", "One or the other", "Leave one out")
        from neardup.comparison.walkthrough import EXAMPLE

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

    named = [document for name in options.names for document in _small_documents(name)]
    return pa.table({"id": [name for name, _ in named], "text": [text for _, text in named]})


def _small_documents(name: str) -> list[tuple[str, str]]:
    from neardup.comparison.walkthrough import CHARACTERS, read_small
    from neardup.io.inputs import open_files

    if name == "-":
        # four bytes hold any character, so a text that is cut off is refused for its length
        return [("-", sys.stdin.buffer.read(4 * CHARACTERS + 1).decode("utf-8", "replace"))]
    with named_missing_files(name):
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


def _orders(typed: str) -> Iterator[list[int]]:
    """Yield the row numbers of 1:4:0:3:2,0:1:2:3:4, an order each."""
    for part in typed.split(","):
        yield [_whole("--orders", number) for number in part.split(":")]


def _whole(option: str, typed: str) -> int:
    try:
        return int(typed)
    except ValueError as error:
        raise SettingError(f"{option} has {typed!r}", "Whole numbers") from error


def refuse_second_input(names: Sequence[str]) -> None:
    """Raise InputError if - is given twice."""
    if names.count("-") > 1:
        raise InputError("- was given twice", "One document on standard input", "Write the others to files")


def refuse_page_over_input(page: Path | None, names: Sequence[str], option: str = "--html") -> None:
    """Raise OutputError if the file to write, given by the ``option``, is one of the documents."""
    if page is None or not page.exists():
        return
    for name in names:
        if os.path.exists(name) and os.path.samefile(name, page):
            raise OutputError(
                f"{display.printable(name)} is a document and the file to write",
                "A file with another name",
                f"Choose another name after {option}",
            )


@contextmanager
def named_missing_files(name: str) -> Iterator[None]:
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
