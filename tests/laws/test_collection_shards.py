"""Several collections answer as one with all documents does: the hits, their order, totals, pages and evidence.

They are files, schemas in PostgreSQL, and services over HTTP.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.collection.pages import Page
from neardup.collection.shard import OpenShard
from neardup.collection.shards import Collections, shard_of
from neardup.collection.store import store_at
from neardup.errors import InputError, OutputError, QueryError, SettingError, UnknownIdError
from neardup.io.place import place_of
from support import postgres_server
from support.messages import assert_refused, has_parts

DRAW = random.Random(12)
WORDS = [f"word{number}" for number in range(300)]


def documents() -> list[dict[str, object]]:
    """Documents that share passages with one another; one in four has a language, few a year."""
    made: list[list[str]] = []
    for _ in range(150):
        text = DRAW.choices(WORDS, k=DRAW.randrange(8, 60))
        if made and DRAW.random() < 0.6:
            earlier = DRAW.choice(made)
            begin = DRAW.randrange(len(earlier))
            text = [*earlier[begin:], *text[: DRAW.randrange(1, 20)]]
        made.append(text)
    records: list[dict[str, object]] = []
    for number, words in enumerate(made):
        metadata: dict[str, object] = {"language": "de"} if number % 4 == 0 else {}
        if number == 70:
            metadata["year"] = 2020
        records.append({"id": f"d{number}", "text": " ".join(words), "metadata": metadata})
    return records


RECORDS = documents()
QUERIES = [
    *(f"FINGERPRINT:d{number}_20_100" for number in range(0, 150, 15)),
    *(f"SIMILAR:d{number}_30" for number in range(0, 150, 25)),
    *(f"FINGERPRINT:d{number}" for number in range(0, 150, 25)),
    "word7 OR word8",
    '"word1 word2" OR word3',
    "language:de",
    "year>=2019",
    "NOT year>=2019 AND word9",
    "FINGERPRINT:d30_20 AND language:de",
    "FINGERPRINT:d30_20 OR FINGERPRINT:d31_10",
    "FINGERPRINT:d45_10 AND NOT FINGERPRINT:d60_10",
    f'FINGERPRINT:TEXT:"{RECORDS[5]["text"]}"_20',
    'FINGERPRINT:"d45"_10',
    "tag:hot",
    "tag!=hot OR tag>new",
    "FINGERPRINT:d30_10 AND NOT tag:hot",
]
HOT = [f"d{number}" for number in range(0, 150, 4)]


def files(folder: Path, number: int) -> list[Any]:
    return [folder / f"{number}-{place}.neardup" for place in range(number)]


def mixed(folder: Path) -> list[Any]:
    """A file, a schema in PostgreSQL, and another file."""
    if postgres_server.missing():
        pytest.skip(postgres_server.missing())
    return [folder / "mixed-0.neardup", postgres_server.url_for(folder / "mixed"), folder / "mixed-2.neardup"]


KINDS: dict[str, Callable[[Path], list[Any]]] = {
    "1": lambda folder: files(folder, 1),
    "2": lambda folder: files(folder, 2),
    "7": lambda folder: files(folder, 7),
    "mixed": mixed,
    "services": lambda folder: [folder / f"service-{place}.neardup" for place in range(3)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shards")


@pytest.fixture(scope="module")
def one(folder: Path) -> Iterator[Collection]:
    """One collection with all documents."""
    with Collection(folder / "all.neardup") as made:
        made.add(RECORDS)
        made.tag("hot", HOT)
        made.tag("old", ["d5", "d9"])
        yield made


@pytest.fixture(scope="module", params=KINDS)
def several(request: pytest.FixtureRequest, folder: Path, one: Collection) -> Iterator[Collections]:
    """The same documents in shards with the same secret, two of the services over HTTP."""
    places = KINDS[request.param](folder)
    for place in places:
        store_at(place_of(place), one.settings).close()
    with ExitStack() as stack:
        if request.param == "services":
            served = pytest.importorskip("support.served_shards", reason="the extra service is not installed")
            places = [*(stack.enter_context(served.remote(place)) for place in places[:2]), places[2]]
        made = stack.enter_context(Collections(places))
        made.add(RECORDS)
        for tag, ids in (("hot", HOT), ("old", ["d5", "d9"])):
            for id in ids:
                made.shard(id).tag(tag, [id])
        yield made


def in_order(page: Page) -> list[object]:
    """The hits, those of equal score by their ids; a service cuts long clauses."""
    rows = [hit.as_dict() for hit in page.hits]
    for row in rows:
        if "clause" in row:
            row["clause"] = row["clause"].removesuffix(" …")[:200]
    scores = [hit.evidence.score if hit.evidence else 0.0 for hit in page.hits]
    return [row for _, _, row in sorted(zip([-s for s in scores], [r["id"] for r in rows], rows, strict=True))]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_the_answer_of_one_collection(one: Collection, several: Collections, query: str) -> None:
    whole = one.search(query, limit=1000, fields="metadata,text")
    page = several.search(query, limit=1000, fields="metadata,text")
    assert in_order(page) == in_order(whole)
    assert (page.found, page.next, page.recall, page.query) == (whole.found, None, whole.recall, whole.query)
    assert page.missing == ()
    if "sample" not in {step.way for step in whole.plan.fingerprints}:  # else the order is that of an estimate
        assert [hit.id for hit in page.hits] == [hit.id for hit in whole.hits]


ASKED = ("d0", "d5", "d30", "d31", "d70", "unknown")


@pytest.mark.parametrize("query", QUERIES[::2], ids=range(len(QUERIES[::2])))
def test_why_not_is_the_reason_of_one_collection(one: Collection, several: Collections, query: str) -> None:
    for id, own in product(ASKED, (False, True)):
        assert several.why_not(query, id, include_self=own) == one.why_not(query, id, include_self=own)


def test_documents_and_their_comparison_are_those_of_one_collection(one: Collection, several: Collections) -> None:
    for a, b in pairwise(ASKED[:5]):
        assert several[a].text == one[a].text
        compared, expected = several.compare(a, b, length=3), one.compare(a, b, length=3)
        assert compared.measures == expected.measures
        assert compared.settings == expected.settings
    assert several
    with pytest.raises(UnknownIdError):
        several["unknown"]


@pytest.mark.parametrize("query", QUERIES[:14:3] + QUERIES[-7:])
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_pages_go_through_all_hits_once(several: Collections, query: str, limit: int) -> None:
    whole = several.search(query, limit=1000)
    seen, after = [], None
    while True:
        page = several.search(query, limit=limit, after=after)
        assert page.found == whole.found
        assert len(page.hits) <= limit
        seen += page.hits
        if (after := page.next) is None:
            break
        assert page.hits
    assert seen == list(whole.hits)


def test_the_query_document_is_a_hit_if_it_is_asked_for(several: Collections) -> None:
    assert "d30" in [hit.id for hit in several.search("FINGERPRINT:d30_90", include_self=True).hits]
    assert "d30" not in [hit.id for hit in several.search("FINGERPRINT:d30_90").hits]


def test_documents_are_where_the_rule_says(several: Collections) -> None:
    count = len(several.parts)
    assert len(several) == several.info()["documents"] == len(RECORDS)
    for record in RECORDS[::7]:
        id = str(record["id"])
        assert id in several.shards[shard_of(id, count)]
        assert several.get(id).text == record["text"]
    listed, after = [], 0
    while after is not None:
        page = several.list(after, 40)
        listed += [line.id for line in page.documents]
        assert page.next is None or page.next > after
        after = page.next
    assert sorted(listed) == sorted(str(record["id"]) for record in RECORDS) == sorted(several)
    assert [shard_of(id, 7) for id in ("a", "ä", "mail/1")] == [4, 5, 5]


def test_arrivals_are_compared_as_in_one_collection(one: Collection, several: Collections) -> None:
    for number in (3, 50, 99):
        text = f"{RECORDS[number]['text']} and more"
        given: Any = {"near": 0.5, "on_near": "reject"}
        here, there = (source.put("x", text, **given) for source in (one, several))
        assert there == here
        assert there.left_out == len(there.near) == 1
    assert "x" not in several
    for text in (str(RECORDS[9]["text"]), f"{RECORDS[9]['text']} and more"):  # again: it does not repeat itself
        here, there = (source.put("a", text, near=0.5) for source in (one, several))
        assert there == here
        assert (there.added + there.replaced, there.near[0].of) == (there.repeats, "d9")
    assert one.remove("a") == several.remove("a") == several.remove(["a", "z"], missing="ignore") + 1 == 1
    with pytest.raises(UnknownIdError):
        several.remove(["d1", "z"])
    assert "d1" in several


class Dead(OpenShard):
    """A shard that does not answer."""

    def look_up(self, *_: Any) -> Any:
        """Fail."""
        raise OutputError("no connection")

    answer = look_up


def test_a_shard_that_does_not_answer(several: Collections) -> None:
    if len(several.parts) == 1:
        return
    whole = several.search("word7 OR word8", limit=1000)
    last = len(several.parts) - 1
    parts, several.parts = several.parts, [*several.parts[:-1], Dead(several.parts[-1].collection)]
    failures: list[int] = []
    several.watch = lambda error: failures.append(error.number)
    try:
        with pytest.raises(OutputError, match=f"Shard {last + 1} of {last + 1}"):
            several.search("word7 OR word8")
        page = several.search("word7 OR word8", limit=4, partial=True)
        hits = list(page.hits)
        while page.next:
            assert page.missing == (last + 1,)
            page = several.search("word7 OR word8", limit=4, after=page.next, partial=True)
            hits += page.hits
        assert page.missing == (last + 1,)
        assert page.as_dict()["missing"] == [last + 1]
        assert (page.recall, page.as_dict()["shards"], page.least) == (0.0, last + 1, "at least ")
        assert has_parts(page.sure(), "not complete", f"{last} of {last + 1} shards")
        assert whole.sure() == "complete"
        assert [hit.id for hit in hits] == [hit.id for hit in whole.hits if shard_of(hit.id, last + 1) != last]
        assert page.found == len(hits)
        asked = next(str(record["id"]) for record in RECORDS if shard_of(str(record["id"]), last + 1) == last)
        with pytest.raises(OutputError):  # nobody else knows the document
            several.search(f"FINGERPRINT:{asked}_20", partial=True)
        assert set(failures) == {last}
    finally:
        several.parts = parts


def test_what_cannot_be_asked_is_refused(several: Collections, tmp_path: Path) -> None:
    assert_refused(
        (QueryError, "no document", lambda: several.search("FINGERPRINT:nothing_20")),
        (QueryError, "", lambda: several.search("nofield:1")),
        (InputError, "token", lambda: several.search("word7", after="nonsense")),
        (InputError, "over shards", lambda: several.put("x", "a text", near=0.8, on_near="link")),
        (InputError, "EXPLAIN", lambda: several.search("EXPLAIN word7")),
    )
    Collection(tmp_path / "a.neardup").close()
    with pytest.raises(InputError, match="exists already"):
        Collections.create([tmp_path / "a.neardup"])
    Collection(tmp_path / "b.neardup", length=3).close()
    assert_refused(
        (SettingError, "length 3", lambda: Collections([tmp_path / "a.neardup", tmp_path / "b.neardup"])),
        (InputError, "No collection", lambda: Collections([])),
    )


def test_a_shard_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    places = [tmp_path / "0.neardup", tmp_path / "1.neardup"]
    Collections.create(places).close()
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for again in (places[0], tmp_path / "link" / "0.neardup"):
        with pytest.raises(InputError) as caught:
            Collections([*places, again])
        assert all(part in caught.value.given for part in (str(again), "1", "3"))


def test_a_document_that_repeats_one_of_another_shard_is_not_stored(tmp_path: Path) -> None:
    text = " ".join(DRAW.choices(WORDS, k=40))
    with Collections.create([tmp_path / f"{number}.neardup" for number in range(3)]) as several:
        several.put("a", text)
        for id in ("b", "c", "d", "e"):
            done = several.put(id, text + " more", near=0.8, on_near="reject")
            assert (done.added, done.left_out, done.repeats) == (0, 1, 1)
        assert list(several) == ["a"]
        assert several.put("f", " ".join(DRAW.choices(WORDS, k=40)), near=0.8, on_near="reject").added == 1
        assert several.remove("a") == 1
        assert len(several) == 1
