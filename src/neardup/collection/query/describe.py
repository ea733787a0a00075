"""A plan in English."""

from __future__ import annotations

from collections.abc import Iterator

from neardup import views
from neardup.collection.query.plan import AllStep, AnyStep, FingerprintStep, Leaf, NotStep, Plan, Step, WordsStep
from neardup.collection.query.syntax import canonical, clause_text

STEP = "  "


def describe(plan: Plan) -> list[str]:
    """The lines of a plan: what is looked up, what to expect of it, what it guarantees.

    Candidates are expected ones, from the lengths of the postings; the recall is a lower bound.
    """
    return [
        f"query: {views.printable(canonical(plan.query.root))}",
        *_lines(plan.root, ""),
        f"recall: a document that fits is found with probability {_sure(plan.recall)} or more;"
        " everything that is given fits, for it is compared with the text",
        f"candidates: about {_about(plan.candidates)} of {views.counted(plan.total, 'document')}",
    ]


def _lines(step: Step, indent: str) -> Iterator[str]:
    if isinstance(step, AllStep | AnyStep):
        how = "all of these, in this order:" if isinstance(step, AllStep) else "any of these:"
        yield indent + how
        for part in step.parts:
            yield from _lines(part, indent + STEP)
    elif isinstance(step, NotStep):
        yield indent + "not:"
        yield from _lines(step.part, indent + STEP)
    else:
        yield from (indent + line for line in _leaf(step))


def _leaf(step: Leaf) -> Iterator[str]:
    if isinstance(step, FingerprintStep):
        yield from _fingerprint(step)
    elif isinstance(step, WordsStep):
        words = views.printable(" ".join(step.tokens))
        what = "the word" if len(step.tokens) == 1 else "one after the other the words"
        yield f"documents with {what} {words} (at most {_about(step.candidates)})"
    else:
        yield f"documents with metadata {views.printable(clause_text(step.clause))}"


def _fingerprint(step: FingerprintStep) -> Iterator[str]:
    target = step.target
    name = views.printable(target.name)
    share = "a shingle" if target.overlap is None else f"{target.overlap:f} %"
    if step.clause.symmetric:
        yield f"documents of which {share} of the text of both is shared with {name} (resemblance)"
    else:
        yield f"documents that hold {share} of {name} (containment)"
    yield f"{STEP}that is {step.least:,} or more of its {views.counted(target.n, 'shingle')}"
    if target.is_short:
        yield (
            f"{STEP}it has fewer than {target.length} words and is one shingle: only documents of the very same "
            "words overlap it; to find texts that hold these words, search for them as a phrase"
        )
    yield STEP + _lookups(step)
    yield f"{STEP}recall {_sure(step.recall)} or more, {_asked(step)}; about {_about(step.candidates)} candidates"


def _lookups(step: FingerprintStep) -> str:
    if step.way == "one hit":
        return f"look up its {step.n_lookups} sampled shingles of smallest hash; one hit makes a candidate"
    if step.way == "several hits":
        return (
            f"look up its {step.n_lookups} sampled shingles of smallest hash; {step.hits} hits make a candidate "
            f"(read the {len(step.scanned)} rarest, ask for the others)"
        )
    if step.way == "every document":
        return "compare every document, which costs less here than complete look-ups"
    return (
        f"look up the {step.n_lookups} rarest of its shingles, at least one of which every such document holds: "
        f"{len(step.scanned)} by their postings, {len(step.phrases)} as phrases of the full text"
    )


def _asked(step: FingerprintStep) -> str:
    if step.negated:
        return "complete because a miss under NOT would be a false hit"
    if step.target.probability is None:
        return "complete because no probability is given"
    asked = f"{step.target.probability:f} % asked for"
    sampled = step.way in ("one hit", "several hits") or step.target.probability == 100
    return asked if sampled else f"{asked}, for which its sampled shingles are too few"


def _sure(recall: float) -> str:
    return views.similarity(recall, 4)


def _about(count: float) -> str:
    return f"{round(count):,}"
