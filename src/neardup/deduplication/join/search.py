"""Rows and sketches → proposed pairs, and what is proved of them, by the method asked for or the one that suits.

The searches side by side: LSH, Hamming, exact, and common text.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from neardup.deduplication.join import method
from neardup.deduplication.join.candidates import (
    Candidates,
    band_candidates,
    bands_at_once,
    join_everything,
    kept_candidates,
    near_candidates,
)
from neardup.deduplication.join.common_text import join_chunks, join_in_order
from neardup.deduplication.join.criterion import criterion_of
from neardup.deduplication.join.exact_parts import ExactParts, Join, exact_parts
from neardup.deduplication.join.misses import Missing, missing_outside
from neardup.deduplication.join.pairs import Pairs, gather, proposed_room, verified_room
from neardup.deduplication.join.prefix_join import join_documents, lookups
from neardup.deduplication.join.rows import Rows, Sketches
from neardup.deduplication.join.shingle_store import DocumentSets, SpilledSets
from neardup.deduplication.join.verification import Closed, close, verify
from neardup.io.outputs import Scratch
from neardup.kernels.join import PrefixIndex
from neardup.runtime import Advance, Progress, release_memory
from neardup.settings import MEASURES
from neardup.tables import VERIFIED, Int64s, distinct
from neardup.text.hamming import HammingPlan, hamming_plan
from neardup.text.keys import PUBLIC
from neardup.text.lsh.bands import Plan


@dataclass(frozen=True, eq=False)
class ExactJoin:
    """The documents to join exactly: an ``index``, and the ``sets`` it refers to, which are not read again.

    ``index`` is None if no documents are joined exactly. A join that does not fit into the memory has ``parts``
    instead, each with an index.
    """

    index: PrefixIndex | None = None
    sets: DocumentSets | None = None
    parts: ExactParts | None = None


@dataclass(frozen=True, eq=False)
class Proposal:
    """The candidates of a search, and its ``exact`` join if that is prepared.

    ``tied`` entries of its index could differ under another key (``prefix_join.Joined``).
    """

    choice: method.Choice
    plan: Plan | HammingPlan
    candidates: Candidates
    exact: ExactJoin = ExactJoin()
    tied: int = 0


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """The proved ``pairs`` of a search; those of two documents of an exact join are looked up in its index."""

    pairs: Pairs


@dataclass(frozen=True, eq=False)
class HeldSets:
    """The sets that verification has read: in memory, and not read again, as long as this record is there."""

    sets: DocumentSets | None = None


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """How a search went.

    ``candidates`` pairs were proposed, and the documents ``hub`` were joined exactly: those of large buckets
    (``in_buckets``) and those that closing adds. ``closed`` is the outcome of closing the chains of pairs, and
    ``missing`` the estimate of missed pairs from all found pairs except those of two documents of the index. Both
    are None if nothing can be missed; ``missing`` is also None for a search by SimHash. With a measure of common
    text, ``compared`` candidates were counted, ``capped`` of them not in full.
    """

    choice: method.Choice
    plan: Plan | HammingPlan
    candidates: int
    hub: Int64s
    hub_buckets: int
    largest_bucket: int
    compared: int = 0
    capped: int = 0
    closed: Closed | None = None
    missing: Missing | None = None
    in_buckets: Int64s | None = None

    @classmethod
    def of(cls, proposal: Proposal) -> "SearchOutcome":
        """The outcome of a search that has proposed pairs, and proved nothing yet."""
        proposed = proposal.candidates
        return cls(
            proposal.choice,
            proposal.plan,
            len(proposed.pairs),
            proposed.hub,
            proposed.hub_buckets,
            proposed.largest_bucket,
        )


class Evidence(NamedTuple):
    """The results of a search, in records that different stages read."""

    found: FoundPairs
    exact: ExactJoin
    held: HeldSets
    outcome: SearchOutcome


class Search(Protocol):
    """A way to find the pairs of documents, in two stages: only the first needs the sketches."""

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose pairs to verify, and documents to join exactly."""

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress, rank: Int64s | None = None) -> Evidence:
        """Return the pairs that meet the criterion.

        With ``rank``, the order of the documents from the best to keep (a permutation), a search may leave out
        pairs within a crowd that no group of this order needs.
        """


