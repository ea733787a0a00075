"""The report of a result: true figures, for every kind of run, of bounded size, and hostile documents are text."""

import re
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

import neardup as nd
from neardup.deduplication.run.account import LargeCluster
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.records import with_account
from neardup.display import similarity
from neardup.display.charts import bars
from neardup.review.desk.desk import Desk
from neardup.review.desk.index import ResultIndex
from neardup.review.report.content import SHOWN, report_page
from neardup.review.report.lists import GroupLists, TextReading, group_figures, pair_figures
from neardup.review.source import Decide, Question
from neardup.settings.measures import MEASURES
from support.command_line import write_rows
from support.messages import has_parts
from support.plain_pages import HOSTILE, require_plain

WORDS = [f"word{number}" for number in range(120)]


def edited(number: int) -> str:
    """A text of its own family of five: edited in some words, with words of its own at the end."""
    words = [f"f{number // 5}{word}" for word in WORDS]
    words[10 * (number % 5)] = f"changed{number}"
    return " ".join([*words, *(f"own{number}x{place}" for place in range(number % 5))])


APPENDIX: dict[str, Any] = {"pairs": 10, "megabytes": 2}
TEXTS = [*map(edited, range(30)), edited(0), edited(7), "alone in the world with these words", ""]


@pytest.fixture(scope="module")
def found() -> Found:
    return nd.find(TEXTS, threshold=0.6, audit=10, kinds=True)


def stake_by_hand(found: Found) -> dict[object, int]:
    """The text at stake of each group, one document at a time."""
    size = {row["id"]: (row["bytes"], row["first"]) for row in found.ranks.to_pylist()}
    amounts: dict[object, dict[int, int]] = {}
    for row in found.groups.to_pylist():
        if not row["kept"] and row["lost_shingles"]:
            amount, first = size[row["id"]]
            share = row["lost_shingles"] / row["shingles"]
            amounts.setdefault(row["group"], {}).setdefault(first, round(amount * share))
    return {group: sum(parts.values()) for group, parts in amounts.items()}


def test_figures_of_groups_are_those_counted_one_by_one(found: Found) -> None:
    groups = group_figures(ResultIndex(found))
    heads = groups.heads.to_pylist()
    stake = stake_by_hand(found)
    assert stake
    assert {head: int(amount) for head, amount in zip(heads, groups.stake, strict=True) if amount} == stake
    copies = set(found.copies["id"].to_pylist())
    for number, head in enumerate(heads):
        members = [row for row in found.groups.to_pylist() if row["group"] == head]
        others = [row for row in members if not row["representative"]]
        near = [row["similarity"] for row in others if row["id"] not in copies]
        assert groups.size[number] == len(members)
        assert groups.exact[number] == sum(row["id"] in copies for row in others)
        assert (groups.lowest[number], groups.highest[number]) == (min(near), max(near))
    by_stake = groups.by_stake(3).tolist()
    assert [stake[heads[number]] for number in by_stake] == sorted(stake.values(), reverse=True)[:3]


def test_pairs_are_inside_groups_or_between_them(found: Found) -> None:
    group_of = dict(zip(found.groups["id"].to_pylist(), found.groups["group"].to_pylist(), strict=True))
    pairs = pair_figures(ResultIndex(found))
    ends = zip(found.pairs["id_a"].to_pylist(), found.pairs["id_b"].to_pylist(), strict=True)
    assert pairs.between.tolist() == [group_of.get(a, "a") != group_of.get(b, "b") for a, b in ends]
    assert pairs.value[pairs.lowest(4)].tolist() == sorted(found.pairs["resemblance"].to_pylist())[:4]


def test_a_document_of_the_reference_set_is_not_the_new_one_with_its_id() -> None:
    found = nd.find([f"{text} and more" for text in TEXTS[3:20]], against=TEXTS[:15], threshold=0.5)
    pairs = pair_figures(ResultIndex(found))
    heads = {
        row["id"]: row["group"]
        for row in found.groups.to_pylist()
        if not row["representative"] and " in the reference set" in row["reason"]
    }
    own = [
        place
        for place, row in enumerate(found.pairs.to_pylist())
        if row["a_in_reference"] and heads.get(row["id_b"]) == row["id_a"]
    ]
    assert len(own) > 3
    assert (pairs.a[own] == pairs.b[own]).all()
    assert (pairs.a[own] >= 0).all()


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.7, 0.85, 1.0])
def test_every_similarity_is_in_its_bar(threshold: float) -> None:
    values = np.linspace(threshold, 1, 57)
    edges, counts = bars(values, threshold)
    assert sum(counts) == len(values)
    assert len(counts) <= 40
    assert edges[0] < threshold or threshold < 0.1
    assert edges[-1] == 1
    first = next(bar for bar, count in enumerate(counts) if count)
    assert edges[first] <= threshold < edges[first + 1] or threshold == 1


