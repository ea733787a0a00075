"""Lines of the change log: the change, its cause and its documents, with ids that stay readable after removals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from neardup.collection.contract import ChangeRow
from neardup.collection.store import Store
from neardup.io.decisions.records import Verdict

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

    def counted(self, shared: int, size: int, of_size: int) -> About:
        """The same reason with counts."""
        return replace(self, shared=shared, size=size, of_size=of_size)

    def about(self, document: int) -> About:
        """The same reason for one of several documents that were removed or replaced."""
        return replace(self, of=document) if self.why in ("removed", "replaced") and self.of else self


def now() -> str:
    """The time, UTC, to the second; only for display, nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Journal:
    """Lines for the log. ``write`` looks up the ids, so call it before documents are removed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lines: list[tuple[str, int, int, About]] = []

    def add(self, what: str, group: int, document: int, about: About) -> None:
        """Add a change of a group."""
        self._lines.append((what, group, document, about))

    def decision(self, what: str, pair: tuple[int, int], about: About) -> None:
        """Add a change of the decision about a pair."""
        self._lines.append((what, 0, pair[0], replace(about, of=pair[1])))

    def write(self) -> None:
        """Store the lines and clear them."""
        at = now()
        named = sorted({number for _, _, document, about in self._lines for number in (document, about.of)})
        ids = self._ids(named)
        self._store.groups.log(
            ChangeRow(0, at, what, group, document, _plain(about, ids, document))
            for what, group, document, about in self._lines
        )
        self._lines = []

    def _ids(self, numbers: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for begin in range(0, len(numbers), _NAMED):
            part = np.array(numbers[begin : begin + _NAMED], np.int64)
            found.update((row.number, row.id) for row in self._store.rows(part))
        return found


def _plain(about: About, ids: dict[int, str], document: int) -> dict[str, Any]:
    of = ids.get(about.of) if about.of != document else None
    values = {**asdict(about), "document": ids.get(document, ""), "of": of}
    return {name: value for name, value in values.items() if value not in (None, "")}
