"""A source of reviews in memory: groups of a few texts, and decisions in a list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from neardup.comparison import compare as comparing
from neardup.errors import ChangedMeanwhileError, InputError, QueryError
from neardup.io.decisions.records import Action, Fate, Verdict
from neardup.review.source import (
    Acted,
    Decide,
    GroupLine,
    GroupList,
    GroupView,
    Key,
    KindCounts,
    KindSample,
    MemberItem,
    MemberLine,
    OutsideLine,
    PairLine,
    PairList,
    PairView,
    Panes,
    Question,
    Queue,
    Quoted,
    QuotesView,
    Quoting,
    Reviewed,
    ThresholdLine,
    ThresholdView,
)
from neardup.text.intervals import wilson

Pair = tuple[Key, Key]


@dataclass
class _State:
    verdicts: dict[Pair, tuple[Verdict, str]] = field(default_factory=dict)
    fates: dict[Key, Fate] = field(default_factory=dict)
    tags: set[tuple[Key, str]] = field(default_factory=set)
    first: dict[Key, Key] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(dict(self.verdicts), dict(self.fates), set(self.tags), dict(self.first))


class MadeReview:
    """Groups of texts by id; the first of each represents it. Keys are numbers from 0, in order."""

    def __init__(self, groups: Sequence[dict[str, str]]) -> None:
        self.ids = [id for group in groups for id in group]
        self.texts = [text for group in groups for text in group.values()]
        numbers = iter(range(len(self.ids)))
        self.groups_of = [[next(numbers) for _ in group] for group in groups]
        self.state, self.actions, self._before = _State(), list[Action](), dict[int, _State]()
        self.meanwhile: str | None = None
        self._compared: dict[Any, comparing.Comparison] = {}

    def about(self) -> Reviewed:
        facts = (("Documents", str(len(self.ids))), ("Groups", str(len(self.groups_of))))
        names = ("size", "decided", "kind")
        return Reviewed("made", "resemblance", 0.5, True, len(self.groups_of), len(self.ids), facts, names)

    def groups(self, question: Question) -> GroupList:
        if "(" in question.filter:
            raise QueryError("A bracket is open", "A bracket for each", query=question.filter, position=0)
        keys = [members[0] for members in self.groups_of]
        if question.filter == "decided:no":
            keys = [key for key in keys if self._undecided(self._members(key))]
        elif question.filter:
            keys = [k for k in keys if any(question.filter in self.texts[m] for m in self._members(k))]
        begin = int(question.after or 0)
        page = keys[begin : begin + question.limit]
        more = begin + question.limit < len(keys)
        return GroupList(
            tuple(map(self._line, page)),
            len(keys),
            str(begin + question.limit) if more else "",
            question.filter,
        )

    def _line(self, key: Key) -> GroupLine:
        members = self._members(key)
        values = [self.similarity(member, members[0]) for member in members[1:]]
        kinds = ", ".join(sorted({self.compared(member, members[0]).difference for member in members[1:]}))
        decided = len(members) - 1 - len(self._undecided(members))
        stake = sum(len(self.texts[member]) for member in members[1:])
        first = members[0]
        return GroupLine(
            key, self.ids[first], self.texts[first][:80], len(members), 0, min(values, default=None),
            max(values, default=None), kinds, stake, decided, len(members) - 1,
        )  # fmt: skip

    def group(self, key: Key, question: Question | None = None) -> GroupView:
        members = self._members(key)
        keys = [each[0] for each in self.groups_of]
        at = keys.index(key)
        lines = tuple(self._member(member, members[0]) for member in members)
        table = tuple(tuple(self.similarity(a, b) for b in members) for a in members) if len(members) <= 30 else ()
        outside: tuple[OutsideLine, ...] = ()
        if len(keys) > 1:
            other = keys[at - 1]
            outside = (
                OutsideLine(other, self.ids[other], self.texts[other][:80], 0.4, key, self.ids[key], other),
            )
        weakest = f"The weakest link is {self.ids[members[-1]]}." if len(members) > 2 else ""
        before, after = (keys[at - 1] if at else None), (keys[at + 1] if at + 1 < len(keys) else None)
        return GroupView(key, self.ids[key], lines, outside, table, weakest, before, after, len(self.actions))

    def _member(self, member: Key, first: Key) -> MemberLine:
        found = self.compared(member, first).measures
        verdict, note = self.state.verdicts.get(pair_of(member, first), (None, ""))
        is_first = member == first
        return MemberLine(
            member, self.ids[member], self.texts[member][:80], len(self.texts[member]), is_first, False,
            None if is_first else found["resemblance"], None if is_first else found["containment_a"],
            None if is_first else found["containment_b"],
            "" if is_first else self.compared(member, first).kind or "", is_first,
            "represents the others" if is_first else f"near copy of {self.ids[first]}",
            "" if is_first else "3 of its 20 shingles are lost.", f"made#{member}", (("date", "2026-01-01"),),
            verdict, self.state.fates.get(member),
            tuple(sorted(tag for key, tag in self.state.tags if key == member)), note,
        )  # fmt: skip

    def in_time(self, a: Key, b: Key) -> tuple[Key, Key]:
        return a, b

    def pair(self, a: Key, b: Key, queue: Queue | None = None, **how: Any) -> PairView:
        verdict, note = self.state.verdicts.get(pair_of(a, b), (None, ""))
        pairs = [(line.a, line.b) for line in self._queue(queue)] if queue else self._pairs(self._group_of(a))
        at = next((n for n, pair in enumerate(pairs) if set(pair) == {a, b}), None)
        group = self._group_of(a)
        return PairView(
            self._member(a, group), self._member(b, group), group, self.compared(a, b, **how), verdict, note,
            pairs[at - 1] if at else None, pairs[at + 1] if at is not None and at + 1 < len(pairs) else None,
            "" if at is None else f"pair {at + 1} of {len(pairs)}", len(self.actions),
        )  # fmt: skip

    def queue(self, queue: Queue, after: str = "", limit: int = 50) -> PairList:
        lines, begin = self._queue(queue), int(after or 0)
        more = begin + limit < len(lines)
        return PairList(tuple(lines[begin : begin + limit]), len(lines), str(begin + limit) if more else "")

    def _queue(self, queue: Queue | None) -> list[PairLine]:
        if queue in ("missed", "outside", "tags"):
            return []
        lines = [self._pair_line(*pair) for members in self.groups_of for pair in self._pairs(members[0])]
        return [line for line in lines if line.verdict is None] if queue == "undecided" else lines

    def threshold(self, value: float | None = None) -> ThresholdView:
        pairs = [pair for members in self.groups_of for pair in self._pairs(members[0])]
        edges = tuple(n / 10 for n in range(11))
        values = [self.similarity(*pair) for pair in pairs]
        counts = tuple(sum(edge <= each < edge + 0.1 for each in values) for edge in edges[:-1])
        lines = tuple(
            ThresholdLine(edge, *(sum(each >= edge for each in values),) * 3) for edge in (0.5, 0.6, 0.7, 0.8, 0.9)
        )
        around = tuple(self._pair_line(*pair) for pair in pairs[:10])
        verdicts = [line.verdict for line in around if line.verdict not in (None, "unsure")]
        alike = sum(verdict != "not alike" for verdict in verdicts)
        precision = None
        if verdicts:
            found = wilson(alike / len(verdicts), len(verdicts))
            precision = found.value, found.low, found.high
        return ThresholdView(edges, counts, lines, len(verdicts), alike, precision, around)

    def quotes(self, key: Key, length: int) -> QuotesView:
        others = tuple(Quoting(each, self.ids[each], "2026-11-22", "later") for each in (key + 1, None) if each)
        return QuotesView((Quoted(length, self._text(key), others),), length, 2 * length, 1, "compared with one")

    def panes(self, key: Key, question: Question) -> Panes:
        members = self._members(key)
        items = tuple(
            MemberItem(each, self.ids[each], "", None, each == members[0], self._verdict((each, members[0])))
            for each in members
        )
        return Panes(key, members[0], self.groups(question).lines, len(self.groups_of), items, "")

    def next_undecided(self, pair: Pair, question: Question, queue: Queue | None) -> Pair | None:
        left = [each for each in self._pairs(self._group_of(pair[0])) if not self._verdict(each)]
        return left[0] if left else None

    def kinds(self, filter: str = "") -> KindCounts:
        counts = {kind: len(self._of_kind(kind)) for kind in ("numbers only", "wording")}
        return KindCounts(tuple((kind, count, count) for kind, count in counts.items() if count))

    def sample_of_kind(self, kind: str, filter: str = "") -> KindSample:
        pairs = self._of_kind(kind)
        return KindSample(kind, len(pairs), tuple(self._pair_line(*pair) for pair in pairs[:20]))

    def decide(self, decision: Decide) -> Acted:
        pairs = self._asked(decision)
        what = f"{decision.verdict or 'withdrawn'} for {len(pairs)} pairs"
        action = self._act(decision.by, what, decision.seen, len(pairs))
        for pair in pairs:
            self.state.verdicts.pop(pair_of(*pair), None)
            if decision.verdict:
                self.state.verdicts[pair_of(*pair)] = decision.verdict, decision.note
        following = None
        if decision.asked == "pair" and decision.pair:
            left = [pair for pair in self._pairs(self._group_of(decision.pair[0])) if not self._verdict(pair)]
            following = left[0] if left else None
        return Acted(action, following)

    def _asked(self, decision: Decide) -> list[Pair]:
        if decision.asked == "pair":
            assert decision.pair
            return [decision.pair]
        if decision.asked == "kind":
            return self._of_kind(decision.kind)
        assert decision.group is not None
        pairs = self._pairs(decision.group)
        if decision.asked == "group":
            return pairs
        if decision.asked == "members":
            return [pair for pair in pairs if pair[0] in decision.members]
        assert decision.above is not None
        return [pair for pair in pairs if self.similarity(*pair) >= decision.above]

    def represent(self, group: Key, document: Key, by: str, seen: int) -> Acted:
        action = self._act(by, f"{self.ids[document]} represents its group", seen)
        self.state.first[group] = document
        return Acted(action)

    def keep(self, document: Key, fate: Fate | None, by: str, seen: int) -> Acted:
        action = self._act(by, f"{self.ids[document]}: {fate or 'fate withdrawn'}", seen)
        self.state.fates.pop(document, None)
        if fate:
            self.state.fates[document] = fate
        return Acted(action)

    def tag(self, document: Key, tag: str, on: bool, by: str, seen: int) -> Acted:
        action = self._act(by, f"{self.ids[document]} tagged {tag}", seen)
        (self.state.tags.add if on else self.state.tags.discard)((document, tag))
        return Acted(action)

    def tag_group(self, group: Key, tag: str, on: bool, by: str, seen: int) -> Acted:
        action = self._act(by, f"group of {self.ids[group]} tagged {tag}", seen)
        members = {(document, tag) for document in self._members(group)}
        self.state.tags = self.state.tags | members if on else self.state.tags - members
        return Acted(action)

    def undo(self, by: str, action: int | None = None) -> Acted | None:
        able = [each for each in self.actions if each.undoes is None and each.undone_by is None]
        chosen = [each for each in able if (each.number == action if action else each.by == by)]
        if not chosen:
            return None
        last = chosen[-1]
        self.state = self._before[last.number].copy()
        self._act(by, f"undid {last.what}", len(self.actions), last.changes)
        self.actions[-1] = replace(self.actions[-1], undoes=last.number)
        self.actions[last.number - 1] = replace(last, undone_by=len(self.actions))
        return Acted(self.actions[-1])

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        actions = [each for each in reversed(self.actions) if before is None or each.number < before]
        return tuple(actions[:limit])

    def export(
        self, what: Literal["groups", "decisions", "tags"], form: str, *, every: bool = False
    ) -> Iterator[bytes]:
        yield f"{'all ' * every}{what} as {form}\n".encode()
        for (a, b), (verdict, _) in self.state.verdicts.items():
            yield json.dumps([self.ids[a], self.ids[b], verdict]).encode() + b"\n"

    def compared(self, a: Key, b: Key, **how: Any) -> comparing.Comparison:
        key = a, b, tuple(how)
        if key not in self._compared:
            self._compared[key] = comparing.compare(self._text(a), self._text(b), length=3, **how)
        return self._compared[key]

    def similarity(self, a: Key, b: Key) -> float:
        return float(self.compared(a, b).measures["resemblance"])

    def _act(self, by: str, what: str, seen: int, changes: int = 1) -> Action:
        if self.meanwhile and seen <= len(self.actions):
            raise ChangedMeanwhileError(
                f"{self.meanwhile} decided about these documents at 2026-11-22 10:00", "", "Look again"
            )
        action = Action(len(self.actions) + 1, "2026-11-22T10:00:00+00:00", by, what, changes)
        self._before[action.number] = self.state.copy()
        self.actions.append(action)
        return action

    def _text(self, key: Key) -> str:
        if not 0 <= key < len(self.texts):
            raise InputError(f"There is no document {key}")
        return self.texts[key]

    def _members(self, group: Key) -> list[Key]:
        found = [members for members in self.groups_of if members[0] == group]
        if not found:
            raise InputError(f"There is no group {group}", "", "Look at the list of groups")
        first = self.state.first.get(group, group)
        return sorted(found[0], key=lambda member: member != first)

    def _group_of(self, key: Key) -> Key:
        self._text(key)
        return next(members[0] for members in self.groups_of if key in members)

    def _pairs(self, group: Key) -> list[Pair]:
        first, *others = self._members(group)
        return [(member, first) for member in others]

    def _of_kind(self, kind: str) -> list[Pair]:
        pairs = [pair for members in self.groups_of for pair in self._pairs(members[0])]
        return [pair for pair in pairs if self.compared(*pair).kind == kind]

    def _verdict(self, pair: Pair) -> Verdict | None:
        return self.state.verdicts.get(pair_of(*pair), (None, ""))[0]

    def _undecided(self, members: list[Key]) -> list[Pair]:
        return [(member, members[0]) for member in members[1:] if not self._verdict((member, members[0]))]

    def _pair_line(self, a: Key, b: Key) -> PairLine:
        words = self.texts[a][:80], self.texts[b][:80]
        found, verdict = self.compared(a, b), self._verdict((a, b))
        return PairLine(
            a, b, self.ids[a], self.ids[b], words, self.similarity(a, b), found.kind or "", verdict, "near"
        )


def pair_of(a: Key, b: Key) -> Pair:
    return min(a, b), max(a, b)
