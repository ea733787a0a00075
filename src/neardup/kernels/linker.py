"""Kernels on Numba's internals: machine code only for the kernels that Python calls, kept on disk.

A kernel that Python calls is an *entry*: it has a wrapper, is optimised with all kernels it calls, and is kept on
disk. A kernel that only others call is a *part*: typed and lowered once per process, without a wrapper,
optimisation or machine code of its own, because the entry that links it in has them. That saves two fifths.

Only ``compiler.py`` and ``trial.py`` import this module: another Numba may lack the internals it builds on.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from numba import types
from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from neardup.kernels import compile_cache
from neardup.kernels.compile_cache import READY, STARTED, tell
from neardup.kernels.signatures import spelled

_UNRESOLVED, _ENVIRONMENT = ".numba.unresolved$", "_ZN08NumbaEnv"
_SOURCES = Path(__file__).parent
_entries: list[Kernel] = []
"""The entries being compiled, under Numba's lock: a kernel requested meanwhile is a part of the last one."""


class _Whole(JITCodeLibrary):
    """The library of an entry. The parts it links in are its own copies, which no other code can name.

    Names of generated functions are numbered anew in each process: code of two processes that meet in a third may
    use one name for different functions. Also, functions that nobody else can call are inlined and dropped where
    that helps.
    """

    def finalize(self) -> None:
        """Link and optimise."""
        self._own = {function.name for function in self._final_module.functions if not function.is_declaration}
        super().finalize()

    def _optimize_final_module(self) -> None:
        module = self._final_module
        named = self._own | {
            variable.name[len(_UNRESOLVED) :]
            for variable in module.global_variables
            if variable.name.startswith(_UNRESOLVED)
        }
        for function in module.functions:
            if not function.is_declaration and function.name not in named:
                function.linkage = "internal"
        super()._optimize_final_module()


class _Part(JITCodeLibrary):
    """The library of a part: linked into others, so neither optimised nor compiled to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Compiling(Compiler):
    """Numba's pipeline, with a library of ours."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        """Return the passes; called when the state is ready."""
        library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        library.enable_object_caching()
        self.state.library = library
        return super().define_pipelines()


class _CompilingWhole(_Compiling):
    library = _Whole


class _CompilingPart(_Compiling):
    library = _Part


class _PartCompiler(_FunctionCompiler):
    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_compile = True
        return flags


