"""The matrices of a few documents: the same numbers as those of pairs, and views of hostile names."""

from itertools import groupby, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from support.strategies import any_text

TEXTS = ["the night is dark and the moon is red", "the moon is red the night is dark", "", "Το φεγγάρι", ""]
HOSTILE = "<script>\x1b[2J"


@given(st.lists(any_text(), min_size=2, max_size=4), st.integers(1, 6), st.sampled_from(["word", "char"]))
def test_cells_are_the_resemblances_of_pairs(texts: list[str], length: int, unit: str) -> None:
    found = nd.similarities(texts, length=length, unit=unit, slots=64)
    family = nd.MinHash(64, length=length, unit=unit)
    sketches = [family.of(text) for text in texts]
    for a, b in product(range(len(texts)), repeat=2):
        assert (
            found.exact[a, b] == nd.compare(texts[a], texts[b], length=length, unit=unit).measures["resemblance"]
        )
        assert found.estimated[a, b] == float(sketches[a].resemblance(sketches[b]))


def test_pairs_and_plain_data_are_those_of_the_matrices() -> None:
    found = nd.similarities(TEXTS, length=2)
    pairs = list(found.pairs())
    assert len(pairs) == 10
    assert [exact for *_, exact, _ in pairs] == sorted(found.exact[np.triu_indices(5, 1)], reverse=True)
    assert pairs[0] == ("text 3", "text 5", 1.0, 1.0)
    assert found.as_dict()["exact"] == found.exact.T.tolist()
    assert (found.slots, found.length, found.unit, len(found.names)) == (128, 2, "word", 5)


def test_many_pairs_and_hostile_names_are_shown_in_short() -> None:
    rows = {"id": [f"{HOSTILE}{k}" for k in range(8)], "text": [f"{k % 3} a b c" for k in range(8)]}
    found = nd.similarities(pa.table(rows))
    lines = str(found).splitlines()
    assert lines[-1].startswith("…")
    assert [len(list(part)) for _, part in groupby(lines, bool)] == [4, 1, 21, 1, 1]
    assert "\x1b" not in str(found)
    html = found._repr_html_()
    assert "<script>" not in html
    assert html.count("<svg") == 2
    assert "<figcaption>Exact: 8 documents" in html


@pytest.mark.parametrize("wrong", [[], ["a"], ["a"] * 51, ["x" * 600_000] * 2, 7])
def test_other_numbers_of_documents_are_refused(wrong: Any) -> None:
    with pytest.raises(nd.InputError):
        nd.similarities(wrong)


@pytest.mark.parametrize("wrong", [{"length": 0}, {"unit": "line"}, {"slots": 0}])
def test_other_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(nd.SettingError):
        nd.similarities(TEXTS, **wrong)
