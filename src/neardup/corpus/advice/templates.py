"""Templates among the documents: strangers that share a long form, and whose contents have nothing in common.

Versions of one text differ, too, but a neighbouring version has most of the new text of one. The errors of a scan
are scattered, while contents are passages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

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

HIGH, LOW = 0.1, 0.02
"""The shares of common text tried: runs of few letters are in many documents, and those of words in few."""

NEARLY, HALF = 0.9, 0.3
"""The most, as parts of the smallest template: all its documents have its text, or half of them."""

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
    """``false`` (bool[n, n]): pairs in one template with unlike contents; ``sizes`` are the documents of each."""

    false: Bools
    sizes: tuple[int, ...]


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
    for family, often in zip(*np.unique(of_each, return_counts=True), strict=True):
        if often >= FAMILY:
            members = np.flatnonzero(of_each == family)
            own = counts(members, _with_counts(sets.hashes[np.isin(owners, members)], COMMON * often))
            unlike = _unlike([decoded[k] for k in members.tolist()], own)
            if unlike is not None:
                sizes.append(len(members))
                false[np.ix_(members, members)] = unlike
    return Templates(false, tuple(sorted(sizes)))


def _with_counts(
    hashes: np.ndarray[tuple[int], np.dtype[np.uint64]], least: float, below: float = np.inf
) -> BaseText:
    """Return the shingles that are there ``least`` times or more, and fewer times than ``below``."""
    different, often = np.unique(hashes, return_counts=True)
    return BaseText(different[(often >= least) & (often < below)], np.empty(0, np.uint64))


def common_shares(templates: Templates, of_each: Int64s) -> tuple[float, ...]:
    """Return the shares of the documents to try, the highest first; ``of_each`` (int64[n]) are their groups.

    Text that a template repeats in its documents is above them. Text of the largest group is not, because it may
    be that of versions, unless its documents are in a template. If no template leaves such a share, there is none.

    >>> none = np.zeros((200, 200), np.bool_)
    >>> common_shares(Templates(none, (8, 60)), np.repeat(np.arange(100), 2))
    (0.036, 0.012)
    >>> common_shares(Templates(none, (8, 60)), np.repeat(np.arange(20), 10))
    (0.1, 0.05)
    >>> common_shares(Templates(none, ()), np.zeros(200, np.int64))
    ()
    """
    n, (_, often) = len(of_each), np.unique(of_each[~templates.false.any(axis=1)], return_counts=True)
    least = max(LEAST - 1, int(often.max(initial=0)))
    smallest = min((size for size in templates.sizes if NEARLY * size >= least), default=HIGH / HALF * n)
    high = min(max(HIGH * n, HALF * smallest), NEARLY * smallest)
    low = max(min(LOW * n, HALF * smallest), least)
    return tuple(float(f"{count / n:.2g}") for count in dict.fromkeys((high, low)) if least <= count <= high)


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
    runs = [len([*run]) for template, run in groupby(window in common for window in windows) if not template]
    return max(runs, default=0) >= max(PASSAGE, TOGETHER * sum(runs))
