"""The two documents that ``neardup compare`` names: files, rows of files, and ids of a result or a collection."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neardup import display
from neardup.cli.documents import naming, refuse_second_input
from neardup.cli.options.on_files import CompareOptions
from neardup.cli.shown import unbroken
from neardup.errors import InputError, SettingError
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.run.found import Found

MOST_DIGITS = 18
"""Digits of a row number; more do not fit into 64 bits."""

LITERAL = ("A", "B")
"""Names of typed texts."""


@dataclass(frozen=True)
class TwoTexts:
    """Two texts, their names, and lines about them; ``settings`` are those of the result or the collection."""

    texts: tuple[str, str]
    names: tuple[str, str]
    facts: tuple[display.Line, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    described: dict[str, Any] = field(default_factory=dict)


def pair_of(options: CompareOptions) -> TwoTexts:
    """Read the two documents. Raises InputError for names that are not documents."""
    _refuse_other_options(options)
    if options.literal:
        return TwoTexts((options.a, options.b), LITERAL)
    if options.other is not None:
        place, ids = Path(options.a), (options.b, options.other)
        if not place.exists():
            raise InputError(
                f"There is no result or collection {place}",
                "A result folder or the file of a collection",
                "Check the name",
            )
        return _of_collection(place, ids) if place.is_file() else _of_result(place, ids, options.inputs)
    refuse_second_input((options.a, options.b))
    names = (_name(options.a), _name(options.b))
    texts = (_read(options.a, options), _read(options.b, options))
    return TwoTexts(texts, names, files=tuple(name for name in (options.a, options.b) if name != "-"))


def _refuse_other_options(options: CompareOptions) -> None:
    if options.other is not None and options.literal:
        raise SettingError(
            "--literal was given with three arguments", "Two texts", "Leave the third out, or --literal"
        )
    if options.inputs and options.other is None:
        raise SettingError("--inputs was given without a result", "A result folder and two ids", "Leave it out")


def _of_result(folder: Path, ids: tuple[str, str], inputs: list[str]) -> TwoTexts:
    from neardup.run.found import load
    from neardup.run.looking import fate, typed_id

    found = load(folder, inputs=inputs)
    a, b = (typed_id(found, id) for id in ids)
    looked = found.look(a), found.look(b)
    facts = []
    for letter, document in zip(LITERAL, looked, strict=True):
        about_it = f"{document.id}: {document.where}; {fate(found, document.id)}"
        facts.append((letter, display.printable(about_it)))
    facts.append(("result", _stored(found, a, b)))
    settings = as_compared(found.run["settings"])
    described = {
        letter: {"id": document.id, "where": document.where, "fate": fate(found, document.id)}
        for letter, document in zip(("document_a", "document_b"), looked, strict=True)
    }
    files = (str(folder), *(document.path for document in looked))
    return TwoTexts((looked[0].text, looked[1].text), (str(a), str(b)), tuple(facts), settings, files, described)


def _stored(found: Found, a: str | int, b: str | int) -> str:
    from neardup.run.looking import similarity_of_pair

    measure, threshold = (found.run["settings"][name] for name in ("measure", "threshold"))
    pair = found.pair(a, b)
    if pair is None:
        return f"they are not a stored pair; pairs have {measure} {display.similarity(threshold)} or above"
    return f"{measure} {display.similarity(similarity_of_pair(found, pair))}, {pair}"


def _of_collection(path: Path, ids: tuple[str, str]) -> TwoTexts:
    from neardup.collection import Collection

    with Collection(path, readonly=True) as collection:
        a, b = (collection.get(id) for id in ids)
        settings = as_compared(collection.settings.as_dict())
    return TwoTexts((a.text, b.text), (a.id, b.id), settings=settings, files=(str(path),))


def _read(name: str, options: CompareOptions) -> str:
    from neardup.io.readers import read_document, read_stream

    if name == "-":
        return read_stream(sys.stdin.buffer)
    file, mark, row = name.rpartition("#")
    is_number = bool(mark) and row.isascii() and row.isdecimal() and len(row) <= MOST_DIGITS
    if is_number and not os.path.exists(name) and "://" not in name:
        return _row(file, row, options)
    if os.path.isfile(os.path.join(name, "run.json")):
        raise InputError(
            f"{display.printable(name)} is a result, and two ids must follow it",
            "neardup compare RESULT ID ID",
            "Give both ids",
        )
    with naming(name):
        return read_document(name, pages=options.settings.pages)


def _row(file: str, row: str, options: CompareOptions) -> str:
    from neardup.io.readers.rows import read_file_row

    reading = options.settings.checked().reading
    return read_file_row(file, int(row), options.text, reading)


def _name(typed: str) -> str:
    return "standard input" if typed == "-" else os.fsencode(typed).decode("utf-8", "replace")


def about(pair: TwoTexts, width: int) -> Iterator[str]:
    """Yield the lines about the documents, and an empty one after them."""
    if pair.facts:
        for text in unbroken(pair.facts, width):
            yield from text.splitlines()
        yield ""
