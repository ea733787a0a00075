"""Decisions of people as actions, and their undo from the change log.

A line of the log about a decision holds, besides what people read, everything that an undo needs (``Act``): the
action that it belongs to, the decision that held before, and the one that holds after it. Nothing is ever taken
out of the log: an undo is an action, too, whose lines name the action that it undoes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from neardup.collection.contract import Store, Writing
from neardup.collection.groups.contract import ChangeRow, DecisionRow, Verdict
from neardup.collection.groups.grouping import Grouping
from neardup.collection.groups.journal import Act, now
from neardup.collection.groups.reading import change_of, decisions_of
from neardup.collection.groups.records import DecisionAction
from neardup.collection.groups.ties import Ties
from neardup.collection.sets import Sets
from neardup.display import printable
from neardup.errors import ChangedMeanwhileError, InputError

_PAGE = 500
_END = (1 << 63) - 1

Pair = tuple[int, int]


class Deciding:
    """Decisions about pairs, as one action, within a transaction."""

    def __init__(self, store: Store, transaction: Writing) -> None:
        self._store = store
        self._grouping = Grouping(store, transaction, Sets(store))

    def decide(self, pairs: Sequence[Pair], verdict: Verdict | None, by: str, note: str) -> int:
        """Decide about pairs in this order, and return the number of the action; None withdraws decisions.

        0 if there was nothing to withdraw. Raises InputError for a base text, and if decisions contradict each
        other.
        """
        action = self._store.groups.last_change() + 1
        changed = False
        for a, b in pairs:
            was = decision_of(self._store, a, b)
            if verdict is None and was is None:
                continue
            made = None if verdict is None else DecisionRow(0, a, b, verdict, by, note, now())
            self._change(was, made, Act(action, by))
            changed = True
        return action if changed else 0

    def undo(self, by: str, action: int | None) -> int | None:
        """Restore what held before an action, and return the number of the action that does so.

        Without ``action`` it is the last one of ``by`` that is in force; None if there is none. Raises
        ChangedMeanwhileError if a later action decided about the same again, and InputError for an action that
        does not exist, or is undone already.
        """
        lines = self._undoable(by, action)
        if lines is None:
            return None
        undone = action_of(lines[0])
        number = self._store.groups.last_change() + 1
        for line in reversed(lines):
            a, b = pair_of(line)
            was = decision_of(self._store, a, b)
            self._require_there(a, b, undone)
            kept = line.about.get("before")
            made = DecisionRow(a=a, b=b, **kept) if kept else None
            self._change(was, made, Act(number, by, undone))
            if made is None and was is not None and was.verdict == "different" and line.about.get("threshold"):
                self._grouping.together_again(a, b, float(line.about["threshold"]), by)
                self._grouping.finish()
        return number

    def _change(self, was: DecisionRow | None, made: DecisionRow | None, act: Act) -> None:
        if made is not None:
            self._refuse_base_text(made)
            self._refuse_contradiction(made)
            self._grouping.decide(made, was, act)
        elif was is not None:
            self._grouping.withdraw(was, act)
        self._grouping.finish()

    def _undoable(self, by: str, action: int | None) -> list[ChangeRow] | None:
        """The lines of the action to undo, ascending; None without one of this person."""
        undone: dict[int, int] = {}
        for lines in _actions(self._store):
            number, undoes = action_of(lines[0]), lines[0].about.get("undoes")
            mine = number == action if action else undoes is None and _person(lines[0]) == by
            if mine and number in undone and action:
                raise InputError(
                    f"Action {number:,} is undone already, by action {undone[number]:,}",
                    "",
                    f"Undo action {undone[number]:,} to restore it",
                )
            if number not in undone:
                if mine:
                    self._require_unchanged(lines)
                    return lines
                if undoes is not None:
                    undone[undoes] = number
            if action and number < action:
                break
        if action:
            raise InputError(f"There is no decision {action:,}", "The number of an action in the history")
        return None

    def _require_unchanged(self, lines: Sequence[ChangeRow]) -> None:
        """Raise ChangedMeanwhileError unless the decisions of an action still hold."""
        for line in lines:
            present = decision_of(self._store, *pair_of(line))
            if (present.number if present else None) != line.about.get("decision"):
                raise _changed(self._store, pair_of(line), "Nothing was undone")

    def _require_there(self, a: int, b: int, action: int) -> None:
        there = self._store.rows(np.array([a, b], np.int64))
        if len(there) < 2:
            raise InputError(
                f"Action {action:,} concerns a document that was removed", "An action whose documents are there"
            )

    def _refuse_base_text(self, decision: DecisionRow) -> None:
        if not self._store.base_texts().keys().isdisjoint((decision.a, decision.b)):
            raise InputError("A base text is in no group", "Two documents that are not base texts")

    def _refuse_contradiction(self, made: DecisionRow) -> None:
        """Raise InputError if the other decisions imply the opposite."""
        a, b, verdict = made.a, made.b, made.verdict
        known = self._store.groups.memberships([a, b])
        groups = {row.group for row in known.values()}
        pool = [a, b, *(row.document for group in groups for row in self._store.groups.members(group))]
        ties = Ties(row for row in self._store.groups.decisions(pool) if (row.a, row.b) != (a, b))
        if verdict == "different":
            chain = ties.chain(a, b)
            if chain:
                raise self._contradiction(verdict, (a, b), self._named("same", chain))
            return
        pair = ties.between(ties.bundle(a), set(ties.bundle(b)))
        if pair:
            others = [*ties.chain(a, pair[0]), *ties.chain(pair[1], b)]
            raise self._contradiction(
                verdict, (a, b), self._named("same", others) + self._named("different", [pair])
            )

    def _contradiction(self, verdict: Verdict, pair: Pair, others: list[str]) -> InputError:
        shown = "; ".join(others[:5]) + (f"; and {len(others) - 5} more" if len(others) > 5 else "")
        return InputError(
            f"{self._named(verdict, [pair])[0]} contradicts earlier decisions: {shown}",
            "Documents that are the same cannot be different; nothing was stored",
            "Withdraw one of them first",
        )

    def _named(self, verdict: Verdict, pairs: list[Pair]) -> list[str]:
        found = decisions_of(self._store, [DecisionRow(0, a, b, verdict, "", "", "") for a, b in pairs])
        return [f"{one.a[:80]!r} and {one.b[:80]!r} are {verdict}" for one in found]


def decision_of(store: Store, a: int, b: int) -> DecisionRow | None:
    """The decision about two documents, ``a`` < ``b``."""
    return next((row for row in store.groups.decisions([a]) if (row.a, row.b) == (a, b)), None)


def require_unchanged(store: Store, pairs: Sequence[Pair], seen: int) -> None:
    """Raise ChangedMeanwhileError if other decisions about the pairs hold than after the change ``seen``."""
    wanted = set(pairs)
    held: dict[Pair, int | None] = {}
    for line in _lines(store):
        if line.number <= seen:
            break
        if action_of(line) > seen and pair_of(line) in wanted:
            before = line.about.get("before")
            held[pair_of(line)] = before["number"] if before else None
    for pair, number in held.items():
        present = decision_of(store, *pair)
        if (present.number if present else None) != number:  # not restored by an undo
            raise _changed(store, pair, "Nothing was stored")


def actions(store: Store, before: int | None, limit: int) -> Iterator[DecisionAction]:
    """The actions of people with a number below ``before``, the latest first."""
    undone: dict[int, int] = {}
    left = limit
    for lines in _actions(store):
        first = lines[0]
        number, undoes = action_of(first), first.about.get("undoes")
        by_now = undone.get(number)
        if undoes is not None and by_now is None:
            undone[undoes] = number
        if before is None or number < before:
            changes = tuple(map(change_of, lines))
            yield DecisionAction(number, first.at, _person(first), changes, undoes, by_now)
            left -= 1
        if not left:
            return


def action_of(line: ChangeRow) -> int:
    """The number of the action that a line belongs to: that of its first line."""
    return int(line.about.get("action", line.number))


def pair_of(line: ChangeRow) -> Pair:
    """The numbers of the two documents of a decision."""
    return line.document, int(line.about.get("other", 0))


def _person(line: ChangeRow) -> str:
    return str(line.about.get("by", ""))


def _lines(store: Store) -> Iterator[ChangeRow]:
    """The lines about decisions, the latest first."""
    before = _END
    while page := store.groups.decision_changes(before, _PAGE):
        yield from page
        before = page[-1].number


def _actions(store: Store) -> Iterator[list[ChangeRow]]:
    """The lines of each action of a person, ascending; the latest action first."""
    of_people = (line for line in _lines(store) if "action" in line.about)  # not those of a removed document
    for _, lines in groupby(of_people, action_of):
        yield list(lines)[::-1]


def _changed(store: Store, pair: Pair, therefore: str) -> ChangedMeanwhileError:
    """The error for a pair that someone has decided about since."""
    row = next(line for line in _lines(store) if pair_of(line) == pair)
    line = change_of(row)
    pair_named = f"{printable(line.document)} and {printable(line.of or '')}"
    if line.why == "removed":
        said = f"A document was removed meanwhile, at {line.at}: {pair_named}"
    else:
        what = line.verdict if line.what == "decided" else "verdict withdrawn"
        who = printable(line.by) or "Someone"
        said = f"{who} decided about the same meanwhile, at {line.at}: {what}: {pair_named}"
    return ChangedMeanwhileError(
        f"{said}. {therefore}",
        "",
        "Look at the present decision first",
    )


__all__ = ["Deciding", "actions", "decision_of", "require_unchanged"]
