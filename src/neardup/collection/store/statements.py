"""The statements that every database runs, and the tables within its transactions.

SQL that is written once is SQL of SQLite which PostgreSQL understands, too, but for some idioms that
``postgres_session.py`` writes otherwise: the parameter ``?``, ``LISTED``, a join with a list, ``GROUP_CONCAT``.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from neardup.tables import Int64s

LISTED = "IN (SELECT value FROM json_each(?))"
"""The condition that a whole number is one of a list, which is one parameter: see ``list_parameter``."""

NO_LIMIT = (1 << 63) - 1
"""More rows than there are."""


def list_parameter(numbers: Int64s | Iterable[int]) -> str:
    """Whole numbers as the parameter of ``LISTED``.

    >>> list_parameter([3, 5])
    '[3, 5]'
    """
    return json.dumps(numbers.tolist() if hasattr(numbers, "tolist") else list(numbers))


class Tables(Protocol):
    """The tables within a transaction: the statements of one database that change them."""

    def run(self, statement: str, *parameters: Any) -> list[Any]:
        """Run a statement, and return all rows."""

    def change(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each of the rows of parameters, and return the number of rows that it changed."""

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, with all columns, into a table."""

    def last_number(self, table: str) -> int:
        """The largest number that a row of ``documents``, ``groups`` or ``changes`` ever had, or 0."""

    def keep_last(self, table: str, number: int) -> None:
        """Remember the last number that was assigned; call it after rows were inserted."""

    def add_words(self, numbers: Sequence[int], streams: Sequence[str]) -> None:
        """Index the tokens of documents, each followed by a space."""

    def remove_words(self, numbers: Sequence[int], streams: Sequence[str]) -> int:
        """Remove the tokens of documents from the index, and return the number of missing ones, if it is known."""

    def add_facts(self, facts: Sequence[tuple[int, Any, int]]) -> None:
        """Insert facts: the number of a key, a value, a document."""

    def remove_facts(self, facts: Sequence[tuple[int, Any, int]]) -> int:
        """Delete facts, and return how many there were."""

    def has_base_texts(self) -> bool:
        """Whether the table of base texts exists."""

    def make_base_texts(self) -> None:
        """Create the table of base texts."""

    def flush(self) -> None:
        """Write the pending rows, so that look-ups find them."""

    def settle(self, *, grown: bool) -> None:
        """Write and merge at the end of the transaction; ``grown``: the documents have doubled."""

    def merge_words(self, *, first: bool) -> bool:
        """Continue to merge the index of words, from the ``first`` step on; return whether it has to go on."""
