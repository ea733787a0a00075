"""The sections on relatives and strangers, and on the pairs around the recommended line."""

from __future__ import annotations

from collections.abc import Iterator

from neardup.advice.record import AdviceRecord, Apart, InCommon, Look
from neardup.advice.section import NOUNS, AdviceSection, cut
from neardup.display import counted, number, printable, similarity, size

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
        "kinds "
        f"of runs. {OUTCOMES[seen.outcome]} "
        + ("The advice is sure." if seen.sure else f"The advice is unsure. {seen.doubt}"),
        "Strangers: 99 of 100 pairs in different groups are at or below this value. Relatives: 19 of 20 pairs in "
        "one group reach this value. Gap: the thresholds that find nearly the same groups. F1: that of these "
        "groups, as expected from the most alike strangers and the weakest links of relatives; few: a handful of "
        "pairs lets expect nothing. <- marks the choice.",
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
            "and "
            "not those below. A and B are the longest passage in which the two differ. If pairs above the line "
            "should both be kept, raise the threshold; if pairs below it are versions of one text, lower it.",
        ),
        after=tuple(after),
    )


def _pair(pair: Apart) -> Iterator[str]:
    yield f"{similarity(pair.value)}  {cut(pair.id_a, 32)} and {cut(pair.id_b, 32)}"
    yield f"   A: {printable(pair.only_a) or '(nothing)'}"
    yield f"   B: {printable(pair.only_b) or '(nothing)'}"
