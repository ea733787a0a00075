"""Evaluate a query on a collection and return a page of hits, each verified on the texts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Literal, TypeAlias, get_args

import numpy as np

from neardup.collection.evaluate import Evaluation
from neardup.collection.lookups import Lookups
from neardup.collection.pages import Cursor, Hit, HitEvidence, Page, Passage, read_token, search_digest
from neardup.collection.query import Query, parse
from neardup.collection.query.doubts import doubts
from neardup.collection.query.plan import FingerprintStep, QueryPlan, plan
from neardup.collection.query.syntax import And, Fingerprint, Pasted, canonical, clause_text
from neardup.collection.query.target import Open
from neardup.comparison import matching
from neardup.errors import InputError, QueryError, SettingError
from neardup.kernels.match.passages import longest_run
from neardup.settings.rules import required_share
from neardup.tables import Floats, Int64s
from neardup.text.units import Units

NearMeasure: TypeAlias = Literal["containment", "resemblance"]

LIMIT, MOST_LIMIT = 20, 1_000
PASSAGE_SHOWN = 240
"""The most characters of a passage that are shown."""
MOST_COMPARED = 20_000_000
"""The most places of equal shingles to compare; beyond it, a passage is found by another method."""


def search(
    lookups: Lookups,
    query: str | Query,
    *,
    limit: int = LIMIT,
    after: str | None = None,
    include_self: bool = False,
    open_file: Open | None = None,
    most_candidates: int | None = None,
) -> Page:
    """Return the hits of a query, ``limit`` at a time, by descending score and then by id.

    The score is the containment of the query document in the hit, or the resemblance for SIMILAR. If several
    fingerprint clauses hold, the highest score counts; without any it is 0. That of a clause without numbers is
    estimated from the sampled shingles; then hits of equal score are in the order in which they were first added.
    ``after`` is the ``next`` of the previous page. A page begins at a position in that order and uses the methods
    of the first page, so documents added meanwhile cause neither repeats nor gaps. ``open_file`` reads FILE:;
    ``most_candidates`` bounds the documents that are compared. Raises QueryError, SettingError for the limit, and
    InputError for a token of another search.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_LIMIT:
        raise SettingError(f"limit = {limit!r} is not possible", f"A whole number from 1 to {MOST_LIMIT:,}")
    asked = parse(query) if isinstance(query, str) else query
    cursor = None if after is None else read_token(after)
    planned = plan(asked, lookups, open_file, cursor.taken if cursor else "")
    if asked.explain:
        return _page((), None, None, planned)
    digest = search_digest(planned, include_self)
    if cursor and cursor.search != digest:
        raise InputError(
            "This page token belongs to another search",
            "The query, the documents and --include-self of the first page",
            "Begin with the first page",
        )
    evaluation = Evaluation(planned, lookups, include_self=include_self, most_candidates=most_candidates)
    documents = evaluation.documents()
    ranking = _Ranking(evaluation, documents)
    first, more = ranking.following(cursor, limit)
    shown = ranking.of(first[:limit])
    hits = tuple(hit for hit in map(shown.hit, range(len(shown.documents))) if hit is not None)
    last = None
    if more:
        at = int(first[limit - 1])
        last = Cursor(float(ranking.scores[at]), ranking.tie(at), digest, evaluation.taken)
    return _page(hits, len(documents), last.token() if last else None, planned)


def _page(hits: tuple[Hit, ...], found: int | None, next: str | None, plan: QueryPlan) -> Page:
    return Page(hits, found, next, canonical(plan.query), plan.recall, doubts(plan), plan)


