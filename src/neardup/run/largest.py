"""The largest groups of a run, with the first words of some members: a first look at documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.display.view import excerpt
from neardup.run.records import Id
from neardup.run.stages.result import Outcome

_WIDEST = 500
"""Columns of the first words; a terminal shows fewer."""
_READ = 8 * _WIDEST
"""Bytes of a text that are looked at for its first words."""


@dataclass(frozen=True)
class GroupMember:
    """A member: its id, its first words on one line, and its similarity to the representative (None: unknown)."""

    id: Id
    words: str
    similarity: float | None
    is_copy: bool
    is_representative: bool


@dataclass(frozen=True)
class LargeGroup:
    """A group: the number of its members, and the first ones, the representative first."""

    size: int
    members: tuple[GroupMember, ...]


def largest_groups(outcome: Outcome, most: int, members: int) -> list[LargeGroup]:
    """Return at most ``most`` groups, the largest first, with at most ``members`` each; texts are read again."""
    decisions = outcome.run.decisions
    heads, first, sizes = np.unique(decisions.representative_row, return_index=True, return_counts=True)
    order = np.lexsort((heads, -sizes))[:most].tolist()
    entries = [range(int(first[i]), int(first[i]) + min(int(sizes[i]), members)) for i in order]
    rows = decisions.rows[[at for entry in entries for at in entry]] if entries else np.empty(0, np.int64)
    words = _first_words(outcome, np.unique(rows).tolist())
    ids = dict(zip(rows.tolist(), outcome.run.judged_rows.ids.of(rows).to_pylist(), strict=True))

    def member(at: int) -> GroupMember:
        row, similarity = int(decisions.rows[at]), float(decisions.similarity[at])
        kinds = bool(decisions.exact[at]), bool(decisions.is_representative[at])
        return GroupMember(ids[row], words.get(row, ""), None if np.isnan(similarity) else similarity, *kinds)

    return [LargeGroup(int(sizes[i]), tuple(map(member, entry))) for i, entry in zip(order, entries, strict=True)]


def _first_words(outcome: Outcome, rows: Sequence[int]) -> dict[int, str]:
    """The beginnings of the texts of some rows, on one line each."""
    texts = outcome.found.texts
    if texts is None or not rows:
        return {}
    read = texts.each(np.array(rows, np.int64))
    return {row: excerpt(text[:_READ].decode("utf-8", "replace"), _WIDEST) for row, text in read}
