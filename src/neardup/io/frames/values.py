"""Columns of Python values: the kind of a column by the types of all its values, and its values as Arrow."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.base import Kind


def is_missing(value: object) -> bool:
    """Whether a value means that there is none: None, NaN, ``pandas.NA``, ``pandas.NaT``.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def text_array(values: Sequence[Any]) -> pa.Array:
    """Return str, bytes and missing values as large_string, or as large_binary where one is not valid UTF-8."""
    present = [None if is_missing(value) else value for value in values]
    if not any(isinstance(value, bytes) for value in present):
        try:
            return pa.array(present, pa.large_string())
        except UnicodeEncodeError:
            pass
    # Lone surrogates have no UTF-8 form; as bytes they reach the kernel that counts and replaces them.
    return pa.array([_encoded(value) for value in present], pa.large_binary())


def _encoded(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


@dataclass
class ValueTypes:
    """The types of the values of one column, collected portion by portion."""

    types: set[type] = field(default_factory=set)

    def add(self, values: Iterable[Any]) -> None:
        """Take the types of some values; missing ones have none."""
        found = set(map(type, values)) - {type(None)}
        if any(issubclass(each, float | np.floating) or each.__name__ in ("NAType", "NaTType") for each in found):
            found = {type(value) for value in values if not is_missing(value)}
        self.types |= found

    def _all(self, *kinds: type) -> bool:
        return bool(self.types) and all(issubclass(each, kinds) for each in self.types)

    @property
    def is_text(self) -> bool:
        """Whether all values are strings, or there is none."""
        return not self.types or self._all(str, bytes)

    @property
    def kind(self) -> Kind:
        """The kind of the column. Strings and whole numbers together are text, as in ids."""
        truth, whole = (bool, np.bool_), (int, np.integer)
        if self._all(*truth):
            return "truth"
        if any(issubclass(each, truth) for each in self.types):
            return "other"
        if self._all(*whole):
            return "integer"
        if self._all(*whole, float, np.floating, Decimal):
            return "number"
        return "text" if not self.types or self._all(str, bytes, *whole) else "other"

    def type(self, values: Sequence[Any], name: str) -> pa.DataType:
        """The Arrow type of the column; ``values`` are looked at if their types do not show it.

        Raises InputError for values that Arrow has no type for.
        """
        plain = {"text": pa.large_string(), "integer": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
        if self.kind in plain:
            return plain[self.kind]
        if self._all(datetime.date) and not self._all(datetime.datetime):
            return pa.date32()
        return self.array(values, name).type

    def array(self, values: Sequence[Any], name: str) -> pa.Array:
        """Return values of the column as an Arrow array. Raises InputError if Arrow has no type for them."""
        try:
            if self.kind == "text":
                return text_array(values if self.is_text else [_as_text(value) for value in values])
            if self.kind == "number":
                return pa.array([None if is_missing(value) else float(value) for value in values], pa.float64())
            types = {"integer": pa.int64(), "truth": pa.bool_()}
            return pa.array(values, types.get(self.kind), from_pandas=True)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise InputError(
                f'The values of "{name}" cannot be used: {error}',
                "A column of strings, numbers, truth values or dates, each of one type",
                "Convert them, or leave that column out",
            ) from error

    def require_texts(self, values: Iterable[Any], name: str, first: int = 0) -> None:
        """Raise InputError for the first of the ``values`` that is not a string; ``first`` is its position."""
        if self.is_text:
            return
        for position, value in enumerate(values, first):
            if not (is_missing(value) or isinstance(value, str | bytes)):
                raise not_a_text(value, f'"{name}"', position)


def not_a_text(value: object, where: str, position: int) -> InputError:
    """The error for a value where a text is expected."""
    return InputError(
        f"{where} holds {type(value).__name__} at position {position}",
        "str, or None for no text",
        "Convert or drop that item",
    )


def _as_text(value: Any) -> Any:
    return value if is_missing(value) or isinstance(value, str | bytes) else str(value)


__all__ = ["ValueTypes", "is_missing", "not_a_text", "text_array"]
