"""Groups, decisions and changes as people and programs read them: with the ids of the documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from neardup.collection import shown
from neardup.display import counted, similarity
from neardup.display.view import name_of
from neardup.io.decisions.records import Verdict

Held = Literal["representative", "resemblance", "decision"]


@dataclass(frozen=True)
class StoredMember:
    """A document of a group, its counts with the representative, and the reason for its membership.

    ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B|, where B is the representative. ``held_by`` is
    "representative" for the representative itself, "resemblance" at or above the threshold, "decision" if only a
    decision keeps the document in the group.
    """

    id: str
    shared: int
    size: int
    of_size: int
    held_by: Held
    resemblance: float = field(init=False)
    """|A∩B| / |A∪B| with the representative."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "resemblance", resemblance(self.shared, self.size, self.of_size))

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class StoredGroup:
    """A group: its permanent id, its representative, its threshold and its number of members.

    ``members`` holds at most the first 1,000, in the order in which they were first added; ``Collection.members``
    returns the others.
    """

    id: int
    representative: str
    threshold: float
    size: int
    members: tuple[StoredMember, ...]

    def __repr__(self) -> str:
        return f"StoredGroup({self.id}, {self.size:,} documents, represented by {self.representative[:60]!r})"

    def _repr_html_(self) -> str:
        rows = [(name_of(member.id), similarity(member.resemblance), member.held_by) for member in self.members]
        return shown.listed(("document", "resemblance", "held by"), rows, frozenset((1,)), f"Group {self.id}")

    def as_dict(self) -> dict[str, Any]:
        """Return the group as plain data."""
        return {**asdict(self), "members": [member.as_dict() for member in self.members]}


@dataclass(frozen=True, repr=False)
class GroupPage:
    """Some groups by ascending id, and the ``after`` of the next page; None on the last page."""

    groups: tuple[StoredGroup, ...]
    next: int | None

    def __repr__(self) -> str:
        return f"GroupPage({counted(len(self.groups), 'group')}, next={self.next})"

    def _repr_html_(self) -> str:
        rows = [(str(group.id), name_of(group.representative), f"{group.size:,}") for group in self.groups]
        return shown.listed(("group", "representative", "documents"), rows, frozenset((0, 2)), "Groups")

    def as_dict(self) -> dict[str, Any]:
        """Return the page as plain data."""
        return {"groups": [group.as_dict() for group in self.groups], "next": self.next}


@dataclass(frozen=True)
class PairDecision:
    """A decision about two documents, with its reviewer and time (UTC)."""

    number: int
    a: str
    b: str
    verdict: Verdict
    by: str
    note: str
    at: str

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """A line of the change log. ``number`` defines the order; ``at`` is the time of the clock (UTC).

    ``what`` happened: a group was "made" or "ended"; the ``document`` "joined", "left", now "leads" the group, or
    has "changed" and stays; a pair was "decided", its decision was "withdrawn", or the decision "stays" although
    the document was replaced. ``group`` is None if no group changed.

    ``why``: "added" and near ``of``, "repeated" by ``of``, "replaced" or "removed" (the document, or ``of``),
    "decided" or "withdrawn". ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B|, counted with ``of`` for
    "added" and "repeated", otherwise with the representative; None if nothing was counted.

    ``action`` is the number of the action of a person that a decision belongs to, ``undoes`` the action that this
    one undoes; ``by`` is the person of the action, also where it restores the decision of another one.
    """

    number: int
    at: str
    what: str
    group: int | None
    document: str
    why: str
    of: str | None = None
    shared: int | None = None
    size: int | None = None
    of_size: int | None = None
    verdict: Verdict | None = None
    by: str = ""
    note: str = ""
    action: int | None = None
    undoes: int | None = None

    cause: str = field(init=False)
    """The cause in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cause", self._cause())

    def as_dict(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return asdict(self)

    def _cause(self) -> str:
        resembles = ""
        if self.shared is not None and self.size is not None and self.of_size is not None:
            resembles = f", {similarity(resemblance(self.shared, self.size, self.of_size), 4)}"
        if self.why in ("added", "repeated"):
            return f"{self.why}: near {self.of}{resembles}"
        if self.why in ("replaced", "removed"):
            return f"{self.of or self.document} was {self.why}"
        by = f" by {self.by}" if self.by else ""
        if self.why == "withdrawn":
            return f"a decision was withdrawn{by}"
        return f"decided{by}: {self.verdict}"


ABOUT = frozenset(field.name for field in fields(Change)) - {"number", "at", "what", "group", "cause"}
"""The fields of a line of the log besides its columns."""


def resemblance(shared: int, size: int, other: int) -> float:
    """|A∩B| / |A∪B|; 0 for two documents without words."""
    whole = size + other - shared
    return shared / whole if whole else 0.0
