"""Evaluate a query on a collection: hits, each verified on the texts; or why a document is not among them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias, get_args

import numpy as np

from neardup import display
from neardup.collection import pages
from neardup.collection.query import Query, parse
from neardup.collection.query import plan as plans
from neardup.collection.query.explanation import doubts
from neardup.collection.query.metadata import matching_documents
from neardup.collection.query.syntax import And, Fingerprint, Pasted, Stored, canonical, clause_text, quoted_text
from neardup.collection.query.target import Open, Target
from neardup.collection.view import View
from neardup.comparison import matching
from neardup.display.view import PlainData
from neardup.errors import InputError, QueryError, SettingError
from neardup.kernels.match import common_passages, longest_run
from neardup.settings import required_share
from neardup.tables import Bools, Floats, Int64s
from neardup.text.units import Units
from neardup.unicode import codepoints_of, unicode_tables

_SHOWN = 80
"""The most characters of a clause in an error."""


@dataclass(frozen=True, eq=False)
class Counts:
    """|A∩B| of documents (int64[n] each, documents sorted), counted on the texts without base text."""

    documents: Int64s
    shared: Int64s

    def where(self, chosen: Bools) -> "Counts":
        """The counts of the chosen documents."""
        return Counts(self.documents[chosen], self.shared[chosen])


@dataclass(frozen=True)
class Bounds:
    """How many documents a clause compares. Above ``candidates``, QueryError is raised.

    Of more candidates than ``compared``, only those with the most hits are compared, and of equal ones those added
    first. A clause whose look-ups miss nothing, or under NOT, compares all.
    """

    candidates: int | None = None
    compared: int | None = None

    def __post_init__(self) -> None:
        if self.compared is not None and (isinstance(self.compared, bool) or not self.compared >= 1):
            raise SettingError(f"most_compared = {self.compared!r} is not possible", "A whole number from 1 on")


UNBOUNDED = Bounds()


class Evaluation:
    """One run of a plan.

    ``include_self``: a stored query document may be found by its own clause. ``uncompared``: how many candidates
    of its clauses were not compared.
    """

    def __init__(
        self, plan: plans.QueryPlan, view: View, *, include_self: bool = False, bounds: Bounds = UNBOUNDED
    ) -> None:
        self.plan, self.view = plan, view
        self.include_self, self.bounds, self.uncompared = include_self, bounds, 0
        self.letters = {step: plans.LETTERS[step.way] for step in plan.fingerprints}
        self._counts_in_words: dict[plans.FingerprintStep, Counts] = {}
        self._held: dict[plans.FingerprintStep, tuple[Int64s, Int64s]] = {}

    @property
    def taken(self) -> str:
        """The letters of the methods that were used, for ``plan`` of the next page."""
        return "".join(self.letters[step] for step in self.plan.fingerprints)

    def documents(self) -> Int64s:
        """All documents that match, sorted."""
        return self.of(self.plan.root, None)

    def of(self, step: plans.Step, within: Int64s | None) -> Int64s:
        """The documents that a step finds; with ``within``, only among these."""
        if isinstance(step, plans.FingerprintStep):
            return self._fingerprint(step, within)
        if isinstance(step, plans.WordsStep):
            return self.view.phrase(step.tokens, within)
        if isinstance(step, plans.ComparisonStep):
            return matching_documents(step.clause, self.view, within)
        if isinstance(step, plans.AnyStep):
            return np.unique(np.concatenate([self.of(part, within) for part in step.parts]))
        if isinstance(step, plans.NotStep):
            all_of_them = self.view.everything() if within is None else within
            return _without(all_of_them, self.of(step.part, within))
        return self._all(step, within)

    def found_documents(self, step: plans.FingerprintStep, documents: Int64s) -> Int64s:
        """Those of the documents that the look-ups of a clause with numbers found, sorted."""
        known = self._counts_in_words.get(step)
        if known is None:  # AND had no document left for it
            return np.empty(0, np.int64)
        return np.intersect1d(known.documents, documents, assume_unique=True)

    def counts(self, step: plans.FingerprintStep, documents: Int64s) -> Counts:
        """The counts of any documents; earlier counts are reused."""
        known = self._counts_in_words.get(step)
        if known is None:
            return self._count(step, documents)
        missing = _without(documents, known.documents)
        if len(missing):
            more = self._count(step, missing)
            places = np.searchsorted(known.documents, missing)
            shared = np.insert(known.shared, places, more.shared)
            known = Counts(np.insert(known.documents, places, missing), shared)
        return known.where(np.isin(known.documents, documents, assume_unique=True))

    def sizes(self, documents: Int64s) -> tuple[Int64s, Int64s]:
        """|B| of documents, without and with base text."""
        base, full = self.view.base, self.view.sizes(documents)
        return full - self.view.shared(base.hashes, documents) if len(base) else full, full

    def measures(self, step: plans.FingerprintStep, counts: Counts) -> Floats:
        """float64[n]: the measure of the clause where it holds, else 0."""
        sizes = self.sizes(counts.documents)[0] if step.clause.symmetric else np.zeros_like(counts.shared)
        whole = step.target.n + sizes - counts.shared if step.clause.symmetric else step.target.n
        return np.where(step.reached_by(counts.shared, sizes), counts.shared / whole, 0.0)

    def _all(self, step: plans.AllStep, within: Int64s | None) -> Int64s:
        for part in step.parts:
            within = self.of(part, within)
            if not len(within):
                break
        assert within is not None
        return within

    def held_counts(self, step: plans.FingerprintStep, documents: Int64s) -> Int64s:
        """int64[n]: how many of the shingles that a step looks up the documents have postings for."""
        found, hits = self._held.get(step) or self.view.holders(step.sampled, 1, documents)
        places = np.minimum(np.searchsorted(found, documents), max(len(found) - 1, 0))
        held: Int64s = (
            np.where(found[places] == documents, hits[places], 0) if len(found) else np.zeros_like(documents)
        )
        return held

    def _fingerprint(self, step: plans.FingerprintStep, within: Int64s | None) -> Int64s:
        if step.way == "sample":
            documents, hits = self.view.holders(step.sampled, 1, within)
            if within is None:
                self._held[step] = documents, hits
            return self._without_self(step, documents)
        few = step.candidates if self.bounds.compared is None else min(step.candidates, self.bounds.compared)
        if within is not None and len(within) <= few:
            self.letters[step] = plans.LETTERS["every document"]  # few: comparing them all is exact and no slower
            candidates = within
        else:
            candidates = self._candidates(step)
            if within is not None:
                candidates = np.intersect1d(candidates, within, assume_unique=True)
        candidates = self._promising_candidates(step, self._without_self(step, candidates))
        most = self.bounds.candidates
        if most is None or len(candidates) <= most:  # else refused, or nearly so
            candidates = self.view.may_share(step.target.hashes, candidates, step.least)
        # to look up a size takes as long as to compare: only other candidates are often too small
        is_drawn = step.way in ("one hit", "several hits") and not step.clause.symmetric
        counts = self._count(step, candidates, (0, 0) if is_drawn else step.possible_sizes())
        self._counts_in_words[step] = fitting = counts.where(self.measures(step, counts) > 0)
        return fitting.documents

    def _promising_candidates(self, step: plans.FingerprintStep, candidates: Int64s) -> Int64s:
        """The candidates with the most hits, as many as are compared."""
        most = self.bounds.compared
        if most is None or len(candidates) <= most or step.negated or step.recall == 1:
            return candidates
        self.uncompared += len(candidates) - most
        return np.sort(candidates[np.argsort(-self.held_counts(step, candidates), kind="stable")[:most]])

    def _without_self(self, step: plans.FingerprintStep, documents: Int64s) -> Int64s:
        if self.include_self or step.negated or step.target.number is None:
            return documents
        others: Int64s = documents[documents != step.target.number]
        return others

    def _candidates(self, step: plans.FingerprintStep) -> Int64s:
        if step.way == "every document":
            return self.view.everything()
        documents, _ = self.view.holders(step.sampled, step.hits)
        return np.unique(np.concatenate([documents, *map(self.view.having, step.phrases)]))

    def _require_few(self, step: plans.FingerprintStep, documents: Int64s) -> None:
        most = self.bounds.candidates
        if most is not None and len(documents) > most:
            number = step.target.number
            source = step.clause.source if number is None else Stored(self.view.ids(np.array([number]))[0])
            clause = clause_text(replace(step.clause, source=source, overlap=None, probability=None))
            quick = clause if len(clause) <= _SHOWN else f"{clause[:_SHOWN]}…"
            raise QueryError(
                f"{len(documents):,} documents would have to be compared with {step.target.name}",
                f"At most {most:,} are here",
                "Ask for more overlap, add words or metadata with AND, "
                f"or write {quick} for the documents that share a sampled shingle, which compares none",
                query=self.plan.query.text,
                position=step.clause.span[0],
            )

    def _count(self, step: plans.FingerprintStep, documents: Int64s, possible: tuple[int, int] = (0, 0)) -> Counts:
        """The counts of the documents whose size is possible (a largest size of 0: no upper limit)."""
        if possible[0]:
            full = self.view.sizes(documents)
            # with base text, less than the full size may count
            most = possible[1] if possible[1] and not len(self.view.base) else np.inf
            documents = documents[(full >= possible[0]) & (full <= most)]
        self._require_few(step, documents)
        return Counts(documents, self.view.shared(step.target.hashes, documents))


def _without(documents: Int64s, others: Int64s) -> Int64s:
    return np.setdiff1d(documents, others, assume_unique=True)


NearMeasure: TypeAlias = Literal["containment", "resemblance"]

LIMIT, MOST_LIMIT = 20, 1_000
PASSAGE_SHOWN = 240
"""The most characters of a passage that are shown."""
MOST_COMPARED = 20_000_000
"""The most places of equal shingles to compare; beyond it, a passage is found by another method."""
_PASSAGES = 32
"""The hits whose texts are read together."""


def search(
    view: View,
    query: str | Query,
    *,
    limit: int = LIMIT,
    after: str | None = None,
    include_self: bool = False,
    fields: str | Iterable[str] = (),
    open_file: Open | None = None,
    bounds: Bounds = UNBOUNDED,
) -> pages.Page:
    """Return the hits of a query, ``limit`` at a time, by descending score and then by id.

    The score is the containment of the query document in the hit, or the resemblance for SIMILAR. If several
    fingerprint clauses hold, the highest score counts; without any it is 0. That of a clause without numbers is
    estimated from the sampled shingles; then hits of equal score are in the order in which they were first added.
    ``after`` is the ``next`` of the previous page. A page begins at a position in that order and uses the methods
    of the first page, so documents added meanwhile cause neither repeats nor gaps. ``fields`` are metadata, text
    and excerpt: what hits hold besides; with them a page ends after 16 MB. ``open_file`` reads FILE:;
    ``bounds`` limits the documents that are compared. Raises QueryError, SettingError for the limit and the
    fields, and InputError for a token of another search.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_LIMIT:
        raise SettingError(f"limit = {limit!r} is not possible", f"A whole number from 1 to {MOST_LIMIT:,}")
    chosen = pages.hit_fields(fields)
    asked = parse(query) if isinstance(query, str) else query
    cursor = None if after is None else pages.read_token(after)
    planned = plans.plan(asked, view, open_file, cursor.taken if cursor else "")
    if asked.explain:
        return _page((), None, None, planned)
    digest = pages.search_digest(planned, include_self, bounds.compared)
    if cursor and cursor.search != digest:
        raise InputError(
            "This page token belongs to another search",
            "The query, the documents, --include-self and --most-compared of the first page",
            "Begin with the first page",
        )
    evaluation = Evaluation(planned, view, include_self=include_self, bounds=bounds)
    documents = evaluation.documents()
    ranking = _Ranking(evaluation, documents)
    first, more = ranking.next_places(cursor, limit)
    shown = ranking.of(first[:limit])
    places = [place for place in range(len(shown.documents)) if shown.holds(place)]
    hits: Iterable[pages.Hit] = shown.hits(places)
    if chosen:
        hits = pages.with_fields(hits, shown.documents[places].tolist(), chosen, view, planned)
    hits = tuple(hits)
    last = None
    if more or len(hits) < len(places):
        at = int(first[places[len(hits) - 1] if len(hits) < len(places) else limit - 1])
        last = pages.Cursor(float(ranking.scores[at]), ranking.tie(at), digest, evaluation.taken)
    page = _page(hits, len(documents), last.token() if last else None, planned)
    left = evaluation.uncompared  # any document may be among these: nothing is promised
    return replace(page, uncompared=left, recall=0.0) if left else page


