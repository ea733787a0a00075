"""Records of what differs in a group: members that differ from their representative in the same places."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from neardup.io.decisions import Id

Key: TypeAlias = int
"""The number of a document on the pages."""

AlikeKind = Literal[
    "amount", "date", "name", "sign", "OCR", "moved", "paragraph", "sentence", "words", "no word", "not compared"
]
"""The difference of a member in a place; none in a word, number or sign; or a text that is long or not read."""

LINE_KINDS: tuple[AlikeKind, ...] = get_args(AlikeKind)


@dataclass(frozen=True)
class AlikeRow:
    """Members that differ from their representative in the same places by the same words."""

    id: Id
    """The id of the first member."""
    members: tuple[Key, ...]
    texts: tuple[str, ...]
    """Their text in each shown place of the line, shortened; "" where they have none."""
    undecided: int
    """Members without a verdict."""
    copies: int = 0
    """Exact copies of the members in the group, which are judged with them."""


@dataclass(frozen=True)
class AlikeLine:
    """Members that differ from their representative in the same places, of a filter those that fit it."""

    number: int
    """Its place among the lines of the group, whatever the filter."""
    words: str
    """How they differ, in a few words."""
    more: int
    """Places that are not in the words."""
    kinds: tuple[str, ...]
    """What differs: amount, date, name, sign, OCR, moved, paragraph, sentence or words."""
    places: tuple[str, ...]
    """The text of the representative in each shown place where the members differ from each other."""
    columns: tuple[int, ...]
    """The numbers of these places among all of the line."""
    rows: tuple[AlikeRow, ...]
    """The members, those that differ by the same words together, the most first."""

    @property
    def members(self) -> tuple[Key, ...]:
        """All members of the line but exact copies of them."""
        return tuple(key for row in self.rows for key in row.members)

    @property
    def size(self) -> int:
        """The number of members, exact copies included."""
        return sum(len(row.members) + row.copies for row in self.rows)

    @property
    def copies(self) -> int:
        """The exact copies of its members."""
        return sum(row.copies for row in self.rows)

    @property
    def undecided(self) -> int:
        """The members without a verdict."""
        return sum(row.undecided for row in self.rows)


@dataclass(frozen=True)
class AlikeFilter:
    """The members that the lines of a group have: those with a ``kind`` of difference, in one ``place`` if given.

    A place is the first token of the representative that differs there, and the first one after it.
    """

    kind: AlikeKind | None = None
    place: tuple[int, int] | None = None


EVERY_MEMBER = AlikeFilter()


@dataclass(frozen=True)
class DifferingPlace:
    """A place of the representative in which members differ: its text there, and the members with exact copies."""

    begin: int
    end: int
    words: str
    size: int


@dataclass(frozen=True)
class AlikeCounts:
    """The lines of a group, as far as its members are compared.

    ``size`` are the members in them with exact copies, ``compared`` those without. ``kinds`` are the kinds of
    difference with the members that have each: a member may have several. So are ``places``, those of the most
    members, of ``all_places``.
    """

    lines: int = 0
    size: int = 0
    compared: int = 0
    kinds: tuple[tuple[AlikeKind, int], ...] = ()
    places: tuple[DifferingPlace, ...] = ()
    all_places: int = 0


NOTHING_COUNTED = AlikeCounts()


@dataclass(frozen=True)
class AlikePlace:
    """The place of a pair among those of its group that differ in the same places."""

    words: str
    """How they differ, in a few words."""
    place: str
    """"3 of 41 members"."""
    next: tuple[Key, Key] | None
    """The next of them; None if it is the only one."""
