"""Decisions about a collection are undone like those about a result: the same actions lead to the same state."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from neardup import Collection
from neardup.errors import ChangedMeanwhileError, InputError
from neardup.io.decisions.records import Judgement
from neardup.io.decisions.store import DecisionStore
from neardup.review.desk.collected import STORED

PAIRS = (("a", "b"), ("c", "d"), ("e", "f"))
PEOPLE = ("ann", "ben", "carl")


class Twins:
    """A collection and a store of decisions that get the same actions; their numbers differ."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mail.neardup"
        self.collection = Collection(self.path)
        self.collection.add([{"id": id, "text": f"the text of {id}"} for pair in PAIRS for id in pair])
        self.store = DecisionStore(folder)
        self.numbers: list[tuple[int, int]] = []

    def decide(self, draw: random.Random) -> None:
        pairs = draw.sample(PAIRS, draw.randint(1, 3))
        by, note, verdict = (
            draw.choice(PEOPLE),
            draw.choice(("", "seen", "see\nabove")),
            draw.choice([*STORED, None]),
        )
        at = draw.choice([*self.numbers, (None, None)]) if draw.random() < 0.4 else (None, None)
        held = self.state()
        if verdict is None:
            pairs = [pair for pair in pairs if pair in held]
            if not pairs:
                return
        changes = [Judgement(*pair, verdict, note) for pair in pairs]  # type: ignore[arg-type]
        stored = None if verdict is None else STORED[verdict]
        one = _outcome(lambda: self.store.act(changes, by=by, what="x", seen=at[1]).number)
        other = _outcome(lambda: self.collection.decide_all(pairs, stored, by=by, note=note, seen=at[0]))
        self._alike(one, other)

    def undo(self, draw: random.Random) -> None:
        by = draw.choice(PEOPLE)
        at = draw.choice(self.numbers) if self.numbers and draw.random() < 0.6 else (None, None)
        one = _outcome(lambda: _number(self.store.undo(by=by, action=at[1])))
        other = _outcome(lambda: self.collection.undo(by, at[0]))
        self._alike(one, other)

    def restart(self) -> None:
        self.collection.close()
        self.collection = Collection(self.path)

    def _alike(self, one: object, other: object) -> None:
        assert type(one) is type(other), (one, other)
        if isinstance(one, int) and isinstance(other, int):
            self.numbers.append((other, one))

    def state(self) -> dict[tuple[str, str], tuple[str, str, str]]:
        held = {pair: (one.verdict, one.by, one.note) for pair, one in self.store.state().judgements.items()}
        found = {(one.a, one.b): (one.verdict, one.by, one.note) for one in self.collection.decisions()}
        assert found == {pair: (STORED[verdict], *rest) for pair, (verdict, *rest) in held.items()}
        return found

    def history(self) -> None:
        to_one = {None: None, **dict(self.numbers)}
        told = [
            (
                to_one[action.number],
                action.by,
                len(action.changes),
                to_one[action.undoes],
                to_one[action.undone_by],
            )
            for action in self.collection.actions(limit=1000)
        ]
        known = self.store.history(limit=1000)
        assert told == [(one.number, one.by, one.changes, one.undoes, one.undone_by) for one in known]


@pytest.mark.parametrize("seed", range(6))
def test_a_collection_undoes_as_a_result_does(seed: int, tmp_path: Path) -> None:
    draw, twins = random.Random(seed), Twins(tmp_path)
    for _ in range(60):
        draw.choice((twins.decide, twins.decide, twins.undo, twins.undo))(draw)
        twins.state()
        if draw.random() < 0.1:
            twins.restart()
    twins.history()
    assert twins.collection.check() == []
    twins.collection.close()
    twins.store.close()


def _outcome(act: object) -> object:
    try:
        return act()  # type: ignore[operator]
    except (ChangedMeanwhileError, InputError) as error:
        return error


def _number(action: object) -> int | None:
    return None if action is None else action.number  # type: ignore[attr-defined,no-any-return]
