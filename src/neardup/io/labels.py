"""Values of columns by which documents are told apart: languages, mailboxes, splits, sources, days.

Values are compared as text: the number 5 and the string "5" are equal, which matters if files differ in their
types. A missing value is a value of its own: two missing values are equal. An empty string is a missing value,
since CSV has no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.attachments import ATTACHMENTS
from neardup.io.formats import LISTS
from neardup.io.readers.arrow_types import column_type
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import find_column
from neardup.kernels.text.keyed import Key
from neardup.tables import UInt64s

ALLOWED = "A column of strings, whole numbers, truth values or dates"


def find_labels(documents: Documents, name: str, option: str, where: str = "") -> None:
    """Raise InputError unless the documents have a column of that name whose values can be compared as text."""
    column = find_column(documents, name, option, where)
    kind = column_type(documents, name)
    if kind is not None:
        require_labels(kind, name, option)
    elif documents.format == "text" and name not in (*LISTS, ATTACHMENTS):
        return
    elif column.kind in ("number", "other"):
        holds = "numbers with decimals" if column.kind == "number" else "values of other types, such as lists"
        raise _refused(name, option, holds)


def require_labels(kind: pa.DataType, name: str, option: str) -> None:
    """Raise InputError for a type whose values are not compared as text."""
    if pt.is_dictionary(kind):
        kind = kind.value_type
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    dates = pt.is_date(kind) or pt.is_timestamp(kind)
    if not (text or dates or pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_null(kind)):
        raise _refused(name, option, str(kind))


def as_text(values: Any) -> pa.Array:
    """Return values of an allowed type as large strings, with null for missing ones."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if pt.is_dictionary(values.type):
        values = values.dictionary_decode()
    text = pc.cast(values, pa.large_string())
    return pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(None, pa.large_string()), text)


def digests(columns: Sequence[Any], role: str, key: Key) -> UInt64s:
    """Return uint64[n, 2]: for each row a hash of its values in one or more ``columns``, under the key of the run.

    Rows have the same hash only if they have the same values. Hashes for another ``role`` have nothing in common.
    """
    secret = hashlib.blake2b(key.occurrences.tobytes(), digest_size=32, person=role.encode()).digest()
    together = np.zeros((len(columns[0]), 2), np.uint64)
    for number, column in enumerate(columns):
        coded = pc.dictionary_encode(as_text(column), null_encoding="encode")
        values = pc.cast(coded.dictionary, pa.large_binary()).to_pylist()  # bytes, since strings may be invalid
        of_value = [_digest(value, number, secret) for value in values]
        hashes = np.frombuffer(b"".join(of_value), np.uint64).reshape(-1, 2)
        together ^= hashes[coded.indices.to_numpy(zero_copy_only=False)]
    return together


def _digest(value: bytes | None, number: int, secret: bytes) -> bytes:
    told = b"-" if value is None else b"+" + value
    return hashlib.blake2b(told, digest_size=16, key=secret, salt=number.to_bytes(8, "little")).digest()


def _refused(name: str, option: str, holds: str) -> InputError:
    return InputError(f'{option}: the column "{name}" holds {holds}', ALLOWED, "Choose another column")
