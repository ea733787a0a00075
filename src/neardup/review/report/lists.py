"""The lists of a report: groups, pairs, losses, problems and decisions, each with the number of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.comparison.kinds.rules import kind_of
from neardup.deduplication.results import (
    COLUMNS,
    COUNTS,
    MEASURED,
    SHINGLES,
    DecisionAccount,
    DecisionsAccount,
    LostMost,
    Shared,
    unit_of,
)
from neardup.deduplication.reviews import later_action, review_in
from neardup.deduplication.texts import similarities
from neardup.display import Extent, counted, number, percent, printable, similarity, size
from neardup.errors import NeardupError
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.verdicts import VerdictIndex
from neardup.review.source import GroupLine, PairLine, known_number
from neardup.tables import Int64s, column
from neardup.text.units import read

if TYPE_CHECKING:
    from neardup.deduplication.results import Found, Id
    from neardup.review.report.figures import GroupFigures, PairFigures

LISTED = 10
"""Lines of the lists of pairs, losses and problems."""
FILES = 20
"""Lines of the list of files."""
FOLLOWED = 50
"""Lines of the lists of decisions and tags."""
UNDECIDED, MEMBERS = 200, 10
"""Groups in the list of undecided pairs, and pairs of each."""
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

D = TypeVar("D", bound=DecisionAccount)


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


class GroupLists:
    """Lines of groups; ``most`` is the length of a list."""

    def __init__(
        self, result: Found, groups: GroupFigures, pairs: PairFigures, reading: TextReading, most: int
    ) -> None:
        self._found, self._groups, self._pairs, self._reading = result, groups, pairs, reading
        self.stake = self._some(groups.by_stake(most), int((groups.stake > 0).sum()))
        self.largest = self._some(groups.by_size(most), len(groups))

    def _some(self, chosen: Int64s, total: int) -> Some:
        return Some([self._line(group) for group in chosen.tolist()], total)

    def _line(self, group: int) -> GroupLine:
        groups = self._groups
        id, size, exact = groups.heads[group].as_py(), int(groups.size[group]), int(groups.exact[group])
        return GroupLine(
            key=group,
            id=id,
            words=self._reading.words(id),
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


def files_read(result: Found) -> Some:
    """The files of the input with their sizes and digests, as the result records them."""
    tables = {} if result.places is None else result.places.tables(column(result.ranks, "row"))
    if "places" not in tables:
        return Some((), 0)
    files = tables["places"].select(["name", "size", "digest", "reference"])
    rows = [
        (str(one["name"]), number(one["size"] or 0), _digest(one["digest"]), "reference" * bool(one["reference"]))
        for one in files.slice(0, FILES).to_pylist()
    ]
    return Some(rows, files.num_rows)


def _digest(value: bytes | str | None) -> str:
    return "not recorded" if not value else value.hex() if isinstance(value, bytes) else value


def losses(result: Found) -> Some:
    """Return the removed documents that lose most text."""
    lost = result.run.lost
    return Some([_loss(one) for one in lost.most[:LISTED]], lost.losing)


def problems(result: Found) -> Some:
    """Return rows and files that could not be read: the place and the reason."""
    rows: list[Row] = []
    for problem in islice(result.problems, LISTED):
        place = problem.file or (f"row {number(problem.row)}" if problem.row is not None else "the file")
        where = problem.source if place == problem.source else f"{problem.source}: {place}"
        rows.append((brief(where, REASON), brief(problem.reason, REASON), ""))
    return Some(rows, len(result.problems))


def not_judged(result: Found) -> Some:
    """Return documents that were not compared: the id, the kind, and the reason."""
    listed = result.not_judged.slice(0, LISTED).to_pylist()
    rows = [(str(row["id"]), brief(row["kind"], REASON), brief(row["reason"], REASON)) for row in listed]
    return Some(rows, result.not_judged.num_rows)


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
        self.judged, self.undecided = (None, Some((), 0)) if not self.only_reviewed else _judged_pairs(run)

    @property
    def number(self) -> str:
        """The number of decisions, and the last action that they include."""
        account = self._account
        last = f", up to action {number(account.last_action)}" if account.last_action else ""
        return f"{counted(account.applied, 'decision')}{last}"

    @property
    def lead(self) -> str:
        """Their number, by whom they were made, and the last action that they include."""
        account = self._account
        people = sorted(account.by.items(), key=lambda person: (-person[1], person[0]))
        if not account.last_action:
            return f"This result was made from {self._result}, about which nobody had decided."
        listed = [f"{number(count)} by {brief(printable(name), _SHOWN)}" for name, count in people]
        if len(listed) > _PEOPLE:
            listed[_PEOPLE:] = [f"the others by {counted(len(listed) - _PEOPLE, 'other person', 'other people')}"]
        by = f": {', '.join(listed)}" if listed else ""
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


def _judged_pairs(run: Found) -> tuple[Extent | None, Some]:
    """Return how many pairs of a result in a folder its reviewers have judged, and the others, by group.

    None for other results.
    """
    if run.folder is None:
        return None, Some((), 0)
    index = ResultIndex(run)
    verdicts = VerdictIndex(index)
    verdicts.apply(review_in(run.ranks, run.folder).state)
    done, pairs = int(verdicts.count.sum()), int(verdicts.pairs.sum())
    waiting = np.flatnonzero(verdicts.open)
    rows = [_undecided_row(index, verdicts, group) for group in waiting[:UNDECIDED].tolist()]
    return Extent("pair", done, skipped=pairs - done), Some(rows, len(waiting))


def _undecided_row(index: ResultIndex, verdicts: VerdictIndex, group: int) -> Row:
    """The pairs of a group without a verdict: its representative, their number, the other documents and notes."""
    inside, id = index.slice(group), index.documents.id
    head = id(int(verdicts.heads[group]))
    places = inside.start + np.flatnonzero(verdicts.near[inside] & (verdicts.verdict[inside] < 0))
    others = []
    for place in places[:MEMBERS].tolist():
        member, value = id(int(index.members[place])), float(index.similarity[place])
        same_head = verdicts.heads[group] == index.heads[group]
        note = verdicts.state.note(member, head)
        others.append(
            brief(printable(member), _SHOWN)
            + f" {similarity(value)}" * bool(same_head and not np.isnan(value))
            + f" (note: {brief(printable(note), REASON)})" * bool(note)
        )
    more = f", and {number(len(places) - MEMBERS)} more" if len(places) > MEMBERS else ""
    return str(head), number(len(places)), ", ".join(others) + more


def _by_action(decisions: Sequence[D]) -> list[list[D]]:
    """Return the decisions of each action, sort and reason not to apply, in their order."""
    groups: dict[object, list[D]] = {}
    for one in decisions:
        groups.setdefault((one.action, one.decision, getattr(one, "reason", "")), []).append(one)
    return list(groups.values())


def _row(decisions: Sequence[DecisionAccount]) -> tuple[str, str, str, str]:
    """Decisions of one action in the cells of a table: the first document, themselves, the person, the time."""
    decision, more = decisions[0], len(decisions) - 1
    first, *others = (str(id) for id in decision.ids)
    sort = decision.decision
    verb = f"represents the group of {first}" if sort == "represents" else sort
    if sort == "represents":
        first, others = others[0] if others else first, []
    documents = f"{verb} with {' and '.join(others)}" if others else verb
    documents += f", and {counted(more, 'more decision')} of this action" * (more > 0)
    time = brief(decision.at, _SHOWN)[:16].replace("T", " ")
    return first, brief(documents, REASON), brief(decision.by, _SHOWN), f"{time} UTC"


def _tags(tags: list[str]) -> str:
    return brief(", ".join(tags), REASON)
