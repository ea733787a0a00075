"""Groups, members and pairs side by side in a real browser: what keys do there, and where the parts are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from neardup.display import similarity
from neardup.review.desk.desk import Desk
from neardup.review.live.app import READ, Served, review_app, templates
from neardup.review.source import QUEUES, Decide, DrawSeconds, HandOut, Question
from neardup.service.web.middleware import Tokens
from support.browser import COLOURS, RULES, another, chromium, served, violations
from support.desk_pages import (
    COUNCIL,
    LONG_NAME,
    LONG_NOTE,
    desk_over,
    judge_all,
    key_of,
    pairs_of,
    press,
    said,
    unbroken_texts,
)
from support.full_run import FULL
from support.made_reviews import make_result
from support.messages import has_parts

ARABIC = "يغلق مكتب الميناء يوم الجمعة لأن الرصيف قيد الإصلاح. على القوارب القادمة استخدام الرصيف الشمالي 12. "


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def matter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, str]]:
    """Thirty deals in two versions, and a plan in six."""
    words = [f"{COUNCIL} {' '.join(f'deal{n}word{k}' for k in range(60))}" for n in range(30)]
    texts = {f"deals/{n:02}/deed_v{v}.txt": f"{words[n]} Price {v}." for n in range(30) for v in (1, 2)}
    texts |= {f"plans/plan_v{v}.txt": ARABIC * 3 + f" {v} {v * 7}" for v in range(6)}
    own = Desk.open(make_result(tmp_path_factory.mktemp("matter"), texts, threshold=0.5))
    with closing(own), served(review_app(own, Served(by="Ann"))) as url:
        yield own, url


def places(page: Any) -> list[dict[str, float]]:
    parts = ("header.bar", "#undo button", "#pane-groups", "#pane-members", "#here", "#heading", "form.decide")
    return [{k: page.locator(part).bounding_box()[k] for k in "xy"} for part in parts]


def test_three_panes_go_to_the_next_undecided_pair_and_nothing_moves(
    chrome: Any, matter: tuple[Desk, str]
) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url, viewport={"width": 1366, "height": 768})) as context:
        page = context.new_page()
        page.goto(f"/groups/{key_of(desk, 'deals/07/deed_v1.txt')}")
        page.click("table.members a")
        page.wait_for_url("**/pairs/**")
        assert page.inner_text("#pane-groups [aria-current]").startswith("deals/07/ deed")
        page.evaluate("window.same = true")
        before = places(page)
        for key in ("n", "2", "n"):
            address = page.url
            page.keyboard.press(key)
            page.wait_for_url(lambda url, old=address: url != old)
            assert places(page) == before
            pane, own = (page.locator(f"#pane-groups{part}").bounding_box() for part in ("", " [aria-current]"))
            assert pane["y"] <= own["y"] <= pane["y"] + pane["height"] - own["height"] + 1  # parts of a pixel
        assert page.evaluate("window.same")  # no page was loaded
        press(page, desk, "u")
        page.set_viewport_size({"width": 768, "height": 700})
        assert not page.is_visible("#pane-groups")
        assert page.is_visible("#here")


def test_the_palette_finds_a_command_a_group_and_a_document(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url, viewport={"width": 1366, "height": 768})) as context:
        page = context.new_page()
        page.goto("/")
        page.keyboard.press("k")
        options, box = page.locator("dialog [role=option]"), page.locator("dialog input")
        page.keyboard.type("HISTORY deed")
        options.filter(has_text="Look in the texts").wait_for()
        assert options.count() == 1
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
        page.keyboard.press("k")
        page.keyboard.type("deed_v1 07/")
        options.filter(has_text="represent").wait_for()
        assert options.first.get_attribute("id") == box.get_attribute("aria-activedescendant") == "find-0"
        assert not violations(page)
        page.keyboard.press("ArrowUp")  # the last one: the document
        assert options.last.get_attribute("aria-selected") == "true"
        page.keyboard.press("Enter")
        [one] = desk.find("deed_v1 07/").documents
        page.wait_for_url(f"**/pairs/{one.pair[0]}/{one.pair[1]}" if one.pair else f"**/groups/{one.group}")
        context.route("**/find?*", lambda route: route.abort())
        page.goto("/history")
        page.keyboard.press("k")
        page.keyboard.type("deed")
        options.filter(has_text="Names were not looked up").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("k")
        page.keyboard.type("fold pan")
        page.keyboard.press("Enter")
        said(page, "No panes are beside this page.")


def test_the_palette_shows_names_made_to_harm_as_text(chrome: Any, tmp_path: Path) -> None:
    names = ["<img src=x onerror=alert(1)>", "\u202egpj.exe", 'say "so" &amp;', "two\nlines", "x" * 10_000]
    texts = {name: f"{COUNCIL * 2} {n}" for n, name in enumerate(names)}
    with (
        closing(Desk.open(make_result(tmp_path, texts))) as own,
        served(review_app(own, Served(by="Ann"))) as url,
        closing(chrome.new_context(base_url=url, viewport={"width": 390, "height": 700})) as context,
    ):
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto("/")
        options = page.locator("dialog [role=option]")
        for name in names:
            page.keyboard.press("k")
            page.locator("dialog input").fill(name[-100:])
            options.filter(has_text="represent").first.wait_for()
            shown = " ".join(options.all_inner_texts())
            assert "\u202e" not in shown
            assert page.locator("dialog img").count() == 0
            over = "each => each.scrollWidth - each.clientWidth"
            assert page.locator("dialog ul").evaluate(over) <= 0
            assert max(box.bounding_box()["height"] for box in options.all()) < 400
            page.keyboard.press("Escape")
        assert not faults


def test_a_reader_is_offered_no_change_and_each_key_for_one_says_why(
    chrome: Any, matter: tuple[Desk, str]
) -> None:
    desk, _ = matter
    token = "r0123456789abcdef"
    before = len(desk.history(limit=1000))
    with (
        served(review_app(desk, Served(tokens=Tokens.of(f"read {token}")))) as url,
        closing(chrome.new_context(base_url=url)) as context,
    ):
        page = context.new_page()
        page.goto("/")
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("#filter")
        page.goto("/")
        page.keyboard.press("k")
        page.locator("dialog [role=option]").first.wait_for()
        offered = page.locator("dialog [role=option]").all_inner_texts()
        assert "next group g" in [" ".join(words.split()) for words in offered]
        assert not [words for words in offered if any(words.startswith(command["does"]) for command in writing())]
        page.keyboard.press("Escape")
        group = key_of(desk, "plans/plan_v1.txt")
        for address in ("/", f"/groups/{group}", f"/pairs/{group}/{group + 1}", "/batches", "/history"):
            page.goto(address)
            assert page.locator("main form[method=post]:not([action$='/leave'])").count() == 0
            for command in writing():
                page.evaluate("document.querySelector('#said').textContent = ''")
                page.keyboard.press(command["on"][0])
                said(page, "You can read, but not decide.")
    assert len(desk.history(limit=1000)) == before


def writing() -> list[dict[str, Any]]:
    """The commands that change something."""
    return [command for command in templates().globals["commands"].table.values() if command.get("writes")]


STATE = """() => JSON.stringify([
    [...document.querySelectorAll('*')].indexOf(document.activeElement), document.querySelectorAll(
    'dialog, details[open], .now, :checked').length, document.documentElement.dataset.panes,
    document.querySelector('#said').textContent])"""
CALM = """() => {
    document.querySelectorAll("dialog").forEach(each => each.close());
    document.activeElement.blur();
    document.querySelector("#said").textContent = "";
}"""
SAID = 100
"""Milliseconds after which a page has said what it says."""


def test_a_key_on_any_page_does_something_or_says_why_not(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, url = matter
    group = key_of(desk, "plans/plan_v1.txt")
    first, second, *_ = (line.key for line in desk.group(group).members if not line.representative)
    desk.decide(Decide("pair", "duplicate", "Max", 10**6, pair=(first, group)))
    desk.draw_seconds(DrawSeconds(("Ann",), 100, 1, "Max", 10**6))
    pages = ["/", f"/groups/{group}", f"/pairs/{second}/{group}", "/groups/99999", "/?filter=size>(", "/history"]
    if FULL:
        pages += [f"/pairs/{second}/{group}?view=list", f"/second/{first}/{group}", "/queues/undecided"]
        pages += ["/queues/tags", "/threshold", "/kinds", "/kinds?kind=numbers+only", "/batches", "/sitting"]
        pages += ["/export", "/find", "/find?q=plan", "/keys", "/?filter=size>99"]
    commands = templates().globals["commands"].table
    keys = [one["on"][0] for name, one in commands.items() if not one.get("own") and name != "leave"]
    asked: list[str] = []

    def refuse(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(status=204 if route.request.is_navigation_request() else 500)  # the page stays

    with closing(chrome.new_context(base_url=url, viewport={"width": 1366, "height": 768})) as context:
        page = context.new_page()
        silent = []
        for address in pages:
            page.goto(address)
            page.route("**", refuse)
            for key in keys:
                page.evaluate(CALM)
                asked.clear()
                before = page.evaluate(STATE)
                page.keyboard.press(key)
                for _ in range(50):  # of a machine that is busy
                    page.wait_for_timeout(SAID)
                    if asked or page.evaluate(STATE) != before:
                        break
                else:
                    silent.append((address, key))
            page.unroute("**")
        assert not silent
    desk.undo("Max")
    desk.undo("Max")


def test_a_key_decides_all_members_that_differ_alike(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, url = matter
    group = key_of(desk, "plans/plan_v1.txt")
    (way,) = desk.group(group).alike
    with closing(chrome.new_context(base_url=url)) as context:
        page = context.new_page()
        page.goto(f"/groups/{group}")
        page.locator("table.alike tr[data-members] a").nth(1).focus()
        row = press(page, desk, "2")
        assert (row.changes, desk.group(group).alike[0].undecided) == (1, way.undecided - 1)
        press(page, desk, "u")
        page.locator("table.alike tr.way a").first.focus()
        assert press(page, desk, "2").changes == way.size
        press(page, desk, "u")
        page.locator("table.alike tr.way a").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/pairs/**")
        assert f"1 of {way.size} members" in page.inner_text(".line .alike")
        page.keyboard.press("m")
        page.wait_for_url(f"**/pairs/{way.members[1]}/*")
        page.goto(f"/groups/{group}")
        page.click("table.alike tr.heads a >> nth=0")
        page.wait_for_selector("table.alike tr.heads a[aria-current]")


@pytest.mark.parametrize("full", ["", "?full=1"])
def test_a_pair_on_paper_has_its_texts_and_no_buttons(chrome: Any, matter: tuple[Desk, str], full: str) -> None:
    desk, url = matter
    group = desk.group(key_of(desk, "deals/07/deed_v1.txt"))
    a, b = (member.key for member in group.members)
    with closing(chrome.new_context(base_url=url)) as context:
        page = context.new_page()
        page.goto(f"/pairs/{a}/{b}{full}")
        words = [
            " ".join(sheet.extract_text().split()) for sheet in PdfReader(BytesIO(page.pdf(format="A4"))).pages
        ]
    printed = " ".join(words)
    assert has_parts(printed, "deed_v1.txt", "deed_v2.txt", "numbers only", "Price 1", "Price 2")
    assert ("deal7word20" in printed, "equal tokens" in printed) == (bool(full), not full)
    for label in ("Duplicate", "Undo", "Groups", "Side by side", "Next undecided", "Single keys", "change"):
        assert label not in printed
    assert words[-1].startswith(f"{len(words)} / {len(words)}")


@pytest.mark.parametrize("width", [1366, 390])
def test_a_row_of_members_that_differ_alike_is_one_line(chrome: Any, matter: tuple[Desk, str], width: int) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url, viewport={"width": width, "height": 800})) as context:
        page = context.new_page()
        page.goto(f"/groups/{key_of(desk, 'plans/plan_v1.txt')}")
        rows = page.locator("table.alike tr[data-members]").all()
        assert len(rows) > 2
        assert max(row.bounding_box()["height"] for row in rows) <= 34
        assert page.locator("table.alike tr.heads").first.is_visible() == (width == 1366)


def test_the_checked_members_are_decided_together(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url)) as context:
        page = context.new_page()
        page.goto(f"/groups/{key_of(desk, 'plans/plan_v1.txt')}")
        boxes = page.locator("input[type=checkbox]")
        assert boxes.count() == 5
        boxes.nth(1).click()
        boxes.nth(3).click(modifiers=["Shift"])
        assert page.locator("input[name=member]:checked").count() == 3
        assert press(page, desk, "1").changes == 3
        assert press(page, desk, "u").undoes is not None
        page.keyboard.press("1")  # none is checked: nothing is decided for the whole group
        page.locator("table.members tbody a").first.focus()
        page.keyboard.press("x")
        assert page.locator("input[name=member]:checked").count() == 1


@pytest.mark.parametrize(("width", "scheme"), [(1366, "light"), (390, "dark")])
def test_members_are_a_line_of_versions_with_each_path_once(
    chrome: Any, matter: tuple[Desk, str], width: int, scheme: str
) -> None:
    desk, url = matter
    group = key_of(desk, "plans/plan_v1.txt")
    view = {"viewport": {"width": width, "height": 768}, "color_scheme": scheme}
    with closing(chrome.new_context(base_url=url, **view)) as context:
        page = context.new_page()
        page.goto(f"/groups/{group}")
        steps = page.locator("table.members td.step").all_inner_texts()
        shares = [similarity(line.step) if line.step is not None else "" for line in desk.group(group).members]
        assert [step.rpartition(" ")[2] for step in steps] == shares
        assert shares.count("") == 1
        main = page.inner_text("main")
        assert main.count("plans/") == 1  # the folder, beside the heading
        assert violations(page, COLOURS) == []
        page.locator("table.members tbody a").first.click()
        page.wait_for_url("**/pairs/**")
        pane = page.locator("#pane-members")
        assert pane.is_visible() == (width > 1000)
        assert [step.rpartition(" ")[2] for step in pane.locator(".step").all_text_contents()] == shares[1:]
        assert pane.locator("li").count() == len(shares)


def test_history_is_in_local_time_with_its_zone(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, url = matter
    key = key_of(desk, "plans/plan_v1.txt")
    action = desk.keep(key, "keep", "Ann", 10**6).action
    hour = (datetime.fromisoformat(action.at) + timedelta(hours=9)).strftime("%I:%M")
    for script, shown in ((True, (hour, "GMT+9")), (False, (action.at[11:16], "UTC"))):
        with closing(
            chrome.new_context(base_url=url, timezone_id="Asia/Tokyo", java_script_enabled=script)
        ) as context:
            page = context.new_page()
            page.goto("/history")
            assert has_parts(page.locator("time").first.inner_text(), *shown)
    desk.undo("Ann")


def test_facets_count_the_groups_that_their_links_find(chrome: Any, matter: tuple[Desk, str]) -> None:
    desk, _ = matter
    found = desk.groups(Question())
    facets = {facet.name: facet.values for facet in found.facets}
    assert {"Size", "Folder"} <= set(facets)
    for values in facets.values():
        for value in values:
            assert desk.groups(Question(value.clause)).found == value.groups
    assert desk.groups(Question("path:deals/07")).found == 1
    assert desk.groups(Question("NOT path:DEALS/")).found == 1
    assert {line.title for line in found.lines} == {"deed", "plan"}


def tabs_to_duplicate(page: Any) -> int:
    """The keys from the top of a page to the button: Tab, and Enter on the link to the decision."""
    for count in range(1, 10):
        page.keyboard.press("Tab")
        at = page.evaluate("[document.activeElement.getAttribute('href'), document.activeElement.value]")
        if at[0] == "#verdict":
            page.keyboard.press("Enter")
        if at[1] == "duplicate":
            return count
    return 10


@pytest.mark.parametrize("script", [True, False])
def test_few_tabs_lead_to_the_decision(chrome: Any, matter: tuple[Desk, str], script: bool) -> None:
    desk, url = matter
    group = key_of(desk, "plans/plan_v1.txt")
    member = next(line.key for line in desk.group(group).members if not line.representative)
    with closing(chrome.new_context(base_url=url, java_script_enabled=script)) as context:
        page = context.new_page()
        for address in (f"/pairs/{member}/{group}", f"/groups/{group}"):
            page.goto(address)
            assert tabs_to_duplicate(page) <= 6, address
    assert not desk.history(limit=1) or desk.history(limit=1)[0].undoes  # nothing was decided on the way


def test_the_texts_of_all_pairs_begin_at_one_height_and_have_most_of_the_width(
    chrome: Any, matter: tuple[Desk, str]
) -> None:
    desk, url = matter
    pairs = [(line.key, line.key + 1) for line in desk.groups(Question()).lines[:6]]
    group = key_of(desk, "plans/plan_v1.txt")
    pairs += [(line.key, group) for line in desk.group(group).members if not line.representative]
    with closing(chrome.new_context(base_url=url, viewport={"width": 1366, "height": 768})) as context:
        page = context.new_page()
        heights = set()
        for a, b in pairs:
            page.goto(f"/pairs/{a}/{b}")
            heights.add(page.locator("table.texts").first.bounding_box()["y"])
        decided = press(page, desk, "2")
        heights.add(page.locator("table.texts").first.bounding_box()["y"])
        assert len(heights) == 1
        undo = page.locator("#undo button").bounding_box()
        assert undo["x"] + undo["width"] <= 1366
        assert decided.what in page.inner_text("#said")
        assert page.evaluate("document.documentElement.scrollHeight") == 768  # what scrolls is inside
        press(page, desk, "u")

        def share() -> float:
            heads = page.locator("table.texts > thead th")
            return sum(float(heads.nth(n).bounding_box()["width"]) for n in (1, 2)) / 1366

        assert share() >= 0.65
        shown = share()
        page.keyboard.press("p")
        said(page, "folded")
        page.reload()
        assert not page.is_visible("#pane-members")
        assert share() > shown + 0.1
        page.goto(f"/groups/{group}")
        assert not page.is_visible("#pane-groups")
        page.click("button[data-do=panes]")
        assert page.is_visible("#pane-groups")


def test_short_texts_leave_no_space_below_and_the_decision_in_its_place(
    chrome: Any, matter: tuple[Desk, str]
) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url, viewport={"width": 1920, "height": 1080})) as context:
        page = context.new_page()
        bars = set()
        for a, b in pairs_of(desk)[:: 1 if FULL else 8]:
            for more in ("", "&full=1"):
                page.goto(f"/pairs/{a}/{b}?done=1{more}")
                boxes = [page.locator(part).bounding_box() for part in (".besides", "table.texts", "#documents")]
                assert boxes[0]["height"] == boxes[1]["height"]
                assert boxes[2]["y"] - boxes[1]["y"] - boxes[1]["height"] <= 24
                strip = page.locator("svg.strip").bounding_box()
                assert strip["height"] == pytest.approx(min(boxes[1]["height"], 1080 - 288), abs=1)
                bars.add(tuple(page.locator("form.decide").bounding_box().values()))
        assert len(bars) == 1


def test_the_caption_of_a_narrow_table_is_one_line(chrome: Any, matter: tuple[Desk, str]) -> None:
    with closing(chrome.new_context(base_url=matter[1], viewport={"width": 1000, "height": 700})) as context:
        page = context.new_page()
        for each in ("/kinds", "/keys", "/threshold"):
            page.goto(each)
            captions = page.locator("table.numbers caption").all()
            assert max(caption.bounding_box()["height"] for caption in captions if caption.is_visible()) < 32
            assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_bar_of_a_phone_has_at_most_95_pixels(chrome: Any, matter: tuple[Desk, str], scheme: str) -> None:
    desk, url = matter
    number = desk.history(limit=1)[0].number if desk.history(limit=1) else 0
    desk.decide(Decide("pair", "duplicate", "Ann", number, pair=pairs_of(desk)[0]))
    size = {"width": 390, "height": 844}
    with closing(chrome.new_context(base_url=url, viewport=size, color_scheme=scheme)) as context:
        page = context.new_page()
        for each in ("/", "/history", "/pairs/0/1", f"/groups/{key_of(desk, 'plans/plan_v1.txt')}"):
            page.goto(each)
            assert page.locator("header.bar").bounding_box()["height"] <= 95
            targets = page.locator("header.bar :is(a, button)")
            assert min(target.bounding_box()["height"] for target in targets.all()) >= 24
    desk.undo("Ann")


def addresses_of(path: str, desk: Desk, waiting: tuple[int, int]) -> list[str]:
    """Return addresses of a page, in each of its states."""
    views = ("", "?view=list", "?view=quotes", "?full=1&numbers=off&lines=written", "?queue=outside")
    states: dict[str, list[str]] = {
        "/": ["/", "/?filter=size>(", f"/?filter={'w' * 90}", "/?order=stake"],
        "/groups/{group:int}": [
            *(f"/groups/{line.key}" for line in desk.groups(Question()).lines),
            "/groups/99999",
        ],
        "/pairs/{a:int}/{b:int}": [f"/pairs/{a}/{b}{view}" for a, b in pairs_of(desk)[::4] for view in views],
        "/second/{a:int}/{b:int}": [f"/second/{waiting[0]}/{waiting[1]}"],
        "/queues/{queue}": [f"/queues/{queue}" for queue in QUEUES],
        "/find": ["/find", "/find?q=agreement", f"/find?q={'z' * 80}"],
        "/kinds": ["/kinds", "/kinds?kind=wording"],
    }
    return states.get(path, [path])


def test_the_bar_of_a_phone_is_as_high_with_conflicts_and_second_verdicts(chrome: Any, tmp_path: Path) -> None:
    with ExitStack() as stack:
        desk = desk_over("result", tmp_path, stack)
        judge_all(desk, LONG_NAME, LONG_NOTE)
        url = stack.enter_context(served(review_app(desk, Served(by=LONG_NAME))))
        page = chrome.new_context(base_url=url, viewport={"width": 390, "height": 844}).new_page()
        stack.callback(page.context.close)
        for each in ("/", "/batches"):
            page.goto(each)
            counts = ["conflict", "second verdict"]
            assert [
                each.split(maxsplit=1)[1].rstrip("s") for each in page.locator(".progress a").all_inner_texts()
            ] == counts
            assert page.locator("header.bar").bounding_box()["height"] <= 95


LEFTS = """selector => [...document.querySelectorAll(selector)].map(row =>
    [...row.children].slice(1).map(cell => Math.round(cell.getBoundingClientRect().left)).join())"""


@pytest.mark.parametrize("width", [1366, 390])
def test_the_rows_of_a_line_have_their_columns_below_each_other(chrome: Any, tmp_path: Path, width: int) -> None:
    """Names of other lengths move no column; they are cut where they are alike, and amounts are whole."""
    people = ("Li", "Ada Berg", "Tom Horn", "Bartholomew Quackenbush of the Northern Harbour Company")
    texts = {
        f"Employment_Agreement_of_the_year_{'_'.join(person.split())}_{n}.txt": COUNCIL * 3
        + f"The salary is {n}4,444.00 euros from {n} May 202{n} on, and the place is {person}."
        for n, person in enumerate(people, 1)
    }
    with ExitStack() as stack:
        desk = stack.enter_context(closing(Desk.open(make_result(tmp_path, texts, threshold=0.3))))
        url = stack.enter_context(served(review_app(desk, Served(by="Ann"))))
        page = chrome.new_context(base_url=url, viewport={"width": width, "height": 844}).new_page()
        stack.callback(page.context.close)
        page.goto(f"/groups/{desk.groups(Question()).lines[0].key}")
        lefts = page.evaluate(LEFTS, "table.alike tr[data-members]")
        assert (len(lefts), len(set(lefts))) == (3, 1)
        names = page.locator("table.alike tr[data-members] > th a").all_inner_texts()
        assert names == ["…Ada_Berg_2.txt", "…Li_1.txt", "…Tom_Horn_3.txt"]
        amounts = page.locator("table.alike tr[data-members] > td:nth-child(2)")
        assert all(cell.evaluate("one => one.scrollWidth <= one.clientWidth") for cell in amounts.all())
        desk.decide(Decide("pair", "duplicate", "Ann", 0, pair=pairs_of(desk)[0]))
        page.reload()
        decided = page.locator("table.alike tr[data-members] .tag")
        assert (decided.count(), violations(page)) == (1, [])
        assert set(page.evaluate(LEFTS, "table.alike tr[data-members]")) == set(lefts)


@pytest.mark.parametrize(("width", "columns"), [(1366, 2), (390, 1)])
def test_the_values_of_two_documents_are_below_each_other_on_a_phone(
    chrome: Any, matter: tuple[Desk, str], width: int, columns: int
) -> None:
    desk, url = matter
    with closing(chrome.new_context(base_url=url, viewport={"width": width, "height": 844})) as context:
        page = context.new_page()
        page.goto("/pairs/{}/{}".format(*pairs_of(desk)[0]))
        cells = [
            cell.bounding_box() for cell in page.locator("table.documents tbody tr").first.locator("td").all()
        ]
        assert len({round(cell["x"]) for cell in cells}) == columns
        assert width == 1366 or min(cell["width"] for cell in cells) > 340


@pytest.mark.parametrize("kind", ["result", "collection"])
def test_no_page_is_wider_than_a_phone(chrome: Any, tmp_path: Path, kind: str) -> None:
    with ExitStack() as stack:
        desk = desk_over(kind, tmp_path, stack)
        waiting = judge_all(desk, LONG_NAME, LONG_NOTE)
        url = stack.enter_context(served(review_app(desk, Served(by=LONG_NAME))))
        page = chrome.new_context(base_url=url, viewport={"width": 390, "height": 700}).new_page()
        stack.callback(page.context.close)
        for each in every_address(desk, waiting):
            page.goto(each)
            page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
            for width in (390, 320):
                page.set_viewport_size({"width": width, "height": 700})
                assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, (each, width)


def every_address(desk: Desk, waiting: tuple[int, int]) -> list[str]:
    """Return addresses of all pages, in each of their states."""
    pages = [path for path in READ if "." not in path]  # the others are files to save
    return ["/nothing", *itertools.chain(*(addresses_of(path, desk, waiting) for path in pages))]


BAR = """() => {
    const box = document.querySelector("header.bar").getBoundingClientRect(), page = document.documentElement;
    const scrolls = [...document.querySelectorAll("body *")].filter(each => /auto|scroll/.test(
        getComputedStyle(each).overflowY) && each.scrollHeight > each.clientHeight + 1 && !each.closest("svg"));
    const row = document.querySelector(".panes nav.row");
    return { bar: [box.x, box.y, box.width, box.height], row: row && row.getBoundingClientRect().height,
        page: page.scrollHeight > page.clientHeight, scrolls: scrolls.map(each => each.className) };
}"""


def test_the_bar_is_one_on_all_pages_and_one_thing_scrolls(chrome: Any, tmp_path: Path) -> None:
    with ExitStack() as stack:
        desk = stack.enter_context(closing(Desk.open(make_result(tmp_path, unbroken_texts(), threshold=0.3))))
        waiting = judge_all(desk, "Ann Lee", "n" * 300)
        url = stack.enter_context(served(review_app(desk, Served(by="Ann Lee"))))
        size = {"width": 1366, "height": 768}
        page = stack.enter_context(closing(chrome.new_context(base_url=url, viewport=size))).new_page()
        bars, rows = set(), set()
        for each in every_address(desk, waiting):
            for more in ("", f"{'&' if '?' in each else '?'}done=1"):
                page.goto(each + more)
                seen = page.evaluate(BAR)
                bars.add(tuple(seen["bar"]))
                rows.add(seen["row"])
                beside = page.locator(".panes").count() > 0
                assert not (seen["page"] and beside), each
                assert beside or not seen["scrolls"], (each, seen["scrolls"])
        assert len(bars) == 1
        assert len(rows - {None}) == 1


@pytest.mark.parametrize(
    "name", ["Share_Purchase_Agreement_" * 8, "Deed of Lease and Terms " * 8, "売買契約書" * 20]
)
def test_status_and_undo_are_never_cut(chrome: Any, tmp_path: Path, name: str) -> None:
    texts = {f"deals/{n}/{name}{n}.txt": f"{COUNCIL * 3} price {n} {'word ' * n}" for n in range(5)}
    with ExitStack() as stack:
        desk = stack.enter_context(closing(Desk.open(make_result(tmp_path, texts, threshold=0.3))))
        url = stack.enter_context(served(review_app(desk, Served(by="Ann"))))
        page = stack.enter_context(closing(chrome.new_context(base_url=url))).new_page()
        (line,) = desk.groups(Question()).lines
        head, one, other, *_ = sorted((member.key for member in desk.group(line.key).members), key=line.key.__ne__)
        seen = itertools.count()
        acts: list[Callable[[int], object]] = [
            lambda n: desk.hand_out(HandOut("", "size", (("Ann", 1), ("B" * 90, 1)), 1, True, "Ann", n)),
            lambda n: desk.decide(Decide("pair", "duplicate", "Ann", n, pair=(one, head))),
            lambda n: desk.decide(Decide("pair", None, "Ann", n, pair=(one, head), note="see", only_note=True)),
            lambda n: desk.decide(Decide("members", "unsure", "Ann", n, group=head, members=(one, other))),
            lambda n: desk.decide(Decide("group", "keep both", "Ann", n, group=head)),
            lambda n: desk.tag(one, "t" * 200, True, "Ann", n),
            lambda n: desk.tag_group(head, "hot", True, "Ann", n),
            lambda n: desk.keep(one, "keep", "Ann", n),
            lambda n: desk.keep(one, "remove", "Ann", n),
            lambda n: desk.draw_seconds(DrawSeconds(("Max", "B" * 90), 100, 1, "Ann", n)),
            lambda n: desk.represent(head, other, "Ann", n),
        ]
        for act in acts:
            number = next(seen)
            act(number)
            page.goto(f"/history?done={number + 1}")
            for width in (1366, 390):
                page.set_viewport_size({"width": width, "height": 768})
                for part in ("#said", "#undo button", "header.bar .progress"):
                    over = page.locator(part).evaluate(
                        "one => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]"
                    )
                    assert max(over) <= 0, (width, part, page.inner_text(part))


LARGE = ((), ("--blink-settings=defaultFontSize=32",))
CUT = """() => [...document.querySelectorAll("main *, header.bar *")].filter(each => each.clientWidth > 1
    && getComputedStyle(each).overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1
    && !each.closest(".unheard, .strip, svg")).map(each => each.textContent.slice(0, 60))"""
COVERED = """() => {
    const all = [...document.querySelectorAll("main :is(a, button, input, select, summary)")].filter(each =>
        each.checkVisibility() && !each.closest(".matrix, .menu, .decide, .strip"));
    const boxes = all.map(each => [each, each.getBoundingClientRect()]).filter(([_, box]) => box.width > 1);
    const met = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 2;
    return boxes.flatMap(([each, box], place) => boxes.slice(place + 1).filter(([other, its]) =>
        !each.contains(other) && !other.contains(each) && met(box, its)).map(([other]) =>
        `${each.textContent.slice(0, 40)} | ${other.textContent.slice(0, 40)}`));
}"""


@pytest.mark.parametrize("kind", ["result", "collection"])
@pytest.mark.parametrize("how", ["zoom", "text", "narrow", "phone"])
def test_at_200_per_cent_and_on_phones_nothing_is_cut_covered_or_too_wide(
    chrome: Any, tmp_path: Path, how: str, kind: str
) -> None:
    """By the zoom of the browser, which halves the window, by text of twice the size, and on two phones."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    views: dict[str, dict[str, Any]] = {
        "zoom": {"viewport": {"width": 683, "height": 384}, "device_scale_factor": 2},
        "text": {"viewport": {"width": 1366, "height": 768}},
        "narrow": {"viewport": {"width": 320, "height": 640}},
        "phone": {"viewport": {"width": 390, "height": 844}},
    }
    with ExitStack() as stack:
        desk = desk_over(kind, tmp_path, stack)
        addresses = every_address(desk, judge_all(desk, "Ann Lee", "n" * 300))
        url = stack.enter_context(served(review_app(desk, Served(by="Ann Lee"))))
        browser = stack.enter_context(closing(another(chrome, *LARGE[how == "text"])))
        for scheme, rules in (("light", RULES), ("dark", COLOURS)):
            page = browser.new_context(base_url=url, color_scheme=scheme, **views[how]).new_page()
            for each in addresses if FULL else addresses[list(views).index(how) :: 6]:
                page.goto(each)
                assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, each
                assert page.evaluate(CUT) == page.evaluate(COVERED) == [], each
                page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
                assert not violations(page, rules), (scheme, each)