def _page(hits: tuple[pages.Hit, ...], found: int | None, next: str | None, plan: plans.QueryPlan) -> pages.Page:
    return pages.Page(hits, found, next, canonical(plan.query), plan.recall, doubts(plan), plan)


def found_by(view: View, query: str) -> Int64s:
    """Return the numbers of all documents that a query finds, sorted. Raises QueryError."""
    return Evaluation(plans.plan(parse(query), view), view, include_self=True).documents()


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


def explain(view: View, query: str | Query, open_file: Open | None = None) -> plans.QueryPlan:
    """Return the plan of a query; only counts are looked up for it."""
    return plans.plan(parse(query) if isinstance(query, str) else query, view, open_file)


class _Ranking:
    """The best fingerprint clause for each of the documents, and its score.

    Counts on the texts, not the look-ups, decide whether a clause holds, so a score does not depend on the order
    of evaluation. Only the score of a clause whose hits are those that share a sampled shingle is an estimate;
    beside such a clause, another one holds only for the documents that its look-ups found.
    """

    def __init__(self, evaluation: Evaluation, documents: Int64s) -> None:
        self.evaluation, self.view, self.documents = evaluation, evaluation.view, documents
        self.steps = [step for step in evaluation.plan.fingerprints if not step.negated]
        self.estimated = any(step.way == "sample" for step in self.steps)
        self.best: Int64s = np.zeros(len(documents), np.int64)
        self.scores: Floats = np.zeros(len(documents))
        for number, step in enumerate(self.steps, 1):
            scores = self._scores(step)
            self.best[scores > self.scores] = number
            np.maximum(self.scores, scores, out=self.scores)

    def _scores(self, step: plans.FingerprintStep) -> Floats:
        """float64[n]: the measure of the clause where it holds, else 0."""
        if step.way == "sample":
            scores = self._estimates(step)
        else:
            # a clause without numbers may find most documents: beside it, no more documents are compared
            documents = self.evaluation.found_documents(step, self.documents) if self.estimated else self.documents
            scores = np.zeros(len(self.documents))
            measured = self.evaluation.measures(step, self.evaluation.counts(step, documents))
            scores[np.searchsorted(self.documents, documents)] = measured
        if step.target.number is not None and not self.evaluation.include_self:
            scores[self.documents == step.target.number] = 0.0
        return scores

    def _estimates(self, step: plans.FingerprintStep) -> Floats:
        """float64[n]: the measure, estimated by the share of the sampled shingles that a document holds."""
        part = self.evaluation.held_counts(step, self.documents) / len(step.sampled)
        if not step.clause.symmetric:
            return part
        shared = part * step.target.n
        sizes = self.view.sizes(self.documents)
        return np.where(part > 0, np.minimum(shared / np.maximum(step.target.n + sizes - shared, 1), 1.0), 0.0)

    def next_places(self, cursor: pages.Cursor | None, limit: int) -> tuple[Int64s, bool]:
        """Return the places of the next ``limit`` + 1 documents, in order, and whether that many exist."""
        if self.estimated:
            return self._following_estimated(cursor, limit)
        places = self._possible(cursor, limit)
        ids, scores = self.view.ids(self.documents[places]), self.scores[places].tolist()
        order = sorted(
            (k for k in range(len(ids)) if cursor is None or cursor.is_before(scores[k], ids[k])),
            key=lambda k: (-scores[k], ids[k]),
        )
        return places[order[: limit + 1]], len(order) > limit

    def _possible(self, cursor: pages.Cursor | None, limit: int) -> Int64s:
        """The places of documents whose ids decide about the page: the best ``limit`` + 1, and their equals."""
        places, scores = np.arange(len(self.documents)), self.scores
        if cursor is not None:
            places = places[scores <= cursor.score]
        later = scores[places] if cursor is None else scores[scores < cursor.score]
        if len(later) > limit + 1:
            least = np.partition(later, len(later) - limit - 1)[len(later) - limit - 1]
            places = places[scores[places] >= least]
        return places

    def _following_estimated(self, cursor: pages.Cursor | None, limit: int) -> tuple[Int64s, bool]:
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
        return str(int(document[0])) if self.estimated else self.view.ids(document)[0]

    def of(self, places: Int64s) -> "_Shown":
        """Return the documents at ``places`` with their counts."""
        return _Shown(self, places)


