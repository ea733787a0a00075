"""Form groups of documents, and change them: when documents arrive, are replaced or removed, after decisions.

Every change is logged with its cause. A group has at least two members; each reaches the threshold of the group
with the representative, or is bound by decisions to one that does. Where a change may have violated this, ``form``
forms groups anew in a fixed order: the representatives of the affected groups, oldest group first, then the other
documents by number. Each group formed keeps the id of the group that its leader was in, unless a group formed
before it took that id.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from neardup.collection.contract import ChangeRow, GroupRow, MemberRow
from neardup.collection.sets import Sets, reaches
from neardup.collection.store import Store
from neardup.io.decisions import SECOND, TOGETHER, Decided, InForce, Verdict

Pair = tuple[int, int]


class Ties:
    """The decisions about some documents.

    A *bundle* is a document with all documents that chains of "duplicate" and "keep both" connect to it.
    """

    def __init__(self, decisions: Iterable[InForce]) -> None:
        self._alike: dict[int, set[int]] = {}
        self._apart: dict[int, set[int]] = {}
        for row in decisions:
            if row.value == "unsure":
                continue
            linked = self._alike if row.value in TOGETHER else self._apart
            linked.setdefault(row.a, set()).add(row.b)
            linked.setdefault(row.b, set()).add(row.a)

    def bundle(self, document: int) -> list[int]:
        """The documents of a bundle, ascending."""
        return sorted(self._chains(document))

    def chain(self, a: int, b: int) -> list[Pair]:
        """The pairs of a shortest chain from a to b of documents that are alike; empty if there is none."""
        before = self._chains(a)
        if b not in before:
            return []
        path = []
        while b != a:
            path.append((before[b], b))
            b = before[b]
        return path[::-1]

    def not_alike(self, document: int) -> set[int]:
        """The documents that were decided not to be alike this one."""
        return self._apart.get(document, set())

    def apart(self, some: Iterable[int], others: set[int]) -> bool:
        """Whether a document of ``some`` is decided not to be alike one of ``others``."""
        return any(not others.isdisjoint(self.not_alike(document)) for document in some)

    def between(self, some: Iterable[int], others: set[int]) -> Pair | None:
        """A pair decided not to be alike, of one of ``some`` and one of ``others``; None if there is none."""
        pairs = [(a, b) for a in some for b in self.not_alike(a) & others]
        return min(pairs, default=None)

    def _chains(self, start: int) -> dict[int, int]:
        """Each document of the bundle, with its predecessor on the path from ``start``; breadth first."""
        before, ahead = {start: start}, [start]
        for document in ahead:
            for other in sorted(self._alike.get(document, ())):
                if other not in before:
                    before[other] = document
                    ahead.append(other)
        return before


Counted = Callable[[int, Sequence[int]], dict[int, int]]
"""(a document, others) → |A∩B| with each of the others."""
Reaches = Callable[[int, int, int], bool]
"""(a document, another, |A∩B|) → whether that is enough for a group around the first."""


@dataclass(frozen=True)
class Formed:
    """A group around ``leader``, or a single document.

    ``shared`` maps each document, the leader included, to the number of shingles that it shares with the leader.
    """

    leader: int
    shared: dict[int, int]

    @property
    def alone(self) -> bool:
        """Whether the leader is the only document."""
        return len(self.shared) == 1


def form(order: Sequence[int], ties: Ties, counted: Counted, reaches: Reaches) -> list[Formed]:
    """Form groups of the documents in ``order``, which must contain every bundle whole.

    The first document leads. Its group contains its own bundle. Each other bundle joins, in this order, if one of
    its documents reaches the leader and no decision separates it from a document already in the group. The
    remaining documents form groups in the same way.
    """
    left, made = list(order), []
    while left:
        leader, others = left[0], left[1:]
        shared = counted(leader, left)
        inside = set(ties.bundle(leader))
        seen = set(inside)
        for document in others:
            if document in seen:
                continue
            bundle = ties.bundle(document)
            seen.update(bundle)
            near = any(reaches(leader, one, shared[one]) for one in bundle)
            if near and not ties.apart(bundle, inside):
                inside.update(bundle)
        made.append(Formed(leader, {one: shared[one] for one in left if one in inside}))
        left = [one for one in left if one not in inside]
    return made


_NAMED = 1000


@dataclass(frozen=True)
class About:
    """The reason for a change: the cause, the document it concerns (a number; 0: none), counts, a decision.

    ``action`` is the number of the action that a decision belongs to, ``undoes`` the action that this one undoes.
    """

    why: str
    of: int = 0
    shared: int | None = None
    size: int | None = None
    of_size: int | None = None
    verdict: Verdict | None = None
    by: str = ""
    note: str = ""
    action: int | None = None
    undoes: int | None = None
    threshold: float | None = None

    def with_counts(self, shared: int, size: int, of_size: int) -> "About":
        """The same reason with counts."""
        return replace(self, shared=shared, size=size, of_size=of_size)

    def about(self, document: int) -> "About":
        """The same reason for one of several documents that were removed or replaced."""
        return replace(self, of=document) if self.why in ("removed", "replaced") and self.of else self


def now() -> str:
    """The time, UTC, to the second; only for display, nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(about: About, ids: dict[int, str], document: int) -> dict[str, Any]:
    of = ids.get(about.of) if about.of != document else None
    values = {**asdict(about), "document": ids.get(document, ""), "of": of}
    return {name: value for name, value in values.items() if value not in (None, "")}


