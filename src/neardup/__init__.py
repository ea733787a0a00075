"""neardup finds, proves and shows near-duplicate documents.

>>> import neardup as nd
>>> nd.plan(threshold=0.8, recall=0.99).slots
128

What costs time to import (Numba, Arrow) is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neardup.errors import FormatError, InputError, NeardupError, OutputError, QueryError, SettingError

# not lazy: the first import of the module `neardup.plan`, by whatever room, would put the module where the
# function belongs; it needs nothing but the standard library
from neardup.plan import Plan, plan
from neardup.settings import Settings

if TYPE_CHECKING:
    from neardup.advice import Advice, advise
    from neardup.dedup import find
    from neardup.measures import Comparison, compare
    from neardup.report import Found, load
    from neardup.sketches import MinHash
    from neardup.walkthrough import explain

    __version__: str

__all__ = [
    "Advice",
    "Comparison",
    "FormatError",
    "Found",
    "InputError",
    "MinHash",
    "NeardupError",
    "OutputError",
    "Plan",
    "QueryError",
    "SettingError",
    "Settings",
    "__version__",
    "advise",
    "compare",
    "explain",
    "find",
    "load",
    "plan",
]

_LAZY = {
    "Advice": "neardup.advice",
    "Comparison": "neardup.measures",
    "Found": "neardup.report",
    "MinHash": "neardup.sketches",
    "advise": "neardup.advice",
    "compare": "neardup.measures",
    "explain": "neardup.walkthrough",
    "find": "neardup.dedup",
    "load": "neardup.report",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("neardup")
    elif name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
