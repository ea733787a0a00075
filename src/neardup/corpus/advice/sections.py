"""``Advice`` as sections of sentences and small tables, shared by terminal and notebook."""

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.corpus.advice.record import AdviceRecord, Apart, BandChoice, InCommon, Look, ShingleChoice, SideBySide
from neardup.display import Extent, counted, number, percent, printable, similarity, size
from neardup.kernels.formulas import RESEMBLANCE
from neardup.settings import LITERAL, values

NOUNS = {"word": "words", "char": "characters"}


@dataclass(frozen=True)
class AdviceSection:
    """A heading, text before and after a table, and the table with optional bars and marks.

    ``bars`` is, for each row, its share of the longest bar (0 to 1; above 1: too long to show in full); ``marks``
    follow the bars. Cells are plain text, not yet escaped.
    """

    title: str
    before: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def scale(counts: list[int], weighty: list[bool]) -> list[float]:
    """Return counts as shares of the largest ``weighty`` one, so that a crowd elsewhere does not flatten them.

    >>> scale([900, 20, 10], [False, True, True])
    [45.0, 1.0, 0.5]
    """
    top = max((count for count, weighs in zip(counts, weighty, strict=True) if weighs), default=0)
    return [count / (top or max(counts, default=0) or 1) for count in counts]


def cut(name: str, width: int = 36) -> str:
    """Return a name on one line; a long one loses its middle, because names differ at their ends."""
    name = printable(name)
    return name if len(name) <= width else f"{name[: width // 2 - 2]}…{name[-width // 2 + 1 :]}"


OUTCOMES = {
    "gap": "There is a gap between relatives and strangers.",
    "no gap": "There is no gap: each threshold cuts through alike pairs.",
    "one family": "All documents are one family: most pairs are alike.",
    "template": "There is no gap: all alike are in one template, with different contents.",
    "no near copies": "There is no sign of near copies: no pairs stand out from the others.",
}


def relatives(advice: AdviceRecord) -> AdviceSection:
    """Return the section on the looks: the gap between relatives and strangers."""
    seen = advice.seen
    part = "all that are different" if seen.documents == _different(advice) else "a part of the sample"
    before = [
        f"All pairs of {counted(seen.documents, 'document')} ({size(seen.bytes)}; {part}), counted by several "
        f"kinds of runs. {OUTCOMES[seen.outcome]} "
        + ("The advice is sure." if seen.sure else f"The advice is unsure. {seen.doubt}"),
        "Strangers: 99 of 100 pairs in different groups are at or below this value. Relatives: 19 of 20 pairs in "
        "one group reach this value. Gap: the thresholds that find nearly the same groups. F1: that of these "
        "groups, as expected from the most alike strangers and the weakest links of relatives; few: too few "
        "pairs to expect a value. <- marks the choice.",
        *(printable(trait.text) for trait in seen.traits if trait not in advice.traps),
        *([_common(seen.common)] if seen.common else []),
    ]
    chosen = advice.recommended.settings
    wanted = (chosen["unit"], chosen["length"], chosen["measure"])
    return AdviceSection(
        "Relatives and strangers",
        tuple(before),
        ("a run of", "measure", "strangers", "relatives", "gap", "F1", "pairs"),
        tuple(_look(look) for look in seen.looks),
        marks=tuple(
            "<-" if (look.unit, look.length, look.measure) == wanted and seen.outcome == "gap" else ""
            for look in seen.looks
        ),
    )


def _different(advice: AdviceRecord) -> int:
    taken = advice.sample
    return taken.documents - taken.exact_copies - taken.empty


def _look(look: Look) -> tuple[str, ...]:
    first = (f"{look.length} {NOUNS[look.unit]}", look.measure)
    if look.threshold is None:
        return (*first, similarity(look.strangers_high, 2), "", "none", "", "")
    return (
        *first,
        similarity(look.strangers_high, 2),
        similarity(look.relatives_low, 2),
        f"{similarity(look.low, 2)}-{similarity(look.high, 2)}",
        similarity(look.expected_f1, 2) if look.expected_f1 else "few",
        number(look.pairs),
    )


