"""Evaluate a plan on a collection: look-ups, a comparison with the text of each candidate, set operations."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    QueryPlan,
    Step,
    WordsStep,
)
from neardup.collection.query.syntax import Stored, clause_text
from neardup.errors import QueryError
from neardup.tables import Bools, Int64s

_SHOWN = 80
"""The most characters of a clause in an error."""


@dataclass(frozen=True, eq=False)
class Counts:
    """|A∩B| and |B| of documents (int64[n] each, documents sorted), counted on the texts without base text.

    ``full_sizes`` are the sizes with base text.
    """

    documents: Int64s
    shared: Int64s
    sizes: Int64s
    full_sizes: Int64s

    def where(self, chosen: Bools) -> Counts:
        """The counts of the chosen documents."""
        return Counts(*(column[chosen] for column in _columns(self)))


class Evaluation:
    """One run of a plan.

    ``include_self``: a stored query document may be found by its own clause. ``most_candidates``: above this
    number of documents to compare, QueryError is raised instead.
    """

    def __init__(
        self, plan: QueryPlan, lookups: Lookups, *, include_self: bool = False, most_candidates: int | None = None
    ) -> None:
        self.plan, self.lookups = plan, lookups
        self.include_self, self.most_candidates = include_self, most_candidates
        self.letters = {step: LETTERS[step.way] for step in plan.fingerprints}
        self._counted: dict[FingerprintStep, Counts] = {}
        self._held: dict[FingerprintStep, tuple[Int64s, Int64s]] = {}

    @property
    def taken(self) -> str:
        """The letters of the methods that were used, for ``plan`` of the next page."""
        return "".join(self.letters[step] for step in self.plan.fingerprints)

    def documents(self) -> Int64s:
        """All documents that match, sorted."""
        return self.of(self.plan.root, None)

    def of(self, step: Step, within: Int64s | None) -> Int64s:
        """The documents that a step finds; with ``within``, only among these."""
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

    def found(self, step: FingerprintStep, documents: Int64s) -> Int64s:
        """Those of the documents that the look-ups of a clause with numbers found, sorted."""
        known = self._counted.get(step)
        if known is None:  # AND had no document left for it
            return np.empty(0, np.int64)
        return np.intersect1d(known.documents, documents, assume_unique=True)

    def counts(self, step: FingerprintStep, documents: Int64s) -> Counts:
        """The counts of any documents; earlier counts are reused."""
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

    def held(self, step: FingerprintStep, documents: Int64s) -> Int64s:
        """int64[n]: how many of the shingles that a step looks up the documents have postings for."""
        found, hits = self._held.get(step) or self.lookups.holders(step.sampled, 1, documents)
        places = np.minimum(np.searchsorted(found, documents), max(len(found) - 1, 0))
        held: Int64s = (
            np.where(found[places] == documents, hits[places], 0) if len(found) else np.zeros_like(documents)
        )
        return held

    def _fingerprint(self, step: FingerprintStep, within: Int64s | None) -> Int64s:
        if step.way == "sample":
            documents, hits = self.lookups.holders(step.sampled, 1, within)
            if within is None:
                self._held[step] = documents, hits
            return self._without_self(step, documents)
        if within is not None and len(within) <= step.candidates:
            self.letters[step] = LETTERS["every document"]  # few: comparing them all is exact and no slower
            candidates = within
        else:
            candidates = self._candidates(step)
            if within is not None:
                candidates = np.intersect1d(candidates, within, assume_unique=True)
        candidates = self._without_self(step, candidates)
        counts = self._count(step, candidates, step.possible_sizes())
        found = counts.where(step.reached_by(counts.shared, counts.sizes))
        self._counted[step] = found
        return found.documents

    def _without_self(self, step: FingerprintStep, documents: Int64s) -> Int64s:
        if self.include_self or step.negated or step.target.number is None:
            return documents
        others: Int64s = documents[documents != step.target.number]
        return others

    def _candidates(self, step: FingerprintStep) -> Int64s:
        if step.way == "every document":
            return self.lookups.everything()
        documents, _ = self.lookups.holders(step.sampled, step.hits)
        return np.unique(np.concatenate([documents, *map(self.lookups.having, step.phrases)]))

    def _require_few(self, step: FingerprintStep, documents: Int64s) -> None:
        if self.most_candidates is not None and len(documents) > self.most_candidates:
            number = step.target.number
            source = step.clause.source if number is None else Stored(self.lookups.ids(np.array([number]))[0])
            clause = clause_text(replace(step.clause, source=source, overlap=None, probability=None))
            quick = clause if len(clause) <= _SHOWN else f"{clause[:_SHOWN]}…"
            raise QueryError(
                f"{len(documents):,} documents would have to be compared with {step.target.name}",
                f"At most {self.most_candidates:,} are here",
                "Ask for more overlap, add words or metadata with AND, "
                f"or write {quick} for the documents that share a sampled shingle, which compares none",
                query=self.plan.query.text,
                position=step.clause.span[0],
            )

    def _count(self, step: FingerprintStep, documents: Int64s, possible: tuple[int, int] = (0, 0)) -> Counts:
        """The counts of the documents whose size is possible (a largest size of 0: no upper limit)."""
        base, full = self.lookups.base, self.lookups.sizes(documents)
        fits = full >= possible[0]
        if possible[1] and not len(base):  # less than the full size may count
            fits &= full <= possible[1]
        documents, full = documents[fits], full[fits]
        self._require_few(step, documents)
        sizes = full - self.lookups.shared(base.hashes, documents, full) if len(base) else full
        return Counts(documents, self.lookups.shared(step.target.hashes, documents, full), sizes, full)


def _without(documents: Int64s, others: Int64s) -> Int64s:
    return np.setdiff1d(documents, others, assume_unique=True)


def _columns(counts: Counts) -> tuple[Int64s, ...]:
    return counts.documents, counts.shared, counts.sizes, counts.full_sizes
