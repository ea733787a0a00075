"""What the adviser says, as plain frozen records; ``AdviceRecord`` is the whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Taken:
    """What was read of the documents; ``complete`` is False where the adviser stopped at its limit.

    ``first_problem`` says why the first of the ``rejected`` rows could not be read.
    ``pairs_left_out``: about so many pairs within crowds (more than 1,000 documents all alike) are in no count of
    pairs, so that these counts are lower bounds.
    """

    documents: int
    bytes: int
    complete: bool
    exact_copies: int
    empty: int
    rejected: int
    first_problem: str
    pairs_left_out: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Bin:
    """So many pairs with ``low`` ≤ resemblance < ``high``; the last bin holds those at exactly 1."""

    low: float
    high: float
    pairs: int


@dataclass(frozen=True)
class Step:
    """What a run at this threshold would do: pairs of different documents, groups, documents removed.

    Exact copies are in groups and among the removed, but are no pairs.
    """

    threshold: float
    pairs: int
    groups: int
    removed: int
    removed_share: float
    removed_bytes: int


@dataclass(frozen=True)
class SideBySide:
    """One pair with every measure: ``measures`` is that of :func:`neardup.compare`, by the same names."""

    id_a: str
    id_b: str
    measures: dict[str, Any]


@dataclass(frozen=True)
class Near:
    """The pairs within ``width`` of the threshold: from it upwards, below it, and a few of them."""

    threshold: float
    width: float
    above: int
    below: int
    examples: tuple[SideBySide, ...]


@dataclass(frozen=True)
class BandChoice:
    """What LSH with so many slots and such a recall would find of the pairs of the sample.

    ``bands``: rows of each band, None where no bands reach the recall. ``expected_recall`` is the expected share
    of the pairs at or above the threshold (None without any), ``missed`` the others; ``false_candidates`` those
    below the threshold that would be compared in vain, counted from the lowest resemblance of the histogram.
    """

    slots: int
    recall: float
    bands: tuple[int, ...] | None
    expected_recall: float | None
    missed: float | None
    false_candidates: float | None
    signature_bytes: int


@dataclass(frozen=True)
class ShingleChoice:
    """What another shingle would find, on the first ``documents`` of the sample.

    ``shorter``: share of documents with fewer tokens (characters) than one shingle; ``fragile``: share that one
    changed word takes below the threshold; ``random_median`` and ``random_high``: resemblance of two documents
    taken at random, the median and the value that 1 in 20 such pairs reaches.
    """

    unit: str
    length: int
    documents: int
    pairs: int
    removed: int
    median_shingles: float
    shorter: float
    fragile: float
    random_median: float
    random_high: float


@dataclass(frozen=True)
class Boilerplate:
    """Passages of ``length`` words that stand in more than a fifth of the ``documents`` that would be kept.

    ``share`` of an average document is made of them; ``passage`` is the stretch around the most common one,
    which stands in ``passage_documents`` of them.
    """

    documents: int
    length: int
    share: float
    passage: str
    passage_documents: int


@dataclass(frozen=True)
class Trap:
    """Something that misleads with these documents and settings, said in words."""

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Recommendation:
    """A command line to copy, its settings, and why."""

    command: str
    settings: dict[str, Any]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class AdviceRecord:
    """All the adviser says about a sample of documents. Counts are exact, expectations are called so.

    ``histogram`` pairs by resemblance; ``thresholds`` what a run at each would do; ``near`` the pairs close to the
    threshold; ``bands`` and ``shingles`` what other choices would find and cost; ``traps``; ``recommended``.
    """

    settings: dict[str, Any]
    sample: Taken
    histogram: tuple[Bin, ...]
    thresholds: tuple[Step, ...]
    near: Near
    bands: tuple[BandChoice, ...]
    shingles: tuple[ShingleChoice, ...]
    boilerplate: Boilerplate | None
    traps: tuple[Trap, ...]
    recommended: Recommendation

    def as_dict(self) -> dict[str, Any]:
        """The advice as plain data."""
        return asdict(self)
