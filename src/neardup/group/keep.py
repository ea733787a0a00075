"""The document of a group that stays: the keep policies, one after the other, as an order over all rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.labels import as_text, require_labels
from neardup.settings.rules import KEEP_COLUMN, listed, order_of
from neardup.tables import Floats, Int64s

Keeping = str | tuple[str, ...]
"""One policy, or several in order."""


def keep_column(policy: str) -> str | None:
    """The column that ``max:``, ``min:`` or ``order:`` names, or None for the other policies."""
    listed_values = order_of(policy)
    if listed_values is not None:
        return listed_values[0]
    return policy[4:] if policy.startswith(KEEP_COLUMN) else None


def keep_columns(keep: Keeping) -> tuple[str, ...]:
    """The columns that the policies name, each once."""
    return tuple(dict.fromkeys(name for policy in listed(keep) if (name := keep_column(policy))))


def keep_rank(keep: Keeping, units: Int64s, first_new: int, extra: Mapping[str, pa.Array]) -> Int64s:
    """The rank of every row (a permutation, 0 is kept first).

    The rows before ``first_new`` are the reference set and come before all others. ``extra`` holds the columns
    that policies name for the rows after them; rows without a value come last. Ties go to the next policy, and at
    last to the first in input order.
    """
    n = len(units)
    keys = [np.arange(n) >= first_new, *(_worst_first(policy, units, first_new, extra) for policy in listed(keep))]
    order = np.lexsort((np.arange(n), *keys[::-1]))
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    return rank


def require_order(policy: str, kind: pa.DataType) -> None:
    """Raise InputError if a policy cannot use values of this type, before any value is read."""
    _sort_values(policy, pa.array([], kind))


def never_listed(keep: Keeping, extra: Mapping[str, pa.Array]) -> list[str]:
    """Notes on values that an order: policy lists and its column does not have, as after a typing error."""
    notes = []
    for policy in listed(keep):
        found = order_of(policy)
        if found is None or found[0] not in extra:
            continue
        known = as_text(extra[found[0]])
        missing = [value for value in found[1] if not pc.any(pc.equal(known, value)).as_py()]
        if missing:
            notes.append(
                f'--keep order: no document has {", ".join(map(repr, missing))} in the column "{found[0]}"'
            )
    return notes


def _worst_first(policy: str, units: Int64s, first_new: int, extra: Mapping[str, pa.Array]) -> Floats:
    """float64[rows]: smaller is better; none orders rows as longest does."""
    values = np.zeros(len(units))
    if policy in ("longest", "none"):
        values = -units.astype(np.float64)
    elif policy == "last":
        values = -np.arange(len(units), dtype=np.float64)
    elif (name := keep_column(policy)) is not None and name in extra:
        values[first_new:] = _sort_values(policy, extra[name])
    return values


def _sort_values(policy: str, extra: pa.Array) -> Floats:
    """Smaller is better: dense ranks of the values, so that dates and long integers keep their order."""
    found = order_of(policy)
    if found is not None:
        require_labels(extra.type, found[0], f"--keep {policy}")
        text = as_text(extra)
        places = pc.fill_null(pc.index_in(text, pa.array(found[1], pa.large_string())), len(found[1]))
        listed_first: Floats = places.to_numpy(zero_copy_only=False).astype(np.float64)
        listed_first[text.is_null().to_numpy(zero_copy_only=False)] = np.inf
        return listed_first
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
