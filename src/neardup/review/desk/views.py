"""The pages of a group and a pair, and the lists of groups and pairs: their orders, queues and places."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Literal
from zlib import crc32

import numpy as np

from neardup.collection.answers import SharedPassage, SharedPassages
from neardup.comparison.compare import Comparison
from neardup.display import counted, distinct, number, printable, similarity, without_common
from neardup.errors import InputError
from neardup.io.decisions import Id, pair_of
from neardup.review import source
from neardup.review.alike import EVERY_MEMBER, AlikeCounts, AlikeFilter, AlikeLine, AlikePlace
from neardup.review.desk.differences import MemberFacts, alike_lines
from neardup.review.desk.index import ResultIndex, StoredPairs
from neardup.review.desk.lines import Lines
from neardup.review.desk.metadata import Subjects
from neardup.review.desk.texts import Budget
from neardup.review.desk.verdicts import VerdictIndex
from neardup.tables import Bools, Int64s

TABLE_MEMBERS = 30
MOST_MEMBERS = 300
"""Members that the page of a group lists."""
MOST_COMPARED = 1000
"""Members whose differences the page of a group lists."""
OUTSIDE = 10
FINDS, FIND_SECONDS = 12, 0.03
"""Most groups and most documents that words of names find, and the time for reading subjects of mails."""
GROUPS_BEFORE, GROUPS_BESIDE, MEMBERS_BESIDE, NAME_BESIDE = 5, 30, 60, 40
"""In the panes beside a pair: groups before its own, all groups, members, and columns of a name."""

_LOOKED_AHEAD = 1000


def group_view(
    lines: Lines,
    group: int,
    before: source.Key | None,
    after: source.Key | None,
    chosen: AlikeFilter = EVERY_MEMBER,
) -> source.GroupView:
    """Return the page of a group, with lines of the ``chosen`` members."""
    index, verdicts = lines.index, lines.made
    head, budget = int(verdicts.heads[group]), lines.reader.budget()
    inside = index.slice(group)
    documents = index.members[inside]
    listed = in_order(lines, group)[:MOST_MEMBERS]
    near = outside_of(lines, listed)
    lines.read_ahead([*listed, *(other for other, _, _ in near)], budget)
    steps = lines.steps(versions_of(lines, group)[:MOST_MEMBERS], budget)
    members = tuple(replace(lines.member(document, head, budget), step=steps.get(document)) for document in listed)
    alike, counts = alike_in(lines, group, budget, chosen)
    count = len(documents)
    note = f"The first {number(len(listed))} of {number(count)} members, exact copies last."
    return source.GroupView(
        index.key(group),
        index.documents.id(int(index.heads[group])),
        members,
        _outside(lines, near, budget),
        _table(lines, listed, budget),
        _weakest(lines, group, members),
        before,
        after,
        verdicts.state.number,
        count if count > len(listed) else 0,
        (note,) if count > len(listed) else (),
        budget.short,
        order_of(lines, group),
        alike,
        counts,
        int(verdicts.pairs[group]),
    )


def alike_in(
    lines: Lines, group: int, budget: Budget, chosen: AlikeFilter = EVERY_MEMBER
) -> tuple[tuple[AlikeLine, ...], AlikeCounts]:
    """Return the members to judge by what differs, of a large group the most similar ones; and their counts."""
    head = int(lines.made.heads[group])
    members, index = near_of(lines, group)[:MOST_COMPARED], lines.index
    waiting, copies, identical = lines.made.verdict < 0, copies_in(lines, group), index.documents.identical
    facts = {
        member: MemberFacts(
            int(index.documents.rows[member]),
            index.documents.id(member),
            bool(waiting[index.member_of[member]]),
            copies.get(int(identical[member]), 0),
            lines.alike.beside(head, member),
        )
        for member in members
    }
    return alike_lines(lines.alike.of(head, members, budget), facts, chosen)


def copies_in(lines: Lines, group: int) -> dict[int, int]:
    """Return how many exact copies each member of a group has there, by the number of its characters."""
    index, inside = lines.index, lines.index.slice(group)
    others = ~lines.made.near[inside] & (index.members[inside] != lines.made.heads[group])
    copied, counts = np.unique(index.documents.identical[index.members[inside][others]], return_counts=True)
    return dict(zip(copied.tolist(), counts.tolist(), strict=True))


def in_order(lines: Lines, group: int) -> list[int]:
    """Return the members: the versions, then exact copies."""
    index, verdicts, head = lines.index, lines.made, int(lines.made.heads[group])
    inside = index.slice(group)
    documents, near = index.members[inside], verdicts.near[inside]
    return [*versions_of(lines, group), *documents[~near & (documents != head)].tolist()]


def near_of(lines: Lines, group: int) -> list[int]:
    """Return the members to judge: the versions without the representative."""
    head = int(lines.made.heads[group])
    return [member for member in versions_of(lines, group) if member != head]


def versions_of(lines: Lines, group: int) -> list[int]:
    """Return the representative and the members to judge in the order of ``Lines.in_time``.

    Those of a large group are the representative, then the most similar members.
    """
    index, inside = lines.index, lines.index.slice(group)
    near = lines.made.near[inside]
    values = np.nan_to_num(index.similarity[inside][near], nan=-1.0)
    members: list[int] = index.members[inside][near][np.argsort(-values, kind="stable")].tolist()
    members.insert(0, int(lines.made.heads[group]))
    return lines.in_time(members)[0] if len(members) <= MOST_MEMBERS else members


def order_of(lines: Lines, group: int) -> str:
    """Return what the order of the members to judge comes from, in words."""
    inside = lines.index.slice(group)
    members = [int(lines.made.heads[group]), *lines.index.members[inside][lines.made.near[inside]].tolist()]
    return lines.in_time(members)[1] if len(members) <= MOST_MEMBERS else "by similarity"


def finds(lines: Lines, words: Sequence[str], subjects: Subjects) -> source.Finds:
    """Return the first documents of groups whose ids have all words, and the first groups.

    A group has the words in the id of such a document, or in the id and the subject of its representative: its
    title and its folder are in these. Groups with the words in the ids of all members or in a subject come first.
    """
    index, rows, heads = lines.index, lines.index.documents.rows, lines.made.heads
    waiting = subjects.read(heads, Budget(FIND_SECONDS)) if words and lines.have_subjects else 0
    fits, titled = np.full(len(rows), bool(words)), np.full(len(heads), bool(words))
    for word in words:
        own = index.documents.with_word(word)
        fits &= own
        lacking = np.flatnonzero(titled & ~own[heads])
        titled[lacking] = subjects.with_word(heads[lacking], word)
    documents = np.flatnonzero(fits & (index.group_of >= 0))
    count = np.bincount(index.group_of[documents], minlength=len(heads))
    first = np.where(titled, heads, len(rows))
    np.minimum.at(first, index.group_of[documents], documents)
    whole = (count == index.size) | (titled & ~fits[heads])
    groups = np.flatnonzero(titled | (count > 0))
    order = groups[np.lexsort((first[groups], ~whole[groups]))]
    shown = []
    for document in documents[:FINDS].tolist():
        group = int(index.group_of[document])
        head = int(heads[group])
        pair = None if document == head else (int(rows[document]), int(rows[head]))
        shown.append(source.DocumentFind(index.documents.id(document), index.key(group), pair))
    briefs = lines.briefs(order[:FINDS].tolist())
    return source.Finds(briefs, tuple(shown), len(documents), len(groups), waiting)


def panes_view(lines: Lines, keys: Int64s, listed: Bools, group: int, budget: Budget) -> source.Panes:
    """Return the panes beside a group or a pair; ``keys`` order the ``listed`` groups."""
    places = np.flatnonzero(listed)
    order = places[np.argsort(keys[places])]
    before = int((keys[order] < keys[group]).sum())
    begin = max(0, min(before - GROUPS_BEFORE, len(order) - GROUPS_BESIDE))
    members, head = in_order(lines, group)[:MEMBERS_BESIDE], int(lines.made.heads[group])
    members += [head] if head not in members else []
    folder, names = without_common(*(str(lines.index.documents.id(member)) for member in members))
    short = distinct(names, NAME_BESIDE)
    steps = lines.steps(versions_of(lines, group)[:MEMBERS_BESIDE], budget)
    named = zip(members, short, strict=True)
    return source.Panes(
        lines.index.key(group),
        int(lines.index.documents.rows[head]),
        lines.briefs(order[begin : begin + GROUPS_BESIDE].tolist()),
        len(order),
        tuple(lines.item(member, name, head, steps.get(member)) for member, name in named),
        folder,
    )


def _table(lines: Lines, documents: list[int], budget: Budget) -> tuple[tuple[float | None, ...], ...]:
    """Return the similarities of all members with each other; () for more members than a table shows.

    Those that are not stored are counted on the texts, while there is time.
    """
    if len(documents) > TABLE_MEMBERS:
        return ()
    return tuple(tuple(lines.between(a, b, budget) for b in documents) for a in documents)


def _weakest(lines: Lines, group: int, members: tuple[source.MemberLine, ...]) -> str:
    """Describe the member that resembles the representative least, of all or of those listed."""
    index, verdicts = lines.index, lines.made
    inside = index.slice(group)
    places = inside.start + np.flatnonzero(verdicts.near[inside])
    if not len(places):
        return "All members are exact copies of the representative."
    listed = {member.key: member.similarity for member in members}
    keys = index.documents.rows[index.members[places]].tolist()
    stored = (
        index.similarity[places].tolist() if verdicts.heads[group] == index.heads[group] else [nan] * len(places)
    )
    values = [listed.get(key, value) for key, value in zip(keys, stored, strict=True)]
    known = [
        (value, place)
        for value, place in zip(values, places.tolist(), strict=True)
        if value is not None and not isnan(value)
    ]
    unknown = len(places) - len(known)
    more = f" Chains of pairs connect {counted(unknown, 'member')} of unknown similarity." if unknown else ""
    if not known:
        return more.strip()
    value, place = min(known)
    ids = (str(index.documents.id(int(n))) for n in (index.members[place], verdicts.heads[group]))
    named, head = map(printable, distinct(without_common(*ids)[1], 2 * NAME_BESIDE))
    return f"The weakest link is {named}, with similarity {similarity(value)} to {head}.{more}"


def outside_of(lines: Lines, members: list[int], limit: int = OUTSIDE) -> list[tuple[int, float, int]]:
    """Return the nearest documents outside a group by its stored pairs: document, similarity, and the member."""
    index = lines.index
    every = index.members[index.slice(int(index.group_of[members[0]]))]
    inside = np.zeros(len(index.documents), np.bool_)
    inside[every] = inside[index.documents.first[every]] = True
    head = int(index.documents.first[members[0]])
    outside: list[tuple[float, bool, str, int, int]] = []
    for member in sorted(set(index.documents.first[members].tolist())):
        partners, places = index.pairs.around(member)
        beyond = ~inside[partners]
        values = index.pairs.similarity[places[beyond]]
        outside += [
            (-value, member != head, str(index.documents.id(partner)), partner, member)
            for partner, value in zip(partners[beyond].tolist(), values.tolist(), strict=True)
        ]
    nearest: dict[int, tuple[int, float, int]] = {}
    for value, _, _, partner, member in sorted(outside):
        nearest.setdefault(partner, (partner, -value, member))
    return list(nearest.values())[:limit]


def _outside(lines: Lines, near: list[tuple[int, float, int]], budget: Budget) -> tuple[source.OutsideLine, ...]:
    index = lines.index
    group_of = index.group_of
    return tuple(
        source.OutsideLine(
            int(index.documents.rows[other]),
            index.documents.id(other),
            lines.words(other, budget),
            value,
            int(index.documents.rows[member]),
            index.documents.id(member),
            index.key(int(group_of[other])) if group_of[other] >= 0 else None,
        )
        for other, value, member in near
    )


def neighbours(keys: np.ndarray, listed: np.ndarray, group: int) -> tuple[int | None, int | None]:
    """Return the groups before and after a group in a list, by the keys of the order; None at an end."""
    own = keys[group]
    less, more = listed & (keys < own), listed & (keys > own)
    before = int(np.argmax(np.where(less, keys, -1))) if less.any() else None
    after = int(np.argmin(np.where(more, keys, np.iinfo(np.int64).max))) if more.any() else None
    return before, after


@dataclass(frozen=True)
class PairPlace:
    """The place of a pair in a list, and the pairs before and after it, by document number."""

    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None
    place: str = ""


def pair_view(lines: Lines, a: int, b: int, around: PairPlace, comparison: Comparison) -> source.PairView:
    """Return two documents side by side, without the next undecided pair."""
    index = lines.index
    verdict, note, waits = lines.decision_on(a, b)
    group, rows = int(index.group_of[a]), index.documents.rows
    pair, keys = pair_of(index.documents.id(a), index.documents.id(b)), (int(rows[a]), int(rows[b]))
    two = lines.made.state.two_verdicts(pair)
    return source.PairView(
        lines.member(a, b),
        lines.member(b, a),
        index.key(group) if group >= 0 and group == index.group_of[b] else None,
        comparison,
        verdict,
        note,
        keys_of(lines, around.before),
        keys_of(lines, around.after),
        around.place,
        lines.made.state.number,
        _alike_place(lines, a, b),
        waits,
        source.ConflictLine(keys[0], keys[1], pair, *two) if two else None,
    )


def _alike_place(lines: Lines, a: int, b: int) -> AlikePlace | None:
    """Return the place of a pair among those of its group that differ in the same places.

    None until all its members are compared, which goes on for a little with each pair.
    """
    index, group = lines.index, int(lines.index.group_of[a])
    head = int(lines.made.heads[group]) if group >= 0 and group == index.group_of[b] else -1
    if head not in (a, b):
        return None
    key, first = (int(index.documents.rows[document]) for document in (b if head == a else a, head))
    alike, counts = alike_in(lines, group, Budget(lines.alike.seconds_beside))
    if counts.compared < int(lines.made.pairs[group]):
        return None
    for line in alike:
        if key in line.members:
            place, size = line.members.index(key), len(line.members)
            following = (line.members[(place + 1) % size], first) if size > 1 else None
            return AlikePlace(line.words, f"{number(place + 1)} of {counted(size, 'member')}", following)
    return None


def related_members(lines: Lines, document: int) -> list[int]:
    """Return the other members of the group of a document, and those of its stored pairs, the nearest first."""
    index, group = lines.index, int(lines.index.group_of[document])
    partners, places = index.pairs.around(int(index.documents.first[document]))
    nearest = partners[np.argsort(-index.pairs.similarity[places], kind="stable")].tolist()
    members = in_order(lines, group) if group >= 0 else []
    return [other for other in dict.fromkeys((*nearest, *members)) if other != document]


def quotes_view(lines: Lines, document: int, shared: SharedPassages, which: str) -> source.QuotesView:
    """Return the passages of a document that others have; those with the same place are one."""

    own, places = lines.date(document), dict[tuple[int, int], list[SharedPassage]]()
    for passage in shared.passages:
        places.setdefault((passage.begin, passage.end), []).append(passage)

    def line_of(id: Id) -> source.Quoting:
        number = lines.index.documents.number(id)
        if number is None:
            return source.Quoting(None, id, "", "")
        date = lines.date(number)
        order: Literal["earlier", "later", ""] = "earlier" if date < own else "later" if own < date else ""
        return source.Quoting(
            int(lines.index.documents.rows[number]), id, date[:10], order if own and date else ""
        )

    passages = tuple(
        source.Quoted(
            same[0].tokens,
            same[0].text + "…" * (end - begin > len(same[0].text)),
            tuple(line_of(passage.id) for passage in same),
        )
        for (begin, end), same in places.items()
    )
    note = f"compared with {counted(shared.compared, 'document')} {which}"
    return source.QuotesView(passages, shared.shared, shared.tokens, shared.compared, note)


def keys_of(lines: Lines, pair: tuple[int, int] | None) -> tuple[source.Key, source.Key] | None:
    """Return the keys of two documents."""
    rows = lines.index.documents.rows
    return None if pair is None else (int(rows[pair[0]]), int(rows[pair[1]]))


def in_group(lines: Lines, a: int, b: int) -> PairPlace:
    """Return the place of a pair among the near members of its group; nothing if it is not one of these."""
    index, verdicts = lines.index, lines.made
    group = int(index.group_of[a])
    if group < 0 or group != index.group_of[b]:
        return PairPlace()
    head = int(verdicts.heads[group])
    member = b if a == head else a
    near = near_of(lines, group)
    if head not in (a, b) or member not in near:
        return PairPlace()
    place = near.index(member)
    return PairPlace(
        (near[place - 1], head) if place else None,
        (near[place + 1], head) if place + 1 < len(near) else None,
        f"pair {number(place + 1)} of {number(len(near))}",
    )


class Ordered:
    """The place of each group in every order: whole numbers, no two the same."""

    def __init__(self, index: ResultIndex) -> None:
        self._index = index

    def keys(self, order: source.Order, decided: VerdictIndex) -> Int64s:
        """Return int64[groups], ascending in the order of the list. Raises InputError for an unknown order."""
        if order not in source.ORDERS:
            raise InputError(f"There is no order {order!r}", ", ".join(source.ORDERS))
        if order == "undecided":  # groups move behind all others when they are decided
            return self._by_stake + np.where(decided.open, 0, len(self._index))
        return {
            "stake": self._by_stake,
            "size": self._by_size,
            "similarity": self._by_similarity,
            "place": np.arange(len(self._index)),
        }[order]

    def warm(self) -> None:
        """Sort by everything."""
        assert len(self._by_stake) == len(self._by_size) == len(self._by_similarity)

    @cached_property
    def _by_stake(self) -> Int64s:
        return ranks_of(-self._index.stake)

    @cached_property
    def _by_size(self) -> Int64s:
        return ranks_of(-self._index.size)

    @cached_property
    def _by_similarity(self) -> Int64s:
        return ranks_of(self._index.lowest)  # unknown similarities come last


def ranks_of(values: np.ndarray) -> Int64s:
    """Return the rank of each value, ascending; equal ones in their order, NaN last.

    >>> ranks_of(np.array([3, 1, 3])).tolist()
    [1, 0, 2]
    """
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def page(keys: Int64s, after: str, limit: int, question: str) -> tuple[Int64s, str]:
    """Return the places of the first ``limit`` of some distinct ``keys`` after a token, and the next token.

    A token is valid only for the ``question`` that it belongs to. Raises InputError for another one.
    """
    if limit < 1:
        raise InputError(f"A page of {limit:,} lines is empty", "1 or more")
    last = _last(after, question)
    places = np.flatnonzero(keys > last) if after else np.arange(len(keys))
    if len(places) > limit:
        few = places[np.argpartition(keys[places], limit - 1)[:limit]]
        few = few[np.argsort(keys[few])]
        return few, f"{keys[few[-1]]}-{_mark(question)}"
    return places[np.argsort(keys[places])], ""


def _last(after: str, question: str) -> int:
    if not after:
        return -1
    key, _, mark = after.partition("-")
    if not (key.isascii() and key.isdigit() and len(key) <= 18) or mark != _mark(question):
        raise InputError(
            "This page belongs to another list", "The `next` of a page with the same filter", "Begin with page 1"
        )
    return int(key)


def _mark(question: str) -> str:
    """Return a short digest: it guards against mistakes, not against people."""
    return f"{crc32(question.encode('utf-8', 'surrogatepass')):08x}"


@dataclass(frozen=True, eq=False)
class QueuedPairs:
    """Pairs of documents by number with the keys of their order; only those ``listed`` are in the queue now.

    ``why`` says in a few words why a pair is there, by its place.
    """

    a: Int64s
    b: Int64s
    keys: Int64s
    listed: Bools
    why: Callable[[int], str]

    def place(self, a: int, b: int) -> int | None:
        """Return the place of a pair, in any order; None if it is not among them."""
        places = np.flatnonzero(((self.a == a) & (self.b == b)) | ((self.a == b) & (self.b == a)))
        return int(places[0]) if len(places) else None

    def pair(self, place: int | None) -> tuple[int, int] | None:
        """Return the pair at a place."""
        return None if place is None else (int(self.a[place]), int(self.b[place]))


class Queues:
    """The queues of a result."""

    def __init__(self, lines: Lines, ordered: Ordered) -> None:
        self._lines, self._ordered = lines, ordered

    def warm(self) -> None:
        """Sort the pairs of all queues, and find their documents."""
        assert len(self._keys_of_threshold) == len(self._crossing[0])
        self._lines.index.pairs.warm()

    def page(self, queue: source.Queue, after: str, limit: int) -> source.PairList:
        """Return a page of a queue. Raises InputError for an unknown queue, or a page of another one."""
        pairs = self.pairs(queue)
        places = np.flatnonzero(pairs.listed)
        chosen, next = page(pairs.keys[places], after, limit, f"queue {queue}")
        some = [(*self._ends(pairs, place), pairs.why(place)) for place in places[chosen].tolist()]
        budget = self._lines.reader.budget()
        return source.PairList(self._lines.pairs(some, budget), len(places), next, budget.short)

    def around(self, queue: source.Queue, a: int, b: int) -> PairPlace:
        """Return the place of a pair in a queue, and the pairs before and after it."""
        pairs = self.pairs(queue)
        place = pairs.place(a, b)
        if place is None:
            return PairPlace()
        before, after = neighbours(pairs.keys, pairs.listed, place)
        position = ""
        if pairs.listed[place]:
            number = int((pairs.listed & (pairs.keys <= pairs.keys[place])).sum())
            position = f"pair {number:,} of {int(pairs.listed.sum()):,}"
        return PairPlace(pairs.pair(before), pairs.pair(after), position)

    def next(self, queue: source.Queue, a: int, b: int) -> tuple[int, int] | None:
        """Return the next pair without a verdict, from the start again after the last; None if none is left."""
        pairs = self.pairs(queue)
        place = pairs.place(a, b)
        own = -1 if place is None else int(pairs.keys[place])
        places = np.flatnonzero(pairs.listed)
        keys = pairs.keys[places]
        order = places[np.lexsort((keys, keys <= own))]
        for other in order[:_LOOKED_AHEAD].tolist():
            if other != place and (queue == "conflicts" or not self._lines.judged_pair(*self._ends(pairs, other))):
                return self._ends(pairs, other)
        return None

    def pairs(self, queue: source.Queue) -> QueuedPairs:
        """Return the pairs of a queue. Raises InputError for an unknown one."""
        if queue not in source.QUEUES:
            raise InputError(f"There is no queue {queue!r}", ", ".join(source.QUEUES))
        queued: QueuedPairs = getattr(self, f"_{queue}_pairs")()
        return queued

    def _ends(self, pairs: QueuedPairs, place: int) -> tuple[int, int]:
        return int(pairs.a[place]), int(pairs.b[place])

    def _undecided_pairs(self) -> QueuedPairs:
        index, verdicts = self._lines.index, self._lines.made
        waits = verdicts.near & (verdicts.verdict < 0)
        return QueuedPairs(index.members, verdicts.heads[index.group], self._of_members, waits, lambda place: "")

    def _conflicts_pairs(self) -> QueuedPairs:
        state, number = self._lines.made.state, self._lines.index.documents.number
        disputed = sorted(state.conflicts, key=lambda pair: state.seconds[pair].action)
        pairs = [(number(a), number(b), state.seconds[a, b]) for a, b in disputed]
        shown = [(a, b, second) for a, b, second in pairs if a is not None and b is not None]
        a, b = (np.array([pair[end] for pair in shown], np.int64) for end in (0, 1))

        def why(place: int) -> str:
            second = shown[place][2]
            return f"{second.by}: {second.verdict}, against the first verdict" + f" ({second.note})" * bool(
                second.note
            )

        return QueuedPairs(a, b, np.arange(len(shown)), np.ones(len(shown), np.bool_), why)

    def _tags_pairs(self) -> QueuedPairs:
        index, verdicts = self._lines.index, self._lines.made
        listed = np.zeros(len(index.members), np.bool_)
        heads = verdicts.heads[index.group]
        for group in self._tagged_groups().tolist():
            inside = index.slice(group)
            of_head = self._tags_of(int(verdicts.heads[group]))
            listed[inside] = [self._tags_of(number) != of_head for number in index.members[inside].tolist()]

        def why(place: int) -> str:
            own, other = (self._tags_of(int(numbers[place])) for numbers in (index.members, heads))
            return f"{', '.join(own) or 'no tag'} against {', '.join(other) or 'no tag'}"

        return QueuedPairs(index.members, heads, self._of_members, listed, why)

    def _tagged_groups(self) -> Int64s:
        """Return the groups with a tagged member."""
        index = self._lines.index
        numbers = [index.documents.number(id) for id in self._lines.made.state.tags]
        groups = index.group_of[np.array([number for number in numbers if number is not None], np.int64)]
        return np.unique(groups[groups >= 0])

    def _tags_of(self, document: int) -> tuple[str, ...]:
        return self._lines.made.state.tags.get(self._lines.index.documents.id(document), ())

    @cached_property
    def _of_members(self) -> Int64s:
        """Return keys of members: by text at stake of their group, then by their place."""
        index = self._lines.index
        first: Int64s = self._ordered.keys("stake", self._lines.made)[index.group] * len(index.members)
        return first + np.arange(len(index.members))

    def _threshold_pairs(self) -> QueuedPairs:
        threshold = self._lines.index.found.run.settings["threshold"]
        values = self._lines.index.pairs.similarity
        return self._stored_pairs(
            self._lines.index.pairs,
            self._keys_of_threshold,
            np.ones(len(values), np.bool_),
            lambda place: f"{similarity(max(0.0, values[place] - threshold))} above the threshold",
        )

    @cached_property
    def _keys_of_threshold(self) -> Int64s:
        return ranks_of(self._lines.index.pairs.similarity)

    def _missed_pairs(self) -> QueuedPairs:
        pairs = self._lines.index.missed
        if pairs is None:
            pairs = self._lines.index.pairs.none()
        listed = np.ones(len(pairs), np.bool_)
        return self._stored_pairs(
            pairs, ranks_of(-pairs.similarity), listed, lambda place: "found by the audit only"
        )

    def _outside_pairs(self) -> QueuedPairs:
        index = self._lines.index
        key, crossing = self._crossing
        a, b = index.pairs.ends

        def why(place: int) -> str:
            heads = [int(index.group_of[ends[place]]) for ends in (a, b)]
            named = [
                index.documents.printable_id(int(index.heads[group])) if group >= 0 else "" for group in heads
            ]
            return " and ".join(f"in the group of {name}" if name else "in no group" for name in named)

        return self._stored_pairs(index.pairs, key, crossing, why)

    @cached_property
    def _crossing(self) -> tuple[Int64s, Bools]:
        """Return the keys of the stored pairs, the most similar first, and which of them connect groups."""
        index = self._lines.index
        a, b = (index.group_of[end] for end in index.pairs.ends)
        return ranks_of(-index.pairs.similarity), a != b

    def _stored_pairs(
        self, pairs: StoredPairs, keys: Int64s, listed: Bools, why: Callable[[int], str]
    ) -> QueuedPairs:
        return QueuedPairs(*pairs.ends, keys, listed, why)
