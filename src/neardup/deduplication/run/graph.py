"""The pairs of a result or a collection as the edges of a graph, and the neighbours of a document in it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.places import similarities
from neardup.deduplication.run.records import ResultRecord
from neardup.display import counted, printable
from neardup.display.view import PlainData
from neardup.errors import InputError, SettingError
from neardup.tables import Bools, Int64s, column, one_array

EDGES = pa.schema(
    [
        ("id_a", pa.string()),
        ("id_b", pa.string()),
        ("similarity", pa.float64()),
        ("kind", pa.string()),
        ("a_in_reference", pa.bool_()),
    ]
)
"""An edge: a pair, or an exact copy and the document that it copies. Only document a may be in a reference set."""

NEAR, COPY, DECIDED = "near", "copy", "decision"
"""The kinds of an edge: a stored pair, an exact copy, a pair that people joined."""

MOST_HOPS, MOST_DOCUMENTS = 10, 100_000
"""The longest way to a neighbour, and the most neighbours."""


def edges_of(result: ResultRecord) -> pa.Table:
    """Return the stored pairs and the exact copies of a result as EDGES, by their order in its tables."""
    pairs, ranks = result.pairs, result.ranks.sort_by("row")
    number, first = column(ranks, "row"), column(ranks, "first")
    copies = np.flatnonzero((number != first) & ~ranks["reference"].to_numpy())
    originals = np.searchsorted(number, first[copies])
    old = pairs["a_in_reference"] if "a_in_reference" in pairs.column_names else _all(False, pairs.num_rows)
    near = _edges(pairs["id_a"], pairs["id_b"], pa.array(similarities(result, pairs)), NEAR, old)
    same = _edges(
        ranks["id"].take(originals),
        ranks["id"].take(copies),
        pa.array(np.ones(len(copies))),
        COPY,
        ranks["reference"].take(originals),
    )
    return pa.concat_tables([near, same]).combine_chunks()


def edges_of_members(members: pa.Table) -> pa.Table:
    """Return the members of groups with their representatives as EDGES.

    ``members`` has the columns id, group, representative, similarity and held_by, as a collection exports them.
    """
    rows = members.filter(pc.invert(members["representative"]))
    by_people = pc.equal(rows["held_by"], DECIDED)
    table = _edges(rows["group"], rows["id"], rows["similarity"], NEAR, _all(False, rows.num_rows))
    kinds = pc.if_else(by_people, pa.scalar(DECIDED), pa.scalar(NEAR))
    return table.set_column(EDGES.get_field_index("kind"), EDGES.field("kind"), kinds)


def _edges(
    a: pa.ChunkedArray, b: pa.ChunkedArray, similarity: pa.Array | pa.ChunkedArray, kind: str, old: pa.Array
) -> pa.Table:
    columns = [
        pc.cast(a, pa.string()),
        pc.cast(b, pa.string()),
        similarity,
        pa.repeat(pa.scalar(kind), len(a)),
        old,
    ]
    return pa.table(columns, schema=EDGES)


def _all(value: bool, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), count)


@dataclass(frozen=True, eq=False)
class Neighbourhood(PlainData):
    """The ``edges`` among the ``documents`` within some hops of a document, itself included.

    ``left_out`` documents at the last hop that was looked at are left out, because there are too many.
    """

    edges: pa.Table
    documents: int
    left_out: int

    def __repr__(self) -> str:
        edges = counted(self.edges.num_rows, "edge")
        return f"Neighbourhood({edges}, {counted(self.documents, 'document')}, {self.left_out:,} left out)"


def around(edges: pa.Table, id: str, hops: int = 1, most: int = 1000) -> Neighbourhood:
    """Return the documents within ``hops`` edges of the documents with an ``id``, and all edges among these.

    At most ``most`` documents: those of fewer hops first, and of equally many those with the most similar edge.
    With ``hops`` 2 they are the neighbours of its neighbours, too. Raises InputError if no edge has the id, and
    SettingError for values out of range.
    """
    if not 1 <= hops <= MOST_HOPS:
        raise SettingError(f"hops is {hops}", f"A whole number from 1 to {MOST_HOPS}")
    if not 1 <= most <= MOST_DOCUMENTS:
        raise SettingError(f"most is {most}", f"A whole number from 1 to {MOST_DOCUMENTS:,}")
    ends, names = number_ends(edges)
    similarity = edges["similarity"].fill_null(0).to_numpy()
    frontier: Bools = pc.equal(names, id).to_numpy(zero_copy_only=False)
    if not frontier.any():
        raise InputError(f"No pair has the id {printable(id)}", "The id of a document in a pair or a copy")
    inside, left_out = frontier.copy(), 0
    for _ in range(hops):
        best = np.full(len(names), -1.0)
        for own, other in (ends, ends[::-1]):
            reached = frontier[own] & ~inside[other]
            np.maximum.at(best, other[reached], similarity[reached])
        fresh = np.flatnonzero(best >= 0)
        fresh = fresh[np.lexsort((fresh, -best[fresh]))]
        room = max(0, most - int(inside.sum()))
        frontier = np.zeros(len(names), np.bool_)
        frontier[fresh[:room]] = True
        inside |= frontier
        left_out = max(0, len(fresh) - room)
        if left_out or not len(fresh):
            break
    kept = inside[ends[0]] & inside[ends[1]]
    return Neighbourhood(edges.filter(pa.array(kept)), int(inside.sum()), left_out)


def number_ends(edges: pa.Table) -> tuple[tuple[Int64s, Int64s], pa.Array]:
    """Return the documents of EDGES as numbers (two int64[edges]), and the id of each number.

    A document of the reference set and another one may have the same id, and are two documents.
    """
    old = pc.cast(edges["a_in_reference"], pa.string())
    keys_a = pc.binary_join_element_wise(old, edges["id_a"], " ")
    keys_b = pc.binary_join_element_wise(pa.scalar("false"), edges["id_b"], " ")
    encoded = one_array(pa.chunked_array([*keys_a.chunks, *keys_b.chunks], pa.string())).dictionary_encode()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    names = pc.replace_substring_regex(encoded.dictionary, "^(true|false) ", "")
    return (numbers[: edges.num_rows], numbers[edges.num_rows :]), names
