"""The results of the adviser as plain frozen records; ``AdviceRecord`` contains all of them."""

from dataclasses import dataclass
from typing import Any

from neardup.display.view import PlainData


@dataclass(frozen=True)
class Taken(PlainData):
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
class Step(PlainData):
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
class Look(PlainData):
    """The similarities of all pairs looked at, by one kind of shingles and one measure, and the gap in them.

    ``low`` and ``high`` bound the gap; ``expected_f1`` is the F1 of its groups, as expected from the tails of both
    sides and from the relatives that the other gaps find (0 for a handful of pairs, which have no tails), and
    ``clear`` whether the tails alone promise a high one. ``pairs`` are those within the groups at
    the ``threshold`` in the gap. Of the pairs between the groups, 1 in 100 is above ``strangers_high``; of the
    pairs within, 1 in 20 is below ``relatives_low``. Without a gap, ``threshold`` is None, strangers are all
    pairs, and the others are 0.
    """

    unit: str
    length: int
    measure: str
    threshold: float | None
    low: float = 0.0
    high: float = 0.0
    expected_f1: float = 0.0
    clear: bool = False
    pairs: int = 0
    strangers_high: float = 0.0
    relatives_low: float = 0.0


@dataclass(frozen=True)
class Apart(PlainData):
    """One pair close to the recommended line: its value, and the longest passage that only one of the two has."""

    id_a: str
    id_b: str
    value: float
    only_a: str
    only_b: str


@dataclass(frozen=True)
class Around(PlainData):
    """The pairs closest to the recommended threshold, five at most on either side, the highest value first."""

    unit: str
    length: int
    measure: str
    threshold: float
    above: tuple[Apart, ...]
    below: tuple[Apart, ...]


@dataclass(frozen=True)
class Seen(PlainData):
    """The extra looks: at how many ``documents`` and ``bytes``, all pairs of them counted.

    ``outcome`` is "gap" (relatives and strangers are apart), "no gap" (every threshold cuts through pairs that are
    alike), "template" (strangers in one template are as alike as relatives), "one family" (all documents are
    linked) or "no near copies". ``sure`` is False if the recommended settings may miss relatives or take strangers
    for some, and ``doubt`` is the reason, otherwise "". ``templated`` documents share a long form with others,
    and their contents have nothing in common.
    """

    documents: int
    bytes: int
    outcome: str
    sure: bool
    doubt: str
    templated: int
    looks: tuple[Look, ...]


@dataclass(frozen=True)
class Recommendation(PlainData):
    """A command line to copy, its settings, and the reasons.

    ``effect`` is what the command does to the first ``documents`` of the sample.
    """

    command: str
    settings: dict[str, Any]
    effect: Step
    documents: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class AdviceRecord(PlainData):
    """All advice on a sample of documents. Counts are exact; expected values are labelled as such.

    ``recommended``: the command; ``seen``: the gap between relatives and strangers; ``around``: pairs close to the
    recommended line; ``thresholds``: the effect of a run at each.
    """

    settings: dict[str, Any]
    sample: Taken
    recommended: Recommendation
    seen: Seen
    around: Around
    thresholds: tuple[Step, ...]
