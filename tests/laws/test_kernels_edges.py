"""Every entry of the library at its edges: without rows, without items, and with one.

The results, and the arguments that it writes, are those of the interpreted kernel, which raises an error where an
index is out of bounds. Views that are not aligned, not contiguous, read-only or of another type are refused by the
name of the argument, before the kernel runs.
"""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from kernelbuild.library import entries
from neardup.kernels import native
from neardup.kernels.compiler import INTERPRETED, JIT
from neardup.kernels.declarations import Array, Scalar, TupleType, Type
from support.edge_calls import CALLS, CLOSED, EDGES, MEANT

pytestmark = pytest.mark.skipif(INTERPRETED, reason="compares with the interpreted kernels")
LIBRARY = pytest.mark.skipif(JIT, reason="the kernels are compiled in the process")


@cache
def known() -> dict[str, Any]:
    return {kernel.name.removeprefix("neardup.kernels."): kernel for kernel in entries()}


def arguments_of(name: str, edge: str, number: int) -> tuple[Any, ...]:
    """Arguments of the types that this declaration has; the arrays of the table have those of the first."""
    declared = known()[name].signatures[number].arguments
    return tuple(
        value.astype(type.dtype) if isinstance(type, Array) and number else typed(type, value)
        for type, value in zip(declared, CALLS[name](*EDGES[edge]), strict=True)
    )


def typed(type: Type, value: Any) -> Any:
    """The value with every number in it of its declared type, which Numba does not know in the process."""
    if isinstance(type, TupleType):
        fields = (typed(field, one) for field, one in zip(type.fields, value, strict=True))
        return tuple(fields) if type.named is None else type.named(*fields)
    return np.dtype(type.dtype).type(value) if isinstance(type, Scalar) else value


def cases() -> Iterator[tuple[str, str, int]]:
    for name, kernel in known().items():
        if name in CALLS:
            for edge in EDGES:
                yield from ((name, edge, number) for number in range(len(kernel.signatures)))


CASES = [] if INTERPRETED else list(cases())
OPEN = [case for case in CASES if case[1] not in CLOSED.get(case[0], {})]


@cache
def plain() -> dict[tuple[str, str, int], Any]:
    """What the interpreted kernels return, from another process."""
    calls = [(name, arguments_of(name, edge, number)) for name, edge, number in CASES]
    done = subprocess.run(
        [sys.executable, "-m", "support.edge_calls"],
        input=pickle.dumps(calls),
        capture_output=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(zip(CASES, pickle.loads(done.stdout), strict=True))


def assert_alike(made: Any, expected: Any, place: str) -> None:
    """Equal in values, in shapes and in the types of arrays."""
    if isinstance(expected, tuple):
        assert isinstance(made, tuple), place
        assert len(made) == len(expected), place
        for at, (one, other) in enumerate(zip(made, expected, strict=True)):
            assert_alike(one, other, f"{place}.{at}")
    elif isinstance(expected, np.ndarray):
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape), place
        assert np.array_equal(made, expected), (place, made, expected)
    else:
        assert made == expected, place


def meant(name: str, result: Any) -> Any:
    return MEANT[name](result) if name in MEANT else result


def test_every_entry_has_a_call() -> None:
    assert CALLS.keys() == known().keys()


def test_an_edge_that_is_left_out_is_none_of_the_plain_function() -> None:
    left_out = [case for case in CASES if case not in OPEN]
    assert len(left_out) == sum(map(len, CLOSED.values()))
    for case in left_out:
        assert isinstance(plain()[case], IndexError), case


def views(type: Type, value: Any, changed: Callable[[Array, Any], Any]) -> Any:
    """The value with every array in it changed."""
    if isinstance(type, TupleType):
        fields = (views(field, one, changed) for field, one in zip(type.fields, value, strict=True))
        return tuple(fields) if type.named is None else type.named(*fields)
    return changed(type, value) if isinstance(type, Array) else value


