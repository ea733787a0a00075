"""A result as one self-contained page, without network and script: figures, lists and pairs of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from neardup.comparison.compare import compare
from neardup.comparison.views import ComparisonBody
from neardup.deduplication.results import classes_of_copies, lost_in_words, summary
from neardup.deduplication.reviews import as_reviewed, page_state
from neardup.deduplication.texts import differing_parts
from neardup.display import Line, counted, number, percent, printable, similarity, size
from neardup.display.pictures import Histogram, bars
from neardup.display.view import LONGEST_NAME, named, self_contained, share
from neardup.errors import LimitError, SettingError
from neardup.review.desk.index import ResultIndex
from neardup.review.parts import style, templates_of
from neardup.review.report import lists
from neardup.review.report.figures import group_figures, pair_figures
from neardup.review.report.lists import LISTED, GroupLists, PairLists, ReportDecisions, Some, TextReading, brief
from neardup.runtime import installed_version
from neardup.settings import FIELDS, LITERAL, MEASURES, as_compared

if TYPE_CHECKING:
    from neardup.comparison.records import ComparisonRecord
    from neardup.deduplication.results import Found, Id
    from neardup.review.report.figures import GroupFigures
    from neardup.review.report.lists import TextReading
    from neardup.review.source import GroupLine, PairLine

NOTES, NOTE = 20, 600
"""Most warnings on the page, and the length of one in characters."""
INPUTS, NAMED = 5, 200
"""Most names of inputs on the page, and the length of one."""
GENERATOR = "neardup report"
PAIRS, GROUPS, MEGABYTES = 10, 20, 2.0
MOST_PAIRS, MOST_GROUPS, MOST_MEGABYTES = 100, 1000, 100.0
"""Largest numbers of pairs side by side, of lines in a list of groups, and of megabytes of groups side by side."""
MEMBERS, COPIES, NOT_OPENED = 20, 20, 1000
"""Most members of a group side by side, names of its exact copies, and names of groups that are not opened."""
OVERHEAD, READ = 700, 10
"""Bytes of a group or a pair besides its comparison, and characters of text that count as a byte."""
SHOWN = 20_000
"""Characters of the texts of one pair on the page."""
LONGEST = 1_000_000
"""Characters of both texts together from which a pair is not compared."""
SECONDS = 20.0
"""Time for the comparison of one pair."""


def report_page(
    result: Found,
    *,
    pairs: int = PAIRS,
    groups: int = GROUPS,
    megabytes: float = MEGABYTES,
    title: str = "",
    written: str = "",
) -> str:
    """Return the report of a result as HTML.

    ``pairs`` is the number of pairs side by side, ``groups`` the length of a list of groups, and
    ``megabytes`` the size of all groups that can be opened side by side. ``title`` is the name of the result;
    ``written`` is the date of the page. Texts that cannot be read are left out, with the reason.

    Raises SettingError for numbers out of range.
    """
    check_lengths(pairs, groups, megabytes)
    content = ReportContent(result, groups=groups, pairs=pairs, megabytes=megabytes)
    heading = f"Near-duplicates in {printable(title)}" if title else "Near-duplicates"
    return self_contained(
        templates_of("neardup.review.report"),
        "report.html",
        style(),
        title=heading,
        generator=GENERATOR,
        report=content,
        written=written,
        state=content.state,
        most=SHOWN,
        version=installed_version("neardup"),
    )


def check_lengths(pairs: int, groups: int, megabytes: float) -> None:
    """Raise SettingError for lists that are too long for a page."""
    if not 0 <= megabytes <= MOST_MEGABYTES:
        raise SettingError(f"megabytes is {megabytes:g}", f"A number from 0 to {MOST_MEGABYTES:g}")
    for name, value, most in (("pairs", pairs, MOST_PAIRS), ("groups", groups, MOST_GROUPS)):
        if not 0 <= value <= most:
            raise SettingError(f"{name} is {value}", f"A whole number from 0 to {most:,}")


@dataclass(frozen=True)
class Tile:
    """A figure that matters: its label, its value, and a few words more."""

    label: str
    value: str
    more: str = ""


class ReportContent:
    """Everything on the page of a report. ``groups`` and ``pairs`` are the lengths of its lists, ``megabytes`` is
    the size of its groups side by side.

    A loaded result with decisions in its folder is reported as they leave it.
    """

    def __init__(self, result: Found, *, groups: int, pairs: int, megabytes: float) -> None:
        as_run = result.named
        result = as_reviewed(as_run)
        self.run = result.run
        decisions = result.run.decisions
        self.decisions = None if decisions is None else ReportDecisions(decisions, result, as_run)
        self._found, self._folder = result, as_run.folder
        self._reading = TextReading(result)
        index = ResultIndex(result)
        self._groups, self._pairs = group_figures(index), pair_figures(index)
        self.groups = GroupLists(result, self._groups, self._pairs, self._reading, groups)
        self.links = PairLists(result, self._groups, self._pairs, self._reading)
        self.below = Some(
            [
                ChosenPair(id, group, f"{self.measure} {similarity(value)}, joined by a chain of pairs")
                for id, group, value in islice(lists.below_threshold(result), LISTED)
            ],
            self.run.chaining.groups,
        )
        self.losses, self.problems = lists.losses(result), lists.problems(result)
        self.not_judged, self.large_clusters = lists.not_judged(result), lists.large_clusters(result)
        self.files = lists.files_read(result)
        chosen = choose([*self._candidates()], pairs)
        self.pairs: list[ShownPair] = list(side_by_side(result, chosen, self._reading))
        self.opened = OpenedGroups(result, self._groups, self._reading, self.pairs, megabytes)
        self._anchors = self.opened.anchors

    @property
    def measure(self) -> str:
        """The measure in words."""
        settings = self.run.settings
        return MEASURES[settings["measure"]].in_words(settings.get("matching", LITERAL))

    @property
    def threshold(self) -> float:
        """The threshold of the run."""
        return float(self.run.settings["threshold"])

    @property
    def removed(self) -> str:
        """ "removed", or "to remove" if the run wrote other documents, or every one."""
        done = self.run.action == "dedup" and self.run.regrouped_from is None
        return "removed" if done and not self._only_reviewed else "to remove"

    @property
    def state(self) -> str:
        """The mark by which a review recognizes a page that is older than the decisions."""
        return page_state(self._folder, self.run.decisions.last_action if self.run.decisions else 0)

    @property
    def includes(self) -> str:
        """The decisions that the page includes, in words; "" for a result without a folder."""
        if self.decisions is not None:
            return self.decisions.number
        return "" if self._folder is None else "no decisions"

    @property
    def _only_reviewed(self) -> bool:
        return self.decisions is not None and self.decisions.only_reviewed

    @property
    def unread(self) -> str:
        """The reason why texts are missing on the page; "" if all could be read."""
        return self._reading.why

    @property
    def warnings(self) -> list[str]:
        """The warnings of the run."""
        return [brief(text, NOTE) for text in self.run.warnings[:NOTES]]

    @property
    def lead(self) -> str:
        """The result in one sentence."""
        counts = self.run.counts
        if not counts.groups:
            return f"{counted(counts.read, 'document')} read, and no near or exact copies found."
        one = counts.removed == 1
        done = f"{'was' if one else 'were'} removed" if self.removed == "removed" else "can be removed"
        stay = "is kept" if counts.kept == 1 else "are kept"
        if self.run.action == "group" and not self._only_reviewed:
            copies = counted(
                counts.exact_copies + counts.near_copies, "near or exact copy", "near or exact copies"
            )
            return f"{counted(counts.read, 'document')} with {copies}; neardup group removed nothing."
        start = "As the review stands, of" if self._only_reviewed else "Of"
        return (
            f"{start} {counted(counts.read, 'document')}, {number(counts.removed)} {done} as "
            f"{'a copy of another' if one else 'copies of others'}, and {number(counts.kept)} {stay}."
            f"{self._judged_in_words}"
        )

    @property
    def _judged_in_words(self) -> str:
        """How many pairs people have judged, and what decides about the others; "" for a run without a review."""
        judged = None if self.decisions is None else self.decisions.judged
        if judged is None:
            return ""
        verb = "is" if judged.skipped == 1 else "are"
        open = counted(judged.skipped, "pair")
        rest = "" if judged.whole else f"; {open} {verb} undecided, and the run alone decides about them"
        return f" {judged.all().capitalize()} have a verdict of people{rest}."

    @cached_property
    def tiles(self) -> list[Tile]:
        """The figures that matter."""
        counts, sizes = self.run.counts, self.run.bytes
        estimated = self._estimated_recall()
        return [
            Tile("documents read", number(counts.read), size(sizes.text)),
            Tile(
                self.removed,
                number(counts.removed),
                f"{percent(counts.removed, counts.read)} of the documents, "
                f"{percent(sizes.removed_text, sizes.text)} of the text",
            ),
            Tile("groups", number(counts.groups), f"{counted(counts.pairs, 'pair')} of documents"),
            Tile("near copies", number(counts.near_copies), f"at {self.measure} {self.threshold:g} or above"),
            Tile("exact copies", number(counts.exact_copies), classes_of_copies(counts)),
            self._lost_tile(),
            Tile("recall", share(estimated), self._recall_in_words(estimated)),
            *self._undecided_tile(),
        ]

    def _undecided_tile(self) -> Iterator[Tile]:
        judged = None if self.decisions is None else self.decisions.judged
        if judged is not None:
            of = f"of {counted(judged.seen + judged.skipped, 'pair')} to judge"
            yield Tile("undecided", number(judged.skipped), of)

    def _lost_tile(self) -> Tile:
        total = self.run.lost
        if total.unknown and total.unknown == total.removed:
            return Tile("text lost", "unknown", "the result was made from stored pairs")
        unknown = f"; unknown for {number(total.unknown)}" if total.unknown else ""
        explanation = f"of the shingles of near copies; {counted(total.losing, 'document')} with a loss{unknown}"
        if total.losing or total.unknown:
            return Tile("text lost", percent(total.lost, total.shingles), explanation)
        return Tile("text lost", *lost_in_words(total).split(": ", 1))

    @property
    def unknown_stake(self) -> int:
        """The number of groups with documents whose lost text is unknown."""
        return int(self._groups.unknown.sum())

    def _estimated_recall(self) -> float | None:
        predicted = self.run.recall.predicted
        return None if predicted is None else predicted.estimated

    def _recall_in_words(self, estimated: float | None) -> str:
        if self.run.choice.method == "exact":
            return "every pair is found"
        return "not planned" if estimated is None else "share of true pairs that the run found, estimated"

    @cached_property
    def facts(self) -> list[Line]:
        """The run in labelled lines."""
        run = self.run
        sources = {"input": run.inputs, "compared with": run.against}
        lines = [(label, listed) for label, names in sources.items() if (listed := _first_names(names))]
        lines.append(("settings", self._settings_in_words()))
        if run.regrouped_from:
            lines.append(("made from", f"stored pairs of a run at threshold {run.regrouped_from.threshold:g}"))
        named = {"removed": self.removed}
        lines += [(named.get(label, label), brief(value, 2 * NOTE)) for label, value in summary(run)]
        if self.decisions is None and self._found.folder is not None:
            lines.append(("decisions", "none when this page was written"))
        lines.append(("program", f"neardup {printable(run.neardup_version)}, format {run.format}"))
        return lines

    def _settings_in_words(self) -> str:
        settings = self.run.settings
        unit = "word" if settings["unit"] == "word" else "character"
        sentence = (
            f"{self.measure} {self.threshold:g} or above, on shingles of {counted(settings['length'], unit)}"
        )
        stated = {"measure", "threshold", "length", "unit"}
        changed = [
            f"{name} {_value(settings[name])}"
            for name in FIELDS
            if name not in stated and settings.get(name) != FIELDS[name].default
            if not (FIELDS[name].many and not settings.get(name))
        ]
        return (
            f"{sentence}; other than usual: {', '.join(changed)}"
            if changed
            else f"{sentence}; all others as usual"
        )

    @property
    def settings(self) -> list[Line]:
        """Every setting with its value."""
        return [(name, _value(self.run.settings.get(name, ""))) for name in FIELDS]

    @property
    def chart(self) -> Markup:
        """The histogram of similarities."""
        edges, counts = bars(self._pairs.value, self.threshold)
        return Histogram(edges, counts, self.threshold, self.measure).figure()

    @property
    def divided(self) -> int:
        """The number of families that were divided into several groups."""
        count = self.run.chaining.components_would_chain
        return count if isinstance(count, int) else 0

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of difference of the pairs, the most frequent first."""
        counts = [(name, count) for name, count in (self.run.kinds or {}).items() if count]
        return sorted(counts, key=lambda kind: -kind[1])

    def link(self, a: Id, b: Id) -> str:
        """Return the address of a pair that is side by side on this page; "" if it is not."""
        return self._anchors.get(frozenset((a, b)), "")

    def link_of_group(self, line: GroupLine) -> str:
        """Return the address of a group, or else of its pair that loses most; "" if neither is on this page."""
        worst = self.groups.worst(line)
        pair = "" if worst is None else self.link(worst.id, line.id)
        return self.opened.address.get(line.key, pair)

    def link_of_pair(self, line: PairLine) -> str:
        """Return the address of a pair; "" if it is not on this page."""
        return self.link(line.a_id, line.b_id)

    def _candidates(self) -> Iterator[list[ChosenPair]]:
        """Yield the pairs that could be shown, by list."""
        worst = ((line, self.groups.worst(line)) for line in self.groups.stake.lines)
        yield [ChosenPair(one.id, line.id, f"{one.said} of A are lost with it") for line, one in worst if one]
        for some, why in (
            (self.links.closest, "close to the threshold"),
            (self.links.between, "alike, but not in one group"),
            (self.links.missed, "missed by the run"),
        ):
            yield [ChosenPair(line.a_id, line.b_id, self._why(line, why)) for line in some.lines]
        yield list(self.below.lines)

    def _why(self, line: PairLine, why: str) -> str:
        return f"{why}: {self.measure} {share(line.similarity)}, {line.why}"


