"""The report of a reviewed result reports the review: its figures, its decisions, their authors and the tags."""

from __future__ import annotations

import html
import json
import re
from contextlib import closing
from pathlib import Path

import pytest

import neardup as nd
from neardup.deduplication.run.show import summary
from neardup.io.decisions.records import FateOf, Judgement, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.review.desk.desk import Desk
from support.command_line import Run
from support.live_pages import live
from support.made_reviews import make_result
from support.messages import has_parts


@pytest.fixture
def reviewed(tmp_path: Path) -> Path:
    """The run removes fox-12, fox-copy, fox-less, plan and night-copy; people keep two of them."""
    out = make_result(tmp_path)
    with DecisionStore(out) as store:
        store.act([Judgement("fox-12", "fox", "keep both")], by="Ann", what="keep both")
        store.act([FateOf("plan", "keep")], by="Bob <b>", what="keep")
        store.act([Tag("fox", "hot"), Tag("plan", "hot"), Tag("plan", "<i>secret")], by="Ann", what="tags")
        store.act([Judgement("fox", "nobody", "not alike")], by="Cleo", what="of another result")
    return out


def words(page: Path | str) -> str:
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text[text.index("<header") :])).split())


def written(run: Run, result: Path) -> str:
    page = result.parent / f"{result.name}.html"
    said = run("report", result, "-o", page, "--overwrite", "--pairs", 1)
    assert said.status == 0, said.err
    text = page.read_text(encoding="utf-8")
    assert "Bob <b>" not in text
    assert "<i>secret" not in text
    return words(page)


def test_the_figures_are_those_after_the_decisions(run: Run, reviewed: Path) -> None:
    with_decisions = json.loads(run("apply", reviewed, "--dry-run", "--json").out)["counts"]
    counts = nd.load(reviewed).run.counts
    assert (counts.removed, with_decisions["removed"]) == (5, 3)
    said = written(run, reviewed)
    assert has_parts(said, "of 9 documents, 3 can be removed", "6 are kept.")
    assert "run by itself removed 5;" in said
    assert "were removed" not in said
    assert re.search(r"to remove 3 \S+ % of the documents", said)
    assert words(nd.report_page(nd.load(reviewed))).count("3 can be removed") == 1


def test_what_follows_is_counted_beside_the_run_with_the_documents_concerned(run: Run, reviewed: Path) -> None:
    with DecisionStore(reviewed) as store:
        store.act([FateOf("alone", "remove"), FateOf("night", "remove")], by="Ann", what="remove")
        apart = [Judgement("fox-less", other, "not alike") for other in ("fox", "fox-12", "fox-copy")]
        store.act(apart, by="Cleo", what="not alike")
    after = json.loads(run("apply", reviewed, "--dry-run", "--json").out)["counts"]
    said = written(run, reviewed)
    before = nd.load(reviewed).run.counts
    for name in ("groups", "removed", "kept"):
        assert f" {name} {getattr(before, name)} {after[name]} " in said
    listed = said[said.index("keep or remove Document Fate Why") : said.index("Undecided pairs, by group")]
    gone = {row["id"] for row in nd.load(reviewed).groups.to_pylist() if not row["kept"]}
    kept = {
        json.loads(line)["id"] for line in (reviewed.parent / "documents.jsonl").read_bytes().splitlines()
    } - gone
    assert run("apply", reviewed, "-o", reviewed.with_name("final")).status == 0
    final = {
        json.loads(line)["id"] for line in (reviewed.with_name("final") / "kept.jsonl").read_bytes().splitlines()
    }
    assert set(re.findall(r"(\S+) kept ", listed)) == final - kept
    assert set(re.findall(r"(\S+) removed ", listed)) == kept - final
    assert has_parts(listed, "by Ann: keep both", "no group", "by Cleo: not alike", "by Bob <b>: keep")
    applied = written(run, reviewed.with_name("final"))
    assert "keep or remove" not in applied
    figures = said[said.index("What follows") : said.index("What is not decided", said.index("What follows"))]
    assert has_parts(figures, "Before the", "After the")
    assert figures in applied  # the same, in the report of the documents that stay


def test_the_decisions_are_listed_with_their_authors_and_the_tags(run: Run, reviewed: Path) -> None:
    said = written(run, reviewed)
    assert "This page follows 2 decisions of people: 1 by Ann, 1 by Bob <b>." in said
    assert has_parts(said, f"{reviewed} up to action 4;", "not included")
    assert re.search(r"plan keep Bob <b> 20\d\d-\d\d-\d\d \d\d:\d\d UTC fox keep both with fox-12 Ann", said)
    assert has_parts(said, "fox not alike", "nobody Cleo", "no document", "nobody")
    assert "Tags: hot 2, <i>secret 1." in said
    assert "fox hot plan <i>secret, hot" in said
    assert "decided by Ann" in run("show", reviewed, "fox-12").out
    assert "fate kept" in " ".join(run("show", reviewed, "fox-12").out.split())


