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

_LAZY = {
    "Plan": "neardup.text.lsh.bands",
    "plan": "neardup.text.lsh.bands",
    "Advice": "neardup.corpus.advice",
    "BBit": "neardup.text.sketch.textbook",
    "BottomK": "neardup.text.sketch.samples",
    "BucketMinHash": "neardup.text.sketch.buckets",
    "AsyncClient": "neardup.service.client",
    "Client": "neardup.service.client",
    "Collection": "neardup.collection",
    "Collections": "neardup.collection.shards",
    "Comparison": "neardup.comparison.compare",
    "Contamination": "neardup.corpus.contamination.contamination",
    "DESCRIPTIONS": "neardup.comparison.result",
    "Distinct": "neardup.deduplication.group.distinct",
    "Found": "neardup.deduplication.run.findings",
    "HammingIndex": "neardup.text.lsh.hamming",
    "Index": "neardup.text.sketch.index",
    "LSH": "neardup.text.lsh.index",
    "MinHash": "neardup.text.sketch.minhash",
    "ModP": "neardup.text.sketch.textbook",
    "MultiplyShift": "neardup.text.sketch.textbook",
    "Near": "neardup.collection.near",
    "RepeatedPassages": "neardup.corpus.repetition.passages",
    "Repeat": "neardup.deduplication.group.distinct",
    "SampledShingles": "neardup.text.sketch.samples",
    "Settings": "neardup.settings",
    "SimHash": "neardup.text.sketch.simhash",
    "Similarities": "neardup.comparison.walkthrough",
    "similarities": "neardup.comparison.walkthrough",
    "similarity": "neardup.deduplication.run.sets",
    "Store": "neardup.collection.store",
    "TopPairs": "neardup.deduplication.run.top_pairs",
    "View": "neardup.collection.view",
    "WeightedMinHash": "neardup.text.sketch.minhash",
    "advise": "neardup.corpus.advice",
    "compare": "neardup.comparison.documents",
    "containment": "neardup.text.sketch.documents",
    "decontaminate": "neardup.corpus.contamination.contamination",
    "dedup": "neardup.deduplication.run.find",
    "distinct": "neardup.deduplication.group.distinct",
    "explain": "neardup.comparison.walkthrough",
    "find": "neardup.deduplication.run.find",
    "fingerprint_part": "neardup.deduplication.run.parts.merge",
    "from_datasketch": "neardup.text.sketch.signatures",
    "group_pairs": "neardup.deduplication.group.leaders",
    "hamming_pairs": "neardup.text.lsh.hamming",
    "hamming_plan": "neardup.text.lsh.hamming_tables",
    "hash_tokens": "neardup.text.sketch.documents",
    "jaccard": "neardup.text.sketch.documents",
    "join": "neardup.deduplication.run.sets",
    "load": "neardup.deduplication.run.findings",
    "merge": "neardup.deduplication.run.parts.merge",
    "passages": "neardup.corpus.repetition.passages",
    "read_signatures": "neardup.text.sketch.signatures",
    "report_page": "neardup.review.report.content",
    "resemblance_by_chunks": "neardup.comparison.compare",
    "shingles": "neardup.text.sketch.documents",
    "tokens": "neardup.text.sketch.documents",
    "top_pairs": "neardup.deduplication.run.top_pairs",
    "write_signatures": "neardup.text.sketch.signatures",
}


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
