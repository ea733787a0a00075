"""A result as one self-contained page, without network and script.

Its front takes few sheets of paper; the appendix has more lists, and pairs side by side.
"""

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
from neardup.deduplication.reviews import after_review, page_state, review_in
from neardup.deduplication.texts import differing_parts
from neardup.display import Line, counted, number, percent, printable, similarity, size
from neardup.display.pictures import Histogram, bars
from neardup.display.view import LONGEST_NAME, named, self_contained, share
from neardup.errors import LimitError, SettingError
from neardup.review.desk.index import ResultIndex
from neardup.review.parts import style, templates_of
from neardup.review.report import lists
from neardup.review.report.lists import GroupFigures, GroupLists, PairLists, ReportDecisions, Some, TextReading
from neardup.review.report.overview import GroupVerdicts, InputFiles, result_digest
from neardup.runtime import installed_version
from neardup.settings import FIELDS, LITERAL, MEASURES, as_compared

if TYPE_CHECKING:
    from neardup.comparison.records import ComparisonRecord
    from neardup.deduplication.results import Found, Id
    from neardup.deduplication.reviews import ReviewedResult
    from neardup.review.source import GroupLine, PairLine

_SEARCHES = {"exact": "an exact join", "lsh": "locality-sensitive hashing", "simhash": "fingerprints (SimHash)"}
_GROUPS = {
    "principal": "a representative, and each other member reaches the threshold with it",
    "components": "documents that a chain of pairs connects: two of them may be below the threshold",
    "complete": "documents of which any two are a pair",
}
"""The forms of groups in the words of the method."""
NOTES, NOTE = 20, 600
"""Most warnings on the page, and the length of one in characters."""
INPUTS, NAMED = 5, 200
"""Most names of inputs on the page, and the length of one."""
GENERATOR = "neardup report"
PAIRS, GROUPS, MEGABYTES = 0, 200, 0.0
LEADING = 20
"""Lines of the lists of groups in the appendix."""
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
    by: str = "",
) -> str:
    """Return the report of a result as HTML.

    ``groups`` is the length of a list of groups. With ``pairs``, the number of pairs side by side, or
    ``megabytes``, the size of all groups that can be opened side by side, the page has an appendix. ``title`` is
    the name of the matter; ``written`` is the date of the page, and ``by`` who made it. Texts that cannot be read
    are left out, with the reason.

    Raises SettingError for numbers out of range.
    """
    check_lengths(pairs, groups, megabytes)
    run = result.named
    given = None if run.folder is None else review_in(run.ranks, run.folder)
    content = ReportContent(run, given, groups=groups, pairs=pairs, megabytes=megabytes)
    return page_of(content, title=title, written=written, by=by)


