"""The methods of ``Collection`` for groups and decisions, which also export them as tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import numpy as np
import pyarrow as pa

from neardup.collection import records
from neardup.collection.arrivals import group_pending
from neardup.collection.contract import ChangeRow, GroupRow, MemberRow, StoredRow
from neardup.collection.entries import likeness, unpack
from neardup.collection.fields import Ids, unknown_error, usable_id, usable_ids
from neardup.collection.groups.decisions import Deciding
from neardup.collection.groups.formation import THRESHOLD
from neardup.collection.groups.thresholds import regroup
from neardup.collection.near import Near
from neardup.collection.sets import Sets, reaches
from neardup.collection.store import Store
from neardup.display import counted, printable
from neardup.errors import InputError, SettingError
from neardup.io.decisions import (
    BATCH,
    HANDED,
    NOTE,
    SECOND,
    TAG,
    WITHDRAWN,
    Action,
    HandOver,
    Imported,
    InForce,
    SecondReview,
    SecondVerdict,
    Verdict,
    read_pairs,
    read_rows,
    require_tag,
    rows_of,
    second_words,
)
from neardup.runtime import Progress
from neardup.tables import Int64s

SHOWN = 1000
"""The most members that a ``StoredGroup`` lists itself."""


def group_of_row(store: Store, row: GroupRow) -> records.StoredGroup:
    """A group with its first members."""
    members = members_of(store, row, store.groups.members(row.number, limit=SHOWN))
    [head] = _documents(store, [row.representative]).values()
    return records.StoredGroup(row.number, head.id, row.threshold, store.groups.size(row.number), tuple(members))


def members_of(store: Store, row: GroupRow, found: Sequence[MemberRow]) -> list[records.StoredMember]:
    """The given members of a group, with ids and sizes."""
    documents = _documents(store, [row.representative, *(one.document for one in found)])
    sizes = Sets(store).sizes(list(documents))
    head, of_size = documents[row.representative], sizes[row.representative]
    copies = [one.document for one in found if one.shared == sizes[one.document] == of_size]
    packed = dict(zip(copies, store.packed(np.array(copies, np.int64)), strict=True))
    [of_head] = store.packed(np.array([row.representative], np.int64)) if copies else [b""]
    members = []
    for one in found:
        own, size = documents[one.document], sizes[one.document]
        leads = one.document == row.representative
        texts = (unpack(packed[own.number], own.id), unpack(of_head, head.id)) if own.number in packed else None
        known = store.settings.has_parts
        alike = records.Likeness() if leads else likeness(own.metadata, head.metadata, texts, known=known)
        near: records.Held = "resemblance" if reaches(one.shared, size, of_size, row.threshold) else "decision"
        by: records.Held = "representative" if leads else near
        members.append(records.StoredMember(own.id, one.shared, size, of_size, by, **vars(alike)))
    return members


def decisions_of(store: Store, rows: Sequence[InForce]) -> tuple[records.PairDecision, ...]:
    """Decisions with ids."""
    ids = _documents(store, [one for row in rows for one in (row.a, row.b)])
    return tuple(
        records.PairDecision(row.number, ids[row.a].id, ids[row.b].id, row.value, row.by, row.note, row.at)
        for row in rows
    )


def change_of(row: ChangeRow) -> records.Change:
    """A line of the log; fields that a later version may add to it are left out."""
    known = {name: value for name, value in row.about.items() if name in records.ABOUT}
    return records.Change(row.number, row.at, row.what, row.group or None, **known)


def _documents(store: Store, numbers: Iterable[int]) -> dict[int, StoredRow]:
    wanted = np.unique(np.fromiter(numbers, np.int64))
    return {row.number: row for row in store.rows(wanted)}


MOST = 10_000
"""The most rows of a page."""
_LONGEST = 10_000
"""The most characters of a reviewer's name or note."""


