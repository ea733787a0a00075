"""Documents → every pair with enough text in common in the same order.

A common subsequence is a common multiset of tokens: 2·LCS / (a + b) ≥ t only if the Dice coefficient of the two
multisets is at least t, that is, if their resemblance is at least t / (2 − t). So the exact join on multisets of
tokens (``prefix_join.py``) proposes every pair. Its pairs are counted by their longest common subsequence
(``common_text.py``).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from neardup.join.common_text import CommonText, Streams, counting_of, pairs_of
from neardup.join.criterion import criterion_of
from neardup.join.prefix_join import candidates_of, join_hubs
from neardup.join.rows import Rows
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion
from neardup.runtime import Progress
from neardup.settings import ratio
from neardup.tables import VERIFIED, Int64s


def join_in_order(rows: Rows, progress: Progress, rank: Int64s | None = None) -> CommonText:
    """Find every pair of documents at or above the threshold, except pairs of two of the reference set.

    With ``rank``, the pairs within a crowd are only those with leaders (``common_crowds.py``).
    """
    documents, settings = np.arange(len(rows.unique)), rows.settings
    if not len(documents):
        return CommonText(VERIFIED.empty_table(), 0, 0)
    with progress.stage("shingles", len(documents), "documents"):
        bags = rows.sets("bag")
        held = bags.get(documents)  # the store keeps nothing alive by itself
        streams = rows.sets("tokens").get(documents).sets
    with progress.stage("join", len(documents), "documents"):
        criterion = of_multisets(settings.search.threshold)
        index = join_hubs(documents, len(documents), bags, criterion, settings.work.threads, rows.related)
        del held
    with progress.stage("lcs", len(documents), "documents") as advance:
        wanted, counting = criterion_of(settings.search), counting_of(settings.search, settings.shingles)
        tokens = Streams(streams, wanted, counting, settings.work.threads)
        meets = partial(candidates_of, criterion)
        return pairs_of(index, meets, tokens, rows.first_new_document, rank, advance)


def of_multisets(threshold: float) -> Criterion:
    """The criterion that the token multisets of a pair meet if the pair reaches the ``threshold``.

    >>> of_multisets(0.8)
    Criterion(numerator=4, denominator=6, measure=0)
    """
    numerator, denominator = ratio(threshold)
    return Criterion(numerator, 2 * denominator - numerator, RESEMBLANCE)
