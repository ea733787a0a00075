"""The work of the people of a review: their batches, second reviews and sittings."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, TypeVar

import numpy as np

from neardup.display import counted, number, printable
from neardup.errors import InputError
from neardup.io.decisions import Action, Change, DecisionState, HandOver, Id, SecondReview, pair_of, sort_key
from neardup.review import source
from neardup.review.desk.facets import clause_of
from neardup.review.desk.filters import NOBODY
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.verdicts import VERDICTS, VerdictIndex, reader
from neardup.tables import Bools, Int64s
from neardup.text.intervals import wilson

K = TypeVar("K")

HIDDEN, DRAWN = "hidden until your second verdict", "second review: "
"""The sentence of an action whose verdicts are hidden, and the beginning of the sentence of a draw."""
PAUSE = 15 * 60.0
"""Seconds between two actions of one sitting, at most."""
PORTION = 200
"""Actions that are read at once."""
MOST_ACTIONS = 5000
"""Actions that are looked through for a sitting."""


def deal(pairs: Sequence[int], shares: Sequence[float], each: int | None = None) -> list[int]:
    """Return the place of the person for each group, in turn; −1 for groups that are left over.

    A group goes to the person who has, with it, the fewest ``pairs`` for a share; of equals to the first. Nobody
    gets more than ``each`` groups.

    >>> deal([5, 3, 1, 1, 9], [1, 1]), deal([1, 1, 1, 1], [3, 1]), deal([4, 4, 4], [1, 1], each=1)
    ([0, 1, 1, 1, 0], [0, 0, 0, 1], [0, 1, -1])
    """
    loads, groups, places = [0.0] * len(shares), [0] * len(shares), []
    for size in pairs:
        free = [place for place in range(len(shares)) if each is None or groups[place] < each]
        place = min(free, key=lambda one: ((loads[one] + size) / shares[one], one), default=-1)
        if place >= 0:
            loads[place] += size
            groups[place] += 1
        places.append(place)
    return places


def hand_out(
    index: ResultIndex, verdicts: VerdictIndex, listed: Bools, keys: Int64s, order: source.HandOut
) -> tuple[list[Change], str]:
    """Return the batches that ``order`` makes of the ``listed`` groups, and a sentence; ``keys`` order the groups.

    Raises InputError for impossible people, and if there is no such group.
    """
    names, shares = [name for name, _ in order.people], [share for _, share in order.people]
    if len({name.casefold() for name in names}) < len(names) or NOBODY in names:
        given = f"The people are {printable(', '.join(names))}"
        raise InputError(given, f"Different names, and none is {NOBODY}")
    wanted = listed & (verdicts.open if names else verdicts.batch >= 0)
    if names and not order.again:
        wanted &= verdicts.batch < 0
    groups = np.flatnonzero(wanted)
    groups = groups[np.argsort(keys[groups])]
    places = deal((verdicts.pairs - verdicts.count)[groups].tolist(), shares, order.each)
    heads = [index.documents.id(head) for head in index.heads[groups].tolist()]
    changes: list[Change] = [
        HandOver(head, names[place] if names else None)
        for head, place in zip(heads, places, strict=True)
        if place >= 0 or not names
    ]
    if not changes:
        allowed = "Groups with undecided pairs that are in no batch" if names else "Groups in a batch"
        raise InputError("The filter finds no group to change", allowed, "Try another filter, or hand out again")
    found = f" found by {printable(order.filter.strip())}" if order.filter.strip() else ""
    counts = Counter(places)
    to = ", ".join(f"{name} {number(counts[place])}" for place, name in enumerate(names))
    return changes, f"batch: {counted(len(changes), 'group')}{found} {'to ' + to if names else 'taken back'}"


def batch_lines(
    verdicts: VerdictIndex, keys: Int64s, pair_of: Callable[[int], tuple[source.Key, source.Key]]
) -> tuple[source.BatchLine, ...]:
    """Return the batches by name, then the groups in none; ``keys`` order the groups."""
    numbers = sorted(range(len(verdicts.people)), key=lambda one: verdicts.people[one].casefold())
    lines = []
    for place in (*numbers, -1):
        own = verdicts.batch == place
        waiting = np.flatnonzero(own & verdicts.open)
        name = verdicts.people[place] if place >= 0 else ""
        lines.append(
            source.BatchLine(
                name,
                clause_of("batch", name or NOBODY),
                int(own.sum()),
                int(verdicts.pairs[own].sum()),
                int(verdicts.count[own].sum()),
                pair_of(int(waiting[np.argmin(keys[waiting])])) if len(waiting) else None,
            )
        )
    return tuple(line for line in lines if line.groups)


def frame_of(index: ResultIndex, verdicts: VerdictIndex, chosen: Bools | None) -> list[tuple[Id, Id]]:
    """Return the decided pairs without a second look, in the order of their ids.

    ``chosen`` limits them to the pairs of these members with their representatives.
    """
    pairs = undrawn(verdicts.state)
    if chosen is not None:
        id, heads = index.documents.id, verdicts.heads[index.group]
        places = np.flatnonzero(chosen & (verdicts.verdict >= 0)).tolist()
        decided = {pair_of(id(int(index.members[place])), id(int(heads[place]))) for place in places}
        pairs = [pair for pair in pairs if pair in decided]
    return sorted(pairs, key=lambda pair: [*map(sort_key, pair)])


def draw_seconds(
    state: DecisionState, draw: source.DrawSeconds, frame: Sequence[tuple[Id, Id]]
) -> tuple[list[Change], str]:
    """Return the pairs that are drawn for a second verdict, each with its person, and a sentence.

    They are drawn from the ``frame``, without the pairs that nobody but their first reviewer could judge. Raises
    InputError for impossible people or shares, and for nothing to draw.
    """
    if len({name.casefold() for name in draw.people}) < len(draw.people):
        raise InputError(f"The people are {printable(', '.join(draw.people))}", "Different names")
    if not 0 < draw.percent <= 100:
        raise InputError(f"The share is {draw.percent} %", "1 % to 100 %")
    others = {pair: [name for name in draw.people if name != state.judgements[pair].by] for pair in frame}
    pairs = [pair for pair in frame if others[pair]]
    if not pairs:
        raise InputError("No decided pair can be drawn", "Pairs that somebody else decided, without a second look")
    random = Random(draw.seed)
    # rounded up in whole numbers: 7 / 100 of 100 is above 7
    drawn = random.sample(pairs, -(-draw.percent * len(pairs) // 100))
    loads = Counter[str]()
    changes: list[Change] = []
    for pair in drawn:
        person = min(others[pair], key=lambda name: (loads[name], draw.people.index(name)))
        loads[person] += 1
        changes.append(SecondReview(*pair, person))
    to = ", ".join(f"{name} {number(loads[name])}" for name in draw.people)
    by_filter = f" that fit {printable(draw.filter.strip())}" if draw.filter.strip() else ""
    what = f"{DRAWN}{number(len(drawn))} of {counted(len(pairs), 'decided pair')}{by_filter} by seed {draw.seed}"
    own = len(frame) - len(pairs)
    return changes, f"{what} to {to}" + (f", without {counted(own, 'pair')} that they decided" if own else "")


def without_waiting(
    index: ResultIndex, state: DecisionState, pairs: tuple[tuple[int, int], ...], by: str
) -> tuple[tuple[tuple[int, int], ...], str]:
    """Return the pairs, by number, that do not wait for the second verdict of ``by``, and the others in words.

    Raises InputError if none is left: the others are decided on the pages of the second review.
    """
    id = index.documents.id
    left = tuple((a, b) for a, b in pairs if not state.waits(id(a), id(b), by))
    if len(left) == len(pairs):
        return pairs, ""
    waiting = f"{counted(len(pairs) - len(left), 'pair')} for your second verdict"
    if not left:
        raise InputError(f"Here is only {waiting}", "Pairs that do not wait for it", "Go on from the page Batches")
    return left, f", without {waiting}"


def undrawn(state: DecisionState) -> list[tuple[Id, Id]]:
    """Return the decided pairs without a second look."""
    return [pair for pair in state.judgements if pair not in state.seconds]


def kappa(verdicts: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two verdicts each (Cohen 1960): (p − e) / (1 − e).

    p is the share of equal verdicts, and e the share that chance alone gives with the verdicts of both reviewers.
    None if e is 1: both gave one verdict alone.

    >>> kappa([("duplicate", "duplicate"), ("duplicate", "unsure"), ("unsure", "unsure"), ("unsure", "unsure")])
    0.5
    """
    first, second = (Counter(column) for column in zip(*verdicts, strict=True))
    total = len(verdicts)
    chance = sum(first[verdict] * second[verdict] for verdict in first) / total**2
    equal = sum(one == other for one, other in verdicts) / total
    return None if chance == 1 else (equal - chance) / (1 - chance)


