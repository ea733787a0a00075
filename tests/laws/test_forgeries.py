"""Texts whose published hashes were made to be those of others: they pair with nothing, are copies of nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.collection import Collection
from support import reference
from support.forged import FORGED, VICTIM, colliding_tokens, thue_morse, twins
from support.reference_measured import MEASURES

RUNS: list[dict[str, Any]] = [
    *({"measure": measure, "matching": matching} for measure, matching in MEASURES),
    {"method": "lsh", "threshold": 0.5},
    {"method": "exact"},
    {"unit": "word", "length": 1},
    {"sketch": "simhash", "features": "word", "distance": 0},
    {"method": "lsh", "audit": 10},
]


def published(text: str, length: int = 5) -> list[int]:
    return reference.shingle_hashes(reference.unit_hashes(text, "word"), length)


@pytest.mark.parametrize("form", RUNS, ids=lambda form: "-".join(map(str, form.values())))
def test_two_texts_without_a_word_in_common_are_no_copies(form: dict[str, Any]) -> None:
    """Their tokens collide, one by one: they were exact copies of each other, resemblance 1."""
    a, b = twins()
    assert published(a) == published(b)
    assert not set(a.split()) & set(b.split())
    found = nd.find([a, b, a + " more"], **{"threshold": 0.8, **form})
    true = [] if "distance" in form else [(0, 2)]
    assert [(row["id_a"], row["id_b"]) for row in found.pairs.to_pylist()] == true
    assert found.run.counts.exact_copies == 0
    assert len(found.removed) == len(true)
    if "audit" in form:
        assert found.run.audit.pairs == found.run.audit.found == 1


def test_exact_copies_are_not_made_of_colliding_tokens() -> None:
    (one, other), *_ = colliding_tokens(1)
    found = nd.find([one, other, one.upper()], threshold=1)
    assert found.copies.num_rows == 1
    assert found.removed["id"].to_pylist() == [2]


def test_a_comparison_sees_that_nothing_is_in_common() -> None:
    measures = nd.compare(*twins()).measures
    exact = ("resemblance", "containment_a", "overlap", "vocabulary", "multiset", "lcs", "chunk_union_literal")
    assert {name: measures[name] for name in exact} == dict.fromkeys(exact, 0.0)
    assert measures["minhash"]["estimate"] == 1  # what signatures say; they are published, and only estimates


@pytest.mark.parametrize("form", [{"measure": "containment"}, {"measure": "overlap"}, {"method": "exact"}])
def test_a_forged_text_does_not_contain_its_victim(form: dict[str, Any]) -> None:
    """Every published shingle hash of the victim is one of the forged text (a four-list birthday)."""
    assert set(published(VICTIM)) <= set(published(FORGED))
    found = nd.find([VICTIM, FORGED], **{"threshold": 0.1, **form})
    assert found.pairs.num_rows == 0
    assert nd.compare(VICTIM, FORGED).measures["containment_a"] == 0


def test_thue_morse_texts_are_no_copies_of_their_complements() -> None:
    """A polynomial modulo 2⁶⁴ gives them one value, whatever its odd multiplier."""
    texts = [thue_morse(words, 1024) for words in (("so", "no"), ("no", "so"))]
    high = [reference.stream_key(reference.unit_hashes(text, "word"))[0] for text in texts]
    assert high[0] == high[1]
    found = nd.find(texts, threshold=0.9, keep="first")
    assert found.run.counts.exact_copies == 0


def test_a_collection_finds_no_forgery(tmp_path: Path) -> None:
    a, b = twins()
    with Collection(tmp_path / "mail.neardup") as mail:
        mail.add(pa.table({"id": ["a", "victim"], "text": [a, VICTIM]}))
        added = mail.add(pa.table({"id": ["b"], "text": [b]}), near=1.0, on_near="reject")
        assert added.added == 1
        mail.add(pa.table({"id": ["forged"], "text": [FORGED]}), near=0.1, on_near="link")
        for query in ("FINGERPRINT:a_1_100", "SIMILAR:a_1_100", "FINGERPRINT:victim_1_100"):
            assert mail.search(query).hits == ()
        assert mail.info()["groups"] == 0


def test_collections_have_secrets_of_their_own_that_nobody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEARDUP_KEY")
    settings = []
    for name in ("one", "two"):
        with Collection(tmp_path / name) as made:
            made.add([VICTIM, FORGED])
            settings.append(made.settings)
        with Collection(tmp_path / name, readonly=True) as opened:
            assert opened.settings.secret == settings[-1].secret
            page = opened.search("FINGERPRINT:#1_1_100", limit=1, include_self=True)
            plan = opened.search("EXPLAIN FINGERPRINT:#1_1_100").plan
            told = repr((opened.info(), opened.settings, page.as_dict(), str(plan)))
            assert opened.settings.secret.hex() not in told
            assert repr(opened.settings.secret) not in told
    assert settings[0].secret != settings[1].secret
    assert settings[0] == settings[1]
