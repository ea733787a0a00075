"""Progress on every page: what is decided, and how long the rest takes at the present speed."""

from contextlib import closing
from pathlib import Path

import pytest

from neardup.io.decisions import Action
from neardup.review.desk.batches import last_sitting
from neardup.review.desk.desk import Desk
from neardup.review.live.app import rest_in_words
from neardup.review.source import Decide, Question
from support.made_reviews import make_result


def test_progress_follows_the_decisions(tmp_path: Path) -> None:
    with closing(Desk.open(make_result(tmp_path))) as desk:
        before = desk.progress()
        assert (before.decided, before.groups - before.groups_done) == (
            0,
            2,
        )  # a group of exact copies has no pair
        assert before.pairs == sum(line.pairs for line in desk.groups(Question()).lines) > 2
        line = desk.groups(Question()).lines[0]
        desk.decide(Decide("group", "duplicate", "Ann", 0, line.key))
        after = desk.progress()
        assert (after.decided, after.groups_done) == (line.pairs, before.groups_done + 1)
        assert after.undecided == before.pairs - line.pairs
        desk.undo("Ann")
        assert desk.progress() == before


def actions(*minutes: float, by: str = "Ann", changes: int = 1, what: str = "duplicate: a and b") -> list[Action]:
    """Actions at some minutes after ten, the latest first."""
    at = [f"2026-01-02T10:{int(minute):02}:{int(minute % 1 * 60):02}Z" for minute in minutes]
    return [Action(number, time, by, what, changes) for number, time in enumerate(at)]


@pytest.mark.parametrize(
    ("done", "undecided", "words"),
    [
        (actions(4, 2, 0), 30, "30 pairs an hour, 1 h 00 min for the rest"),
        (actions(4, 2, 0, changes=5), 30, "150 pairs an hour, 12 min 00 s for the rest"),
        (actions(44, 42, 40, 20, 0), 30, "30 pairs an hour, 1 h 00 min for the rest"),
        (actions(4, 2, 0), 0, ""),
        (actions(44, 42, 20), 9, ""),
        (actions(4, 2, 0, by="Ben"), 9, ""),
        (actions(4, 2, 0, what="tag privileged on a"), 9, ""),
        (actions(4, 2, 0, what="note: a and b"), 9, ""),
        ([], 9, ""),
    ],
    ids=[
        "one each",
        "five each",
        "after a pause",
        "nothing left",
        "too few",
        "of another person",
        "tags",
        "notes",
        "none",
    ],
)
def test_the_speed_is_that_of_the_present_sitting(done: list[Action], undecided: int, words: str) -> None:
    assert rest_in_words(tuple(done), "Ann", undecided) == words


def test_a_sitting_says_what_a_person_did_and_what_holds_of_it(tmp_path: Path) -> None:
    with closing(Desk.open(make_result(tmp_path))) as desk:
        assert desk.last_sitting("Ann") is None
        first, second = [line for line in desk.groups(Question()).lines if line.pairs]
        desk.decide(Decide("group", "duplicate", "Ann", 0, first.key, note="seen"))
        desk.decide(Decide("group", "unsure", "Ann", 9, second.key))
        desk.undo("Ann")
        desk.tag(first.key, "urgent", True, "Ann", 9)
        desk.decide(Decide("group", "not alike", "Ben", 9, second.key))
        done = desk.last_sitting("Ann")
        assert done is not None
        assert [(line.words, line.pairs, line.documents, line.groups) for line in done.lines] == [
            ("duplicate", first.pairs, first.pairs + 1, 1)
        ]
        assert (done.total.pairs, done.total.groups) == (first.pairs, 1)
        counts = {"tags": 1, "notes": first.pairs, "fates": 0, "representatives": 0, "actions undone": 1}
        assert dict(done.others) == {"second verdicts": 0, "conflicts": 0, **counts}


def test_a_sitting_ends_with_a_pause() -> None:
    done = [*actions(44, 42, by="Ben"), *actions(30, 28, 12.75), *actions(12)]
    assert [action.at[14:16] for action in last_sitting(done, "Ann")] == ["30", "28"]
    assert last_sitting(actions(44, by="Ben"), "Ann") == []
    others = actions(29, 28, by="Ben")
    assert len(last_sitting([*actions(30), *others, *actions(16), *actions(1)], "Ann")) == 2
