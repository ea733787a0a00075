"""The list of groups, groups and pairs of a result, as the pages of a review get them."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html import unescape
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.run.review_decisions import items_of
from neardup.deduplication.run.texts import StoredTexts
from neardup.errors import InputError, QueryError
from neardup.review.desk import texts, views
from neardup.review.desk.desk import Desk
from neardup.review.desk.index import ResultDocuments
from neardup.review.desk.subjects import ResultSubject
from neardup.review.desk.texts import BROUGHT_BYTES, TextReader
from neardup.review.source import Decide, Question
from neardup.tables import Int64s, column
from support.live_pages import live
from support.made_reviews import TEXTS, ids, key, lines, make_result
from support.messages import has_parts


def test_a_line_describes_its_group(desk: Desk) -> None:
    found = lines(desk)
    fox = next(line for name, line in found.items() if name.startswith("fox"))
    night = next(line for name, line in found.items() if name.startswith("night"))
    assert len(found) == 3
    assert (fox.size, fox.exact_copies, fox.pairs, fox.decided) == (4, 1, 2, 0)
    assert fox.words.startswith("the quick brown fox")
    assert fox.lowest is not None
    assert 0.5 <= fox.lowest < 1
    assert fox.differs == "differs in 1 number; 1 other member"
    assert (night.pairs, night.differs, night.lowest) == (0, "exact copies only", 1.0)
    assert fox.stake > 0


def test_stake_is_the_share_of_removed_bytes_that_no_document_holds(desk: Desk) -> None:
    rows = desk._subject.found.groups.to_pylist()
    sizes = dict(
        zip(
            desk._subject.found.ranks["id"].to_pylist(),
            desk._subject.found.ranks["bytes"].to_pylist(),
            strict=True,
        )
    )
    lost = [row for row in rows if not row["kept"] and row["lost_shingles"]]
    assert [row["id"] for row in lost] == ["fox-12"]
    expected = round(sizes["fox-12"] * lost[0]["lost_shingles"] / lost[0]["shingles"])
    assert sum(line.stake for line in lines(desk).values()) == expected


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("size>2", {"fox"}),
        ("size=2", {"plan", "night"}),
        ("similarity<.9", {"fox", "plan"}),
        ("similarity >= 1.0", {"night"}),
        ("copies:1", {"fox", "night"}),
        ("kind:numbers", {"fox"}),
        ("NOT kind:numbers", {"plan", "night"}),
        ("kind!=numbers", {"plan", "night"}),
        ('kind:"one is contained" size<4', {"plan"}),
        ("decided:yes", set()),
        ("decided:nothing", {"night"}),
        ("decided:no", {"fox", "plan"}),
        ("id:fox-12 OR id:night-copy", {"fox", "night"}),
        ("file:documents.jsonl", {"fox", "plan", "night"}),
        ("file:other.jsonl", set()),
        ("budgets", {"plan"}),
        ('"quick brown" OR moon', {"fox", "night"}),
        ('"brown quick"', set()),
        ("size>1 AND (moon OR budgets) AND NOT size>3", {"plan", "night"}),
        ("stake>0", {"fox"}),
        ("lost=0", {"plan", "night"}),
        ("tag:privileged", set()),
    ],
)
def test_filters(desk: Desk, filter: str, found: set[str]) -> None:
    assert ids(desk, filter) == found


@pytest.mark.parametrize(
    ("filter", "position", "says"),
    [
        ("size>2 AND colour:red", 11, "size, copies, similarity"),
        ("size>many", 0, "is not a number"),
        ("moon decided:maybe", 5, "yes, no, partly"),
        ("kind:none", 0, "numbers only"),
        ("id>3", 0, "compares numbers"),
        ("moon FINGERPRINT:3_20", 5, "Make a collection"),
        ("moon AND", 8, "clause is missing"),
        ("…", 0, "no word here"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_its_position(
    desk: Desk, filter: str, position: int, says: str
) -> None:
    with pytest.raises(QueryError, match=says) as refused:
        desk.groups(Question(filter))
    assert refused.value.position == position


def test_words_are_refused_where_no_texts_are_stored(tmp_path: Path) -> None:
    desk = Desk.open(make_result(tmp_path, store_texts=False))
    about = desk.about()
    assert not about.texts
    assert any("holds no texts" in note for note in about.notes)
    assert {line.words for line in desk.groups(Question()).lines} == {""}
    with pytest.raises(QueryError):
        desk.groups(Question("moon"))
    assert [line.size for line in desk.groups(Question("size>2")).lines] == [4]
    desk.close()


def test_words_beyond_the_bound_are_left_out_with_a_note(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_BLOCK", 3)
    monkeypatch.setattr(texts, "MOST_POSTINGS", 85)
    page = desk.groups(Question("fox OR moon"))
    assert [has_parts(note, "3 of 6 texts") for note in page.notes] == [True]
    assert [line.size for line in page.lines] == [4]


def test_phrases_are_looked_for_in_a_bounded_number_of_texts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_VERIFIED", 1)
    page = desk.groups(Question('"the quick brown"'))
    assert [has_parts(note, "phrase", "1 text") for note in page.notes] == [True]
    assert [line.size for line in page.lines] == [4]
    assert desk.groups(Question("quick")).notes == ()


def test_about_names_the_run(desk: Desk) -> None:
    about = desk.about()
    assert (about.title, about.measure, about.threshold, about.groups, about.documents) == (
        "result",
        "resemblance",
        0.5,
        3,
        9,
    )
    assert ("groups", "3") in about.facts
    assert about.texts
    assert {"size", "similarity", "decided", "kind", "file"} <= set(about.fields)


def test_a_group_lists_near_members_before_exact_copies(desk: Desk) -> None:
    head = next(line for line in lines(desk, "size>2").values())
    view = desk.group(head.key)
    names = [str(member.id) for member in view.members]
    assert names == ["fox", "fox-less", "fox-12", "fox-copy"]  # the more similar one first
    assert [member.representative for member in view.members] == [True, False, False, False]
    assert [member.exact_copy for member in view.members] == [False, False, False, True]
    less, twelve = view.members[1], view.members[2]
    assert twelve.kind == "differs in 1 number"
    assert less.containment == 1.0
    assert less.contained is not None
    assert less.contained == less.similarity
    assert "documents.jsonl" in less.where
    assert less.metadata == (("day", "8"),)
    assert has_parts(twelve.lost, "5 of 26", "12")
    assert view.weakest == "The weakest link is fox-12, with similarity 0.677 to fox."
    assert len(view.table) == 4
    assert view.table[0][1] == view.table[1][0] == less.similarity
    assert view.table[0][3] == 1.0


def test_a_group_knows_its_neighbours_in_the_list(desk: Desk) -> None:
    question = Question(order="size")
    keys = [line.key for line in desk.groups(question).lines]
    views = [desk.group(key, question) for key in keys]
    assert [view.before for view in views] == [None, *keys[:-1]]
    assert [view.after for view in views] == [*keys[1:], None]


def test_documents_outside_are_those_that_the_result_reports(tmp_path: Path) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    texts = {str(n): " ".join(words[n:] + [f"w{k}" for k in range(n)]) for n in range(6)}
    desk = Desk.open(make_result(tmp_path, texts, length=1, threshold=0.7))
    assert desk._index.pairs
    for group in range(len(desk._index)):
        members = desk._index.members[desk._index.slice(group)].tolist()
        found = [
            (desk._index.documents.id(n), value, desk._index.documents.id(m))
            for n, value, m in views.outside_of(desk._lines, members)
        ]
        expected = desk._subject.found.outside(desk._index.documents.id(members[0]))
        assert found
        assert found == [(other.id, other.similarity, other.member) for other in expected]
    desk.close()


def test_the_page_of_a_large_group_lists_its_first_members(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    texts = {f"n{n}": f"{words} {n}" if n % 2 else words for n in range(700)}
    desk = Desk.open(make_result(tmp_path, texts, kinds=False))
    [line] = desk.groups(Question()).lines
    view = desk.group(line.key)
    assert (line.size, line.exact_copies) == (700, 349)
    assert (len(view.members), view.size) == (300, 700)
    assert "300 of 700" in view.notes[0]
    assert not any(member.exact_copy for member in view.members)
    assert view.table == ()
    assert view.outside == ()  # nor those that the page leaves out
    desk.close()


def test_similarities_that_are_not_stored_are_counted_on_the_texts(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(40)]
    texts = {str(n): " ".join(words[3 * n : 3 * n + 25]) for n in range(5)}
    desk = Desk.open(make_result(tmp_path, texts, length=2, threshold=0.7, groups="components"))
    [line] = desk.groups(Question()).lines
    for _ in range(20):
        view = desk.group(line.key)
        if not any(value is None for row in view.table for value in row):
            break
    assert desk._subject.found.pairs.num_rows < 10
    for row, a in zip(view.table, view.members, strict=True):
        for value, b in zip(row, view.members, strict=True):
            measures = nd.compare(texts[str(a.id)], texts[str(b.id)], length=2).measures
            assert value == measures["resemblance"]
            if b.representative and not a.representative:
                assert (a.containment, a.contained) == (measures["containment_a"], measures["containment_b"])
    desk.close()


def test_a_pair_has_its_place_in_the_group(desk: Desk) -> None:
    fox, twelve, less = (key(desk, id) for id in ("fox", "fox-12", "fox-less"))
    view = desk.pair(twelve, fox)
    assert (view.place, view.before, view.after) == ("pair 2 of 2", (less, fox), None)
    assert view.comparison.kind == "numbers only"
    assert view.comparison.a.text.startswith("the quick")
    assert desk.pair(fox, less).after == (twelve, fox)
    assert desk.pair(twelve, less).place == ""
    assert desk.pair(twelve, fox, ignore_numbers=True).comparison.measures["resemblance"] == 1.0


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("order", ["undecided", "stake", "size", "similarity", "place"])
def test_pages_follow_each_other(desk: Desk, order: str, limit: int) -> None:
    whole = list(lines(desk, order=order))
    seen, after = [], ""
    while True:
        page = desk.groups(Question("", order, after, limit))  # type: ignore[arg-type]
        seen += [str(line.id) for line in page.lines]
        after = page.next
        if not after:
            break
    assert seen == whole


def test_a_page_of_another_list_is_refused(desk: Desk) -> None:
    after = desk.groups(Question(limit=1)).next
    for other in (
        Question("size>1", after=after),
        Question(order="size", after=after),
        Question(after="nonsense"),
    ):
        with pytest.raises(InputError):
            desk.groups(other)


def test_keys_that_do_not_exist_are_refused(desk: Desk) -> None:
    for ask in (lambda: desk.group(10**9), lambda: desk.group(key(desk, "fox-12")), lambda: desk.pair(0, 10**9)):
        with pytest.raises(InputError):
            ask()


def test_the_page_on_filters_lists_every_field(desk: Desk) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "review-filters.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert listed == {*desk.about().fields, "source"} - {"day"}  # a column of the documents


def test_ids_are_those_of_new_documents_and_then_of_the_reference_set() -> None:
    def numbers(*reference: bool) -> list[int]:
        rows = list(range(len(reference)))
        columns = dict.fromkeys(("row", "first", "identical", "bytes"), rows)
        documents = ResultDocuments(pa.table({**columns, "reference": reference, "id": ["a", "b", "a"]}))
        return documents.numbers(pa.chunked_array([["a", "b", "c"]])).tolist()

    assert numbers(True, False, False) == [2, 1, -1]
    assert numbers(False, True, True) == [0, 1, -1]
    assert numbers(True, True, True)[1:] == [1, -1]


def test_a_representative_of_the_reference_set_may_have_the_id_of_a_new_document(tmp_path: Path) -> None:
    old = [{"id": "fox", "text": TEXTS["fox"]}]
    new = [{"id": id, "text": TEXTS[other]} for id, other in (("fox", "fox-12"), ("less", "fox-less"))]
    for name, rows in (("old", old), ("new", new)):
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    found = nd.find(tmp_path / "new.jsonl", against=tmp_path / "old.jsonl", id="id", threshold=0.5)
    found.save(tmp_path / "result")
    desk = Desk.open(tmp_path / "result")
    [line] = desk.groups(Question()).lines
    view = desk.group(line.key)
    assert [member.key for member in view.members] == [0, 1, 2]
    assert [member.words[:80] for member in view.members] == [
        TEXTS[id][:80] for id in ("fox", "fox-12", "fox-less")
    ]
    assert "old.jsonl" in view.members[0].where
    assert desk.pair(1, 0).comparison.b.text == TEXTS["fox"]
    desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(2, 0)))
    assert [line.decided for line in desk.groups(Question()).lines] == [1]
    desk.decide(Decide("pair", "keep both", "ann", 1, pair=(1, 0)))
    [item] = [item for item in items_of(desk._lines.made.state) if item.sort == "keep both"]
    assert item.ids == ("fox", "old:fox")
    desk.close()
    again = nd.find(
        tmp_path / "new.jsonl",
        against=tmp_path / "old.jsonl",
        id="id",
        threshold=0.5,
        decisions=tmp_path / "result",
    )
    assert again.removed["id"].to_pylist() == ["less"]
    assert again.run.decisions is not None
    assert again.run.decisions.applied == 2


@pytest.mark.parametrize("private", [False, True])
def test_a_result_without_groups_says_whether_texts_can_be_read(tmp_path: Path, private: bool) -> None:
    texts = {"one": "a text about the sea", "two": "another one about mountains"}
    with closing(Desk.open(make_result(tmp_path, texts, store_texts=not private))) as desk:
        about = desk.about()
        assert (about.groups, about.texts) == (0, not private)
        assert any("holds no texts" in note for note in about.notes) == private
        assert desk.groups(Question()).lines == ()
        assert has_parts(about.ungrouped, "No document of 2", "resemblance 0.5 or above", "neardup pairs")
        with live(desk) as pages:
            assert about.ungrouped in pages.get("/").words
            assert "No group fits" in pages.get("/?filter=size%3E9").words


@pytest.mark.parametrize("filter", ["", "size=2", "size=2 OR size=4"])
def test_a_facet_leads_to_the_groups_that_it_counts(desk: Desk, filter: str) -> None:
    with live(desk) as pages:
        page = pages.get("/?" + urlencode({"filter": filter})).text
        facets = re.findall(r'<a href="([^"]+)">[^\n]*</a> <span class="quiet">(\d+)</span>', page)
        assert len(facets) >= 2
        for address, groups in facets:
            of = parse_qs(urlsplit(unescape(address)).query)["filter"][0]
            assert desk.groups(Question(of)).found == int(groups)


@pytest.mark.parametrize(
    ("ids", "folders"),
    [
        (("/a/1", "b/2", "/a/3", "b/c/4"), {"/a/": 1, "b/": 1}),
        (("/a/1", "/b/2", "/a/c/3", "/b/4"), {"/a/": 1, "/b/": 1}),
        (("x/a/1", "x/b/2", "x/a/3", "x/b/4"), {"a/": 1, "b/": 1}),
        (("/x/a/1", "/x/b/2", "/x/a/3", "/x/4"), {"a/": 1, "b/": 1}),
        (("https://a.org/1", "/b/2", "https://a.org/3", "/b/4"), {"https:/": 1, "/b/": 1}),
    ],
)
def test_folders_are_counted_whether_they_are_absolute_or_not(
    tmp_path: Path, ids: tuple[str, ...], folders: dict[str, int]
) -> None:
    texts = {id: TEXTS["night" if place % 2 else "plan"] for place, id in enumerate(ids)}
    with closing(Desk.open(make_result(tmp_path, texts))) as desk, live(desk) as pages:
        assert pages.get("/").status == 200
        [facet] = [facet for facet in desk.groups(Question()).facets if facet.name == "Folder"]
        assert {value.words: value.groups for value in facet.values} == folders
        for value in facet.values:
            part = desk.groups(Question(value.clause))
            assert (part.found, facet in part.facets) == (value.groups, False)
            assert facet in desk.groups(Question()).facets


@pytest.mark.parametrize(("other", "columns"), [(TEXTS["night"], 0), (TEXTS["night"] + " and sea", 1)])
def test_a_column_without_a_value_is_left_out(tmp_path: Path, other: str, columns: int) -> None:
    """The text that a removed copy loses is none, and so in every row."""
    texts = {"one": TEXTS["night"], "two": other, "mill": TEXTS["plan"], "mill-copy": TEXTS["plan"]}
    with closing(Desk.open(make_result(tmp_path, texts, keep="first"))) as desk, live(desk) as pages:
        assert pages.get("/").text.count('<th scope="col" class="number">Text at stake</th>') == columns


def test_columns_of_the_documents_are_fields(tmp_path: Path) -> None:
    """Parts of a value in any case, whole values, and comparisons of numbers and dates."""
    people = ("Ann <ann@example.org>", "Bob <bob@example.org>")
    rows = [
        {"id": f"d{n}", "text": TEXTS["fox" if n < 2 else "night"] + f" {n}", "from": people[n // 2], "date": day}
        | {"path": f"mails/{n}.eml"}
        for n, day in enumerate(("2024-03-02", "2024-03-01", "2024-05-01", "2024-04-30"))
    ]
    path = tmp_path / "mails.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    nd.find(path, id="id", threshold=0.5).save(tmp_path / "result")
    desk = Desk.open(tmp_path / "result")
    desk._warming.join()
    expected = {"from:ANN": 1, "from:example": 2, 'from="Ann <ann@example.org>"': 1, "from=Ann": 0, "from!=ann": 1}
    expected |= {"date>=2024-04": 1, "date<2024-03-02": 1, "date:2024": 2}
    expected |= {
        "date=2024": 2,
        "date=2024-03": 1,
        "date=2024-03-02": 1,
        "date=202": 0,
        "date<=2024": 2,
        "date>2024": 0,
        "date>2023": 2,
        "date<=2023": 0,
        "date<=2024-03": 1,
        "date>2024-04": 1,
    }
    assert {filter: desk.groups(Question(filter)).found for filter in expected} == expected
    facets = {facet.name: facet.values for facet in desk.groups(Question()).facets}
    assert {value.words: value.groups for value in facets["From"]} == dict.fromkeys(people, 1)
    assert not facets.keys() & {"Date", "Path"}  # each value is that of one document
    for value in facets["From"]:
        assert desk.groups(Question(value.clause)).found == value.groups
    view = next(desk.group(line.key) for line in desk.groups(Question("from:bob")).lines)
    assert desk.in_time(*(member.key for member in view.members)) == (3, 2)  # by date, not by id
    desk.close()


@pytest.mark.parametrize(
    ("moments", "values"),
    [
        ([f"2024-03-{1 + n % 2:02}T10:00:{n:02}Z" for n in range(20)], ["2024-03-01", "2024-03-02"]),
        ([f"2024-{1 + n % 3:02}-{1 + n:02}T10:00:00Z" for n in range(20)], ["2024-01", "2024-02", "2024-03"]),
        ([f"{2010 + n // 7}-{1 + n % 12:02}-{1 + n:02} 10:00" for n in range(20)], ["2010", "2011", "2012"]),
        ([f"title {n}" for n in range(20)], []),  # as many as groups
    ],
)
def test_moments_are_counted_by_their_days_months_or_years(
    tmp_path: Path, moments: list[str], values: list[str]
) -> None:
    rows = [
        {"id": f"{n}-{k}", "text": f"{chr(97 + n) * 9} {TEXTS['fox']} {f'{n}x' * 9}{'.' * k}", "when": moment}
        for n, moment in enumerate(moments)
        for k in (0, 1)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    nd.find(tmp_path / "rows.jsonl", id="id", threshold=1.0).save(tmp_path / "result")
    with closing(Desk.open(tmp_path / "result")) as desk:
        desk.wait_until_sorted()
        facets = {facet.name: facet.values for facet in desk.groups(Question(limit=1)).facets}
        facet = facets.get("When", ())
        assert sorted(value.words for value in facet) == values
        for value in facet:
            assert desk.groups(Question(value.clause)).found == value.groups


def dated(folder: Path, days: dict[str, str]) -> Path:
    """A result of one group: mails that grow by a sentence, with these days in the order of growth."""
    rows, text = [], TEXTS["fox"]
    for n, (id, day) in enumerate(days.items()):
        rows.append({"id": id, "text": text, **({"date": day} if day else {})})
        text += f" and {n} more of them came over the hill"
    path = folder / "mails.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    nd.find(path, id="id", threshold=0.3).save(folder / "result")
    return folder / "result"


def test_members_are_a_line_of_versions_by_date_with_the_step_from_each_to_the_next(tmp_path: Path) -> None:
    days = {"c": "2024-03-03T10:00:00Z", "a": "2024-03-01", "none": "", "d": "2024-03-04", "b": "2024-03-02"}
    with closing(Desk.open(dated(tmp_path, days))) as desk:
        (line,) = desk.groups(Question()).lines
        alone = desk.panes(line.key, Question()).members  # before the page of the group
        members = desk.group(line.key).members
        assert [member.id for member in members] == ["a", "b", "c", "d", "none"]  # the representative in its place
        assert [member.date for member in members] == ["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04", ""]
        assert members[0].step is None
        index = desk._index.documents
        for before, member in pairwise(members):
            ends = index.at(before.key), index.at(member.key)
            assert member.step == desk._lines.computed.similarity(*ends)
        head = next(member.key for member in members if member.representative)
        beside = desk.panes(line.key, Question())
        assert beside.head == head
        assert beside.members == alone
        assert [(item.key, item.step) for item in beside.members] == [(one.key, one.step) for one in members]
        pairs = [(member.key, head) for member in members if member.key != head]
        walked = [pairs[0]]
        while (following := desk.pair(*walked[-1]).after) is not None:
            walked.append(following)
        assert walked == pairs  # the keys of a pair go the same way


@pytest.mark.parametrize("known", [True, False])
def test_a_group_names_the_kinds_of_its_pairs_when_all_are_known(tmp_path: Path, known: bool) -> None:
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    nd.find(path, id="id", threshold=0.5, kinds=known).save(tmp_path / "result")
    with closing(Desk.open(tmp_path / "result")) as desk:
        listed = desk.groups(Question()).lines
        kinds = {str(line.id): line.kinds for line in listed}
        panes = desk.panes(key(desk, "fox"), Question()).groups
        assert {str(line.id): line.kinds for line in panes} == kinds
        pairs = {str(line.id): line.pairs * known for line in listed}
        assert {id: len(of) for id, of in kinds.items()} == pairs
        assert ("numbers only" in kinds["fox"]) == known


def test_without_dates_versions_follow_by_similarity_and_copies_last(desk: Desk) -> None:
    members = desk.group(key(desk, "fox")).members
    assert [member.id for member in members] == ["fox", "fox-less", "fox-12", "fox-copy"]
    assert [member.step is None for member in members] == [True, False, False, True]
    assert members[1].step == members[1].similarity


def test_quotes_are_the_passages_that_documents_of_the_group_have(desk: Desk) -> None:
    fox = desk._index.documents.at(key(desk, "fox"))
    quotes = desk.quotes(key(desk, "fox"), 10)
    assert quotes.shared == quotes.tokens == len(TEXTS["fox"].split())
    assert quotes.compared == 3
    assert quotes.note.startswith("compared with 3 documents")
    holders = {other.id: other for passage in quotes.passages for other in passage.others}
    assert set(holders) == {"fox-12", "fox-copy", "fox-less"}
    assert all(holders[id].key == key(desk, str(id)) for id in holders)
    assert quotes.passages[0].text.startswith(TEXTS["fox"][:200])
    assert not desk.quotes(int(desk._index.documents.rows[fox]), 1000).passages


class CountedReads(StoredTexts):
    """Stored texts that count what is read at once, and what is read by itself."""

    def __init__(self, folder: Path, rows: Int64s) -> None:
        super().__init__(folder, rows, lambda row: ("", row))
        self.batches: list[int] = []
        self.single: list[int] = []

    def read_ahead(self, rows: Int64s) -> bool:
        self.batches.append(len(rows))
        return super().read_ahead(rows)

    def _values(self, row: int, name: str) -> dict[str, Any] | None:
        self.single.append(row)
        return super()._values(row, name)


@pytest.fixture
def reads(result: Path) -> Iterator[tuple[Desk, CountedReads]]:
    loaded = nd.load(result)
    texts = CountedReads(result, column(loaded.ranks, "row"))
    with closing(Desk(ResultSubject(replace(loaded, texts=texts), result))) as desk:
        yield desk, texts


def test_a_page_reads_the_stored_texts_once(reads: tuple[Desk, CountedReads]) -> None:
    desk, texts = reads
    first = lines(desk)
    assert (len(first), texts.single) == (3, [])
    assert texts.batches == [5]  # two of each group with differences, one of a group of copies
    desk._lines.sweep.drain()
    second = lines(desk)
    assert [line.places for line in second.values()] != [line.places for line in first.values()]
    assert lines(desk) == second
    assert (texts.batches, texts.single) == ([5], [3])  # the other member of a group that differs


@pytest.mark.parametrize("few", [2, 3])
def test_a_page_reads_at_most_eight_megabytes_at_once(few: int) -> None:
    """The first documents that fit; a single one is read when it is looked at."""
    sizes = np.array([BROUGHT_BYTES // few] * (few + 2))
    batches: list[list[int]] = []
    texts: Any = SimpleNamespace(read_ahead=lambda rows: bool(batches.append(rows.tolist())))
    documents: Any = SimpleNamespace(bytes=sizes, rows=np.arange(len(sizes)) * 10)
    reader = TextReader(documents, texts)
    reader.read_ahead([*reversed(range(len(sizes))), 0])
    assert batches == [[10 * number for number in range(few)]]
    reader.read_ahead([1])
    sizes[0] = BROUGHT_BYTES + 1
    reader.read_ahead(range(len(sizes)))
    assert len(batches) == 1


@pytest.mark.parametrize("ask", ["queue", "group", "panes", "threshold", "sample_of_kind"])
def test_no_page_reads_document_by_document(reads: tuple[Desk, CountedReads], ask: str) -> None:
    desk, texts = reads
    desk._warming.join()
    texts.batches.clear()
    texts.single.clear()
    fox = key(desk, "fox")
    given: dict[str, tuple[Any, ...]] = {"queue": ("undecided",), "group": (fox,), "panes": (fox, Question())}
    given["sample_of_kind"] = ("numbers only",)
    getattr(desk, ask)(*given.get(ask, ()))
    assert texts.single == []
    assert len(texts.batches) <= 1


def test_mails_are_titled_by_their_subject_without_the_marks_of_replies(tmp_path: Path) -> None:
    for n, subject in enumerate(("Foxes, again", "Re: Foxes, again", "AW: Re: Foxes, again")):
        mail = f"From: ann@example.org\nSubject: {subject}\n\n{TEXTS['fox']} {n}\n"
        (tmp_path / f"{n}_mail.eml").write_text(mail, encoding="utf-8")
    nd.find(tmp_path, threshold=0.5).save(tmp_path / "result")
    with closing(Desk.open(tmp_path / "result")) as desk:
        (line,) = desk.groups(Question()).lines
        (beside,) = desk.panes(line.key, Question()).groups
    assert (line.title, beside.title) == ("Foxes, again", "Foxes, again")
    assert line.words.startswith(TEXTS["fox"][:20])


def test_the_folder_that_all_members_share_is_not_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "matter" / "Shared drives" / "Contracts and renewals"
    folder.mkdir(parents=True)
    for id in ("fox", "fox-12"):
        (folder / f"{id}.txt").write_text(TEXTS[id], encoding="utf-8")
    nd.find(tmp_path / "matter", threshold=0.5).save(tmp_path / "result")
    with closing(Desk.open(tmp_path / "result")) as desk:
        (line,) = desk.groups(Question()).lines
        view = desk.group(line.key)
    assert (line.title, line.folder) == ("fox", "Shared drives/Contracts and renewals/")
    assert re.fullmatch(
        r"The weakest link is fox(-12)?\.txt, with similarity 0\.\d+ to fox(-12)?\.txt\.", view.weakest
    )
    for member in view.members:
        assert dict(member.metadata).keys() == {"mtime"}
        assert re.fullmatch(r"[\d-]{10}T[\d:]{8}Z", dict(member.metadata)["mtime"])


@pytest.mark.parametrize(
    ("dates", "order", "ids"),
    [
        (["2013-01-02", "2020-03-04", "2019-01-01"], "by date", ["a_v3", "a_v2", "a_v1"]),
        (["2013-01-02", "", "2019-01-01"], "by name (1 of 3 have no date)", ["a_v1", "a_v2", "a_v3"]),
        (["", "", ""], "by name", ["a_v1", "a_v2", "a_v3"]),
    ],
)
def test_a_group_and_its_pairs_have_one_order_that_says_where_it_comes_from(
    tmp_path: Path, dates: list[str], order: str, ids: list[str]
) -> None:
    words = [f"w{n}" for n in range(40)]
    rows = [
        {"id": f"a_v{n}", "text": " ".join([*words, f"end{n}"]), **({"date": date} if date else {})}
        for n, date in zip((3, 1, 2), dates, strict=True)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    nd.find(tmp_path / "in.jsonl", id="id", text="text", threshold=0.5).save(tmp_path / "out")
    with closing(Desk.open(tmp_path / "out")) as desk:
        (line,) = desk.groups(Question()).lines
        view = desk.group(line.key)
        assert (view.order, [str(member.id) for member in view.members]) == (order, ids)
        keys = [member.key for member in view.members]
        for one, other in combinations(keys, 2):
            assert desk.in_time(other, one) == (one, other)