class Kernel(CPUDispatcher):
    """A function of arrays, compiled for the types of its arguments when it is first called with them."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        # Numba 0.61 does not accept None for an empty dictionary
        super().__init__(py_func, locals or {}, targetoptions or {}, _CompilingWhole)
        compiler = self._compiler
        self._part_compiler = _PartCompiler(
            py_func, self.targetdescr, compiler.targetoptions, compiler.locals, _CompilingPart
        )
        self._environments: list[Any] = []

    @cached_property
    def spelled(self) -> str:
        """The name of the kernel: module, colon, function."""
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"

    @cached_property
    def needed(self) -> frozenset[Kernel]:
        """All kernels that are compiled with it: itself, and the kernels it calls."""
        found: set[Kernel] = set()
        waiting = [self]
        while waiting:
            kernel = waiting.pop()
            if kernel not in found:
                found.add(kernel)
                named = (kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names)
                waiting.extend(other for other in named if isinstance(other, Kernel))
        return frozenset(found)

    def compile(self, sig: Any) -> Any:
        """Return the entry point for the argument types; for a part, the name that other kernels link it by."""
        arguments, result = sigutils.normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter:
            known = self.overloads.get(tuple(arguments))
            if _entries:
                return (known or self._part(arguments, result)).entry_point
            if known is None or isinstance(known.entry_point, _Place):
                known = self._entry(arguments, result)
            return known.entry_point

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how other kernels call it: literals become numbers, or each would make a kernel of its own."""
        numbers = {name: types.unliteral(argument) for name, argument in kws.items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), numbers)

    def file_name(self, arguments: Any) -> str:
        """Return the name of the file that keeps the entry for the argument types."""
        module, _, function = self.spelled.rpartition(":")
        key = [self.spelled, *map(spelled, arguments), self._foreign_source]
        digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:20]
        return f"{module.rpartition('.')[2]}.{function.replace('<locals>.', '')}-{digest}"

    @cached_property
    def _foreign_source(self) -> str:
        """Return the source digest of a kernel from outside this package, which ``state`` does not cover."""
        source = Path(inspect.getfile(self.py_func))
        if _SOURCES in source.parents:
            return ""
        code = self.py_func.__code__
        # a function typed at the prompt has no file
        state = source.read_bytes() if source.is_file() else code.co_code + repr(code.co_consts).encode()
        return hashlib.sha256(state).hexdigest()

    def _part(self, arguments: Any, result: Any) -> Any:
        tell(STARTED, self.spelled)
        made = self._part_compiler.compile(arguments, result)
        made = made._replace(entry_point=_Place())
        self.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
        self.overloads[tuple(made.signature.args)] = made
        return made

    def _entry(self, arguments: Any, result: Any) -> Any:
        name = self.file_name(arguments)
        made = self._loaded(name)
        while made is None:
            with compile_cache.locked(name, patience=0) as mine:
                if mine:
                    made = self._loaded(name) or self._made(arguments, result, name)
            if made is None and not compile_cache.use_time():
                with compile_cache.locked(name):
                    made = self._loaded(name) or self._made(arguments, result, name)
        self.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
        self.add_overload(made)
        tell(READY, self.spelled)
        return made

    def _made(self, arguments: Any, result: Any, name: str) -> Any:
        tell(STARTED, self.spelled)
        part = self.overloads.pop(tuple(arguments), None)
        _entries.append(self)
        try:
            with _without_collection():
                made = self._compiler.compile(arguments, result)
                self._set_environments(made)
                self._keep(made, name)
        except BaseException:
            if part is not None:
                self.overloads[tuple(arguments)] = part
            raise
        finally:
            _entries.pop()
        return made

    def _set_environments(self, made: Any) -> None:
        """Resolve the names of Python objects: parts have no machine code, so their names are known only now."""
        names = [variable.name for variable in made.library._final_module.global_variables]
        found = [lookup_environment(name) for name in names if name.startswith(_ENVIRONMENT)]
        for environment in filter(None, found):
            made.library.codegen.set_env(environment.env_name, environment)
            self._environments.append(environment)

    def _keep(self, made: Any, name: str) -> None:
        if compile_cache.folders().write is None or made.lifted or made.library.has_dynamic_globals:
            return
        try:
            content = dumps((self.spelled, made._reduce()))
        except Exception:  # an entry that cannot be pickled is compiled again the next time
            return
        compile_cache.keep(name, content)

    def _loaded(self, name: str) -> Any:
        """Return the kept entry, or None, and it is compiled and kept anew: without it, or if it cannot be used.

        Raises MemoryError, OSError without the memory to load it, which says nothing against the file.
        """
        content = compile_cache.load(name)
        if content is None:
            return None
        try:
            # kept code needs the memory of its arrays; Numba's functions of arrays, half a second of imports, are
            # for compiling, which loads them itself
            rtsys.initialize(self.targetctx)
            owner, reduced = pickle.loads(content)
            if owner != self.spelled:
                raise ValueError(owner)
            return CompileResult._rebuild(self.targetctx, *reduced)
        except (MemoryError, OSError):
            raise
        except Exception:  # the digest was right, so it was written wrongly: anything can be raised
            return None


class _Place:
    """The placeholder for an entry point, by which other kernels find a part."""


def kernel(function: Any, inline: str) -> Kernel:
    """Turn a function into a kernel of this kind."""
    options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "boundscheck": None, "inline": inline}
    return Kernel(function, targetoptions=options)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect no garbage: compiling makes a million objects that stay, and each collection would scan them all."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
