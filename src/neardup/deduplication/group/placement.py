"""Decisions of reviewers as constraints on groups: rows that share a group, and rows that never do.

A group is changed only where a decision demands it. Where decisions contradict each other, those that keep
documents apart hold, and of the others the latest ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neardup.tables import Bools, Int64s

Alike = Callable[[int, int], bool]
"""Whether two rows are copies or a pair at or above the threshold."""

OTHER_GROUP = "the two are not in one group"
GOES = "the document is removed by a decision"
REFERENCE = "a document of the reference set represents the group"
OVERTAKEN = "a later decision chose another representative"


@dataclass(frozen=True, eq=False)
class Constraints:
    """The decisions that concern groups, about rows; of several, the latest first.

    ``together`` and ``apart`` are pairs of rows. ``chosen`` are pairs of a row that names a group and the row that
    represents it. ``goes`` are rows that are removed in any case, and represent others only if all of these are.
    Rows below ``first_new`` are the reference set.
    """

    together: Int64s  # [n, 2]
    apart: Int64s  # [n, 2]
    chosen: Int64s  # [n, 2]
    goes: Int64s
    first_new: int = 0

    @cached_property
    def going(self) -> frozenset[int]:
        """The rows of ``goes``."""
        return frozenset(self.goes.tolist())


@dataclass(frozen=True, eq=False)
class Placement:
    """The representative of each row, after the decisions.

    ``refused`` are the indices into ``together`` of decisions that contradict others, each with the index into
    ``apart`` of one that it contradicts. ``unused`` are the indices into ``chosen`` without effect, and why.
    """

    heads: Int64s
    refused: dict[int, int]
    unused: dict[int, str]


def place(heads: Int64s, rank: Int64s, constraints: Constraints, alike: Alike) -> Placement:
    """Return the representatives (int64[rows]) that follow from the decisions.

    Groups with a pair that belongs ``together`` become one. In a group with rows that belong ``apart``, rows are
    placed in the order of their ``rank`` (those that belong together at once): each with its former representative
    if it may share a group with all rows there, else with the first other representative that it is ``alike``,
    else on its own. The best row of a group represents it.
    """
    ties = _Ties(constraints.apart)
    refused: dict[int, int] = {}
    for index, (a, b) in enumerate(constraints.together.tolist()):
        if (contradicted := ties.unite(a, b)) is not None:
            refused[index] = contradicted
    together = [pair for index, pair in enumerate(constraints.together.tolist()) if index not in refused]
    after, unused = heads.copy(), dict.fromkeys(range(len(constraints.chosen)), OTHER_GROUP)
    of_group: dict[int, list[tuple[int, int]]] = {}
    for index, (group, row) in enumerate(constraints.chosen.tolist()):
        of_group.setdefault(group, []).append((index, row))
    for rows in _concerned_rows(heads, together, constraints):
        first = _chosen_among(rows, of_group, constraints, unused)

        def order(row: int, first: int | None = first) -> tuple[bool, bool, int]:
            return row != first, row in constraints.going, int(rank[row])

        for head, members in _split_group(rows, heads, ties, order, alike):
            after[members] = head
    return Placement(after, refused, unused)


class _Ties:
    """Rows that belong together, as sets, and those that belong apart."""

    def __init__(self, apart: Int64s) -> None:
        self._set_of: dict[int, list[int]] = {}
        self._apart: dict[int, dict[int, int]] = {}
        for index, (a, b) in enumerate(apart.tolist()):
            self._apart.setdefault(a, {}).setdefault(b, index)
            self._apart.setdefault(b, {}).setdefault(a, index)

    def of(self, row: int) -> list[int]:
        """All rows that belong together with a row, itself included."""
        return self._set_of.setdefault(row, [row])

    def unite(self, a: int, b: int) -> int | None:
        """Unite the sets of two rows; if they belong apart, return the index of a decision that says so."""
        small, large = sorted((self.of(a), self.of(b)), key=len)
        if small is large:
            return None
        ties = (
            index
            for row in small
            for other, index in self._apart.get(row, {}).items()
            if self._set_of.get(other) is large
        )
        if (contradicted := min(ties, default=None)) is not None:
            return contradicted
        large.extend(small)
        self._set_of.update(dict.fromkeys(small, large))
        return None

    def are_apart(self, rows: Iterable[int], others: set[int]) -> bool:
        """Whether a decision keeps one of ``rows`` apart from one of ``others``."""
        return any(other in others for row in rows for other in self._apart.get(row, ()))


def _concerned_rows(heads: Int64s, together: Sequence[Sequence[int]], constraints: Constraints) -> list[list[int]]:
    """The rows of each group that a decision may change; groups with rows that belong together are one."""
    joined: dict[int, int] = {}

    def root(head: int) -> int:
        while (above := joined.setdefault(head, head)) != head:
            joined[head] = joined[above]  # halves the way of the next search
            head = above
        return head

    for a, b in together:
        one, other = root(int(heads[a])), root(int(heads[b]))
        joined[max(one, other)] = min(one, other)
    for row in (
        *constraints.apart.ravel().tolist(),
        *constraints.chosen[:, :1].ravel().tolist(),
        *constraints.goes.tolist(),
    ):
        root(int(heads[row]))
    concerned = np.zeros(len(heads), np.bool_)
    concerned[list(joined)] = True
    groups: dict[int, list[int]] = {}
    for row in np.flatnonzero(concerned[heads]).tolist():
        groups.setdefault(root(int(heads[row])), []).append(row)
    return [groups[head] for head in sorted(groups)]


def _chosen_among(
    rows: Sequence[int],
    of_group: Mapping[int, list[tuple[int, int]]],
    constraints: Constraints,
    unused: dict[int, str],
) -> int | None:
    """The row that a decision chose to represent ``rows``; ``of_group`` has pairs (index, row) by named group.

    Its index is removed from ``unused``; the others there get the reason.
    """
    named = sorted(choice for row in rows if row in of_group for choice in of_group[row])
    inside, goes, first = frozenset(rows) if named else frozenset(), constraints.going, None
    for index, row in named:
        if row not in inside:
            continue
        if row in goes:
            unused[index] = GOES
        elif rows[0] < constraints.first_new <= row:
            unused[index] = REFERENCE
        elif first is not None and row != first:
            unused[index] = OVERTAKEN
        else:
            first = row
            del unused[index]
    return first


@dataclass(frozen=True)
class _Part:
    """A group in the making: its representative and its rows."""

    head: int
    rows: set[int]


def _split_group(
    rows: Sequence[int], heads: Int64s, ties: _Ties, order: Callable[[int], tuple[bool, bool, int]], alike: Alike
) -> list[tuple[int, list[int]]]:
    parts: list[_Part] = []
    part_of: dict[int, _Part] = {}
    left = dict.fromkeys(sorted(rows, key=order))
    for row in list(left):
        if row not in left:
            continue
        bound = sorted(ties.of(row), key=order)
        for one in bound:
            left.pop(one)
        homes = [part_of[head] for one in bound if (head := int(heads[one])) in part_of] or parts[:1]
        mine = next((part for part in homes if not ties.are_apart(bound, part.rows)), None)
        if mine is None:
            near = (part for part in parts if any(alike(one, part.head) for one in bound))
            mine = next((part for part in near if not ties.are_apart(bound, part.rows)), None)
        if mine is None:
            mine = _Part(row, set())
            parts.append(mine)
        mine.rows.update(bound)
        part_of.update(dict.fromkeys(bound, mine))
    return [(part.head, sorted(part.rows)) for part in parts]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The decisions about what stays, as rows: pairs of duplicates, rows of which both stay, and fates."""

    duplicates: Int64s  # [n, 2]
    both: Int64s
    stays: Int64s
    goes: Int64s


