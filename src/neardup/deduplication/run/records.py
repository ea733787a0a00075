"""The records that make up a result: groups, their members, and the decision on one document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import pyarrow as pa
from msgspec import structs

from neardup import display
from neardup.deduplication.run import views
from neardup.deduplication.run.account import RunAccount
from neardup.deduplication.run.exclusions import no_table
from neardup.display.view import PlainData, excerpt
from neardup.io.inputs import Problem
from neardup.tables import Int64s

Id: TypeAlias = str | int
"""An id as it is in the user's column."""


SHINGLES = "shingles"


@dataclass(frozen=True)
class Shared(PlainData):
    """The exact integers of one pair, seen from one side: |A∩B|, |A| and |B|, in the ``unit`` of the measure."""

    shared: int
    size: int
    other_size: int
    unit: str = SHINGLES

    def __str__(self) -> str:
        return f"shared {self.shared:,} of {self.size:,} + {self.other_size:,} {self.unit}"

    def sentence(self, id: Id, group: Id) -> str:
        """Describe the pair of the document ``id`` with its representative in a sentence."""
        own, other = display.percent(self.shared, self.size), display.percent(self.shared, self.other_size)
        if self.unit == SHINGLES:
            return (
                f"Of its {self.size:,} shingles {self.shared:,} ({own}) are in {group}; "
                f"of the {self.other_size:,} there, {self.shared:,} ({other}) are in {id}."
            )
        return (
            f"They have {self.shared:,} {self.unit} in common: {own} of the {self.size:,} in {id}, "
            f"{other} of the {self.other_size:,} in {group}."
        )


@dataclass(frozen=True)
class MemberLost(PlainData):
    """The text that goes with one removed document; fields are None where it is not known.

    ``lost`` of its ``shingles`` are in no document of its group that stays. Only these shingles cover its
    ``units`` (tokens or characters) in passages; ``passage`` is the beginning of the longest one, with escapes.
    """

    shingles: int | None
    lost: int | None
    units: int | None = None
    passage: str | None = None
    unit: str = "token"
    identical: bool = False

    def sentence(self) -> str:
        """Describe the loss in a sentence."""
        if self.lost is None:
            return "How much text is lost with it is not stored."
        if not self.lost or self.shingles is None:
            if self.identical:
                return "No text is lost with it: its representative has the same characters."
            return "No word is lost with it: the kept documents hold all of its shingles."
        share = display.percent(self.shingles - self.lost, self.shingles)
        verb = "is" if self.lost == 1 else "are"
        text = f"Of its text {share} is kept; {self.lost:,} of its {self.shingles:,} shingles {verb} lost"
        if self.units is None:
            return f"{text}."
        if self.passage is None:
            return f"{text}, but no {self.unit}: only the order of its text."
        return f"{text}, and {display.counted(self.units, self.unit)}. The longest passage lost: “{self.passage}”."

    def brief(self) -> str:
        """Describe the loss in a few words.

        >>> MemberLost(80, 7, 2, "1800").brief(), MemberLost(80, 0).brief(), MemberLost(None, 0).brief()
        ('7 of 80 shingles lost: “1800”', 'no word lost', 'no word lost')
        """
        if self.lost == 0:  # exact copies, too, whose shingles are not counted
            return "no text lost" if self.identical else "no word lost"
        if self.lost is None or self.shingles is None:
            return "lost text unknown"
        passage = f": “{self.passage}”" if self.passage else ""
        return f"{display.number(self.lost)} of {display.counted(self.shingles, 'shingle')} lost{passage}"


