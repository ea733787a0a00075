"""Calls of the compiled kernels: the library that was built with the package, and the way of arguments into it.

Each entry is one function of the library, ``int32 function(int64 words[])``. The words are the arguments in order
(an array: address and shape; a number: itself; a tuple: its parts), then room for the results (an array: owner,
address and shape), then for an error. ctypes releases the GIL during the call.

The library knows neither Python nor NumPy, so one serves all their versions. It names the parts of a processor
that its code needs; of several libraries the first that fits is taken.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import json
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from neardup.kernels.declarations import SCALARS, Array, Declaration, Scalar, TupleType, Type, spelled

FOLDER = Path(__file__).parent / "library"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
WORKING_COPY = Path(__file__).parents[3]
LEVELS = ("host", "x86-64-v4", "x86-64-v3", "x86-64-v2", "generic")
"""Libraries by the processor that they are for, best first; "host": the one of the machine that built it."""
FEATURE_WORDS = 6
_WITHOUT_KERNELS = {"compiler.py", "native.py", "plain_bits.py"}
_COPIED = 1 << 16
"""Bytes of a result up to which a copy costs less than an owner that frees it."""
_CONTIGUOUS, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400  # flags of NumPy's arrays
_AGAIN = "Install neardup again, with --force-reinstall --no-cache-dir, on this machine"


class LibraryError(ImportError):
    """There is no library of compiled kernels for this machine; ``parts`` are those of ``errors.NeardupError``."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts
        super().__init__(f"{'. '.join(parts)}.")


class Library:
    """An open library: its functions, and the record of its build."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.code = ctypes.CDLL(str(path))
        self.about: dict[str, Any] = json.loads(ctypes.c_char_p.in_dll(self.code, "nd_about").value or b"{}")
        self.release = self.code.nd_release
        self.release.argtypes, self.release.restype = [ctypes.c_void_p], None

    def fits(self) -> bool:
        """Return whether this processor has the instructions of the code."""
        here = (ctypes.c_uint32 * FEATURE_WORDS)()
        self.code.nd_processor(here)
        return all(needed & ~has == 0 for needed, has in zip(self.about["needs"], here, strict=True))

    def live(self) -> int:
        """Return the number of arrays that kernels made and nobody has freed."""
        return int(ctypes.c_int64.in_dll(self.code, "nd_live").value)

    def function(self, kernel: str, number: int, words: str) -> Any:
        """Return the function of a declaration of an entry. Raises LibraryError if the library has none."""
        name = symbol(kernel, number)
        if self.about["entries"].get(name) != words:
            raise _stale(self.path, kernel)
        found = self.code[name]
        found.restype, found.argtypes = ctypes.c_int32, [ctypes.c_void_p]
        return found


def symbol(kernel: str, number: int = 0) -> str:
    """Return the name of an entry in the library, which profilers show.

    >>> symbol("neardup.kernels.text.tokens:tokenise")
    'nd_text_tokens_tokenise'
    """
    name = kernel.removeprefix("neardup.kernels.").replace(".", "_").replace(":", "_")
    return f"nd_{name}_{number}" if number else f"nd_{name}"


@cache
def library() -> Library:
    """Return the best library for this processor. Raises LibraryError without one."""
    if (WORKING_COPY / "kernelbuild").is_dir():
        _renew()
    found = [FOLDER / f"{level}{SUFFIX}" for level in LEVELS]
    found = [path for path in found if path.exists()]
    for path in found:
        try:
            opened = Library(path)
        except (OSError, ValueError) as error:
            raise LibraryError(
                f"The compiled kernels {path} cannot be loaded: {error}",
                "The library that is built with neardup",
                _AGAIN,
            ) from None
        if opened.fits():
            return opened
    if found:
        raise LibraryError(
            f"The kernels of this neardup were compiled for another processor ({found[-1].stem})",
            "A released wheel, or one that was built from the sources on a processor like this one",
            _AGAIN,
        )
    raise LibraryError(
        f"There are no compiled kernels in {FOLDER}",
        "A released wheel, which has them, or an installation from the sources, which compiles them",
        _AGAIN,
    )


def state_of_sources() -> str:
    """Return a digest of the sizes and times of the modules of kernels, which changes when one is edited."""
    folder = FOLDER.parent
    states = [(path, path.stat()) for path in sorted(folder.rglob("*.py")) if path.name not in _WITHOUT_KERNELS]
    lines = [f"{path.relative_to(folder)} {state.st_mtime_ns} {state.st_size}" for path, state in states]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _renew() -> None:
    """Build the library of a working copy anew if a kernel was edited; only what changed is compiled."""
    state = FOLDER / "sources.txt"
    if state.exists() and state.read_text() == state_of_sources():
        return
    done = subprocess.run([sys.executable, "-m", "kernelbuild"], cwd=WORKING_COPY, capture_output=True, text=True)
    if done.returncode:
        raise LibraryError(
            f"The kernels in {FOLDER.parent} have changed since they were compiled, and compiling them failed:\n"
            f"{done.stderr[-2000:].rstrip()}",
            "A kernel that Numba compiles, and the dependency group dev",
            "Correct the kernel, or install the group: ./scripts/test does",
        )


def _stale(path: Path, kernel: str) -> LibraryError:
    return LibraryError(
        f"The compiled kernels {path} have no {kernel} as it is declared",
        "A library that was built from the same sources as the package",
        _AGAIN,
    )


class _UnlikeError(Exception):
    """An argument is not of the declared type."""


Put = Callable[[Any, Callable[[Any], None]], None]


class Call:
    """An entry as Python calls it."""

    def __init__(self, kernel: str, number: int, function: Any, signature: Declaration) -> None:
        opened = library()
        self._name = kernel.rpartition(":")[2]
        self._signature, self._parameters = signature, inspect.signature(function)
        self._count = len(signature.arguments)
        self._function = opened.function(kernel, number, spelled(signature))
        self._puts = [_put(type) for type in signature.arguments]
        taken = "".join(map(_letters, signature.arguments))
        given = _letters(signature.result, owned="Q") if signature.result else ""
        self._taken, self._given = struct.Struct(f"={taken}"), struct.Struct(f"={given}")
        self._error_at = self._taken.size + self._given.size
        self._words = ctypes.c_int64 * (self._error_at // 8 + 2)
        self._shaped = _shaped(signature.result, opened.release)

    def takes(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the arguments are of the declared types."""
        return all(
            not _difference("", of, value) for of, value in zip(self._signature.arguments, arguments, strict=False)
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the kernel. Raises TypeError for arguments of other types, and the errors of the kernel."""
        if named or len(arguments) != self._count:
            bound = self._parameters.bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        values: list[Any] = []
        append = values.append
        words = self._words()
        try:
            for put, argument in zip(self._puts, arguments, strict=True):
                put(argument, append)
            self._taken.pack_into(words, 0, *values)
        except (_UnlikeError, struct.error, AttributeError, TypeError, ValueError):
            raise self._refused(arguments) from None
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
        return error if isinstance(error, BaseException) else RuntimeError(f"{self._name}: {error}")

    def _refused(self, arguments: tuple[Any, ...]) -> TypeError:
        names = list(self._parameters.parameters)
        for name, type, value in zip(names, self._signature.arguments, arguments, strict=True):
            if why := _difference(name, type, value):
                return TypeError(f"{self._name}: {why}")
        return TypeError(f"{self._name}: the arguments are not of the declared types")


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

    def put(record: Any, append: Callable[[Any], None]) -> None:
        if not isinstance(record, tuple):
            raise _UnlikeError
        for field, value in zip(puts, record, strict=True):
            field(value, append)

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
