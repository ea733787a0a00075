"""The subjects of a review, with their tables, decisions and texts: a result, or the groups of a collection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa

from neardup.collection import Collection
from neardup.collection.answers import Evaluation, Sets, SharedPassages, passages_with, reaches
from neardup.collection.changes import (
    GroupRow,
    MemberRow,
    collection_table,
    loaded_texts,
    parts_in,
    store_reviewing,
)
from neardup.collection.queries import Clause, Query, plan
from neardup.comparison.compare import Comparison, compare
from neardup.deduplication.results import Found, Looked, ResultRecord, RunAccount, summary
from neardup.deduplication.reviews import Exported, export_pieces, older_report
from neardup.deduplication.texts import differing_parts
from neardup.display import counted
from neardup.errors import InputError
from neardup.io.contents import ATTACHMENTS, Attachment, column_of
from neardup.io.decisions import (
    NO_DECISIONS,
    Action,
    Change,
    DecisionState,
    DecisionStore,
    HandOver,
    Judgement,
    PairNote,
    SecondReview,
    SecondVerdict,
    Tag,
    pair_of,
)
from neardup.io.outputs import as_bytes_of
from neardup.review.source import Reviewed
from neardup.settings import as_compared
from neardup.tables import TEXTS, Int64s
from neardup.text.characters import canonical
from neardup.text.units import Units, words

SECONDS = 600.0
"""Seconds that a comparison may take unless the caller gives another limit."""

QUOTING = 200
"""The most documents that are compared for the passages of one."""

Renewed = Literal["", "texts", "tables"]
"""What has changed in a subject besides its decisions: nothing, texts or metadata, the tables."""

COLLECTION = "collection"
"""The ``action`` of a collection in place of that of a run: its groups follow the decisions already."""
_PORTION = 1000

_QUIET = ("decided", "withdrawn", "stays")
"""Lines of the change log that change no group."""


class Subject(Protocol):
    """A result or a collection under review."""

    @property
    def found(self) -> ResultRecord:
        """The tables, as a result has them: replaced when the groups change."""

    def refresh(self) -> Renewed:
        """Bring the tables up to date, and return the kind of the change."""

    def about(self, fields: tuple[str, ...], fault: str) -> Reviewed:
        """Return its description; ``fields`` may be used in filters, ``fault`` says why texts cannot be read."""

    def state(self) -> DecisionState:
        """Return the decisions that hold."""

    def act(self, changes: Sequence[Change], *, by: str, what: str, seen: int | None = None) -> Action:
        """Store decisions as one action, as ``DecisionStore.act`` does."""

    def undo(self, *, by: str, action: int | None = None) -> Action | None:
        """Undo an action, as ``DecisionStore.undo`` does."""

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions, the latest first."""

    def draws(self) -> tuple[Action, ...]:
        """Return the actions that drew pairs for a second verdict, as ``DecisionStore.draws`` does."""

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        """Compare two documents; ``how`` are the keywords of ``compare``."""

    def passages(self, own: Looked, others: Iterable[Looked], length: int) -> tuple[SharedPassages, str]:
        """Return the passages that others have, too, and which were compared, in words."""

    def query(self, clause: Clause, query: str) -> Int64s | None:
        """Return the rows (keys) of the documents that a clause finds; None if it does not search texts itself."""

    def export(self, what: Exported, form: str, *, every: bool = False) -> Iterator[bytes]:
        """Yield a file; ``every``: of the groups, also with the documents in none."""

    def close(self) -> None:
        """Close the file of decisions, if it is open for the review alone."""


