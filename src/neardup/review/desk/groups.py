"""The page of a group: its members, the similarities among them, its weakest link, the documents just outside."""

from __future__ import annotations

from time import monotonic

import numpy as np

from neardup.display import printable, similarity
from neardup.review.desk.lines import Lines
from neardup.review.source import GroupView, Key, MemberLine, OutsideLine

TABLE_MEMBERS = 30
OUTSIDE = 10
SECONDS = 0.06
"""Seconds that the page of a group may spend on reading the words of its members."""


def group_view(lines: Lines, group: int, before: Key | None, after: Key | None) -> GroupView:
    """Return the page of a group."""
    index, made = lines.index, lines.made
    head, deadline = int(made.heads[group]), monotonic() + SECONDS
    documents = index.members[index.slice(group)]
    in_order = [head, *(number for number in documents.tolist() if number != head)]
    members = tuple(lines.member(number, head, deadline) for number in in_order)
    near = [member for member in members if not member.representative and not member.exact_copy]
    copies = [member for member in members if member.exact_copy]
    return GroupView(
        index.key(group),
        index.documents.id(int(index.heads[group])),
        (members[0], *near, *copies),
        _outside(lines, documents.tolist(), deadline),
        _table(lines, [index.documents.at(member.key) for member in (members[0], *near, *copies)], deadline),
        _weakest(near, members[0]),
        before,
        after,
        made.state.number,
    )


def _table(lines: Lines, documents: list[int], deadline: float) -> tuple[tuple[float | None, ...], ...]:
    """Return the similarities of all members with each other; () for more members than a table shows.

    Those that are not stored are counted on the texts, while there is time.
    """
    if len(documents) > TABLE_MEMBERS:
        return ()
    return tuple(tuple(lines.between(a, b, deadline) for b in documents) for a in documents)


def _weakest(near: list[MemberLine], head: MemberLine) -> str:
    """Describe the member that resembles the representative least."""
    known = [(member.similarity, member) for member in near if member.similarity is not None]
    if not near:
        return "All members are exact copies of the representative."
    if not known:
        return "No similarity to the representative is stored: chains of pairs connect the members."
    value, weakest = min(known, key=lambda pair: pair[0])
    by_chain = len(near) - len(known)
    more = f" {by_chain:,} of the members are linked only by a chain of pairs." if by_chain else ""
    of = f"with similarity {similarity(value)} to {printable(head.id)}"
    return f"The weakest link is {printable(weakest.id)}, {of}.{more}"


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


def _outside(lines: Lines, members: list[int], deadline: float) -> tuple[OutsideLine, ...]:
    index = lines.index
    group_of = index.group_of
    return tuple(
        OutsideLine(
            int(index.documents.rows[other]),
            index.documents.id(other),
            lines.words(other, deadline),
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
