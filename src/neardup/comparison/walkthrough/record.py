"""The tables of a few small documents as data; ``chapters`` displays them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from neardup.comparison.walkthrough.families import NOTHING
from neardup.display.view import PlainData
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.intervals import coverage
from neardup.text.sketch import Estimate

SHOWN_ROWS, SHOWN_FUNCTIONS = 200, 16
"""How many rows and functions of the two large tables are kept and shown; all numbers are computed from all."""
LONGEST_CHUNK = 100


@dataclass(frozen=True)
class ShownDocument(PlainData):
    """A document: the letter of its column, its name, its beginning, its size."""

    label: str
    name: str
    beginning: str
    words: int
    shingles: int


@dataclass(frozen=True)
class Exact(PlainData):
    """The exact counts |A∩B|, |A|, |B| of documents ``a`` and ``b`` (their positions)."""

    a: int
    b: int
    shared: int
    size_a: int
    size_b: int

    @property
    def union(self) -> int:
        """|A∪B|."""
        return self.size_a + self.size_b - self.shared

    @property
    def resemblance(self) -> float:
        """|A∩B| / |A∪B|; 1 for two empty documents, which are equal."""
        return self.shared / self.union if self.union else 1.0


def probability_of(resemblance: float, rows: int, bands: int) -> float:
    """Return 1 − (1 − Jʳ)ᵇ, the chance of a bucket in common (Leskovec, Rajaraman and Ullman, section 3.4)."""
    return float(1 - (1 - resemblance**rows) ** bands)


@dataclass(frozen=True, eq=False)
class Bands(PlainData):
    """The signatures split into bands of ``rows`` slots each; ``left_over`` slots are in no band.

    ``buckets[band]`` lists all buckets of that band, each as the positions of its documents.
    """

    rows: int
    left_over: int
    buckets: tuple[tuple[tuple[int, ...], ...], ...]

    def probability(self, pair: Exact) -> float:
        """Return the probability that the pair shares a bucket. Documents without a shingle are in no bucket."""
        return probability_of(pair.resemblance, self.rows, len(self.buckets)) if pair.union else 0.0

    def shared_count(self, pair: Exact) -> int:
        """Return the number of bands in which both documents are in one bucket."""
        return sum(any(pair.a in bucket and pair.b in bucket for bucket in band) for band in self.buckets)


@dataclass(frozen=True, eq=False)
class DrawnHashes(PlainData):
    """Hash functions of one family, and the signatures and estimates they produce.

    ``functions`` are the formulas of the first functions; ``permutations`` (uint64[rows, functions]) are the
    values of the first rows under them; ``chosen`` (bool of that shape or None) marks where a row chose the slot.
    ``permutes`` (bool[slots]) are the functions under which different rows have different values.
    ``signatures`` and ``origins`` ([slots, documents], uint64 and int64) are the smallest values and the positions
    of their rows, from 0 (−1: no row). ``matches`` and ``estimates`` are in the order of the pairs. ``says``
    describes the functions, ``caution`` the flaws of their estimates.
    """

    family: str
    slots: int
    says: str
    functions: tuple[str, ...]
    permutations: UInt64s
    chosen: Bools | None
    permutes: Bools
    signatures: UInt64s
    origins: Int64s
    matches: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    bands: Bands | None
    caution: str

    def coverage(self, pair: Exact) -> float:
        """Return the probability that the interval of the pair contains its resemblance, for independent slots."""
        return coverage(pair.resemblance, self.slots)

    def equal(self, slot: int) -> list[tuple[int, ...]]:
        """Return the positions of documents that have equal values in a slot, two or more each."""
        having: dict[int, list[int]] = {}
        for position, value in enumerate(self.signatures[slot].tolist()):
            if value != NOTHING:
                having.setdefault(value, []).append(position)
        return [tuple(positions) for positions in having.values() if len(positions) > 1]


@dataclass(frozen=True)
class CommonChunk(PlainData):
    """The contribution of a common chunk of ``words`` words to the numerators of the three measures."""

    words: int
    chunk_longest: int
    chunk_union: int
    resemblance: int


def contributions(length: int) -> tuple[CommonChunk, ...]:
    """Return the contributions of common chunks of ``length`` − 2 to 100 words, with shingles of ``length`` words.

    A chunk of n words adds n to C if it is at least as long as a shingle, and contains n − w + 1 shingles.

    >>> [(chunk.words, chunk.chunk_union, chunk.resemblance) for chunk in contributions(5)[:4]]
    [(3, 0, 0), (4, 0, 0), (5, 5, 1), (6, 6, 2)]
    """
    lengths = range(max(length - 2, 1), LONGEST_CHUNK + 1)
    counts = ((n, n if n >= length else 0, max(n - length + 1, 0)) for n in lengths)
    return tuple(CommonChunk(words, common, common, shared) for words, common, shared in counts)


@dataclass(frozen=True, eq=False, repr=False)
class ExplanationRecord(PlainData):
    """The tables of ``explain``.

    ``documents``, ``shingles`` (the text of the first rows), ``rows`` (the number of distinct shingles),
    ``held`` (bool[shown rows, documents]), ``pairs`` (exact integers), ``drawn`` (one for each family and
    number of slots), ``chunks`` (empty for shingles of characters), ``notes``. Rows are numbered from
    ``first_row``.
    """

    documents: tuple[ShownDocument, ...]
    unit: str
    length: int
    seed: int
    first_row: int
    shingles: tuple[str, ...]
    rows: int
    held: Bools
    pairs: tuple[Exact, ...]
    drawn: tuple[DrawnHashes, ...]
    chunks: tuple[CommonChunk, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all tables as plain data, without the parts that ``notes`` reports as cut."""
        return {
            "documents": [vars(document) for document in self.documents],
            "unit": self.unit,
            "length": self.length,
            "seed": self.seed,
            "first_row": self.first_row,
            "distinct_shingles": self.rows,
            "shingles": list(self._shingles()),
            "pairs": [
                self._labels(pair)
                | {"shared": pair.shared, "size_a": pair.size_a, "size_b": pair.size_b}
                | {"union": pair.union, "resemblance": pair.resemblance}
                for pair in self.pairs
            ],
            "drawn": [self._hashes_as_data(drawn) for drawn in self.drawn],
            "chunks": [vars(chunk) for chunk in self.chunks],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        drawn = ", ".join(f"{drawn.family} {drawn.slots}" for drawn in self.drawn)
        return f"Explanation({len(self.documents)} documents, {self.rows} shingles; {drawn})"

    def _labels(self, pair: Exact) -> dict[str, Any]:
        return {"a": self.documents[pair.a].label, "b": self.documents[pair.b].label}

    def _shingles(self) -> Iterator[dict[str, Any]]:
        for number, (shingle, members) in enumerate(zip(self.shingles, self.held, strict=True), self.first_row):
            yield {"row": number, "shingle": shingle, "in": [int(is_held) for is_held in members]}

    def _hashes_as_data(self, drawn: DrawnHashes) -> dict[str, Any]:
        signatures = [[None if x == NOTHING else x for x in row] for row in drawn.signatures.tolist()]
        return {
            "family": drawn.family,
            "slots": drawn.slots,
            "says": drawn.says,
            "caution": drawn.caution,
            "functions": list(drawn.functions),
            "permutations": drawn.permutations.tolist(),
            "chosen": None if drawn.chosen is None else drawn.chosen.astype(int).tolist(),
            "permutes": drawn.permutes.astype(int).tolist(),
            "signatures": signatures,
            "estimates": [
                self._labels(pair)
                | {"equal": equal, "value": estimate.value, "low": estimate.low, "high": estimate.high}
                | {"coverage": drawn.coverage(pair)}
                for pair, equal, estimate in zip(self.pairs, drawn.matches, drawn.estimates, strict=True)
            ],
            "bands": None if drawn.bands is None else self._bands(drawn.bands),
        }

    def _bands(self, bands: Bands) -> dict[str, Any]:
        labels = labels_of(self)
        return {
            "rows": bands.rows,
            "left_over": bands.left_over,
            "buckets": [[[labels[i] for i in bucket] for bucket in band] for band in bands.buckets],
            "pairs": [
                self._labels(pair)
                | {"shared_bands": bands.shared_count(pair), "probability": bands.probability(pair)}
                for pair in self.pairs
            ],
        }


def labels_of(explained: ExplanationRecord) -> tuple[str, ...]:
    """Return the letters of the documents."""
    return tuple(document.label for document in explained.documents)


def letters_of(explained: ExplanationRecord, pair: Exact, between: str = " ") -> str:
    """Return the letters of a pair."""
    return between.join(labels_of(explained)[position] for position in (pair.a, pair.b))
