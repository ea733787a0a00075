"""Searching a collection: hits and their evidence, Boolean queries, pages, and why a document is not found."""

import base64
import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.collection import Collection
from neardup.collection.pages import Cursor, Hit, Page, read_token
from neardup.collection.query import parse
from neardup.collection.query.plan import plan
from neardup.collection.query.syntax import And, FieldClause, Fingerprint, Node, Not, Or, WordsClause
from neardup.collection.search import Bounds, longest_passage, search, why_not
from neardup.errors import InputError, QueryError, SettingError
from support import reference
from support.memory_collection import MemoryCollection
from support.messages import has_parts

WORDS = [f"w{k}" for k in range(100)]


def text(*parts: tuple[int, int] | str) -> str:
    """Parts of the one long text, and words of its own."""
    return " ".join(part if isinstance(part, str) else " ".join(WORDS[slice(*part)]) for part in parts)


def made() -> MemoryCollection:
    documents = MemoryCollection(scale=4, floor=4)
    documents.add("whole", text((0, 100)), sender="ann", date="2020-03-01T09:00", size=10, tags=["old", "mail"])
    documents.add("half", text((0, 50), "and something else"), sender="bob", date="2020-01-31T17:30", size=9)
    documents.add("late half", text("budget of the year", (50, 100)), sender="ann", date="2019-12-31", size=100)
    documents.add("piece", text((10, 20)), sender="eve")
    documents.add("other", "nothing of all this is in here but the budget", sender="bob", draft=True)
    documents.add("copy", text((0, 100)).upper())
    documents.add("tiny", "three little words")
    documents.add("tiny too", "Three, little WORDS!")
    documents.add("tiny in more", "these are three little words in a longer text")
    documents.add("empty", "")
    return documents


DOCUMENTS = made()


def ids(query: str, **given: Any) -> list[str]:
    return [hit.id for hit in search(DOCUMENTS, query, limit=100, **given).hits]


def test_reprs_of_pages_and_hits_are_short() -> None:
    page = search(DOCUMENTS, "FINGERPRINT:half_1", limit=4)
    assert repr(page.hits[0]) == "Hit('copy', shared 46 of 49 + 96 shingles)"
    first = ", ".join(repr(hit.id) for hit in page.hits[:3])
    assert repr(page) == f"Page({len(page.hits)} of {page.found} hits: {first}{', …' * (len(page.hits) > 3)})"
    assert repr(search(DOCUMENTS, "three", limit=1)) == "Page(1 of 3 hits: 'tiny', more with next)"
    assert repr(search(DOCUMENTS, "EXPLAIN three")) == "Page(a plan, no hits)"
    assert repr(search(DOCUMENTS, "nonsense")) == "Page(0 of 0 hits)"
    assert len(repr(Hit("x" * 5000 + "\x1b[2J", None))) < 60


# hits


def test_hits_by_containment_then_id_with_both_directions() -> None:
    page = search(DOCUMENTS, "FINGERPRINT:half_1")
    hits = [hit.as_dict() for hit in page.hits]
    assert [(hit["id"], hit["shared"], hit["size_query"], hit["size_hit"]) for hit in hits] == [
        ("copy", 46, 49, 96),
        ("whole", 46, 49, 96),
        ("piece", 6, 49, 6),
    ]
    for hit in hits:
        assert hit["in_hit"] == hit["shared"] / hit["size_query"]
        assert hit["in_query"] == hit["shared"] / hit["size_hit"]
        assert hit["resemblance"] == hit["shared"] / (hit["size_query"] + hit["size_hit"] - hit["shared"])
        assert hit["clause"] == "FINGERPRINT:half_1"
    assert (page.found, page.next) == (3, None)