def test_a_report_shows_the_figures_and_the_pairs(found: Found) -> None:
    page = report_page(found, title="a<b", pairs=4, groups=2, megabytes=0, written="2026-11-22")
    read = require_plain(page)
    assert "Near-duplicates in a<b" in read.text
    assert f"{found.run.counts.removed} can be" in read.text
    assert "of 6" in read.text
    assert len(re.findall(r"Pair \d+:", read.text)) == 4
    assert read.text.count("The two texts") == 4
    assert "Written on 2026-11-22" in read.text
    headings = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_groups_are_in_turn_the_least_similar_the_one_at_stake_and_the_largest(found: Found) -> None:
    groups = group_figures(ResultIndex(found))
    left, order = set(range(len(groups))), groups.in_turn().tolist()
    keys = (lambda one: -groups.lowest[one], lambda one: groups.stake[one], lambda one: groups.size[one])
    assert sorted(order) == sorted(left)
    for key, group in zip(keys, order, strict=False):
        assert key(group) == max(map(key, left)) or group not in left
        left.discard(group)


def opened_pairs(page: str) -> dict[str, list[frozenset[str]]]:
    """The pairs of each group that is side by side: one that is shown before it is a link."""
    part = page[page.index('<h2 id="groups"') :]
    parts = re.split(r"<h3>Group \d+: ", part)[1:]
    ends = r"(?:</a>,|: ) ?<bdi dir=\"ltr\" lang=\"\">(\d+)</bdi> and <bdi dir=\"ltr\" lang=\"\">(\d+)</bdi>"
    return {re.findall(r"\d+", one)[0]: [frozenset(pair) for pair in re.findall(ends, one)] for one in parts}


def test_every_group_can_be_opened_side_by_side(found: Found) -> None:
    page = report_page(found, pairs=4, megabytes=2)
    require_plain(page)
    copies = set(found.copies["id"].to_pylist())
    members: dict[str, set[frozenset[str]]] = {}
    for row in found.groups.to_pylist():
        if not row["representative"] and row["id"] not in copies:
            members.setdefault(str(row["group"]), set()).add(frozenset((str(row["id"]), str(row["group"]))))
    read = {group: set(pairs) for group, pairs in opened_pairs(page).items()}
    assert read == members
    with_copies = {row["group"] for row in found.groups.to_pylist() if row["id"] in copies}
    assert page.count("Exact copies: ") == len(with_copies) == 2
    assert "not in the page" not in page
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


@pytest.mark.parametrize("megabytes", [0, 0.001, 0.02, 0.05])
def test_groups_above_the_size_of_the_page_are_listed(found: Found, megabytes: float) -> None:
    page = report_page(found, pairs=2, megabytes=megabytes)
    opened, none = opened_pairs(page), report_page(found, pairs=2, megabytes=0)
    assert len(page) <= len(none) + megabytes * 1e6
    left = 6 - len(opened)
    assert left > 0
    assert has_parts(require_plain(page).text, f"{left} group", "not in the page", "--megabytes")
    figures = group_figures(ResultIndex(found))
    order = [str(group) for group in figures.heads.take(figures.in_turn()).to_pylist()]
    assert list(opened) == order[: len(opened)]
    rest = page[page.index("<details><summary>Groups that are not in the page") :]
    assert re.findall(r'<th scope="row"><bdi dir="ltr" lang="">(\d+)</bdi>', rest) == order[len(opened) :]


def test_long_names_count_for_the_size_of_the_page(tmp_path: Path) -> None:
    rows = [{"id": f"{HOSTILE}{'<é/' * 100}{number}", "text": edited(number % 10)} for number in range(200)]
    found = nd.find(write_rows(tmp_path / "documents.jsonl", rows), threshold=0.95)
    pages = [report_page(found, pairs=1, megabytes=size).encode() for size in (0, 0.03)]
    assert b'"group-1"' in pages[1]
    assert len(pages[1]) <= len(pages[0]) + 30_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *[({"megabytes": megabytes}, "megabytes") for megabytes in (-1, 101, float("nan"))],
        ({"pairs": -1, "groups": 5}, "whole number"),
        ({"pairs": 101, "groups": 5}, "whole number"),
        ({"pairs": 5, "groups": 1001}, "whole number"),
    ],
)
def test_sizes_that_a_page_cannot_have_are_refused(found: Found, given: dict[str, Any], words: str) -> None:
    with pytest.raises(nd.SettingError, match=words):
        report_page(found, **given)


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_a_report(measure: str) -> None:
    read = require_plain(report_page(nd.find(TEXTS[:10], threshold=0.5, measure=measure), pairs=2))
    assert MEASURES[measure].in_words("literal") in read.text


