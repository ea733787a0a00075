"""The meaning of a metadata comparison: queries contain text, metadata has typed values."""

from __future__ import annotations

import re
from math import isfinite

import numpy as np

from neardup.collection.contract import Operator, Value
from neardup.collection.lookups import Lookups
from neardup.collection.query.syntax import FieldClause
from neardup.tables import Int64s

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)
_AFTER_ALL = "\U0010ffff"
OPERATORS: dict[str, Operator] = {":": "=", "=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

Meaning = tuple[Operator, Value]
"""A comparison with a value of one type."""


def compared(clause: FieldClause, lookups: Lookups, among: Int64s | None) -> Int64s:
    """The documents for which a comparison holds."""
    if clause.operator == "!=":
        others = lookups.compare(clause.field, "!=", clause.value, among)
        equal = _any_of(clause.field, meanings("=", clause.value), lookups, others)
        return np.setdiff1d(others, equal, assume_unique=True)
    return _any_of(clause.field, meanings(OPERATORS[clause.operator], clause.value), lookups, among)


def meanings(operator: Operator, text: str) -> list[Meaning]:
    """The alternatives of a comparison: with ``text`` as a string, and as a number if it is one.

    The comparison holds if any of them does. A day or a month extends to its end, whatever time of day is stored:
    <= and > compare with the first string after all strings that begin with it.

    >>> meanings(">", "12"), meanings("<=", "2020-01-31")
    ([('>', '12'), ('>', 12)], [('<', '2020-01-31\U0010ffff')])
    """
    if _DATE.fullmatch(text) and operator in ("<=", ">"):
        return [("<" if operator == "<=" else ">=", text + _AFTER_ALL)]
    number = _number(text)
    return [(operator, text)] if number is None else [(operator, text), (operator, number)]


def _any_of(field: str, alternatives: list[Meaning], lookups: Lookups, among: Int64s | None) -> Int64s:
    found = [lookups.compare(field, operator, value, among) for operator, value in alternatives]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _number(text: str) -> int | float | None:
    if _WHOLE.fullmatch(text):
        return int(text)
    number = float(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and isfinite(number) else None