class _Shown:
    """The documents of a page, counted on their texts."""

    def __init__(self, ranking: _Ranking, places: Int64s) -> None:
        self.ranking, self.documents = ranking, ranking.documents[places]
        self.best, self.scores = ranking.best[places], ranking.scores[places]
        sorted_ones, evaluation = np.sort(self.documents), ranking.evaluation
        self._ids, self._row = ranking.view.ids(sorted_ones), np.searchsorted(sorted_ones, self.documents)
        used = [step for number, step in enumerate(ranking.steps, 1) if number in self.best]
        self.counts = {step: evaluation.counts(step, sorted_ones) for step in used}
        self.sizes, self.full_sizes = evaluation.sizes(sorted_ones if used else sorted_ones[:0])
        # once: the text is long for pasted text
        self.clauses = {step: clause_text(step.clause) for step in used}

    def holds(self, k: int) -> bool:
        """Whether document k shares a shingle, if a clause found it: a posting may be that of another shingle."""
        return not self.best[k] or bool(self.counts[self._step(k)].shared[self._row[k]])

    def hits(self, places: list[int]) -> Iterator[pages.Hit]:
        """Documents of the page with their evidence; some texts are read together."""
        for begin in range(0, len(places), _PASSAGES):
            some = places[begin : begin + _PASSAGES]
            shared = self._passages(some)
            yield from (self._hit(k, shared.get(k)) for k in some)

    def _passages(self, places: list[int]) -> dict[int, pages.Passage | None]:
        """The longest passage of each document that a fingerprint clause found."""
        shared: dict[int, pages.Passage | None] = {}
        for step in self.counts:
            own = [k for k in places if self.best[k] and self._step(k) is step]
            shared |= zip(own, longest_passages(step.target, self._texts(own)), strict=True) if own else ()
        return shared

    def _texts(self, places: list[int]) -> list[str]:
        return self.ranking.view.contents(self.documents[places].tolist())

    def _step(self, k: int) -> plans.FingerprintStep:
        return self.ranking.steps[int(self.best[k]) - 1]

    def _hit(self, k: int, passage: pages.Passage | None) -> pages.Hit:
        id = self._ids[self._row[k]]
        if not self.best[k]:
            return pages.Hit(id, None)
        step, row = self._step(k), int(self._row[k])
        shared, size, n = int(self.counts[step].shared[row]), int(self.sizes[row]), step.target.n
        score = float(self.scores[k])
        if step.way == "sample":
            score = shared / (n + size - shared if step.clause.symmetric else n)
        found = pages.HitEvidence(self.clauses[step], score, shared, n, size, passage)
        if len(step.target.base):
            of_hit = int(self.full_sizes[row])
            found = replace(found, full_size_query=step.target.full_size, full_size_hit=of_hit)
        return pages.Hit(id, found)


