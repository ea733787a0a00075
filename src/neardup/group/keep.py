"""The document of a group that stays: the keep policy as an order over all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.settings.rules import KEEP_COLUMN
from neardup.tables import Floats, Int64s


def keep_column(policy: str) -> str | None:
    """The column that ``max:COLUMN`` or ``min:COLUMN`` names, or None for the other policies."""
    return policy[4:] if policy.startswith(KEEP_COLUMN) else None


def keep_rank(policy: str, units: Int64s, first_new: int, extra: pa.Array | None) -> Int64s:
    """The rank of every row (a permutation, 0 is kept first).

    The rows before ``first_new`` are the reference set and come before all others. ``extra`` holds the
    column of a max: or min: policy for the rows after them; rows without a value come last. Ties go to
    the first in input order.
    """
    n = len(units)
    worst_first = np.zeros(n, np.float64)
    if policy == "longest":
        worst_first = -units.astype(np.float64)
    elif policy == "last":
        worst_first = -np.arange(n, dtype=np.float64)
    elif extra is not None:
        worst_first[first_new:] = _sort_values(policy, extra)
    is_new = np.arange(n) >= first_new
    order = np.lexsort((np.arange(n), worst_first, is_new))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank


def require_order(policy: str, kind: pa.DataType) -> None:
    """Raise InputError if values of this type have no order, before any value is read."""
    _sort_values(policy, pa.array([], kind))


def _sort_values(policy: str, extra: pa.Array) -> Floats:
    """Smaller is better: dense ranks of the values, so that dates and long integers keep their order."""
    name = keep_column(policy)
    if pa.types.is_null(extra.type):  # a column without any value
        extra = extra.cast(pa.int64())
    if pa.types.is_string(extra.type) or pa.types.is_large_string(extra.type):
        extra = _numbers(extra)
    try:
        ranks = pc.rank(extra, sort_keys="ascending", tiebreaker="dense")
    except pa.ArrowNotImplementedError:
        raise InputError(
            f'--keep {policy}: the column "{name}" holds {extra.type}',
            "A column of numbers, dates or strings",
            "Choose another column",
        ) from None
    values: Floats = ranks.to_numpy(zero_copy_only=False).astype(np.float64)
    missing = extra.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if policy.startswith("max:"):
        values = -values
    values[missing] = np.inf
    return values


def _numbers(values: pa.Array) -> pa.Array:
    """Parse the strings as numbers if all of them parse (CSV has no types), else return them unchanged."""
    try:
        return pc.cast(values, pa.float64())
    except pa.ArrowInvalid:
        return values
