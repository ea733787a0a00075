"""``neardup add``, ``remove``, ``info`` and ``check``: a collection, from the command line."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import views
from neardup.cli.messages import DONE, ERROR, REJECTED, error, warn
from neardup.cli.shown import watcher

if TYPE_CHECKING:
    from neardup.collection import Added, Collection

_SHOWN_PROBLEMS = 3


def add(
    path: Path,
    inputs: list[str],
    text: str | None,
    id: str | None,
    metadata: list[str],
    replace: bool,
    wait: float,
    json: bool,
) -> int:
    """Add documents to a collection, all of them or none.

    An id that is there already is an error, unless --replace. Exit status: 0 done; 1 done, but
    some input was rejected; 2 error, and nothing was added.
    """
    from neardup.collection import Collection
    from neardup.readers import open_files

    documents = open_files(inputs)
    with Collection(path, wait=wait) as collection, watcher() as progress:
        added = collection.add(
            documents,
            text=text,
            id=id,
            metadata=list(metadata),
            on_duplicate="replace" if replace else "error",
            progress=progress,
        )
        total = len(collection)
    if json:
        typer.echo(notation.dumps({**_counts(added), "documents": total}, indent=2, ensure_ascii=False))
    else:
        for note in added.notes:
            typer.echo(views.printable(note))
        replaced = f", {views.number(added.replaced)} replaced" if replace else ""
        typer.echo(
            f"{views.counted(added.added, 'document')} added{replaced}; "
            f"{views.printable(path)} holds {views.number(total)}"
        )
    if added.rejected:
        warn("\n".join(_rejected(added)))
    return REJECTED if added.rejected else DONE


def remove(path: Path, ids: list[str], wait: float, json: bool) -> int:
    """Remove documents from a collection, all of them or none.

    Removes everything that was derived from them, too. An unknown id is an error.
    """
    with opened(path, wait) as collection:
        removed = collection.remove(ids)
        left = len(collection)
    if json:
        typer.echo(notation.dumps({"removed": removed, "documents": left}, indent=2))
    else:
        typer.echo(
            f"{views.counted(removed, 'document')} removed; {views.printable(path)} holds {views.number(left)}"
        )
    return DONE


def info(path: Path, json: bool) -> int:
    """Show what a collection holds."""
    with opened(path) as collection:
        known = collection.info()
    if json:
        typer.echo(notation.dumps(known, indent=2, ensure_ascii=False))
        return DONE
    for line in views.aligned(list(_facts(known))):
        typer.echo(line)
    return DONE


def check(path: Path, json: bool) -> int:
    """Check a collection: everything that was derived from the texts is worked out again and compared.

    Exit status: 0 nothing is wrong; 2 something is.
    """
    with opened(path) as collection, watcher() as progress:
        total, faults = len(collection), collection.check(progress)
    if json:
        typer.echo(notation.dumps({"documents": total, "faults": faults}, indent=2, ensure_ascii=False))
    elif not faults:
        typer.echo(f"{views.counted(total, 'document')} checked, no fault found")
    if faults:
        error("\n".join(map(views.printable, faults)) + "\nRestore the collection from a copy.")
    return ERROR if faults else DONE


def opened(path: Path, wait: float = 10.0) -> Collection:
    """The collection in a file that exists: only ``add`` makes one."""
    from neardup.collection import Collection
    from neardup.errors import InputError

    if not path.exists():
        raise InputError(f"There is no collection {path}", "A file that neardup add made", "Check the name")
    return Collection(path, wait=wait)


def _counts(added: Added) -> dict[str, Any]:
    problems = [
        {"source": problem.source, "row": problem.row, "reason": problem.reason} for problem in added.problems
    ]
    counts = {name: getattr(added, name) for name in ("added", "replaced", "rejected", "text_bytes")}
    return {**counts, "problems": problems}


def _rejected(added: Added) -> Iterator[str]:
    yield f"{views.counted(added.rejected, 'row')} rejected. The first:"
    for problem in added.problems[:_SHOWN_PROBLEMS]:
        row = "" if problem.row is None else f" row {problem.row}"
        yield f"{views.printable(problem.source)}{row}: {views.printable(problem.reason)}"


def _facts(known: dict[str, Any]) -> Iterator[views.Line]:
    size = known["bytes"]
    yield "documents", views.number(known["documents"])
    yield "tokens", views.number(known["tokens"])
    yield "shingles", f"{views.number(known['shingles'])}, {views.number(known['postings'])} of them sampled"
    yield "texts", f"{views.size(size['text'])}, {views.size(size['text_packed'])} as stored"
    yield "file", views.size(size["file"])
    yield "settings", ", ".join(f"{name} {value}" for name, value in known["settings"].items())
