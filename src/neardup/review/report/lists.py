"""The lists of a report: groups, pairs, losses, problems and decisions, each with the number of all.

The figures of groups and pairs are counted for whole arrays at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.comparison.kinds import KINDS
from neardup.comparison.kinds.rules import kind_of
from neardup.deduplication.results import COLUMNS, COUNTS, KIND, MEASURED, SHINGLES, LostMost, Shared, unit_of
from neardup.deduplication.reviews import later_action
from neardup.deduplication.texts import similarities
from neardup.display import counted, number, percent, printable, size
from neardup.errors import NeardupError
from neardup.review.source import GroupLine, PairLine, known_number
from neardup.tables import Bools, Floats, Int64s
from neardup.text.units import read

if TYPE_CHECKING:
    from neardup.deduplication.results import DecisionAccount, DecisionsAccount, Found, Id
    from neardup.review.desk.index import Kinds, ResultIndex

LISTED = 10
"""Lines of the lists of pairs, losses and problems."""
UNREADABLE = "unreadable"
"""The kind of documents that the list of problems has."""
EXCEPTIONS, NAMED = 30, 10
"""Reasons why documents were not read or not compared, and names with each."""
FILES = 20
"""Lines of the list of files."""
FOLLOWED = 50
"""Lines of the lists of decisions and tags."""
REASON, PASSAGE = 240, 160
"""Longest reason and longest passage on the page, in characters."""
WORDS = 90
"""Characters of the first words of a document."""
SHORT = 100_000
"""Longest text to keep, in characters. Longer ones are read again; the kind of their difference stays unknown."""
_FAILURES = 3
"""After this many documents that cannot be read, no other is tried."""
_PEOPLE = 10
_SHOWN = 200
"""Longest name of a person, folder or tag, in characters."""
Row: TypeAlias = tuple[str, str, str]

D = TypeVar("D", bound="DecisionAccount")


@dataclass(frozen=True)
class Loss:
    """A removed document that loses text, in a group."""

    id: Id
    group: Id
    said: str
    passage: str


@dataclass(frozen=True)
class Some:
    """The first lines of a list, and the number of all."""

    lines: Sequence[Any]
    total: int

    def __bool__(self) -> bool:
        return bool(self.lines)

    def caption(self, words: str) -> str:
        """Return a caption: ``words``, and how many of all are listed.

        >>> Some("abc", 1200).caption("The largest groups"), Some("abc", 3).caption("The largest groups")
        ('The largest groups: 3 of 1,200', 'The largest groups')
        """
        return (
            f"{words}: {number(len(self.lines))} of {number(self.total)}"
            if self.total > len(self.lines)
            else words
        )


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """One entry a group, in the order of the result; ``of_row`` is the group of each row of ``table``.

    ``lowest`` and ``highest`` are the similarities of near copies with their representative, NaN without any.
    ``stake`` is the size in bytes of the text that goes with removed documents: the share of their shingles that
    is lost, times their size; exact copies of each other count once. It is a lower bound where ``unknown``.
    ``worst`` is the row of the member with the largest part in it, -1 without any. ``copies`` are the rows of the
    table that are exact copies of their representative or of an earlier document.
    """

    table: pa.Table
    heads: pa.Array
    of_row: Int64s
    size: Int64s
    exact: Int64s
    lowest: Floats
    highest: Floats
    stake: Int64s
    unknown: Bools
    worst: Int64s
    copies: Bools

    def __len__(self) -> int:
        return len(self.heads)

    def by_stake(self, most: int) -> Int64s:
        """Return the groups with text at stake, most text first."""
        return _greatest(self.stake, most)[: int((self.stake > 0).sum())]

    def in_turn(self) -> Int64s:
        """Return all groups: the least similar, that with most at stake and the largest of the others, in turn."""
        lowest = np.where(np.isnan(self.lowest), np.inf, self.lowest)
        orders = [_greatest(values, len(self)) for values in (-lowest, self.stake, self.size)]
        groups = np.stack(orders, axis=1).ravel()
        _, first = np.unique(groups, return_index=True)
        return groups[np.sort(first)]

    def by_size(self, most: int) -> Int64s:
        """Return the largest groups, the largest first."""
        return _greatest(self.size, most)


def group_figures(index: ResultIndex) -> GroupFigures:
    """Count the groups of a result."""
    table, group, many = index.table, index.group, len(index)
    texts, of_heads = index.documents.first[index.members], index.documents.first[index.heads]
    exact = ~index.leads & ((texts != index.members) | (texts == of_heads[group]))
    near = ~index.leads & ~exact & ~np.isnan(index.similarity)
    lowest, highest = np.full(many, np.inf), np.full(many, -np.inf)
    np.minimum.at(lowest, group[near], index.similarity[near])
    np.maximum.at(highest, group[near], index.similarity[near])
    unknown = ~index.kept
    if "lost_shingles" in table.column_names:
        unknown &= pc.is_null(table["lost_shingles"]).to_numpy()
    return GroupFigures(
        table,
        table["group"].combine_chunks().take(pa.array(index.offsets[:-1])),
        group,
        index.size,
        np.bincount(group[exact], minlength=many),
        np.where(np.isinf(lowest), np.nan, lowest),
        np.where(np.isinf(highest), np.nan, highest),
        index.stake,
        np.bincount(group[unknown], minlength=many) > 0,
        _worst(group, index.lost_bytes, many),
        exact,
    )


def _worst(of_row: Int64s, lost: Int64s, many: int) -> Int64s:
    worst = np.full(many, -1, np.int64)
    order = np.argsort(lost, kind="stable")
    order = order[lost[order] > 0]
    worst[of_row[order]] = order  # the last one written has most
    return worst


def _greatest(values: Int64s | Floats, most: int) -> Int64s:
    return np.argsort(-values, kind="stable")[:most]


@dataclass(frozen=True, eq=False)
class PairFigures:
    """The stored pairs: ``value`` is their similarity, ``a`` and ``b`` the groups of their ends (-1: none).

    ``kinds`` are numbers in ``KINDS``.
    """

    table: pa.Table
    value: Floats
    a: Int64s
    b: Int64s
    kinds: Kinds

    @cached_property
    def between(self) -> Bools:
        """The pairs whose ends are in different groups, or one of them in none."""
        apart: Bools = (self.a != self.b) | (self.a < 0)
        return apart

    def lowest(self, most: int) -> Int64s:
        """Return the pairs closest to the threshold, the lowest first."""
        return np.argsort(self.value, kind="stable")[:most]

    def strongest_between(self, most: int) -> Int64s:
        """Return the pairs between groups, the most similar first."""
        rows = np.flatnonzero(self.between)
        return rows[np.argsort(-self.value[rows], kind="stable")[:most]]

    def kinds_inside(self, group: int) -> dict[str, int]:
        """Return the kinds of difference of the pairs inside a group, the most frequent first."""
        if KIND not in self.table.column_names:
            return {}
        numbers, counts = np.unique(self.kinds[(self.a == group) & (self.b == group)], return_counts=True)
        named = [(KINDS[number] if number >= 0 else "not determined") for number in numbers.tolist()]
        in_order = sorted(zip(named, counts.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
        return dict(in_order)


def pair_figures(index: ResultIndex) -> PairFigures:
    """Count the stored pairs of a result."""
    pairs = index.pairs
    a, b = (index.group_of[end] for end in pairs.ends)
    return PairFigures(index.found.pairs, pairs.similarity, a, b, pairs.kinds)


class GroupLists:
    """Lines of groups; ``most`` is the length of a list."""

    def __init__(
        self, result: Found, groups: GroupFigures, pairs: PairFigures, reading: TextReading, most: int
    ) -> None:
        self._found, self._groups, self._pairs, self._reading = result, groups, pairs, reading
        self.stake = self._some(groups.by_stake(most), int((groups.stake > 0).sum()))
        self.largest = self._some(groups.by_size(most), len(groups))

    def _some(self, chosen: Int64s, total: int) -> Some:
        lines = (self.row(group) for group in chosen.tolist())
        return Some([replace(line, words=self._reading.words(line.id)) for line in lines], total)

    def row(self, group: int) -> GroupLine:
        """Return the line of a group without the first words of its representative."""
        groups = self._groups
        id, size, exact = groups.heads[group].as_py(), int(groups.size[group]), int(groups.exact[group])
        return GroupLine(
            key=group,
            id=id,
            words="",
            size=size,
            exact_copies=exact,
            lowest=known_number(groups.lowest[group]),
            highest=known_number(groups.highest[group]),
            differs=self._differs(group),
            stake=int(groups.stake[group]),
            decided=0,
            pairs=size - 1 - exact,
        )

    def _differs(self, group: int) -> str:
        """Return the kinds of difference in a group; if they are not stored, that of one member, the worst."""
        if "kind" in self._found.pairs.column_names:
            kinds = self._pairs.kinds_inside(group)
            return ", ".join(f"{kind} {number(count)}" for kind, count in islice(kinds.items(), 3))
        head, row = self._groups.heads[group].as_py(), int(self._groups.worst[group])
        members = [row] if row >= 0 else np.flatnonzero(self._groups.of_row == group)[:2].tolist()
        ids = (self._groups.table["id"][place].as_py() for place in members)
        return next((self._reading.kind(id, head) for id in ids if id != head), "")

    def worst(self, line: GroupLine) -> Loss | None:
        """Return the member of a group that loses most text, None without any."""
        row = int(self._groups.worst[line.key])
        if row < 0:
            return None
        member = self._groups.table.select(["id", "group", *COLUMNS]).slice(row, 1).to_pylist()[0]
        return _loss(LostMost(**{**member, "lost_shingles": member["lost_shingles"] or 0}))


class PairLists:
    """Lines of pairs: ``closest`` to the threshold, ``between`` groups, ``missed`` by the run."""

    def __init__(self, result: Found, groups: GroupFigures, pairs: PairFigures, reading: TextReading) -> None:
        self._found, self._groups, self._pairs, self._reading = result, groups, pairs, reading
        total = pairs.table.num_rows
        self.closest = Some([self._stored_line(row) for row in pairs.lowest(LISTED).tolist()], total)
        strongest = pairs.strongest_between(LISTED).tolist()
        self.between = Some([self._stored_line(row) for row in strongest], int(pairs.between.sum()))
        self.missed = self._missed_lines()

    def _stored_line(self, row: int) -> PairLine:
        a, b = int(self._pairs.a[row]), int(self._pairs.b[row])
        if a == b >= 0:
            where = "in one group"
        elif a >= 0 and b >= 0:
            where = "in two groups"
        else:
            where = f"{'neither is' if a < 0 and b < 0 else 'A is' if a < 0 else 'B is'} in a group"
            where = where.replace("A is in", "A is not in").replace("B is in", "B is not in")
        return self._line(self._pairs.table, row, float(self._pairs.value[row]), where)

    def _missed_lines(self) -> Some:
        missed = self._found.missed
        if missed is None:
            return Some((), 0)
        values = similarities(self._found, missed)
        rows = np.argsort(-values, kind="stable")[:LISTED].tolist()
        lines = [self._line(missed, row, float(values[row]), "found by the audit only") for row in rows]
        return Some(lines, missed.num_rows)

    def _line(self, table: pa.Table, row: int, value: float, where: str) -> PairLine:
        values = table.slice(row, 1).to_pylist()[0]
        names = MEASURED if "common" in values else COUNTS
        unit = unit_of(self._found.run.settings) if "common" in values else SHINGLES
        a, b = values["id_a"], values["id_b"]
        counts = values[names[0]], values[names[1]], values[names[2]]
        return PairLine(
            a=row,
            b=row,
            a_id=a,
            b_id=b,
            words=(self._reading.words(a), self._reading.words(b)),
            similarity=value,
            kind=str(values.get("kind") or "") if "kind" in values else self._reading.kind(a, b),
            verdict=None,
            why=f"{where}; {Shared(*counts, unit)}",
        )


def losses(result: Found) -> Some:
    """Return the removed documents that lose most text."""
    lost = result.run.lost
    return Some([_loss(one) for one in lost.most[:LISTED]], lost.losing)


def exceptions(result: Found) -> Some:
    """Return documents that were not read or not compared, by kind and reason, with the first names."""
    names: dict[tuple[str, str], list[str]] = {}
    for problem in result.problems:
        place = f"row {number(problem.row)}" if problem.row is not None else "the file"
        where = problem.file or f"{problem.source}: {place}"
        reason = problem.reason.removeprefix(f"cannot read {problem.file}: ")
        names.setdefault((problem.kind or "not read", _cause(reason)), []).append(where)
    aside = result.not_judged.filter(pc.not_equal(result.not_judged["kind"], UNREADABLE))
    for row in aside.select(["kind", "reason", "id"]).to_pylist():
        names.setdefault((row["kind"], _cause(row["reason"])), []).append(str(row["id"]))
    rows = [
        (kind, number(len(of_reason)), reason, _first(of_reason)) for (kind, reason), of_reason in names.items()
    ]
    return Some(rows[:EXCEPTIONS], len(rows))


def _cause(reason: str) -> str:
    """The reason without the advice that follows it."""
    return brief(reason.partition(" Allowed: ")[0], REASON)


def _first(names: Sequence[str]) -> str:
    more = f", and {number(len(names) - NAMED)} more" if len(names) > NAMED else ""
    return ", ".join(brief(printable(name), _SHOWN) for name in names[:NAMED]) + more


def parts_not_compared(result: Found) -> list[tuple[str, int]]:
    """Return the kinds of parts that were not compared, and in how many stored pairs each differs."""
    if "not_compared" not in result.pairs.column_names:
        return []
    listed = (kinds for kinds in result.pairs["not_compared"].to_pylist() if kinds)
    counts = Counter(kind for kinds in listed for kind in kinds.split(", "))
    return counts.most_common()


def large_clusters(result: Found) -> Some:
    """Return the large clusters: the representative, the number of members, and of pairs that were not written."""
    clusters = result.run.large_clusters
    rows = [
        (str(one.representative), number(one.members), number(one.pairs_left_out)) for one in clusters[:LISTED]
    ]
    return Some(rows, len(clusters))


def below_threshold(result: Found) -> Iterator[tuple[Id, Id, float]]:
    """Yield members below the threshold to the representative, least similar first: (id, group, similarity)."""
    value = result.groups["similarity"].to_numpy(zero_copy_only=False).astype(np.float64)
    low = np.flatnonzero(value < result.run.settings["threshold"])
    for row in low[np.argsort(value[low], kind="stable")].tolist():
        one = result.groups.slice(row, 1).to_pylist()[0]
        yield one["id"], one["group"], float(value[row])


class ReportDecisions:
    """The decisions behind a result. ``found`` follows them; ``run`` is the result of the run without them.

    Both are the same if the result was made to follow decisions, by ``neardup apply`` or ``--decisions``.
    """

    def __init__(self, account: DecisionsAccount, result: Found, run: Found) -> None:
        self._account, self._after, self._before = account, result, run
        self.only_reviewed = result is not run
        self._removed = run.run.counts.removed, result.run.counts.removed
        self._action = run.run.action
        self._later = 0 if self.only_reviewed else later_action(run)

    @property
    def number(self) -> str:
        """The number of decisions, and the last action that they include."""
        account = self._account
        last = f", up to action {number(account.last_action)}" if account.last_action else ""
        return f"{counted(account.applied, 'decision')}{last}"

    @property
    def people(self) -> str:
        """By whom the decisions were made, with their numbers."""
        account = self._account
        people = sorted(account.by.items(), key=lambda person: (-person[1], person[0]))
        listed = [f"{number(count)} by {brief(printable(name), _SHOWN)}" for name, count in people]
        if len(listed) > _PEOPLE:
            listed[_PEOPLE:] = [f"the others by {counted(len(listed) - _PEOPLE, 'other person', 'other people')}"]
        return ", ".join(listed)

    @property
    def days(self) -> str:
        """The first and the last day of the decisions, as far as they are recorded."""
        days = sorted({brief(one.at, _SHOWN)[:10] for one in self._account.followed})
        return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "no day"

    @property
    def lead(self) -> str:
        """Their number, by whom they were made, and the last action that they include."""
        account = self._account
        if not account.last_action:
            return f"This result was made from {self._result}, about which nobody had decided."
        by = f": {self.people}" if account.by else ""
        unsure = f"; {counted(account.unsure, 'pair')} left as unsure" if account.unsure else ""
        follows = "page follows" if self.only_reviewed else "result follows"
        return (
            f"This {follows} {counted(account.applied, 'decision')} of people{by}{unsure}. They are those of "
            f"{self._result} up to action {number(account.last_action)}; later ones are not included."
        )

    @property
    def notes(self) -> list[str]:
        """Remarks on decisions that are not carried out yet, and on later ones."""
        notes = []
        if self._later:
            note = f"The review in {self._result} has gone on since, up to action {number(self._later)}"
            notes.append(f"{note}: this page is older than its decisions.")
        if self.only_reviewed:
            was, now = map(number, self._removed)
            files = f"The run by itself removed {was}; the files in the result are still those of the run"
            if self._action == "group":
                files = "The run by itself removed nothing"
            out = brief(printable(self._account.result), _SHOWN)
            notes.append(
                f"{files}. After the decisions {now} can go: neardup apply {out} -o DIR writes the others."
            )
        return notes

    @property
    def figures(self) -> list[Row]:
        """The figures before and after the decisions; none without decisions, or if the run removed nothing."""
        before, after = self._account.before, self._after.run
        if before is None or not self._account.last_action:
            return []
        rows: list[Row] = [
            (name.replace("_", " "), number(before.get(name, 0)), number(getattr(after.counts, name)))
            for name in ("groups", "near_copies", "removed", "kept")
        ]
        return [*rows, ("text removed", size(before.get("removed_text", 0)), size(after.bytes.removed_text))]

    @property
    def changed(self) -> Some:
        """The documents that stay or go by the decisions: the document, its new fate, the reason."""
        if not self.only_reviewed or not self.figures:
            return Some((), 0)
        gone = [one.groups.filter(pc.invert(one.groups["kept"]))["id"] for one in (self._before, self._after)]
        ids = [
            one.filter(pc.invert(pc.is_in(one, value_set=other.combine_chunks())))
            for one, other in (gone, reversed(gone))
        ]
        first = [
            (id, fate) for part, fate in zip(ids, ("kept", "removed"), strict=True) for id in part.to_pylist()
        ]
        total, first = len(first), first[:FOLLOWED]
        groups = self._after.groups.select(["id", "reason"])
        listed = groups.filter(pc.is_in(groups["id"], value_set=pa.array([id for id, _ in first], ids[0].type)))
        reasons = {
            id: f"in no group any more; decided by {printable(one.by)}: {one.decision}"
            for one in reversed(self._account.followed)
            for id in one.ids
        }
        reasons |= dict(zip(listed["id"].to_pylist(), listed["reason"].to_pylist(), strict=True))
        rows = [(str(id), fate, brief(reasons.get(id, "in no group any more"), REASON)) for id, fate in first]
        return Some(rows, total)

    @property
    def followed(self) -> Some:
        """The actions with decisions that hold, the latest first: the decisions, the person, the time."""
        rows = [_row(some) for some in _by_action(self._account.followed)]
        return Some(rows[:FOLLOWED], len(rows))

    @property
    def followed_words(self) -> str:
        """The caption of that list."""
        account = self._account
        part = f", of the latest {number(len(account.followed))} of {counted(account.applied, 'decision')}"
        return f"Decisions, an action a row, the latest first{part * (len(account.followed) < account.applied)}"

    @property
    def not_applicable(self) -> Some:
        """The decisions that do not apply, each with the reason."""
        account = self._account
        groups = _by_action(account.listed)
        rows = [(*_row(some)[:3], brief(some[0].reason, REASON)) for some in groups[:FOLLOWED]]
        left = account.not_applicable - len(account.listed)  # not recorded: each is a row, as far as it is known
        return Some(rows, len(groups) + left)

    @property
    def tags(self) -> Some:
        """The documents with tags."""
        account = self._account
        rows: list[Row] = [(str(one.id), _tags(one.tags), "") for one in account.tags[:FOLLOWED]]
        return Some(rows, account.tagged)

    @property
    def tag_counts(self) -> str:
        """The tags with the numbers of their documents, as far as they are recorded; "" if some are not."""
        account = self._account
        if account.tagged > len(account.tags):
            return ""
        counts = Counter(tag for one in account.tags for tag in one.tags)
        return ", ".join(f"{brief(tag, _SHOWN)} {number(count)}" for tag, count in counts.most_common(_PEOPLE))

    @property
    def _result(self) -> str:
        return f"the review in {brief(printable(self._account.result), _SHOWN)}"


class TextReading:
    """Documents of a result, short ones read once. ``why`` is the first reason why one could not be read."""

    def __init__(self, result: Found) -> None:
        self._found = result
        self._words: dict[Id, str] = {}
        self._short: dict[Id, str] = {}
        self._failures = 0
        self.why = ""

    def words(self, id: Id) -> str:
        """Return the first words of a document, "" if it cannot be read."""
        if id not in self._words:
            self._words[id] = brief(self.text(id) or "", WORDS)
        return self._words[id]

    def kind(self, a: Id, b: Id) -> str:
        """Return the kind of the difference of two documents, "" if they are long or cannot be read."""
        texts = self.text(a), self.text(b)
        if texts[0] is None or texts[1] is None or max(map(len, filter(None, texts)), default=0) > SHORT:
            return ""
        return _kind(texts[0], texts[1])

    @property
    def gave_up(self) -> bool:
        """Whether no text is read any more, because too many could not be read."""
        return self._failures >= _FAILURES

    def text(self, id: Id) -> str | None:
        """Return the text of a document, None if it cannot be read."""
        if id in self._short or self.gave_up:
            return self._short.get(id)
        try:
            text = self._found.look(id).text
        except NeardupError as error:
            self._failures += 1
            self.why = self.why or brief(printable(error.given), 4 * WORDS)
            return None
        if len(text) <= SHORT:
            self._short[id] = text
        return text


def brief(text: object, most: int) -> str:
    """Return a text on one line, cut to ``most`` characters.

    >>> brief("the night  is\\ndark", 12)
    'the night i…'
    """
    words = " ".join(str(text)[: 8 * most].split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _kind(a: str, b: str) -> str:
    return kind_of(read(a), read(b)).name or ""


def _loss(row: LostMost) -> Loss:
    lost, shingles = row.lost_shingles, row.shingles or 0
    share = f"{number(lost)} of {counted(shingles, 'shingle')} ({percent(lost, shingles)})"
    return Loss(row.id, row.group, share, brief(row.lost_passage or "", PASSAGE))


def _by_action(decisions: Sequence[D]) -> list[list[D]]:
    """Return the decisions of each action, sort and reason not to apply, in their order."""
    groups: dict[object, list[D]] = {}
    for one in decisions:
        groups.setdefault((one.action, one.decision, getattr(one, "reason", "")), []).append(one)
    return list(groups.values())


def _row(decisions: Sequence[DecisionAccount]) -> tuple[str, str, str, str, int]:
    """Decisions of one action as cells: the first document, themselves, the person, the time, and the action."""
    decision, more = decisions[0], len(decisions) - 1
    first, *others = (str(id) for id in decision.ids)
    sort = decision.decision
    verb = f"represents the group of {first}" if sort == "represents" else sort
    if sort == "represents":
        first, others = others[0] if others else first, []
    documents = f"{verb} with {' and '.join(others)}" if others else verb
    documents += f", and {counted(more, 'more decision')} of this action" * (more > 0)
    time = brief(decision.at, _SHOWN)[:16].replace("T", " ")
    return first, brief(documents, REASON), brief(decision.by, _SHOWN), f"{time} UTC", decision.action


def _tags(tags: list[str]) -> str:
    return brief(", ".join(tags), REASON)
