"""The report of a review on paper: its pages are counted, and hold the decisions and what is undecided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.io.decisions.records import Judgement, PairNote
from neardup.io.decisions.store import DecisionStore
from support.browser import chromium
from support.made_texts import Writer
from support.messages import has_parts

CIRCULARS, MEMOS = 60, 130


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The words of each page: by default, with the appendix, and with the two texts of each pair."""
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    folder, printed = tmp_path_factory.mktemp("paper"), {}
    result = review(tmp_path_factory.mktemp("review") / "out")
    with chromium() as browser:
        for name, pairs in (("usual", 0), ("appendix", 10), ("whole", 10)):
            page = folder / f"{name}.html"
            page.write_text(nd.report_page(nd.load(result), pairs=pairs), encoding="utf-8")
            shown = browser.new_page()
            shown.goto(page.as_uri())
            if name == "whole":
                shown.check("#whole")
            document = pdfium.PdfDocument(shown.pdf(format="A4", prefer_css_page_size=True))
            printed[name] = [words(sheet) for sheet in document]
    return printed


def words(sheet: Any) -> str:
    return " ".join(sheet.get_textpage().get_text_range().replace("\ufffe\r\n", "-").replace("\u00ad", "").split())


def review(out: Path) -> Path:
    """A review of 279 pairs in 131 groups: one action about 59 pairs, three verdicts, one note."""
    writer = Writer(7)
    circular = writer.text(60)
    rows = [{"id": f"circular-{n:02d}", "text": f"{circular} for desk {n}"} for n in range(CIRCULARS)]
    for memo in range(MEMOS):
        text = writer.text(60)
        versions = (text, f"{text} with clause {memo}", f"until {memo} {text}")[: 2 + (memo % 10 < 7)]
        rows += [{"id": f"memo-{memo:03d}-v{n}", "text": version} for n, version in enumerate(versions)]
    found = nd.find(rows, text="text", id="id", threshold=0.7)
    found.save(out)
    groups = found.groups.filter(~found.groups["representative"].to_numpy(zero_copy_only=False).astype(bool))
    pairs = list(zip(*(groups[name].to_pylist() for name in ("id", "group")), strict=True))
    assert (len(pairs), found.run.counts.groups) == (280, MEMOS + 1)
    one = [Judgement(a, b, "duplicate") for a, b in pairs if a.startswith("circular")]
    assert len(one) == 59
    others = [pair for pair in pairs if pair[0].startswith("memo")]
    with DecisionStore(out) as store:
        store.act(one, by="Ann", what="duplicate: 59 pairs")
        for pair, verdict in zip(others, ("duplicate", "keep both", "not alike"), strict=False):
            store.act([Judgement(*pair, verdict)], by="Ben", what=verdict)  # type: ignore[arg-type]
        store.act([PairNote(*others[10], "ask Ann")], by="Ben", what="note")
    return out


def test_a_review_of_131_groups_takes_few_pages(pages: dict[str, list[str]]) -> None:
    usual = pages["usual"]
    assert len(usual) <= 8, [page[:60] for page in usual]
    assert len(usual) < len(pages["appendix"]) < len(pages["whole"])
    assert len(usual[-1]) > 200  # the last one is no footer alone
    assert [page.count(f"{number} / {len(usual)}") for number, page in enumerate(usual, 1)] == [1] * len(usual)


def test_paper_has_the_decisions_and_what_is_undecided(pages: dict[str, list[str]]) -> None:
    said = " ".join(pages["usual"])
    assert has_parts(said, "218 pairs of 280 are undecided", "62 have a verdict", "218 have", "in 129 groups")
    assert said.count("58 more decisions") == 1  # one action is one row
    noted = said[said.index("Undecided pairs with a note") : said.index("Exceptions")]
    assert has_parts(noted, "memo-", "ask Ann")
    groups = said[said.index("Groups as the run found them") : said.index("Decisions, an action a row")]
    assert all(f"memo-{memo:03d}-v" in groups for memo in range(MEMOS))
    assert groups.count("duplicate 59") == 1
    assert "Undecided pairs, by group" not in said
    assert "Undecided pairs, by group" in " ".join(pages["appendix"])


def test_the_texts_of_pairs_are_printed_when_asked_for(pages: dict[str, list[str]]) -> None:
    assert "A: " not in " ".join(pages["appendix"]).partition("Pairs side by side")[2]
    assert "A: " in " ".join(pages["whole"]).partition("Pairs side by side")[2]
