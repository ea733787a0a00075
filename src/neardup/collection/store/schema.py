"""The tables of a collection in SQLite, and the marks that identify a file as a collection."""

import sqlite3
from contextlib import closing

from neardup.io.decisions import TABLES as DECISION_LOG
from neardup.io.decisions import seal

APPLICATION_ID = 0x4E44_5550
"""The bytes "NDUP" at offset 68 of the file: this SQLite database is a neardup collection."""

FORMAT_VERSION = 4
"""The version of the tables, stored in ``user_version``. A change of the tables needs a step in file.py.

2: the hashes are keyed by a secret in the header. 4: decisions are in a log. No earlier version was released, and
none has a step to this one.
"""

WITH_BASE_TEXTS = 5
"""The version of a collection with base texts, which has the table ``BASE_TEXTS``, too.

The first base text makes the table. A program that does not know base texts would count them: it refuses the file.
"""

BASE_TEXTS = (
    # mark: random, so that every change of a base text is seen
    "CREATE TABLE base_texts (document INTEGER PRIMARY KEY, mark INTEGER NOT NULL, seal INTEGER NOT NULL)"
)

# The tokenizer ``ascii`` treats every byte above 0x7F as part of a word and changes only ASCII capitals, which
# tokens do not contain; with the low line added, it splits exactly at the spaces between tokens. Contentless: the
# index is made from the texts, which are stored compressed. columnsize=0: no ranking by length. detail=none: the
# index stores which documents contain a term, not where, in a quarter of the bytes; the texts show whether words
# are consecutive.
TERMS = (
    "CREATE VIRTUAL TABLE terms USING fts5(tokens, content='', columnsize=0, detail=none, "
    "tokenize=\"ascii tokenchars '_'\")"
)

TABLES = (
    "CREATE TABLE header (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # one row, so that counting costs nothing; change grows with every transaction
    "CREATE TABLE totals (documents INTEGER NOT NULL, tokens INTEGER NOT NULL, shingles INTEGER NOT NULL, "
    "postings INTEGER NOT NULL, text_bytes INTEGER NOT NULL, packed_bytes INTEGER NOT NULL, "
    "change INTEGER NOT NULL, seal INTEGER NOT NULL)",
    # AUTOINCREMENT: a number is never reused; seal: see below
    "CREATE TABLE documents (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
    "size INTEGER NOT NULL, tokens INTEGER NOT NULL, shingles INTEGER NOT NULL, metadata TEXT NOT NULL, "
    "signature BLOB NOT NULL, seal INTEGER NOT NULL)",
    # apart from the rows, so that reading rows does not read texts
    "CREATE TABLE texts (number INTEGER PRIMARY KEY, packed BLOB NOT NULL)",
    "CREATE TABLE keys (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # value has no type: SQLite keeps strings and numbers apart, and converts neither
    "CREATE TABLE facts (key INTEGER NOT NULL, value NOT NULL, document INTEGER NOT NULL, "
    "PRIMARY KEY (key, value, document)) WITHOUT ROWID",
    # groups that stay the same while documents come and go, the decisions of reviewers, and the reasons for all
    # changes; ``changes`` does not refer to rows, because it outlives the documents and groups in it
    "CREATE TABLE groups (number INTEGER PRIMARY KEY AUTOINCREMENT, representative INTEGER NOT NULL, "
    "threshold REAL NOT NULL, seal INTEGER NOT NULL)",
    "CREATE TABLE members (document INTEGER PRIMARY KEY, group_number INTEGER NOT NULL, shared INTEGER NOT NULL, "
    "seal INTEGER NOT NULL)",
    "CREATE INDEX members_of_group ON members (group_number, document)",
    *DECISION_LOG.values(),
    "CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, what TEXT NOT NULL, "
    "group_number INTEGER NOT NULL, document INTEGER NOT NULL, about TEXT NOT NULL, seal INTEGER NOT NULL)",
    TERMS,
    # the sampled shingles: see segments.py; a third of the bytes of a B-tree of (hash, document)
    "CREATE TABLE segments (number INTEGER PRIMARY KEY, bits INTEGER NOT NULL, postings INTEGER NOT NULL, "
    "first INTEGER NOT NULL, last INTEGER NOT NULL, seal INTEGER NOT NULL)",
    "CREATE TABLE postings (block INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)

# Larger than the default of 1 MB: fewer, larger segments, 1.6 times the documents per second when loading
# (measured)
_PENDING_WORDS = 16 << 20


def create(connection: sqlite3.Connection) -> None:
    """Create the tables of the current format version in an empty database."""
    for statement in TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO terms (terms, rank) VALUES ('hashsize', ?)", (_PENDING_WORDS,))
    nothing = [0] * 7
    connection.execute("INSERT INTO totals VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*nothing, seal(nothing)))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def make_base_texts(connection: sqlite3.Connection) -> None:
    """Create the table of base texts, within a transaction."""
    connection.execute(BASE_TEXTS)
    connection.execute(f"PRAGMA user_version = {WITH_BASE_TEXTS}")


def has_base_texts(connection: sqlite3.Connection) -> bool:
    """Whether the table of base texts exists."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] >= WITH_BASE_TEXTS)


def foreign_objects(connection: sqlite3.Connection) -> list[str]:
    """The names of tables, indexes, triggers and views that differ from those that ``create`` makes.

    A trigger or a view in a file of unknown origin would run on a write, and a missing table would be noticed
    halfway. The tables behind the full-text index belong to SQLite and are compared by name.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        create(fresh)
        if has_base_texts(connection):
            make_base_texts(fresh)
        wanted = _objects(fresh)
    found = _objects(connection)
    return sorted(name for _, name, _ in wanted ^ found)


def _objects(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    return {(kind, name, "" if name.startswith("terms_") else sql or "") for kind, name, sql in rows}