def waiting_pairs(state: DecisionState, person: str) -> list[tuple[Id, Id]]:
    """Return the pairs that wait for the second verdict of a person, in the order of ``seconds``."""
    waiting = state.waiting.get(person, ())
    return [pair for pair in state.seconds if pair in waiting]


def second_reviews(
    state: DecisionState,
    keys_of: Callable[[tuple[Id, Id]], tuple[source.Key, source.Key] | None],
    draws: Iterable[Action],
) -> source.SecondReviews:
    """Return how far the second review is, and its ``draws``.

    ``keys_of`` returns the keys of a pair, None for one that is not shown.
    """
    waiting = []
    for person in sorted(state.waiting):
        shown = [own for pair in waiting_pairs(state, person) if (own := keys_of(pair))]
        if shown:
            waiting.append((person, len(shown), shown[0]))
    judged = [(pair, one.first, one) for pair, one in state.seconds.items() if one.first and one.verdict]
    disputed = [pair for pair in state.seconds if pair in state.conflicts]
    conflicts = [
        source.ConflictLine(own[0], own[1], pair, *two)
        for pair in disputed
        if (own := keys_of(pair)) and (two := state.two_verdicts(pair))
    ]
    by_people: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for _, first, second in judged:
        by_people.setdefault((first.by, second.by), []).append((first.verdict, str(second.verdict)))
    parts = [agreement_of(*people, verdicts) for people, verdicts in by_people.items()]
    together = [verdicts for part in by_people.values() for verdicts in part]
    return source.SecondReviews(
        tuple(waiting),
        agreement_of("", "", together) if together else None,
        tuple(sorted(parts, key=lambda part: (-part.judged, part.first, part.second))),
        tuple(conflicts),
        tuple(draws),
        len(undrawn(state)),
    )


