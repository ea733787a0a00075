"""One object file for an entry: its code and all that it calls, and the function by which Python calls it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from functools import cache
from types import CodeType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.np import arrayobj

import neardup.unicode  # noqa: F401  # a named tuple of the declarations
from kernelbuild.dispatch import Part
from neardup.kernels import compiler
from neardup.kernels.compiler import Kernel
from neardup.kernels.declarations import Array, Scalar, TupleType, Type, spelled
from neardup.kernels.native import symbol

compiler.dispatcher_of = lambda kernel: Part(kernel.py_func, kernel.targetoptions["inline"])

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
_ENVIRONMENT = "_ZN08NumbaEnv"


def numba_type(declared: Type) -> Any:
    """Return a declared type as Numba has it."""
    if isinstance(declared, Array):
        return types.Array(from_dtype(np.dtype(declared.dtype)), declared.dimensions, "C")
    if isinstance(declared, Scalar):
        return from_dtype(np.dtype(declared.dtype))
    fields = [numba_type(field) for field in declared.fields]
    if declared.named is None:
        return types.Tuple(fields)
    if len(set(fields)) == 1:
        return types.NamedUniTuple(fields[0], len(fields), declared.named)
    return types.NamedTuple(fields, declared.named)


def object_of(entry: Any, number: int, optimise: int, machine: Any) -> bytes:
    """Return the object file of a declaration of an entry. Raises TypeError if the result is of another type."""
    with global_compiler_lock:
        return _object_of(entry, number, optimise, machine)


def _object_of(entry: Any, number: int, optimise: int, machine: Any) -> bytes:
    declared = entry.signatures[number]
    made = entry.dispatcher.made(tuple(map(numba_type, declared.arguments)))
    result = types.none if declared.result is None else numba_type(declared.result)
    _require_result(entry.name, made.signature.return_type, result)
    context = made.target_context
    whole = context.codegen().create_library(entry.name)
    whole.add_linking_library(made.library)
    name = symbol(entry.name, number)
    whole.add_ir_module(_door(context, made, name, declared))
    for library in whole._linking_libraries:
        whole._final_module.link_in(library._get_module_for_linking(), preserve=True)
    return _machine_code(whole, name, optimise, machine)


def _require_result(name: str, made: Any, declared: Any) -> None:
    alike = made == declared or types.unliteral(made) == declared
    if not alike and str(made) != str(declared):
        raise TypeError(f"{name} returns {made}, and not {declared} as it is declared")


def _machine_code(whole: Any, name: str, optimise: int, machine: Any) -> bytes:
    module, codegen = whole._final_module, whole._codegen
    module.triple = machine.triple
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
        elif function.name == name and "windows" in machine.triple:
            function.storage_class = "dllexport"  # where one name is exported so, no other is by itself
    for variable in module.global_variables:
        if variable.name.startswith(_ENVIRONMENT):
            variable.linkage = "internal"
    cheap, builder = codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap")
    cheap.run(module, builder)
    full, builder = codegen._module_pass_manager(opt=optimise)
    full.run(module, builder)
    return bytes(machine.emit_object(module))


def _door(context: Any, made: Any, name: str, declared: Any) -> ir.Module:
    """Return the function that takes its arguments from words of 64 bits, and leaves its results behind them."""
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    door = ir.Function(module, ir.FunctionType(I32, [I64.as_pointer()]), name)
    builder = ir.IRBuilder(door.append_basic_block("entry"))
    words = _Words(context, builder, door.args[0])
    arguments = [words.take(declared_type) for declared_type in declared.arguments]
    callee = context.declare_function(module, made.fndesc)
    status, result = context.call_conv.call_function(
        builder, callee, made.fndesc.restype, made.fndesc.argtypes, arguments
    )
    failed = builder.append_basic_block("failed")
    fine = builder.append_basic_block("fine")
    builder.cbranch(status.is_error, failed, fine)
    builder.position_at_end(failed)
    error_at = words.at + _result_words(declared.result)
    pickled = builder.load(status.excinfoptr)
    words.store(error_at, builder.ptrtoint(builder.extract_value(pickled, 0), I64))
    words.store(error_at + 1, builder.zext(builder.extract_value(pickled, 1), I64))
    builder.ret(I32(1))
    builder.position_at_end(fine)
    if declared.result is not None:
        words.give(declared.result, made.signature.return_type, result)
    builder.ret(I32(0))
    return module


def _result_words(declared: Type | None) -> int:
    if declared is None:
        return 0
    if isinstance(declared, Array):
        return 2 + declared.dimensions
    return 1 if isinstance(declared, Scalar) else sum(map(_result_words, declared.fields))


class _Words:
    """The words of a call, taken and given in order."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self._context, self._builder, self._words = context, builder, words
        self.at = 0

    def take(self, declared: Type) -> Any:
        """Return the next argument."""
        of = numba_type(declared)
        if isinstance(declared, TupleType):
            fields = [self.take(field) for field in declared.fields]
            return self._context.make_tuple(self._builder, of, fields)
        if isinstance(declared, Scalar):
            return self._number(of, self._next())
        return self._array(declared, of)

    def give(self, declared: Type, of: Any, value: Any) -> None:
        """Leave a result."""
        builder = self._builder
        if isinstance(declared, TupleType):
            for at, field in enumerate(declared.fields):
                self.give(field, of.types[at], builder.extract_value(value, at))
        elif isinstance(declared, Scalar):
            self._leave(self._bits(of, value))
        else:
            array = self._context.make_array(of)(self._context, builder, value)
            self._leave(builder.ptrtoint(array.meminfo, I64))
            self._leave(builder.ptrtoint(array.data, I64))
            for size in cgutils.unpack_tuple(builder, array.shape, declared.dimensions):
                self._leave(size)

    def store(self, at: int, value: Any) -> None:
        """Set a word."""
        self._builder.store(value, self._builder.gep(self._words, [I64(at)]))

    def _leave(self, value: Any) -> None:
        self.store(self.at, value)
        self.at += 1

    def _next(self) -> Any:
        word = self._builder.load(self._builder.gep(self._words, [I64(self.at)]))
        self.at += 1
        return word

    def _number(self, of: Any, word: Any) -> Any:
        if of is types.boolean:
            return self._builder.trunc(word, I1)
        if of is types.float64:
            return self._builder.bitcast(word, ir.DoubleType())
        width = self._context.get_value_type(of).width
        return word if width == 64 else self._builder.trunc(word, ir.IntType(width))

    def _bits(self, of: Any, value: Any) -> Any:
        if isinstance(of, types.Float):
            return self._builder.bitcast(value, I64)
        extend = self._builder.sext if getattr(of, "signed", False) else self._builder.zext
        return value if value.type == I64 else extend(value, I64)

    def _array(self, declared: Array, of: Any) -> Any:
        context, builder = self._context, self._builder
        array = context.make_array(of)(context, builder)
        item = context.get_data_type(of.dtype)
        data = builder.inttoptr(self._next(), item.as_pointer())
        shape = [self._next() for _ in range(declared.dimensions)]
        size = I64(np.dtype(declared.dtype).itemsize)
        strides = [size]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()


