"""Comparisons with metadata: their meaning, because queries hold text and metadata typed values; merged ones.

Any element of a list may match, and a value is compared as a string and as a number. So a comparison follows from
another one if it holds for every single value that the other one holds for. "n>5 AND n<3" is not a contradiction,
because a document may have both values.
"""

import re
from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

import numpy as np

from neardup.collection.contract import Operator, Value
from neardup.collection.fields import facts
from neardup.collection.query.syntax import FieldClause, Node, Not
from neardup.collection.view import TAGS, View
from neardup.tables import Int64s

_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?", re.ASCII)
_YEAR = re.compile(r"[12]\d{3}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)
_AFTER_ALL = "\U0010ffff"
OPERATORS: dict[str, Operator] = {":": "=", "=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

Meaning = tuple[Operator, Value]
"""A comparison with a value of one type."""


def matching_documents(clause: FieldClause, view: View, among: Int64s | None) -> Int64s:
    """The documents for which a comparison holds."""
    if clause.operator == "!=":
        others = view.compare(clause.field, "!=", clause.value, among)
        return np.setdiff1d(others, _with_value(clause, view, others), assume_unique=True)
    if OPERATORS[clause.operator] == "=":
        return _with_value(clause, view, among)
    return _any_of(clause.field, meanings(OPERATORS[clause.operator], clause.value), view, among)


def _with_value(clause: FieldClause, view: View, among: Int64s | None) -> Int64s:
    """The documents with this value, or with a date within this day, month or year."""
    alike = _any_of(clause.field, meanings("=", clause.value), view, among)
    begin = beginning(clause.value)
    if not begin or clause.field == TAGS:
        return alike
    return np.union1d(alike, _beginning_with(clause.field, begin, view, among))


def beginning(text: str) -> str:
    """The beginning of all dates within a day, a month or a year; "" for any other text.

    >>> beginning("2020"), beginning("2020-05"), beginning("5")
    ('2020-', '2020-05', '')
    """
    return f"{text}-" if _YEAR.fullmatch(text) else text if _DATE.fullmatch(text) else ""


def _beginning_with(field: str, begin: str, view: View, among: Int64s | None) -> Int64s:
    """The documents with a string that begins like this."""
    end = begin + _AFTER_ALL
    within = np.intersect1d(view.compare(field, ">=", begin, among), view.compare(field, "<", end, among))
    # one value before and another one after these strings: the two look-ups find such a list, too
    around = np.intersect1d(view.compare(field, ">=", end, within), view.compare(field, "<", begin, within))
    wrong = [
        number
        for number in around.tolist()
        if not any(
            name == field and isinstance(value, str) and value.startswith(begin)
            for name, value in facts(view.row(number).metadata)
        )
    ]
    return np.setdiff1d(within, np.array(wrong, np.int64), assume_unique=True)


def meanings(operator: Operator, text: str) -> list[Meaning]:
    """The alternatives of a comparison: with ``text`` as a string, and as a number if it is one.

    The comparison holds if any of them does. A day, a month or a year extends to its end, whatever is stored after
    it: <= and > compare with the first string after the dates that begin with it. A year is a number, too.

    >>> meanings(">", "12"), meanings("<=", "2020-01-31")
    ([('>', '12'), ('>', 12)], [('<', '2020-01-31\U0010ffff')])
    """
    if _DATE.fullmatch(text) and operator in ("<=", ">"):
        return [("<" if operator == "<=" else ">=", text + _AFTER_ALL)]
    number = _number(text)
    if _YEAR.fullmatch(text) and number is not None and operator in ("<=", ">"):
        return [("<" if operator == "<=" else ">=", f"{text}-{_AFTER_ALL}"), (operator, number)]
    return [(operator, text)] if number is None else [(operator, text), (operator, number)]


def _any_of(field: str, alternatives: list[Meaning], view: View, among: Int64s | None) -> Int64s:
    found = [view.compare(field, operator, value, among) for operator, value in alternatives]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _number(text: str) -> int | float | None:
    if _WHOLE.fullmatch(text):
        return int(text)
    number = float(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and isfinite(number) else None


Range: TypeAlias = tuple[Operator, Value]


def merged_parts(parts: Sequence[Node], *, all_needed: bool) -> tuple[Node, ...]:
    """The parts of an AND (``all_needed``) or an OR, in their order, without those that others make superfluous.

    >>> from neardup.collection.query import parse
    >>> [part.value for part in merged_parts(parse("n>=0 AND n>=1 AND n>=2").root.parts, all_needed=True)]
    ['2']
    """
    kept: list[Node] = []
    fields: dict[tuple[str, bool, str], list[int]] = {}
    left: set[int] = set()
    for place, part in enumerate(parts):
        kept.append(part)
        key = _key(part)
        if key is None:
            continue
        alike = fields.setdefault(key, [])
        if any(_says(parts[other], part, all_needed) for other in alike):
            left.add(place)
            continue
        gone = [other for other in alike if _says(part, parts[other], all_needed)]
        left.update(gone)
        fields[key] = [other for other in alike if other not in gone] + [place]
    return tuple(part for place, part in enumerate(kept) if place not in left)


def _key(part: Node) -> tuple[str, bool, str] | None:
    """The common key of comparisons that may imply each other; None for other clauses."""
    inner = part.part if isinstance(part, Not) else part
    if not isinstance(inner, FieldClause):
        return None
    return inner.field, isinstance(part, Not), inner.operator[0]


def _says(first: Node, second: Node, all_needed: bool) -> bool:
    """Whether the first makes the second superfluous: the second follows from it (AND), or it from that (OR)."""
    if isinstance(first, Not) and isinstance(second, Not):
        return _says(second.part, first.part, all_needed)
    if not (isinstance(first, FieldClause) and isinstance(second, FieldClause)):
        return False
    return _follows(second, first) if all_needed else _follows(first, second)


def _follows(weak: FieldClause, strong: FieldClause) -> bool:
    """Whether ``weak`` holds for every value that ``strong`` holds for; both compare in the same direction."""
    if weak.operator not in ("<", "<=", ">", ">="):
        return (weak.operator, weak.value) == (strong.operator, strong.value)
    wide, narrow = _by_kind(weak), _by_kind(strong)
    return all(kind in wide and _reaches(wide[kind], narrow[kind]) for kind in narrow)


def _by_kind(one: FieldClause) -> dict[bool, Range]:
    """The ranges of a comparison for strings (True) and for numbers (False)."""
    found = meanings(OPERATORS[one.operator], one.value)
    return {isinstance(value, str): (operator, value) for operator, value in found}


def _reaches(wide: Range, narrow: Range) -> bool:
    """Whether a range contains all of another one that is open to the same side."""
    (operator, limit), (other, inner) = wide, narrow
    if isinstance(limit, str) and isinstance(inner, str):
        below, equal = limit.encode() < inner.encode(), limit == inner
    elif isinstance(limit, str) or isinstance(inner, str):
        return False
    else:
        below, equal = limit < inner, limit == inner
    further = below if operator[0] == ">" else not (below or equal)
    return further or (equal and (operator == other or "=" in operator))