@dataclass(frozen=True, repr=False)
class Member(PlainData):
    """One document of a group; ``pair`` holds the counts it shares with the representative, if they were stored.

    ``similarity`` is None if :meth:`Found.at` cannot know it. ``lost`` is None for a document that stays.
    """

    id: Id
    representative: bool
    similarity: float | None
    kept: bool
    reason: str
    pair: Shared | None
    lost: MemberLost | None = None

    @property
    def fate(self) -> str:
        """The fate of the document, in one word."""
        return "kept" if self.kept else "removed"

    @property
    def evidence(self) -> str:
        """The reason for the fate, with the counts of the pair, on one line."""
        reason = display.printable(self.reason)
        return reason if self.pair is None else f"{reason} ({self.pair})"

    def row(self) -> views.ShownMember:
        """Return the member as a row of a table; a representative has no similarity with itself."""
        value = None if self.representative else self.similarity
        return views.row_of(self.id, self.fate, value, self.evidence)

    def __repr__(self) -> str:
        return f"Member({self.id!r} {self.fate}: {self.evidence})"

    def _repr_html_(self) -> str:
        return views.member(self.row())


@dataclass(frozen=True, repr=False)
class Group(PlainData):
    """A group: its id is the id of its representative, which is the first of its members.

    ``links`` are the stored pairs (id, id, similarity) among its first members, for the picture in a notebook.
    """

    id: Id
    members: tuple[Member, ...]
    links: tuple[tuple[Id, Id, float], ...] = field(default=(), compare=False)

    def rows(self) -> list[views.ShownMember]:
        """Return the members as rows of a table."""
        return [member.row() for member in self.members]

    def __repr__(self) -> str:
        removed = sum(not member.kept for member in self.members)
        return f"Group({self.id!r}, {display.counted(len(self.members), 'document')}, {removed:,} removed)"

    def _repr_html_(self) -> str:
        return views.group(self.id, self.rows(), [member.id for member in self.members], self.links)


@dataclass(frozen=True)
class NotJudged(PlainData):
    """A document that was not compared: ``kind`` is "without text", or the kind of content in its file."""

    kind: str
    kept: bool
    reason: str


@dataclass(frozen=True, repr=False)
class Decision(PlainData):
    """Why one document was kept or removed.

    ``in_reference``: whether the document is in the reference set; None for a run without one.
    """

    id: Id
    group: Id | None
    copy_of: Id | None
    member: Member | None
    not_judged: NotJudged | None = None
    in_reference: bool | None = None

    @property
    def side(self) -> str:
        """The words for the side of the document in a run with a reference set, else ""."""
        return {None: "", False: " (of the input)", True: " (of the reference set)"}[self.in_reference]

    @property
    def kept(self) -> bool:
        """Whether the document stays; outside groups it always does, unless it lacks text and empty is drop."""
        if self.not_judged is not None:
            return self.not_judged.kept
        return self.member is None or self.member.kept

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        aside = self.member or self.not_judged
        reason = "it is in no group" if aside is None else display.printable(aside.reason)
        return f"Decision({self.id!r} {'kept' if self.kept else 'removed'}: {reason})"

    def _repr_html_(self) -> str:
        return views.decision(self.id, "kept" if self.kept else "removed", self.group, self.copy_of, self._lines())

    def _lines(self) -> list[str]:
        known = self.copy_of is None or (self.member is not None and self.copy_of == self.group)
        name = f"{self.id}{self.side}"
        copy = [] if known else [f"{name} is an exact copy of {self.copy_of}."]
        if self.not_judged is not None:
            fate = "kept" if self.kept else "removed"
            return [f"{name} was not judged, and is {fate}: {self.not_judged.reason}."]
        if self.member is None:
            return copy or [f"{name} is kept: it is in no group."]
        lines = [*copy, f"{name} is {self.member.fate}: {self.member.reason}."]
        pair = self.member.pair
        if pair is not None and self.group is not None and not self.member.representative:
            lines.append(pair.sentence(self.id, self.group))
        if self.member.lost is not None:
            lines.append(self.member.lost.sentence())
        return lines