def test_runs_of_other_kinds_have_a_report() -> None:
    first, second = TEXTS[:15], TEXTS[3:20]
    runs = {
        "fingerprints": nd.find(TEXTS[:15], threshold=0.5, sketch="simhash"),
        "reference set": nd.find(second, against=first, threshold=0.5),
        "chains": nd.find(TEXTS[:15], threshold=0.9, groups="components"),
        "stricter": nd.find(TEXTS, threshold=0.5).at(0.8),
        "none stays": nd.find(TEXTS[:15], threshold=0.5, keep="none"),
        "nothing": nd.find([]),
        "nothing alike": nd.find(TEXTS[-2:]),
    }
    for name, found in runs.items():
        read = require_plain(report_page(found, pairs=3))
        assert f"{found.run.counts.read}" in read.text, name
        for empty in (0, 1) if name in ("fingerprints", "nothing") else ():
            require_plain(report_page(found, pairs=empty, groups=empty))


def test_groups_that_are_not_listed_are_counted(found: Found) -> None:
    page = " ".join(require_plain(report_page(found, pairs=1, groups=0)).text.split())
    assert page.count("6 groups are not listed") == 3
    assert "There are no groups" not in page[: page.index("Groups side by side", page.index("Exceptions"))]


def test_members_of_a_chain_below_the_threshold_are_listed_from_the_least_similar() -> None:
    texts = [" ".join(WORDS[first : first + 30]) for first in range(0, 24, 3)]
    found = nd.find(texts, threshold=0.7, length=1, groups="components")
    below = sorted(value for value in found.groups["similarity"].to_pylist() if value < 0.7)
    page = require_plain(report_page(found, **APPENDIX)).text
    listed = re.findall(r"(0\.\d+), joined by a chain", page)
    assert len(below) > 3
    assert listed[: len(below)] == list(map(similarity, below))  # the pairs side by side say it again


def test_a_result_whose_texts_cannot_be_read_says_so(tmp_path: Path, found: Found) -> None:
    found.save(tmp_path / "out", store_texts=False)
    read = require_plain(report_page(nd.load(tmp_path / "out"), **APPENDIX))
    assert "--megabytes" not in read.text
    assert has_parts(read.text, "cannot be read", "6 groups", "cannot be read")
    assert read.text.count("cannot be read") == 2  # pairs, and groups
    assert has_parts(read.text, "no texts")
    assert "The two texts" not in read.text
    found.save(tmp_path / "whole")
    whole = require_plain(report_page(nd.load(tmp_path / "whole"), **APPENDIX))
    assert "cannot be read" not in whole.text
    assert "The two texts" in whole.text


def test_hostile_documents_are_text(tmp_path: Path) -> None:
    texts = [f"{HOSTILE} {edited(number)} {HOSTILE}" for number in range(6)]
    texts += [edited(9).replace(" ", "") * 100, edited(9).replace(" ", "") * 100 + "y"]
    ids = [f"{HOSTILE}{number}" for number in range(len(texts) - 1)] + ["x" * 100_000]
    rows = [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]
    path = write_rows(tmp_path / "documents.jsonl", rows)
    page = report_page(nd.find(path, threshold=0.4, kinds=True), title=HOSTILE, by=HOSTILE, **APPENDIX)
    assert len(page) < 1_000_000
    read = require_plain(page)
    assert "<script>alert(1)</script>" in read.text
    assert "\\u202e" in read.text


