"""Kernels as Numba sees them while the library is built: typed and lowered once in a process, and not optimised.

An entry links in the code of all kernels that it calls, and is optimised as a whole (``objects.py``).
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher


class _Unoptimised(JITCodeLibrary):
    """The library of a kernel: linked into others, so neither optimised nor compiled to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Compiler(Compiler):
    """Numba's pipeline, with a library of ours."""

    def define_pipelines(self) -> Any:
        """Return the passes; called when the state is ready."""
        self.state.library = _Unoptimised(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _FunctionsCompiler(_FunctionCompiler):
    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return flags


class Part(CPUDispatcher):
    """A kernel, compiled for the types of its arguments when another one needs it."""

    def __init__(self, py_func: Any, inline: str) -> None:
        options = {"nopython": True, "nogil": True, "boundscheck": None, "inline": inline}
        super().__init__(py_func, {}, options, _Compiler)
        compiler = self._compiler
        self._functions = _FunctionsCompiler(
            py_func, self.targetdescr, compiler.targetoptions, compiler.locals, _Compiler
        )

    def compile(self, sig: Any) -> Any:
        """Return the name by which other kernels link it."""
        return self.made(sig).entry_point

    def made(self, sig: Any) -> Any:
        """Return the compiled kernel for the types of its arguments: its library, and how it is called."""
        arguments, result = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            known = self.overloads.get(tuple(arguments))
            if known is None:
                known = self._functions.compile(arguments, result)._replace(entry_point=_Place())
                self.targetctx.insert_user_function(known.entry_point, known.fndesc, [known.library])
                self.overloads[tuple(known.signature.args)] = known
            return known

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how other kernels call it: literals become numbers, or each would make a kernel of its own."""
        numbers = {name: types.unliteral(argument) for name, argument in kws.items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), numbers)


class _Place:
    """The placeholder for an entry point, by which other kernels find this one."""
