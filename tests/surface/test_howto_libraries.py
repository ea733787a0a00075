"""The filters of the page for other libraries keep the order, the objects and the reasons.

Each file of the page runs with its library where that is installed. The three that use a few names of a library
run without it, too, with stand-ins for these names: the contract alone is tested then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from support.journeys import blocks_of
from support.paths import DOCS

PAGE = DOCS / "howto" / "libraries.md"
LETTER = "please hand in your travel costs by friday noon"
TEXTS = [LETTER, "lunch?", LETTER + " today", LETTER.upper(), ""]
"""The third is a near copy of the first, and the fourth an exact one."""
INSTALLED = {
    name: find_spec(name) is not None for name in ("langchain_core", "llama_index", "haystack", "pydantic")
}
FILES = {block.mark.removeprefix("file: "): block.text for block in blocks_of(PAGE) if block.mark}


def module_of(file: str) -> Any:
    """A file of the page as a module."""
    module = ModuleType(file.removesuffix(".py"))
    exec(compile(FILES[file], file, "exec", dont_inherit=True), module.__dict__)
    return module


@dataclass
class Text:
    """A document of any of the libraries: the names of its text and its metadata that the filters read."""

    content: str | None
    id: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def page_content(self) -> str | None:
        return self.content

    def get_content(self, mode: object = None) -> str | None:
        return self.content


class Fields:
    """The keywords of a model of pydantic as attributes."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


def component(kind: type) -> type:
    return kind


component.output_types = lambda **types: lambda function: function  # type: ignore[attr-defined]
STAND_INS: dict[str, dict[str, dict[str, Any]]] = {
    "near_langchain.py": {"langchain_core.documents": {"BaseDocumentTransformer": object}},
    "near_llama.py": {
        "llama_index.core.schema": {
            "MetadataMode": type("Mode", (), {"NONE": None}),
            "TransformComponent": Fields,
        },
        "pydantic": {"Field": lambda default, exclude: default},
    },
    "near_haystack.py": {"haystack": {"Document": Text, "component": component}},
}


