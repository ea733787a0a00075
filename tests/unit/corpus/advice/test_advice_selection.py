"""Advice under the options of a run: base text, columns, policies and bounds."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.cli.options import on_samples
from neardup.corpus.advice.adviser import ADVISED
from neardup.errors import InputError, SettingError
from support import made_advice_sets as made


def common_words(texts: list[str]) -> str:
    """Return the stretches of the first text with five words in a row that are in all texts."""
    runs = [{tuple(words[k : k + 5]) for k in range(len(words))} for words in map(str.split, texts)]
    shared, first = set.intersection(*runs), texts[0].split()
    covered = {at + k for at in range(len(first)) if tuple(first[at : at + 5]) in shared for k in range(5)}
    return " ".join(word if k in covered else "." for k, word in enumerate(first))


@pytest.fixture(scope="module")
def forms() -> pa.Table:
    """Thirty documents in one form, in two languages, each content sent twice with a change."""
    contents, _ = made.forms(16, 15, 40, 2)
    texts = [text for one in contents for text in (one, f"{one} and a postscript of {len(one)} letters")]
    columns = {
        "text": texts,
        "lang": [("de", "en", None)[k % 3] for k in range(len(texts))],
        "date": list(range(len(texts))),
        "doc_id": [f"name {k % 7}" for k in range(len(texts))],
    }
    return pa.table(columns)


@pytest.fixture
def form(forms: pa.Table, tmp_path: Path) -> Path:
    """The words that all documents share, in a file."""
    path = tmp_path / "form.txt"
    path.write_text(common_words(forms["text"].to_pylist()), encoding="utf-8")
    return path


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "asked",
    [
        {"within": "lang"},
        {"across": "lang", "keep": "min:date"},
        {"keep": ["order:lang=en,de", "max:date"], "lose": 0.05},
        {"ignore_common": 0.2, "lose": 0},
        {"keep": "none", "count": True, "sources": "doc_id"},
        {"ignore": True, "within": ["lang"], "unit": "char", "length": 9},
    ],
    ids=lambda asked: "-".join(asked),
)
def test_the_effect_of_each_threshold_is_that_of_a_run(forms: pa.Table, form: Path, asked: dict[str, Any]) -> None:
    if "ignore" in asked:
        asked = asked | {"ignore": form}
    advice = nd.advise(forms, **asked)
    for step in advice.thresholds[::4]:
        found = nd.find(forms, threshold=step.threshold, method="exact", **asked)
        assert (step.pairs, step.removed) == (found.pairs.num_rows, found.run.counts.removed)


def test_the_recommended_command_repeats_the_options(forms: pa.Table, form: Path) -> None:
    asked: dict[str, Any] = {"within": ["lang", "date"], "keep": ["max:date", "longest"], "lose": 0.1}
    advice = nd.advise(forms, ignore=[form], count=True, sources="lang", **asked)
    words = shlex.split(advice.recommended.command)
    given = list(pairwise(words))
    for pair in (
        ("--ignore", str(form)),
        ("--within", "lang"),
        ("--within", "date"),
        ("--keep", "max:date"),
        ("--keep", "longest"),
        ("--lose", "0.1"),
        ("--sources", "lang"),
    ):
        assert pair in given
    assert "--count" in words
    settings = advice.recommended.settings
    assert {name: settings[name] for name in asked} == asked
    nd.find(forms, ignore=form, **settings)


def test_text_left_out_is_no_template(tmp_path: Path) -> None:
    texts, _ = made.forms(16, 12, 40, 2)
    form = tmp_path / "form.txt"
    form.write_text(common_words(texts), encoding="utf-8")
    assert [nd.advise(texts, ignore=files).seen.templated for files in (None, form)] == [12, 0]


def test_documents_apart_are_no_relatives(forms: pa.Table) -> None:
    advice = nd.advise(forms, within="date")
    assert advice.seen.outcome == "no near copies"
    assert all(step.pairs == 0 for step in advice.thresholds)
    assert advice.around.above == advice.around.below == ()


def test_families_that_all_go_are_components(forms: pa.Table) -> None:
    assert nd.advise(forms, keep="none").recommended.settings["groups"] == "components"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"within": "language"}, 'There is no column "language"'),
        ({"keep": "max:when"}, 'There is no column "when"'),
        ({"sources": "lang"}, "sources is 'lang' without count"),
    ],
)
def test_columns_are_checked_before_the_work(forms: pa.Table, asked: dict[str, Any], said: str) -> None:
    with pytest.raises((InputError, SettingError), match=said):
        nd.advise(forms, **asked)


def test_the_command_has_the_options_of_the_library() -> None:
    assert set(on_samples.PLANNED) <= set(ADVISED)
