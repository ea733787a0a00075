"""What a search proposes, what is proved of it, and what every search can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from neardup.join.candidates import Candidates
from neardup.join.closing import Closed
from neardup.join.estimates import Missing
from neardup.join.exact_parts import ExactParts
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

    choice: Choice
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

    choice: Choice
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
    def of(cls, proposal: Proposal) -> SearchOutcome:
        """The outcome of a search that has proposed pairs, and proved nothing yet."""
        proposed = proposal.candidates
        return cls(
            proposal.choice,
            proposal.plan,
            proposed.pairs.num_rows,
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
