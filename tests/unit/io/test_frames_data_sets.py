"""The real data sets of Hugging Face, by public methods only."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.readers import open_documents
from support.made_frames import FOX, KEPT, MOON, ROWS, STAYS
from support.paths import SOURCE
from support.reading import read_all

datasets: Any = pytest.importorskip("datasets")
FIRST = {"text": "text", "keep": "first", "threshold": 0.7}


@pytest.fixture(scope="module")
def rows() -> Any:
    datasets.disable_progress_bars()
    return datasets.Dataset.from_list(ROWS)


def test_a_data_set_comes_back_with_its_features_and_format(rows: Any) -> None:
    features = rows.features.copy()
    features["n"] = datasets.Value("int16")
    given = rows.cast(features).with_format("numpy")
    kept = nd.dedup(given, **FIRST)
    assert type(kept) is datasets.Dataset
    assert kept.features == features
    assert kept.format["type"] == "numpy"
    assert kept.with_format(None).to_list() == KEPT
    found = nd.find(given, **FIRST)
    assert found.mask().tolist() == STAYS
    assert pa.table(found).to_pylist() == KEPT


def test_rows_are_read_in_the_order_of_a_shuffled_and_filtered_data_set(rows: Any) -> None:
    given = rows.shuffle(seed=3).filter(lambda row: row["n"] != 50)
    expected = given.to_list()
    assert expected != sorted(expected, key=lambda row: row["n"])
    documents = open_documents(given, chunk_bytes=100)
    got, _, _ = read_all(documents, ["text", "n"])
    assert [row["n"] for row in got] == [row["n"] for row in expected]
    assert len(list(documents.chunks())) > 3
    kept = nd.dedup(given, **FIRST).to_list()
    first = {row["n"]: row for row in expected}
    assert [row for row in expected if row in kept] == kept
    assert {FOX, MOON} <= {str(row["text"]).removesuffix(" today").lower() for row in kept}
    assert len(kept) == 4
    assert all(first[row["n"]] == row for row in kept)


def test_a_stream_is_read_once_and_comes_back_as_a_stream(rows: Any) -> None:
    read = []

    def examples() -> Iterator[dict[str, Any]]:
        read.append(1)
        yield from ROWS

    for given in (
        rows.to_iterable_dataset(),
        datasets.IterableDataset.from_generator(examples),
        datasets.IterableDataset.from_generator(examples, features=rows.features),
        rows.to_iterable_dataset().map(lambda row: {"more": row["n"]}).remove_columns("more"),
    ):
        found = nd.find(given, **FIRST)
        assert found.mask().tolist() == STAYS
        kept = found.kept
        assert type(kept) is datasets.IterableDataset
        assert [list(kept), list(kept)] == [KEPT, KEPT]
        assert kept.features == given.features or given.features is None
    assert read == [1, 1]


def test_the_rows_of_a_stream_stay_in_their_process(rows: Any) -> None:
    import pickle

    kept = nd.dedup(rows.to_iterable_dataset(), **FIRST)
    with pytest.raises(InputError, match="by the process"):
        pickle.loads(pickle.dumps(kept))


def test_splits_are_one_input_and_come_back_as_splits(rows: Any) -> None:
    given = datasets.DatasetDict(train=rows, test=datasets.Dataset.from_list([*ROWS[5:6], {**ROWS[1], "n": 5}]))
    found = nd.find(given, **FIRST)
    assert found.mask().tolist() == [*STAYS, False, False]
    assert set(found.removed["id"].to_pylist()) == {"train#2", "train#4", "train#7", "test#0", "test#1"}
    kept = found.kept
    assert type(kept) is datasets.DatasetDict
    assert {name: part.to_list() for name, part in kept.items()} == {"train": KEPT, "test": []}
    assert found.look("test#1").text == MOON

    streams = datasets.IterableDatasetDict({name: part.to_iterable_dataset() for name, part in given.items()})
    back = nd.dedup(streams, **FIRST)
    assert type(back) is datasets.IterableDatasetDict
    assert {name: list(part) for name, part in back.items()} == {"train": KEPT, "test": []}


def test_splits_of_different_columns_are_refused(rows: Any) -> None:
    given = datasets.DatasetDict(train=rows, test=rows.remove_columns("n"))
    with pytest.raises(InputError, match=r'"train" and "test" .*columns'):
        nd.find(given)


def test_only_public_methods_are_used() -> None:
    text = (SOURCE / "io" / "frames" / "data_sets.py").read_text(encoding="utf-8")
    private = set(re.findall(r"(\w+)\._(?!_)", text))
    assert private <= {"self"}


def test_libraries_of_frames_are_not_imported_for_others() -> None:
    code = (
        "import sys; from neardup.io.readers import open_documents; open_documents([{'text': 'one'}]); "
        "print({'datasets', 'pandas', 'polars', 'duckdb', 'pyarrow.dataset'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
