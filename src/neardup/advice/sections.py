"""``Advice`` as sections of sentences and small tables, shared by terminal and notebook."""

from __future__ import annotations

from collections.abc import Iterator

from neardup.advice.record import AdviceRecord, BandChoice, ShingleChoice, SideBySide
from neardup.advice.section import NOUNS, AdviceSection, cut, scale
from neardup.advice.seen_sections import line, relatives
from neardup.display import counted, number, percent, printable, similarity, size
from neardup.kernels.formulas import RESEMBLANCE
from neardup.measures import LITERAL, values

# as a share of all text first
_CHUNKS = sorted(values("chunks"), key=lambda pair: (pair[1].matching != LITERAL, pair[0].formula != RESEMBLANCE))
LABELS = {
    **{value.name: value.label for _, value in (*values("set"), *_CHUNKS, *values("order"))},
    "tokens_a": "length of A",
    "tokens_b": "length of B",
}
"""The values shown side by side, with their labels."""


def sections(advice: AdviceRecord) -> Iterator[AdviceSection]:
    """Yield all sections of the advice, in reading order."""
    yield _sample(advice)
    yield relatives(advice)
    yield _histogram(advice)
    yield _thresholds(advice)
    yield _near(advice)
    if advice.traps:
        yield AdviceSection(
            "Traps", tuple(f"{k}. {printable(trap.text)}" for k, trap in enumerate(advice.traps, 1))
        )
    yield _shingles(advice)
    yield _bands(advice)
    yield from line(advice)
    yield AdviceSection("Recommended", advice.recommended.reasons)


def shingle_words(advice: AdviceRecord) -> str:
    """Return a description of a shingle for use in a sentence."""
    return f"{advice.settings['length']} {NOUNS[advice.settings['unit']]} in a row"


def _sample(advice: AdviceRecord) -> AdviceSection:
    taken = advice.sample
    read, text = counted(taken.documents, "document"), f"{size(taken.bytes)} of text"
    said = [f"{read}, {text}; all read."]
    if not taken.complete:
        said = [f"The first {read}, {text}. The rest was not read: all counts are of these alone."]
    for count, one, many in (
        (taken.exact_copies, "is an exact copy of an earlier one", "are exact copies of earlier ones"),
        (taken.empty, "has no word", "have no word"),
    ):
        if count:
            said.append(f"{number(count)} {one if count == 1 else many}.")
    if taken.rejected:
        said.append(f"{counted(taken.rejected, 'row')} could not be read.")
    notes = tuple(f"Note: {printable(note)}." for note in taken.notes)
    return AdviceSection("The documents", (" ".join(said), *notes))


def _histogram(advice: AdviceRecord) -> AdviceSection:
    bins, threshold = advice.histogram, advice.near.threshold
    counts = [part.pairs for part in bins]
    bars = scale(counts, [part.low >= 0.5 for part in bins])
    inside = [part.low <= threshold < part.high or part.low == part.high == threshold for part in bins]
    labels = [
        "1" if part.low == 1 else f"{part.low:.2f} up to {part.high:.2f}".replace("1.00", "1") for part in bins
    ]
    before = [
        "Each pair of different documents counts once, at its resemblance: the share of the runs of "
        f"{shingle_words(advice)} in either document that are in both. Exact copies are not counted here."
    ]
    if any(bar > 1 for bar in bars):
        before.append("A bar that ends in > is cut.")
    return AdviceSection(
        "How alike the documents are",
        tuple(before),
        ("resemblance", "pairs"),
        tuple((label, number(count)) for label, count in zip(labels, counts, strict=True)),
        tuple(bars),
        tuple(f"<- threshold {threshold:g}" if here else "" for here in inside),
    )


def _thresholds(advice: AdviceRecord) -> AdviceSection:
    steps, threshold, chosen = advice.thresholds, advice.near.threshold, advice.recommended
    named = chosen.settings
    part = (
        ""
        if chosen.documents == advice.sample.documents
        else f" on the first {number(chosen.documents)} documents"
    )
    shown = (*steps, chosen.effect)
    return AdviceSection(
        "The effect of each threshold",
        (
            "Pairs at or above the threshold; groups; documents removed, because a near or exact copy of them is "
            "kept, and their text. Exact copies are removed at every threshold, and do not count as pairs. "
            "Losing: removed documents with text that no kept document of their group has (--lose bounds it).",
            f"The thresholds apply to resemblance of runs of {shingle_words(advice)}, <- marks the given one. "
            f"The last row is the effect of the recommended command{part}, by {named['measure']} of runs of "
            f"{named['length']} {NOUNS[named['unit']]} from {named['threshold']:g} on.",
        ),
        ("threshold", "pairs", "groups", "removed", "share", "text", "losing"),
        tuple(
            (
                "recommended" if step is chosen.effect else f"{step.threshold:.6f}".rstrip("0").ljust(4, "0"),
                number(step.pairs),
                number(step.groups),
                number(step.removed),
                percent(step.removed, documents),
                size(step.removed_bytes),
                number(step.losing),
            )
            for step, documents in zip(
                shown, (*[advice.sample.documents] * len(steps), chosen.documents), strict=True
            )
        ),
        tuple(scale([step.removed for step in shown], [True] * len(shown))),
        tuple("<-" if step.threshold == threshold and step is not chosen.effect else "" for step in shown),
    )


