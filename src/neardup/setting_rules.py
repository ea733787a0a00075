"""What a setting may hold: rules that test a value, and say in words what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from neardup.hints import near_miss, of_share

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
