"""The units of texts whose passages are looked up."""

from __future__ import annotations

from neardup.deduplication.group import loss
from neardup.deduplication.run.account import Lost
from neardup.deduplication.run.lost_text import lost_in_words
from neardup.deduplication.run.views import row_of, rows_of
from neardup.settings import Shingles
from neardup.text.keys import process_key
from neardup.text.units import Units, read
from support import shared_data


def test_tokens_of_plain_texts_are_those_of_the_kernels() -> None:
    """European texts are cut by a regular expression for passages: the same hashes, and the same quotes."""
    key, form, plain = process_key(), Shingles(), 0
    oddities = [
        "½ cup of tea",
        "5² is 25",
        "naïve café – “quoted”, really…",
        "ﬁne ﬁgs",
        "e\u0301te\u0301",
        "a_b c-d x·y",
    ]
    for text in [*shared_data.documents("own").values(), *oddities]:
        found, expected = loss._units_of(text, form, key), read(text, key=key).units(True)
        plain += not isinstance(found, Units)
        assert found.hashes.tolist() == expected.hashes.tolist()
        for begin in range(0, len(expected), 40):
            end = min(begin + 25, len(expected))
            assert found.quote(begin, end) == expected.quote(begin, end)
    assert plain > 300


def test_removed_documents_that_are_no_exact_copies_are_counted_in_words() -> None:
    def others(removed: int) -> str:
        lost = Lost(removed, losing=0, unknown=0, shingles=9, lost=0, identical=1, most=[])
        words = lost_in_words(lost).rpartition("; ")[2]
        return words.partition(" not")[0]

    assert others(2) == "1 removed document is"
    assert others(3) == "2 removed documents are"


def test_rows_beyond_the_most_are_counted() -> None:
    rows = [row_of(id, "kept", 0.5, "") for id in "abcd"]
    assert rows_of(rows, 4) == rows_of(rows, 5) == rows
    assert rows_of(rows, 1) == [rows[0], ("… and 3 more documents", "", "", "")]
