"""A plan + a collection → the documents that fit: look-ups, a comparison with each candidate's text, sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.collection.lookups import Lookups
from neardup.collection.query.metadata import compared
from neardup.collection.query.plan import (
    LETTERS,
    AllStep,
    AnyStep,
    ComparisonStep,
    FingerprintStep,
    NotStep,
    Plan,
    Step,
    WordsStep,
)
from neardup.errors import QueryError
from neardup.kernels.sets import count_shared
from neardup.tables import Bools, Int64s

BATCH, MOST_SHINGLES = 256, 4_000_000
"""So many documents, and shingles of more than one, are held at a time."""


@dataclass(frozen=True, eq=False)
class Counts:
    """|A∩B| and |B| of documents (int64[n] each, documents sorted), counted on all shingles of the texts."""

    documents: Int64s
    shared: Int64s
    sizes: Int64s

    def where(self, chosen: Bools) -> Counts:
        """Those of some of the documents."""
        return Counts(self.documents[chosen], self.shared[chosen], self.sizes[chosen])


class Evaluation:
    """One run of a plan.

    ``include_self``: a stored query document may be found by its own clause. ``most_candidates``: more documents
    than these are not compared; QueryError instead.
    """

    def __init__(
        self, plan: Plan, lookups: Lookups, *, include_self: bool = False, most_candidates: int | None = None
    ) -> None:
        self.plan, self.lookups = plan, lookups
        self.include_self, self.most_candidates = include_self, most_candidates
        self.letters = {step: LETTERS[step.way] for step in plan.fingerprints}
        self._counted: dict[FingerprintStep, Counts] = {}

    @property
    def taken(self) -> str:
        """The letters of the ways that were taken, for ``plan`` of the next page."""
        return "".join(self.letters[step] for step in self.plan.fingerprints)

    def documents(self) -> Int64s:
        """All documents that fit, sorted."""
        return self.of(self.plan.root, None)

    def of(self, step: Step, within: Int64s | None) -> Int64s:
        """The documents that a step finds; ``within``: only among these."""
        if isinstance(step, FingerprintStep):
            return self._fingerprint(step, within)
        if isinstance(step, WordsStep):
            return self.lookups.phrase(step.tokens, within)
        if isinstance(step, ComparisonStep):
            return compared(step.clause, self.lookups, within)
        if isinstance(step, AnyStep):
            return np.unique(np.concatenate([self.of(part, within) for part in step.parts]))
        if isinstance(step, NotStep):
            all_of_them = self.lookups.everything() if within is None else within
            return _without(all_of_them, self.of(step.part, within))
        return self._all(step, within)

    def counts(self, step: FingerprintStep, documents: Int64s) -> Counts:
        """The counts of any documents; what was counted before is not counted again."""
        known = self._counted.get(step)
        if known is None:
            return self._count(step, documents)
        missing = _without(documents, known.documents)
        if len(missing):
            more = self._count(step, missing)
            merged = [np.concatenate(pair) for pair in zip(_columns(known), _columns(more), strict=True)]
            order = np.argsort(merged[0])
            known = Counts(*(values[order] for values in merged))
        return known.where(np.isin(known.documents, documents, assume_unique=True))

    def _all(self, step: AllStep, within: Int64s | None) -> Int64s:
        for part in step.parts:
            within = self.of(part, within)
            if not len(within):
                break
        assert within is not None
        return within

    def _fingerprint(self, step: FingerprintStep, within: Int64s | None) -> Int64s:
        if within is not None and len(within) <= step.candidates:
            self.letters[step] = LETTERS["every document"]  # of so few: surer than to look up, and no dearer
            candidates = within
        else:
            candidates = self._candidates(step)
            if within is not None:
                candidates = np.intersect1d(candidates, within, assume_unique=True)
        if not (self.include_self or step.negated or step.target.number is None):
            candidates = candidates[candidates != step.target.number]
        candidates = self._of_possible_size(step, candidates)
        self._require_few(step, candidates)
        counts = self._count(step, self._sharing_enough(step, candidates))
        found = counts.where(step.reached_by(counts.shared, counts.sizes))
        self._counted[step] = found
        return found.documents

    def _candidates(self, step: FingerprintStep) -> Int64s:
        if step.way == "every document":
            return self.lookups.everything()
        documents, _ = self.lookups.holders(step.sampled, step.hits)
        return np.unique(np.concatenate([documents, *map(self.lookups.having, step.phrases)]))

    def _of_possible_size(self, step: FingerprintStep, documents: Int64s) -> Int64s:
        smallest, largest = step.possible_sizes()
        sizes = self.lookups.sizes(documents)
        fits = sizes >= smallest
        return documents[fits & (sizes <= largest) if largest else fits]

    def _sharing_enough(self, step: FingerprintStep, documents: Int64s) -> Int64s:
        own, least = step.target.hashes, step.least
        parts = (documents[batch] for batch in batches(self.lookups.sizes(documents)))
        found = [self.lookups.sharing(own, least, part) for part in parts]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _require_few(self, step: FingerprintStep, documents: Int64s) -> None:
        if self.most_candidates is not None and len(documents) > self.most_candidates:
            raise QueryError(
                f"{len(documents):,} documents would have to be compared with {step.target.name}",
                f"At most {self.most_candidates:,} are here",
                "Ask for more overlap, or add words or metadata with AND",
                query=self.plan.query.text,
                position=step.clause.span[0],
            )

    def _count(self, step: FingerprintStep, documents: Int64s) -> Counts:
        self._require_few(step, documents)
        shared, sizes = np.empty(len(documents), np.int64), np.empty(len(documents), np.int64)
        hashes = step.target.hashes
        for batch in batches(self.lookups.sizes(documents)):
            found, offsets = self.lookups.shingle_sets(documents[batch])
            count_shared(hashes, found, offsets, shared[batch])
            sizes[batch] = np.diff(offsets)
        return Counts(documents, shared, sizes)


def batches(sizes: Int64s) -> Iterator[slice]:
    """Slices of documents of these numbers of shingles, so that what is held at a time is bounded."""
    begin = 0
    while begin < len(sizes):
        fit = np.searchsorted(np.cumsum(sizes[begin : begin + BATCH]), MOST_SHINGLES, side="right")
        end = begin + max(1, int(fit))
        yield slice(begin, end)
        begin = end


def _without(documents: Int64s, others: Int64s) -> Int64s:
    return np.setdiff1d(documents, others, assume_unique=True)


def _columns(counts: Counts) -> tuple[Int64s, Int64s, Int64s]:
    return counts.documents, counts.shared, counts.sizes
