"""The traits of a sample and its relatives: noise, revisions, quotes, excerpts, short texts, templates.

Strangers in one template share a long form, and their contents have nothing in common. Versions of one text
differ, too, but a neighbouring version has most of the new text of one. The errors of a scan are scattered, while
contents are passages.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.comparison.compare import compare
from neardup.corpus.advice.gap import groups_at, spanning_tree
from neardup.corpus.advice.outlook import Outlook
from neardup.corpus.advice.record import Apart, Around, InCommon, Trap
from neardup.corpus.advice.sample import SharedCounts, sets_of
from neardup.deduplication.pairs import LEAST, every_pair
from neardup.display import counted, percent, similarity
from neardup.errors import LimitError
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import verify_pairs
from neardup.settings import Settings
from neardup.tables import Bools, Floats, Int64s
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
    """``false`` (bool[n, n]): pairs in one template with unlike contents; ``documents`` in ``families`` templates.

    ``resemblance`` is that of such a pair, the median and the highest. ``smallest`` is the number of documents in
    the smallest template, ``largest_other`` that of the largest family that is not a template.
    """

    false: Bools
    documents: int
    families: int
    resemblance: tuple[float, float]
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
    values = similar[false]
    spread = (float(np.median(values)), float(values.max())) if len(values) else (0.0, 0.0)
    smallest = min(in_template, default=0)
    return Templates(false, sum(in_template), len(in_template), spread, smallest, max(others))


def common_share(templates: Templates, documents: int) -> float | None:
    """Return a share of the ``documents`` below that of the text of each template, or None.

    Versions of one text are fewer than that, so the text that they have in common still counts.

    >>> spread = (0.9, 0.95)
    >>> common_share(Templates(np.zeros((0, 0), np.bool_), 60, 1, spread, 60, 1), 60)
    0.3
    >>> common_share(Templates(np.zeros((0, 0), np.bool_), 60, 1, spread, 60, 20), 200) is None
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


TEMPLATE = "template"
"""The name of the trap: one template, many contents."""

LINKS = 200
"""The links between relatives that are examined, evenly spaced from the most to the least similar."""

NOISY = 0.7
"""Noise takes more words than letters: the vocabularies share less than this, and less than the runs of "
"letters."""

CONTAINED, SMALLER, OFTEN = 0.7, 0.7, 0.3
"""A link is an excerpt if the smaller text, at most SMALLER of the larger, shares CONTAINED; OFTEN: from this "
"share."""

DRIFT = 0.8
"""Versions drift apart if the pairs of a group share less than this part of the text common to neighbours."""

SHORT = 30
"""Half of the documents have fewer words than this: they are short."""

QUOTED = 0.05
"""Mails quote if lines that begin with > are in this share of the documents."""

COMPARED, SECONDS, MOST_TEXT = 10, 1.0, 20_000
"""Pairs whose common text is measured, of each sort; seconds for one; letters of a text that are read."""