class ResultSubject(DecisionStore):
    """A result with the decisions stored in ``folder``; its tables never change."""

    def __init__(self, result: Found, folder: str | Path, *, title: str = "", read_only: bool = False) -> None:
        super().__init__(Path(folder), read_only=read_only)
        self.found, self._title = result, title or Path(folder).absolute().name

    def refresh(self) -> Renewed:
        """Do nothing: a result never changes."""
        return ""

    def about(self, fields: tuple[str, ...], fault: str) -> Reviewed:
        """Return the name, the size and the settings of the result."""
        run = self.found.run
        return Reviewed(
            title=self._title,
            measure=run.settings["measure"],
            threshold=run.settings["threshold"],
            exact=True,
            groups=run.counts.groups,
            documents=run.counts.read,
            facts=tuple((label, text) for label, text in summary(run) if label != "note"),
            fields=fields,
            texts=not fault,
            notes=(*run.warnings, *run.notes, *([fault] if fault else [])),
            older=older_report(self._path.parent, self.state().number),
            ungrouped=f"No document of {run.counts.read:,} repeats another one at {run.settings['measure']} "
            f"{run.settings['threshold']:g} or above. The most similar pairs, at any value: neardup pairs INPUT",
        )

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        """Compare two documents with the settings of the run."""
        as_run = as_compared(self.found.run.settings)
        comparison = compare(a.text, b.text, **{"seconds": SECONDS, **as_run, **how})
        return replace(comparison, not_compared=differing_parts(self.found, a.id, b.id))

    def passages(self, own: Looked, others: Iterable[Looked], length: int) -> tuple[SharedPassages, str]:
        """Return the passages that ``others`` have: a result has no index of all texts."""
        texts: Iterator[tuple[Any, Units]] = ((other.id, words(other.text)) for other in others)
        return passages_with(texts, str(own.id), words(own.text), length), "of its group, and near it"

    def query(self, clause: Clause, query: str) -> Int64s | None:
        """Return None: the texts of a result are searched by an index of its desk."""
        return None

    def export(self, what: Exported, form: str, *, every: bool = False) -> Iterator[bytes]:
        """Yield groups, decisions or tags as csv, jsonl, parquet or dat."""
        return export_pieces(self.found, self.state(), what, form, every=every)


class _Document(NamedTuple):
    id: str
    bytes: int
    shingles: int
    parts: tuple[Attachment, ...]


class _Part(NamedTuple):
    """The rows of a group in the tables of members and pairs, and the first that is identical to each."""

    members: list[tuple[Any, ...]]
    pairs: list[tuple[Any, ...]]
    first: dict[int, int]


class CollectionTexts:
    """The documents of a collection by number: the ``Texts`` of its tables."""

    saved = False

    def __init__(self, collection: Collection) -> None:
        self._store = collection.store

    def read_ahead(self, rows: Int64s) -> bool:
        """Return False: a document is read when it is looked at."""
        return False

    def look(self, id: Any, row: int | None) -> Looked | None:
        """Return a document; None if it is there no more."""
        text = next(self._read(np.array([row], np.int64)), None)
        return None if text is None else Looked(id, text[1].decode("utf-8", "replace"), len(text[1]), "", None)

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield documents, ascending, with their texts in UTF-8."""
        for begin in range(0, len(rows), _PORTION):
            yield from self._read(rows[begin : begin + _PORTION])

    def to_store(self, rows: Int64s) -> Iterator[pa.Table]:
        """Yield documents without their metadata."""
        for begin in range(0, len(rows), _PORTION):
            some = [(row, text, None) for row, text in self._read(rows[begin : begin + _PORTION])]
            yield pa.table([[one[k] for one in some] for k in range(len(TEXTS))], schema=TEXTS)

    def fields(self, row: int) -> Mapping[str, Any]:
        """Return the metadata of a document."""
        rows = self._store.rows(np.array([row], np.int64))
        return rows[0].metadata if rows else {}

    def others(self, rows: Int64s) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield documents, ascending, with their metadata."""
        for begin in range(0, len(rows), _PORTION):
            part = self._store.rows(rows[begin : begin + _PORTION])
            yield from ((row.number, row.metadata) for row in part if row.metadata)

    def _read(self, numbers: Int64s) -> Iterator[tuple[int, bytes]]:
        """Read the texts of those documents that are still there."""
        with self._store.reading():
            there = np.array([row.number for row in self._store.rows(numbers)], np.int64)
            yield from ((row.number, text) for row, text in loaded_texts(self._store, there))


