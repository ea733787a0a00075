"""A report beside its result: the untouched page of each kind of run is confirmed, and each forgery is named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.decisions.records import FateOf, Judgement, PairNote, Represents, Tag
from neardup.io.decisions.store import DecisionStore
from neardup.review.report.verifier import ReportVerifier
from support.command_line import result_in
from support.hostile_ids import HOSTILE
from support.made_results import Case, made
from support.made_reviews import FOX, TEXTS, make_result
from support.messages import has_parts

APPENDIX: dict[str, Any] = {"pairs": 3, "megabytes": 1}
SIGNED = {"title": "Harbour <b>", "by": "Ann. Written on paper", "written": "2026-11-22 10:00 UTC"}
RUNS = {
    "plain": Case("jsonl"),
    "files": Case("texts"),
    "broken lines": Case("broken lines"),
    "containment": Case("jsonl", ("--measure", "containment", "--threshold", "0.6")),
    "chains": Case("jsonl", ("--groups", "components", "--threshold", "0.5")),
    "approximate": Case("jsonl", ("--method", "lsh", "--threshold", "0.5")),
    "group": Case("jsonl", (), 0, "group"),
    "without empty ones": Case("jsonl", ("--empty", "drop")),
    "newest": Case("parquet", ("--keep", "max:year")),
    "none kept": Case("jsonl", ("--keep", "none")),
    "kinds and audit": Case("jsonl", ("--kinds", "--audit", "10")),
    "against": Case("jsonl", ("--against", "FOLDER/base.jsonl", "--threshold", "0.3")),
}


FERRY = "Ada saw the ferry cross the quiet harbour before noon and waited on the pier with a letter from the mayor"
MORE = {"empty": "", "blank": " \n", "ferry": f"{FERRY} and a lamp", "boat": FERRY.replace("Ada", "Bruno")}
"""Documents that are not compared, and one that loses text."""


def decide(out: Path) -> Path:
    """Decide about a result of ``make_result``: two documents of five that the run removes are kept."""
    with DecisionStore(out) as store:
        store.act([Judgement("fox-12", "fox", "keep both", "of the <i>clerk")], by="Ann", what="keep both")
        store.act([FateOf("plan", "keep")], by="Bob <b>", what="keep")
        store.act([Tag("fox", "hot"), Tag("plan", "<i>secret")], by="Ann", what="tags")
        store.act([Judgement("fox", "nobody", "not alike")], by="Cleo", what="of another result")
        store.act([Judgement("fox-less", "fox", "unsure")], by="Cleo", what="unsure")
        store.act([PairNote("plan", "plan-more", "ask\nthe \u202e mayor")], by="Cleo", what="a note")
    return out


def verdict(out: Path, page: str | bytes) -> tuple[list[str], ReportVerifier]:
    """The mismatches of a page beside a result."""
    verifier = ReportVerifier(out, "page.html", page if isinstance(page, bytes) else page.encode())
    for check in ReportVerifier.CHECKS:
        assert verifier.check(check)
    return [one.sentence for one in verifier.mismatches], verifier


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Results that are made once each."""

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp("result")
        if name in RUNS:
            return made(RUNS[name], folder / "made")
        if name == "hostile":
            texts = {id: f"{FOX} {number % 9} times" for number, id in enumerate(HOSTILE)}
            return decide(make_result(folder, TEXTS | texts))
        if name == "applied":
            result_in(folder, "apply", decide(make_result(folder, TEXTS | MORE)), "-o", "final")
            return folder / "final"
        if name == "regrouped":
            result_in(folder, "regroup", make_result(folder, TEXTS | MORE), "-o", "stricter", "--threshold", "0.6")
            return folder / "stricter"
        if name == "no groups":
            return make_result(folder, {"fox": TEXTS["fox"], "alone": TEXTS["alone"]})
        return make_result(folder) if name == "undecided" else decide(make_result(folder, TEXTS | MORE))

    return cache(make)


@pytest.mark.parametrize("more", [{}, APPENDIX], ids=["brief", "appendix"])
@pytest.mark.parametrize("name", [*RUNS, "no groups", "undecided", "decided", "applied", "regrouped", "hostile"])
def test_the_untouched_report_is_confirmed(
    results: Callable[[str], Path], name: str, more: dict[str, Any]
) -> None:
    out = results(name)
    mismatches, verifier = verdict(out, nd.report_page(nd.load(out), **SIGNED, **more))
    assert mismatches == []
    assert list(verifier.stated.values()) == list(SIGNED.values())[:1] + list(SIGNED.values())[1:]


