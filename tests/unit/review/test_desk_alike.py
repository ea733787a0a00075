"""Members of a group that differ from their representative in the same places are one line."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import cast

import pytest

from neardup.review.alike import AlikeCounts, AlikeFilter, AlikeKind, AlikeLine
from neardup.review.desk.desk import Desk
from neardup.review.desk.differences import NOT_COMPARED, NOT_YET, AlikeMembers, sorted_by_place
from neardup.review.desk.lines import AlikeSweep
from neardup.review.source import Decide, GroupView, Question
from support.live_pages import live
from support.made_reviews import make_result
from support.messages import has_parts

CLAUSES = " ".join(f"clause{n} of the agreement about the harbour and its cranes." for n in range(20))
DEED = "Agreement with Anna Berg.\n\n" + CLAUSES + "\n\nThe price is 1,200.00 euros for the whole year."
NOTICE = "\n\nNotice period: each party may end this within thirty days by a letter."
TEXTS = {
    "deed-0": DEED,
    "deed-1": DEED.replace("Anna Berg", "Tom Li").replace("1,200.00", "950.00"),
    "deed-2": DEED.replace("Anna Berg", "Ida Horn").replace("1,200.00", "12,000.00"),
    "deed-3": DEED.replace("Anna Berg", "Tom Li").replace("1,200.00 euros", "950.00 EUROS"),
    "deed-6": DEED.replace("Anna Berg", "Tom Li").replace("1,200.00", "950.00"),
    "deed-7": DEED,
    "deed-4": DEED + NOTICE,
    "deed-5": DEED.replace("Agreement", "Agreement,"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk.open(make_result(tmp_path, TEXTS, threshold=0.3, keep="first"))) as own:
        yield own


def way(desk: Desk, *, words: str) -> AlikeLine:
    (group,) = desk.groups(Question()).lines
    (line,) = (line for line in desk.group(group.key).alike if words in line.words)
    return line


def test_a_line_has_the_members_that_differ_in_the_same_places(desk: Desk) -> None:
    line = way(desk, words="amounts")
    assert line.words == "Anna Berg → 2 names, 1,200.00 → 2 amounts"
    assert (line.kinds, line.more, line.size, line.undecided) == (("name", "amount"), 0, 4, 3)
    assert [(len(row.members), row.copies, row.texts) for row in line.rows] == [
        (2, 1, ("Tom Li", "950.00")),
        (1, 0, ("Ida Horn", "12,000.00")),
    ]


def test_a_paragraph_that_one_member_has_more(desk: Desk) -> None:
    assert way(desk, words="Notice").words == "+ paragraph “Notice period: each party may end this …”"


def test_members_without_a_place_say_so(desk: Desk) -> None:
    assert way(desk, words="no word").rows[0].texts == ()


def test_a_line_is_decided_with_all_its_members(desk: Desk) -> None:
    line, (group,) = way(desk, words="amounts"), desk.groups(Question()).lines
    desk.decide(Decide("members", "duplicate", "Ann", 0, group.key, members=line.members))
    assert way(desk, words="amounts").undecided == 0
    assert way(desk, words="Notice").undecided == 1


def test_a_place_sorts_by_amount(desk: Desk) -> None:
    lines = (way(desk, words="amounts"),)
    assert [row.texts[1] for row in sorted_by_place(lines, 0, 1)[0].rows] == ["950.00", "12,000.00"]
    assert [row.texts[0] for row in sorted_by_place(lines, 0, 0)[0].rows] == ["Ida Horn", "Tom Li"]
    assert sorted_by_place(lines, 0, 2) == sorted_by_place(lines, 1, 0) == lines


def test_the_next_member_of_a_line_is_beside_its_pair(desk: Desk) -> None:
    line, (group,) = way(desk, words="amounts"), desk.groups(Question()).lines
    head = next(member.key for member in desk.group(group.key).members if member.representative)
    last = desk.pair(line.members[-1], head).alike
    assert last is not None
    assert (last.place, last.next) == ("3 of 3 members", (line.members[0], head))
    assert desk.pair(line.members[0], line.members[1]).alike is None


def test_members_that_are_not_compared_yet_are_counted(desk: Desk) -> None:
    desk._reader.seconds = 0.0
    (group,) = desk.groups(Question()).lines
    view = desk.group(group.key)
    assert (view.counts.compared, view.to_judge, view.pending) == (0, group.pairs, True)


def test_a_pair_names_no_place_before_its_group_is_compared(desk: Desk) -> None:
    line, (group,) = way(desk, words="amounts"), desk.groups(Question()).lines
    head = next(member.key for member in desk.group(group.key).members if member.representative)
    desk._lines.alike.forget()
    desk._lines.alike.seconds_beside = 0.0
    assert desk.pair(line.members[0], head).alike is None


def test_texts_that_cannot_be_read_are_not_compared(tmp_path: Path) -> None:
    with closing(Desk.open(make_result(tmp_path, TEXTS, store_texts=False, threshold=0.3))) as own:
        (tmp_path / "documents.jsonl").unlink()
        view = own.group(own.groups(Question()).lines[0].key)
        assert {line.words for line in view.alike} == {NOT_COMPARED}
        assert view.counts == AlikeCounts(1, 7, view.to_judge, (("not compared", 7),))
        assert own.group(view.key, chosen=AlikeFilter("not compared")).alike == view.alike


def test_another_representative_leaves_the_same_members_to_judge(desk: Desk) -> None:
    """Equal words with other characters are no exact copy, whoever leads."""
    (group,) = desk.groups(Question()).lines
    keys = {str(member.id): member.key for member in desk.group(group.key).members}
    assert (group.pairs, group.size) == (5, 8)
    desk.represent(group.key, keys["deed-1"], "Ann", 0)
    (group,) = desk.groups(Question()).lines
    assert group.pairs == 5
    assert not any(member.exact_copy for member in desk.group(group.key).members if str(member.id) == "deed-3")


def test_of_many_places_those_of_the_kind_are_shown(tmp_path: Path) -> None:
    texts = {"deed": DEED}
    for n, word in enumerate(("under", "by", "in")):
        text = DEED.replace("1,200.00", f"{4 - n}00.00")
        for clause in ("clause1", "clause4", "clause7", "clause9"):
            text = text.replace(f"{clause} of", f"{clause} {word}")
        texts[f"deed-{n}"] = text
    with closing(Desk.open(make_result(tmp_path, texts, threshold=0.2, keep="first"))) as own:
        (line,) = view_of(own, None).alike
        assert (line.more, line.columns, line.kinds) == (2, (0, 1, 2), ("words", "amount"))
        (line,) = view_of(own, "amount").alike
        assert (line.places, line.columns, line.more) == (("of", "of", "1,200.00"), (0, 1, 4), 2)
        (line,) = sorted_by_place((line,), 0, 4)
        assert [row.texts[2] for row in line.rows] == ["200.00", "300.00", "400.00"]


def places_of(desk: Desk) -> str:
    """The differences of the one group in the list."""
    (group,) = desk.groups(Question()).lines
    return group.places


def compared(desk: Desk) -> str:
    """The differences in the list, after those that wait were compared."""
    desk._lines.sweep.drain()
    return places_of(desk)


def test_the_list_names_the_places_of_small_groups_when_it_is_loaded_again(desk: Desk) -> None:
    assert places_of(desk) == places_of(desk) == NOT_YET
    assert compared(desk) == "name, amount, paragraph · 3 places"
    desk._lines.forget()
    assert places_of(desk) == NOT_YET


def test_a_list_reads_no_text_for_places(desk: Desk) -> None:
    (group,) = desk.groups(Question()).lines
    held = set(desk._reader._held)
    assert len(held) == 2  # the representative and the least similar member, for their words and difference
    desk._lines.sweep.drain()
    assert len(desk._reader._held) == 1 + group.pairs


def test_of_a_large_group_the_list_compares_the_least_similar_member(tmp_path: Path) -> None:
    texts = {f"deed-{n}": DEED.replace("1,200.00", f"{n},100.00") for n in range(8)}
    texts["deed-8"] = texts["deed-0"].replace("Anna Berg", "the Mayor of the town") + NOTICE
    with closing(Desk.open(make_result(tmp_path, texts, threshold=0.3, keep="first"))) as own:
        assert places_of(own) == NOT_YET
        assert compared(own) == "words, paragraph · 2 places · 1 of 8 compared"
        (group,) = own.groups(Question()).lines
        own.group(group.key)
        assert places_of(own) == "amount, words, paragraph · 3 places"


def test_the_list_names_no_places_of_texts_that_are_long_or_not_read(tmp_path: Path) -> None:
    long = " ".join(f"word{n}" for n in range(9000))
    texts = {"long-1": f"{long} 10", "long-2": f"{long} 20", "deed": DEED, "deed-1": DEED + NOTICE}
    with closing(Desk.open(make_result(tmp_path, texts, keep="first"))) as own:
        assert [line.places for line in own.groups(Question(order="place")).lines] == ["", NOT_YET]
        own._lines.sweep.drain()
        assert [line.places for line in own.groups(Question(order="place")).lines] == ["", "paragraph · 1 place"]
        own.group(own.groups(Question("id:long-1")).lines[0].key)
        assert own.groups(Question("id:long-1")).lines[0].places == "amount · 1 place"
    (tmp_path / "none").mkdir()
    with closing(Desk.open(make_result(tmp_path / "none", TEXTS, store_texts=False, threshold=0.3))) as own:
        (tmp_path / "none" / "documents.jsonl").unlink()
        assert (places_of(own), compared(own)) == (NOT_YET, "")


class Members:
    """Members that are compared by name, in the order in which this is done; some cannot be."""

    def __init__(self, *failing: int) -> None:
        self.compared: list[int] = []
        self.failing = failing

    def lacking(self, members: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        return {head: list(those) for head, those in members.items() if head not in self.compared}

    def compare(self, head: int, members: Sequence[int]) -> None:
        if head in self.failing:
            raise ZeroDivisionError
        self.compared += [head] * bool(members)


def sweep_of(members: Members, threaded: bool = False) -> AlikeSweep:
    return AlikeSweep(cast(AlikeMembers, members), threaded)


def test_the_newest_page_is_compared_first_and_the_oldest_one_is_dropped() -> None:
    members = Members()
    sweep = sweep_of(members)
    for page in range(10):
        sweep.hand_in({10 * page: [1], 10 * page + 1: [2], 5: [3]})
    assert [sweep.has(head) for head in (0, 11, 20, 5, 6)] == [False, False, True, True, False]
    sweep.drain()
    assert members.compared == [90, 91, 5, *(head for page in range(80, 10, -10) for head in (page, page + 1))]
    assert not sweep.has(5)
    sweep.hand_in({90: [1]})
    assert not sweep.has(90)


def test_a_group_that_fails_waits_no_more_and_the_others_still_do() -> None:
    members = Members(1)
    sweep = sweep_of(members)
    sweep.hand_in({1: [10], 2: [20]})
    with pytest.raises(ZeroDivisionError):
        sweep.drain()
    assert (sweep.has(1), sweep.has(2), members.compared) == (False, True, [])
    sweep.drain()
    assert members.compared == [2]


def threads_of_lists() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "members of lists"]


def test_a_thread_compares_between_pages_and_ends(tmp_path: Path) -> None:
    with closing(Desk.open(make_result(tmp_path, TEXTS, threshold=0.3, keep="first"), threaded=True)) as own:
        own.wait_until_sorted()  # the first page of the list is handed in
        for thread in threads_of_lists():
            thread.join()
        assert places_of(own) == "name, amount, paragraph · 3 places"
    assert not threads_of_lists()


def test_nothing_is_compared_after_the_end() -> None:
    members = Members()
    sweep = sweep_of(members, threaded=True)
    sweep.close()
    sweep.hand_in({1: [10]})
    assert (members.compared, threads_of_lists()) == ([], [])


def view_of(desk: Desk, kind: AlikeKind | None) -> GroupView:
    (group,) = desk.groups(Question()).lines
    return desk.group(group.key, chosen=AlikeFilter(kind))


def test_kinds_count_the_members_that_have_each(desk: Desk) -> None:
    counts = view_of(desk, None).counts
    assert (counts.lines, counts.size, counts.compared) == (3, 6, 5)
    assert dict(counts.kinds) == {"name": 4, "amount": 4, "paragraph": 1, "no word": 1}


@pytest.mark.parametrize("kind", ["name", "amount", "words", "paragraph", "no word", "date", "not compared"])
def test_a_kind_shows_the_members_that_have_it(desk: Desk, kind: AlikeKind) -> None:
    whole, view = view_of(desk, None), view_of(desk, kind)
    assert view.counts == whole.counts
    assert sum(line.size for line in view.alike) == dict(whole.counts.kinds).get(kind, 0)
    assert {line.number: line.words for line in view.alike}.items() <= {
        n: a.words for n, a in enumerate(whole.alike)
    }.items()


def test_places_count_the_members_that_differ_there_and_filter_the_lines(desk: Desk) -> None:
    counts = view_of(desk, None).counts
    assert [(one.words, one.size) for one in counts.places] == [
        ("Anna Berg", 4),
        ("1,200.00", 4),
        ("+ paragraph", 1),
    ]
    assert counts.all_places == 3
    (group,) = desk.groups(Question()).lines
    for one in counts.places:
        place = (one.begin, one.end)
        assert sum(line.size for line in desk.group(group.key, chosen=AlikeFilter(None, place)).alike) == one.size
    amounts = AlikeFilter("amount", (counts.places[1].begin, counts.places[1].end))
    (line,) = desk.group(group.key, chosen=amounts).alike
    assert (line.size, line.kinds) == (4, ("name", "amount"))
    assert desk.group(group.key, chosen=replace(amounts, kind="name")).alike == ()
    assert desk.group(group.key, chosen=AlikeFilter(None, (0, 1))).alike == ()


def test_the_page_of_a_group_is_filtered_by_a_place(desk: Desk) -> None:
    (group,) = desk.groups(Question()).lines
    with live(desk) as pages:
        page = pages.get(f"/groups/{group.key}").text
        places = re.findall(r'href="(/groups/[^"]*place=[^"]+)">([^<]+) <span class="quiet">(\d+)</span>', page)
        assert [(words, count) for _, words, count in places] == [
            ("Anna Berg", "4"),
            ("1,200.00", "4"),
            ("+ paragraph", "1"),
        ]
        chosen = pages.get(unescape(places[2][0]))
        assert chosen.text.count('class="way"') == 1
        assert f'href="{places[2][0]}" aria-current="true"' in chosen.text
        assert "“this place”" in pages.get(f"/groups/{group.key}?place=0.1").words
        assert pages.get(f"/groups/{group.key}?place=one").status == 422
        pair = unescape(next(re.finditer(r'<tr class="way">.*?href="(/pairs/[^"]+)"', chosen.text, re.S))[1])
        assert f"/groups/{group.key}?place=" in pages.get(pair).text


def test_of_many_places_those_of_the_most_members_are_listed(tmp_path: Path) -> None:
    words = [f"clause{n}" for n in range(12)]
    texts = {"deed": DEED}
    for n in range(1, 13):
        texts[f"deed-{n}"] = DEED
        for word in words[:n]:
            texts[f"deed-{n}"] = texts[f"deed-{n}"].replace(f"{word} of the agreement", f"{word} in the agreement")
    with closing(Desk.open(make_result(tmp_path, texts, threshold=0.1, keep="first"))) as own:
        counts = view_of(own, None).counts
        assert ([one.size for one in counts.places], counts.all_places) == ([*range(12, 4, -1)], 12)
        (group,) = own.groups(Question()).lines
        with live(own) as pages:
            assert has_parts(pages.get(f"/groups/{group.key}").words, "of · token 6 12", "of 12 places")


def test_a_line_has_only_the_members_of_the_kind(tmp_path: Path) -> None:
    """Two texts in the same place may differ from it in two ways."""
    texts = {
        "deed": DEED,
        "deed-1": DEED.replace("Anna Berg", "Tom Li"),
        "deed-2": DEED.replace("Anna Berg", "the harbour office"),
        "deed-3": DEED.replace("Anna Berg", "Ida Horn"),
    }
    with closing(Desk.open(make_result(tmp_path, texts, threshold=0.3, keep="first"))) as own:
        (whole,) = view_of(own, None).alike
        assert (whole.size, whole.kinds) == (3, ("name", "words"))
        (line,) = view_of(own, "words").alike
        assert (line.size, line.words, line.kinds) == (1, "Anna Berg → the harbour office", ("words",))
        assert [row.id for row in view_of(own, "name").alike[0].rows] == ["deed-1", "deed-3"]