@dataclass(frozen=True, repr=False)
class Looked(PlainData):
    """A document that was read again: its text, its size in bytes, and its place.

    ``path`` is the file, "" for documents in memory; ``row`` is None for a file that is one document.
    """

    id: Id
    text: str
    size: int
    path: str
    row: int | None

    @property
    def where(self) -> str:
        """The place in words."""
        if self.row is None:
            return self.path
        return f"row {self.row:,} of {self.path or 'the input in memory'}"

    def __repr__(self) -> str:
        return f"Looked({self.id!r}, {display.counted(self.size, 'byte')}, {excerpt(self.text, 40)!r})"

    def _repr_html_(self) -> str:
        return views.document_view(self.id, self.size, self.where, self.text)


class Texts(Protocol):
    """The texts of the documents of a result, by rows of the run."""

    @property
    def saved(self) -> bool:
        """Whether they belong to saved fingerprints, which may have no texts any more."""

    def look(self, id: Id, row: int | None) -> Looked | None:
        """Return the document of a row, or find it by its id; None if there is none of this id."""

    def read_ahead(self, rows: Int64s) -> bool:
        """Read rows, ascending, that are looked at next; return False where this saves no time."""

    def each(self, rows: Int64s) -> Iterator[tuple[int, bytes]]:
        """Yield rows, ascending, with their texts in UTF-8."""

    def to_store(self, rows: Int64s) -> Iterator[pa.Table]:
        """Yield the same with the other values of each document, as TEXTS, which the folder of a result stores."""

    def fields(self, row: int) -> Mapping[str, Any]:
        """Return the other values of the document of a row."""

    def others(self, rows: Int64s) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield rows, ascending, with the other values of their documents; those without any may be missing."""


class Places(Protocol):
    """Where the documents of a result are in its input."""

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return the tables ``places`` and ``located`` to store with a result; none for documents in memory."""


@dataclass(frozen=True, eq=False, repr=False)
class ResultRecord(PlainData):
    """The tables of a result and its account.

    ``pairs``   id_a, id_b, shared, size_a, size_b, resemblance, containment_a, containment_b; another
    measure adds its counts common, total_a, total_b, and a column named after it; ``kinds`` adds kind; with base
    text there are also full_size_a and full_size_b, the shingles of the documents with their base text
    ``groups``  id, group (the id of the representative), representative, similarity, kept, reason, shingles,
    lost_shingles, lost_units, lost_passage, size
    ``copies``  id, copy_of: exact copies
    ``missed``  with ``audit``, the pairs it found missing: columns as ``pairs``; else None
    ``run``     settings, counts, plan, recall, warnings, seconds: the content of ``run.json``
    ``ranks``   id, row, first, rank, reference, bytes: the order of preference, for ``Found.at``
    ``not_judged``  id, kind, bytes, kept, reason: documents without text and files that hold none
    ``texts``   the texts of documents, for ``Found.compare``; None in a stored result without texts
    ``places``  where the documents are in the input; None in a stored result of documents in memory
    ``common``  with ``ignore_common``, the shingles left out: text, documents, share; else None
    ``access``  the permission bits that all files of the input have, for ``Found.save``
    ``folder``  the folder it was loaded from; None for any other result
    ``has_names``  whether ids are names of documents of both sides, as ``sides.with_side_names`` makes them
    """

    _data = "run", "pairs", "groups", "copies", "not_judged", "missed", "common", "problems"

    pairs: pa.Table
    groups: pa.Table
    copies: pa.Table
    run: RunAccount
    problems: Sequence[Problem] = ()
    missed: pa.Table | None = None
    ranks: pa.Table = field(default_factory=lambda: pa.table({}))
    not_judged: pa.Table = field(default_factory=no_table)
    access: int = 0o666
    common: pa.Table | None = None
    texts: Texts | None = None
    places: Places | None = None
    folder: Path | None = None
    has_names: bool = False


Result = TypeVar("Result", bound=ResultRecord)


def with_account(result: Result, **changes: Any) -> Result:
    """Return the result with ``changes`` of its account."""
    return replace(result, run=structs.replace(result.run, **changes))
