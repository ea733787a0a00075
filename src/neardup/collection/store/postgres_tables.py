"""The tables of a collection in PostgreSQL, with its own form of words and values.

Words are in a dictionary, which gives each a number, and in posting lists like those of shingles: the key of a
word is its number times an odd constant modulo 2**32, which spreads the keys over the blocks and loses none.
Values of metadata are in two columns, numbers as numeric: it orders whole numbers and floats exactly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.collection.contract import Operator, Value
from neardup.collection.store.postgres_session import Session, copy, fetch_rows, run, translated_statement
from neardup.collection.store.segments import MOST_NUMBER, Segments, SegmentWriting, postings_of
from neardup.errors import InputError
from neardup.io.place import DatabaseURL
from neardup.tables import Int64s, UInt64s

FORMAT_VERSION = 1
"""The version of the schema, stored in the header. A change of the tables needs a step in postgres.py."""

TABLES: dict[str, dict[str, str]] = {
    "header": {"key": "text", "value": "text"},
    "totals": dict.fromkeys(
        ["documents", "tokens", "shingles", "postings", "text_bytes", "packed_bytes", "change", "seal"], "int8"
    ),
    "last_numbers": {"name": "text", "last": "int8"},
    "documents": {
        "number": "int8",
        "id": "text",
        "size": "int8",
        "tokens": "int8",
        "shingles": "int8",
        "metadata": "text",
        "signature": "bytea",
        "seal": "int8",
    },
    "texts": {"number": "int8", "packed": "bytea"},
    "keys": {"number": "int8", "name": "text"},
    "facts": {"key": "int8", "figure": "numeric", "string": "text", "document": "int8"},
    "base_texts": {"document": "int8", "mark": "int8", "seal": "int8"},
    "groups": {"number": "int8", "representative": "int8", "threshold": "float8", "seal": "int8"},
    "members": {"document": "int8", "group_number": "int8", "shared": "int8", "seal": "int8"},
    "actions": {
        "number": "int8",
        "at": "text",
        "by": "text",
        "what": "text",
        "changes": "int8",
        "undoes": "int8",
        "undone_by": "int8",
        "seal": "int8",
    },
    "decisions": {
        "number": "int8",
        "action": "int8",
        "kind": "text",
        "a": "int8",
        "b": "int8",
        "value": "text",
        "note": "text",
        "threshold": "float8",
        "before": "int8",
        "after": "int8",
        "seal": "int8",
    },
    "changes": {
        "number": "int8",
        "at": "text",
        "what": "text",
        "group_number": "int8",
        "document": "int8",
        "about": "text",
        "seal": "int8",
    },
    "segments": dict.fromkeys(["number", "bits", "postings", "first", "last", "seal"], "int8"),
    "postings": {"block": "int8", "data": "bytea"},
    "words": {"number": "int8", "word": "bytea"},
    "word_segments": dict.fromkeys(["number", "bits", "postings", "first", "last", "seal"], "int8"),
    "word_postings": {"block": "int8", "data": "bytea"},
}
"""The columns of each table with their types."""

_MAY_BE_NULL = {
    ("facts", "figure"), ("facts", "string"), ("actions", "by"), ("actions", "undoes"), ("actions", "undone_by"),
    ("decisions", "value"), ("decisions", "threshold"), ("decisions", "before"), ("decisions", "after"),
}  # fmt: skip
_HEAD, _WORD_HEAD = 200, 500
"""The characters of a string of metadata, and the bytes of a word, that are in an index: an entry has a bound."""

INDEXES = {
    **{
        f"{table}_number": f"UNIQUE INDEX ON {table} (number)"
        for table in ("documents", "texts", "keys", "groups")
    },
    **{f"{table}_number": f"UNIQUE INDEX ON {table} (number)" for table in ("actions", "decisions", "changes")},
    "header_key": "UNIQUE INDEX ON header (key)",
    "last_numbers_name": "UNIQUE INDEX ON last_numbers (name)",
    "documents_id": "UNIQUE INDEX ON documents (id)",
    "keys_name": "UNIQUE INDEX ON keys (name)",
    "facts_figure": "INDEX ON facts (key, figure, document) WHERE figure IS NOT NULL",
    "facts_string": f"INDEX ON facts (key, left(string, {_HEAD}), document) WHERE string IS NOT NULL",
    "base_texts_document": "UNIQUE INDEX ON base_texts (document)",
    "members_document": "UNIQUE INDEX ON members (document)",
    "members_of_group": "INDEX ON members (group_number, document)",
    "decisions_of_subject": "INDEX ON decisions (kind, a, b, number)",
    "decisions_of_b": "INDEX ON decisions (kind, b)",
    "decisions_of_action": "INDEX ON decisions (action)",
    "segments_number": "UNIQUE INDEX ON segments (number)",
    "postings_block": "UNIQUE INDEX ON postings (block)",
    "words_number": "UNIQUE INDEX ON words (number)",
    "words_word": f"INDEX ON words (substr(word, 1, {_WORD_HEAD}))",
    "word_segments_number": "UNIQUE INDEX ON word_segments (number)",
    "word_postings_block": "UNIQUE INDEX ON word_postings (block)",
}
"""The indexes by their names."""

_STORAGE = (
    # blocks and packed texts do not shrink; rows of texts stay whole up to the size of a page
    *(f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL" for table in ("postings", "word_postings")),
    "ALTER TABLE texts ALTER COLUMN packed SET STORAGE EXTERNAL",
    "ALTER TABLE texts SET (toast_tuple_target = 8160)",
)


_TEXT = 'text COLLATE "C"'


def statements() -> Iterator[str]:
    """The statements that make the tables of a collection."""
    for table, columns in TABLES.items():
        of_table = (
            f"{name} {_TEXT if kind == 'text' else kind}{'' if (table, name) in _MAY_BE_NULL else ' NOT NULL'}"
            for name, kind in columns.items()
        )
        yield f"CREATE TABLE {table} ({', '.join(of_table)})"
    for name, index in INDEXES.items():
        yield f"CREATE {index.replace('INDEX ON', f'INDEX {name} ON')}"
    yield from _STORAGE


def foreign_objects(connection: Session, schema: str) -> list[str]:
    """The names of tables, columns, indexes, triggers, rules and functions that differ from those we make.

    A trigger or a view of unknown origin would run on a write, and a missing table would be noticed halfway.
    """
    wanted = {("r", table, "") for table in TABLES}
    wanted |= {("column", f"{table}.{name}", kind) for table, of in TABLES.items() for name, kind in of.items()}
    wanted |= {("i", name, "") for name in INDEXES}
    known = {(kind, name, more) for kind, name, more in fetch_rows(connection, _OBJECTS, (schema,) * 6)}
    return sorted({name for _, name, _ in wanted ^ known})


_IN_SCHEMA = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = %s"
_OBJECTS = f"""
    SELECT c.relkind::text, c.relname::text, '' {_IN_SCHEMA} WHERE c.relkind NOT IN ('t', 'c')
    UNION ALL
    SELECT 'column', c.relname || '.' || a.attname, t.typname {_IN_SCHEMA}
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid WHERE c.relkind <> 'i'
    UNION ALL
    SELECT 'trigger', t.tgname::text, '' {_IN_SCHEMA} JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
    UNION ALL
    SELECT 'rule', r.rulename::text, '' {_IN_SCHEMA} JOIN pg_rewrite r ON r.ev_class = c.oid
    UNION ALL
    SELECT 'policy', c.relname::text, '' {_IN_SCHEMA} WHERE c.relrowsecurity
    UNION ALL
    SELECT 'function', p.proname::text, '' FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = %s
