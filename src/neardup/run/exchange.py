"""The groups, decisions and tags of a reviewed result as files for other programs, and tags from their files."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from neardup.display import counted
from neardup.errors import SettingError
from neardup.io.decisions.records import DecisionState, Id, JudgedPair, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import Imported, read_tags
from neardup.io.writers.exports import FORMS, as_bytes_of, formulas
from neardup.run.kinds import KIND
from neardup.run.records import ResultRecord
from neardup.run.result_folder import read_result
from neardup.run.review_decisions import ReviewedResult, items_of, sizes_of
from neardup.run.stored_review import after_review

Exported = Literal["groups", "decisions", "tags"]
EXPORTS: tuple[Exported, ...] = ("groups", "decisions", "tags")

_IDS = {"groups": ("id", "group"), "decisions": ("id", "other"), "tags": ("id",)}
"""The columns that hold ids."""


def exported(result: ResultRecord, state: DecisionState, what: Exported, form: str) -> Iterator[bytes]:
    """Yield a file with the groups, the decisions or the tags of a result.

    ``form`` is csv, jsonl, parquet or dat. Raises SettingError for others, and InputError for ids that a DAT file
    cannot hold.
    """
    require_export(what, form)
    return export_bytes(export_table(result, state, what), what, form)


def export_bytes(table: pa.Table, what: Exported, form: str) -> Iterator[bytes]:
    """Yield the table of an export as a file. Raises InputError for ids that a DAT file cannot hold."""
    return as_bytes_of(table, form, _IDS[what])


def described(table: pa.Table, what: Exported, form: str) -> str:
    """Describe the table of an export in a few words; for CSV also the number of protected values."""
    noun = {"groups": "member of groups", "decisions": "decision", "tags": "document"}[what]
    several = {"groups": "members of groups"}.get(what, "")
    size = counted(table.num_rows, noun, several) if several else counted(table.num_rows, noun)
    count = formulas(table) if form == "csv" else 0
    if not count:
        return size
    return f"{size} ({counted(count, 'value')} after an apostrophe, lest a spreadsheet computes it)"


def require_export(what: str, form: str) -> None:
    """Raise SettingError for something that cannot be exported, or another form."""
    for value, allowed in ((what, EXPORTS), (form, tuple(FORMS))):
        if value not in allowed:
            raise SettingError(f"The export is {value!r}", f"One of {', '.join(allowed)}")


def export_table(result: ResultRecord, state: DecisionState, what: Exported) -> pa.Table:
    """Return the table of an export.

    ``groups``: a row for each member, its group and fate after the decisions. ``decisions``: a row for each
    decision, the latest first. ``tags``: a row for each document with tags.
    """
    if what == "decisions":
        return _decisions(state)
    return _tags(state) if what == "tags" else _groups(result, state)


def _groups(result: ResultRecord, state: DecisionState) -> pa.Table:
    before = dict(zip(result.groups["id"].to_pylist(), result.groups["group"].to_pylist(), strict=True))
    if state.number:
        result = after_review(result, ReviewedResult("", state, sizes_of(result.ranks)))
    groups = result.groups
    ids, leads = groups["id"].to_pylist(), groups["group"].to_pylist()
    judged = [_judged(state, id, (lead, before.get(id))) for id, lead in zip(ids, leads, strict=True)]
    fates = [state.fates.get(id) for id in ids]
    return pa.table(
        {
            "id": groups["id"],
            "group": groups["group"],
            "representative": groups["representative"],
            "similarity": groups["similarity"],
            "kind": pa.array(_kinds(result, ids, leads), pa.string()),
            "verdict": pa.array([one and one.verdict for one in judged], pa.string()),
            "note": pa.array([one and one.note for one in judged], pa.string()),
            "fate": pa.array([one and one.fate for one in fates], pa.string()),
            "tags": pa.array([list(state.tags.get(id, ())) for id in ids], pa.list_(pa.string())),
            "kept": groups["kept"],
            "reason": groups["reason"],
        }
    )


def _judged(state: DecisionState, id: Id, leads: Sequence[Id | None]) -> JudgedPair | None:
    """The verdict on a member and its representative, of today or when it was reviewed."""
    verdicts = (state.verdict(id, lead) for lead in leads if lead is not None and lead != id)
    return next(filter(None, verdicts), None)


def _kinds(result: ResultRecord, ids: Sequence[Id], leads: Sequence[Id]) -> list[str | None]:
    """The kind of the difference of each member from its representative; None where it is not stored."""
    first = dict(zip(result.copies["id"].to_pylist(), result.copies["copy_of"].to_pylist(), strict=True))
    known: dict[frozenset[Any], str] = {}
    if KIND in result.pairs.column_names:
        ends = (result.pairs[name].to_pylist() for name in ("id_a", "id_b", KIND))
        known = {frozenset((a, b)): kind for a, b, kind in zip(*ends, strict=True)}
    kinds: list[str | None] = []
    for id, lead in zip(ids, leads, strict=True):
        one, other = first.get(id, id), first.get(lead, lead)
        same = one == other and id != lead
        kinds.append("exact copy" if same else known.get(frozenset((one, other))))
    return kinds


def _decisions(state: DecisionState) -> pa.Table:
    items = items_of(state)
    notes = [_note(state, item.sort, item.ids) for item in items]
    others = [item.ids[1] if len(item.ids) > 1 else None for item in items]
    texts = {
        "note": notes,
        "by": [item.by for item in items],
        "at": [item.at for item in items],
    }
    return pa.table(
        {
            "decision": pa.array([item.sort for item in items], pa.string()),
            "id": _ids([item.ids[0] for item in items], others),
            "other": _ids(others, [item.ids[0] for item in items]),
            **{name: pa.array(values, pa.string()) for name, values in texts.items()},
            "action": pa.array([item.action for item in items], pa.int64()),
        }
    )


def _note(state: DecisionState, sort: str, ids: tuple[Id, ...]) -> str:
    if sort == "represents":
        return ""
    return state.fates[ids[0]].note if len(ids) == 1 else state.judgements[ids[0], ids[1]].note


def _tags(state: DecisionState) -> pa.Table:
    ids = sorted(state.tags, key=lambda id: (type(id).__name__, id))
    tags = [list(state.tags[id]) for id in ids]
    return pa.table({"id": _ids(ids, ()), "tags": pa.array(tags, pa.list_(pa.string()))})


def _ids(ids: Collection[Id | None], others: Collection[Id | None]) -> pa.Array:
    """Ids as numbers if all of them and the ``others`` are, else as strings."""
    numbers = all(id is None or isinstance(id, int) for id in (*ids, *others))
    if not numbers:
        return pa.array([None if id is None else str(id) for id in ids], pa.string())
    small = all(id is None or -(1 << 63) <= int(id) < 1 << 63 for id in ids)
    return pa.array(list(ids), pa.int64() if small else pa.uint64())


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