@pytest.mark.parametrize(("a", "b"), [(3, 3), (3, 9), (9, 3), (9, 9), (5, 5), (4, 4)])
def test_the_passage_of_texts_with_fewer_words_than_a_shingle(a: int, b: int) -> None:
    """Only equal short texts share their one shingle; a short text and a longer one have no passage."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    documents = MemoryCollection({"a": " ".join(words[:a])})
    step = plan(parse("FINGERPRINT:a_100"), documents).fingerprints[0]
    found = longest_passage(step.target, " ".join(words[:b]))
    assert (None if found is None else found.words) == (a if a == b else None)


def test_the_passage_is_the_longest_one_in_the_words_of_the_document_found() -> None:
    documents = MemoryCollection()
    documents.add("a", "Dear all: One, two; three four FIVE six. And then: red green blue white black")
    [hit] = search(documents, 'TEXT:"x one two three four five six y red green blue white black"_20').hits
    assert hit.evidence is not None
    assert hit.evidence.passage is not None
    passage = hit.evidence.passage
    assert passage.text == "One, two; three four FIVE six"
    assert passage.words == 6
    assert documents.texts[0][passage.begin_hit : passage.end_hit] == passage.text
    asked = "x one two three four five six y red green blue white black"
    assert asked[passage.begin_query : passage.end_query] == "one two three four five six"


def test_a_long_passage_is_cut() -> None:
    [hit] = search(DOCUMENTS, "FINGERPRINT:whole_100").hits
    assert hit.evidence is not None
    assert hit.evidence.passage is not None
    assert len(hit.evidence.passage.text) < 250
    assert hit.evidence.passage.words == 100


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FINGERPRINT:half_50", ["copy", "whole"]),
        ("FINGERPRINT:half_94", []),
        ("FINGERPRINT:half_93.8775", ["copy", "whole"]),
        ("FINGERPRINT:whole_47.9166", ["copy", "half", "late half"]),
        ("FINGERPRINT:whole_47.9167", ["copy"]),
        ("FINGERPRINT:piece_100", ["copy", "half", "whole"]),
        ("FINGERPRINT:piece_100_80", ["copy", "half", "whole"]),
        ("SIMILAR:half_40", ["copy", "whole"]),
        ("SIMILAR:half_47", []),
        ("SIMILAR:piece_1", ["half", "copy", "whole"]),
        ("FINGERPRINT:tiny", ["tiny too"]),
        ("FINGERPRINT:tiny_100_99", ["tiny too"]),
        ("NOT FINGERPRINT:tiny_50 AND three", ["tiny in more"]),
        ('"three little words"', ["tiny", "tiny in more", "tiny too"]),
        ("FINGERPRINT:half_20 AND sender:ann", ["whole"]),
        ("FINGERPRINT:whole_20 AND NOT sender:bob", ["copy", "late half"]),
        ("FINGERPRINT:whole_20 budget", ["late half"]),
        ("FINGERPRINT:piece_50 OR budget", ["copy", "half", "whole", "late half", "other"]),
        ("FINGERPRINT:half_20 FINGERPRINT:piece_20", ["copy", "whole"]),
        ("budget AND (sender:bob OR date<2020)", ["late half", "other"]),
        ("sender!=ann", ["half", "other", "piece"]),
        (
            "NOT sender:ann AND NOT sender:bob NOT sender:eve",
            ["copy", "empty", "tiny", "tiny in more", "tiny too"],
        ),
        ("date<=2020-01-31", ["half", "late half"]),
        ("date>2020-01-31", ["whole"]),
        ("date>=2020-01", ["half", "whole"]),
        ("date<=2020", ["half", "late half", "whole"]),
        ("date>2020", []),
        ("date<=2019", ["late half"]),
        ("date>2019", ["half", "whole"]),
        ("date=2020", ["half", "whole"]),
        ("date:2020-01", ["half"]),
        ("date!=2020", ["late half"]),
        ("size>=10", ["late half", "whole"]),
        ("size!=10", ["half", "late half"]),
        ("tags:old", ["whole"]),
        ("draft:true", ["other"]),
        ("sender:Ann", []),
        ("nowhere", []),
    ],
)
def test_what_is_found(query: str, expected: list[str]) -> None:
    assert ids(query) == expected


def test_the_query_document_is_left_out_unless_asked_for() -> None:
    assert "whole" not in ids("FINGERPRINT:whole_20")
    assert ids("FINGERPRINT:whole_20", include_self=True)[:2] == ["copy", "whole"]
    # a word finds it all the same, but not as a near copy of itself
    page = search(DOCUMENTS, "FINGERPRINT:piece_100 OR w15")
    assert {hit.id: hit.evidence is not None for hit in page.hits} == {
        "copy": True,
        "half": True,
        "whole": True,
        "piece": False,
    }


def test_explain_has_a_plan_and_no_hits() -> None:
    page = search(DOCUMENTS, "EXPLAIN FINGERPRINT:half_20_80")
    assert (page.hits, page.found, page.next) == ((), None, None)
    assert page.plan.fingerprints[0].target.n == 49


@pytest.mark.parametrize("limit", [0, -1, 1001, 2.0, True])
def test_a_limit_that_is_not_possible(limit: Any) -> None:
    with pytest.raises(SettingError):
        search(DOCUMENTS, "budget", limit=limit)


def test_too_many_candidates_are_refused_not_cut() -> None:
    with pytest.raises(QueryError, match=r"\d documents .*compared"):
        search(DOCUMENTS, "FINGERPRINT:half_20", bounds=Bounds(1))
    assert search(DOCUMENTS, "FINGERPRINT:half_20", bounds=Bounds(50)).found == 2


def test_words_are_asked_of_few_documents_first() -> None:
    """Under AND the clause with the fewest candidates comes first; a text is compared only where needed."""
    documents = MemoryCollection({f"d{k}": text((0, 100), f"own{k}") for k in range(50)})
    documents.asked.clear()
    assert [hit.id for hit in search(documents, "FINGERPRINT:d1_50_95 AND own7").hits] == ["d7"]
    assert documents.asked["compared"] == 1


# Boolean queries against the definition


def sets_of(documents: MemoryCollection) -> list[set[tuple[str, ...]]]:
    return [reference.shingle_set(found, 5, "word") for found in documents.texts]


def fits(node: Node, k: int, documents: MemoryCollection, negated: bool = False) -> bool:
    """Whether document k is found, by the definition."""
    if isinstance(node, Not):
        return not fits(node.part, k, documents, not negated)
    if isinstance(node, And | Or):
        return (all if isinstance(node, And) else any)(fits(part, k, documents, negated) for part in node.parts)
    if isinstance(node, WordsClause):
        return f" {node.words} " in f" {documents.texts[k].casefold()} "
    if isinstance(node, FieldClause):
        return documents.metadata[k].get(node.field) == node.value
    assert isinstance(node, Fingerprint)
    a, b = sets_of(documents)[documents.numbers[node.source.id]], sets_of(documents)[k]  # type: ignore[union-attr]
    whole = len(a | b) if node.symmetric else len(a)
    itself = k == documents.numbers[node.source.id] and not negated  # type: ignore[union-attr]
    return not itself and bool(a & b) and len(a & b) >= Fraction(node.overlap or 0) / 100 * whole


CLAUSES = [
    *(
        f'{kind}:"{id}"{overlap}'
        for kind, id, overlap in product(
            ("FINGERPRINT", "SIMILAR"), ("half", "whole", "piece"), ("", "_20", "_90_100")
        )
    ),
    *("budget", "w15", '"w60 w61"', "sender:ann", "sender:bob"),
]


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(parts, parts)
    return (
        pairs.map(" AND ".join).map("({})".format)
        | pairs.map(" OR ".join).map("({})".format)
        | parts.map("NOT {}".format)
    )


@given(st.recursive(st.sampled_from(CLAUSES), combined, max_leaves=6))
def test_any_combination_finds_what_the_definition_says(query: str) -> None:
    root = parse(query).root
    expected = {DOCUMENTS.names[k] for k in range(len(DOCUMENTS.names)) if fits(root, k, DOCUMENTS)}
    assert set(ids(query)) == expected


# pages


def pages(documents: MemoryCollection, query: str, limit: int, between: Any = None) -> list[Page]:
    found = [search(documents, query, limit=limit)]
    while found[-1].next:
        if between:
            between(len(found))
        found.append(search(documents, query, limit=limit, after=found[-1].next))
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("query", ["FINGERPRINT:piece_50 OR budget", "NOT budget", "FINGERPRINT:half_20_80"])
def test_pages_one_after_the_other_are_the_whole(query: str, limit: int) -> None:
    found = pages(DOCUMENTS, query, limit)
    assert [hit.id for page in found for hit in page.hits] == ids(query)
    assert all(len(page.hits) == limit for page in found[:-1])


@pytest.mark.parametrize("query", ["FINGERPRINT:q_20_80", "FINGERPRINT:q_20", "FINGERPRINT:q_20_80 AND w5"])
def test_nothing_comes_twice_or_is_left_out_while_documents_are_added(query: str) -> None:
    """New documents change the lengths of postings, and with them the plan that would be chosen."""
    documents = MemoryCollection(scale=2, floor=4)
    documents.add("q", text((0, 100)))
    for k in range(30):
        documents.add(f"d{k:02}", text((0, 30 + 2 * k), f"own{k}"))
    before = [hit.id for hit in search(documents, query, limit=100).hits]
    assert len(before) > 10

    def add_many(page: int) -> None:
        for k in range(100 if page < 3 else 0):
            documents.add(f"new {page} {k}", text((0, k % 100), f"x{page}x{k}", (0, 50)))

    found = [hit.id for page in pages(documents, query, 4, add_many) for hit in page.hits]
    assert len(set(found)) == len(found)
    assert [id for id in found if not id.startswith("new")] == before


def test_a_token_of_another_search_is_refused() -> None:
    token = search(DOCUMENTS, "FINGERPRINT:piece_20", limit=1).next
    assert token
    assert search(DOCUMENTS, "FINGERPRINT:piece_20", limit=1, after=token).hits
    for query, options in [
        ("FINGERPRINT:piece_21", {}),
        ("FINGERPRINT:half_20", {}),
        ("FINGERPRINT:piece_20", {"include_self": True}),
    ]:
        with pytest.raises(InputError):
            search(DOCUMENTS, query, after=token, **options)
    changed = made()
    changed.texts[changed.numbers["piece"]] = "another text under the same id now"
    with pytest.raises(InputError):
        search(changed, "FINGERPRINT:piece_20", after=token)


@given(st.data())
def test_a_token_that_was_changed_is_refused(data: st.DataObject) -> None:
    token = Cursor(0.5, "id", "0123456789abcdef", "1").token()
    place = data.draw(st.integers(0, len(token) - 2))  # of the last character not all bits count
    other = data.draw(st.sampled_from("AZaz09-_").filter(lambda char: char != token[place]))
    with pytest.raises(InputError, match="damaged"):
        read_token(token[:place] + other + token[place + 1 :])


@given(st.text() | st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_any_text_as_a_token_is_refused(token: str) -> None:
    with pytest.raises(InputError):
        read_token(token)


@given(st.floats(0, 1), st.text(), st.text("1sce"))
def test_tokens_read_as_they_were(score: float, id: str, taken: str) -> None:
    cursor = Cursor(score, id, "0123", taken)
    assert read_token(cursor.token()) == cursor


# why not


@pytest.mark.parametrize(
    ("query", "id", "reason", "said"),
    [
        ("FINGERPRINT:half_20", "whole", "found", "is among the hits"),
        ("FINGERPRINT:half_20", "nobody", "unknown id", "not in the collection"),
        ("FINGERPRINT:half_20", "\udcff", "unknown id", '"\\u{dcff}" is not in the collection'),
        ("FINGERPRINT:half_20", "half", "itself", "query document"),
        (
            "FINGERPRINT:half_20",
            "piece",
            "below",
            'shares 6 of the 49 of document "half", 12.2 %, and 20 % is asked for',
        ),
        ("FINGERPRINT:half", "other", "below", "any overlap is asked for"),
        ("SIMILAR:half_60", "whole", "below", "46 of the 99 of both, 46.4 %, and 60 % is asked for"),
        ("FINGERPRINT:half_20 sender:bob", "whole", "filtered", "sender:bob: this does not hold for it"),
        ("FINGERPRINT:half_20 AND NOT w3", "whole", "filtered", "w3: this holds for it, and NOT excludes it"),
        ("NOT FINGERPRINT:half_20", "whole", "filtered", "93.8 %, which NOT excludes"),
        ("budget OR harbour", "whole", "filtered", "harbour: this does not hold"),
    ],
)
def test_why_not(query: str, id: str, reason: str, said: str) -> None:
    answer = why_not(DOCUMENTS, query, id)
    assert answer.reason == reason
    assert said in str(answer)
    assert json.loads(json.dumps(answer.as_dict()))["reason"] == reason


def test_why_not_has_the_numbers() -> None:
    [cause] = why_not(DOCUMENTS, "FINGERPRINT:half_20", "piece").causes
    assert (cause.shared, cause.size_query, cause.size_hit) == (6, 49, 6)


def test_what_the_sample_missed_is_told_from_what_does_not_fit() -> None:
    """Documents share a fifth of the query, each another one; few shingles are looked up."""
    documents = MemoryCollection(scale=1, floor=4)
    documents.add("q", text((0, 100)))
    for k in range(80):
        documents.add(f"d{k}", text(f"own{k}", (k, k + 20)))
    query = "FINGERPRINT:q_15_50"
    step = search(documents, query).plan.fingerprints[0]
    assert step.way in ("one hit", "several hits")
    found = {hit.id for hit in search(documents, query, limit=1000).hits}
    answers = {id: why_not(documents, query, id) for id in documents.names[1:]}
    reasons = {id: answer.reason for id, answer in answers.items()}
    assert {id for id, reason in reasons.items() if reason == "found"} == found
    assert set(reasons.values()) == {"found", "missed"}
    missed = next(answer for answer in answers.values() if answer.reason == "missed")
    assert has_parts(
        str(missed), "shares 16 of the 96", "16.6 %", f"of the {step.n_lookups} shingles", f"{step.hits} are"
    )
    complete = {hit.id for hit in search(documents, "FINGERPRINT:q_15", limit=1000).hits}
    assert complete == set(reasons)
    id = next(id for id, reason in reasons.items() if reason == "missed")
    other = next(one for one in reasons if one != id)
    either = why_not(documents, f"{query} OR FINGERPRINT:{other}_90", id)
    assert [cause.clause for cause in either.causes] == ["FINGERPRINT:q_15_50"]  # it does not fit the other one


def test_a_list_with_dates_before_and_after_a_year_has_none_within_it(tmp_path: Path) -> None:
    days = {
        "around": ["2019-01-01", "2021-01-01"],
        "within": ["2019-01-01", "2020-02-02", "2021-01-01"],
        "year": 2020,
        "text": "2020",
    }
    with Collection(tmp_path / "c.neardup") as made:
        for id, on in days.items():
            made.put(id, "some words", {"on": on})
        made.tag("2020-budget", ["around"])

        def found(query: str) -> set[str]:
            return {hit.id for hit in made.search(query).hits}

        assert found("on=2020") == found("words AND on:2020") == {"within", "year", "text"}
        assert found("on!=2020") == found("NOT on=2020") == {"around"}
        assert found("on=2020-02") == found("on=2020-02-02") == {"within"}
        assert found("tag=2020") == set()
