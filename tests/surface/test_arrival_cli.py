"""Near documents, groups and decisions from the command line."""

import json
import shlex
from pathlib import Path

import pytest

from neardup.collection import Collection
from support.command_line import BASE, NEAR, OTHER, Run, write_rows
from support.messages import each_has_parts, has_parts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.neardup"


@pytest.fixture
def first(run: Run, path: Path, tmp_path: Path) -> Path:
    run(
        "collection",
        "add",
        path,
        write_rows(tmp_path / "first.jsonl", [{"id": "a", "text": BASE}, {"id": "d", "text": OTHER}]),
    )
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    rows = [{"id": "b", "text": NEAR}, {"id": "c\x1b[2J", "text": BASE}, {"id": "e", "text": "something else"}]
    return write_rows(tmp_path / "new.jsonl", rows)


def test_near_documents_are_skipped(run: Run, first: Path, new: Path) -> None:
    result = run(
        "collection",
        "add",
        first,
        new,
        "--id",
        "id",
        "--text",
        "text",
        "--threshold",
        "0.8",
        "--on-near",
        "reject",
    )
    assert (result.status, result.err) == (0, "")
    assert each_has_parts(
        result.out.splitlines(),
        (f"1 document added; {first} holds 3",),
        ("2 documents near", "recall 0.9900 or more", "2 not stored"),
        ("  b repeats a, 0.9793: rejected",),
        ("  c\\x1b[2J repeats a, 1.0000 (identical text): rejected",),
    )


def test_near_documents_are_linked_and_shown_as_groups(run: Run, first: Path, new: Path) -> None:
    result = run(
        "collection", "add", first, new, "--threshold", "0.8", "--on-near", "link", "--recall", "1", "--json"
    )
    told = json.loads(result.out)
    assert (told["added"], told["repeats"], told["linked"], told["left_out"], told["recall"]) == (3, 2, 2, 0, 1.0)
    assert [(one["id"], one["of"], one["action"], one["group"]) for one in told["near"]] == [
        ("b", "a", "linked", 1),
        ("c\x1b[2J", "a", "linked", 1),
    ]
    assert (told["near"][0]["shared"], told["near"][0]["size"], told["near"][0]["of_size"]) == (95, 96, 96)
    shown = run("collection", "groups", first).out.splitlines()
    assert shown == [
        "group 1: 3 documents, threshold 0.8",
        "  a  representative",
        "  b  0.9793",
        "  c\\x1b[2J  1.0000  identical text",
    ]
    with Collection(first) as collection:
        assert json.loads(run("collection", "groups", first, "--json").out) == collection.groups().as_dict()
    assert run("collection", "groups", first, "--after", "1").out == "no more groups\n"
    assert json.loads(run("collection", "info", first, "--json").out)["groups"] == 1


def test_without_groups_the_next_command_is_named(run: Run, first: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.neardup"
    Collection(empty).close()
    assert run("collection", "groups", empty).out.endswith(f"neardup collection add {empty} FOLDER\n")
    *_, typed = run("collection", "groups", first).out.partition(": neardup ")
    compared = run(*shlex.split(typed)).out
    assert has_parts(compared, "no groups", "--threshold 0.8")
    regrouped = run("collection", "groups", first, "--regroup", "--threshold", "0.7").out
    assert has_parts(regrouped, "no groups", "--threshold 0.7")


def test_groups_come_in_pages(run: Run, first: Path) -> None:
    assert has_parts(run("collection", "groups", first).out, "no groups", "--complete")
    with Collection(first) as collection:
        collection.add([f"word{place // 2}" for place in range(4)], near=1, on_near="link")
    assert run("collection", "groups", first, "--limit", "1").out.splitlines()[-1] == "more: --after 1"


def test_near_is_only_told_unless_more_is_asked_for(run: Run, first: Path, new: Path) -> None:
    result = run("collection", "add", first, new, "--threshold", "0.8")
    assert has_parts(result.out, "2 documents", "recall 0.9900 or more)\n")
    assert "b repeats a, 0.9793: kept" in result.out
    assert has_parts(run("collection", "groups", first).out, "no groups", "--complete")
    assert "near" not in run("collection", "add", first, new, "--replace", "--json").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--on-near", "link"), "given without --threshold"),
        (("--threshold", "2"), "threshold of near is 2.0"),
        (("--threshold", "0.5", "--recall", "0"), "recall of near is 0.0"),
        (("--threshold", "0.5", "--on-near", "drop"), "on_near is 'drop'"),
    ],
)
def test_options_that_make_no_sense(run: Run, first: Path, new: Path, options: tuple[str, ...], said: str) -> None:
    result = run("collection", "add", first, new, *options)
    assert (result.status, result.out) == (2, "")
    assert said in result.err


def test_decisions(run: Run, first: Path) -> None:
    assert run("collection", "decide", first, "a", "d", "duplicate", "--by", "ann").out == "duplicate: a and d\n"
    assert run("collection", "groups", first).out.splitlines()[-1] == "  d  0.0000, held by a decision"
    assert run("collection", "decide", first, "a", "d", "not alike").status == 0
    assert has_parts(run("collection", "groups", first).out, "no groups", "--complete")
    assert run("collection", "decide", first, "a", "d", "undecided").out == "withdrawn\n"
    again = run("collection", "decide", first, "a", "d", "undecided")
    assert (again.status, "no decision" in again.out) == (0, True)
    result = run("collection", "decide", first, "a", "d", "perhaps")
    assert (result.status, "The verdict is 'perhaps'" in result.err) == (2, True)
    assert "no document 'x'" in run("collection", "decide", first, "a", "x", "duplicate").err


def test_base_texts_count_in_no_document(run: Run, path: Path, tmp_path: Path) -> None:
    form = write_rows(tmp_path / "form.jsonl", [{"id": "form", "text": BASE}])
    result = run("collection", "add", path, form, "--role", "base")
    assert result.out.splitlines()[-1] == f"1 boilerplate text added; {path} holds 1"
    own = " ".join(f"own{number}" for number in range(9))
    rows = [{"id": id, "text": f"{BASE} {more}"} for id, more in (("a", own), ("b", own + " end"), ("c", ""))]
    letters = write_rows(tmp_path / "letters.jsonl", rows)
    result = run("collection", "add", path, letters, "--threshold", "0.5", "--on-near", "link")
    assert each_has_parts(
        result.out.splitlines()[-2:],
        ("1 document near", "recall 0.9900 or more", "1 linked", "1 of boilerplate alone"),
        ("  b repeats a, 0.9000: linked, group 1",),
    )
    assert has_parts(run("collection", "info", path).out, "1 of these:", "no document")
    refused = run("collection", "add", path, form, "--role", "base", "--replace")
    assert refused.status == 2
    assert "it has 1 group" in refused.err
    wrong = run("collection", "add", tmp_path / "other.neardup", form, "--role", "x")
    assert (wrong.status, (tmp_path / "other.neardup").exists()) == (2, False)
    assert "role is 'x'" in wrong.err
