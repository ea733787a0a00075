"""Refusals of explain: the given value, the allowed ones and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.comparison.walkthrough import EXAMPLE

SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"length": 0}, "length is 0. Allowed: a number from 1 to 64 tokens or characters."),
    ({"unit": "line"}, "unit is 'line'. Allowed: one of word, char."),
    (
        {"family": "md5"},
        "The family of hash functions is 'md5'. Allowed: Any of mod-p, multiply-shift, classic, "
        "one-permutation, permutations, or all.",
    ),
    (
        {"family": []},
        "No family of hash functions was given. Allowed: Any of mod-p, multiply-shift, classic, "
        "one-permutation, permutations, or all.",
    ),
    ({"slots": 0}, "slots is 0. Allowed: A whole number from 1 to 65,536."),
    ({"slots": [4, 65537]}, "slots is 65537. Allowed: A whole number from 1 to 65,536."),
    ({"slots": []}, "slots is 0. Allowed: A whole number from 1 to 65,536."),
    ({"slots": [4.0]}, "slots is 4.0. Allowed: A whole number from 1 to 65,536."),
    ({"seed": 0}, "seed is 0. Allowed: A whole number from 1 to 4,294,967,295."),
    ({"seed": True}, "seed is True. Allowed: A whole number from 1 to 4,294,967,295."),
    ({"band_rows": 5}, "band_rows is 5. Allowed: A whole number from 1 to 4."),
    (
        {"coefficients": [(4, 9), (34, 1)]},
        "The coefficients (34, 1) make no order of numbers below 17. Allowed: a no multiple of 17.",
    ),
    ({"modulus": 1}, "modulus is 1. Allowed: A whole number from 2 to 4,294,967,295."),
    (
        {"modulus": 6, "family": ["classic", "multiply-shift"]},
        "A modulus was given for classic, multiply-shift. Allowed: The modulus of mod-p.",
    ),
    ({"first_row": -1}, "first_row is -1. Allowed: A whole number from 0 to 1,000,000,000."),
    (
        {"orders": [[1, 0]]},
        "Orders were given for mod-p. Allowed: Orders of one family, permutations. "
        "Try: Leave the orders out, or choose such a family.",
    ),
    (
        {"orders": [[*range(15), 14]], "family": "permutations"},
        "The order 0:1:2:3:4:5:6:7:8:9:10:11:… is no permutation of the rows. "
        "Allowed: 16 row numbers, each once: 1:2:3:4:5:6:7:8:9:10:11:12:….",
    ),
    (
        {"coefficients": [(4, 9)], "family": "multiply-shift"},
        "The coefficients (4, 9) are not those of a multiply-shift function. "
        "Allowed: a odd and b from 0, both below 2³².",
    ),
    (
        {"coefficients": [(4, 9)], "family": ["mod-p", "classic"]},
        "Coefficients were given for mod-p, classic. Allowed: Coefficients of one family, mod-p or "
        "multiply-shift. Try: Leave the coefficients out, or choose such a family.",
    ),
    (
        {"coefficients": [(4, 9)], "slots": 2},
        "1 hash function given for other numbers of slots. Allowed: One function for each slot. "
        "Try: Leave the number of slots out.",
    ),
]


@pytest.mark.parametrize(("given", "said"), SETTINGS, ids=str)
def test_settings(given: dict[str, Any], said: str) -> None:
    with pytest.raises(nd.SettingError) as refused:
        nd.explain(EXAMPLE, **given)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (["alone"], "There is only one document. Allowed: From 2 to 10 small documents. Try: Name another one."),
        (["text"] * 11, "There are more than 10 documents, or more than 1,000,000 characters. Allowed: From 2 to"),
        (["x" * 1_000_001, "y"], "There are more than 10 documents, or more than 1,000,000 characters."),
        ([" ".join(map(str, range(10_003))), "y"], "The documents have 10,002 distinct shingles. Allowed: "),
        (3, "Cannot take documents from int."),
    ],
    ids=["one", "eleven", "long", "shingles", "number"],
)
def test_documents(documents: object, said: str) -> None:
    with pytest.raises(nd.InputError) as refused:
        nd.explain(documents)
    assert str(refused.value).startswith(said)


def test_more_values_than_memory_should_hold() -> None:
    with pytest.raises(nd.SettingError) as refused:
        nd.explain([" ".join(map(str, range(1_003))), "y"], slots=[4, 20_000])
    assert str(refused.value).startswith("1,002 rows have 20,040,000 values under 20,000 functions. Allowed: ")


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("x" * 4_000_001)
    with pytest.raises(nd.InputError, match=r"are large\. Allowed: At most 1,000,000 characters"):
        nd.explain(tmp_path / "large.txt")


def test_the_largest_it_takes() -> None:
    words = [str(i) for i in range(10_001)]
    tables = nd.explain([" ".join(words), " ".join(words[:5_000]), *["x"] * 8], slots=1)
    assert (tables.rows, len(tables.documents), tables.pairs[0].shared) == (10_000, 10, 4_998)


def test_a_row_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "a b c"}\n{"text": "a b\n', encoding="utf-8")
    with pytest.raises(nd.InputError, match="cannot be read: "):
        nd.explain(rows)


def test_rows_of_a_file_are_documents_with_their_ids(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 7, "text": "a b c d"}\n{"id": 8, "text": "a b c"}\n', encoding="utf-8")
    assert [(d.name, d.words, d.shingles) for d in nd.explain(rows).documents] == [("7", 4, 2), ("8", 3, 1)]
