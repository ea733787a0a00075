"""The inputs of families: texts, sets of whole numbers, signatures and pairs of their rows, each checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.tables import Int64s, UInt64s


def text_arrays(texts: Any) -> list[pa.Array]:
    """Return the texts as Arrow arrays of strings or bytes."""
    if isinstance(texts, str):
        raise InputError("The texts are one str", "A list of str, or Arrow data", "Use of() for a single text")
    documents = open_documents(texts)
    name = choose_columns(documents, None, None).text
    columns = (chunk.read([name]).table.column(0) for chunk in documents.chunks(None, [name]))
    return [array for column in columns for array in column.chunks]


def whole_numbers(ids: Any) -> UInt64s:
    """Return a list or array of whole numbers as uint64, without numpy's detour through floats."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        if ids.size and int(ids.min()) < 0:
            raise _no_ids(f"the number {int(ids.min())}")
        return ids.reshape(-1).astype(np.uint64)
    if not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)):
        raise _no_ids(f"a {type(ids).__name__}")
    wrong = next((x for x in ids if not isinstance(x, int | np.integer) or not 0 <= x < 1 << 64), None)
    if wrong is not None:
        raise _no_ids(repr(wrong))
    return np.array([int(x) for x in ids], np.uint64)


def slots_array(signatures: Any, slots: int, dtype: Any) -> NDArray[Any]:
    """Return the signatures if they are an array [n, slots] of that dtype. Raises InputError otherwise."""
    right = isinstance(signatures, np.ndarray) and signatures.dtype == dtype and signatures.ndim == 2
    if not right or signatures.shape[1] != slots:
        is_array = isinstance(signatures, np.ndarray)
        what = f"{signatures.dtype}{list(signatures.shape)}" if is_array else f"a {type(signatures).__name__}"
        raise InputError(
            f"The signatures are {what}",
            f"{np.dtype(dtype)}[n, {slots}], from sketch() of the same family",
        )
    return np.ascontiguousarray(signatures)


def pair_rows(pairs: Any, documents: int, others: int) -> Int64s:
    """Return ``pairs`` as int64[m, 2]. Raises InputError for rows not below ``documents`` and ``others``."""
    rows: Int64s = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    if len(rows) and (rows.min() < 0 or rows[:, 0].max() >= documents or rows[:, 1].max() >= others):
        raise InputError(
            "The pairs name a document that is not there",
            f"numbers from 0 to {documents - 1} in the first column and to {others - 1} in the second",
        )
    return rows


def _no_ids(what: str) -> InputError:
    return InputError(
        f"The ids hold {what}" if not what.startswith("a ") else f"The ids are {what}",
        "A list or array of whole numbers from 0 to 2⁶⁴ − 1",
        "Hash other features to such numbers first",
    )


__all__ = ["pair_rows", "slots_array", "text_arrays", "whole_numbers"]
