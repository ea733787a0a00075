"""Decisions of people about pairs of documents: stored in the log, applied to the groups, and undone."""

from collections.abc import Sequence

import numpy as np

from neardup.collection.groups.formation import About, Grouping, Pair, Ties
from neardup.collection.sets import Sets
from neardup.collection.store import Store
from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.io.decisions import BATCH, NOTE, TAG, TOGETHER, Action, Decided, InForce, Logged, Verdict


class Deciding:
    """Decisions about pairs, as one action, within a transaction."""

    def __init__(self, store: Store) -> None:
        self._store, self._log = store, store.decisions
        self._grouping = Grouping(store, Sets(store))

    def decide(
        self,
        pairs: Sequence[Pair],
        verdict: Verdict | None,
        by: str,
        note: str,
        *,
        seen: int | None = None,
        what: str = "",
    ) -> Action | None:
        """Decide about pairs in this order; None withdraws decisions. None if there was nothing to withdraw.

        ``what`` describes the action, by default with the first pair.

        Raises InputError for a base text, and if decisions contradict each other; ChangedMeanwhileError if other
        decisions about the pairs hold than after the action ``seen``; SecondReviewError for pairs that wait for
        the second verdict of ``by``.
        """
        self._log.require_second(map(_subject, pairs), by)  # before the error that names the first verdict
        if seen is not None:
            self._log.require_unchanged(map(_subject, pairs), seen)
        changing = [pair for pair in pairs if verdict is not None or self._log.in_force(_subject(pair))]
        if not changing:
            return None
        number = self._log.begin(by, what or self._sentence(changing, verdict), len(changing))
        for pair in changing:
            was = self._log.in_force(_subject(pair))
            decision = Decided(_subject(pair), verdict, note)
            self._log.decide(number, decision, self._grouping.threshold_of(pair))
            self._apply(pair, was, About("decided", by=by, action=number))
        return self._log.action(number)

    def note(
        self, pairs: Sequence[Pair], note: str, by: str, *, seen: int | None = None, what: str = ""
    ) -> Action:
        """Store a note on pairs, which changes no group; an empty one takes it away. Raises as :meth:`decide`."""
        rows = [Decided((NOTE, *pair), NOTE, note) for pair in dict.fromkeys(pairs)]
        return self.store(rows, by, what or f"{NOTE}: {counted(len(rows), 'pair')}", seen=seen)

    def store(self, rows: Sequence[Decided], by: str, what: str, *, seen: int | None) -> Action:
        """Store decisions that change no group, as one action. Raises as :meth:`decide`."""
        self._log.require_second([row.subject for row in rows], by)
        if seen is not None:
            self._log.require_unchanged([row.subject for row in rows], seen)
        number = self._log.begin(by, what, len(rows))
        for row in rows:
            self._log.decide(number, row)
        return self._log.action(number)

    def tag(
        self, documents: Sequence[int], tag: str, *, on: bool, by: str, what: str = "", seen: int | None = None
    ) -> Action | None:
        """Add a tag to documents, or take it away, as one action; None if that changes nothing.

        Raises ChangedMeanwhileError if the tag of a document changed since the action ``seen``.
        """
        return self.tag_all([(document, tag) for document in documents], on=on, by=by, what=what, seen=seen)

    def tag_all(
        self, tagged: Sequence[tuple[int, str]], *, on: bool, by: str, what: str = "", seen: int | None = None
    ) -> Action | None:
        """Add tags to documents or take them away, as :meth:`tag`."""
        subjects = [(f"{TAG}{tag}", document, 0) for document, tag in dict.fromkeys(tagged)]
        if seen is not None:
            self._log.require_unchanged(subjects, seen)
        subjects = [subject for subject in subjects if (self._log.in_force(subject) is None) == on]
        if not subjects:
            return None
        number = self._log.begin(by, what, len(subjects))
        for subject in subjects:
            self._log.decide(number, Decided(subject, "on" if on else None, ""))
        return self._log.action(number)

    def undo(self, by: str, action: int | None) -> Action | None:
        """Restore what held before an action, by default the last one of ``by`` in force; None if there is none.

        Raises ChangedMeanwhileError if a later action decided about the same again, and InputError for an action
        that does not exist, is undone already, or concerns a document that was removed.
        """
        undone = self._log.undoable(by, action)
        if undone is None:
            return None
        rows = self._log.rows_of_action(undone.number)
        self._require_there(rows, undone.number)
        number = self._log.begin_undo(undone, by)
        for row in reversed(rows):
            if row.kind != "pair":
                self._log.restore(number, [row])
                continue
            pair = row.a, row.b
            was = self._log.in_force(row.subject)
            self._log.restore(number, [row])
            made = self._apply(pair, was, About("decided", by=by, action=number, undoes=undone.number))
            apart = was is not None and was.value == "not alike"
            if apart and row.threshold and (made is None or made.value == "unsure"):
                self._grouping.together_again(*pair, row.threshold, by)
                self._grouping.finish()
        return self._log.action(number)

    def _apply(self, pair: Pair, was: InForce | None, about: About) -> InForce | None:
        """Check the decision that holds now, change the groups, and return it."""
        made = self._log.in_force(_subject(pair))
        if made is not None:
            if not self._store.base_texts().keys().isdisjoint(pair):
                raise InputError("Boilerplate is in no group", "Two documents that are not boilerplate")
            self._refuse_contradiction(pair, made.value)
        self._grouping.apply_decision(pair, was, made, about)
        self._grouping.finish()
        return made

    def _sentence(self, pairs: Sequence[Pair], verdict: Verdict | None) -> str:
        a, b = (printable(id[:80]) for id in self._ids(pairs[0]))
        more = f", and {counted(len(pairs) - 1, 'more pair')}" if len(pairs) > 1 else ""
        return f"{verdict or 'verdict withdrawn'}: {a} and {b}{more}"

    def _require_there(self, rows: Sequence[Logged], action: int) -> None:
        pairs = (row for row in rows if row.kind != BATCH)  # which is about a group
        named = {one for row in pairs for one in ((row.a,) if row.kind.startswith(TAG) else (row.a, row.b))}
        numbers = np.array(sorted(named), np.int64)
        if len(self._store.rows(numbers)) < len(numbers):
            raise InputError(
                f"Action {action:,} concerns a document that was removed", "An action whose documents are there"
            )

    def _refuse_contradiction(self, pair: Pair, verdict: Verdict) -> None:
        """Raise InputError if the other decisions imply the opposite."""
        a, b = pair
        groups = {row.group for row in self._store.groups.memberships(pair).values()}
        pool = [a, b, *(row.document for group in groups for row in self._store.groups.members(group))]
        ties = Ties(row for row in self._log.pairs_of(pool) if (row.a, row.b) != pair)
        if verdict == "not alike":
            chain = ties.chain(a, b)
            if chain:
                raise self._contradiction_error(verdict, pair, self._pairs_in_words("duplicates", chain))
        elif verdict in TOGETHER:
            apart = ties.between(ties.bundle(a), set(ties.bundle(b)))
            if apart:
                others = [*ties.chain(a, apart[0]), *ties.chain(apart[1], b)]
                known = self._pairs_in_words("duplicates", others) + self._pairs_in_words("not alike", [apart])
                raise self._contradiction_error(verdict, pair, known)

    def _contradiction_error(self, verdict: Verdict, pair: Pair, others: list[str]) -> InputError:
        listed = "; ".join(others[:5]) + (f"; and {len(others) - 5} more" if len(others) > 5 else "")
        stated = "not alike" if verdict == "not alike" else "duplicates"
        return InputError(
            f"{self._pairs_in_words(stated, [pair])[0]} contradicts earlier decisions: {listed}",
            "Documents that belong together cannot be not alike; nothing was stored",
            "Withdraw one of them first",
        )

    def _pairs_in_words(self, stated: str, pairs: list[Pair]) -> list[str]:
        """The pairs in words."""
        return [f"{a[:80]!r} and {b[:80]!r} are {stated}" for a, b in map(self._ids, pairs)]

    def _ids(self, pair: Pair) -> list[str]:
        return self._store.ids(np.array(pair, np.int64))


def _subject(pair: Pair) -> tuple[str, int, int]:
    return "pair", *pair