def near_query(
    text: str,
    overlap: float | str | None = None,
    probability: float | str | None = None,
    measure: NearMeasure = "containment",
    where: str | None = None,
) -> Query:
    """Return the query for the documents that contain or resemble a text, among those that fit ``where``.

    ``overlap`` and ``probability`` are shares: 0.8 or "80%". Raises SettingError for these and for the measure,
    QueryError for ``where``.

    >>> str(near_query("pay by Friday", "80%", where="from:ann OR from:bob"))
    'FINGERPRINT:TEXT:"pay by Friday"_80 AND (from:ann OR from:bob)'
    """
    if measure not in get_args(NearMeasure):
        raise SettingError(f"measure is {measure!r}", f"One of {', '.join(get_args(NearMeasure))}")
    if probability is not None and overlap is None:
        raise SettingError("probability is given without overlap", "Both, or overlap alone")
    symmetric = measure == "resemblance"
    clause = Fingerprint(
        Pasted(text), _per_cent("overlap", overlap), _per_cent("probability", probability), symmetric
    )
    if where is None:
        return Query(clause)
    asked = parse(where)
    if asked.explain:
        raise QueryError("where begins with EXPLAIN", "A query without it", query=where)
    return Query(And((clause, asked.root)), text=where)


def _per_cent(name: str, given: float | str | None) -> Decimal | None:
    return None if given is None else (Decimal(repr(required_share(name, given))) * 100).normalize()


def explain(lookups: Lookups, query: str | Query, open_file: Open | None = None) -> QueryPlan:
    """Return the plan of a query; only counts are looked up for it."""
    return plan(parse(query) if isinstance(query, str) else query, lookups, open_file)


class _Ranking:
    """The best fingerprint clause for each of the documents, and its score.

    Counts on the texts, not the look-ups, decide whether a clause holds, so a score does not depend on the order
    of evaluation. Only the score of a clause whose hits are those that share a sampled shingle is an estimate;
    beside such a clause, another one holds only for the documents that its look-ups found.
    """

    def __init__(self, evaluation: Evaluation, documents: Int64s) -> None:
        self.evaluation, self.lookups, self.documents = evaluation, evaluation.lookups, documents
        self.steps = [step for step in evaluation.plan.fingerprints if not step.negated]
        self.estimated = any(step.way == "sample" for step in self.steps)
        scores = [self._scores(step) for step in self.steps]
        table = np.array([np.full(len(documents), 0.0), *scores])
        self.best: Int64s = np.argmax(table, axis=0).astype(np.int64)
        self.scores: Floats = table.max(axis=0)

    def _scores(self, step: FingerprintStep) -> Floats:
        """float64[n]: the measure of the clause where it holds, else 0."""
        if step.way == "sample":
            scores = self._estimates(step)
        else:
            # a clause without numbers may find most documents: beside it, no more documents are compared
            documents = self.evaluation.found(step, self.documents) if self.estimated else self.documents
            counts = self.evaluation.counts(step, documents)
            whole = step.target.n + counts.sizes - counts.shared if step.clause.symmetric else step.target.n
            scores = np.zeros(len(self.documents))
            reached = np.where(step.reached_by(counts.shared, counts.sizes), counts.shared / whole, 0.0)
            scores[np.searchsorted(self.documents, documents)] = reached
        if step.target.number is not None and not self.evaluation.include_self:
            scores[self.documents == step.target.number] = 0.0
        return scores

    def _estimates(self, step: FingerprintStep) -> Floats:
        """float64[n]: the measure, estimated by the share of the sampled shingles that a document holds."""
        part = self.evaluation.held(step, self.documents) / len(step.sampled)
        if not step.clause.symmetric:
            return part
        shared = part * step.target.n
        sizes = self.lookups.sizes(self.documents)
        return np.where(part > 0, np.minimum(shared / np.maximum(step.target.n + sizes - shared, 1), 1.0), 0.0)

    def following(self, cursor: Cursor | None, limit: int) -> tuple[Int64s, bool]:
        """Return the places of the next ``limit`` + 1 documents, in order, and whether that many exist."""
        if self.estimated:
            return self._following_estimated(cursor, limit)
        ids = self.lookups.ids(self.documents)
        scores = self.scores.tolist()
        order = sorted(
            (k for k in range(len(ids)) if cursor is None or cursor.is_before(scores[k], ids[k])),
            key=lambda k: (-scores[k], ids[k]),
        )
        return np.array(order[: limit + 1], np.int64), len(order) > limit

    def _following_estimated(self, cursor: Cursor | None, limit: int) -> tuple[Int64s, bool]:
        """The same by score and then by number: thousands may have the same score, whose ids are not read."""
        places, scores = np.arange(len(self.documents)), self.scores
        if cursor is not None:
            later = (scores == cursor.score) & (self.documents > int(cursor.id))
            places = places[(scores < cursor.score) | later]
        order = np.argsort(-scores[places], kind="stable")[: limit + 1]
        return places[order], len(order) > limit

    def tie(self, place: int) -> str:
        """What orders the document at ``place`` among those of the same score: its id, or its number."""
        document = self.documents[place : place + 1]
        return str(int(document[0])) if self.estimated else self.lookups.ids(document)[0]

    def of(self, places: Int64s) -> _Shown:
        """Return the documents at ``places`` with their counts."""
        return _Shown(self, places)


