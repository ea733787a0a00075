"""Plan how the row groups of a Parquet file are cut into chunks: from its footer alone if that is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import pyarrow as pa

from neardup.io.readers.arrow_types import row_lengths
from neardup.io.readers.limits import DICTIONARY_BYTES, PAGE_BYTES, PAGE_RATIO, ROW_BYTES, too_long
from neardup.io.readers.parquet_footer import FooterGroup, StoredColumn
from neardup.io.readers.parquet_pages import ParquetPage, pages_of

# A row group up to this size is decoded in one piece by a worker; a bigger one is streamed.
BIG_GROUP_BYTES = 64 << 20

# To read one row, the rows before it in its row group are decoded in batches of about this size.
_SMALL_BATCH_BYTES = 1 << 20

# In a dictionary, the length precedes each value.
_LENGTH_BYTES = 4

# Rows per batch when sizes are looked up, where a dictionary may repeat large values.
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class RowGroups:
    """Consecutive row groups that make one chunk, or one big row group that makes several.

    ``refused``: why a row group cannot be decoded within the limits.
    """

    groups: tuple[int, ...]
    first_row: int
    rows: int
    batch_rows: int | None = None
    refused: str | None = None

    @property
    def chunks(self) -> int:
        """Number of chunks this part is cut into."""
        return 1 if self.batch_rows is None else -(-self.rows // self.batch_rows)


@dataclass(frozen=True)
class Decoded:
    """The decoded size of a row group, and the size of the largest value that rows may repeat, in bytes."""

    size: int
    largest: int = 0


def plan(
    groups: Sequence[FooterGroup],
    file: Any,
    dictionaries: Callable[[str], Any],
    chunk_bytes: int,
    *,
    all_headers: bool = True,
) -> list[RowGroups]:
    """Cut a file into parts: small row groups together, middle ones alone, big ones in batches.

    ``file``: the file as bytes; ``dictionaries`` opens it as Parquet, so that one column keeps its dictionary.
    ``all_headers``: read the header of every page, since the footer may understate the unpacked sizes.
    """
    parts: list[RowGroups] = []
    held: list[int] = []
    held_bytes = row = start = 0

    def close() -> None:
        nonlocal held, held_bytes
        if held:
            parts.append(RowGroups(tuple(held), start, row - start))
        held, held_bytes = [], 0

    for group, stored in enumerate(groups):
        rows = stored.rows
        try:
            told = _unpacked(stored, group, file) if all_headers else 0
            decoded = decoded_size(stored, group, file, dictionaries, told)
        except _TooLargeError as error:
            close()
            parts.append(RowGroups((group,), row, rows, None, str(error)))
            row += rows
            continue
        if held and held_bytes + decoded.size > chunk_bytes:
            close()
        if decoded.size > max(BIG_GROUP_BYTES, chunk_bytes):
            batch = rows * chunk_bytes // decoded.size
            if decoded.largest:
                batch = min(batch, BIG_GROUP_BYTES // decoded.largest)
            close()
            parts.append(RowGroups((group,), row, rows, max(1, batch)))
        elif rows:
            start = start if held else row
            held.append(group)
            held_bytes += decoded.size
        row += rows
    close()
    return parts


def plan_group(
    groups: Sequence[FooterGroup], group: int, file: Any, dictionaries: Callable[[str], Any]
) -> RowGroups:
    """Plan one row group to be read in small batches, within the same limits as ``plan``."""
    stored, first = groups[group], sum(earlier.rows for earlier in groups[:group])
    try:
        decoded = decoded_size(stored, group, file, dictionaries, _unpacked(stored, group, file))
    except _TooLargeError as error:
        return RowGroups((group,), first, stored.rows, None, str(error))
    batch = stored.rows * _SMALL_BATCH_BYTES // max(1, decoded.size)
    if decoded.largest:
        batch = min(batch, BIG_GROUP_BYTES // decoded.largest)
    return RowGroups((group,), first, stored.rows, max(1, batch))


class _TooLargeError(Exception):
    """A row group over a limit."""


def _unpacked(stored: FooterGroup, group: int, file: Any) -> int:
    """Return the unpacked size of a row group by its page headers, which Arrow trusts when it allocates memory."""
    size = 0
    for column in stored.columns:
        try:
            for page in pages_of(file, column):
                size += page.unpacked
                if page.is_dictionary and column.is_bytes:
                    continue  # decoded_size has a limit for it
                if page.unpacked > max(PAGE_BYTES, PAGE_RATIO * page.stored):
                    raise _TooLargeError(
                        f"a page of column {column.path} in row group {group} has {page.stored:,} bytes and "
                        f"unpacks to {page.unpacked:,}; at most {PAGE_BYTES >> 20} MB are unpacked, or "
                        f"{PAGE_RATIO} times the stored bytes"
                    )
        except (OSError, ValueError, pa.ArrowException):
            continue  # a damaged column is reported when it is read
    return size


def decoded_size(
    stored: FooterGroup, group: int, file: Any, dictionaries: Callable[[str], Any], told: int = 0
) -> Decoded:
    """Return the decoded size of a row group in bytes, counting each repetition of a dictionary value.

    ``told``: the size by the headers of its pages, which the footer may understate.
    """
    size, largest = max(stored.unpacked, told), 0
    for column in stored.columns:
        if not column.is_bytes or not column.has_dictionary:
            continue
        try:
            repeated = _repeated(file, column, dictionaries, group)
        except (OSError, ValueError, pa.ArrowException):
            continue  # a damaged column is reported when it is read
        size, largest = size + repeated.size, max(largest, repeated.largest)
    return Decoded(size, largest)


def _repeated(file: Any, column: StoredColumn, dictionaries: Callable[[str], Any], group: int) -> Decoded:
    """Return the size of the rows whose values are in the dictionary."""
    found = pages_of(file, column)
    first = next(found, None)
    if first is None or not first.is_dictionary:
        return Decoded(0)
    if first.unpacked > DICTIONARY_BYTES:
        raise _TooLargeError(
            f"the different values of its column {column.path} take {first.unpacked >> 20} MB, "
            f"at most {DICTIONARY_BYTES >> 20} MB are read"
        )
    if first.unpacked > (ROW_BYTES + _LENGTH_BYTES) * max(1, first.values):
        raise _TooLargeError(too_long(f"a value of its column {column.path}"))
    if first.unpacked * column.values <= BIG_GROUP_BYTES:
        return Decoded(0)  # however often they are repeated
    coded = sum(page.values for page in takewhile(_is_coded, found))
    return _measured(dictionaries, column, group, coded)


def _is_coded(page: ParquetPage) -> bool:
    return page.coded


def _measured(dictionaries: Callable[[str], Any], column: StoredColumn, group: int, coded: int) -> Decoded:
    """Add up the values of the first rows by the dictionary, without decoding them."""
    name = column.path
    size = largest = seen = 0
    if "." in name:  # inside a list or a struct, where Arrow returns no dictionary: assume the worst
        return Decoded(column.unpacked * max(1, column.values), ROW_BYTES)
    with dictionaries(name) as file:
        for batch in file.iter_batches(min(coded, _ROWS_AT_ONCE) or 1, [group], [name], use_threads=False):
            lengths = row_lengths(pa.Table.from_batches([batch]))
            size, seen = size + int(lengths.sum()), seen + len(lengths)
            largest = max(largest, int(lengths.max(initial=0)))
            if seen >= coded:
                break
    if largest > ROW_BYTES:
        raise _TooLargeError(too_long(f"a value of its column {name}"))
    return Decoded(size, largest)


def exact_slices(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly ``rows`` rows (the last may be shorter), without copying.

    The batch boundaries of a decoder depend on the columns decoded, but a chunk must have the same rows in every
    pass.
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(held)
            yield table.slice(0, rows)
            held, count = table.slice(rows).to_batches(), count - rows
    if count:
        yield pa.Table.from_batches(held)


def without_columns(rows: int, batch_rows: int) -> Iterator[Any]:
    """Yield tables of as many rows as ``exact_slices`` yields, without a column of the file."""
    for first in range(0, rows, batch_rows):
        yield pa.table({"": pa.nulls(min(batch_rows, rows - first))})
