"""The page of a comparison: well formed, nothing of the texts lost or alive, and readable for everybody."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.result import DESCRIPTIONS
from neardup.comparison.show.words import MAIN_MEASURES
from neardup.display import visible
from support.messages import each_has_parts, has_parts
from support.paths import GOLDEN
from support.strategies import any_text, edited_pair

LAMP = "The lamp at the pier is broken"
MEMO = tuple((GOLDEN / f"memo_{side}.txt").read_text(encoding="utf-8") for side in "ab")
HOSTILE = (
    "</td></table><script>alert(1)</script><img src=x onerror=alert(1)> &amp; ' \" \x1b[2J \u202eevil\x00"
    "\ud800 <!-- "
)
VOID = {"meta", "col", "br", "wbr"}


class Page(HTMLParser):
    """What is on a page: elements with their attributes, the texts of the cells of A and B, the links."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[str, list[str]] = {"A": [], "B": []}
        self.comments: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert len(dict(attributes)) == len(attributes)
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))
        side = dict(attributes).get("data-side")
        if tag == "td" and side and dict(attributes).get("class") != "nothing":
            self.cells[side].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        inside = [tag for tag, _ in self.open]
        if inside:
            self.text[inside[-1]] = self.text.get(inside[-1], "") + data
        cell = next((found for tag, found in reversed(self.open) if tag == "td"), {})
        side = cell.get("data-side")
        if side and cell.get("class") != "nothing" and not {"a", "summary"} & set(inside):
            self.cells[side][-1] += data

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]

    @property
    def targets(self) -> list[str]:
        return [str(attributes["href"]) for _, attributes in self.elements if "href" in attributes]


def texts_of(found: nd.Comparison) -> dict[str, list[str]]:
    """Return what the cells must hold: the text of each row, without the ends of its last line."""
    rows, sides = found.alignment.rows, {}
    for letter, text, side in (("A", found.a.text, 0), ("B", found.b.text, 1)):
        pieces = [(row.a, row.b)[side] for row in rows]
        sides[letter] = [
            "".join(visible(text[p.begin : p.end]) for p in own).rstrip("\n") for own in pieces if own
        ]
    return sides


def checked(source: str) -> Page:
    page = Page(source)
    assert len(set(page.ids)) == len(page.ids)
    assert {target.removeprefix("#") for target in page.targets} <= set(page.ids)
    assert all(target.startswith("#") for target in page.targets)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "form", "base", "svg", "video"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "srcset", "action")]
    assert not page.comments
    return page


@given(
    st.one_of(edited_pair(), st.tuples(any_text(), any_text())),
    st.text("<>&\"'/!-ab \n\x00\x1b\u202e", max_size=40),
)
def test_the_texts_are_there_as_text(texts: tuple[str, str], markup: str) -> None:
    found = nd.compare(texts[0] + markup, markup + texts[1])
    page = checked(found.html(names=(markup, "B")))
    wanted = texts_of(found)
    assert [cell.rstrip("\n") for cell in page.cells["A"]] == wanted["A"]
    assert [cell.rstrip("\n") for cell in page.cells["B"]] == wanted["B"]


@pytest.mark.parametrize("pair", [(HOSTILE, "x"), (HOSTILE, HOSTILE), ("y " + HOSTILE, HOSTILE + " z")])
def test_markup_in_a_text_is_text(pair: tuple[str, str]) -> None:
    found = nd.compare(*pair)
    for source in (found.html(names=(HOSTILE, "<b>")), found._repr_html_()):
        page = checked(source)
        assert "".join(page.cells["A"]) == visible(pair[0])
        assert "\\u202e" in page.text["code"]
        assert not re.search("[\x00\x1b\u202e\ud800]", source)


