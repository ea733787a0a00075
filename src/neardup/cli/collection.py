"""``neardup remove``, ``info``, ``check`` and ``compact``."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.messages import DONE, ERROR, error
from neardup.cli.options.on_collections import CheckOptions, CompactOptions, InfoOptions, RemoveOptions
from neardup.cli.shown import watcher

if TYPE_CHECKING:
    from neardup.collection import Collection


def remove(options: RemoveOptions) -> int:
    """Remove documents from a collection, all of them or none.

    Also removes everything derived from them. An unknown id is an error.
    """
    with opened(options.path, options.wait) as collection:
        removed = collection.remove(options.ids)
        left = len(collection)
    if options.json:
        typer.echo(notation.dumps({"removed": removed, "documents": left}, indent=2))
    else:
        typer.echo(
            f"{display.counted(removed, 'document')} removed; "
            f"{display.printable(options.path)} holds {display.number(left)}"
        )
    return DONE


def info(options: InfoOptions) -> int:
    """Show the size and settings of a collection."""
    with opened(options.path) as collection:
        known = collection.info()
    if options.json:
        typer.echo(notation.dumps(known, indent=2, ensure_ascii=False))
        return DONE
    for line in display.aligned(list(_facts(known))):
        typer.echo(line)
    return DONE


def check(options: CheckOptions) -> int:
    """Check a collection: derive everything from the texts again, and compare.

    Exit status: 0 no fault; 2 faults were found.
    """
    with opened(options.path) as collection, watcher() as progress:
        total, faults = len(collection), collection.check(progress)
    if options.json:
        typer.echo(notation.dumps({"documents": total, "faults": faults}, indent=2, ensure_ascii=False))
    elif not faults:
        typer.echo(f"{display.counted(total, 'document')} checked, no fault found")
    if faults:
        error("\n".join(map(display.printable, faults)) + "\nTry: Restore the collection from a copy.")
    return ERROR if faults else DONE


def compact(options: CompactOptions) -> int:
    """Rewrite a collection without free space, and without the words of removed documents.

    Needs free disk space of the size of the file, and no other reader or writer.
    """
    with opened(options.path, options.wait, upgrade=options.upgrade) as collection:
        before = collection.info()["bytes"]["file"]
        collection.compact()
        total, after = len(collection), collection.info()["bytes"]["file"]
    if options.json:
        typer.echo(notation.dumps({"documents": total, "before": before, "after": after}, indent=2))
    else:
        typer.echo(
            f"{display.printable(options.path)} has {display.size(after)}, {display.size(before)} before; "
            f"it holds {display.counted(total, 'document')}"
        )
    return DONE


def opened(path: Path, wait: float = 10.0, *, upgrade: bool = False) -> Collection:
    """Open an existing collection. Raises InputError if there is no file."""
    from neardup.collection import Collection
    from neardup.errors import InputError

    if not path.exists():
        raise InputError(f"There is no collection {path}", "A file made by neardup add", "Check the name")
    return Collection(path, wait=wait, upgrade=upgrade)


def _facts(known: dict[str, Any]) -> Iterator[display.Line]:
    size = known["bytes"]
    yield "documents", display.number(known["documents"])
    if known["base_texts"]:
        yield "base texts", f"{display.number(known['base_texts'])} of these: their text counts in no document"
    yield "tokens", display.number(known["tokens"])
    yield "shingles", f"{display.number(known['shingles'])}, {display.number(known['postings'])} of them sampled"
    yield "texts", f"{display.size(size['text'])}, {display.size(size['text_packed'])} as stored"
    yield "groups", display.number(known["groups"])
    yield "file", display.size(size["file"])
    yield "settings", ", ".join(f"{name} {value}" for name, value in known["settings"].items())