def stays_after(
    rows: Int64s, kept: Bools, heads: Int64s, rank: Int64s, verdicts: Verdicts, *, none_stays: bool = False
) -> Bools:
    """bool[n]: which of the ``rows`` (int64[n]) stay after the decisions; ``kept`` are those that stay by policy.

    A fate holds in any case. Of rows to keep both, both stay. Of rows connected by duplicates, the representative
    stays, else the best that stays anyway, and further ones only by a decision. ``none_stays``: no representative
    stays by policy.
    """
    index_of = {row: index for index, row in enumerate(rows.tolist())}
    after = kept.copy()
    goes, stays = frozenset(verdicts.goes.tolist()), frozenset(verdicts.stays.tolist())
    firm = (stays | frozenset(verdicts.both.tolist())) - goes
    for row in firm & index_of.keys():
        after[index_of[row]] = True
    ties = _Ties(np.empty((0, 2), np.int64))
    for a, b in verdicts.duplicates.tolist():
        ties.unite(a, b)
    seen: set[int] = set()
    for row in verdicts.duplicates.ravel().tolist():
        if row in seen:
            continue
        seen.update(ties.of(row))
        inside = [one for one in ties.of(row) if one in index_of and one not in goes]
        certain = [one for one in inside if one in firm or (heads[index_of[one]] == one and not none_stays)]
        if not certain:
            certain = sorted((one for one in inside if after[index_of[one]]), key=lambda one: int(rank[one]))[:1]
        for one in inside:
            after[index_of[one]] = one in certain
    for row in goes & index_of.keys():
        after[index_of[row]] = False
    return after