def test_the_report_of_a_final_result_lists_the_decisions_that_made_it(run: Run, reviewed: Path) -> None:
    final = reviewed.parent / "final"
    assert run("apply", reviewed, "-o", final).status == 0
    said = written(run, final)
    assert has_parts(said, "Of 9 documents, 3 were removed", "6 are kept.")
    assert "This result follows 2 decisions of people: 1 by Ann, 1 by Bob <b>." in said
    assert "fox keep both with fox-12 Ann" in said
    assert "Tags: hot 2" in said
    assert "older than" not in said

    with DecisionStore(reviewed) as store:
        store.act([FateOf("plan", "remove")], by="Ann", what="remove")
    assert has_parts(written(run, final), "up to action 5:", "older than")

    reviewed.rename(reviewed.with_name("elsewhere"))  # another result may take the name
    assert "older than" not in written(run, final)
    (reviewed.parent / "other").mkdir()
    other = make_result(reviewed.parent / "other", {"x": "some text that has nothing to do with it at all"})
    with DecisionStore(other) as store:
        store.act([Tag(str(number), "x") for number in range(3)], by="Ann", what="tags")
        for number in range(9):
            store.act([Tag("x", str(number))], by="Ann", what="tags")
    other.rename(reviewed)
    assert "older than" not in written(run, final)


def test_a_page_that_is_older_than_the_decisions_is_named_by_the_review(run: Run, reviewed: Path) -> None:
    page = reviewed.parent / "report.html"
    (reviewed.parent / "other").mkdir()
    other = make_result(reviewed.parent / "other", {"x": "some text that has nothing to do with it at all"})

    def older() -> str:
        """The sentence at the top of the groups, which is also in the output of show."""
        with closing(Desk.open(reviewed)) as desk, live(desk) as pages:
            about, top = desk.about(), pages.get("/").words.partition("Filter")[0]
        said = run("show", reviewed, "fox").out
        assert (about.older in top, about.older in " ".join(said.split())) == (True, True)
        assert ("older than" in top, "older than" in said) == (bool(about.older),) * 2
        assert json.loads(run("show", reviewed, "fox", "--json").out)["older_report"] == (about.older or None)
        return about.older

    assert not older()
    assert run("report", reviewed, "-o", page).status == 0
    assert re.search(r"Written on 20\d\d-\d\d-\d\d \d\d:\d\d UTC, with 2 decisions, up to action 4\.", words(page))
    assert not older()
    with DecisionStore(reviewed) as store:
        store.act([FateOf("plan", "remove")], by="Ann", what="remove")
        store.undo(by="Ann")
    assert has_parts(older(), "report.html", "older", "by 2 actions")
    assert run("report", other, "-o", page, "--overwrite").status == 0  # of another result
    assert not older()
    assert run("report", reviewed, "-o", reviewed.with_name("result.html")).status == 0
    assert not older()
    with DecisionStore(reviewed) as store:
        store.act([FateOf("plan", "remove")], by="Ann", what="remove")
    assert older().startswith("result.html is older")


def test_a_result_of_group_says_that_nothing_was_removed(run: Run, tmp_path: Path) -> None:
    make_result(tmp_path)
    grouped = tmp_path / "grouped"
    run("group", tmp_path / "documents.jsonl", "-o", grouped, "--threshold", 0.5, "--id", "id")
    with DecisionStore(grouped) as store:
        store.act([Judgement("fox-12", "fox", "keep both")], by="Ann", what="keep both")
    said = written(run, grouped)
    assert has_parts(said, "removed nothing.", "4 can go")
    assert run("apply", grouped, "-o", tmp_path / "final").status == 0
    assert "Before the decisions" not in written(run, tmp_path / "final")


def test_without_decisions_the_page_says_so_and_a_final_result_is_that_of_the_run(
    run: Run, tmp_path: Path
) -> None:
    out, final = make_result(tmp_path), tmp_path / "final"
    assert "Decided by nobody" in written(run, out)
    made = run("apply", out, "-o", final)
    assert made.status == 0, made.err
    assert "decisions     none yet (of " in made.out
    assert nd.load(final).groups.equals(nd.load(out).groups)
    kept = [json.loads(line)["id"] for line in (final / "kept.jsonl").read_bytes().splitlines()]
    assert kept == ["fox", "plan-more", "night", "alone"]
    assert "nobody had decided" in written(run, final)
    assert ("decisions", f"none yet (of {out})") in summary(nd.load(final).run)
