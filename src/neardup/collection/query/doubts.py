"""Numbers of a query that surely mean something else than they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neardup.collection.query.plan import FingerprintStep, QueryPlan

_NUMBERS = re.compile(r"(?:_[0-9.]+%?){1,2}$", re.ASCII)
"""The numbers at the end of a fingerprint clause."""


def doubts(plan: QueryPlan) -> tuple[str, ...]:
    """Return a sentence for each number below 1 without a % sign: _0.5 is half a per cent, and not a half."""
    found = (said for step in plan.fingerprints for said in _doubts(step, plan.query.text))
    return tuple(dict.fromkeys(found))


def _doubts(step: FingerprintStep, text: str) -> Iterator[str]:
    numbers = [number for number in (step.target.overlap, step.target.probability) if number is not None]
    typed = _NUMBERS.search(text[slice(*step.clause.span)])
    words = typed[0].split("_")[-len(numbers) :] if typed and numbers else ()
    for number, word in zip(numbers, words, strict=False):
        if number < 1 and not word.endswith("%"):
            meant = f"{(number * 100).normalize():f}"
            yield f"_{word} means {number:f} per cent. Write _{meant} for {meant} per cent, or else _{word}%"


__all__ = ["doubts"]
