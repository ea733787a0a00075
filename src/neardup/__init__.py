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
    from neardup.advice import Advice, advise
    from neardup.collection import Collection, Near
    from neardup.collection.shards import Collections
    from neardup.collection.store import Store
    from neardup.collection.view import View
    from neardup.comparison.compare import Comparison, resemblance_by_chunks
    from neardup.comparison.documents import compare
    from neardup.comparison.result import DESCRIPTIONS
    from neardup.contamination.contamination import Contamination, decontaminate
    from neardup.group.distinct import Distinct, Repeat, distinct
    from neardup.group.leaders import group_pairs
    from neardup.lsh.bands import Plan, plan
    from neardup.lsh.hamming import HammingIndex, hamming_pairs
    from neardup.lsh.hamming_tables import hamming_plan
    from neardup.lsh.index import LSH
    from neardup.repetition.passages import RepeatedPassages, passages
    from neardup.review.report.content import report_page
    from neardup.run.find import dedup, find
    from neardup.run.findings import Found, load
    from neardup.run.shards.merge import fingerprint_part, merge
    from neardup.run.top_pairs import TopPairs, top_pairs
    from neardup.service.client import AsyncClient, Client
    from neardup.settings import Settings
    from neardup.sketch.buckets import BucketMinHash
    from neardup.sketch.documents import containment, hash_tokens, jaccard, shingles, tokens
    from neardup.sketch.index import Index
    from neardup.sketch.minhash import MinHash
    from neardup.sketch.samples import BottomK, SampledShingles
    from neardup.sketch.signatures import from_datasketch, read_signatures, write_signatures
    from neardup.sketch.simhash import SimHash
    from neardup.sketch.textbook import BBit, ModP, MultiplyShift
    from neardup.walkthrough import Similarities, explain, similarities

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
    "load",
    "merge",
    "passages",
    "plan",
    "read_signatures",
    "report_page",
    "resemblance_by_chunks",
    "shingles",
    "similarities",
    "tokens",
    "top_pairs",
    "write_signatures",
]

_LAZY = {
    "Plan": "neardup.lsh.bands",
    "plan": "neardup.lsh.bands",
    "Advice": "neardup.advice",
    "BBit": "neardup.sketch.textbook",
    "BottomK": "neardup.sketch.samples",
    "BucketMinHash": "neardup.sketch.buckets",
    "AsyncClient": "neardup.service.client",
    "Client": "neardup.service.client",
    "Collection": "neardup.collection",
    "Collections": "neardup.collection.shards",
    "Comparison": "neardup.comparison.compare",
    "Contamination": "neardup.contamination.contamination",
    "DESCRIPTIONS": "neardup.comparison.result",
    "Distinct": "neardup.group.distinct",
    "Found": "neardup.run.findings",
    "HammingIndex": "neardup.lsh.hamming",
    "Index": "neardup.sketch.index",
    "LSH": "neardup.lsh.index",
    "MinHash": "neardup.sketch.minhash",
    "ModP": "neardup.sketch.textbook",
    "MultiplyShift": "neardup.sketch.textbook",
    "Near": "neardup.collection.near",
    "RepeatedPassages": "neardup.repetition.passages",
    "Repeat": "neardup.group.distinct",
    "SampledShingles": "neardup.sketch.samples",
    "Settings": "neardup.settings",
    "SimHash": "neardup.sketch.simhash",
    "Similarities": "neardup.walkthrough",
    "similarities": "neardup.walkthrough",
    "Store": "neardup.collection.store",
    "TopPairs": "neardup.run.top_pairs",
    "View": "neardup.collection.view",
    "advise": "neardup.advice",
    "compare": "neardup.comparison.documents",
    "containment": "neardup.sketch.documents",
    "decontaminate": "neardup.contamination.contamination",
    "dedup": "neardup.run.find",
    "distinct": "neardup.group.distinct",
    "explain": "neardup.walkthrough",
    "find": "neardup.run.find",
    "fingerprint_part": "neardup.run.shards.merge",
    "from_datasketch": "neardup.sketch.signatures",
    "group_pairs": "neardup.group.leaders",
    "hamming_pairs": "neardup.lsh.hamming",
    "hamming_plan": "neardup.lsh.hamming_tables",
    "hash_tokens": "neardup.sketch.documents",
    "jaccard": "neardup.sketch.documents",
    "load": "neardup.run.findings",
    "merge": "neardup.run.shards.merge",
    "passages": "neardup.repetition.passages",
    "read_signatures": "neardup.sketch.signatures",
    "report_page": "neardup.review.report.content",
    "resemblance_by_chunks": "neardup.comparison.compare",
    "shingles": "neardup.sketch.documents",
    "tokens": "neardup.sketch.documents",
    "top_pairs": "neardup.run.top_pairs",
    "write_signatures": "neardup.sketch.signatures",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("neardup")
    elif name in _LAZY:
        from importlib import import_module

        try:
            value = getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in CORE:
                raise
            raise ImportError(message_of(*without_core(error.name)), name=error.name) from error
    else:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
