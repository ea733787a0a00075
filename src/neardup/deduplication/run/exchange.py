"""The groups, decisions and tags of a reviewed result as files for other programs, and tags from their files."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.kinds import KIND
from neardup.deduplication.run.places import InputDocument, input_documents
from neardup.deduplication.run.records import ResultRecord
from neardup.deduplication.run.result_folder import read_result
from neardup.deduplication.run.review_decisions import Item, ReviewedResult, items_of, sizes_of
from neardup.deduplication.run.sides import with_side_names
from neardup.deduplication.run.stored_review import after_review
from neardup.display import counted, printable
from neardup.errors import InputError, SettingError
from neardup.io.contents import ATTACHMENTS, Attachment, own_of, stored_attachments
from neardup.io.decisions import (
    BATCH,
    WITHDRAWN,
    DecisionRow,
    DecisionState,
    DecisionStore,
    Fate,
    FateOf,
    Id,
    Imported,
    JudgedPair,
    Judgement,
    PairNote,
    Tag,
    Verdict,
    read_rows,
    second_words,
    sort_key,
)
from neardup.io.outputs import FORMS, as_bytes_of, formulas
from neardup.runtime import SILENT, Progress
from neardup.tables import OLD_LEADS

Exported = Literal["groups", "decisions", "tags"]
EXPORTS: tuple[Exported, ...] = ("groups", "decisions", "tags")

VERDICTS: tuple[str, ...] = get_args(Verdict)
FATES: tuple[str, ...] = get_args(Fate)

_IDS = {"groups": ("id", "group", "family"), "decisions": ("id", "other"), "tags": ("id",)}
"""The columns that hold ids."""

_FURTHER = ("group", "similarity", "kind", "number")


def export_pieces(
    result: ResultRecord, state: DecisionState, what: Exported, form: str, *, every: bool = False
) -> Iterator[bytes]:
    """Yield a file with the groups, the decisions or the tags of a result.

    ``form`` is csv, jsonl, parquet or dat, ``every`` as for ``export_table``. Raises SettingError for others, and
    InputError for ids that a DAT file cannot hold.
    """
    require_export(what, form)
    return export_bytes(export_table(result, state, what, every=every), what, form)


def export_bytes(table: pa.Table, what: Exported, form: str) -> Iterator[bytes]:
    """Yield the table of an export as a file. Raises InputError for ids that a DAT file cannot hold."""
    return as_bytes_of(table, form, _IDS[what])


def describe_table(table: pa.Table, what: Exported, form: str) -> str:
    """Describe the table of an export in a few words; for CSV also the number of protected values."""
    if what == "groups":
        outside = table["group"].null_count
        size = counted(table.num_rows - outside, "member of groups", "members of groups")
        if outside:
            size += f" and {counted(outside, 'other row')}"
    else:
        size = counted(table.num_rows, "decision" if what == "decisions" else "document")
    count = formulas(table) if form == "csv" else 0
    if not count:
        return size
    return f"{size} ({counted(count, 'value')} after an apostrophe, lest a spreadsheet computes it)"


def require_export(what: str, form: str) -> None:
    """Raise SettingError for something that cannot be exported, or another form."""
    for value, allowed in ((what, EXPORTS), (form, tuple(FORMS))):
        if value not in allowed:
            raise SettingError(f"The export is {value!r}", f"One of {', '.join(allowed)}")


def export_table(
    result: ResultRecord,
    state: DecisionState,
    what: Exported,
    *,
    every: bool = False,
    moved: Sequence[str] = (),
    progress: Progress = SILENT,
) -> pa.Table:
    """Return the table of an export.

    ``groups``: a row for each member, its group and fate after the decisions, and the other values of the
    document. With ``every`` also one for each document in no group, read from the input, which may have ``moved``,
    for each file that was not judged, and for each attachment of a mail. ``decisions``: a row for each decision,
    the latest first. ``tags``: one for each document with tags. Raises InputError if the input cannot be read.
    """
    if every and what != "groups":
        raise SettingError(f"All documents were asked for with {what}", "The export of groups")
    if what == "decisions":
        return _decisions(state)
    if what == "tags":
        return _tags(state)
    result = with_side_names(result)
    before = dict(zip(result.groups["id"].to_pylist(), result.groups["group"].to_pylist(), strict=True))
    if state.number:
        result = after_review(result, ReviewedResult("", state, sizes_of(result.ranks)))
    attached = {id: own_of(files) for id, files in _attachments(result).items()}
    members = _members(result, state, before, attached)
    if not every:
        return members
    with progress.stage("read", result.run.counts.read, "documents") as advance:
        return _with_others(members, result, state, before, attached, input_documents(result, moved, advance))


Attached: TypeAlias = Mapping[Id, tuple[Attachment, ...]]


def _attachments(result: ResultRecord) -> dict[Id, tuple[Attachment, ...]]:
    """The attachments of the documents in pairs and copies, by id."""
    ids = result.ranks["id"].to_pylist() if ATTACHMENTS in result.ranks.column_names else []
    return {ids[place]: files for place, files in stored_attachments(result.ranks).items()} if ids else {}


def _members(result: ResultRecord, state: DecisionState, before: Mapping[Id, Id], attached: Attached) -> pa.Table:
    """The members of groups, with the groups ``before`` the decisions."""
    groups = result.groups
    ids, leads = groups["id"].to_pylist(), groups["group"].to_pylist()
    judged = [_verdict_on(state, id, (lead, before.get(id))) for id, lead in zip(ids, leads, strict=True)]
    notes = [_note_on(state, id, (lead, before.get(id))) for id, lead in zip(ids, leads, strict=True)]
    fates = [state.fates.get(id) for id in ids]
    table = pa.table(
        {
            "id": groups["id"],
            "group": groups["group"],
            "representative": groups["representative"],
            "similarity": groups["similarity"],
            "kind": pa.array(_kinds(result, ids, leads), pa.string()),
            "verdict": pa.array([one and one.verdict for one in judged], pa.string()),
            "note": pa.array(notes, pa.string()),
            "fate": pa.array([one and one.fate for one in fates], pa.string()),
            "tags": pa.array([list(state.tags.get(id, ())) for id in ids], pa.list_(pa.string())),
            "kept": groups["kept"],
            "reason": groups["reason"],
            "number": pa.array(_numbers(result, ids, leads, before), pa.int64()),
            "path": pa.array(_paths(result, ids), pa.string()),
        }
    )
    if OLD_LEADS in groups.column_names:
        table = table.append_column("in_reference", pc.and_(groups["representative"], groups[OLD_LEADS]))
    if ATTACHMENTS in result.ranks.column_names:
        names = [[one.name for one in attached.get(id, ())] for id in ids]
        table = table.append_column("family", groups["id"])
        table = table.append_column(ATTACHMENTS, pa.array(names, pa.list_(pa.string())))
    for name, values in _fields(result, ids).items():
        free = name if name not in table.column_names else f"document {name}"
        table = table.append_column(free, pa.array(values, pa.string()))
    return table


def _with_others(
    members: pa.Table,
    result: ResultRecord,
    state: DecisionState,
    before: Mapping[Id, Id],
    attached: Attached,
    documents: Iterable[InputDocument],
) -> pa.Table:
    """The table of members with the other documents after them, and the attachments of each mail below it."""
    ids, families = members["id"].to_pylist(), ATTACHMENTS in result.ranks.column_names
    has_old = "in_reference" in members.column_names
    old = members["in_reference"].to_pylist() if has_old else [False] * len(ids)
    own = {id for id, in_reference in zip(ids, old, strict=True) if not in_reference}
    rows, places = [], []
    columns = (members[name].to_pylist() for name in ("id", "kept", "path"))
    for place, (id, kept, path) in enumerate(zip(*columns, strict=True)):
        below = list(_below(id, kept, path, attached.get(id, ())))
        rows += below
        places += [place] * len(below)
    for place, (row, files) in enumerate(_others(result, state, before, own, documents), len(ids)):
        family = {"family": row["id"], ATTACHMENTS: [one.name for one in files]} if families else {}
        family |= {"in_reference": False} if has_old else {}
        below = list(_below(row["id"], row["kept"], row.get("path"), files))
        rows += [{**row, **family}, *below]
        places += [place] * (1 + len(below))
    names = dict.fromkeys(name for row in rows for name in row)
    known = members.schema.names
    schema = pa.schema(
        [members.schema.field(name) if name in known else pa.field(name, pa.string()) for name in names]
    )
    table = pa.concat_tables([members, pa.Table.from_pylist(rows, schema)], promote_options="default")
    return table.take(np.argsort(np.concatenate((np.arange(len(ids)), places)), kind="stable"))


def _others(
    result: ResultRecord,
    state: DecisionState,
    before: Mapping[Id, Id],
    members: Collection[Id],
    documents: Iterable[InputDocument],
) -> Iterator[tuple[dict[str, Any], tuple[Attachment, ...]]]:
    """The documents and files that are no ``members``, as rows, with their attachments."""
    columns = (result.not_judged[name].to_pylist() for name in ("id", "kept", "reason"))
    aside = {id: (kept, reason) for id, kept, reason in zip(*columns, strict=True)}
    for document in documents:
        id = document.id
        kept, reason = aside.pop(id, (True, "in no group"))
        if id in members:
            continue
        judged = _verdict_on(state, id, (before.get(id),))
        fate = state.fates.get(id)
        row = {
            "id": id,
            "representative": False,
            "verdict": judged and judged.verdict,
            "note": _note_on(state, id, (before.get(id),)),
            "fate": fate and fate.fate,
            "tags": list(state.tags.get(id, ())),
            "kept": kept,
            "reason": reason,
            "path": document.path,
        }
        taken = (*row, *_FURTHER)
        values = {f"document {name}" if name in taken else name: of for name, of in document.values.items()}
        yield {**row, **values}, own_of(document.attachments)
    for id, (kept, reason) in aside.items():
        yield {"id": id, "representative": False, "kept": kept, "reason": reason}, ()


def _below(id: Id, kept: bool, path: str | None, files: Iterable[Attachment]) -> Iterator[dict[str, Any]]:
    """The attachments of a mail as rows, which stay and go with it; those of one name are numbered."""
    times: Counter[str] = Counter()
    for one in files:
        times[one.name] += 1
        again = f" ({times[one.name]})" if times[one.name] > 1 else ""
        yield {
            "id": f"{id}!/{one.name}{again}",
            "representative": False,
            "kept": kept,
            "reason": f"attachment of {printable(id)}",
            "path": path,
            "family": id,
            "name": one.name,
            "size": str(one.size),
            "sha256": one.sha256,
        }


def _fields(result: ResultRecord, ids: Sequence[Id]) -> dict[str, list[str | None]]:
    """The other values of each member that the result stores, by column."""
    if result.texts is None or not result.ranks.num_rows:
        return {}
    place = {row: number for number, row in enumerate(map(_rows(result).get, ids))}
    columns: dict[str, list[str | None]] = {}
    rows = np.array(sorted(row for row in place if row is not None), np.int64)
    for row, values in result.texts.others(rows):
        for name, value in values.items():
            columns.setdefault(name, [None] * len(ids))[place[row]] = value
    return columns


def _rows(result: ResultRecord) -> dict[Id, int]:
    """The row of each document in pairs and copies."""
    return dict(zip(result.ranks["id"].to_pylist(), result.ranks["row"].to_pylist(), strict=True))


def _numbers(result: ResultRecord, ids: Sequence[Id], leads: Sequence[Id], before: Mapping[Id, Id]) -> list[int]:
    """The number of the group of each member, which stays when its representative changes.

    It is that of a group of the run: of one whose representative is in it, else of one that a member is from; two
    groups never share one. A group of documents that were in none has a higher number.
    """
    number_of = {lead: number for number, lead in enumerate(dict.fromkeys(before.values()), 1)}
    groups: dict[Id, list[Id]] = {}
    for id, lead in zip(ids, leads, strict=True):
        groups.setdefault(lead, []).append(id)
    numbers: dict[Id, int] = {}
    used: set[int] = set()
    for origin in ({lead: lead for lead in number_of}, before):
        for lead, members in groups.items():
            of_run = {number_of[origin[id]] for id in members if id in origin} - used
            if of_run and lead not in numbers:
                numbers[lead] = min(of_run)
                used.add(numbers[lead])
    rows = _rows(result) if len(numbers) < len(groups) else {}
    first = {lead: min(rows[id] for id in members) for lead, members in groups.items() if lead not in numbers}
    numbers |= {lead: len(number_of) + 1 + row for lead, row in first.items()}
    return [numbers[lead] for lead in leads]


def _paths(result: ResultRecord, ids: Sequence[Id]) -> list[str | None]:
    """The file of each member, as it was given to the run; None where no file is recorded."""
    if result.places is None or not result.ranks.num_rows:
        return [None] * len(ids)
    rows = _rows(result)
    tables = result.places.tables(np.sort(np.array(list(rows.values()), np.int64)))
    if not tables:
        return [None] * len(ids)
    path_of = dict(zip(*(tables["places"][name].to_pylist() for name in ("file", "path")), strict=True))
    file_of = dict(zip(*(tables["located"][name].to_pylist() for name in ("row", "file")), strict=True))
    return [path_of.get(file_of.get(rows.get(id))) for id in ids]


def _verdict_on(state: DecisionState, id: Id, leads: Sequence[Id | None]) -> JudgedPair | None:
    """The verdict on a member and its representative, of today or when it was reviewed."""
    verdicts = (state.verdict(id, lead) for lead in leads if lead is not None and lead != id)
    return next(filter(None, verdicts), None)


def _note_on(state: DecisionState, id: Id, leads: Sequence[Id | None]) -> str | None:
    """The note on a member and its representative, whether they have a verdict or not; None without both."""
    others = [lead for lead in leads if lead is not None and lead != id]
    notes = (state.note(id, lead) for lead in others if state.verdict(id, lead) or state.note(id, lead))
    return next(notes, None)


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
    decided = ((item, _note(state, item.sort, item.ids)) for item in items_of(state))
    lines = sorted([*decided, *_own_notes(state), *_review_lines(state)], key=lambda line: -line[0].action)
    items = [item for item, _ in lines]
    others = [item.ids[1] if len(item.ids) > 1 else None for item in items]
    texts = {
        "note": [note for _, note in lines],
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


def _own_notes(state: DecisionState) -> Iterator[tuple[Item, str]]:
    """Yield the notes on pairs without a verdict, in the order of their ids."""
    for pair, one in sorted(state.notes.items(), key=lambda noted: [*map(sort_key, noted[0])]):
        if one.note and pair not in state.judgements:
            yield Item("note", pair, one.by, one.at, one.action), one.note


def _review_lines(state: DecisionState) -> Iterator[tuple[Item, str]]:
    """Yield batches and second looks at pairs; the note of a batch, and of a look that waits, is the person."""
    for group, handed in state.batches.items():
        yield Item(BATCH, (group,), handed.by, handed.at, handed.action), handed.person
    for pair, look in state.seconds.items():
        note = look.person if look.verdict is None else look.note
        yield Item(second_words(look.verdict), pair, look.by, look.at, look.action), note


def _note(state: DecisionState, sort: str, ids: tuple[Id, ...]) -> str:
    if sort == "represents":
        return ""
    return state.fates[ids[0]].note if len(ids) == 1 else state.note(ids[0], ids[1])


def _tags(state: DecisionState) -> pa.Table:
    ids = sorted(state.tags, key=sort_key)
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

    ``columns`` name the column of ids and that of tags. Tags that a document has stay. Of a table of groups, as
    ``export_pieces`` makes it, verdicts and fates that differ from those of the result are stored, too; an empty
    cell changes nothing, and "none" withdraws. Pairs that wait for the second verdict of ``by`` are left out.
    Raises InputError for a folder that is not a result, a file that cannot be read, or impossible values; then
    nothing is stored.
    """
    was = read_result(folder)
    result = with_side_names(ResultRecord(**was.tables, run=was.run))
    known: dict[str, Id] = {}
    for table in (result.ranks, result.not_judged):
        known.update((str(id), id) for id in table["id"].to_pylist())
    with DecisionStore(folder) as store:
        state = store.state()
        tags: dict[tuple[Id, str], Tag] = {}
        unknown: dict[str, None] = {}
        rows: list[DecisionRow | None] = []
        for row in read_rows(file, form, *columns):
            rows.append(row.decision)
            if row.id not in known:
                decides = row.decision and (row.decision.verdict or row.decision.fate)
                unknown.update({row.id: None} if row.tags or decides else {})
                continue
            id = known[row.id]
            tags.update({(id, word): Tag(id, word) for word in row.tags if word not in state.tags.get(id, ())})
        first = dict(zip(*(result.groups[name].to_pylist() for name in ("id", "group")), strict=True))
        new = list(_new_decisions(state, known, first, rows))
        decisions = state.without_waiting(new, by.strip())
        documents = len({id for id, _ in tags})
        parts = [f"{counted(len(tags), 'tag')} of {counted(documents, 'document')}"] * bool(tags)
        parts += [counted(len(decisions), "decision")] * bool(decisions)
        what = f"import {' and '.join(parts)} from {file.name}"
        action = store.act([*tags.values(), *decisions], by=by, what=what) if parts else None
    return Imported(action, len(tags), documents, tuple(unknown), len(decisions), len(new) - len(decisions))


