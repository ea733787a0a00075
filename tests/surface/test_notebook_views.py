"""Values in a notebook, in a real browser: JupyterLab, classic, VS Code; light, dark and narrow."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from support.browser import chromium, violations

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J & <b>"
TEXT = "please hand in your travel costs for march with all receipts by friday noon at the latest in the office"
TEXTS = [TEXT, f"{TEXT} today", f"{HOSTILE} {TEXT} now", f"{TEXT} today", "lunch is at noon in the hall as ever"]


def shown() -> dict[str, Any]:
    """Values of every kind that shows itself."""
    found = nd.find(pa.table({"id": [HOSTILE, "b", "c", "d", "e"], "text": TEXTS}), threshold=0.5)
    family = nd.MinHash(64)
    sketches = family.sketch(TEXTS)
    index = nd.Index(0.5)
    index.add("a", index.family.of(TEXT))
    samples = nd.SampledShingles(4)
    return {
        "Found": found,
        "Group": found.first_groups()[0],
        "Member": found.first_groups()[0].members[1],
        "Decision": found.why("b"),
        "ShownPairs": found.show_pairs(),
        "Looked": found.look("c"),
        "Plan": nd.plan(0.7),
        "Comparison": nd.compare(TEXTS[0], TEXTS[2]),
        "Advice": nd.advise(TEXTS),
        "Explanation": nd.explain(TEXTS[:3], band_rows=2),
        "Similarities": nd.similarities(pa.table({"id": [HOSTILE, *"bcde"], "text": TEXTS})),
        "MinHash": family,
        "MinHashSketch": family.of(TEXT),
        "Estimate": family.of(TEXT).resemblance(family.of(TEXTS[1])),
        "BBit": nd.BBit(family),
        "BottomK": nd.BottomK(32),
        "Samples": samples.sketch(TEXTS),
        "Sample": samples.of(TEXT),
        "Signatures": nd.read_signatures(family.to_arrow(["a", "b", "c", "d", "e"], sketches)),
        "SimHash": nd.SimHash(),
        "LSH": nd.LSH(sketches, rows=4),
        "Index": index,
        "HammingIndex": nd.HammingIndex(),
        "HammingPairs": nd.hamming_pairs([0b1, 0b11, 0b1]),
    }


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return shown()


@pytest.fixture(scope="module")
def views(values: dict[str, Any]) -> dict[str, str]:
    return {name: value._repr_html_() for name, value in values.items()}


class Read(HTMLParser):
    """The elements, the attributes and the text of a view without its style and its pictures."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.ids: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text += data


def without_style(source: str) -> str:
    """The view as a sanitiser leaves it: no style sheet, and no picture."""
    return re.sub(r"<(style|svg)\b.*?</\1>", "", source, flags=re.S)


def test_every_value_has_a_short_text_and_no_address(values: dict[str, Any]) -> None:
    for name, value in values.items():
        said = repr(value)
        assert " object at 0x" not in said, name
        assert "array(" not in said, name
        if name not in ("ShownPairs", "Advice"):  # records and tables
            assert len(said) < 250, (name, said)
        assert not re.search("[\x1b\u202e]", said), name


def test_a_view_has_no_script_and_what_documents_hold_is_text(views: dict[str, str]) -> None:
    for name, source in views.items():
        read = Read(source)
        assert not {"script", "img", "iframe", "object", "form", "link"} & set(read.tags), name
        assert not [attribute for attribute in read.attributes if attribute.startswith("on")], name
        assert not re.search("[\x00\x1b\u202e\ud800]", source), name
        assert len(read.ids) == len(set(read.ids)), name
        assert len(source) < 64_000, name
    assert "<script>alert(1)</script>" in Read(views["Found"]).text


def test_without_styles_and_pictures_the_numbers_are_still_there(views: dict[str, str]) -> None:
    for name, expected in (
        ("Plan", ("found at the threshold", "compared in vain", "Probability to become a candidate")),
        ("Found", ("documents", "near copies", "pairs in", TEXT[:40])),
        ("Group", ("near copy of", "Least alike")),
        ("Explanation", ("95 % interval", "Signatures")),
        ("Estimate", ("64 slots", "95 % interval")),
        ("ShownPairs", (TEXT[:40], "first words of A")),
    ):
        text = Read(without_style(views[name])).text
        for words in expected:
            assert words in text, (name, words)
    cells = re.findall(r"<td[^>]*>", views["ShownPairs"])
    assert cells
    assert all("text-align:" in cell for cell in cells)


# ---------------------------------------------------------------------------------------------------------
# In a browser

