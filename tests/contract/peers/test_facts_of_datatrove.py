"""Facts that the documentation and tests of datatrove state, one a row, held against this library.

Version 0.10.1 was run in November 2026 for its defaults, its normal form of a text, and the four steps on
``DOCUMENTS``. The facts of decontamination and exact copies are from its tests, on texts of ours. No code of it
is used.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import neardup as nd
from support.facts import held_test, refused_test

WORDS = [f"word{chr(97 + place % 26)}{chr(97 + place // 26)}" for place in range(300)]
WHOLE = " ".join(WORDS)
DOCUMENTS = [
    {"id": "a", "text": " ".join(WORDS[:60])},
    {"id": "b", "text": " ".join(WORDS[1:61])},
    {"id": "c", "text": " ".join(WORDS[100:160])},
    {"id": "d", "text": "one two three four"},
    {"id": "e", "text": "one two three four"},
]
FOUND = nd.find(DOCUMENTS, threshold=0.72, keep="first")
FAMILY = nd.MinHash(1024)
RANKED = [{"id": str(rank), "text": text, "priority": rank} for rank, text in enumerate(["a b c"] * 3 + ["x y z"])]
QUESTION = "walks outside plugs his lawn mower in and gets ready to mow"
BEFORE, AFTER = (
    "nothing is so painful as a great and sudden change",
    "beware for I am fearless and therefore powerful",
)


def with_first(share: float) -> str:
    """The words up to a share of them, and the rest from the end."""
    end = int(len(WORDS) * share)
    return " ".join(WORDS[:end] + WORDS[: end - 1 : -1])


def estimated(share: float) -> float:
    return float(FAMILY.of(WHOLE).resemblance(FAMILY.of(with_first(share))).value)


def contaminated(text: str) -> bool:
    """Whether the question, a test item, is found in a text."""
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder, "items.jsonl")
        items.write_text(f'{{"text": "{QUESTION}"}}\n', encoding="utf-8")
        looked = nd.decontaminate([f"{BEFORE} {text} {AFTER}"], against=items, length=12, run=1, common=0)
    return bool(looked.as_dict()["counts"]["contaminated"])


HELD: dict[str, Callable[[], bool]] = {
    "the default shingle has 5 words": lambda: nd.Settings.of().shingles.length == 5,
    "14 buckets of 8 hashes find half of the pairs at a similarity of about .7": lambda: (
        0.4 < nd.LSH(nd.MinHash(128).sketch([WHOLE])[:, :112], rows=8).probability(0.69) < 0.6
    ),
    "a signature is the same in another process of the same settings": lambda: (
        nd.MinHash(1024).of(WHOLE) == FAMILY.of(WHOLE)
    ),
    "equal slots approximate the similarity": lambda: all(
        abs(estimated(share) - nd.compare(WHOLE, with_first(share)).resemblance) < 0.06
        for share in (0.25, 0.5, 0.75)
    ),
    "near duplicates are in one cluster": lambda: FOUND.group("a") is not None and "b" in str(FOUND.why("b")),
    "one document of a cluster is kept, and others are": lambda: (
        [document["id"] for document in FOUND.kept if document["id"] in "abc"] == ["a", "c"]
    ),
    "a document has the size of its cluster": lambda: (
        {row["id"]: row["size"] for row in FOUND.groups.to_pylist()} == {"a": 2, "b": 2, "d": 2, "e": 2}
    ),
    "a document that is alone has no cluster": lambda: FOUND.group("c") is None,
    "of equal texts that of the highest priority is kept": lambda: (
        [one["id"] for one in nd.find(RANKED, keep="max:priority").kept] == ["2", "3"]
    ),
    "a second run removes nothing": lambda: nd.dedup(FOUND.kept, threshold=0.72) == FOUND.kept,
    "case, signs and white space do not count": lambda: (
        nd.tokens("Very  STRONG,\n coffee!") == ["very", "strong", "coffee"]
    ),
    "texts that differ in numbers are the same, on request": lambda: (
        nd.compare("meet at 12 30 here", "meet at 9 45 here", ignore_numbers=True, length=2).resemblance == 1
    ),
    "documents of an earlier run are not kept again": lambda: (
        [one["id"] for one in nd.dedup(DOCUMENTS[1:3], against=DOCUMENTS[:1], threshold=0.72)] == ["c"]
    ),
    "a document with the n-gram of a test item is contaminated": lambda: contaminated(QUESTION),
    "a document with a word less is not": lambda: not contaminated(QUESTION.removesuffix(" mow")),
    "a document without it is not": lambda: not contaminated(""),
}

REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "the number of buckets": ("'recall'", lambda: nd.find(DOCUMENTS, bands=14)),
    "hash functions by name": ("Allowed", lambda: nd.find(DOCUMENTS, hash_fc="xxhash")),
    "the width of n-grams by its name": ("'length'", lambda: nd.find(DOCUMENTS, n_grams=5)),
    "an index by its name": ("Allowed", lambda: nd.find(DOCUMENTS, index_folder="index")),
}


def test_short_texts_that_are_equal_are_found() -> None:
    """Version 0.10.1 makes no shingle of texts of four words, and keeps both."""
    assert "d" in str(FOUND.why("e"))


def test_accents_count() -> None:
    """Version 0.10.1 makes *un cafe* of *un café*."""
    assert nd.tokens("un café") == ["un", "café"]


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)
