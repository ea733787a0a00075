"""What a search proposes, what is proved of it, and what every search can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from neardup.join.closing import Closed
from neardup.join.estimates import Missing
from neardup.join.exact_parts import ExactParts
from neardup.join.lsh_candidates import Candidates
from neardup.join.method import Choice
from neardup.join.pair_file import Pairs
from neardup.join.rows import Rows, Sketches
from neardup.join.shingle_store import DocumentSets
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.lsh.bands import Plan
from neardup.lsh.hamming.tables import HammingPlan
from neardup.runtime import Progress
from neardup.tables import Int64s


@dataclass(frozen=True, eq=False)
class Proposal:
    """The candidates of a search; an exact join also hands on its ``index`` and the ``sets`` that it was made of.

    ``tied`` entries of the index could differ under another key (``prefix_join.Joined``). Instead of the
    index there are ``parts`` if it does not fit into the memory.
    """

    choice: Choice
    plan: Plan | HammingPlan
    candidates: Candidates
    index: PrefixIndex | None = None
    tied: int = 0
    sets: DocumentSets | None = None
    parts: ExactParts | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results of the search: verified pairs, an index for the documents to join exactly, and how it went.

    ``index`` is None if no documents are joined exactly; it refers to ``sets``, which later stages therefore need
    not read again. An exact join that does not fit into the memory has ``parts`` instead, each with an index.
    ``closed`` is the outcome of closing the chains of pairs.
    ``missing`` is the estimate of missed pairs from all found pairs except those of two documents of the index.
    Both are None if nothing can be missed; ``missing`` is also None for a search by SimHash. ``in_buckets``
    (int64) are the documents of large buckets; the documents of the index are these and the ones that closing
    adds. ``held`` are sets that verification has read, in memory for the stages that follow. With a measure of
    common text, ``compared`` candidates were counted, ``capped`` of them not in full.
    """

    choice: Choice
    plan: Plan | HammingPlan
    proposed: Candidates
    pairs: Pairs
    index: PrefixIndex | None = None
    sets: DocumentSets | None = None
    compared: int = 0
    capped: int = 0
    closed: Closed | None = None
    missing: Missing | None = None
    in_buckets: Int64s | None = None
    held: DocumentSets | None = None
    parts: ExactParts | None = None


class Search(Protocol):
    """A way to find the pairs of documents, in two stages: only the first needs the sketches."""

    def propose(self, rows: Rows, sketches: Sketches, progress: Progress) -> Proposal:
        """Propose pairs to verify, and documents to join exactly."""

    def prove(self, rows: Rows, proposal: Proposal, progress: Progress) -> Evidence:
        """Return the pairs that meet the criterion."""
