"""Fingerprints → evidence: the pairs at or above the threshold, proposed by LSH or SimHash, or joined exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.join.closing import Closed, close
from neardup.join.corpus import Corpus, Fingerprints
from neardup.join.criterion import MEASURES, criterion_of
from neardup.join.exact_candidates import join_everything
from neardup.join.lsh_candidates import Candidates, candidates
from neardup.join.method import MOST_OF_A_LIST, Choice, by_simhash, choose, is_close, reconsider
from neardup.join.missing import Missing, missing_outside
from neardup.join.prefix_join import Joined, joined, lookups, no_hubs
from neardup.join.shingle_store import ShingleStore
from neardup.join.verify import verify
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import Plan
from neardup.lsh.hamming.tables import HammingPlan, hamming_plan
from neardup.runtime import Progress, release_memory
from neardup.settings import Features
from neardup.sketch.documents import simhash_words
from neardup.tables import VERIFIED, Int64s
from neardup.text.keys import PUBLIC


@dataclass(frozen=True)
class Evidence:
    """The results of the search: verified pairs, hub documents ready to join, and how the search went.

    With a measure of common text, ``compared`` candidates were counted, ``capped`` of them not in full. ``closed``
    is the outcome of closing the chains of pairs. ``missing`` is the estimate of missed pairs from all found pairs
    except those of two hub documents. Both are None if nothing can be missed; ``missing`` is also None for a
    search by SimHash. ``in_buckets`` (int64) are the documents of large buckets; the hub documents are these and
    the ones that closing adds.
    """

    choice: Choice
    plan: Plan | HammingPlan
    proposed: Candidates
    pairs: pa.Table
    hubs: PrefixIndex
    compared: int = 0
    capped: int = 0
    closed: Closed | None = None
    missing: Missing | None = None
    in_buckets: Int64s | None = None


def search(
    corpus: Corpus, prints: Fingerprints, plan: Plan | None, reference: int, progress: Progress
) -> Evidence:
    """Find the pairs of the documents, by the method that was asked for or the one that suits them.

    ``plan`` holds the bands; None for a search by SimHash. Pairs of two documents below ``reference`` are left
    out. The signatures in ``prints`` are consumed.
    """
    if plan is None:
        return _by_simhash(corpus, prints, reference, progress)
    wanted = corpus.settings.search
    choice = choose(wanted, int(prints.units[prints.unique].sum()))
    features = MEASURES[wanted.measure].features
    if features == "tokens":
        return _by_common_text(corpus, prints, plan, choice, reference, progress)
    store = ShingleStore(corpus, prints, features)
    if choice.method == "exact":
        proposed = join_everything(len(prints.unique))
        hubs, tied = _joined(proposed, store, corpus, progress)
        count = lookups(hubs, MOST_OF_A_LIST)
        if is_close(choice, wanted, count, tied):
            del hubs, store  # two joins at once would take twice the memory
            count = _lookups_by(PUBLIC, corpus, prints, features, progress)
            store = ShingleStore(corpus, prints, features)
            hubs, _ = _joined(proposed, store, corpus, progress)
        choice = reconsider(choice, wanted, count)
        if choice.method == "exact":
            prints.signatures.clear()
            return Evidence(choice, plan, proposed, VERIFIED.empty_table(), hubs)
        del hubs
    threads = corpus.settings.work.threads
    with progress.stage("candidates", len(plan.bands), "bands") as advance:
        proposed = candidates(prints.signatures, plan, reference, threads, advance)
    prints.signatures.clear()
    return _verified(choice, plan, proposed, store, (corpus, reference), progress)


def _lookups_by(key: Key, corpus: Corpus, prints: Fingerprints, features: Features, progress: Progress) -> int:
    """The look-ups of an exact join of all documents, hashed with ``key``: the same number in every run."""
    other = corpus.under(key)
    everything = join_everything(len(prints.unique))
    hubs, _ = _joined(everything, ShingleStore(other, prints, features), other, progress)
    return lookups(hubs, MOST_OF_A_LIST)


def _by_simhash(corpus: Corpus, prints: Fingerprints, reference: int, progress: Progress) -> Evidence:
    """The pairs whose fingerprints are within the distance, and the hub documents, joined exactly."""
    from neardup.join.hamming_candidates import candidates as near  # other runs need not wait for its kernels

    settings = corpus.settings
    shape = settings.simhash
    fingerprints = np.concatenate([np.empty((0, simhash_words(settings)), np.uint64), *prints.simhashes])
    prints.simhashes.clear()
    plan = hamming_plan(max(1, len(fingerprints)), shape.bits, shape.distance)
    with progress.stage("candidates", None, "tables") as advance:
        proposed = near(fingerprints, shape.distance, reference, settings.work.threads, advance)
    del fingerprints
    choice = by_simhash(settings, int(prints.units[prints.unique].sum()))
    store = ShingleStore(corpus, prints, MEASURES[settings.search.measure].features)
    return _verified(choice, plan, proposed, store, (corpus, reference), progress)


def _verified(
    choice: Choice,
    plan: Plan | HammingPlan,
    proposed: Candidates,
    store: ShingleStore,
    part: tuple[Corpus, int],
    progress: Progress,
) -> Evidence:
    """The proposed pairs that meet the criterion, the pairs that chains of them connect, and the hub documents.

    ``part`` = (corpus, number of the first document after the reference set).
    """
    corpus, reference = part
    settings = corpus.settings
    release_memory()
    with progress.stage("verify", proposed.pairs.num_rows, "pairs") as advance:
        # without any pairs, pyarrow's unique values are of type null
        involved = pc.unique(pa.chunked_array(proposed.pairs.columns)).cast(pa.int64()).to_numpy()
        store.hold(np.union1d(proposed.hub, involved))
        criterion, threads = criterion_of(settings.search), settings.work.threads
        pairs = verify(proposed.pairs, store, criterion, threads, advance)
    closed = close(pairs, proposed, store, reference, settings, progress)
    missing = None
    if isinstance(plan, Plan):
        with progress.stage("recall", None, "pairs"):
            missing = missing_outside(closed.pairs, closed.hub, plan, settings.sketch.sketch, store)
    in_buckets, proposed = proposed.hub, replace(proposed, hub=closed.hub)
    hubs, _ = _joined(proposed, store, corpus, progress)
    return Evidence(
        choice, plan, proposed, closed.pairs, hubs, closed=closed, missing=missing, in_buckets=in_buckets
    )


def _by_common_text(
    corpus: Corpus, prints: Fingerprints, plan: Plan, choice: Choice, reference: int, progress: Progress
) -> Evidence:
    """The pairs by a measure of common text; no documents are left to the hubs."""
    # other runs need not wait for these kernels
    if corpus.settings.search.measure == "lcs":
        from neardup.join.lcs_join import join_in_order as join
    else:
        from neardup.join.chunk_join import join_chunks as join

    found, documents = join(corpus, prints, reference, progress), len(prints.unique)
    hubs = no_hubs(documents, criterion_of(corpus.settings.search))
    proposed = join_everything(documents)
    return Evidence(choice, plan, proposed, found.pairs, hubs, found.candidates, found.capped)


def _joined(proposed: Candidates, store: ShingleStore, corpus: Corpus, progress: Progress) -> Joined:
    """Prepare the exact join of the hub documents (all documents, for the exact method)."""
    settings = corpus.settings
    with progress.stage("shingles", len(proposed.hub), "documents"):
        store.hold_all(proposed.hub)
    with progress.stage("join", len(proposed.hub), "documents"):
        criterion = criterion_of(settings.search)
        return joined(proposed.hub, store.documents, store, criterion, settings.work.threads)
