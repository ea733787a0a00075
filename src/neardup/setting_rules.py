"""What a setting may hold: rules that test a value, and say in words what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

KEEP_ORDERS = ("longest", "first", "last")
KEEP_COLUMN = ("max:", "min:")


@dataclass(frozen=True)
class Rule:
    """What a field may hold: ``allowed`` says it in words, ``holds`` tests a value of the right type.

    ``hint`` says of another value what was probably meant, or nothing.
    """

    allowed: str
    holds: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""


def number(low: float, high: float, unit: str = "") -> Rule:
    """A number within bounds, both of them allowed."""
    words = f"a number from {low:g} to {high:g}" + (f" {unit}" if unit else "")
    return Rule(words, lambda value: low <= value <= high)


def similarity(low: float, words: str) -> Rule:
    """A threshold: above ``low`` and at most 1, a ratio of whole numbers that kernels can compare."""

    def holds(value: float) -> bool:
        return low < value <= 1 and Fraction(repr(float(value))).denominator <= 1_000_000

    return Rule(f"{words}, with at most six decimals", holds, of_share)


def one_of(*names: str) -> Rule:
    """One of these names."""
    return Rule("one of " + ", ".join(names), lambda value: value in names, lambda value: near_miss(value, names))


def keep_policy(value: str) -> bool:
    """Whether it is an order, or a column to take the largest or smallest value of."""
    return value in KEEP_ORDERS or (value.startswith(KEEP_COLUMN) and len(value) > 4)


_NOT_FOR_DOCUMENTS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "undefined"}


def is_encoding(name: str) -> bool:
    """Whether it is auto, or an encoding of text that Python knows."""
    if name == "auto":
        return True
    if name.lower().replace("-", "_") in _NOT_FOR_DOCUMENTS:
        return False
    try:
        return "\n" in "\n".encode(name).decode(name)
    except (LookupError, ValueError, TypeError):
        return False


def is_delimiter(value: str) -> bool:
    """Whether the fields of a line may be separated by it."""
    return len(value) == 1 and value.isascii() and (value == "\t" or value.isprintable()) and value not in "\"'"


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
