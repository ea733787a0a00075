"""Queries and ids made to harm, through a collection in a file: an answer or a clear error, in bounded time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup.collection import Collection
from neardup.collection.pages import Page
from neardup.collection.query import canonical, parse
from neardup.collection.query.grammar import MOST_CHARACTERS, MOST_FINGERPRINTS
from neardup.collection.query.plan import MOST_WORDS
from neardup.collection.query.syntax import quoted_text
from neardup.errors import InputError, QueryError
from support.full_run import FULL
from support.hostile_ids import HOSTILE
from support.query_strategies import PIECES

TEXTS = {
    "1234": "the annual budget of the harbour was agreed on at the meeting of the board in June",
    "a_20": "the annual budget of the harbour was agreed on at the meeting of the board in July",
    "a_20_80": "nothing was agreed on",
    "a b": "ann wrote that the annual budget of the harbour is not enough",
    "": "left out, for an id has a character",
    "東京": "東京 の 港 の 予算 は 会議 で 合意 された",
}
SEEDS = (
    "from:ann AND date>=2020-01-01 AND FINGERPRINT:1234_20_80 AND budget",
    'FINGERPRINT:"a b"_20_80 OR SIMILAR:a_20_10',
    "EXPLAIN (budget OR NOT (from!=ann)) FINGERPRINT:1234",
    'TEXT:"the annual budget of the harbour"_50_95 NOT "the board"',
    '"annual budget" AND size<=10 AND "from":"ann lee"',
    "FINGERPRINT:東京_1 OR 港",
    "NOT NOT (a OR (b AND (c OR d)))",
    'TEXT:"say \\"no\\"\\n\\u{1f600}"_20',
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    rows = {
        "id": list(TEXTS),
        "text": list(TEXTS.values()),
        "from": ["ann", "bob", None, "ann lee", "x", "eve"],
        "date": ["2020-02-01", "2019", "", "2020-01-01T10:00", "x", None],
        "size": [1, 2.5, -3, 10**15, 0, None],
    }
    with Collection(tmp_path_factory.mktemp("hostile") / "x.neardup", scale=2) as made:
        assert made.add(pa.table(rows), metadata=["from", "date", "size"]).rejected == 1
        yield made


def answer(collection: Collection, query: str) -> Page | QueryError:
    """The page, or the error, which must stand within the query and hold no control character."""
    try:
        return collection.search(query)
    except QueryError as error:
        found = error
    assert 0 <= found.position <= len(query)
    assert all(line.isprintable() for line in str(found).splitlines())
    assert len(str(found)) < 2000
    return found


Change = Callable[[random.Random, str], str]


def pieces(draw: random.Random) -> str:
    return draw.choice(
        [*PIECES, chr(draw.randrange(0x11_0000)), chr(draw.randrange(0x80)), "\x00", "_20_80", "1e9"]
    )


def cut(draw: random.Random, text: str) -> tuple[int, int]:
    begin = draw.randrange(len(text) + 1)
    return begin, min(len(text), begin + draw.randrange(1, 9))


def inserted(draw: random.Random, text: str) -> str:
    begin, _ = cut(draw, text)
    return text[:begin] + pieces(draw) + text[begin:]


def deleted(draw: random.Random, text: str) -> str:
    begin, end = cut(draw, text)
    return text[:begin] + text[end:]


def replaced(draw: random.Random, text: str) -> str:
    begin, end = cut(draw, text)
    return text[:begin] + pieces(draw) + text[end:]


def repeated(draw: random.Random, text: str) -> str:
    begin, end = cut(draw, text)
    return text[:begin] + text[begin:end] * draw.randrange(2, 50) + text[end:]


def moved(draw: random.Random, text: str) -> str:
    begin, end = cut(draw, text)
    place = draw.randrange(len(text) + 1)
    return text[:place] + text[begin:end] + text[place:]


def joined(draw: random.Random, text: str) -> str:
    return f"{text}{draw.choice([' AND ', ' OR ', ' ', ' NOT ', ') (', '_'])}{draw.choice(SEEDS)}"


def bracketed(draw: random.Random, text: str) -> str:
    deep = draw.randrange(1, 60)
    return "(" * deep + text + ")" * (deep if draw.random() < 0.7 else draw.randrange(60))


CHANGES: tuple[Change, ...] = (inserted, deleted, replaced, repeated, moved, joined, bracketed)


def test_thousands_of_malformed_queries(collection: Collection) -> None:
    draw = random.Random(6)
    became: Counter[str] = Counter()
    slowest = 0.0
    count = 10_000 if FULL else 2_500
    for _ in range(count):
        query = draw.choice(SEEDS)
        for _ in range(draw.randrange(1, 5)):
            query = draw.choice(CHANGES)(draw, query)[:4000]
        begin = time.process_time()
        found = answer(collection, query)
        slowest = max(slowest, time.process_time() - begin)
        became[type(found).__name__] += 1
        if isinstance(found, Page):
            understood = found.plan.query
            assert parse(str(understood)) == understood
            assert canonical(parse(str(understood))) == str(understood)
            assert found.found is None or found.found <= len(collection)
    assert became["Page"] > count // 10
    assert became["QueryError"] > count // 2
    assert slowest < 10


LONG = MOST_CHARACTERS - 40
SAID = {
    "brackets": ("(" * LONG, "are nested more than"),
    "NOTs": ("NOT " * (LONG // 4), "are nested more than"),
    "pairs of brackets": ("()" * (LONG // 2), "Expected "),
    "ORs": ("a OR " * (LONG // 5), "There are more than 10,000 clauses"),
    "words": ("a " * (LONG // 2), "There are more than 10,000 clauses"),
    "backslashes": ('"' + "\\" * LONG, "quotation mark is not closed"),
    "white space": ("\t" * LONG, "A clause is missing"),
    "white space between": ("a" + " " * LONG + "b", ""),
    "an id": ("FINGERPRINT:" + "x" * LONG, "There is no document"),
    "numbers": ("FINGERPRINT:a" + "_20" * (LONG // 3), "There is no document"),
    "a field": ("x" * LONG + ":1", "No document has metadata"),
    "a value": ("from:" + "x" * LONG, ""),
    "digits": ("size>" + "9" * LONG, ""),
    "decimals": ('TEXT:"budget"_1.' + "0" * LONG, "not a percentage"),
    "a word": ("a" * LONG, ""),
    "marks": ('"' + "\u0301" * LONG + '"', ""),
    "a phrase of one word": ('"' + "budget " * (LONG // 7) + '"', f"A phrase has {MOST_WORDS} words at most"),
    "a phrase of ideographs": ('"' + "港" * LONG + '"', f"A phrase has {MOST_WORDS} words at most"),
    "pasted words": ('TEXT:"' + "budget " * (LONG // 7) + '"_20_80', ""),
    "pasted ideographs": ('TEXT:"' + "港" * LONG + '"', ""),
    "too long": ("a" * (MOST_CHARACTERS + 1), "is too long"),
    "fingerprints": (
        " OR ".join(["FINGERPRINT:1234"] * (MOST_FINGERPRINTS + 1)),
        "There are 101 fingerprint clauses",
    ),
    "all the fingerprints": (" OR ".join(["FINGERPRINT:1234_20_80"] * MOST_FINGERPRINTS), ""),
    "all the clauses": (" ".join(["budget"] * 900 + ["NOT from:bob"] * 100), ""),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", SAID)
def test_a_query_of_a_million_characters(collection: Collection, name: str) -> None:
    query, said = SAID[name]
    begin = time.process_time()
    found = answer(collection, query)
    assert time.process_time() - begin < 30
    assert isinstance(found, Page) != bool(said)
    assert said in str(found)


# ids

WORDS = [f"word{k}" for k in range(40)]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A document for each hostile id, near copies of one another."""
    with Collection(tmp_path_factory.mktemp("ids") / "x.neardup", scale=2) as made:
        texts = [" ".join([*WORDS, f"own{k}"]) for k in range(len(HOSTILE))]
        made.add(pa.table({"id": list(HOSTILE), "text": texts}))
        yield made


