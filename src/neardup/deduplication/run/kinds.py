"""The kinds of difference of the reported pairs and copies: texts read in portions, pairs judged in threads."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.comparison.kinds import IDENTICAL, KINDS
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.run.pipeline import Meter
from neardup.runtime import ordered_map
from neardup.tables import Int64s, column, distinct

if TYPE_CHECKING:
    from neardup.text.units import Reading

Found = TypeVar("Found")

KIND = "kind"
"""The column of the tables of pairs and of copies."""
UNKNOWN = "not determined"
"""The name under which pairs without a kind are counted."""

HELD_BYTES = 1 << 28
"""Bytes of text held at a time, except that two documents are always held together."""
MOST_BYTES = 1 << 24
"""Pairs with more text than this are not judged: a thread needs up to forty times as much memory."""
_PAIRS = 16
"""Pairs that one task judges."""


def with_kinds(table: pa.Table, pairs: pa.Table, rows: Rows, threads: int, meter: Meter) -> pa.Table:
    """Return the table of pairs with the column ``kind``.

    ``pairs`` are the same pairs by document number (columns a, b). A kind is null where it cannot be determined.
    """
    with meter.stage("kinds", pairs.num_rows, "pairs") as advance:
        a, b = (rows.unique[column(pairs, end)] for end in ("a", "b"))
        kinds = _kinds_of(a, b, rows, threads, advance)
    return table.append_column(KIND, _names(kinds))


def _kinds_of(
    a: Int64s, b: Int64s, rows: Rows, threads: int, advance: Callable[[int], object]
) -> NDArray[np.int8]:
    """Return the number of the kind of each pair of rows, −1 where it cannot be determined."""
    kinds = np.full(len(a), -1, np.int8)
    for task, answers in over_pairs(a, b, rows.bytes, partial(texts_of, rows), threads, _kind_numbers):
        kinds[task] = answers
        advance(len(task))
    return kinds


def _names(kinds: NDArray[np.int8]) -> pa.Array:
    return pa.array(KINDS, pa.string()).take(pa.array(kinds, mask=kinds < 0))


def over_pairs(
    a: Int64s,
    b: Int64s,
    sizes: Int64s,
    read: Callable[[Int64s], Iterable[bytes]],
    threads: int,
    judge: Callable[..., Iterator[Found]],
) -> Iterator[tuple[Int64s, list[Found]]]:
    """Yield the places of some pairs of rows, and the answers of ``judge(rows, other rows, texts by row)``.

    ``sizes`` are the bytes of each row, and ``read`` yields the texts of some rows (ascending).
    """
    for inside in _portions(a, b, sizes):
        wanted = distinct(a[inside], b[inside])
        texts = dict(zip(wanted.tolist(), read(wanted), strict=True))
        tasks = [inside[first : first + _PAIRS] for first in range(0, len(inside), _PAIRS)]

        def work(task: Int64s, texts: dict[int, bytes] = texts) -> list[Found]:
            return list(judge(a[task].tolist(), b[task].tolist(), texts))

        yield from zip(tasks, ordered_map(work, tasks, threads), strict=True)


def with_kinds_of_copies(table: pa.Table, copies: Int64s, rows: Rows, meter: Meter) -> pa.Table:
    """Return the table of exact copies with the column ``kind``.

    ``copies`` are the rows of the table. Only copies with other characters are read and compared.
    """
    first, characters = rows.copy_of[copies], rows.alike.characters
    differ = np.flatnonzero(characters[copies] != characters[first])
    kinds = np.full(len(copies), KINDS.index(IDENTICAL), np.int8)
    with meter.stage("kinds", len(differ), "copies") as advance:
        kinds[differ] = _kinds_of(first[differ], copies[differ], rows, 1, advance)
    return table.append_column(KIND, _names(kinds))


def counts_of(table: pa.Table) -> dict[str, int] | None:
    """Return the numbers of the kinds of the pairs; None if they were not asked for."""
    if KIND not in table.column_names:
        return None
    counts = {name: pc.sum(pc.equal(table[KIND], name)).as_py() or 0 for name in KINDS}
    return {**counts, UNKNOWN: table[KIND].null_count}


def _portions(a: Int64s, b: Int64s, sizes: Int64s) -> Iterator[Int64s]:
    """Yield the pairs of each two blocks of rows; a block has about half of HELD_BYTES of text."""
    involved = distinct(a, b)
    if not len(involved):
        return
    block = np.cumsum(sizes[involved]) // (HELD_BYTES // 2)
    of_a, of_b = (block[np.searchsorted(involved, rows)] for rows in (a, b))
    key = of_a * (int(block[-1]) + 1) + of_b
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def texts_of(rows: Rows, wanted: Int64s) -> Iterator[bytes]:
    """Yield the texts of some rows (ascending)."""
    return rows.corpus.with_texts(wanted, lambda _, texts: _bytes(texts))


def _bytes(texts: pa.Array) -> bytes:
    """Return the first of the texts."""
    buffer = texts[0].as_buffer()
    return b"" if buffer is None else bytes(buffer)


def _kind_numbers(a: list[int], b: list[int], texts: dict[int, bytes]) -> Iterator[int]:
    """Yield the number of the kind of each pair, −1 where it cannot be determined."""
    from neardup.comparison.kinds.rules import kind_of  # imported late: other runs do not wait for its kernels
    from neardup.text.units import read

    last: tuple[int, Reading] | None = None
    for row, other in zip(a, b, strict=True):
        if len(texts[row]) + len(texts[other]) > MOST_BYTES:
            yield -1
            continue
        if last is None or last[0] != row:  # pairs are in order of a: a representative is read once
            last = row, read(texts[row].decode("utf-8", "replace"))
        name = kind_of(last[1], read(texts[other].decode("utf-8", "replace"))).name
        yield -1 if name is None else KINDS.index(name)
