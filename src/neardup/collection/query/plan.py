"""Turn a syntax tree into look-ups in a collection, with the guaranteed recall and the expected candidates.

A document that overlaps enough shares at least c of the n shingles of the query document. Their hashes put them in
random order, so the m of smallest hash are a draw of m without replacement, and how many of them the document
contains, its hits, is hypergeometric; more shared shingles only mean more hits. Sampled look-ups are as many as
the asked recall needs. If the sample is too small for it, the rest of the smallest shingles are looked up by words
in the full text: a document that contains a shingle contains its words. For 100 % the look-ups are complete: of n
shingles at least c are shared, so at least one of any n − c + 1 is shared. The rarest n − c + 1 are looked up,
again by postings or by words.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb
from typing import Literal

import numpy as np

from neardup.collection.query.metadata import merged_parts
from neardup.collection.query.syntax import And, FieldClause, Fingerprint, Node, Not, Or, Query, WordsClause
from neardup.collection.query.target import Open, Target, target_of
from neardup.collection.view import View
from neardup.errors import QueryError
from neardup.tables import Bools, Floats, Int64s, UInt64s
from neardup.unicode import tokens

EXPECTED, TWOFOLD = 28, 2
"""The draw is large enough for ``EXPECTED`` expected hits in a document that shares just enough.

