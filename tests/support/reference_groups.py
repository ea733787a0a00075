"""The rules of groups on arrival in plain Python: sets of shingles, every group formed anew after every change."""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from neardup.collection import Change
from neardup.io.decisions.records import TOGETHER
from support import reference

Near = tuple[str, str, Fraction, str]
"""A new document, what it repeats, the resemblance, what was done with it."""


def resemblance(a: Sized[object], b: Sized[object]) -> Fraction:
    one, other = set(a), set(b)  # type: ignore[call-overload]
    return Fraction(len(one & other), len(one | other)) if one | other else Fraction(0)


@dataclass
class Naive:
    """Documents by id in the order in which they were first added, groups by id, decisions by pair."""

    length: int
    sets: dict[str, frozenset[object]] = field(default_factory=dict)
    groups: dict[int, tuple[str, set[str], Fraction]] = field(default_factory=dict)
    decisions: dict[frozenset[str], str] = field(default_factory=dict)
    given: int = 0
    base: frozenset[object] = frozenset()

    def shingles(self, text: str) -> frozenset[object]:
        return frozenset(reference.shingle_set(text, self.length, "word")) - self.base

    def near(self, one: frozenset[object], threshold: Fraction, but: str) -> list[str]:
        """The documents that resemble a set, the most similar first, of equal ones the earliest."""
        found = {id: resemblance(one, other) for id, other in self.sets.items() if id != but}
        return sorted((id for id in found if found[id] >= threshold), key=lambda id: -found[id])

    def add(self, texts: Mapping[str, str], threshold: Fraction, on_near: str) -> list[Near]:
        """First all documents come, then the groups of the replaced ones are formed, then the others linked."""
        told: list[tuple[str, list[str], Fraction]] = []
        replaced = []
        for id, text in texts.items():
            one = self.shingles(text)
            repeated = self.near(one, threshold, id)
            if repeated:
                told.append((id, repeated, resemblance(one, self.sets[repeated[0]])))
            if not (repeated and on_near == "reject"):
                replaced += [id] * (id in self.sets)
                self.sets[id] = one
        for group in sorted({group for id in replaced if (group := self.group_of(id))}):
            self.form([group], [], Fraction(4, 5))
        said = []
        for id, repeated, similarity in told:
            done = "rejected" if on_near == "reject" else "kept"
            if on_near == "link" and self.link(id, repeated, threshold):
                done = "linked"
            said.append((id, repeated[0], similarity, done))
        return said

    def link(self, id: str, repeated: Iterable[str], threshold: Fraction) -> bool:
        if self.group_of(id):
            return True
        for other in repeated:
            group = self.group_of(other)
            if group is None:
                if not self.is_different(id, other) and resemblance(self.sets[id], self.sets[other]) >= threshold:
                    self.given += 1
                    self.groups[self.given] = (other, {id, other}, threshold)
                    return True
                continue
            head, members, least = self.groups[group]
            enough = resemblance(self.sets[id], self.sets[head]) >= least
            if enough and not any(self.is_different(id, member) for member in members):
                members.add(id)
                return True
        return False

    def remove(self, ids: Sequence[str]) -> None:
        groups = sorted({group for id in ids if (group := self.group_of(id))})
        self.decisions = {pair: said for pair, said in self.decisions.items() if not pair & set(ids)}
        for id in ids:
            del self.sets[id]
        for group in groups:
            self.form([group], [], Fraction(4, 5))

    def contradicts(self, a: str, b: str, verdict: str) -> bool:
        others = {pair: said for pair, said in self.decisions.items() if pair != {a, b}}
        if verdict == "unsure":
            return False
        same = together(others)
        if verdict == "not alike":
            return b in bundle(a, same)
        return any(
            verdict == "not alike" and one in bundle(a, same) and pair - {one} <= bundle(b, same)
            for pair, verdict in others.items()
            for one in pair
        )

    def decide(self, a: str, b: str, verdict: str) -> None:
        was = self.decisions.get(frozenset((a, b)))
        self.decisions[frozenset((a, b))] = verdict
        groups = sorted({group for id in (a, b) if (group := self.group_of(id))})
        if verdict in TOGETHER:
            self.form(groups, [a, b], Fraction(4, 5))
        elif (
            len(groups) == 1 and self.group_of(a) == self.group_of(b) and (verdict != "unsure" or was in TOGETHER)
        ):
            self.form(groups, [], Fraction(4, 5))

    def undecide(self, a: str, b: str) -> None:
        verdict = self.decisions.pop(frozenset((a, b)), None)
        group = self.group_of(a)
        if verdict in TOGETHER and group:
            self.form([group], [], Fraction(4, 5))

    def form(self, groups: Sequence[int], more: Iterable[str], threshold: Fraction) -> None:
        old = {group: self.groups.pop(group) for group in groups}
        was = {id: group for group, (_, members, _) in old.items() for id in members}
        age = list(self.sets)
        pool = [id for id in age if id in was or id in set(more)]
        heads = [old[group][0] for group in sorted(old) if old[group][0] in self.sets]
        left = heads + [id for id in pool if id not in heads]
        same = together(self.decisions)
        while left:
            leader = left[0]
            least = old[was[leader]][2] if leader in was else threshold
            inside = set(bundle(leader, same))
            for id in left:
                whole = bundle(id, same)
                near = any(resemblance(self.sets[leader], self.sets[one]) >= least for one in whole)
                if near and not any(self.is_different(one, other) for one in whole for other in inside):
                    inside |= whole
            if len(inside) > 1:
                group = was.get(leader, 0)
                if not group or group in self.groups:
                    self.given += 1
                    group = self.given
                self.groups[group] = (leader, inside, least)
            left = [id for id in left if id not in inside]

    def group_of(self, id: str) -> int | None:
        return next((group for group, (_, members, _) in self.groups.items() if id in members), None)

    def is_different(self, a: str, b: str) -> bool:
        return self.decisions.get(frozenset((a, b))) == "not alike"


def together(decisions: Mapping[frozenset[str], str]) -> list[frozenset[str]]:
    """The pairs that were decided to belong together."""
    return [pair for pair, verdict in decisions.items() if verdict in TOGETHER]


def bundle(id: str, same: Iterable[frozenset[str]]) -> set[str]:
    """A document with all that chains of such pairs connect with it."""
    found = {id}
    while more := {one for pair in same if pair & found for one in pair} - found:
        found |= more
    return found


def replayed(changes: Iterable[Change]) -> dict[int, tuple[str, set[str]]]:
    """The groups that a change log leads to: representative and members by id."""
    groups: dict[int, tuple[str, set[str]]] = {}
    for change in changes:
        if change.what in ("decided", "withdrawn", "stays"):
            assert change.group is None
            continue
        group = change.group
        assert group is not None
        if change.what == "made":
            assert group > max(groups, default=0)
            groups[group] = (change.document, {change.document})
        elif change.what == "joined":
            assert change.document not in groups[group][1]
            groups[group][1].add(change.document)
        elif change.what == "left":
            groups[group][1].remove(change.document)
        elif change.what == "leads":
            groups[group] = (change.document, groups[group][1])
        elif change.what == "ended":
            assert not groups.pop(group)[1]
        else:
            assert change.what == "changed"
            assert change.document in groups[group][1]
    return groups
