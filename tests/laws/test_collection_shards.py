"""Several collections answer as one with all documents does: the hits, their order, totals, pages and evidence."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup.collection import Collection
from neardup.collection.pages import Page
from neardup.collection.shards import Collections, shard_of
from neardup.errors import InputError, QueryError, SettingError

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
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Collection | Collections]]:
    """One collection, and 1, 2 and 7 shards, with the same documents and one secret."""
    folder = tmp_path_factory.mktemp("shards")
    first = Collections.create([folder / f"{number}.neardup" for number in range(7)])
    made: dict[int, Collection | Collections] = {7: first}
    for count in (1, 2):
        places = [folder / f"{count}-{number}.neardup" for number in range(count)]
        for place in places:
            first.shards[0].backup(place)
        made[count] = Collections(places)
    first.shards[0].backup(folder / "all.neardup")
    made[0] = Collection(folder / "all.neardup")
    for source in made.values():
        source.add(RECORDS)
    yield made
    for source in made.values():
        source.close()


def in_order(page: Page) -> list[object]:
    """The hits, those of equal score by their ids."""
    rows = [hit.as_dict() for hit in page.hits]
    scores = [hit.evidence.score if hit.evidence else 0.0 for hit in page.hits]
    return [row for _, _, row in sorted(zip([-s for s in scores], [r["id"] for r in rows], rows, strict=True))]


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_the_answer_of_one_collection(
    sources: dict[int, Collection | Collections], shards: int, query: str
) -> None:
    one = sources[0].search(query, limit=1000, fields="metadata,text")
    several = sources[shards].search(query, limit=1000, fields="metadata,text")
    assert in_order(several) == in_order(one)
    assert (several.found, several.next, several.recall, several.query) == (one.found, None, one.recall, one.query)


@pytest.mark.parametrize("query", QUERIES[:14:3] + QUERIES[-7:])
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_pages_go_through_all_hits_once(
    sources: dict[int, Collection | Collections], query: str, limit: int
) -> None:
    whole = sources[7].search(query, limit=1000)
    seen, after = [], None
    while True:
        page = sources[7].search(query, limit=limit, after=after)
        assert page.found == whole.found
        assert len(page.hits) <= limit
        seen += page.hits
        if (after := page.next) is None:
            break
        assert page.hits
    assert seen == list(whole.hits)


def test_the_query_document_is_a_hit_if_it_is_asked_for(sources: dict[int, Collection | Collections]) -> None:
    for source in sources.values():
        assert "d30" in [hit.id for hit in source.search("FINGERPRINT:d30_90", include_self=True).hits]
        assert "d30" not in [hit.id for hit in source.search("FINGERPRINT:d30_90").hits]


def test_documents_are_where_the_rule_says(sources: dict[int, Collection | Collections]) -> None:
    several = sources[7]
    assert isinstance(several, Collections)
    assert len(several) == len(RECORDS)
    for record in RECORDS:
        id = str(record["id"])
        assert id in several.shards[shard_of(id, 7)]
        assert several.get(id).text == record["text"]
    assert [shard_of(id, 7) for id in ("a", "ä", "mail/1")] == [4, 5, 5]


def test_what_cannot_be_asked_is_refused(sources: dict[int, Collection | Collections], tmp_path: Path) -> None:
    several = sources[7]
    assert isinstance(several, Collections)
    with pytest.raises(QueryError, match="no document"):
        several.search("FINGERPRINT:nothing_20")
    with pytest.raises(QueryError, match="field"):
        several.search("nofield:1")
    with pytest.raises(InputError, match="token"):
        several.search("word7", after="nonsense")
    with pytest.raises(InputError, match="over shards"):
        several.put("x", "a text", near=0.8, on_near="link")
    with pytest.raises(InputError, match="exists already"):
        Collections.create([shard.path for shard in several.shards])  # type: ignore[misc]
    Collection(tmp_path / "a.neardup").close()
    Collection(tmp_path / "b.neardup", length=3).close()
    with pytest.raises(SettingError, match="length 3"):
        Collections([tmp_path / "a.neardup", tmp_path / "b.neardup"])
    with pytest.raises(InputError, match="No collection"):
        Collections([])


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
