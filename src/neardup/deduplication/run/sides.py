"""Names of documents in a result with a reference set, where one id may be that of two documents.

An id means the document of the input, and that of the reference set if the input has none. ``old:ID`` is the one
in the reference set, ``new:ID`` the one in the input, also where both have that id.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.deduplication.run.records import Id, ResultRecord
from neardup.tables import OLD_LEADS, Int64s

OLD, NEW = "old:", "new:"
_MARKED = f"^({OLD}|{NEW})"

Result = TypeVar("Result", bound=ResultRecord)


def readings(name: Id) -> Iterator[tuple[bool, Id]]:
    """Yield the meanings of a name, the likeliest first: whether the document is in the reference set, and its id.

    >>> list(readings("old:7")), list(readings(7))
    ([(True, '7'), (False, 'old:7'), (True, 'old:7')], [(False, 7), (True, 7)])
    """
    if isinstance(name, str) and name.startswith((OLD, NEW)):
        yield name.startswith(OLD), name[len(OLD) :]
    yield False, name
    yield True, name


def has_reference(result: ResultRecord) -> bool:
    """Whether the run had a reference set."""
    return bool(result.run.counts_against)


def with_side_names(result: Result) -> Result:
    """Return the result with a name of its own for each document of its tables, in place of the id.

    The name is the id, and ``old:ID`` for a document of the reference set whose id the input has, too. Ids that
    begin with a mark of a side get their own before it. Names are strings; where all ids are names already, the
    result itself is returned.
    """
    ranks = result.ranks
    lacks_reference = "reference" not in ranks.column_names or not pc.any(ranks["reference"]).as_py()
    if result.has_names or lacks_reference:
        return result
    ids, old = pc.cast(ranks["id"], pa.large_string()), ranks["reference"]
    new = pa.chunked_array([*ids.filter(pc.invert(old)).chunks, *_texts(result.not_judged["id"]).chunks])
    shared = ids.filter(pc.and_(old, pc.is_in(ids, value_set=new))).combine_chunks()
    if not len(shared) and not pc.any(pc.match_substring_regex(ids, _MARKED)).as_py():
        return result
    kind = pa.string() if pt.is_integer(ranks["id"].type) else ranks["id"].type

    def rename_column(table: pa.Table, name: str, in_reference: Any) -> pa.Table:
        texts = _texts(table[name])
        twice = pc.and_(in_reference, pc.is_in(texts, value_set=shared))
        old_mark, new_mark, no_mark = (pa.scalar(mark, pa.large_string()) for mark in (OLD, NEW, ""))
        side = pc.if_else(in_reference, old_mark, new_mark)
        marks = pc.if_else(pc.or_(twice, pc.match_substring_regex(texts, _MARKED)), side, no_mark)
        names = pc.binary_join_element_wise(marks, texts, no_mark)
        return table.set_column(table.column_names.index(name), name, pc.cast(names, kind))

    none, groups = pa.scalar(False), result.groups
    leads = groups[OLD_LEADS]
    groups = rename_column(rename_column(groups, "id", pc.and_(leads, groups["representative"])), "group", leads)
    tables = [
        None
        if pairs is None
        else rename_column(rename_column(pairs, "id_a", pairs["a_in_reference"]), "id_b", none)
        for pairs in (result.pairs, result.missed)
    ]
    return replace(
        result,
        ranks=rename_column(ranks, "id", old),
        groups=groups,
        pairs=tables[0],
        missed=tables[1],
        copies=rename_column(rename_column(result.copies, "id", none), "copy_of", _originals(ranks)),
        not_judged=rename_column(result.not_judged, "id", none),
        has_names=True,
    )


def _texts(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(ids, pa.large_string())


def _originals(ranks: pa.Table) -> pa.ChunkedArray:
    """Whether the original of each exact copy is in the reference set, in the order of the table of copies."""
    copies = ranks.filter(pc.and_(pc.invert(ranks["reference"]), pc.not_equal(ranks["row"], ranks["first"])))
    places = pc.index_in(copies.sort_by("row")["first"], value_set=ranks["row"].combine_chunks())
    return ranks["reference"].take(places)


class Names:
    """The names of the documents of a result, and on which side each is."""

    def __init__(self, result: Result) -> None:
        self._given = result
        self.result: Any = with_side_names(result)

    def of(self, id: Id) -> tuple[Id, bool | None]:
        """Return the name of the document that an id means, and whether it is in the reference set.

        The id itself and None for a run without a reference set, and for an unknown document. An input that can
        be read again is searched for documents that the tables do not have.
        """
        given, named = self._given, self.result
        if not has_reference(given) or "reference" not in given.ranks.column_names:
            return id, None
        find = getattr(given.texts, "find", None)
        for old, plain in readings(id):
            places = _where(given.ranks, plain, old)
            if len(places):
                return named.ranks["id"][int(places[0])].as_py(), old
            if not old and len(places := _where(given.not_judged, plain)):
                return named.not_judged["id"][int(places[0])].as_py(), False
            if find is not None and find(plain, old):
                twice = len(_where(given.ranks, plain)) or str(plain).startswith((OLD, NEW))
                return f"{OLD if old else NEW}{plain}" if twice else plain, old
        return str(id) if named.has_names else id, None


def _where(table: pa.Table, id: Id, in_reference: bool | None = None) -> Int64s:
    """The places of an id in a table, of one side if that is given."""
    same = pc.equal(_texts(table["id"]), str(id))
    if in_reference is not None:
        same = pc.and_(same, pc.equal(table["reference"], in_reference))
    return np.flatnonzero(same.to_numpy())
