"""A row of the table of measures is enough for a new one: for runs, stored results, comparisons and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup import compare
from neardup.settings.measures import MEASURES, aliases
from support import forked
from support.messages import has_parts

# the rows are added before anything else is made from the table
ADDED = """
import os
import sys
os.environ["COLUMNS"] = "200"
import neardup.settings.measures as measures
from neardup.kernels.formulas import DICE, LARGER
for row in (
    measures.Measure(
        "bray", "shingles", DICE, "bray: 2·|A∩B|/(|A|+|B|)", "shingles",
        (measures.Value("bray", "Twice the common shingles, as a share of the shingles of both.", "Bray"),),
        alias="curtis",
    ),
    measures.Measure(
        "words-longest", "words", LARGER, "words-longest: common words/the larger vocabulary", "different words",
        (measures.Value("words_longest", "Of the words of the richer document, the share in both.", "richer"),),
    ),
):
    measures.MEASURES[row.name] = row
for name in [name for name in sys.modules if name.startswith("neardup") and name != measures.__name__]:
    del sys.modules[name]
"""
RUN = """
import itertools
import neardup as nd
from neardup.errors import SettingError
from neardup.settings import FIELDS

words = [set(text) for text in ("abcdef", "abcdeg", "ab", "abh", "abcxyz", "qrs", "abcdefghijkl")]
texts = [" ".join(sorted(own)) for own in words]
value = {
    "bray": lambda a, b: 2 * len(a & b) / (len(a) + len(b)),
    "words-longest": lambda a, b: len(a & b) / max(len(a), len(b)),
}
for measure, of in value.items():
    name = measure.replace("-", "_")
    assert nd.DESCRIPTIONS[name].kind == "exact"
    expected = {}
    for (i, a), (j, b) in itertools.combinations(enumerate(words), 2):
        assert nd.compare(texts[i], texts[j], length=1).measures[name] == of(a, b)
        if of(a, b) >= 0.4:
            expected[i, j] = of(a, b)
    found = nd.find(texts, measure=measure, threshold=0.4, length=1, groups="components")
    assert {(row["id_a"], row["id_b"]): row[name] for row in found.pairs.to_pylist()} == expected
    assert ("common" in found.pairs.column_names) == (measure == "words-longest")
    assert f": {measure} " in found.groups["reason"].to_pylist()[1]
    found.save(sys.argv[1] + name)
    stored = nd.load(sys.argv[1] + name)
    assert stored.pairs.equals(found.pairs)
    stricter = stored.at(0.7)
    assert stricter.pairs.num_rows == sum(value >= 0.7 for value in expected.values())
    assert measure in FIELDS["measure"].rule.allowed and measure in FIELDS["measure"].help
    try:
        nd.find(texts, measure=measure, method="lsh")
    except SettingError as refused:
        assert "With method lsh, measure resemblance" in str(refused)
    else:
        raise AssertionError(measure)
assert nd.Settings.of(measure="curtis").search.measure == "bray"
"""


def test_a_new_row_is_a_new_measure(tmp_path: Path) -> None:
    done = forked.run(ADDED + RUN, f"{tmp_path}/")
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("name", MEASURES)
def test_the_values_of_a_measure_are_named_after_it(name: str) -> None:
    measure, plain = MEASURES[name], name.replace("-", "_")
    assert all(value.name.startswith(plain) for value in measure.values)
    assert measure.column in ("", plain)
    assert plain == "resemblance" or measure.by_lsh is False


def test_no_name_is_given_twice() -> None:
    names = [value.name for measure in MEASURES.values() for value in measure.values]
    assert len(set(names)) == len(names)
    assert not aliases().keys() & MEASURES.keys()


def test_stop_words_count_in_vocabulary_as_its_sentence_says() -> None:
    """The sentence said "without stop words", which only the setting ``stop_words`` leaves out."""
    first = "the cat of the house and a dog in the house of a man"
    second = "the cow of the yard and a pig in the yard of a boy"
    assert compare(first, second).measures["vocabulary"] == 5 / 13
    (value,) = MEASURES["vocabulary"].values
    assert has_parts(value.sentence, "different words", "stop words count")
