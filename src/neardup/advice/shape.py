"""The traits of a sample and its relatives: noise, revisions, quotes, excerpts, short texts, templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from neardup.advice.choices import sets_of
from neardup.advice.gap import groups_at
from neardup.advice.looks import SharedCounts
from neardup.advice.outlook import Outlook
from neardup.advice.record import InCommon, Trap
from neardup.advice.templates import Templates
from neardup.comparison.compare import compare
from neardup.display import counted, percent, similarity
from neardup.errors import LimitError
from neardup.join.criterion import every_pair
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import verify_pairs
from neardup.settings import Settings
from neardup.tables import Floats, Int64s

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
        "form, "
        f"with contents that have nothing in common. Two of them have resemblance {similarity(median, 2)} by "
        "runs of "
        f"5 words (highest: {similarity(high, 2)}), although neither stands for the other. Their contents would "
        "be "
        "lost if all but one were removed: keep the threshold above that, or compare them without the form."
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
    found: Floats = shared / np.maximum(sets.sizes[first] + sets.sizes[second] - shared, 1)
    return found


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
            ">, "
            f"and in {percent(share, 1)} of the links the shorter document is nearly all in the longer one. The "
            "longer one has the text written since."
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
    (relatives, near), (strangers, far) = ((len(found), _medians(found)) for found in measured)
    if not relatives and not strangers:
        return None
    return InCommon(relatives, *near, strangers, *far)


def _measured(texts: Sequence[str], a: Int64s, b: Int64s) -> list[tuple[float, float]]:
    found = []
    for first, second in zip(a.tolist(), b.tolist(), strict=True):
        try:
            pair = compare(texts[first][:MOST_TEXT], texts[second][:MOST_TEXT], seconds=SECONDS).measures
        except LimitError:
            continue
        found.append((float(pair["chunk_union_literal"]), float(pair["lcs"])))
    return found


def _medians(found: list[tuple[float, float]]) -> tuple[float, float]:
    if not found:
        return 0.0, 0.0
    chunks, order = np.median(np.array(found), axis=0).tolist()
    return float(chunks), float(order)
