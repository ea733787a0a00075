"""Rows of Python objects in memory: texts in a list or an array, records in a list of dict, columns in a dict."""

import datetime
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers.base import Column, Kind
from neardup.io.readers.columns import TEXT_NAMES
from neardup.io.readers.memory import HeldRows
from neardup.tables import Bools


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
    return pa.array([_encoded_value(value) for value in present], pa.large_binary())


def _encoded_value(value: Any) -> Any:
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
            # Arrow knows the missing values of pandas only where it found pandas
            return pa.array([None if is_missing(value) else value for value in values], types.get(self.kind))
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
                raise not_a_text_error(value, f'"{name}"', position)


def not_a_text_error(value: object, where: str, position: int) -> InputError:
    """The error for a value where a text is expected."""
    return InputError(
        f"{where} holds {type(value).__name__} at position {position}",
        "str, or None for no text; (id, text) to name the documents",
        "Convert or drop that item",
    )


def _as_text(value: Any) -> Any:
    return value if is_missing(value) or isinstance(value, str | bytes) else str(value)


class StringRows(HeldRows):
    """Strings in a list, a tuple or a one-dimensional array of numpy, as the one column ``text``.

    A missing value (None or NaN) is a document without text.
    """

    columns = (Column("text", "text"),)

    def __init__(self, texts: Sequence[Any]) -> None:
        self._texts = texts
        if not isinstance(texts, np.ndarray) or texts.dtype.kind == "O":
            require_texts(texts)

    def __len__(self) -> int:
        return len(self._texts)

    def type_of(self, name: str) -> pa.DataType:
        """The type of the texts."""
        return pa.large_string()

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return some of the texts, once for each name."""
        part = self._texts[start:stop]
        array = text_array(part.tolist() if isinstance(part, np.ndarray) else part)
        return pa.table([array] * len(names), names=list(names))

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the texts that stay, in an object of the same type."""
        if isinstance(self._texts, np.ndarray):
            return self._texts[stays]
        return chosen(self._texts, stays)