class GroupsAndDecisions:
    """The part of a collection that handles groups; ``store`` holds them."""

    store: Store

    def groups(self, after: int | None = None, limit: int = 100) -> records.GroupPage:
        """Return groups by their ids, ``limit`` at a time; ``after`` is the ``next`` of the previous page.

        Ids grow, so groups formed meanwhile come at the end.
        """
        begin, limit = place(after or 0), checked_limit(limit)
        with self.store.reading():
            rows = self.store.groups.page(begin, limit + 1)
            groups = tuple(group_of_row(self.store, row) for row in rows[:limit])
        return records.GroupPage(groups, groups[-1].id if len(rows) > limit else None)

    def group(self, group: int) -> records.StoredGroup:
        """Return the group of this id. Raises InputError if it does not exist, or no longer exists."""
        with self.store.reading():
            row = self.store.groups.rows([place(group)]).get(group)
            if row is None:
                raise InputError(f"There is no group {group}", "The id of a group", "List the groups")
            return group_of_row(self.store, row)

    def group_of(self, id: str | int) -> records.StoredGroup | None:
        """Return the group of a document, or None. Raises InputError if the document does not exist."""
        with self.store.reading():
            known = self.store.groups.memberships([self._number(id)])
            return self.group(next(iter(known.values())).group) if known else None

    def members(
        self, group: int, after: str | int | None = None, limit: int = 1000
    ) -> tuple[records.StoredMember, ...]:
        """Return members of a group in the order in which they were first added, after the document ``after``."""
        with self.store.reading():
            row = self.store.groups.rows([place(group)]).get(group)
            if row is None:
                return self.group(group).members
            begin = 0 if after is None else self._number(after)
            return tuple(
                members_of(self.store, row, self.store.groups.members(group, begin, checked_limit(limit)))
            )

    def decide(
        self, a: str | int, b: str | int, verdict: Verdict, *, by: str = "", note: str = ""
    ) -> records.PairDecision:
        """Decide about two documents; takes effect at once and stays in force.

        "duplicate" and "keep both": they are in one group, whatever their similarity. "not alike": they never are.
        "unsure" changes no group. An earlier decision about the two is replaced. Raises InputError when decisions
        contradict each other, naming the pairs; nothing is stored then.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office", "pay by Friday"])
        ...     _ = mails.decide("#1", "#2", "duplicate", by="ann")
        ...     [(member.id, member.held_by) for member in mails.group_of("#2").members]
        [('#1', 'representative'), ('#2', 'decision')]
        """
        require_verdict(verdict)
        by, note = _storable("by", by), _storable("note", note)
        with self.store.writing():
            pair = self._pair(a, b)
            Deciding(self.store).decide([pair], verdict, by, note)
            made = self.store.decisions.in_force(("pair", *pair))
            assert made is not None
            return decisions_of(self.store, [made])[0]

    def undecide(self, a: str | int, b: str | int, *, by: str = "") -> bool:
        """Withdraw the decision about two documents; return False if none existed.

        A group that only this decision held together is formed anew. Withdrawing "not alike" moves neither
        document.
        """
        return self.decide_all([(a, b)], None, by=by) is not None

    def decide_all(
        self,
        pairs: Iterable[tuple[str | int, str | int]],
        verdict: Verdict | None,
        *,
        by: str = "",
        note: str = "",
        seen: int | None = None,
        what: str = "",
    ) -> Action | None:
        """Decide about pairs as one action, all or none, and return it; None if there is nothing to withdraw.

        ``verdict`` None withdraws the decisions. ``seen`` is the number of the last action that the person knew:
        raises ChangedMeanwhileError if other decisions about these pairs hold by now. ``what`` describes the
        action in a sentence, by default one with the first pair. Raises InputError like ``decide``.
        """
        if verdict is not None:
            require_verdict(verdict)
        by, note, what = _storable("by", by), _storable("note", note), _storable("what", what)
        with self.store.writing():
            numbers = [self._pair(a, b) for a, b in pairs]
            before = None if seen is None else place(seen)
            return Deciding(self.store).decide(numbers, verdict, by, note, seen=before, what=what)

    def note_all(
        self,
        pairs: Iterable[tuple[str | int, str | int]],
        note: str,
        *,
        by: str = "",
        seen: int | None = None,
        what: str = "",
    ) -> Action:
        """Store a note on pairs as one action, and return it: it is no decision, and changes no group.

        An empty note takes the earlier one away. ``seen`` and ``what`` as in ``decide_all``.
        """
        by, note, what = _storable("by", by), _storable("note", note), _storable("what", what)
        with self.store.writing():
            numbers = [self._pair(a, b) for a, b in pairs]
            return Deciding(self.store).note(
                numbers, note, by, seen=None if seen is None else place(seen), what=what
            )

    def tag(
        self,
        tag: str,
        ids: Ids = (),
        *,
        group: int | None = None,
        query: str | None = None,
        on: bool = True,
        by: str = "",
        seen: int | None = None,
        what: str = "",
    ) -> Action | None:
        """Add a tag to documents, or take it away, as one action, and return it; None if that changes nothing.

        To the documents ``ids``, all members of a ``group``, and all that a ``query`` finds; ``on`` False takes it
        away. ``seen`` and ``what`` as in ``decide_all``. A document that is removed loses its tags; one with a new
        text keeps them. Raises InputError for an impossible tag, unknown ids, and without any document.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed", "pay by Friday"])
        ...     _ = mails.tag("urgent", query="friday", by="ann")
        ...     mails.tags()
        {'#2': ('urgent',)}
        """
        chosen = TaggedDocuments(
            tuple(usable_ids(ids)), group, None if query is None else self._found_numbers(query)
        )
        return tag_chosen(self, chosen, tag, on=on, by=by, seen=seen, what=what)

    def tags(self, ids: Ids | None = None) -> dict[str, tuple[str, ...]]:
        """Return the tags of the documents that have any, or of these ``ids`` alone; in the order of adding."""
        with self.store.reading():
            return tags_of(self.store, None if ids is None else [self._number(id) for id in usable_ids(ids)])

    def import_tags(
        self, file: Path, form: str, *, by: str = "", columns: tuple[str, str] = ("id", "tags")
    ) -> Imported:
        """Add the tags of a file to the documents, as one action; ``columns`` name the ids and the tags.

        Tags that a document has stay. Raises InputError for a file that cannot be read, or impossible tags; then
        nothing is stored.
        """
        by, rows = _storable("by", by), [(row.id, row.tags) for row in read_rows(file, form, *columns)]
        with self.store.writing():
            known = self.store.numbers(sorted({id for id, tags in rows if tags}))
            tagged = [(known[id], require_tag(tag)) for id, tags in rows if id in known for tag in tags]
            unknown_ids = tuple(dict.fromkeys(id for id, tags in rows if tags and id not in known))
            before = {(row.a, row.kind.removeprefix(TAG)) for row in self.store.decisions.tags_of(known.values())}
            new = [one for one in dict.fromkeys(tagged) if one not in before]
            documents = len({number for number, _ in new})
            what = f"import {counted(len(new), 'tag')} of {counted(documents, 'document')} from {file.name}"
            action = Deciding(self.store).tag_all(new, on=True, by=by, what=what)
        return Imported(action, len(new), documents, unknown_ids)

    def import_decisions(self, file: Path, form: str, *, by: str = "") -> Imported | None:
        """Store the decisions of a file with the columns id, other, decision and note, as an export writes them.

        Those of one word and note are one action; the decision none withdraws one. What holds already is left out.
        Rows of batches and second reviews are left out, and pairs that wait for the second verdict of ``by``.
        Returns None for a file without these columns. Raises InputError for a file that cannot be read, and for
        decisions that contradict others; then nothing is stored.
        """
        listed = read_pairs(file, form)
        if listed is None:
            return None
        rows = [row for row in listed if not row.reviewing]
        by, action, count, waiting = _storable("by", by), None, 0, 0
        with self.store.writing():
            known = self.store.numbers(sorted({id for row in rows for id in (row.id, row.other)}))
            unknown = dict.fromkeys(id for row in rows for id in (row.id, row.other) if id not in known)
            log = self.store.decisions
            in_force = {(row.a, row.b): row.value for row in log.pairs_of(list(known.values()))}
            noted = {(row.a, row.b): row.note for row in log.notes_of(known.values())}
            to_judge = log.waiting_for(by)
            chosen: dict[tuple[str, str], list[tuple[int, int]]] = {}
            for row in rows:
                if row.id in known and row.other in known:
                    pair = self._pair(row.id, row.other)
                    if row.decision == NOTE:
                        differs = noted.get(pair, "") != row.note
                    else:
                        differs = in_force.get(pair, WITHDRAWN) != row.decision
                    if differs and pair in to_judge:
                        waiting += 1
                    elif differs:
                        chosen.setdefault((row.decision, row.note), []).append(pair)
            for (word, note), pairs in chosen.items():
                if word == NOTE:
                    what = f"import {counted(len(pairs), 'note')} from {file.name}"
                    action = Deciding(self.store).note(pairs, note, by, what=what)
                    count += len(pairs)
                    continue
                if word != WITHDRAWN:
                    require_verdict(word)
                verdict = None if word == WITHDRAWN else cast(Verdict, word)
                what = f"import {counted(len(pairs), 'decision')} from {file.name}"
                action = Deciding(self.store).decide(pairs, verdict, by, note, what=what)
                count += len(pairs)
        return Imported(action, 0, 0, tuple(unknown), count, waiting, len(listed) - len(rows))

    def _found_numbers(self, query: str) -> Int64s:
        """Return the numbers of all documents that a query finds."""
        raise NotImplementedError

    def undo(self, by: str, action: int | None = None) -> Action | None:
        """Undo an action of decisions, and return the action that does so.

        Without ``action`` it is the last one of ``by`` that is not undone; None if there is none. Exactly the
        decisions from before hold again, with their persons, times and notes. A document that a "not alike" took
        out of a group, and that is in none, returns to that group if it may. Undoing an undo restores its
        decisions. Raises ChangedMeanwhileError if a later action decided about the same again, and InputError for
        an action that does not exist, is undone already, or concerns a document that was removed.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office", "pay by Friday"])
        ...     _ = mails.decide("#1", "#2", "duplicate", by="ann", note="seen")
        ...     _ = mails.decide("#1", "#2", "not alike", by="ben")
        ...     _ = mails.undo("ben")
        ...     [(one.verdict, one.by, one.note) for one in mails.decisions()]
        [('duplicate', 'ann', 'seen')]
        """
        by = _storable("by", by)
        with self.store.writing():
            return Deciding(self.store).undo(by, None if action is None else place(action))

    def actions(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions of decisions, the latest first; ``before``: the number of the last one seen."""
        with self.store.reading():
            return self.store.decisions.history(None if before is None else place(before), checked_limit(limit))

    def decisions(self, after: int = 0, limit: int = 1000) -> tuple[records.PairDecision, ...]:
        """Return the decisions in force, by number; ``after``: the number of the last one seen."""
        with self.store.reading():
            return decisions_of(self.store, self.store.decisions.pairs_after(place(after), checked_limit(limit)))

    def changes(self, after: int = 0, limit: int = 1000) -> tuple[records.Change, ...]:
        """Return the change log of groups and decisions, by number; ``after``: the number of the last one seen."""
        with self.store.reading():
            return tuple(map(change_of, self.store.groups.changes(place(after), checked_limit(limit))))

    def group_pending(
        self,
        near: float | str | Near = THRESHOLD,
        *,
        after: int | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> records.GroupedPending:
        """Put documents that are in no group into groups, as ``add`` does with ``near`` and on_near="link".

        They are compared in the order in which they were first added, each with those before it. If all documents
        were added without ``near``, the groups are those that ``near`` would have made; existing groups keep their
        ids, representatives and members. Documents in no group are compared again by the next call. At most
        ``limit`` are compared; ``after`` is the ``next`` of the previous call. Every 100 are committed together,
        and other writers get in between.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed", "The harbour office is closed!"])
        ...     done = mails.group_pending("80%")
        ...     done.linked, [member.id for member in mails.group_of("#2").members]
        (1, ['#1', '#2'])
        """
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise SettingError(f"limit is {limit!r}", "A whole number from 1 on, or None for all documents")
        return group_pending(self.store, Near.of(near), place(after or 0), limit, progress=progress)

    def regroup(
        self, threshold: float | str | Near = THRESHOLD, *, progress: Progress | None = None
    ) -> records.GroupedPending:
        """Bring all groups to a threshold, then put documents that are in no group into groups, as there.

        A group that has the threshold already stays as it is. At a higher threshold, members that no longer reach
        the representative leave; at a lower one, groups whose representatives are near each other are formed again
        together. A group whose representative keeps a member keeps its number, unless its representative joins an
        older group. Decisions hold. 100 groups are committed together, and 100 documents: when the work is
        stopped, the next call goes on. ``Near(0.7, recall=1)`` misses none.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed today", "the harbour office is closed"])
        ...     _ = mails.regroup("90%"), mails.regroup("50%")
        ...     [(group.id, group.threshold, group.size) for group in mails.groups().groups]
        [(1, 0.5, 2)]
        """
        near = Near.of(threshold)
        changed, _ = regroup(self.store, near, None, progress=progress)
        return replace(group_pending(self.store, near, 0, None, progress=progress), regrouped=changed)

    def _number(self, id: str | int) -> int:
        name = usable_id(id)
        number = self.store.numbers([name]).get(name)
        if number is None:
            raise unknown_error([name])
        return number

    def _pair(self, a: str | int, b: str | int) -> tuple[int, int]:
        first, second = sorted((self._number(a), self._number(b)))
        if first == second:
            raise InputError(f"{usable_id(a)!r} was given twice", "Two documents")
        return first, second


class TaggedDocuments(NamedTuple):
    """Documents: by ids, the members of a group, and the numbers that a query found."""

    ids: tuple[str, ...] = ()
    group: int | None = None
    queried: Int64s | None = None


def tag_chosen(
    collection: GroupsAndDecisions,
    chosen: TaggedDocuments,
    tag: str,
    *,
    on: bool = True,
    by: str = "",
    seen: int | None = None,
    what: str = "",
) -> Action | None:
    """Tag documents as :meth:`GroupsAndDecisions.tag`; those that a query found and that are gone are left out."""
    tag, by, what = require_tag(tag), _storable("by", by), _storable("what", what)
    known, store = None if seen is None else place(seen), collection.store
    with store.writing():
        there = store.numbers(chosen.ids)
        if missing := [id for id in chosen.ids if id not in there]:
            raise unknown_error(missing)
        numbers = [there[id] for id in chosen.ids]
        if chosen.group is not None:
            collection.group(chosen.group)
            numbers += [member.document for member in store.groups.members(chosen.group)]
        if chosen.queried is not None:
            numbers += [row.number for row in store.rows(chosen.queried)]
        elif not numbers:
            raise InputError("No document was given", "Ids, a group, or a query")
        done = "tag" if on else "tag taken away"
        what = what or f"{done}: {tag}, {counted(len(set(numbers)), 'document')}"
        return Deciding(store).tag(numbers, tag, on=on, by=by, what=what, seen=known)


def store_reviewing(
    collection: GroupsAndDecisions,
    changes: Sequence[HandOver | SecondReview | SecondVerdict],
    *,
    by: str,
    what: str,
    seen: int | None = None,
) -> Action:
    """Store batches, pairs handed out for a second verdict, and second verdicts, which change no group.

    A group is named by its representative. Raises InputError for unknown documents, and for one in no group.
    """
    by, what, store = _storable("by", by), _storable("what", what), collection.store
    with store.writing():
        named = {id for one in changes for id in ((one.group,) if isinstance(one, HandOver) else (one.a, one.b))}
        there = store.numbers(sorted(map(str, named)))
        if missing := [str(id) for id in named if str(id) not in there]:
            raise unknown_error(missing)
        groups = {number: row.group for number, row in store.groups.memberships(list(there.values())).items()}
        rows = []
        for one in changes:
            if isinstance(one, HandOver):
                if (group := groups.get(there[str(one.group)])) is None:
                    raise InputError(f"{printable(one.group)} is in no group", "The representative of a group")
                [row] = rows_of([replace(one, group=group)])
                rows.append(row._replace(subject=(BATCH, group, 0)))
            else:
                rows += rows_of([replace(one, a=there[str(one.a)], b=there[str(one.b)])])
        return Deciding(store).store(rows, by, what, seen=None if seen is None else place(seen))


def tags_of(store: Store, numbers: Iterable[int] | None) -> dict[str, tuple[str, ...]]:
    """Return the tags of these documents, or of all, by id; documents without tags are left out."""
    tags: dict[int, list[str]] = {}
    for row in store.decisions.tags_of(numbers):
        tags.setdefault(row.a, []).append(row.kind.removeprefix(TAG))
    named = zip(tags, store.ids(np.array(list(tags), np.int64)), strict=True)
    return {id: tuple(sorted(tags[number])) for number, id in named}


def tags_page(store: Store, after: int, limit: int) -> tuple[dict[str, tuple[str, ...]], int | None]:
    """Return the tags of ``limit`` documents after a number, and the number that the next page begins after."""
    begin, limit = place(after), checked_limit(limit)
    with store.reading():
        numbers = store.decisions.tagged_after(begin, limit + 1)
        return tags_of(store, numbers[:limit]), numbers[limit - 1] if len(numbers) > limit else None


def place(number: Any) -> int:
    """Return the number that a page begins after. Raises InputError for anything else."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 63:
        raise InputError(f"{number!r} is not a place in a list", "A whole number from 0 on")
    return number


def checked_limit(limit: Any) -> int:
    """Return the number of rows of a page. Raises SettingError unless it is a whole number from 1 to 10,000."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST:
        raise SettingError(f"limit is {limit!r}", f"A whole number from 1 to {MOST:,}")
    return limit


def require_verdict(verdict: str) -> None:
    """Raise SettingError for a verdict that does not exist."""
    if verdict not in get_args(Verdict):
        raise SettingError(f"verdict is {verdict!r}", f"One of {', '.join(get_args(Verdict))}")


def _storable(name: str, text: Any) -> str:
    """The name or note of a reviewer, in a form that can be stored."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InputError(f"{name} is not a text that can be kept", f"At most {_LONGEST:,} characters")
    return text.encode("utf-8", "replace").decode("utf-8")


_GROUPS = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "group")),
        ("representative", pa.bool_()),
        ("similarity", pa.float64()),
        ("held_by", pa.string()),
        ("number", pa.int64()),
    ]
)
_DECISIONS = pa.schema(
    [*((name, pa.string()) for name in ("decision", "id", "other", "note", "by", "at")), ("action", pa.int64())]
)
_TAGS = pa.schema([("id", pa.string()), ("tags", pa.list_(pa.string()))])
_PAGE = 1000


