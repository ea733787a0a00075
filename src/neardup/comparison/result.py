"""The record of a comparison of two documents: every measure, and the evidence as places in both texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from neardup.comparison.alignment import Alignment, align
from neardup.comparison.kinds.rules import Kind, kind_of, sentence
from neardup.display import similarity
from neardup.display.view import PlainData
from neardup.kernels.match import LCS_CAP, TILING_CAP
from neardup.runtime import Progress
from neardup.settings import CLEANING, LITERAL, CountedAs, values
from neardup.tables import Bools, Int64s
from neardup.text.units import Units, read

_COUNTS_OF_SETS = {
    "tokens_a": "Tokens of A (characters, where characters are compared).",
    "tokens_b": "Tokens of B (characters, where characters are compared).",
    "shingles_a": "Different shingles (runs of consecutive tokens) of A.",
    "shingles_b": "Different shingles (runs of consecutive tokens) of B.",
    "shared": "Different shingles that both have.",
}

_UNFINISHED = {
    TILING_CAP: {
        **{value.name: "lower bound" for _, value in values("chunks") if value.matching == LITERAL},
        **dict.fromkeys(("common_literal", "chunk_shortest_literal"), "lower bound"),
        "chunks_literal": "as found",
    },
    LCS_CAP: {value.name: "lower bound" for _, value in values("order")},
}


@dataclass(frozen=True)
class Description:
    """A description of a number: its ``kind`` (exact, bound or estimate) and a sentence about it."""

    kind: Literal["exact", "bound", "estimate"]
    sentence: str


def _exact(sentences: Mapping[str, str]) -> dict[str, Description]:
    return {name: Description("exact", sentence) for name, sentence in sentences.items()}


def _values(counting: CountedAs) -> dict[str, Description]:
    return _exact({value.name: value.sentence for _, value in values(counting)})


DESCRIPTIONS: dict[str, Description] = {
    **_exact(_COUNTS_OF_SETS),
    **_values("set"),
    **_values("chunks"),
    "common_literal": Description(
        "exact", "Tokens in matching chunks, each matched once, the longest chunks taken first."
    ),
    "common_literal_upper_bound": Description(
        "bound",
        "No choice of chunks has more common tokens; where it equals the common text, that is proven maximal.",
    ),
    "common_information": Description(
        "exact",
        "Tokens that repeat nothing of their own document and match the other one; the smaller of the two counts.",
    ),
    "chunks_literal": Description("exact", "Matching chunks, each token matched once."),
    "chunk_shortest_literal": Description(
        "exact", "Common text as a share of the shorter document: 1 if the longer one has all of it."
    ),
    "resemblance_by_chunks": Description(
        "estimate",
        "The resemblance that so much common text in so many chunks implies; equal to it unless shingles repeat.",
    ),
    **_values("order"),
    "minhash": Description(
        "estimate",
        "Resemblance as a MinHash sketch estimates it, with its 95 % interval (Wilson).",
    ),
    "simhash_distance": Description(
        "estimate",
        "Bits of 64 in which the SimHash fingerprints differ: near 0 for texts almost equal, near 32 for others.",
    ),
}
"""Every measure, in the order of ``ComparisonRecord.measures``: whether it is exact, and a sentence about it.

