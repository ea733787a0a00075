"""Comparisons of one field that say the same are one: the answer stays, and a thousand cost no more than a few."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.collection.fields import facts, holds
from neardup.collection.query import parse
from neardup.collection.query.grammar import MOST_CLAUSES, MOST_FINGERPRINTS
from neardup.collection.query.metadata import OPERATORS, meanings, merged_parts
from neardup.collection.query.syntax import And, FieldClause, Node, Not, Or
from neardup.collection.store.lookups import StoreLookups
from neardup.errors import QueryError
from support.full_run import FULL

VALUES: list[Any] = [
    0,
    1,
    9,
    10,
    2.5,
    "0",
    "1",
    "9",
    "10",
    "abc",
    "2020-01-31",
    "2020-01-31T10:00",
    "2020-02",
    "2020",
    2020,
    2021,
    "",
]
WRITTEN = ["0", "1", "9", "10", "2.5", "1e1", "abc", "2020", "2020-01", "2020-01-31"]


alternatives = cache(meanings)


def fields_of(metadata: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of each field, read once, as the twin asks a thousand clauses of a document."""
    fields: dict[str, list[Any]] = {}
    for name, value in facts(metadata):
        fields.setdefault(name, []).append(value)
    return fields


def fits(node: Node, fields: dict[str, list[Any]]) -> bool:
    """The naive twin: every clause by itself."""
    if isinstance(node, Not):
        return not fits(node.part, fields)
    if isinstance(node, And | Or):
        found = (fits(part, fields) for part in node.parts)
        return all(found) if isinstance(node, And) else any(found)
    assert isinstance(node, FieldClause)
    values = fields.get(node.field, [])
    if node.operator == "!=":
        return holds(values, "!=", node.value) and all(
            holds(values, "!=", v) for _, v in alternatives("=", node.value)
        )
    return any(
        holds(values, operator, value) for operator, value in alternatives(OPERATORS[node.operator], node.value)
    )


def test_what_is_left_says_the_same() -> None:
    draw = random.Random(5)
    clauses = [f"{name}{operator}{value}" for name, operator, value in product("nm", OPERATORS, WRITTEN)]
    clauses += [f"NOT {clause}" for clause in clauses] + ["n!=1", "n!=abc", "NOT n!=1"]
    documents = [{}, *({"n": value} for value in VALUES)]
    documents += [{"n": draw.sample(VALUES, 3), "m": draw.choice(VALUES)} for _ in range(60)]
    fields = [fields_of(one) for one in documents]
    fewer = 0
    for _ in range(500):
        asked = draw.choices(clauses, k=draw.randrange(2, 7))
        word = draw.choice(["AND", "OR"])
        node = parse(f" {word} ".join(asked)).root
        assert isinstance(node, And | Or)
        left = merged_parts(node.parts, all_needed=word == "AND")
        assert 1 <= len(left) <= len(node.parts)
        fewer += len(left) < len(node.parts)
        again = left[0] if len(left) == 1 else type(node)(left)
        wrong = [one for one in fields if fits(node, one) != fits(again, one)]
        assert not wrong, (asked, left)
    assert fewer > 100


@pytest.mark.parametrize(
    ("query", "left"),
    [
        (" AND ".join(f"n>={k}" for k in range(1000)), ["n>=999"]),
        (" OR ".join(f"n>={k}" for k in range(1000)), ["n>=0"]),
        (" AND ".join(f"NOT n<{k}" for k in range(1000)), ["NOT n<999"]),
        ("n>=9 AND n>=10", ["n>=9", "n>=10"]),  # of strings 9 is the greater one, of numbers 10
        ("n>5 AND n<3", ["n>5", "n<3"]),  # a list can have both
        ("n=1 AND n=1 AND n=2 AND m=1", ["n=1", "n=2", "m=1"]),
        ("n>1 OR n>=1", ["n>=1"]),
        ("n>1 AND n>=1 AND budget", ["n>1", "budget"]),
    ],
)
def test_what_is_left(query: str, left: list[str]) -> None:
    root = parse(query).root
    assert isinstance(root, And | Or)
    assert list(merged_parts(root.parts, all_needed=isinstance(root, And))) == [parse(one).root for one in left]


NUMBERS = range(0, 500, 1 if FULL else 5)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection(tmp_path_factory.mktemp("numbered") / "x.neardup") as made:
        names = [str(k) for k in NUMBERS]
        metadata = [{"n": k, "tags": [str(k % 7), str(k % 11)]} for k in NUMBERS]
        made.put_prepared(made.prepare(names, ["one two three"] * len(NUMBERS), metadata))
        yield made


def test_a_thousand_comparisons_are_few_look_ups(numbered: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """They took 25 seconds: each read the metadata of all documents anew."""
    asked: list[str] = []
    where, rows = StoreLookups.where, StoreLookups.rows
    monkeypatch.setattr(StoreLookups, "where", lambda *given: asked.append("where") or where(*given))  # type: ignore[func-returns-value]
    monkeypatch.setattr(StoreLookups, "rows", lambda *given: asked.append("rows") or rows(*given))  # type: ignore[func-returns-value]
    stored = [fields_of(numbered.get(id).metadata) for id in numbered]
    for query, found in (
        (" AND ".join(f"n>={k}" for k in range(400)), 100),
        (" AND ".join(f"n<={k}" for k in range(900, 499, -1)), 100),
        (" AND ".join(f"n!={k}" for k in range(400)), 100),
        (" AND ".join(["tags:3", *(f"NOT tags={k}" for k in range(4, 900))]), 1),
        ("n>5 AND n<3", 0),
        ("tags=1 AND tags=2", 14),
    ):
        root = parse(query).root
        wanted = sum(fits(root, fields) for fields in stored)
        asked.clear()
        assert numbered.search(query).found == wanted, query[:60]
        assert len(asked) <= 8, (query[:60], len(asked))
        assert wanted > 0 or found == 0


def test_more_clauses_than_are_allowed_are_counted() -> None:
    with pytest.raises(QueryError, match=re.escape("There are 4,000 clauses")) as refusal:
        parse(" AND ".join(f"n>={k}" for k in range(4000)))
    assert "1,000 at most" in str(refusal.value)
    assert refusal.value.query[refusal.value.position :].startswith("n>=1000 ")
    with pytest.raises(QueryError, match="There are 150 fingerprint clauses") as refusal:
        parse(" OR ".join(["FINGERPRINT:a"] * 150))
    assert (MOST_CLAUSES, MOST_FINGERPRINTS) == (1000, 100)
    assert refusal.value.position == 100 * len("FINGERPRINT:a OR ")


def test_a_field_that_nobody_has_is_told_even_where_it_is_superfluous(numbered: Collection) -> None:
    with pytest.raises(QueryError):
        numbered.search("n>1 AND size>1 AND size>2")
