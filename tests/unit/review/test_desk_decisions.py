"""The decisions of a reviewer on a result: stored, counted, shown, undone, and never overwritten."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from neardup.display import columns
from neardup.errors import ChangedMeanwhileError, InputError
from neardup.review.desk.desk import Desk
from neardup.review.source import Decide, Question
from support.made_reviews import TEXTS, ids, key, lines, make_result
from support.messages import has_parts


def test_a_verdict_is_stored_and_the_next_pair_offered(desk: Desk) -> None:
    fox, twelve, less = (key(desk, id) for id in ("fox", "fox-12", "fox-less"))
    done = desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(fox, twelve), note="a typing error"))
    assert done.action.what == "duplicate: fox-12 and fox"
    assert done.next == (less, fox)
    view = desk.pair(twelve, fox)
    assert (view.verdict, view.note, view.seen) == ("duplicate", "a typing error", 1)
    assert [line.decided for line in lines(desk, "decided:partly").values()] == [1]
    assert ids(desk, "verdict:duplicate") == {"fox"}
    done = desk.decide(Decide("pair", "not alike", "ann", 1, pair=(less, fox)))
    assert done.next == (key(desk, "plan"), key(desk, "plan-more"))
    assert ids(desk, "decided:yes") == {"fox"}
    assert ids(desk, "verdict:not-alike") == {"fox"}


def test_a_decision_for_a_group_leaves_exact_copies_aside(desk: Desk) -> None:
    done = desk.decide(Decide("group", "keep both", "ann", 0, group=key(desk, "fox")))
    assert done.action.changes == 2
    assert has_parts(done.action.what, "keep both: 2 pairs", "fox")
    with pytest.raises(InputError):
        desk.decide(Decide("group", "keep both", "ann", 1, group=key(desk, "night")))


def test_a_note_alone_leaves_verdicts_and_decides_nothing(desk: Desk) -> None:
    fox, twelve, less = (key(desk, id) for id in ("fox", "fox-12", "fox-less"))
    desk.decide(Decide("pair", "keep both", "ann", 0, pair=(fox, twelve)))
    done = desk.decide(Decide("group", None, "ann", 1, group=fox, note="ask Ben", only_note=True))
    assert has_parts(done.action.what, "note", "2 pairs", "fox")
    noted = [desk.pair(other, fox) for other in (twelve, less)]
    assert [(view.verdict, view.note) for view in noted] == [("keep both", "ask Ben"), (None, "ask Ben")]
    assert ids(desk, "decided:partly") == {"fox"}


def test_a_decision_above_a_similarity(desk: Desk) -> None:
    fox, less = key(desk, "fox"), key(desk, "fox-less")
    done = desk.decide(Decide("above", "duplicate", "ann", 0, group=fox, above=desk.pair(less, fox).a.similarity))
    assert done.action.changes == 1
    assert has_parts(done.action.what, "duplicate: 1 pair", "fox", "0.692")
    assert desk.pair(less, fox).verdict == "duplicate"


def test_a_decision_for_a_kind_leaves_earlier_verdicts(desk: Desk) -> None:
    fox, less = key(desk, "fox"), key(desk, "fox-less")
    desk.decide(Decide("pair", "not alike", "ben", 0, pair=(less, fox)))
    done = desk.decide(Decide("kind", "keep both", "ann", 1, kind="one is contained"))
    assert done.action.what == "keep both: 1 pair of the kind “one is contained”"
    assert desk.pair(less, fox).verdict == "not alike"
    with pytest.raises(InputError):
        desk.decide(Decide("kind", "keep both", "ann", 2, kind="numbers", filter="size=2"))


def test_undo_restores_the_list_as_it_was(desk: Desk) -> None:
    before = desk.groups(Question())
    desk.decide(Decide("group", "duplicate", "ann", 0, group=key(desk, "fox")))
    assert desk.groups(Question()) != before
    undone = desk.undo("ann")
    assert undone is not None
    after = desk.groups(Question())
    assert after.facets[0] == before.facets[0]  # those of columns are listed when they have been read
    assert replace(after, facets=()) == replace(before, facets=())
    assert desk.undo("ann") is None
    assert [action.number for action in desk.history()] == [2, 1]


def test_undo_leads_back_to_the_pair(desk: Desk) -> None:
    pair = key(desk, "fox-12"), key(desk, "fox")
    desk.decide(Decide("pair", "duplicate", "ann", 0, pair=pair))
    desk.tag(pair[0], "hot", True, "ann", 1)
    untagged, undone = desk.undo("ann"), desk.undo("ann")
    assert untagged is not None
    assert undone is not None
    assert (untagged.next, undone.next) == (None, pair)


def test_sentences_begin_with_what_tells_documents_apart_and_end_with_the_folder(tmp_path: Path) -> None:
    folder, long = "contracts/2403/", "n" * 10_000
    names = [f"{folder}v1", f"{folder}v2", f"{folder}{long}3", f"{folder}{long}4/"]
    made = make_result(tmp_path, {name: f"{TEXTS['fox']} {n}" for n, name in enumerate(names)}, keep="first")
    with closing(Desk.open(made)) as own:
        one, two, three, four = (key(own, name) for name in names)
        seen = iter(range(20))
        actions = [
            own.decide(Decide("pair", "duplicate", "ann", next(seen), pair=(two, one))),
            own.decide(Decide("group", "duplicate", "ann", next(seen), group=one)),
            own.tag(two, "hot", True, "ann", next(seen)),
            own.tag(two, "hot", False, "ann", next(seen)),
            own.tag_group(one, "hot", True, "ann", next(seen)),
            own.keep(two, "remove", "ann", next(seen)),
            own.keep(two, None, "ann", next(seen)),
            own.represent(one, two, "ann", next(seen)),
        ]
        within = f" in {folder}"
        expected = [
            f"duplicate: v2 and v1{within}",
            f"duplicate: 3 pairs in the group of v1{within}",
            f"tag hot on v2{within}",
            f"tag hot taken from v2{within}",
            f"tag hot on the group of v1{within}",
            f"remove: v2{within}",
            f"fate withdrawn: v2{within}",
            f"v2 represents the group of v1{within}",
        ]
        assert [done.action.what for done in actions] == expected
        both = own.decide(Decide("pair", "unsure", "ann", next(seen), pair=(four, three))).action.what
        assert has_parts(both, "…", "n4/ and n", "n3 in")
        assert columns(both) < 700
        assert columns(own.keep(four, "keep", "ann", next(seen)).action.what) < 400


def test_a_change_made_meanwhile_is_not_overwritten(desk: Desk, result: Path) -> None:
    pair = key(desk, "fox-12"), key(desk, "fox")
    seen = desk.pair(*pair).seen
    with_other = Desk.open(result)
    with_other.decide(Decide("pair", "duplicate", "ben", seen, pair=pair))
    with pytest.raises(ChangedMeanwhileError):
        desk.decide(Decide("pair", "not alike", "ann", seen, pair=pair))
    assert desk.pair(*pair).verdict == "duplicate"
    with_other.close()


def test_another_representative_is_judged_anew(desk: Desk) -> None:
    fox, twelve, less = (key(desk, id) for id in ("fox", "fox-12", "fox-less"))
    desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(twelve, fox)))
    desk.represent(fox, less, "ann", 1)
    view = desk.group(fox)
    assert view.key == fox
    assert [str(member.id) for member in view.members] == ["fox", "fox-less", "fox-12", "fox-copy"]
    assert [line.decided for line in lines(desk, "size>2").values()] == [0]
    desk.decide(Decide("group", "duplicate", "ann", 2, group=fox))
    assert [line.decided for line in lines(desk, "size>2").values()] == [2]
    assert desk.undo("ann") is not None
    assert desk.undo("ann") is not None
    assert [line.decided for line in lines(desk, "size>2").values()] == [1]
    with pytest.raises(InputError):
        desk.represent(fox, key(desk, "plan"), "ann", 4)


def test_fates_and_tags_are_shown_and_found(desk: Desk) -> None:
    twelve = key(desk, "fox-12")
    desk.keep(twelve, "keep", "ann", 0)
    desk.tag(twelve, "privileged", True, "ann", 1)
    desk.tag(twelve, "hot", True, "ann", 2)
    member = next(member for member in desk.group(key(desk, "fox")).members if member.key == twelve)
    assert (member.fate, member.tags) == ("keep", ("hot", "privileged"))
    assert ids(desk, "tag:hot") == ids(desk, "fate:keep") == {"fox"}
    desk.tag(twelve, "hot", False, "ann", 3)
    desk.keep(twelve, None, "ann", 4)
    assert ids(desk, "tag:hot") == ids(desk, "fate:keep") == set()
