"""How the tables look: they fit the terminal, and hostile documents cannot break out of them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.walkthrough import EXAMPLE
from neardup.comparison.walkthrough.chapters import ShownTable, bar
from neardup.comparison.walkthrough.families import FAMILIES
from neardup.display import columns, shorten, similarity, tail
from neardup.text.sketch.provenance import Estimate, estimate

SIGNATURES = """\
                 A             B           C
  h1    1 (row 15)     0 (row 2)  2 (row 11)
  h2     1 (row 1)     0 (row 7)  5 (row 11)
  h3  1 (row 9) =B  1 (row 9) =A  0 (row 11)
  h4     2 (row 3)     3 (row 9)   0 (row 8)
"""
SIMILARITIES = """\
  pair  |A∩B|  |A∪B|  exact  equal values  estimate  95 % interval
   A B      3     12  0.250        1 of 4     0.250    0.045–0.699
   A C      1     11  0.090        0 of 4     0.000    0.000–0.489
   B C      1     12  0.083        0 of 4     0.000    0.000–0.489
"""
CHUNKS = """\
  words in the chunk  chunk-longest  chunk-union  resemblance
                   3              0            0            0
                   4              0            0            0
                   5              5            5            1
                   6              6            6            2
                   7              7            7            3
                   …              …            …            …
                 100            100          100           96
