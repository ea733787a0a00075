"""The table of measures: one row a measure, from which everything else about it is made.

The option and its help, the checks of settings, the criterion of a run, the columns of pairs, the values of
``compare`` and the words of reports are derived from ``MEASURES``. A row combines the *features* that a measure
counts with a *formula* over the counts, |A∩B|, |A| and |B|. For a measure of text in order, |A∩B| is the common
text, and |A| and |B| are the tokens of the documents.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from neardup.kernels.formulas import CONTAINMENT, COSINE, DICE, LARGER, OVERLAP, RESEMBLANCE

Features = Literal["shingles", "words", "occurrences", "bag", "tokens", "runs"]
"""The features of a text that a measure compares: its distinct shingles, its distinct words, its shingles with
repeats, its tokens with repeats, its tokens in order, the distinct shingles of these. The last are its shingles
unless there is base text (``sketch/documents.py``)."""

CountedAs = Literal["set", "chunks", "order"]
"""How common features are counted: as those of a set, in matching chunks (the setting ``matching``), in order."""

LITERAL, INFORMATION = "literal", "information"

ALWAYS = ("resemblance", "containment_a", "containment_b")
"""The values that ``pairs.parquet`` has by any measure."""

WEIGHTED = {"weighted-resemblance": False, "weighted-cosine": True}
"""The measures of sets whose elements have weights, of ``join`` alone; True: by products of weights."""

WEIGHTED_ALIASES = {"weighted-jaccard": "weighted-resemblance"}

OF_JOINS = ("shared", "tversky")
"""Further measures of ``join`` and ``similarity``: a number of elements, and one with two parameters."""


class Value(NamedTuple):
    """A value of a measure in ``compare``: its name, a sentence, and a short label for a column of values."""

    name: str
    sentence: str
    label: str
    from_b: bool = False  # the direction of a measure that has one
    matching: str = LITERAL


@dataclass(frozen=True)
class Measure:
    """One row: the features a measure counts, its ``formula`` by the kernels' number, and its words.

    ``help`` defines it; ``alias`` is another name for it. ``unit`` is the unit of its counts. ``by_lsh`` states
    whether bands of MinHash find its pairs.
    """

    name: str
    features: Features
    formula: int
    help: str
    unit: str
    values: tuple[Value, ...]
    alias: str = ""
    counting: CountedAs = "set"
    by_lsh: bool = False

    @property
    def of_text(self) -> bool:
        """Whether it measures common text, which is not a set."""
        return self.features == "tokens"

    @property
    def of_units(self) -> bool:
        """Whether it counts tokens or characters, each by itself, and not shingles."""
        return self.features in ("words", "bag", "tokens")

    @property
    def of_shingles(self) -> bool:
        """Whether its counts are those of the shingles, which every run has."""
        return self.features == "shingles"

    @property
    def directed(self) -> bool:
        """Whether the two documents of a pair may have different values.

        >>> [name for name, measure in MEASURES.items() if measure.directed]
        ['containment']
        """
        return any(value.from_b for value in self.values)

    @property
    def column(self) -> str:
        """The column that it adds to the pairs; "" if they have its value anyway.

        >>> MEASURES["chunk-union"].column, MEASURES["containment"].column
        ('chunk_union', '')
        """
        values = {value.name for value in self.values}
        return "" if values & set(ALWAYS) else self.name.replace("-", "_")

    def in_words(self, matching: str = LITERAL) -> str:
        """Return the name of the measure in reports.

        >>> MEASURES["chunk-union"].in_words("information"), MEASURES["overlap"].in_words("information")
        ('chunk-union by information', 'overlap')
        """
        return f"{self.name} by {matching}" if self._leaves_out_repeats(matching) else self.name

    def unit_of(self, matching: str = LITERAL) -> str:
        """Return the unit of its counts in reports.

        >>> MEASURES["chunk-union"].unit_of("information")
        'tokens (repeats left out)'
        """
        return f"{self.unit} (repeats left out)" if self._leaves_out_repeats(matching) else self.unit

    def _leaves_out_repeats(self, matching: str) -> bool:
        return self.counting == "chunks" and matching == INFORMATION


_ROWS = (
    Measure(
        "resemblance",
        "shingles",
        RESEMBLANCE,
        "resemblance |A∩B|/|A∪B|, the Jaccard similarity",
        "shingles",
        (Value("resemblance", "Of the shingles of either document, the share that both have.", "resemblance"),),
        alias="jaccard",
        by_lsh=True,
    ),
    Measure(
        "containment",
        "shingles",
        CONTAINMENT,
        "containment |A∩B|/|A|, in either direction for a pair, of the member in the representative for a group",
        "shingles",
        (
            Value("containment_a", "Of the shingles of A, the share that is in B.", "contained, A in B"),
            Value("containment_b", "Of the shingles of B, the share that is in A.", "contained, B in A", True),
        ),
    ),
    Measure(
        "overlap",
        "shingles",
        OVERLAP,
        "overlap |A∩B|/min(|A|,|B|)",
        "shingles",
        (
            Value(
                "overlap",
                "Of the shingles of the document with fewer of them, the share that is in the other one.",
                "overlap",
            ),
        ),
    ),
    Measure(
        "overlap-max",
        "shingles",
        LARGER,
        "overlap-max |A∩B|/max(|A|,|B|)",
        "shingles",
        (
            Value(
                "overlap_max",
                "Of the shingles of the document with more of them, the share that is in the other one.",
                "overlap, larger",
            ),
        ),
        alias="braun-blanquet",
    ),
    Measure(
        "dice",
        "shingles",
        DICE,
        "dice 2·|A∩B|/(|A|+|B|)",
        "shingles",
        (Value("dice", "Twice the common shingles, as a share of the shingles of A and of B together.", "Dice"),),
        alias="sorensen",
    ),
    Measure(
        "cosine",
        "shingles",
        COSINE,
        "cosine |A∩B|/√(|A|·|B|)",
        "shingles",
        (
            Value(
                "cosine",
                "The common shingles, as a share of the geometric mean of the shingles of A and of B.",
                "cosine",
            ),
        ),
        alias="ochiai",
    ),
    Measure(
        "vocabulary",
        "words",
        RESEMBLANCE,
        "vocabulary: resemblance of the sets of words",
        "different words",
        (
            Value(
                "vocabulary",
                "Of the different words of either document, the share in both; stop words count, too.",
                "words",
            ),
        ),
        alias="bag-of-words",
    ),
    Measure(
        "multiset",
        "occurrences",
        RESEMBLANCE,
        "multiset: resemblance that counts repeats",
        "shingles (with repeats)",
        (Value("multiset", "Resemblance that counts a shingle as often as it occurs.", "repeats"),),
    ),
    Measure(
        "chunk-longest",
        "tokens",
        LARGER,
        "chunk-longest: common text/the longer document",
        "tokens",
        (
            Value(
                "chunk_longest_literal",
                "Common text, each token matched once, as a share of the longer document: who has read either "
                "document has read at least this share of the other.",
                "chunks, longest",
            ),
            Value(
                "chunk_longest_information",
                "Common text as a share of the longer document, where text repeated inside a document counts "
                "once.",
                "chunks without repeats, longest",
                matching=INFORMATION,
            ),
        ),
        counting="chunks",
    ),
    Measure(
        "chunk-union",
        "tokens",
        RESEMBLANCE,
        "chunk-union: common text/all text",
        "tokens",
        (
            Value(
                "chunk_union_literal",
                "Common text, each token matched once, as a share of all text of the two.",
                "chunks, union",
            ),
            Value(
                "chunk_union_information",
                "Common text as a share of all text of the two, where text repeated inside a document counts "
                "once.",
                "chunks without repeats, union",
                matching=INFORMATION,
            ),
        ),
        counting="chunks",
    ),
    Measure(
        "lcs",
        "tokens",
        DICE,
        "lcs: 2·common text in the same order/the text of both",
        "tokens in the same order",
        (
            Value(
                "lcs",
                "Tokens that can be read in the same order in both, as a share of both; blind to moved text.",
                "in order",
            ),
        ),
        counting="order",
    ),
)

MEASURES = {measure.name: measure for measure in _ROWS}
"""The measures by name, in the order in which they are listed."""


def aliases() -> dict[str, str]:
    """Return the further names that are accepted, and the names under which results store them.

    >>> aliases()["sorensen"]
    'dice'
    """
    return {measure.alias: measure.name for measure in MEASURES.values() if measure.alias}


def values(counting: CountedAs) -> Iterator[tuple[Measure, Value]]:
    """Yield the values of all measures that count so, those by information last."""
    of_all = [(row, value) for row in MEASURES.values() if row.counting == counting for value in row.values]
    yield from sorted(of_all, key=lambda pair: pair[1].matching == INFORMATION)


def definitions_of(names: Iterable[str]) -> str:
    """Return the definitions of the named measures in one sentence."""
    return "; ".join(MEASURES[name].help for name in names)