def agreement_of(first: str, second: str, verdicts: Sequence[tuple[str, str]]) -> source.Agreement:
    """Return how far the two verdicts on each of some pairs agree.

    >>> part = agreement_of("Ann", "Bea", [("duplicate", "duplicate"), ("duplicate", "unsure")])
    >>> part.judged, part.alike, part.share.value, part.kappa
    (2, 1, 0.5, 0.0)
    """
    alike = sum(one == other for one, other in verdicts)
    share = wilson(alike / len(verdicts), len(verdicts))
    return source.Agreement(first, second, len(verdicts), alike, share, kappa(verdicts))


def as_read(state: DecisionState, actions: Iterable[Action]) -> tuple[Action, ...]:
    """Return actions for the reader: without the sentences on first verdicts that wait for their second one."""
    decisions = (state.judgements, state.notes)
    pairs = state.waiting.get(reader.get(), ())
    hidden = {of[pair].action for pair in pairs for of in decisions if pair in of}
    return tuple(
        Action(one.number, one.at, one.by, HIDDEN, one.changes, one.undoes, one.undone_by)
        if one.number in hidden
        else one
        for one in actions
    )


def time_of(action: Action) -> float:
    """Return the time of an action in seconds."""
    return datetime.fromisoformat(action.at).timestamp()


def all_actions(history: Callable[[int | None, int], Sequence[Action]]) -> Iterator[Action]:
    """Yield the actions of a ``history``, the latest first."""
    before: int | None = None
    while page := history(before, PORTION):
        yield from page
        before = page[-1].number


def last_sitting(actions: Iterable[Action], by: str) -> list[Action]:
    """Return the actions of the last sitting of a person, the latest first, as ``actions`` are."""
    mine: list[Action] = []
    for action in actions:
        if mine and time_of(mine[-1]) - time_of(action) >= PAUSE:
            break
        if action.by == by:
            mine.append(action)
    return mine


def sitting_view(index: ResultIndex, verdicts: VerdictIndex, actions: list[Action]) -> source.Sitting | None:
    """Return the work of a person in the actions of a sitting, the latest first; None without actions.

    Verdicts, notes, fates and representatives are counted as they hold; tags by their actions that are not undone.
    Conflicts are those that the second verdicts made, resolved or not.
    """
    if not actions:
        return None
    state, begin, by = verdicts.state, actions[-1].number, actions[-1].by

    def mine(decisions: Mapping[K, Any]) -> dict[K, Any]:
        return {key: one for key, one in decisions.items() if one.by == by and one.action >= begin}

    judged, done = mine(state.judgements), [action for action in actions if action.undone_by is None]
    pairs_of = {verdict: [pair for pair, one in judged.items() if one.verdict == verdict] for verdict in VERDICTS}
    noted = [*judged.values(), *mine(state.notes).values()]
    looks = {pair: one for pair, one in mine(state.seconds).items() if one.verdict is not None}
    others = (
        ("second verdicts", len(looks)),
        ("conflicts", sum(one.first is not None and one.verdict != one.first.verdict for one in looks.values())),
        ("tags", sum(one.changes for one in done if one.undoes is None and one.what.startswith("tag "))),
        ("notes", sum(bool(one.note) for one in noted)),
        ("fates", len(mine(state.fates))),
        ("representatives", len(mine(state.choices))),
        ("actions undone", sum(one.undoes is not None for one in done)),
    )
    return source.Sitting(
        by,
        actions[-1].at,
        actions[0].at,
        time_of(actions[0]) - time_of(actions[-1]),
        tuple(_line(index, verdict, pairs) for verdict, pairs in pairs_of.items() if pairs),
        _line(index, "", list(judged)),
        others,
    )


def _line(index: ResultIndex, words: str, pairs: list[tuple[Id, Id]]) -> source.SittingLine:
    known = [index.documents.number(id) for pair in pairs for id in pair]
    documents = np.unique(np.array([number for number in known if number is not None], np.int64))
    groups = np.unique(index.group_of[documents])
    return source.SittingLine(words, len(pairs), len(documents), int((groups >= 0).sum()))
