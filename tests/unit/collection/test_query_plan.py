"""Plans: which document is meant, which look-ups are chosen, what is guaranteed, how it is said."""

import re
from typing import Any

import numpy as np
import pytest

from neardup.collection.query import parse
from neardup.collection.query.explanation import as_dict, describe
from neardup.collection.query.metadata import meanings
from neardup.collection.query.plan import FingerprintStep, QueryPlan, chosen_draw, plan
from neardup.collection.search import Evaluation
from neardup.errors import InputError, QueryError
from support.memory_collection import MemoryCollection


def text(name: str, n: int) -> str:
    return " ".join(f"{name}{k}" for k in range(n))


@pytest.fixture(scope="module")
def documents() -> MemoryCollection:
    """A long document, near copies, and boilerplate that many hold."""
    made = MemoryCollection(scale=16, floor=8)
    made.add("1234", text("w", 1004))
    made.add("1234_20", text("v", 40))
    made.add("a_b", text("u", 30))
    made.add("blank", " -- \n")
    made.add("short", "only four words here")
    made.add("mixed", text("m", 300) + " " + text("boiler", 300))
    for k in range(200):
        made.add(
            f"mail {k}",
            text(f"t{k}x", 40) + " " + text("boiler", 300),
            sender="ann",
            day=f"2020-01-{k % 28 + 1:02}",
        )
    return made


def planned(documents: MemoryCollection, query: str, **given: Any) -> QueryPlan:
    return plan(parse(query), documents, **given)


def step(documents: MemoryCollection, query: str, **given: Any) -> FingerprintStep:
    return planned(documents, query, **given).fingerprints[0]


def refused(documents: MemoryCollection, query: str, **given: Any) -> QueryError:
    with pytest.raises(QueryError) as caught:
        planned(documents, query, **given)
    return caught.value


# which document is meant


def test_an_id_that_exists_by_one_reading_is_that_one(documents: MemoryCollection) -> None:
    found = step(documents, "FINGERPRINT:a_b_20_80").target
    assert (found.number, found.overlap, found.probability) == (documents.number("a_b"), 20, 80)
    whole = step(documents, "FINGERPRINT:a_b").target
    assert (whole.number, whole.overlap, whole.probability) == (documents.number("a_b"), None, None)


def test_an_id_that_exists_by_two_readings_is_refused_with_both(documents: MemoryCollection) -> None:
    error = refused(documents, "budget OR FINGERPRINT:1234_20_80")
    assert error.position == len("budget OR ")
    assert '"1234"_20_80 means 20 % of document "1234"' in str(error)
    assert '"1234_20"_80 means 80 % of document "1234_20"' in str(error)
    assert step(documents, 'FINGERPRINT:"1234"_20_80').target.number == documents.number("1234")
    assert step(documents, 'FINGERPRINT:"1234_20"_80').target.number == documents.number("1234_20")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("FINGERPRINT:nobody", 'There is no document "nobody"'),
        ("x FINGERPRINT:nobody_20_80", 'There is no document "nobody" or "nobody_20" or "nobody_20_80"'),
        ('FINGERPRINT:"a_b_20_80"', 'There is no document "a_b_20_80"'),
        ('FINGERPRINT:"a_b_20_80"', 'Write "a_b"_20_80, with the numbers behind the quotation mark'),
        ("FINGERPRINT:a_b_0", 'Document "a_b" is there, but 0 cannot follow it'),
        ("FINGERPRINT:a_b_120_80", 'Document "a_b" is there, but 120 and 80 cannot follow it'),
        ("FINGERPRINT:blank_20", 'There is no word in document "blank"'),
        ('TEXT:"?!"_20', "There is no word in the pasted text"),
        ("FILE:x_20", "A FILE cannot be read from here"),
        ("!? OR x", "Expected "),
        ("?? OR x", "There is no word in this"),
        ("http://x.org", "No document has metadata under this name"),
    ],
)
def test_what_is_not_there_is_said(documents: MemoryCollection, query: str, said: str) -> None:
    assert said in str(refused(documents, query))


def test_a_file_is_read_by_whoever_can(documents: MemoryCollection) -> None:
    def read(path: str) -> str:
        if path == "mine.txt":
            return text("v", 40)
        raise InputError(f"There is no file {path}")

    assert step(documents, "FILE:mine.txt_50", open_file=read).target.n == 36
    error = refused(documents, "FILE:notes_20", open_file=read)
    assert "no file notes (character 1)" in str(error)
    assert "quotation marks" in str(error)


# which look-ups


