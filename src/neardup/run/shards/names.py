"""The names of the groups of a run over saved fingerprints, which stay when documents join later."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.io.fingerprints.documents import FingerprintedDocuments
from neardup.io.fingerprints.names import NAMES, names_at, read_names
from neardup.join.pair_file import batches
from neardup.run.account import Run
from neardup.run.stages.result import Outcome
from neardup.tables import Int64s, column


@dataclass(frozen=True)
class NamedGroups:
    """The rows of the new input that are in a group, ascending, with the ``group`` of each and others it joins."""

    rows: Int64s
    group: list[str]
    joined: list[list[str]]
    ids: list[str]

    @property
    def joining(self) -> int:
        """The number of documents that are near copies in several groups."""
        return sum(map(bool, self.joined))

    def table(self) -> pa.Table:
        """The names for users: id, group, joined."""
        columns = [pa.array(self.ids, pa.string()), pa.array(self.group, pa.string())]
        joined = pa.array(self.joined, NAMES.field("joined").type)
        return pa.table([*columns, joined], names=["id", "group", "joined"])

    def of_part(self, first: int, until: int) -> pa.Table:
        """The NAMES of a part that has the rows ``first`` … ``until − 1`` of the new input."""
        begin, end = np.searchsorted(self.rows, (first, until)).tolist()
        values = [self.rows[begin:end] - first, self.group[begin:end], self.joined[begin:end]]
        return pa.table(
            [pa.array(value, kind) for value, kind in zip(values, NAMES.types, strict=True)], schema=NAMES
        )


def named_groups(outcome: Outcome, against: FingerprintedDocuments | None) -> NamedGroups:
    """Name the group of each new document in one.

    A group has the name of the group of its representative, if that is a saved document in a group, else the id of
    the representative. A document that is a near copy in several named groups belongs to that of its
    representative; the groups stay apart, and ``joined`` names the others.
    """
    rows, decisions = outcome.run.judged_rows, outcome.run.decisions
    order = np.argsort(decisions.rows, kind="stable")
    members, heads = decisions.rows[order], decisions.representative_row[order]
    new = members >= rows.first_new
    members, heads = members[new], heads[new]
    partners = _partners(outcome, members)
    wanted = np.unique(np.concatenate([heads, *partners])) if len(heads) else np.empty(0, np.int64)
    names = dict(zip(wanted.tolist(), _names(outcome.run, wanted, against), strict=True))
    group = [names[head] for head in heads.tolist()]
    joined = [
        sorted({names[row] for row in met.tolist()} - {own}) for met, own in zip(partners, group, strict=True)
    ]
    ids: list[str] = rows.ids.text(members).to_pylist()
    return NamedGroups(members - rows.first_new, group, joined, ids)


def _partners(outcome: Outcome, members: Int64s) -> list[Int64s]:
    """The saved rows that each member is in a pair with."""
    rows, pairs = outcome.run.judged_rows, outcome.run.groups.pairs
    saved = [np.empty((2, 0), np.int64)]
    for some in batches(pairs):
        ends = np.stack([rows.unique[column(some, end)] for end in ("a", "b")])
        saved.append(ends[:, ends[0] < rows.first_new])
    a, b = np.concatenate(saved, axis=1)
    order = np.argsort(b, kind="stable")
    a, b = a[order], b[order]
    first_of = rows.copy_of[members]
    begins, ends = (np.searchsorted(b, first_of, side) for side in ("left", "right"))
    return [a[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def _names(run: Run, wanted: Int64s, against: FingerprintedDocuments | None) -> list[str]:
    names: list[str] = run.judged_rows.ids.text(wanted).to_pylist()
    if against is None:
        return names
    rows = run.rows
    saved = np.flatnonzero(wanted < rows.first_new)
    firsts = np.array([piece.first for piece in rows.corpus.pieces], np.int64)
    owner = np.searchsorted(firsts, wanted[saved], side="right") - 1
    by_part: dict[Path, list[tuple[int, int]]] = {}
    for place, row, k in zip(saved.tolist(), wanted[saved].tolist(), owner.tolist(), strict=True):
        piece = rows.corpus.pieces[k]
        folder, part_row = against.saved_row(piece.chunk, row - piece.first)
        by_part.setdefault(folder, []).append((place, part_row))
    for folder, found in by_part.items():
        known = names_at(read_names(folder), [part_row for _, part_row in found])
        for (place, _), name in zip(found, known, strict=True):
            names[place] = names[place] if name is None else name
    return names