@dataclass(frozen=True, eq=False)
class LshSearch:
    """Documents that agree in a band are verified; those of large buckets are joined exactly.

    ``sets`` were read already; they are kept here so that verification need not read them again.
    """

    choice: method.Choice
    plan: Plan
    sets: DocumentSets | None = None

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose the pairs that agree in a band."""
        with progress.stage("candidates", len(self.plan.bands), "bands") as advance:
            keys, bands = sketches.bands(self.plan), len(self.plan.bands)
            threads, parts = bands_at_once(len(keys), rows.settings.search, rows.settings.work)
            room = proposed_room(rows.settings.search, rows.corpus.scratch)
            arguments = keys, bands, rows.first_new_document, threads, advance, rows.related, parts, room
            proposed = kept_candidates(rows.corpus.journal, room, lambda: band_candidates(*arguments))
        return Proposal(self.choice, self.plan, proposed, ExactJoin(sets=self.sets))

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress, rank: Int64s | None = None) -> Evidence:
        """Verify and close the proposed pairs, and prepare the exact join."""
        return _prove(rows, proposal, progress)


@dataclass(frozen=True)
class HammingSearch:
    """Documents whose SimHash fingerprints are within a distance are verified; crowds are joined exactly."""

    choice: method.Choice

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose the pairs within the distance of the settings."""
        shape, fingerprints = rows.settings.simhash, sketches.simhashes
        plan = hamming_plan(max(1, len(fingerprints)), shape.bits, shape.distance)
        threads, first_new = rows.settings.work.threads, rows.first_new_document
        room = proposed_room(rows.settings.search, rows.corpus.scratch)
        with progress.stage("candidates", None, "tables") as advance:

            def search() -> Candidates:
                near = near_candidates(fingerprints, shape.distance, first_new, threads, advance)
                if not rows.related.restricts:
                    return near
                return replace(near, pairs=near.pairs.filter(rows.related.pairs, room))

            proposed = kept_candidates(rows.corpus.journal, room, search)
        return Proposal(self.choice, plan, proposed)

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress, rank: Int64s | None = None) -> Evidence:
        """Verify and close the proposed pairs, and prepare the exact join."""
        return _prove(rows, proposal, progress)


@dataclass(frozen=True)
class ExactSearch:
    """All documents are joined exactly; ``plan`` has the bands of a search by LSH."""

    choice: method.Choice
    plan: Plan

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose no pairs, and prepare the exact join of all documents, in parts if it does not fit."""
        everything = join_everything(len(rows.unique))
        sets, search = sketches.sets, rows.settings.search
        if (
            method.surely_exact(search)
            and self.choice.memory > method.join_room(search)
            and not isinstance(sets, DocumentSets)
        ):
            in_parts = ExactJoin(parts=_in_parts(rows, sets, progress))
            return Proposal(self.choice, self.plan, everything, in_parts)
        exact, tied = _join_exactly(everything.hub, rows, progress)
        return Proposal(self.choice, self.plan, everything, exact, tied)

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress, rank: Int64s | None = None) -> Evidence:
        """Hand on the index: its pairs are looked up when the documents are grouped."""
        outcome = SearchOutcome.of(proposal)
        return Evidence(FoundPairs(Pairs.of(VERIFIED.empty_table())), proposal.exact, HeldSets(), outcome)


@dataclass(frozen=True)
class CommonTextSearch:
    """All documents are joined by their common text; ``plan`` has the bands of a search by LSH."""

    choice: method.Choice
    plan: Plan

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose no pairs: the join counts the ones that meet at once."""
        return Proposal(self.choice, self.plan, join_everything(len(rows.unique)))

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress, rank: Int64s | None = None) -> Evidence:
        """Find the pairs by a measure of common text; no documents are left to an index."""
        in_order = MEASURES[rows.settings.search.measure].counting == "order"
        pairs = (join_in_order if in_order else join_chunks)(rows, progress, rank)
        outcome = replace(SearchOutcome.of(proposal), compared=pairs.candidates, capped=pairs.capped)
        return Evidence(FoundPairs(Pairs.of(pairs.pairs)), ExactJoin(), HeldSets(), outcome)


def _prove(rows: Rows, proposal: Proposal, progress: Progress) -> Evidence:
    """The proposed pairs that meet the criterion, the pairs that chains of them connect, and the index."""
    settings, proposed, plan = rows.settings, proposal.candidates, proposal.plan
    store = rows.sets(MEASURES[settings.search.measure].features)
    release_memory()
    room = verified_room(settings.search, rows.corpus.scratch)
    involved = proposed.pairs.documents(store.documents)
    with ExitStack() as stack:
        with progress.stage("verify", len(proposed.pairs), "pairs") as advance:
            verified = stack.enter_context(store.hold(distinct(proposed.hub, involved)))
            pairs = _verify(proposed.pairs, rows, advance)
        closed = close(pairs, proposed, store, rows.first_new_document, settings, progress, rows.related, room)
        missing = None
        if isinstance(plan, Plan):
            with progress.stage("recall", None, "pairs"):
                sources, threads = (plan, settings.sketch.sketch, store, room), settings.work.threads
                missing = missing_outside(closed.pairs, closed.hub, *sources, threads)
        exact, _ = _join_exactly(closed.hub, rows, progress)
    outcome = replace(
        SearchOutcome.of(proposal), hub=closed.hub, closed=closed, missing=missing, in_buckets=proposed.hub
    )
    return Evidence(FoundPairs(closed.pairs), exact, HeldSets(verified), outcome)


