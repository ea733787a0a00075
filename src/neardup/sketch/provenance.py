"""The provenance of signatures: how they were made, and the fields that must match for two to be comparable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from neardup.errors import FormatError, InputError
from neardup.tables import FORMAT_VERSION, Int64s
from neardup.text.unicode import UNICODE_VERSION

KEY = b"neardup"
"""The key in the schema metadata of an Arrow table that holds the provenance of its signatures."""

_NO_TABLE = "A table that to_arrow() of a family gave, with the metadata of its schema"


@dataclass(frozen=True)
class Provenance:
    """The family of some signatures, its parameters (seeds included) and the versions they depend on.

    ``parameters`` are plain values by name. Signatures are comparable only if all fields are equal.

    >>> print(Provenance("example", {"slots": 8, "of": "ids"}, 1, "15.0.0"))
    example (version 1, Unicode 15.0.0, slots 8, of ids)
    """

    family: str
    parameters: Mapping[str, Any]
    version: int = FORMAT_VERSION
    unicode: str = UNICODE_VERSION

    def __str__(self) -> str:
        says = [f"version {_shown(self.version)}", f"Unicode {_shown(self.unicode)}"]
        says += [f"{_shown(name)} {_shown(value)}" for name, value in self.parameters.items()]
        return f"{_shown(self.family)} ({', '.join(says)})"

    def metadata(self) -> dict[bytes, bytes]:
        """Return the schema metadata of a table of such signatures: one key, JSON."""
        whole = {"family": self.family, "version": self.version, "unicode": self.unicode, **self.parameters}
        return {KEY: json.dumps(whole, ensure_ascii=False).encode()}

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> Provenance:
        """Read the output of :meth:`metadata`. Raises FormatError for anything else, and for another version."""
        try:
            whole = json.loads((metadata or {})[KEY])
            made = cls(whole.pop("family"), whole, whole.pop("version"), whole.pop("unicode"))
            if not isinstance(made.family, str):
                raise TypeError("a family has a name")
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError("The table does not say how its signatures were made", _NO_TABLE) from error
        if (made.version, made.unicode) != (FORMAT_VERSION, UNICODE_VERSION):
            raise FormatError(
                f"The signatures are {made}",
                f"This program makes and reads version {FORMAT_VERSION} with Unicode {UNICODE_VERSION}",
                "Sketch the texts again",
            )
        return made


def provenance_of(thing: Any) -> Provenance:
    """Return how a signature, sample or table of them was made. Raises InputError for anything else."""
    made = thing if isinstance(thing, Provenance) else getattr(thing, "provenance", None)
    if not isinstance(made, Provenance):
        raise InputError(f"The other side is a {type(thing).__name__}", "A signature, sketch or sample")
    return made


def require_same(mine: Any, others: Any) -> None:
    """Raise FormatError, which names both, unless signatures of these two are comparable."""
    one, other = provenance_of(mine), provenance_of(others)
    if one != other:
        raise FormatError(
            f"One side is {one}; the other is {other}",
            "Signatures of one family with the same parameters and versions can be compared",
            "Sketch both with the same family",
        )


def signature_table(made: Provenance, ids: Any, values: NDArray[Any], offsets: Int64s | None = None) -> pa.Table:
    """Return signatures as an Arrow table: the columns ``id`` and ``signature``, and the provenance as metadata.

    ``values`` are [n, slots] of an unsigned dtype, or the elements of n lists that begin at ``offsets``
    (int64[n + 1]). ``ids`` name the documents: n strings or whole numbers, or Arrow data. Raises InputError
    if the numbers of the two differ, or if Arrow cannot represent the ids.
    """
    try:
        names = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else pa.array(ids)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError) as error:
        raise InputError(f"Arrow cannot hold the ids: {error}", "Strings, or whole numbers") from error
    n = len(values) if offsets is None else len(offsets) - 1
    if len(names) != n:
        raise InputError(f"There are {len(names)} ids for {n} signatures", "One id for each signature")
    if offsets is None:
        column = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    else:
        column = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
    return pa.table({"id": names, "signature": column}).replace_schema_metadata(made.metadata())


def signature_column(table: pa.Table) -> tuple[NDArray[Any], Int64s | None]:
    """Return the arguments of :func:`signature_table`: values [n, slots] and None, or list elements and offsets.

    Raises FormatError if the column is missing, has another type, or has gaps.
    """
    if not {"id", "signature"} <= set(table.column_names):
        raise FormatError("The table has no columns id and signature", _NO_TABLE)
    column = table.column("signature").combine_chunks()
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lists = pt.is_fixed_size_list(column.type) or pt.is_large_list(column.type) or pt.is_list(column.type)
    if not lists or not pt.is_unsigned_integer(column.type.value_type):
        raise FormatError(f"The column signature holds {column.type}", "Lists of unsigned whole numbers")
    flat = column.flatten()
    if column.null_count or flat.null_count:
        raise FormatError("The column signature has gaps (nulls)", "A whole signature in every row")
    values = flat.to_numpy(zero_copy_only=False)
    if pt.is_fixed_size_list(column.type):
        return values.reshape(len(column), column.type.list_size), None
    lengths = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return values, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


def _shown(value: Any) -> str:
    """Return a parameter for a sentence: long lists are cut, and no foreign character moves the cursor."""
    words = str(value)
    return "".join(c if c.isprintable() else "?" for c in (words if len(words) <= 60 else words[:57] + "…"))
