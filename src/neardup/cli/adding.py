"""``neardup add``: add documents to a collection."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.configured import given_here
from neardup.cli.messages import DONE, REJECTED, told_if_stopped, warn
from neardup.cli.options.on_collections import AddOptions
from neardup.cli.shown import watcher
from neardup.errors import SettingError
from neardup.settings import COLLECTION_FIELDS

if TYPE_CHECKING:
    from neardup.collection import Added, Near

_SHOWN_PROBLEMS, _SHOWN_NEAR = 3, 10
_NOUNS = {"document": "document", "base": "base text"}


def add(options: AddOptions) -> int:
    """Add documents to a collection, all of them or none."""
    added, total = _added(options)
    if options.json:
        typer.echo(notation.dumps({**_counts(added), "documents": total}, indent=2, ensure_ascii=False))
    else:
        for note in added.notes:
            typer.echo(display.printable(note))
        replaced = f", {display.number(added.replaced)} replaced" if options.replace else ""
        typer.echo(
            f"{display.counted(added.added, _NOUNS[options.role])} added{replaced}; "
            f"{display.printable(options.path)} holds {display.number(total)}"
        )
        for line in _repeats(added):
            typer.echo(line)
    if added.rejected:
        warn("\n".join(_rejected(added, options.problems)))
    return REJECTED if added.rejected else DONE


def _added(options: AddOptions) -> tuple[Added, int]:
    """Return the outcome, and the number of documents in the collection."""
    from neardup.collection import Collection
    from neardup.collection.collection import own_files
    from neardup.collection.sets import role_of
    from neardup.io.readers import choose_columns, open_files
    from neardup.io.writers import ProblemList, access_of, creating

    near, on_near = _near(options)
    role = role_of(options.role)
    path, problems = options.path, options.problems
    own = (*own_files(path), *([] if problems is None else [problems]))
    reading = options.reading.checked().reading
    documents = open_files(options.inputs, without=own, reading=reading)
    # before the collection is made, so that a mistake leaves none behind
    choose_columns(documents, options.text, options.id)
    access = access_of(documents)
    with nullcontext() if problems is None else ProblemList(problems, access=access) as listed:
        on_problem = listed.write if listed else None
        made = not path.exists()
        with creating(access):
            opened = Collection(path, wait=options.wait, on_problem=on_problem, **_creation(options))
        with opened as collection:
            with told_if_stopped(lambda: _nothing_added(made, path)), watcher() as progress:
                added = collection.add(
                    documents,
                    text=options.text,
                    id=options.id,
                    metadata=options.metadata,
                    on_duplicate="replace" if options.replace else "error",
                    progress=progress,
                    near=near,
                    on_near=on_near,
                    role=role,
                )
            return added, len(collection)


def _nothing_added(made: bool, path: Path) -> str:
    empty = f"; {display.printable(path)} is an empty collection" if made else ""
    return f"no document was added{empty}"


def _creation(options: AddOptions) -> dict[str, Any]:
    """Return the given settings of a new collection; those of an existing one must be equal."""
    given, values = given_here(options.explicit), asdict(options.settings.read())
    return {name: values[name] for name in COLLECTION_FIELDS if name in given}


def _near(options: AddOptions) -> tuple[Near | None, Any]:
    """Return the search and the action of --near, --on-near, --skip-near and --recall."""
    from neardup.collection import Near

    near, on_near, skip, recall = options.near, options.on_near, options.skip_near, options.near_recall
    if skip is not None and (near is not None or on_near is not None):
        raise SettingError("--skip-near was given with --near or --on-near", "One or the other", "Leave one out")
    threshold = near if skip is None else skip
    if threshold is None:
        if on_near is not None or recall is not None:
            raise SettingError("--on-near or --recall was given without --near", "", "Give --near RESEMBLANCE too")
        return None, "keep"
    asked = Near(threshold) if recall is None else Near(threshold, recall)
    return asked, "reject" if skip is not None else on_near or "keep"


def _counts(added: Added) -> dict[str, Any]:
    problems = [
        {"source": problem.source, "row": problem.row, "reason": problem.reason} for problem in added.problems
    ]
    counts = {name: getattr(added, name) for name in ("added", "replaced", "rejected", "text_bytes")}
    if added.recall is None:
        return {**counts, "problems": problems}
    told = {name: getattr(added, name) for name in ("repeats", "linked", "left_out", "base_only", "recall")}
    return {**counts, **told, "near": [one.as_dict() for one in added.near], "problems": problems}


def _repeats(added: Added) -> Iterator[str]:
    if added.recall is None:
        return
    sure = "complete" if added.recall == 1 else f"recall {added.recall:g} or more"
    parts = [f"{display.counted(added.repeats, 'document')} near a stored one ({sure})"]
    parts += [f"{display.number(added.linked)} linked"] * bool(added.linked)
    parts += [f"{display.number(added.left_out)} not stored"] * bool(added.left_out)
    parts += [f"{display.number(added.base_only)} of base text alone, near nothing"] * bool(added.base_only)
    yield ", ".join(parts)
    for one in added.near[:_SHOWN_NEAR]:
        group = "" if one.group is None else f", group {one.group}"
        similar = display.similarity(one.resemblance, 4)
        yield f"  {display.printable(one.id)} repeats {display.printable(one.of)}, {similar}: {one.action}{group}"
    if added.repeats > _SHOWN_NEAR:
        yield f"  and {display.number(added.repeats - _SHOWN_NEAR)} more; --json lists up to 1,000"


def _rejected(added: Added, listed: Path | None) -> Iterator[str]:
    them = "it" if added.rejected == 1 else "them"
    where = f"; {display.printable(listed)} lists {them}" if listed else ""
    yield f"{display.counted(added.rejected, 'row')} rejected{where}. The first:"
    for problem in added.problems[:_SHOWN_PROBLEMS]:
        row = "" if problem.row is None else f" row {problem.row}"
        yield f"{display.printable(problem.source)}{row}: {display.printable(problem.reason)}"
