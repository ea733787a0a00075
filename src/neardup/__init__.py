"""Find, prove and show near-duplicate documents.

>>> import neardup as nd
>>> nd.plan(threshold=0.8, recall=0.99).slots
128

Packages that are slow to import (NumPy, Arrow) are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from neardup.errors import (
    CORE,
    FormatError,
    InputError,
    LimitError,
    NeardupError,
    NetworkError,
    OutputError,
    QueryError,
    SettingError,
    UnknownIdError,
    message_of,
    without_core,
)

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from neardup.collection import Collection, Near
    from neardup.collection.shards import Collections
    from neardup.collection.store import Store
    from neardup.collection.view import View
    from neardup.comparison.compare import Comparison, resemblance_by_chunks
    from neardup.comparison.documents import compare
    from neardup.comparison.result import DESCRIPTIONS
    from neardup.comparison.walkthrough import Similarities, explain, similarities
    from neardup.corpus.advice import Advice, advise
    from neardup.corpus.contamination.contamination import Contamination, decontaminate
    from neardup.corpus.repetition.passages import RepeatedPassages, passages
    from neardup.deduplication.group.distinct import Distinct, Repeat, distinct
    from neardup.deduplication.group.leaders import group_pairs
    from neardup.deduplication.run.find import dedup, find
    from neardup.deduplication.run.findings import Found, load
    from neardup.deduplication.run.parts.merge import fingerprint_part, merge
    from neardup.deduplication.run.sets import join, similarity
    from neardup.deduplication.run.top_pairs import TopPairs, top_pairs
    from neardup.review.report.content import report_page
    from neardup.service.client import AsyncClient, Client
    from neardup.settings import Settings
    from neardup.text.lsh.bands import Plan, plan
    from neardup.text.lsh.hamming import HammingIndex, hamming_pairs
    from neardup.text.lsh.hamming_tables import hamming_plan
    from neardup.text.lsh.index import LSH
    from neardup.text.sketch.buckets import BucketMinHash
    from neardup.text.sketch.documents import containment, hash_tokens, jaccard, shingles, tokens
    from neardup.text.sketch.index import Index
    from neardup.text.sketch.minhash import MinHash, WeightedMinHash
    from neardup.text.sketch.samples import BottomK, SampledShingles
    from neardup.text.sketch.signatures import from_datasketch, read_signatures, write_signatures
    from neardup.text.sketch.simhash import SimHash
    from neardup.text.sketch.textbook import BBit, ModP, MultiplyShift

    __version__: str

__all__ = [  # noqa: RUF022 - in the order of sorted(), as dir() shows it
    "Advice",
    "AsyncClient",
    "BBit",
    "BottomK",
    "BucketMinHash",
    "Client",
    "Collection",
    "Collections",
    "Comparison",
    "Contamination",
    "DESCRIPTIONS",
    "Distinct",
    "FormatError",
    "Found",
    "HammingIndex",
    "Index",
    "InputError",
    "LSH",
    "LimitError",
    "MinHash",
    "ModP",
    "MultiplyShift",
    "Near",
    "NeardupError",
    "NetworkError",
    "OutputError",
    "Plan",
    "QueryError",
    "Repeat",
    "RepeatedPassages",
    "SampledShingles",
    "SettingError",
    "Settings",
    "SimHash",
    "Similarities",
    "Store",
    "TopPairs",
    "UnknownIdError",
    "View",
    "WeightedMinHash",
    "__version__",
    "advise",
    "compare",
    "containment",
    "decontaminate",
    "dedup",
    "distinct",
    "explain",
    "find",
    "fingerprint_part",
    "from_datasketch",
    "group_pairs",
    "hamming_pairs",
    "hamming_plan",
    "hash_tokens",
    "jaccard",
    "join",
    "load",
    "merge",
    "passages",
    "plan",
    "read_signatures",
    "report_page",
    "resemblance_by_chunks",
    "shingles",
    "similarities",
    "similarity",
    "tokens",
    "top_pairs",
    "write_signatures",
]

_NAMES = {
    "collection": "Collection",
    "collection.near": "Near",
    "collection.shards": "Collections",
    "collection.store": "Store",
    "collection.view": "View",
    "comparison.compare": "Comparison resemblance_by_chunks",
    "comparison.documents": "compare",
    "comparison.result": "DESCRIPTIONS",
    "comparison.walkthrough": "Similarities explain similarities",
    "corpus.advice": "Advice advise",
    "corpus.contamination.contamination": "Contamination decontaminate",
    "corpus.repetition.passages": "RepeatedPassages passages",
    "deduplication.group.distinct": "Distinct Repeat distinct",
    "deduplication.group.leaders": "group_pairs",
    "deduplication.run.find": "dedup find",
    "deduplication.run.findings": "Found load",
    "deduplication.run.parts.merge": "fingerprint_part merge",
    "deduplication.run.sets": "join similarity",
    "deduplication.run.top_pairs": "TopPairs top_pairs",
    "review.report.content": "report_page",
    "service.client": "AsyncClient Client",
    "settings": "Settings",
    "text.lsh.bands": "Plan plan",
    "text.lsh.hamming": "HammingIndex hamming_pairs",
    "text.lsh.hamming_tables": "hamming_plan",
    "text.lsh.index": "LSH",
    "text.sketch.buckets": "BucketMinHash",
    "text.sketch.documents": "containment hash_tokens jaccard shingles tokens",
    "text.sketch.index": "Index",
    "text.sketch.minhash": "MinHash WeightedMinHash",
    "text.sketch.samples": "BottomK SampledShingles",
    "text.sketch.signatures": "from_datasketch read_signatures write_signatures",
    "text.sketch.simhash": "SimHash",
    "text.sketch.textbook": "BBit ModP MultiplyShift",
}
"""The names of each module that is imported when one of them is first used."""

_LAZY = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("neardup")
    elif name in _LAZY:
        from importlib import import_module

        try:
            value = _checking_keywords(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in CORE:
                raise
            raise ImportError(message_of(*without_core(error.name)), name=error.name) from error
    else:
        raise _missing_name_error(name)
    globals()[name] = value
    return value


def _missing_name_error(name: str) -> Exception:
    """Return the error for a name that the package lacks; an import of the name has a hint, too."""
    import sys
    from importlib.util import find_spec

    from neardup.display.spellings import missing_attribute_error

    spellings = {each: repr(each) for each in __all__}
    error = missing_attribute_error("module 'neardup'", name, spellings, sys.modules[__name__])
    # Python asks for the attribute, then for a module, and its own error would have no hint
    importing = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    if importing and "?" in str(error) and find_spec(f"{__name__}.{name}") is None:
        return ImportError(f"cannot import {name!r}: {error}", name=__name__)
    return error


def _checking_keywords(module: "ModuleType", name: str) -> "Any":
    """Return a function or class of a module, which names the right one for an unknown keyword.

    The function is replaced in its module, where a pickled function is looked up; of a class, ``__init__`` is.
    """
    from inspect import isclass, isfunction

    from neardup.display.spellings import checking_keywords

    value = getattr(module, name)
    if isclass(value) and isfunction(value.__init__):
        value.__init__ = checking_keywords(value.__init__, name)  # type: ignore[method-assign]
    elif isfunction(value):
        value = checking_keywords(value, name)
        setattr(module, name, value)
    return value


def __dir__() -> list[str]:
    return __all__
