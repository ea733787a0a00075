"""The decisions on a result as columns beside its index, and the fates of documents that follow from them."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.deduplication.results import ResultRecord
from neardup.deduplication.reviews import ReviewedResult, after_review, sizes_of
from neardup.io.decisions import NO_DECISIONS, ChosenRepresentative, DecisionState, Fate, HandedGroup, Id, Verdict
from neardup.review.desk.index import ResultIndex, old_heads
from neardup.review.desk.subjects import COLLECTION
from neardup.tables import Bools, Int64s

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

K = TypeVar("K")

reader: ContextVar[str] = ContextVar("reader", default="")
"""The person for whom a page is made, set in its thread: it lacks the first verdicts that wait for that person."""

APART = "it is in no group after the decisions"
ALONE = "it is in no group"


class VerdictIndex:
    """The verdicts on the members of each group.

    ``verdict`` (int8[members]) is a number in ``VERDICTS``, −1 without one; ``heads`` are the representatives,
    which people may have changed, and ``near`` the members to judge beside them. For each group ``count`` are the
    members with a verdict, and ``pairs`` all to judge. ``batch`` is the place in ``people`` of the person to whom
    the group is handed, −1 without one.
    """

    def __init__(self, index: ResultIndex) -> None:
        self._index = index
        self.verdict: NDArray[np.int8] = np.full(len(index.members), -1, np.int8)
        self.near, self.heads, self.kinds = index.near.copy(), index.heads.copy(), index.kinds.copy()
        self.pairs: Int64s = index.size - 1 - index.copies
        self.count: Int64s = np.zeros(len(index), np.int64)
        self.batch: NDArray[np.int32] = np.full(len(index), -1, np.int32)
        self.people: list[str] = []
        self.state: DecisionState = NO_DECISIONS
        self._hidden: dict[tuple[int, str], frozenset[int]] = {}

    def apply(self, state: DecisionState) -> bool:
        """Bring the columns to the present state, and return whether anything changed."""
        before, self.state = self.state, state
        if state.number == before.number:
            return False
        changed = list(_changed_keys(before.judgements, state.judgements))
        for group in _changed_keys(before.choices, state.choices):
            self._lead(group, state.choices.get(group))
        for a, b in changed:
            member = self._member(a, b)
            if member is not None:
                self._judge(member)
        for id in _changed_keys(before.batches, state.batches):
            self._hand(id, state.batches.get(id))
        return True

    def changed_since(self, before: DecisionState) -> tuple[int, int] | None:
        """Return a pair of documents whose verdict is another than before: a member and its representative."""
        for a, b in _changed_keys(before.judgements, self.state.judgements):
            member = self._member(a, b)
            if member is not None:
                return int(self._index.members[member]), int(self.heads[self._index.group[member]])
        return None

    def fate_of(self, id: Id) -> Fate | None:
        """Return the fate that people gave a document, or None."""
        fate = self.state.fates.get(id)
        return None if fate is None else fate.fate

    def waits(self, a: int, b: int) -> bool:
        """Return whether two documents wait for the second verdict of the reader, who sees no first one."""
        id = self._index.documents.id
        return self.state.waits(id(a), id(b), reader.get())

    def members_with(self, verdict: Verdict) -> Bools:
        """Return the members with a verdict, without those that wait for the second verdict of the reader."""
        members: Bools = self.verdict == VERDICTS.index(verdict)
        for pair in self.state.waiting.get(reader.get(), ()):
            if (place := self._member(*pair)) is not None:
                members[place] = False
        return members

    def hides(self, group: int) -> bool:
        """Return whether the fates in a group are hidden: a pair of it waits for the second verdict of the reader.

        The fate of any member may follow from the first verdict on another one, and so tell it.
        """
        about = self.state.number, reader.get()
        if about not in self._hidden:
            numbers = self._index.documents.number
            pairs = self.state.waiting.get(about[1], ())
            documents = [one for pair in pairs for one in map(numbers, pair) if one is not None]
            groups = self._index.group_of[documents].tolist()
            self._hidden = {about: frozenset(group for group in groups if group >= 0)}
        return group in self._hidden[about]

    @property
    def open(self) -> Bools:
        """Which groups have a member without a verdict."""
        undecided: Bools = self.count < self.pairs
        return undecided

    def _member(self, a: Id, b: Id) -> int | None:
        """Return the place of the member that a judgement of two ids concerns; None if it is no such pair."""
        index = self._index  # heads are found by id: one of the reference set may have that of a new document
        for member, head in ((a, b), (b, a)):
            document = index.documents.number(member)
            group = -1 if document is None else int(index.group_of[document])
            if document is not None and group >= 0 and index.documents.id(int(self.heads[group])) == head:
                place = int(index.member_of[document])
                if self.near[place]:
                    return place
        return None

    def _judge(self, member: int) -> None:
        index = self._index
        group = int(index.group[member])
        ids = index.documents.id(int(index.members[member])), index.documents.id(int(self.heads[group]))
        judged = self.state.verdict(*ids)
        now = -1 if judged is None else VERDICTS.index(judged.verdict)
        self.count[group] += int(now >= 0) - int(self.verdict[member] >= 0)
        self.verdict[member] = now

    def _hand(self, id: Id, handed: HandedGroup | None) -> None:
        """Put the group that ``id`` represents in the result into the batch of a person, or into none."""
        document = self._index.documents.number(id)
        group = -1 if document is None else int(self._index.group_of[document])
        if handed is not None and handed.person not in self.people:
            self.people.append(handed.person)
        if group >= 0:
            self.batch[group] = -1 if handed is None else self.people.index(handed.person)

    def _lead(self, id: Id, choice: ChosenRepresentative | None) -> None:
        """Put the representative that people chose before the group of ``id``, or that of the result again."""
        index = self._index
        document = index.documents.number(id)
        group = -1 if document is None else int(index.group_of[document])
        chosen = document if choice is None else index.documents.number(choice.id)
        if group < 0 or chosen is None or index.group_of[chosen] != group:
            return
        inside = index.slice(group)
        self.heads[group] = chosen
        texts = index.documents.identical[index.members[inside]]
        first = np.zeros(len(texts), np.bool_)
        first[np.unique(texts, return_index=True)[1]] = True
        self.near[inside] = first & (texts != index.documents.identical[chosen])
        self.kinds[inside] = index.pairs.kinds_of(index.members[inside], np.full(len(texts), chosen))
        self.verdict[inside], self.count[group] = -1, 0
        self.pairs[group] = int(self.near[inside].sum())
        for member in (inside.start + np.flatnonzero(self.near[inside])).tolist():
            self._judge(member)


def _changed_keys(before: Mapping[K, Any], after: Mapping[K, Any]) -> Iterator[K]:
    """Yield the keys with another value than before."""
    for key, value in after.items():
        if before.get(key) is not value:
            yield key
    for key in before:
        if key not in after:
            yield key


Row: TypeAlias = dict[str, Any] | None
"""A row of the table of groups; None for a document that is in no group."""


class Fates:
    """The row of each document in the table of groups, as the decisions leave it. Threads may ask at once."""

    def __init__(self, index: ResultIndex, verdicts: VerdictIndex) -> None:
        self._index, self._made = index, verdicts
        self._lock = threading.Lock()
        self._settled: dict[int, Row] = {}
        self._state: DecisionState | None = None
        self._decided: Bools = np.zeros(len(index.documents), np.bool_)
        self._links: list[tuple[int, int]] = []
        self._judged: dict[int, list[tuple[Id, Id]]] = {}

    def of(self, document: int) -> tuple[Row, str]:
        """Return the row of a document, and the reason for its fate."""
        with self._lock:
            row = self._row(document)
        if row is not None:
            return row, str(row["reason"])
        return None, ALONE if self._index.member_of[document] < 0 else APART

    def is_written(self, document: int, kept: bool) -> bool:
        """Return whether the run wrote its rows by this fate: otherwise it only follows."""
        run, stored = self._index.found.run, self._stored_row(document)
        if run.action != "dedup" or run.regrouped_from is not None:
            return run.action == COLLECTION
        return (stored is None or bool(stored["kept"])) == kept

    def follow(self, members: Int64s) -> bool:
        """Return whether the fates of the members of a group follow from decisions, not from the run alone."""
        with self._lock:
            if self._made.state is not self._state:
                self._begin(self._made.state)
            return self._index.found.run.action != COLLECTION and bool(self._decided[members].any())

    def _row(self, document: int) -> Row:
        state, action = self._made.state, self._index.found.run.action
        if state is not self._state:
            self._begin(state)
        if action == COLLECTION or (not state.number and action != "group"):
            return self._stored_row(document)
        if document not in self._settled:
            together = self._together(document)
            if self._decided[together].any() or action == "group":
                self._settle(together)
            else:
                self._settled[document] = self._stored_row(document)
        return self._settled[document]

    def _stored_row(self, document: int) -> Row:
        place = int(self._index.member_of[document])
        return self._index.table.slice(place, 1).to_pylist()[0] if place >= 0 else None

    def _begin(self, state: DecisionState) -> None:
        """Forget the rows that followed from other decisions, and find the documents of these."""
        self._state, self._settled = state, {}
        self._decided[:] = False
        self._judged, self._links = {}, []
        chosen = ((group, choice.id) for group, choice in state.choices.items())
        for pair in (*state.judgements, *chosen):
            a, b = self._numbers(pair)
            if a >= 0 and b >= 0:
                self._links.append((a, b))
                if pair in state.judgements:
                    self._judged.setdefault(a, []).append(pair)
        alone = [number for (number,) in (self._numbers((id,)) for id in state.fates) if number >= 0]
        self._decided[np.array([*alone, *(end for link in self._links for end in link)], np.int64)] = True

    def _numbers(self, ids: Iterable[Id]) -> tuple[int, ...]:
        return tuple(-1 if number is None else number for number in map(self._index.documents.number, ids))

    def _together(self, document: int) -> Int64s:
        """Return the documents (ascending) whose fates may depend on each other: groups, copies, and decisions."""
        index, first = self._index, self._index.documents.first
        inside = np.zeros(len(first), np.bool_)
        inside[document] = True
        links = np.array(self._links, np.int64).reshape(-1, 2)
        count, before = 1, 0
        while count > before:
            groups = np.zeros(len(index), np.bool_)
            groups[index.group_of[inside & (index.group_of >= 0)]] = True
            inside[index.members[groups[index.group]]] = True
            texts = np.zeros(len(first), np.bool_)
            texts[first[inside]] = True
            inside |= texts[first]
            inside[links[inside[links].any(axis=1)]] = True
            count, before = int(inside.sum()), count
        return np.flatnonzero(inside)

    def _settle(self, documents: Int64s) -> None:
        """Apply the decisions about some documents, and keep their rows."""
        part = self._part(documents)
        state = self._part_of_state(documents.tolist())
        groups = after_review(part, ReviewedResult("", state, sizes_of(part.ranks))).groups
        numbers = self._index.documents.numbers(groups["id"], old_heads(groups))
        self._settled.update(dict.fromkeys(documents.tolist()))
        self._settled.update(zip(numbers.tolist(), groups.to_pylist(), strict=True))

    def _part(self, documents: Int64s) -> ResultRecord:
        """The result as if it had only these documents."""
        index, result = self._index, self._index.found
        inside = np.zeros(len(index.documents), np.bool_)
        inside[documents] = True
        pairs = np.flatnonzero(inside[index.pairs.ends[0]] & inside[index.pairs.ends[1]])
        ranks = index.documents.table.take(pa.array(documents))
        return replace(
            result,
            pairs=result.pairs.take(pa.array(pairs)),
            groups=index.table.take(pa.array(np.flatnonzero(inside[index.members]))),
            copies=result.copies.take(pa.array(np.flatnonzero(inside[self._copies]))),
            ranks=ranks,
            not_judged=result.not_judged.slice(0, 0),
        )

    @cached_property
    def _copies(self) -> Int64s:
        """The documents in the table of exact copies, which are never in the reference set."""
        return self._index.documents.numbers(self._index.found.copies["id"])

    def _part_of_state(self, documents: list[int]) -> DecisionState:
        """The decisions about some documents, in which every decision has all its documents or none."""
        state, ids = self._made.state, [self._index.documents.id(document) for document in documents]
        judged = {pair: None for document in documents for pair in self._judged.get(document, ())}
        return DecisionState(
            state.number,
            {pair: state.judgements[pair] for pair in judged},
            {id: state.fates[id] for id in ids if id in state.fates},
            {id: state.choices[id] for id in ids if id in state.choices},
            {},
        )
