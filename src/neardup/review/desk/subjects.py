"""The subject of a review: tables of groups and pairs, decisions on them, and texts. First of all, a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from neardup.collection.query.syntax import Clause
from neardup.comparison.compare import Comparison
from neardup.io.decisions.records import Action, Change, DecisionState
from neardup.io.decisions.store import DecisionStore
from neardup.review.source import Reviewed
from neardup.run import show
from neardup.run.exported import exported
from neardup.run.found import Found
from neardup.run.records import Looked, ResultRecord
from neardup.settings import as_compared
from neardup.tables import Int64s

SECONDS = 20.0
"""Seconds that a comparison may take unless the caller gives another limit."""

Renewed = Literal["", "texts", "tables"]
"""What has changed in a subject besides its decisions: nothing, texts or metadata, the tables."""


class Subject(Protocol):
    """A result or a collection under review."""

    @property
    def found(self) -> ResultRecord:
        """The tables, as a result has them: replaced when the groups change."""

    def refresh(self) -> Renewed:
        """Bring the tables up to date, and return what has changed."""

    def about(self, fields: tuple[str, ...], fault: str) -> Reviewed:
        """Return its description; ``fields`` may be used in filters, ``fault`` says why texts cannot be read."""

    def state(self) -> DecisionState:
        """Return the decisions that hold."""

    def act(self, changes: Sequence[Change], *, by: str, what: str, seen: int | None = None) -> Action:
        """Store decisions as one action, as ``DecisionStore.act`` does."""

    def undo(self, *, by: str, action: int | None = None) -> Action | None:
        """Undo an action, as ``DecisionStore.undo`` does."""

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions, the latest first."""

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        """Compare two documents; ``how`` are the keywords of ``compare``."""

    def query(self, clause: Clause, query: str) -> Int64s | None:
        """Return the rows (keys) of the documents that a clause finds; None if it does not search texts itself."""

    def export(self, what: Literal["groups", "decisions", "tags"], form: str) -> Iterator[bytes]:
        """Yield a file."""

    def close(self) -> None:
        """Close the file of decisions, if it is open for the review alone."""


class ResultSubject(DecisionStore):
    """A result with the decisions stored in ``folder``; its tables never change."""

    def __init__(self, found: Found, folder: str | Path, *, title: str = "", read_only: bool = False) -> None:
        super().__init__(Path(folder), read_only=read_only)
        self.found, self._title = found, title or Path(folder).absolute().name

    def refresh(self) -> Renewed:
        """Do nothing: a result never changes."""
        return ""

    def about(self, fields: tuple[str, ...], fault: str) -> Reviewed:
        """Return the name, the size and the settings of the result."""
        run = self.found.run
        return Reviewed(
            title=self._title,
            measure=run["settings"]["measure"],
            threshold=run["settings"]["threshold"],
            exact=True,
            groups=run["counts"]["groups"],
            documents=run["counts"]["read"],
            facts=tuple((label, text) for label, text in show.summary(run) if label != "note"),
            fields=fields,
            texts=not fault,
            notes=(*run["warnings"], *run["notes"], *([fault] if fault else [])),
        )

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        """Compare two documents with the settings of the run."""
        from neardup.comparison.compare import compare  # imported late: lists do not wait for its kernels

        as_run = as_compared(self.found.run["settings"])
        return compare(a.text, b.text, **{"seconds": SECONDS, **as_run, **how})

    def query(self, clause: Clause, query: str) -> Int64s | None:
        """Return None: the texts of a result are searched by an index of its desk."""
        return None

    def export(self, what: Literal["groups", "decisions", "tags"], form: str) -> Iterator[bytes]:
        """Yield groups, decisions or tags as csv, jsonl, parquet or dat."""
        return exported(self.found, self.state(), what, form)