@pytest.mark.part(3)
@pytest.mark.parametrize("id", HOSTILE, ids=[f"{k}" for k in range(len(HOSTILE))])
def test_a_hostile_id_is_an_id(named: Collection, id: str) -> None:
    own = f"own{HOSTILE.index(id)}"
    assert named.get(id).text.endswith(own)
    for query in (
        f"FINGERPRINT:{quoted_text(id)}_90",
        f"FINGERPRINT:{quoted_text(id)}_90_99",
        f"SIMILAR:{quoted_text(id)}_80",
    ):
        found = [hit.id for hit in named.search(query, limit=100).hits]
        assert sorted(found) == sorted(set(HOSTILE) - {id})
    assert [hit.id for hit in named.search(own).hits] == [id]
    assert named.why_not(f"FINGERPRINT:{quoted_text(id)}_90", id).reason == "itself"
    pages = [named.search(own, limit=1), named.search("word3", limit=1)]
    assert pages[0].next is None
    assert named.search("word3", limit=1, after=pages[1].next).hits


@given(st.text(min_size=1, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_id_comes_back(tmp_path_factory: pytest.TempPathFactory, id: str) -> None:
    path = tmp_path_factory.mktemp("any") / "x.neardup"
    with Collection(path, scale=1, slots=2) as made:
        try:
            made.add(pa.table({"id": [id.encode("utf-8", "surrogatepass")], "text": [" ".join(WORDS)]}), id="id")
        except InputError:
            return
        if not len(made):
            assert any("\ud800" <= char <= "\udfff" for char in id)
            return
        assert list(made) == [id]
        [hit] = made.search(f"FINGERPRINT:{quoted_text(id)}_100", include_self=True).hits
        assert hit.id == id
        made.remove(id)
        assert (len(made), made.check()) == (0, [])