@pytest.mark.parametrize(
    ("numbers", "recall"), [("_20_80", 0.8), ("_20_95", 0.95), ("_50_95", 0.95), ("_80_99", 0.99)]
)
def test_look_ups_through_the_sample_are_the_smallest_shingles(
    documents: MemoryCollection, numbers: str, recall: float
) -> None:
    found = step(documents, f'FINGERPRINT:"1234"{numbers}')
    sampled = int(np.searchsorted(found.target.hashes, np.uint64(documents.sampling.limit)))
    kept = chosen_draw(found.target.n, found.least, sampled, recall)
    assert kept is not None
    assert (found.n_lookups, found.hits, found.recall) == (kept.drawn, kept.hits, kept.recall)
    assert found.way == ("one hit" if found.hits == 1 else "several hits")
    assert found.sampled.tolist() == found.target.hashes[: kept.drawn].tolist()
    assert found.recall >= recall


def test_several_hits_make_fewer_candidates_than_one(documents: MemoryCollection) -> None:
    found = step(documents, "FINGERPRINT:mixed_80_90")
    assert (found.way, found.hits > 1) == ("several hits", True)
    assert found.candidates < documents.posting_counts(found.sampled).sum()


def test_several_hits_find_what_holds_that_many_and_nothing_else(documents: MemoryCollection) -> None:
    found = planned(documents, "FINGERPRINT:mixed_80_90")
    several = found.fingerprints[0]
    number, hits = documents.holders(several.sampled)
    expected = number[hits >= several.hits]
    assert Evaluation(found, documents)._candidates(several).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("query", "look_ups"),
    [
        ("FINGERPRINT:short_100", 1),
        ("FINGERPRINT:a_b_1_100", 26),
        ("FINGERPRINT:a_b_20", 21),
        ("FINGERPRINT:a_b_100", 1),
        ("FINGERPRINT:a_b_4_99.9", 25),
    ],
)
def test_complete_look_ups_are_one_more_than_may_be_missing(
    documents: MemoryCollection, query: str, look_ups: int
) -> None:
    found = step(documents, query)
    assert (found.way, found.n_lookups, found.recall) == ("complete", look_ups, 1.0)


def test_what_the_sample_lacks_is_looked_up_by_words(documents: MemoryCollection) -> None:
    found = step(documents, "FINGERPRINT:a_b_20_80")
    assert (found.way, found.n_lookups, found.hits) == ("one hit or words", 6, 1)
    assert found.recall >= 0.8
    n_sampled = len(found.sampled)
    assert found.sampled.tolist() == found.target.hashes[:n_sampled].tolist()
    assert found.sampled.max(initial=0) < documents.sampling.limit <= found.target.hashes[n_sampled]
    looked_up = [set(found.target.words_of(k)) for k in range(n_sampled, 6)]
    assert [set(words) for words in found.phrases] == looked_up
    assert step(documents, "FINGERPRINT:a_b_20_80", taken="w").way == "one hit or words"
    assert step(documents, "FINGERPRINT:a_b_20_80", taken="c").way == "complete"


def test_words_that_most_documents_hold_are_not_looked_up(documents: MemoryCollection) -> None:
    found = step(documents, "FINGERPRINT:mixed_40", taken="c")
    for words in found.phrases:
        counts = documents.word_counts(words).tolist()
        assert counts == sorted(counts)
        assert len(words) >= 2
        assert max(counts[2:], default=0) <= documents.total() / 8
    assert {len(words) for words in found.phrases} >= {2, 5}


def test_complete_look_ups_are_the_rarest(documents: MemoryCollection) -> None:
    found = step(documents, "FINGERPRINT:mixed_40", taken="c")
    words = {word for phrase in found.phrases for word in phrase}
    assert found.n_lookups == 596 - 239 + 1
    assert {word for word in words if word.startswith("m")} == {f"m{k}" for k in range(300)}
    assert len([phrase for phrase in found.phrases if "boiler50" in phrase]) < 5


def test_every_document_is_compared_where_that_costs_less(documents: MemoryCollection) -> None:
    assert step(documents, 'FINGERPRINT:"1234"_1_100').way == "every document"
    alone = MemoryCollection(documents={"x": text("w", 1000)})
    assert step(alone, "FINGERPRINT:x_50_100").way == "every document"


def test_a_fingerprint_under_not_is_complete(documents: MemoryCollection) -> None:
    negated = step(documents, 'NOT FINGERPRINT:"1234"_20_80')
    assert (negated.recall, negated.negated) == (1.0, True)
    assert step(documents, 'NOT NOT FINGERPRINT:"1234"_20_80').way == "several hits"


@pytest.mark.parametrize(
    ("query", "recall"),
    [
        ("{0} AND w1", lambda a, b: a),
        ("{0} AND {1}", lambda a, b: 1 - (1 - a) - (1 - b)),
        ("{0} OR {1}", min),
        ("{0} OR w1", lambda a, b: a),
        ("NOT ({0} OR {1})", lambda a, b: 1.0),
        ("NOT (NOT {0} OR NOT {1})", lambda a, b: 1 - (1 - a) - (1 - b)),
        ("NOT (NOT {0} AND NOT {1})", min),
    ],
)
def test_the_recall_of_a_whole_query(documents: MemoryCollection, query: str, recall: Any) -> None:
    clauses = ('FINGERPRINT:"1234"_20_80', 'FINGERPRINT:"1234"_50_95')
    each = [step(documents, clause).recall for clause in clauses]
    assert planned(documents, query.format(*clauses)).recall == pytest.approx(recall(*each))


