"""Turn a syntax tree into look-ups in a collection, with the guaranteed recall and the expected candidates.

Sampled look-ups keep the promise of ``promise.py``. If the sample is too small for it, the rest of the smallest
shingles are looked up by words in the full text: a document that contains a shingle contains its words. For 100 %
the look-ups are complete: of n shingles at least c are shared, so at least one of any n − c + 1 is shared. The
rarest n − c + 1 are looked up, again by postings or by words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from neardup.collection.lookups import Lookups
from neardup.collection.query.merging import merged
from neardup.collection.query.promise import Promise, fewest_lookups, passing, promised
from neardup.collection.query.syntax import And, FieldClause, Fingerprint, Node, Not, Or, Query, WordsClause
from neardup.collection.query.target import Open, Target, target_of
from neardup.collection.query.worded import Worded
from neardup.errors import QueryError
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.normalise import tokens

Way = Literal["sample", "one hit", "several hits", "one hit or words", "complete", "every document"]
"""All sampled shingles, whose holders are the hits; one or several of them, whose holders are candidates; some by
their words; complete look-ups; every document compared.
"""
LETTERS: dict[Way, str] = {
    "sample": "q",
    "one hit": "1",
    "several hits": "s",
    "one hit or words": "w",
    "complete": "c",
    "every document": "e",
}
"""One letter for each method, for page tokens."""

COST_POSTING, COST_LOOKUP, COST_VERIFY = 0.01, 10, 40
"""Approximate costs in microseconds; they choose between methods that all keep the promise."""
COST_SMALL = 20_000
"""A method with at most this cost is used without estimating the cost of complete look-ups."""
FEWER = 4
"""Of documents that could have several hits, by the lengths of the postings, one in this many does (measured)."""
MOST_BY_WORDS = 16
MOST_LOOKUPS = 200_000
"""Choosing among more shingles needs more memory than comparing every document."""

MOST_POSTINGS = 50_000
"""A clause without numbers looks up its rarest sampled shingles: their lists have at most this many documents."""

MOST_WORDS = 100
"""The most words of a phrase: each costs .2 MB and a pass over its list."""


@dataclass(frozen=True, eq=False)
class FingerprintStep:
    """The look-ups of a fingerprint clause.

    At least ``least`` shingles must be shared. A candidate contains ``hits`` or more of the shingles ``sampled``
    (uint64), or all words of any of ``phrases``; these are for shingles that do not have a posting in every
    document that contains them. ``recall`` is guaranteed, ``candidates`` is expected. ``negated``: the clause is
    under NOT, where a miss would be a false hit.

    With the way "sample" the documents that share a sampled shingle are the hits themselves; ``common`` sampled
    shingles, which are in more documents than all others, are not looked up.
    """

    clause: Fingerprint
    target: Target
    least: int
    way: Way
    sampled: UInt64s
    phrases: tuple[tuple[str, ...], ...]
    hits: int
    recall: float
    candidates: float
    negated: bool
    common: int = 0

    @property
    def n_lookups(self) -> int:
        """The number of postings and phrases to look up."""
        return len(self.sampled) + len(self.phrases)

    @property
    def threshold(self) -> Fraction:
        """The requested overlap as a ratio; 0: any."""
        return Fraction(self.target.overlap or 0) / 100

    def reached_by(self, shared: Int64s, sizes: Int64s) -> Bools:
        """bool[n]: the documents with enough overlap, from their shared shingles and sizes; in whole numbers."""
        p, q = self.threshold.numerator, self.threshold.denominator
        whole = self.target.n + sizes - shared if self.clause.symmetric else np.int64(self.target.n)
        enough: Bools = (shared >= 1) & (shared * q >= p * whole)
        return enough

    def possible_sizes(self) -> tuple[int, int]:
        """The smallest and the largest |B| with which enough overlap is possible (a largest of 0: any)."""
        largest = self.target.n / self.threshold if self.clause.symmetric and self.threshold else 0
        return self.least, int(largest)


@dataclass(frozen=True)
class WordsStep:
    """Consecutive tokens to find, and the approximate number of documents that contain the rarest of them."""

    clause: WordsClause
    tokens: tuple[str, ...]
    candidates: float
    recall: float = 1.0


@dataclass(frozen=True)
class ComparisonStep:
    """A comparison of metadata. The number of matching documents is not known in advance."""

    clause: FieldClause
    candidates: float
    recall: float = 1.0


@dataclass(frozen=True)
class NotStep:
    """The documents that ``part`` does not find."""

    part: Step
    candidates: float

    @property
    def recall(self) -> float:
        """The recall of the part: this finds a document unless the part does, which is planned for under NOT."""
        return self.part.recall


@dataclass(frozen=True)
class AllStep:
    """The documents that every part finds, in the order of evaluation: fewest candidates first, NOT last."""

    parts: tuple[Step, ...]
    recall: float

    @property
    def candidates(self) -> float:
        """The candidates of the first part."""
        return self.parts[0].candidates


@dataclass(frozen=True)
class AnyStep:
    """The documents that any part finds."""

    parts: tuple[Step, ...]
    recall: float

    @property
    def candidates(self) -> float:
        """The candidates of all parts together, at most."""
        return sum(part.candidates for part in self.parts)


Leaf = FingerprintStep | WordsStep | ComparisonStep
Step = Leaf | NotStep | AllStep | AnyStep


@dataclass(frozen=True)
class QueryPlan:
    """A query prepared for one collection. ``fingerprints``: its fingerprint steps in the order of the query."""

    query: Query
    root: Step
    fingerprints: tuple[FingerprintStep, ...]
    total: int

    @property
    def recall(self) -> float:
        """The least probability with which a matching document is found."""
        return self.root.recall

    @property
    def candidates(self) -> float:
        """The expected number of documents to examine, an approximate upper bound."""
        return min(self.root.candidates, float(self.total))


def plan(query: Query, lookups: Lookups, open_file: Open | None = None, taken: str = "") -> QueryPlan:
    """Choose the look-ups of a query. Raises QueryError for fields and documents that this collection lacks.

    ``taken`` holds the ``LETTERS`` of the methods that an earlier page used, so that the next page uses the same.
    """
    planner = _Planner(query, lookups, open_file, taken)
    root = planner.step(query.root, False)
    return QueryPlan(query, root, tuple(planner.fingerprints), lookups.total())


class _Planner:
    def __init__(self, query: Query, lookups: Lookups, open_file: Open | None, taken: str) -> None:
        self.query, self.lookups, self.open_file, self.taken = query, lookups, open_file, taken
        self.fingerprints: list[FingerprintStep] = []
        self.counts: dict[str, int] = {}
        self.fields: set[str] = set()
        self.total = lookups.total()

    def step(self, node: Node, negated: bool) -> Step:
        if isinstance(node, Not):
            return NotStep(self.step(node.part, not negated), float(self.total))
        if isinstance(node, Or):
            parts = self.merged(node)
            if len(parts) == 1:
                return self.step(parts[0], negated)
            steps = [self.step(part, negated) for part in parts]
            return AnyStep(tuple(steps), _recall(steps, all_needed=negated))
        if isinstance(node, And):
            parts = self.merged(node)
            if len(parts) == 1:
                return self.step(parts[0], negated)
            steps = [self.step(part, negated) for part in parts]
            in_order = sorted(steps, key=lambda step: (isinstance(step, NotStep), step.candidates))
            return AllStep(tuple(in_order), _recall(steps, all_needed=not negated))
        if isinstance(node, WordsClause):
            return self.words(node)
        if isinstance(node, FieldClause):
            return self.comparison(node)
        return self.fingerprint(node, negated)

    def merged(self, node: And | Or) -> tuple[Node, ...]:
        for part in node.parts:
            inner = part.part if isinstance(part, Not) else part
            if isinstance(inner, FieldClause):
                self.require_field(inner)  # includes superfluous comparisons
        return merged(node.parts, all_needed=isinstance(node, And))

    def words(self, node: WordsClause) -> WordsStep:
        wanted = tuple(tokens(node.words))
        if not wanted:
            raise self.error(
                "There is no word in this", "Words are made of letters and digits of any script", node
            )
        if len(wanted) > MOST_WORDS:
            raise self.error(
                f"These are {len(wanted):,} words",
                f"A phrase has {MOST_WORDS} words at most",
                node,
                'Write TEXT:"…"_100 for documents that hold all of a longer text',
            )
        new = sorted(set(wanted) - self.counts.keys())
        if new:
            self.counts.update(zip(new, self.lookups.word_counts(new).tolist(), strict=True))
        return WordsStep(node, wanted, float(min(self.counts[word] for word in wanted)))

    def comparison(self, node: FieldClause) -> ComparisonStep:
        self.require_field(node)
        return ComparisonStep(node, float(self.total))

    def require_field(self, node: FieldClause) -> None:
        if node.field in self.fields:
            return
        if not self.lookups.has_field(node.field):
            raise self.error(
                "No document has metadata under this name",
                "A name before : or a comparison is that of a metadata field",
                node,
                "Put it all in quotation marks to search the text for it",
            )
        self.fields.add(node.field)

    def fingerprint(self, node: Fingerprint, negated: bool) -> FingerprintStep:
        target = target_of(node, self.query, self.lookups, self.open_file)
        taken = self.taken[len(self.fingerprints) :][:1]
        step = _Choice(node, target, negated, self.lookups).step(taken)
        self.fingerprints.append(step)
        return step

    def error(self, what: str, allowed: str, node: WordsClause | FieldClause, do: str = "") -> QueryError:
        return QueryError(what, allowed, do, query=self.query.text, position=node.span[0])


def _recall(parts: Sequence[Step], *, all_needed: bool) -> float:
    """The recall of several parts.

    If every part must be right about a document, the probability of a miss is at most the sum over the parts. If
    one part suffices (OR; under NOT it is AND), the recall is at least that of the least certain part.
    """
    if all_needed:
        return max(0.0, 1 - sum(1 - part.recall for part in parts))
    return min(part.recall for part in parts)


class _Choice:
    """The choice among the methods for one query document."""

    def __init__(self, clause: Fingerprint, target: Target, negated: bool, lookups: Lookups) -> None:
        self.target, self.lookups, self.total = target, lookups, lookups.total()
        threshold = Fraction(target.overlap or 0) / 100
        least = max(1, -(-target.n * threshold.numerator // threshold.denominator))
        nothing = np.empty(0, np.uint64)
        self.empty = FingerprintStep(
            clause, target, least, "every document", nothing, (), 1, 1.0, float(self.total), negated
        )
        below = int(np.searchsorted(target.hashes, np.uint64(lookups.sampling.limit - 1), side="right"))
        self.sampled = target.n if target.is_short else below

    def step(self, taken: str) -> FingerprintStep:
        # of a short text hardly a shingle is in the sample; its others are few enough to look up by their words
        if self.target.overlap is None and self.target.n - self.sampled > MOST_BY_WORDS:
            return self.by_whole_sample()
        if taken == LETTERS["every document"]:
            return self.empty
        asked = Fraction(self.target.probability or 100) / 100
        if asked < 1 and not self.empty.negated:
            found = promised(self.target.n, self.empty.least, self.sampled, float(asked))
            if found:
                return self.by_sample(found)
            if taken != LETTERS["complete"]:
                return self.with_words(float(asked), taken)
        return self.completely(taken)

    def by_whole_sample(self) -> FingerprintStep:
        """Look up the sampled shingles: those below the limit, or the few smallest if these are fewer.

        The most common ones are left out beyond ``MOST_POSTINGS``, but the rarest one is always looked up.
        """
        n = self.target.n
        hashes = self.target.hashes[: max(self.sampled, min(n, self.lookups.sampling.floor))]
        counts = self.lookups.posting_counts(hashes, decode=False)
        order = np.argsort(counts, kind="stable")
        postings = np.cumsum(counts[order])
        rare = max(1, int(np.searchsorted(postings, MOST_POSTINGS, side="right")))
        return replace(
            self.empty,
            way="sample",
            sampled=hashes[np.sort(order[:rare])],
            recall=min(self.sampled, rare) / n,  # of a document that shares a single shingle
            candidates=min(float(postings[rare - 1]), float(self.total)),
            common=len(hashes) - rare,
        )

    def by_sample(self, found: Promise) -> FingerprintStep:
        hashes = self.target.hashes[: found.drawn]
        postings = float(self.lookups.posting_counts(hashes).sum())
        return replace(
            self.empty,
            way="one hit" if found.hits == 1 else "several hits",
            sampled=hashes,
            hits=found.hits,
            recall=found.recall,
            candidates=postings if found.hits == 1 else postings / found.hits / FEWER,
        )

    def with_words(self, asked: float, taken: str) -> FingerprintStep:
        """Look up the shingles of smallest hash; those that are not in the sample by their words."""
        n, least, n_sampled = self.target.n, self.empty.least, self.sampled
        single = fewest_lookups(n, least, asked, n_sampled + MOST_BY_WORDS)
        if single > n_sampled + MOST_BY_WORDS:
            return self.completely("")
        known = self.lookups.posting_counts(self.target.hashes[:n_sampled])
        worded = self._worded(range(n_sampled, single))
        candidates = float(known.sum()) + sum(one.candidates for one in worded)
        cost = COST_LOOKUP * n_sampled + COST_VERIFY * candidates + sum(one.cost for one in worded)
        if not taken and cost > COST_SMALL:
            sure = self.completely("")
            if sure.candidates <= candidates:
                return sure
        return replace(
            self.empty,
            way="one hit or words",
            sampled=self.target.hashes[:n_sampled],
            phrases=tuple(one.words for one in worded),
            recall=float(passing(n, least, single)[1]),
            candidates=min(candidates, float(self.total)),
        )

    def completely(self, taken: str) -> FingerprintStep:
        """n − least + 1 look-ups of the rarest, or every document if the look-ups cost more."""
        target, n_lookups = self.target, self.target.n - self.empty.least + 1
        if not taken and (n_lookups > MOST_LOOKUPS or n_lookups * COST_LOOKUP > self.total * COST_VERIFY):
            return self.empty
        n_sampled = self.sampled
        worded = self._worded(range(n_sampled, target.n))
        known = self.lookups.posting_counts(target.hashes[:n_sampled])
        costs = [COST_LOOKUP + (COST_POSTING + COST_VERIFY) * count for count in known.tolist()]
        costs += [one.cost + COST_VERIFY * one.candidates for one in worded]
        cheapest = np.argsort(costs, kind="stable")[:n_lookups]
        sampled = cheapest[cheapest < n_sampled]
        phrases = [worded[k - n_sampled] for k in cheapest.tolist() if k >= n_sampled]
        candidates = min(float(self.total), float(known[sampled].sum()) + sum(one.candidates for one in phrases))
        if not taken and sum(costs[k] for k in cheapest.tolist()) > self.total * COST_VERIFY:
            return self.empty
        return replace(
            self.empty,
            way="complete",
            sampled=target.hashes[sampled],
            phrases=tuple(one.words for one in phrases),
            candidates=candidates,
        )

    def _worded(self, places: Sequence[int]) -> list[Worded]:
        """The look-ups of shingles by their words."""
        shingles = [tuple(dict.fromkeys(self.target.words_of(k))) for k in places]
        vocabulary = sorted({word for shingle in shingles for word in shingle})
        counts = self.lookups.word_counts(vocabulary).tolist() if vocabulary else []
        counted = dict(zip(vocabulary, counts, strict=True))
        return [Worded.of({word: counted[word] for word in shingle}, self.total) for shingle in shingles]
