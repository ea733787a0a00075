"""The provenance of signatures: how they were made, and the fields that must match for two to be comparable.

Estimates are shares with their 95 % intervals; families and estimates have views for a notebook.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from neardup.display import Line, number, similarity
from neardup.display.pictures import ErrorBar, error_bars
from neardup.display.view import PlainData, facts, heading, view
from neardup.errors import FormatError, InputError
from neardup.tables import FORMAT_VERSION, Floats, Int64s
from neardup.text.intervals import Z95, waiting_times, wilson
from neardup.unicode import UNICODE_VERSION

KEY = b"neardup"
"""The key in the schema metadata of an Arrow table that holds the provenance of its signatures."""

_NO_TABLE = "A table that to_arrow() of a family gave, with the metadata of its schema"

_SHOWN = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The resemblances whose intervals are drawn, as near as the slots come."""


@dataclass(frozen=True)
class Provenance(PlainData):
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
        says = [f"version {_value_text(self.version)}", f"Unicode {_value_text(self.unicode)}"]
        says += [f"{_value_text(name)} {_value_text(value)}" for name, value in self.parameters.items()]
        return f"{_value_text(self.family)} ({', '.join(says)})"

    def metadata(self) -> dict[bytes, bytes]:
        """Return the schema metadata of a table of such signatures: one key, JSON."""
        whole = {"family": self.family, "version": self.version, "unicode": self.unicode, **self.parameters}
        return {KEY: json.dumps(whole, ensure_ascii=False).encode()}

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> "Provenance":
        """Read the output of :meth:`metadata`. Raises FormatError for anything else, and for another version."""
        try:
            whole = json.loads((metadata or {})[KEY])
            provenance = cls(whole.pop("family"), whole, whole.pop("version"), whole.pop("unicode"))
            if not isinstance(provenance.family, str):
                raise TypeError("a family has a name")
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError("The table does not say how its signatures were made", _NO_TABLE) from error
        if (provenance.version, provenance.unicode) != (FORMAT_VERSION, UNICODE_VERSION):
            raise FormatError(
                f"The signatures are {provenance}",
                f"This program makes and reads version {FORMAT_VERSION} with Unicode {UNICODE_VERSION}",
                "Sketch the texts again",
            )
        return provenance


def provenance_of(thing: Any) -> Provenance:
    """Return how a signature, sample or table of them was made. Raises InputError for anything else."""
    provenance = thing if isinstance(thing, Provenance) else getattr(thing, "provenance", None)
    if not isinstance(provenance, Provenance):
        raise InputError(f"The other side is a {type(thing).__name__}", "A signature, sketch or sample")
    return provenance


def require_same(mine: Any, others: Any) -> None:
    """Raise FormatError, which names both, unless signatures of these two are comparable."""
    one, other = provenance_of(mine), provenance_of(others)
    if one != other:
        raise FormatError(
            f"One side is {one}; the other is {other}",
            "Signatures of one family with the same parameters and versions can be compared",
            "Sketch both with the same family",
        )


def signature_table(
    provenance: Provenance, ids: Any, values: NDArray[Any], offsets: Int64s | None = None
) -> pa.Table:
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
    return pa.table({"id": names, "signature": column}).replace_schema_metadata(provenance.metadata())


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


def _value_text(value: Any) -> str:
    """Return a parameter for a sentence: long lists are cut, and no foreign character moves the cursor."""
    words = str(value)
    return "".join(c if c.isprintable() else "?" for c in (words if len(words) <= 60 else words[:57] + "…"))


def html(name: str, lines: list[Line], parameters: Mapping[str, Any], slots: int = 0) -> str:
    """Return a view of something with ``parameters``; with ``slots``, the intervals of its estimates, too."""
    parameter_lines = [(key.replace("_", " "), _plain_text(value)) for key, value in parameters.items()]
    return view(heading(name), facts([*lines, *parameter_lines]), intervals(slots) if slots else "")


def intervals(slots: int) -> str:
    """Return the 95 % intervals of estimates from ``slots`` slots as a figure (Wilson 1927)."""
    bars = []
    for equal in sorted({round(share * slots) for share in _SHOWN}):
        interval = wilson(equal / slots, slots)
        bars.append(ErrorBar(f"estimate {interval.value:.2g}", interval.value, interval.low, interval.high))
    return error_bars(bars, f"How far estimates from {number(slots)} slots vary").figure()


def _plain_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain_text(part)}" for key, part in value.items())
    return number(value) if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class Estimate(PlainData):
    """An estimated share with its 95 % Wilson interval, from ``slots`` slots (or from the unit in ``counted``).

    ``float()``, ``format()`` and <, <=, > and >= (with numbers and other estimates) use its ``value``. Two
    estimates are equal if all fields are equal.

    >>> estimate(138, 200) > 0.6, f"{estimate(138, 200):.2f}", float(estimate(1, 2))
    (True, '0.69', 0.5)
    """

    value: float
    low: float
    high: float
    slots: int
    counted: str = "slots"

    @property
    def error(self) -> float:
        """The standard error: half the interval divided by 1.96."""
        return (self.high - self.low) / (2 * Z95)

    def __str__(self) -> str:
        value, low, high = map(similarity, (self.value, self.low, self.high))
        return f"{value} (95 % interval {low}–{high}, {self.slots} {self.counted})"

    def _repr_html_(self) -> str:
        bar = ErrorBar("resemblance", self.value, self.low, self.high)
        picture = error_bars([bar], f"Estimate {similarity(self.value)}")
        return view(facts([("estimate", str(self))]), picture.figure())

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __float__(self) -> float:
        return float(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other) if isinstance(other, Estimate | Real) else NotImplemented


class SizeEstimate(Estimate):
    """An estimated number of elements of a set with its 95 % interval, from ``slots`` slots."""

    @classmethod
    def of(cls, waits: Floats) -> "SizeEstimate":
        """Return the estimate from k independent waiting times with the size as their rate, float64[k].

        Their sum has a gamma distribution, so (k − 1) / sum is unbiased, with variance n² / (k − 2) (Cohen 1997,
        section 3). The interval has its quantiles. One waiting time has no unbiased estimate: it has ln 2 / sum,
        which is too low as often as too high.

        >>> print(SizeEstimate.of(np.full(128, 0.01)))
        99.22 (95 % interval 83.43–118.1, 128 slots)
        """
        k, total = len(waits), float(waits.sum())
        low, high = waiting_times(k)
        return cls((k - 1 or log(2)) / total, low / total, high / total, k)

    def __str__(self) -> str:
        value, low, high = (f"{number:,.4g}" for number in (self.value, self.low, self.high))
        return f"{value} (95 % interval {low}–{high}, {self.slots} {self.counted})"

    def _repr_html_(self) -> str:
        return view(facts([("elements", str(self))]))


def estimate(matches: int, slots: int) -> Estimate:
    """Return the estimate for ``matches`` equal slots (Wilson 1927; conservative for one-permutation).

    >>> print(estimate(138, 200))
    0.690 (95 % interval 0.622–0.750, 200 slots)
    """
    interval = wilson(matches / slots, slots)
    return Estimate(interval.value, interval.low, interval.high, slots)
