"""Calls of the compiled kernels: the way of arguments into the library, and of results out of it.

Each entry is one function of the library, ``int32 function(int64 words[])``. The words are the arguments in order
(an array: address and shape; a number: itself; a tuple: its parts), then room for the results (an array: owner,
address and shape), then for an error. ctypes releases the GIL during the call.

An entry of several types is one function for each: the type of one of its arrays tells which.
"""

from __future__ import annotations

import ctypes
import inspect
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from neardup.kernels.declarations import SCALARS, Array, Declaration, Scalar, TupleType, Type, spelled
from neardup.kernels.native import library

_COPIED = 1 << 16
"""Bytes of a result up to which a copy costs less than an owner that frees it."""
_CONTIGUOUS, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400  # flags of NumPy's arrays


def call_of(kernel: str, function: Any, signatures: Sequence[Declaration]) -> Callable[..., Any]:
    """Return how Python calls an entry. Raises LibraryError if the library has not all its declarations."""
    calls = [Call(kernel, number, function, signature) for number, signature in enumerate(signatures)]
    return calls[0] if len(calls) == 1 else Overloads(calls)


class _UnlikeError(Exception):
    """An argument is not of the declared type."""


Put = Callable[[Any, Callable[[Any], None]], None]


class Call:
    """An entry as Python calls it."""

    def __init__(self, kernel: str, number: int, function: Any, signature: Declaration) -> None:
        opened = library()
        self.name = kernel.rpartition(":")[2]
        self.signature, self._parameters = signature, inspect.signature(function)
        self.count = len(signature.arguments)
        self._function = opened.function(kernel, number, spelled(signature))
        self._puts = [_put(type) for type in signature.arguments]
        taken = "".join(map(_letters, signature.arguments))
        given = _letters(signature.result, owned="Q") if signature.result else ""
        self._taken, self._given = struct.Struct(f"={taken}"), struct.Struct(f"={given}")
        self._error_at = self._taken.size + self._given.size
        self._words = ctypes.c_int64 * (self._error_at // 8 + 2)
        self._shaped = _shaped(signature.result, opened.release)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the kernel. Raises TypeError for arguments of other types, and the errors of the kernel."""
        if named or len(arguments) != self.count:
            arguments = self.bound(arguments, named)
        values: list[Any] = []
        append = values.append
        words = self._words()
        try:
            for put, argument in zip(self._puts, arguments, strict=True):
                put(argument, append)
            self._taken.pack_into(words, 0, *values)
        except (_UnlikeError, struct.error, AttributeError, TypeError, ValueError):
            why = self.difference(arguments) or "the arguments are not of the declared types"
            raise TypeError(f"{self.name}: {why}") from None
        if self._function(words):
            raise self._raised(words)
        shaped = self._shaped
        if shaped is None:
            return None
        return shaped(iter(self._given.unpack_from(words, self._taken.size)), arguments)

    def _raised(self, words: Any) -> BaseException:
        """Return the error that the kernel raised: Numba keeps it pickled in the code."""
        at, size = words[self._error_at // 8], words[self._error_at // 8 + 1]
        kind, details, *_ = pickle.loads(ctypes.string_at(at, size))
        error = kind(*(details or ()))
        return error if isinstance(error, BaseException) else RuntimeError(f"{self.name}: {error}")

    def bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in order. Raises TypeError for a missing one, and for one that is not declared."""
        bound = self._parameters.bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args

    def difference(self, arguments: tuple[Any, ...]) -> str:
        """Return how the first argument that is not of the declared type differs from it, or ""."""
        declared = zip(self.parameters, self.signature.arguments, arguments, strict=True)
        return next((why for name, of, value in declared if (why := _difference(name, of, value))), "")

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments."""
        return list(self._parameters.parameters)


class Overloads:
    """An entry of several types. The first array that has another type in each tells which one is called."""

    def __init__(self, calls: list[Call]) -> None:
        self._first = calls[0]
        self._place, self._of_type = _told_apart(calls)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the kernel, like ``Call``. Raises TypeError for an array that is of none of its types."""
        if named or len(arguments) != self._first.count:
            arguments = self._first.bound(arguments, named)
        call = self._of_type.get(getattr(arguments[self._place], "dtype", None))
        if call is None:
            raise self._refused(arguments[self._place])
        return call(*arguments)

    def _refused(self, value: Any) -> TypeError:
        types = [spelled(call.signature.arguments[self._place]) for call in self._of_type.values()]
        allowed = f"{', '.join(types[:-1])} or {types[-1]}, contiguous"
        return TypeError(
            f"{self._first.name}: {self._first.parameters[self._place]} is {_kind(value)}, not {allowed}"
        )


def _told_apart(calls: list[Call]) -> tuple[int, dict[Any, Call]]:
    """Return the place of the argument that tells the calls apart, and each call by the type of that array."""
    for place, types in enumerate(zip(*(call.signature.arguments for call in calls), strict=True)):
        of_type = {
            np.dtype(type.dtype): call for type, call in zip(types, calls, strict=True) if isinstance(type, Array)
        }
        if len(of_type) == len(calls):
            return place, of_type
    raise ValueError(f"the declarations of {calls[0].name} differ in the type of no array")


def _letters(type: Type, owned: str = "") -> str:
    """Return the format of the words of a value, as ``struct`` has it; ``owned`` precedes arrays in a result."""
    if isinstance(type, Array):
        return f"{owned}Q{'q' * type.dimensions}"
    if isinstance(type, Scalar):
        return _padded(type.dtype)
    return "".join(_letters(field, owned) for field in type.fields)


def _padded(dtype: str) -> str:
    letter = SCALARS[dtype]
    return f"{letter}{8 - struct.calcsize('=' + letter)}x" if letter not in "qQd" else letter


def _put(type: Type) -> Put:
    """Return the function that appends the words of an argument, or raises if it is of another type."""
    if isinstance(type, Array):
        return _put_array(type)
    if isinstance(type, Scalar):
        return _put_truth if type.dtype == "bool" else _put_number
    puts = [_put(field) for field in type.fields]
    constant: tuple[Any, list[Any]] = (object(), [])  # the last record of read-only arrays, and its words

    def put(record: Any, append: Callable[[Any], None]) -> None:
        nonlocal constant
        known, words = constant
        if record is not known:
            if not isinstance(record, tuple):
                raise _UnlikeError
            words = []
            for field, value in zip(puts, record, strict=True):
                field(value, words.append)
            if all(isinstance(value, np.ndarray) and not value.flags.writeable for value in record):
                constant = record, words
        for word in words:
            append(word)

    return put


def _put_number(value: Any, append: Callable[[Any], None]) -> None:
    append(value)


def _put_truth(value: Any, append: Callable[[Any], None]) -> None:
    if not isinstance(value, bool | np.bool_):
        raise _UnlikeError
    append(value)


def _put_array(type: Array) -> Put:
    dtype, dimensions = np.dtype(type.dtype), type.dimensions
    flags = _CONTIGUOUS | _ALIGNED | (_WRITABLE if type.out else 0)
    array = np.ndarray

    def put(value: Any, append: Callable[[Any], None]) -> None:
        if not isinstance(value, array) or (value.dtype is not dtype and value.dtype != dtype):
            raise _UnlikeError
        if value.flags.num & flags != flags or value.ndim != dimensions:
            raise _UnlikeError
        append(value.__array_interface__["data"][0])
        for size in value.shape:
            append(size)

    return put


def _difference(name: str, type: Type, value: Any) -> str:
    """Return how a value differs from the declared type, or ""."""
    if isinstance(type, TupleType):
        if not isinstance(value, tuple) or len(value) != len(type.fields):
            return f"{name} is {_kind(value)}, not a tuple of {len(type.fields)}"
        fields = getattr(type.named, "_fields", range(len(type.fields)))
        parts = zip(fields, type.fields, value, strict=True)
        return next((why for at, of, part in parts if (why := _difference(f"{name}.{at}", of, part))), "")
    try:
        values: list[Any] = []
        _put(type)(value, values.append)
        struct.pack(f"={_letters(type)}", *values)
    except (_UnlikeError, struct.error, TypeError, ValueError):
        return f"{name} is {_kind(value)}, not {spelled(type)}{', contiguous' if isinstance(type, Array) else ''}"
    return ""


def _kind(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"{value!r:.60} ({value.__class__.__name__})"
    words = [f"{value.dtype}[{', '.join(':' * value.ndim)}]"]
    flags = value.flags
    words += [] if flags.c_contiguous else ["not contiguous"]
    words += [] if flags.aligned else ["not aligned"]
    words += [] if flags.writeable else ["read-only"]
    return ", ".join(words)


Shaped = Callable[[Iterator[Any], tuple[Any, ...]], Any]


def _shaped(type: Type | None, release: Any) -> Shaped | None:
    """Return the function that makes a result of its words."""
    if type is None:
        return None
    if isinstance(type, Scalar):
        return lambda words, _: next(words)
    if isinstance(type, Array):
        return _shaped_array(type, release)
    parts = [made for field in type.fields if (made := _shaped(field, release))]
    named: Any = type.named

    def shaped(words: Iterator[Any], arguments: tuple[Any, ...]) -> Any:
        values = [part(words, arguments) for part in parts]
        return tuple(values) if named is None else named(*values)

    return shaped


def _shaped_array(type: Array, release: Any) -> Shaped:
    dtype, dimensions = np.dtype(type.dtype), type.dimensions
    itemsize, typestr = dtype.itemsize, dtype.str
    array = np.ndarray

    def shaped(words: Iterator[Any], arguments: tuple[Any, ...]) -> Any:
        owner, address = next(words), next(words)
        if dimensions == 1:
            shape = (next(words),)
            size = shape[0] * itemsize
        else:
            shape = tuple(next(words) for _ in range(dimensions))
            size = int(np.prod(shape)) * itemsize
        if not owner:  # the memory of an argument
            return np.asarray(_Borrower(address, shape, typestr, arguments))
        if size > _COPIED:
            return np.asarray(_Owner(owner, address, shape, typestr, release))
        copied = array(shape, dtype, _bytes_at(address, size))
        release(owner)
        return copied

    return shaped


_bytes_at = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyByteArray_FromStringAndSize", ctypes.pythonapi)
)
"""A bytearray of the bytes at an address: the quickest way to memory of Python that can be written."""


class _Owner:
    """The memory of an array that a kernel made: freed when the last array on it goes."""

    __slots__ = ("__array_interface__", "_owner", "_release")

    def __init__(self, owner: int, address: int, shape: tuple[int, ...], typestr: str, release: Any) -> None:
        self._owner, self._release = owner, release
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "version": 3}

    def __del__(self) -> None:
        self._release(self._owner)


class _Borrower:
    """An argument of a kernel that it returned: its memory stays as long as the array on it."""

    __slots__ = ("__array_interface__", "_lenders")

    def __init__(self, address: int, shape: tuple[int, ...], typestr: str, lenders: tuple[Any, ...]) -> None:
        self._lenders = lenders
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": typestr, "version": 3}
