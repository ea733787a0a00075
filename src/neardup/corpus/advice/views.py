"""``Advice`` as text for a terminal of 80 columns, as HTML for a notebook, and as one picture.

All text of the HTML and of the picture is escaped, because ids and texts are those of the documents. Every bar of
the picture shows its number, so no information depends on colour alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from neardup.corpus.advice.recommend import at_most
from neardup.corpus.advice.record import AdviceRecord, Apart, Look
from neardup.display import Extent, counted, middle_cut, number, percent, printable, similarity, size
from neardup.display.pictures import ChartBar, Picture, columns
from neardup.display.pictures import text as svg_text
from neardup.display.view import heading, paragraph, preformatted, table, view

WIDTH, NAME = 79, 32
NOUNS = {"word": "words", "char": "characters"}
PICTURE_WIDTH, PANEL, HEIGHT = 760, 240, 170
"""Width of the image, height of a panel, height of its longest bar."""

LEFT, TOP = 24, 92


@dataclass(frozen=True)
class AdviceSection:
    """A heading, text before and after a table, and the table; ``marked`` is the row of a choice.

    Cells are plain text, not yet escaped.
    """

    title: str
    before: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    marked: int | None = None
    after: tuple[str, ...] = ()


def sections(advice: AdviceRecord) -> Iterator[AdviceSection]:
    """Yield the evidence for the recommendation, in reading order."""
    yield AdviceSection("Why", advice.recommended.reasons)
    yield _sample(advice)
    yield _relatives(advice)
    if advice.around.above or advice.around.below:
        yield _around(advice)
    yield _thresholds(advice)


def lines(advice: AdviceRecord) -> Iterator[str]:
    """Yield the advice line by line, the recommended command first, which is the only line that is not folded."""
    yield from _titled("Recommended")
    yield f"  {advice.recommended.command}"
    for section in sections(advice):
        yield ""
        yield from _titled(section.title)
        for text in section.before:
            yield from wrap(text, WIDTH)
        if section.rows:
            yield ""
            yield from _table(section)
        if section.after:
            yield ""
        for text in section.after:
            yield from wrap(text, WIDTH, subsequent_indent="      " if text[:1] == " " else "")


def _titled(title: str) -> tuple[str, str]:
    return title, "-" * len(title)


def _table(section: AdviceSection) -> Iterator[str]:
    """Yield the rows: columns flush right except for the first."""
    widths = [max(map(len, column)) for column in zip(section.head, *section.rows, strict=True)]
    for k, (first, *others) in enumerate((section.head, *section.rows), -1):
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        mark = "  <-" if k == section.marked else ""
        yield ("  ".join([f" {first:<{widths[0]}}", *cells]) + mark).rstrip()


def _sample(advice: AdviceRecord) -> AdviceSection:
    taken = advice.sample
    read, text = counted(taken.documents, "document"), f"{size(taken.bytes)} of text"
    looked = Extent("row", taken.documents, unreadable=taken.rejected)
    sentences = [f"{read}, {text}. {looked.were('read')}."]
    if not taken.complete:
        sentences = [f"The first {read}, {text}. The rest was not read: all counts are of these alone."]
        if taken.rejected:
            sentences.append(f"{counted(taken.rejected, 'row')} could not be read.")
    if taken.exact_copies:
        copies = counted(taken.exact_copies, "is an exact copy", "are exact copies")
        sentences.append(f"{copies} of earlier ones, removed at every threshold.")
    if taken.empty:
        sentences.append(f"{counted(taken.empty, 'has', 'have')} no word.")
    if taken.pairs_left_out:
        pairs = counted(taken.pairs_left_out, "pair")
        sentences.append(f"About {pairs} within large clusters are not listed: counts are lower bounds.")
    notes = tuple(f"Note: {printable(note)}." for note in taken.notes)
    return AdviceSection("The documents", (" ".join(sentences), *notes))


def _relatives(advice: AdviceRecord) -> AdviceSection:
    seen, taken, chosen = advice.seen, advice.sample, advice.recommended.settings
    whole = seen.documents == taken.documents - taken.exact_copies - taken.empty
    part = "all that are different" if whole else "a part of the sample"
    before = [
        f"All pairs of {counted(seen.documents, 'document')} ({size(seen.bytes)}; {part}).",
        "Unrelated: 99 of 100 pairs in different groups are at or below this value. Versions: 19 of 20 pairs in "
        "one group reach it. Gap: the thresholds that find nearly the same groups. F1: that of these groups, as "
        "expected from the versions that any row shows. Grouped: pairs within a group, also by chains.",
    ]
    if seen.templated:
        before.append(
            f"{counted(seen.templated, 'document shares', 'documents share')} a long form with others, and no "
            "contents: they are filled templates, and not versions of one text."
        )
    wanted = (chosen["unit"], chosen["length"], chosen["measure"])
    kinds = [(look.unit, look.length, look.measure) for look in seen.looks]
    return AdviceSection(
        "Versions and unrelated documents",
        tuple(before),
        ("a run of", "measure", "unrelated", "versions", "gap", "F1", "grouped"),
        tuple(_look(look) for look in seen.looks),
        marked=kinds.index(wanted) if seen.outcome == "gap" else None,
    )


def _look(look: Look) -> tuple[str, ...]:
    first = (f"{look.length} {NOUNS[look.unit]}", look.measure, at_most(look.strangers_high))
    if look.threshold is None:
        return (*first, "", "none", "", "")
    gap, f1 = f"{similarity(look.low, 2)}-{similarity(look.high, 2)}", similarity(look.expected_f1, 2)
    return (*first, similarity(look.relatives_low, 2), gap, f1 if look.expected_f1 else "few", number(look.pairs))


def _around(advice: AdviceRecord) -> AdviceSection:
    near, after = advice.around, []
    for title, pairs in (("at or above", near.above), ("below", near.below)):
        if pairs:
            after.append(f"The closest {title} {near.threshold:g}:")
        for pair in pairs:
            after += _pair(pair)
    return AdviceSection(
        "Pairs around the recommended line",
        (
            f"By {near.measure} of runs of {near.length} {NOUNS[near.unit]}, with the longest passage in which A "
            "and B differ. Raise the threshold if both of a pair above should be kept, lower it if pairs below "
            "are versions of one text.",
        ),
        after=tuple(after),
    )


def _pair(pair: Apart) -> Iterator[str]:
    first, second = (middle_cut(printable(name), NAME, words=False) for name in (pair.id_a, pair.id_b))
    yield f"{similarity(pair.value)}  {first} and {second}"
    yield f"   A: {printable(pair.only_a) or '(nothing)'}"
    yield f"   B: {printable(pair.only_b) or '(nothing)'}"


def _thresholds(advice: AdviceRecord) -> AdviceSection:
    steps, chosen, documents = advice.thresholds, advice.recommended, advice.sample.documents
    of_all = chosen.documents == documents
    part = "" if of_all else f" The last row is that of the first {number(chosen.documents)} documents."
    rows = [(f"{step.threshold:.6f}".rstrip("0").ljust(4, "0"), step, documents) for step in steps]
    return AdviceSection(
        "The effect of each threshold",
        (
            f"By resemblance of runs of {_shingle(advice)}; <- marks the threshold asked for.{part} Pairs: "
            "those that reach the threshold. Losing: removed documents with text that no kept document of their "
            "group has (--lose bounds it).",
        ),
        ("threshold", "pairs", "groups", "removed", "share", "text", "losing"),
        tuple(
            (
                name,
                number(step.pairs),
                number(step.groups),
                number(step.removed),
                percent(step.removed, among),
                size(step.removed_bytes),
                number(step.losing),
            )
            for name, step, among in (*rows, ("recommended", chosen.effect, chosen.documents))
        ),
        marked=[step.threshold for step in steps].index(advice.settings["threshold"]),
    )


def _shingle(advice: AdviceRecord) -> str:
    return f"{advice.settings['length']} {NOUNS[advice.settings['unit']]}"


def svg(advice: AdviceRecord) -> str:
    """Return the image as a file: no script, no font, no link, light or dark as the system is."""
    return picture(advice).file("neardup-advice")


def picture(advice: AdviceRecord) -> Picture:
    """Return the image: pairs found and documents removed, by threshold."""
    threshold, steps = advice.settings["threshold"], advice.thresholds
    chosen = next(step for step in steps if step.threshold == threshold)
    caption = (
        f"At threshold {threshold:g}: {counted(chosen.pairs, 'pair')}, "
        f"{counted(chosen.removed, 'document')} removed ({percent(chosen.removed, advice.sample.documents)})."
    )
    title = f"Near copies among {counted(advice.sample.documents, 'document')}"
    panels = [
        (
            head,
            tuple(
                ChartBar(f"{step.threshold:g}", count, count / max(1, *counts), step is chosen)
                for step, count in zip(steps, counts, strict=True)
            ),
        )
        for head, counts in (
            (f"Pairs found (runs of {_shingle(advice)}; no exact copies)", [step.pairs for step in steps]),
            ("Documents removed (also exact copies)", [step.removed for step in steps]),
        )
    ]
    parts = [svg_text(LEFT, 30, title, kind="named head"), svg_text(LEFT, 52, caption)]
    described = [caption]
    for k, (head, bars) in enumerate(panels):
        parts += _panel(head, bars, TOP + k * (PANEL + 40))
        described.append(f"{head}: {', '.join(f'{bar.label}: {number(bar.count)}' for bar in bars)}.")
    return Picture(PICTURE_WIDTH, TOP + len(panels) * (PANEL + 40), title, " ".join(described), tuple(parts))


def _panel(head: str, bars: tuple[ChartBar, ...], top: int) -> Iterator[str]:
    base = top + 40 + HEIGHT
    yield svg_text(LEFT, top + 4, head, kind="named")
    yield from columns(bars, LEFT, PICTURE_WIDTH - LEFT, base, HEIGHT)
    yield svg_text(LEFT, base + 36, "threshold; bold and framed: the one asked for", kind="small")


def html(advice: AdviceRecord) -> str:
    """Return all advice: the command, the picture, the evidence."""
    body = (part for section in sections(advice) for part in _section_html(section))
    command = (heading("Recommended"), preformatted(advice.recommended.command))
    return view(*command, picture(advice).figure(), *body)


def _section_html(section: AdviceSection) -> Iterator[str]:
    yield heading(section.title)
    yield from map(paragraph, section.before)
    if section.rows:
        marks = ["<-" if k == section.marked else "" for k in range(len(section.rows))]
        rows = [(*cells, mark) for cells, mark in zip(section.rows, marks, strict=True)]
        yield table((*section.head, ""), rows, frozenset(range(1, len(section.head))))
    yield from map(paragraph, section.after)
