"""The front of a report: the inputs with their digests, the verdicts on each group, and the undecided pairs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from neardup.display import Extent, number, printable, similarity
from neardup.io.sources import ChangedError, read_manifest
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.verdicts import VERDICTS, VerdictIndex
from neardup.review.report.lists import FOLLOWED, REASON, GroupLists, Row, Some, brief
from neardup.tables import column

if TYPE_CHECKING:
    from neardup.deduplication.results import Found
    from neardup.io.decisions import DecisionState
    from neardup.review.source import GroupLine

UNDECIDED, MEMBERS = 200, 10
"""Groups in the list of undecided pairs, and pairs of each."""
_NAME = 200
"""Longest name of a document in that list, in characters."""


def list_digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines, each with its line feed.

    >>> list_digest(["a"])[:8]
    '87428fc5'
    """
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


class InputFiles:
    """The files of the input as a result records them: their number and sizes, each with its digest."""

    def __init__(self, result: Found) -> None:
        tables = {} if result.places is None else result.places.tables(column(result.ranks, "row"))
        names = ["name", "size", "digest", "reference"]
        self._rows = tables["places"].select(names).to_pylist() if "places" in tables else []
        self.bytes = sum(row["size"] or 0 for row in self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def without_digest(self) -> int:
        """The number of files without a recorded digest."""
        return sum(not row["digest"] for row in self._rows)

    @property
    def digest(self) -> str:
        """The SHA-256 of a line for each file: its digest, its size and its name, with two spaces between."""
        return list_digest(f"{_hex(row['digest'])}  {row['size'] or 0}  {row['name']}" for row in self._rows)

    def first(self, most: int) -> Some:
        """Return the first files: name, size, digest, and whether they are the reference set."""
        rows = [
            (str(row["name"]), number(row["size"] or 0), _hex(row["digest"]), "reference" * bool(row["reference"]))
            for row in self._rows[:most]
        ]
        return Some(rows, len(self))


def _hex(digest: bytes | str | None) -> str:
    return "not recorded" if not digest else digest.hex() if isinstance(digest, bytes) else digest


def result_digest(result: Found) -> str:
    """Return the SHA-256 of the lines of ``sha256sum`` about a result folder, by its manifest; "" without one.

    It covers the tables and the account, but neither decisions nor kept documents nor stored texts.
    """
    if result.folder is None:
        return ""
    try:
        files = read_manifest(result.folder).files
    except ChangedError:
        return ""
    return list_digest(f"{file.sha256}  {name}" for name, file in sorted(files.items()) if file.sha256)


@dataclass(frozen=True)
class JudgedGroup:
    """A group as the run found it: its line, and the verdicts on its pairs in words."""

    line: GroupLine
    verdicts: str

    @property
    def undecided(self) -> int:
        """The number of its pairs without a verdict."""
        return self.line.pairs - self.line.decided


class GroupVerdicts:
    """The verdicts on the groups of a run: those of a ``state``, which is None for a result without a folder."""

    def __init__(self, run: Found, index: ResultIndex, state: DecisionState | None) -> None:
        self._index, self._verdicts = index, VerdictIndex(index)
        self.judging = state is not None and run.run.decisions is None
        if state is not None and self.judging:
            self._verdicts.apply(state)
        self.pairs, self.decided = int(self._verdicts.pairs.sum()), int(self._verdicts.count.sum())
        self.unsure = int((self._verdicts.verdict == VERDICTS.index("unsure")).sum())
        self.open_groups = int(self._verdicts.open.sum())

    @property
    def extent(self) -> Extent:
        """The pairs to judge, and how many of them have no verdict."""
        return Extent("pair", self.decided, skipped=self.pairs - self.decided)

    def rows(self, lists: GroupLists, most: int) -> Some:
        """Return the first groups in the order of the result, with the verdicts on them."""
        many = len(self._index)
        return Some([self._row(lists.row(group)) for group in range(min(most, many))], many)

    def _row(self, line: GroupLine) -> JudgedGroup:
        group = int(str(line.key))
        inside = self._verdicts.verdict[self._index.slice(group)]
        counts = Counter(VERDICTS[one] for one in inside.tolist() if one >= 0)
        words = ", ".join(f"{name} {number(counts[name])}" for name in VERDICTS if counts[name])
        decided, pairs = int(self._verdicts.count[group]), int(self._verdicts.pairs[group])
        return JudgedGroup(replace(line, decided=decided, pairs=pairs), words)

    @cached_property
    def waiting(self) -> Some:
        """The groups with undecided pairs: the representative, their number, the other documents and notes."""
        waiting = np.flatnonzero(self._verdicts.open) if self.judging else np.zeros(0, np.int64)
        return Some([self._undecided_row(group) for group in waiting[:UNDECIDED].tolist()], len(waiting))

    @cached_property
    def with_notes(self) -> Some:
        """The undecided pairs with a note: both documents, and the note."""
        notes = [
            (str(member), str(head), brief(printable(note), REASON))
            for group in (np.flatnonzero(self._verdicts.open).tolist() if self.judging else ())
            for member, head, note in self._notes_of(group)
        ]
        return Some(notes[:FOLLOWED], len(notes))

    def _open_members(self, group: int) -> Sequence[int]:
        inside, verdicts = self._index.slice(group), self._verdicts
        places: list[int] = np.flatnonzero(verdicts.near[inside] & (verdicts.verdict[inside] < 0)).tolist()
        return [inside.start + place for place in places]

    def _notes_of(self, group: int) -> Iterator[tuple[object, object, str]]:
        documents, verdicts = self._index.documents, self._verdicts
        head = documents.id(int(verdicts.heads[group]))
        for place in self._open_members(group):
            member = documents.id(int(self._index.members[place]))
            if note := verdicts.state.note(member, head):
                yield member, head, note

    def _undecided_row(self, group: int) -> Row:
        index, verdicts = self._index, self._verdicts
        head, places, others = index.documents.id(int(verdicts.heads[group])), self._open_members(group), []
        same_head = verdicts.heads[group] == index.heads[group]
        for place in places[:MEMBERS]:
            member, value = index.documents.id(int(index.members[place])), float(index.similarity[place])
            known = bool(same_head and not np.isnan(value))
            others.append(brief(printable(member), _NAME) + f" {similarity(value)}" * known)
        more = f", and {number(len(places) - MEMBERS)} more" if len(places) > MEMBERS else ""
        return str(head), number(len(places)), ", ".join(others) + more
