"""The audit itself, and its conclusions about the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.intervals import Sampled, Share, share_of_totals, wilson
from neardup.join.criterion import criterion_of
from neardup.join.rows import Rows
from neardup.measures import MEASURES
from neardup.run.audit.count import Count, Known, Reported, Tally
from neardup.run.audit.sample import Strata, draw, strata_of
from neardup.runtime import Advance
from neardup.settings import SearchSettings
from neardup.tables import VERIFIED, Int64s, column, verified_table


@dataclass(frozen=True)
class Stratum:
    """The counts of one stratum: its documents, those drawn, the true pairs of the drawn, and the found pairs.

    ``with_partners`` of the drawn documents have a true pair, and ``reached`` of the documents have a found one.
    """

    name: str
    documents: int
    drawn: int
    pairs: int
    found: int
    with_partners: int
    reached: int

    def as_dict(self) -> dict[str, Any]:
        """As plain data, with the recall and its Wilson interval; exact if the stratum was drawn whole."""
        trials = inf if self.drawn == self.documents else self.pairs
        recall = wilson(self.found / self.pairs, trials) if self.pairs else None
        return {**vars(self), **_plain(recall)}


@dataclass(frozen=True)
class Audit:
    """The outcome: the drawn documents have ``pairs`` true pairs, and the run ``found`` some of them.

    ``recall`` of pairs and ``reach`` of documents (the share with a partner that have at least one found pair) are
    estimates for the whole input; None if there are no pairs to find. ``missed`` is a VERIFIED table.
    """

    strata: tuple[Stratum, ...]
    pairs: int
    found: int
    recall: Share | None
    reach: Share | None
    missed: pa.Table

    def as_dict(self) -> dict[str, Any]:
        """The data for ``run.json``."""
        totals = {
            name: sum(getattr(stratum, name) for stratum in self.strata)
            for name in ("documents", "drawn", "with_partners", "reached")
        }
        return {
            "documents": totals["documents"],
            "drawn": totals["drawn"],
            "pairs": self.pairs,
            "found": self.found,
            **_plain(self.recall),
            "by_document": {key: totals[key] for key in ("with_partners", "reached")} | _plain(self.reach),
            "strata": [stratum.as_dict() for stratum in self.strata],
        }


def audit(rows: Rows, reported: Reported, search: SearchSettings, advance: Advance) -> Audit:
    """Draw the number of documents in the settings and compare them with all; ``advance`` counts documents.

    Every pair that the run looks for has an end in the new input, so only documents of the new input are drawn.
    The choice does not depend on the number of threads.
    """
    first_new = rows.first_new_document
    units = rows.units[rows.unique[first_new:]]
    if not len(units):
        return Audit((), 0, 0, None, None, VERIFIED.empty_table())
    wanted, features = search.audit, MEASURES[search.measure].features
    strata = strata_of(units, reported.has_pair()[first_new:], wanted)
    drawn = draw(strata, wanted)
    known = Known(rows.unique, first_new, criterion_of(search), reported, rows.related)
    count = Count(rows.sets(features).get(drawn + first_new).only(drawn + first_new), strata.of[drawn], known)
    tally = _total(rows.corpus.with_shingle_sets(rows.unique, count.of_chunk, features), advance)
    return _outcome(strata, strata.of[drawn], tally, most=2 if first_new else 1)


def _total(tallies: Iterable[Tally], advance: Advance) -> Tally:
    """The sum of the tallies of all chunks; there is at least one chunk."""
    found: Tally | None = None
    for tally in tallies:
        advance(tally.documents)
        found = tally if found is None else found + tally
    assert found is not None
    return found


def _outcome(strata: Strata, stratum: Int64s, tally: Tally, most: int) -> Audit:
    """The audit of drawn documents, each with its ``stratum``; a pair adds up to ``most`` to one of them."""
    partnered, reached = (tally.of > 0).astype(np.int64), (tally.hits > 0).astype(np.int64)
    members = [stratum == k for k in range(len(strata.names))]
    sizes = strata.sizes.tolist()
    seen = [
        Stratum(
            name,
            sizes[k],
            int(members[k].sum()),
            int(tally.stratum_pairs[k]),
            int(tally.stratum_found[k]),
            int(partnered[members[k]].sum()),
            int(reached[members[k]].sum()),
        )
        for k, name in enumerate(strata.names)
    ]
    pairs = [Sampled(size, tally.hits[mine], tally.of[mine]) for size, mine in zip(sizes, members, strict=True)]
    documents = [Sampled(size, reached[mine], partnered[mine]) for size, mine in zip(sizes, members, strict=True)]
    missed = verified_table(*(column(tally.missed, name) for name in VERIFIED.names))
    recall, reach = share_of_totals(pairs, most), share_of_totals(documents)
    return Audit(tuple(seen), tally.pairs, tally.found, recall, reach, missed)


def _plain(share: Share | None) -> dict[str, float | None]:
    if share is None:
        return {"recall": None, "low": None, "high": None}
    return {"recall": share.value, "low": share.low, "high": share.high}