"""

_SPREAD, _GATHER = 0x9E37_79B1, pow(0x9E37_79B1, -1, 1 << 32)
_LONGEST_WORD = 32_768
_MOST_PENDING = 1 << 21
_MOST_KNOWN = 200_000
WORDS = "word_"
"""The beginning of the names of the tables of words."""


def keys_of(numbers: Int64s) -> UInt64s:
    """The keys of words."""
    return (numbers.astype(np.uint64) * np.uint64(_SPREAD)) & np.uint64(MOST_NUMBER)


def numbers_of(keys: UInt64s) -> Int64s:
    """The numbers of words with these keys."""
    return ((keys * np.uint64(_GATHER)) & np.uint64(MOST_NUMBER)).astype(np.int64)


def known_words(run: Callable[..., list[Any]], words: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of the words that the dictionary has; ``run`` executes a statement of PostgreSQL."""
    sought = "unnest(%b::bytea[]) AS sought(word)"
    same = f"substr(w.word, 1, {_WORD_HEAD}) = substr(sought.word, 1, {_WORD_HEAD}) AND w.word = sought.word"
    return dict(run(f"SELECT w.word, w.number FROM {sought} JOIN words w ON {same}", list(words)))


class PostgresTables:
    """The tables within the transaction of a connection; see ``Tables``.

    ``known`` are the numbers of words, kept from one transaction to the next.
    """

    def __init__(self, connection: Session, place: DatabaseURL, known: dict[bytes, int] | None = None) -> None:
        self._connection, self._place = connection, place
        self._words = SegmentWriting(self, place, prefix=WORDS)
        self._pending: list[UInt64s] = []
        self._known = {} if known is None else known

    def run(self, statement: str, *parameters: Any) -> list[Any]:
        """Run a statement, and return all rows."""
        return run(self._connection, statement, parameters)

    def change(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row of parameters, and return the number of rows that it changed."""
        with self._connection.cursor() as cursor:
            cursor.executemany(translated_statement(statement), list(rows))
            return max(0, cursor.rowcount)

    def insert(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows with all columns."""
        copy(self._connection, table, list(TABLES[table].values()), rows)

    def last_number(self, table: str) -> int:
        """The largest number that a row ever had."""
        rows = self.run("SELECT last FROM last_numbers WHERE name = ?", table)
        return int(rows[0][0]) if rows else 0

    def keep_last(self, table: str, number: int) -> None:
        """Remember the last number."""
        statement = "INSERT INTO last_numbers VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET last = excluded.last"
        self.run(statement, table, number)

    def add_words(self, numbers: Sequence[int], streams: Sequence[str]) -> None:
        """Add documents to the posting lists of words."""
        self._pending.append(self._postings(numbers, streams))
        if sum(map(len, self._pending)) > _MOST_PENDING:
            self.flush()

    def remove_words(self, numbers: Sequence[int], streams: Sequence[str]) -> int:
        """Remove documents from the posting lists of words."""
        self.flush()
        return self._words.remove(self._postings(numbers, streams))

    def add_facts(self, facts: Sequence[tuple[int, Any, int]]) -> None:
        """Insert facts."""
        if facts:
            self.insert("facts", ((key, *_columns(value), document) for key, value, document in facts))

    def remove_facts(self, facts: Sequence[tuple[int, Any, int]]) -> int:
        """Delete facts."""
        rows = [(key, *_columns(value), document) for key, value, document in facts]
        figures = [(key, figure, document) for key, figure, _, document in rows if figure is not None]
        strings = [(key, string, string, document) for key, _, string, document in rows if string is not None]
        same = f"left(string, {_HEAD}) = left(?, {_HEAD}) AND string = ?"
        return self.change(
            "DELETE FROM facts WHERE key = ? AND figure = ? AND document = ?", figures
        ) + self.change(f"DELETE FROM facts WHERE key = ? AND {same} AND document = ?", strings)

    def has_base_texts(self) -> bool:
        """The table exists from the beginning."""
        return True

    def make_base_texts(self) -> None:
        """The table exists from the beginning."""

    def flush(self) -> None:
        """Write the pending postings of words."""
        if self._pending:
            waiting, self._pending = np.concatenate(self._pending), []
            self._words.add(waiting)

    def settle(self, *, grown: bool) -> None:
        """Merge the posting lists of words as usual."""
        self.flush()
        self._words.settle()

    def merge_words(self, *, first: bool) -> bool:
        """Continue a large merge of the posting lists of words."""
        return self._words.proceed()

    def merge_all(self) -> None:
        """Merge the posting lists of words into one, and delete the words of removed documents."""
        self._words.merge_all()
        used = [np.unique(part >> np.uint64(32)) for part in Segments(self.run, self._place, prefix=WORDS).each()]
        self._connection.execute("CREATE TEMP TABLE used (number int8) ON COMMIT DROP")
        numbers = numbers_of(np.unique(np.concatenate([np.empty(0, np.uint64), *used])))
        copy(self._connection, "pg_temp.used", ["int8"], ([number] for number in numbers.tolist()))
        self._connection.execute("DELETE FROM words WHERE number NOT IN (SELECT number FROM pg_temp.used)")
        self.run("DELETE FROM keys WHERE number NOT IN (SELECT key FROM facts)")

    def _postings(self, numbers: Sequence[int], streams: Sequence[str]) -> UInt64s:
        """A posting for each token; a segment has each once."""
        tokens = pc.split_pattern(pa.array(streams, pa.large_string()), " ")
        lengths = pc.list_value_length(tokens).to_numpy()
        encoded = tokens.flatten().dictionary_encode()
        words = [word.encode()[:_LONGEST_WORD] for word in encoded.dictionary.to_pylist()]
        self._learn({*words} - {b""})
        places = encoded.indices.to_numpy()
        keys = keys_of(np.array([self._known.get(word, 0) for word in words], np.int64))[places]
        is_word = np.array([word != b"" for word in words], np.bool_)[places]
        postings: UInt64s = postings_of(keys, np.repeat(np.array(numbers, np.int64), lengths))[is_word]
        return postings

    def _learn(self, words: set[bytes]) -> None:
        """Look up the numbers of words, and assign those of new words."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        missing = [word for word in words if word not in self._known]
        if not missing:
            return
        self._known |= known_words(
            lambda statement, *given: fetch_rows(self._connection, statement, given), missing
        )
        new = [word for word in missing if word not in self._known]
        last = self.last_number("words")
        if last + len(new) > MOST_NUMBER:
            raise InputError(
                "This collection is full",
                f"{MOST_NUMBER:,} different words can be stored, those that were removed again included",
                "Add the documents to a new collection",
            )
        rows = list(zip(range(last + 1, last + 1 + len(new)), new, strict=True))
        if rows:
            self.insert("words", rows)
            self.keep_last("words", rows[-1][0])
            self._known |= {word: number for number, word in rows}


def _columns(value: Value) -> tuple[Decimal | None, str | None]:
    return (None, value) if isinstance(value, str) else (Decimal(value), None)


class WordLists:
    """The look-ups of words in the posting lists of one state.

    ``run`` executes a statement of PostgreSQL, ``segments`` are the posting lists.
    """

    def __init__(self, run: Callable[..., list[Any]], segments: Segments) -> None:
        self._run, self._segments = run, segments

    def documents_with_words(
        self, words: Sequence[str], beginning: str | None, among: Int64s | None, limit: int | None
    ) -> Int64s:
        """The documents with all these words, and with a word of this ``beginning``."""
        sets = [] if among is None else [among]
        if words:
            wanted = {word.encode()[:_LONGEST_WORD] for word in words}
            known = known_words(self._run, [*wanted])
            if len(known) < len(wanted):
                return np.empty(0, np.int64)
            documents, offsets = self._segments.lists(keys_of(np.array([*known.values()], np.int64)))
            sets += np.split(documents, offsets[1:-1])
        if beginning is not None:
            sets.append(self._with_beginning(beginning.encode()[:_LONGEST_WORD]))
        shortest_first = sorted(sets, key=len)
        return reduce(lambda a, b: a[np.isin(a, b)], shortest_first, np.unique(shortest_first[0]))[:limit]

    def _with_beginning(self, beginning: bytes) -> Int64s:
        head = beginning[:_WORD_HEAD]
        statement = (
            f"SELECT number FROM words WHERE substr(word, 1, {_WORD_HEAD}) >= %b "
            f"AND substr(word, 1, {_WORD_HEAD}) < %b AND substr(word, 1, %s) = %b"
        )
        rows = self._run(statement, head, _after(head), len(beginning), beginning)
        documents, _ = self._segments.lists(keys_of(np.array([number for (number,) in rows], np.int64)))
        return np.unique(documents)

    def occurrences(self, tokens: Sequence[str]) -> Int64s:
        """For each token the number of documents that contain it."""
        cut = [token.encode()[:_LONGEST_WORD] for token in tokens]
        known = known_words(self._run, [*{*cut}])
        found = [*known.values()]
        counts = dict(zip(found, self._segments.counts(keys_of(np.array(found, np.int64))).tolist(), strict=True))
        return np.array([counts[known[word]] if word in known else 0 for word in cut], np.int64)

    def each(self) -> Iterator[tuple[bytes, int, int]]:
        """Each word once: its bytes, the number of its documents, the sum of their numbers."""
        after = -1
        while rows := self._run(
            "SELECT number, word FROM words WHERE number > %s ORDER BY number LIMIT 5000", after
        ):
            documents, offsets = self._segments.lists(keys_of(np.array([number for number, _ in rows], np.int64)))
            for (_, word), mine in zip(rows, np.split(documents, offsets[1:-1]), strict=True):
                if len(mine):
                    yield word, len(mine), int(mine.sum())
            after = rows[-1][0]


def _after(head: bytes) -> bytes:
    """The first bytes after all that begin so; UTF-8 has no byte 0xFF."""
    return head[:-1] + bytes([head[-1] + 1])


_KEY = "key = (SELECT number FROM keys WHERE name = %(key)s)"
_FIGURES = f"SELECT document FROM facts WHERE {_KEY} AND figure IS NOT NULL"
_STRINGS = f"SELECT document FROM facts WHERE {_KEY} AND string IS NOT NULL"
HAS_KEY = f"SELECT ({_FIGURES} LIMIT 1) IS NOT NULL OR ({_STRINGS} LIMIT 1) IS NOT NULL"
_ON_HEADS = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}


def comparison(operator: Operator, value: Value) -> tuple[str, Any]:
    """The statement that finds the documents with a value that fits, and the value as its parameter."""
    if operator == "!=":
        same, parameter = comparison("=", value)
        return f"({_FIGURES} UNION {_STRINGS}) EXCEPT ({same})", parameter
    if isinstance(value, str):
        heads = f"left(string, {_HEAD}) {_ON_HEADS[operator]} left(%(value)s, {_HEAD})"
        return f"{_STRINGS} AND {heads} AND string {operator} %(value)s", value
    return f"{_FIGURES} AND figure {operator} %(value)s", Decimal(value)


FACTS = (
    "SELECT (SELECT name FROM keys WHERE number = key), figure, string, document FROM facts "
    "ORDER BY key, figure, string, document"
)


def value_of(figure: Decimal | None, string: str | None) -> Value:
    """A value of metadata as it was given."""
    if figure is None:
        return string or ""
    return int(figure) if figure == figure.to_integral_value() else float(figure)
