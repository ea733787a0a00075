"""The lists of a report: groups, pairs, losses and problems, each with a few lines and the number of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.display import counted, number, percent
from neardup.review.report.reading import brief
from neardup.review.source import GroupLine, PairLine
from neardup.run.looking import similarities
from neardup.run.records import SHINGLES, Shared
from neardup.run.show import unit_of
from neardup.run.tables import COUNTS, MEASURED
from neardup.tables import Int64s

if TYPE_CHECKING:
    from neardup.review.report.groups import GroupFigures
    from neardup.review.report.links import PairFigures
    from neardup.review.report.reading import TextReading
    from neardup.run.found import Found
    from neardup.run.records import Id

LISTED = 10
"""Lines of the lists of pairs, losses and problems."""
REASON, PASSAGE = 240, 160
"""Longest reason and longest passage on the page, in characters."""

Row: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Loss:
    """A removed document that loses text, in a group."""

    id: Id
    group: Id
    said: str
    passage: str


@dataclass(frozen=True)
class Some:
    """The first lines of a list, and the number of all."""

    lines: Sequence[Any]
    total: int

    def __bool__(self) -> bool:
        return bool(self.lines)

    def caption(self, words: str) -> str:
        """Return a caption: ``words``, and how many of all are listed.

        >>> Some("abc", 1200).caption("The largest groups"), Some("abc", 3).caption("The largest groups")
        ('The largest groups: 3 of 1,200', 'The largest groups')
        """
        return (
            f"{words}: {number(len(self.lines))} of {number(self.total)}"
            if self.total > len(self.lines)
            else words
        )


class GroupLists:
    """Lines of groups; ``most`` is the length of a list."""

    def __init__(
        self, found: Found, groups: GroupFigures, pairs: PairFigures, reading: TextReading, most: int
    ) -> None:
        self._found, self._groups, self._pairs, self._reading = found, groups, pairs, reading
        self.stake = self._some(groups.by_stake(most), int((groups.stake > 0).sum()))
        self.largest = self._some(groups.by_size(most), len(groups))

    def _some(self, chosen: Int64s, total: int) -> Some:
        return Some([self._line(group) for group in chosen.tolist()], total)

    def _line(self, group: int) -> GroupLine:
        groups = self._groups
        id, size, exact = groups.heads[group].as_py(), int(groups.size[group]), int(groups.exact[group])
        return GroupLine(
            key=group,
            id=id,
            words=self._reading.words(id),
            size=size,
            exact_copies=exact,
            lowest=_known(groups.lowest[group]),
            highest=_known(groups.highest[group]),
            differs=self._differs(group),
            stake=int(groups.stake[group]),
            decided=0,
            pairs=size - 1 - exact,
        )

    def _differs(self, group: int) -> str:
        """Return the kinds of difference in a group; if they are not stored, that of one member, the worst."""
        if "kind" in self._found.pairs.column_names:
            kinds = self._pairs.kinds_inside(group)
            return ", ".join(f"{kind} {number(count)}" for kind, count in islice(kinds.items(), 3))
        head, row = self._groups.heads[group].as_py(), int(self._groups.worst[group])
        members = [row] if row >= 0 else np.flatnonzero(self._groups.of_row == group)[:2].tolist()
        ids = (self._found.groups["id"][place].as_py() for place in members)
        return next((self._reading.kind(id, head) for id in ids if id != head), "")

    def worst(self, line: GroupLine) -> Loss | None:
        """Return the member of a group that loses most text, None without any."""
        row = int(self._groups.worst[line.key])
        return None if row < 0 else _loss(self._found.groups.slice(row, 1).to_pylist()[0])


class PairLists:
    """Lines of pairs: ``closest`` to the threshold, ``between`` groups, ``missed`` by the run."""

    def __init__(self, found: Found, groups: GroupFigures, pairs: PairFigures, reading: TextReading) -> None:
        self._found, self._groups, self._pairs, self._reading = found, groups, pairs, reading
        total = pairs.table.num_rows
        self.closest = Some([self._stored(row) for row in pairs.lowest(LISTED).tolist()], total)
        strongest = pairs.strongest_between(LISTED).tolist()
        self.between = Some([self._stored(row) for row in strongest], int(pairs.between.sum()))
        self.missed = self._missed()

    def _stored(self, row: int) -> PairLine:
        a, b = int(self._pairs.a[row]), int(self._pairs.b[row])
        if a == b >= 0:
            where = "in one group"
        elif a >= 0 and b >= 0:
            where = "in two groups"
        else:
            where = f"{'neither is' if a < 0 and b < 0 else 'A is' if a < 0 else 'B is'} in a group"
            where = where.replace("A is in", "A is not in").replace("B is in", "B is not in")
        return self._line(self._pairs.table, row, float(self._pairs.value[row]), where)

    def _missed(self) -> Some:
        missed = self._found.missed
        if missed is None:
            return Some((), 0)
        values = similarities(self._found, missed)
        rows = np.argsort(-values, kind="stable")[:LISTED].tolist()
        lines = [self._line(missed, row, float(values[row]), "found by the audit only") for row in rows]
        return Some(lines, missed.num_rows)

    def _line(self, table: pa.Table, row: int, value: float, where: str) -> PairLine:
        values = table.slice(row, 1).to_pylist()[0]
        names = MEASURED if "common" in values else COUNTS
        unit = unit_of(self._found.run["settings"]) if "common" in values else SHINGLES
        a, b = values["id_a"], values["id_b"]
        counts = values[names[0]], values[names[1]], values[names[2]]
        return PairLine(
            a=row,
            b=row,
            a_id=a,
            b_id=b,
            words=(self._reading.words(a), self._reading.words(b)),
            similarity=value,
            kind=str(values.get("kind") or "") if "kind" in values else self._reading.kind(a, b),
            verdict=None,
            why=f"{where}; {Shared(*counts, unit)}",
        )


def losses(found: Found) -> Some:
    """Return the removed documents that lose most text."""
    lost = found.run["lost"]
    return Some([_loss(one) for one in lost["most"][:LISTED]], lost["losing"])


def _loss(row: dict[str, Any]) -> Loss:
    lost, shingles = int(row["lost_shingles"] or 0), int(row["shingles"] or 0)
    said = f"{number(lost)} of {counted(shingles, 'shingle')} ({percent(lost, shingles)})"
    return Loss(row["id"], row.get("group", ""), said, brief(row["lost_passage"] or "", PASSAGE))


def problems(found: Found) -> Some:
    """Return rows and files that could not be read: the place and the reason."""
    rows: list[Row] = []
    for problem in islice(found.problems, LISTED):
        place = problem.file or (f"row {number(problem.row)}" if problem.row is not None else "the file")
        where = problem.source if place == problem.source else f"{problem.source}: {place}"
        rows.append((brief(where, REASON), brief(problem.reason, REASON), ""))
    return Some(rows, len(found.problems))


def not_judged(found: Found) -> Some:
    """Return documents that were not compared: the id, the kind, and the reason."""
    listed = found.not_judged.slice(0, LISTED).to_pylist()
    rows = [(str(row["id"]), brief(row["kind"], REASON), brief(row["reason"], REASON)) for row in listed]
    return Some(rows, found.not_judged.num_rows)


def crowds(found: Found) -> Some:
    """Return the crowds: the representative, the number of members, and of pairs that were not written."""
    all_crowds = found.run["crowds"]
    rows = [
        (str(one["representative"]), number(one["members"]), number(one["pairs_left_out"]))
        for one in all_crowds[:LISTED]
    ]
    return Some(rows, len(all_crowds))


def _known(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def below_threshold(found: Found, groups: GroupFigures) -> Iterator[tuple[Id, Id, float]]:
    """Yield members below the threshold to the representative, least similar first: (id, group, similarity)."""
    value = found.groups["similarity"].to_numpy(zero_copy_only=False).astype(np.float64)
    low = np.flatnonzero(value < found.run["settings"]["threshold"])
    for row in low[np.argsort(value[low], kind="stable")].tolist():
        one = found.groups.slice(row, 1).to_pylist()[0]
        yield one["id"], one["group"], float(value[row])