def cut(begin: str, end: str) -> Callable[[str], str]:
    return lambda page: page[: page.index(begin)] + page[page.index(end, page.index(begin)) + len(end) :]


def change(old: str, new: str) -> Callable[[str], str]:
    """Replace the first place of a pattern."""

    def apply(page: str) -> str:
        changed, count = re.subn(old, new, page, count=1, flags=re.DOTALL)
        assert count == 1, old
        return changed

    return apply


ROW = r'<tr data-group="1">.*?</tr>\n'
FORGERIES: dict[str, tuple[Callable[[str], str], str]] = {
    "another digest of the inputs": (change(r'(data-figure="inputs">)\w{4}', r"\g<1>0000"), "Cover, inputs"),
    "another digest of the result": (change(r'(data-figure="result">)\w{4}', r"\g<1>0000"), "Cover, result"),
    "a number in the words of the cover": (
        change(r'(data-figure="kept">|data-figure="after kept">)\d+', r"\g<1>99"),
        "kept",
    ),
    "a number beside its figure": (change(r"(<dt>documents read</dt>.*?)\d+", r"\g<1>8"), "read"),
    "the words of a number, not its mark": (change(r'(<dd data-figure="pairs">)\d+', r"\g<1>7"), "Results, pairs"),
    "the mark of a number": (change(r'data-figure="pairs"', 'data-figure="groups"'), "groups"),
    "another threshold": (change(r'(data-figure="threshold">)0.5', r"\g<1>0.9"), "Method, threshold"),
    "another policy": (
        change(r"follows from the policy “longest", "follows from the policy “first"),
        "policy “first",
    ),
    "a row of a group removed": (change(ROW, ""), "plan"),
    "a row of a group twice": (change(f"({ROW})", r"\1\1"), "no such row"),
    "a row of a group hidden": (change(r'<tr data-group="1">', '<tr data-group="1" hidden>'), "hidden"),
    "a row of a group in a comment": (change(f"({ROW})", r"<!--\1-->"), "plan"),
    "two groups in another order": (change(rf'(<tr data-group="0">.*?</tr>\n)({ROW})', r"\2\1"), "another place"),
    "another similarity": (change(r'(data-label="Similarity">0\.)\d', r"\g<1>0"), "Similarity"),
    "the name of a group": (change(r"<tr data-group=\"1\">(.*?)plan", r'<tr data-group="1">\1clan'), "clan"),
    "a letter that looks alike": (change(r"(<tr data-group=\"1\">.*?pl)a", "\\1\u0430"), "pl\u0430n"),
    "an invisible character": (change(r"(<tr data-group=\"1\">.*?pl)a", "\\1\u200ba"), "pl"),
    "fewer undecided pairs": (
        change(r'(<tr data-group="1">.*?data-label="Undecided">)\d+', r"\g<1>0"),
        "Undecided",
    ),
    "the words of a phone": (change(r'data-label="Undecided"', 'data-label="Decided"'), "Decided"),
    "a style that hides": (change(r"</style>", "tr { display: none }</style>"), "display: none"),
    "a second style": (change(r"</head>", "<style>p { display: none }</style></head>"), "display: none"),
    "a script": (change(r"</head>", "<script>document.title = 1</script></head>"), "document.title"),
    "a weaker policy of the page": (change(r"default-src &#39;none&#39;; ", ""), "Content-Security-Policy"),
    "a sentence more": (change(r"</main>", "<p>Counsel approved this.</p></main>"), "Counsel approved this."),
    "a warning less": (change(r"<p class=\"note\">.*?</p>\n", ""), "lacks"),
    "the end cut off": (lambda page: page[: page.index('<section aria-labelledby="groups"')], "Groups"),
    "an action row removed": (change(r"<tr data-action=\"1\">.*?</tr>\n", ""), "Ann"),
    "another person": (change(r"(<tr data-action=\"1\">.*?)Ann", r"\1Eve"), "Eve"),
    "another last action": (change(r"up to action 6", "up to action 5"), "action 5"),
    "another mark of the state": (change(r'(neardup-state" content="\w{64}) 6', r"\1 9"), "newer"),
    "a tag less": (change(r", &lt;i&gt;secret 1\.", "."), "Tags"),
    "another version": (change(r"neardup [\d.]+ for this page", "neardup 9.9 for this page"), "neardup 9.9"),
    "shorter lists": (change(r"at most 200 groups", "at most 1 group"), "no such row"),
    "a document that decisions keep, removed": (
        change(r"(<caption>Documents that the decisions.*?)kept", r"\1removed"),
        "removed",
    ),
    "another text of a pair": (change(r"(<table class=\"texts.*?)quick", r"\1quiet"), "quiet"),
    "elements in each other": (change(r"</main>", "<b>" * 3_000 + "</main>"), "<b>"),
    "lists without a length": (change(r"and 1 MB side", "and 1.2.3 MB side"), "To check"),
    "a byte at the end": (lambda page: f"{page} ", "line"),
}
"""Changes of the report of a reviewed result with an appendix, each with words of the mismatch that names it."""


