"""What was probably meant by a value that is not allowed, as a sentence."""

from __future__ import annotations

from collections.abc import Iterable

_KEEP = {
    "none": "One document of each group stays in any case; to remove nothing, use neardup group or --dry-run.",
    "all": "To remove nothing, use neardup group or --dry-run.",
    "both": "To remove nothing, use neardup group or --dry-run.",
    "newest": "For the newest one name the column of the dates: max:COLUMN.",
    "latest": "For the latest one name the column of the dates: max:COLUMN.",
    "oldest": "For the oldest one name the column of the dates: min:COLUMN.",
    "earliest": "For the earliest one name the column of the dates: min:COLUMN.",
    "shortest": "For the shortest one name a column of lengths: min:COLUMN.",
    "max": "Name the column: max:COLUMN.",
    "max:": "Name the column: max:COLUMN.",
    "min": "Name the column: min:COLUMN.",
    "min:": "Name the column: min:COLUMN.",
}
"""What people mean who type something else than an order or a column."""


def near_miss(value: object, names: Iterable[str]) -> str:
    """The one of ``names`` that is written almost like ``value``, as a question; "" if none is.

    >>> near_miss("clasic", ["one-permutation", "classic"]), near_miss("best", ["longest", "first"])
    ("Did you mean 'classic'?", '')
    """
    if not isinstance(value, str):
        return ""
    from difflib import get_close_matches  # only where there is a mistake

    plain = {name.replace("-", "").replace("_", ""): name for name in names}
    found = get_close_matches(value.lower().replace("-", "").replace("_", "").strip(), plain, 1, 0.7)
    return f"Did you mean {plain[found[0]]!r}?" if found else ""


def of_keep(value: object, orders: Iterable[str]) -> str:
    """What was meant by a keep policy.

    >>> of_keep("max", ["first", "last"])
    'Name the column: max:COLUMN.'
    """
    known = _KEEP.get(value.lower().strip()) if isinstance(value, str) else None
    return known or near_miss(value, orders)


def of_features(value: object) -> str:
    """What was meant by a name of features: the kind, or the number that is missing.

    >>> of_features("words"), of_features("char"), of_features("char:99")
    ("Did you mean 'word'?", "Did you mean 'char:4'?", '')
    """
    if not isinstance(value, str) or any(map(str.isdigit, value)):
        return ""
    return near_miss(value, ("word", "char:4", "joined:4", "shingle:5"))


def of_share(value: object) -> str:
    """What was meant by a number far above 1 where a share is asked for: per cent.

    >>> of_share(80), of_share(2)
    ('Did you mean 0.8?', '')
    """
    is_percent = isinstance(value, int | float) and not isinstance(value, bool) and 10 <= value <= 100
    return f"Did you mean {value / 100:g}?" if is_percent else ""  # type: ignore[operator]


__all__ = ["near_miss", "of_features", "of_keep", "of_share"]
