"""A valid call of every entry at its edges: no rows, one row without items, and one row of one item.

``CALLS`` has a maker for each entry: it takes the number of rows (documents, sets, groups) and of the items in
each, and makes the arguments. ``python -m support.edge_calls`` reads calls and writes their results, for a process
in which the kernels are interpreted.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from neardup.kernels import leaders, postings
from neardup.kernels.components import Balls, LinkEnds, Outlines, PrefixLists
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.join.audit import DrawnDocuments
from neardup.kernels.join.met_pairs import Searched
from neardup.kernels.join.nearest import ShingleLists, slots_of
from neardup.kernels.join.prefix_index import PrefixIndex
from neardup.kernels.join.weighted_prefixes import ElementLists, WeightedRows
from neardup.kernels.match.chunks import LITERAL, MEASURED, Counting, WorkLimits
from neardup.kernels.rows import LINE, STOP
from neardup.kernels.sets import Criterion
from neardup.kernels.sketch.base_text import table_of
from neardup.kernels.sketch.documents import DISTINCT, ONE_PERMUTATION, WORD, TextBatch
from neardup.kernels.sketch.simhash import SOLID
from neardup.kernels.sketch.windows import window_index
from neardup.kernels.text.hashing import PADDING
from neardup.text.keys import PUBLIC, key_of
from neardup.unicode import unicode_tables

Ints = Any
Maker = Callable[[int, int], tuple[Any, ...]]


class Edge(NamedTuple):
    """The size of the arguments of a call."""

    rows: int
    items: int


EDGES = {"empty": Edge(0, 0), "hollow": Edge(1, 0), "one": Edge(1, 1)}

U64, I32, U32, U16, U8, I8, BOOL = np.uint64, np.int32, np.uint32, np.uint16, np.uint8, np.int8, np.bool_
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
GOLD = 0x9E37_79B9_7F4A_7C15
WIDE = 1 << 32
"""The width of a bucket that has all hashes."""
LETTER = ord("a")
TABLES = unicode_tables()
KEY = key_of(bytes(32))
KEYS = (PUBLIC, KEY)
HALF = Criterion(1, 2, RESEMBLANCE)
LIMITS = WorkLimits(100, 100, 7)
COUNTING = Counting(1, LITERAL)
ONE_BUCKET = (1, 1, 1, WIDE)


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Any:
    return np.zeros(shape, dtype)


def ones(shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Any:
    return np.ones(shape, dtype)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def upto(n: int, dtype: DTypeLike = np.int64) -> Any:
    return np.arange(n, dtype=dtype)


def hashes(n: int) -> Any:
    """Hashes that are well mixed, ascending."""
    return np.sort(np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLD))


def offsets(m: int, n: int) -> Any:
    return n * np.arange(m + 1, dtype=np.int64)


def sets(m: int, n: int) -> tuple[Any, Any]:
    """(hashes, offsets)"""
    return hashes(m * n), offsets(m, n)


def stretches(m: int, n: int) -> tuple[Any, Any, Any]:
    """(hashes, starts, sizes)"""
    return hashes(m * n), n * upto(m), np.full(m, n)


def stream(m: int, n: int) -> tuple[Any, Any]:
    """(tokens, the end of each document)"""
    return hashes(m * n), offsets(m, n)[1:].copy()


def batch(m: int, n: int) -> TextBatch:
    """m texts of n letters, which are read from the tail as any text is that is close to the end."""
    return TextBatch(letters(m * n), offsets(m, n), np.append(letters(m * n), zeros(PADDING, U8)), 0)


def letters(n: int) -> Any:
    return np.full(n, LETTER, U8)


def padded(n: int) -> Any:
    return np.append(letters(n), zeros(PADDING, U8))


def points(n: int) -> Any:
    return np.full(n, LETTER, U32)


def twice(n: int) -> Any:
    """The names of the n tokens of A, and of the same ones of B."""
    return np.tile(upto(n, I32), 2)


def tiles(n: int) -> Any:
    """One tile of the n tokens of both."""
    return np.array([[0, 0, n]] * n, np.int64).reshape(-1, 3)


def ranges(n: int) -> Any:
    return np.array([[0, 1]] * n, np.int64).reshape(-1, 2)


def weighted(m: int, n: int) -> tuple[Any, ...]:
    """Sets of n elements of weight 1, all in each prefix; there are no empty ones in such a join."""
    rest = np.tile(n - upto(n, np.float64), m)
    rows = WeightedRows(np.tile(upto(n), m), np.ones(m * n), rest, offsets(m, n))
    members, first = np.tile(upto(m), n), np.append(0, np.repeat(m * (1 + upto(n)), 2))
    lists = ElementLists(first, members, n * members + np.repeat(upto(n), m), np.ones(m * n))
    partners = np.column_stack((zeros(m), np.full(m, m)))
    return rows, rows, lists, offsets(m, n)[1:], partners, (0, m), 0.5, False


def hubs(m: int, n: int) -> PrefixIndex:
    """Documents of n shingles, which are all in the one list."""
    entries = m * n
    return PrefixIndex(
        documents=upto(m),
        local=upto(m),
        hashes=hashes(entries),
        starts=n * upto(m),
        ends=n * upto(m) + n,
        sizes=np.full(m, n),
        begin=offsets(m, n),
        probes=n * upto(m) + n,
        list_of=zeros(entries),
        place=upto(entries),
        members=upto(entries),
        reach=np.full(entries, n, I32),
        first=ints(0, entries) if entries else ints(0),
        largest=np.full(m, 2 * n),
        least=zeros(0),
        parities=ones(m, U64),
        parity_at=upto(m + 1),
        across=zeros(0, U64),
        within=zeros(0, U64),
        run_begin=zeros(0),
        run_end=zeros(0),
    )


def balls(m: int) -> Balls:
    return Balls(zeros(0), zeros(0), ints(0), zeros(0), upto(m))


def lists(m: int, n: int) -> PrefixLists:
    first = ints(0, m * n) if m * n else ints(0)
    return PrefixLists(zeros(m * n, I32), np.full(m * n, n, I32), ones(m * n, BOOL), first)


def outlines(m: int, n: int) -> Outlines:
    return Outlines(np.full(m, n), np.full(m, 2 * n), ones(m, U64), upto(m + 1), zeros(0, U64))


def drawn(m: int, n: int) -> DrawnDocuments:
    """Two cells: the hash begins with the bit 1."""
    return DrawnDocuments(hashes(m * n), upto(m * n + 1), zeros(m * n, I32), ints(0, 0, m * n), np.full(m, n))


def old_and_new(m: int, n: int) -> ShingleLists:
    """Each new document is equal to an old one."""
    both = np.tile(hashes(m * n), 2)
    first = ints(0, m * n) if m * n else ints(0)
    nothing = zeros(0, U64)
    return ShingleLists(
        both, offsets(2 * m, n), m, first, zeros(m * n, I32), offsets(m, n), zeros(m * n, I32), nothing, nothing
    )


def index_of(n: int) -> Any:
    return window_index(hashes(n))


@cache
def posting() -> tuple[Any, int]:
    """The block of the posting of document 5 under the key 1, and its end."""
    block, ends, out = zeros(1), zeros(1), zeros(14, U8)
    postings.encode(np.array([1 << 32 | 5], np.uint64), 4, block, ends, out)
    return out[: ends[0]].copy(), int(ends[0])


def blocks(n: int) -> tuple[Any, Any]:
    """(data, bounds) of n blocks of one posting."""
    data, end = posting()
    return np.tile(data, n), end * upto(n + 1)


def found(n: int) -> tuple[Any, Any, Any, Any]:
    """(counts, places, starts, out) of n lists of one document."""
    return ones(n), zeros(n), upto(n), zeros(n)


CALLS: dict[str, Maker] = {
    "components:best_of_tree": lambda m, n: (upto(m), upto(m)),
    "components:crowd_links": lambda m, n: (
        hubs(m, n),
        HALF,
        LinkEnds(
            ones(m, BOOL),
            ones(m, BOOL),
            balls(m),
            zeros(min(m * n, 1), BOOL),
            (upto(m), upto(m), upto(m), upto(m)),
            0,
        ),
        upto(m),
        0,
        0,
        100,
    ),
    "components:link_ends": lambda m, n: (hubs(m, n), ones(m, BOOL), ones(m, BOOL), balls(m), upto(m)),
    "components:unite": lambda m, n: (upto(m), upto(m), upto(m)),
    "components:unite_by": lambda m, n: (zeros((m, 5)), upto(m)),
    "components:unite_met": lambda m, n: (lists(m, n), outlines(m, n), HALF, 0, 10, upto(m)),
    "join.audit:count_all": lambda m, n: (
        zeros(m * n, I32),
        offsets(m, n),
        zeros(m * n, I32),
        upto(m * n + 1),
        zeros((m, m), I32),
    ),
    "join.audit:partners": lambda m, n: (*sets(m, n), 0, drawn(m, n), HALF, 10, 10),
    "join.cover_prefixes:cover_prefixes": lambda m, n: (
        *sets(m, n),
        ones(8, U8),
        COUNTING,
        HALF,
        KEY.shingles,
    ),
    "join.cover_prefixes:meeting_pairs": lambda m, n: (
        hubs(m, n)._replace(least=np.full(m, n)),
        (0, m),
        np.full(m, -1),
        0,
        10,
    ),
    "join.met_pairs:fill_frequent": lambda m, n: (
        *stretches(m, n),
        hashes(n),
        ones(8, U8),
        zeros((m, n), U64),
        zeros(m),
    ),
    "join.met_pairs:fill_may_lack": lambda m, n: (np.full(m, n), HALF, zeros(m)),
    "join.met_pairs:fill_rest": lambda m, n: (
        *stretches(m, n),
        hashes(0),
        ones(8, U8),
        offsets(m, n),
        zeros(m * n, U64),
        zeros(m, U64),
    ),
    "join.met_pairs:met_pairs": lambda m, n: (
        hubs(m, n),
        HALF,
        (0, m),
        Searched(zeros(m, U8), upto(m), upto(m), zeros(0, I32), hashes(0), zeros(0), hashes(0), hashes(0)),
        zeros(m),
        10,
        0,
        10,
    ),
    "join.met_pairs:unique_in_range": lambda m, n: (
        *stretches(m, n),
        upto(m),
        np.array([0, ALL], U64),
        zeros((1, 2), U64),
        zeros(m, I32),
    ),
    "join.nearest:fill_members": lambda m, n: (
        zeros(m * n, I32),
        offsets(m, n),
        zeros(m * n),
        zeros(m * n, I32),
    ),
    "join.nearest:nearest": lambda m, n: (old_and_new(m, n), (0, m), 1, 0.5, RESEMBLANCE),
    "join.nearest:numbers_of": lambda m, n: (hashes(n), hashes(n), slots_of(hashes(n)), zeros(n, I32)),
    "join.nearest:slots_of": lambda m, n: (hashes(n),),
    "join.prefix_index:count_lookups": lambda m, n: (hubs(m, n), 10),
    "join.prefix_index:count_repeats": lambda m, n: (*stretches(m, n), zeros(8, U64), zeros(8, U8), 0, 1),
    "join.prefix_index:mark_entries": lambda m, n: (hashes(n), zeros(8, U64)),
    "join.prefix_index:marked_shingles": lambda m, n: (
        *stretches(m, n),
        hashes(m * n),
        zeros(m * n, I32),
        np.full(8, ALL),
    ),
    "join.prefix_index:rare_prefixes": lambda m, n: (*stretches(m, n), ones(8, U8), HALF),
    "join.prefix_index:with_partners": lambda m, n: (hubs(m, n),),
    "join.weighted_prefixes:fill_rests": lambda m, n: (np.ones(m * n), offsets(m, n), True, np.zeros(m * n)),
    "join.weighted_prefixes:weighted_pairs": lambda m, n: weighted(m if n else 0, n),
    "leaders:lead": lambda m, n: (
        upto(m),
        leaders.no_groups(m, hubs(m, n), True)._replace(met=zeros(m)),
        upto(m),
        leaders.Links(zeros(m + 1), zeros(0), zeros(0), zeros(0)),
        hubs(m, n),
        HALF,
        ones(m, BOOL),
        leaders.OldDocuments(0, RESEMBLANCE),
    ),
    "leaders:no_groups": lambda m, n: (m, hubs(m, n), True),
    "lsh.buckets:band_keys": lambda m, n: (zeros((m, n), U32), 0, n, 0, zeros(m, U64)),
    "lsh.buckets:bucket_mates": lambda m, n: (zeros((m, n, 2), I32), 0, m),
    "lsh.buckets:bucket_pairs": lambda m, n: (upto(m, I32), upto(m), ones(m), 10, 0, zeros(m, BOOL)),
    "lsh.buckets:enter_buckets": lambda m, n: (upto(m, I32), upto(m), ones(m), 0, zeros((m, 1, 2), I32)),
    "lsh.buckets:neighbours": lambda m, n: (
        zeros((m, n), U64),
        zeros((n, m), I32),
        np.tile(upto(2, I32), (m, n, 1)),
        0,
        m,
        (1, True),
    ),
    "lsh.buckets:wrapped_keys": lambda m, n: (zeros((m, n), U64), 1, (True, ALL), zeros((n, m), U64)),
    "lsh.hamming:near_in_runs": lambda m, n: (
        hashes(n).reshape(1, n),
        upto(n, I32) + I32(1),
        np.full((1, 1), ALL),
        3,
        (10, 10),
    ),
    "lsh.hamming:near_queries": lambda m, n: (
        hashes(n).reshape(1, n),
        (np.full((1, 1), ALL), zeros((1, n), I32), np.array([[0, 0, n]], I32), 63),
        hashes(n).reshape(n, 1),
        3,
    ),
    "lsh.hamming:pairs_alike": lambda m, n: (hashes(n),),
    "lsh.hamming:prefix_keys": lambda m, n: (hashes(n).repeat(2).reshape(2, n), np.full(2, ALL), zeros(n, U64)),
    "lsh.hamming:run_ends": lambda m, n: (hashes(n), 1),
    "lsh.hamming:varying": lambda m, n: (hashes(n),),
    "match.alignment:heaviest_chain": lambda m, n: (tiles(n), n),
    "match.alignment:words_between": lambda m, n: (twice(n), n, n, tiles(0), tiles(0), (100, 100)),
    "match.chunks:common_text": lambda m, n: (
        *sets(m, n),
        zeros(m, U64),
        zeros((m, 2)),
        COUNTING,
        HALF,
        LIMITS,
    ),
    "match.chunks:count_chunks": lambda m, n: (*sets(m, n), zeros(m), zeros(m), 1, LIMITS, zeros((m, MEASURED))),
    "match.chunks:cover_both": lambda m, n: (twice(n), n, 1, twice(n), n),
    "match.chunks:name_tokens": lambda m, n: (hashes(n), (0, n), (0, n)),
    "match.chunks:redundant_both": lambda m, n: (twice(n), n, 1, twice(n), n),
    "match.chunks:same": lambda m, n: (twice(n), n),
    "match.chunks:stands_first": lambda m, n: (hashes(n), (0, n), (0, n)),
    "match.chunks:tile_both": lambda m, n: (
        twice(n),
        n,
        1,
        twice(n),
        n,
        (ones(n, BOOL), ones(n, BOOL)),
        LIMITS,
    ),
    "match.chunks:window_names": lambda m, n: (twice(n), 1, 7),
    "match.lcs:chain_length": lambda m, n: (tiles(n), n),
    "match.lcs:common_in_order": lambda m, n: (twice(n), n, 0, 100),
    "match.lcs:longest_run": lambda m, n: (hashes(n), upto(n), hashes(n), 100),
    "match.passages:passages": lambda m, n: (
        points(m * n),
        offsets(m, n),
        (hashes(n), upto(n), hashes(n)),
        TABLES,
        KEY,
        ints(1, 100),
    ),
    "match.runs:longest_runs": lambda m, n: (stream(m, n), stream(m, n), zeros((m, 2))),
    "match.tiling:matchable": lambda m, n: (twice(n), n, n, ones(n, BOOL), ones(n, BOOL)),
    "names:count_names": lambda m, n: (upto(n, I32), 0, n, n),
    "names:enter_keys": lambda m, n: (zeros((n, 2), U64), 0, n, np.full(16, -1), zeros(n)),
    "names:set_counts": lambda m, n: (ones(n, I32), ones(n, I32)),
    "passages.repeats:common_prefixes": lambda m, n: (zeros(n, I32), upto(n, I32), upto(n, I32)),
    "passages.repeats:intervals": lambda m, n: (zeros(n + 1, I32), np.full(n, -1, I32), upto(n, I32)),
    "passages.streams:anchors": lambda m, n: (*stream(m, n), np.array([1, 1, GOLD], np.uint64)),
    "passages.streams:ascii_run_bytes": lambda m, n: (
        batch(m, n),
        np.array([[0, 0, 1]] * n, np.int64).reshape(-1, 3),
    ),
    "passages.streams:graphemes": lambda m, n: (batch(m, n), TABLES),
    "passages.streams:mark": lambda m, n: (hashes(n), zeros(8, U64), zeros(8, U64)),
    "passages.streams:marked_windows": lambda m, n: (
        *stream(m, n),
        np.array([1, 1, GOLD], np.uint64),
        np.full(8, ALL),
        1,
    ),
    "passages.streams:packed": lambda m, n: (hashes(n), np.array([[0, 1, 0]] * n, np.int64).reshape(-1, 3), 0, 1),
    "passages.streams:range_bytes": lambda m, n: (
        batch(m, n),
        TABLES,
        zeros(n),
        ones(n),
        ranges(n),
        zeros((n, 2)),
    ),
    "passages.streams:token_bytes": lambda m, n: (batch(m, n), 0, TABLES),
    "passages.streams:token_stream": lambda m, n: (batch(m, n), TABLES, WORD, KEY),
    "passages.streams:unpacked": lambda m, n: (np.tile(np.array([0, 1, GOLD], np.uint64), n), 1),
    "passages.windows:are_equal": lambda m, n: (hashes(n), ranges(n), 1, upto(n + 1), zeros(n)),
    "passages.windows:are_equal_ranges": lambda m, n: (hashes(n), zeros(n), ones(n), zeros(n)),
    "passages.windows:blocks": lambda m, n: (zeros(n), ones(n), zeros(n), n),
    "passages.windows:classes": lambda m, n: (ranges(n), zeros(n)),
    "passages.windows:first_of_each": lambda m, n: (upto(n, I32), zeros(n), ones(n), zeros(n)),
    "passages.windows:range_hashes": lambda m, n: (hashes(n), zeros(n), ones(n), 3, zeros(n, U64)),
    "passages.windows:window_hashes": lambda m, n: (hashes(n), ranges(n), 1, 3, zeros(n, U64)),
    "postings:copy_lists": lambda m, n: (hashes(n), *found(n)),
    "postings:decode": lambda m, n: (
        blocks(n)[0],
        blocks(n)[1][1:].copy(),
        zeros(n),
        4,
        zeros(n * posting()[1], U64),
    ),
    "postings:encode": lambda m, n: (hashes(n) >> U64(1), 4, zeros(n), zeros(n), zeros(14 * n, U8)),
    "postings:find_lists": lambda m, n: (
        hashes(n) >> U64(1),
        (hashes(n) >> U64(33)).astype(np.int64),
        *found(n)[2:],
    ),
    "postings:first_damaged": lambda m, n: blocks(n),
    "postings:gather": lambda m, n: (
        blocks(n)[0],
        ones(n),
        np.full(n, posting()[1] - 1),
        *found(n)[2:],
    ),
    "postings:locate": lambda m, n: (*blocks(n), upto(n), ones(n), zeros(n), zeros(n)),
    "postings:sort_lists": lambda m, n: (zeros(m * n), offsets(m, n)),
    "postings:tally": lambda m, n: (zeros(n), 1, zeros(n), zeros(n)),
    "rows:cut_rows": lambda m, n: (
        tiles(n),
        (zeros(0), zeros(0)),
        (zeros(0), zeros(0)),
        (ones(n + 1, I8), ones(n + 1, I8)),
        0,
    ),
    "rows:line_ends": lambda m, n: (np.full(n, LINE, U16),),
    "rows:pieces_of": lambda m, n: (ranges(n), zeros((0, 4)), np.full(m, n), upto(n + 1)),
    "rows:row_kinds": lambda m, n: (zeros(m * n, I8), offsets(m, n), zeros(m * n, I8), offsets(m, n)),
    "rows:sentence_ends": lambda m, n: (np.full(n, STOP, U16),),
    "sets:fill_parities": lambda m, n: (*stretches(m, n), upto(m + 1), zeros(m, U64)),
    "sets:meets": lambda m, n: (upto(m), np.full(m, n), np.full(m, n), HALF, zeros(m, BOOL)),
    "sets:parity_words": lambda m, n: (np.full(m, n),),
    "sets:residues": lambda m, n: (
        *sets(m, n),
        upto(m),
        offsets(m, 1),
        zeros(m),
        zeros(m * n, U64),
        zeros(m),
    ),
    "sets:shared_at_least": lambda m, n: (hashes(n), 0, n, 0, n, n),
    "sets:verify_pairs": lambda m, n: (*sets(m, n), upto(m), upto(m), HALF, zeros(m)),
    "shingles:mix_all": lambda m, n: (hashes(n), zeros(n, U64)),
    "shingles:shingle_hashes": lambda m, n: (hashes(n), n, 1, KEY.shingles, zeros(n, U64)),
    "shingles:stream_key": lambda m, n: (hashes(n), n),
    "sketch.agreement:no_band_agrees": lambda m, n: (ones(n), ones(n), np.array([1.0, 0.0]), zeros(n, np.float64)),
    "sketch.agreement:none_whole": lambda m, n: (ones(n),),
    "sketch.base_text:add_to_cells": lambda m, n: (hashes(n), 60, zeros(16, U32)),
    "sketch.base_text:count_left": lambda m, n: (
        batch(m, n),
        upto(m),
        TABLES,
        ints(WORD, 1),
        KEY,
        table_of(hashes(n)),
        zeros((m, 3)),
    ),
    "sketch.base_text:drop_from_sets": lambda m, n: (*sets(m, n), ones(m, BOOL), table_of(hashes(n))),
    "sketch.base_text:in_full_cells": lambda m, n: (hashes(n), 60, ones(16, U32), 0),
    "sketch.base_text:left_sets": lambda m, n: (
        batch(m, n),
        upto(m),
        TABLES,
        ints(WORD, 1, 1, DISTINCT, 1),
        KEYS,
        (table_of(hashes(n)), table_of(hashes(n))),
    ),
    "sketch.base_text:table_of": lambda m, n: (hashes(n),),
    "sketch.documents:count_among": lambda m, n: (*sets(m, n), hashes(n), zeros(m)),
    "sketch.documents:count_sharing": lambda m, n: (
        batch(m, n),
        TABLES,
        ints(WORD, 1),
        KEY,
        hashes(n),
        zeros(m),
    ),
    "sketch.documents:fingerprint": lambda m, n: (
        batch(m, n),
        TABLES,
        ints(WORD, 1, ONE_PERMUTATION),
        (ones(1, U32), ones(1, U32)),
        KEYS,
        (zeros(m), zeros((m, 2), U64), zeros((m, 1), U32), zeros(m)),
    ),
    "sketch.documents:keys_and_sets": lambda m, n: (
        batch(m, n),
        TABLES,
        ints(WORD, 1, DISTINCT),
        KEY,
        (zeros(m), zeros((m, 2), U64), zeros(m)),
    ),
    "sketch.documents:shingle_sets": lambda m, n: (batch(m, n), upto(m), TABLES, ints(WORD, 1, DISTINCT), KEYS),
    "sketch.minhash:sketch_sets": lambda m, n: (
        *sets(m, n),
        False,
        ones(1, U32),
        ones(1, U32),
        zeros((m, 1), U32),
        zeros((m, 1), BOOL),
    ),
    "sketch.samples:common": lambda m, n: (hashes(n), hashes(n), ALL, 1, True),
    "sketch.samples:common_of_pairs": lambda m, n: (
        (*sets(m, n), ones(m, BOOL)),
        (*sets(m, n), ones(m, BOOL)),
        zeros((m, 2)),
        (ALL, 1),
        zeros((m, 3)),
    ),
    "sketch.samples:sample_sets": lambda m, n: (*sets(m, n), (ALL, 0, 1)),
    "sketch.samples:sample_texts": lambda m, n: (batch(m, n), TABLES, ints(WORD, 1), KEY, (ALL, 0, 1)),
    "sketch.simhash:simhash_texts": lambda m, n: (batch(m, n), TABLES, (SOLID, 1), PUBLIC, zeros((m, 1), U64)),
    "sketch.simhash:simhash_units": lambda m, n: (
        hashes(n),
        n,
        1,
        PUBLIC.shingles,
        zeros(n + 8, U64),
        zeros(1, U64),
    ),
    "sketch.simhash:solid_units": lambda m, n: (points(n), n, TABLES, SOLID, zeros(n, U64)),
    "sketch.slots:bucketed_sets": lambda m, n: (*sets(m, n), ONE_BUCKET, True, zeros((m, 1), U64)),
    "sketch.slots:weighted_sets": lambda m, n: (
        hashes(m * n),
        np.ones(m * n),
        upto(m + 1) * n,
        zeros((m, n), U64),
    ),
    "sketch.slots:cut": lambda m, n: (zeros((m, n), U32), ALL, zeros((m, n), U8)),
    "sketch.slots:equal_slots": lambda m, n: (zeros((m, n), U64), zeros((m, n), U64), zeros((m, 2)), zeros(m)),
    "sketch.slots:mod_p_sets": lambda m, n: (*sets(m, n), (ones(1, U64), ones(1, U64)), 97, zeros((m, 1), U32)),
    "sketch.slots:read_pairs": lambda m, n: (
        hashes(m).reshape(m, 1),
        hashes(m).reshape(m, 1),
        zeros((m, 2)),
        ONE_BUCKET,
        zeros((m, 2)),
    ),
    "sketch.slots:rotate": lambda m, n: (np.full(n, ALL), (n, 1, 1, WIDE)),
    "sketch.slots:score_pairs": lambda m, n: (
        hashes(m).reshape(m, 1),
        hashes(m).reshape(m, 1),
        zeros((m, 2)),
        ONE_BUCKET,
        zeros(m, np.float64),
    ),
    "sketch.slots:without_blanks": lambda m, n: (zeros((m, n), U64), zeros((m, n), U64)),
    "sketch.windows:distinct_windows": lambda m, n: (zeros(m * n, I32), offsets(m, n)),
    "sketch.windows:items_met": lambda m, n: (
        zeros((n, 2)),
        (zeros(n, I32), upto(n + 1, I32)),
        (zeros(n, I32), upto(n + 1)),
        ones(n),
    ),
    "sketch.windows:number_windows": lambda m, n: (hashes(n), ones(n, BOOL), True, 0, zeros(n, I32)),
    "sketch.windows:places_matched": lambda m, n: (
        zeros((n, 2)),
        ranges(n),
        zeros(n),
        zeros(n, I32),
        upto(n + 1),
    ),
    "sketch.windows:rarest_windows": lambda m, n: ((zeros(n, I32), upto(n + 1)), ones(n), n),
    "sketch.windows:window_index": lambda m, n: (hashes(n),),
    "sketch.windows:windows_met": lambda m, n: (
        batch(m, n),
        TABLES,
        ints(WORD, 1),
        KEY,
        index_of(n),
        (index_of(n), index_of(n), ones(n, U64)),
    ),
    "sorting:equal_groups": lambda m, n: (hashes(n),),
    "sorting:sort_by_bits": lambda m, n: (hashes(n), zeros(n, U64), 0, 64),
    "sorting:sort_distinct": lambda m, n: (hashes(n), n, zeros(n, U64)),
    "sorting:sorted_by_key": lambda m, n: (hashes(n), 1),
    "text.characters:character_hashes": lambda m, n: (batch(m, n), TABLES, KEY, zeros(m, U64)),
    "text.characters:normal_points": lambda m, n: (padded(n), 0, n, TABLES),
    "text.hashing:hash_characters": lambda m, n: (points(n), n, KEY, zeros(n, U64)),
    "text.hashing:hash_tokens": lambda m, n: (padded(n), np.tile(ints(0, 1), n), n, 0, KEY, zeros(n, U64)),
    "text.spans:characters": lambda m, n: (points(n), upto(n, I32), upto(n, I32) + I32(1), TABLES),
    "text.spans:drop_tokens": lambda m, n: (
        batch(m, n),
        TABLES,
        KEY,
        (True, hashes(n)),
        ints(ord("0")),
        zeros((m, 2)),
    ),
    "text.spans:normalise_with_origin": lambda m, n: (points(n), TABLES),
    "text.spans:only_digits": lambda m, n: (points(n), ranges(n), ints(ord("0"))),
    "text.spans:token_places": lambda m, n: (points(n), ones(n), TABLES),
    "text.tokens:collapse_white_space": lambda m, n: (points(n), n, TABLES),
    "text.tokens:token_streams": lambda m, n: (batch(m, n), TABLES),
    "text.tokens:tokenise": lambda m, n: (points(n), n, TABLES, zeros(4 * n + PADDING, U8), zeros(n)),
    "text.unicode:normalise": lambda m, n: (padded(n), 0, n, TABLES),
}
"""By the name of the entry below ``neardup.kernels``: the arguments of a call with m rows of n items."""

CLOSED: dict[str, dict[str, str]] = {
    "passages.streams:token_bytes": {"empty": "its callers take the number from rows: it is that of a document"},
}
"""The edges that an entry does not have by its contract, with the reason. Its plain function raises IndexError."""

MEANT: dict[str, Callable[[Any], Any]] = {
    "leaders:no_groups": lambda made: made[:-1],
    "text.characters:normal_points": lambda made: (made[0][: made[1]], made[1]),
    "text.unicode:normalise": lambda made: (made[0][: made[1]], *made[1:]),
}
"""The part of a result that has a meaning, where it is not the whole: scratch and room are not set."""


def results(calls: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    """The result of each call and its arguments after it, or the error it raises, by the plain functions."""
    made: list[Any] = []
    for name, arguments in calls:
        module, _, function = name.partition(":")
        kernel = getattr(importlib.import_module(f"neardup.kernels.{module}"), function)
        try:
            made.append((kernel(*arguments), arguments))
        except Exception as error:
            made.append(error)
    return made


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # numbers of 64 bits wrap around in kernels
    sys.stdout.buffer.write(pickle.dumps(results(pickle.load(sys.stdin.buffer))))
