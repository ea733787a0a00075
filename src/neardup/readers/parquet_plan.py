"""How the row groups of a Parquet file are cut into chunks, from its footer alone where that is enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.readers.arrow_types import plain

# A row group up to this size is decoded in one piece by a worker; a bigger one is streamed.
BIG_GROUP_BYTES = 64 << 20

# A dictionary-encoded row group can be far bigger in memory than in the file. So many of its first rows
# are decoded to tell how much; row groups with fewer rows than the second number are not worth the look.
_PROBE_ROWS, _PROBE_FROM = 256, 4096


@dataclass(frozen=True)
class Part:
    """Consecutive row groups that make one chunk, or one big row group that makes several."""

    groups: tuple[int, ...]
    first_row: int
    rows: int
    batch_rows: int | None = None

    @property
    def chunks(self) -> int:
        """Number of chunks this part is cut into."""
        return 1 if self.batch_rows is None else -(-self.rows // self.batch_rows)


def plan(file: Any, chunk_bytes: int) -> list[Part]:
    """Cut a file into parts: small row groups together, middle ones alone, big ones in batches."""
    parts: list[Part] = []
    held: list[int] = []
    held_bytes = row = start = 0
    for group in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        size = decoded_bytes(file, group)
        if held and held_bytes + size > chunk_bytes:
            parts.append(Part(tuple(held), start, row - start))
            held, held_bytes = [], 0
        if size > max(BIG_GROUP_BYTES, chunk_bytes):
            parts.append(Part((group,), row, rows, max(1, rows * chunk_bytes // size)))
        elif rows:
            start = start if held else row
            held.append(group)
            held_bytes += size
        row += rows
    if held:
        parts.append(Part(tuple(held), start, row - start))
    return parts


def decoded_bytes(file: Any, group: int) -> int:
    """Return about how many bytes a row group takes when decoded."""
    metadata = file.metadata.row_group(group)
    stored: int = metadata.total_byte_size
    columns = [metadata.column(i) for i in range(metadata.num_columns)]
    repeats = any(c.has_dictionary_page and c.physical_type == "BYTE_ARRAY" for c in columns)
    if metadata.num_rows < _PROBE_FROM or not repeats:
        return stored
    try:
        batch = next(file.iter_batches(_PROBE_ROWS, [group], use_threads=False))
    except (StopIteration, OSError, pa.ArrowException):
        return stored  # a damaged row group is reported when it is read
    sample = plain(pa.Table.from_batches([batch]))
    estimate: int = sample.nbytes * metadata.num_rows // max(1, sample.num_rows)
    return max(stored, estimate)


def exact_slices(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly ``rows`` rows (the last may be shorter), without copying.

    Where a decoder ends its batches depends on the columns decoded, but a chunk must hold the same rows
    in every pass.
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