def _new_decisions(
    state: DecisionState, known: Mapping[str, Id], first: Mapping[Id, Id], rows: Iterable[DecisionRow | None]
) -> Iterator[Judgement | PairNote | FateOf]:
    """Yield the decisions of a table of groups that the result does not have yet; ``first`` are its own groups."""
    for row in rows:
        if row is None:  # a file without the columns
            return
        if row.id not in known:
            continue
        id = known[row.id]
        lead = known.get(row.group, first.get(id))  # a document that left its group has the one of the run
        leads = (lead, first.get(id))
        judged, fate = _verdict_on(state, id, leads), state.fates.get(id)
        if (verdict := _one_of(row.verdict, VERDICTS, row.id)) and lead is None:
            lacks = f"The verdict on {printable(id)} has no group"
            raise InputError(lacks, "A verdict on a member of a group", "Decide its fate: keep or remove")
        given = (judged and judged.verdict) if not verdict else None if verdict == WITHDRAWN else verdict
        if lead is not None and id != lead:
            if given != (judged and judged.verdict):
                yield Judgement(id, lead, given, row.note)  # type: ignore[arg-type]
            elif row.note and row.note != _note_on(state, id, leads):
                yield PairNote(id, lead, row.note)
        if wanted := _one_of(row.fate, FATES, row.id):
            given = None if wanted == WITHDRAWN else wanted
            if given != (fate and fate.fate):
                yield FateOf(id, given)  # type: ignore[arg-type]


def _one_of(word: str, allowed: tuple[str, ...], id: str) -> str:
    if word and word not in (*allowed, WITHDRAWN):
        raise InputError(
            f"The decision about {printable(id)} is {printable(word)}",
            f"{', '.join(allowed)}, {WITHDRAWN}, or nothing",
            "Correct the cell",
        )
    return word
