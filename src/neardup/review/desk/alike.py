"""Differences in a whole group: members that differ from their representative in the same places are one line.

Each member is compared with the representative alone; docs/contributing/decisions/alike.md says why.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from neardup.comparison.records import ChangedText, TextChange, amount_of, changes_of, day_of
from neardup.display import number, shorten
from neardup.errors import NeardupError
from neardup.io.decisions import Id
from neardup.review.desk.texts import Budget, TextReader
from neardup.review.source import AlikeLine, AlikeRow, Key
from neardup.tables import Int64s

MOST_BYTES = 1 << 20
"""Members with more text than this, together with their representative, are not compared for a line."""
SHOWN_PLACES, WIDTH = 3, 40
"""Places of a line that are shown, and columns of the text of a place."""
NO_PLACE, NOT_COMPARED = "no place: case, punctuation or line ends alone", "not compared"

_PLURALS = {
    "amount": "amounts",
    "date": "dates",
    "name": "names",
    "sign": "signs",
    "OCR": "readings",
    "moved": "passages",
    "paragraph": "paragraphs",
    "sentence": "sentences",
    "words": "texts",
}


class _Place(NamedTuple):
    """A place of the representative: its tokens, and whether something goes or comes there."""

    begin: int
    end: int
    goes: bool
    comes: bool


class AlikeMembers:
    """The changes of members, compared when a page asks for them, and kept for one group."""

    def __init__(self, reader: TextReader, sizes: Int64s) -> None:
        self._reader, self._sizes = reader, sizes
        self._head, self._held = -1, dict[int, tuple[TextChange, ...] | None]()

    def forget(self) -> None:
        """Drop all computed changes: texts have changed."""
        self._head = -1

    def of(self, head: int, members: Sequence[int], budget: Budget) -> dict[int, tuple[TextChange, ...] | None]:
        """Return the changes of each member from its representative, as far as there is time.

        None: its text is long, or cannot be read.
        """
        if head != self._head:
            self._head, self._held = head, {}
        waiting = [member for member in members if member not in self._held]
        if waiting and budget.allows():
            self._compare(head, waiting, budget)
        return {member: self._held[member] for member in members if member in self._held}

    def _compare(self, head: int, members: Sequence[int], budget: Budget) -> None:
        try:
            first = ChangedText(self._reader.reading(head))
        except (NeardupError, OSError):
            self._held.update(dict.fromkeys(members))
            return
        self._reader.read_ahead([head, *members])
        for member in members:
            if not budget.allows():
                return
            self._held[member] = self._changes(first, head, member)

    def _changes(self, first: ChangedText, head: int, member: int) -> tuple[TextChange, ...] | None:
        if int(self._sizes[member] + self._sizes[head]) > MOST_BYTES:
            return None
        try:
            return changes_of(first, ChangedText(self._reader.reading(member)))
        except (NeardupError, OSError):
            return None


class MemberFacts(NamedTuple):
    """A member to judge: its key and id, whether it has no verdict, and its exact copies in the group."""

    key: Key
    id: Id
    undecided: bool
    copies: int


def alike_lines(
    changes: Mapping[int, tuple[TextChange, ...] | None], members: Mapping[int, MemberFacts]
) -> tuple[AlikeLine, ...]:
    """Return the lines of members that differ in the same places, the most members first.

    ``changes`` are those of each member, None where it is not compared.
    """
    lines: dict[tuple[_Place, ...] | None, list[int]] = defaultdict(list)
    for member, own in changes.items():
        lines[None if own is None else tuple(map(_place, own))].append(member)
    order = sorted(lines.items(), key=lambda line: (line[0] is None, -len(line[1])))
    return tuple(
        _line([changes[member] for member in own], [members[member] for member in own]) for _, own in order
    )


def _place(change: TextChange) -> _Place:
    return _Place(change.begin, change.end, bool(change.before), bool(change.after))


def _line(changes: list[tuple[TextChange, ...] | None], members: list[MemberFacts]) -> AlikeLine:
    """Return the line of members that differ in the same places, with the changes of each."""
    columns = [list(column) for column in zip(*(own or () for own in changes), strict=True)]
    varied = [place for place, column in enumerate(columns) if len({change.after for change in column}) > 1]
    rows: dict[tuple[str, ...], list[MemberFacts]] = defaultdict(list)
    for own, member in zip(changes, members, strict=True):
        rows[tuple(_flat(change.after) for change in own or ())].append(member)
    return AlikeLine(
        NOT_COMPARED if changes[0] is None else ", ".join(map(_words, columns[:SHOWN_PLACES])) or NO_PLACE,
        max(0, len(columns) - SHOWN_PLACES),
        tuple(dict.fromkeys(map(_kind, columns))),
        tuple(_heading(columns[place]) for place in varied[:SHOWN_PLACES]),
        tuple(
            AlikeRow(
                those[0].id,
                tuple(member.key for member in those),
                tuple(shorten(texts[place], WIDTH) for place in varied[:SHOWN_PLACES]),
                sum(member.undecided for member in those),
                sum(member.copies for member in those),
            )
            for texts, those in sorted(rows.items(), key=lambda row: -len(row[1]))
        ),
    )


def _kind(column: list[TextChange]) -> str:
    """Return the kind of difference in a place: that of most members."""
    return Counter(change.what for change in column).most_common(1)[0][0]


def _heading(column: list[TextChange]) -> str:
    """Return the text of the representative in a place; the kind of the new text if it has none."""
    return shorten(_flat(column[0].before), WIDTH) or f"+ {_kind(column)}"


def _words(column: list[TextChange]) -> str:
    """Return how members differ in a place, in a few words."""
    what, before = _kind(column), shorten(_flat(column[0].before), WIDTH)
    texts = Counter(_flat(change.after) for change in column)
    (after, _), count = texts.most_common(1)[0], len(texts)
    if not after:
        return f"− {_label(what)}“{before}”"
    new = f"“{shorten(after, WIDTH)}”" if count == 1 else f"{number(count)} {_PLURALS[what]}"
    if not before:
        return f"+ {_label(what) if count == 1 else ''}{new}"
    return f"{before} → {new.strip('“”') if count == 1 else new}"


def _label(what: str) -> str:
    return f"{what} " if what in ("paragraph", "sentence", "moved") else ""


def _flat(text: str) -> str:
    return " ".join(text.split())


def sorted_by_place(lines: tuple[AlikeLine, ...], number: int, place: int) -> tuple[AlikeLine, ...]:
    """Return the lines, one of them with its rows in the order of a place: numbers by size, dates by day."""
    if number >= len(lines) or place >= len(lines[number].places):
        return lines
    rows = sorted(lines[number].rows, key=lambda row: order_of(row.texts[place]))
    return (*lines[:number], replace(lines[number], rows=tuple(rows)), *lines[number + 1 :])


def order_of(text: str) -> tuple[int, float, str]:
    """Return the place of a text among others: amounts by size, then dates by day, then the rest by letters.

    >>> sorted(["950.00", "1,200.00", "4 May 2026", "Anna", "3.5.2026"], key=order_of)
    ['950.00', '1,200.00', '3.5.2026', '4 May 2026', 'Anna']
    """
    day = day_of(text)
    if day is not None:
        return 1, day, ""
    amount = amount_of(text)
    return (2, 0.0, text.casefold()) if amount is None else (0, amount, "")