If ``ComparisonRecord.caps`` names the matching of a measure, its value is not exact: the search was incomplete.
"""


@dataclass(frozen=True, eq=False)
class ComparisonRecord(PlainData):
    """The result of comparing two documents: see :func:`compare`.

    - ``measures``: every number of ``DESCRIPTIONS``, in that order.
    - ``a``, ``b``: the compared units (tokens or characters), with their places in the original texts.
    - ``tiles`` int64[k, 3]: the literal match, (start in a, start in b, length) in units, in text order of a.
    - ``redundant_a``, ``redundant_b``, ``matched_a``, ``matched_b`` bool[units]: the information match: the units
      that repeat their own document, and those among the others that are in the other document.
    - ``settings``: the settings of the call; ``stop_words`` is the language, or the number of distinct words.
    - ``base_a``, ``base_b`` int64[k, 2]: the runs [begin, end) of units in boilerplate. They are in ``a``, ``b``
      and in the matches, but no measure counts them, except ``simhash_distance``.
    - ``left_out_a``, ``left_out_b`` int64[k, 2]: the characters [begin, end) of masks, numbers and stop words that
      are left out: they are in no unit, and so in no measure. ``counts_left_out`` are, for a and b, the places of
      each mask, then the numbers and the stop words.
    - ``caps``: sentences about matchings that were not completed; nearly always empty.
    - ``not_compared``: the kinds of parts beside the text in which two files differ, such as images, attachments.
    """

    settings: dict[str, Any]
    measures: dict[str, Any]
    a: Units
    b: Units
    tiles: Int64s
    redundant_a: Bools
    redundant_b: Bools
    matched_a: Bools
    matched_b: Bools
    caps: tuple[str, ...]
    base_a: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))
    base_b: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))
    left_out_a: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))
    left_out_b: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))
    counts_left_out: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    not_compared: tuple[str, ...] = ()

    def _spellings(self) -> Mapping[str, str]:
        return {**{name: f"measures[{name!r}]" for name in self.measures}, **super()._spellings()}

    @property
    def resemblance(self) -> float:
        """The measure of this name: |A∩B| / |A∪B| of the shingles. The others are in ``measures``."""
        return float(self.measures["resemblance"])

    @property
    def ignores(self) -> bool:
        """Whether boilerplate was given."""
        return "ignore" in self.settings

    @property
    def leaves_out(self) -> bool:
        """Whether masks, numbers or stop words are left out, or what a tokenizer makes no token of."""
        return any(self.settings.get(name) for name in CLEANING)

    @property
    def degraded(self) -> bool:
        """Whether a matching was not completed (``caps`` names it and the reason)."""
        return bool(self.caps)

    @property
    def proven(self) -> bool:
        """Whether no literal match has more common text than the one found."""
        return bool(self.measures["common_literal"] == self.measures["common_literal_upper_bound"])

    @cached_property
    def alignment(self) -> Alignment:
        """The two texts in rows: equal, changed, in one text only, moved (``neardup.comparison.alignment``)."""
        return align(self.a, self.b, self.tiles)

    @property
    def kind(self) -> str | None:
        """The kind of the difference, one of ``comparison.kinds.KINDS``, whatever the settings of the comparison.

        None if the texts repeat themselves too often to be aligned in full.
        """
        return self._kind.name

    @property
    def difference(self) -> str:
        """The kind of the difference and its counts, for example "numbers only: 2 of 14 numbers differ"."""
        name, others = self._kind.name, ", ".join(self.not_compared)
        beside = f"; not compared: {others}, which differ" if others else ""
        return (f"{name}: " if name else "") + sentence(self._kind) + beside

    @cached_property
    def _kind(self) -> Kind:
        return kind_of(read(self.a.text), read(self.b.text))

    def described(self) -> Iterator[tuple[str, Any, str, str]]:
        """Yield every measure: its name, its value, its kind, and a sentence about it.

        The kind is that of ``DESCRIPTIONS``; for incomplete matchings it is "lower bound" or "as found".
        """
        unfinished = {name: kind for cap in self.caps for name, kind in _UNFINISHED[cap].items()}
        for name, value in self.measures.items():
            about = DESCRIPTIONS[name]
            yield name, value, unfinished.get(name, about.kind), about.sentence

    def chunks(self) -> list[dict[str, Any]]:
        """Return the literal tiles as text: tokens, character spans in both texts, and the two quotes."""
        return [
            {
                "tokens": length,
                "span_a": [int(self.a.spans[i, 0]), int(self.a.spans[i + length - 1, 1])],
                "span_b": [int(self.b.spans[j, 0]), int(self.b.spans[j + length - 1, 1])],
                "text_a": self.a.quote(i, i + length),
                "text_b": self.b.quote(j, j + length),
            }
            for i, j, length in self.tiles.tolist()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON.

        Spans are [begin, end) in characters of the original texts, one per unit; tiles are [start in a, start in
        b, length]; the flags of the information match are runs [begin, end) of units. ``differences`` are the
        changed parts of both texts, and the places where equal units have other characters, with their kind.
        """
        flags = {name: getattr(self, name) for name in ("redundant_a", "redundant_b", "matched_a", "matched_b")}
        return {
            "settings": dict(self.settings),
            "measures": dict(self.measures),
            **({"left_out": self.left_out} if self.leaves_out else {}),
            "degraded": self.degraded,
            "caps": list(self.caps),
            "proven": self.proven,
            "kind": self.kind,
            "difference": self.difference,
            "not_compared": list(self.not_compared),
            "differences": self.alignment.differing(),
            "evidence": {
                "spans_a": self.a.spans.tolist(),
                "spans_b": self.b.spans.tolist(),
                "tiles": self.tiles.tolist(),
                **{name: _runs(values) for name, values in flags.items()},
                **({"base_a": self.base_a.tolist(), "base_b": self.base_b.tolist()} if self.ignores else {}),
                **(self._left_out() if self.leaves_out else {}),
            },
        }

    @property
    def left_out(self) -> dict[str, dict[str, Any]]:
        """The numbers of left out places of a and b: of each mask, of numbers, of stop words; {} without any."""
        if not self.leaves_out:
            return {}
        return {
            letter: {"masks": list(counts[:-2]), "numbers": counts[-2], "stop_words": counts[-1]}
            for letter, counts in zip("ab", self.counts_left_out, strict=True)
        }

    def _left_out(self) -> dict[str, list[list[int]]]:
        return {"left_out_a": self.left_out_a.tolist(), "left_out_b": self.left_out_b.tolist()}

    def __repr__(self) -> str:
        names = ("resemblance", "chunk_longest_literal", "chunk_union_literal", "lcs")
        shown = ", ".join(f"{name} {similarity(self.measures[name])}" for name in names)
        return f"Comparison({shown})"


def make_alignment(record: ComparisonRecord, progress: Progress) -> None:
    """Make the alignment of a comparison now, if it is not made, and count its rows."""
    if "alignment" not in record.__dict__:
        record.__dict__["alignment"] = align(record.a, record.b, record.tiles, progress=progress)


def _runs(flags: Bools) -> list[list[int]]:
    """Return the runs [begin, end) of True values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    runs: list[list[int]] = edges.reshape(-1, 2).tolist()
    return runs