"""


@pytest.mark.parametrize("table", [SIGNATURES, SIMILARITIES])
def test_the_tables_of_the_walk_through(table: str) -> None:
    assert table in nd.explain(EXAMPLE).text()


def test_the_table_of_chunks() -> None:
    assert CHUNKS in nd.explain(EXAMPLE, length=5).text()


def test_sections_that_depend_on_what_is_asked() -> None:
    def titles(**asked: object) -> list[str]:
        lines = nd.explain(EXAMPLE, **asked).text().splitlines()  # type: ignore[arg-type]
        titles = [line for line, under in pairwise(lines) if under and not under.strip("-")]
        assert titles[0] == "Documents"
        numbers = [int(title.partition(". ")[0]) for title in titles[1:]]
        assert set(numbers) == {*range(1, max(numbers) + 1)}
        return [titles[0], *(title.partition(". ")[2] for title in titles[1:])]

    first, last = ["Documents", "Shingles × documents"], "The weight of a common chunk, by its length"
    middle = ["Hash functions", "Signatures", "Signatures, row by row"]
    middle += ["Similarity, exact and estimated", "Error bars"]
    bands = "Bands and buckets"
    assert titles() == titles(slots=200) == [*first, *middle, bands, last]
    assert titles(slots=[50, 100]) == [*first, *middle[3:], last]
    assert titles(slots=[50, 100], band_rows=2) == [
        *first,
        *middle[3:],
        f"{bands} (mod-p, 50 slots)",
        f"{bands} (mod-p, 100 slots)",
        last,
    ]
    assert titles(unit="char") == [*first, *middle, bands]
    assert titles(family=["mod-p", "classic"])[2:7] == [
        "Hash functions (mod-p, 4 slots)",
        "Signatures (mod-p, 4 slots)",
        "Signatures, row by row (mod-p, 4 slots)",
        "Hash functions (classic, 4 slots)",
        "Signatures (classic, 4 slots)",
    ]


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=60), st.lists(st.sampled_from(["ab", "cd", "東京", "é"]), max_size=40).map(" ".join)
    ),
    min_size=2,
    max_size=10,
)


@given(
    texts=TEXTS,
    unit=st.sampled_from(["word", "char"]),
    family=st.sampled_from([*FAMILIES, "all"]),
    slots=st.sampled_from([4, 70, (50, 400)]),
    width=st.sampled_from([72, 80, 120]),
)
def test_no_line_is_wider_than_the_terminal(
    texts: list[str], unit: str, family: str, slots: int | tuple[int, ...], width: int
) -> None:
    tables = nd.explain(texts, unit=unit, family=family, slots=slots, length=2, band_rows=2)  # type: ignore[arg-type]
    lines = tables.text(width).split("\n")
    assert max(columns(line) for line in lines) <= width
    assert all(line.isprintable() for line in lines)


def test_the_matrix_has_the_counted_and_the_estimated_resemblance() -> None:
    texts = ["the night is dark", "the night is red", "the moon", "dark is the night and red the moon"]
    explained = nd.explain(texts, length=2, slots=(4, 64), family="classic")
    shown = nd.similarities(texts, length=2)
    head, *rows = explained.text(80).split("Above the diagonal")[0].strip().split("\n")[-len(texts) - 1 :]
    assert head.split() == list("ABCD")
    estimates = {
        (pair.a, pair.b): one.value
        for pair, one in zip(explained.pairs, explained.drawn[1].estimates, strict=True)
    }
    for a, cells in enumerate(row.split()[1:] for row in rows):
        assert cells[a] == "–"
        assert cells[a + 1 :] == [similarity(value) for value in shown.exact[a, a + 1 :]]
        assert cells[:a] == [similarity(estimates[b, a]) for b in range(a)]
    assert explained._repr_html_().count("<rect") == 2 * len(texts) ** 2


HOSTILE = "<script>alert(1)</script> \x1b[2J \x9b31m \u202eright-to-left & \x00 <b>"


@pytest.mark.parametrize("unit", ["word", "char"])
def test_control_characters_are_escaped(unit: str) -> None:
    shown = nd.explain([HOSTILE, HOSTILE + "x"], unit=unit).text()  # type: ignore[arg-type]
    assert all(line.isprintable() for line in shown.split("\n"))
    assert r"\x1b[2J" in shown


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("unit", ["word", "char"])
def test_the_notebook_shows_tables_and_escapes_what_comes_from_documents(unit: str) -> None:
    shown = nd.explain([HOSTILE, HOSTILE + "x"], unit=unit, band_rows=1)._repr_html_()  # type: ignore[arg-type]
    tags = Tags()
    tags.feed(shown)
    assert tags.open == []
    drawn = {"figure", "svg", "title", "desc", "path", "rect", "circle", "text", "figcaption"}
    assert tags.seen == {"div", "style", "h4", "p", "table", "thead", "tbody", "tr", "th", "td", *drawn}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert shown.isprintable() or all(line.isprintable() for line in shown.split("\n"))


def test_the_notebook_has_the_published_numbers() -> None:
    shown = nd.explain(EXAMPLE)._repr_html_()
    side = ' style="text-align:right"'
    origins = (' title="row 15: “the moon is”"', ' title="row 2: “can see moon”"')
    cells = zip(("", *origins), ("h1", "1 (row 15)", "0 (row 2)"), strict=True)
    assert "".join(f'<td class="number"{origin}{side}>{cell}</td>' for origin, cell in cells) in shown
    assert "&gt;" not in shown
    assert "0.250 (0.045–0.699)" in shown
    assert "(4·x + 9) mod 17" in shown


def test_equal_values_have_one_colour_in_all_tables() -> None:
    """Row 9 gives A and B their value under h3, which is the only equal one."""
    shown = nd.explain(EXAMPLE)._repr_html_()
    marked = re.findall(r'<td class="[^"]*m\d"(?: title="([^"]*)")?[^>]*>([^<]*)</td>', shown)
    both = ("the smallest value under h3", "1")
    same = [("row 9: “moon is red”", f"1 (row 9) ={other}") for other in "BA"]
    of_both = f"the smallest value of {' and '.join('AB')}"
    assert marked == [both, both, (of_both, "1"), *same, ("", "A B | C")]


def test_bands_are_shown_without_a_setting_and_the_pairs_of_the_texts_are_on_their_curve() -> None:
    explained = nd.explain(EXAMPLE)
    bands = explained.html().partition("Bands and buckets")[2]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", bands.partition("</svg>")[0])
    named = [pair for label in labels for pair in label.split(", ") if re.fullmatch("[A-C] [A-C]", pair)]
    assert sorted(named) == ["A B", "A C", "B C"]
    drawn = explained.drawn[0].bands
    resemblance = {f"{'ABC'[pair.a]} {'ABC'[pair.b]}": pair.resemblance for pair in explained.pairs}
    described = bands.partition("Of the pairs here: ")[2].partition("<")[0]
    marks = re.findall(r"((?:[A-C] [A-C](?:, )?)+) (\d\.\d+) at (\d\.\d+)", described)
    assert marks
    for pairs, probability, place in marks:
        value = resemblance[pairs[:3]]
        assert float(place) == pytest.approx(value, abs=1e-3)
        assert float(probability) == pytest.approx(1 - (1 - value**drawn.rows) ** len(drawn.buckets), abs=1e-3)


def test_each_document_has_its_smallest_values_in_bold_letters() -> None:
    explained = nd.explain(EXAMPLE, slots=6, seed=3)
    bold = re.findall(r'bold[^"]*" title="the smallest value of ([ABC and]+)"[^>]*>(\d+)</td>', explained.html())
    (drawn,) = explained.drawn
    expected = {
        (document, str(value))
        for row in drawn.signatures.tolist()
        for document, value in zip("ABC", row, strict=True)
    }
    assert {(document, value) for named, value in bold for document in named.split(" and ")} == expected


def test_documents_without_a_shingle_are_shown_in_every_family() -> None:
    shown = nd.explain(["", "..."], family="all", band_rows=2).text()
    assert "count as equal" in shown
    assert "  h1  -  -" in shown


def test_many_pairs_are_in_the_table_and_the_most_similar_have_bars() -> None:
    texts = ["a b c d", "a b c d e", *[f"x{i} y z u v" for i in range(8)]]
    shown = nd.explain(texts).text()
    bars = shown.partition("Error bars\n")[2]
    assert bars.count(", exact ") == 6
    assert "exact 0.666" in bars
    assert "39 more pairs" in bars


@given(st.integers(1, 400), st.data(), st.integers(31, 80))
def test_a_bar_marks_its_four_numbers(slots: int, data: st.DataObject, width: int) -> None:
    found = estimate(data.draw(st.integers(0, slots)), slots)
    exact = data.draw(st.floats(0, 1))
    drawn = bar(found, exact, width)
    assert len(drawn) == width
    marked = [i for i, letter in enumerate(drawn) if letter in "*|"]
    assert len(marked) == 1
    assert abs(marked[0] / (width - 1) - exact) <= 0.5 / (width - 1) + 1e-9
    centre = drawn.index("*" if "*" in drawn else "o") / (width - 1)
    assert abs(centre - found.value) <= 0.5 / (width - 1) + 1e-9
    covered = [i / (width - 1) for i, letter in enumerate(drawn) if letter in "[-]"]
    assert all(found.low - 1 / width <= at <= found.high + 1 / width for at in covered)


def test_a_bar_on_a_shorter_scale() -> None:
    assert bar(Estimate(0.1, 0.05, 0.15, 9), 0.2, 21, top=0.2) == "     [----o----]    |"


def test_texts_are_cut_to_columns() -> None:
    assert shorten("東京タワー", 5) == "東京…"
    assert tail("東京タワー", 5) == "…ワー"
    table = ShownTable(("", "name"), (("1", "a" * 50), ("2", "b")), frozenset((1,)))
    assert list(table.text(30)) == ["     name", "  1  " + "a" * 24 + "…", "  2  b"]
