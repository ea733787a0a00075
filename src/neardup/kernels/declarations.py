"""The types of kernels in words: the arguments and results of an entry, declared where it is written.

``uint64[:], out int64[:], Key -> (int32[:], int64)`` declares three arguments and a tuple of two results. All
arrays are C-contiguous; ``int64[:, :]`` has two dimensions. An array that the kernel writes has the word ``out``
before it. A name such as ``Key`` is a named tuple whose fields are annotated with the types of this module.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

SCALARS = {"bool": "?", "int64": "q", "uint64": "Q", "uint32": "I", "uint8": "B", "float64": "d"}
"""The numbers that an entry takes or returns, each with its letter of ``struct``."""

Int64 = Annotated[Any, "int64"]
Uint64 = Annotated[Any, "uint64"]
Uint8 = Annotated[Any, "uint8"]
Bools = Annotated[Any, "bool[:]"]
Uint8s = Annotated[Any, "uint8[:]"]
Uint16s = Annotated[Any, "uint16[:]"]
Int32s = Annotated[Any, "int32[:]"]
Uint32s = Annotated[Any, "uint32[:]"]
Int64s = Annotated[Any, "int64[:]"]
Uint64s = Annotated[Any, "uint64[:]"]
Float64s = Annotated[Any, "float64[:]"]

_WORD = re.compile(r"\s*(->|[\w.]+(?:\[[:, ]+\])?|[(),])")
_ARRAY = re.compile(r"(\w+)\[(:(?:, :)*)\]")


_records: dict[str, type] = {}
R = TypeVar("R", bound=type)


def record(named: R) -> R:
    """Let declarations use a named tuple by its name; its fields have types of this module.

    >>> @record
    ... class Span(NamedTuple):
    ...     begin: Int64
    ...     ends: Int64s
    >>> read("Span -> int64").arguments[0].fields
    (Scalar(dtype='int64'), Array(dtype='int64', dimensions=1, out=False))
    """
    _records[named.__name__] = named
    return named


class Scalar(NamedTuple):
    """A number."""

    dtype: str


class Array(NamedTuple):
    """A C-contiguous array; ``out``: the kernel writes it."""

    dtype: str
    dimensions: int
    out: bool


class TupleType(NamedTuple):
    """A tuple of values; ``named`` is its class, None for a plain tuple."""

    named: type | None
    fields: tuple[Type, ...]


class Declaration(NamedTuple):
    """The arguments of an entry, and its result: None, a value, or a tuple of values."""

    arguments: tuple[Type, ...]
    result: Type | None


Type = Scalar | Array | TupleType


def spelled(of: Type | Declaration | None) -> str:
    """Return a type, or a whole declaration with the fields of its named tuples, in words.

    >>> spelled(read("uint64[:, :], (out int64[:], bool) -> None"))
    'uint64[:, :], (out int64[:], bool) -> None'
    """
    if isinstance(of, Declaration):
        return f"{', '.join(map(spelled, of.arguments))} -> {spelled(of.result)}"
    if isinstance(of, Array):
        return f"{'out ' if of.out else ''}{of.dtype}[{', '.join(':' * of.dimensions)}]"
    if isinstance(of, TupleType):
        return f"{of.named.__name__ if of.named else ''}({', '.join(map(spelled, of.fields))})"
    return of.dtype if of else "None"


def read(words: str) -> Declaration:
    """Return a declaration that is given in words. Raises ValueError if they are none.

    >>> read("uint64[:], int64 -> out")
    Traceback (most recent call last):
        ...
    ValueError: 'out' is no type of a kernel: uint64[:], int64 -> out
    >>> read("int64[:, :] -> bool")
    Declaration(arguments=(Array(dtype='int64', dimensions=2, out=False),), result=Scalar(dtype='bool'))
    """
    return _Reader(words).signature()


class _Reader:
    def __init__(self, words: str) -> None:
        self._words = words
        self._left = _WORD.findall(words)[::-1]

    def signature(self) -> Declaration:
        arguments = () if self._next() == "->" else self._several("->")
        self._take("->")
        result = None if self._next() == "None" else self._type(False)
        if result is None:
            self._take("None")
        if self._left:
            raise ValueError(f"more words than a declaration has: {self._words}")
        return Declaration(arguments, result)

    def _next(self) -> str:
        return self._left[-1] if self._left else ""

    def _take(self, word: str) -> None:
        if self._next() != word:
            raise ValueError(f"{word!r} is missing: {self._words}")
        self._left.pop()

    def _several(self, end: str, out: bool = False) -> tuple[Type, ...]:
        found = [self._type(out)]
        while self._next() != end:
            self._take(",")
            if self._next() != end:
                found.append(self._type(out))
        return tuple(found)

    def _type(self, out: bool) -> Type:
        word = self._left.pop() if self._left else ""
        if word == "out" and self._next() not in ("", ",", ")", "->"):
            return self._type(True)
        if word == "(":
            fields = self._several(")", out)
            self._take(")")
            return TupleType(None, fields)
        if word in SCALARS or _ARRAY.fullmatch(word):
            return _plain(word, out)
        named = _records.get(word)
        if named is None:
            raise ValueError(f"{word!r} is no type of a kernel: {self._words}")
        return of_class(named, out)


def _plain(word: str, out: bool) -> Type:
    array = _ARRAY.fullmatch(word)
    return Array(array[1], array[2].count(":"), out) if array else Scalar(word)


def of_class(named: Any, out: bool = False) -> TupleType:
    """Return the type of a named tuple, by the annotations of its fields. Raises ValueError without them."""
    hints = get_type_hints(named, include_extras=True)
    return TupleType(named, tuple(_of_hint(named, field, hints[field], out) for field in named._fields))


def _of_hint(named: type, field: str, hint: Any, out: bool) -> Type:
    if hint is int:
        return Scalar("int64")
    if get_origin(hint) is Annotated:
        return _plain(get_args(hint)[1], out)
    if get_origin(hint) is tuple:
        return TupleType(None, tuple(_of_hint(named, field, part, out) for part in get_args(hint)))
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return of_class(hint, out)
    raise ValueError(f"{named.__name__}.{field} has no type of a kernel: {hint}")
