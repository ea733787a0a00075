"""Why a run that found pairs removes no documents."""

from __future__ import annotations

import numpy as np

from neardup.display import counted
from neardup.group.decide import Decisions
from neardup.join.pair_file import Pairs, batches
from neardup.measures import MEASURES
from neardup.settings import Settings
from neardup.settings.rules import listed
from neardup.tables import Int64s, column


def why_nothing_goes(
    settings: Settings, decisions: Decisions, pairs: Pairs, rows: Int64s, first_new: int
) -> list[str]:
    """Explain in a sentence why a run found ``pairs`` but removed nothing, though it may; empty for other runs.

    ``rows`` are the rows of the document numbers in ``pairs``; the rows before ``first_new`` are a reference set.
    """
    # not those within the reference set
    found = sum(int(np.count_nonzero(rows[column(some, "b")] >= first_new)) for some in batches(pairs))
    if decisions.none_goes or not found or not decisions.kept.all():
        return []
    directed = MEASURES[settings.search.measure].directed
    if settings.keep.only_contained > 0 and len(decisions.rows):
        share = f"{settings.keep.only_contained:g}"
        why = f"the documents that stay hold less than {share} of the shingles of the others (only_contained)"
    elif settings.keep.lose < 1 and decisions.lost is not None and decisions.lost.spared.any():
        share = f"{settings.keep.lose:g}"
        why = f"each document would lose more than {share} of its shingles (lose)"
    elif directed and first_new:
        why = (
            "documents of the reference set are contained in new ones, and a document goes if it is itself "
            "contained in one that stays. The pairs are listed; measure overlap removes their new documents"
        )
    elif directed:
        why = (
            f"a document goes if it is contained in one that keep {' then '.join(listed(settings.keep.keep))} "
            "prefers, and the preferred ones are contained in the others. keep longest prefers these"
        )
    else:
        return []
    return [f"{counted(found, 'pair')} found, nothing removed: {why}"]
