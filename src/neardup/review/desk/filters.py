"""A filter in the query grammar of collections → the groups that it finds."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

import numpy as np
import pyarrow.compute as pc

from neardup.collection.queries import (
    And,
    FieldClause,
    Fingerprint,
    Node,
    Not,
    Or,
    WordsClause,
    canonical,
    parse,
    quoted_text,
)
from neardup.comparison.kinds import KINDS
from neardup.display import printable
from neardup.errors import InputError, QueryError
from neardup.io.decisions import Id
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.metadata import Metadata
from neardup.review.desk.texts import Whereabouts
from neardup.review.desk.verdicts import VERDICTS, VerdictIndex
from neardup.tables import Bools, Floats, Int64s

NUMBERS = {
    "size": "the documents of the group",
    "copies": "its exact copies",
    "similarity": "the lowest similarity to the representative",
    "stake": "bytes of text that no kept document holds",
    "lost": "shingles that no kept document holds",
}
NOBODY = "none"
"""The batch of groups that are handed to nobody."""
SOURCE = "source"
"""The field of results that have the sources of documents."""

_NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?", re.ASCII)
_COMPARED: dict[str, Callable[[Floats, float], Bools]] = {
    ":": np.equal,
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
V = TypeVar("V", bound=str)

Holds = Callable[[FieldClause, str], Bools]
"""Returns the groups for which a comparison holds."""
Words = Callable[[WordsClause, str], Bools]
"""Returns the groups with a member that contains the words."""
Alike = Callable[[Fingerprint, str], Bools]
"""Returns the groups with a member that a fingerprint clause finds."""


class GroupFields:
    """The fields of the groups of a result, and of its documents: ``metadata``.

    ``words`` and ``alike`` answer clauses without a field, ``other`` all other fields in a collection.
    """

    def __init__(
        self,
        index: ResultIndex,
        verdicts: VerdictIndex,
        whereabouts: Whereabouts,
        metadata: Metadata,
        bring_kinds: Callable[[], None],
        words: Words,
        alike: Alike,
        other: Holds | None = None,
    ) -> None:
        self.index, self.words, self.alike = index, words, alike
        self._made, self._bring_kinds = verdicts, bring_kinds
        self._other, self._metadata = other, metadata
        self._numbers = [name for name in NUMBERS if other is None or name not in ("stake", "lost")]
        self._of_pairs = {"verdict": self._with_verdict, "kind": self._of_kind}
        lookups: dict[str, Holds] = {
            "decided": self._decided_groups,
            "verdict": lambda clause, query: index.any_of(self._with_verdict(clause, query)),
            "kind": lambda clause, query: index.any_of(self._of_kind(clause, query)),
            "tag": self._tag,
            "fate": self._fate,
            "batch": self._batch,
            "id": lambda clause, _: index.of_documents(index.documents.where_id_is(clause.value)),
        }
        if other is not None:
            del lookups["fate"]
        elif index.found.places is not None:
            lookups["file"] = lambda clause, _: index.of_documents(whereabouts.in_file(clause.value))
            lookups["path"] = lambda clause, _: index.of_documents(metadata.in_path(clause.value))
        if SOURCE in index.documents.table.column_names:
            lookups[SOURCE] = self._source
        self._lookups = lookups

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that a filter may use."""
        others = () if self._other is not None else self._metadata.names
        return (*self.of_groups, *(name for name in others if name not in self.of_groups))

    @property
    def of_groups(self) -> tuple[str, ...]:
        """The fields of the groups themselves, before which a column of the same name cannot be asked for."""
        return (*self._numbers, *self._lookups)

    def holds(self, clause: FieldClause, query: str) -> Bools:
        """Return the groups for which a comparison holds. Raises QueryError for an unknown field or value."""
        if clause.field in self._numbers:
            return self._comparison(clause, query)
        if clause.field not in self._lookups and self._other is not None:
            return self._other(clause, query)
        if clause.field not in self._lookups and clause.field in self._metadata.names:
            having = self.index.of_documents(self._metadata.where(clause))
            return ~having if clause.operator == "!=" else having
        if clause.field not in self._lookups:
            raise refused_error(
                clause, query, f"There is no field {printable(clause.field)}", ", ".join(self.names)
            )
        if clause.operator not in (":", "=", "!="):
            given = f"The values of {clause.field} are names, and {clause.operator} compares numbers"
            raise refused_error(clause, query, given, f"{clause.field}:… or {clause.field}!=…")
        matching = self._lookups[clause.field](clause, query)
        return ~matching if clause.operator == "!=" else matching

    def holds_for_pairs(self, clause: FieldClause, query: str) -> Bools:
        """Return the members for whose pair with the representative a comparison holds; raises as ``holds``.

        A verdict and a kind are those of the pair, everything else that of its group.
        """
        if clause.field not in self._of_pairs or clause.operator not in (":", "=", "!="):
            groups: Bools = self.holds(clause, query)[self.index.group]
            return groups
        matching = self._of_pairs[clause.field](clause, query)
        return ~matching if clause.operator == "!=" else matching

    def _comparison(self, clause: FieldClause, query: str) -> Bools:
        index = self.index
        columns = {"size": index.size, "copies": index.copies, "stake": index.stake, "lost": index.lost}
        values = columns[clause.field].astype(float) if clause.field in columns else index.lowest
        return compare_values(clause, query, values, NUMBERS[clause.field])

    def _decided_groups(self, clause: FieldClause, query: str) -> Bools:
        count, pairs = self._made.count, self._made.pairs
        decided = {
            "yes": (count == pairs) & (pairs > 0),
            "no": (count == 0) & (pairs > 0),
            "partly": (count > 0) & (count < pairs),
            "nothing": pairs == 0,
        }
        flags: Bools = decided[among(clause, query, tuple(decided))]
        return flags

    def _with_verdict(self, clause: FieldClause, query: str) -> Bools:
        return self._made.members_with(among(clause, query, VERDICTS))

    def _of_kind(self, clause: FieldClause, query: str) -> Bools:
        numbers = kinds_named(clause.value)
        if not numbers:
            raise _unknown_error(clause, query, KINDS)
        try:
            self._bring_kinds()
        except InputError as error:
            raise refused_error(clause, query, error.given, error.allowed) from error
        members: Bools = np.isin(self._made.kinds, numbers) & self._made.near
        return members

    def _tag(self, clause: FieldClause, query: str) -> Bools:
        tags = self._made.state.tags.items()
        return self._groups_of_ids([id for id, those in tags if clause.value in those])

    def _fate(self, clause: FieldClause, query: str) -> Bools:
        wanted = among(clause, query, ("keep", "remove"))
        fates = self._made.state.fates.items()
        return self._groups_of_ids([id for id, decided in fates if decided.fate == wanted])

    def _batch(self, clause: FieldClause, query: str) -> Bools:
        names = {name.casefold(): number for number, name in enumerate(self._made.people)}
        wanted = clause.value.casefold()
        if wanted not in names and wanted != NOBODY:
            raise _unknown_error(clause, query, (NOBODY, *self._made.people))
        flags: Bools = self._made.batch == names.get(wanted, -1)
        return flags

    def _source(self, clause: FieldClause, query: str) -> Bools:
        same = pc.fill_null(pc.equal(self.index.documents.table[SOURCE], clause.value), False)
        return self.index.of_documents(np.flatnonzero(same.to_numpy()))

    def _groups_of_ids(self, ids: list[Id]) -> Bools:
        """Return the groups of some documents, by id."""
        numbers = [number for id in ids if (number := self.index.documents.number(id)) is not None]
        return self.index.of_documents(np.array(numbers, np.int64))