def _common(common: InCommon) -> str:
    parts = []
    for name, count, chunks, order in (
        ("relatives closest to the line", common.relatives, common.relatives_chunks, common.relatives_order),
        ("nearest strangers", common.strangers, common.strangers_chunks, common.strangers_order),
    ):
        if count:
            parts.append(
                f"the {count} {name} have {similarity(chunks, 2)} of their text in common chunks and "
                f"{similarity(order, 2)} in the same order"
            )
    return f"Common text, as medians: {'; '.join(parts)}."


def line(advice: AdviceRecord) -> Iterator[AdviceSection]:
    """Yield the section on the pairs around the recommended line, if there are any."""
    near = advice.around
    if not near.above and not near.below:
        return
    runs = f"runs of {near.length} {NOUNS[near.unit]}"
    after = []
    for title, pairs in (("at or above", near.above), ("below", near.below)):
        after.append(
            f"The closest {title} {near.threshold:g}:" if pairs else f"No pair is {title} {near.threshold:g}."
        )
        for pair in pairs:
            after += _pair(pair)
    yield AdviceSection(
        "Pairs around the recommended line",
        (
            f"By {near.measure} of {runs}: the recommended command finds those at or above {near.threshold:g}, "
            "and not those below. A and B are the longest passage in which the two differ. If pairs above the "
            "line should both be kept, raise the threshold; if pairs below it are versions of one text, lower it.",
        ),
        after=tuple(after),
    )


def _pair(pair: Apart) -> Iterator[str]:
    yield f"{similarity(pair.value)}  {cut(pair.id_a, 32)} and {cut(pair.id_b, 32)}"
    yield f"   A: {printable(pair.only_a) or '(nothing)'}"
    yield f"   B: {printable(pair.only_b) or '(nothing)'}"


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
    looked = Extent("row", taken.documents, unreadable=taken.rejected)
    sentences = [f"{read}, {text}. {looked.were('read')}."]
    if not taken.complete:
        sentences = [f"The first {read}, {text}. The rest was not read: all counts are of these alone."]
    for count, one, many in (
        (taken.exact_copies, "is an exact copy of an earlier one", "are exact copies of earlier ones"),
        (taken.empty, "has no word", "have no word"),
    ):
        if count:
            sentences.append(f"{number(count)} {one if count == 1 else many}.")
    if taken.rejected and not taken.complete:
        sentences.append(f"{counted(taken.rejected, 'row')} could not be read.")
    notes = tuple(f"Note: {printable(note)}." for note in taken.notes)
    return AdviceSection("The documents", (" ".join(sentences), *notes))


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
            "Pairs at or above the threshold; groups; documents to remove, because a near or exact copy of them "
            "is kept, and their text. Exact copies are removed at every threshold, and do not count as pairs. "
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
            "word changes. Random: the resemblance of two random documents, the median, and the value that 1 such "
            "pair in 20 exceeds. Values near 0 are good; near the threshold, pairs are meaningless. <- marks the "
            "runs asked for.",
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
            "compared in vain.",
        ),
        ("slots", "recall", "bands x rows", "found", "missed", "in vain", "bytes a doc."),
        tuple(_band_row(choice) for choice in advice.bands),
        marks=tuple(
            "<-" if (choice.slots, choice.recall) == (settings["slots"], settings["recall"]) else ""
            for choice in advice.bands
        ),
    )


def _band_row(choice: BandChoice) -> tuple[str, ...]:
    choice_of = (number(choice.slots), f"{choice.recall:g}")
    if choice.bands is None:
        return (*choice_of, "not possible", "", "", "", number(choice.signature_bytes))
    low, high = min(choice.bands), max(choice.bands)
    return (
        *choice_of,
        f"{len(choice.bands)} x {low}" + (f"-{high}" if high != low else ""),
        "-" if choice.expected_recall is None else similarity(choice.expected_recall, 4),
        _few(choice.missed or 0.0),
        f"{choice.false_candidates:,.0f}",
        number(choice.signature_bytes),
    )


def _few(pairs: float) -> str:
    """Return an expected number of pairs; a small number is not shown as none."""
    return "<0.1" if 0 < pairs < 0.1 else f"{pairs:,.1f}"
