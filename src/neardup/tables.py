"""The tables passed between stages: column names and types, in one place.

A *row* is a document of the input, numbered in input order. A *document number* counts only documents with text
that are not exact copies of an earlier one.
"""

from typing import TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FORMAT_VERSION = 2
"""Version of the fingerprint: covers tokens, hashes, coefficients and the slot rule."""

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
UInt64s = NDArray[np.uint64]
UInt32s = NDArray[np.uint32]
UInt16s = NDArray[np.uint16]
UInt8s = NDArray[np.uint8]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Ints = TypeVar("Ints", Int64s, UInt64s)
Facts = TypeVar("Facts", bound=msgspec.Struct)

RESULT_TABLES = ("pairs", "groups", "copies", "ranks", "not_judged")
"""The tables of a result; their files have the same names."""

PLACE_TABLES = ("places", "located")
"""The tables of a result that say where its documents are; results of documents in memory lack them."""

CUTS = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("begin_byte", pa.int64()),
        ("end_byte", pa.int64()),
        ("text", pa.large_string()),
    ]
)
"""The columns of cuts.parquet: each cut with its bytes in the whole text in UTF-8, and its text."""

OLD_LEADS = "group_in_reference"
"""The column of the groups of a run with a reference set: whether the representative is in it."""

TEXTS_FILE = "texts.parquet"
"""The texts of the documents in pairs and copies, unless a result is private."""

TEXTS = pa.schema([("row", pa.int64()), ("text", pa.large_binary()), ("fields", pa.string())])
"""Rows of the run, ascending, their texts in UTF-8, and their other values as a JSON object."""

DECISIONS_FILE = "decisions.sqlite"
"""The decisions of a review, in the folder of the result; its journal has this name and ``-journal``."""

OPTIONAL_TABLES = ("missed", "common")
"""The tables that only some settings make."""

CANDIDATES = pa.schema([("a", pa.uint32()), ("b", pa.uint32())])
"""Document numbers of a candidate pair, a < b; sorted and distinct."""

VERIFIED = pa.schema(
    [
        ("a", pa.uint32()),
        ("b", pa.uint32()),
        ("shared", pa.int64()),
        ("size_a", pa.int64()),
        ("size_b", pa.int64()),
    ]
)
"""A pair with its exact counts |A∩B|, |A|, |B|, taken from the shingle sets of the texts."""

HAMMING = pa.schema([("a", pa.uint32()), ("b", pa.uint32()), ("distance", pa.uint8())])
"""Rows whose fingerprints differ in ``distance`` bits, a < b; sorted and distinct."""

COPIES_OF = pa.schema([("row", pa.uint32()), ("first", pa.uint32())])
"""A row whose fingerprint equals that of an earlier row, with the first such row; sorted by row."""

NEIGHBOURS = pa.schema([("query", pa.uint32()), ("number", pa.uint32()), ("distance", pa.uint8())])
"""Entries of an index near each query, by their number in the index; sorted and distinct."""


def fingerprint_schema(slots: int) -> pa.Schema:
    """Return the schema, one row per document: units, 128-bit stream key, signature, invalid UTF-8 sequences."""
    return pa.schema(
        [
            ("units", pa.int64()),
            ("key_high", pa.uint64()),
            ("key_low", pa.uint64()),
            ("signature", pa.list_(pa.uint32(), slots)),
            ("invalid", pa.int64()),
        ]
    )


def verified_table(a: Int64s, b: Int64s, shared: Int64s, size_a: Int64s, size_b: Int64s) -> pa.Table:
    """Return the VERIFIED table of the given columns, sorted by (a, b)."""
    order = np.lexsort((b, a))
    ends = [numbers[order].astype(np.uint32) for numbers in (a, b)]
    counts = [numbers[order] for numbers in (shared, size_a, size_b)]
    return pa.table([*ends, *counts], schema=VERIFIED)


def column(table: pa.Table, name: str) -> Int64s:
    """Return a whole-number column of a table as int64 numpy."""
    values: Int64s = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if not column.num_chunks:  # pyarrow 18 does not combine no chunks of a dictionary
        return pa.nulls(0, column.type)
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def with_facts(table: pa.Table, facts: msgspec.Struct) -> pa.Table:
    """Return the table of a chunk with the facts of the chunk as a whole in its metadata."""
    return table.replace_schema_metadata({"chunk": msgspec.json.encode(facts, enc_hook=tuple)})


def facts_of(table: pa.Table, kind: type[Facts]) -> Facts:
    """Return the facts that ``with_facts`` has put into a table."""
    return msgspec.json.decode(table.schema.metadata[b"chunk"], type=kind)


def places_among(some: Ints, known: Ints) -> tuple[Bools, Int64s]:
    """(whether it is there, where) for each of ``some`` numbers among the ``known`` ones, which ascend.

    >>> [found.tolist() for found in places_among(np.array([2, 6]), np.array([1, 2, 5]))]
    [[True, False], [1, 3]]
    """
    places = np.searchsorted(known, some)
    there = np.zeros(len(some), np.bool_)
    inside = places < len(known)
    there[inside] = known[places[inside]] == some[inside]
    return there, places


def numbers_in(begins: Int64s, sizes: Int64s) -> Int64s:
    """Return the whole numbers in runs of these ``sizes`` that begin at ``begins``, run after run: int64[Σ sizes].

    >>> numbers_in(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    before = np.cumsum(sizes) - sizes
    numbers: Int64s = np.arange(sizes.sum()) + np.repeat(begins - before, sizes)
    return numbers


def distinct(*numbers: Ints) -> Ints:
    """Return the distinct numbers of some arrays of one type, ascending.

    Sorts them: the hash table of ``np.unique`` takes twenty times as long for the numbers of documents (measured,
    NumPy 2.4).

    >>> distinct(np.array([3, 1]), np.array([3, 2])).tolist()
    [1, 2, 3]
    """
    ordered = np.sort(np.concatenate(numbers))
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    chosen: Ints = ordered[first]
    return chosen