OUTPUT = (
    '<div class="jp-OutputArea-child"><div class="jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output '
    'rendered_html">{}</div></div>'
)
OWN = "<table id=own><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>"
CLASSIC = """
body { font: 14px/20px Helvetica, Arial, sans-serif; color: #000; background: #fff; text-align: center }
.rendered_html table { margin-left: auto; margin-right: auto; border: none; font-size: 12px; table-layout: fixed }
.rendered_html tr, .rendered_html th, .rendered_html td { text-align: right; padding: .5em }
.rendered_html tbody tr:nth-child(odd) { background: #f5f5f5 }
.rendered_html h4 { font-style: italic } .rendered_html p { text-align: justify }
"""
VSCODE = """
body { --vscode-editor-background: #1f1f1f; --vscode-editor-foreground: #cccccc; --vscode-font-family: sans-serif;
  background: #1f1f1f; color: #cccccc }
table { border-collapse: collapse } th, td { padding: 5px 10px; text-align: right }
"""


def lab(theme: str) -> str:
    """The style of JupyterLab, as nbconvert has it."""
    paths = pytest.importorskip("jupyter_core.paths", reason="nbconvert is not installed")
    for folder in paths.jupyter_path("nbconvert", "templates", "lab", "static"):
        if Path(folder, "index.css").exists():
            return "".join(Path(folder, name).read_text("utf-8") for name in ("index.css", f"theme-{theme}.css"))
    pytest.skip("nbconvert has no template of JupyterLab")


def notebook(where: str, views: dict[str, str]) -> str:
    """A page that shows the views as a notebook does, after a table of its own."""
    style, body = {
        "lab light": lambda: (lab("light"), 'data-jp-theme-light="true" class="jp-Notebook"'),
        "lab dark": lambda: (lab("dark"), 'data-jp-theme-light="false" class="jp-Notebook"'),
        "vscode dark": lambda: (VSCODE, 'class="vscode-dark"'),
        "classic": lambda: (CLASSIC, ""),
    }[where]()
    outputs = "".join(f"<h2>{name}</h2>{OUTPUT.format(view)}" for name, view in views.items())
    outputs = re.sub(r"<(/?)h4", r"<\1h3", outputs)  # the levels around are those of the page, not ours
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title><style>{style}</style></head>'
        f"<body {body}><main><h1>Notebook</h1>{OUTPUT.format(OWN)}{outputs}</main></body></html>"
    )


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


SEEN = """() => {
  const cell = document.querySelector('.neardup.view td'), view = document.querySelector('.neardup.view');
  const own = getComputedStyle(document.querySelector('#own td'));
  const text = document.querySelector('.neardup svg text');
  return { side: getComputedStyle(cell).textAlign, paper: getComputedStyle(view).backgroundColor,
    ink: getComputedStyle(view).color, drawn: getComputedStyle(text).fill,
    own: [own.textAlign, own.color, own.backgroundColor, own.padding, own.font].join(),
    row: getComputedStyle(cell.parentElement).backgroundColor,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth };
}"""


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("where", "system", "paper"),
    [
        ("lab light", "dark", "rgb(255, 255, 255)"),
        ("lab dark", "light", "rgb(17, 17, 17)"),
        ("vscode dark", "light", "rgb(31, 31, 31)"),
        ("classic", "dark", "rgb(255, 255, 255)"),
    ],
)
def test_a_view_follows_the_notebook_and_not_the_system(
    chrome: Any, views: dict[str, str], where: str, system: str, paper: str
) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    chosen = {name: views[name] for name in ("Comparison", "Group", "Found")}
    context = chrome.new_context(color_scheme=system, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.set_content(notebook(where, {}))
    alone = page.evaluate(
        "() => { const own = getComputedStyle(document.querySelector('#own td')); return "
        "[own.textAlign, own.color, own.backgroundColor, own.padding, own.font].join() }"
    )
    page.set_content(notebook(where, chosen))
    seen = page.evaluate(SEEN)
    assert seen["own"] == alone
    assert (seen["side"], seen["paper"]) == ("left", paper)
    assert seen["row"] == "rgba(0, 0, 0, 0)"
    assert seen["drawn"] == seen["ink"]
    if where.startswith("lab"):
        assert violations(page) == []
    context.close()


def test_a_view_fits_a_narrow_screen(chrome: Any, views: dict[str, str]) -> None:
    context = chrome.new_context(color_scheme="light", viewport={"width": 375, "height": 800})
    page = context.new_page()
    page.set_content(notebook("classic", views))
    assert page.evaluate(SEEN)["wide"] <= 0
    context.close()


def test_short_ids_stay_on_one_line(chrome: Any) -> None:
    """Browsers break lines after hyphens: a column of long texts would leave the ids too little room."""
    ids = ["00-of-the-archive", "01-of-the-archive"]
    found = nd.find(pa.table({"id": ids, "text": [f"{TEXT} {TEXT}", f"{TEXT} {TEXT} today"]}), threshold=0.3)
    page = chrome.new_page(viewport={"width": 700, "height": 800})
    page.set_content(notebook("lab light", {"Found": found._repr_html_()}))
    lines = page.evaluate(
        """names => [...document.querySelectorAll(".neardup td")].filter(cell => names.includes(
        cell.textContent)).map(cell => { const range = document.createRange(); range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(box => box.top)).size })""",
        ids,
    )
    page.close()
    assert lines == [1, 1, 1]
