"""Lines of the change log: the change, its cause and its documents, with ids that stay readable after removals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from neardup.collection.contract import Store
from neardup.collection.groups.contract import ChangeRow, DecisionRow, GroupWriting, Verdict

_NAMED = 1000


@dataclass(frozen=True)
class About:
    """The reason for a change: the cause, the document it concerns (a number; 0: none), counts, a decision."""

    why: str
    of: int = 0
    shared: int | None = None
    size: int | None = None
    of_size: int | None = None
    verdict: Verdict | None = None
    by: str = ""
    note: str = ""

    @classmethod
    def of_decision(cls, why: str, row: DecisionRow, by: str | None = None) -> About:
        """A decision as a cause."""
        return cls(why, verdict=row.verdict, by=row.by if by is None else by, note=row.note)

    def counted(self, shared: int, size: int, of_size: int) -> About:
        """The same reason with counts."""
        return replace(self, shared=shared, size=size, of_size=of_size)

    def about(self, document: int) -> About:
        """The same reason for one of several documents that were removed or replaced."""
        return replace(self, of=document) if self.why in ("removed", "replaced") and self.of else self


@dataclass(frozen=True)
class Act:
    """The action of a person that decisions belong to: its number, the person, and the action that it undoes."""

    action: int
    by: str
    undoes: int | None = None


def now() -> str:
    """The time, UTC, to the second; only for display, nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal:
    """Lines for the log. ``write`` looks up the ids, so call it before documents are removed."""

    def __init__(self, store: Store, tables: GroupWriting) -> None:
        self._store, self._tables = store, tables
        self._lines: list[tuple[str, int, int, About, Mapping[str, Any]]] = []

    def add(self, what: str, group: int, document: int, about: About) -> None:
        """Add a change of a group."""
        self._lines.append((what, group, document, about, {}))

    def decision(self, what: str, row: DecisionRow, about: About, more: Mapping[str, Any] | None = None) -> None:
        """Add a change of a decision; ``more`` is what an undo needs, see :meth:`acted`."""
        told = replace(about, verdict=row.verdict, of=row.b, by=about.by or row.by, note=about.note or row.note)
        self._lines.append((what, 0, row.a, told, {"other": row.b, **(more or {})}))

    def acted(self, was: DecisionRow | None, made: DecisionRow | None, act: Act, threshold: float | None) -> None:
        """Add a decision of a person: the one that held ``was`` replaced by the one ``made``.

        ``threshold`` is that of the group that both documents were in.
        """
        row = made or was
        assert row is not None
        about = About("decided" if made else "withdrawn", verdict=row.verdict, of=row.b, by=act.by, note=row.note)
        more = {
            "other": row.b,
            "action": act.action,
            "undoes": act.undoes,
            "decision": made.number if made else None,
            "before": was and {name: getattr(was, name) for name in ("number", "verdict", "by", "note", "at")},
            "threshold": threshold,
        }
        self._lines.append((about.why, 0, row.a, about, more))

    def write(self) -> None:
        """Store the lines and clear them."""
        at = now()
        named = sorted({number for _, _, document, about, _ in self._lines for number in (document, about.of)})
        ids = self._ids(named)
        self._tables.log(
            ChangeRow(0, at, what, group, document, _plain(about, ids, document, more))
            for what, group, document, about, more in self._lines
        )
        self._lines = []

    def _ids(self, numbers: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for begin in range(0, len(numbers), _NAMED):
            part = np.array(numbers[begin : begin + _NAMED], np.int64)
            found.update((row.number, row.id) for row in self._store.rows(part))
        return found


def _plain(about: About, ids: dict[int, str], document: int, more: Mapping[str, Any]) -> dict[str, Any]:
    of = ids.get(about.of) if about.of != document else None
    told = {**asdict(about), "document": ids.get(document, ""), "of": of, **more}
    return {name: value for name, value in told.items() if value not in (None, "")}
