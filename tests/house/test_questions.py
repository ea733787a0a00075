"""Twenty questions of the four readers are answered within two pages from the index, and 300 words of a page."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MOST_WORDS = 300


class Question(NamedTuple):
    reader: str
    question: str
    route: tuple[str, ...]
    """The links that a reader follows from the index, as they are written there: a page, and perhaps a heading."""
    answer: str
    """The end of the answer."""


QUESTIONS = [
    Question("reviewer", "Why was this document removed?", ("howto/pairs.md",), "removed: near copy of notice-1"),
    Question("reviewer", "Can I take back a decision?", ("howto/review.md",), "an undo of your last action"),
    Question("reviewer", "What do the verdicts mean?", ("howto/review.md",), "*Unsure*: nothing follows"),
    Question(
        "reviewer", "Where are the documents in the end?", ("howto/review-decisions.md",), "neardup apply reviewed"
    ),
    Question(
        "reviewer", "Who decided, if several of us do?", ("howto/review.md", "#several-people"), "the history"
    ),
    Question("engineer", "Which threshold?", ("howto/which-command.md",), "neardup plan FILE"),
    Question("engineer", "How do I bound the text lost?", ("howto/trust-removals.md",), "--lose 0.02"),
    Question("engineer", "What if it exceeds the memory?", ("howto/which-command.md",), "--memory 2GB"),
    Question(
        "engineer",
        "How many pairs are missed?",
        ("howto/which-command.md", "../explanation/measures.md#recall-the-pairs-that-may-be-missed"),
        "with probability .9918",
    ),
    Question("engineer", "How do I leave out what I have?", ("howto/which-command.md",), "--against OLD"),
    Question(
        "store owner", "How do I make a copy while it is in use?", ("howto/years.md",), "use `backup`, not `cp`"
    ),
    Question("store owner", "How does another program ask?", ("reference/service.md",), "FINGERPRINT:a/1_20_80"),
    Question(
        "store owner",
        "Is a new document compared on arrival?",
        ("reference/collection.md#near-documents-on-arrival",),
        "it is not stored, and later ones are not compared with it",
    ),
    Question("store owner", "How large does it get?", ("howto/years.md#sizes",), "file, a copy, and space"),
    Question("store owner", "Who may read and write?", ("howto/deploy.md",), "read TOKEN` or `write TOKEN"),
    Question("learner", "What is a shingle?", ("reference/glossary.md",), "a run of five tokens"),
    Question(
        "learner", "Why does one word cost this much?", ("explanation/measures.md",), "costs up to five shingles"
    ),
    Question("learner", "Resemblance or containment?", ("reference/glossary.md",), "it has a direction"),
    Question("learner", "How can MinHash know?", ("explanation/walkthrough.md",), "exactly their resemblance"),
    Question(
        "learner", "Is .8 right for me?", ("explanation/thresholds.md",), "shows the effect of each threshold"
    ),
]


def text_from(page: Path, heading: str) -> str:
    text = page.read_text(encoding="utf-8")
    if heading:
        titles = re.finditer(r"^#+ (.*)$", text, re.MULTILINE)
        [start] = [one.start() for one in titles if slug(one[1]) == heading]
        text = text[start:]
    return text


def slug(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.question)
def test_a_question_is_answered_within_two_pages(asked: Question) -> None:
    assert 1 <= len(asked.route) <= 2
    page, text = DOCS / "index.md", (DOCS / "index.md").read_text(encoding="utf-8")
    for target in asked.route:
        assert f"({target})" in text, (asked.question, page)
        name, _, heading = target.partition("#")
        page = (page.parent / name).resolve() if name else page
        text = text_from(page, heading)
    begin, found, _ = text.partition(asked.answer)
    assert found, asked.answer
    assert len(begin.split()) + len(asked.answer.split()) <= MOST_WORDS


def test_each_reader_asks_five() -> None:
    readers = [asked.reader for asked in QUESTIONS]
    assert {reader: readers.count(reader) for reader in readers} == dict.fromkeys(
        ("reviewer", "engineer", "store owner", "learner"), 5
    )
