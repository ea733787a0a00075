"""The store in a schema of a PostgreSQL database: its connections, its transactions, and the schema as a whole."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from neardup.collection.contract import Operator, StoreUnavailableError, Value, too_long_error
from neardup.collection.settings import CollectionSettings, GivenSettings
from neardup.collection.store import postgres_session as session
from neardup.collection.store import postgres_tables
from neardup.collection.store.failures import damaged_error, not_a_collection_error
from neardup.collection.store.header import header_of, require_current, sealed_header, settings_of
from neardup.collection.store.lookups import BASE_TEXTS, SEALED_TOTALS
from neardup.collection.store.segments import Segments, SegmentWriting, segments_statement
from neardup.collection.store.store import Store
from neardup.errors import FormatError, InputError
from neardup.io.decisions import seal
from neardup.io.place import DatabaseURL
from neardup.runtime import UNLIMITED, Deadline
from neardup.tables import Int64s

Step = Callable[[postgres_tables.PostgresTables], None]
STEPS: Mapping[int, Step] = {}
"""``STEPS[n]`` converts the tables of version n to those of version n + 1."""

_VERSION, _STATE, _WORDS = "format", "state", "words"
"""Keys of the header: the version of the tables, and names of the last transaction and the last ``compact``."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('neardup'), hashtext(current_schema()))"
_CHANGING = (_STATE, _WORDS)
_NEW_NAME = "UPDATE header SET value = gen_random_uuid()::text WHERE key = "
_NEW_STATE, _NEW_WORDS = f"{_NEW_NAME}'{_STATE}'", f"{_NEW_NAME}'{_WORDS}'"
_OURS = "FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
_SIZE = f"SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 {_OURS}"

_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_NAMED_STATE = f"SELECT value FROM header WHERE key = '{_STATE}'"
_HELD = (
    _NAMED_STATE,
    SEALED_TOTALS,
    BASE_TEXTS,
    segments_statement("segments"),
    segments_statement(f"{postgres_tables.WORDS}segments"),
)
"""The statements that most look-ups begin with: they are run with the beginning of ``reading``."""

T = TypeVar("T")