def _near(advice: AdviceRecord) -> AdviceSection:
    near = advice.near
    low, high = max(near.threshold - near.width, 0), min(near.threshold + near.width, 1)
    upwards = f"from {near.threshold:g} to {high:g}" if high > near.threshold else f"at {high:g}"
    before = (
        f"{counted(near.below, 'pair')} from {low:g} up to {near.threshold:g} would not be found, "
        f"{counted(near.above, 'pair')} {upwards} would be found."
    )
    if not near.examples:
        return AdviceSection(f"Pairs within {near.width:g} of the threshold", (before,))
    legend = tuple(f"pair {k}: A {cut(pair.id_a)}, B {cut(pair.id_b)}" for k, pair in enumerate(near.examples, 1))
    return AdviceSection(
        f"Pairs within {near.width:g} of the threshold",
        (
            f"{before} A slightly different threshold decides these otherwise.",
            "The closest to the threshold, with every measure:",
        ),
        ("", *(f"pair {k}" for k in range(1, len(near.examples) + 1))),
        tuple(_measured(name, shown, near.examples) for name, shown in LABELS.items()),
        after=(
            *legend,
            "",
            "The threshold applies to resemblance alone: the share of the runs of "
            f"{shingle_words(advice)} in either document that are in both. Contained: the share of the runs of "
            "the first (A) or the second (B) document that are in the other one; overlap: the larger of the two. "
            "Words: resemblance of the two vocabularies, without order. Repeats: resemblance when repeated runs "
            "count as often as they occur. Chunks: the words in common stretches, as a share of all the text "
            "(union) and of the longer document (longest). In order: common words in the same order.",
        ),
    )


def _measured(name: str, shown: str, pairs: tuple[SideBySide, ...]) -> tuple[str, ...]:
    """Return one measure of all pairs."""
    values = [pair.measures[name] for pair in pairs]
    return (shown, *(number(value) if isinstance(value, int) else similarity(value) for value in values))


def _shingles(advice: AdviceRecord) -> AdviceSection:
    tried = advice.shingles[0].documents
    part = "" if tried == advice.sample.documents else f" Tried on the first {number(tried)} documents."
    return AdviceSection(
        f"Other shingles, at threshold {advice.near.threshold:g}",
        (
            f"The pairs that other runs would find.{part} Short: documents that fall below the threshold if one "
            "word "
            "changes. Random: the resemblance of two random documents, the median, and the value that 1 such pair "
            "in 20 exceeds. Values near 0 are good; near the threshold, pairs are meaningless. <- marks the runs "
            "asked for.",
        ),
        ("a run of", "pairs", "removed", "runs (median)", "short", "random"),
        tuple(_shingle_row(choice) for choice in advice.shingles),
        marks=tuple("<-" if k == 0 else "" for k in range(len(advice.shingles))),
    )


def _shingle_row(choice: ShingleChoice) -> tuple[str, ...]:
    return (
        f"{choice.length} {NOUNS[choice.unit]}",
        number(choice.pairs),
        number(choice.removed),
        f"{choice.median_shingles:,.0f}",
        percent(choice.fragile, 1),
        f"{similarity(choice.random_median, 2)} to {similarity(choice.random_high, 2)}",
    )


def _bands(advice: AdviceRecord) -> AdviceSection:
    settings = advice.settings
    return AdviceSection(
        f"Recall and cost of the fast method (lsh), at threshold {advice.near.threshold:g}",
        (
            "The exact method misses no pair. The fast one compares only documents whose signatures agree in a "
            "band. Expected for the pairs of this sample: the pairs at or above the threshold that are found and "
            f"missed, and those from resemblance {advice.histogram[0].low:g} up to the threshold that are "
            "compared "
            "in vain.",
        ),
        ("slots", "recall", "bands x rows", "found", "missed", "in vain", "bytes a doc."),
        tuple(_band_row(choice) for choice in advice.bands),
        marks=tuple(
            "<-" if (choice.slots, choice.recall) == (settings["slots"], settings["recall"]) else ""
            for choice in advice.bands
        ),
    )


def _band_row(choice: BandChoice) -> tuple[str, ...]:
    asked = (number(choice.slots), f"{choice.recall:g}")
    if choice.bands is None:
        return (*asked, "not possible", "", "", "", number(choice.signature_bytes))
    low, high = min(choice.bands), max(choice.bands)
    return (
        *asked,
        f"{len(choice.bands)} x {low}" + (f"-{high}" if high != low else ""),
        "-" if choice.expected_recall is None else similarity(choice.expected_recall, 4),
        _few(choice.missed or 0.0),
        f"{choice.false_candidates:,.0f}",
        number(choice.signature_bytes),
    )


def _few(pairs: float) -> str:
    """Return an expected number of pairs; a small number is not shown as none."""
    return "<0.1" if 0 < pairs < 0.1 else f"{pairs:,.1f}"
