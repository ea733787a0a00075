"""The recommended command line, and the reasons for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from neardup.advice.record import BandChoice, Bin, NearThreshold, Recommendation, ShingleChoice, Taken
from neardup.advice.traps import ALIKE_AT_RANDOM
from neardup.display import counted, percent, similarity
from neardup.settings import FIELDS, Settings

MOSTLY = 0.5
"""From this share of short documents on, other shingles are recommended."""

NOT_FAR, MANY = 0.1501, 10
"""Largest distance to a quieter threshold, and the number of doubtful pairs from which it is worth mentioning."""

TOLD = ("threshold", "unit", "length", "method")
"""Settings that a recommended command always names."""


def recommend(
    taken: Taken,
    choices: tuple[tuple[ShingleChoice, ...], tuple[BandChoice, ...]],
    spread: tuple[NearThreshold, tuple[Bin, ...]],
    settings: Settings,
    words: Sequence[str],
) -> Recommendation:
    """Return the settings to use with these documents; ``words`` name the documents on the command line.

    The threshold stays as given: statistics cannot decide how similar is too similar.
    """
    shingles, bands = choices
    chosen = _shingles(shingles, settings)
    values = {**settings.as_dict(), "unit": chosen.unit, "length": chosen.length}
    values["method"] = "exact" if taken.complete else "auto"
    reasons = [_why_shingles(shingles[0], chosen), _why_method(taken, bands, settings), *_why_threshold(*spread)]
    return Recommendation(command_line(words, values), values, tuple(reason for reason in reasons if reason))


def command_line(words: Sequence[str], values: dict[str, Any]) -> str:
    r"""Return ``neardup dedup`` with the given arguments and settings, quoted for a POSIX shell.

    >>> command_line(["my mails.jsonl"], {"threshold": 0.9, "keep": "longest"})
    "neardup dedup 'my mails.jsonl' -o cleaned --threshold 0.9"
    >>> command_line(["a\x1b.txt"], {})
    "neardup dedup $'a\\x1b.txt' -o cleaned"
    """
    told = [
        part
        for name, value in values.items()
        if name in TOLD or value != FIELDS[name].default
        for part in (FIELDS[name].option, str(value))
    ]
    return " ".join(["neardup dedup", *map(quoted, words), "-o cleaned", *told])


def quoted(word: str) -> str:
    """Return a word quoted for the shell, control characters escaped, so that none reaches the terminal."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(
        char if char.isprintable() and char not in "\\'" else "".join(f"\\x{byte:02x}" for byte in char.encode())
        for char in word
    )
    return f"$'{escaped}'"


def _shingles(choices: Sequence[ShingleChoice], settings: Settings) -> ShingleChoice:
    """Return the shingles to use: the given ones (first of ``choices``) unless they fail on these documents."""
    own = choices[0]
    mixed = own.unit == "char" and own.random_median >= ALIKE_AT_RANDOM
    if not mixed and (own.fragile < MOSTLY or settings.search.threshold == 1):
        return own
    clear = [choice for choice in choices if choice.random_high < settings.search.threshold / 2]
    five = next(choice for choice in choices if (choice.unit, choice.length) == ("word", 5))
    if mixed and five.fragile < MOSTLY:
        return five
    sturdiest = min(clear or [own], key=lambda choice: (choice.fragile, choice.random_high))
    return sturdiest if mixed or sturdiest.fragile < own.fragile else own


def _why_shingles(own: ShingleChoice, chosen: ShingleChoice) -> str:
    if chosen == own:
        return ""
    noun = {"word": "words", "char": "characters"}[chosen.unit]
    gain = (
        f"two documents taken at random have resemblance {similarity(chosen.random_median, 2)}, instead of "
        f"{similarity(own.random_median, 2)}"
        if own.random_median >= ALIKE_AT_RANDOM
        else f"one changed word takes {percent(chosen.fragile, 1)} of the documents below the threshold, "
        f"instead of {percent(own.fragile, 1)}"
    )
    return (
        f"Runs of {chosen.length} {noun}: {gain}. A threshold means something else with them: look again, with "
        f"neardup plan and --unit {chosen.unit} --length {chosen.length}."
    )


def _why_method(taken: Taken, bands: Sequence[BandChoice], settings: Settings) -> str:
    asked = next(
        choice
        for choice in bands
        if (choice.slots, choice.recall) == (settings.sketch.slots, settings.search.recall)
    )
    missed = "" if asked.missed is None else f"{expected(asked.missed)} of the pairs found here"
    if taken.complete:
        return (
            "Method exact: the sample is small enough to miss no pair. For a much larger collection leave it "
            f"out: the run then chooses by its cost, and the fast method (lsh) would miss {missed}."
        )
    return (
        "Method auto: the run chooses by its cost and says how. The exact method misses no pair; the fast one "
        f"(lsh) would miss {missed}."
    )


def expected(pairs: float) -> str:
    """Return an expected number of pairs; a small number is not shown as none.

    >>> expected(0.0), expected(0.01), expected(12.34)
    ('none', 'fewer than 0.1', 'about 12.3')
    """
    if not pairs:
        return "none"
    return "fewer than 0.1" if pairs < 0.1 else f"about {pairs:,.1f}"


def quieter(near: NearThreshold, histogram: Sequence[Bin]) -> tuple[float, int] | None:
    """Return a nearby threshold with at most half as many pairs within .05 of it, and their number."""
    around = {
        high.low: low.pairs + high.pairs
        for low, high in pairwise(histogram)
        if 0 < abs(high.low - near.threshold) <= NOT_FAR and 0.5 <= high.low < 1
    }
    if not around:
        return None
    at = min(around, key=lambda threshold: (around[threshold], abs(threshold - near.threshold)))
    doubtful = near.above + near.below
    return (at, around[at]) if doubtful >= MANY and 2 * around[at] <= doubtful else None


def _why_threshold(near: NearThreshold, histogram: Sequence[Bin]) -> Iterator[str]:
    doubtful = near.above + near.below
    if doubtful:
        yield (
            f"Threshold {near.threshold:g} as asked: {counted(doubtful, 'pair')} within {near.width:g} of it "
            "would be decided otherwise by a slightly different threshold. Look at some of them before anything "
            "is removed (--dry-run shows what would go)."
        )
        other = quieter(near, histogram)
        if other is not None:
            pairs = f"only {counted(other[1], 'pair is', 'pairs are')}" if other[1] else "no pair is"
            yield f"Around {other[0]:g} {pairs} as close: fewer doubtful cases."
    else:
        yield f"Threshold {near.threshold:g} as asked: no pair is within {near.width:g} of it."