class PostgresStore(Store):
    """The store in a schema of a database, with a pool of connections for readers and one that writes.

    Any number of processes and machines may use it. The writer has an advisory lock of the server, so that it is
    the only one; see ``Store``.
    """

    def __init__(
        self,
        place: DatabaseURL,
        given: GivenSettings,
        *,
        readonly: bool = False,
        upgrade: bool = False,
        wait: float = 10.0,
    ) -> None:
        super().__init__(place, readonly=readonly, wait=wait)
        self._url = place
        self._writer: session.Session | None = None
        self._words: Any = None
        self._known_words: dict[bytes, int] = {}
        with session.translated_errors(place, wait), session.connect(place) as connection:
            if upgrade and not readonly:
                self._upgrade(connection)
            self.settings = self._open_settings(connection, given)
        self.settings.require(given, str(place))
        self._pool = session.pool(place, wait)

    def _open_settings(self, connection: session.Session, given: GivenSettings) -> CollectionSettings:
        """The settings of the collection, which is created if the schema has no tables."""
        if not _objects(connection, self._url.schema):
            if self.readonly:
                raise InputError(
                    f"There is no collection {self._url}",
                    "A schema of neardup collection add or neardup.Collection",
                )
            self._create(connection, CollectionSettings.new(given))
        with connection.transaction():
            header = _header(connection, self._url)
            require_current(_version(header, self._url), str(self._url), STEPS, postgres_tables.FORMAT_VERSION)
            foreign = postgres_tables.foreign_objects(connection, self._url.schema)
        if foreign:
            names = ", ".join(map(repr, foreign[:3]))
            raise damaged_error(self._url, f"its tables are not those of a collection ({names})")
        return settings_of({key: value for key, value in header.items() if key not in _CHANGING}, self._url)

    def _create(self, connection: session.Session, settings: CollectionSettings) -> None:
        """Create the tables in one transaction; of several processes that do it at once, one does."""
        with connection.transaction():
            schema = sql.Identifier(self._url.schema)
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('neardup'), 0)")
            if not _exists(connection, self._url.schema):
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
            if _objects(connection, self._url.schema):
                return
            for statement in postgres_tables.statements():
                session.execute(connection, statement)
            tables = postgres_tables.PostgresTables(connection, self._url)
            header = header_of(settings, **{_VERSION: str(postgres_tables.FORMAT_VERSION)}) | dict.fromkeys(
                _CHANGING, ""
            )
            tables.insert("header", header.items())
            connection.execute(_NEW_STATE)
            nothing = [0] * 7
            tables.insert("totals", [(*nothing, seal(nothing))])

    def _upgrade(self, connection: session.Session) -> None:
        """Convert the tables to the present version, all in one transaction, or leave them unchanged."""
        if not _objects(connection, self._url.schema):
            return
        with connection.transaction():
            connection.execute(_LOCK)
            header = _header(connection, self._url)
            stored = _version(header, self._url)
            if stored >= postgres_tables.FORMAT_VERSION:  # a later version is not read, and never relabelled
                return
            for version in range(stored, postgres_tables.FORMAT_VERSION):
                if version not in STEPS:
                    require_current(version, str(self._url), STEPS, postgres_tables.FORMAT_VERSION)
                STEPS[version](postgres_tables.PostgresTables(connection, self._url))
            changing = {key: header.pop(key, "") for key in _CHANGING}
            connection.execute("DELETE FROM header")
            now = sealed_header(header | {_VERSION: str(postgres_tables.FORMAT_VERSION)}) | changing
            postgres_tables.PostgresTables(connection, self._url).insert("header", now.items())

    @contextmanager
    def _transaction(self) -> Iterator[postgres_tables.PostgresTables]:
        with self._alone(), session.translated_errors(self._url, self._wait):
            connection = self._begin_writing()
            try:
                self._local.writer = connection
                yield postgres_tables.PostgresTables(connection, self._url, self._known_words)
                session.execute(connection, _NEW_STATE)
                self._commit(connection)
            except BaseException:
                self._known_words.clear()  # some may be undone
                raise
            finally:
                self._local.writer = None
                _roll_back(connection)

    def _begin_writing(self) -> session.Session:
        """The connection that writes, within a transaction that has the lock of the only writer."""
        self._require_open()
        milliseconds = max(1, round(1000 * self._wait))
        begin = f"BEGIN; SET LOCAL lock_timeout = {milliseconds}; {_LOCK}; SET LOCAL lock_timeout = 0; "
        begin += f"SELECT value FROM header WHERE key = '{_WORDS}'"
        known = self._writer
        try:
            self._writer = session.connect(self._url) if known is None or known.closed else known
            last_words = session.execute(self._writer, begin)
        except psycopg.Error as error:
            _roll_back(self._writer)
            if self._writer is not known or not session.is_lost(error, self._writer):
                raise
            self._writer = session.connect(self._url)  # the server has ended the old one
            last_words = session.execute(self._writer, begin)
        if last_words != self._words:
            self._known_words.clear()
            self._words = last_words
        return self._writer

    def _commit(self, connection: session.Session) -> None:
        try:
            session.execute(connection, "COMMIT")
        except psycopg.Error as error:
            if not connection.closed:
                raise
            raise StoreUnavailableError(
                f"The connection to {self._url} broke while the transaction was committed",
                "",
                "Look whether the last documents are there before you add them again",
            ) from error

    @contextmanager
    def _part(self) -> Iterator[postgres_tables.PostgresTables]:
        connection: session.Session = self._local.writer
        with session.translated_errors(self._url, self._wait):
            try:
                with _savepoint(connection):
                    yield postgres_tables.PostgresTables(connection, self._url, self._known_words)
            except BaseException:
                self._known_words.clear()
                raise

    @contextmanager
    def reading(self, deadline: Deadline = UNLIMITED) -> Iterator[None]:
        """See ``Store``; the server cancels a statement at the deadline."""
        outer = getattr(self._local, "deadline", UNLIMITED)
        writer: session.Session | None = getattr(self._local, "writer", None)
        mine: session.Session | None = writer or getattr(self._local, "reader", None)
        if writer is not None:
            self._flush()
        try:
            with session.translated_errors(self._url, self._wait):
                if mine is None:
                    with self._snapshot(deadline):
                        yield
                elif not deadline.limited:
                    yield
                else:
                    with _savepoint(mine):
                        self._local.deadline = deadline
                        session.execute(mine, f"SET LOCAL statement_timeout = {_milliseconds(deadline)}")
                        yield
                        session.execute(mine, f"SET LOCAL statement_timeout = {_milliseconds(outer)}")
        finally:
            self._local.deadline = outer

    @contextmanager
    def _snapshot(self, deadline: Deadline) -> Iterator[None]:
        """A connection that shows one state."""
        begin = f"{_SNAPSHOT}; SET LOCAL statement_timeout = {_milliseconds(deadline)}; {'; '.join(_HELD)}"
        connection, answers = self._run_pooled(lambda connection: session.execute(connection, begin))
        try:
            self._local.held = dict(zip(_HELD, answers, strict=True))
            self._local.reader, self._local.deadline = connection, deadline
            yield
        finally:
            self._local.reader, self._local.held = None, {}
            _roll_back(connection)
            self._pool.putconn(connection)

    def _run_pooled(self, work: Callable[[session.Session], T]) -> tuple[session.Session, T]:
        """A connection and what ``work`` returns of it; again, with another, if this one was lost."""
        self._require_open()
        while True:
            connection = self._pool.getconn()
            try:
                return connection, work(connection)
            except BaseException as error:
                lost = isinstance(error, psycopg.Error) and session.is_lost(error, connection)
                _roll_back(connection)
                self._pool.putconn(connection)
                if not lost:
                    raise
                fresh = session.connect(self._url)  # or an error that says why there is none
                fresh.close()
                self._pool.check()

    def faults(self) -> list[str]:
        """The faults of the posting lists; those of its files are found by the server (``pg_amcheck``)."""
        found = []
        for segments, name in ((self._segments(), ""), (self._word_segments(), "words: ")):
            try:
                found += [name + fault for fault in segments.faults()]
            except FormatError as error:
                found.append(name + error.given)
        return found

    def backup(self, path: Path) -> None:
        """Refuse: the server makes copies."""
        raise InputError(
            f"{self._url} is in PostgreSQL, whose own tools copy it",
            "A collection in a file",
            f"Use pg_dump --schema {self._url.schema}, or the backup of the whole server",
        )

    def compact(self) -> None:
        """Rewrite all tables; readers wait while it does so."""
        with self._transaction() as tables:
            SegmentWriting(tables, self._url).merge_all()
            tables.merge_all()
            tables.run(_NEW_WORDS)
            self._known_words.clear()
        with (
            self._alone(),
            session.translated_errors(self._url, self._wait),
            session.connect(self._url) as connection,
        ):
            session.execute(connection, f"SET lock_timeout = {max(1, round(1000 * self._wait))}")
            session.execute(connection, f"VACUUM (FULL, ANALYZE) {', '.join(postgres_tables.TABLES)}")

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._pool.close()
        if self._writer is not None and not self._is_writing():
            with suppress(psycopg.Error):
                self._writer.close()

    def state(self) -> str:
        """The name that the last transaction drew at random; see ``Store``."""
        rows = [] if self._is_writing() else getattr(self._local, "held", {}).get(_NAMED_STATE, [])
        return str(rows[0][0]) if rows else ""

    def _sees_one_state(self) -> bool:
        return bool(getattr(self._local, "held", {}))

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the ``ids`` that exist."""
        return dict(self._own("SELECT id, number FROM documents WHERE id = ANY(%s::text[])", list(ids)))

    def has_key(self, key: str) -> bool:
        """Whether the metadata of any document has this key, with a value."""
        [(known,)] = self._own(postgres_tables.HAS_KEY, key=key)
        return bool(known)

    def words(self) -> Iterator[tuple[bytes, int, int]]:
        """See ``StoreLookups``."""
        return self._word_lists().each()

    def facts(self) -> Iterator[tuple[str, Value, int]]:
        """See ``StoreLookups``."""
        for name, figure, string, document in self._own(postgres_tables.FACTS):
            yield name, postgres_tables.value_of(figure, string), document

    def _bytes(self) -> int:
        [(size,)] = self._own(_SIZE)
        return int(size)

    def _has_base_texts(self) -> bool:
        return True

    def _documents_with_words(
        self, words: Sequence[str], beginning: str | None, among: Int64s | None, limit: int | None
    ) -> Int64s:
        return self._word_lists().documents_with_words(words, beginning, among, limit)

    def _occurrences(self, tokens: Sequence[str], most: int) -> Int64s:
        return self._word_lists().occurrences(tokens)

    def _documents_where(self, key: str, operator: Operator, value: Value) -> Int64s:
        statement, parameter = postgres_tables.comparison(operator, value)
        each_once = f"SELECT DISTINCT document FROM ({statement}) AS matching ORDER BY document"
        return self._integers([number for (number,) in self._own(each_once, key=key, value=parameter)])

    def _word_lists(self) -> postgres_tables.WordLists:
        return postgres_tables.WordLists(self._own, self._word_segments())

    def _word_segments(self) -> Segments:
        self._flush()
        return Segments(self._all, self._url, prefix=postgres_tables.WORDS)

    def _all(self, statement: str, *parameters: Any) -> list[Any]:
        if statement in _HELD and not self._is_writing() and statement in getattr(self._local, "held", {}):
            rows: list[Any] = self._local.held[statement]
            return rows
        return self._run(lambda connection: session.run(connection, statement, parameters))

    def _own(self, statement: str, *parameters: Any, **named: Any) -> list[Any]:
        """Run a statement of PostgreSQL, and return all rows."""
        return self._run(lambda connection: session.fetch_rows(connection, statement, named or parameters))

    def _run(self, work: Callable[[session.Session], list[Any]]) -> list[Any]:
        if getattr(self._local, "deadline", UNLIMITED).passed:
            raise too_long_error()
        connection = getattr(self._local, "writer", None) or getattr(self._local, "reader", None)
        with session.translated_errors(self._url, self._wait):
            if connection is not None:
                return work(connection)
            connection, rows = self._run_pooled(work)
            self._pool.putconn(connection)
            return rows


def is_there(place: DatabaseURL) -> bool:
    """Whether the schema has tables."""
    with session.translated_errors(place, 0), session.connect(place) as connection:
        return _objects(connection, place.schema)


def _exists(connection: session.Session, schema: str) -> bool:
    return bool(session.fetch_rows(connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)))


def _objects(connection: session.Session, schema: str) -> bool:
    """Whether the schema has any table."""
    statement = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = %s LIMIT 1"
    return bool(session.fetch_rows(connection, statement, (schema,)))


def _header(connection: session.Session, place: DatabaseURL) -> dict[str, str]:
    try:
        with connection.transaction():
            # by its full name: without the right to use the schema, the server would not find the table at all
            table = sql.Identifier(place.schema, "header").as_string(connection)
            header = dict(session.fetch_rows(connection, f"SELECT key, value FROM {table}"))
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, ValueError):
        header = {}
    if _VERSION not in header:
        raise not_a_collection_error(place, f"the schema {place.schema!r} has tables of another program")
    return header


def _version(header: Mapping[str, str], place: DatabaseURL) -> int:
    if not header[_VERSION].isdecimal():
        raise damaged_error(place, "its header was changed")
    return int(header[_VERSION])


def _milliseconds(deadline: Deadline) -> int:
    """The rest of the time as the server counts it; 0 is no limit."""
    return max(1, math.ceil(1000 * deadline.left)) if deadline.limited else 0


def _roll_back(connection: session.Session | None) -> None:
    """End a transaction that was not committed; a connection that cannot is closed."""
    if (
        connection is not None
        and not connection.closed
        and connection.info.transaction_status is not TransactionStatus.IDLE
    ):
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()


@contextmanager
def _savepoint(connection: session.Session) -> Iterator[None]:
    """A part of a transaction that is undone by itself when the block raises."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if not connection.closed:
            session.execute(connection, "ROLLBACK TO part; RELEASE part")
        raise
    connection.execute("RELEASE part")
