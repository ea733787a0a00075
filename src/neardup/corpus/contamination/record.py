"""The result of a run as data: the weighed matches, the counts, and the account of ``run.json``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.contamination.evidence import Weights
from neardup.corpus.contamination.items import TestItems
from neardup.corpus.contamination.matches import MatchRules
from neardup.corpus.contamination.stream import TrainingScan
from neardup.display.view import PlainData
from neardup.io.inputs import Chosen, Documents, Problem


@dataclass(frozen=True, eq=False)
class StrongMatch(PlainData):
    """A match (a row of MATCHES), the text of its item, and the passage with the text around it."""

    match: Mapping[str, Any]
    item: str
    context: str


@dataclass(frozen=True, eq=False)
class ContaminationRecord(PlainData):
    """Which training documents contain which test items.

    ``matches`` has a row for each item and document with evidence, and ``common`` one for each that only has
    common text; ``phrases`` lists that text. Columns: MATCHES and PHRASES of ``contamination.evidence``.
    """

    matches: pa.Table
    common: pa.Table
    weights: Weights
    scan: TrainingScan = field(repr=False)
    documents: Documents = field(repr=False)
    columns: Chosen
    hits: Mapping[str, Mapping[int, tuple[int, ...]]] = field(repr=False)
    """By training file and row: the numbers of the items with evidence."""
    strongest: Sequence[StrongMatch] = field(repr=False)
    notes: Sequence[str] = ()

    @property
    def items(self) -> TestItems:
        """The test items."""
        return self.weights.items

    @property
    def rules(self) -> MatchRules:
        """When an item is contained."""
        return self.weights.rules

    @property
    def phrases(self) -> pa.Table:
        """The common shingles of the items that training documents have."""
        return self.weights.phrases

    @property
    def problems(self) -> Sequence[Problem]:
        """The rows of both sides that could not be read."""
        return [*self.items.problems, *self.scan.problems]

    @property
    def read(self) -> int:
        """The number of training documents."""
        return self.weights.texts

    @cached_property
    def contaminated(self) -> int:
        """The number of training documents with a match."""
        return sum(map(len, self.hits.values()))

    def test_sets_of(self, source: str, row: int) -> list[str]:
        """The test sets whose items are in a row of a training file."""
        return sorted({self.items.items[item].test_set for item in self.hits.get(source, {}).get(row, ())})

    def by_test_set(self) -> list[dict[str, Any]]:
        """For each test set: its items, those found in training documents, and the documents that contain them."""
        rows = []
        for name in self.items.test_sets:
            of_set = self.matches.filter(pc.equal(self.matches["test_set"], name))
            common = self.common.filter(pc.equal(self.common["test_set"], name))
            documents = of_set.group_by(["source", "row"]).aggregate([])
            every = {item.id for item in self.items.items if item.test_set == name}
            hit = set(pc.unique(of_set["item"]).to_pylist())
            only_common = set(pc.unique(common["item"]).to_pylist()) - hit
            counts = {"items": len(every), "found": len(hit), "only_common": len(only_common)}
            rows.append({"test_set": name, **counts, "documents": documents.num_rows})
        return rows

    def by_source(self) -> list[dict[str, Any]]:
        """For each training file with a match: how many of its documents contain test items."""
        return [{"source": source, "documents": len(self.hits[source])} for source in sorted(self.hits)]

    def as_dict(self) -> dict[str, Any]:
        """The account, as in ``run.json``."""
        return {
            "command": "decontaminate",
            "counts": {
                "documents": self.read,
                "contaminated": self.contaminated,
                "items": len(self.items.items),
                "items_too_short": self.items.too_short,
                "matches": self.matches.num_rows,
                "only_common_text": self.common.num_rows,
                "common_shingles": self.phrases.num_rows,
                "rejected": len(self.problems),
            },
            "rules": {
                "threshold": float(self.rules.share),
                "run": self.rules.run,
                "common": float(self.rules.common),
                "most_documents": self.rules.most_documents(self.read),
                "length": self.scan.search.settings.shingles.length,
            },
            "test_sets": self.by_test_set(),
            "sources": self.by_source(),
            "notes": list(self.notes),
        }