def _verify(proposed: Pairs, rows: Rows, advance: Advance) -> Pairs:
    """The proposed pairs that meet the criterion, verified some at a time under a memory limit."""
    settings, store = rows.settings, rows.sets(MEASURES[rows.settings.search.measure].features)
    criterion, room = criterion_of(settings.search), verified_room(settings.search, rows.corpus.scratch)
    threads, batches = settings.work.threads, proposed.batches(room.most)
    return gather((verify(table, store, criterion, threads, advance) for table in batches), room)


def _in_parts(rows: Rows, filed: SpilledSets | None, progress: Progress) -> ExactParts:
    """The exact join of all documents in parts; ``filed`` are their sets, if the first pass has made them."""
    settings = rows.settings
    store = rows.sets(MEASURES[settings.search.measure].features)
    join = Join(
        criterion_of(settings.search),
        rows.related,
        rows.first_new_document,
        method.join_room(settings.search),
        settings.work.threads,
    )
    scratch = rows.corpus.scratch or Scratch()
    if filed is None:
        with progress.stage("shingles", store.documents, "documents"):
            filed = store.spill(np.arange(store.documents), scratch)
    with progress.stage("join", 2 * store.documents, "documents") as advance:
        return exact_parts(filed, join, scratch, advance)


def _join_exactly(documents: Int64s, rows: Rows, progress: Progress) -> tuple[ExactJoin, int]:
    """The exact join of ``documents``, prepared, and its tied entries; nothing without documents."""
    settings, exact, tied = rows.settings, ExactJoin(), 0
    store = rows.sets(MEASURES[settings.search.measure].features)
    sets = None
    with progress.stage("shingles", len(documents), "documents"):
        if len(documents):
            sets = store.get(documents)
    with progress.stage("join", len(documents), "documents"):
        if sets is not None:
            criterion, threads = criterion_of(settings.search), settings.work.threads
            join = join_documents(documents, store.documents, store, criterion, threads, rows.related)
            exact, tied = ExactJoin(join.hubs, sets), join.tied
    return exact, tied


def propose(rows: Rows, sketches: Sketches, plan: Plan | None, progress: Progress) -> tuple[Search, Proposal]:
    """Choose a search and let it propose; its ``prove`` then finds the pairs, without the sketches.

    ``plan`` holds the bands; None for a search by SimHash. Pairs of two documents of the reference set are left
    out.
    """
    wanted, shingles = rows.settings.search, int(rows.units[rows.unique].sum())
    search: Search
    if plan is None:
        search = HammingSearch(method.by_simhash(rows.settings, shingles))
        return search, search.propose(rows, sketches, progress)
    choice = method.choose(wanted, shingles, rows.settings.shingles.unit)
    if wanted.method == "auto" and choice.method == "lsh" and not plan.suffices:
        why = f"no bands of {plan.slots} slots reach recall {plan.recall:g} at threshold {plan.threshold:g}"
        choice = replace(choice, method="exact", why=why)
    if MEASURES[wanted.measure].features == "tokens":
        search = CommonTextSearch(choice, plan)
    elif choice.method == "exact":
        return _exact_or_lsh(choice, plan, rows, sketches, progress)
    else:
        search = LshSearch(choice, plan)
    return search, search.propose(rows, sketches, progress)


def _exact_or_lsh(
    choice: method.Choice, plan: Plan, rows: Rows, sketches: Sketches, progress: Progress
) -> tuple[Search, Proposal]:
    """The exact join, or LSH if the join turns out to look at too many pairs."""
    exact, wanted = ExactSearch(choice, plan), rows.settings.search
    proposal = exact.propose(rows, sketches, progress)
    if method.surely_exact(wanted) or not plan.suffices:  # however many pairs it looks at
        return exact, proposal
    count = _lookups(proposal)
    if method.is_close(choice, wanted, count, proposal.tied):
        del proposal  # two joins at once would take twice the memory
        # with hashes that are the same in every run
        count = _lookups(exact.propose(rows.under(PUBLIC), sketches, progress))
        proposal = exact.propose(rows, sketches, progress)
    choice = method.reconsider(choice, wanted, count)
    if choice.method == "exact":
        return exact, replace(proposal, choice=choice)
    lsh = LshSearch(choice, plan, proposal.exact.sets)
    del proposal
    return lsh, lsh.propose(rows, sketches, progress)


def _lookups(proposal: Proposal) -> int:
    index = proposal.exact.index
    return 0 if index is None else lookups(index, method.MOST_OF_A_LIST)
