"""The gallery of the site: pages that the program makes of its sample documents, as a reader opens them.

Called by ``make_site.py``. Every page is one file without a script. The pages of the review are saved from a
server, without the addresses of their links; their buttons do nothing. With the Chromium of the system and
Playwright each page has a picture, light and dark.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import neardup as nd
from neardup.cli.demo_documents import documents_path

PAGES = {
    "report": (
        "Report",
        "a page about a result, by `neardup report`: figures, groups, pairs side by side",
        "A contents list, and tiles with the documents read and removed, groups, copies, text lost and recall",
    ),
    "comparison": (
        "Comparison",
        "two documents side by side, by `neardup compare --html`",
        "Five differences as a list, and two memos beside each other with a moved sentence marked in both",
    ),
    "review": (
        "Review",
        "the groups of a result in `neardup review`",
        "A filter above a table of groups: documents, similarity, difference, removals, text at stake, decisions",
    ),
    "pair": (
        "Pair",
        "a pair in `neardup review`, with the buttons of a decision",
        "Two contracts side by side: a changed name, a changed price, and a section in other words",
    ),
    "walkthrough": (
        "Walk-through",
        "MinHash on three sentences, by `neardup explain --example --html`",
        "Three sentences, and the matrix of their shingles with ones and zeros",
    ),
    "notebook": (
        "Notebook",
        "the views of results, plans and comparisons in a notebook",
        "The account of a call of find as a table, and a histogram with a bar above the threshold",
    ),
}
"""The name of a page, its title, the command that makes it, and what its picture shows."""

PICTURE = (
    '<a href="gallery/{0}.html"><img class="only-{1}" src="gallery/{0}-{1}.webp" width="{2}" height="{3}"'
    ' alt="{4}" loading="lazy"></a>'
)
"""Of the two, the site shows the one of its colours."""
SIZE = {"width": 960, "height": 540}
QUALITY = 30

FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Views in a notebook</title><meta name="color-scheme" content="light dark">
<style>body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem }}</style>
</head><body><h1>Views in a notebook</h1>{}</body></html>
"""


def run(*words: object) -> None:
    """Run a command of the program."""
    command = [sys.executable, "-m", "neardup", *map(str, words), "--no-config"]
    subprocess.run(command, check=True, capture_output=True)


def sample_result(folder: Path) -> Path:
    """The result of a run on the sample documents, which are copied into a folder."""
    documents, result = folder / "documents.jsonl", folder / "cleaned"
    documents.write_bytes(documents_path().read_bytes())
    run("dedup", documents, "-o", result, "--threshold", "0.5")
    return result


def notebook() -> str:
    """The views of some objects, each under the expression that makes it."""
    memo = "Please hand in your travel costs for March, with all receipts, to the office upstairs by Friday noon."
    texts = [memo, memo.replace("Friday", "Thursday"), "Lunch?"]
    cells: dict[str, Any] = {
        "nd.find(texts, threshold=0.6)": nd.find(texts, threshold=0.6),
        "nd.plan(0.8, recall=0.9)": nd.plan(0.8, recall=0.9),
        "nd.compare(texts[0], texts[1])": nd.compare(texts[0], texts[1]),
        "nd.similarities(texts)": nd.similarities(texts),
    }
    return FRAME.format("".join(f"<pre>{code}</pre>{cell._repr_html_()}" for code, cell in cells.items()))


def saved(address: str, path: str) -> str:
    """A page of a server with its style, without scripts."""

    def fetched(one: str) -> str:
        with urllib.request.urlopen(address + one) as answer:
            return str(answer.read().decode())

    page = re.sub(r"<script\b.*?</script>", "", fetched(path), flags=re.DOTALL)
    style = re.search(r'<link rel="stylesheet" href="([^"]+)">', page)
    if style:
        page = page.replace(style[0], f"<style>{fetched(style[1])}</style>")
    return re.sub(r'<link rel="icon"[^>]*>', "", page)


def first_link(page: str, kind: str) -> str:
    """The first link of a page to a group or a pair."""
    links = re.findall(rf'href="(/{kind}/[^"]*)"', page)
    if not links:
        raise SystemExit(f"the review has a page without a link to {kind}")
    return str(links[0]).replace("&amp;", "&")


@contextmanager
def review(result: Path) -> Iterator[str]:
    """The address of a review of a result."""
    command = [sys.executable, "-m", "neardup", "review", str(result), "--port", "0", "--by", "Ann", "--no-config"]
    quiet = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet
    ) as server:
        try:
            assert server.stdout is not None
            yield next(met[0] for line in server.stdout if (met := re.search(r"http://[\d.:]+", line)))
        finally:
            server.terminate()


def review_pages(result: Path) -> dict[str, str]:
    """The list of groups, and the first pair of a group."""
    with review(result) as address:
        groups = saved(address, "/")
        group = saved(address, first_link(groups, "groups"))
        return {"review": groups, "pair": saved(address, first_link(group, "pairs"))}


def draw(folder: Path) -> bool:
    """Write a picture of each page of a folder in both schemes; without a browser, say so and return False."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    try:
        import pytest

        from support.browser import chromium
    except ImportError as error:
        print(f"the gallery has no pictures: {error}", file=sys.stderr)
        return False
    try:
        with chromium() as browser:
            for name, scheme in product(PAGES, ("light", "dark")):
                page = browser.new_page(viewport=SIZE, color_scheme=scheme)
                page.goto((folder / f"{name}.html").as_uri())
                (folder / f"{name}-{scheme}.webp").write_bytes(captured(page))
                page.close()
    except pytest.skip.Exception as reason:
        print(f"the gallery has no pictures: {reason}", file=sys.stderr)
        return False
    return True


def captured(page: Any) -> bytes:
    """A page of a browser as WebP, which Playwright itself does not write."""
    from playwright.sync_api import Error

    session = page.context.new_cdp_session(page)
    for _ in range(5):
        page.screenshot()  # waits for a frame: Chromium refuses to capture a page that it has not drawn
        with suppress(Error):
            picture = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
            return base64.b64decode(picture["data"])
    raise SystemExit("Chromium has captured no picture of a page of the gallery")


def make(folder: Path) -> Iterator[str]:
    """Write the pages into a folder; yield the lines of the page that lists them."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as made:
        result = sample_result(Path(made))
        run("report", result, "-o", folder / "report.html")
        memos = (Path(__file__).parents[1] / "tests" / "golden" / f"memo_{side}.txt" for side in "ab")
        run("compare", *memos, "--html", folder / "comparison.html")
        run("explain", "--example", "--html", folder / "walkthrough.html")
        pages = {"notebook": notebook(), **review_pages(result)}
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(re.sub(r' href="/[^"]*"', "", page), encoding="utf-8")
    yield from (
        "# Gallery",
        "",
        "Pages that neardup makes of its sample documents. They open without a network.",
        "",
    )
    pictures = draw(folder)
    for name, (title, description, shown) in PAGES.items():
        yield from (f"## {title}", "", f'<a href="gallery/{name}.html">{title}</a>: {description}.', "")
        for scheme in ("light", "dark") if pictures else ():
            yield PICTURE.format(name, scheme, *SIZE.values(), shown)
        yield ""
