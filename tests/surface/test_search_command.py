"""``neardup collection search`` as it is typed, over a collection in a file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neardup.cli.app import app
from neardup.collection import Collection
from support.command_line import BASE, NEAR, OTHER, ROWS, Run, write_rows
from support.made_collections import write_documents
from support.messages import each_has_parts, has_parts

Search = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Search:
    path = tmp_path_factory.mktemp("search") / "mail.neardup"
    texts = {"a": BASE, "b": NEAR, "c\x1b[2J": BASE.upper(), "d": OTHER}
    with Collection(path, scale=4, floor=4) as mails:
        mails.add(write_documents(path.with_name("mail.jsonl"), texts))

    def run(*arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["collection", "search", str(path), *arguments])
        return done.exit_code, done.stdout, done.stderr

    return run


def test_hits(search: Search) -> None:
    status, out, err = search("FINGERPRINT:a_20_80")
    assert (status, err) == (0, "")
    head, *lines = out.splitlines()
    assert re.fullmatch(r"2 documents found \(recall 0\.\d{4} or more\)", head)
    assert each_has_parts(
        lines[:3],
        ("c\\x1b[2J",),
        ("1.000 of the query", "96 of 96 shingles", "1.000 of the hit", "of 96", "resemblance 1.000"),
        (f"  100 words in a row: {BASE.upper()[:240]} …",),
    )
    assert lines[3] == "b"


def test_a_bound_of_the_comparisons_is_stated(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(2000))
    with Collection(tmp_path / "long.neardup") as made:
        made.add([{"id": name, "text": f"{long} {name}"} for name in "abcd"])
    line = ["collection", "search", str(tmp_path / "long.neardup"), "FINGERPRINT:a_50_80", "--most-compared", "1"]
    done = CliRunner().invoke(app, line)
    assert done.stdout.splitlines()[0] == "at least 1 document found (2 candidates not compared)"


def test_pages(search: Search) -> None:
    first = search("FINGERPRINT:a_1", "--limit", "1")[1]
    token = first.splitlines()[-1].removeprefix("more: --after ")
    second = search("FINGERPRINT:a_1", "--limit", "1", "--after", token)[1]
    assert "\nb\n" in second
    assert "more:" not in second
    status, out, err = search("FINGERPRINT:a", "--after", "x")
    assert (status, out) == (2, "")
    assert has_parts(err, "error: ", "page token", "Allowed: ", "next", "Try: ", "first page")


def test_json(search: Search) -> None:
    page = json.loads(search("FINGERPRINT:a_20_80", "--json", "--include-self")[1])
    assert page["query"] == "FINGERPRINT:a_20_80"
    assert page["found"] == 3
    assert page["recall"] >= 0.8
    assert page["next"] is None
    assert [hit["id"] for hit in page["hits"]] == ["a", "c\x1b[2J", "b"]
    assert page["hits"][2]["shared"] == 95
    assert page["hits"][2]["passage"]["words"] == 99


def test_explain(search: Search) -> None:
    status, out, _ = search("EXPLAIN FINGERPRINT:a_20_80")
    assert (status, out) == (0, search("FINGERPRINT:a_20_80", "--explain")[1])
    assert "look up its" in out
    assert json.loads(search("FINGERPRINT:a_20_80", "--explain", "--json")[1])["fingerprints"][0]["shingles"] == 96


def test_why_not(search: Search) -> None:
    status, out, _ = search("FINGERPRINT:a_20", "--why-not", "d")
    assert status == 0
    assert has_parts(out, '"d" is not among', "FINGERPRINT:a_20", "0 of the 96", 'document "a", 0.0 %', "20 %")
    assert json.loads(search("FINGERPRINT:a_20", "--why-not", "x", "--json")[1])["reason"] == "unknown id"
    assert search("FINGERPRINT:a_20", "--why-not", "d", "--explain")[0] == 2


def test_nothing_found(search: Search) -> None:
    status, out, _ = search("harbour")
    assert (status, has_parts(out, "0 documents found", "EXPLAIN")) == (0, True)


def test_a_file(search: Search, tmp_path: Path) -> None:
    path = tmp_path / "mine_20.txt"
    path.write_text(NEAR, encoding="utf-8")
    status, out, _ = search(f"FILE:{path}_99", "--limit", "1")
    assert (status, out.splitlines()[1]) == (0, "b")
    status, _, err = search(f"FILE:{tmp_path}/absent_20")
    assert status == 2
    assert "absent" in err
    assert "in quotation marks" in err


def test_a_mistake_is_shown_with_its_place(search: Search) -> None:
    status, out, err = search("a AND (b")
    assert (status, out) == (2, "")
    assert has_parts(err, "bracket", "(character 7):\n         a AND (b\n               ^\n", "Try: ")


def test_a_collection_that_is_missing_is_a_shard_that_does_not_answer(run: Run, tmp_path: Path) -> None:
    places = [tmp_path / f"{number}.neardup" for number in range(2)]
    assert run("collection", "add", places[0], write_rows(tmp_path / "a.jsonl", ROWS)).status == 0
    whole = run("collection", "search", places[0], "other5")
    refused = run("collection", "search", *places, "other5")
    assert refused.status == 2
    assert has_parts(refused.err, str(places[1]))
    answer = run("collection", "search", *places, "other5", "--partial")
    assert answer.status == 0
    assert has_parts(answer.err, str(places[1]), "Shard 2 of 2")
    assert answer.out.splitlines()[1:] == whole.out.splitlines()[1:] != []
    assert not places[1].exists()
    assert run("collection", "search", places[1], tmp_path / "2.neardup", "fox", "--partial").status == 2


def test_a_query_that_begins_with_a_minus_sign_is_explained(search: Search) -> None:
    status, _, err = search("-kernel")
    assert status == 2
    assert has_parts(err, "-kernel is not an option", "NOT", "-- -kernel")