def test_the_policy_allows_the_style_and_nothing_else() -> None:
    page = checked(nd.compare(*MEMO).html())
    policy = next(a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a)
    style = b64encode(hashlib.sha256(page.text["style"].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in page.text["style"]
    assert "@import" not in page.text["style"]


def test_both_halves_of_moved_text_lead_to_each_other() -> None:
    found = nd.compare(*MEMO)
    page = checked(found.html())
    badges = {a["id"]: a for tag, a in page.elements if tag == "a" and a.get("class", "").startswith("match")}
    moved = [match.number for match in found.alignment.matches if match.moved]
    assert len(moved) == 1
    assert {badge: a["href"] for badge, a in badges.items()} == {
        f"a{moved[0]}": f"#b{moved[0]}",
        f"b{moved[0]}": f"#a{moved[0]}",
    }
    assert has_parts(str(badges[f"a{moved[0]}"]["aria-label"]), ", moved:", "in B")
    others = nd.compare("the night is dark and red", "the night is dark and cold").html()
    assert [("A number begins" in html, ">moved<" in html) for html in (found.html(), others)] == [
        (True, True),
        (False, False),
    ]


def test_every_difference_is_in_the_list_and_on_the_way() -> None:
    found = nd.compare(*MEMO)
    page = checked(found.html())
    count = sum(row.kind != "equal" for row in found.alignment.rows)
    rows = [a["id"] for tag, a in page.elements if tag == "tr" and "id" in a]
    assert rows == [f"d{number}" for number in range(1, count + 1)]
    links = [target.removeprefix("#") for target in page.targets if re.fullmatch(r"#d\d+", target)]
    steps = [f"d{n + step}" for n in range(1, count + 1) for step in (-1, 1) if 1 <= n + step <= count]
    assert sorted(links) == sorted([*rows, *steps])


def test_what_the_list_says() -> None:
    page = nd.compare(*MEMO).html()
    listed = re.findall(r"<li>(.*?)</li>", page)
    assert each_has_parts(
        [re.sub("<[^>]*>", "", item) for item in listed],
        ("case Budget memo → BUDGET MEMO",),
        ("only in A The committee", "Friday … three", "(match 1, in B further down)"),
        ("only in B The committee", "Thursday … four", "(match 1, in A further up)"),
        ("only in B New paint",),
        ("changed 1200 → 1300",),
        (f"only in A {LAMP}",),
    )


def test_measures_with_kind_and_sentence() -> None:
    page = nd.compare(*MEMO).html()
    main, _, others = page.partition('<table class="measures">')[2].partition("<summary>Other measures</summary>")
    named = [re.findall(r'<th scope="row">(\w+)</th>', part) for part in (main, others)]
    assert set(named[0]) == set(MAIN_MEASURES)
    assert sorted([*named[0], *named[1]]) == sorted(DESCRIPTIONS)
    for name, about in DESCRIPTIONS.items():
        row = re.search(rf'<tr><th scope="row">{name}</th>.*?</tr>', page)
        assert row is not None
        assert f"<td>{about.kind}</td>" in row[0]
        assert about.sentence.replace("'", "&#x27;") in row[0]
    assert re.search(r"<th scope=\"row\">minhash</th><td class=\"value\">0\.\d+<br>95 % interval 0\.\d+ to ", page)


def test_headings_landmarks_and_languages() -> None:
    page = checked(nd.compare(*MEMO).html(names=("old", "new")))
    assert ("html", {"lang": "en"}) in page.elements
    labelled = {a["aria-labelledby"] for tag, a in page.elements if tag in ("section", "nav")}
    assert labelled == {"texts", "differences", "measures"}
    assert [tag for tag, _ in page.elements if re.fullmatch(r"h\d", tag)] == ["h1", "h2", "h2", "h2"]
    cells = [a for tag, a in page.elements if tag == "td" and a.get("data-side") and a.get("class") != "nothing"]
    assert cells
    assert all((a["dir"], a["lang"]) == ("auto", "") for a in cells)
    assert all("scope" in a for tag, a in page.elements if tag == "th")


def test_long_equal_text_is_folded_unless_asked_for() -> None:
    found = nd.compare(*MEMO)
    assert "<summary>39 equal tokens in 4 rows</summary>" in found.html()
    assert "equal tokens in" not in found.html(full=True).replace("(in equal tokens)", "")
    whole = "港の事務所は金曜日に閉まります。桟橋を修理しているためです。" * 6
    folded = nd.compare(f"{whole}\n\n料金は三千円です。", f"{whole}\n\n料金は四千円です。").html()
    assert re.search(r'<summary dir="ltr">\d{2,} equal tokens</summary>', folded)  # words would be one
    assert checked(found.html()).cells == checked(found.html(full=True)).cells


def style_of(page: str) -> str:
    [style] = re.findall(r"<style>(.*?)</style>", page, flags=re.S)
    return style


def test_fragments_share_no_id_and_no_style() -> None:
    one, other = nd.compare(*MEMO)._repr_html_(), nd.compare(*reversed(MEMO))._repr_html_()
    assert not set(checked(one).ids) & set(checked(other).ids)
    assert one == nd.compare(*MEMO)._repr_html_()
    style = re.sub(r"/\*.*?\*/", "", style_of(one), flags=re.S)
    while "(" in (style := re.sub(r"\([^()]*\)", "", style)):
        pass
    selectors = [part for rule in re.findall(r"([^{}]+)\{", style) for part in rule.split(",") if "@" not in rule]
    assert selectors
    assert all(".neardup.neardup.neardup" in part for part in selectors)


def test_a_notebook_does_not_keep_long_texts() -> None:
    text = "All of these words again and again.\n" * 6000
    found = nd.compare(text, text + "More.")
    assert not checked(found._repr_html_()).cells["A"]
    assert "html() makes a page" in found._repr_html_()
    assert "html() makes a page" not in found.html()


def luminance(colour: str) -> float:
    parts = (
        [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        if len(colour) == 7
        else [int(colour[1], 16) / 15] * 3
    )
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast_is_enough(scheme: int) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1 for text."""
    style = style_of(nd.compare(*MEMO).html())
    blocks = [block for block in re.findall(r"\{([^{}]*)\}", style) if "--paper:" in block]
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", blocks[scheme]))
    pairs = [("ink", ground) for ground in ("paper", "head", *(f"c{k}" for k in range(6)))]
    pairs += [("gone-ink", "gone"), ("new-ink", "new")]
    pairs += [(ink, ground) for ink in ("quiet", "link") for ground in ("paper", "head")]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_equal_text_is_shown_before_an_end_that_only_the_other_text_has() -> None:
    sentences = [f"The harbour office number {n} opens at the quay of the town." for n in range(20)]
    body = " ".join(sentences)
    row = re.findall(r"<td dir[^>]*>(.*?)</td>", nd.compare(body, f"{body} The old pier is closed.").html(), re.S)[
        0
    ]
    assert re.sub(r"<details.*?</details>", "…", row, flags=re.S).strip() == f"…{sentences[-1]}"