class _Shown:
    """The documents of a page, counted on their texts."""

    def __init__(self, ranking: _Ranking, places: Int64s) -> None:
        self.ranking, self.documents = ranking, ranking.documents[places]
        self.best, self.scores = ranking.best[places], ranking.scores[places]
        self._ids = ranking.lookups.ids(np.sort(self.documents))
        self._row = np.searchsorted(np.sort(self.documents), self.documents)
        used = [step for number, step in enumerate(ranking.steps, 1) if number in self.best]
        self.counts = {step: ranking.evaluation.counts(step, np.sort(self.documents)) for step in used}
        # once: the text is long for pasted text
        self.clauses = {step: clause_text(step.clause) for step in used}

    def hit(self, k: int) -> Hit | None:
        """Document k of the page with its evidence; None if its posting was that of another shingle.

        A store may keep only some bits of a hash.
        """
        id = self._ids[self._row[k]]
        if not self.best[k]:
            return Hit(id, None)
        step = self.ranking.steps[self.best[k] - 1]
        counts, row = self.counts[step], int(self._row[k])
        shared, size, n = int(counts.shared[row]), int(counts.sizes[row]), step.target.n
        if not shared:
            return None
        passage = longest_passage(step, self.ranking.lookups.text(int(self.documents[k])))
        score = float(self.scores[k])
        if step.way == "sample":
            score = shared / (n + size - shared if step.clause.symmetric else n)
        found = HitEvidence(self.clauses[step], score, shared, n, size, passage)
        if not len(step.target.base):
            return Hit(id, found)
        full = {"full_size_a": step.target.full_size, "full_size_b": int(counts.full_sizes[row])}
        return Hit(id, replace(found, **full))


def longest_passage(step: FingerprintStep, text: str) -> Passage | None:
    """The longest passage of the query document that also appears in ``text``."""
    a, b, least = step.target.units, step.target.units_of(text), step.target.length
    in_b = length = -1
    if not step.target.is_short:
        found = step.target.shingles_in_order(b)
        if len(step.target.base):  # 0 is the hash of no shingle, but for one case in 2⁶⁴: the run ends there
            found[step.target.base.contains(found)] = 0
        in_a, in_b, length = map(int, longest_run(*step.target.placed, found, MOST_COMPARED))
        length += least - 1
    if in_b < 0 and length != least - 1:  # a text without a whole shingle, or one of endless repeats
        tiles = matching.literal(matching.pair_of(a.hashes, b.hashes, (a.rank, b.rank)), least).tiles
        if len(tiles):
            in_a, in_b, length = map(int, tiles[np.argmax(tiles[:, 2])])
    if in_b < 0:
        return None
    shown = b.quote(in_b, in_b + length)
    if len(shown) > PASSAGE_SHOWN:
        shown = shown[:PASSAGE_SHOWN] + " …"
    return Passage(shown, length, *_ends(a, in_a, length), *_ends(b, in_b, length))


def _ends(units: Units, start: int, length: int) -> tuple[int, int]:
    """The begin and end in the text of ``length`` units from ``start`` on."""
    return int(units.spans[start, 0]), int(units.spans[start + length - 1, 1])
