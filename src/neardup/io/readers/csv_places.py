"""The places of CSV records: a scan that finds, about four times a megabyte, where a record begins."""

from __future__ import annotations

import numpy as np

from neardup.io.readers.dialect import Dialect
from neardup.io.readers.limits import ROW_BYTES
from neardup.io.readers.lines import BYTE_ORDER_MARK, Stream

_READ_BYTES = 256 << 10
_LINE_ENDS = (0x0A, 0x0D)


def record_places(stream: Stream, dialect: Dialect) -> list[tuple[int, int]]:
    """Return pairs (number of a record, offset of its first byte), ascending; record 0 follows the header.

    A line end outside quotes ends a record, and empty lines are no records, as for Arrow. Arrow gives a quote a
    meaning only at the start of a field. Therefore the scan stops at the first quote elsewhere, and at a record
    longer than the limit of a row; the rest of the file belongs to the last place found.
    """
    quote, separators = ord(dialect.quote), np.zeros(256, np.bool_)
    separators[[*_LINE_ENDS, ord(dialect.quote), *dialect.delimiter.encode()[:1]]] = True
    places: list[tuple[int, int]] = []
    offset, records, quoted, last_end, before = 0, -1, 0, -1, _LINE_ENDS[0]
    while block := stream.read(_READ_BYTES):
        data = np.frombuffer(block, np.uint8)
        quotes = np.flatnonzero(data == quote)
        opening = quotes[quoted::2]
        ahead = np.where(opening > 0, data[opening - 1], before)
        if offset == 0 and block.startswith(BYTE_ORDER_MARK):
            ahead[opening == len(BYTE_ORDER_MARK)] = _LINE_ENDS[0]
        stray = np.flatnonzero(~separators[ahead])
        ends = np.flatnonzero((data == _LINE_ENDS[0]) | (data == _LINE_ENDS[1]))
        ends = ends[(np.searchsorted(quotes, ends) + quoted) % 2 == 0]
        if len(stray):
            ends = ends[ends < opening[stray[0]]]
        ends = ends + offset
        lengths = np.diff(ends, prepend=last_end)
        whole = ends[lengths > 1]
        if len(whole) and lengths.max() <= ROW_BYTES:
            places.append((records + 1, int(whole[0]) + 1))
        if len(stray) or offset + len(block) - last_end > 2 * ROW_BYTES:
            break
        if len(ends):
            if lengths.max() > ROW_BYTES:
                break
            last_end = int(ends[-1])
        records += len(whole)
        offset, quoted, before = offset + len(block), (quoted + len(quotes)) % 2, block[-1]
    return places
