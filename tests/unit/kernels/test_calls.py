"""Calls of the compiled kernels: arguments of other types are refused, and results are freed.

The law is made from the declarations: each argument of each entry, and each field of a tuple, is given in every
wrong form beside sound others. All are refused before the kernel runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernelbuild.library import entries
from neardup.kernels import declarations, native
from neardup.kernels.calls import Call, Overloads
from neardup.kernels.compiler import INTERPRETED, JIT
from neardup.kernels.declarations import Array, Scalar, TupleType, Type
from neardup.kernels.sets import parity_words
from neardup.kernels.sketch.slots import equal_slots
from neardup.kernels.sorting import equal_groups, sort_by_bits
from neardup.kernels.text import normalise
from neardup.unicode import UnicodeTables, canonical_tables, unicode_tables
from support.messages import has_parts

pytestmark = pytest.mark.skipif(INTERPRETED or JIT, reason="these kernels are not those of the library")

SIDE = 4
"""Elements along each axis of a sound array."""
BEYOND = {"int64": (1 << 63, -(1 << 63) - 1), "uint64": (1 << 64, -1), "uint32": (1 << 32, -1), "uint8": (256, -1)}
"""The numbers next to those of a type."""


class Wrong(NamedTuple):
    """A value that is not of the declared type; ``place`` names it within the argument."""

    place: str
    value: Any


def sound(type: Type) -> Any:
    if isinstance(type, Array):
        return np.zeros((SIDE,) * type.dimensions, type.dtype)
    if isinstance(type, Scalar):
        return False if type.dtype == "bool" else 0
    values = [sound(field) for field in type.fields]
    return tuple(values) if type.named is None else type.named(*values)


def wrong_arrays(type: Array) -> Iterator[Any]:
    value = sound(type)
    yield None
    yield value.tolist()
    yield value.astype(np.complex128)
    yield value[..., None]
    yield value[0]
    yield np.zeros((*(SIDE,) * (type.dimensions - 1), 2 * SIDE), type.dtype)[..., ::2]
    yield np.zeros((2 * SIDE, *(SIDE,) * (type.dimensions - 1)), type.dtype)[::2]
    if type.dimensions > 1:
        yield np.asfortranarray(value)
    if value.itemsize > 1:
        yield value.astype(value.dtype.newbyteorder())
        yield np.zeros(value.nbytes + 1, np.uint8)[1:].view(type.dtype).reshape(value.shape)
    if type.out:
        value.flags.writeable = False
        yield value


def wrong_numbers(type: Scalar) -> Iterator[Any]:
    yield None
    yield "1"
    yield np.zeros(SIDE)
    yield from BEYOND.get(type.dtype, ())
    if type.dtype != "float64":
        yield 1.5
    if type.dtype == "bool":
        yield 1


def wrongs(type: Type, place: str) -> Iterator[Wrong]:
    """Every wrong form of a value; in a tuple, of one field after the other."""
    if isinstance(type, TupleType):
        yield Wrong(place, None)
        yield Wrong(place, tuple(sound(type))[1:])
        yield Wrong(place, (*sound(type), 0))
        for at, field in enumerate(type.fields):
            name = at if type.named is None else type.named._fields[at]  # type: ignore[attr-defined]
            for inner in wrongs(field, f"{place}.{name}"):
                values = list(sound(type))
                values[at] = inner.value
                whole = tuple(values) if type.named is None else type.named(*values)
                yield Wrong(inner.place, whole)
        return
    for value in wrong_arrays(type) if isinstance(type, Array) else wrong_numbers(type):
        yield Wrong(place, value)


def calls() -> Iterator[Any]:
    for kernel in entries():
        for number, signature in enumerate(kernel.signatures):
            yield pytest.param(
                kernel, number, signature, id=native.symbol(kernel.name, number).removeprefix("nd_")
            )


CALLS = list(calls())


@pytest.mark.parametrize(("kernel", "number", "signature"), CALLS)
def test_what_is_not_declared_is_refused_by_the_name_of_the_argument(
    kernel: Any, number: int, signature: declarations.Declaration
) -> None:
    call = Call(kernel.name, number, kernel.py_func, signature)
    names = kernel.py_func.__code__.co_varnames
    right = [sound(type) for type in signature.arguments]
    assert not call.difference(tuple(right))
    tried = 0
    for at, type in enumerate(signature.arguments):
        for wrong in wrongs(type, names[at]):
            given = [*right[:at], wrong.value, *right[at + 1 :]]
            assert call.difference(tuple(given)), (wrong.place, wrong.value)
            with pytest.raises(TypeError) as refused:
                call(*given)
            kernel_name, _, said = str(refused.value).partition(": ")
            assert kernel_name == kernel.py_func.__name__
            assert said.startswith(f"{wrong.place} is "), (said, wrong)
            tried += 1
    assert tried >= 3 * len(signature.arguments)
    with pytest.raises(TypeError, match=names[len(right) - 1]):
        call(*right[:-1])
    with pytest.raises(TypeError):
        call(*right, 0)


@pytest.mark.parametrize(("kernel", "number", "signature"), CALLS)
def test_an_array_that_is_only_read_may_be_read_only_and_empty(
    kernel: Any, number: int, signature: declarations.Declaration
) -> None:
    def frozen(type: Type) -> Any:
        if isinstance(type, TupleType):
            values = [frozen(field) for field in type.fields]
            return tuple(values) if type.named is None else type.named(*values)
        value = sound(type)
        if isinstance(type, Array):
            value = value[:0]
            value.flags.writeable = type.out
        return value

    call = Call(kernel.name, number, kernel.py_func, signature)
    assert not call.difference(tuple(map(frozen, signature.arguments)))


def test_records_of_read_only_arrays_are_told_apart() -> None:
    """Their words are kept from one call to the next."""
    data = np.frombuffer("ﬁ É".encode(), np.uint8)
    tables = unicode_tables(), canonical_tables(), UnicodeTables(*map(np.copy, unicode_tables()))
    texts = []
    for of in (*tables, *tables[::-1], tables[0]):
        points, n, _ = normalise(data, 0, len(data), of)
        texts.append("".join(map(chr, points[:n].tolist())))
    assert texts == ["fi é", "ﬁ É", "fi é", "fi é", "ﬁ É", "fi é", "fi é"]
    with pytest.raises(TypeError):
        normalise(data, 0, len(data), tuple(tables[0])[1:])
    assert not any(array.flags.writeable for array in (*tables[0], *tables[1]))


def test_an_entry_of_several_types_names_the_array_and_all_its_types() -> None:
    several = [kernel for kernel in entries() if len(kernel.signatures) > 1]
    assert several
    for kernel in several:
        names = kernel.py_func.__code__.co_varnames
        declared = list(zip(*(of.arguments for of in kernel.signatures), strict=True))
        at = next(at for at, types in enumerate(declared) if len(set(types)) == len(types))
        for wrong in (None, [[1]], np.complex128(1), sound(declared[at][0]).astype(np.complex128)):
            given = [*map(sound, kernel.signatures[-1].arguments)]
            given[at] = wrong
            with pytest.raises(TypeError) as refused:
                kernel(*given)
            assert str(refused.value).startswith(f"{kernel.__name__}: {names[at]} is ")
            types = [declarations.spelled(type) for type in declared[at]]
            assert has_parts(str(refused.value), *types)
        with pytest.raises(TypeError):
            kernel(*given[:-1])


def test_the_type_of_one_array_tells_which_function_is_called() -> None:
    signatures = np.array([[1, 2], [1, 3]])
    rows, names = np.array([[0, 0], [0, 1]]), ("ours", "theirs", "rows", "out")
    for dtype in (np.uint64, np.uint32, np.uint16, np.uint8):
        out = np.zeros(2, np.int64)
        arrays = (signatures.astype(dtype), signatures.astype(dtype), rows, out)
        equal_slots(*arrays)
        assert out.tolist() == [2, 1]
        out[:] = 0
        equal_slots(**dict(zip(names, arrays, strict=True)))
        assert out.tolist() == [2, 1]
        other = signatures.astype(np.uint16 if dtype == np.uint8 else np.uint8)
        with pytest.raises(TypeError) as refused:
            equal_slots(arrays[0], other, rows, out)
        assert has_parts(str(refused.value), f"theirs is {other.dtype}[:, :]", f"not {np.dtype(dtype)}[:, :]")


def test_declarations_that_no_array_tells_apart_are_refused() -> None:
    signatures = parity_words.signatures * 2
    with pytest.raises(ValueError, match="parity_words"):
        Overloads([Call(parity_words.name, 0, parity_words.py_func, of) for of in signatures])


def test_the_message_has_what_was_given_and_what_is_declared() -> None:
    numbers = np.arange(8, dtype=np.int64)
    for wrong, words in (
        (numbers[::2], "not contiguous"),
        (numbers.astype(np.int32), "int32[:]"),
        (numbers.reshape(2, 4), "int64[:, :]"),
        (np.zeros(65, np.uint8)[1:].view(np.int64), "not aligned"),
        ([1, 2], "list"),
    ):
        with pytest.raises(TypeError) as refused:
            parity_words(wrong)
        assert has_parts(str(refused.value), "parity_words: sizes", words, "not int64[:], contiguous")
    keys = np.arange(8, dtype=np.uint64)
    keys.flags.writeable = False
    with pytest.raises(TypeError) as refused:
        sort_by_bits(keys, np.empty(8, np.uint64), 0, 8)
    assert has_parts(str(refused.value), "sort_by_bits: keys", "read-only", "out uint64[:]")


def test_arguments_can_be_named() -> None:
    sizes = np.array([1, 70, 3])
    assert (
        parity_words(sizes=sizes).tolist() == parity_words(sizes).tolist() == parity_words.py_func(sizes).tolist()
    )
    with pytest.raises(TypeError):
        parity_words(counts=sizes)


# --- the memory of results


@pytest.fixture
def live() -> Iterator[int]:
    """The number of arrays that kernels have made and nobody has freed, which is the same after the test."""
    gc.collect()
    before = native.library().live()
    yield before
    gc.collect()
    assert native.library().live() == before


SIZES = (0, 1, 2, 1000, 100_000)
"""Small results are copied, and large ones are memory of the kernel."""


def repeated(size: int) -> Any:
    """Well mixed keys, each of them twice."""
    return np.arange(size, dtype=np.uint64) // np.uint64(2) * np.uint64(0x9E3779B97F4A7C15)


@pytest.mark.parametrize("size", SIZES)
def test_results_are_freed_with_the_last_array_on_them(size: int, live: int) -> None:
    keys = repeated(size)
    order, starts, sizes = equal_groups(keys)
    assert np.sort(order).tolist() == list(range(size))
    assert sizes.tolist() == [2] * (size // 2)
    large = sum(array.nbytes > 1 << 16 for array in (order, starts, sizes))
    assert native.library().live() == live + large
    part = order[1::3]
    expected = part.tolist()
    del order, starts, sizes
    gc.collect()
    assert native.library().live() == live + (large > 0), "the part keeps its array, and no other"
    assert part.tolist() == expected
    part.sort()


@pytest.mark.parametrize("size", SIZES)
def test_an_argument_that_is_returned_outlives_the_call(size: int, live: int) -> None:
    expected = np.sort(repeated(size) & np.uint64(0xFFFF))
    for high in (11, 22):  # after one step the result is in the scratch, after two in the keys
        keys = repeated(size) & np.uint64((1 << high) - 1)
        expected = np.sort(keys)
        result = sort_by_bits(keys, np.empty_like(keys), 0, high)
        del keys
        gc.collect()
        np.empty(size, np.uint64).fill(7)  # whatever was freed is used again
        assert (result == expected).all()
    assert native.library().live() == live


def test_nothing_stays_of_many_calls(live: int) -> None:
    for size in SIZES[:-1]:
        for _ in range(200):
            equal_groups(repeated(size))
    assert native.library().live() == live


def test_refused_calls_leave_nothing(live: int) -> None:
    for _ in range(100):
        with pytest.raises(TypeError):
            equal_groups([1])
    assert native.library().live() == live


def test_threads_have_results_of_their_own(live: int) -> None:
    def sorts(number: int) -> bool:
        keys = repeated(50_000 + number) ^ np.uint64(number)
        order, starts, sizes = equal_groups(keys)
        runs = [keys[order[starts[k] : starts[k] + sizes[k]]] for k in range(0, starts.size, 500)]
        return all((run == run[0]).all() for run in runs) and bool((np.sort(order) == np.arange(keys.size)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(sorts, range(40)))