def kinds_named(text: str) -> list[int]:
    """Return the numbers of the kinds with a name that contains ``text``, as whole words.

    >>> [KINDS[number] for number in kinds_named("numbers")]
    ['numbers only']
    """
    wanted = f" {_plain(text)} "
    return [number for number, name in enumerate(KINDS) if wanted in f" {_plain(name)} "] if wanted.strip() else []


def refused_error(
    clause: FieldClause | WordsClause | Fingerprint, query: str, given: str, allowed: str
) -> QueryError:
    """Return the error for a clause, with its position."""
    return QueryError(given, allowed, query=query, position=clause.span[0])


def compare_values(clause: FieldClause, query: str, values: Floats, meaning: str) -> Bools:
    """Return for which values (NaN: for none) a comparison holds. Raises QueryError unless with a number."""
    if not _NUMBER.fullmatch(clause.value):
        given = f"{printable(clause.value)} is not a number"
        raise refused_error(clause, query, given, f"{clause.field} is a number: {meaning}")
    fits: Bools = _COMPARED[clause.operator](values, float(Decimal(clause.value))) & ~np.isnan(values)
    return fits


def among(clause: FieldClause, query: str, values: tuple[V, ...]) -> V:
    """Return the one of some values that a clause names. Raises QueryError, with all of them, for another one."""
    wanted = _plain(clause.value)
    for value in values:
        if wanted == value:
            return value
    raise _unknown_error(clause, query, values)


