"""``neardup report`` in a browser: it fetches nothing, fits small screens, and axe finds nothing wrong."""

import re
from pathlib import Path

import pytest

from support.browser import chromium, violations
from support.command_line import Run, write_rows
from support.messages import has_parts
from support.plain_pages import HOSTILE, require_plain
from support.sealed import seal

WORDS = [f"word{number}" for number in range(80)]
LONG = "x" * 3000


def made_rows() -> list[dict[str, object]]:
    texts = []
    for number in range(12):
        words = [f"f{number // 4}{word}" for word in WORDS]
        words[9 * (number % 4)] = f"changed{number}"
        texts.append(" ".join(words) + f".\n{HOSTILE} {LONG if number == 5 else 'العربية'}")
    ids = [f"{HOSTILE} {number}" if number % 2 else f"{number}{LONG}" for number in range(len(texts))]
    return [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]


@pytest.fixture
def out(run: Run, tmp_path: Path) -> Path:
    write_rows(tmp_path / "documents.jsonl", [*made_rows(), {"id": "", "text": ""}])
    result = run("dedup", tmp_path / "documents.jsonl", "-o", tmp_path / "out", "--threshold", 0.5, "--kinds")
    assert result.status == 0, result.err
    return tmp_path / "out"


def test_the_page_of_a_report_is_for_everybody(run: Run, out: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("report", out, "-o", page, "--pairs", 3).status == 0
    require_plain(page.read_text(encoding="utf-8"))
    with chromium() as browser:
        for width, scheme in ((1200, "light"), (1200, "dark"), (420, "light"), (320, "dark")):
            seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            asked: list[str] = []
            said: list[str] = []
            seen.on("request", lambda request, asked=asked: asked.append(request.url))
            seen.on("console", lambda message, said=said: said.append(message.text))
            seen.goto(page.as_uri())
            assert asked == [page.as_uri()]
            assert not said
            assert seen.evaluate("document.documentElement.scrollWidth") <= width
            if (width, scheme) in ((1200, "light"), (320, "dark")):
                assert violations(seen) == []
            seen.close()


def test_axe_finds_nothing_on_the_pages_of_a_comparison_and_a_walkthrough(run: Run, tmp_path: Path) -> None:
    for name, text in (("old", "The quay is closed. " * 40), ("new", "The quay is closed. " * 39 + "It opens.")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    pages = tmp_path / "comparison.html", tmp_path / "walkthrough.html"
    assert run("compare", tmp_path / "old.txt", tmp_path / "new.txt", "--html", pages[0]).status == 0
    assert run("explain", "--example", "--html", pages[1]).status == 0
    comparison, walkthrough = pages
    shown = (comparison, 1366, "light"), (comparison, 390, "dark"), (walkthrough, 1366, "dark")
    with chromium() as browser:
        for page, width, scheme in (*shown, (walkthrough, 390, "light")):
            seen = browser.new_page(viewport={"width": width, "height": 768}, color_scheme=scheme)
            seen.goto(page.as_uri())
            assert seen.evaluate("document.documentElement.scrollWidth") <= width
            assert violations(seen) == []
            if page == walkthrough:  # texts become blocks on narrow screens; numbers stay beside each other
                documents, shingles = (seen.locator("tr").nth(row) for row in (1, 5))
                flows = [row.evaluate("row => getComputedStyle(row).display") for row in (documents, shingles)]
                assert flows == ["block" if width < 720 else "table-row", "table-row"]
                assert seen.locator("main").bounding_box()["width"] <= 960
            elif width == 1366:  # the first difference is in view
                place = seen.locator("table.texts :is(del, ins)").first.bounding_box()
                assert place is not None
                assert place["y"] + place["height"] <= 768
            seen.close()


def test_a_link_opens_a_group_and_print_shows_it_alone_in_black(run: Run, out: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("report", out, "-o", page, "--megabytes", 2).status == 0
    visible = "[...document.querySelectorAll('.opened .texts')].filter((one) => one.checkVisibility()).length"
    with chromium() as browser:
        seen = browser.new_page(viewport={"width": 1366, "height": 768}, color_scheme="dark")
        seen.goto(page.as_uri())
        assert seen.locator("details.opened").count() == 3
        assert seen.evaluate(visible) == 0
        seen.goto(f"{page.as_uri()}#group-2")
        assert seen.locator("details.opened[open]").count() == 1
        listed = "document.querySelector('.opened[open] .member:not(:has(p.note)) ol.list').checkVisibility()"
        assert seen.evaluate(listed)
        seen.emulate_media(media="print")
        assert not seen.evaluate(listed)
        colours = "[...new Set([...document.links].map((link) => getComputedStyle(link).color))]"
        assert seen.evaluate(colours) == ["rgb(0, 0, 0)"]
        printed = "[...document.querySelectorAll('.opened')].map((one) => one.checkVisibility())"
        assert seen.evaluate(printed) == [False, True, False]
        assert seen.evaluate("document.querySelector('.paper').checkVisibility()")
        assert seen.evaluate("getComputedStyle(document.querySelector('.opened')).breakInside") == "avoid"


def test_a_page_is_replaced_only_if_it_is_a_page_of_neardup(run: Run, out: Path, tmp_path: Path) -> None:
    page, other = tmp_path / "report.html", tmp_path / "other.html"
    other.write_text("<!DOCTYPE html><p>mine", encoding="utf-8")
    first = run("report", out, "-o", page)
    assert re.fullmatch(r"written  .*: [\d.]+ kB", first.out.strip().replace("\n", ""))
    assert run("report", out, "-o", page).status == 2
    assert run("report", out, "-o", page, "--overwrite").status == 0
    assert run("report", out, "-o", other, "--overwrite").status == 2
    assert other.read_text(encoding="utf-8") == "<!DOCTYPE html><p>mine"
    assert has_parts(run("report", out, "-o", page, "--pairs", 101).err, "Allowed: ", "0 to 100")


def test_a_report_needs_no_input(run: Run, out: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    (tmp_path / "documents.jsonl").unlink()
    assert run("report", out, "-o", page, "--pairs", 10).status == 0
    assert "The two texts" in page.read_text(encoding="utf-8")
    (out / "texts.parquet").unlink()
    seal(out)
    assert run("report", out, "-o", page, "--overwrite", "--pairs", 10).status == 0
    text = page.read_text(encoding="utf-8")
    assert "The two texts" not in text
    assert "no texts to show" in text