THRESHOLD = 0.8
"""The threshold of a group that a decision creates: the default of ``neardup.find``."""

_TRIED = 100
"""At most this many documents that a new one repeats are tried for a group."""


class Grouping:
    """The groups of a store within a transaction; ``sets`` are the current shingles of documents."""

    def __init__(self, store: Store, sets: Sets) -> None:
        self._store, self._sets = store, sets
        self._tables, self._log = store.groups, store.decisions
        self._lines: list[tuple[str, int, int, About]] = []

    def prepare_removal(self, documents: Sequence[int]) -> None:
        """Prepare the groups for the removal of documents, and withdraw their decisions, notes and tags."""
        gone = set(documents)
        memberships = self._tables.memberships(documents)
        decisions = self._log.pairs_of(documents)
        others = [
            *self._log.tags_of(documents),
            *self._log.notes_of(documents),
            *self._log.notes_of(documents, SECOND),
        ]
        withdrawn = len(decisions) + len(others)
        action = self._log.begin(None, "verdict withdrawn", withdrawn) if withdrawn else 0
        for row in others:
            self._log.decide(action, Decided((row.kind, row.a, row.b), None, ""))
        for row in decisions:
            cause = About("removed", row.a if row.a in gone else row.b)
            self._note_decision("withdrawn", (row.a, row.b), _of_decision(cause, row))
            self._log.decide(action, Decided(("pair", row.a, row.b), None, ""))
        bound = _bound_documents(decisions)
        for group, members in _by_group(memberships).items():
            known = self._tables.rows([group])[group]
            cause = About("removed", known.representative if known.representative in gone else members[0])
            if known.representative in gone or not bound.isdisjoint(members):
                self._form_again([group], (), cause, gone=gone)
            else:
                self._leave(known, members, cause)

    def update_replaced(self, documents: Sequence[int]) -> None:
        """Update the groups of documents that have new texts. Decisions about them stay."""
        memberships = self._tables.memberships(documents)
        decisions = self._log.pairs_of(documents)
        new = set(documents)
        self._sets.forget(documents)
        for row in decisions:
            cause = About("replaced", row.a if row.a in new else row.b)
            self._note_decision("stays", (row.a, row.b), _of_decision(cause, row))
        bound = _bound_documents(decisions)
        for group, members in _by_group(memberships).items():
            known = self._tables.rows([group])[group]
            if known.representative in new or not bound.isdisjoint(members):
                first = known.representative if known.representative in new else members[0]
                self._form_again([group], (), About("replaced", first), changed=new)
            else:
                self._count_again(known, members)

    def link(self, document: int, repeated: Sequence[int], threshold: float, cause: About) -> int:
        """Put a document into a group of a document that it repeats; return the group, or 0.

        ``repeated`` is tried in order. A group accepts the document if the document reaches the representative and
        no decision separates it from a member. A repeated document without a group forms a new one with it, under
        the same conditions. A document that is already in a group stays there.
        """
        mine = self._tables.memberships([document]).get(document)
        if mine:
            return mine.group
        apart = Ties(self._log.pairs_of([document])).not_alike(document)
        groups = self._tables.memberships(repeated[:_TRIED])
        refused: set[int] = set()
        for other in repeated[:_TRIED]:
            known = groups.get(other)
            if known is None and other not in apart:
                made = self._pair(other, document, threshold, cause)
                if made:
                    return made
            if known and known.group not in refused:
                if self._takes(known.group, document, apart, cause):
                    return known.group
                refused.add(known.group)
        return 0

    def apply_decision(self, pair: Pair, was: InForce | None, made: InForce | None, about: About) -> None:
        """Apply the decision ``made`` in place of the one that ``was``; ``about`` names its action and person.

        It must not contradict any other decision.
        """
        row = made or was
        assert row is not None
        cause = replace(about, why="decided" if made else "withdrawn", verdict=row.value, note=row.note)
        self._note_decision(cause.why, pair, cause)
        cause = replace(cause, action=None, undoes=None)
        verdict: Verdict | None = None if made is None else made.value
        groups = {row.group for row in self._tables.memberships(pair).values()}
        if verdict in TOGETHER:
            self._form_again(sorted(groups), pair, cause)
        elif self._together(pair) and (verdict == "not alike" or (was is not None and was.value in TOGETHER)):
            self._form_again(sorted(groups), (), cause)

    def together_again(self, a: int, b: int, threshold: float, by: str) -> None:
        """Put two documents into one group again that a decision had taken apart, if one of them is in none."""
        groups = self._tables.memberships([a, b])
        one, other = (a, b) if b in groups else (b, a)
        if one not in groups:
            sizes = self._sets.sizes([one, other])
            [shared] = self._sets.shared_counts(one, [other]).tolist()
            cause = About("withdrawn", verdict="not alike", by=by).with_counts(shared, sizes[one], sizes[other])
            self.link(one, [other], threshold, replace(cause, of=other))

    def at_threshold(self, row: GroupRow, threshold: float, cause: About) -> list[int]:
        """Bring a group to another threshold; return the numbers of the groups that it is now, at most."""
        self._tables.save(replace(row, threshold=threshold))
        self._note("threshold", row.number, row.representative, replace(cause, threshold=threshold))
        if threshold < row.threshold:
            return [row.number]
        members = self._tables.members(row.number)
        documents = [one.document for one in members]
        if not _bound_documents(self._log.pairs_of(documents)).isdisjoint(documents):
            return self.again([row.number], cause)
        sizes = self._sets.sizes(documents)
        leaving = [
            one.document
            for one in members
            if not reaches(one.shared, sizes[one.document], sizes[row.representative], threshold)
        ]
        self._leave(row, leaving, cause)
        return [row.number]

    def again(self, groups: Sequence[int], cause: About) -> list[int]:
        """Form groups again together, the representatives first; return the numbers of the resulting groups."""
        return self._form_again(groups, (), cause)

    def finish(self) -> None:
        """Write the lines of the log. It names documents, so call this before any are removed."""
        at, named = (
            now(),
            sorted({number for *_, document, about in self._lines for number in (document, about.of)}),
        )
        ids: dict[int, str] = {}
        for begin in range(0, len(named), _NAMED):
            rows = self._store.rows(np.array(named[begin : begin + _NAMED], np.int64))
            ids.update((row.number, row.id) for row in rows)
        self._tables.log(
            ChangeRow(0, at, what, group, document, _plain(about, ids, document))
            for what, group, document, about in self._lines
        )
        self._lines = []

    def _note(self, what: str, group: int, document: int, about: About) -> None:
        """Add a line about a group to the log."""
        self._lines.append((what, group, document, about))

    def _note_decision(self, what: str, pair: Pair, about: About) -> None:
        """Add a line about the decision on a pair."""
        self._lines.append((what, 0, pair[0], replace(about, of=pair[1])))

    def threshold_of(self, pair: Pair) -> float | None:
        """The threshold of the group that both documents are in; None if they are not in one group."""
        if not self._together(pair):
            return None
        group = self._tables.memberships(pair)[pair[0]].group
        return self._tables.rows([group])[group].threshold

    def _together(self, pair: Sequence[int]) -> bool:
        found = self._tables.memberships(pair)
        return len(found) == 2 and found[pair[0]].group == found[pair[1]].group

    def _pair(self, first: int, second: int, threshold: float, cause: About) -> int:
        """Create a group of two, represented by the first; return 0 if a new text has made them unlike."""
        sizes = self._sets.sizes([first, second])
        [shared] = self._sets.shared_counts(first, [second]).tolist()
        if not reaches(shared, sizes[first], sizes[second], threshold):
            return 0
        group = self._tables.save(GroupRow(0, first, threshold))
        self._tables.join([MemberRow(first, group, sizes[first]), MemberRow(second, group, shared)])
        made = replace(cause, why="repeated", of=second, size=cause.of_size, of_size=cause.size)
        self._note("made", group, first, made)
        self._note("joined", group, second, cause)
        return group

    def _takes(self, group: int, document: int, apart: set[int], cause: About) -> bool:
        """Add a document to a group, and return whether the group accepts it."""
        row = self._tables.rows([group])[group]
        sizes = self._sets.sizes([document, row.representative])
        [shared] = self._sets.shared_counts(row.representative, [document]).tolist()
        if not reaches(shared, sizes[document], sizes[row.representative], row.threshold):
            return False
        if any(known.group == group for known in self._tables.memberships(sorted(apart)).values()):
            return False
        self._tables.join([MemberRow(document, group, shared)])
        self._note("joined", group, document, cause)
        return True

    def _count_again(self, row: GroupRow, documents: list[int]) -> None:
        """Recount unbound members that have new texts; they stay if they still reach the representative."""
        sizes = self._sets.sizes([row.representative, *documents])
        size = sizes[row.representative]
        counts = self._sets.shared_counts(row.representative, documents).tolist()
        staying = {
            document: shared
            for document, shared in zip(documents, counts, strict=True)
            if reaches(shared, sizes[document], size, row.threshold)
        }
        leaving = [document for document in documents if document not in staying]
        if len(leaving) > 1:  # they may form a group of their own
            self._form_again([row.number], (), About("replaced", leaving[0]), changed=set(documents))
            return
        for document, shared in staying.items():
            cause = About("replaced", document).with_counts(shared, sizes[document], size)
            self._tables.join([MemberRow(document, row.number, shared)])
            self._note("changed", row.number, document, cause)
        if leaving:
            self._leave(row, leaving, About("replaced", leaving[0]))

    def _leave(self, row: GroupRow, documents: Sequence[int], cause: About) -> None:
        """Take unbound members out of a group; a group with one remaining member ends."""
        for document in documents:
            self._note("left", row.number, document, cause.about(document))
        self._tables.leave(documents)
        rest = self._tables.members(row.number, limit=2)
        if len(rest) == 1:
            self._note("left", row.number, rest[0].document, cause)
            self._tables.leave([rest[0].document])
        if len(rest) < 2:
            self._note("ended", row.number, row.representative, cause)
            self._tables.end(row.number)

    def _form_again(
        self,
        groups: Sequence[int],
        more: Iterable[int],
        cause: About,
        *,
        gone: set[int] | None = None,
        changed: set[int] | None = None,
    ) -> list[int]:
        """Form groups anew from their members, without the ``gone`` and with ``more``; return their numbers."""
        gone, changed = gone or set(), changed or set()
        rows = self._tables.rows(groups)
        before = {known.document: known for group in groups for known in self._tables.members(group)}
        staying = sorted((before.keys() | set(more)) - gone)
        heads = [rows[group].representative for group in sorted(groups)]
        heads = [head for head in heads if head not in gone]
        order = [*heads, *(one for one in staying if one not in heads)]
        sizes = self._sets.sizes(order)

        def threshold(leader: int) -> float:
            return rows[before[leader].group].threshold if leader in before else THRESHOLD

        def shared_counts(leader: int, others: Sequence[int]) -> dict[int, int]:
            known = before.get(leader)
            counts = {leader: sizes[leader]}
            if known and rows[known.group].representative == leader and leader not in changed:
                counts |= {
                    one: before[one].shared
                    for one in others
                    if one in before and one not in changed and before[one].group == known.group
                }
            unknown = [one for one in others if one not in counts]
            return counts | dict(zip(unknown, self._sets.shared_counts(leader, unknown).tolist(), strict=True))

        def near(leader: int, other: int, shared: int) -> bool:
            return reaches(shared, sizes[leader], sizes[other], threshold(leader))

        formed = form(order, Ties(self._log.pairs_of(order)), shared_counts, near)
        named = self._groups_by_id([made for made in formed if not made.alone], rows, before, threshold)
        self._apply(named, Before(rows, before, sizes), cause, gone, changed)
        return list(named)

    def _groups_by_id(
        self,
        formed: Sequence[Formed],
        rows: Mapping[int, GroupRow],
        before: Mapping[int, MemberRow],
        threshold: Callable[[int], float],
    ) -> dict[int, Formed]:
        """The groups by their ids: the ids of old groups, or of new ones that are stored here."""
        named: dict[int, Formed] = {}
        for made in formed:
            old = before[made.leader].group if made.leader in before else 0
            if old in named or not old:
                old = self._tables.save(GroupRow(0, made.leader, threshold(made.leader)))
            elif rows[old].representative != made.leader:
                self._tables.save(replace(rows[old], representative=made.leader))
            named[old] = made
        return named

    def _apply(
        self, named: Mapping[int, Formed], old: "Before", cause: About, gone: set[int], changed: set[int]
    ) -> None:
        """Store and log the differences from before."""
        now = {one: group for group, made in named.items() for one in made.shared}
        leaving = [one for one, known in old.members.items() if now.get(one) != known.group]
        for one in leaving:
            own = About("removed", one) if one in gone else cause
            self._note("left", old.members[one].group, one, own)
        self._tables.leave([one for one in leaving if one not in now])
        for group, row in old.groups.items():
            if group not in named:
                self._note("ended", group, row.representative, cause)
                self._tables.end(group)
        for group, made in named.items():
            size = old.sizes[made.leader]
            if group not in old.groups:
                self._note("made", group, made.leader, cause)
            elif old.groups[group].representative != made.leader:
                self._note("leads", group, made.leader, cause)
            for one, shared in made.shared.items():
                known = old.members.get(one)
                counts = cause.with_counts(shared, old.sizes[one], size)
                if known is None or known.group != group:
                    if one != made.leader or group in old.groups:
                        self._note("joined", group, one, counts)
                elif one in changed:
                    self._note("changed", group, one, counts)
            self._tables.join([MemberRow(one, group, shared) for one, shared in made.shared.items()])


@dataclass(frozen=True)
class Before:
    """Groups, members and the sizes of documents before a change."""

    groups: Mapping[int, GroupRow]
    members: Mapping[int, MemberRow]
    sizes: Mapping[int, int]


def _of_decision(cause: About, row: InForce) -> About:
    """A cause with the decision that it concerns."""
    return replace(cause, verdict=row.value, by=row.by, note=row.note)


def _bound_documents(decisions: Iterable[InForce]) -> set[int]:
    """The documents that decisions hold together with others."""
    return {document for row in decisions if row.value in TOGETHER for document in (row.a, row.b)}


def _by_group(memberships: Mapping[int, MemberRow]) -> dict[int, list[int]]:
    """The documents by their groups, both ascending."""
    found: dict[int, list[int]] = {}
    for document in sorted(memberships):
        found.setdefault(memberships[document].group, []).append(document)
    return dict(sorted(found.items()))
