"""Collections with base texts ≡ collections of sets without the base shingles, counted by the definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.collection import Collection, Near
from neardup.collection.search import search, why_not
from neardup.collection.sets import CollectionBase
from neardup.collection.view import View
from neardup.errors import QueryError
from neardup.settings import Settings
from neardup.text.keys import PUBLIC
from neardup.text.sketch.documents import shingle_sets
from support import reference, shared_data
from support.full_run import FULL
from support.memory_collection import MemoryCollection
from support.reference_base_text import base_of

Sets = Mapping[str, set[tuple[str, ...]]]
STORES = ("memory", "sqlite")
EVERY = 5 if FULL else 10
"""The interval of the documents that are queried."""


@cache
def corpus(name: str) -> tuple[list[str], Mapping[str, str]]:
    """Base texts, and documents: some hold a base text before or after their own, some are one."""
    own = list(shared_data.documents(name).values())[:60]
    bases = own[:2]
    made = {f"d{k}": text for k, text in enumerate(own[2:])}
    made |= {f"in{k}": f"{bases[k % 2]}\n{text}" for k, text in enumerate(own[2:22])}
    made |= {f"after{k}": f"{text}\n{bases[k % 2]}" for k, text in enumerate(own[12:32])}
    return bases, made | {"nothing left": bases[0]}


@cache
def counted(name: str) -> tuple[Sets, Sets]:
    """The shingles that count, and all shingles, by document."""
    bases, texts = corpus(name)
    base = base_of([reference.tokens(text) for text in bases], 5)
    full = {id: reference.shingle_set(text, 5, "word") for id, text in texts.items()}
    return {id: every - base for id, every in full.items()}, full


def table(texts: Mapping[str, str]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values())})


@contextmanager
def made(store: str, folder: Path, bases: list[str], texts: Mapping[str, str]) -> Iterator[View]:
    """The look-ups of a collection."""
    if store == "memory":
        found = MemoryCollection({**{f"base {k}": text for k, text in enumerate(bases)}, **texts})
        if bases:
            sets = shingle_sets(pa.array(bases), np.arange(len(bases)), Settings(), PUBLIC)
            found.base = CollectionBase(np.unique(sets.hashes), ((0, 1),))
        yield found
        return
    with Collection(folder / "made.neardup", scale=16) as collection:
        if bases:
            collection.add(table({f"base {k}": text for k, text in enumerate(bases)}), role="base")
        collection.add(table(texts))
        with collection.view() as view:
            yield view


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", ["own", "license_texts"])
def test_searches_count_what_is_not_base_text(tmp_path: Path, store: str, name: str) -> None:
    """Complete look-ups find exactly what overlaps enough; sampled ones a part of it."""
    bases, texts = corpus(name)
    sets, full = counted(name)
    found_any = False
    with made(store, tmp_path, bases, texts) as lookups:
        for id in list(texts)[::EVERY]:
            if not sets[id]:
                continue
            for asked, symmetric in ((f'FINGERPRINT:"{id}"_30', False), (f'SIMILAR:"{id}"_40', True)):
                wanted = {}
                for other in texts.keys() - {id}:
                    shared = len(sets[id] & sets[other])
                    whole = len(sets[id] | sets[other]) if symmetric else len(sets[id])
                    if shared and Fraction(shared, whole) >= Fraction(4 if symmetric else 3, 10):
                        sizes = len(sets[id]), len(sets[other]), len(full[id]), len(full[other])
                        wanted[other] = (shared, *sizes)
                page = search(lookups, asked, limit=1000)
                found = {hit.id: hit.evidence for hit in page.hits}
                told = {
                    other: (one.shared, one.size_query, one.size_hit, one.full_size_query, one.full_size_hit)
                    for other, one in found.items()
                    if one
                }
                assert told == wanted
                part = search(lookups, f"{asked}_90", limit=1000)
                assert {hit.id for hit in part.hits} <= wanted.keys()
                found_any |= bool(wanted)
    assert found_any


@pytest.mark.parametrize("store", STORES)
def test_a_text_of_base_text_alone_says_so(tmp_path: Path, store: str) -> None:
    bases, texts = corpus("own")
    with made(store, tmp_path, bases, texts) as lookups:
        for asked in ('SIMILAR:"nothing left"_10', 'FINGERPRINT:"base 0"'):
            with pytest.raises(QueryError):
                search(lookups, asked)
        for id in ("nothing left", "base 1"):
            assert "it shares 0 of the" in str(why_not(lookups, 'FINGERPRINT:"in3"_1', id))


@pytest.mark.parametrize("store", STORES)
def test_a_base_text_without_words_changes_nothing(tmp_path: Path, store: str) -> None:
    _, texts = corpus("own")
    results = []
    for bases in ([], ["", " … "]):
        folder = tmp_path / str(len(bases))
        folder.mkdir()
        with made(store, folder, bases, texts) as lookups:
            pages = [search(lookups, f'SIMILAR:"{id}"_20', limit=1000) for id in list(texts)[::EVERY]]
            results.append([page.as_dict()["hits"] for page in pages])
    assert results[0] == results[1]


@cache
def nearest(name: str) -> dict[str, tuple[str, int, int, int]]:
    """The first of the most similar earlier documents, from a half on, and the counts; by document."""
    sets, _ = counted(name)
    found, ids = {}, list(sets)
    for place, id in enumerate(ids):
        similar = {
            other: Fraction(len(sets[id] & sets[other]), len(sets[id] | sets[other]) or 1) for other in ids[:place]
        }
        best = max(similar.values(), default=Fraction(0))
        if best >= Fraction(1, 2):
            of = next(other for other in ids[:place] if similar[other] == best)
            found[id] = of, len(sets[id] & sets[of]), len(sets[id]), len(sets[of])
    return found


@pytest.mark.part(2)
@pytest.mark.parametrize("name", ["own", "license_texts"])
@pytest.mark.parametrize("recall", [1, 0.99])
def test_near_documents_are_those_of_the_sets_left(tmp_path: Path, name: str, recall: float) -> None:
    bases, texts = corpus(name)
    sets, _ = counted(name)
    wanted, ids = nearest(name), list(texts)
    with Collection(tmp_path / "made.neardup") as collection:
        collection.add(bases, role="base")
        told: dict[str, tuple[str, int, int, int]] = {}
        base_only = 0
        for part in (ids[:40], ids[40:]):
            done = collection.add(table({id: texts[id] for id in part}), near=Near(0.5, recall), on_near="link")
            told |= {one.id: (one.of, one.shared, one.size, one.of_size) for one in done.near}
            base_only += done.base_only
        assert base_only == sum(not left for left in sets.values()) >= 1
        assert collection.check() == []
        members = [one for group in collection.groups(limit=1000).groups for one in group.members]
        assert members
        assert all(one.size == len(sets[one.id]) for one in members)
    assert told.items() <= wanted.items() if recall < 1 else told == wanted
    assert len(told) >= recall * len(wanted) - 1
