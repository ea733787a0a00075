"""The result of adding documents: counts, rejected rows, and the stored documents that new ones repeat."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from neardup.collection.groups.records import resemblance
from neardup.io.readers import Problem

Action: TypeAlias = Literal["kept", "linked", "rejected"]

_LISTED_PROBLEMS = 1000


@dataclass(frozen=True)
class NearCopy:
    """A new document and the most similar stored document ``of`` that it repeats; counted on the texts.

    ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B| in shingles. ``action`` is "kept" (stored, but in
    no group), "linked" (stored, in ``group``) or "rejected" (not stored).
    """

    id: str
    of: str
    shared: int
    size: int
    of_size: int
    action: Action
    group: int | None = None
    resemblance: float = field(init=False)
    """|A∩B| / |A∪B|."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "resemblance", resemblance(self.shared, self.size, self.of_size))

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class GroupedPending:
    """The result of grouping documents that were in no group.

    ``compared`` documents, ``repeats`` of them near another one, and ``linked`` of these put into a group;
    ``recall`` is promised. ``near`` lists the first 1,000. ``next`` is the ``after`` of the next call, or None.
    """

    compared: int
    repeats: int
    linked: int
    recall: float
    near: tuple[NearCopy, ...]
    next: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return {**asdict(self), "near": [one.as_dict() for one in self.near]}


class StoredCounts(NamedTuple):
    """What became of one chunk of documents: counts, the bytes of their texts, and the listed repeats.

    ``repeats`` counts the documents that repeat a stored one; ``linked`` of them joined a group, ``left_out`` were
    not stored.
    """

    added: int
    replaced: int
    text_bytes: int
    repeats: int
    linked: int
    left_out: int
    near: list[NearCopy]
    base_only: int = 0


@dataclass
class Added:
    """The result of one call: counts, the rejected rows, and notes about guesses.

    ``problems`` and ``near`` keep the first 1,000 items. ``rejected`` counts all rows that could not be read and
    ``repeats`` all documents that repeat a stored one; ``linked`` of them joined a group, ``left_out`` were not
    stored. ``recall`` is the promised recall of finding them; None without ``near``. ``base_only`` counts the
    documents compared of which nothing counts, because all their text is base text: they repeat nothing.
    """

    added: int = 0
    replaced: int = 0
    skipped: int = 0
    rejected: int = 0
    text_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    repeats: int = 0
    linked: int = 0
    left_out: int = 0
    recall: float | None = None
    near: list[NearCopy] = field(default_factory=list)
    base_only: int = 0

    def count(self, stored: StoredCounts) -> None:
        """Add the counts of a chunk."""
        self.added += stored.added
        self.replaced += stored.replaced
        self.text_bytes += stored.text_bytes
        self.repeats += stored.repeats
        self.linked += stored.linked
        self.left_out += stored.left_out
        self.near += stored.near
        self.base_only += stored.base_only

    def reject(self, problem: Problem) -> None:
        """Count a row that is not added, and keep it if it is among the first."""
        self.rejected += 1
        if len(self.problems) < _LISTED_PROBLEMS:
            self.problems.append(problem)
