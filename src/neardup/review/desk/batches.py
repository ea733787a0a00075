"""The work of the people of a review: their sittings."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from neardup.io.decisions import Action, Id
from neardup.review import source
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.verdicts import VERDICTS, VerdictIndex

K = TypeVar("K")

PAUSE = 15 * 60.0
"""Seconds between two actions of one sitting, at most."""
MOST_ACTIONS = 5000
"""Actions that are looked through for a sitting."""


def time_of(action: Action) -> float:
    """Return the time of an action in seconds."""
    return datetime.fromisoformat(action.at).timestamp()


def last_sitting(actions: Iterable[Action], by: str) -> list[Action]:
    """Return the actions of the last sitting of a person, the latest first, as ``actions`` are."""
    mine: list[Action] = []
    for action in actions:
        if mine and time_of(mine[-1]) - time_of(action) >= PAUSE:
            break
        if action.by == by:
            mine.append(action)
    return mine


def sitting_view(index: ResultIndex, verdicts: VerdictIndex, actions: list[Action]) -> source.Sitting | None:
    """Return the work of a person in the actions of a sitting, the latest first; None without actions.

    Verdicts, notes, fates and representatives are counted as they hold; tags by their actions that are not undone.
    """
    if not actions:
        return None
    state, begin, by = verdicts.state, actions[-1].number, actions[-1].by

    def mine(decisions: Mapping[K, Any]) -> dict[K, Any]:
        return {key: one for key, one in decisions.items() if one.by == by and one.action >= begin}

    judged, done = mine(state.judgements), [action for action in actions if action.undone_by is None]
    pairs_of = {verdict: [pair for pair, one in judged.items() if one.verdict == verdict] for verdict in VERDICTS}
    noted = [*judged.values(), *mine(state.notes).values()]
    others = (
        ("tags", sum(one.changes for one in done if one.undoes is None and one.what.startswith("tag "))),
        ("notes", sum(bool(one.note) for one in noted)),
        ("fates", len(mine(state.fates))),
        ("representatives", len(mine(state.choices))),
        ("actions undone", sum(one.undoes is not None for one in done)),
    )
    return source.Sitting(
        by,
        actions[-1].at,
        actions[0].at,
        time_of(actions[0]) - time_of(actions[-1]),
        tuple(_line(index, verdict, pairs) for verdict, pairs in pairs_of.items() if pairs),
        _line(index, "", list(judged)),
        others,
    )


def _line(index: ResultIndex, words: str, pairs: list[tuple[Id, Id]]) -> source.SittingLine:
    known = [index.documents.number(id) for pair in pairs for id in pair]
    documents = np.unique(np.array([number for number in known if number is not None], np.int64))
    groups = np.unique(index.group_of[documents])
    return source.SittingLine(words, len(pairs), len(documents), int((groups >= 0).sum()))
