"""``neardup remove``, ``list``, ``info``, ``check``, ``compact`` and ``backup``."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.messages import DONE, ERROR, error
from neardup.cli.options.on_collections import (
    BackupOptions,
    CheckOptions,
    CompactOptions,
    InfoOptions,
    ListOptions,
    RemoveOptions,
)
from neardup.cli.shown import watcher

if TYPE_CHECKING:
    from neardup.collection import Collection


def remove(options: RemoveOptions) -> int:
    """Remove documents from a collection, all of them or none."""
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


def list_documents(options: ListOptions) -> int:
    """List the documents of a collection in the order in which they were first added."""
    with opened(options.path) as collection:
        page = collection.list(options.after, options.limit)
    if options.json:
        typer.echo(notation.dumps(page.as_dict(), indent=2, ensure_ascii=False))
        return DONE
    for one in page.documents:
        parts = [display.printable(one.id), display.counted(one.tokens, "token")]
        parts += [f"group {one.group}"] * (one.group is not None) + ["base text"] * (one.role == "base")
        parts += [display.printable(notation.dumps(one.metadata, ensure_ascii=False))] * bool(one.metadata)
        typer.echo("  ".join(parts))
    if not page.documents:
        typer.echo("no documents" if options.after is None else "no more documents")
    if page.next is not None:
        typer.echo(f"more: --after {page.next}")
    return DONE


def backup(options: BackupOptions) -> int:
    """Copy a collection into a new file, while others read and write it."""
    with opened(options.path, options.wait) as collection:
        collection.backup(options.file)
    with opened(options.file) as copy:
        total, size = len(copy), copy.info()["bytes"]["file"]
    if options.json:
        typer.echo(notation.dumps({"documents": total, "bytes": size}, indent=2))
    else:
        copied = f"{display.counted(total, 'document')}, {display.size(size)}, copied"
        typer.echo(f"{copied} to {display.printable(options.file)}")
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
    """Check a collection: derive everything from the texts again, and compare."""
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
    """Rewrite a collection without free space, and without the words of removed documents."""
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
