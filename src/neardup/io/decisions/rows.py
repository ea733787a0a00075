"""Decisions as rows of the database, and back; every value that is read is checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.decisions.records import (
    NO_DECISIONS,
    Action,
    Change,
    ChosenRepresentative,
    DecidedFate,
    DecisionState,
    Fate,
    FateOf,
    Id,
    JudgedPair,
    Judgement,
    Represents,
    Tag,
    Verdict,
    pair_of,
)

MOST_NAME, MOST_TAG, MOST_NOTE = 200, 200, 10_000
"""Characters of a person's name, of a tag, and of a note or a sentence."""

_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1

Subject = tuple[str, Any, Any]
"""A kind of decision and its ids as they are stored; the second is "" for decisions about one document."""


class StoredDecision(NamedTuple):
    """A decision to store: its subject, the value (None withdraws it) and the note."""

    subject: Subject
    value: Any
    note: str


class Current(NamedTuple):
    """A decision that holds: its subject, value and note, and the action that it comes from."""

    kind: str
    a: Any
    b: Any
    value: Any
    note: str
    by: str
    at: str
    action: int


def rows_of(changes: Sequence[Change]) -> list[StoredDecision]:
    """Return the changes as rows, the last one of each subject. Raises InputError for impossible ones."""
    found = map(_row_of, changes)
    return list({row.subject: row for row in found}.values())


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


def _row_of(change: Change) -> StoredDecision:
    match change:
        case Judgement(a, b, verdict, note):
            if a == b and type(a) is type(b):
                raise InputError(f"{printable(a)} was judged with itself", "Two different documents")
            _require_one_of(verdict, get_args(Verdict))
            one, other = map(_stored_id, pair_of(a, b))
            return StoredDecision(("pair", one, other), verdict, _text(note, "note", MOST_NOTE))
        case FateOf(id, fate, note):
            _require_one_of(fate, get_args(Fate))
            return StoredDecision(("fate", _stored_id(id), ""), fate, _text(note, "note", MOST_NOTE))
        case Represents(group, chosen):
            return StoredDecision(
                ("represents", _stored_id(group), ""), None if chosen is None else _stored_id(chosen), ""
            )
        case Tag(id, tag, on):
            return StoredDecision(("tag", _stored_id(id), require_tag(tag)), 1 if on else None, "")
    raise InputError(f"{type(change).__name__} is not a decision", "Judgement, FateOf, Represents or Tag")


def _require_one_of(value: str | None, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise InputError(f"The decision is {printable(value)}", f"One of {', '.join(allowed)}")


def _stored_id(id: Id) -> Any:
    """A whole number beyond 64 bits becomes bytes, which no id is."""
    if isinstance(id, bool) or not isinstance(id, int | str):
        raise InputError(f"An id is of type {type(id).__name__}", "Strings and whole numbers")
    if isinstance(id, int):
        return id if _SMALLEST <= id <= _LARGEST else str(id).encode()
    return _encodable(id, "id")


def _id_of(value: Any) -> Id:
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


def state_with(before: DecisionState, number: int, subjects: Iterable[Subject], now: Iterable[Current]) -> Any:
    """Return the state after the action ``number``: ``subjects`` have changed, and ``now`` hold of them.

    Raises ValueError or TypeError for values that no decision has.
    """
    maps: dict[str, dict[Any, Any]] = {
        "pair": dict(before.judgements),
        "fate": dict(before.fates),
        "represents": dict(before.choices),
    }
    tags = {id: set(found) for id, found in before.tags.items()}
    for kind, a, b in subjects:
        if kind == "tag":
            tags.get(_id_of(a), set()).discard(b)
        else:
            maps[kind].pop(_key(kind, a, b), None)
    for row in now:
        if row.kind == "tag":
            tags.setdefault(_id_of(row.a), set()).add(_checked(row.b, str))
        else:
            maps[row.kind][_key(row.kind, row.a, row.b)] = _decision(row)
    of_ids = {id: tuple(sorted(found)) for id, found in tags.items() if found}
    return DecisionState(number, maps["pair"], maps["fate"], maps["represents"], of_ids)


def first_state(number: int, now: Iterable[Current]) -> DecisionState:
    """Return the state from all decisions that hold."""
    found: DecisionState = state_with(NO_DECISIONS, number, (), now)
    return found


def _key(kind: str, a: Any, b: Any) -> Any:
    return (_id_of(a), _id_of(b)) if kind == "pair" else _id_of(a)


def _decision(row: Current) -> JudgedPair | DecidedFate | ChosenRepresentative:
    by, at, note = (_checked(value, str) for value in (row.by, row.at, row.note))
    action = _checked(row.action, int)
    if row.kind == "represents":
        return ChosenRepresentative(_id_of(row.value), by, at, action)
    allowed = get_args(Verdict if row.kind == "pair" else Fate)
    if row.value not in allowed:
        raise ValueError("a decision has a value that does not exist")
    made: type = JudgedPair if row.kind == "pair" else DecidedFate
    decision: JudgedPair | DecidedFate = made(row.value, note, by, at, action)
    return decision


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a value is of type {type(value).__name__}")
    return value


def action_of(row: Sequence[Any]) -> Action:
    """Return an action from its row. Raises ValueError for values of other types."""
    number, at, by, what, changes, undoes, undone_by = row
    for value in (at, by, what):
        _checked(value, str)
    for value in (number, changes, undoes or 0, undone_by or 0):
        _checked(value, int)
    return Action(number, at, by, what, changes, undoes, undone_by)
