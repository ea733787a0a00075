"""Why documents of the pairs that a run found stay."""

from __future__ import annotations

import numpy as np

from neardup.display import counted, number
from neardup.group.decide import Decisions
from neardup.group.rows import JudgedRows
from neardup.join.pair_file import Pairs, batches
from neardup.measures import MEASURES
from neardup.settings import Keep, SearchSettings, ratio
from neardup.settings.rules import listed
from neardup.tables import Int64s, column


def why_nothing_goes(
    search: SearchSettings, keep: Keep, decisions: Decisions, pairs: Pairs, rows: Int64s, first_new: int
) -> list[str]:
    """Explain in a sentence why a run found ``pairs`` but removed nothing, though it may; empty for other runs.

    ``rows`` are the rows of the document numbers in ``pairs``; the rows before ``first_new`` are a reference set.
    """
    # not those within the reference set
    found = sum(int(np.count_nonzero(rows[column(some, "b")] >= first_new)) for some in batches(pairs))
    if decisions.none_goes or not found or not decisions.kept.all():
        return []
    directed = MEASURES[search.measure].directed
    if keep.only_contained > 0 and len(decisions.rows):
        share = f"{keep.only_contained:g}"
        why = f"the documents that stay hold less than {share} of the shingles of the others (only_contained)"
    elif keep.lose < 1 and decisions.lost is not None and decisions.lost.spared.any():
        share = f"{keep.lose:g}"
        why = f"each document would lose more than {share} of its shingles (lose)"
    elif directed and not first_new:
        why = (
            f"a document goes if it is contained in one that keep {' then '.join(listed(keep.keep))} "
            "prefers, and the preferred ones are contained in the others. keep longest prefers these"
        )
    else:
        return []
    return [f"{counted(found, 'pair')} found, nothing removed: {why}"]


def why_holders_stay(
    search: SearchSettings, keep: Keep, rows: JudgedRows, decisions: Decisions, pairs: Pairs
) -> list[str]:
    """Say how many new documents hold one of the reference set and stay, and the setting that removes them.

    Only for a measure with a direction, by which a new document goes if it is itself held in the other one.
    """
    directed = MEASURES[search.measure].directed
    if not rows.first_new or not directed or keep.held != Keep().held or decisions.none_goes:
        return []
    numerator, denominator = ratio(search.threshold)
    holds = np.zeros(len(rows), np.bool_)
    for some in batches(pairs):
        old = rows.unique[column(some, "a")] < rows.first_new
        inside = column(some, "shared") * denominator >= numerator * column(some, "size_a")
        holds[rows.unique[column(some, "b")[old & inside]]] = True
    holders = holds[rows.copy_of] | (rows.copy_of < rows.first_new)  # copies of one hold it, too
    holders[: rows.first_new] = False
    found = int(np.count_nonzero(holders))
    holders[decisions.gone] = False
    stay = int(np.count_nonzero(holders))
    if not stay:
        return []
    holding = f"{counted(found, 'document')} that hold a document of the reference set"
    threshold = f"{search.threshold:g}"
    return [
        f"{number(stay)} of {holding} to {threshold} or more stay, because with held new-in-old a document goes "
        "only if it is itself held in one of the reference set. held old-in-new removes them"
    ]
