"""Lost text in plain Python: sets of shingles, every document of a group that stays, one after the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Shingles = frozenset[tuple[str, ...]]
Id = Hashable


@dataclass(frozen=True)
class Member:
    """A document of a group: ``anyway`` if it stays for another reason than its text."""

    id: Id
    shingles: Shingles
    rank: int
    anyway: bool = False


def cover(members: Sequence[Member], share: Fraction) -> set[Id]:
    """Return the documents that stay: first the better ones, then back from the worst, given all that stay."""
    by_rank = sorted(members, key=lambda member: member.rank)
    stays = [member for member in by_rank if member.anyway]
    added: list[Member] = []
    for member in by_rank:
        if not member.anyway and loses_too_much(member, [*stays, *added], share):
            added.append(member)
    for member in reversed(list(added)):
        others = [*stays, *(other for other in added if other is not member)]
        removed = [one for one in members if one not in others]
        if not any(loses_too_much(one, others, share) for one in removed):
            added.remove(member)
    return {member.id for member in (*stays, *added)}


def loses_too_much(member: Member, stays: Iterable[Member], share: Fraction) -> bool:
    return len(lost(member.shingles, (other.shingles for other in stays))) > share * len(member.shingles)


def lost(shingles: Shingles, stays: Iterable[Shingles]) -> Shingles:
    return shingles.difference(*stays)


def units_lost(units: Sequence[str], length: int, gone: Shingles) -> list[list[str]]:
    """Return the passages: the longest runs of units that are in no shingle but lost ones."""
    whole = len(units) < length
    windows = [tuple(units)] if whole else [tuple(units[k : k + length]) for k in range(len(units) - length + 1)]
    alive = [False] * len(units)
    for first, window in enumerate(windows):
        if window not in gone:
            for k in range(first, first + len(window)):
                alive[k] = True
    passages: list[list[str]] = [[]]
    for unit, stays in zip(units, alive, strict=True):
        if stays:
            passages.append([])
        else:
            passages[-1].append(unit)
    return [passage for passage in passages if passage]


def by_group(rows: Iterable[Mapping[str, object]]) -> dict[Id, list[Mapping[str, object]]]:
    """Return the rows of the table of groups by group."""
    groups: dict[Id, list[Mapping[str, object]]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)  # type: ignore[arg-type]
    return groups