def collection_table(collection: GroupsAndDecisions, what: str) -> pa.Table:
    """Return the ``groups`` of a collection, a row for each member, its ``decisions`` or its ``tags``.

    The latest decision comes first, and a document with tags in the order of adding.
    ``number`` is the permanent id of the group, ``group`` the id of its representative. Raises SettingError for
    anything else.
    """
    if what not in ("groups", "decisions", "tags"):
        raise SettingError(f"The export is {what!r}", "One of groups, decisions, tags")
    if what == "tags":
        tagged = [{"id": id, "tags": list(tags)} for id, tags in collection.tags().items()]
        return pa.Table.from_pylist(tagged, _TAGS)
    schema = _GROUPS if what == "groups" else _DECISIONS
    with collection.store.reading():
        rows = _members(collection.store) if what == "groups" else reversed([*_decisions(collection.store)])
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _members(store: Store) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := store.groups.page(after, _PAGE):
        after = page[-1].number
        for row in page:
            members = members_of(store, row, store.groups.members(row.number))
            [head] = [member.id for member in members if member.held_by == "representative"]
            for member in members:
                yield member.id, head, member.id == head, member.resemblance, member.held_by, row.number


def _decisions(store: Store) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := store.decisions.pairs_after(after, _PAGE):
        after = page[-1].number
        for one in decisions_of(store, page):
            yield one.verdict, one.a, one.b, one.note, one.by, one.at, one.number
    noted = [row for row in store.decisions.notes_of() if row.note]
    yield from ((NOTE, one.a, one.b, one.note, one.by, one.at, one.number) for one in decisions_of(store, noted))
    for one in decisions_of(store, store.decisions.notes_of(kind=SECOND)):
        verdict = None if one.verdict == HANDED else one.verdict
        yield second_words(verdict), one.a, one.b, one.note, one.by, one.at, one.number
    handed = {row.a: row for row in store.decisions.notes_of(kind=BATCH)}
    groups = store.groups.rows(handed)
    heads = _documents(store, [groups[number].representative for number in groups])
    for number, group in groups.items():
        row = handed[number]
        yield BATCH, heads[group.representative].id, None, row.value, row.by, row.at, row.number
