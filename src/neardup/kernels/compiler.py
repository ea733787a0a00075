"""The decorators of kernels: ``entry`` for those that Python calls, ``part`` for those that only kernels call.

Kernels are compiled when the package is built (``kernelbuild``), and ``calls.py`` calls them. Where Numba is
installed, which the package does not need, it can compile them in the process: each part that Python calls after
all, as tests do, and with ``NEARDUP_KERNELS=jit`` the entries too. With ``NUMBA_DISABLE_JIT=1`` they are plain
functions of Python.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any

from neardup.kernels import declarations
from neardup.kernels.calls import call_of

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
JIT = os.environ.get("NEARDUP_KERNELS") == "jit"


class Kernel:
    """A function of arrays and numbers."""

    def __init__(self, function: Any, inline: str) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.targetoptions = {"inline": inline}  # Numba looks for it

    @cached_property
    def dispatcher(self) -> Any:
        """The kernel as Numba calls it."""
        return dispatcher_of(self)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it, compiled by Numba in this process."""
        return self.dispatcher(*arguments, **named)


class Entry(Kernel):
    """A kernel that Python calls, with the types that it declares."""

    def __init__(self, function: Any, words: tuple[str, ...]) -> None:
        super().__init__(function, "never")
        self.words = words

    @cached_property
    def signatures(self) -> tuple[declarations.Declaration, ...]:
        """Its arguments and results; several for a kernel of several types."""
        return tuple(map(declarations.read, self.words))

    @cached_property
    def _call(self) -> Any:
        return self.dispatcher if JIT else call_of(self.name, self.py_func, self.signatures)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it in the library. Raises TypeError for arguments of other types than it declares."""
        return self._call(*arguments, **named)


def _in_this_process(kernel: Kernel) -> Any:
    try:
        import numba
    except ImportError:
        raise ImportError(
            f"{kernel.name} is a part of compiled kernels. Without Numba, Python calls only the entries. "
            "Install it: pip install numba"
        ) from None
    made: Any = numba.njit
    return made(nogil=True, **kernel.targetoptions)(kernel.py_func)


dispatcher_of: Callable[[Kernel], Any] = _in_this_process
"""Makes the dispatcher of a kernel; the build has its own."""


def entry(*words: str) -> Callable[[Any], Any]:
    """Declare a kernel that Python calls, with its types in words (``declarations.py``), or several of them.

    >>> import numpy as np
    >>> from neardup.kernels.sets import parity_words
    >>> parity_words(np.arange(4, dtype=np.int32))
    Traceback (most recent call last):
        ...
    TypeError: parity_words: sizes is int32[:], not int64[:], contiguous
    """
    return lambda function: function if INTERPRETED else Entry(function, words)


def part(function: Any = None, *, inline: bool = False) -> Any:
    """Declare a kernel that only kernels call; ``inline``: its code is put into theirs before types are found."""
    if function is None:
        return lambda decorated: part(decorated, inline=inline)
    return function if INTERPRETED else Kernel(function, "always" if inline else "never")


class Operation:
    """An operation of the machine: LLVM's in compiled kernels, plain Python where Python calls it."""

    def __init__(self, plain: Any) -> None:
        functools.update_wrapper(self, plain)
        self._plain = plain

    @cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from neardup.kernels import intrinsics

        context = cpu_target.typing_context
        context.refresh()  # the operations were defined after it was made
        return context.resolve_value_type(getattr(intrinsics, self._plain.__name__))

    def __call__(self, *arguments: Any) -> Any:
        """Call it in plain Python."""
        return self._plain(*arguments)
