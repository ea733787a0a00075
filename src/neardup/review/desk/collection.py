"""``CollectionDesk``: the review of a collection, whose decisions take effect at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NoReturn

import numpy as np

from neardup.collection import Collection
from neardup.collection.groups.records import StoredGroup, StoredMember
from neardup.display import printable, similarity
from neardup.errors import InputError
from neardup.io.decisions.records import Action, Fate
from neardup.review.desk.collected import Collected
from neardup.review.desk.collection_fields import NAMES, CollectionFields
from neardup.review.desk.collection_lines import CollectionLines
from neardup.review.desk.filters import filtered
from neardup.review.desk.lists import page, ranked
from neardup.review.desk.views import neighbours
from neardup.review.source import (
    ORDERS,
    QUEUES,
    Acted,
    Decide,
    GroupList,
    GroupView,
    Key,
    KindSample,
    MemberLine,
    PairList,
    PairView,
    Question,
    Queue,
    Reviewed,
    ThresholdLine,
    ThresholdView,
)
from neardup.tables import Bools, Int64s


class CollectionDesk:
    """The groups and pairs of a collection: a ``ReviewSource``.

    A collection stores the verdicts "duplicate" and "not alike", which regroup it at once; it has no other
    verdicts, tags or fates, and refuses them in words.
    """

    def __init__(self, collection: Collection, *, title: str = "") -> None:
        self._collection, self._title = collection, title or collection.path.name
        self._collected = Collected(collection)
        self._fields = CollectionFields(collection, self._collected)
        self._lines = CollectionLines(collection, self._collected)
        self._lock = threading.RLock()

    def about(self) -> Reviewed:
        """Return the name, the size and the settings of the collection."""
        info = self._collection.info()
        threshold = self._threshold()
        facts = tuple((name, f"{info[name]:,}") for name in ("documents", "groups"))
        return Reviewed(
            self._title,
            "resemblance",
            threshold,
            True,
            info["groups"],
            info["documents"],
            facts,
            NAMES,
            marks=False,
            exports=("groups", "decisions"),
            forms=("jsonl",),
        )

    def groups(self, question: Question) -> GroupList:
        """Return a page of the list of groups."""
        with self._lock:
            listed, keys, meaning = self._listed(question)
            places = np.flatnonzero(listed)
            chosen, next = page(keys[places], question.after, question.limit, f"{question.order} {meaning}")
            groups = list(self._collected.groups.values())
            lines = tuple(self._lines.group(groups[place]) for place in places[chosen].tolist())
            return GroupList(lines, len(places), next, meaning)

    def group(self, key: Key, question: Question | None = None) -> GroupView:
        """Return a group; ``question`` is the list the reader came from."""
        with self._lock:
            listed, keys, _ = self._listed(question or Question())
            numbers = list(self._collected.groups)
            group = self._group(key)
            around = neighbours(keys, listed, numbers.index(key))
            before, after = (None if place is None else numbers[place] for place in around)
            members = self._lines.members(group)
            seen = self._collected.action
            return GroupView(
                key,
                group.representative,
                members,
                (),
                (),
                _weakest(members),
                before,
                after,
                seen,
            )

    def pair(self, a: Key, b: Key, queue: Queue | None = None, **how: Any) -> PairView:
        """Return two documents side by side; ``how`` are the keywords of ``compare``."""
        with self._lock:
            self._collected.refresh()
            one, other = self._lines.id(a), self._lines.id(b)
            found = self._collection.group_of(one)
            known = {} if found is None else {member.id: member for member in found.members}
            group = found if other in known else None
            near = [] if group is None else self._collected.near(group)
            head = "" if group is None else group.representative
            around = _around(near, other if head == one else one) if head in (one, other) else (None, None, "")
            before, after = (None if id is None else self._lines.keys(id, head) for id in around[:2])
            seen_from = ((one, other), (other, one))
            # the counts of a member are those with the representative
            counts = known.get(other if head == one else one) if head in (one, other) else None
            first, second = (
                self._lines.member(id, by, counts if id != head else _turned(counts), led=id == head)
                for id, by in seen_from
            )
            decision = self._collected.of(one, other)
            verdict, note = (None, "") if decision is None else (decision.verdict, decision.note)
            seen = self._collected.action
        comparison = self._collection.compare(one, other, **how)
        key = None if group is None else group.id
        return PairView(first, second, key, comparison, verdict, note, before, after, around[2], seen)

    def queue(self, queue: Queue, after: str = "", limit: int = 50) -> PairList:
        """Return a page of a queue; a collection has pairs without a verdict, and pairs near its threshold."""
        if queue not in QUEUES:
            raise InputError(f"There is no queue {queue!r}", ", ".join(QUEUES))
        with self._lock:
            self._collected.refresh()
            pairs = self._near_pairs() if queue in ("undecided", "threshold") else []
            if queue == "undecided":
                pairs = [pair for pair in pairs if self._collected.of(*pair[:2]) is None]
            values = np.array([value for _, _, value in pairs])
            keys = ranked(values) if queue == "threshold" else np.arange(len(pairs))
            chosen, next = page(keys, after, limit, f"queue {queue}")
            why = "without a verdict" if queue == "undecided" else "close to the threshold"
            lines = tuple(self._lines.pair(pairs[place], why) for place in chosen.tolist())
            return PairList(lines, len(pairs), next)

    def threshold(self, value: float | None = None) -> ThresholdView:
        """Return the histogram of the similarities to representatives, and pairs around ``value``."""
        with self._lock:
            self._collected.refresh()
            least = self._threshold()
            value = least if value is None else value
            pairs = sorted(self._near_pairs(), key=lambda pair: abs(pair[2] - value))[:10]
            counts, edges = np.histogram([pair[2] for pair in self._near_pairs()], 20, (0.0, 1.0))
            sizes = self._collected.columns.size
            line = ThresholdLine(least, len(sizes), int(sizes.sum()), int(sizes.sum()) - len(sizes))
            around = tuple(self._lines.pair(pair, "") for pair in pairs)
            known = [pair.verdict for pair in around if pair.verdict is not None]
            note = "A collection keeps no pairs besides those with representatives: other thresholds are not known"
            edge = tuple(edges.tolist())
            alike = known.count("duplicate")
            return ThresholdView(edge, tuple(counts.tolist()), (line,), len(known), alike, None, around, (note,))

    def sample_of_kind(self, kind: str, filter: str = "") -> KindSample:
        """Raise InputError: a collection does not store kinds of difference."""
        self._refuse("Kinds of difference are not stored in a collection")

    def decide(self, decision: Decide) -> Acted:
        """Store a decision; one about a group stores a verdict on each member and the representative."""
        if decision.asked == "kind":
            self._refuse("Kinds of difference are not stored in a collection")
        with self._lock:
            self._collected.refresh()
            pairs = self._pairs_of(decision)
            group = self._collection.group_of(pairs[0][1])
            action = self._collection.decide_all(
                pairs, decision.verdict, by=decision.by, note=decision.note, seen=decision.seen
            )
            if action is None:
                raise InputError("There is no verdict to withdraw", "A pair with a verdict")
            self._collected.refresh()
            return Acted(action, self._next(pairs[-1][0], None if group is None else group.id))

    def represent(self, group: Key, document: Key, by: str, seen: int) -> Acted:
        """Raise InputError: a collection chooses representatives itself."""
        self._refuse("A collection chooses the representative of a group itself")

    def keep(self, document: Key, fate: Fate | None, by: str, seen: int) -> Acted:
        """Raise InputError: nothing is removed from a collection by its groups."""
        self._refuse("A collection keeps all its documents, and stores no fate of one")

    def tag(self, document: Key, tag: str, on: bool, by: str, seen: int) -> Acted:
        """Raise InputError: a collection has no tags."""
        self._refuse("A collection stores no tags")

    def undo(self, by: str, action: int | None = None) -> Acted | None:
        """Undo an action, or the last decision of this reviewer that is in force; None if there is none."""
        with self._lock:
            undone = self._collection.undo(by, action)
            self._collected.refresh()
            return None if undone is None else Acted(undone)

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return the actions in the change log, the latest first."""
        return self._collection.actions(before, limit)

    def export(self, what: Literal["groups", "decisions", "tags"], form: str) -> Iterator[bytes]:
        """Yield the groups or decisions as jsonl. Raises InputError for anything else."""
        if what == "tags" or form != "jsonl":
            self._refuse("A collection exports groups and decisions as jsonl only")
        with self._lock:
            self._collected.refresh()
            rows = (
                [
                    {"group": group.id, "id": member.id, "representative": member.id == group.representative}
                    for group in self._collected.groups.values()
                    for member in group.members
                ]
                if what == "groups"
                else [one.as_dict() for one in self._collected.decisions.values()]
            )
        return (json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)

    def _listed(self, question: Question) -> tuple[Bools, Int64s, str]:
        """Return which groups a filter finds, the keys of the order, and the canonical filter."""
        self._collected.refresh()
        fields, groups = self._fields, list(self._collected.groups.values())
        listed, meaning = filtered(question.filter, len(groups), fields, fields.having, fields.having)
        if question.order not in ORDERS:
            raise InputError(f"There is no order {question.order!r}", ", ".join(ORDERS))
        if question.order == "similarity":
            return listed, ranked(self._collected.columns.lowest), meaning
        if question.order == "size":
            return listed, ranked(-self._collected.columns.size), meaning
        keys = np.array([group.id for group in groups], np.int64)  # ids grow, so a page never shifts
        if question.order == "undecided":
            columns = self._collected.columns
            keys += np.where(columns.decided < columns.pairs, 0, 1 << 53)
        return listed, keys, meaning

    def _group(self, key: Key) -> StoredGroup:
        group = self._collected.groups.get(key)
        if group is None:
            raise InputError(f"There is no group {key} in this collection", "The key of a group on a page")
        return group

    def _near_pairs(self) -> list[tuple[str, str, float]]:
        """Return all listed members with the representatives of their groups, and the resemblance."""
        return [
            (member.id, group.representative, member.resemblance)
            for group in self._collected.groups.values()
            for member in group.members
            if member.id != group.representative
        ]

    def _pairs_of(self, decision: Decide) -> list[tuple[str, str]]:
        """Return the pairs that a decision concerns. Raises InputError for none."""
        if decision.asked == "pair":
            if decision.pair is None or decision.pair[0] == decision.pair[1]:
                raise InputError("The decision names no pair", "The keys of two documents")
            return [(self._lines.id(decision.pair[0]), self._lines.id(decision.pair[1]))]
        if decision.group is None:
            raise InputError("The decision names no group", "The key of a group")
        group = self._group(decision.group)
        least = decision.above if decision.asked == "above" else 0.0
        if least is None:
            raise InputError("The decision names no similarity", "A number from 0 to 1")
        near = [m for m in group.members if m.id != group.representative and m.resemblance >= least]
        if not near:
            raise InputError("There is no member to judge in the group", "A group with such members")
        return [(member.id, group.representative) for member in near]

    def _next(self, judged: str, number: int | None) -> tuple[Key, Key] | None:
        """Return the next member to judge: in its group, if that is still there, then in any group after it."""
        groups = self._collected.groups
        for group in sorted(groups.values(), key=lambda group: (number is None or group.id < number, group.id)):
            head = group.representative
            for id in self._collected.near(group):
                if id != judged and self._collected.of(id, head) is None:
                    return self._lines.keys(id, head)
        return None

    def _threshold(self) -> float:
        """Return the threshold of the latest group; 0 without groups."""
        groups = self._collected.groups or {}
        return groups[max(groups)].threshold if groups else 0.0

    def _refuse(self, given: str) -> NoReturn:
        allowed = "Verdicts on pairs, groups, and members above a similarity"
        raise InputError(given, allowed, "Review the result of a run for everything else")


def _around(near: list[str], member: str) -> tuple[str | None, str | None, str]:
    """Return the members before and after one of a group, and its place in words."""
    at = near.index(member)
    before, after = near[at - 1] if at else None, near[at + 1] if at + 1 < len(near) else None
    return before, after, f"pair {at + 1:,} of {len(near):,}"


def _turned(counts: StoredMember | None) -> StoredMember | None:
    """Return the counts of a member with its representative, seen from the representative."""
    return None if counts is None else replace(counts, size=counts.of_size, of_size=counts.size)


def _weakest(members: tuple[MemberLine, ...]) -> str:
    known = [(member.similarity, str(member.id)) for member in members if member.similarity is not None]
    if not known:
        return "The group has no other member."
    value, id = min(known)
    head = printable(members[0].id)
    return f"The weakest link is {printable(id)}, with resemblance {similarity(value)} to {head}."