def longest_passages(target: Target, texts: Sequence[str]) -> list[pages.Passage | None]:
    """Return for each text the longest passage of the query document that also appears in it."""
    if target.is_short or target.cleaner is not None:
        return [longest_passage(target, text) for text in texts]
    points = [codepoints_of(text) for text in texts]
    bounds = np.cumsum([0, *map(len, points)], dtype=np.int64)
    rule = np.array([target.length, MOST_COMPARED], np.int64)
    shingles = (*target.placed, target.base.hashes)
    runs = common_passages(np.concatenate(points), bounds, shingles, unicode_tables(), target.key, rule)
    return [_passage(target, text, *row) for text, row in zip(texts, runs.tolist(), strict=True)]


def _passage(target: Target, text: str, in_a: int, _: int, run: int, begin: int, end: int) -> pages.Passage | None:
    if run < 0:
        return longest_passage(target, text)
    if run == 0:
        return None
    words = run + target.length - 1
    return pages.Passage(_cut(text[begin:end]), words, *_ends(target.units, in_a, words), begin, end)


def longest_passage(target: Target, text: str) -> pages.Passage | None:
    """Return the longest passage of the query document that also appears in ``text``, for any texts."""
    a, b, least = target.units, target.units_of(text), target.length
    in_b = length = -1
    if not target.is_short:
        found = target.shingles_in_order(b)
        if len(target.base):  # 0 is the hash of no shingle, but for one case in 2⁶⁴: the run ends there
            found[target.base.contains(found)] = 0
        in_a, in_b, length = map(int, longest_run(*target.placed, found, MOST_COMPARED))
        length += least - 1
    if in_b < 0 and length != least - 1:  # a text without a whole shingle, or one of endless repeats
        tiles = matching.literal(matching.pair_of(a.hashes, b.hashes, (a.rank, b.rank)), least).tiles
        if len(tiles):
            in_a, in_b, length = map(int, tiles[np.argmax(tiles[:, 2])])
    if in_b < 0:
        return None
    return pages.Passage(
        _cut(b.quote(in_b, in_b + length)), length, *_ends(a, in_a, length), *_ends(b, in_b, length)
    )


