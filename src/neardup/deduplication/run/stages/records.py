"""The records that the stages of a run hand on: each is one idea, and lives until its last reader has ended."""

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from neardup.deduplication.join.base_documents import BaseDocuments
from neardup.deduplication.join.misses import Missing
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.deduplication.run.review_decisions import ReviewedResult
from neardup.io.inputs import Chosen, Documents, Reference
from neardup.settings import SearchSettings, Settings, Work
from neardup.tables import Int64s
from neardup.text.lsh.bands import Plan

Action = Literal["find", "dedup", "group", "annotate"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The opened documents of a run, and the request.

    ``against`` is the reference set, the text of the documents ``ignore`` does not count, and ``review`` holds
    decisions of people, which the groups follow.
    """

    documents: Documents
    columns: Chosen
    settings: Settings
    against: Reference | None = None
    action: Action = "find"
    ignore: BaseDocuments | None = None
    review: ReviewedResult | None = None


@dataclass(frozen=True)
class Purpose:
    """The intended use of the decisions."""

    action: Action


@dataclass(frozen=True)
class BandPlan:
    """The bands of the search; None for a search by SimHash."""

    plan: Plan | None


@dataclass(frozen=True, eq=False)
class CommonShingles:
    """The ``table`` of the shingles that are left out because many of the ``different`` documents have them."""

    table: pa.Table
    different: int


@dataclass(frozen=True, eq=False)
class LearnedSets:
    """Shingle sets without common text, in memory as long as this record is there; None if they do not fit."""

    sets: DocumentSets | None


@dataclass(frozen=True)
class Notes:
    """Remarks on the inputs for people."""

    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeadPairs:
    """The pairs of documents with their representatives: ``known`` ones (VERIFIED), also others if they fit.

    ``unknown`` ones (CANDIDATES) are connected by a chain only, or were not needed until there was a leader.
    """

    known: pa.Table
    unknown: pa.Table


@dataclass(frozen=True, eq=False)
class LeaderPairs:
    """The pairs that decisions need (VERIFIED), by the measure and counted on ``shingles``.

    ``far`` are those of them that no search reports: most are below the threshold, connected by a chain; some are
    pairs of a crowd that were not needed until its leader was known.
    """

    pairs: pa.Table
    shingles: pa.Table
    far: pa.Table


@dataclass(frozen=True, eq=False)
class ShinglePairs:
    """The reported pairs counted on shingles; None if the pairs exceed the memory."""

    pairs: pa.Table | None


@dataclass(frozen=True, eq=False)
class LookedAt:
    """Rows without a pair or a copy that people look at, too."""

    rows: Int64s


@dataclass(frozen=True)
class MissingPairs:
    """The estimate of all missed pairs; None if it is not made."""

    estimate: Missing | None


@dataclass(frozen=True, eq=False)
class MemberTable:
    """The members of groups, with ids."""

    table: pa.Table


@dataclass(frozen=True)
class PairForm:
    """The form of a table of pairs: the measure, and whether it has the ``kinds`` of difference."""

    search: SearchSettings
    kinds: bool
    work: Work


@dataclass(frozen=True, eq=False)
class RowTables:
    """The tables of a result with ids: exact copies, ranks, and documents not judged."""

    copies: pa.Table
    ranks: pa.Table
    not_judged: pa.Table


@dataclass(frozen=True, eq=False)
class PairTable:
    """The reported pairs, with ids."""

    table: pa.Table


@dataclass(frozen=True, eq=False)
class MissedTable:
    """The pairs that an audit found missing, with ids."""

    table: pa.Table
