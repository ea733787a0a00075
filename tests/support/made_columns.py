"""Columns of all Arrow types that current programs write: to be read as text, or to be carried beside it."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa

LONG = "a string that is longer than the twelve bytes of a view"
_D, _DAY = decimal.Decimal, datetime.date(2020, 1, 31)


def bystanders(rows: int) -> dict[str, Any]:
    """Return columns of ``rows`` rows by the name of their type, of the types that this pyarrow has."""
    found = {str(type_): pa.array(list(islice(cycle(values), rows)), type_) for type_, values in _plain()}
    places = [[0, 1, None, 2, 1][i % 5] for i in range(rows)]
    for values in _dictionaries():
        for index in (pa.int8(), pa.uint32(), pa.int64()):
            made = pa.DictionaryArray.from_arrays(pa.array(places, index), values)
            found[str(made.type)] = made
    ends = pa.array([*range(2, rows, 2), rows], pa.int32())
    for type_, values in list(_plain())[:8]:
        each = pa.array(list(islice(cycle(values), len(ends))), type_)
        made = pa.RunEndEncodedArray.from_arrays(ends, each)
        found[str(made.type)] = made
    for made in (*_nested(found["dictionary<values=string, indices=int8, ordered=0>"]), *_extensions(rows)):
        found[str(made.type)] = made
    return found


def texts(values: Sequence[str | None]) -> dict[str, Any]:
    """Return the texts as columns of all types that hold text, by name."""
    raw = [None if value is None else value.encode() for value in values]
    found = {str(kind): pa.array(values, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())}
    found |= {str(kind): pa.array(raw, kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())}
    distinct = sorted({value for value in values if value is not None})
    places = pa.array([None if value is None else distinct.index(value) for value in values], pa.int32())
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        made = pa.DictionaryArray.from_arrays(places, pa.array(distinct, kind))
        found[str(made.type)] = made
    if hasattr(pa, "json_"):
        found["json"] = pa.ExtensionArray.from_storage(pa.json_(), pa.array(values))
    return found


def _plain() -> Iterator[tuple[Any, list[Any]]]:
    """Yield types and values of them; the first ones are also made into runs."""
    strings, raw = ["x", None, LONG, "é", ""], [b"x", None, LONG.encode(), b"\xff\0", b""]
    yield from ((kind, strings) for kind in (pa.string(), pa.large_string(), pa.string_view()))
    yield from ((kind, raw) for kind in (pa.binary(), pa.large_binary(), pa.binary_view()))
    yield pa.int64(), [1, None, -2]
    yield pa.float64(), [1.5, None, float("inf")]
    yield from ((kind, [1, None, 2]) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()))
    yield from ((kind, [1, None, 2]) for kind in (pa.uint32(), pa.uint64(), pa.float32()))
    yield pa.float16(), [np.float16(1.5), None, np.float16(-2)]
    yield pa.bool_(), [True, False, None]
    yield pa.null(), [None]
    yield pa.binary(3), [b"abc", None, b"\0\xff\1"]
    numbers = [_D("1.234"), None, _D("-5.000")]
    yield from ((kind, numbers) for kind in (pa.decimal128(20, 3), pa.decimal256(50, 3)))
    if hasattr(pa, "decimal32"):
        yield from ((kind, numbers) for kind in (pa.decimal32(7, 3), pa.decimal64(15, 3)))
    yield from ((kind, [_DAY, None]) for kind in (pa.date32(), pa.date64()))
    yield from ((kind, [5, None]) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")))
    for unit in ("s", "ms", "us", "ns"):
        yield pa.duration(unit), [5, None, -1]
        yield from ((pa.timestamp(unit, zone), [1_577_836_800, None, -5]) for zone in (None, "UTC", "+03:00"))
    yield pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3]), None]
    whole, words = [[1, 2], None, [], [None]], [["a", LONG], None, [], [None]]
    yield from ((kind(pa.int32()), whole) for kind in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view))
    views = pa.string_view()
    yield from ((kind(views), words) for kind in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view))
    yield pa.list_(pa.list_(pa.binary_view())), [[[b"a", LONG.encode()], None], None]
    yield pa.list_(views, 2), [["a", LONG], None, ["b", None]]
    inner = pa.struct([("a", pa.binary_view()), ("b", pa.list_view(pa.int8())), ("c", pa.list_(views))])
    yield inner, [{"a": b"1", "b": [1, 2], "c": [LONG]}, None, {"a": None, "b": None, "c": []}]
    yield pa.map_(pa.string(), pa.int32()), [[("a", 1)], None, []]
    yield pa.map_(views, views), [[("a", LONG)], None, []]


def _dictionaries() -> Iterator[Any]:
    words = ["x", LONG, "é"]
    yield from (pa.array(words, kind) for kind in (pa.string(), pa.large_string(), pa.string_view()))
    yield pa.array([b"x", b"\xff", LONG.encode()])
    yield pa.array([5, 6, 7])
    yield pa.array([[5], [6], []])


def _nested(dictionary: Any) -> Iterator[Any]:
    """Yield lists and records of a dictionary, and unions."""
    rows = len(dictionary)
    yield pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), dictionary)
    yield pa.StructArray.from_arrays([dictionary], ["a"])
    kinds = pa.array([i % 2 for i in range(rows)], pa.int8())
    both = [pa.array(range(rows)), pa.array([f"s{i}" for i in range(rows)])]
    yield pa.UnionArray.from_sparse(kinds, both)
    yield pa.UnionArray.from_dense(kinds, pa.array(range(rows), pa.int32()), both)


def _extensions(rows: int) -> Iterator[Any]:
    numbers = pa.array([uuid.UUID(int=i).bytes for i in range(rows)], pa.binary(16))
    names = pa.ExtensionArray.from_storage(pa.uuid(), numbers)
    yield names
    yield pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), names)
    yield pa.ExtensionArray.from_storage(pa.bool8(), pa.array([i % 2 for i in range(rows)], pa.int8()))
    words = list(islice(cycle(["x", None, LONG]), rows))
    yield pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "t", "v"), pa.array(words))
    pairs = pa.array([[i, i] for i in range(rows)], pa.list_(pa.int32(), 2))
    yield pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), [2]), pairs)
    if hasattr(pa, "json_"):
        for kind in (pa.string(), pa.string_view()):
            yield pa.ExtensionArray.from_storage(pa.json_(kind), pa.array(['{"a": 1}'] * rows, kind))