It is at least ``TWOFOLD`` times the look-ups that one hit needs. A document that shares half as much then seldom
passes.
"""


@dataclass(frozen=True)
class Promise:
    """A candidate has ``hits`` or more among the ``drawn`` query shingles of smallest hash.

    ``recall``: the probability with which a document that shares just enough has at least ``hits``.
    """

    drawn: int
    hits: int
    recall: float


def fewest_lookups(n: int, c: int, probability: float, most: int | None = None) -> int:
    """The smallest m for which a document with c of the n shingles has a hit with at least this probability.

    The search stops at ``most`` and then returns ``most`` + 1.

    P(no hit) = Π_{i<m} (n − c − i) / (n − i) ≤ (1 − c/n)^m.

    >>> fewest_lookups(1000, 200, 0.8), fewest_lookups(1000, 500, 0.95), fewest_lookups(10, 5, 1.0)
    (8, 5, 6)
    """
    missed, m = 1.0, 0
    last = n - c if most is None else min(n - c, most)
    while missed > 1 - probability and m <= last:
        missed *= (n - c - m) / (n - m)
        m += 1
    return m


@lru_cache(maxsize=10_000)
def chosen_draw(n: int, c: int, available: int, probability: float) -> Promise | None:
    """Choose a draw that keeps ``probability`` with at most ``available`` look-ups; None if none does.

    One hit needs the fewest look-ups. But with more look-ups, more hits can be required at the same recall, which
    excludes documents that share less. So the largest number of hits is used, with only as many look-ups as these
    hits need. The choice depends on n and c alone. If it used the lengths of the postings, it would depend on the
    very draw that the promise is about: a query that is half boilerplate has fewer hits just when its sample is
    full of boilerplate.

    >>> found = chosen_draw(1000, 200, 100, 0.8)
    >>> found.drawn, found.hits, round(found.recall, 4)
    (99, 17, 0.8074)
    """
    single = fewest_lookups(n, c, probability, available)
    if single > available:
        return None
    most = min(available, max(-(-EXPECTED * n // c), TWOFOLD * single))
    hits = int(np.flatnonzero(tail_probabilities(n, c, most) >= probability)[-1])
    if hits < 1:  # except for rounding, one hit would have kept it
        return None
    fewer = range(hits, most)
    drawn = hits + bisect_left(fewer, probability, key=lambda m: float(tail_probabilities(n, c, m)[hits]))
    return Promise(drawn, hits, float(tail_probabilities(n, c, drawn)[hits]))


def tail_probabilities(n: int, c: int, drawn: int) -> Floats:
    """float64[drawn + 2]: entry h is P(h or more hits among ``drawn``), hypergeometric.

    >>> [round(float(chance), 3) for chance in tail_probabilities(10, 5, 2)]
    [1.0, 0.778, 0.222, 0.0]
    """
    least, most = max(0, drawn - (n - c)), min(c, drawn)
    k = np.arange(least, most)
    growth = np.log((c - k) * (drawn - k) / ((k + 1.0) * (n - c - drawn + k + 1.0)))
    weights = np.concatenate((np.zeros(1), np.cumsum(growth)))
    weights = np.exp(weights - weights.max())
    chances = np.zeros(drawn + 2)
    chances[least : most + 1] = weights / weights.sum()
    return np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)


@lru_cache(maxsize=10_000)
def most_hits(n: int, c: int, drawn: int, probability: float) -> int:
    """The greatest h for which a document with c of the n shingles has h hits or more, with this probability.

    Hits are counted among ``drawn`` of the n; 0 if no h qualifies.

    P(j hits) = C(c, j) · C(n − c, drawn − j) / C(n, drawn), summed in whole numbers.

    >>> most_hits(500, 400, 16, 0.99), most_hits(500, 400, 2, 0.99), most_hits(10, 10, 4, 1.0)
    (9, 0, 4)
    """
    allowed = Fraction(1) - Fraction(repr(probability))
    bound = comb(n, drawn) * allowed.numerator
    fewer = 0  # ways to draw fewer than h hits
    for hits in range(drawn + 1):
        fewer += comb(c, hits) * comb(n - c, drawn - hits)
        if fewer * allowed.denominator > bound:
            return hits
    return drawn


COST_PHRASE, COST_PHRASE_WORD = 300, 1
"""Approximate costs in microseconds: of a look-up by words, and of each document with its rarest word."""
COMMON = 8
"""A word in more than one in this many documents does not help to look up a shingle by its words."""


@dataclass(frozen=True)
class Worded:
    """A shingle as words to look up, with the cost of the look-up and the documents expected from it."""

    words: tuple[str, ...]
    cost: float
    candidates: float

    @classmethod
    def of(cls, counted: Mapping[str, int], total: int) -> "Worded":
        """The words worth looking up, rarest first; ``counted``: the approximate number of documents with each."""
        rarest = sorted(counted, key=lambda word: (counted[word], word))
        words = [word for place, word in enumerate(rarest) if place < 2 or counted[word] * COMMON <= total]
        # words of a text are not independent; as usual, each word has half the weight of the one before
        shares = [min(1.0, counted[word] / max(1, total)) ** 0.5**place for place, word in enumerate(words)]
        cost = COST_PHRASE + COST_PHRASE_WORD * counted[words[0]]
        return cls(tuple(words), cost, total * math.prod(shares))


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
BOILERPLATE, BOILERPLATE_SHARE = 1000, 1 / 20
"""It looks up no shingle that more documents than this, and than this share of all, have, if others are rarer."""

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

    @cached_property
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

    part: "Step"
    candidates: float

    @property
    def recall(self) -> float:
        """The recall of the part: this finds a document unless the part does, which is planned for under NOT."""
        return self.part.recall


@dataclass(frozen=True)
class AllStep:
    """The documents that every part finds, in the order of evaluation: fewest candidates first, NOT last."""

    parts: "tuple[Step, ...]"
    recall: float

    @property
    def candidates(self) -> float:
        """The candidates of the first part."""
        return self.parts[0].candidates


@dataclass(frozen=True)
class AnyStep:
    """The documents that any part finds."""

    parts: "tuple[Step, ...]"
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


def plan(query: Query, view: View, open_file: Open | None = None, taken: str = "") -> QueryPlan:
    """Choose the look-ups of a query. Raises QueryError for fields and documents that this collection lacks.

    ``taken`` holds the ``LETTERS`` of the methods that an earlier page used, so that the next page uses the same.
    """
    planner = _Planner(query, view, open_file, taken)
    root = planner.step(query.root, False)
    return QueryPlan(query, root, tuple(planner.fingerprints), view.total())


class _Planner:
    def __init__(self, query: Query, view: View, open_file: Open | None, taken: str) -> None:
        self.query, self.view, self.open_file, self.taken = query, view, open_file, taken
        self.fingerprints: list[FingerprintStep] = []
        self.counts: dict[str, int] = {}
        self.fields: set[str] = set()
        self.total = view.total()

    def step(self, node: Node, negated: bool) -> Step:
        if isinstance(node, Not):
            return NotStep(self.step(node.part, not negated), float(self.total))
        if isinstance(node, Or):
            parts = self.merge(node)
            if len(parts) == 1:
                return self.step(parts[0], negated)
            steps = [self.step(part, negated) for part in parts]
            return AnyStep(tuple(steps), _recall(steps, all_needed=negated))
        if isinstance(node, And):
            parts = self.merge(node)
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

    def merge(self, node: And | Or) -> tuple[Node, ...]:
        for part in node.parts:
            inner = part.part if isinstance(part, Not) else part
            if isinstance(inner, FieldClause):
                self.require_field(inner)  # includes superfluous comparisons
        return merged_parts(node.parts, all_needed=isinstance(node, And))

    def words(self, node: WordsClause) -> WordsStep:
        wanted = tuple(tokens(node.words))
        if not wanted:
            raise self.query_error(
                "There is no word in this", "Words are made of letters and digits of any script", node
            )
        if len(wanted) > MOST_WORDS:
            raise self.query_error(
                f"These are {len(wanted):,} words",
                f"A phrase has {MOST_WORDS} words at most",
                node,
                'Write TEXT:"…"_100 for documents that hold all of a longer text',
            )
        new = sorted(set(wanted) - self.counts.keys())
        if new:
            self.counts.update(zip(new, self.view.word_counts(new).tolist(), strict=True))
        return WordsStep(node, wanted, float(min(self.counts[word] for word in wanted)))

    def comparison(self, node: FieldClause) -> ComparisonStep:
        self.require_field(node)
        return ComparisonStep(node, float(self.total))

    def require_field(self, node: FieldClause) -> None:
        if node.field in self.fields:
            return
        if not self.view.has_field(node.field):
            raise self.query_error(
                "No document has metadata under this name",
                "A name before : or a comparison is that of a metadata field",
                node,
                "Put it all in quotation marks to search the text for it",
            )
        self.fields.add(node.field)

    def fingerprint(self, node: Fingerprint, negated: bool) -> FingerprintStep:
        target = target_of(node, self.query, self.view, self.open_file)
        taken = self.taken[len(self.fingerprints) :][:1]
        step = _Choice(node, target, negated, self.view).step(taken)
        self.fingerprints.append(step)
        return step

    def query_error(self, what: str, allowed: str, node: WordsClause | FieldClause, do: str = "") -> QueryError:
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

    def __init__(self, clause: Fingerprint, target: Target, negated: bool, view: View) -> None:
        self.target, self.view, self.total = target, view, view.total()
        threshold = Fraction(target.overlap or 0) / 100
        least = max(1, -(-target.n * threshold.numerator // threshold.denominator))
        nothing = np.empty(0, np.uint64)
        self.empty = FingerprintStep(
            clause, target, least, "every document", nothing, (), 1, 1.0, float(self.total), negated
        )
        below = int(np.searchsorted(target.hashes, np.uint64(view.sampling.limit - 1), side="right"))
        self.sampled = target.n if target.is_short else below

    def step(self, taken: str) -> FingerprintStep:
        # of a short text hardly a shingle is in the sample; its others are few enough to look up by their words
        if self.target.overlap is None and self.target.n - self.sampled > MOST_BY_WORDS:
            return self.by_whole_sample()
        if taken == LETTERS["every document"]:
            return self.empty
        asked = Fraction(self.target.probability or 100) / 100
        if asked < 1 and not self.empty.negated:
            found = chosen_draw(self.target.n, self.empty.least, self.sampled, float(asked))
            if found:
                return self.by_sample(found)
            if taken != LETTERS["complete"]:
                return self.with_words(float(asked), taken)
        return self.completely(taken)

    def by_whole_sample(self) -> FingerprintStep:
        """Look up the sampled shingles: those below the limit, or the few smallest if these are fewer.

        Those of ``BOILERPLATE`` and the most common ones beyond ``MOST_POSTINGS`` are left out: one shingle of it
        would decide for all documents that have it. The rarest one is always looked up.
        """
        n = self.target.n
        hashes = self.target.hashes[: max(self.sampled, min(n, self.view.sampling.floor))]
        rare = self.view.rarest(hashes, MOST_POSTINGS)
        counts = self.view.posting_counts(rare)
        few = counts <= max(BOILERPLATE, self.total * BOILERPLATE_SHARE)
        if few.any():
            rare, counts = rare[few], counts[few]
        postings = float(counts.sum())
        return replace(
            self.empty,
            way="sample",
            sampled=rare,
            recall=min(self.sampled, len(rare)) / n,  # of a document that shares a single shingle
            candidates=min(postings, float(self.total)),
            common=len(hashes) - len(rare),
        )

    def by_sample(self, found: Promise) -> FingerprintStep:
        hashes = self.target.hashes[: found.drawn]
        postings = float(self.view.posting_counts(hashes).sum())
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
        known = self.view.posting_counts(self.target.hashes[:n_sampled])
        worded = self._lookups_by_word(range(n_sampled, single))
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
            recall=float(tail_probabilities(n, least, single)[1]),
            candidates=min(candidates, float(self.total)),
        )

    def completely(self, taken: str) -> FingerprintStep:
        """n − least + 1 look-ups of the rarest, or every document if the look-ups cost more."""
        target, n_lookups = self.target, self.target.n - self.empty.least + 1
        if not taken and (n_lookups > MOST_LOOKUPS or n_lookups * COST_LOOKUP > self.total * COST_VERIFY):
            return self.empty
        n_sampled = self.sampled
        worded = self._lookups_by_word(range(n_sampled, target.n))
        known = self.view.posting_counts(target.hashes[:n_sampled])
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

    def _lookups_by_word(self, places: Sequence[int]) -> list[Worded]:
        """The look-ups of shingles by their words."""
        shingles = [tuple(dict.fromkeys(self.target.words_of(k))) for k in places]
        vocabulary = sorted({word for shingle in shingles for word in shingle})
        counts = self.view.word_counts(vocabulary).tolist() if vocabulary else []
        counted = dict(zip(vocabulary, counts, strict=True))
        return [Worded.of({word: counted[word] for word in shingle}, self.total) for shingle in shingles]
