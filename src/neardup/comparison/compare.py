"""Every measure of two documents, and the evidence: the common text, its places, and which numbers are estimates.

*Resemblance*, *containment*, *overlap*, *vocabulary* and *multiset* compare sets.
*Chunk-longest* and *chunk-union* compare text that matches in runs of w or more tokens, each counted in two ways
(``matching.py``). *Lcs* compares text in order. *Minhash* and *simhash* are the estimates of a sketch.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from time import monotonic
from typing import Any, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from neardup.comparison import matching
from neardup.comparison.base_text import (
    BaseShingles,
    base_shingles,
    published_shingles,
    runs_of,
    units_kept,
    words_that_count,
)
from neardup.comparison.result import DESCRIPTIONS, ComparisonRecord
from neardup.comparison.show import as_fragment, as_page, as_text
from neardup.errors import InputError, LimitError
from neardup.kernels import sets
from neardup.kernels.formulas import OVERLAP, RESEMBLANCE
from neardup.kernels.match import LCS_CAP, TILING_CAP
from neardup.kernels.sketch import sketch_sets
from neardup.kernels.sorting import sort_distinct
from neardup.runtime import Deadline
from neardup.settings import MEASURES, Settings, language_or_count
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.cleaning import cleaner_of
from neardup.text.sketch import classic_coefficients, distance, estimate, of_codepoints
from neardup.text.units import Reading, Units, read

P = ParamSpec("P")
T = TypeVar("T")

SLOTS = 128
"""Slots of the MinHash signatures compared."""


class Comparison(ComparisonRecord):
    """The result of :func:`compare`: a record that prints as text and renders in a notebook."""

    def text(
        self, width: int = 80, *, names: tuple[str, str] = ("A", "B"), full: bool = False, every: bool = False
    ) -> str:
        """Return both texts with their differences and the measures, in lines of at most ``width`` columns.

        ``width`` is 60 or more; from 100 on, the texts are side by side. ``full`` shows long equal stretches
        unfolded, ``every`` all measures instead of six with a sentence each. ``print`` uses the defaults.
        """
        return "\n".join(as_text(self, names, width, colour=False, full=full, every=every))

    def html(self, *, names: tuple[str, str] = ("A", "B"), full: bool = False) -> str:
        """Return a self-contained page: both texts side by side, the list of differences, the measures."""
        return as_page(self, names, full=full)

    def docx(self, *, author: str = "neardup", date: datetime | None = None) -> bytes:
        """Return a document of Word: text B, with its differences from A as tracked changes.

        ``author`` and ``date`` (default: now) are those of the changes. Lines are paragraphs without formatting.
        All characters are compared, also those that no measure counts. To accept all changes gives B, to
        reject them gives A; characters that XML cannot hold are U+FFFD, and line ends are paragraphs.

        >>> compare("Pay 10 coins", "Pay 12 coins").docx(author="Ann")[:2]
        b'PK'
        """
        from neardup.comparison.show.redline import redline  # other comparisons start without it

        return redline(self.a.text, self.b.text, author=author, date=date)

    def _repr_html_(self) -> str:
        return as_fragment(self)

    def __str__(self) -> str:
        return self.text()


class LeftOut(TypedDict, total=False):
    """Text that a comparison leaves out, by default none, and the tokenizer of the rest."""

    tokenizer: str
    mask: str | Collection[str]
    ignore_numbers: bool
    stop_words: str | Collection[str] | None
    ignore: Collection[str] | None


def compare(
    a: str,
    b: str,
    *,
    length: int = 5,
    unit: str = "word",
    min_chunk: int | None = None,
    seconds: float | None = None,
    **left_out: Unpack[LeftOut],
) -> Comparison:
    """Compare two texts by every measure, with the evidence: :func:`neardup.compare` has the parameters.

    Raises SettingError for an invalid setting, InputError if a text is not a str, and LimitError if the comparison
    takes longer than ``seconds``. The time is checked before each of fourteen steps.
    """
    rules, ignore = _left_out(**left_out)
    checked = Settings.of(length=length, unit=unit, **rules)
    if min_chunk is not None:
        matching.check_length("min_chunk", min_chunk)
    cleaning = checked.cleaning
    settings: dict[str, Any] = {
        "length": checked.shingles.length,
        "unit": checked.shingles.unit,
        "min_chunk": min_chunk or checked.shingles.length,
        "ignore_numbers": cleaning.ignore_numbers,
        "stop_words": language_or_count(cleaning.stop_words),
        **({"mask": list(cleaning.mask)} if cleaning.mask else {}),
        **({"tokenizer": cleaning.tokenizer} if cleaning.tokenizer else {}),
        **({"ignore": len(ignore)} if ignore else {}),
    }
    in_time = _Clock(seconds)
    cleaner = cleaner_of(cleaning)
    readings = (in_time(read)(a, cleaner=cleaner), in_time(read)(b, cleaner=cleaner))
    form = settings["length"], settings["unit"]
    base = base_shingles(ignore, *form, cleaner=cleaner, key=readings[0].key)
    return _compare(readings, settings, base, in_time)


def _left_out(
    *,
    tokenizer: str = "",
    mask: str | Collection[str] = (),
    ignore_numbers: bool = False,
    stop_words: str | Collection[str] | None = None,
    ignore: Collection[str] | None = None,
) -> tuple[dict[str, Any], Collection[str] | None]:
    """Return the settings among ``LeftOut``, and the base texts. Raises TypeError for another name."""
    masks = mask if isinstance(mask, str) else list(mask)
    numbers, words = bool(ignore_numbers), stop_words or ""
    rules = {"tokenizer": tokenizer, "mask": masks, "ignore_numbers": numbers, "stop_words": words}
    return rules, ignore


class _Clock:
    """Starts a step only if time is left; otherwise raises LimitError."""

    def __init__(self, seconds: float | None) -> None:
        def late_error() -> LimitError:
            return LimitError(
                f"The comparison takes longer than {max(0.0, seconds or 0.0):.3g} seconds",
                "",
                "Compare shorter texts, or give it more time",
            )

        self._deadline = Deadline(seconds, late_error, monotonic)

    def __call__(self, step: Callable[P, T]) -> Callable[P, T]:
        self._deadline.check()
        return step


def _compare(
    readings: tuple[Reading, Reading],
    settings: dict[str, Any],
    base: BaseShingles | None,
    in_time: _Clock,
) -> Comparison:
    length, min_chunk, by_word = settings["length"], settings["min_chunk"], settings["unit"] == "word"
    whole_a, whole_b = (in_time(Reading.units)(reading, by_word) for reading in readings)
    pair = in_time(matching.pair_of)(whole_a.hashes, whole_b.hashes, (whole_a.rank, whole_b.rank))
    in_time(pair.windows)(min_chunk)
    shown = in_time(matching.literal)(pair, min_chunk), in_time(matching.information)(pair, min_chunk)
    matched, a, b, covered = shown, whole_a, whole_b, None
    if base is not None:
        covered = in_time(base.covered_units)(whole_a), in_time(base.covered_units)(whole_b)
        a, b = units_kept(whole_a, ~covered[0]), units_kept(whole_b, ~covered[1])
        pair = matching.pair_of(a.hashes, b.hashes, (a.rank, b.rank))
        matched = in_time(matching.literal)(pair, min_chunk), in_time(matching.information)(pair, min_chunk)
    literal, information = matched
    in_order, lcs_capped = in_time(matching.lcs)(pair, literal.tiles)
    if base is None or covered is None:
        shingles = in_time(matching.shingle_counts)(pair, length)
        totals = tuple(max(len(units) - length + 1, min(len(units), 1)) for units in (a, b))
        bags = [reading.token_hashes for reading in readings]
    else:
        shingles, totals = in_time(base.counts)(whole_a, whole_b)
        bags = list(map(words_that_count, readings, (whole_a, whole_b), covered))
    counts: _Counts = {
        "shingles": (shingles.shared, shingles.size_a, shingles.size_b),
        "occurrences": (shingles.least, *totals),
        "words": in_time(_words)(bags),
        "literal": (literal.common, len(a), len(b)),
        "information": (information.common, information.new_a, information.new_b),
        "order": (in_order, len(a), len(b)),
    }
    of_sketches = {
        "minhash": in_time(_minhash)((whole_a, whole_b), length, base),
        "simhash_distance": distance(*(in_time(of_codepoints)(reading.codepoints) for reading in readings)),
    }
    measures = {**_all_measures(counts, literal, information), **of_sketches}
    lengths = literal.tiles[:, 2]
    lengths = lengths[lengths >= min(length, len(a), len(b))]  # shorter ones, by --min-chunk, have no shingle
    by_chunks = int(lengths.sum()), len(lengths), (len(a), len(b))
    measures["resemblance_by_chunks"] = resemblance_by_chunks(*by_chunks, length)
    capped = literal.capped or shown[0].capped
    return Comparison(
        settings,
        {name: measures[name] for name in DESCRIPTIONS},
        whole_a,
        whole_b,
        shown[0].tiles,
        shown[1].redundant_a,
        shown[1].redundant_b,
        shown[1].covered_a & ~shown[1].redundant_a,
        shown[1].covered_b & ~shown[1].redundant_b,
        tuple([TILING_CAP] * capped + [LCS_CAP] * lcs_capped),
        *_base_runs(covered),
        readings[0].left_out,
        readings[1].left_out,
        (readings[0].counts, readings[1].counts),
    )


def _base_runs(covered: tuple[Bools, Bools] | None) -> tuple[Int64s, Int64s]:
    a, b = covered or (np.zeros(0, np.bool_), np.zeros(0, np.bool_))
    return runs_of(a), runs_of(b)


def _all_measures(
    counts: "_Counts", literal: matching.Literal, information: matching.Information
) -> dict[str, Any]:
    """Return every measure but the estimates of sketches, by name."""
    (shared, shingles_a, shingles_b), (common, tokens_a, tokens_b) = counts["shingles"], counts["literal"]
    return {
        "tokens_a": tokens_a,
        "tokens_b": tokens_b,
        "shingles_a": shingles_a,
        "shingles_b": shingles_b,
        "shared": shared,
        **_values(counts),
        "common_literal": common,
        "common_literal_upper_bound": literal.upper_bound,
        "common_information": information.common,
        "chunks_literal": len(literal.tiles),
        "chunk_shortest_literal": _value(OVERLAP, common, tokens_a, tokens_b),
    }


def resemblance_by_chunks(common: int, chunks: int, tokens: tuple[int, int], length: int = 5) -> float:
    """Return the resemblance of two texts that have ``common`` tokens in ``chunks`` matching chunks.

    ``tokens`` are those of each text, ``length`` is that of a shingle, w. A run of N ≥ w tokens has N - (w - 1)
    shingles. So n chunks of C tokens have C - n(w - 1) in common, texts of L and S tokens have L - (w - 1) and
    S - (w - 1), and of those in either text the share in both is

        S_R = (C - n(w - 1)) / (L + S - C + (n - 2)(w - 1)).

    That is the resemblance if no shingle occurs twice in a text, chunks are as long as they can be, and none is
    shorter than w. A text of fewer tokens is one shingle, and matches only the same text. Raises InputError for
    counts that no two texts have.

    >>> resemblance_by_chunks(85, 2, (100, 97)), resemblance_by_chunks(5, 1, (5, 6))
    (0.6875, 0.5)
    """
    least = 1 if min(tokens) < length else length
    if (
        length < 1
        or min(tokens) < 0
        or not chunks * least <= common <= min(tokens)
        or (common > 0) != (chunks > 0)
    ):
        raise InputError(
            f"{common} tokens in {chunks} chunks of texts of {tokens[0]} and {tokens[1]} tokens",
            f"At least {least} tokens in a chunk, and no more than those of the shorter text",
        )
    shared = max(common - chunks * (length - 1), min(chunks, 1))
    sizes = [max(count - length + 1, min(count, 1)) for count in tokens]
    return _value(RESEMBLANCE, shared, *sizes)


_Counts: TypeAlias = dict[str, tuple[int, int, int]]
"""(|A∩B|, |A|, |B|) of each kind of features; common text is counted in chunks by ``matching``, and in order."""


def _values(counts: _Counts) -> dict[str, float]:
    """Return the values of all measures whose features were counted, by name."""
    values = {}
    for measure in MEASURES.values():
        for value in measure.values:
            kind = {"set": measure.features, "chunks": value.matching, "order": "order"}[measure.counting]
            if kind in counts:
                shared, a, b = counts[kind]
                values[value.name] = _value(measure.formula, shared, *((b, a) if value.from_b else (a, b)))
    return values


def _value(formula: int, shared: int, size: int, other: int) -> float:
    """Return the measure seen from the document of ``size``.

    Two documents without features are equal. An empty set is contained in every set, but an empty document
    resembles no other.
    """
    whole = int(sets.whole(shared, size, other, formula))
    return float(sets.value(shared, size, other, formula)) if whole else float(size == other == 0)


def _words(words: Iterable[UInt64s]) -> tuple[int, int, int]:
    bags = []
    for every in words:
        hashes = every.copy()
        bags.append(hashes[: sort_distinct(hashes, len(hashes), np.empty_like(hashes))])
    sizes = [len(bag) for bag in bags]
    shared = sets.shared_at_least(np.concatenate(bags), 0, sizes[0], sizes[0], sum(sizes), 0)
    return int(shared), sizes[0], sizes[1]


def _minhash(texts: tuple[Units, Units], length: int, base: BaseShingles | None) -> dict[str, Any]:
    """Return the estimate from the signatures of ``MinHash(slots=128, length=…)``; 0 or 1 if a text is empty."""
    shingles = [base.others(units) if base else published_shingles(units, length) for units in texts]
    offsets = np.array([0, len(shingles[0]), len(shingles[0]) + len(shingles[1])], np.int64)
    signatures, chosen = np.empty((2, SLOTS), np.uint32), np.empty((2, SLOTS), np.bool_)
    sketch_sets(np.concatenate(shingles), offsets, False, *classic_coefficients(SLOTS), signatures, chosen)
    matches = (
        int((signatures[0] == signatures[1]).sum()) if bool(len(shingles[0])) == bool(len(shingles[1])) else 0
    )
    estimated = estimate(matches, SLOTS)
    return {"estimate": estimated.value, "low": estimated.low, "high": estimated.high, "slots": SLOTS}
