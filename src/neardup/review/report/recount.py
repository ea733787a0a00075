"""A result counted again for its report: figures and rows, one row at a time, without the lists of the report.

Only the tables of the result, its manifest, and the log of decisions are read. The groups after decisions are
those that ``neardup apply`` makes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

from neardup.deduplication.results import COUNTS, MEASURED, SHINGLES, Shared, unit_of
from neardup.deduplication.texts import similarities
from neardup.display import counted, middle_cut, number, percent, printable, similarity, size, visible
from neardup.display.view import EMPTY, LONGEST_NAME
from neardup.io.decisions import NO_DECISIONS, DecisionState, Verdict, sort_key
from neardup.io.sources import read_manifest
from neardup.settings import LITERAL, MEASURES
from neardup.tables import column

if TYPE_CHECKING:
    from neardup.deduplication.results import Found, Id

Row: TypeAlias = dict[str, Any]
"""A row of a table of a result."""
GROUPS, DECISIONS = (
    "Groups as the run found them, by their representative",
    "Decisions, an action a row, the latest first",
)
"""Captions of tables of a report."""
NOTED, FOLLOWED, EXCEPTIONS, WAITING, FILES, LISTED, LEADING = 50, 50, 30, 200, 20, 10, 20
"""Most rows of the lists of notes, decisions, exceptions, undecided groups, files, pairs and large groups."""
NAMES, LONGEST, NAME, REASON = 10, 240, 200, 600
"""Most names in a cell, and characters of a cell, of a name in it, and of a reason."""


class Name(str):
    """A cell that begins with the name of a document; words of the document may follow."""


Cells: TypeAlias = list[str | None]
"""The words of a row, None for a cell that is not counted here; the first cell is a name."""


class CountedTable(NamedTuple):
    """A table counted again: the id of its section, its caption, the heads of its cells, and its rows."""

    section: str
    caption: str
    heads: Sequence[str]
    rows: list[Cells]


class CountedGroup(NamedTuple):
    """A group counted again: its members, exact copies and similarities, its pairs to judge, and the open ones."""

    id: Id
    size: int
    copies: list[Id]
    near: list[Row]
    pairs: int
    verdicts: Counter[str]
    head: Id
    open: list[Id]

    @property
    def similarities(self) -> list[float]:
        """The known similarities of the near copies."""
        return [row["similarity"] for row in self.near if row["similarity"] is not None]

    def extent(self, none: str = "unknown") -> str:
        """Return the lowest and the highest similarity; ``none`` without any."""
        if not (values := self.similarities):
            return none
        low, high = min(values), max(values)
        return similarity(low) if low == high else f"{similarity(low)} to {similarity(high)}"


class Recount:
    """A result counted again: the result of a ``run``, and ``after`` the decisions of a ``state`` about it."""

    def __init__(self, run: Found, after: Found, state: DecisionState) -> None:
        self.run, self.after, self.account, self.state = run, after, after.run, state
        self.judging, self.only_reviewed = run.run.decisions is None, after is not run
        self.documents = {row["id"]: row for row in run.ranks.to_pylist()}
        self.groups = self._groups(run, state if self.judging else NO_DECISIONS)
        self.groups_after = self._groups(after, NO_DECISIONS) if self.only_reviewed else self.groups
        self.verdicts = sum((group.verdicts for group in self.groups), Counter[str]())
        self.pairs = sum(group.pairs for group in self.groups)
        self._kinds = self._kinds_inside()

    def _groups(self, result: Found, state: DecisionState) -> list[CountedGroup]:
        members: dict[Id, list[Row]] = {}
        for row in result.groups.to_pylist():
            members.setdefault(row["group"], []).append(row)
        return [self._group(id, rows, state) for id, rows in members.items()]

    def _group(self, id: Id, rows: list[Row], state: DecisionState) -> CountedGroup:
        others = [row for row in rows if not row["representative"]]
        copies = [row["id"] for row in others if self._is_copy(row)]
        near = [row for row in others if not self._is_copy(row)]
        inside = [id, *(row["id"] for row in others)]
        chosen = state.represents.get(id, id)
        head = chosen if chosen in inside else id
        texts, pairs, verdicts, undecided = {self.documents[head]["identical"]}, 0, Counter[str](), []
        for member in inside:
            if self.documents[member]["identical"] not in texts:
                texts.add(self.documents[member]["identical"])
                pairs += 1
                if (judged := state.verdict(member, head)) is not None:
                    verdicts[judged.verdict] += 1
                else:
                    undecided.append(member)
        return CountedGroup(id, len(rows), copies, near, pairs, verdicts, head, undecided)

    def _is_copy(self, row: Mapping[str, Any]) -> bool:
        """Return whether a member has the words of its representative, or of an earlier document."""
        own, head = self.documents[row["id"]], self.documents[row["group"]]
        return bool(own["first"] == head["first"] or own["first"] != own["row"])

    def _kinds_inside(self) -> dict[Id, Counter[str]] | None:
        """Return the kinds of difference of the stored pairs inside each group; None if they are not stored."""
        if "kind" not in self.run.pairs.column_names:
            return None
        group_of = dict(zip(*(self.run.groups[name].to_pylist() for name in ("id", "group")), strict=True))
        kinds = {group.id: Counter[str]() for group in self.groups}
        for a, b, kind in zip(
            *(self.run.pairs[name].to_pylist() for name in ("id_a", "id_b", "kind")), strict=True
        ):
            if a in group_of and group_of.get(b) == group_of[a]:
                kinds[group_of[a]][kind or "not determined"] += 1
        return kinds

    def figures(self) -> dict[str, str]:
        """Return the figures that a report has, by their names."""
        run, settings = self.run, self.account.settings
        figures = {"read": self.account.counts.read, "pairs": run.pairs.num_rows, "length": settings["length"]}
        figures |= {self._name(name): value for name, value in self._outcome(self.after).items()}
        figures["exact copies"] = run.copies.num_rows
        if self.judging:
            figures |= {"to judge": self.pairs, "decided": self.verdicts.total()}
            figures |= {"undecided": self.pairs - self.verdicts.total()}
            figures |= {"open groups": sum(bool(group.open) for group in self.groups)}
        figures |= {name: value for name, value in self._conditional().items() if value}
        shown = {name: number(value) for name, value in figures.items()}
        shown["threshold"] = f"{float(settings['threshold']):g}"
        if self.account.regrouped_from is not None:
            shown["stored from"] = f"{self.account.regrouped_from.threshold:g}"
        return shown | self._digests() | self._before_and_after()

    def _name(self, name: str) -> str:
        return f"after {name}" if self.only_reviewed else name

    def _conditional(self) -> dict[str, int]:
        """Return the figures that a page has only if they are not 0."""
        figures = {"capped": self.account.counts.capped, "short": self.account.counts.short}
        figures["unsure"] = self.verdicts["unsure"]
        if "not_compared" in self.run.pairs.column_names:
            beside = (kinds.split(", ") for kinds in self.run.pairs["not_compared"].to_pylist() if kinds)
            figures |= {f"parts {kind}": n for kind, n in Counter(chain.from_iterable(beside)).items()}
        return figures

    def _outcome(self, result: Found) -> dict[str, int]:
        """Return the groups, near copies, removed and kept documents of a result."""
        rows = result.groups.to_pylist()
        near = sum(not row["representative"] and not self._is_copy(row) for row in rows)
        gone = sum(not row["kept"] for row in rows) + result.not_judged["kept"].to_pylist().count(False)
        figures = {"groups": sum(row["representative"] for row in rows), "near copies": near}
        return figures | {"removed": gone, "kept": result.run.counts.read - gone}

    def _removed_bytes(self, result: Found) -> int:
        gone = sum(self.documents[row["id"]]["bytes"] for row in result.groups.to_pylist() if not row["kept"])
        gone += sum(row["bytes"] or 0 for row in result.not_judged.to_pylist() if not row["kept"])
        return int(gone)

    def _before_and_after(self) -> dict[str, str]:
        """Return the figures before and after the decisions. An applied result has stored the first ones."""
        decisions = self.account.decisions
        if decisions is None or decisions.before is None or not decisions.last_action:
            return {}
        before = dict(decisions.before)
        if self.only_reviewed:
            before = {**self._outcome(self.run), "removed_text": self._removed_bytes(self.run)}
        removed_text = before.pop("removed_text", 0)
        shown = {f"before {name.replace('_', ' ')}": number(value) for name, value in before.items()}
        shown["before text removed"] = size(removed_text)
        return shown | {self._name("text removed"): size(self._removed_bytes(self.after))}

    def _digests(self) -> dict[str, str]:
        """Return the numbers and digests of the cover."""
        files, digests = self._files()
        shown = {}
        if files:
            shown = {"files": number(len(files)), "bytes of files": number(sum(one["size"] or 0 for one in files))}
            lines = (
                f"{digest}  {one['size'] or 0}  {one['name']}" for one, digest in zip(files, digests, strict=True)
            )
            shown["inputs"] = _digest(lines)
        listed = sorted(read_manifest(Path(self.run.folder or "")).files.items())
        return shown | {"result": _digest(f"{file.sha256}  {name}" for name, file in listed if file.sha256)}

    def _files(self) -> tuple[list[Row], list[str]]:
        """Return the rows of places.parquet, and the digests in hexadecimal digits."""
        run = self.run
        tables = {} if run.places is None else run.places.tables(column(run.ranks, "row"))
        files = tables["places"].to_pylist() if "places" in tables else []
        return files, [one["digest"].hex() if one["digest"] else "not recorded" for one in files]

    def tiles(self) -> dict[str, str]:
        """Return the words of the tiles by their labels, but for recall, and for lost text without a number."""
        run, account, outcome = self.run, self.account, self._outcome(self.after)
        done = account.action == "dedup" and account.regrouped_from is None and not self.only_reviewed
        parts = (
            percent(outcome["removed"], account.counts.read),
            percent(self._removed_bytes(self.after), account.bytes.text),
        )
        alike = [self.documents[id] for id in run.copies["id"].to_pylist()]
        identical = sum(one["identical"] != one["row"] for one in alike)
        words = f"{number(identical)} identical, {number(len(alike) - identical)} with the same words"
        tiles = {"documents read": f"{number(account.counts.read)} {size(account.bytes.text)}"}
        tiles["removed" if done else "to remove"] = (
            f"{number(outcome['removed'])} {parts[0]} of the documents, {parts[1]} of the text"
        )
        tiles |= {name: number(outcome[name]) for name in ("kept", "groups", "near copies")}
        least = f"at {self.measure} {float(account.settings['threshold']):g} or above"
        tiles |= {
            "pairs": f"{number(run.pairs.num_rows)} {least}",
            "exact copies": f"{number(len(alike))} {words}",
        }
        gone = [row for row in self.after.groups.to_pylist() if not row["kept"]]
        known = [row for row in gone if row["lost_shingles"] is not None]
        losing, lost = sum(row["lost_shingles"] > 0 for row in known), sum(row["lost_shingles"] for row in known)
        unknown = f"; unknown for {number(len(gone) - len(known))}" * (len(known) < len(gone))
        if losing or (known and unknown):
            share = percent(lost, sum(row["shingles"] or 0 for row in known))
            tiles["text lost"] = (
                f"{share} of the shingles of near copies; {counted(losing, 'document')} with a loss{unknown}"
            )
        if self.judging:
            of = f"of {counted(self.pairs, 'pair')} to judge"
            tiles["undecided"] = f"{number(self.pairs - self.verdicts.total())} {of}"
        return tiles

    def tables(self, most: int, appendix: bool) -> Iterator[CountedTable]:
        """Yield the tables of a report with at most this many groups; those without rows are not in it."""
        yield self._decided_not_to_apply()
        yield self._notes()
        heads = ["Kind", "Number", "Why", "Where"]
        rows = self._exceptions()[:EXCEPTIONS]
        yield CountedTable(
            "exceptions", "Rows and files that were not read or not compared, by reason", heads, rows
        )
        heads = ["Group", "Documents", "Exact copies", "Similarity", "Difference"]
        heads += ["Verdicts", "Undecided"] * self.judging
        yield CountedTable("groups", GROUPS, heads, [self._of_group(group) for group in self.groups[:most]])
        yield CountedTable("decisions", DECISIONS, ["Document", "Decision", "By", "When"], self._actions())
        if appendix:
            yield from self._of_appendix(min(most, LEADING))

    def _of_group(self, group: CountedGroup) -> Cells:
        kinds = None
        if self._kinds is not None:
            inside = sorted(self._kinds[group.id].items(), key=lambda kind: (-kind[1], kind[0]))
            kinds = ", ".join(f"{kind} {number(n)}" for kind, n in inside[:3])
        values = group.extent("exact copies" if len(group.copies) == group.size - 1 else "unknown")
        cells = [str(group.id), number(group.size), number(len(group.copies)), values, kinds]
        if self.judging:
            named = (f"{name} {number(n)}" for name in get_args(Verdict) if (n := group.verdicts[name]))
            cells += [", ".join(named), number(len(group.open))]
        return cells

    def _notes(self) -> CountedTable:
        rows: list[Cells] = [
            [str(member), str(group.head), _cut(printable(note))]
            for group in self.groups
            for member in group.open
            if self.judging and (note := self.state.note(member, group.head))
        ]
        heads = ["Document", "Representative", "Note"]
        return CountedTable("undecided", "Undecided pairs with a note", heads, rows[:NOTED])

    def _decided_not_to_apply(self) -> CountedTable:
        """Return the decisions that do not apply, as the account of the decisions has them."""
        listed = self.account.decisions.listed if self.account.decisions else []
        actions = _by(listed, lambda one: (one.action, one.decision, one.reason))
        rows: list[Cells] = [[*_action(some)[:3], _cut(some[0].reason)] for some in actions[:FOLLOWED]]
        heads = ["Document", "Decision", "By", "Why"]
        return CountedTable("undecided", "Decisions that do not apply", heads, rows)

    def _exceptions(self) -> list[Cells]:
        names: dict[tuple[str, str], list[str]] = {}
        for one in self.run.problems:
            row = f"{one.source}: {'the file' if one.row is None else f'row {number(one.row)}'}"
            reason = one.reason.removeprefix(f"cannot read {one.file}: ")
            names.setdefault((one.kind or "not read", _cut(reason.partition(" Allowed: ")[0])), []).append(
                one.file or row
            )
        for one in self.run.not_judged.to_pylist():
            if one["kind"] != "unreadable":
                reason = _cut(one["reason"].partition(" Allowed: ")[0])
                names.setdefault((one["kind"], reason), []).append(str(one["id"]))
        return [[kind, number(len(of)), reason, _list_of(of, NAMES)] for (kind, reason), of in names.items()]

    def _actions(self) -> list[Cells]:
        """Return a row for each action that holds."""
        return [
            [*_action(some)] for some in _by(self._in_force(), lambda one: (one.action, one.decision))[:FOLLOWED]
        ]

    def _in_force(self) -> list[Any]:
        """Return the first 1,000 decisions that hold, by the log if the report is one of the review itself."""
        decisions = self.account.decisions
        if decisions is None:
            return []
        followed: list[Any] = list(decisions.followed)
        if self.only_reviewed and decisions.not_applicable == len(decisions.listed):
            out = {(one.action, one.decision, tuple(one.ids)) for one in decisions.listed}
            followed = [
                one for one in self._log_entries() if (one.action, one.decision, tuple(one.ids)) not in out
            ]
        return followed[:1000]

    def deciders(self) -> str:
        """Return by whom the decisions that hold were made, and when; "" if they are too many for the account."""
        decisions, followed = self.account.decisions, self._in_force()
        people = sorted(Counter(one.by for one in followed).items(), key=lambda person: (-person[1], person[0]))
        if decisions is None or decisions.applied > len(followed) or len(people) > LISTED:
            return ""
        days = sorted({one.at[:10] for one in followed})
        names = ", ".join(f"{number(n)} by {_cut(printable(name), NAME)}" for name, n in people)
        return f"{names or 'nobody'}; {' to '.join(dict.fromkeys((days[0], days[-1]))) if days else 'no day'}"

    def _log_entries(self) -> list[LoggedDecision]:
        state = self.state
        pairs = state.judgements.items()
        logged = [LoggedDecision(one.action, one.verdict, pair, one.by, one.at) for pair, one in pairs]
        logged += [LoggedDecision(one.action, one.fate, (id,), one.by, one.at) for id, one in state.fates.items()]
        for id, one in state.choices.items():
            logged.append(LoggedDecision(one.action, "represents", (id, one.id), one.by, one.at))
        logged.sort(key=lambda one: (-one.action, one.decision, [sort_key(id) for id in one.ids]))
        return [one for one in logged if one.decision != "unsure"]

    def _of_appendix(self, most: int) -> Iterator[CountedTable]:
        files: list[Cells] = [
            [str(one["name"]), number(one["size"] or 0), digest, "reference" * bool(one["reference"])]
            for one, digest in zip(*self._files(), strict=True)
        ]
        caption = "Files, with the digest of their bytes (BLAKE2b, 128 bits) when they were read"
        yield CountedTable("run", caption, ["File", "Bytes", "Digest", "Part"], files[:FILES])
        if self.account.decisions:
            yield from self._of_decisions()
        if self.run.run.kinds:
            kinds = Counter(self.run.pairs["kind"].to_pylist())
            listed = sorted((kind for kind in self.run.run.kinds if kinds[kind]), key=lambda kind: -kinds[kind])
            rows: list[Cells] = [[kind, number(kinds[kind])] for kind in listed]
            yield CountedTable("similarities", "Kinds of difference", ["Kind", "Pairs"], rows)
        yield from self._of_pairs()
        heads = ["Group", "Documents", "Similarity"]
        largest = sorted(self.groups_after, key=lambda group: -group.size)[:most]
        rows = [[str(group.id), _with_copies(group), group.extent()] for group in largest]
        yield CountedTable("largest", "Groups by number of documents", heads, rows)
        lost = [row for row in self.after.groups.to_pylist() if not row["kept"] and row["lost_shingles"]]
        lost.sort(key=lambda row: -row["lost_shingles"])
        rows = [[str(row["id"]), Name(row["group"]), _loss(row)] for row in lost[:LISTED]]
        yield CountedTable("lost", "Documents ", ["Document", "Group of", "Lost"], rows)

    def _of_decisions(self) -> Iterator[CountedTable]:
        """Yield the documents that decisions keep or remove, the undecided pairs, and the documents with tags."""
        section = "changed"
        decisions = self.account.decisions
        assert decisions is not None
        if self.only_reviewed and self._before_and_after():
            rows = self._other_fates()[:FOLLOWED]
            caption = "Documents that the decisions keep or remove"
            yield CountedTable(section, caption, ["Document", "Fate", "Why"], rows)
        if self.judging:
            rows = [self._open_row(group) for group in self.groups if group.open][:WAITING]
            heads = ["Group", "Pairs", "To compare with it"]
            yield CountedTable(section, "Undecided pairs, by group", heads, rows)
        tags = {one.id: one.tags for one in decisions.tags}
        if self.only_reviewed:
            tags = {id: list(self.state.tags[id]) for id in sorted(self.state.tags, key=sort_key)}
        rows = [[str(id), _cut(", ".join(of))] for id, of in tags.items()]
        yield CountedTable(section, "Documents with tags", ["Document", "Tags"], rows[:FOLLOWED])

    def _other_fates(self) -> list[Cells]:
        """Return the documents with another fate than after the run; why is not counted where no row says it."""
        gone = [
            [row["id"] for row in result.groups.to_pylist() if not row["kept"]]
            for result in (self.run, self.after)
        ]
        reasons = {row["id"]: _cut(row["reason"]) for row in self.after.groups.to_pylist()}
        before, after = set(gone[0]), set(gone[1])
        rows: list[Cells] = [[str(id), "kept", reasons.get(id)] for id in gone[0] if id not in after]
        return rows + [[str(id), "removed", reasons.get(id)] for id in gone[1] if id not in before]

    def _open_row(self, group: CountedGroup) -> Cells:
        values = {row["id"]: row["similarity"] for row in group.near} if group.head == group.id else {}
        names = []
        for id in group.open[:LISTED]:
            value = values.get(id)
            names.append(_cut(printable(id), NAME) + (f" {similarity(value)}" if value is not None else ""))
        more = f", and {number(len(group.open) - LISTED)} more" if len(group.open) > LISTED else ""
        return [str(group.head), number(len(group.open)), _visible(", ".join(names) + more)]

    def _of_pairs(self) -> Iterator[CountedTable]:
        """Yield the lists of pairs: the least similar, those between groups, below the threshold, and missed."""
        pairs, values = self.after.pairs.to_pylist(), similarities(self.after, self.after.pairs).tolist()
        group_of = {row["id"]: row["group"] for row in self.after.groups.to_pylist()}
        lowest = sorted(range(len(pairs)), key=values.__getitem__)
        apart = [
            place
            for place in sorted(range(len(pairs)), key=lambda place: -values[place])
            if group_of.get(pairs[place]["id_a"], pairs) != group_of.get(pairs[place]["id_b"])
        ]
        heads = ["A", "B", "Similarity", "Why"]
        for section, caption, places in (
            ("closest", "At or just above the threshold", lowest),
            ("chains", "Pairs that are not in one group, the most similar first", apart),
        ):
            rows = [
                self._of_pair(pairs[place], values[place], _place_of(pairs[place], group_of))
                for place in places[:LISTED]
            ]
            yield CountedTable(section, caption, heads, rows)
        least = self.account.settings["threshold"]
        below = [
            row
            for row in self.after.groups.to_pylist()
            if row["similarity"] is not None and row["similarity"] < least
        ]
        below.sort(key=lambda row: row["similarity"])
        why = "joined by a chain of pairs"
        rows = [
            [str(row["id"]), Name(row["group"]), f"{self.measure} {similarity(row['similarity'])}, {why}"]
            for row in below[:LISTED]
        ]
        heads = ["Document", "Representative", "Why"]
        yield CountedTable("closest", "Members below the threshold, with their representative", heads, rows)
        if self.after.missed is not None:
            missed, values = self.after.missed.to_pylist(), similarities(self.after, self.after.missed).tolist()
            places = sorted(range(len(missed)), key=lambda place: -values[place])[:LISTED]
            rows = [self._of_pair(missed[place], values[place], "found by the audit only") for place in places]
            heads = ["A", "B", "Similarity", "Why"]
            yield CountedTable("missed", "Pairs that the audit found, and the run did not", heads, rows)

    @property
    def measure(self) -> str:
        """The measure in words."""
        settings = self.account.settings
        return MEASURES[settings["measure"]].in_words(settings.get("matching", LITERAL))

    def extent(self, group: CountedGroup) -> str:
        """Return the size of a group and its similarities in words."""
        values = f", {self.measure} {group.extent()}" if group.similarities else ""
        return f"{counted(group.size, 'document')}{values}"

    def members_of(self, group: CountedGroup) -> list[tuple[str, str]]:
        """Return the names of the near copies of a group, the least similar first, with fates and reasons."""
        rows = sorted(group.near, key=lambda row: 2.0 if row["similarity"] is None else row["similarity"])
        fates = {True: "kept", False: "removed"}
        return [
            (shown_name(row["id"]), f"{_cut('A ' + fates[row['kept']] + ': ' + row['reason'], REASON)}.")
            for row in rows
        ]

    def _of_pair(self, row: Row, value: float, where: str) -> Cells:
        names, unit = (MEASURED, unit_of(self.account.settings)) if "common" in row else (COUNTS, SHINGLES)
        counts = Shared(row[names[0]], row[names[1]], row[names[2]], unit)
        return [str(row["id_a"]), Name(row["id_b"]), similarity(value), f"{where}; {counts}"]


class LoggedDecision(NamedTuple):
    """A decision that holds: its action, itself in words, its documents, by whom and when."""

    action: int
    decision: str
    ids: Sequence[Id]
    by: str
    at: str


def _place_of(pair: Row, group_of: Mapping[Id, Id]) -> str:
    """Return where the two documents of a pair are, in words."""
    a, b = group_of.get(pair["id_a"]), group_of.get(pair["id_b"])
    if a is None and b is None:
        return "neither is in a group"
    if a is None or b is None:
        return "A is not in a group" if a is None else "B is not in a group"
    return "in one group" if a == b else "in two groups"


def _action(decisions: Sequence[Any]) -> list[str]:
    """Return the cells of the decisions of an action: the first document, the decision, by whom, and when."""
    one, more = decisions[0], len(decisions) - 1
    first, *others = map(str, one.ids)
    words = one.decision
    if words == "represents":
        words, first, others = f"represents the group of {first}", *(others or [first])[:1], []
    words += f" with {' and '.join(others)}" if others else ""
    words += f", and {counted(more, 'more decision')} of this action" if more else ""
    time = _cut(one.at, NAME)[:16].replace("T", " ")
    return [first, _cut(words), _cut(one.by, NAME), f"{time} UTC"]


def _by(items: Iterable[Any], key: Callable[[Any], object]) -> list[list[Any]]:
    """Return items with the same key together, in the order of the first ones."""
    groups: dict[object, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _with_copies(group: CountedGroup) -> str:
    copies = counted(len(group.copies), "exact copy", "exact copies")
    return f"{number(group.size)} {copies}" if group.copies else number(group.size)


def _loss(row: Row) -> str:
    lost, whole = row["lost_shingles"], row["shingles"] or 0
    return f"{number(lost)} of {counted(whole, 'shingle')} ({percent(lost, whole)})"


def _list_of(names: Sequence[str], most: int) -> str:
    more = f", and {number(len(names) - most)} more" if len(names) > most else ""
    return _visible(", ".join(_cut(printable(name), NAME) for name in names[:most]) + more)


def _cut(text: object, most: int = LONGEST) -> str:
    """Return a text on one line as a page shows it, cut to ``most`` characters."""
    words = " ".join(str(text)[: 8 * most].split())
    return _visible(words if len(words) <= most else f"{words[: most - 1]}…")


def _visible(text: str) -> str:
    return " ".join(visible(text).split())


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def shown_name(id: object) -> str:
    """Return the name of a document as a page shows it, on one line; a long one lacks its middle."""
    return " ".join(printable(middle_cut(str(id), LONGEST_NAME) or EMPTY).split())
