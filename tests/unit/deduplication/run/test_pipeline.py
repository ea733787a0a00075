"""Stages are checked before the first one runs, and records live until their last reader has ended."""

from itertools import product
from weakref import ref

import pytest

import neardup as nd
from neardup.deduplication.join.base_documents import BaseDocuments
from neardup.deduplication.run.find import STAGES, given_to
from neardup.deduplication.run.pipeline import Meter, Pipeline, Stage
from neardup.deduplication.run.review_decisions import ReviewedResult
from neardup.deduplication.run.stages.records import Action, Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.io.readers import choose_columns, open_documents
from neardup.runtime import Silent
from support.messages import assert_refused


class Text(str):
    """A record."""


class Words(list[str]):
    """A record."""


class Count(int):
    """A record."""


def words(text: Text) -> Words:
    """Take a text apart."""
    return Words(text.split())


def longer(words: Words) -> Words:
    return Words([*words, "more"])


def count(words: Words, text: Text | None) -> Count:
    return Count(len(words) + (0 if text is None else 100))


def both(text: Text) -> tuple[Words, Count]:
    return words(text), Count(len(text))


def test_a_stage_declares_its_records_by_types() -> None:
    assert [(need.record, need.optional) for need in Stage(count).needs] == [(Words, False), (Text, True)]
    assert Stage(both).gives == (Words, Count)
    assert (Stage(words).name, Stage(words).summary) == ("words", "Take a text apart.")


def test_a_record_given_again_replaces_the_first() -> None:
    stages = [Stage(words), Stage(longer), Stage(count)]
    assert Pipeline(stages, given=[Text], wanted=[Count]).run(Text("a b")) == [103]
    without = [stages[0], stages[2]]
    assert Pipeline(without, given=[Text], wanted=[Count, Words]).run(Text("a b")) == [102, ["a", "b"]]


def test_what_is_lacking_is_noticed_before_anything_runs() -> None:
    assert_refused(
        (TypeError, "longer reads Words", lambda: Pipeline([Stage(longer)], given=[Text], wanted=[Words])),
        (TypeError, "gives Count", lambda: Pipeline([Stage(words)], given=[Text], wanted=[Count])),
    )


@pytest.mark.parametrize("held", [False, True])
def test_a_record_is_dropped_after_its_last_reader_unless_a_stage_holds_it(held: bool) -> None:
    alive: list[ref[Words]] = []

    def noted(text: Text) -> Words:
        alive.append(ref(made := words(text)))
        return made

    def last(size: Count) -> Text:
        return Text(f"{size} {alive[0]() is not None}")

    stages = [Stage(noted), Stage(count), Stage(last, holds=(Words,) if held else ())]
    assert Pipeline(stages, given=[Text], wanted=[Text]).run(Text("a b")) == [f"102 {held}"]


ACTIONS: tuple[Action, ...] = ("find", "dedup", "group", "annotate")
CHOICES = {
    "keep": ["first", "none"],
    "empty": ["keep", "drop"],
    "audit": [0, 5],
    "kinds": [False, True],
    "count": [False, True],
    "ignore_common": [0.0, 0.5],
    "sketch": ["one-permutation", "simhash"],
}


def test_every_run_has_all_that_its_stages_read() -> None:
    """Whatever is asked of a run; and each stage is in some of these runs."""
    documents = open_documents(["a"])
    columns = choose_columns(documents, None, None)
    review, base = ReviewedResult("", None, {}), BaseDocuments(documents, "text")  # type: ignore[arg-type]
    present: set[Stage] = set()
    for values in product(*CHOICES.values()):
        chosen = dict(zip(CHOICES, values, strict=True))
        if chosen["sketch"] == "simhash" and chosen["ignore_common"]:
            continue
        settings = nd.Settings.of(**chosen)
        for action, reviewed, ignored in product(ACTIONS, (None, review), (None, base)):
            inputs = Inputs(documents, columns, settings, None, action, ignored, reviewed)
            present |= set(Pipeline.of(STAGES, given_to(inputs, Meter(Silent())), [Outcome]).stages)
    assert present == set(STAGES)


def test_every_stage_says_what_it_does() -> None:
    assert [stage.name for stage in STAGES if not stage.summary.endswith(".")] == []
