"""A comparison with base text: the numbers of a run and of texts cut by hand, and the marks people see."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_base_text import base, file, own, template, units

import neardup as nd
from neardup.errors import InputError
from support import reference_base_text as by_hand
from support.messages import has_parts

__all__ = ["file"]

OF_RUN = {
    "resemblance": "resemblance",
    "overlap": "overlap",
    "vocabulary": "vocabulary",
    "multiset": "multiset",
    "chunk-longest": "chunk_longest_literal",
    "chunk-union": "chunk_union_literal",
    "lcs": "lcs",
}
FORM = (
    "Dear customer,\nwe thank you for your letter and will answer it within the next few days.\n{}\n"
    "Yours sincerely, the service team"
)
OVEN, INVOICE = FORM.format("The oven is sold out until spring."), FORM.format("Your invoice was paid <twice>.")


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", OF_RUN)
def test_a_comparison_has_the_numbers_of_the_run(measure: str, file: Path) -> None:
    found = nd.find(list(own()), ignore=file, measure=measure, threshold=0.5)
    rows = found.pairs.to_pylist()[:12]
    assert len(rows) > 5
    for row in rows:
        compared = nd.compare(own()[row["id_a"]], own()[row["id_b"]], ignore=[template()]).measures
        assert compared[OF_RUN[measure]] == row[measure.replace("-", "_")]
        assert [compared[name] for name in ("shared", "shingles_a", "shingles_b")] == [
            row[name] for name in ("shared", "size_a", "size_b")
        ]


def test_measures_of_tokens_are_those_of_the_texts_cut_by_hand() -> None:
    cut = [" ".join(by_hand.without(words, base(), 5)) for words in units()]
    names = ("chunk_union_information", "chunk_longest_literal", "lcs", "vocabulary", "tokens_a", "tokens_b")
    pairs = [(a, b) for a in range(0, 60, 9) for b in range(a + 1, 60, 11) if cut[a] and cut[b]]
    for a, b in pairs:
        found = nd.compare(own()[a], own()[b], ignore=[template()]).measures
        expected = nd.compare(cut[a], cut[b]).measures
        assert [found[name] for name in names] == [expected[name] for name in names]
    assert len(pairs) > 10


def test_base_text_without_words_changes_nothing() -> None:
    plain, found = nd.compare(OVEN, INVOICE), nd.compare(OVEN, INVOICE, ignore=["...", ""])
    assert found.measures == plain.measures
    assert found.as_dict()["evidence"] == {**plain.as_dict()["evidence"], "base_a": [], "base_b": []}


def test_base_text_is_named_where_it_is() -> None:
    found = nd.compare(OVEN, INVOICE, ignore=[FORM.format("")])
    assert found.base_a.tolist() == [[0, 17], [24, 29]]
    said = " ".join(found.text(120).split())
    assert "|:Dear customer,:|" in said
    assert said.count("|:Yours sincerely, the service team:|") == 2  # on both sides
    assert "|:boilerplate:| does not count" in said
    assert has_parts(said, "22 of 29 tokens", "22 of 27", "not count")
    assert "|:we thank you for your letter and will answer it within the next few days:|." in found.text(90)
    page = found.html()
    assert '<span class="base" title="does not count">Yours sincerely, the service team</span>' in page
    assert '; <span class="base">boilerplate</span> does not count.' in page
    assert "<twice>" not in page


def test_without_base_texts_nobody_speaks_of_them() -> None:
    found = nd.compare(OVEN, INVOICE)
    assert "boilerplate" not in found.text() + found.html() + str(found.as_dict())


def test_texts_of_base_text_alone_say_so() -> None:
    found = nd.compare(FORM, OVEN, ignore=[FORM])
    assert has_parts(found.text(200), "A: boilerplate only,", "nothing")
    assert found.measures["resemblance"] == 0


@pytest.mark.parametrize("wrong", ["one text", [1], [b"bytes"]])
def test_anything_but_texts_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        nd.compare(OVEN, INVOICE, ignore=wrong)  # type: ignore[arg-type]
