"""Numbers, summaries and groups as users see them: plain data in, lines of text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neardup.deduplication.run import lost_text
from neardup.deduplication.run.account import ChoiceAccount, InputCounts, Link, RunAccount, RunCounts
from neardup.display import (
    WITHOUT_TEXT,
    Line,
    columns,
    counted,
    distinct,
    duration,
    number,
    percent,
    printable,
    shorten,
    similarity,
    size,
    without_common,
)
from neardup.settings import LITERAL, MEASURES

if TYPE_CHECKING:
    from neardup.deduplication.run.records import Group


NOUNS = (
    "image",
    "font",
    "program",
    "spreadsheet",
    "presentation",
    "word document",
    "office file",
    "e-book",
    "data file",
)
"""Kinds of files with a plural."""


def summary(run: RunAccount, *, dry: bool = False) -> list[Line]:
    """Summarise a run as labelled lines, as a terminal and a notebook show them; ``dry``: it wrote nothing."""
    lines = [*_outcome(run, dry), *_found_lines(run)]
    lines.append(("documents", _documents(run.counts)))
    lines += [("note", printable(text)) for text in run.notes]
    if run.counts_against:
        lines.append(("reference", _documents(run.counts_against)))
    lines += [*_not_judged(run, dry), *_left_out(run), *_base_text(run), *_decisions(run)]
    lines.append(("method", printable(_method(run.choice))))
    lines += [("recall", printable(run.recall.statement)), *_audit_lines(run), *_unusual(run)]
    total = sum(run.seconds.values())
    spent = {name: seconds for name, seconds in run.seconds.items() if seconds >= 0.01}
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in spent.items())
    lines.append(("time", f"{duration(total)} ({stages})" if stages else duration(total)))
    lines.append(("memory", f"about {size(run.peak_memory_bytes)} (this process)"))
    return lines


def _outcome(run: RunAccount, dry: bool) -> Iterator[Line]:
    """The documents that go and stay, and the text that is lost; nothing for a run that removes no document."""
    if run.action == "group":
        return
    written = run.action == "dedup" and run.regrouped_from is None and not dry
    yield "removed" if written else "to remove", _removed_in_words(run)
    yield "to keep" if dry else "kept", _kept_in_words(run)
    if run.counts.removed:
        yield "text lost", lost_text.totals_sentence(run.lost, dry=dry)


def _found_lines(run: RunAccount) -> Iterator[Line]:
    """The groups, the copies that there are, and the pairs."""
    counts = run.counts
    yield "groups", number(counts.groups)
    if counts.exact_copies:
        yield "exact copies", exact_copies(counts)
    if counts.near_copies:
        yield "near copies", number(counts.near_copies)
    yield "pairs", _pairs(run)
    yield from _kinds(run)


def exact_copies(counts: RunCounts) -> str:
    """Return the number of exact copies, and of both classes if there are some."""
    return f"{number(counts.exact_copies)} ({classes_of_copies(counts)})" if counts.exact_copies else "0"


def classes_of_copies(counts: RunCounts) -> str:
    """Return the numbers of the two classes of exact copies."""
    same_words = counts.exact_copies - counts.identical_copies
    return f"{number(counts.identical_copies)} identical, {number(same_words)} with the same words"


def _documents(counts: InputCounts) -> str:
    parts = [
        f"{number(getattr(counts, key))} {words}"
        for key, words in (
            ("rejected", "rejected"),
            ("null", "without text"),
            ("empty", "without a word"),
            ("short", "shorter than one shingle"),
            ("invalid_utf8", "invalid UTF-8 sequences replaced"),
        )
        if getattr(counts, key)
    ]
    return f"{number(counts.read)} read" + (f" ({', '.join(parts)})" if parts else "")


def _not_judged(run: RunAccount, dry: bool) -> Iterator[Line]:
    """The documents that were not compared, by kind, and whether they stay."""
    not_judged = run.not_judged
    if not not_judged or not not_judged.total:
        return
    in_order = sorted(not_judged.kinds.items(), key=lambda item: (item[0] != WITHOUT_TEXT, -item[1]))
    kinds = ", ".join(
        counted(count, printable(kind), "" if kind in NOUNS else printable(kind)) for kind, count in in_order
    )
    gone, stays = not_judged.removed, not_judged.total - not_judged.removed
    removed, kept = ("to remove", "to keep") if dry else ("removed", "kept")
    fate = kept if not gone else removed if not stays else f"{number(gone)} {removed}, {number(stays)} {kept}"
    yield "not judged", f"{counted(not_judged.total, not_judged.unit)}: {kinds} ({fate})"


def _left_out(run: RunAccount) -> Iterator[Line]:
    """The text that is left out before documents are compared, by rule."""
    left_out = run.left_out
    if not left_out:
        return
    rules = [(f"mask {printable(rule.mask)}", "place", rule.places, rule.documents) for rule in left_out.masks]
    if run.settings["ignore_numbers"]:
        rules.append(("numbers", "number", left_out.numbers.places, left_out.numbers.documents))
    if run.settings["stop_words"]:
        rules.append(("stop words", "word", left_out.stop_words.places, left_out.stop_words.documents))
    for name, noun, places, documents in rules:
        yield "left out", f"{counted(places, noun)} of {counted(documents, 'document')} ({name})"


def _base_text(run: RunAccount) -> Iterator[Line]:
    """The shingles that do not count, and how much of the documents they are."""
    base = run.base_text
    if not base:
        return
    known = f"{counted(base.shingles, 'shingle')} of {counted(base.documents, 'boilerplate text')}"
    learned = f"{counted(base.common, 'common shingle')} of {number(base.of_documents)} different documents"
    sources = [known] * bool(base.inputs) + [learned] * bool(run.settings.get("ignore_common"))
    gone, before = base.shingles_before - base.shingles_after, base.shingles_before
    effect = f"{number(gone)} of {counted(before, 'shingle')} ({percent(gone, before)}) do not count"
    yield "boilerplate", f"{' and '.join(sources)}: {effect}, in {counted(base.documents_with, 'document')}"


def _decisions(run: RunAccount) -> Iterator[Line]:
    """The decisions of a review: how many the run follows, and how many do not apply."""
    decisions = run.decisions
    if not decisions:
        return
    if not decisions.last_action:
        yield "decisions", f"none yet (of {printable(decisions.result)})"
        return
    numbers = [f"{number(decisions.applied)} applied"]
    numbers += [f"{number(decisions.unsure)} unsure"] if decisions.unsure else []
    numbers += [f"{number(decisions.not_applicable)} not applicable"] if decisions.not_applicable else []
    yield "decisions", f"{', '.join(numbers)} (of {printable(decisions.result)})"


def _kept_in_words(run: RunAccount) -> str:
    """The number of documents that stay, and of files that are not documents."""
    kept, aside = number(run.counts.kept), run.not_judged.files_left_aside
    return f"{kept}, and {counted(aside, 'file')} that could not be judged" if aside else kept


def _pairs(run: RunAccount) -> str:
    counts, settings = run.counts, run.settings
    measure = MEASURES[settings["measure"]].in_words(settings.get("matching", LITERAL))
    proven = f"{number(counts.pairs)} at {measure} {settings['threshold']:g} or above"
    if run.choice.method == "exact" and not counts.verified:
        return f"{proven}, joined exactly"
    if counts.verified < counts.pairs:  # those of a crowd are counted while it is grouped
        return f"{proven}, each compared exactly"
    return f"{proven}, of {number(counts.verified)} compared exactly"


def _kinds(run: RunAccount) -> Iterator[Line]:
    """The kinds of difference that pairs have, the most frequent first."""
    kinds = [(name, count) for name, count in (run.kinds or {}).items() if count]
    if kinds:
        in_order = sorted(kinds, key=lambda item: -item[1])
        yield "kinds", ", ".join(f"{name} {number(count)}" for name, count in in_order)


def unit_of(settings: Mapping[str, Any]) -> str:
    """The unit that a measure counts.

    >>> unit_of({"measure": "chunk-union", "matching": "literal"})
    'tokens'
    """
    return MEASURES[settings["measure"]].unit_of(settings.get("matching", LITERAL))


def _method(choice: ChoiceAccount) -> str:
    return f"{choice.method} ({choice.why})"


def _audit_lines(run: RunAccount) -> Iterator[Line]:
    """The result of the audit, if there was one."""
    audit = run.audit
    if audit is None:
        return
    compared = f"{number(audit.drawn)} of {counted(audit.documents, 'document')} compared with all others: "
    if not audit.pairs:
        yield "audit", compared + "they have no pairs"
        return
    seen = f"{number(audit.found)} of their {counted(audit.pairs, 'pair')} found"
    recall, low, high = (similarity(share or 0.0) for share in (audit.recall, audit.low, audit.high))
    if audit.drawn < audit.documents:
        recall = f"about {recall} over all documents (95 % interval {low} to {high})"
    yield "audit", f"{compared}{seen}; recall {recall}"


def _removed_in_words(run: RunAccount) -> str:
    counts, sizes = run.counts, run.bytes
    return (
        f"{counted(counts.removed, 'document')} ({percent(counts.removed, counts.read)}), "
        f"{size(sizes.removed_text)} of {size(sizes.text)} text "
        f"({percent(sizes.removed_text, sizes.text)})"
    )


def _unusual(run: RunAccount) -> Iterator[Line]:
    """Lines about events that most runs do not have."""
    chaining = run.chaining
    yield from _unlisted_lines(run)
    if chaining.groups:
        groups = counted(chaining.groups, "group")
        yield "chaining", f"{groups} joined only by a chain of pairs{_weakest(chaining.weakest)}"


def _unlisted_lines(run: RunAccount) -> Iterator[Line]:
    """Which pairs of large clusters and of documents with many partners are listed, and how many are not."""
    crowds, popular = run.large_clusters, run.popular
    if crowds:
        left_out = sum(crowd.pairs_left_out for crowd in crowds)
        members = sum(crowd.members for crowd in crowds)
        yield (
            "clusters",
            f"{counted(len(crowds), 'group')} of more than 1,000 documents, {number(members)} in all: of their "
            f"pairs only those with a representative are listed, up to {counted(left_out, 'pair')} are not "
            "(--pairs all lists every pair)",
        )
    if popular.documents:
        least = popular.pairs_left_out_at_least
        documents = counted(popular.documents, "other document")
        yield (
            "popular",
            f"{documents} with more than 1,000 partners each: of their pairs only those with a representative are "
            f"listed, at least {counted(least, 'pair')} not (--pairs all lists every pair)",
        )


def _weakest(link: Link | None) -> str:
    if link is None:
        return ""
    ends = f"{printable(link.id_a)} and {printable(link.id_b)}"
    return f"; weakest: {ends} at {similarity(link.similarity)}"


def group_lines(
    groups: Sequence[Group], total: int, width: int | None = None, *, dry: bool = False
) -> Iterator[str]:
    """Each group as text, the representative first, a blank line after each; then the number of groups left.

    With a ``width`` no line has more columns: ids lack their common folder, which is above the group, and long
    ones their common beginning or their middle. ``dry``: nothing was written, and nothing removed.
    """
    fates = {True: "to keep", False: "to remove"} if dry else {True: "kept", False: "removed"}
    fate_width = max(map(len, fates.values()))
    for group in groups:
        ids = [printable(member.id) for member in group.members]
        folder, rests = ("", tuple(ids)) if width is None else without_common(*ids)
        names = rests if width is None else distinct(rests, width // 3)
        if folder:
            yield shorten(f"{counted(len(ids), 'document')} in {folder}", width or 0)
        column = max(map(columns, names))
        for member, name in zip(group.members, names, strict=True):
            evidence = member.evidence if width is None else member.evidence.replace(f" of {ids[0]}", "", 1)
            line = f"{fates[member.kept]:<{fate_width}}  {name}{' ' * (column - columns(name))}  {evidence}"
            yield line if width is None else shorten(line, width)
        yield ""
    if total > len(groups):
        yield f"... and {counted(total - len(groups), 'more group', 'more groups')}"
        yield ""
