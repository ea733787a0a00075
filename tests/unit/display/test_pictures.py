"""Pictures: drawn to scale, said in words, readable on light and dark paper, and escaped."""

import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

import neardup as nd
from neardup.display import style
from neardup.display.charts import Histogram, bars
from neardup.display.curves import CountCurves, ErrorBar, SCurve, error_bars, heat_map
from neardup.display.style import DARK, LEAST_CONTRAST, LIGHT, READ_ON, TOKENS, notebook_style, page_style
from neardup.display.svg import MIDDLE, Picture
from support.messages import has_parts
from support.paths import DOCS
from support.plain_pages import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
TEXT = ("ink", "quiet", "link")
MARKED = (("gone-ink", "gone"), ("new-ink", "new"), *(("ink", f"c{number}") for number in range(6)))


def luminance(colour: str) -> float:
    """Return the relative luminance (WCAG 2.2) of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_contrast_on_every_paper(colours: dict[str, str]) -> None:
    on_paper = [(name, paper) for name in TEXT for paper in ("paper", "head")]
    for ink, paper in (*on_paper, *MARKED):
        assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    for name in ("bar", "below", "loss", "edge", "accent"):
        assert contrast(colours[name], colours["paper"]) >= 3, name


def test_the_page_on_pages_has_the_tokens_and_contrasts_of_the_style() -> None:
    page = (DOCS / "contributing" / "pages.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `([a-z]+)` \| `([^`]+)` \|", page, re.MULTILINE)) == TOKENS
    rows = re.findall(r"^\| `([\w-]+)` on `(\w+)` \|.* \| ([\d.]+) \| .* \| ([\d.]+) \|$", page, re.MULTILINE)
    assert [row[:2] for row in rows] == [(ink, paper) for ink, papers in READ_ON.items() for paper in papers]
    for ink, paper, *figures in rows:
        for colours, figure in zip((LIGHT, DARK), figures, strict=True):
            own = contrast(colours[ink], colours[paper])
            assert own >= LEAST_CONTRAST
            assert own == pytest.approx(style.contrast(colours[ink], colours[paper]))
            assert 0 <= own - float(figure) < 0.1


def test_areas_without_a_style_have_contrast_on_light_and_on_dark_paper() -> None:
    for name, colour in MIDDLE.items():
        for paper in ("#ffffff", "#1e1e1e", DARK["paper"]):
            assert contrast(colour, paper) >= 3, (name, paper)


def test_both_palettes_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()
    for colours in (LIGHT, DARK):
        assert all(f"--{name}: {value}" in page_style() for name, value in colours.items())


def test_a_notebook_follows_its_theme_and_a_page_the_system() -> None:
    assert "prefers-color-scheme" not in notebook_style()
    assert "prefers-color-scheme: dark" in page_style()
    assert "--jp-" not in page_style()
    for part in (
        '[data-jp-theme-light="false"]',
        ".vscode-dark",
        "--jp-layout-color0",
        "--vscode-editor-background",
    ):
        assert part in notebook_style()


@pytest.mark.parametrize(("threshold", "slots"), [(0.8, 128), (0.5, 64), (0.95, 200)])
def test_the_areas_of_error_are_the_integrals_of_the_curve(threshold: float, slots: int) -> None:
    plan = nd.plan(threshold, 0.95, slots)
    curve = SCurve(plan.probability, threshold, "")
    middles = (np.arange(100_000) + 0.5) / 100_000
    below = middles[middles < threshold]
    chance = 1 - np.prod([1 - middles**rows for rows in plan.bands], axis=0)
    assert curve.in_vain == pytest.approx(chance[: len(below)].sum() / 100_000, abs=1e-4)
    assert curve.missed == pytest.approx((1 - chance[len(below) :]).sum() / 100_000, abs=1e-4)


def test_the_curve_passes_through_its_values() -> None:
    root = ElementTree.fromstring(nd.plan(0.8).svg())
    [drawn] = [part.get("d") or "" for part in root.iter(SVG + "path") if part.get("class") == "curve"]
    points = [tuple(map(float, point.split())) for point in drawn.removeprefix("M").split("L")]
    (left, floor), (right, ceiling) = points[0], points[-1]
    for x, y in points[:: len(points) // 10]:
        at = (x - left) / (right - left)
        assert (floor - y) / (floor - ceiling) == pytest.approx(nd.plan(0.8).probability(at), abs=0.01)


def picture_of_every_kind(label: str) -> list[Picture]:
    values = [[1.0, 0.7, None], [0.7, 1.0, 0.25], [None, 0.25, 1.0]]
    return [
        Histogram((0.7, 0.8, 0.9, 1.0), (1, 0, 9), 0.8, label).picture(),
        SCurve(lambda at: at**2, 0.5, label).picture(),
        SCurve(lambda at: at**2, None, label).picture(),
        error_bars([ErrorBar(label, 0.5, 0.4, 0.6, 0.55), ErrorBar("b", 0.0, 0.0, 0.1)], label, label),
        heat_map([label, "b", "c"], values, label),
    ]


@pytest.mark.parametrize("kind", range(5))
def test_a_picture_is_one_element_with_a_title_and_a_description(kind: int) -> None:
    picture = picture_of_every_kind("<b> & name")[kind]
    for source in (picture.file(), picture.inline()):
        root = ElementTree.fromstring(source)
        named = (root.get("aria-labelledby") or "").split()
        parts = {part.get("id"): part for part in root if part.get("id") in named}
        assert [part.tag.removeprefix(SVG) for part in parts.values()] == ["title", "desc"]
        assert [part.text for part in parts.values()] == [picture.title, picture.said]
        assert root.get("role") == "img"
        assert not [word for word in ("href", "url(", "<script", "@import", " style=") if word in source]
    assert picture.said in unescape(picture.figure())


@pytest.mark.parametrize("kind", range(5))
def test_a_picture_is_inside_its_frame(kind: int) -> None:
    picture = picture_of_every_kind("name")[kind]
    for element in ElementTree.fromstring(picture.file()).iter():
        x, y = (float(element.get(name) or 0) for name in ("x", "y"))
        wide, tall = (float(element.get(name) or 0) for name in ("width", "height"))
        if element.tag != SVG + "svg":
            assert -1 <= x <= x + wide <= picture.width + 1, ElementTree.tostring(element)
            assert -1 <= y <= y + tall <= picture.height + 1, ElementTree.tostring(element)


def test_error_bars_are_drawn_to_one_scale() -> None:
    root = ElementTree.fromstring(error_bars([ErrorBar("a", 0.5, 0.25, 0.75), ErrorBar("b", 0, 0, 1)], "t").file())
    spans = [part.get("d") or "" for part in root.iter(SVG + "path") if part.get("class") == "span"]
    (low, high), (left, right) = ([float(part.split(" ")[0]) for part in _ends(span)] for span in spans)
    assert (low - left) / (right - left) == pytest.approx(0.25, abs=0.01)
    assert (high - left) / (right - left) == pytest.approx(0.75, abs=0.01)
    dots = [float(part.get("cx") or 0) for part in root.iter(SVG + "circle")]
    assert (dots[0] - left) / (right - left) == pytest.approx(0.5, abs=0.01)


def _ends(span: str) -> list[str]:
    first, _, rest = span.removeprefix("M").partition("H")
    return [first, rest.partition("M")[0]]


def test_a_heat_map_is_darker_where_documents_are_more_similar() -> None:
    said = picture_of_every_kind("a")[4]
    cells = [part for part in ElementTree.fromstring(said.inline()).iter() if part.tag.endswith("rect")]
    shades = [float(cell.get("fill-opacity") or 0) for cell in cells]
    assert len(shades) == 9
    assert shades[2] == 0 < shades[5] < shades[1] < shades[0]
    assert has_parts(said.said, "c and b, 0.250.", "b and a, 0.700.")


def test_the_bars_of_a_histogram_hold_all_values() -> None:
    values = np.array([0.61, 0.7, 0.999, 1.0])
    edges, counts = bars(values, 0.7)
    assert sum(counts) == len(values)
    assert edges[0] <= 0.61
    assert [count for count in counts if count] == [1, 1, 2]


def test_what_documents_hold_is_not_markup_in_a_picture() -> None:
    for picture in picture_of_every_kind(HOSTILE.replace("\ud800", "")):
        assert "<script" not in picture.figure()
        assert "<img" not in picture.file()


def test_counts_over_thresholds_are_lines_marked_at_the_nearest_one() -> None:
    picture = CountCurves([0.5, 0.75, 1.0], {"documents": [40, 20, 0], "removed": [10, 5, 0]}, 0.8).picture()
    assert picture.said == "At 0.750: 20 documents, 5 removed."
    drawn = [re.findall(r"[ML]([\d.]+) ([\d.]+)", part) for part in picture.parts if 'class="curve"' in part]
    heights = [float(y) for _, y in drawn[0]]
    assert heights == sorted(heights)  # down from the top to the floor, by equal steps
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1])
    assert sum("<circle" in part for part in picture.parts) == 2
    assert CountCurves([0.9], {"documents": [0]}, 0.9).picture().said == "At 0.900: 0 documents."
