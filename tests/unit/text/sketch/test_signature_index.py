"""The index of signatures: it finds, forgets, refuses and stores."""

import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup import Index, InputError
from support.messages import assert_refused

FAMILIES = [nd.MinHash(64), nd.MinHash(64, sketch="classic"), nd.MultiplyShift(64), nd.BBit(nd.MinHash(64), 8)]


def texts(count: int) -> list[str]:
    drawn = np.random.default_rng(7).integers(0, 40, (count, 30))
    return [" ".join(f"w{word}" for word in row) for row in drawn] + [
        " ".join(f"w{word}" for word in [*row[:25], 99]) for row in drawn
    ]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_candidates_are_those_that_agree_in_a_band(family: Any) -> None:
    documents = texts(40)
    index = nd.Index(0.5, recall=0.9, family=family)
    signatures = family.sketch(documents)
    index.add_all(range(len(documents)), signatures)
    cuts = np.cumsum([0, *index.bands.bands])
    for number in range(0, len(documents), 7):
        agree = signatures == signatures[number]
        expected = {k for k in range(len(documents)) if any(agree[k, b:e].all() for b, e in pairwise(cuts))}
        found = index.query(family.of(documents[number]))
        assert {one.id for one in found} == expected
        assert found[0].id == number
        values = [one.resemblance.value for one in found]
        assert values == sorted(values, reverse=True)


def test_removed_signatures_are_not_found_and_leave_nothing() -> None:
    index = nd.Index(0.5)
    signature = index.family.of("a text of some words that stands for itself")
    index.add("one", signature)
    index.add("two", signature)
    index.remove("one")
    assert [one.id for one in index.query(signature)] == ["two"]
    index.remove("two")
    assert not index.query(signature)
    assert not any(index._buckets)
    with pytest.raises(nd.InputError, match="not in the index"):
        index.remove("two")


def test_the_empty_set_is_no_candidate() -> None:
    index = nd.Index()
    index.add("empty", index.family.of(""))
    assert not index.query(index.family.of(""))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("of_tokens", [False, True])
def test_a_saved_index_answers_the_same(tmp_path: Path, suffix: str, of_tokens: bool) -> None:
    index, documents = nd.Index(0.4, recall=0.95, family=nd.MinHash(64)), texts(10)
    made = [index.family.of_tokens(nd.shingles(t)) if of_tokens else index.family.of(t) for t in documents]
    for number, signature in enumerate(made):
        index.add(f"d{number}", signature)
    index.save(tmp_path / f"index{suffix}")
    again = nd.Index.load(tmp_path / f"index{suffix}")
    assert repr(again) == repr(index)
    for signature in made:
        assert again.query(signature) == index.query(signature)
    assert nd.read_signatures(tmp_path / f"index{suffix}").of_ids == of_tokens


def test_an_empty_index_is_saved(tmp_path: Path) -> None:
    nd.Index().save(tmp_path / "none.arrow")
    assert len(nd.Index.load(tmp_path / "none.arrow")) == 0


def test_refusals_name_the_fault(tmp_path: Path) -> None:
    index = nd.Index()
    index.add("memo", index.family.of("a b c"))
    nd.write_signatures(index.family.to_arrow(["a"], index.family.sketch(["a"])), tmp_path / "plain.parquet")
    assert_refused(
        (nd.FormatError, r"plain\.parquet is not an index", lambda: nd.Index.load(tmp_path / "plain.parquet")),
        (nd.InputError, r"'memo' .*already", lambda: index.add("memo", index.family.of("a b c"))),
        (nd.FormatError, "", lambda: index.add("other", nd.MinHash(64).of("a b c"))),
        (nd.FormatError, "", lambda: index.query(index.family.of_tokens(["a"]))),
        (nd.InputError, "is a list", lambda: index.add(["a"], index.family.of("a"))),  # type: ignore[arg-type]
        (nd.InputError, "2 ids for 1", lambda: index.add_all(["a", "b"], index.family.sketch(["a"]))),
    )
    assert list(index) == ["memo"]
    assert "memo" in index


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_merged_index_answers_as_one_that_holds_all(family: Any) -> None:
    documents = texts(20)
    here, there = (nd.Index(0.5, recall=recall, family=family) for recall in (0.9, 0.5))
    whole = nd.Index(0.5, recall=0.9, family=family)
    for number, text in enumerate(documents):
        (here if number % 3 else there).add(number, text)
    for number in [*here, *there]:
        whole.add(number, documents[number])  # type: ignore[call-overload]
    here.merge(there)
    assert list(here) == list(whole)
    assert len(there) == 14
    for text in documents:
        assert here.query(text) == whole.query(text)
    here.remove(0)
    assert 0 in there


def test_indexes_that_are_not_merged_lose_nothing(tmp_path: Path) -> None:
    here, there = nd.Index(), nd.Index()
    here.add_all("abcdef", here.family.sketch(["text"] * 6))
    there.add_all(["x", "f", "e", "d", "c"], there.family.sketch(["text"] * 5))
    tokens, flagged = nd.Index(), nd.Index()
    flagged.add(True, "text")
    tokens.add("z", tokens.family.of_tokens(["text"]))
    for id in (("mails", 1), uuid.UUID(int=5), None, 2.5, frozenset("ab")):
        tokens.add(id, tokens.family.of_tokens(["text"]))
    assert [one.id for one in tokens.query(tokens.family.of_tokens(["text"]))] == list(tokens)
    assert_refused(
        (nd.InputError, r"'f', 'e', 'd' and 1 more", lambda: here.merge(there)),
        (nd.InputError, "'a', 'b', 'c' and 3 more", lambda: here.merge(here)),
        (nd.FormatError, "of ids", lambda: here.merge(tokens)),
        (nd.FormatError, "slots 64", lambda: here.merge(nd.Index(family=nd.MinHash(64)))),
        (nd.InputError, "is a list", lambda: here.merge([])),  # type: ignore[arg-type]
        (nd.InputError, r"id \('mails', 1\) is a tuple", lambda: tokens.save(tmp_path / "t.arrow")),
        (nd.InputError, "id True is a bool", lambda: flagged.save(tmp_path / "t.arrow")),
    )
    assert [len(index) for index in (here, there, tokens)] == [6, 5, 6]
    assert not (tmp_path / "t.arrow").exists()


def test_texts_and_rows_are_accepted_like_signatures() -> None:
    texts = ["the harbour office is closed on friday because of the storm", "pay the invoice by the end of may"]
    given, made = Index(0.5), Index(0.5)
    rows = made.family.sketch(texts)
    for number, text in enumerate(texts):
        given.add(number, text)
        made.add(number, rows[number])
    for text, row in zip(texts, rows, strict=True):
        wanted = made.query(made.family.of(text))
        assert [one.id for one in wanted]
        assert given.query(text) == given.query(row) == made.query(text) == made.query(row) == wanted


@pytest.mark.parametrize("wrong", [None, 7, b"text", ["a"], np.zeros(3, np.uint32), np.zeros(112, np.int64)])
def test_other_values_are_refused_in_words(wrong: Any) -> None:
    index = Index(0.5)
    for act in (lambda: index.add("a", wrong), lambda: index.query(wrong)):
        with pytest.raises(InputError, match=r"family\.sketch"):
            act()
    assert len(index) == 0
