"""The frame, the filters and the tables of pages: documents and ids are hostile."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import neardup
from neardup.comparison.compare import compare
from neardup.display.charts import Histogram
from neardup.display.view import policy_for, self_contained
from neardup.io.writers.output import OutputPage
from neardup.review.parts import style, templates_of
from neardup.review.report.content import SHOWN, bounded_comparison
from neardup.review.source import GroupLine, PairLine
from support.plain_pages import HOSTILE, require_plain


def group(**values: object) -> GroupLine:
    fields = {"words": HOSTILE, "size": 3, "exact_copies": 1, "lowest": 0.7, "highest": 0.9999}
    given = {**fields, "differs": HOSTILE, "stake": 1500, "decided": 0, "pairs": 2, **values}
    return GroupLine(key=1, id=HOSTILE, **given)  # type: ignore[arg-type]


PAIR = PairLine(1, 2, HOSTILE, HOSTILE, (HOSTILE, HOSTILE), 0.5, HOSTILE, "unsure", HOSTILE)


def macro(name: str, *values: object, **named: object) -> str:
    return str(getattr(templates_of().get_template("macros.html").module, name)(*values, **named))


def test_a_self_contained_page_names_its_style_and_is_one_of_ours(tmp_path: object) -> None:
    page = self_contained(templates_of(), "page.html", style(), title=HOSTILE, generator="neardup report")
    found = require_plain(page)
    policies = [a["content"] for tag, a in found.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [policy_for(style())]
    assert "<style>" + style() + "</style>" in page
    path = tmp_path / "page.html"  # type: ignore[operator]
    path.write_text(page, encoding="utf-8")
    assert OutputPage(path).is_own(path)


def test_a_served_page_links_to_its_style_and_has_no_policy_of_its_own() -> None:
    page = templates_of().get_template("page.html").render(title="Groups", style_href="/style.css")
    assert '<link rel="stylesheet" href="/style.css">' in page
    assert "http-equiv" not in page
    assert "<style" not in page


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        templates_of().get_template("page.html").render(style_href="/style.css")


@pytest.mark.parametrize(
    "made",
    [
        lambda: macro("groups", [group(), group(lowest=None)], "Groups"),
        lambda: macro("pairs", [PAIR], "Pairs"),
        lambda: macro("figures", [(HOSTILE, HOSTILE)]),
        lambda: macro("notes", [HOSTILE]),
        lambda: str(bounded_comparison(compare(HOSTILE + " a", HOSTILE + " b"), (HOSTILE, "B"), "p1-", SHOWN)),
    ],
    ids=["groups", "pairs", "figures", "notes", "comparison"],
)
def test_hostile_text_is_shown_as_text(made: object) -> None:
    page = made()  # type: ignore[operator]
    found = require_plain(page)
    assert "<script>alert(1)</script>" in found.text
    assert "\\u202e" in found.text


def test_tables_call_their_caller_for_a_last_cell() -> None:
    template = templates_of().from_string(
        '{% import "macros.html" as parts %}'
        '{% call(line) parts.pairs(pairs, "Pairs", more="Do") %}B{{ line.b }}{% endcall %}'
    )
    page = template.render(pairs=[PAIR])
    assert '<td class="free" data-label="Do">B2</td>' in page
    assert '<th scope="col">Do</th>' in page


def test_the_histogram_has_its_numbers_as_a_table_and_needs_no_style() -> None:
    edges, counts = (0.7, 0.8, 0.9, 1.0), (1, 0, 1_000_000)
    page = str(Histogram(edges, counts, 0.8, "resemblance").figure())
    found = require_plain(page)
    bars = [attributes for tag, attributes in found.elements if tag == "rect"]
    assert [bar["class"] for bar in bars] == ["below", "bar"]
    assert all(float(bar["height"] or 0) >= 2 for bar in bars)
    assert "threshold 0.8" in found.text
    assert "1,000,000" in found.text
    assert ("svg", "img") in {(tag, attributes.get("role") or "") for tag, attributes in found.elements}


def test_a_histogram_without_pairs_says_so() -> None:
    assert "no pairs." in str(Histogram((0.7, 1.0), (0,), None, "resemblance").figure())
    with pytest.raises(ValueError, match="one value more"):
        Histogram((0.7, 1.0), (0, 1), None, "resemblance")


def test_a_bounded_comparison_is_short_whatever_the_texts() -> None:
    lines = [f"line {number} of the long text with several words" for number in range(3000)]
    other = [line + " changed" if number % 3 == 0 else line for number, line in enumerate(lines)]
    found = compare("\n".join(lines), "\n".join(other))
    page = str(bounded_comparison(found, ("A", "B"), "p1-", 5000))
    assert "not on this page" in page
    assert len(page) < 0.2 * len(str(bounded_comparison(found, ("A", "B"), "p1-", 10**9)))
    assert "Measures" not in page


def test_a_bounded_comparison_shows_no_line_of_a_megabyte() -> None:
    found = compare("x" * 1_000_000, "y" * 1_000_000)
    assert len(str(bounded_comparison(found, ("A", "B"), "p1-", 5000))) < 20_000


@pytest.mark.parametrize("most", [0, 300, 2000, 5000])
def test_a_bounded_comparison_has_no_link_that_leads_nowhere(most: int) -> None:
    blocks = [" ".join(f"word{block}x{number}" for number in range(12)) + ".\n" for block in range(40)]
    moved = blocks[20:] + [f"new sentence {number} here.\n" for number in range(5)] + blocks[:20]
    require_plain(str(bounded_comparison(compare("".join(blocks), "".join(moved)), ("A", "B"), "p-", most)))


SHEETS = [
    "neardup/review/live/review.css",
    "neardup/review/parts/style.css",
    "neardup/comparison/show/style.css",
]


def on_screen(sheet: str) -> list[str]:
    """The declarations of a style sheet but those for paper, whose sizes are in points."""
    source = Path(neardup.__file__).parents[1] / sheet
    rules = re.sub(r"/\*.*?\*/", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    rules = re.sub(r"@page \{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "", rules)
    screen = re.sub(r"@media print \{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    return [
        part.strip() for block in re.findall(r"\{([^{}]*)\}", screen) for part in block.split(";") if part.strip()
    ]


@pytest.mark.parametrize("sheet", SHEETS)
def test_type_has_the_sizes_and_weights_of_the_tokens(sheet: str) -> None:
    declarations = on_screen(sheet)
    assert len(declarations) > 50
    sizes = [part for part in declarations if part.startswith(("font-size:", "font:")) and "--" not in part]
    assert sizes == [part for part in sizes if part == "font: inherit"]
    weights = {part.partition(":")[2].strip() for part in declarations if part.startswith("font-weight:")}
    assert weights <= {"normal", "var(--strong)"}


@pytest.mark.parametrize("sheet", SHEETS)
def test_space_is_a_multiple_of_four_pixels_or_two(sheet: str) -> None:
    spaces = [part for part in on_screen(sheet) if re.match(r"(margin|padding|(row-|column-)?gap)\b", part)]
    sizes = {float(size) * 16 for part in spaces for size in re.findall(r"(?<![\w.])(\d*\.?\d+)rem", part)}
    assert sizes
    assert {size for size in sizes if size % 4 and size != 2} == set()
