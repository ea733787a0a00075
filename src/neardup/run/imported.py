"""Tags from a file of another program → the decisions of a result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neardup.display import counted
from neardup.io.decisions.records import Action, Id, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import read_tags
from neardup.run.stored import read_result


@dataclass(frozen=True)
class Imported:
    """The action that added tags (None if all were there), their number, and the ids that the result lacks."""

    action: Action | None
    tags: int
    documents: int
    unknown: tuple[str, ...]


def import_into(
    folder: Path, file: Path, form: str, by: str, columns: tuple[str, str] = ("id", "tags")
) -> Imported:
    """Add the tags of a file to the documents of a result, in the name of ``by``, as one action.

    ``columns`` name the column of ids and that of tags. Tags that a document has stay. Raises InputError for a
    folder that is not a result, a file that cannot be read, or impossible tags; then nothing is stored.
    """
    tables = read_result(folder).tables
    known: dict[str, Id] = {}
    for name in ("ranks", "not_judged"):
        known.update((str(id), id) for id in tables[name]["id"].to_pylist())
    with DecisionStore(folder) as store:
        before = store.state().tags
        changes: dict[tuple[Id, str], Tag] = {}
        unknown: dict[str, None] = {}
        for text, tags in read_tags(file, form, *columns):
            if text not in known:
                unknown.update({text: None} if tags else {})
                continue
            id = known[text]
            changes.update({(id, tag): Tag(id, tag) for tag in tags if tag not in before.get(id, ())})
        documents = len({id for id, _ in changes})
        what = f"import {counted(len(changes), 'tag')} of {counted(documents, 'document')} from {file.name}"
        action = store.act(list(changes.values()), by=by, what=what) if changes else None
    return Imported(action, len(changes), documents, tuple(unknown))
