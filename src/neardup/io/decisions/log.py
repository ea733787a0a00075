"""The event log of people's decisions: two tables of an SQLite database, used by results and by collections.

A decision is a row that is never changed: its value (NULL withdraws it), and the numbers of the rows whose values
held ``before`` and hold ``after`` it. Of all rows about the same subject the last one counts. So an undo is an
action, too: its rows are those of the other action, with ``before`` and ``after`` exchanged.

Anyone may have made or changed the file: each row has a seal, and every value that is read is checked.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

from neardup.display import counted, printable
from neardup.errors import ChangedMeanwhileError, InputError, NeardupError, SecondReviewError
from neardup.io.decisions import records

MOST_NAME, MOST_TAG, MOST_NOTE = 200, 200, 10_000
"""Characters of a person's name, of a tag, and of a note or a sentence."""

TABLES = {
    # ``by`` is NULL if no person acted; ``undone_by`` is set while an action is undone
    "actions": "CREATE TABLE actions (number INTEGER PRIMARY KEY, at TEXT NOT NULL, by TEXT, what TEXT NOT NULL, "
    "changes INTEGER NOT NULL, undoes INTEGER, undone_by INTEGER, seal INTEGER NOT NULL)",
    # the subject of a decision is its kind with one or two ids; ``threshold`` is that of the group which the
    # decision took apart, in a collection
    "decisions": "CREATE TABLE decisions (number INTEGER PRIMARY KEY, action INTEGER NOT NULL, "
    "kind TEXT NOT NULL, a NOT NULL, b NOT NULL, value, note TEXT NOT NULL, threshold REAL, before INTEGER, "
    "after INTEGER, seal INTEGER NOT NULL)",
    "decisions_of_subject": "CREATE INDEX decisions_of_subject ON decisions (kind, a, b, number)",
    "decisions_of_b": "CREATE INDEX decisions_of_b ON decisions (kind, b)",
    "decisions_of_action": "CREATE INDEX decisions_of_action ON decisions (action)",
}
"""The statements that make the tables and indexes, by their names."""

_ACTION = "SELECT number, at, by, what, changes, undoes, undone_by, seal FROM actions"
_DECISION = (
    "SELECT v.number, v.action, v.kind, v.a, v.b, v.value, v.note, v.threshold, v.before, v.after, v.seal "
    "FROM decisions v"
)
_SUBJECT = "v.kind = ? AND v.a = ? AND v.b = ?"
_IN_FORCE = (
    "v.number = (SELECT c.after FROM decisions c WHERE c.kind = v.kind AND c.a = v.a AND c.b = v.b{}"
    "ORDER BY c.number DESC LIMIT 1)"
)
_NOW, _UNTIL = _IN_FORCE.format(" "), _IN_FORCE.format(" AND c.action <= ? ")
"""Whether a decision holds now, or after an action."""
_PAST_TAGS = "tag;"
"""The first kind after all tags of collections, in the order of characters."""
_LISTED = "(SELECT value FROM json_each(?))"
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1

Run = Callable[..., list[Any]]
"""Executes a statement with its parameters, and returns all rows."""
TAG = "tag:"
"""In a collection, where documents are numbers, a tag is part of the kind: ``tag:urgent``, its document, 0."""

NOTE = "note"
"""The kind of a note on two documents, and its value."""

BATCH, SECOND, HANDED = "batch", "second", "handed"
"""The kinds of a group handed to a person and of a second look at a pair. The value of a look that waits is
``HANDED``, with the person as its note."""

Subject = tuple[str, Any, Any]
"""A kind of decision and its ids as they are stored; the second is "" for decisions about one document."""

_ID = int | str | bytes
_ACTION_TYPES = (int, str, str | None, str, int, int | None, int | None)
_LOGGED_TYPES = (int, int, str, _ID, _ID, _ID | None, str, float | None, int | None, int | None)


def second_words(verdict: str | None) -> str:
    """Return a second look at a pair as exports name it, by its verdict; None for one that waits.

    >>> second_words(None), second_words("not alike")
    ('second review', 'second not alike')
    """
    return f"{SECOND} {verdict or 'review'}"