def needed(entry: Any) -> list[Kernel]:
    """Return all kernels that are compiled with an entry, itself first."""
    found: dict[Kernel, None] = {}
    waiting = [entry]
    while waiting:
        kernel = waiting.pop()
        if kernel not in found:
            found[kernel] = None
            waiting.extend(value for _, value in _named(kernel.py_func) if isinstance(value, Kernel))
    return list(found)


def weight(entry: Any) -> int:
    """Return the approximate cost of compiling an entry: bytes of its Python code."""
    return sum(len(kernel.py_func.__code__.co_code) for kernel in needed(entry))


def digest(entry: Any, number: int, target: str) -> str:
    """Return the digest of all that the object file of an entry is made of."""
    parts = [_makers(), target, spelled(entry.signatures[number])]
    for kernel in needed(entry):
        function = kernel.py_func
        parts += [f"{function.__module__}:{function.__qualname__}", *_code(function.__code__)]
        parts += [f"{name}={_constant(value)}" for name, value in _named(function)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


@cache
def _makers() -> str:
    """The compiler and the modules whose code goes into every entry."""
    from neardup.kernels import intrinsics

    modules = (intrinsics, sys.modules[__name__], sys.modules[Part.__module__])
    sources = [ast.dump(ast.parse(inspect.getsource(module))) for module in modules]  # without their form
    return "\0".join([numba.__version__, llvmlite.__version__, sys.version, np.__version__, *sources])


def _named(function: Any) -> list[tuple[str, Any]]:
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    return [(name, function.__globals__[name]) for name in names]


def _code(code: CodeType) -> list[str]:
    constants = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    found = [code.co_code.hex(), *constants, *code.co_names, *code.co_varnames]
    return found + [part for other in inner for part in _code(other)]


def _constant(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value) if isinstance(value, bool | int | float | str | tuple | np.generic) else ""