def _cut(passage: str) -> str:
    return passage if len(passage) <= PASSAGE_SHOWN else passage[:PASSAGE_SHOWN] + " …"


def _ends(units: Units, start: int, length: int) -> tuple[int, int]:
    """The begin and end in the text of ``length`` units from ``start`` on."""
    return int(units.spans[start, 0]), int(units.spans[start + length - 1, 1])


Reason = Literal["found", "unknown id", "itself", "below", "missed", "filtered"]


@dataclass(frozen=True)
class Cause(PlainData):
    """One clause and its part in the result.

    A fingerprint clause has counts: of the query document and of the document asked about.
    """

    reason: Reason
    clause: str
    sentence: str
    shared: int | None = None
    size_query: int | None = None
    size_hit: int | None = None


@dataclass(frozen=True)
class WhyNot(PlainData):
    """The answer: ``reason`` in a word, and every clause that causes it; ``str()`` returns sentences."""

    id: str
    reason: Reason
    causes: tuple[Cause, ...]

    def __str__(self) -> str:
        head = {
            "found": "is among the hits",
            "unknown id": "is not in the collection; ids are written as they were when the documents were added",
        }.get(self.reason, "is not among the hits")
        lines = [f"{quoted_text(self.id)} {head}."]
        return "\n".join(
            [*lines, *(f"  {display.printable(cause.clause)}: {cause.sentence}" for cause in self.causes)]
        )