def test_a_page_is_bounded_however_long_the_texts_are() -> None:
    long = "".join(f"word{number} in line {number // 7}.\n" for number in range(12_000))
    texts = [long, long.replace("7", "x"), long[: len(long) // 2] + "other" * 50_000]
    page = report_page(nd.find(texts, threshold=0.2), **APPENDIX)
    assert len(page) < 3 * 20 * SHOWN
    require_plain(page)


def test_missed_pairs_and_crowds_are_listed(found: Found) -> None:
    assert found.missed is not None
    crowded = with_account(found, large_clusters=[LargeCluster("<b>", 1200, 700)])
    missing = replace(crowded, missed=found.pairs.slice(3, 2))
    read = require_plain(report_page(missing, **APPENDIX))
    assert "missed by the run" in read.text.lower()
    assert "1,200" in read.text
    assert "no missed pair" in require_plain(report_page(found, **APPENDIX)).text


def test_hostile_text_in_an_account_is_text(found: Found) -> None:
    recall = structs.replace(found.run.recall, statement=HOSTILE)
    strange = {"inputs": [HOSTILE], "against": [HOSTILE], "recall": recall, "warnings": [HOSTILE * 1000] * 1000}
    page = report_page(with_account(found, **strange), **APPENDIX)
    require_plain(page)
    assert len(page) < 1_000_000


def test_without_stored_kinds_a_line_names_that_of_one_member() -> None:
    found = nd.find(TEXTS[:10], threshold=0.6)
    groups = group_figures(ResultIndex(found))
    lines = GroupLists(found, groups, pair_figures(ResultIndex(found)), TextReading(found), 5)
    assert lines.stake.lines
    for line in lines.stake.lines:
        worst = lines.worst(line)
        assert worst is not None
        assert line.differs == found.compare(worst.id, line.id).kind
    copies = nd.find([TEXTS[0], TEXTS[0].upper()])
    assert "punctuation only" in require_plain(report_page(copies)).text


def test_lost_text_that_is_unknown_is_not_shown_as_none() -> None:
    words = [f"word{number}" for number in range(60)]
    chain = [" ".join(words[begin : begin + 40]) for begin in (0, 3, 6, 9, 12)]
    found = nd.find([*chain, f"{chain[0]} x", chain[2][:150]], threshold=0.5, lose=0.1).at(0.6)
    unknown = sum(row["lost_shingles"] is None and not row["kept"] for row in found.groups.to_pylist())
    assert unknown
    assert found.run.lost.unknown == unknown
    page = " ".join(require_plain(report_page(found, **APPENDIX)).text.split())
    assert f"unknown for {unknown}" in page or "from stored pairs" in page
    assert has_parts(page, "not known", "for 1 group,")


def test_the_method_says_that_groups_were_made_again_from_stored_pairs() -> None:
    found = nd.find(TEXTS[:10], threshold=0.5)
    again = "The groups were made again from the pairs that an earlier run stored at 0.5 or above"
    methods = [
        " ".join(require_plain(page).text.partition("Two documents are a pair")[2].partition("Results")[0].split())
        for page in (report_page(found), report_page(found.at(0.7)), report_page(found.at(0.6).at(0.7)))
    ]
    assert [again in method for method in methods] == [False, True, True]


def test_a_report_counts_the_undecided_and_has_one_row_an_action(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(60)]
    texts = [" ".join([*words[:k], "changed", *words[k + 1 :]]) for k in range(0, 60, 5)]
    others = [" ".join(f"v{n}" for n in range(40)), " ".join(f"v{n}" for n in range(1, 41))]
    write_rows(tmp_path / "in.jsonl", [{"id": f"d{n}", "text": text} for n, text in enumerate([*texts, *others])])
    nd.find(tmp_path / "in.jsonl", threshold=0.5).save(tmp_path / "out")
    with closing(Desk.open(tmp_path / "out")) as desk:
        largest = max(desk.groups(Question()).lines, key=lambda line: line.size)
        done = desk.decide(Decide("group", "duplicate", "ann", 0, group=largest.key))
    page = report_page(nd.load(tmp_path / "out"), **APPENDIX)
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    judged, pairs = done.action.changes, len(texts) - 1 + 1
    assert judged == len(texts) - 1
    assert has_parts(
        text, f"1 pair of {pairs} is undecided", f"{pairs} pairs", f"{judged} have a verdict", "1 has"
    )
    assert re.findall(r'data-label="Undecided">(\d+)<', page) == ["0", "1"]
    assert f'data-label="Verdicts">duplicate {judged}<' in page
    assert "after the review" not in text
    part = page[page.index("Decisions, an action a row") :]
    assert part[: part.index("</table>")].count('<tr data-action="1"><th scope="row"') == 1
    assert f"{judged - 1} more decisions" in text
    digest = nd.load(tmp_path / "out").places.tables(np.arange(1))["places"]["digest"][0].as_py().hex()
    assert digest in text


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ({}, ""),
        ({"mask": [r"\d+"]}, "mask"),
        ({"keep": ["first"]}, "keep"),
        ({"ignore_numbers": True}, "ignore_numbers"),
    ],
)
def test_settings_that_are_not_usual_are_named(given: dict[str, object], other: str) -> None:
    page = str(report_page(nd.find(TEXTS[:10], **given)))  # type: ignore[arg-type]
    named = re.findall(r"these settings are not the usual ones: (\w+)", page)
    assert named == [other] * bool(other)