def _first_names(values: object) -> str:
    """Return the first names of a list as a person may see them; a stored account may hold anything."""
    if not isinstance(values, list):
        return ""
    first = ", ".join(brief(printable(value), NAMED) for value in values[:INPUTS])
    return f"{first}, and {number(len(values) - INPUTS)} more" if len(values) > INPUTS else first


def _value(value: object) -> str:
    if isinstance(value, list):
        return brief(", ".join(map(str, value)), NOTE)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else brief(value, NOTE) or "none"


@dataclass(frozen=True)
class ChosenPair:
    """A pair to show: a member and its representative, or two documents. ``why`` is a sentence."""

    a: Id
    b: Id
    why: str

    @property
    def ends(self) -> frozenset[Id]:
        """Its two documents."""
        return frozenset((self.a, self.b))


@dataclass
class ShownPair:
    """A pair on the page: its number, and its comparison as HTML, or the reason why there is none."""

    number: int
    chosen: ChosenPair
    body: Markup = field(default_factory=Markup)
    missing: str = ""

    @property
    def anchor(self) -> str:
        """The address of the pair on the page."""
        return f"#pair-{self.number}"


def choose(lists: Sequence[Iterable[ChosenPair]], most: int) -> list[ChosenPair]:
    """Return ``most`` different pairs, from each list in turn.

    >>> first = [ChosenPair(1, 2, "a"), ChosenPair(3, 4, "a")]
    >>> second = [ChosenPair(2, 1, "b"), ChosenPair(5, 6, "b")]
    >>> [(pair.a, pair.b) for pair in choose([first, second], 3)]
    [(1, 2), (5, 6), (3, 4)]
    """
    chosen: dict[frozenset[Id], ChosenPair] = {}
    waiting = [iter(pairs) for pairs in lists]
    while waiting and len(chosen) < most:
        for pairs in list(waiting):
            new = next((pair for pair in pairs if pair.ends not in chosen), None)
            if new is None:
                waiting.remove(pairs)
            elif len(chosen) < most:
                chosen[new.ends] = new
    return list(chosen.values())


