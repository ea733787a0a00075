"""The results of the adviser as plain frozen records; ``AdviceRecord`` contains all of them."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Taken:
    """The part of the documents that was read; ``complete`` is False if the adviser stopped at its limit.

    ``first_problem`` explains why the first of the ``rejected`` rows could not be read. ``pairs_left_out`` is the
    approximate number of pairs within crowds (more than 1,000 documents all alike). No count of pairs includes
    them, so those counts are lower bounds.
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
    """The number of ``pairs`` with ``low`` ≤ resemblance < ``high``; the last bin holds those at exactly 1."""

    low: float
    high: float
    pairs: int


@dataclass(frozen=True)
class Step:
    """The effect of a run at this threshold: pairs of different documents, groups, documents removed.

    Exact copies belong to groups and count as removed, but not as pairs. ``losing`` of the removed documents have
    shingles that no kept document of their group has; ``lost_share`` of the shingles of removed near copies are
    such.
    """

    threshold: float
    pairs: int
    groups: int
    removed: int
    removed_share: float
    removed_bytes: int
    losing: int
    lost_share: float


@dataclass(frozen=True)
class SideBySide:
    """One pair with every measure; ``measures`` has the names and values of :func:`neardup.compare`."""

    id_a: str
    id_b: str
    measures: dict[str, Any]


@dataclass(frozen=True)
class NearThreshold:
    """The pairs within ``width`` of the threshold: the numbers at or above it and below it, and some examples."""

    threshold: float
    width: float
    above: int
    below: int
    examples: tuple[SideBySide, ...]


@dataclass(frozen=True)
class BandChoice:
    """The expected results of LSH with these ``slots`` and this ``recall`` on the pairs of the sample.

    ``bands``: rows of each band, None if no bands reach the recall. ``expected_recall`` is the expected share
    found of the pairs at or above the threshold (None without any), ``missed`` the expected number of the others.
    ``false_candidates`` are pairs below the threshold that would be compared in vain, counted from the lowest
    resemblance of the histogram.
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
    """The results of another shingle, on the first ``documents`` of the sample.

    ``shorter``: share of documents with fewer tokens (characters) than one shingle; ``fragile``: share that falls
    below the threshold if one word changes; ``random_median`` and ``random_high``: resemblance of two random
    documents, the median and the value that 1 in 20 such pairs reaches.
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
    """Passages of ``length`` words that appear in more than a fifth of the ``documents`` that would be kept.

    They make up ``share`` of an average document. ``passage`` is the text around the most common one, which
    appears in ``passage_documents`` documents.
    """

    documents: int
    length: int
    share: float
    passage: str
    passage_documents: int


@dataclass(frozen=True)
class Trap:
    """A misleading property of these documents and settings, explained in ``text``."""

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Look:
    """The similarities of all pairs looked at, by one kind of shingles and one measure, and the gap in them.

    ``low`` and ``high`` bound the gap; ``expected_f1`` is the F1 of its groups, as expected from the tails of both
    sides (0 for a handful of pairs, which have none), and ``clear`` whether that is high. ``pairs`` and ``groups``
    are those of the ``threshold`` in the gap. Of the pairs between the groups, ``strangers_median`` and
    ``strangers_high`` (1 pair in 100 is above it); of the pairs within, ``relatives_low`` (1 in 20 is below it)
    and ``relatives_median``. Without a gap, ``threshold`` is None, strangers are all pairs, and the others are 0.
    """

    unit: str
    length: int
    measure: str
    threshold: float | None
    low: float
    high: float
    expected_f1: float
    clear: bool
    pairs: int
    groups: int
    strangers_median: float
    strangers_high: float
    relatives_low: float
    relatives_median: float


@dataclass(frozen=True)
class Apart:
    """One pair close to the recommended line: its value, and the longest passage that only one of the two has."""

    id_a: str
    id_b: str
    value: float
    only_a: str
    only_b: str


@dataclass(frozen=True)
class Around:
    """The pairs closest to the recommended threshold, five at most on either side, the highest value first."""

    unit: str
    length: int
    measure: str
    threshold: float
    above: tuple[Apart, ...]
    below: tuple[Apart, ...]


@dataclass(frozen=True)
class InCommon:
    """The text in common, for some of the pairs looked at: relatives close to the line, and the nearest strangers.

    Medians of two measures: ``chunks`` (common text as a share of all text) and ``order`` (words in the same
    order).
    """

    relatives: int
    relatives_chunks: float
    relatives_order: float
    strangers: int
    strangers_chunks: float
    strangers_order: float


@dataclass(frozen=True)
class Seen:
    """The extra looks: at how many ``documents`` and ``bytes``, all pairs of them counted.

    ``outcome`` is "gap" (relatives and strangers are apart), "no gap" (every threshold cuts through pairs that are
    alike), "template" (strangers in one template are as alike as relatives), "one family" (all documents are
    linked) or "no near copies". ``sure`` is False if the recommended settings may miss relatives or take strangers
    for some, and ``doubt`` is the reason, otherwise "". ``traits`` are noise, revisions, quotes, excerpts, short
    texts and templates, if the documents have them.
    """

    documents: int
    bytes: int
    outcome: str
    sure: bool
    doubt: str
    looks: tuple[Look, ...]
    common: InCommon | None
    traits: tuple[Trap, ...]


@dataclass(frozen=True)
class Recommendation:
    """A command line to copy, its settings, and the reasons.

    ``effect`` is what the command does to the first ``documents`` of the sample.
    """

    command: str
    settings: dict[str, Any]
    effect: Step
    documents: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class AdviceRecord:
    """All advice on a sample of documents. Counts are exact; expected values are labelled as such.

    ``histogram``: pairs by resemblance; ``thresholds``: the effect of a run at each; ``near``: the pairs close to
    the threshold; ``bands`` and ``shingles``: the results and costs of other choices; ``traps``; ``seen``: the gap
    between relatives and strangers; ``around``: pairs close to the recommended line; ``recommended``.
    """

    settings: dict[str, Any]
    sample: Taken
    histogram: tuple[Bin, ...]
    thresholds: tuple[Step, ...]
    near: NearThreshold
    bands: tuple[BandChoice, ...]
    shingles: tuple[ShingleChoice, ...]
    boilerplate: Boilerplate | None
    traps: tuple[Trap, ...]
    seen: Seen
    around: Around
    recommended: Recommendation

    def as_dict(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return asdict(self)