def page_of(content: ReportContent, *, title: str, written: str, by: str) -> str:
    """Return the page of a report as HTML; the parameters are those of ``report_page``."""
    heading = f"Near-duplicates in {printable(title)}" if title else "Near-duplicates"
    return self_contained(
        templates_of("neardup.review.report"),
        "report.html",
        style(),
        title=heading,
        generator=GENERATOR,
        report=content,
        matter=title,
        written=written,
        by=by,
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
    """A figure that matters: its label, its value, and a few words more; ``name`` marks it in the page."""

    label: str
    value: str
    more: str = ""
    name: str = ""


class ReportContent:
    """Everything on the page of a report. ``groups`` and ``pairs`` are the lengths of its lists, ``megabytes`` is
    the size of its groups side by side; without both it has no appendix.

    ``as_run`` is the result as the run left it, with the names of both sides; ``given`` are the decisions about
    it, None for a result without a folder. A result with decisions is reported as they leave it. Its groups are
    listed as the run found them, with the verdicts on them.
    """

    def __init__(
        self, as_run: Found, given: ReviewedResult | None, *, groups: int, pairs: int, megabytes: float
    ) -> None:
        result = after_review(as_run, given) if given is not None and given.state.number else as_run
        self.run, self.as_run = result.run, as_run.run
        decisions = result.run.decisions
        self.decisions = None if decisions is None else ReportDecisions(decisions, result, as_run)
        self._found, self._folder = result, as_run.folder
        self.reading = TextReading(result)
        self.files, self.digest = InputFiles(as_run), result_digest(as_run)
        index = ResultIndex(as_run)
        self.verdicts = GroupVerdicts(as_run, index, None if given is None else given.state)
        self.asked_for = f"{counted(groups, 'group')} in a list, {counted(pairs, 'pair')} and {megabytes:.15g} MB"
        figures = lists.group_figures(index), lists.pair_figures(index)
        self.groups = self.verdicts.rows(GroupLists(as_run, *figures, self.reading, 0), groups)
        self.exceptions = lists.exceptions(as_run)
        self.parts = lists.parts_not_compared(as_run)
        self.appendix: ReportAppendix | None = None
        if pairs or megabytes:
            index = index if result is as_run else ResultIndex(result)
            self.appendix = ReportAppendix(self, result, index, groups, pairs, megabytes)

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
        return self.reading.why

    @property
    def warnings(self) -> list[str]:
        """The warnings of the run."""
        return [lists.brief(text, NOTE) for text in self.run.warnings[:NOTES]]

    @property
    def removes(self) -> bool:
        """Whether the run, or people after it, remove documents: ``neardup group`` removes none."""
        return self.run.action != "group"

    def figure(self, name: str) -> str:
        """Return the name of a figure on the page: that of the run, or ``after NAME`` once decisions follow it."""
        return f"after {name}" if self._only_reviewed else name

    @cached_property
    def tiles(self) -> list[Tile]:
        """The figures that matter."""
        counts, sizes, estimated = self.run.counts, self.run.bytes, self._estimated_recall()
        verdicts = self.verdicts
        removed = f"{percent(counts.removed, counts.read)} of the documents, "
        removed += f"{percent(sizes.removed_text, sizes.text)} of the text"
        measured = f"at {self.measure} {self.threshold:g} or above"
        tiles = [
            Tile("documents read", number(counts.read), size(sizes.text), "read"),
            Tile(self.removed, number(counts.removed), removed, self.figure("removed")),
            Tile("kept", number(counts.kept), "", self.figure("kept")),
            Tile("groups", number(counts.groups), "", self.figure("groups")),
            Tile("pairs", number(counts.pairs), measured, "pairs"),
            Tile("near copies", number(counts.near_copies), "", self.figure("near copies")),
            Tile("exact copies", number(counts.exact_copies), classes_of_copies(counts), "exact copies"),
            self._lost_tile(),
            Tile("recall", share(estimated), self._recall_in_words(estimated)),
        ]
        if verdicts.judging:
            of = f"of {counted(verdicts.pairs, 'pair')} to judge"
            tiles.append(Tile("undecided", number(verdicts.pairs - verdicts.decided), of, "undecided"))
        return tiles

    def _lost_tile(self) -> Tile:
        total = self.run.lost
        if total.unknown and total.unknown == total.removed:
            return Tile("text lost", "unknown", "the result was made from stored pairs")
        unknown = f"; unknown for {number(total.unknown)}" if total.unknown else ""
        explanation = f"of the shingles of near copies; {counted(total.losing, 'document')} with a loss{unknown}"
        if total.losing or total.unknown:
            return Tile("text lost", percent(total.lost, total.shingles), explanation)
        return Tile("text lost", *lost_in_words(total).split(": ", 1))

    def _estimated_recall(self) -> float | None:
        predicted = self.run.recall.predicted
        return None if predicted is None else predicted.estimated

    def _recall_in_words(self, estimated: float | None) -> str:
        if self.run.choice.method == "exact":
            return "every pair is found"
        return "not planned" if estimated is None else "share of true pairs that the run found, estimated"

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """The names of the inputs, and of the reference set if there is one."""
        sources = {"Inputs": self.run.inputs, "Compared with": self.run.against}
        return [(label, listed) for label, names in sources.items() if (listed := _first_names(names))]

    @cached_property
    def facts(self) -> list[Line]:
        """The run in labelled lines."""
        run = self.run
        lines: list[Line] = []
        if run.regrouped_from:
            lines.append(("made from", f"stored pairs of a run at threshold {run.regrouped_from.threshold:g}"))
        named = {"removed": self.removed}
        lines += [(named.get(label, label), lists.brief(value, 2 * NOTE)) for label, value in summary(run)]
        if self.decisions is None and self._found.folder is not None:
            lines.append(("decisions", "none when this page was written"))
        lines.append(("program", f"neardup {printable(run.neardup_version)}, format {run.format}"))
        return lines

    @property
    def unit(self) -> str:
        """The unit of shingles."""
        return "word" if self.run.settings["unit"] == "word" else "character"

    @property
    def copies(self) -> str:
        """The features that exact copies have in common."""
        return "characters" if self.run.settings["copies"] == "identical" else f"{self.unit}s in the same order"

    @property
    def search(self) -> str:
        """How the run searched for pairs."""
        return _SEARCHES[self.run.choice.method]

    @property
    def grouping(self) -> str:
        """The documents of a group."""
        return _GROUPS[self.run.settings["groups"]]

    @property
    def keep(self) -> str:
        """The policy that chooses the documents to keep."""
        return _value(self.run.settings["keep"])

    @property
    def unusual(self) -> str:
        """The settings that are not usual, other than those that the method names."""
        settings, stated = self.run.settings, {"measure", "threshold", "length", "unit"}
        return ", ".join(
            f"{name} {_value(settings[name])}"
            for name in FIELDS
            if name not in stated and settings.get(name) != FIELDS[name].default
            if not (FIELDS[name].many and not settings.get(name))
        )

    @property
    def settings(self) -> list[Line]:
        """Every setting with its value."""
        return [(name, _value(self.run.settings.get(name, ""))) for name in FIELDS]

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of difference of the pairs, the most frequent first."""
        counts = [(name, count) for name, count in (self.run.kinds or {}).items() if count]
        return sorted(counts, key=lambda kind: -kind[1])


class ReportAppendix:
    """The part of a report that is asked for: lists of groups and pairs to look at first, and texts side by side.

    ``content`` is the page; ``result`` is the result as the decisions leave it, and ``index`` that of the result.
    """

    def __init__(
        self, content: ReportContent, result: Found, index: ResultIndex, groups: int, pairs: int, megabytes: float
    ) -> None:
        self._content, reading = content, content.reading
        self._groups, self._pairs = lists.group_figures(index), lists.pair_figures(index)
        self.groups = GroupLists(result, self._groups, self._pairs, reading, min(groups, LEADING))
        self.links = PairLists(result, self._groups, self._pairs, reading)
        self.below = Some(
            [
                ChosenPair(id, group, f"{content.measure} {similarity(value)}, joined by a chain of pairs")
                for id, group, value in islice(lists.below_threshold(result), lists.LISTED)
            ],
            result.run.chaining.groups,
        )
        self.losses, self.large_clusters = lists.losses(result), lists.large_clusters(result)
        self.files = content.files.first(lists.FILES)
        chosen = choose([*self._candidates()], pairs)
        self.pairs: list[ShownPair] = list(side_by_side(result, chosen, reading))
        self.opened = OpenedGroups(result, self._groups, reading, self.pairs, megabytes)
        self._anchors = self.opened.anchors

    @property
    def unknown_stake(self) -> int:
        """The number of groups with documents whose lost text is unknown."""
        return int(self._groups.unknown.sum())

    @property
    def chart(self) -> Markup:
        """The histogram of similarities."""
        edges, counts = bars(self._pairs.value, self._content.threshold)
        return Histogram(edges, counts, self._content.threshold, self._content.measure).figure()

    @property
    def divided(self) -> int:
        """The number of families that were divided into several groups."""
        count = self._content.run.chaining.components_would_chain
        return count if isinstance(count, int) else 0

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
        return f"{why}: {self._content.measure} {share(line.similarity)}, {line.why}"


def _first_names(values: object) -> str:
    """Return the first names of a list as a person may see them; a stored account may hold anything."""
    if not isinstance(values, list):
        return ""
    first = ", ".join(lists.brief(printable(value), NAMED) for value in values[:INPUTS])
    return f"{first}, and {number(len(values) - INPUTS)} more" if len(values) > INPUTS else first


def _value(value: object) -> str:
    if isinstance(value, list):
        return lists.brief(", ".join(map(str, value)), NOTE)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else lists.brief(value, NOTE) or "none"


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
            chosen = ChosenPair(member["id"], head, lists.brief(f"A {fate}: {member['reason']}", NOTE))
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
