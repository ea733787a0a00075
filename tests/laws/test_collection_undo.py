"""Decisions about a collection are undone like those about a result: the same actions lead to the same state."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from neardup import Collection
from neardup.errors import ChangedMeanwhileError, InputError
from neardup.io.decisions.records import Action, Judgement, Verdict
from neardup.io.decisions.store import DecisionStore

PAIRS = (("a", "b"), ("c", "d"), ("e", "f"))
PEOPLE = ("ann", "ben", "carl")


class Twins:
    """A collection and a store of decisions that get the same actions."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mail.neardup"
        self.collection = Collection(self.path)
        self.collection.add([{"id": id, "text": f"the text of {id}"} for pair in PAIRS for id in pair])
        self.store = DecisionStore(folder)
        self.last = 0

    def decide(self, draw: random.Random) -> None:
        pairs = draw.sample(PAIRS, draw.randint(1, 3))
        by, note, verdict = (
            draw.choice(PEOPLE),
            draw.choice(("", "seen", "see\nabove")),
            draw.choice([*get_args(Verdict), None]),
        )
        seen = draw.choice([*range(self.last + 1), None]) if draw.random() < 0.4 else None
        held = self.state()
        if verdict is None:
            pairs = [pair for pair in pairs if pair in held]
            if not pairs:
                return
        changes = [Judgement(*pair, verdict, note) for pair in pairs]
        one = _outcome(lambda: self.store.act(changes, by=by, what="x", seen=seen))
        other = _outcome(lambda: self.collection.decide_all(pairs, verdict, by=by, note=note, seen=seen))
        self._alike(one, other)

    def undo(self, draw: random.Random) -> None:
        by = draw.choice(PEOPLE)
        action = draw.randint(1, self.last) if self.last and draw.random() < 0.6 else None
        one = _outcome(lambda: self.store.undo(by=by, action=action))
        other = _outcome(lambda: self.collection.undo(by, action))
        self._alike(one, other)

    def restart(self) -> None:
        self.collection.close()
        self.collection = Collection(self.path)

    def _alike(self, one: Action | Exception | None, other: Action | Exception | None) -> None:
        assert type(one) is type(other), (one, other)
        if isinstance(one, Action) and isinstance(other, Action):
            assert replace(one, at="", what="") == replace(other, at="", what="")
            self.last = one.number

    def state(self) -> dict[tuple[str, str], tuple[str, str, str]]:
        held = {pair: (one.verdict, one.by, one.note) for pair, one in self.store.state().judgements.items()}
        found = {(one.a, one.b): (one.verdict, one.by, one.note) for one in self.collection.decisions()}
        assert found == held
        return found

    def history(self) -> None:
        known, other = self.store.history(limit=1000), self.collection.actions(limit=1000)
        assert [replace(one, at="", what="") for one in known] == [replace(one, at="", what="") for one in other]


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


def _outcome(act: Callable[[], Action | None]) -> Action | Exception | None:
    try:
        return act()
    except (ChangedMeanwhileError, InputError) as error:
        return error
