"""The page of a pair: two documents side by side, and their place in the list that the reader came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neardup.display import number
from neardup.review.desk.lines import Lines
from neardup.review.source import Key, PairView
from neardup.settings import as_compared

SECONDS = 20.0
"""Seconds that a comparison may take unless the caller gives another limit."""


@dataclass(frozen=True)
class PairPlace:
    """The place of a pair in a list, and the pairs before and after it, by document number."""

    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None
    place: str = ""


def pair_view(lines: Lines, a: int, b: int, around: PairPlace, how: dict[str, Any]) -> PairView:
    """Return two documents side by side; ``how`` are the keywords of ``compare``.

    Raises InputError if a text cannot be read, LimitError if the comparison takes too long.
    """
    from neardup.comparison.compare import compare  # imported late: lists do not wait for its kernels

    index, settings = lines.index, lines.index.found.run["settings"]
    as_run = as_compared(settings)
    texts = lines.reader.look(a).text, lines.reader.look(b).text
    comparison = compare(*texts, **{"seconds": SECONDS, **as_run, **how})
    judged = lines.judged(a, b)
    group = int(index.group_of[a])
    return PairView(
        lines.member(a, b),
        lines.member(b, a),
        index.key(group) if group >= 0 and group == index.group_of[b] else None,
        comparison,
        None if judged is None else judged.verdict,
        "" if judged is None else judged.note,
        keys_of(lines, around.before),
        keys_of(lines, around.after),
        around.place,
        lines.made.state.number,
    )


def keys_of(lines: Lines, pair: tuple[int, int] | None) -> tuple[Key, Key] | None:
    """Return the keys of two documents."""
    rows = lines.index.documents.rows
    return None if pair is None else (int(rows[pair[0]]), int(rows[pair[1]]))


def in_group(lines: Lines, a: int, b: int) -> PairPlace:
    """Return the place of a pair among the near members of its group; nothing if it is not one of these."""
    index, made = lines.index, lines.made
    group = int(index.group_of[a])
    if group < 0 or group != index.group_of[b]:
        return PairPlace()
    head = int(made.heads[group])
    member = b if a == head else a
    inside = index.slice(group)
    near = index.members[inside][made.near[inside]].tolist()
    if head not in (a, b) or member not in near:
        return PairPlace()
    at = near.index(member)
    return PairPlace(
        (near[at - 1], head) if at else None,
        (near[at + 1], head) if at + 1 < len(near) else None,
        f"pair {number(at + 1)} of {number(len(near))}",
    )
