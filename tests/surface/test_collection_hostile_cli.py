"""Hostile ids and mistaken searches on the command line: the output is safe, and names the remedy."""

import json
import re
from pathlib import Path

import pytest

from neardup import display
from neardup.collection.query.syntax import quoted_text
from support.command_line import BASE, Run
from support.full_run import FULL
from support.hostile_ids import HOSTILE
from support.made_collections import write_documents
from support.messages import has_parts

_ALL = tuple(id for id in HOSTILE if "\x00" not in id)
_ASKED = {"100%", "a_20", "a_20_80", "a_20_80_30"}
TYPED = tuple(id for k, id in enumerate(_ALL) if FULL or k % 4 == 0 or id in _ASKED)
"""An argument cannot hold a NUL."""


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    texts = {id: f"{BASE} own{k}" for k, id in enumerate(TYPED)}
    lines = write_documents(tmp_path / "in.jsonl", texts, sender=[f"{id} \x1b[31m" for id in TYPED])
    result = run(
        "collection", "add", tmp_path / "x.neardup", lines, "--text", "text", "--id", "id", "--meta", "sender"
    )
    assert result.out == f"{len(TYPED)} documents added; {tmp_path}/x.neardup holds {len(TYPED)}\n"
    return tmp_path / "x.neardup"


def is_safe(printed: str) -> bool:
    """Whether nothing in it rules a terminal or turns around what is read."""
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", printed)


def test_every_hostile_id_from_the_first_command_to_the_last(run: Run, path: Path) -> None:
    for k, id in enumerate(TYPED):
        found = run("collection", "search", path, f"FINGERPRINT:{quoted_text(id)}_90", "--limit", 1000)
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith(f"{display.counted(len(TYPED) - k - 1, 'document')} found")
        why = run("collection", "search", path, f"FINGERPRINT:{quoted_text(id)}_90", "--why-not", id)
        assert "the query document" in why.out
        explained = run(
            "collection", "search", path, f"EXPLAIN FINGERPRINT:{quoted_text(id)}_90 AND sender:{quoted_text(id)}"
        )
        assert explained.status == 0
        removed = run("collection", "remove", path, "--", id)
        assert removed.out == f"1 document removed; {path} holds {len(TYPED) - k - 1}\n"
        gone = run("collection", "remove", path, "--", id)
        assert gone.status == 2
        assert all(map(is_safe, (found.out, why.out, explained.out, removed.out, gone.err)))
        if k + 1 == len(TYPED) // 2:
            assert run("collection", "check", path).status == 0
    assert has_parts(run("collection", "check", path).out, "0 documents", "no fault")


def test_as_json_ids_are_as_they_are(run: Run, path: Path) -> None:
    printed = run("collection", "search", path, "word3", "--json", "--limit", 1000).out
    assert {hit["id"] for hit in json.loads(printed)["hits"]} == set(TYPED)
    token = json.loads(run("collection", "search", path, "word3", "--json", "--limit", 1).out)["next"]
    assert re.fullmatch(r"[\w-]+", token)
    assert run("collection", "search", path, "word3", "--after", token).status == 0


@pytest.mark.parametrize(
    ("query", "position", "said", "do"),
    [
        ('budget OR FINGERPRINT:"nobody"', 11, 'There is no document "nobody"', 'Give TEXT:"…"'),
        ('FINGERPRINT:"\\u{1b}[2J"', 1, 'There is no document "\\u{1b}[2J"', 'Give TEXT:"…"'),
        ('TEXT:""_20', 6, "There is nothing between these quotation marks", "Write some text"),
        ("FINGERPRINT:100%_20_101", 1, '"100%" is there, but 20 and 101 cannot follow it', "up to 100"),
        ('FINGERPRINT:"100%"_0', 20, "This is not a percentage", "up to 100"),
        ("FINGERPRINT:a_20", 1, "more than one meaning", '"a_20" means a sampled shingle of document "a_20"'),
        ("FILE:/no/such/file_20", 1, "There is no file /no/such/file", "quotation marks"),
    ],
)
def test_a_mistaken_search_says_what_to_do(
    run: Run, path: Path, query: str, position: int, said: str, do: str
) -> None:
    if "more than one" in said:
        run("collection", "add", path, write_documents(path.with_name("a.jsonl"), {"a": BASE}))
    result = run("collection", "search", path, query)
    assert (result.status, result.out) == (2, "")
    first, shown, caret, *rest = result.err.splitlines()
    assert first.startswith("error: ")
    assert said in first
    assert first.endswith(f"(character {position}):")
    assert shown.strip()[:20] == query[:20]
    assert caret.strip() == "^"
    assert do in "\n".join(rest)
    assert is_safe(result.err)


def test_a_text_shorter_than_a_shingle_says_what_it_means(run: Run, path: Path) -> None:
    lines = write_documents(path.with_name("short.jsonl"), {"short": "Three little WORDS"})
    run("collection", "add", path, lines)
    found = run("collection", "search", path, 'TEXT:"three, little words"_50_90')
    assert (found.status, found.out.splitlines()[:2]) == (0, ["1 document found (complete)", "short"])
    explained = run("collection", "search", path, 'TEXT:"three little"', "--explain").out
    assert "fewer than 5 words" in explained
    assert "as a phrase" in explained
    none = run("collection", "search", path, 'TEXT:"three little"')
    assert (none.status, has_parts(none.out, "0 documents found", "complete", "EXPLAIN")) == (0, True)
