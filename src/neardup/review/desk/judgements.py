"""A decision of a reviewer → the judgements that it makes, and the sentence that describes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.comparison.kinds import KINDS
from neardup.display import counted, printable, similarity
from neardup.errors import InputError
from neardup.io.decisions.records import Judgement, Verdict
from neardup.review.desk.filters import kinds_named
from neardup.review.desk.lines import Lines
from neardup.review.source import Decide
from neardup.tables import Bools, Int64s

NO_VERDICT = "verdict withdrawn"


@dataclass(frozen=True)
class Judgements:
    """Judgements to store as one action: pairs of documents by number, and a sentence."""

    pairs: tuple[tuple[int, int], ...]
    sentence: str

    def changes(self, lines: Lines, verdict: Verdict | None, note: str) -> list[Judgement]:
        """Return them as changes for the store."""
        id = lines.index.documents.id
        return [Judgement(id(a), id(b), verdict, note) for a, b in self.pairs]


def judgements(lines: Lines, decision: Decide, listed: Bools | None = None) -> Judgements:
    """Return the judgements of a decision; ``listed`` are the groups that its filter finds.

    Raises InputError if it names nothing, or no pair.
    """
    if decision.asked == "pair":
        return _of_pair(lines, decision)
    if decision.asked == "kind":
        return _of_kind(lines, decision, listed)
    if decision.group is None:
        raise InputError("The decision names no group", "The key of a group")
    group = lines.index.at(decision.group)
    name = lines.index.documents.named(int(lines.index.heads[group]))
    inside = lines.index.slice(group)
    places = inside.start + np.flatnonzero(lines.made.near[inside])
    where = f"in the group of {name}"
    if decision.asked == "above":
        if decision.above is None:
            raise InputError("The decision names no similarity", "A number from 0 to 1")
        head, least = int(lines.made.heads[group]), decision.above
        values = [lines.similarity(int(lines.index.members[place]), head) for place in places]
        places = places[np.array([value is not None and value >= least for value in values], np.bool_)]
        where += f" with similarity {similarity(least)} or above"
    if not len(places):
        raise InputError(f"There is no near copy to judge {where}", "A group with near copies", "Judge a pair")
    sentence = f"{said(decision.verdict)}: {counted(len(places), 'pair')} {where}"
    return Judgements(pairs_at(lines, places), sentence)


def said(verdict: Verdict | None) -> str:
    """Return the verdict in a sentence."""
    return verdict or NO_VERDICT


def pairs_at(lines: Lines, places: Int64s) -> tuple[tuple[int, int], ...]:
    """Return the members at some places, each with the representative of its group."""
    members = lines.index.members[places]
    heads = lines.made.heads[lines.index.group[places]]
    return tuple(zip(members.tolist(), heads.tolist(), strict=True))


def places_of_kind(lines: Lines, kind: str, listed: Bools | None, decided: bool = False) -> Int64s:
    """Return the members with a kind of difference, without a verdict (with one, if ``decided``).

    Raises InputError for an unknown kind.
    """
    numbers = kinds_named(kind)
    if not numbers:
        raise InputError(f"{printable(kind)} is no kind of difference", ", ".join(KINDS))
    made = lines.made
    wanted = np.isin(made.kinds, numbers) & made.near & ((made.verdict >= 0) == decided)
    if listed is not None:
        wanted &= listed[lines.index.group]
    return np.flatnonzero(wanted)


def kinds_said(kind: str) -> str:
    """Return the kinds that a name means."""
    return " or ".join(KINDS[number] for number in kinds_named(kind))


def _of_pair(lines: Lines, decision: Decide) -> Judgements:
    if decision.pair is None:
        raise InputError("The decision names no pair", "The keys of two documents")
    a, b = (lines.index.documents.at(key) for key in decision.pair)
    if a == b:
        raise InputError("A document cannot be judged with itself", "The keys of two documents")
    group = int(lines.index.group_of[a])
    if group >= 0 and lines.made.heads[group] == a:
        a, b = b, a
    named = lines.index.documents.named
    return Judgements(((a, b),), f"{said(decision.verdict)}: {named(a)} and {named(b)}")


def _of_kind(lines: Lines, decision: Decide, listed: Bools | None) -> Judgements:
    places = places_of_kind(lines, decision.kind, listed, decided=decision.verdict is None)
    if not len(places):
        state = "with" if decision.verdict is None else "without"
        raise InputError(f"There is no pair of this kind {state} a verdict", "A kind that pairs have")
    within = f" in the groups found by {printable(decision.filter.strip())}" if decision.filter.strip() else ""
    what = f"{counted(len(places), 'pair')} of the kind “{kinds_said(decision.kind)}”{within}"
    return Judgements(pairs_at(lines, places), f"{said(decision.verdict)}: {what}")
