"""The page of a group and the page of a pair, with the place of a pair in the list the reader came from."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from neardup.comparison.compare import Comparison
from neardup.display import counted, number, similarity
from neardup.review.desk.background import Budget
from neardup.review.desk.lines import Lines
from neardup.review.source import GroupView, Key, MemberLine, OutsideLine, PairView

TABLE_MEMBERS = 30
MOST_MEMBERS = 300
"""Members that the page of a group lists."""
OUTSIDE = 10


def group_view(lines: Lines, group: int, before: Key | None, after: Key | None) -> GroupView:
    """Return the page of a group."""
    index, made = lines.index, lines.made
    head, budget = int(made.heads[group]), Budget()
    inside = index.slice(group)
    documents, to_judge = index.members[inside], made.near[inside]
    others = np.concatenate((documents[to_judge], documents[~to_judge & (documents != head)]))
    listed = [head, *others[: MOST_MEMBERS - 1].tolist()]
    members = tuple(lines.member(document, head, budget) for document in listed)
    count = len(documents)
    note = f"The first {number(len(listed))} of {number(count)} members, exact copies last."
    return GroupView(
        index.key(group),
        index.documents.id(int(index.heads[group])),
        members,
        _outside(lines, listed, budget),
        _table(lines, listed, budget),
        _weakest(lines, group, members),
        before,
        after,
        made.state.number,
        count if count > len(listed) else 0,
        (note,) if count > len(listed) else (),
        budget.short,
    )


def _table(lines: Lines, documents: list[int], budget: Budget) -> tuple[tuple[float | None, ...], ...]:
    """Return the similarities of all members with each other; () for more members than a table shows.

    Those that are not stored are counted on the texts, while there is time.
    """
    if len(documents) > TABLE_MEMBERS:
        return ()
    return tuple(tuple(lines.between(a, b, budget) for b in documents) for a in documents)


def _weakest(lines: Lines, group: int, members: tuple[MemberLine, ...]) -> str:
    """Describe the member that resembles the representative least, of all or of those listed."""
    index, made = lines.index, lines.made
    inside = index.slice(group)
    places = inside.start + np.flatnonzero(made.near[inside])
    if not len(places):
        return "All members are exact copies of the representative."
    listed = {member.key: member.similarity for member in members}
    keys = index.documents.rows[index.members[places]].tolist()
    stored = index.similarity[places].tolist() if made.heads[group] == index.heads[group] else [nan] * len(places)
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
    named, head = (index.documents.named(int(n)) for n in (index.members[place], made.heads[group]))
    return f"The weakest link is {named}, with similarity {similarity(value)} to {head}.{more}"


def outside_of(lines: Lines, members: list[int], limit: int = OUTSIDE) -> list[tuple[int, float, int]]:
    """Return the nearest documents outside a group by its stored pairs: document, similarity, and the member."""
    index = lines.index
    inside = set(index.documents.first[members].tolist()) | set(members)
    head = int(index.documents.first[members[0]])
    found: list[tuple[float, bool, str, int, int]] = []
    for member in sorted(set(index.documents.first[members].tolist())):
        partners, places = index.pairs.around(member)
        values = index.pairs.similarity[places]
        found += [
            (-value, member != head, str(index.documents.id(partner)), partner, member)
            for partner, value in zip(partners.tolist(), values.tolist(), strict=True)
            if partner not in inside
        ]
    nearest: dict[int, tuple[int, float, int]] = {}
    for value, _, _, partner, member in sorted(found):
        nearest.setdefault(partner, (partner, -value, member))
    return list(nearest.values())[:limit]


def _outside(lines: Lines, members: list[int], budget: Budget) -> tuple[OutsideLine, ...]:
    index = lines.index
    group_of = index.group_of
    return tuple(
        OutsideLine(
            int(index.documents.rows[other]),
            index.documents.id(other),
            lines.words(other, budget),
            value,
            int(index.documents.rows[member]),
            index.documents.id(member),
            index.key(int(group_of[other])) if group_of[other] >= 0 else None,
        )
        for other, value, member in outside_of(lines, members)
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


def pair_view(lines: Lines, a: int, b: int, around: PairPlace, comparison: Comparison) -> PairView:
    """Return two documents side by side."""
    index = lines.index
    judged = lines.judged(a, b)
    group = int(index.group_of[a])
    return PairView(
        lines.member(a, b),
        lines.member(b, a),
        index.key(group) if group >= 0 and group == index.group_of[b] else None,
        comparison,
        None if judged is None else judged.verdict,
        "" if judged is None else judged.note,
        keys_of(lines, around.before),
        keys_of(lines, around.after),
        around.place,
        lines.made.state.number,
    )


def keys_of(lines: Lines, pair: tuple[int, int] | None) -> tuple[Key, Key] | None:
    """Return the keys of two documents."""
    rows = lines.index.documents.rows
    return None if pair is None else (int(rows[pair[0]]), int(rows[pair[1]]))


def in_group(lines: Lines, a: int, b: int) -> PairPlace:
    """Return the place of a pair among the near members of its group; nothing if it is not one of these."""
    index, made = lines.index, lines.made
    group = int(index.group_of[a])
    if group < 0 or group != index.group_of[b]:
        return PairPlace()
    head = int(made.heads[group])
    member = b if a == head else a
    inside = index.slice(group)
    near = index.members[inside][made.near[inside]].tolist()
    if head not in (a, b) or member not in near:
        return PairPlace()
    at = near.index(member)
    return PairPlace(
        (near[at - 1], head) if at else None,
        (near[at + 1], head) if at + 1 < len(near) else None,
        f"pair {number(at + 1)} of {number(len(near))}",
    )
