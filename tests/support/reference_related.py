"""Who may remove whom, row by row in plain Python: the twin of ``within``, ``across``, ``keep`` and ``count``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from support.grouped import expected_groups


@dataclass(frozen=True)
class Row:
    """A document: its tokens in order, its shingles, and its values within and across."""

    tokens: tuple[str, ...]
    shingles: frozenset[Hashable]
    within: Hashable = None
    across: Hashable = None


@dataclass(frozen=True)
class Expected:
    """The pairs of first copies, the members of every group by its representative, and the rows that go."""

    pairs: set[tuple[int, int]]
    groups: dict[int, set[int]]
    removed: set[int]


def resemblance(a: Row, b: Row) -> Fraction:
    shared = len(a.shingles & b.shingles)
    return Fraction(shared, len(a.shingles) + len(b.shingles) - shared)


def expected(
    rows: Sequence[Row],
    alike: Mapping[tuple[int, int], Fraction],
    how: str,
    rank: Sequence[int],
    *,
    across: bool,
    none: bool = False,
) -> Expected:
    """Return what a run finds; ``alike`` holds the pairs of rows at or above the threshold, whatever their values.

    Rows with the same tokens and values are one document, of which the first row stands for all in pairs.
    """
    first: dict[Hashable, int] = {}
    of = [first.setdefault((row.tokens, row.within, row.across), k) for k, row in enumerate(rows)]
    heads = sorted(set(of))
    number = {row: k for k, row in enumerate(heads)}

    def may(a: int, b: int) -> bool:
        return rows[a].within == rows[b].within and (not across or rows[a].across != rows[b].across)

    pairs = {(a, b): j for (a, b), j in alike.items() if a in number and b in number and may(a, b)}
    best = [min((k for k in range(len(rows)) if of[k] == head), key=rank.__getitem__) for head in heads]
    order = sorted(range(len(heads)), key=lambda k: rank[best[k]])
    doc_rank = [order.index(k) for k in range(len(heads))]
    numbered = {(number[a], number[b]): j for (a, b), j in pairs.items()}
    found = expected_groups(how, numbered, doc_rank)
    if not across:  # copies alone are a group as well
        members = {k: {k} for k in range(len(heads))}
        for head, of_group in found.items():
            for k in of_group - {head}:
                members.pop(k)  # type: ignore[arg-type]
            members[head] = set(of_group)  # type: ignore[index, assignment]
        found = {head: frozenset(of_group) for head, of_group in members.items()}
    groups: dict[int, set[int]] = {}
    for head, documents in found.items():
        inside = {k for k in range(len(rows)) if number[of[k]] in documents}
        if len(inside) > 1:
            groups[best[head]] = inside  # type: ignore[index]
    removed = set()
    for head, inside in groups.items():
        for k in inside:
            stays = k == head or (across and rows[k].across == rows[head].across)
            if none or not stays:
                removed.add(k)
    return Expected(set(pairs), groups, removed)


def ranked(rows: int, *keys: Callable[[int], tuple[bool, object]]) -> list[int]:
    """Return the rank of each row: by each key, (whether the value is missing, value), then by input order."""
    order = sorted(range(rows), key=lambda k: [*(key(k) for key in keys), k])  # type: ignore[misc]
    rank = [0] * rows
    for place, k in enumerate(order):
        rank[k] = place
    return rank


def counted(rows: Sequence[Row], groups: Mapping[int, set[int]], removed: set[int]) -> dict[int, tuple[int, int]]:
    """Return for each row that stays the exact and near copies that it represents."""
    counts = {k: [0, 0] for k in range(len(rows)) if k not in removed}
    for head, inside in groups.items():
        for k in sorted(inside & removed):
            mine = (rows[k].tokens, rows[k].within, rows[k].across)
            same = [
                other
                for other in (head, *sorted(inside))
                if other in counts and (rows[other].tokens, rows[other].within, rows[other].across) == mine
            ]
            if same:
                counts[same[0]][0] += 1
            elif head in counts:
                counts[head][1] += 1
    return {k: (exact, near) for k, (exact, near) in counts.items()}
