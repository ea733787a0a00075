"""Explain why a document is not among the hits of a query."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from neardup import display
from neardup.collection.evaluate import Evaluation
from neardup.collection.lookups import Lookups
from neardup.collection.query import Query, parse
from neardup.collection.query.plan import (
    LETTERS,
    AllStep,
    AnyStep,
    FingerprintStep,
    Leaf,
    NotStep,
    QueryPlan,
    Step,
    plan,
)
from neardup.collection.query.syntax import clause_text, quoted
from neardup.collection.query.target import Open

Reason = Literal["found", "unknown id", "itself", "below", "missed", "filtered"]


@dataclass(frozen=True)
class Cause:
    """One clause and its part in the result.

    A fingerprint clause has counts; A is the query document.
    """

    reason: Reason
    clause: str
    sentence: str
    shared: int | None = None
    size_a: int | None = None
    size_b: int | None = None


@dataclass(frozen=True)
class WhyNot:
    """The answer: ``reason`` in a word, and every clause that causes it; ``str()`` returns sentences."""

    id: str
    reason: Reason
    causes: tuple[Cause, ...]

    def __str__(self) -> str:
        head = {
            "found": "is among the hits",
            "unknown id": "is not in the collection; ids are written as they were when the documents were added",
        }.get(self.reason, "is not among the hits")
        lines = [f"{quoted(self.id)} {head}."]
        return "\n".join(
            [*lines, *(f"  {display.printable(cause.clause)}: {cause.sentence}" for cause in self.causes)]
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return asdict(self)


def why_not(
    lookups: Lookups,
    query: str | Query,
    id: str,
    *,
    include_self: bool = False,
    open_file: Open | None = None,
) -> WhyNot:
    """Return why the document ``id`` is not found.

    It may be unknown, below the threshold, missed, filtered, or the query document. Every clause is evaluated on
    the document itself, which distinguishes documents that the look-ups missed from documents that do not match.
    Raises QueryError as ``search`` does.
    """
    planned = plan(parse(query) if isinstance(query, str) else query, lookups, open_file)
    document = None if _has_surrogate(id) else lookups.number(id)
    if document is None:
        return WhyNot(id, "unknown id", ())
    evaluation = Evaluation(planned, lookups, include_self=include_self)
    if document in evaluation.documents():
        return WhyNot(id, "found", ())
    inquiry = _Inquiry(planned, evaluation, document, include_self)
    causes = inquiry.missed() if inquiry.fits(planned.root) else inquiry.causes(planned.root, True)
    return WhyNot(id, causes[0].reason, tuple(causes))


def _has_surrogate(id: str) -> bool:
    """Whether the id is not valid Unicode, as an argument of a command may be, and so cannot be a stored id."""
    return any("\ud800" <= char <= "\udfff" for char in id)


class _Inquiry:
    """The evaluation of every clause for one document."""

    def __init__(self, plan: QueryPlan, evaluation: Evaluation, document: int, include_self: bool) -> None:
        self.plan, self.evaluation, self.lookups = plan, evaluation, evaluation.lookups
        self.document, self.include_self = np.array([document], np.int64), include_self

    def fits(self, step: Step) -> bool:
        """Whether the step holds for the document, whatever the look-ups find."""
        if isinstance(step, NotStep):
            return not self.fits(step.part)
        if isinstance(step, AllStep):
            return all(map(self.fits, step.parts))
        if isinstance(step, AnyStep):
            return any(map(self.fits, step.parts))
        if isinstance(step, FingerprintStep):
            counts = self.evaluation.counts(step, self.document)
            return bool(step.reached_by(counts.shared, counts.sizes)[0])
        return bool(len(self.evaluation.of(step, self.document)))

    def causes(self, step: Step, wanted: bool) -> list[Cause]:
        """The clauses that make the step fail (``wanted``) or hold (not ``wanted``)."""
        if isinstance(step, NotStep):
            return self.causes(step.part, not wanted)
        if isinstance(step, AllStep | AnyStep):
            parts = [part for part in step.parts if self.fits(part) != wanted]
            return [cause for part in parts for cause in self.causes(part, wanted)]
        return [self._unfit(step, wanted)]

    def missed(self) -> list[Cause]:
        """The fingerprint clauses that did not find a matching document."""
        positive = [step for step in self.plan.fingerprints if not step.negated and self.fits(step)]
        own = [step for step in positive if step.target.number == self.document[0] and not self.include_self]
        if own:
            said = "it is the query document, which is left out unless it is asked for (--include-self)."
            return [Cause("itself", clause_text(step.clause), said) for step in own]
        return [self._missed(step) for step in positive if not self._is_found_by(step)]

    def _is_found_by(self, step: FingerprintStep) -> bool:
        complete = self.evaluation.letters[step] in (LETTERS["complete"], LETTERS["every document"])
        return complete or self._hits(step) >= step.hits

    def _hits(self, step: FingerprintStep) -> int:
        _, hits = self.lookups.holders(step.sampled, among=self.document)
        return int(hits.sum()) + sum(len(self.lookups.having(words, self.document)) for words in step.phrases)

    def _missed(self, step: FingerprintStep) -> Cause:
        held = self._hits(step)
        said = (
            f"{self._counted(step)}, which is enough, but of the {step.n_lookups} shingles that were looked up it "
            f"holds {held}, and {step.hits} are needed. A higher probability finds more; 100 misses nothing."
        )
        return self._cause("missed", step, said)

    def _unfit(self, step: Leaf, wanted: bool) -> Cause:
        if isinstance(step, FingerprintStep):
            asked = f"{step.target.overlap:f} %" if step.target.overlap else "any overlap"
            if wanted:
                return self._cause("below", step, f"{self._counted(step)}, and {asked} is asked for.")
            return self._cause("filtered", step, f"{self._counted(step)}, which NOT excludes.")
        what = "this does not hold for it." if wanted else "this holds for it, and NOT excludes it."
        return Cause("filtered", clause_text(step.clause), what)

    def _counted(self, step: FingerprintStep) -> str:
        counts = self.evaluation.counts(step, self.document)
        shared, size, n = int(counts.shared[0]), int(counts.sizes[0]), step.target.n
        whole = n + size - shared if step.clause.symmetric else n
        of_what = f"the {whole:,} of both" if step.clause.symmetric else f"the {n:,} of {step.target.name}"
        return f"it shares {shared:,} of {of_what}, {display.percent(shared, whole)}"

    def _cause(self, reason: Reason, step: FingerprintStep, sentence: str) -> Cause:
        counts = self.evaluation.counts(step, self.document)
        sizes = int(counts.shared[0]), step.target.n, int(counts.sizes[0])
        return Cause(reason, clause_text(step.clause), sentence, *sizes)