def test_parts_are_evaluated_by_the_fewest_candidates_with_not_at_the_end(documents: MemoryCollection) -> None:
    query = 'sender:ann AND NOT w1 AND boiler1 AND FINGERPRINT:"1234"_20_80'
    root: Any = planned(documents, query).root
    assert [type(part).__name__ for part in root.parts] == [
        "FingerprintStep",
        "WordsStep",
        "ComparisonStep",
        "NotStep",
    ]


# in words


def test_a_plan_in_english(documents: MemoryCollection) -> None:
    assert describe(planned(documents, 'w1 FINGERPRINT:"1234"_20_80 NOT day>=2020-01-10')) == [
        'query: w1 AND FINGERPRINT:"1234"_20_80 AND NOT day>=2020-01-10',
        "all of these, in this order:",
        "  documents with the word w1 (about 1)",
        '  documents that hold 20 % or more of document "1234"',
        "    so they share 200 or more of its 1,000 shingles",
        "    look up its 55 sampled shingles of smallest hash; 9 hits make a candidate",
        "    recall 0.8048 or more, 80 % asked for; about 2 candidates",
        "  not:",
        "    documents with metadata day>=2020-01-10",
        "recall 0.8048 or more: the chance, over the keys that a collection may have, that a document that fits "
        "is found; those that share the same shingles are found or missed together; every hit is verified on its "
        "text",
        "candidates: about 1 of 206 documents",
    ]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("FINGERPRINT:short", "fewer than 5 words and is one shingle: only documents of the very same words"),
        ("FINGERPRINT:a_b_4_99.9", "complete, 99.9 % asked for, for which its sampled shingles are too few"),
        ("FINGERPRINT:a_b_20_80", r"its 6 shingles of smallest hash, \d in the sample and \d by their words"),
        ("FINGERPRINT:a_b", "documents that share a sampled shingle with document"),
        ("FINGERPRINT:a_b", r"look up its \d+ sampled shingles; every document with one of them is a hit"),
        ("FINGERPRINT:a_b", r"shares 7 of its 26 shingles \(26.9 %\) has one with 95% or more"),
        ("FINGERPRINT:a_b", r"expected .*: 0\.\d+ of those that share 1, .* share 20"),
        ("SIMILAR:a_b_30", 'documents that resemble document "a_b" by 30 % or more'),
        ("FINGERPRINT:mixed_80_90", r"sampled shingles of smallest hash; \d+ hits make a candidate\n"),
        ("NOT FINGERPRINT:a_b_1", "a miss under NOT would be a false hit"),
        ('FINGERPRINT:"1234"_1', "compare every document"),
        ('"a1 a2"', "one after the other the words a1 a2"),
        ("a OR b", "any of these:"),
        ('TEXT:"\\u{1b}[2J x"', r"\\u{1b}\[2J x"),
    ],
)
def test_what_plans_say(documents: MemoryCollection, query: str, said: str) -> None:
    lines = describe(planned(documents, query))
    assert re.search(said, "\n".join(lines))
    assert all(line.isprintable() for line in lines)


def test_a_plan_as_data(documents: MemoryCollection) -> None:
    data = as_dict(planned(documents, 'FINGERPRINT:"1234"_20_80'))
    [clause] = data["fingerprints"]
    assert clause["clause"] == data["query"] == 'FINGERPRINT:"1234"_20_80'
    assert (clause["way"], clause["postings"], clause["phrases"], clause["hits"]) == ("several hits", 55, 0, 9)
    assert (clause["overlap"], clause["probability"], clause["least_shared"]) == (20.0, 80.0, 200)
    assert clause["recall"] == data["recall"] >= 0.8


# metadata


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", "ann", [("=", "ann")]),
        ("=", "12", [("=", "12"), ("=", 12)]),
        ("<", "-1.5e3", [("<", "-1.5e3"), ("<", -1500.0)]),
        ("<=", "2020-01", [("<", "2020-01\U0010ffff")]),
        (">", "2020-01-31", [(">=", "2020-01-31\U0010ffff")]),
        (">=", "2020-01-31", [(">=", "2020-01-31")]),
        ("=", "nan", [("=", "nan")]),
        ("=", "1_000", [("=", "1_000")]),
        ("=", "9" * 400, [("=", "9" * 400)]),
        ("=", "1" * 30, [("=", "1" * 30), ("=", float("1" * 30))]),
    ],
)
def test_typed_text_becomes_values(operator: str, value: str, expected: list[Any]) -> None:
    assert meanings(operator, value) == expected
