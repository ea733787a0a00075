"""An index of signatures that arrive and leave: which stored ones may resemble a new one, by LSH."""

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.display.view import PlainData, Public, facts, heading, view
from neardup.errors import FormatError, InputError
from neardup.io.outputs import write_table
from neardup.io.sources import read_table
from neardup.text.lsh.bands import Plan, plan
from neardup.text.sketch.families import Signature, SlotFamily
from neardup.text.sketch.minhash import MinHash
from neardup.text.sketch.provenance import KEY, Estimate, require_same
from neardup.text.sketch.signatures import Signatures

MOST_NAMED = 3
"""Ids that an error names."""

_PLANNED = b"neardup.index"
"""The key in the schema metadata of a saved index that holds its threshold and recall."""


@dataclass(frozen=True)
class Candidate(PlainData):
    """A stored signature that shares a bucket with the query: its ``id``, and the estimated resemblance."""

    id: Hashable
    resemblance: Estimate


class Index(Public):
    """Finds the stored signatures that may resemble a query, with the bands planned for a threshold and a recall.

    A stored document of resemblance ``threshold`` is found with probability ``recall`` or better; ``bands`` has
    the plan. Candidates carry an estimate: count the texts (``jaccard``, ``compare``) for a proof.
    ``family`` makes the signatures; the default is ``MinHash()``. The empty set is never a candidate.

    Raises SettingError for a threshold or recall out of range.

    >>> index = Index(threshold=0.5)
    >>> index.add("memo", "please hand in your travel costs by friday noon")
    >>> one, = index.query("please hand in your travel costs by friday noon today")
    >>> one.id, one.resemblance.value > 0.5
    ('memo', True)
    >>> index.remove("memo")
    >>> len(index)
    0
    """

    def __init__(
        self, threshold: float = 0.8, *, recall: float = 0.99, family: SlotFamily[Any] | None = None
    ) -> None:
        self.family = MinHash() if family is None else family
        self.bands: Plan = plan(threshold, recall, self.family.slots)
        self._cuts = list(pairwise(accumulate(self.bands.bands, initial=0)))
        self._buckets: list[dict[bytes, dict[Hashable, None]]] = [{} for _ in self._cuts]
        self._stored: dict[Hashable, Signature] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def __contains__(self, id: object) -> bool:
        return id in self._stored

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._stored)

    def __repr__(self) -> str:
        return f"Index({len(self)} signatures, threshold={self.bands.threshold:g}, recall={self.bands.recall:g})"

    def _repr_html_(self) -> str:
        lines = [("signatures", f"{len(self):,}"), ("family", repr(self.family))]
        return view(heading("Index"), facts(lines), self.bands.figure())

    def add(self, id: Hashable, signature: Signature | str | NDArray[Any]) -> None:
        """Store a signature, a text of which ``family`` makes one, or a row of ``family.sketch(texts)``.

        Raises InputError if the id is taken and for any other value, FormatError for a signature of another family
        or kind. Any hashable value is an id: strings, numbers, tuples, UUIDs. All signatures of an index are of
        texts, or all of ids and tokens.
        """
        if not isinstance(id, Hashable):
            raise InputError(f"An id is a {type(id).__name__}", "Ids that can be hashed: strings, numbers, tuples")
        if id in self._stored:
            raise InputError(f"The id {id!r} is in the index already"[:100], "", "Remove it first")
        self._store(id, self._signature(signature))

    def add_all(self, ids: Iterable[Hashable], signatures: NDArray[Any]) -> None:
        """Store the rows of ``family.sketch(texts)`` under ``ids``, one each; the errors are those of ``add``.

        Nothing is stored if their numbers differ.
        """
        names = list(ids)
        if len(names) != len(signatures):
            raise InputError(f"There are {len(names)} ids for {len(signatures)} signatures", "One id for each")
        for name, values in zip(names, signatures, strict=True):
            self.add(name, Signature(self.family, values))

    def query(self, signature: Signature | str | NDArray[Any]) -> list[Candidate]:
        """Return the stored signatures that share a bucket with this one, the most similar first.

        A text and a row of ``family.sketch(texts)`` are accepted, too. Equally similar ones are in the order in
        which they were stored. Raises FormatError for a signature of another family or kind, InputError for any
        other value.
        """
        signature = self._signature(signature)
        ids: dict[Hashable, None] = {}
        for bucket, key in self._keys(signature):
            ids.update(bucket.get(key, {}))
        order = {id: place for place, id in enumerate(self._stored)} if len(ids) > 1 else {}
        candidates = [Candidate(id, self._stored[id].resemblance(signature)) for id in ids]
        return sorted(candidates, key=lambda one: (-one.resemblance.value, order.get(one.id, 0)))

    def merge(self, other: "Index") -> None:
        """Store the signatures of another index, too, after those of this one; the other does not change.

        The bands stay those of this index, whatever the threshold and the recall of the other are. Raises
        FormatError for signatures of another family or kind, and InputError, which names them, if ids are in both
        indexes; then nothing is stored.

        >>> here, there = Index(threshold=0.5), Index(threshold=0.5)
        >>> here.add(("mails", 1), "please hand in your travel costs by friday noon")
        >>> there.add(("mails", 2), "please hand in your travel costs by friday noon today")
        >>> here.merge(there)
        >>> list(here)
        [('mails', 1), ('mails', 2)]
        """
        if not isinstance(other, Index):
            raise InputError(f"The other index is a {type(other).__name__}", "An Index")
        taken = [id for id in other if id in self]
        if taken:
            names = ", ".join(map(repr, taken[:MOST_NAMED]))[:100]
            more = f" and {len(taken) - MOST_NAMED} more" * (len(taken) > MOST_NAMED)
            raise InputError(f"Both indexes have the ids {names}{more}", "", "Remove these from one of them first")
        for signature in list(other._stored.values())[:1]:
            self._require(signature)
        require_same(self.family.provenance(), other.family.provenance())
        for id, signature in other._stored.items():
            self._store(id, signature)

    def remove(self, id: Hashable) -> None:
        """Forget a signature. Raises InputError for an unknown id."""
        signature = self._stored.pop(id, None)
        if signature is None:
            raise InputError(f"The id {id!r} is not in the index"[:100])
        for bucket, key in self._keys(signature):
            del bucket[key][id]
            if not bucket[key]:
                del bucket[key]

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the signatures and the plan as Parquet or as an Arrow file, which ``read_signatures`` reads too.

        Raises OutputError if the file cannot be written, or exists and ``overwrite`` is not set, and InputError,
        which names one, for ids that a file cannot store: it stores strings, or whole numbers of 64 bits.
        """
        for id in self._stored:
            if isinstance(id, bool) or not isinstance(id, str | int | np.integer):
                raise InputError(
                    f"The id {id!r} is a {type(id).__name__}"[:100],
                    "In a file, ids that are strings, or whole numbers",
                    "Name the signatures by strings before saving",
                )
        stored = list(self._stored.values())
        values = np.array([signature.values for signature in stored], self.family.dtype)
        of_ids = bool(stored) and stored[0].of_ids
        table = self.family.to_arrow(list(self._stored), values.reshape(-1, self.family.slots), of_ids=of_ids)
        planned = json.dumps({"threshold": self.bands.threshold, "recall": self.bands.recall})
        metadata = {**table.schema.metadata, _PLANNED: planned.encode()}
        write_table(table.replace_schema_metadata(metadata), path, KEY, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> "Index":
        """Read the output of :meth:`save`. Raises InputError or FormatError for another or a damaged file."""
        table = read_table(path)
        try:
            planned = json.loads((table.schema.metadata or {})[_PLANNED])
            threshold, recall = float(planned["threshold"]), float(planned["recall"])
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise FormatError(f"{Path(path).name} is not an index", "A file that Index.save() made") from error
        read = Signatures.of(table)
        if not isinstance(read.family, SlotFamily) or not isinstance(read.values, np.ndarray):
            raise FormatError(f"{Path(path).name} holds {read.provenance}", "Signatures with slots")
        index = cls(threshold, recall=recall, family=read.family)
        for name, values in zip(read.ids.to_pylist(), read.values, strict=True):
            index.add(name, Signature(read.family, values, read.of_ids))
        return index

    def _store(self, id: Hashable, signature: Signature) -> None:
        self._stored[id] = stored = Signature(self.family, signature.values, signature.of_ids)
        for bucket, key in self._keys(stored):
            bucket.setdefault(key, {})[id] = None

    def _keys(self, signature: Signature) -> Iterator[tuple[dict[bytes, dict[Hashable, None]], bytes]]:
        """Yield each bucket table and the key of the signature in it; none for the empty set."""
        if signature.is_empty:
            return
        for table, (begin, end) in zip(self._buckets, self._cuts, strict=True):
            yield table, signature.values[begin:end].tobytes()

    def _signature(self, given: Signature | str | NDArray[Any]) -> Signature:
        """Return a signature that is comparable with those of the index; raises FormatError and InputError."""
        if isinstance(given, str):
            given = self.family.of(given)
        elif isinstance(given, np.ndarray):
            if given.shape != (self.family.slots,) or given.dtype != self.family.dtype:
                wanted = f"{np.dtype(self.family.dtype)}[{self.family.slots}]"
                raise InputError(
                    f"The row has the form {given.dtype}{list(given.shape)}",
                    f"A row of family.sketch(texts): {wanted}",
                    "Sketch the texts with the family of the index",
                )
            given = Signature(self.family, given)
        elif not isinstance(given, Signature):
            raise InputError(
                f"A signature is a {type(given).__name__}",
                "A text, a row of family.sketch(texts), or a signature of family.of(text)",
            )
        self._require(given)
        return given

    def _require(self, signature: Signature) -> None:
        """Raise FormatError unless the signature is comparable with those of the index."""
        known = next(iter(self._stored.values()), None)
        require_same(self.family.provenance(signature.of_ids) if known is None else known, signature)
