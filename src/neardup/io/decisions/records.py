"""The decisions of reviewers, and the actions that record them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from neardup.display.view import PlainData

Id: TypeAlias = str | int
"""An id as it is in the user's column."""

Verdict = Literal["duplicate", "keep both", "not alike", "unsure"]
"""``duplicate``: the two belong together, and one stays. ``keep both``: they belong together, and both stay.
``not alike``: they never share a group. ``unsure``: looked at, and nothing follows."""

TOGETHER: tuple[Verdict, ...] = ("duplicate", "keep both")
"""The verdicts on documents that belong together."""

Fate = Literal["keep", "remove"]
"""The fate of one document, whatever its group."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on two documents; None withdraws it. ``a`` is the member, ``b`` its representative."""

    a: Id
    b: Id
    verdict: Verdict | None
    note: str = ""


@dataclass(frozen=True)
class PairNote:
    """A note on two documents that is no verdict, and leaves the verdict as it is. An empty one takes it away."""

    a: Id
    b: Id
    note: str


@dataclass(frozen=True)
class FateOf:
    """The fate of one document; None withdraws it."""

    id: Id
    fate: Fate | None
    note: str = ""


@dataclass(frozen=True)
class Represents:
    """The document ``id`` represents the group that ``group`` represented in the result; None withdraws it."""

    group: Id
    id: Id | None


@dataclass(frozen=True)
class Tag:
    """A tag on one document; ``on`` False takes it away."""

    id: Id
    tag: str
    on: bool = True


@dataclass(frozen=True)
class HandOver:
    """The group that ``group`` represents in the result is handed to ``person``; None takes it back."""

    group: Id
    person: str | None


@dataclass(frozen=True)
class SecondReview:
    """The pair is handed to ``person`` for a second verdict; None takes it back."""

    a: Id
    b: Id
    person: str | None


@dataclass(frozen=True)
class SecondVerdict:
    """The second verdict on two documents. It is stored beside the first one, which counts."""

    a: Id
    b: Id
    verdict: Verdict
    note: str = ""


Change: TypeAlias = Judgement | PairNote | FateOf | Represents | Tag | HandOver | SecondReview | SecondVerdict


@dataclass(frozen=True)
class Action(PlainData):
    """The decisions of one person at once: ``number`` defines the order, ``at`` is the time, ``what`` a sentence.

    ``changes`` counts the decisions in it. ``undoes`` is the number of the action that this one undid;
    ``undone_by`` the number of the action that undid this one.
    """

    number: int
    at: str
    by: str
    what: str
    changes: int
    undoes: int | None = None
    undone_by: int | None = None


@dataclass(frozen=True)
class StandingDecision:
    """A decision as it holds now: by whom, when, and the number of its action."""

    by: str
    at: str
    action: int


@dataclass(frozen=True)
class NotedPair(StandingDecision):
    """The note on a pair."""

    note: str


@dataclass(frozen=True)
class JudgedPair(NotedPair):
    """The verdict on a pair, with its note."""

    verdict: Verdict


@dataclass(frozen=True)
class DecidedFate(StandingDecision):
    """The fate of a document, with its note."""

    fate: Fate
    note: str


@dataclass(frozen=True)
class ChosenRepresentative(StandingDecision):
    """The document that represents a group."""

    id: Id


@dataclass(frozen=True)
class HandedGroup(StandingDecision):
    """The person whose batch a group is in."""

    person: str


@dataclass(frozen=True)
class SecondLook(NotedPair):
    """A pair that ``person`` looks at as the second one; ``verdict`` is None as long as it waits.

    ``first`` is the verdict that held before the second one; None for a pair that waits.
    """

    person: str
    verdict: Verdict | None
    first: JudgedPair | None