class Decided(NamedTuple):
    """A decision to store: its subject, the value (None withdraws it) and the note."""

    subject: Subject
    value: Any
    note: str


class Logged(NamedTuple):
    """A row of the log; ``before`` and ``after`` number the rows that held before and hold after it."""

    number: int
    action: int
    kind: str
    a: Any
    b: Any
    value: Any
    note: str
    threshold: float | None
    before: int | None
    after: int | None

    @property
    def subject(self) -> Subject:
        """The subject of the decision."""
        return self.kind, self.a, self.b


class InForce(NamedTuple):
    """A decision that holds: the number of its row, its subject, value and note, by whom, when, and its action."""

    number: int
    kind: str
    a: Any
    b: Any
    value: Any
    note: str
    by: str
    at: str
    action: int


class DecisionLog:
    """The log in a database; ``run`` executes statements, ``damaged`` makes the error for an impossible row.

    The methods that store something must be called within a transaction.
    """

    def __init__(self, run: Run, damaged: Callable[[str], NeardupError]) -> None:
        self._run, self._damaged = run, damaged

    def last(self) -> int:
        """Return the number of the last action, 0 before the first."""
        [(number,)] = self._run("SELECT coalesce(max(number), 0) FROM actions")
        return int(number)

    def act(
        self, changes: Sequence[records.Change], *, by: str, what: str, seen: int | None = None
    ) -> records.Action:
        """Store the decisions of a person, and return the action. Raises as ``DecisionStore.act`` does."""
        rows = rows_of(changes)
        if not rows:
            raise InputError("There is nothing to decide: no document is concerned", "At least one decision")
        self.require_second([row.subject for row in rows], by)  # before the error that names the first verdict
        if seen is not None:
            self.require_unchanged([row.subject for row in rows], seen)
        number = self.begin(by, what, len(rows))
        self._add(number, [(row, None, self._version(row.subject), row.value is not None) for row in rows])
        return self.action(number)

    def undo(self, *, by: str, action: int | None = None) -> records.Action | None:
        """Restore the state before an action; see ``DecisionStore.undo``."""
        undone = self.undoable(by, action)
        if undone is None:
            return None
        number = self.begin_undo(undone, by)
        self.restore(number, self.rows_of_action(undone.number))
        return self.action(number)

    def begin(self, by: str | None, what: str, changes: int, undoes: int | None = None) -> int:
        """Store an action whose decisions follow, and return its number."""
        number = self.last() + 1
        row = (number, datetime.now(UTC).isoformat(timespec="seconds"), by, what, changes, undoes, None)
        self._run("INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row, seal(row))
        return number

    def decide(self, action: int, decision: Decided, threshold: float | None = None) -> None:
        """Store one decision of an action."""
        version = self._version(decision.subject)
        self._add(action, [(decision, threshold, version, decision.value is not None)])

    def begin_undo(self, undone: records.Action, by: str) -> int:
        """Store an action that undoes another one, whose decisions follow, and return its number."""
        what = f"undo action {undone.number}" if undone.undoes is None else f"redo action {undone.undoes}"
        number = self.begin(by, what, undone.changes, undone.number)
        is_undone: bool = True
        mark: int | None = number
        target: records.Action | None = undone
        while target is not None:  # if the action undid another one, that one holds again, and so on
            sealed = seal((*self._action_row(target.number)[:-1], mark))
            self._run("UPDATE actions SET undone_by = ?, seal = ? WHERE number = ?", mark, sealed, target.number)
            is_undone, mark = not is_undone, None if is_undone else target.number
            target = None if target.undoes is None else self.action(target.undoes)
        return number

    def restore(self, action: int, rows: Iterable[Logged]) -> None:
        """Store that what held before some rows holds again."""
        self._add(action, [(Decided(row.subject, None, ""), None, row.after, row.before) for row in rows])

    def undoable(self, by: str, action: int | None) -> records.Action | None:
        """Return the action to undo: by default the last one of ``by``, None if there is none.

        Raises ChangedMeanwhileError if a later action decided about the same again, and InputError for an action
        that does not exist or is undone already, and for a first verdict that waits for the second one of ``by``.
        """
        if action is None:
            [(action,)] = self._run(
                "SELECT max(number) FROM actions WHERE by = ? AND undone_by IS NULL AND undoes IS NULL", by
            )
            if action is None:
                return None
        known = self._run("SELECT 1 FROM actions WHERE number = ? AND by IS NOT NULL", action)
        if not known:
            raise InputError(f"There is no action {action:,}", "The number of an action in the history")
        found = self.action(action)
        if found.undone_by is not None:
            raise InputError(
                f"Action {action:,} is undone already, by action {found.undone_by:,}",
                "",
                f"Undo action {found.undone_by:,} to restore it",
            )
        self.require_second([row.subject for row in self.rows_of_action(action)], by)
        [(later,)] = self._run(
            "SELECT max(l.action) FROM decisions v JOIN decisions l ON l.number = (SELECT max(c.number) "
            "FROM decisions c WHERE c.kind = v.kind AND c.a = v.a AND c.b = v.b) "
            "WHERE v.action = ? AND coalesce(l.after, 0) <> coalesce(v.after, 0)",
            action,
        )
        if later is not None:
            raise self._changed_meanwhile_error(later, "Nothing was undone")
        return found

    def require_unchanged(self, subjects: Iterable[Subject], seen: int) -> None:
        """Raise ChangedMeanwhileError unless all subjects are as they were after the action ``seen``."""
        for subject in subjects:
            last = self._last_row(subject)
            if last is not None and last.action > seen:
                before = self._last_row(subject, until=seen)
                if last.after != (None if before is None else before.after):  # not restored by an undo
                    raise self._changed_meanwhile_error(last.action, "Nothing was stored")

    def state(self, known: records.DecisionState = records.NO_DECISIONS) -> records.DecisionState:
        """Return all decisions that hold; only those that changed since the state ``known`` are read."""
        number = self.last()
        if number == known.number:
            return known
        try:
            if not known.number:
                return self._state_with(known, number, (), self._in_force(""))
            later = "SELECT kind, a, b FROM decisions WHERE action > ?"
            subjects = self._run(f"SELECT DISTINCT kind, a, b FROM ({later}) AS later", known.number)
            held = self._in_force(f" AND (v.kind, v.a, v.b) IN ({later})", known.number)
            return self._state_with(known, number, subjects, held)
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"a stored value differs from the written one ({error})") from error

    def state_after(self, action: int) -> records.DecisionState:
        """Return the decisions that held after an action, or that hold now if there is no later one."""
        if action >= self.last():
            return self.state()
        try:
            rows = self._logged_rows(f"{_DECISION} WHERE {_UNTIL}", action)
            return self._state_with(records.NO_DECISIONS, action, (), self._with_actions(rows))
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged(f"a stored value differs from the written one ({error})") from error

    def history(self, before: int | None = None, limit: int = 50) -> tuple[records.Action, ...]:
        """Return at most ``limit`` actions of people with numbers below ``before``, the latest first."""
        below = _LARGEST if before is None else before
        where = "WHERE number < ? AND by IS NOT NULL ORDER BY number DESC LIMIT ?"
        return tuple(records.Action(*row) for row in self._actions(where, below, limit))

    def draws(self) -> tuple[records.Action, ...]:
        """Return the actions that handed pairs out for a second verdict and are not undone, the latest first."""
        handed = "SELECT action FROM decisions WHERE kind = ? AND value = ?"
        where = f"WHERE number IN ({handed}) AND undone_by IS NULL ORDER BY number DESC"
        return tuple(records.Action(*row) for row in self._actions(where, SECOND, HANDED))

    def action(self, number: int) -> records.Action:
        """Return an action."""
        return records.Action(*self._action_row(number))

    def rows_of_action(self, action: int) -> list[Logged]:
        """Return the rows of an action, in their order."""
        return self._logged_rows(f"{_DECISION} WHERE v.action = ? ORDER BY v.number", action)

    def in_force(self, subject: Subject) -> InForce | None:
        """Return the decision about a subject."""
        return next(iter(self._in_force(f" AND {_SUBJECT}", *subject)), None)

    def pairs_of(self, documents: Iterable[int]) -> list[InForce]:
        """Return the verdicts on pairs with any of the documents, which are named by numbers."""
        listed = json.dumps(list(documents))
        where = f" AND v.kind = 'pair' AND (v.a IN {_LISTED} OR v.b IN {_LISTED}) ORDER BY v.number"
        return self._in_force(where, listed, listed)

    def notes_of(self, documents: Iterable[int] | None = None, kind: str = NOTE) -> list[InForce]:
        """Return the notes on pairs with any of the documents, which are named by numbers, or all notes.

        ``kind`` SECOND: the second looks at pairs.
        """
        where, listed = " AND v.kind = ?", () if documents is None else (json.dumps(list(documents)),) * 2
        where += f" AND (v.a IN {_LISTED} OR v.b IN {_LISTED})" if listed else ""
        return self._in_force(f"{where} ORDER BY v.number", kind, *listed)

    def first_verdicts(self, seconds: Sequence[InForce]) -> dict[tuple[Any, Any], records.JudgedPair]:
        """Return the verdicts on pairs that held when their second verdicts were given, for all in one pass."""
        last = "SELECT c.number FROM decisions c WHERE c.kind = 'pair' AND c.a = s.a AND c.b = s.b"
        until = f"({last} AND c.action <= s.action ORDER BY c.number DESC LIMIT 1)"
        where = f"WHERE v.number IN (SELECT {until} FROM decisions s WHERE s.number IN {_LISTED})"
        rows = self._logged_rows(f"{_DECISION} {where}", json.dumps([one.number for one in seconds]))
        numbers = json.dumps([row.after for row in rows if row.after is not None])
        firsts = self._with_actions(self._logged_rows(f"{_DECISION} WHERE v.number IN {_LISTED}", numbers))
        return {
            (one.a, one.b): records.JudgedPair(one.by, one.at, one.action, one.note, one.value) for one in firsts
        }

    def waiting_for(self, by: str) -> set[tuple[Any, Any]]:
        """Return the pairs, as stored, that wait for the second verdict of a person after the first of another."""
        own = self._in_force(" AND v.kind = ? AND v.note = ?", SECOND, by)
        handed = {(row.a, row.b) for row in own if row.value == HANDED}
        of_them = "SELECT s.a, s.b FROM decisions s WHERE s.kind = ? AND s.note = ?"
        where = f" AND v.kind = 'pair' AND (v.a, v.b) IN ({of_them})"
        firsts = self._in_force(where, SECOND, by) if handed else []
        return handed & {(row.a, row.b) for row in firsts if row.by != by}

    def require_second(self, subjects: Iterable[Subject], by: str) -> None:
        """Raise SecondReviewError for verdicts and notes on pairs that wait for the second verdict of ``by``.

        Such a verdict would replace the first one, which that person has not seen.
        """
        concerned = {subject[1:] for subject in subjects if subject[0] in ("pair", NOTE)}
        if concerned and (waiting := concerned & self.waiting_for(by)):
            raise SecondReviewError(
                f"{counted(len(waiting), 'pair')} here {'waits' if len(waiting) == 1 else 'wait'} for the second "
                f"verdict of {printable(by)}. Nothing was stored",
                "A second verdict there, which leaves the first one as it is",
                "Give it on the page Batches, or leave out what waits",
            )

    def pairs_after(self, number: int, limit: int) -> list[InForce]:
        """Return the first ``limit`` verdicts on pairs whose rows have a number above ``number``."""
        where = " AND v.kind = 'pair' AND v.number > ? ORDER BY v.number LIMIT ?"
        return self._in_force(where, number, limit)

    def tags_of(self, documents: Iterable[int] | None = None) -> list[InForce]:
        """Return the tags of the documents, which are named by numbers, or all tags; by document and tag."""
        where, listed = (
            " AND v.kind > ? AND v.kind < ?",
            () if documents is None else (json.dumps(list(documents)),),
        )
        where += f" AND v.a IN {_LISTED}" if listed else ""
        return self._in_force(f"{where} ORDER BY v.a, v.kind", TAG, _PAST_TAGS, *listed)

    def tagged_documents(self, operator: str, tag: str) -> list[int]:
        """Return the documents, ascending, with a tag that is ``=``, ``<``, ``<=``, ``>`` or ``>=`` this one."""
        where = f"{_NOW} AND v.kind > ? AND v.kind < ? AND v.kind {operator} ?"
        statement = f"SELECT DISTINCT v.a FROM decisions v WHERE {where} ORDER BY v.a"
        return [number for (number,) in self._run(statement, TAG, _PAST_TAGS, f"{TAG}{tag}")]

    def tagged_after(self, document: int, limit: int) -> list[int]:
        """Return the first ``limit`` documents with tags whose numbers are above that of ``document``."""
        where = f"{_NOW} AND v.kind > ? AND v.kind < ? AND v.a > ?"
        statement = f"SELECT DISTINCT v.a FROM decisions v WHERE {where} ORDER BY v.a LIMIT ?"
        return [number for (number,) in self._run(statement, TAG, _PAST_TAGS, document, limit)]

    def faults(self) -> list[str]:
        """Return the faults of the log as sentences; reads all of it."""
        found, last = [], self.last()
        for row in self._actions("WHERE number <= ?", last):
            rows = self.rows_of_action(row[0])
            if len(rows) != row[4]:
                found.append(f"Action {row[0]} has {len(rows)} decisions, and says {row[4]}")
        return found

    def _add(
        self, action: int, rows: Iterable[tuple[Decided, float | None, int | None, bool | int | None]]
    ) -> None:
        """Store rows with ``before`` and ``after``; an ``after`` that is True means the row itself."""
        [(last,)] = self._run("SELECT coalesce(max(number), 0) FROM decisions")
        for number, (decision, threshold, before, after) in enumerate(rows, last + 1):
            held = number if after is True else None if after is False else after
            row = (number, action, *decision.subject, decision.value, decision.note, threshold, before, held)
            self._run("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row, seal(row))

    def _last_row(self, subject: Subject, until: int = _LARGEST) -> Logged | None:
        """Return the last row about a subject, of the actions up to ``until``."""
        where = f"WHERE {_SUBJECT} AND v.action <= ? ORDER BY v.number DESC LIMIT 1"
        return next(iter(self._logged_rows(f"{_DECISION} {where}", *subject, until)), None)

    def _version(self, subject: Subject) -> int | None:
        """Return the number of the row that holds about a subject."""
        rows = self._run(
            f"SELECT v.after FROM decisions v WHERE {_SUBJECT} ORDER BY v.number DESC LIMIT 1", *subject
        )
        return rows[0][0] if rows else None

    def _in_force(self, where: str, *parameters: Any) -> list[InForce]:
        return self._with_actions(self._logged_rows(f"{_DECISION} WHERE {_NOW}{where}", *parameters))

    def _with_actions(self, rows: list[Logged]) -> list[InForce]:
        numbers = json.dumps(sorted({row.action for row in rows}))
        actions = {row[0]: row for row in self._actions(f"WHERE number IN {_LISTED}", numbers)}
        try:
            return [
                InForce(row.number, *row[2:7], actions[row.action][2] or "", actions[row.action][1], row.action)
                for row in rows
            ]
        except KeyError as error:
            raise self._damaged(f"a decision belongs to no action ({error})") from error

    def _logged_rows(self, statement: str, *parameters: Any) -> list[Logged]:
        return [Logged(*row) for row in self._sealed_rows(statement, parameters, _LOGGED_TYPES)]

    def _actions(self, where: str, *parameters: Any) -> list[list[Any]]:
        return self._sealed_rows(f"{_ACTION} {where}", parameters, _ACTION_TYPES)

    def _action_row(self, number: int) -> list[Any]:
        rows = self._actions("WHERE number = ?", number)
        if not rows:
            raise self._damaged(f"action {number:,} is missing")
        return rows[0]

    def _sealed_rows(self, statement: str, parameters: Sequence[Any], types: Sequence[Any]) -> list[list[Any]]:
        """Return rows without their seals; raises an error unless these match, and all values have their types."""
        rows = []
        for *row, stored in self._run(statement, *parameters):
            if seal(row) != stored:
                raise self._damaged("a row of its decisions was changed")
            if not all(isinstance(value, kind) for value, kind in zip(row, types, strict=True)):
                raise self._damaged("a stored value differs from the written one")
            rows.append(row)
        return rows

    def _state_with(
        self,
        before: records.DecisionState,
        number: int,
        subjects: Iterable[Subject],
        now: Iterable[InForce],
    ) -> records.DecisionState:
        """Return the state after the action ``number``: ``subjects`` have changed, and ``now`` hold of them.

        Raises ValueError, TypeError or KeyError for values that no decision has.
        """
        maps: dict[str, dict[Any, Any]] = {
            "pair": dict(before.judgements),
            "fate": dict(before.fates),
            "represents": dict(before.choices),
            NOTE: dict(before.notes),
            BATCH: dict(before.batches),
            SECOND: dict(before.seconds),
        }
        tags = {id: set(of_id) for id, of_id in before.tags.items()}
        now = list(now)
        firsts = self.first_verdicts([row for row in now if row.kind == SECOND and row.value != HANDED])
        for kind, a, b in subjects:
            if kind == "tag" or kind.startswith(TAG):
                tags.get(_id_of(a), set()).discard(_tag(kind, b))
            else:
                maps[kind].pop(_key(kind, a, b), None)
        for row in now:
            if row.kind == "tag" or row.kind.startswith(TAG):
                tags.setdefault(_id_of(row.a), set()).add(_tag(row.kind, row.b))
            elif row.kind == SECOND:
                maps[SECOND][_key(SECOND, row.a, row.b)] = _second_look(row, firsts.get((row.a, row.b)))
            else:
                maps[row.kind][_key(row.kind, row.a, row.b)] = _decision(row)
        of_ids = {id: tuple(sorted(of_id)) for id, of_id in tags.items() if of_id}
        return records.DecisionState(
            number, maps["pair"], maps["fate"], maps["represents"], of_ids, maps[NOTE], maps[BATCH], maps[SECOND]
        )

    def _changed_meanwhile_error(self, number: int, therefore: str) -> ChangedMeanwhileError:
        _, at, by, what, changes, *_ = self._action_row(number)
        someone = (
            f"{printable(by) or 'Someone'} decided about the same" if by is not None else "A document was removed"
        )
        return ChangedMeanwhileError(
            f"{someone} meanwhile, at {printable(at[:19].replace('T', ' '))} UTC: {printable(what)} "
            f"(action {number:,}, {counted(changes, 'decision')}). {therefore}",
            "",
            "Look at the present decision first",
        )


def seal(values: Sequence[Any], more: bytes = b"") -> int:
    """CRC-32 of the values of a row, which a flipped bit would change; ``more`` is a blob of the row.

    A flipped bit may also change the type of a value: such values have a CRC, too.
    """
    blob = more if isinstance(more, bytes) else repr(more).encode()
    return zlib.crc32(blob, zlib.crc32(json.dumps(list(values), default=repr).encode()))


def rows_of(changes: Sequence[records.Change]) -> list[Decided]:
    """Return the changes as rows, the last one of each subject. Raises InputError for impossible ones."""
    rows = map(_row_of, changes)
    return list({row.subject: row for row in rows}.values())


def require_name(by: str) -> str:
    """Return the name of a person without surrounding spaces. Raises InputError for an impossible one."""
    return _line(by, "name", MOST_NAME)


def require_sentence(what: str) -> str:
    """Return the description of an action. Raises InputError for an impossible one."""
    return _text(what, "description", MOST_NOTE)


def require_tag(tag: str) -> str:
    """Return a tag without surrounding spaces.

    Raises InputError for one that is empty, long, or has a semicolon, which separates tags in lists.
    """
    tag = _line(tag, "tag", MOST_TAG)
    if ";" in tag:
        raise InputError(f"The tag {printable(tag)} has a semicolon", "A tag without it: it separates tags")
    return tag


def _row_of(change: records.Change) -> Decided:
    match change:
        case records.Judgement(a, b, verdict, note):
            if a == b and type(a) is type(b):
                raise InputError(f"{printable(a)} was judged with itself", "Two different documents")
            _require_one_of(verdict, get_args(records.Verdict))
            one, other = map(_stored_id, records.pair_of(a, b))
            return Decided(("pair", one, other), verdict, _text(note, "note", MOST_NOTE))
        case records.PairNote(a, b, note):
            one, other = map(_stored_id, records.pair_of(a, b))
            return Decided((NOTE, one, other), NOTE, _text(note, "note", MOST_NOTE))
        case records.FateOf(id, fate, note):
            _require_one_of(fate, get_args(records.Fate))
            return Decided(("fate", _stored_id(id), ""), fate, _text(note, "note", MOST_NOTE))
        case records.Represents(group, chosen):
            value = None if chosen is None else _stored_id(chosen)
            return Decided(("represents", _stored_id(group), ""), value, "")
        case records.Tag(id, tag, on):
            return Decided(("tag", _stored_id(id), require_tag(tag)), 1 if on else None, "")
        case records.HandOver(group, person):
            return Decided((BATCH, _stored_id(group), ""), None if person is None else require_name(person), "")
        case records.SecondReview(a, b, person):
            one, other = map(_stored_id, records.pair_of(a, b))
            handed = (None, "") if person is None else (HANDED, require_name(person))
            return Decided((SECOND, one, other), *handed)
        case records.SecondVerdict(a, b, verdict, note):
            _require_one_of(verdict, get_args(records.Verdict))
            one, other = map(_stored_id, records.pair_of(a, b))
            return Decided((SECOND, one, other), verdict, _text(note, "note", MOST_NOTE))
    raise InputError(
        f"{type(change).__name__} is not a decision",
        "Judgement, PairNote, FateOf, Represents, Tag, HandOver, SecondReview or SecondVerdict",
    )


def _require_one_of(value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise InputError(f"The decision is {printable(value)}", f"One of {', '.join(allowed)}")


def _stored_id(id: records.Id) -> Any:
    """A whole number beyond 64 bits becomes bytes, which no id is."""
    if isinstance(id, bool) or not isinstance(id, int | str):
        raise InputError(f"An id is of type {type(id).__name__}", "Strings and whole numbers")
    if isinstance(id, int):
        return id if _SMALLEST <= id <= _LARGEST else str(id).encode()
    return _encodable(id, "id")


def _id_of(value: Any) -> records.Id:
    """Raises ValueError for a value that no id is stored as."""
    if isinstance(value, bytes):
        return int(value)
    if not isinstance(value, int | str):
        raise ValueError(f"an id is of type {type(value).__name__}")
    return value


def _encodable(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"The {name} {printable(text)} has half of a character", "Unicode text") from None
    return text


def _text(text: str, name: str, most: int) -> str:
    if len(text) > most:
        raise InputError(f"The {name} has {len(text):,} characters", f"At most {most:,}")
    return _encodable(text, name)


def _line(text: str, name: str, most: int) -> str:
    text = text.strip()
    if not text:
        raise InputError(f"The {name} is empty", f"At most {most:,} characters on one line")
    if any(not char.isprintable() for char in text):
        raise InputError(f"The {name} {printable(text)} has a control character", "Characters that can be shown")
    return _text(text, name, most)


def _tag(kind: str, b: Any) -> str:
    return str(b) if kind == "tag" else kind.removeprefix(TAG)


def _key(kind: str, a: Any, b: Any) -> Any:
    return (_id_of(a), _id_of(b)) if kind in ("pair", NOTE, SECOND) else _id_of(a)


def _decision(row: InForce) -> Any:
    if row.kind == NOTE:
        return records.NotedPair(row.by, row.at, row.action, row.note)
    if row.kind == BATCH:
        return records.HandedGroup(row.by, row.at, row.action, str(row.value))
    if row.kind == "represents":
        return records.ChosenRepresentative(row.by, row.at, row.action, _id_of(row.value))
    if row.value not in get_args(records.Verdict if row.kind == "pair" else records.Fate):
        raise ValueError("a decision has a value that does not exist")
    if row.kind == "pair":
        return records.JudgedPair(row.by, row.at, row.action, row.note, row.value)
    return records.DecidedFate(row.by, row.at, row.action, row.value, row.note)


def _second_look(row: InForce, first: records.JudgedPair | None) -> records.SecondLook:
    if row.value == HANDED:
        return records.SecondLook(row.by, row.at, row.action, "", row.note, None, None)
    if row.value not in get_args(records.Verdict):
        raise ValueError("a second verdict does not exist")
    return records.SecondLook(row.by, row.at, row.action, row.note, row.by, row.value, first)
