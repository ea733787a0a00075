"""Templates among the documents: strangers that share a long form, and whose contents have nothing in common.

Versions of one text differ, too, but a neighbouring version has most of the new text of one. The errors of a scan
are scattered, while contents are passages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.corpus.advice.gap import groups_at, spanning_tree
from neardup.corpus.advice.sample import SharedCounts
from neardup.deduplication.pairs import LEAST
from neardup.tables import Bools, Int64s
from neardup.unicode import tokens

WINDOW = 5
"""Words in a run that counts as shared."""

FAMILY = 4
"""Fewer documents than this do not show a template."""

ALIKE = 0.25
"""From this resemblance on, documents may be in one template."""

COMMON = 0.6
"""A run of words in this share of a family belongs to the template."""

PASSAGE = 8
"""Runs outside the template, one after another, from which on they are contents and not an error or a date."""

MOSTLY = 0.6
"""The share of a family that must have contents of its own, like those of no other document."""

UNLIKE = 0.2
"""Contents are unlike if the shorter ones share less than this."""

MEMBERS_EXAMINED = 120
"""The documents of a family that are examined."""

Window = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Templates:
    """``false`` (bool[n, n]): pairs in one template with unlike contents; ``documents`` are in templates.

    ``smallest`` is the number of documents in the smallest template, ``largest_other`` that of the largest family
    that is not a template.
    """

    false: Bools
    documents: int
    smallest: int
    largest_other: int


def find_templates(texts: Sequence[str], counts: SharedCounts) -> Templates:
    """Find the templates among texts, from the shingles of words that they share."""
    similar = counts.similar("resemblance")
    false = np.zeros(similar.shape, np.bool_)
    in_template: list[int] = []
    others = [1]
    if len(texts) >= FAMILY:
        of_each = groups_at(spanning_tree(similar), ALIKE)
        for family, often in zip(*np.unique(of_each, return_counts=True), strict=True):
            members = np.flatnonzero(of_each == family)
            template = often >= FAMILY and _mark(texts, members, false)
            (in_template if template else others).append(len(members))
    return Templates(false, sum(in_template), min(in_template, default=0), max(others))


def common_share(templates: Templates, documents: int) -> float | None:
    """Return a share of the ``documents`` below that of the text of each template, or None.

    Versions of one text are fewer than that, so the text that they have in common still counts.

    >>> common_share(Templates(np.zeros((0, 0), np.bool_), 60, 60, 1), 60)
    0.3
    >>> common_share(Templates(np.zeros((0, 0), np.bool_), 60, 60, 20), 200) is None
    True
    """
    share = round(COMMON / 2 * templates.smallest / max(documents, 1), 3)
    return share if share * documents >= max(LEAST, templates.largest_other) else None


def _mark(texts: Sequence[str], members: Int64s, false: Bools) -> bool:
    """Mark the pairs of a family with unlike contents in ``false``; return whether it is a template."""
    examined = members[:: -(-len(members) // MEMBERS_EXAMINED)]
    windows = [_windows(texts[k]) for k in examined.tolist()]
    often = Counter(window for window_list in windows for window in set(window_list))
    common = {window for window, count in often.items() if count >= COMMON * len(examined)}
    own = [{window for window in window_list if window not in common} for window_list in windows]
    passages = sum(_longest_own(window_list, common) >= PASSAGE for window_list in windows)
    if not common or passages < MOSTLY * len(examined):
        return False
    alike = np.array([[_overlap(a, b) >= UNLIKE for b in own] for a in own])
    np.fill_diagonal(alike, False)
    if (~alike.any(axis=1)).sum() < MOSTLY * len(examined):
        return False
    unlike = ~alike
    np.fill_diagonal(unlike, False)
    false[np.ix_(examined, examined)] |= unlike
    return True


def _windows(text: str) -> list[Window]:
    words = tokens(text)
    return [tuple(words[k : k + WINDOW]) for k in range(max(len(words) - WINDOW + 1, 1))]


def _longest_own(windows: list[Window], common: set[Window]) -> int:
    """Return the length of the longest stretch of windows that are not common."""
    longest = now = 0
    for window in windows:
        now = 0 if window in common else now + 1
        longest = max(longest, now)
    return longest


def _overlap(a: set[Window], b: set[Window]) -> float:
    """Return the share of the smaller set that is in the other; 1 if it is empty, because then all is template."""
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 1.0
