"""Lost text, and rows of groups, in words."""

from __future__ import annotations

from neardup.deduplication.run.account import Lost
from neardup.deduplication.run.lost_text import lost_in_words
from neardup.deduplication.run.views import row_of, rows_of


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