def traits(
    texts: Sequence[str], units: Int64s, counts: Sequence[SharedCounts], chosen: Outlook, templates: Templates
) -> Iterator[Trap]:
    """Yield the traits of the documents looked at, each with the share of documents or links that shows it."""
    if templates.documents:
        yield _template(templates, len(texts))
    if len(units) and np.median(units) < SHORT:
        text = (
            f"Short texts: half of the documents have fewer than {SHORT} words. A changed word takes a large part "
            "of their runs of words, less of their runs of characters."
        )
        yield Trap("short texts", float((units < SHORT).mean()), text)
    linked = chosen.tree.similarity >= chosen.threshold
    links = np.flatnonzero(linked)
    if chosen.outcome != "gap" or not len(links):
        return
    links = links[:: -(-len(links) // LINKS)]
    a, b = chosen.tree.a[links], chosen.tree.b[links]
    yield from _noise(texts, counts, a, b)
    yield from _excerpts(texts, units, counts, a, b)
    yield from _revisions(chosen)


def _template(templates: Templates, looked_at: int) -> Trap:
    median, high = templates.resemblance
    number_of = counted(templates.families, "template")
    text = (
        f"One template, many contents: {counted(templates.documents, 'document')} in {number_of} share a long "
        f"form, with contents that have nothing in common. Two of them have resemblance {similarity(median, 2)} "
        f"by runs of 5 words (highest: {similarity(high, 2)}), although neither stands for the other. Their "
        "contents would be lost if all but one were removed: keep the threshold above that, or compare them "
        "without the form."
    )
    return Trap(TEMPLATE, templates.documents / max(looked_at, 1), text)


def _noise(texts: Sequence[str], counts: Sequence[SharedCounts], a: Int64s, b: Int64s) -> Iterator[Trap]:
    words = _vocabularies(texts, a, b)
    runs = next(one for one in counts if (one.kind.unit, one.kind.length) == ("char", 5))
    letters = runs.similar("resemblance")[a, b].astype(np.float64)
    noisy = words < np.minimum(NOISY, letters)
    if noisy.mean() >= OFTEN:
        text = (
            f"Noise: in {percent(float(noisy.mean()), 1)} of the links, relatives share more of their runs of 5 "
            f"characters (the median is {_median(letters[noisy])}) than of their words ({_median(words[noisy])}). "
            "Single letters differ, as in scanned pages or typed copies, and each takes a whole word with it."
        )
        yield Trap("noise", float(noisy.mean()), text)


def _median(values: Floats) -> str:
    return similarity(float(np.median(values)), 2)


def _vocabularies(texts: Sequence[str], a: Int64s, b: Int64s) -> Floats:
    """Return the resemblance of the vocabularies of each pair of texts."""
    needed, place = np.unique(np.concatenate((a, b)), return_inverse=True)
    encoded = pa.array([texts[k].encode() for k in needed.tolist()], pa.large_binary())
    sets = sets_of(encoded, Settings.of(length=1))
    first, second = place[: len(a)], place[len(a) :]
    shared = np.empty(len(a), np.int64)
    verify_pairs(sets.hashes, sets.offsets, first, second, every_pair(RESEMBLANCE), shared)
    shares: Floats = shared / np.maximum(sets.sizes[first] + sets.sizes[second] - shared, 1)
    return shares


def _excerpts(
    texts: Sequence[str], units: Int64s, counts: Sequence[SharedCounts], a: Int64s, b: Int64s
) -> Iterator[Trap]:
    runs = next(one for one in counts if (one.kind.unit, one.kind.length) == ("char", 9))
    contained = runs.similar("overlap")[a, b] >= CONTAINED
    smaller = np.minimum(units[a], units[b]) <= SMALLER * np.maximum(units[a], units[b])
    share = float((contained & smaller).mean())
    if share < OFTEN:
        return
    quoting = sum(any(line.startswith(">") for line in text.splitlines()) for text in texts)
    if quoting >= QUOTED * len(texts):
        text = (
            f"Quotes: {counted(quoting, 'document quotes', 'documents quote')} another in lines that begin with "
            f">, and in {percent(share, 1)} of the links the shorter document is nearly all in the longer one. "
            "The longer one has the text written since."
        )
        yield Trap("quotes", share, text)
    else:
        text = (
            f"Excerpts: in {percent(share, 1)} of the links the shorter document is nearly all in the longer one, "
            "which has more than that. Resemblance falls with the difference in length; the overlap does not."
        )
        yield Trap("excerpts", share, text)


def _revisions(chosen: Outlook) -> Iterator[Trap]:
    _, family, often = np.unique(groups_at(chosen.tree, chosen.threshold), return_inverse=True, return_counts=True)
    large = often[family] > 2
    if not large.any():
        return
    a, b = np.triu_indices(len(family), 1)
    within = (family[a] == family[b]) & large[a]
    linked = (chosen.tree.similarity >= chosen.threshold) & large[chosen.tree.a]
    neighbours = float(np.median(chosen.tree.similarity[linked]))
    all_of_group = float(np.median(chosen.similar[a[within], b[within]]))
    if all_of_group < DRIFT * neighbours:
        text = (
            f"Revisions: neighbours in a group have {chosen.measure} {similarity(neighbours, 2)}, any two of its "
            f"documents {similarity(all_of_group, 2)}. Versions move away from the first one step by step, so the "
            "chain of neighbours shows them as one text, and its ends alone do not."
        )
        yield Trap("revisions", float((often > 2).sum() / (often > 1).sum()), text)


def common_text(texts: Sequence[str], chosen: Outlook) -> InCommon | None:
    """Measure chunks and order for the relatives closest to the line, and for the nearest strangers."""
    tree = chosen.tree
    above = np.flatnonzero(tree.similarity >= chosen.threshold)[-COMPARED:]
    below = np.flatnonzero(tree.similarity < chosen.threshold)[:COMPARED]
    measured = [_measured(texts, tree.a[part], tree.b[part]) for part in (above, below)]
    (relatives, near), (strangers, far) = ((len(some), _medians(some)) for some in measured)
    if not relatives and not strangers:
        return None
    return InCommon(relatives, *near, strangers, *far)


def _measured(texts: Sequence[str], a: Int64s, b: Int64s) -> list[tuple[float, float]]:
    measured = []
    for first, second in zip(a.tolist(), b.tolist(), strict=True):
        try:
            pair = compare(texts[first][:MOST_TEXT], texts[second][:MOST_TEXT], seconds=SECONDS).measures
        except LimitError:
            continue
        measured.append((float(pair["chunk_union_literal"]), float(pair["lcs"])))
    return measured


def _medians(shares: list[tuple[float, float]]) -> tuple[float, float]:
    if not shares:
        return 0.0, 0.0
    chunks, order = np.median(np.array(shares), axis=0).tolist()
    return float(chunks), float(order)


EACH = 5
"""Pairs shown on either side."""

EXAMINED = 2000
"""More pairs than this are not examined for five that have no document in common."""

WORDS, SHOWN, LETTERS = 600, 12, 90
"""Words of a text that are compared for a passage; words, and letters, of the passage that are shown."""

AGREEING, FARTHEST = 2, 80
"""Texts agree again where this many words are the same; they are looked for within this many words."""


def around(ids: Sequence[str], texts: Sequence[str], chosen: Outlook) -> Around:
    """Return the pairs closest to the threshold; a document appears twice only if there are no others."""
    a, b = np.triu_indices(len(texts), 1)
    values = chosen.similar[a, b].astype(np.float64)
    over = np.flatnonzero(values >= chosen.threshold)
    under = np.flatnonzero((values < chosen.threshold) & (values > 0))
    sides = []
    for side, away in ((over, values[over]), (under, -values[under])):
        order = side[np.argsort(away, kind="stable")[:EXAMINED]]
        near = sorted(_different(a, b, order), key=lambda k: -values[k])
        sides.append(tuple(_apart(ids, texts, int(a[k]), int(b[k]), float(values[k])) for k in near))
    kind = chosen.counts.kind
    return Around(kind.unit, kind.length, chosen.measure, chosen.threshold, sides[0], sides[1])


def _different(a: Int64s, b: Int64s, order: Int64s) -> list[int]:
    """Return the first EACH of the pairs, those without a document seen before first."""
    seen: set[int] = set()
    fresh, again = [], []
    for k in order.tolist():
        ends = {int(a[k]), int(b[k])}
        if seen & ends:
            again.append(k)
        else:
            fresh.append(k)
            seen |= ends
        if len(fresh) == EACH:
            break
    return (fresh + again)[:EACH]


def _apart(ids: Sequence[str], texts: Sequence[str], a: int, b: int, value: float) -> Apart:
    only_a, only_b = passages(texts[a], texts[b])
    return Apart(ids[a], ids[b], value, only_a, only_b)


def passages(a: str, b: str) -> tuple[str, str]:
    """Return the passages of the longest difference between two texts, cut to some words; "" for nothing.

    >>> passages("pay the invoice by Friday noon", "pay the invoice by Monday morning at noon")
    ('Friday', 'Monday morning at')
    """
    first, second = a.split()[:WORDS], b.split()[:WORDS]
    longest = max(_differences(first, second), key=lambda found: len(found[0]) + len(found[1]), default=([], []))
    return _cut(longest[0]), _cut(longest[1])


def _differences(a: list[str], b: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the stretches of words between the places where the texts agree again, in linear time."""
    i = j = 0
    while i < len(a) or j < len(b):
        if a[i : i + 1] == b[j : j + 1]:
            i, j = i + 1, j + 1
            continue
        skip_a, skip_b = _agreement(a, b, i, j)
        yield a[i : i + skip_a], b[j : j + skip_b]
        i, j = i + skip_a, j + skip_b


def _agreement(a: list[str], b: list[str], i: int, j: int) -> tuple[int, int]:
    """Return how many words to skip in both until AGREEING words are the same; all that is left if none are."""
    for skipped in range(1, FARTHEST + 1):
        for skip_a in range(skipped + 1):
            x, y = i + skip_a, j + skipped - skip_a
            if x < len(a) and y < len(b) and a[x : x + AGREEING] == b[y : y + AGREEING]:
                return skip_a, skipped - skip_a
    return len(a) - i, len(b) - j


def _cut(words: list[str]) -> str:
    shown = " ".join(words[:SHOWN])
    if len(shown) > LETTERS:
        return shown[:LETTERS] + " …"
    return shown + " …" * (len(words) > SHOWN)
