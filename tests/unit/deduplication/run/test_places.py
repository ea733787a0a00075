"""The recorded places of documents: known ones, and rows before, between and after them, which have none."""

from pathlib import Path

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.run.places import StoredPlaces, links
from support.made_reviews import make_result


def places_of(folder: Path, **how: object) -> StoredPlaces:
    places = nd.load(make_result(folder, **how)).places  # type: ignore[arg-type]
    assert isinstance(places, StoredPlaces)
    return places


def test_rows_without_a_recorded_place_have_none(tmp_path: Path) -> None:
    rows = {
        "alone": "first of all",
        "a": "one text of some words",
        "lonely": "second",
        "b": "one text of some words",
    }
    places = places_of(tmp_path, texts=rows)
    file, number = places.of_rows(np.array([0, 1, 2, 3, 4, 10**12]))
    assert file.tolist() == [-1, 0, -1, 0, -1, -1]
    assert number.tolist() == [-1, 1, -1, 3, -1, -1]
    assert [found.tolist() for found in places.of_rows(np.empty(0, np.int64))] == [[], []]


@pytest.mark.parametrize("rows", [[0], [0, 5]])
def test_a_result_without_located_documents_has_no_place(tmp_path: Path, rows: list[int]) -> None:
    places = places_of(tmp_path, texts={"alone": "first of all", "lonely": "second"})
    assert [found.tolist() for found in places.of_rows(np.array(rows))] == [[-1] * len(rows)] * 2


def test_documents_with_one_text_have_a_link_of_one() -> None:
    found = nd.find(["one two three four five six seven"] * 2)
    assert links(found, (0, 1), {0: 0, 1: 0}, {}) == ((0, 1, 1.0),)
    assert links(found, (0, 1), {}, {}) == ()
