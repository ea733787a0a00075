"""``neardup add``, ``remove``, ``info``, ``check`` and ``compact``: a collection, from the command line."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import views
from neardup.cli.messages import DONE, ERROR, REJECTED, error, warn
from neardup.cli.options import CREATION
from neardup.cli.shown import watcher

if TYPE_CHECKING:
    from neardup.collection import Added, Collection

_SHOWN_PROBLEMS = 3


def add(
    path: Path,
    inputs: list[str],
    metadata: list[str],
    replace: bool,
    problems: Path | None,
    json: bool,
    **typed: Any,
) -> int:
    """Add documents to a collection, all of them or none.

    An id that is there already is an error, unless --replace. Files that are one document each
    (text, HTML, PDF, DOCX, mail) are called by their paths, and keep what they say of themselves:
    from, to, cc, date, subject, title, author.

    Exit status: 0 done; 1 done, but some input was rejected (--problems lists it); 2 error, and
    nothing was added.
    """
    added, total = _add(path, inputs, list(metadata), replace, problems, **typed)
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
        warn("\n".join(_rejected(added, problems)))
    return REJECTED if added.rejected else DONE


def _add(
    path: Path, inputs: list[str], metadata: list[str], replace: bool, problems: Path | None, **typed: Any
) -> tuple[Added, int]:
    """What was added, and how many documents there are now."""
    from neardup.collection import Collection
    from neardup.readers import choose_columns, open_files
    from neardup.writers import ProblemList

    settings = {
        option.name.removeprefix("new_"): value for option in CREATION if (value := typed[option.name]) is not None
    }
    documents = open_files(inputs)
    choose_columns(documents, typed["text"], typed["id"])  # a mistake in them must not leave an empty collection
    with nullcontext() if problems is None else ProblemList(problems) as listed:
        on_problem = listed.write if listed else None
        with Collection(path, wait=typed["wait"], on_problem=on_problem, **settings) as collection:
            with watcher() as progress:
                added = collection.add(
                    documents,
                    text=typed["text"],
                    id=typed["id"],
                    metadata=metadata,
                    on_duplicate="replace" if replace else "error",
                    progress=progress,
                )
            return added, len(collection)


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


def compact(path: Path, upgrade: bool, wait: float, json: bool) -> int:
    """Rewrite a collection without free space, and without the words of removed documents.

    Needs as much free space as the file has, and nobody else who reads or writes.
    """
    with opened(path, wait, upgrade=upgrade) as collection:
        before = collection.info()["bytes"]["file"]
        collection.compact()
        total, after = len(collection), collection.info()["bytes"]["file"]
    if json:
        typer.echo(notation.dumps({"documents": total, "before": before, "after": after}, indent=2))
    else:
        typer.echo(
            f"{views.printable(path)} has {views.size(after)}, {views.size(before)} before; "
            f"it holds {views.counted(total, 'document')}"
        )
    return DONE


def opened(path: Path, wait: float = 10.0, *, upgrade: bool = False) -> Collection:
    """The collection in a file that exists: only ``add`` makes one."""
    from neardup.collection import Collection
    from neardup.errors import InputError

    if not path.exists():
        raise InputError(f"There is no collection {path}", "A file that neardup add made", "Check the name")
    return Collection(path, wait=wait, upgrade=upgrade)


def _counts(added: Added) -> dict[str, Any]:
    problems = [
        {"source": problem.source, "row": problem.row, "reason": problem.reason} for problem in added.problems
    ]
    counts = {name: getattr(added, name) for name in ("added", "replaced", "rejected", "text_bytes")}
    return {**counts, "problems": problems}


def _rejected(added: Added, listed: Path | None) -> Iterator[str]:
    where = f"; {views.printable(listed)} lists them" if listed else ""
    yield f"{views.counted(added.rejected, 'row')} rejected{where}. The first:"
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