def _unknown_error(clause: FieldClause, query: str, values: tuple[str, ...]) -> QueryError:
    names = ", ".join(quoted_text(value) if " " in value else value for value in values)
    return refused_error(clause, query, f"{clause.field} is never {printable(clause.value)}", names)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold().replace("_", " ")))


def find_pairs(text: str, fields: GroupFields) -> Bools | None:
    """Return the members whose pair with the representative a filter finds; None for a blank filter.

    A verdict and a kind are those of the pair, everything else that of its group. Raises as ``find_groups``.
    """
    members = fields.index.group
    return _flags_of(text, fields, fields.holds_for_pairs, members)[0] if text.strip() else None


def find_groups(text: str, fields: GroupFields) -> tuple[Bools, str]:
    """Return which groups a filter finds, and its canonical form; all for a blank one.

    Raises QueryError, with the position, for a filter that cannot be read or names something unknown.
    """
    if not text.strip():
        return np.ones(len(fields.index), np.bool_), ""
    return _flags_of(text, fields, fields.holds, np.arange(len(fields.index)))


def _flags_of(text: str, fields: GroupFields, holds: Holds, group: Int64s) -> tuple[Bools, str]:
    """Return for which things, each of a ``group``, a filter holds, and its canonical form."""
    query = parse(text)
    if query.explain:
        raise QueryError("EXPLAIN shows no groups", "A filter", "Leave it out", query=text)

    def matches_of(node: Node) -> Bools:
        if isinstance(node, And):
            every: Bools = np.logical_and.reduce([matches_of(part) for part in node.parts])
            return every
        if isinstance(node, Or):
            some: Bools = np.logical_or.reduce([matches_of(part) for part in node.parts])
            return some
        if isinstance(node, Not):
            return ~matches_of(node.part)
        if isinstance(node, FieldClause):
            return holds(node, text)
        groups = fields.alike(node, text) if isinstance(node, Fingerprint) else fields.words(node, text)
        matching: Bools = groups[group]
        return matching

    return matches_of(query.root), canonical(query)


def document_filter_error(clause: Fingerprint, query: str) -> QueryError:
    """Return the error for a fingerprint clause in a filter on a result."""
    name = "SIMILAR" if clause.symmetric else "FINGERPRINT"
    return QueryError(
        f"{name} compares documents, and a result has only the pairs that the run found",
        "Fields, words and phrases",
        "Make a collection of the documents to search by similarity",
        query=query,
        position=clause.span[0],
    )