class _ValueRows(HeldRows):
    """Columns of Python values, each with the type of all its values."""

    def __init__(self, types: dict[str, ValueTypes]) -> None:
        self._found = types
        self.columns = tuple(Column(name, found.kind) for name, found in types.items())
        self._types: dict[str, pa.DataType] = {}

    @abstractmethod
    def values(self, name: str, start: int = 0, stop: int | None = None) -> list[Any]:
        """Return the values of some rows in a column."""

    def type_of(self, name: str) -> pa.DataType:
        if name not in self._types:
            self._types[name] = self._found[name].type(self.values(name), name)
        return self._types[name]

    def table(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        columns = ((name, self.values(name, start, stop)) for name in names)
        arrays = [typed_values(self._found[name], values, name, self.type_of(name)) for name, values in columns]
        return pa.table(arrays, names=list(names))

    def require(self, text: str) -> None:
        """Raise InputError if a value of the column is not a string."""
        self._found[text].require_texts(self.values(text), text)


class RecordRows(_ValueRows):
    """Mappings with the values of columns; a key that a record lacks has no value there."""

    def __init__(self, records: Sequence[Any]) -> None:
        super().__init__(types_of(records, {}))
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def values(self, name: str, start: int = 0, stop: int | None = None) -> list[Any]:
        """Return the values of some records under a name."""
        return values_of(self._records[start:stop], name)

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the records that stay, the same objects."""
        return chosen(self._records, stays)


class ColumnRows(_ValueRows):
    """A dict of columns of the same length: lists, tuples or arrays of numpy."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {str(name): values for name, values in columns.items()}
        self._given = columns
        self._require_columns()
        types = {name: ValueTypes() for name in self._columns}
        for name, found in types.items():
            found.add(self.values(name))
        super().__init__(types)

    def _require_columns(self) -> None:
        lengths = {}
        for name, values in self._columns.items():
            if not isinstance(values, list | tuple | np.ndarray):
                raise InputError(
                    f'The dict holds {type(values).__name__} under "{name}"',
                    "A dict of columns, which are lists of one length, a dict of texts by id, or a list of dict",
                    "Convert that value to a list, or give [record] for one record",
                )
            lengths[name] = len(values)
        if len(set(lengths.values())) > 1:
            said = ", ".join(f'"{name}" has {count:,}' for name, count in list(lengths.items())[:3])
            raise InputError(
                f"The columns have different lengths: {said}", "Columns of one length", "Correct them"
            )

    def values(self, name: str, start: int = 0, stop: int | None = None) -> list[Any]:
        """Return the values of some rows in a column."""
        part = self._columns[name][start:stop]
        return part.tolist() if isinstance(part, np.ndarray) else list(part)

    def __len__(self) -> int:
        return len(next(iter(self._given.values()), ()))

    def rows_that_stay(self, stays: Bools) -> dict[Any, Any]:
        """Return a dict of the same columns, with the values that stay."""
        return {
            name: values[stays] if isinstance(values, np.ndarray) else chosen(values, stays)
            for name, values in self._given.items()
        }


class NamedRows(ColumnRows):
    """Texts by id in a dict, or pairs (id, text) in a list or a tuple; the columns are ``id`` and ``text``."""

    given = "text", "id"

    def __init__(self, given: Mapping[Any, Any] | Sequence[Any]) -> None:
        self._pairs = list(given.items()) if isinstance(given, Mapping) else given
        self._by_id = isinstance(given, Mapping)
        for position, pair in enumerate(self._pairs):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise _not_a_pair_error(pair, position)
            if isinstance(pair[0], bool) or not isinstance(pair[0], str | int | np.integer):
                raise InputError(
                    f"The id {pair[0]!r} is a {type(pair[0]).__name__}",
                    "Ids that are strings or whole numbers, as in {id: text} and (id, text)",
                    "Convert it with str",
                )
        require_texts(text for _, text in self._pairs)
        super().__init__({"id": [id for id, _ in self._pairs], "text": [text for _, text in self._pairs]})

    def rows_that_stay(self, stays: Bools) -> Any:
        """Return the texts by id that stay as a dict, or the pairs that stay, the same objects."""
        left = chosen(self._pairs, stays)
        return dict(left) if self._by_id else left


def _not_a_pair_error(item: object, position: int) -> InputError:
    what = f"a tuple of {len(item)}" if isinstance(item, tuple) else type(item).__name__
    return InputError(
        f"The list holds {what} at position {position}", "Pairs (id, text)", "Convert or drop that item"
    )


def are_texts_by_id(values: Mapping[Any, Any]) -> bool:
    """Whether a dict has a text, or None, under each of its keys, of which none is the name of a column of texts.

    >>> are_texts_by_id({"a/1": "a text", "a/2": None}), are_texts_by_id({"id": "a/1", "text": "a record"})
    (True, False)
    """
    texts = all(isinstance(value, str | bytes) or is_missing(value) for value in values.values())
    return bool(values) and texts and not any(name in values for name in TEXT_NAMES)


def chosen(items: Sequence[Any], stays: Bools) -> Any:
    """Return the items that stay, as a tuple if they were one, else as a list."""
    left = compress(items, stays.tolist())
    return tuple(left) if isinstance(items, tuple) else list(left)


def typed_values(found: ValueTypes, values: Sequence[Any], name: str, type_: pa.DataType) -> pa.Array:
    """Return values of a column in its type; texts that are not valid UTF-8 stay bytes."""
    array = found.array(values, name)
    if array.type.equals(type_) or found.kind == "text":
        return array
    try:
        return array.cast(type_)
    except pa.ArrowException as error:
        raise InputError(f'The values of "{name}" cannot be used: {error}', "Values of one type") from error


def require_texts(texts: Iterable[Any], first: int = 0) -> None:
    """Raise InputError for an item that is not a str; ``first`` is the position of the first item."""
    for position, text in enumerate(texts, first):
        if not isinstance(text, str) and not is_missing(text):
            raise not_a_text_error(text, "The list", position)


def values_of(records: Sequence[Any], name: str) -> list[Any]:
    """The value of each record under a name, or None."""
    return [record.get(name) for record in records]


def types_of(records: Sequence[Any], known: dict[str, ValueTypes], first: int = 0) -> dict[str, ValueTypes]:
    """Add the types of the values of some records to those ``known``, by name; ``first`` is the first position.

    Raises InputError for an item that is not a mapping with names of type str.
    """
    names: dict[Any, None] = {}
    for position, record in enumerate(records, first):
        if not isinstance(record, Mapping):
            raise InputError(
                f"The list holds {type(record).__name__} at position {position}, after dict",
                "A list of str, or a list of dict",
                "Convert or drop that item",
            )
        names.update(dict.fromkeys(record))
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"A record has the key {name!r}", "Keys of type str", "Rename it")
        known.setdefault(name, ValueTypes()).add(values_of(records, name))
    return known
