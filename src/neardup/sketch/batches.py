"""Arrow arrays of texts in the form that the kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.kernels.sketch.documents import TextBatch
from neardup.kernels.text.words import PADDING
from neardup.tables import Int64s


def text_batch(texts: pa.Array) -> TextBatch:
    """Return the buffers of a string or binary array in the form the kernels need; nulls count as empty."""
    if texts.null_count:
        texts = pc.fill_null(texts, pa.scalar(b"" if _is_binary(texts.type) else "", texts.type))
    large = pt.is_large_string(texts.type) or pt.is_large_binary(texts.type)
    _, offset_buffer, value_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None or value_buffer is None:
        nothing = np.frombuffer(bytes(PADDING), np.uint8)
        return TextBatch(nothing, np.zeros(len(texts) + 1, np.int64), nothing, np.int64(0))
    stored = np.frombuffer(offset_buffer, "<i8" if large else "<i4")
    offsets: Int64s = stored[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(value_buffer, np.uint8)
    first_close = np.searchsorted(offsets[1:], data.size - PADDING, side="right")
    tail_begin = offsets[first_close]
    tail = np.frombuffer(data[tail_begin : offsets[-1]].tobytes() + bytes(PADDING), np.uint8)
    return TextBatch(data, offsets, tail, tail_begin)


def _is_binary(type_: Any) -> bool:
    return bool(pt.is_binary(type_) or pt.is_large_binary(type_))