@pytest.fixture(scope="module")
def reviewed(results: Callable[[str], Path]) -> tuple[Path, str]:
    out = results("decided")
    return out, nd.report_page(nd.load(out), **SIGNED, pairs=1, megabytes=1)


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forgery_is_named(reviewed: tuple[Path, str], name: str) -> None:
    out, page = reviewed
    forge, words = FORGERIES[name]
    forged = forge(page)
    assert forged != page
    mismatches, _ = verdict(out, forged)
    assert any(words in one for one in mismatches), mismatches


@pytest.mark.parametrize(
    ("name", "forge", "words"),
    [
        ("against", change(r"base\.jsonl", "other.jsonl"), "other.jsonl"),
        ("against", change(r'(data-figure="inputs">)\w{4}', r"\g<1>0000"), "Cover, inputs"),
        ("regrouped", change(r"(of a run at threshold )0\.5", r"\g<1>0.4"), "threshold 0.4"),
        ("regrouped", change(r'(data-figure="threshold">)0.6', r"\g<1>0.5"), "Method, threshold"),
        ("regrouped", change(r'(data-figure="stored from">)0.5', r"\g<1>0.4"), "Method, stored from"),
        ("regrouped", cut("The groups were made again", "compared again."), "stored from"),
    ],
)
def test_a_forged_origin_is_named(
    results: Callable[[str], Path], name: str, forge: Callable[[str], str], words: str
) -> None:
    page = nd.report_page(nd.load(results(name)), **SIGNED, **APPENDIX)
    mismatches, _ = verdict(results(name), forge(page))
    assert any(words in one for one in mismatches), mismatches


def test_a_report_of_another_result_says_so(reviewed: tuple[Path, str], results: Callable[[str], Path]) -> None:
    mismatches, _ = verdict(results("plain"), reviewed[1])
    assert "another result" in mismatches[0]


@pytest.mark.parametrize("data", [b"", b"<html>", b"\xff\xfe", b"<h1>Near-duplicates</h1>", b"%PDF-1.7"])
def test_a_file_that_is_no_report_is_refused(reviewed: tuple[Path, str], data: bytes) -> None:
    with pytest.raises(InputError) as refused:
        verdict(reviewed[0], data)
    assert has_parts(str(refused.value), "page.html is not a report", "Allowed: ", "neardup report")


