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
    from neardup.banding import LSH
    from neardup.blocks import hamming_plan
    from neardup.collection import Collection
    from neardup.dedup import find
    from neardup.families import (
        BBit,
        BottomK,
        BucketMinHash,
        ModP,
        MultiplyShift,
        SampledShingles,
        from_datasketch,
        read_signatures,
        write_signatures,
    )
    from neardup.hamming import HammingIndex, hamming_pairs
    from neardup.measures import Comparison, compare
    from neardup.report import Found, load
    from neardup.simhash import SimHash
    from neardup.sketches import MinHash
    from neardup.walkthrough import explain

    __version__: str

__all__ = [  # noqa: RUF022 - in the order of sorted(), as dir() shows it
    "Advice",
    "BBit",
    "BottomK",
    "BucketMinHash",
    "Collection",
    "Comparison",
    "FormatError",
    "Found",
    "HammingIndex",
    "InputError",
    "LSH",
    "MinHash",
    "ModP",
    "MultiplyShift",
    "NeardupError",
    "OutputError",
    "Plan",
    "QueryError",
    "SampledShingles",
    "SettingError",
    "Settings",
    "SimHash",
    "__version__",
    "advise",
    "compare",
    "explain",
    "find",
    "from_datasketch",
    "hamming_pairs",
    "hamming_plan",
    "load",
    "plan",
    "read_signatures",
    "write_signatures",
]

_LAZY = {
    "Advice": "neardup.advice",
    "BBit": "neardup.families",
    "BottomK": "neardup.families",
    "BucketMinHash": "neardup.families",
    "Collection": "neardup.collection",
    "Comparison": "neardup.measures",
    "Found": "neardup.report",
    "HammingIndex": "neardup.hamming",
    "LSH": "neardup.banding",
    "MinHash": "neardup.sketches",
    "ModP": "neardup.families",
    "MultiplyShift": "neardup.families",
    "SampledShingles": "neardup.families",
    "SimHash": "neardup.simhash",
    "advise": "neardup.advice",
    "compare": "neardup.measures",
    "explain": "neardup.walkthrough",
    "find": "neardup.dedup",
    "from_datasketch": "neardup.families",
    "hamming_pairs": "neardup.hamming",
    "hamming_plan": "neardup.blocks",
    "load": "neardup.report",
    "read_signatures": "neardup.families",
    "write_signatures": "neardup.families",
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