@dataclass(frozen=True)
class DecisionState:
    """All decisions that hold after the action ``number``; 0 before the first.

    The keys of ``judgements``, ``notes`` and ``seconds`` are pairs in canonical order (see :func:`pair_of`).
    ``choices`` holds the chosen representatives with their authors, ``represents`` only their ids. ``tags`` are
    sorted. ``batches`` names groups by their representatives in the result.
    """

    number: int
    judgements: Mapping[tuple[Id, Id], JudgedPair]
    fates: Mapping[Id, DecidedFate]
    choices: Mapping[Id, ChosenRepresentative]
    tags: Mapping[Id, tuple[str, ...]]
    notes: Mapping[tuple[Id, Id], NotedPair] = field(default_factory=dict)
    batches: Mapping[Id, HandedGroup] = field(default_factory=dict)
    seconds: Mapping[tuple[Id, Id], SecondLook] = field(default_factory=dict)

    @cached_property
    def represents(self) -> Mapping[Id, Id]:
        """The chosen representative of each group."""
        return {group: choice.id for group, choice in self.choices.items()}

    @cached_property
    def conflicts(self) -> frozenset[tuple[Id, Id]]:
        """The pairs whose second verdict differs from the one that counts, and that was given before it."""
        return frozenset(
            pair
            for pair, second in self.seconds.items()
            if second.verdict is not None
            and (counts := self.judgements.get(pair)) is not None
            and counts.action < second.action
            and counts.verdict != second.verdict
        )

    @cached_property
    def waiting(self) -> Mapping[str, frozenset[tuple[Id, Id]]]:
        """The pairs that wait for the second verdict of each person, whose first one is by somebody else."""
        waiting: dict[str, set[tuple[Id, Id]]] = {}
        for pair, second in self.seconds.items():
            counts = self.judgements.get(pair)
            if second.verdict is None and counts is not None and counts.by != second.person:
                waiting.setdefault(second.person, set()).add(pair)
        return {person: frozenset(pairs) for person, pairs in waiting.items()}

    def waits(self, a: Id, b: Id, person: str) -> bool:
        """Return whether a pair, in any order, waits for the second verdict of a person."""
        return pair_of(a, b) in self.waiting.get(person, ())

    def two_verdicts(
        self, pair: tuple[Id, Id]
    ) -> tuple[JudgedPair, SecondLook, JudgedPair | None, bool, bool] | None:
        """Return the two verdicts on a pair in canonical order, and the one that counts now; None without both.

        Then whether another one came later, or the first one was withdrawn, and whether the two are in conflict.
        """
        second = self.seconds.get(pair)
        if second is None or second.first is None or second.verdict is None:
            return None
        counts = self.judgements.get(pair)
        later = counts is None or counts.action > second.action
        return second.first, second, counts, later, pair in self.conflicts

    def without_waiting(self, changes: Iterable[Change], person: str) -> list[Change]:
        """Return changes without verdicts and notes on pairs that wait for the second verdict of a person."""
        kinds = Judgement | PairNote
        return [one for one in changes if not (isinstance(one, kinds) and self.waits(one.a, one.b, person))]

    def verdict(self, a: Id, b: Id) -> JudgedPair | None:
        """Return the verdict on a pair, in any order."""
        return self.judgements.get(pair_of(a, b))

    def note(self, a: Id, b: Id) -> str:
        """Return the note on a pair, in any order: the later one of its own and that of its verdict, if any."""
        judged, noted = self.verdict(a, b), self.notes.get(pair_of(a, b))
        if noted is None or (judged is not None and judged.note and judged.action > noted.action):
            return "" if judged is None else judged.note
        return noted.note


NO_DECISIONS = DecisionState(0, {}, {}, {}, {})


def sort_key(id: Id) -> tuple[str, Any]:
    """Return the key that sorts ids: numbers before strings, each ascending."""
    return type(id).__name__, id


def pair_of(a: Id, b: Id) -> tuple[Id, Id]:
    """Return two ids in canonical order: numbers before strings, each ascending.

    >>> pair_of("b", "a"), pair_of("7", 7), pair_of(10, 9)
    (('a', 'b'), (7, '7'), (9, 10))
    """
    return (a, b) if sort_key(a) <= sort_key(b) else (b, a)
