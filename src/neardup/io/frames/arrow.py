"""Arrow data: tables, record batches, columns of strings, and any object with an Arrow capsule."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.arrow import chosen, is_text
from neardup.io.readers.base import CHUNK_BYTES
from neardup.io.readers.memory import ArrowRows, GivenBack, HeldDocuments
from neardup.tables import Bools


def from_table(table: pa.Table, back: GivenBack | None = None, chunk_bytes: int = CHUNK_BYTES) -> HeldDocuments:
    """Return the rows of a table as documents."""
    return HeldDocuments(ArrowRows(table, back), chunk_bytes)


def from_batches(batches: Sequence[Any], chunk_bytes: int = CHUNK_BYTES) -> HeldDocuments:
    """Return record batches as documents; the rows that stay come back as batches, one for each.

    Raises InputError for batches of several schemas.
    """
    try:
        table = pa.Table.from_batches(batches)
    except pa.ArrowInvalid as error:
        raise differing_error(error) from error
    ends = np.cumsum([batch.num_rows for batch in batches])

    def back(stays: Bools) -> list[Any]:
        parts = np.split(stays, ends[:-1])
        return [chosen(batch, part) for batch, part in zip(batches, parts, strict=True)]

    return from_table(table, back, chunk_bytes)


def differing_error(error: Exception) -> InputError:
    """The error for record batches of several schemas."""
    return InputError(
        f"The record batches do not fit together: {error}",
        "Batches of one schema",
        "Cast them to one schema first",
    )


def from_array(array: Any, chunk_bytes: int = CHUNK_BYTES) -> HeldDocuments:
    """Return a column of strings as documents. Raises InputError for a column of other values."""
    type_ = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not is_text(type_):
        raise no_texts_error(array, f"the column holds {array.type}")
    return from_table(pa.table({"text": array}), lambda stays: chosen(array, stays), chunk_bytes)


def from_capsule(data: Any, chunk_bytes: int = CHUNK_BYTES) -> HeldDocuments:
    """Return documents from an object with an Arrow capsule that is not a stream: it is read to its end.

    The rows that stay come back as Arrow data.
    """
    try:
        if not hasattr(data, "__arrow_c_stream__"):
            array = pa.array(data)
            return from_table(pa.table(data)) if pa.types.is_struct(array.type) else from_array(array, chunk_bytes)
        return from_array(pa.chunked_array(data), chunk_bytes)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise no_texts_error(data, str(error)) from error


def no_texts_error(data: Any, why: str) -> InputError:
    """The error for an object that holds no documents."""
    return InputError(
        f"{type(data).__name__} is neither a table nor a column of strings: {why}",
        "A table, data frame or string column with an Arrow interface",
        "Convert it to a pyarrow.Table",
    )