@dataclass(frozen=True)
class OpenedGroup:
    """A group side by side: the pairs of its members with the representative, and its exact copies.

    ``left_out`` are members that are neither.
    """

    number: int
    id: Id
    size: int
    lowest: float | None
    highest: float | None
    copies: Some
    pairs: list[ShownPair]
    left_out: int


class OpenedGroups:
    """The groups that can be opened side by side, up to a size in ``megabytes``, and the ``others``.

    The groups nearest to the threshold, those with most text at stake, and the largest come in turn. Each pair
    counts with the bytes of its comparison, or a tenth of the characters of its texts if they are more. A pair
    that is among ``pairs`` is not shown again.
    """

    def __init__(
        self,
        result: Found,
        groups: GroupFigures,
        reading: TextReading,
        pairs: Sequence[ShownPair],
        megabytes: float,
    ) -> None:
        self._found, self._groups, self._reading = result, groups, reading
        self.first, self._shown = len(pairs), {one.chosen.ends: one for one in pairs}
        self.size, self._room = size(int(megabytes * 1e6)), megabytes * 1e6
        self.members = MEMBERS
        self.groups: list[OpenedGroup] = []
        self.address: dict[int, str] = {}
        order, count = groups.in_turn(), 0
        for group in order.tolist():
            if self._room <= 0 or reading.gave_up:
                break
            opened = self._open(group, count + 1)
            if opened is None:
                break
            self.groups.append(opened)
            count += 1
            self.address[group] = f"#group-{count}"
        self.unread = reading.gave_up
        listed = [self._row(group) for group in order[count : count + NOT_OPENED].tolist()]
        self.others = Some(listed, len(order) - count)
        self.anchors = {ends: one.anchor for ends, one in self._shown.items()}

    def _open(self, group: int, number: int) -> OpenedGroup | None:
        """Compare the members of a group as long as there is room; None if there is none for the first pair."""
        groups, table = self._groups, self._groups.table
        head, rows = groups.heads[group].as_py(), np.flatnonzero(groups.of_row == group)
        leads = table["representative"].take(rows).to_numpy().astype(bool)
        values = table["similarity"].take(rows).to_numpy().astype(np.float64)
        near, copies = rows[~leads & ~groups.copies[rows]], rows[groups.copies[rows]]
        near = near[np.argsort(values[~leads & ~groups.copies[rows]], kind="stable")]
        names = [str(id) for id in table["id"].take(copies[:COPIES]).to_pylist()]
        self._room -= OVERHEAD + _bytes(named(head), *map(named, names))
        if self._room < 0:
            return None
        pairs: list[ShownPair] = []
        for member in table.select(["id", "kept", "reason"]).take(near[:MEMBERS]).to_pylist():
            fate = "kept" if member["kept"] else "removed"
            chosen = ChosenPair(member["id"], head, brief(f"A {fate}: {member['reason']}", NOTE))
            shown = self._shown.get(chosen.ends) or self._compare(chosen)
            if shown is None:
                break
            pairs.append(shown)
        if len(near) and not pairs:
            return None
        lowest, highest = (
            None if np.isnan(value) else float(value) for value in (groups.lowest[group], groups.highest[group])
        )
        some = Some(names, len(copies))
        return OpenedGroup(
            number, head, int(groups.size[group]), lowest, highest, some, pairs, len(near) - len(pairs)
        )

    def _compare(self, chosen: ChosenPair) -> ShownPair | None:
        """Compare a pair and keep it; None if there is no room for it."""
        if self._room <= 0:
            return None
        number = len(self._shown) + 1
        shown = next(side_by_side(self._found, [chosen], self._reading, number, 5))
        read = sum(len(self._reading.text(id) or "") for id in (chosen.a, chosen.b)) if shown.body else 0
        around = OVERHEAD + 2 * _bytes(named(chosen.a), named(chosen.b), chosen.why)
        self._room -= around + max(_bytes(shown.body), read // READ)
        if self._room < 0:
            return None
        self._shown[chosen.ends] = shown
        return shown

    def _row(self, group: int) -> tuple[str, str, str]:
        groups = self._groups
        low = groups.lowest[group]
        value = "exact copies" if np.isnan(low) else similarity(float(low))
        return str(groups.heads[group].as_py()), number(int(groups.size[group])), value


def _bytes(*parts: str) -> int:
    return sum(len(part.encode("utf-8", "replace")) for part in parts)


def side_by_side(
    result: Found, chosen: Sequence[ChosenPair], reading: TextReading, first: int = 1, level: int = 4
) -> Iterator[ShownPair]:
    """Read and compare pairs; ``first`` is the number of the first one, ``level`` that of their headings."""
    for place, pair in enumerate(chosen, first):
        shown = ShownPair(place, pair)
        texts = reading.text(pair.a), reading.text(pair.b)
        if texts[0] is None or texts[1] is None:
            shown.missing = "A text of this pair cannot be read."
        elif len(texts[0]) + len(texts[1]) > LONGEST:
            size = counted(len(texts[0]) + len(texts[1]), "character")
            shown.missing = f"The two texts have {size}, which is too long for this page."
        else:
            _compare(result, shown, (texts[0], texts[1]), level)
        yield shown


def _compare(result: Found, shown: ShownPair, texts: tuple[str, str], level: int) -> None:
    settings = result.run.settings
    names = tuple(str(id)[:LONGEST_NAME] for id in (shown.chosen.a, shown.chosen.b))
    try:
        comparison = compare(*texts, **as_compared(settings), seconds=SECONDS)
        beside = differing_parts(result, shown.chosen.a, shown.chosen.b)
        comparison = replace(comparison, not_compared=beside)
    except LimitError as error:
        shown.missing = f"{error.given}."
        return
    shown.body = bounded_comparison(comparison, (names[0], names[1]), f"p{shown.number}-", SHOWN, level)


def bounded_comparison(
    record: ComparisonRecord, names: tuple[str, str], prefix: str, most: int, level: int = 4
) -> Markup:
    """Return the parts of a comparison as HTML: facts, list of differences, the two texts.

    ``prefix`` makes ids unique on the page. If the texts have more than ``most`` characters, equal passages are
    left out, and the page ends after that many.
    """
    fits = len(record.a.text) + len(record.b.text) <= most
    body = ComparisonBody(record, names, False, prefix, level, None if fits else most, flowed=True)
    return body.html("bounded")
