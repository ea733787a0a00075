"""Argument types in words, so that kernels can be compiled without data: ``uint8[1dCr]``, ``(int64, bool)``."""

import re
from importlib import import_module
from typing import Any

import numpy as np
from numba import from_dtype, types

_ARRAY = re.compile(r"(\w+)\[(\d+)d([CFA])(r?)\]")
_WORD = re.compile(r"[\w.:]+")


def spelled(of: Any) -> str:
    """Return an argument type in words; for a type that :func:`read` cannot read they begin with ``?``.

    >>> spelled(types.Array(types.uint8, 1, "C", readonly=True))
    'uint8[1dCr]'
    """
    if type(of) is types.Array and of.aligned and isinstance(of.dtype, types.Number | types.Boolean):
        return f"{of.dtype}[{of.ndim}d{of.layout}{'' if of.mutable else 'r'}]"
    if isinstance(of, types.BaseNamedTuple):
        members = ", ".join(map(spelled, of.types))
        return f"{of.instance_class.__module__}:{of.instance_class.__qualname__}({members})"
    if isinstance(of, types.BaseTuple) and not isinstance(of, types.StarArgTuple | types.StarArgUniTuple):
        return f"({', '.join(map(spelled, of.types))})"
    plain = type(of) in (types.Integer, types.Float, types.Boolean, types.NoneType)
    return str(of) if plain else f"?{type(of).__name__}:{of}"


def read(words: str) -> Any:
    """Return the type that ``spelled`` put into these words. Raises ValueError for anything else.

    >>> str(read("(int64, float64[2dC])"))
    'Tuple(int64, array(float64, 2d, C))'
    """
    found, rest = _read(words)
    if rest:
        raise ValueError(words)
    return found


def _read(words: str) -> tuple[Any, str]:
    if array := _ARRAY.match(words):
        dtype, dimensions, layout, readonly = array.groups()
        made = types.Array(_scalar(dtype), int(dimensions), layout, readonly=bool(readonly))
        return made, words[array.end() :]
    name = word[0] if (word := _WORD.match(words)) else ""
    rest = words[len(name) :]
    if not rest.startswith("("):
        return _scalar(name), rest
    members, rest = [], rest[1:]
    while not rest.startswith(")"):
        member, rest = _read(rest)
        members.append(member)
        rest = rest.removeprefix(", ")
    if not name:
        return types.Tuple(members), rest[1:]
    module, _, class_name = name.partition(":")
    if not module.startswith("neardup."):
        raise ValueError(name)
    named = getattr(import_module(module), class_name)
    uniform = len(set(members)) == 1
    made = types.NamedUniTuple(members[0], len(members), named) if uniform else types.NamedTuple(members, named)
    return made, rest[1:]


def _scalar(name: str) -> Any:
    if name == "none":
        return types.none
    if name == "bool":
        return types.boolean
    try:
        return from_dtype(np.dtype(name))
    except TypeError:
        raise ValueError(name) from None
