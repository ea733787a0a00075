"""Groups of an exact join in parts: each is grouped by itself, since no pair has its documents in two of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.group.leaders import Crowd, Grouped, group, merged
from neardup.join.exact_parts import ExactParts
from neardup.kernels.sets import Criterion
from neardup.settings import Settings
from neardup.tables import VERIFIED, Int64s, column, verified_table


def group_parts(
    parts: ExactParts, rank: Int64s, first_new: int, criterion: Criterion, settings: Settings
) -> Grouped:
    """Group the documents as ``leaders.group`` does from one index of all of them; ``rank`` is a permutation."""
    leader, limited = np.arange(len(rank)), np.zeros(len(rank), np.bool_)
    tables, crowds, popular = [VERIFIED.empty_table()], [], [np.empty(0, np.int64)]
    for documents, index in parts.indexes():
        among = np.argsort(np.argsort(rank[documents]))
        old = int(np.searchsorted(documents, first_new))
        made = group(VERIFIED.empty_table(), index, among, old, criterion, settings)
        leader[documents], limited[documents] = documents[made.leader], made.limited
        tables.append(_renamed(made.pairs, documents))
        crowds += [Crowd(int(documents[crowd.leader]), crowd.members, crowd.left_out) for crowd in made.crowds]
        popular.append(documents[made.popular])
    in_order = tuple(sorted(crowds, key=lambda crowd: crowd.leader))
    return Grouped(leader, merged(*tables), in_order, np.sort(np.concatenate(popular)), limited)


def _renamed(pairs: pa.Table, documents: Int64s) -> pa.Table:
    """The pairs of a part, by the numbers of their documents in the run."""
    a, b, *counts = (column(pairs, name) for name in VERIFIED.names)
    return verified_table(documents[a], documents[b], *counts)