def why_not(
    view: View,
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
    planned = plans.plan(parse(query) if isinstance(query, str) else query, view, open_file)
    document = None if _has_surrogate(id) else view.number(id)
    if document is None:
        return WhyNot(id, "unknown id", ())
    evaluation = Evaluation(planned, view, include_self=include_self)
    if document in evaluation.documents():
        return WhyNot(id, "found", ())
    inquiry = _Inquiry(planned, evaluation, document, include_self)
    causes = inquiry.missed_causes() if inquiry.fits(planned.root) else inquiry.causes(planned.root, True)
    return WhyNot(id, causes[0].reason, tuple(causes))


def _has_surrogate(id: str) -> bool:
    """Whether the id is not valid Unicode, as an argument of a command may be, and so cannot be a stored id."""
    return any("\ud800" <= char <= "\udfff" for char in id)


class _Inquiry:
    """The evaluation of every clause for one document."""

    def __init__(self, plan: plans.QueryPlan, evaluation: Evaluation, document: int, include_self: bool) -> None:
        self.plan, self.evaluation, self.view = plan, evaluation, evaluation.view
        self.document, self.include_self = np.array([document], np.int64), include_self

    def fits(self, step: plans.Step) -> bool:
        """Whether the step holds for the document, whatever the look-ups find."""
        if isinstance(step, plans.NotStep):
            return not self.fits(step.part)
        if isinstance(step, plans.AllStep):
            return all(map(self.fits, step.parts))
        if isinstance(step, plans.AnyStep):
            return any(map(self.fits, step.parts))
        if isinstance(step, plans.FingerprintStep):
            return bool(self.evaluation.measures(step, self.evaluation.counts(step, self.document))[0])
        return bool(len(self.evaluation.of(step, self.document)))

    def causes(self, step: plans.Step, wanted: bool) -> list[Cause]:
        """The clauses that make the step fail (``wanted``) or hold (not ``wanted``)."""
        if isinstance(step, plans.NotStep):
            return self.causes(step.part, not wanted)
        if isinstance(step, plans.AllStep | plans.AnyStep):
            parts = [part for part in step.parts if self.fits(part) != wanted]
            return [cause for part in parts for cause in self.causes(part, wanted)]
        return [self._unfit(step, wanted)]

    def missed_causes(self) -> list[Cause]:
        """The fingerprint clauses that did not find a matching document."""
        positive = [step for step in self.plan.fingerprints if not step.negated and self.fits(step)]
        own = [step for step in positive if step.target.number == self.document[0] and not self.include_self]
        if own:
            said = "it is the query document, which is left out unless it is asked for (--include-self)."
            return [Cause("itself", clause_text(step.clause), said) for step in own]
        return [self._missed_cause(step) for step in positive if not self._is_found_by(step)]

    def _is_found_by(self, step: plans.FingerprintStep) -> bool:
        complete = self.evaluation.letters[step] in (plans.LETTERS["complete"], plans.LETTERS["every document"])
        return complete or self._hits(step) >= step.hits

    def _hits(self, step: plans.FingerprintStep) -> int:
        _, hits = self.view.holders(step.sampled, among=self.document)
        return int(hits.sum()) + sum(len(self.view.having(words, self.document)) for words in step.phrases)

    def _missed_cause(self, step: plans.FingerprintStep) -> Cause:
        held = self._hits(step)
        said = (
            f"{self._counts_in_words(step)}, which is enough, but of the {step.n_lookups} shingles that were "
            f"looked up it holds {held}, and {step.hits} are needed. A higher probability finds more; 100 misses "
            "nothing."
        )
        return self._cause("missed", step, said)

    def _unfit(self, step: plans.Leaf, wanted: bool) -> Cause:
        if isinstance(step, plans.FingerprintStep):
            asked = f"{step.target.overlap:f} %" if step.target.overlap else "any overlap"
            if wanted:
                return self._cause("below", step, f"{self._counts_in_words(step)}, and {asked} is asked for.")
            return self._cause("filtered", step, f"{self._counts_in_words(step)}, which NOT excludes.")
        what = "this does not hold for it." if wanted else "this holds for it, and NOT excludes it."
        return Cause("filtered", clause_text(step.clause), what)

    def _counts_in_words(self, step: plans.FingerprintStep) -> str:
        shared, n, size = self._sizes(step)
        whole = n + size - shared if step.clause.symmetric else n
        of_what = f"the {whole:,} of both" if step.clause.symmetric else f"the {n:,} of {step.target.name}"
        return f"it shares {shared:,} of {of_what}, {display.percent(shared, whole)}"

    def _cause(self, reason: Reason, step: plans.FingerprintStep, sentence: str) -> Cause:
        return Cause(reason, clause_text(step.clause), sentence, *self._sizes(step))

    def _sizes(self, step: plans.FingerprintStep) -> tuple[int, int, int]:
        """|A∩B|, |A| and |B|."""
        [shared], ([size], _) = (
            self.evaluation.counts(step, self.document).shared,
            self.evaluation.sizes(self.document),
        )
        return int(shared), step.target.n, int(size)