def frozen(type: Array, value: Any) -> Any:
    if not type.out:
        value = value.view()
        value.flags.writeable = False
    return value


def stepped(type: Array, value: Any) -> Any:
    """A view with other strides. Of no element or a single one it is contiguous, and the same to a kernel."""
    if value.size > 1:
        return value
    room = np.zeros(tuple(2 * size for size in value.shape), value.dtype)
    view = room[(slice(None, None, 2),) * value.ndim]
    view[...] = value
    return view


def whole(type: Array, value: Any) -> Any:
    return value


@pytest.mark.parametrize(("name", "edge", "number"), OPEN)
def test_the_edges_are_those_of_the_plain_function(name: str, edge: str, number: int) -> None:
    """Whatever the arrays are: writable or not, if they are only read, and with any strides that do not matter."""
    expected = plain()[name, edge, number]
    assert not isinstance(expected, Exception), repr(expected)
    result, after = expected
    kernel = known()[name]
    for changed in (whole,) if JIT else (whole, frozen, stepped):
        given = arguments_of(name, edge, number)
        declared = zip(kernel.signatures[number].arguments, given, strict=True)
        given = tuple(views(type, value, changed) for type, value in declared)
        live = None if JIT else native.library().live()
        made = kernel(*given)
        assert_alike(meant(name, made), meant(name, result), "result")
        assert_alike(given, after, "arguments")
        del made
        assert live is None or native.library().live() == live


def refused(type: Array, value: Any) -> Iterator[Any]:
    """Views of an array that the kernel cannot take, with the same elements where it has any."""
    shape = (*value.shape[:-1], max(value.shape[-1], 2))
    value = (
        np.resize(value, tuple(max(size, 2) for size in shape))
        if value.size
        else np.zeros((2,) * value.ndim, value.dtype)
    )
    yield value.repeat(2, axis=-1)[..., ::2]
    yield value[..., ::-1]
    yield value.astype(np.complex128)
    yield value.astype(value.dtype.newbyteorder()) if value.itemsize > 1 else value.astype(np.float32)
    yield value[None]
    if value.ndim > 1:
        yield np.asfortranarray(value)
    if value.itemsize > 1:
        shifted = np.frombuffer(b" " + value.tobytes(), np.uint8)[1:].view(value.dtype).reshape(value.shape)
        assert not shifted.flags.aligned
        yield shifted
    if type.out:
        value = value.copy()
        value.flags.writeable = False
        yield value


def with_refused(type: Type, value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """(the name of an array, the value with a refused view in its place)"""
    if isinstance(type, Array):
        yield from ((place, view) for view in refused(type, value))
    if isinstance(type, TupleType):
        names = getattr(type.named, "_fields", range(len(type.fields)))
        for at, (name, field) in enumerate(zip(names, type.fields, strict=True)):
            for inner, view in with_refused(field, value[at], f"{place}.{name}"):
                fields = (*value[:at], view, *value[at + 1 :])
                yield inner, fields if type.named is None else type.named(*fields)


@LIBRARY
@pytest.mark.parametrize(("name", "number"), sorted({(name, number) for name, _, number in OPEN}))
def test_other_views_are_refused_before_the_kernel_runs(name: str, number: int) -> None:
    kernel = known()[name]
    names = list(inspect.signature(kernel.py_func).parameters)
    given, untouched = arguments_of(name, "one", number), arguments_of(name, "one", number)
    live, tried = native.library().live(), 0
    for at, type in enumerate(kernel.signatures[number].arguments):
        for place, view in with_refused(type, given[at], names[at]):
            with pytest.raises(TypeError) as error:
                kernel(*given[:at], view, *given[at + 1 :])
            assert str(error.value).startswith(f"{kernel.__name__}: {place} is "), error.value
            tried += 1
    assert tried >= 5
    assert_alike(given, untouched, "arguments")
    assert native.library().live() == live
