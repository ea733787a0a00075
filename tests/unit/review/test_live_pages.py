"""The live pages over HTTP: what each shows, changes, and refuses."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any
from urllib.parse import urlencode

import pytest

import neardup as nd
from neardup.collection import Collection
from neardup.review.desk.desk import Desk
from neardup.review.desk.lines import marks_of
from neardup.review.desk.metadata import Subjects
from neardup.review.desk.texts import Budget
from neardup.review.desk.views import FINDS, finds
from neardup.review.source import Decide, DrawSeconds, GroupLine, Question
from support.live_pages import Pages, live, on_enter
from support.made_reviews import make_result
from support.messages import has_parts

NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay 12, where the crane stands, and pay the fee at the gate."
)
LIBRARY = "The library opens at nine on weekdays and at ten on Saturdays; books can be returned through the hatch."
TEXTS = {
    "notice": NOTICE,
    "notice-13": NOTICE.replace("12", "13"),
    "notice-mon": NOTICE.replace("Friday", "Monday"),
    "library": LIBRARY,
    "library-10": LIBRARY + " Bring 10 books.",
}
"""Two groups; the first document of each represents it, and the key of a document is its row."""
NUMBERS = "/kinds?kind=numbers+only"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(tmp_path_factory.mktemp("pages"), TEXTS, keep="first")


@pytest.fixture
def pages(desk: Desk) -> Iterator[Pages]:
    with live(desk) as made:
        yield made


@contextmanager
def pages_of(folder: Path, texts: dict[str, str]) -> Iterator[Pages]:
    """The pages of a result of its own."""
    with closing(Desk.open(make_result(folder, texts, keep="first"))) as desk, live(desk) as made:
        yield made


EVERY = (
    "/",
    "/groups/0",
    "/pairs/1/0",
    "/pairs/1/0?view=list",
    "/pairs/1/0?view=quotes&length=50",
    "/queues/undecided",
    "/threshold",
    "/kinds",
    NUMBERS,
    "/history",
    "/sitting",
    "/batches",
    "/export",
    "/find",
    "/find?q=notice",
    "/keys",
)


@pytest.mark.parametrize("address", EVERY)
def test_every_page_has_one_heading_and_no_script_or_style_inside(pages: Pages, address: str) -> None:
    seen = pages.get(address)
    assert seen.status == 200
    assert seen.text.count("<h1") == 1
    assert '<body class="neardup">' in seen.text  # else the style sheets do not apply
    assert "<style" not in seen.text
    assert " style=" not in seen.text
    scripts = re.findall(r"<script([^>]*)>([^<]*)", seen.text)
    assert [bool(re.search(" src=", tag)) and not inside for tag, inside in scripts] == [True, True]
    assert len(seen.content) < 100_000


def test_every_page_has_the_numbers_of_decided_pairs_and_conflicts(pages: Pages, desk: Desk) -> None:
    for seen, (pair, verdict) in enumerate((((1, 0), "duplicate"), ((2, 0), "unsure"), ((1, 0), "keep both"))):
        desk.decide(Decide("pair", verdict, "Ann", seen, pair=pair))  # type: ignore[arg-type]
    desk.draw_seconds(DrawSeconds(("Bea",), 100, 1, "Max", 3))
    desk.decide_second((2, 0), "not alike", "", "Bea", 4)
    for address in (*EVERY, "/second/1/0", "/find?q=zzz", "/?filter=size>("):
        done = "2 of 3 pairs decided · 5 documents · 1 group open · 1 conflict"
        assert done in pages.get(address).words, address


@pytest.mark.parametrize("address", EVERY)
def test_enter_in_a_field_saves_that_field_and_no_verdict(pages: Pages, address: str) -> None:
    for to, fields, (name, value) in on_enter(pages.get(address)):
        saved = {"note": ("verdict", "note"), "tag": ("on", "yes")}
        wanted = next((saved[field] for field in fields if field in saved), None)
        # the button for the tag of one document, those of filters and numbers have no name
        assert (name, value) in (wanted, ("", "")), (address, to, fields)
        assert wanted is None or to != "/decide" or name == "verdict"


def test_a_filter_is_in_the_address_and_a_wrong_one_is_explained(pages: Pages) -> None:
    found = pages.get("/?filter=harbour")
    assert "1 group, undecided first" in found.words
    assert "/groups/0?filter=harbour" in found.text
    wrong = pages.get("/?filter=(")
    assert wrong.status == 400
    assert "A clause is missing" in wrong.words
    assert 'aria-invalid="true"' in wrong.text
    assert pages.get("/?order=age").status == 422


def test_the_pane_of_groups_has_what_the_list_has_at_stake(pages: Pages, desk: Desk) -> None:
    pane = pages.get("/groups/0").text.partition('id="pane-groups"')[2].partition("</nav>")[0]
    staked = [line.stake for line in desk.groups(Question()).lines if line.stake]
    assert len(staked) > 0
    assert len(re.findall(r"<span>(?!none|unknown)[^<]+ at stake", pane)) == len(staked)


def test_a_long_list_has_a_next_page(tmp_path: Path) -> None:
    words = {f"{n}": " ".join(f"g{n}w{place}" for place in range(20)) for n in range(60)}
    with pages_of(tmp_path, {**words, **{f"{n}x": f"{text} x" for n, text in words.items()}}) as pages:
        first = pages.get("/")
        assert first.text.count('<th scope="row">') >= 50
        [following] = re.findall(r'rel="next" href="([^"]+)"', first.text)
        assert 'rel="next"' not in pages.get(following).text
        assert len(first.content) < 100_000


def test_a_large_group_is_shown_in_parts(tmp_path: Path) -> None:
    with pages_of(tmp_path, {f"m{n}": f"{NOTICE} {n}" for n in range(70)}) as pages:
        parts = [pages.get(f"/groups/0?from={begin}") for begin in (0, 30, 60)]
        assert len(parts[0].content) < 100_000
        assert "70 documents" in parts[0].words
        shown = [re.findall(r'<label for="tag(\d+)">', part.text) for part in parts]
        assert [len(one) for one in shown] == [30, 31, 11]  # the representative is on each
        assert len({key for one in shown for key in one}) == 70
        assert 'href="/groups/0?from=30"' in parts[0].text
        tagged = pages.submit(parts[2], "/tag", tag="read")
        assert tagged.to == "/groups/0?from=60&done=1"


def test_a_pair_says_which_view_options_are_on(pages: Pages) -> None:
    assert "Ignore numbers" in pages.get("/pairs/1/0").words
    ignoring = pages.get("/pairs/1/0?numbers=off")
    assert "Numbers are ignored" in ignoring.words
    assert "no difference" in pages.get("/pairs/1/0?numbers=off&view=list").words


def test_readings_of_ocr_are_hidden_on_request_and_counted(tmp_path: Path, pages: Pages) -> None:
    notice = f"{NOTICE}\n{LIBRARY}\n{' '.join(f'line{n}' for n in range(20, 60))}\nThis is the end."
    scanned = notice.replace("12", "13").replace("come", "corne").replace("end", "encl")
    with pages_of(tmp_path, {"notice": notice, "scan": scanned}) as made:
        shown = made.get("/pairs/1/0")
        [hide] = re.findall(r'href="([^"]+)">Hide OCR<', shown.text)
        hiding = made.get(hide)
        assert "2 differences" in shown.words
        assert "1 difference 1 hidden" in hiding.words
        assert "OCR may explain 2 places; 1 of 2 differences is nothing else." in hiding.words
        marks = [page.text.count('<del class="reading"><span') for page in (shown, hiding)]
        assert marks == [2, 0]
        assert "ocr=hide" in made.submit(hiding, "/decide", ("verdict", "note"), note="read").to
        [show] = re.findall(r'href="([^"]+)">Show OCR<', hiding.text)
        assert "hidden" not in made.get(show).words
    assert "Hide OCR" not in pages.get("/pairs/1/0").words
    assert "no difference that OCR explains" in pages.get("/pairs/1/0?ocr=hide").words


def test_hard_line_ends_are_flowed_unless_lines_are_as_written(tmp_path: Path, pages: Pages) -> None:
    """A paragraph that a program has cut into lines is one row, in which a sentence is whole."""
    written = "\n".join(wrap(NOTICE, 60))
    end, begin = written.partition("\n")[0][-20:], written.partition("\n")[2][:10]
    with pages_of(tmp_path, {"notice": written, "notice-13": written.replace("12", "13")}) as cut:
        flowed, lines = cut.get("/pairs/1/0"), cut.get("/pairs/1/0?lines=written")
        assert "As written" in flowed.words
        assert "Flow lines" in lines.words
        assert [page.text.count(f"{end} {begin}") for page in (flowed, lines)] == [2, 0]
    assert "As written" not in pages.get("/pairs/1/0").words


def test_quotes_have_links_to_the_documents_and_other_lengths(pages: Pages) -> None:
    quotes = pages.get("/pairs/1/0?view=quotes")
    assert "34 of 34 tokens" in quotes.words
    assert ">50</a>" in quotes.text
    assert 'href="/pairs/0/2?view=quotes"' in quotes.text
    assert "0 of 34 tokens" in pages.get("/pairs/1/0?view=quotes&length=50").words
    assert pages.get("/pairs/1/0?view=quotes&length=7").status == 422


def test_swapped_sides_show_the_other_document_first_and_decide_the_same_pair(pages: Pages, desk: Desk) -> None:
    swapped = pages.get("/pairs/1/0?swap=1")
    assert "A: notice-13 B: notice " in swapped.words
    assert "A: notice B: notice-13" in pages.get("/pairs/1/0").words
    pages.submit(swapped, "/decide", ("verdict", "keep both"))
    assert desk.pair(1, 0).verdict == "keep both"


def test_the_list_of_differences_names_number_and_side(pages: Pages) -> None:
    listed = pages.get("/pairs/4/3?view=list")
    assert "Difference 1 of 1, only in B" in listed.words
    assert "after “" not in pages.get("/pairs/4/3").words


def test_members_above_a_similarity_are_decided_together(pages: Pages, desk: Desk) -> None:
    group = pages.get("/groups/0")
    similarities = [desk.pair(member, 0).a.similarity or 0.0 for member in (1, 2)]
    decided = pages.submit(group, "/decide", ("verdict", "duplicate"), asked="above", above=str(max(similarities)))
    assert decided.to == "/groups/0?done=1"
    assert desk.history()[0].changes == sum(value == max(similarities) for value in similarities)


def test_representative_fate_and_tag_are_changed_on_the_group_page(pages: Pages, desk: Desk) -> None:
    def tags() -> dict[str, tuple[str, ...]]:
        return {str(member.id): member.tags for member in desk.group(0).members if member.tags}

    pages.submit(pages.get("/groups/0"), "/represent")
    assert [member.id for member in desk.group(0).members if member.representative] == ["notice-mon"]
    pages.submit(pages.get("/groups/0"), "/keep", ("fate", "remove"))
    assert {member.id: member.fate for member in desk.group(0).members if member.fate} == {"notice": "remove"}
    pages.submit(pages.get("/groups/0"), "/tag", tag="privileged")
    [tagged] = tags().items()
    assert tagged[1] == ("privileged",)
    assert pages.submit(pages.get("/groups/0"), "/tag", tag=" ").status == 422
    shown = pages.get("/groups/0")
    assert "always remove" in shown.words
    assert "#privileged" in shown.words
    pages.submit(shown, "/tag-group", ("on", "no"), tag=" privileged ")
    assert tags() == {}
    assert pages.submit(pages.get("/groups/0"), "/tag-group", ("on", "yes"), tag=" ").status == 422
    pages.submit(pages.get("/groups/0"), "/tag-group", ("on", "yes"), tag="<b>")
    assert tags() == dict.fromkeys(("notice", "notice-13", "notice-mon"), ("<b>",))
    assert pages.get("/groups/0").words.count("#&lt;b&gt;") == 6  # as a tag, and on the button that takes it away


def test_a_kind_is_decided_at_once_after_samples_and_undone_at_once(pages: Pages, desk: Desk) -> None:
    kind = pages.get(NUMBERS)
    assert "1 undecided pair" in kind.words
    done = pages.get(pages.submit(kind, "/decide", ("verdict", "keep both")).to)
    assert desk.pair(1, 0).verdict == "keep both"
    pages.submit(done, "/undo")
    assert desk.pair(1, 0).verdict is None


def test_a_queue_leads_back_to_itself(pages: Pages, desk: Desk) -> None:
    queue = pages.get("/queues/undecided")
    assert "3 pairs" in queue.words
    assert 'href="/pairs/1/0?queue=undecided"' in queue.text
    pair = pages.get("/pairs/1/0?queue=undecided")
    assert "pair 1 of 3" in pair.words
    assert "queue=undecided" in pages.submit(pair, "/decide", ("verdict", "unsure")).to


def test_the_threshold_has_curves_of_its_effect(pages: Pages) -> None:
    text = pages.get("/threshold?value=0.7").text
    assert "Counts at each threshold" in text
    counted = re.search(r"At ([\d.]+): (\d+) documents, (\d+) removed, (\d+) groups\.", text)
    assert counted is not None
    threshold, documents, removed, groups = counted.groups()
    row = f"{threshold}</a></th>" + "".join(f'<td class="number">{n}</td>' for n in (groups, documents, removed))
    assert row in text


def test_labels_around_the_threshold_give_a_precision_with_its_interval(pages: Pages, desk: Desk) -> None:
    page = pages.get("/threshold?value=0.7")
    assert "Pairs around 0.700" in page.words
    done = pages.submit(page, "/decide", ("verdict", "not alike"))
    assert done.to == "/threshold?value=0.7&done=1"
    assert has_parts(pages.get(done.to).words, "0 of 1 labelled", "0.000, 95 % interval")
    assert pages.get("/threshold?value=7").status == 422


def test_the_sitting_is_on_a_page_that_every_footer_leads_to(pages: Pages, desk: Desk) -> None:
    first = pages.get("/")
    assert 'href="/sitting"' in first.text
    assert "0 of 3 pairs decided · 5 documents · 2 groups open" in first.words
    assert "not decided anything" in pages.get("/sitting").words
    desk.decide(Decide("pair", "duplicate", "Ann", 0, pair=(1, 0), note="fees"))
    seen = pages.get("/sitting")
    assert has_parts(seen.words, "duplicate 1 2 1", "together 1 2 1", "notes 1", "left 2 pairs in 2 groups")
    assert "actions undone" not in seen.words


def test_groups_are_handed_out_by_a_form_and_taken_back(pages: Pages) -> None:
    first = pages.get("/batches?filter=harbour")
    assert has_parts(first.words, "nobody 2 3 0 3 Next undecided")
    assert 'value="harbour"' in first.text
    for people in ("", ",", "Ann: 0", "Ann: x", "Ann, Ann"):
        assert pages.submit(first, "/hand-out", people=people).status == 422
    done = pages.get(pages.submit(first, "/hand-out", people="Ann Lee: 3, Bea").to)
    assert has_parts(done.words, "to Ann Lee 1, Bea 0", "Ann Lee 1 2 0 2")
    link = 'href="/?filter=batch%3A%22Ann+Lee%22"'
    assert link in done.text
    assert "1 group" in pages.get(html.unescape(link.removeprefix('href="')[:-1])).words
    pages.submit(done, "/take-back")
    back = pages.get("/batches")
    assert has_parts(back.words, "nobody 2 3 0 3")
    assert "Ann Lee 1" not in back.words
    assert pages.submit(back, "/undo").to == "/batches?done=3"


def words_of(name: str) -> str:
    """Words that no other name has."""
    return " ".join(f"{name}{n}" for n in range(40))


def naive_finds(desk: Desk, text: str, subjects: dict[str, str]) -> tuple[list[str], set[int]]:
    """The ids of the documents that have the words, and the keys of the groups, by one look at each."""
    words, ids, groups = text.lower().split(), [], set()
    for line in desk.groups(Question()).lines if words else ():
        members = desk.group(line.key).members
        here = [str(one.id) for one in members if all(word in str(one.id).lower() for word in words)]
        (head,) = (str(one.id) for one in members if one.representative)
        titled = all(word in head.lower() or word in subjects.get(head, "").lower() for word in words)
        ids += here
        groups |= {line.key} if here or titled else set()
    return ids, groups


def test_names_are_found_by_words_in_any_case_and_taken_literally(pages: Pages, desk: Desk) -> None:
    assert 'id="finds"' not in pages.get("/find").text
    ids = [str(member.id) for line in desk.groups(Question()).lines for member in desk.group(line.key).members]
    for words in ("", ids[0].upper(), ids[0][:1], ids[0][1:] + " " + ids[0][:1], "%", "id:*", "(", "no such name"):
        finds = desk.find(words)
        expected, groups = naive_finds(desk, words, {})
        assert sorted(str(one.id) for one in finds.documents) == sorted(expected)
        assert finds.count == len(expected)
        assert {line.key for line in finds.groups} == groups
        assert finds.of_groups == len(groups)
        assert all(desk.pair(*one.pair).group == one.group for one in finds.documents if one.pair)
        page = pages.get(f"/find?{urlencode({'q': words})}")
        assert (page.status, "No document in" in page.words) == (200, bool(words) and not groups)
        for one in finds.documents:
            assert str(one.id) in page.words


@pytest.mark.parametrize("of_collection", [False, True])
def test_mails_are_found_by_the_subject_of_their_representative(tmp_path: Path, of_collection: bool) -> None:
    subjects = {
        f"{person}/{n}": f"{'Re: ' * bool(n)}Delivery OF {person}"
        for person in ("oil", "Öl", "salt")
        for n in (0, 1)
    }
    rows = [{"id": id, "text": f"{words_of(id[:2])} {id}", "subject": subject} for id, subject in subjects.items()]
    with ExitStack() as opened:
        if of_collection:
            made = opened.enter_context(Collection(tmp_path / "mail.neardup"))
            made.add(rows, metadata=["subject"], near=0.9, on_near="link")
            own = Desk.of_collection(made)
        else:
            file = tmp_path / "mail.jsonl"
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            nd.find(file, id="id", text="text", threshold=0.9).save(tmp_path / "result")
            own = Desk.open(tmp_path / "result")
        opened.callback(own.close)
        shown = opened.enter_context(live(own))
        assert own.groups(Question()).found == 3
        for words in (
            "delivery",
            "of öl",
            "ÖL delivery /1",
            "salt delivery",
            "re: oil",
            "/1",
            "delivery x",
            "\x00",
        ):
            finds, (ids, groups) = own.find(words), naive_finds(own, words, subjects)
            assert (sorted(str(one.id) for one in finds.documents), finds.waiting) == (sorted(ids), 0)
            assert {line.key for line in finds.groups} == groups
        assert own.find("delivery").count == 0
        assert len(own.find("delivery").groups) == 3
        assert "Delivery OF salt" in shown.get("/find?q=salt+of").words


def test_subjects_are_read_while_there_is_time(tmp_path: Path) -> None:
    file = tmp_path / "mail.jsonl"
    rows = [{"id": n, "text": f"{NOTICE} {n}", "subject": "The Fee"} for n in range(2)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    nd.find(file, id="id", text="text", threshold=0.5).save(tmp_path / "result")
    with closing(Desk.open(tmp_path / "result")) as own:
        subjects, heads = own._subjects, own._made.heads
        assert subjects.read(heads, Budget(0.0)) == 1
        assert finds(own._lines, ["fee"], Subjects(own._index.documents, None)).groups == ()
        assert subjects.read(heads, Budget(1000.0)) == subjects.read(heads, Budget(0.0)) == 0
        assert subjects.with_word(heads, "FEE").tolist() == [True]


def test_groups_that_have_the_words_in_all_names_come_first(tmp_path: Path) -> None:
    names = ("alpha one", "alpha two", "alpha deed", "beta deed one", "beta deed two")
    texts = {name: f"{words_of(name[:4])} {name}" for name in names}
    with closing(Desk.open(make_result(tmp_path, texts, keep="first"))) as own:
        assert [line.title for line in own.find("deed").groups] == ["beta deed", "alpha"]


def test_the_first_of_many_names_are_listed_with_the_number_of_all(tmp_path: Path) -> None:
    texts = {f"deed{n:02}": f"{'harbour notice ' * 30} number {n}" for n in range(FINDS + 3)}
    texts |= {f"plan{g:02}_{n}": f"{words_of(f'p{g}')} {n}" for g in range(FINDS + 1) for n in (0, 1)}
    with closing(Desk.open(make_result(tmp_path, texts))) as own, live(own) as shown:
        finds = own.find("deed")
        assert (len(finds.documents), len(finds.groups), finds.count) == (FINDS, 1, FINDS + 3)
        assert f"first {FINDS} of {FINDS + 3} documents of groups" in shown.get("/find?q=deed").words
        assert f"first {FINDS} of {FINDS + 1} groups" in shown.get("/find?q=plan").words


def test_names_made_to_harm_are_found_and_shown_as_text(tmp_path: Path) -> None:
    names = ["<b>&lt;", "\u202egpj.exe", 'say "so"', "two\nlines", "'", "x" * 10_000, "y" * 9_999 + "z"]
    texts = {name: f"{NOTICE} {n}" for n, name in enumerate(names)}
    with closing(Desk.open(make_result(tmp_path, texts))) as own, live(own) as shown:
        for name in names:
            words = name.split()[-1][-1990:]
            assert name in {str(one.id) for one in own.find(words).documents}
            page = shown.get(f"/find?{urlencode({'q': words})}")
            listed = page.text.partition('id="finds"')[2]
            assert (page.status, len(page.content) < 20_000) == (200, True)
            assert not any(part in listed for part in ("<b>", "\u202e", "x" * 1000))


def line_of(key: int, id: str, title: str = "", folder: str = "", words: str = "words") -> GroupLine:
    return GroupLine(key, id, words, 2, 0, None, None, "", 0, 0, 1, title, folder)


@pytest.mark.parametrize(
    ("lines", "marks"),
    [
        ([("a/deed_1", "deed", "a/"), ("b/memo_1", "memo", "b/")], ["", ""]),
        ([("a/deed_1", "deed", "a/"), ("b/deed_1", "deed", "b/")], ["a/", "b/"]),
        ([("a/deed_1", "deed", "a/"), ("a/deed_3", "deed", "a/")], ["deed_1", "deed_3"]),
        (
            [("a/deed_1", "deed", "a/"), ("a/deed_3", "deed", "a/"), ("b/1", "deed", "b/")],
            ["deed_1", "deed_3", "b/"],
        ),
        ([("a/1/deed", "deed", "a/"), ("a/2/deed", "deed", "a/")], ["a/1/deed", "a/2/deed"]),
        ([("1", "", ""), ("2", "", "")], ["1", "2"]),
        ([("x/1", "", "x/"), ("2", "words", "")], ["x/", "2"]),
    ],
)
def test_lines_that_look_alike_have_a_mark_that_no_other_has(lines: list[Any], marks: list[str]) -> None:
    made = [line_of(key, *values) for key, values in enumerate(lines)]
    assert list(marks_of(made).values()) == marks


def test_a_title_that_others_have_begins_with_what_tells_them_apart(tmp_path: Path) -> None:
    names = [(f"240{n}/{name}_v", words_of(f"{n}{name}")) for n, name in enumerate(("deed", "deed", "memo"))]
    names += [("scans/scan_0", words_of("one")), ("scans/scan_1", words_of("other"))]
    texts = {f"{name}{n}": f"{words} {n}" for name, words in names for n in (1, 2)}
    with closing(Desk.open(make_result(tmp_path, texts, keep="first"))) as own, live(own) as shown:
        beside = shown.get(f"/groups/{own.groups(Question()).lines[0].key}").words
        listed, looked_up = shown.get("/").words, shown.get("/find?q=scans").words
        assert has_parts(listed, "2400/ deed", "2401/ deed", "memo 2402/", "11 scan", "01 scan")
        assert has_parts(beside, "2400/ deed", "2401/ deed", "11 scan", "01 scan")
        assert has_parts(looked_up, "01 scan", "11 scan")
        assert "2402/" not in beside


def test_a_second_verdict_is_given_without_a_look_at_the_first(pages: Pages, desk: Desk) -> None:
    assert "is decided yet" in pages.get("/batches").words
    desk.decide(Decide("pair", "duplicate", "Max", 0, pair=(1, 0), note="the fees"))
    first = pages.get("/batches")
    assert "of 1 decided pair" in first.words
    for values in ({"people": ","}, {"share": "0"}, {"share": "101"}, {"people": "Max"}, {"filter": "size>9"}):
        assert pages.submit(first, "/draw-seconds", **{"people": "Ann", **values}).status == 422
    drawn = pages.get(pages.submit(first, "/draw-seconds", people="Ann").to)
    [link] = re.findall(r'href="(/second/[^"]*)"', drawn.text)
    seconds = pages.get(link)
    assert "of 1 decided pair by seed 1 to Ann 1" in drawn.words
    assert not re.search('the fees|verdict"[^>]*aria-pressed|Withdraw|near copy of|tag duplicate', seconds.text)
    assert "1 second verdict for you" in seconds.words
    done = pages.submit(seconds, "/second", ("verdict", "not alike"), note="other parties")
    assert done.to == "/batches?done=3"
    after = pages.get(done.to)
    assert has_parts(
        after.words, "Max Ann 1 0 0.000", "by seed 1", "duplicate Max", "Note: the fees", "not alike Ann"
    )
    assert "Note: other parties" in after.words
    assert pages.submit(seconds, "/second", ("verdict", "unsure")).status == 422
    assert "1 conflict" in pages.get("/").words
    assert "Save note" not in seconds.words
    both = ("first duplicate Max", "UTC the fees second not alike Ann", "UTC other parties")
    pair = pages.get("/pairs/1/0")
    assert has_parts(pair.words, "Conflict of two verdicts", *both, "resolves")
    assert has_parts(pages.get("/queues/conflicts").words, "1 pair", "Ann: not alike", "other parties")
    said = ("1 conflict", "notice and notice-13", "duplicate Max", "note: the fees", "against", "not alike Ann")
    assert has_parts(pages.get("/history").words, *said, "note: other parties", *said, "note: other parties")
    pages.submit(pair, "/decide", ("verdict", "keep both"), note="agreed")
    resolved = pages.get("/pairs/1/0").words
    assert has_parts(resolved, "Two verdicts", *both, "later keep both Ann", "UTC agreed")
    assert "1 conflict" not in pages.get("/history").words
    assert "in this queue" in pages.get("/queues/conflicts").words
    assert "1 of 3 pairs decided" in after.words


BLIND = f"""/ /?filter=size%3A4&order=place /?filter=verdict%3Aduplicate /?filter=verdict!%3Dunsure /?done=1 /keys
/groups/{{0}} /groups/{{0}}?sort=0.0 /pairs/{{1}}/{{0}} /pairs/{{0}}/{{1}}?swap=1 /pairs/{{1}}/{{0}}?view=list
/pairs/{{1}}/{{0}}?view=quotes /second/{{1}}/{{0}} /queues/undecided /queues/threshold /queues/outside
/queues/conflicts /kinds {NUMBERS} /history /sitting /batches /find?q=notice""".split()
"""Pages that a second reviewer opens; 0 is the representative, 1 the member."""


@pytest.mark.parametrize("kind", ["result", "collection"])
def test_no_page_of_a_second_reviewer_depends_on_the_first_verdict(tmp_path: Path, kind: str) -> None:
    """The pages are equal, but for times, whatever Max decided, with and without a note, until Ann judged."""
    texts = {"notice": NOTICE, "notice-13": TEXTS["notice-13"], "notice-mon": TEXTS["notice-mon"]}
    texts |= {"notice-13-copy": TEXTS["notice-13"], "library": LIBRARY, "library-10": TEXTS["library-10"]}
    matter = tmp_path / "result"
    if kind == "result":
        make_result(tmp_path, texts, keep="first")
    else:
        with Collection(matter) as collection:
            collection.add([{"id": id, "text": texts[id]} for id in texts], near=0.5, on_near="link")
    shown, after = [], set()
    # in a collection, documents that are not alike leave their group at once
    for number, verdict in enumerate(("duplicate", "keep both", "unsure", "not alike")[: 3 + (kind == "result")]):
        with ExitStack() as stack:
            own = tmp_path / str(number) / "result"
            if kind == "result":
                desk = Desk.open(shutil.copytree(matter, own))
            else:
                own.parent.mkdir()
                desk = Desk.of_collection(stack.enter_context(Collection(shutil.copy(matter, own))))
            stack.callback(desk.close)
            members = desk.group(desk.groups(Question("size:4")).lines[0].key).members
            head, other, third = (
                next(line.key for line in members if line.id == id) for id in ("notice", "notice-13", "notice-mon")
            )
            note = ("the fees", "")[number % 2]
            desk.decide(Decide("pair", verdict, "Max", 9, pair=(other, head), note=note))  # type: ignore[arg-type]
            desk.draw_seconds(DrawSeconds(("Ann",), 100, 1, "Max", 9, "id:notice"))
            desk.decide(Decide("pair", "duplicate", "Max", 9, pair=(third, head)))
            pages = stack.enter_context(live(desk))
            keys = [pages.get(path.format(head, other)).text for path in BLIND]
            shown.append([re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d[+:\d]*)?", "", text) for text in keys])
            pages.submit(pages.get(f"/pairs/{other}/{head}"), "/second", ("verdict", "unsure"))
            after.add(pages.get(f"/pairs/{other}/{head}").words)
    for path, *same in zip(BLIND, *shown, strict=True):
        assert len(set(same)) == 1, path
    assert len(after) == len(shown)


def test_kappa_of_one_verdict_alone_is_said_to_be_undefined(pages: Pages, desk: Desk) -> None:
    desk.decide(Decide("pair", "unsure", "Max", 0, pair=(1, 0)))
    pages.submit(pages.get("/batches"), "/draw-seconds", people="Ann")
    pages.submit(pages.get("/second/1/0"), "/second", ("verdict", "unsure"))
    assert has_parts(pages.get("/batches").words, "Max Ann 1 1 1.000", "to 1.000 undefined")
    assert "conflict" not in pages.get("/").words


def test_history_names_who_and_when_and_undoes_any_action(pages: Pages, desk: Desk) -> None:
    for pair in ("/pairs/1/0", "/pairs/2/0"):
        pages.submit(pages.get(pair), "/decide", ("verdict", "duplicate"))
    history = pages.get("/history")
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC Ann", history.words)
    pages.post("/undo", {"then": "history", "action": 1})
    assert desk.history()[-1].undone_by == 3
    assert "undone by 3" in pages.get("/history").words


def test_exports_are_files_to_save(pages: Pages) -> None:
    saved = pages.get("/export/tags.csv")
    assert saved.headers["content-disposition"] == 'attachment; filename="tags.csv"'
    assert saved.headers["content-type"].startswith("text/csv")
    assert saved.text == "\ufeffid,tags\n"  # by the mark a spreadsheet recognises UTF-8
    assert 'href="/export/groups.xlsx?all=1"' in pages.get("/export").text
    every = pages.get("/export/groups.jsonl?all=1")
    assert every.headers["content-disposition"] == 'attachment; filename="all.jsonl"'
    assert [json.loads(line)["id"] for line in every.text.splitlines()] == [*TEXTS]
    assert pages.get("/export/tags.csv?all=1").text == saved.text


def test_a_pair_is_a_document_with_tracked_changes_the_earlier_text_first(pages: Pages) -> None:
    saved = pages.get("/pairs/1/0/redline.docx")
    assert saved.headers["content-disposition"] == 'attachment; filename="redline.docx"'
    with zipfile.ZipFile(io.BytesIO(saved.content)) as file:
        document = file.read("word/document.xml").decode()
    assert re.findall(r"<w:delText[^>]*>([^<]*)<", document) == ["12"]
    assert re.findall(r"<w:ins [^>]*><w:r><w:t[^>]*>([^<]*)<", document) == ["13"]
    assert pages.get("/pairs/1/99/redline.docx").status == 404


def test_rows_of_members_that_differ_alike_are_shown_in_parts(tmp_path: Path) -> None:
    texts = {f"notice-{n}": NOTICE.replace("12", str(n)) for n in range(12, 80)}
    with pages_of(tmp_path, texts) as pages:
        first = pages.get("/groups/0").text
        assert first.count("data-members=") == 60
        assert 'href="/groups/0?rows=0.60"' in first
        assert pages.get("/groups/0?rows=0.60").text.count("data-members=") == 7
        ascending = re.findall(
            r'<td dir="auto"[^>]*><span class="words">(\d+)</span>', pages.get("/groups/0?sort=0.0").text
        )
        assert ascending == [str(n) for n in range(13, 73)]
        assert 'href="/groups/0?rows=0.60&amp;sort=0.0"' in pages.get("/groups/0?sort=0.0").text
        assert pages.get("/groups/0?sort=x").status == pages.get("/groups/0?rows=1").status == 422


def test_a_group_is_filtered_by_what_differs(tmp_path: Path) -> None:
    texts = {f"notice-{n}": NOTICE.replace("12", str(n)) for n in range(12, 80)}
    with pages_of(tmp_path, {**texts, "monday": NOTICE.replace("Friday", "Monday")}) as pages:
        whole = pages.get("/groups/0?sort=0.0").text
        kinds = re.findall(
            r'<a href="(/groups/0[^"]*)"[^>]*>(\w+) <span class="quiet">(\d+)<', whole.partition('"Places')[0]
        )
        assert [(words, members) for _, words, members in kinds] == [
            ("All", "68"),
            ("amount", "67"),
            ("words", "1"),
        ]
        words = pages.get(html.unescape(kinds[2][0]))
        assert "1 of 2 lines, 1 of 68 members" in words.words
        decided = pages.submit(words, "/decide", ("verdict", "duplicate"))
        assert decided.to == "/groups/0?kind=words&sort=0.0&done=1"
        assert "1 of 68 pairs decided" in pages.get(decided.to).words
        assert pages.submit(pages.get(decided.to), "/undo").to == "/groups/0?kind=words&sort=0.0&done=2"
        amounts = pages.get("/groups/0?kind=amount&sort=0.0")
        assert 'href="/groups/0?kind=amount&amp;rows=0.60&amp;sort=0.0"' in amounts.text
        assert "rows 61 to 67 of 67" in pages.get("/groups/0?kind=amount&rows=0.60&sort=0.0").words


def test_a_column_sorts_by_its_place_though_others_before_it_are_not_shown(tmp_path: Path) -> None:
    monday = NOTICE.replace("Friday", "Monday")
    texts = {"notice": NOTICE, **{f"m{n}": monday.replace("12", str(n)) for n in (15, 14, 13)}}
    with pages_of(tmp_path, texts) as pages:
        assert 'href="/groups/0?sort=0.1">12' in pages.get("/groups/0").text
        by_amount = pages.get("/groups/0?sort=0.1").text
        assert re.findall(r'<td dir="auto"[^>]*><span class="words">(\d+)</span>', by_amount) == ["13", "14", "15"]


def test_many_lines_are_shown_in_parts(tmp_path: Path) -> None:
    """Each member has another word less."""
    words = [f"{one}{other}" for one in "abcdefghijklmno" for other in "abcdefghij"]
    texts = {f"n{n}": " ".join(words[: n * 2] + words[n * 2 + bool(n) :]) for n in range(72)}
    with pages_of(tmp_path, texts) as pages:
        first = pages.get("/groups/0?kind=words")
        assert "60 of 71 lines, 60 of 71 members" in first.words
        assert first.text.count('class="way"') == 60
        rest = pages.get("/groups/0?kind=words&lines=60")
        assert 'href="/groups/0?kind=words&amp;lines=60"' in first.text
        assert "11 of 71 lines" in rest.words
        assert 'href="/groups/0?kind=words"' in rest.text
        decided = pages.submit(rest, "/decide", ("verdict", "duplicate"))
        assert decided.to == "/groups/0?kind=words&lines=60&done=1"


def test_a_pair_leads_back_to_the_kinds_of_its_group(tmp_path: Path) -> None:
    with pages_of(tmp_path, {**TEXTS, "notice-14": NOTICE.replace("12", "14")}) as pages:
        assert 'href="/pairs/1/0?kind=amount"' in pages.get("/groups/0?kind=amount").text
        pair = pages.get("/pairs/1/0?kind=amount")
        assert pair.text.count('href="/groups/0?kind=amount"') == 2
        decided = pages.submit(pair, "/decide", ("verdict", "duplicate"))
        assert decided.to == "/pairs/5/0?kind=amount&was_a=1&was_b=0&done=1"
        assert pages.get("/pairs/1/0?kind=amounts").status == 422


def test_a_kind_that_no_member_has_leads_to_the_whole_group(pages: Pages) -> None:
    empty = pages.get("/groups/0?kind=date")
    assert "under “date”: 2 of 2 members" in empty.words
    assert 'href="/groups/0">Show the whole group' in empty.text
    assert '<table class="list alike"' not in empty.text
    refused = pages.get("/groups/0?kind=dates")
    assert refused.status == 422
    assert "amount, date, name" in refused.words


def test_rows_that_a_line_lacks_are_no_empty_page(pages: Pages) -> None:
    for rows in ("9.0", "0.99"):
        assert pages.get(f"/groups/0?rows={rows}").text.count('class="way"') == 2


def test_a_decision_leads_to_the_next_pair_and_can_be_undone(pages: Pages, desk: Desk) -> None:
    pair = pages.get("/pairs/1/0")
    decided = pages.submit(pair, "/decide", ("verdict", "duplicate"), note="seen twice")
    assert (decided.status, decided.to) == (303, "/pairs/2/0?was_a=1&was_b=0&done=1")
    following = pages.get(decided.to)
    assert "Done: duplicate: notice-13 and notice" in following.words
    assert (desk.pair(1, 0).verdict, desk.pair(1, 0).note) == ("duplicate", "seen twice")
    undone = pages.submit(following, "/undo")
    assert undone.to == "/pairs/1/0?done=2"
    assert 'name="action"' not in pages.get(undone.to).text  # there is nothing to undo
    assert desk.pair(1, 0).verdict is None
    assert desk.history()[0].by == "Ann"
