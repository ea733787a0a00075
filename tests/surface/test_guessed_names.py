"""The names that people try without reading: each works, or its error has the right spelling."""

from collections.abc import Callable
from typing import Any

import pytest

import neardup
from neardup.display.spellings import PEERS, plain
from neardup.display.view import Public
from neardup.settings import FIELDS, MEASURES

nd: Any = neardup  # names that are not there are the matter

A = "please hand in your travel costs by friday noon"
B = A + " today"
TEXTS = [A, B, "lunch?"]
SKETCH = nd.MinHash().of(A)
BY_ID: dict[Any, str | None] = {"a/1": A, "a/2": B, 7: "lunch?", "b": None}
PAIRS = list(BY_ID.items())
STORED = nd.Collection.__new__(nd.Collection)  # its methods refuse a keyword before they open anything


def indexed(texts: dict[str, str]) -> Any:
    index = nd.Index(threshold=0.5)
    for id, text in texts.items():
        index.add(id, text)
    return index


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "similarity_score": (lambda: nd.similarity_score(A, B), "'compare' or 'jaccard'"),
    "similarity of texts": (lambda: nd.similarity(A, B), "neardup.compare"),
    "dice": (lambda: nd.dice({1}, {2}), "'similarity'"),
    "minhash": (lambda: nd.minhash(), "'MinHash'"),
    "sketch": (lambda: nd.sketch("a"), "'MinHash' or 'SimHash'"),
    "MinHashLSH": (lambda: nd.MinHashLSH(threshold=0.5), "'Index'"),
    "jacard": (lambda: nd.jacard(A, B), "'jaccard'"),
    "num_perm": (lambda: nd.MinHash(num_perm=128), "'slots'"),
    "num_perm of a run": (lambda: nd.find(TEXTS, num_perm=128), "'slots'"),
    "treshold": (lambda: nd.find(TEXTS, treshold=0.3), "'threshold'"),
    "treshold of a plan": (lambda: nd.plan(treshold=0.3), "'threshold'"),
    "treshold of a record": (lambda: nd.Near(treshold=0.3), "'threshold'"),
    "treshold of settings": (lambda: nd.Settings.of(treshold=0.3), "'threshold'"),
    "ngram_size": (lambda: nd.compare(A, B, ngram_size=3), "'length'"),
    "ignore_number": (lambda: nd.compare(A, B, ignore_number=True), "'ignore_numbers'"),
    "againts": (lambda: nd.find(TEXTS, againts=TEXTS), "'against'"),
    "lenght of a collection": (lambda: nd.Collection("a.neardup", lenght=3), "'length'"),
    "threshold=80": (lambda: nd.find(TEXTS, threshold=80), "0.8"),
    "threshold=80 of a plan": (lambda: nd.plan(threshold=80), "0.8"),
    "threshold=80 of an index": (lambda: nd.Index(threshold=80), "0.8"),
    "threshold=80 of pairs": (lambda: nd.join(["a"], threshold=80), "0.8"),
    "insert": (lambda: nd.Index().insert("a", A), "'add'"),
    "jaccard of signatures": (lambda: SKETCH.jaccard(SKETCH), "'resemblance'"),
    "hashvalues": (lambda: SKETCH.hashvalues, "'values'"),
    "update": (lambda: nd.MinHash().update(A), "'of'"),
    "clusters": (lambda: nd.find(TEXTS, threshold=0.5).clusters, "'groups'"),
    "duplicates": (lambda: nd.find(TEXTS, threshold=0.5).duplicates, "'removed'"),
    "jaccard of a comparison": (lambda: nd.compare(A, B).jaccard, "'resemblance'"),
    "lcs of a comparison": (lambda: nd.compare(A, B).lcs, "measures['lcs']"),
    "merge of signatures": (lambda: SKETCH.merge(SKETCH), "a | b"),
    "rows of a plan": (lambda: nd.plan().rows, "'bands'"),
    "distance of a family": (lambda: nd.SimHash().distance, "'distances'"),
    "a measure of a comparison": (lambda: nd.compare(A, B).containment_a, "measures['containment_a"),
    "a record": (lambda: nd.find({"id": "a", "text": A}), "[record]"),
    "an id that is a float": (lambda: nd.find({1.5: A}), "str"),
    "pairs and texts": (lambda: nd.find([("a", A), B]), "(id, text)"),
    "three in a tuple": (lambda: nd.find([("a", A, "news")]), "(id, text)"),
    "an id twice": (lambda: nd.find([("a", A), ("a", B)]), "each name one document"),
    "a list of lists": (lambda: nd.find([["a", A]]), "(id, text)"),
    "names of files by id": (lambda: nd.find({"a": __file__}), "Path(name)"),
    "on_duplicate of one document": (lambda: STORED.put("a", A, near=0.8, on_duplicate="link"), "'on_near'"),
    "threshold of a search": (lambda: STORED.near(A, threshold=0.3), "'overlap'"),
    "limits of a search": (lambda: STORED.search("lunch", limits=3), "'limit'"),
    "a window of a view": (lambda: STORED.view(second=2), "'seconds'"),
    "treshold of an index": (lambda: nd.Index().add("a", A, treshold=0.3), "Allowed: id, signature"),
    "force": (lambda: nd.find(TEXTS).save("never", force=True), "'overwrite'"),
    "a class with slots": (lambda: next(iter(nd.find(TEXTS, threshold=0.5))).rows(member=1), "Allowed: "),
    "lists of tokens": (lambda: nd.jaccard(A.split(), B.split()), "set(a)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_has_the_right_spelling(case: str) -> None:
    attempt, spelling = REFUSED[case]
    with pytest.raises((AttributeError, neardup.SettingError, neardup.InputError)) as refused:
        attempt()
    assert spelling in str(refused.value)


def test_a_name_that_nothing_resembles_has_no_suggestion() -> None:
    for name in ("hyper_log_log", "nothing"):
        with pytest.raises(AttributeError) as refused:
            getattr(nd, name)
        assert str(refused.value) == f"module 'neardup' has no attribute {name!r}"


@pytest.mark.parametrize("name", ["similarity_score", "jacard", "MinHashLSH"])
def test_an_import_has_the_right_spelling(name: str) -> None:
    with pytest.raises(ImportError) as refused:
        exec(f"from neardup import {name}")
    assert "Did you mean '" in str(refused.value)
    assert not hasattr(nd, name)


def test_a_module_and_a_name_that_nothing_resembles_are_imported_as_ever() -> None:
    from neardup import verifier

    assert verifier.__name__ == "neardup.verifier"
    with pytest.raises(ImportError) as refused:
        exec("from neardup import frobnicate")
    assert "Did you mean" not in str(refused.value)


def test_a_coroutine_is_one_that_checks_its_keywords() -> None:
    import asyncio
    from inspect import iscoroutinefunction, signature

    assert iscoroutinefunction(nd.AsyncClient.search)
    assert "limit" in signature(nd.Client.search).parameters
    with pytest.raises(neardup.SettingError) as refused:
        asyncio.run(nd.AsyncClient("http://localhost:1").search("lunch", limits=3))
    assert "'limit'" in str(refused.value)


WORKS: dict[str, tuple[Callable[[], object], object]] = {
    "resemblance of a comparison": (lambda: nd.compare(A, B).resemblance, 5 / 6),
    "groups of a result": (lambda: [group.id for group in nd.find(TEXTS, threshold=0.5, keep="first")], [0]),
    "texts by id": (lambda: nd.dedup(BY_ID, threshold=0.5, keep="first"), {"a/1": A, 7: "lunch?", "b": None}),
    "pairs": (lambda: nd.dedup(PAIRS, threshold=0.5, keep="first"), [PAIRS[0], *PAIRS[2:]]),
    "a tuple of pairs": (lambda: nd.dedup(tuple(PAIRS), threshold=0.5, keep="first"), (PAIRS[0], *PAIRS[2:])),
    "items of a dict": (
        lambda: nd.find(BY_ID.items(), threshold=0.5, keep="first").removed["id"].to_pylist(),
        ["a/2"],
    ),
    "a reference by id": (lambda: nd.dedup([B, "tea"], against=BY_ID, threshold=0.5), ["tea"]),
    "one text by id": (lambda: nd.find({"a": A}).run.notes, []),
    "an index": (lambda: [near.id for near in indexed({"a": A}).query(B)], ["a"]),
}


@pytest.mark.parametrize("case", WORKS)
def test_a_natural_guess_works(case: str) -> None:
    attempt, result = WORKS[case]
    assert attempt() == result


def test_an_error_inside_a_property_is_the_one_that_is_raised() -> None:
    class Broken(Public):
        @property
        def length(self) -> int:
            return int(nd.tokens.nothing)

    with pytest.raises(AttributeError) as raised:
        _ = Broken().length
    assert "'nothing'" in str(raised.value)


def test_an_unknown_keyword_is_a_type_error_and_comes_first() -> None:
    with pytest.raises(TypeError):
        nd.plan(0.8, recal=0.9)
    with pytest.raises(neardup.SettingError) as refused:
        nd.hamming_plan(1000, widths=3)
    assert "documents, bits, distance" in str(refused.value)


def test_a_public_function_is_found_where_pickle_looks_for_it() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(nd.jaccard)) is nd.jaccard
    assert nd.jaccard.__name__ == "jaccard"


def test_rows_of_peers_have_names_of_ours() -> None:
    from inspect import signature

    from neardup.cli.commands import COMMANDS

    ours = {plain(name) for name in (*neardup.__all__, *FIELDS, *MEASURES)}
    ours |= {
        plain(spelling) for one in COMMANDS.values() for option in one.options for spelling in option.spelling
    }
    for name in neardup.__all__:
        kind = getattr(neardup, name)
        ours |= {*signature(getattr(kind, "near", kind)).parameters} if callable(kind) else set()
        ours |= set(map(plain, [*dir(kind), *getattr(kind, "__dataclass_fields__", ())]))
    assert {name for row in PEERS for name in row.split() if plain(name) not in ours} == set()
