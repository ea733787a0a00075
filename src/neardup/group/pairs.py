"""Pairs of ids from anywhere → groups, by the rules of a run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.group.leaders import GroupRules, group
from neardup.join.criterion import every_pair
from neardup.measures import MEASURES
from neardup.settings import Settings
from neardup.tables import verified_table

Id = TypeVar("Id", bound=Hashable)

_PARTS = 1_000_000_000
"""Similarities are compared as whole numbers of these parts."""


def group_pairs(
    pairs: Iterable[Sequence[Any]], *, how: str = "principal", order: Iterable[Any] | None = None
) -> list[list[Any]]:
    """Group the ids of ``pairs``: (a, b), or (a, b, similarity) with a similarity from 0 to 1.

    Ids are any hashable values. ``how`` is one of the rules of ``--groups``: ``principal``: each member is in a
    pair with its representative, the most similar one if there are several; ``components``: linked through any
    chain of pairs; ``complete``: any two members are a pair. ``order`` lists ids from the best representative to
    the worst; ids that it lacks follow in the order of the pairs.

    Returns the groups of at least two ids, the representative first, then the members in order. Raises InputError
    for other pairs, and SettingError for another rule.

    >>> chain = [("a", "b"), ("b", "c"), ("d", "e")]
    >>> group_pairs(chain), group_pairs(chain, how="components")
    ([['a', 'b'], ['d', 'e']], [['a', 'b', 'c'], ['d', 'e']])
    >>> group_pairs(chain, order="b")
    [['b', 'a', 'c'], ['d', 'e']]
    """
    formula = MEASURES["resemblance"].formula
    grouping = Settings.of(groups=how).grouping
    rules = GroupRules(every_pair(formula), formula, grouping, threads=0)
    listed = [_pair(pair) for pair in pairs]
    first = [] if order is None else list(order)
    names = list(dict.fromkeys(chain(first, *((a, b) for a, b, _ in listed))))
    number = {name: place for place, name in enumerate(names)}
    found = _verified([(number[a], number[b], similarity) for a, b, similarity in listed])
    rank = np.arange(len(names))
    leader = group(found, None, rank, 0, rules).leader
    groups: dict[int, list[Any]] = {}
    for place, head in enumerate(leader.tolist()):
        groups.setdefault(head, [names[head]])
        if place != head:
            groups[head].append(names[place])
    return [groups[head] for head in sorted(groups) if len(groups[head]) > 1]


def _verified(listed: list[tuple[int, int, float]]) -> pa.Table:
    """The VERIFIED table of numbered pairs, each once, with counts of these similarities."""
    best: dict[tuple[int, int], int] = {}
    for one, other, similarity in listed:
        if one != other:
            key = min(one, other), max(one, other)
            best[key] = max(best.get(key, 0), round(similarity * _PARTS))
    ends = np.array(list(best), np.int64).reshape(-1, 2)
    shared = np.array(list(best.values()), np.int64)
    # a set of all parts and a subset of the shared ones have this resemblance
    return verified_table(ends[:, 0], ends[:, 1], shared, np.full(len(shared), _PARTS), shared)


def _pair(pair: Sequence[Any]) -> tuple[Any, Any, float]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):
        raise InputError(f"A pair is {pair!r}"[:100], "(a, b) or (a, b, similarity)")
    similarity = pair[2] if len(pair) == 3 else 1.0
    if isinstance(similarity, bool) or not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
        raise InputError(f"The similarity of a pair is {similarity!r}"[:100], "A number from 0 to 1")
    return pair[0], pair[1], float(similarity)
