"""The live pages in a real browser: a day by keyboard, a day without JavaScript, and axe on every page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from neardup.review.desk.desk import Desk
from neardup.review.desk.texts import TextReader
from neardup.review.live.app import Served, review_app
from neardup.review.source import Decide, Question
from neardup.service.web.middleware import Tokens
from support.browser import COLOURS, RULES, chromium, served, violations
from support.command_line import Run
from support.desk_pages import (
    COUNCIL,
    LONG_NAME,
    LONG_NOTE,
    desk_over,
    focused,
    judge_all,
    key_of,
    pairs_of,
    press,
    said,
)
from support.full_run import FULL
from support.made_reviews import make_result

SECONDS = 30_000
ARABIC = "يغلق مكتب الميناء يوم الجمعة لأن الرصيف قيد الإصلاح. على القوارب القادمة استخدام الرصيف الشمالي 12. "
JAPANESE = "港の事務所は金曜日に閉まります。桟橋を修理しているためです。入港する船は北岸壁12を使います。"
TEXTS = {
    **{f"memo-{n}": f"{COUNCIL}Memo {n} was sent to all, about the roof and the long way home." for n in range(7)},
    "letter": COUNCIL.replace("March", "May") + "All receipts must be handed in before noon.",
    "letter-b": COUNCIL.replace("March", "May") + "Receipts are due at noon; tea is served. The end.",
    "ar-1": ARABIC + "الرسوم ثلاثمائة درهم في اليوم. " * 9 + "مساء الخير",
    "ar-2": ARABIC.replace("12", "13") + "الرسوم ثلاثمائة درهم في اليوم. " * 9 + "مساء النور",
    "ja-1": JAPANESE * 2,
    "ja-2": JAPANESE + JAPANESE.replace("金曜日", "月曜日"),
}


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(tmp_path_factory.mktemp("review"), TEXTS, threshold=0.3)


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Desk]:
    made = Desk.open(folder)
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(desk: Desk) -> Iterator[str]:
    with served(review_app(desk, Served(by="Ann"))) as url:
        yield url


@pytest.fixture
def page(chrome: Any, address: str) -> Iterator[Any]:
    context = chrome.new_context(base_url=address)
    made = context.new_page()
    made.set_default_timeout(SECONDS)
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on("console", lambda said: faults.append(said.text) if "Security Policy" in said.text else None)
    yield made
    context.close()
    assert not faults


def follow(page: Any, link: str, address: str) -> None:
    """Open a link with the keyboard."""
    page.focus(link)
    page.keyboard.press("Enter")
    page.wait_for_url(address)


def test_a_day_by_keyboard(page: Any, desk: Desk, folder: Path, run: Run, tmp_path: Path) -> None:
    keys = page.keyboard
    page.goto("/")
    keys.press("/")
    keys.type("memo")
    keys.press("Enter")
    page.wait_for_url("**/?filter=memo**")
    assert "1 group" in page.inner_text("caption")
    keys.press("j")
    assert focused(page).startswith("The council met")  # the names of its members share nothing
    keys.press("Enter")
    page.wait_for_url("**/groups/*")
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url("**/pairs/**")
    first = page.url
    keys.press("F7")
    said(page, "Difference 1 of ")
    decided = press(page, desk, "2")
    assert (decided.by, decided.changes) == ("Ann", 1)
    undo = page.locator("#undo .what")  # one line, however long the names are
    assert undo.inner_text() == decided.what
    assert undo.evaluate("one => new Set([...one.getClientRects()].map(box => box.top)).size") == 1
    assert page.url.partition("?")[0] != first.partition("?")[0]
    assert press(page, desk, "u").undoes == decided.number
    assert page.url.partition("?")[0] == first.partition("?")[0]  # back at the pair to decide it again
    follow(page, "header.bar >> text=Kinds", "**/kinds")
    follow(page, "main a >> text=numbers only", "**/kinds?kind=numbers*only")
    assert "6 undecided pairs" in page.inner_text("#many")
    kind = press(page, desk, "2")
    assert kind.changes == 6
    assert press(page, desk, "u").undoes == kind.number
    follow(page, "header.bar >> text=Threshold", "**/threshold")
    page.focus("#value")
    keys.press("Control+A")
    keys.type("0.6")
    keys.press("Enter")
    page.wait_for_url("**/threshold?value=0.6")
    keys.press("j")
    press(page, desk, "1")
    assert "1 of 1 labelled pair" in page.inner_text("main")
    press(page, desk, "u")
    assert "labelled pair" not in page.inner_text("main")
    follow(page, "header.bar >> text=Export", "**/export")
    page.focus("text=groups.csv")
    with page.expect_download() as saved:
        keys.press("Enter")
    assert "memo-1" in Path(saved.value.path()).read_text()
    # the way back: at first one memo stays, and all of them after the decision
    assert memos_kept(run, folder, tmp_path / "before") == 1
    follow(page, "header.bar >> text=Kinds", "**/kinds")
    follow(page, "main a >> text=numbers only", "**/kinds?kind=numbers*only")
    press(page, desk, "2")
    assert memos_kept(run, folder, tmp_path / "after") == 7
    press(page, desk, "u")


def memos_kept(run: Run, folder: Path, out: Path) -> int:
    """Return the number of memos that stay after the review so far."""
    assert run("apply", folder, "-o", out).status == 0
    return (out / "kept.jsonl").read_text(encoding="utf-8").count('"memo-')


def test_a_decision_keeps_the_focus_and_what_was_open(page: Any, desk: Desk) -> None:
    group = key_of(desk, "memo-1")
    page.goto(f"/groups/{group}")
    page.click("text=Members: similarities")
    page.click("table.members tr:nth-child(2) summary")
    page.focus("table.members tr:nth-child(2) button[value=keep]")
    press(page, desk, "Enter")
    page.wait_for_selector("button[value=keep]:focus")
    assert page.get_attribute(":focus", "aria-pressed") == "true"
    press(page, desk, "u")
    assert page.evaluate("document.activeElement.textContent").startswith("Always keep")
    page.go_back()
    page.wait_for_url("**done=*")
    page.wait_for_selector("#undo button")


def test_single_keys_can_be_switched_off(page: Any) -> None:
    page.goto("/history")
    page.click("#switch")
    assert page.inner_text("#switch").startswith("Single keys are off")
    page.goto("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement === document.body")
    page.goto("/keys")
    page.click("#switch")
    page.goto("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"
    page.keyboard.type("j?u1")
    assert page.input_value("#filter") == "j?u1"  # no key acts while one types


def test_keys_change_a_member_and_lead_on(page: Any, desk: Desk) -> None:
    group, keys = key_of(desk, "memo-1"), page.keyboard

    def member(key: int) -> Any:
        return next(line for line in desk.group(group).members if line.key == key)

    page.goto("/")
    keys.press("n")
    page.wait_for_url("**/pairs/**")
    page.goto(f"/groups/{group}")
    keys.press("n")
    page.wait_for_url(f"**/pairs/*/{group}")
    pair = page.url
    chosen = int(pair.split("/")[-2])
    for key, fate in (("+", "keep"), ("-", "remove"), ("-", None)):
        press(page, desk, key)
        assert (member(chosen).fate, page.url.partition("?")[0]) == (fate, pair)
    keys.press("t")
    keys.type("hot 1")  # no key acts in the field
    press(page, desk, "Enter")
    assert member(chosen).tags == ("hot 1",)
    keys.press("c")
    assert page.evaluate("document.activeElement.id") == "note"
    keys.press("Escape")
    assert page.evaluate("document.activeElement.id") == "heading"
    press(page, desk, "r")
    assert member(chosen).representative
    press(page, desk, "u")
    keys.press("b")
    page.wait_for_url(f"**/groups/{group}")
    keys.press("r")
    said(page, "Move to a member")
    rows = page.locator("table.alike tr[data-members] a")
    rows.nth(1).focus()
    name = focused(page)
    row = int(page.evaluate("document.activeElement.closest('tr').dataset.members"))
    press(page, desk, "+")
    assert (member(row).fate, focused(page)) == ("keep", name)  # the line keeps the focus
    keys.press("c")
    keys.type("look again")
    press(page, desk, "Enter")
    assert member(row).note == "look again"
    keys.press("ArrowDown")
    assert focused(page) == rows.nth(2).inner_text()
    keys.press("K")
    assert focused(page) == name
    following = desk.group(group).after or desk.group(group).before
    keys.press("g" if desk.group(group).after is not None else "G")
    page.wait_for_url(f"**/groups/{following}")
    keys.press("b")
    page.wait_for_url(lambda url: "/groups/" not in url)
    keys.press("b")
    said(page, "nothing is above it")
    for _ in range(len(desk.history(limit=1000))):
        desk.undo("Ann")


def test_the_keyboard_can_leave_every_part_of_a_pair(page: Any, desk: Desk) -> None:
    group = key_of(desk, "letter")
    page.goto(f"/groups/{group}")
    page.click("main table.alike a >> nth=0")
    page.wait_for_url("**/pairs/**")
    seen = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        at = page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)")
        if at in seen:
            break
        seen.add(at)
    assert len(seen) >= page.locator("a[href], button:not([disabled]), summary").count() - 5


def test_keys_decide_the_shown_line_or_row_of_a_group_filtered_by_kind(page: Any, desk: Desk) -> None:
    page.goto(f"/groups/{key_of(desk, 'memo-1')}?kind=amount&sort=0.0")
    page.keyboard.press("j")
    line = focused(page)
    page.keyboard.press("j")  # past the heads, which sort
    row = focused(page)
    assert row.startswith("memo-")
    assert (press(page, desk, "1").changes, focused(page)) == (1, row)
    assert "kind=amount&sort=0.0" in page.url
    press(page, desk, "u")
    page.locator("table.alike tr.way a").focus()
    assert (press(page, desk, "2").changes, focused(page)) == (6, line)
    press(page, desk, "u")


def pages_of(desk: Desk) -> list[str]:
    addresses = ["/", "/?filter=size>(", "/queues/undecided", "/threshold", "/kinds", "/kinds?kind=numbers+only"]
    addresses += ["/history", "/sitting", "/batches", "/export", "/keys", "/groups/99999"]
    addresses.append(f"/groups/{key_of(desk, 'memo-1')}?kind=amount")
    for id in ("memo-1", "letter", "ar-1", "ja-1"):
        key = key_of(desk, id)
        member = next(each.key for each in desk.group(key).members if not each.representative)
        addresses += [f"/pairs/{member}/{key}", f"/groups/{key}", f"/pairs/{member}/{key}?view=list"]
    return addresses


def test_axe_finds_no_violation_on_any_page(chrome: Any, address: str, desk: Desk) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    addresses = pages_of(desk)
    whole, pairs = (
        addresses[:14],
        addresses[14 :: 3 if FULL else 12],
    )  # of the later groups only the comparison, in other scripts
    schemes = {"light": [*whole, *pairs], "dark": [addresses[place] for place in (0, 3, 10, 11, 12)]}
    for scheme, chosen in schemes.items():
        context = chrome.new_context(base_url=address, color_scheme=scheme)
        page = context.new_page()
        for each in chosen:
            page.goto(each)
            page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
            found = violations(page, RULES if FULL or scheme == "light" else COLOURS)
            assert not found, (scheme, each, found)
        context.close()


@pytest.mark.parametrize(("width", "scale"), [(390, 1), (640, 2), (768, 1), (1000, 1)])
def test_no_page_scrolls_sideways(chrome: Any, address: str, desk: Desk, width: int, scale: int) -> None:
    context = chrome.new_context(
        base_url=address, viewport={"width": width, "height": 600}, device_scale_factor=scale
    )
    page = context.new_page()
    for each in pages_of(desk):
        page.goto(each)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, each
    context.close()


WIDER = """() => {
    const wide = [];
    for (const one of document.querySelectorAll("main p:not(.row, .row *, :has(button, input))")) {
        const line = document.createElement("span");
        line.style.cssText = "position: absolute; visibility: hidden; white-space: nowrap";
        line.textContent = "0".repeat(70);
        one.append(line);
        const most = line.getBoundingClientRect().width;
        line.remove();
        const style = getComputedStyle(one);
        const words = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (words > most + 1) wide.push(one.textContent.slice(0, 80));
    }
    return wide;
}"""


def test_prose_has_at_most_seventy_characters_a_line(page: Any, desk: Desk) -> None:
    page.set_viewport_size({"width": 1920, "height": 900})
    for each in pages_of(desk):
        if not each.endswith("view=list"):  # there the paragraphs are those of the documents
            page.goto(each)
            assert page.evaluate(WIDER) == [], each


def test_the_table_of_similarities_is_coloured_by_its_numbers(page: Any, desk: Desk) -> None:
    page.goto(f"/groups/{key_of(desk, 'memo-0')}")
    cells = page.evaluate(
        "[...document.querySelectorAll('.matrix td')].filter(one => one.querySelector('a'))"
        ".map(one => [Number(one.textContent), getComputedStyle(one).backgroundColor])"
    )
    colours: dict[int, set[str]] = {}
    for value, colour in cells:
        colours.setdefault(int(10 * value), set()).add(colour)
    assert len(colours) > 1
    assert all(len(of) == 1 for of in colours.values())
    assert len(set.union(*colours.values())) == len(colours)


def test_the_decision_stays_in_view_and_covers_no_focus(page: Any, desk: Desk) -> None:
    group = key_of(desk, "letter")
    member = next(each.key for each in desk.group(group).members if not each.representative)
    page.set_viewport_size({"width": 1000, "height": 660})
    page.goto(f"/pairs/{member}/{group}?full=1")
    bar, head = page.locator("form.decide"), page.locator("header.bar")
    for _ in range(2):
        page.keyboard.press("]")
        page.wait_for_timeout(300)  # the page scrolls
        place = page.locator(":focus").bounding_box()
        top, bottom = head.bounding_box(), bar.bounding_box()
        assert bottom["y"] + bottom["height"] <= 660
        assert top["y"] + top["height"] <= place["y"] + 1
        assert place["y"] + place["height"] <= bottom["y"] + 1


def test_axe_finds_no_violation_where_one_enters_or_meets_a_conflict(chrome: Any, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    made = make_result(tmp_path, {"one": COUNCIL, "two": COUNCIL + "The end."}, keep="first")
    token = "0123456789abcdef"
    tokens = Tokens.of(f"write {token}")
    with closing(Desk.open(made)) as desk, served(review_app(desk, Served(tokens=tokens))) as url:
        page = chrome.new_page()
        page.goto(url)
        assert not violations(page)
        page.fill("#by", "Ann")
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("#filter")
        page.goto(f"{url}/pairs/1/0")
        with closing(Desk.open(made)) as other:
            other.decide(Decide("pair", "keep both", "Bea", 0, pair=(1, 0)))
        page.keyboard.press("1")
        page.wait_for_selector("[role=alert]")
        assert "Bea decided about" in page.inner_text("main")
        assert not violations(page)
        page.close()


VERDICTS = ("duplicate", "keep both", "not alike", "unsure")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_verdict_has_its_sign_and_colours_that_can_be_read(chrome: Any, tmp_path: Path, scheme: str) -> None:
    """Without colours, as on paper, the sign tells verdicts apart."""
    texts = {f"memo-{n}": f"{COUNCIL} Memo {n} was sent to all, about the roof." for n in range(5)}
    with closing(Desk.open(make_result(tmp_path, texts, threshold=0.3))) as own:
        for number, (pair, verdict) in enumerate(zip(pairs_of(own), VERDICTS, strict=True)):
            own.decide(Decide("pair", verdict, "Ann", number, pair=pair))  # type: ignore[arg-type]
        own.keep(pairs_of(own)[0][0], "keep", "Ann", 9)
        own.keep(pairs_of(own)[1][0], "remove", "Ann", 9)
        with served(review_app(own, Served(by="Ann"))) as url:
            page = chrome.new_page(color_scheme=scheme)
            page.goto(f"{url}/groups/{own.groups(Question()).lines[0].key}")
            page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
            signs = page.evaluate(
                "names => names.map(name => getComputedStyle(document.querySelector("
                "`.members .tag.${name}`), '::before').content)",
                [*(verdict.replace(" ", "_") for verdict in VERDICTS), "keep", "remove"],
            )
            assert [sign[1] for sign in signs] == ["=", "✓", "≠", "?", "✓", "−"]
            assert violations(page, COLOURS) == []
            page.close()


def test_texts_begin_at_one_height_in_the_narrowest_window_with_panes(chrome: Any, tmp_path: Path) -> None:
    """Names, places and verdicts of any length leave the lines above them as high as they are."""
    with ExitStack() as stack:
        own = desk_over("result", tmp_path, stack)
        judge_all(own, LONG_NAME, LONG_NOTE)
        own.decide(Decide("pair", None, "Ann", 99, pair=pairs_of(own)[0]))
        url = stack.enter_context(served(review_app(own, Served(by="Ann"))))
        page = chrome.new_page(viewport={"width": 1110, "height": 700})
        stack.callback(page.close)
        heights = set()
        for a, b in pairs_of(own):
            for more in ("", "?queue=conflicts", "?full=1&numbers=off"):
                page.goto(f"{url}/pairs/{a}/{b}{more}")
                heights.add(page.locator("table.texts").first.bounding_box()["y"])
        assert len(heights) == 1


def test_a_day_without_javascript(chrome: Any, address: str, desk: Desk) -> None:
    context = chrome.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    page.goto("/")
    page.fill("#filter", "memo")
    page.click("text=Show >> nth=0")
    page.click("main table.groups a >> nth=0")
    page.click("main table.alike a >> nth=0")
    page.fill("#note", "seen without a script")
    page.click("button[value='keep both']")
    assert "Done:" in page.inner_text("#said")
    action = desk.history(limit=1)[0]
    assert (action.by, action.changes) == ("Ann", 1)
    page.click("#undo button")
    assert desk.history(limit=1)[0].undoes == action.number
    page.goto("/kinds?kind=numbers+only")
    page.click("button[value='duplicate']")
    assert "Done:" in page.inner_text("#said")
    page.click("#undo button")
    page.click("text=History")
    assert "undid" in page.inner_text("main")
    context.close()


@pytest.mark.parametrize("script", [True, False])
def test_enter_in_a_note_saves_the_note_and_no_verdict(
    chrome: Any, address: str, desk: Desk, script: bool
) -> None:
    context = chrome.new_context(base_url=address, java_script_enabled=script)
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    group = desk.groups(Question()).lines[0].key
    member = next(line for line in desk.group(group).members if line.verdict is None and not line.representative)
    head = next(line for line in desk.group(group).members if line.representative)
    for target, field in ((f"/pairs/{member.key}/{head.key}", "#note"), (f"/groups/{group}", "#several #note")):
        number = len(desk.history(limit=1000)) + 1
        page.goto(target)
        page.fill(field, "ask the author")
        page.press(field, "Enter")
        page.wait_for_url(f"**done={number}")
        assert desk.history(limit=1)[0].what.startswith("note: ")
        lines = [line for line in desk.group(group).members if line.note == "ask the author"]
        assert lines
        assert {line.verdict for line in lines} == {None}  # a note is no verdict
        desk.undo("Ann")
    number = len(desk.history(limit=1000)) + 1
    page.goto(f"/pairs/{member.key}/{head.key}")
    page.click("button[value='keep both']")
    page.wait_for_url(f"**done={number}**")
    page.goto(f"/pairs/{member.key}/{head.key}")
    page.fill("#note", "both are signed")
    page.press("#note", "Enter")
    page.wait_for_url(f"**done={number + 1}")
    shown = desk.pair(member.key, head.key)
    assert (shown.verdict, shown.note) == ("keep both", "both are signed")
    if script:  # the field lost the focus when the note was stored, so that keys work again
        page.keyboard.press("u")
        page.wait_for_selector("#note[value='']")
    else:
        desk.undo("Ann")
    assert desk.pair(member.key, head.key).note == ""
    desk.undo("Ann")
    context.close()


def test_the_module_is_small() -> None:
    import neardup.review.live as room

    module = Path(room.__file__).parent / "review.js"
    assert module.stat().st_size <= 16_000


def test_a_page_that_is_not_complete_refreshes_itself(
    chrome: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a reload by the reader, and without taking the focus away."""
    go_on, sweep = threading.Event(), TextReader.sweep

    def held(reader: TextReader, *asked: Any) -> Any:
        assert go_on.wait(SECONDS)
        return sweep(reader, *asked)

    monkeypatch.setattr(TextReader, "sweep", held)
    with (
        closing(Desk.open(folder)) as own,
        served(review_app(own, Served(by="Ann"))) as url,
        closing(chrome.new_context(base_url=url)) as context,
    ):
        assert own._reader.seconds == 2.0  # a page waits no longer
        own._reader.seconds = 0.0
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.goto("/?filter=council")
        assert page.get_by_text("No group found so far.").count() == 1
        page.get_by_role("link", name="Show all groups").focus()
        own._reader.seconds = 60.0
        go_on.set()
        page.wait_for_selector("table.groups")
        assert page.get_by_text("No group").count() == page.locator("[data-refresh]").count() == 0
        assert focused(page) == "Show all groups b"  # with its key
        said(page, "complete now")
        own._lines.forget()
        own._reader.seconds = 0.0
        page.goto(f"/groups/{key_of(own, 'memo-1')}")
        assert page.locator("details[open] form").count() > 0  # one that nobody types into does not hold it back
        own._reader.seconds = 60.0
        page.wait_for_selector("table.alike")


