"""Templates among the documents: strangers that share a long form, and whose contents have nothing in common.

Versions of one text differ, too, but a neighbouring version has most of the new text of one. The errors of a scan
are scattered, while contents are passages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.corpus.advice.gap import groups_at, spanning_tree
from neardup.corpus.advice.sample import KINDS, SharedCounts, counts_of, sets_of
from neardup.deduplication.pairs import EVERYONE, LEAST, Related
from neardup.settings import Settings
from neardup.tables import Bools, Int64s
from neardup.text.sketch import NO_BASE_TEXT, BaseText
from neardup.unicode import tokens

WINDOW = 5
"""Words in a run that counts as shared."""

FAMILY = 4
"""Fewer documents than this do not show a template, and text in fewer is no sign of one."""

ALIKE = 0.25
"""From this share of the shorter document on, repeated text may be a template of the two."""

COMMON = 0.6
"""A run of words in this share of a family belongs to the template."""

PASSAGE = 8
"""Runs outside the template, one after another, from which on they are contents and not an error or a date."""

TOGETHER = 0.7
"""The share of the runs outside the template that the longest passage has: errors and revisions are scattered."""

MOSTLY = 0.6
"""The share of a family that must have passages of its own, and the least number of contents for each document."""

UNLIKE = 0.2
"""Contents are unlike if the shorter ones share less than this."""

MEMBERS_EXAMINED = 120
"""The documents of a family that are examined."""

Window = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Templates:
    """``false`` (bool[n, n]): pairs in one template with unlike contents; ``sizes`` are the documents of each.

    ``largest_other`` is the number of documents in the largest family that is not a template.
    """

    false: Bools
    sizes: tuple[int, ...]
    largest_other: int


def find_templates(
    texts: pa.Array, settings: Settings, base: BaseText = NO_BASE_TEXT, related: Related = EVERYONE
) -> Templates:
    """Find the templates among texts (large_binary[n]), from the shingles of words in FAMILY or more documents.

    Rarer text says nothing about a template, and would link one to another where they have a content in common.
    """
    sets = sets_of(texts, KINDS[0].settings(settings), base)
    decoded = [text.decode("utf-8", "replace") for text in texts.to_pylist()]

    def counts(members: Int64s, common: BaseText) -> SharedCounts:
        return counts_of(texts.take(pa.array(members)), KINDS[0], settings, base | common, related.of(members))

    every, owners = np.arange(len(texts)), np.repeat(np.arange(len(texts)), sets.sizes)
    repeated = counts(every, _with_counts(sets.hashes, 0, FAMILY)).shared
    shorter = np.minimum.outer(sets.sizes, sets.sizes)
    alike = np.where(repeated >= PASSAGE, repeated / np.maximum(shorter, 1), 0.0)
    of_each = groups_at(spanning_tree(alike), ALIKE)
    false = np.zeros(alike.shape, np.bool_)
    sizes: list[int] = []
    others = [1]
    for family, often in zip(*np.unique(of_each, return_counts=True), strict=True):
        if often >= FAMILY:
            members = np.flatnonzero(of_each == family)
            own = counts(members, _with_counts(sets.hashes[np.isin(owners, members)], COMMON * often))
            unlike = _unlike([decoded[k] for k in members.tolist()], own)
            (others if unlike is None else sizes).append(len(members))
            false[np.ix_(members, members)] = False if unlike is None else unlike
    return Templates(false, tuple(sorted(sizes)), max(others))


def _with_counts(
    hashes: np.ndarray[tuple[int], np.dtype[np.uint64]], least: float, below: float = np.inf
) -> BaseText:
    """Return the shingles that are there ``least`` times or more, and fewer times than ``below``."""
    different, often = np.unique(hashes, return_counts=True)
    return BaseText(different[(often >= least) & (often < below)], np.empty(0, np.uint64))


def common_share(templates: Templates, documents: int) -> float | None:
    """Return a share of the ``documents`` below that of the text of a template, or None.

    Versions of one text are fewer than that, so the text that they have in common still counts. The smallest
    template that leaves such a share is taken.

    >>> common_share(Templates(np.zeros((0, 0), np.bool_), (60,), 1), 60)
    0.3
    >>> common_share(Templates(np.zeros((0, 0), np.bool_), (8, 60), 12), 200)
    0.09
    >>> common_share(Templates(np.zeros((0, 0), np.bool_), (60,), 40), 200) is None
    True
    """
    least = max(LEAST, templates.largest_other)
    for size in templates.sizes:
        share = float(f"{max(COMMON / 2 * size, least) / documents:.2g}")
        if least <= share * documents < COMMON * size:
            return share
    return None


def _unlike(texts: Sequence[str], own: SharedCounts) -> Bools | None:
    """Return which members of a family have unlike contents, bool[n, n]; None if it is not a template.

    ``own`` are the shingles that the members share outside the text of the template.
    """
    windows = [_windows(text) for text in texts[:: -(-len(texts) // MEMBERS_EXAMINED)]]
    often = Counter(window for window_list in windows for window in set(window_list))
    common = {window for window, count in often.items() if count >= COMMON * len(windows)}
    passages = sum(_has_passage(window_list, common) for window_list in windows)
    if not common or passages < MOSTLY * len(windows):
        return None
    similar, filled = own.similar("overlap"), own.sizes > 0
    contents = groups_at(spanning_tree(similar), UNLIKE)[filled]
    if len(np.unique(contents)) < MOSTLY * len(texts):
        return None
    unlike: Bools = (similar < UNLIKE) & filled[:, None] & filled  # the others are all template
    np.fill_diagonal(unlike, False)
    return unlike


def _windows(text: str) -> list[Window]:
    words = tokens(text)
    return [tuple(words[k : k + WINDOW]) for k in range(max(len(words) - WINDOW + 1, 1))]


def _has_passage(windows: list[Window], common: set[Window]) -> bool:
    """Whether the windows that are not common have a long stretch with much of them."""
    longest = now = own = 0
    for window in windows:
        now = 0 if window in common else now + 1
        own += window not in common
        longest = max(longest, now)
    return longest >= max(PASSAGE, TOGETHER * own)