class CollectionSubject:
    """The groups of a collection, and all documents with a verdict, and tags; it stores no fates."""

    def __init__(self, collection: Collection, *, title: str = "") -> None:
        self._collection, self._store = collection, collection.store
        self._title = title or collection.path.name
        self._groups: dict[int, GroupRow] = {}
        self._members: dict[int, list[MemberRow]] = {}
        self._documents: dict[int, _Document] = {}
        self._parts: dict[int, _Part] = {}
        self._decisions = NO_DECISIONS
        self._named = NO_DECISIONS
        self._last_line = self._transaction = -1
        self.refresh()

    def refresh(self) -> Renewed:
        """Read the groups that changed; the tables are made again if any did."""
        with self._store.reading():
            transaction = self._store.totals().change
            if transaction == self._transaction:
                return ""
            own = transaction == self._transaction + 1
            self._transaction = transaction
            changed, has_decided = self._changed_groups()
            self._decisions = self._store.decisions.state(self._decisions)
            judged: set[Any] = {number for pair in self._decisions.judgements for number in pair}
            if changed is not None and not changed and judged <= self._documents.keys():
                return "" if own and has_decided else "texts"
            self._read(changed, judged)
            self._named = NO_DECISIONS  # it names groups by their representatives
            self.found = self._tables()
            return "tables"

    def about(self, fields: tuple[str, ...], fault: str) -> Reviewed:
        """Return the name, the size and the settings of the collection."""
        info = self._collection.info()
        return Reviewed(
            title=self._title,
            measure="resemblance",
            threshold=self.found.run.settings["threshold"],
            exact=True,
            groups=info["groups"],
            documents=info["documents"],
            facts=tuple((name, f"{info[name]:,}") for name in ("documents", "groups")),
            fields=fields,
            texts=not fault,
            marks=False,
            exports=("groups", "decisions", "tags"),
            ungrouped=self._no_groups_line(info["documents"]),
        )

    def _no_groups_line(self, documents: int) -> str:
        if not documents:
            return f"No document yet. To add those of a folder: neardup collection add {self._title} FOLDER"
        command = f"neardup collection groups {self._title} --complete --threshold 0.8"
        return f"{counted(documents, 'document')}, none in a group yet. To compare and group them: {command}"

    def state(self) -> DecisionState:
        """Return the decisions that hold, by the ids of the documents."""
        if self._named.number != self._decisions.number:
            id: dict[Any, str] = {number: document.id for number, document in self._documents.items()}
            judgements = self._decisions.judgements.items()
            named = {pair_of(id[a], id[b]): judged for (a, b), judged in judgements if a in id and b in id}
            noted = self._decisions.notes.items()
            notes = {pair_of(id[a], id[b]): note for (a, b), note in noted if a in id and b in id}
            tags: dict[Any, tuple[str, ...]] = {
                id[number]: tags for number, tags in self._decisions.tags.items() if number in id
            }
            seconds = self._decisions.seconds.items()
            looks = {pair_of(id[a], id[b]): look for (a, b), look in seconds if a in id and b in id}
            heads: dict[Any, str] = {number: id[row.representative] for number, row in self._groups.items()}
            batches = self._decisions.batches.items()
            self._named = replace(
                NO_DECISIONS,
                number=self._decisions.number,
                judgements=named,
                tags=tags,
                notes=notes,
                batches={heads[number]: handed for number, handed in batches if number in heads},
                seconds=looks,
            )
        return self._named

    def act(self, changes: Sequence[Change], *, by: str, what: str, seen: int | None = None) -> Action:
        """Store verdicts, one tag, or who reviews. Raises InputError for others, and for nothing to change."""
        tags = [change for change in changes if isinstance(change, Tag)]
        if len(tags) == len(changes) and len({(one.tag, one.on) for one in tags}) == 1:
            ids = [one.id for one in tags]
            tagged = self._collection.tag(tags[0].tag, ids, on=tags[0].on, by=by, seen=seen, what=what)
            if tagged is None:
                raise InputError("The document has this tag, or lacks it, already", "Another tag")
            return tagged
        notes = [change for change in changes if isinstance(change, PairNote)]
        if len(notes) == len(changes):
            noted = [(change.a, change.b) for change in notes]
            return self._collection.note_all(noted, notes[0].note, by=by, seen=seen, what=what)
        reviewing = [change for change in changes if isinstance(change, HandOver | SecondReview | SecondVerdict)]
        if len(reviewing) == len(changes) > 0:
            return store_reviewing(self._collection, reviewing, by=by, what=what, seen=seen)
        judged = [change for change in changes if isinstance(change, Judgement)]
        if len(judged) < len(changes):
            raise InputError(
                "A collection stores no representatives and fates that people choose",
                "Verdicts on pairs, groups, members above a similarity, and pairs of a kind; tags",
                "Review the result of a run for everything else",
            )
        verdict, note = judged[0].verdict, judged[0].note
        pairs = [(change.a, change.b) for change in judged]
        action = self._collection.decide_all(pairs, verdict, by=by, note=note, seen=seen, what=what)
        if action is None:
            raise InputError("There is no verdict to withdraw", "A pair with a verdict")
        return action

    def undo(self, *, by: str, action: int | None = None) -> Action | None:
        """Undo an action; see ``Collection.undo``."""
        return self._collection.undo(by, action)

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions, the latest first."""
        return self._collection.actions(before, limit)

    def draws(self) -> tuple[Action, ...]:
        """Return the actions that drew pairs for a second verdict, the latest first."""
        with self._store.reading():
            return self._store.decisions.draws()

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        """Compare two documents with the settings of the collection."""
        return self._collection.compare(a.id, b.id, **{"seconds": SECONDS, **how})

    def passages(self, own: Looked, others: Iterable[Looked], length: int) -> tuple[SharedPassages, str]:
        """Return the passages that any other document of the collection has; ``others`` are not read."""
        shared = self._collection.passages(own.id, length=max(length, self._store.settings.length), most=QUOTING)
        left_out = f"; {shared.uncompared:,} more have less in common" if shared.uncompared else ""
        return shared, f"of the whole collection{left_out}"

    def query(self, clause: Clause, query: str) -> Int64s | None:
        """Return the numbers of the documents that a clause of the query language finds. Raises QueryError."""
        with self._collection.view() as view:
            return Evaluation(plan(Query(clause, text=query), view), view, include_self=True).documents()

    def export(self, what: Exported, form: str, *, every: bool = False) -> Iterator[bytes]:
        """Yield the groups, decisions or tags, as ``neardup export`` does."""
        return as_bytes_of(collection_table(self._collection, what), form, ("id", "group", "other"))

    def close(self) -> None:
        """Do nothing: the collection is open for others, too."""

    def _changed_groups(self) -> tuple[set[int] | None, bool]:
        """Return the groups with changes since the last call, None for all, and whether there are decisions."""
        tables, last = self._store.groups, self._last_line
        self._last_line = tables.last_change()
        if last < 0:
            return None, True
        lines = []
        while page := tables.changes(last, _PORTION):
            lines += page
            last = page[-1].number
        return {line.group for line in lines if line.what not in _QUIET}, bool(lines)

    def _read(self, changed: set[int] | None, judged: set[int]) -> None:
        """Read the groups that changed, and the documents in them and in decisions."""
        tables = self._store.groups
        if changed is None:
            self._groups = {row.number: row for row in tables.page(0, tables.count())}
            self._members = {}
            for member in tables.all_members():
                self._members.setdefault(member.group, []).append(member)
            unknown = set(judged)
        else:
            there = tables.rows(changed)
            for number in changed:
                self._groups.pop(number, None)
                self._members.pop(number, None)
                if number in there:
                    self._groups[number] = there[number]
                    self._members[number] = tables.members(number)
            self._groups = dict(sorted(self._groups.items()))
            unknown = judged - self._documents.keys()
        again = self._groups.keys() if changed is None else changed & self._groups.keys()
        unknown.update(member.document for number in again for member in self._members[number])
        numbers = np.array(sorted(unknown), np.int64)
        rows, sizes = self._store.rows(numbers), Sets(self._store).sizes(numbers.tolist())
        self._documents.update(
            (row.number, _Document(row.id, row.size, sizes[row.number], parts_in(row.metadata))) for row in rows
        )
        self._parts.update((number, self._part(self._groups[number])) for number in again)

    def _part(self, group: GroupRow) -> _Part:
        """Return the rows of a group; only near copies have a pair with the representative."""
        members, pairs, head = [], [], self._documents[group.representative]
        first = self._copies(group)
        for member in self._members[group.number]:
            own = self._documents[member.document]
            counts = member.shared, own.shingles, head.shingles
            leads = member.document == group.representative
            whole = own.shingles + head.shingles - member.shared
            by = "its resemblance" if reaches(*counts, group.threshold) else "a decision"
            reason = "represents the group" if leads else f"in the group by {by}"
            similarity = None if leads else member.shared / whole if whole else 0.0
            members.append((own.id, head.id, leads, similarity, True, reason))
            if member.document == first[member.document] != first[group.representative]:
                pairs.append((own.id, head.id, *counts))
        return _Part(members, pairs, first)

    def _tables(self) -> ResultRecord:
        """Return the groups as the tables of a result."""
        parts = [self._parts[number] for number in self._groups]
        members = list(chain.from_iterable(part.members for part in parts))
        pairs = list(chain.from_iterable(part.pairs for part in parts))
        first: dict[Any, int] = {row: row for pair in self._decisions.judgements for row in pair}  # type: ignore[misc]
        for part in parts:
            first.update(part.first)
        names = ("id", "group", "representative", "similarity", "kept", "reason")
        types = (pa.string(), pa.string(), pa.bool_(), pa.float64(), pa.bool_(), pa.string())
        rows = sorted(first)
        documents = [self._documents[row] for row in rows]
        of_first = pa.array([first[row] for row in rows], pa.int64())
        parts_of = [self._documents[row].parts for row in rows]
        ranks = {
            "id": pa.array([document.id for document in documents], pa.string()),
            "row": pa.array(rows, pa.int64()),
            "first": of_first,
            "words": of_first,  # as under --copies identical
            "identical": of_first,
            "rank": pa.array(range(len(rows)), pa.int64()),
            "reference": pa.array(np.zeros(len(rows), np.bool_)),
            "bytes": pa.array([document.bytes for document in documents], pa.int64()),
            **({ATTACHMENTS: column_of(parts_of)} if any(parts_of) else {}),
        }
        return ResultRecord(
            _table(("id_a", "id_b", "shared", "size_a", "size_b"), (pa.string(),) * 2 + (pa.int64(),) * 3, pairs),
            _table(names, types, members),
            pa.table({"id": pa.array([], pa.string()), "copy_of": pa.array([], pa.string())}),
            self._run(),
            ranks=pa.table(ranks),
            texts=CollectionTexts(self._collection),
        )

    def _copies(self, group: GroupRow) -> dict[int, int]:
        """Return for each member of a group the first with the same characters and the same other parts."""
        first: dict[int, int] = {}
        alike: dict[tuple[Any, ...], list[int]] = {}
        for member in self._members[group.number]:
            own = self._documents[member.document]
            alike.setdefault((member.shared, own.shingles, own.parts), []).append(member.document)
        for documents in alike.values():
            if len(documents) == 1:
                first[documents[0]] = documents[0]
                continue
            texts: dict[str, int] = {}
            for (row, text), number in zip(
                loaded_texts(self._store, np.array(documents, np.int64)), documents, strict=True
            ):
                characters = canonical(text.decode("utf-8", "replace"))
                first[number] = texts.setdefault(characters, row.number)
        return first

    def _run(self) -> RunAccount:
        """Return the account of a run that would have made the groups: the part of it that a desk reads."""
        thresholds = [group.threshold for group in self._groups.values()]
        settings = {"unit": "word", **self._store.settings.as_dict()}
        settings |= {"measure": "resemblance", "threshold": min(thresholds, default=0.0)}
        base = bool(self._store.base_texts())
        part = {"action": COLLECTION, "settings": settings, "warnings": [], "notes": [], "base_text": base}
        return cast(RunAccount, SimpleNamespace(**part))


def _table(names: Sequence[str], types: Sequence[pa.DataType], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    # not zip(*rows): an iterator for each row, of thousands, sets off a collection of all garbage
    types_of = zip(names, types, strict=True)
    return pa.table({name: pa.array([row[k] for row in rows], type) for k, (name, type) in enumerate(types_of)})