def test_a_report_that_is_older_than_the_review_says_so(reviewed: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "result"
    shutil.copytree(reviewed[0], out)
    with DecisionStore(out) as store:
        store.act([Judgement("plan", "plan-more", "duplicate")], by="Ann", what="duplicate")
        store.act([Represents("fox", "fox-12"), FateOf("plan", None)], by="Ann", what="more")
    [mismatch], verifier = verdict(out, reviewed[1])
    assert has_parts(mismatch, "older than the review", "2 later actions", "up to action 6")
    assert has_parts(verifier.check("state"), "action 8")
    now = nd.report_page(nd.load(out), **SIGNED, pairs=1, megabytes=1)
    assert verdict(out, now)[0] == []
    assert has_parts(verdict(reviewed[0], now)[0][0], "newer", "lacks 2 actions")


COUNTED: dict[str, tuple[Callable[[str], str], str]] = {
    "a figure to judge": (change(r'(data-figure="to judge">)\d', r"\g<1>7"), "to judge"),
    "a figure before the decisions": (change(r'(data-figure="before kept">)\d', r"\g<1>99"), "before kept"),
    "the removed share": (change(r"\d+\.\d % of the documents", "1.0 % of the documents"), "to remove"),
    "a count of copies": (change(r"\d identical", "9 identical"), "exact copies"),
    "the lost share": (change(r"[\d.]+ %(</dd><dd>of the shingles)", r"0.1 %\1"), "text lost"),
    "who decided": (change(r"1 by Ann, 1 by Bob", "2 by Ann"), "Decided by"),
    "a similarity": (change(r'(data-label="Similarity">0\.)\d', r"\g<1>0"), "Similarity"),
    "kinds": (change(r"numbers only 1", "numbers only 2"), "Difference"),
    "verdicts": (change(r"keep both 1", "duplicate 1"), "Verdicts"),
    "a note": (change(r"ask\\nthe", "ask a"), "with a note"),
    "a note less": (
        change(r"<caption>Undecided pairs with a note.*?</table>", "</caption></table>"),
        "with a note",
    ),
    "why a decision does not apply": (change(r"(<td[^>]*>)no document has the id", r"\1it is late:"), "Why"),
    "an exception less": (change(r'<tr data-exception="0">.*?</tr>', ""), "Exceptions"),
    "an action": (change(r'(<tr data-action="1">.*?)keep both', r"\1not alike"), "Decision"),
    "a time": (change(r"(<tr data-action=\"1\">.*?)20\d\d", r"\g<1>1999"), "When"),
    "the size of a file": (change(r"(<caption>Files, .*?<td[^>]*>)[\d,]+", r"\g<1>1"), "Bytes"),
    "a kind of difference": (change(r'(<caption>Kinds of.*?class="number">)\d+(</td>)', r"\g<1>8\2"), "Kinds of"),
    "a changed document": (change(r"(<caption>Documents that the dec.*?)kept", r"\1removed"), "Fate"),
    "a pair that waits": (change(r"(<caption>Undecided pairs, by group.*?)0\.\d+", r"\g<1>0.999"), "by group"),
    "tags": (change(r"(<caption>Documents with tags.*?)hot", r"\1cold"), "Tags"),
    "a pair at the threshold": (change(r"(<caption>At or just above.*?shared )\d+", r"\g<1>1"), "Why"),
    "a pair less": (change(r"(<caption>At or just above.*?<tbody>\n)<tr>.*?</tr>", r"\1"), "just above"),
    "a large group": (change(r"(<caption>Groups by number.*?Documents\">)\d", r"\g<1>9"), "Documents"),
    "a loss": (change(r"(<caption>Documents to remove.*?)\d+ of", r"\g<1>9 of"), "Lost"),
    "an opened group": (change(r'(class="opened">.*?)\d documents', r"\g<1>7 documents"), "side by side"),
    "the fate of a member": (change(r"(<div class=\"member\">.*?)A (kept|removed)", r"\1A lost"), "member"),
    "a head": (change(r"<th scope=\"col\">Verdicts", '<th scope="col">Decided'), "Verdicts"),
}
"""Changes that the counts alone must name, with words of the mismatch: the page written again is not needed."""


@pytest.mark.parametrize("name", COUNTED)
def test_the_counts_alone_name_a_forged_number_or_row(reviewed: tuple[Path, str], name: str) -> None:
    out, page = reviewed
    forge, words = COUNTED[name]
    verifier = ReportVerifier(out, "page.html", forge(page).encode())
    for check in ("figures", "rows"):
        verifier.check(check)
    assert any(words in one.where for one in verifier.mismatches), verifier.mismatches


def test_the_note_on_a_review_in_another_folder_is_not_looked_at(
    results: Callable[[str], Path], tmp_path: Path
) -> None:
    """The report of an applied result says that its review has gone on; the folder of the review may be away."""
    out = decide(make_result(tmp_path))
    result_in(tmp_path, "apply", out, "-o", "final")
    with DecisionStore(out) as store:
        store.act([FateOf("plan", None)], by="Ann", what="later")
    page = nd.report_page(nd.load(tmp_path / "final"), **SIGNED)
    assert verdict(tmp_path / "final", page)[1].unseen.total() == 0
    out.rename(tmp_path / "away")
    mismatches, verifier = verdict(tmp_path / "final", page)
    assert (mismatches, verifier.unseen.total()) == ([], 1)
    assert verdict(tmp_path / "final", page.replace("gone on since", "been closed"))[0]


def test_the_state_after_each_action_is_the_one_that_was_read_then(tmp_path: Path) -> None:
    out = make_result(tmp_path)
    steps: list[list[Any]] = [
        [Judgement("fox-12", "fox", "keep both", "a note")],
        [FateOf("plan", "keep"), Tag("fox", "hot")],
        [Judgement("fox-12", "fox", None), PairNote("fox", "plan", "why")],
        [Represents("fox", "fox-12"), Tag("fox", "hot", on=False)],
        [FateOf("plan", None)],
    ]
    with DecisionStore(out) as store:
        states = [store.state()]
        for changes in steps:
            store.act(changes, by="Ann", what="a step")
            states.append(store.state())
        for action in (5, 6, 4):
            store.undo(by="Bob", action=action)
            states.append(store.state())
        assert [store.state_after(number) for number in range(len(states))] == states
        assert store.state_after(99) == states[-1]