@pytest.fixture(params=STAND_INS)
def outcome(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A call of a filter with documents: those that stay, and (document, representative, reason) of the others."""
    for name, attributes in STAND_INS[request.param].items():
        parts = name.split(".")
        if not INSTALLED[parts[0]]:
            for end in range(1, len(parts) + 1):
                module = ModuleType(".".join(parts[:end]))
                monkeypatch.setitem(sys.modules, module.__name__, module)
            module.__dict__.update(attributes)
    kind = module_of(request.param).NearDuplicateFilter

    def call(documents: list[Any]) -> tuple[list[Any], list[tuple[Any, Any, str]]]:
        removed: list[tuple[Any, Any, str]] = []
        report: Callable[..., None] = lambda *why: removed.append(why)  # noqa: E731
        if request.param == "near_langchain.py":
            return kind(0.5, report).transform_documents(documents), removed
        if request.param == "near_llama.py":
            return kind(threshold=0.5, on_removed=report)(documents), removed
        out = kind(0.5).run(documents)
        kept = {one.id: one for one in out["documents"]}
        why = [(one, kept[one.meta["near_duplicate_of"]], one.meta["reason"]) for one in out["removed"]]
        return out["documents"], why

    return call, documents_of(request.param)


def documents_of(file: str) -> list[Any]:
    """The texts as documents of the library, or as stand-ins where it is not installed."""
    if file == "near_langchain.py" and INSTALLED["langchain_core"]:
        from langchain_core.documents import Document

        return [Document(text, id=str(place), metadata={"n": place}) for place, text in enumerate(TEXTS)]
    if file == "near_llama.py" and INSTALLED["llama_index"]:
        from llama_index.core.schema import TextNode

        return [TextNode(text=text, id_=str(place), metadata={"n": place}) for place, text in enumerate(TEXTS)]
    kind: Any = Text
    if file == "near_haystack.py" and INSTALLED["haystack"]:
        from haystack import Document as kind  # noqa: N813
    return [kind(content=text, id=str(place), meta={"n": place}) for place, text in enumerate(TEXTS)]


def test_a_filter_of_documents_keeps_objects_and_order_and_gives_reasons(outcome: Any) -> None:
    call, documents = outcome
    stay, removed = call(documents)
    assert [id(one) for one in stay] == [id(documents[place]) for place in (0, 1, 4)]
    reasons = {TEXTS.index(text_of(gone)): (text_of(kept), reason) for gone, kept, reason in removed}
    assert {place: text for place, (text, _) in reasons.items()} == {2: LETTER, 3: LETTER}
    assert reasons[2][1] == "near copy of 0: resemblance 0.833"
    assert reasons[3][1].startswith("exact copy of 0")
    assert call([])[0] == []


def text_of(document: Any) -> str:
    """The text of a document of any of the libraries."""
    for name in ("page_content", "text", "content"):
        if isinstance(text := getattr(document, name, None), str):
            return text
    raise AssertionError(document)


def test_rows_of_polars_stay_in_their_order_with_the_reason() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    module_of("near_polars.py")
    frame = pl.DataFrame({"text": TEXTS, "year": [2024, 2025, 2026, 2023, 2022]})
    explained = frame.near.explained("text", threshold=0.5, keep="max:year")
    assert explained.select(frame.columns).equals(frame)
    assert explained["near_kept"].to_list() == [False, True, True, False, True]
    assert explained["near_group"].to_list() == [2, None, 2, 2, None]
    assert explained["near_reason"][0] == "near copy of 2: resemblance 0.833"
    assert (
        explained.filter("near_kept")
        .select(frame.columns)
        .equals(frame.near.dedup("text", threshold=0.5, keep="max:year"))
    )
    assert frame.head(0).near.explained("text").height == 0


def test_a_vectorizer_is_an_estimator_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not installed")
    module = module_of("near_vectorizer.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # a pickle names it
    results = checks.check_estimator(module.MinHashVectorizer(slots=16), on_skip=None, on_fail=None)
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in results) > 40


def test_signatures_of_texts_and_of_rows_are_those_of_the_family() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    import pandas as pd
    from scipy.sparse import csr_matrix

    from neardup import InputError, MinHash

    kind = module_of("near_vectorizer.py").MinHashVectorizer
    expected = MinHash(16).sketch(TEXTS)
    for texts in (TEXTS, tuple(TEXTS), np.array(TEXTS), pd.Series(TEXTS, index=[3, 1, 2, 2, 0])):
        signatures = kind(slots=16).fit_transform(texts)
        assert (signatures.dtype, signatures.shape) == (np.uint32, (5, 16))
        assert np.array_equal(signatures, expected)
    dense = np.array([[1.0, 0, 2, 0], [0, 0, 0, 5]])
    sets = [MinHash(16).of_ids(np.flatnonzero(row)).values for row in dense]
    stored = csr_matrix(dense + 1)  # with zeros that are stored
    stored.data -= 1
    for rows in (dense, csr_matrix(dense), stored):
        assert np.array_equal(kind(slots=16).fit_transform(rows), sets)
    for wrong in ("a text", iter(TEXTS), [LETTER.encode()], [None, LETTER]):
        with pytest.raises((ValueError, TypeError, InputError)):
            kind().fit(wrong).transform(wrong)


def test_a_sampler_leaves_rows_out_and_folds_keep_them_together() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    sampling = module_of("near_sampler.py")
    sampler = sampling.NearDuplicateFilter(0.5)
    kept, labels = sampler.fit_resample(np.array(TEXTS), np.arange(5))
    assert kept.tolist() == [TEXTS[place] for place in (0, 1, 4)]
    assert labels.tolist() == sampler.sample_indices_.tolist() == [0, 1, 4]
    assert sampler.fit_resample(TEXTS)[1] is None
    assert "near copy of 0" in str(sampler.found_.why(2))
    numbers = sampling.folds_of(TEXTS, 0.5)
    assert [len({*numbers[[0, 2, 3]]}), len({*numbers})] == [1, 3]


def test_a_file_to_copy_has_thirty_lines_of_code() -> None:
    assert set(FILES) >= {*STAND_INS, "near_vectorizer.py", "near_sampler.py", "near_polars.py"}
    for file, text in FILES.items():
        assert sum(bool(line.strip()) for line in text.splitlines()) <= 30, file


def test_the_page_names_no_file_that_is_not_there() -> None:
    text = Path(PAGE).read_text(encoding="utf-8")
    assert all(text.count(f"`{file}`") == 1 for file in FILES)
