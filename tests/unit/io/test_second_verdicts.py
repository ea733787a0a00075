"""Second verdicts in the log: beside the first ones, read in one pass; no first verdict is replaced unseen."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import ChangedMeanwhileError, InputError, SecondReviewError
from neardup.io.decisions.records import (
    Change,
    Id,
    JudgedPair,
    Judgement,
    PairNote,
    SecondReview,
    SecondVerdict,
    pair_of,
)
from neardup.io.decisions.store import DecisionStore

PAIRS: list[tuple[Id, Id]] = [("a", "b"), ("b", "c"), (7, "7"), (1 << 70, "d")]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["judge", "withdraw", "note", "hand", "take", "second", "undo"]),
        st.sampled_from(PAIRS),
        st.sampled_from(["Ann", "Bea"]),
        st.sampled_from(["duplicate", "unsure"]),
    ),
    max_size=12,
)


def change_of(kind: str, pair: tuple[Id, Id], verdict: str) -> Change:
    makers: dict[str, Callable[[], Change]] = {
        "judge": lambda: Judgement(*pair, verdict, "why"),  # type: ignore[arg-type]
        "withdraw": lambda: Judgement(*pair, None),
        "note": lambda: PairNote(*pair, "seen"),
        "hand": lambda: SecondReview(*pair, "Bea"),
        "take": lambda: SecondReview(*pair, None),
        "second": lambda: SecondVerdict(*pair, verdict),  # type: ignore[arg-type]
    }
    return makers[kind]()


@given(STEPS)
def test_the_first_verdict_is_the_one_that_held_before_and_is_not_replaced(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, tuple[Id, Id], str, str]]
) -> None:
    """Against a replay that looks at the state before each step; a state read anew is the one that grew."""
    folder = tmp_path_factory.mktemp("log")
    firsts: dict[tuple[tuple[Id, Id], int], JudgedPair | None] = {}
    with DecisionStore(folder) as store:
        for kind, pair, by, verdict in steps:
            before = store.state()
            if kind == "undo":
                # the undo of an undo is the next step that may restore a first verdict
                try:
                    store.undo(by=by)
                except (ChangedMeanwhileError, SecondReviewError):
                    assert store.state() is before
                continue
            change = change_of(kind, pair, verdict)
            if kind in ("judge", "withdraw", "note") and before.waits(*pair, by):
                with pytest.raises(SecondReviewError):
                    store.act([Judgement("x", "y", "unsure"), change], by=by, what=kind)
                assert store.state() is before
                assert before.without_waiting([change], by) == []
                continue
            action = store.act([change], by=by, what=kind)
            if kind == "second":
                firsts[pair_of(*pair), action.number] = before.verdict(*pair)
        grown = store.state()
    with DecisionStore(folder, read_only=True) as store:
        assert store.state() == grown
    for pair, look in grown.seconds.items():
        assert look.first == (None if look.verdict is None else firsts[pair, look.action])


@pytest.mark.parametrize("count", [1, 90])
def test_first_verdicts_are_read_in_one_pass(tmp_path: Path, count: int) -> None:
    with DecisionStore(tmp_path) as store:
        pairs = [(f"a{number}", f"b{number}") for number in range(count)]
        store.act([Judgement(*pair, "duplicate", f"of {pair[0]}") for pair in pairs], by="Ann", what="first")
        store.act([SecondReview(*pair, "Bea") for pair in pairs], by="Max", what="draw")
        store.act([SecondVerdict(*pair, "unsure") for pair in pairs], by="Bea", what="second")
    with DecisionStore(tmp_path, read_only=True) as store:
        statements: list[str] = []
        assert store._connection is not None
        store._connection.set_trace_callback(statements.append)
        seconds = store.state().seconds
    assert len(seconds) == count
    assert all(look.first and look.first.note == f"of {pair[0]}" for pair, look in seconds.items())
    # the last action; decisions in force, their actions; last rows of the pairs; first verdicts, their actions
    assert sum("SELECT" in statement for statement in statements) == 6


def test_a_second_reviewer_does_not_undo_a_first_verdict(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        first = store.act([Judgement("a", "b", "duplicate"), Judgement("c", "b", "unsure")], by="Ann", what="w")
        store.act([SecondReview("a", "b", "Bea")], by="Max", what="w")
        with pytest.raises(SecondReviewError):
            store.undo(by="Bea", action=first.number)
        store.act([SecondVerdict("a", "b", "unsure")], by="Bea", what="w")
        assert store.undo(by="Bea") is not None  # of the second verdict: the pair waits again
        assert store.state().waits("a", "b", "Bea")
        assert store.undo(by="Ann", action=first.number) is not None
        assert not store.state().judgements


def test_whoever_decided_first_is_nobody_to_wait_for(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        store.act([Judgement("a", "b", "duplicate")], by="Bea", what="w")
        store.act([SecondReview("a", "b", "Bea")], by="Max", what="w")
        store.act([Judgement("a", "b", "unsure")], by="Bea", what="w")
        store.act([Judgement("a", "b", "unsure")], by="Max", what="w")
        with pytest.raises(InputError):
            store.act([Judgement("a", "b", "duplicate")], by="Bea", what="w")
