"""Describe a plan in English, and name numbers of a query that surely mean something else than they say."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from neardup import display
from neardup.collection.query import plan as plans
from neardup.collection.query.syntax import canonical, clause_text
from neardup.collection.view import TAGS

_NUMBERS = re.compile(r"(?:_[0-9.]+%?){1,2}$", re.ASCII)
"""The numbers at the end of a fingerprint clause."""


def doubts(plan: plans.QueryPlan) -> tuple[str, ...]:
    """Return a sentence for each number below 1 without a % sign: _0.5 is half a per cent, and not a half."""
    found = (said for step in plan.fingerprints for said in _doubts(step, plan.query.text))
    return tuple(dict.fromkeys(found))


def _doubts(step: plans.FingerprintStep, text: str) -> Iterator[str]:
    numbers = [number for number in (step.target.overlap, step.target.probability) if number is not None]
    typed = _NUMBERS.search(text[slice(*step.clause.span)])
    words = typed[0].split("_")[-len(numbers) :] if typed and numbers else ()
    for number, word in zip(numbers, words, strict=False):
        if number < 1 and not word.endswith("%"):
            meant = f"{(number * 100).normalize():f}"
            yield f"_{word} means {number:f} per cent. Write _{meant} for {meant} per cent, or else _{word}%"


STEP = "  "
_OFTEN = 0.95


def describe(plan: plans.QueryPlan) -> list[str]:
    """The lines of a plan: its look-ups, the expected candidates and the guarantee.

    Candidates are estimates from the lengths of the postings; the recall is a lower bound.
    """
    return [
        f"query: {display.printable(canonical(plan.query.root))}",
        *_lines(plan.root, ""),
        f"{_sure(plan.recall)}: {_promise(plan)}; {_verification(plan)}",
        f"candidates: about {_about(plan.candidates)} of {display.counted(plan.total, 'document')}",
    ]


def _verification(plan: plans.QueryPlan) -> str:
    if any(step.way == "sample" for step in plan.fingerprints):
        return "the hits of a page are counted on their texts"
    return "every hit is verified on its text"


def as_dict(plan: plans.QueryPlan) -> dict[str, Any]:
    """A plan as plain data: the whole, and each fingerprint clause."""
    return {
        "query": canonical(plan.query.root),
        "recall": plan.recall,
        "candidates": plan.candidates,
        "documents": plan.total,
        "fingerprints": [_data(step) for step in plan.fingerprints],
        "text": describe(plan),
        "warnings": list(doubts(plan)),
    }


def _data(step: plans.FingerprintStep) -> dict[str, Any]:
    overlap, probability = step.target.overlap, step.target.probability
    return {
        "clause": clause_text(step.clause),
        "measure": "resemblance" if step.clause.symmetric else "containment",
        "overlap": None if overlap is None else float(overlap),
        "probability": None if probability is None else float(probability),
        "shingles": step.target.n,
        "least_shared": step.least,
        "way": step.way,
        "postings": len(step.sampled),
        "phrases": len(step.phrases),
        "hits": step.hits,
        "recall": step.recall,
        "candidates": step.candidates,
        "expected_shares": dict(expected_shares(step)) if step.way == "sample" else None,
    }


def _lines(step: plans.Step, indent: str) -> Iterator[str]:
    if isinstance(step, plans.AllStep | plans.AnyStep):
        how = "all of these, in this order:" if isinstance(step, plans.AllStep) else "any of these:"
        yield indent + how
        for part in step.parts:
            yield from _lines(part, indent + STEP)
    elif isinstance(step, plans.NotStep):
        yield indent + "not:"
        yield from _lines(step.part, indent + STEP)
    else:
        yield from (indent + line for line in _leaf(step))


def _leaf(step: plans.Leaf) -> Iterator[str]:
    if isinstance(step, plans.FingerprintStep):
        yield from _fingerprint(step)
    elif isinstance(step, plans.WordsStep):
        words = display.printable(" ".join(step.tokens))
        what = "the word" if len(step.tokens) == 1 else "one after the other the words"
        yield f"documents with {what} {words} (about {_about(step.candidates)})"
    else:
        kind = "a tag or metadata" if step.clause.field == TAGS else "metadata"
        yield f"documents with {kind} {display.printable(clause_text(step.clause))}"


def _fingerprint(step: plans.FingerprintStep) -> Iterator[str]:
    target = step.target
    name = display.printable(target.name)
    if step.way == "sample":
        yield f"documents that share a sampled shingle with {name}"
    elif target.overlap is None:
        yield f"documents that share a shingle with {name}"
    elif step.clause.symmetric:
        yield f"documents that resemble {name} by {target.overlap:f} % or more"
    else:
        yield f"documents that hold {target.overlap:f} % or more of {name}"
    least = "its only" if target.n == 1 else f"{step.least:,} or more of its {target.n:,}"
    yield f"{STEP}so they share {least} {'shingle' if target.n == 1 else 'shingles'}"
    if target.full_size > target.n:
        yield f"{STEP}{target.full_size - target.n:,} other shingles of it are boilerplate and do not count"
    if target.is_short:
        yield (
            f"{STEP}it has fewer than {target.length} words and is one shingle: only documents of the very same "
            "words overlap it; to find texts that hold these words, search for them as a phrase"
        )
    yield STEP + _lookups(step)
    if step.way == "sample":
        yield STEP + _needed_share(step)
        yield STEP + _shares(step)
    expected = f"about {display.counted(round(step.candidates), 'candidate')}"
    yield f"{STEP}{_sure(step.recall)}, {_reason(step)}; {expected}"


def _lookups(step: plans.FingerprintStep) -> str:
    if step.way == "sample" and step.common:
        return (
            f"look up the {step.n_lookups} rarest of its {step.n_lookups + step.common} sampled shingles; every "
            "document with one of them is a hit, and one that shares only the common ones is not"
        )
    if step.way == "sample":
        return f"look up its {step.n_lookups} sampled shingles; every document with one of them is a hit"
    if step.way == "one hit":
        return f"look up its {step.n_lookups} sampled shingles of smallest hash; one hit makes a candidate"
    if step.way == "several hits":
        return f"look up its {step.n_lookups} sampled shingles of smallest hash; {step.hits} hits make a candidate"
    if step.way == "one hit or words":
        return (
            f"look up its {step.n_lookups} shingles of smallest hash, {len(step.sampled)} in the sample and "
            f"{len(step.phrases)} by their words; one hit makes a candidate"
        )
    if step.way == "every document":
        return "compare every document, which costs less here than complete look-ups"
    if step.target.n == 1:
        return f"look it up {'by its postings' if len(step.sampled) else 'as a phrase of the full text'}"
    return (
        f"look up the {step.n_lookups} rarest of its shingles, at least one of which every such document holds: "
        f"{len(step.sampled)} by postings, {len(step.phrases)} by their words"
    )


def _needed_share(step: plans.FingerprintStep) -> str:
    """The share of the query document that a document must share to be found with 95 %."""
    n, drawn = step.target.n, len(step.sampled)
    shared = 1 + bisect_left(range(1, n), _OFTEN, key=lambda c: plans.tail_probabilities(n, c, drawn)[1])
    parts = display.percent(shared, n)
    return f"a document that shares {shared:,} of its {n:,} shingles ({parts}) has one with {_OFTEN:.0%} or more"


SHARED = (1, 2, 5, 10, 20)
"""The numbers of shared shingles for which the expected share of the documents found is stated."""


def expected_shares(step: plans.FingerprintStep) -> list[tuple[int, float]]:
    """Return for numbers of shared shingles the expected share of such documents that the look-ups find.

    The expectation is over the key of the collection, which puts shingles in order: documents that share the same
    shingles are found or missed together.
    """
    n, drawn = step.target.n, len(step.sampled)
    return [(c, float(plans.tail_probabilities(n, c, drawn)[1])) for c in SHARED if c <= n]


def _shares(step: plans.FingerprintStep) -> str:
    parts = (f"{display.similarity(share, 2)} of those that share {c}" for c, share in expected_shares(step))
    return f"expected to be found, over the keys that a collection may have: {', '.join(parts)}"


def _reason(step: plans.FingerprintStep) -> str:
    if step.way == "sample":
        rarer = " that is rarer than those left out" if step.common else ""
        return f"for a document that shares a single one{rarer}; FINGERPRINT:…_1_100 misses none from 1 % on"
    if step.negated:
        return "because a miss under NOT would be a false hit"
    if step.target.probability is None:
        return "because no probability is given"
    asked = f"{step.target.probability:f} % asked for"
    sampled = step.way in ("one hit", "several hits", "one hit or words") or step.target.probability == 100
    return asked if sampled else f"{asked}, for which its sampled shingles are too few"


def _sure(recall: float) -> str:
    return display.Extent("look-up", 1).sure(recall)


def _promise(plan: plans.QueryPlan) -> str:
    if plan.recall == 1:
        return display.Extent("document", plan.total).no("match") + " is missed"
    return (
        "the chance, over the keys that a collection may have, that a document that fits is found; those that "
        "share the same shingles are found or missed together"
    )


def _about(count: float) -> str:
    return f"{round(count):,}"