def test_right_to_left_text_runs_that_way_where_it_is_folded(page: Any, desk: Desk) -> None:
    group = key_of(desk, "ar-1")
    member = next(each.key for each in desk.group(group).members if not each.representative)
    page.goto(f"/pairs/{member}/{group}")
    sides = page.locator("table.texts td[data-side]:not(.nothing)")
    ways = sides.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).direction)")
    assert set(ways) == {"rtl"}
    assert page.locator("#heading bdi").first.evaluate("name => getComputedStyle(name).direction") == "ltr"


LINES = " ".join(
    f"Clause {n} of the contract concerns the harbour, the quay and the price of oil." for n in range(90)
)


def test_a_pair_opens_at_its_first_difference(chrome: Any, tmp_path: Path) -> None:
    """In view without scrolling, however long the paragraphs are; a key counts the differences."""
    changed = LINES.replace("Clause 70 of", "Paragraph 70 of").replace("Clause 80 of", "Paragraph 80 of")
    texts = {"deed_v2.txt": f"{LINES}\n\n{LINES}", "deed_v10.txt": f"{LINES}\n\n{changed}"}
    with (
        closing(Desk.open(make_result(tmp_path, texts, threshold=0.3))) as own,
        served(review_app(own, Served(by="Ann"))) as url,
        closing(chrome.new_context(base_url=url, viewport={"width": 1366, "height": 768})) as context,
    ):
        page = context.new_page()
        for address in ("/pairs/0/1", "/pairs/1/0"):
            page.goto(address)
            assert page.inner_text("table.texts del >> nth=0") == "Clause"  # the older version is on the left
            place = page.locator("table.texts del").first.bounding_box()
            assert place["y"] + place["height"] <= page.locator("form.decide").bounding_box()["y"]
        page.keyboard.press("]")
        page.keyboard.press("]")
        assert page.inner_text("#place") == "2 of 2"
        shown = page.locator("table.texts del").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().y)"
        )
        marks = page.locator("svg.strip a")
        at = marks.evaluate_all("all => all.map(one => one.getBoundingClientRect().y)")
        assert len(at) == len(shown) == 2
        assert (at[0] < at[1]) == (shown[0] < shown[1])
        marks.first.click()
        page.wait_for_selector("#d1:target")
        strip = page.locator("svg.strip").bounding_box()
        assert strip["y"] + strip["height"] <= page.locator("form.decide").bounding_box()["y"]
        assert page.locator(".match").count() == 0  # nothing moved
        page.keyboard.press("e")
        assert page.locator("#explain[open]").count() == 1
