"""Tokenizers: runs, comparisons and collections compare the tokens that a tokenizer makes, and quote the text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.settings import Cleaning, Settings
from neardup.text.cleaning import cleaner_of
from neardup.text.keys import process_key
from neardup.text.sketch.cleaning import both_keys, clean_texts
from neardup.text.sketch.documents import shingle_sets
from neardup.text.tokenizers import as_word, laid_out, tokenizer_of, tokens_as_words, tokens_of_code
from neardup.text.units import read
from support.command_line import Run, run_json
from support.made_package import installed_package

TOTAL = """public class A { // adds
  int total(int[] xs) { int sum = 0; for (int i = 0; i < xs.length; i++) { sum += xs[i]; } return sum; } }"""
RENAMED = """public class Summer {
  /* the same, with other names */
  int addUp(int[] values)
  { int s = 10; for (int k = 0; k < values.length; k++) { s += values[k]; } return s; } }"""
OTHER_SIGNS = TOTAL.replace("+=", "-=")
PARTS = ["//", "/*", "*/", '"""', "'''", "#include ", "for", "1e-5", "ﬁ", "\ud800"]
SNIPPETS = st.lists(st.sampled_from([*"aZ_9 \t\n\"'`\\/*#.+-=<>(){};é東½", *PARTS]), max_size=60).map("".join)
HOSTILE = ['"', "'", "`", '"""', "/*", "/* *", "#" + " " * 50, "1e", "1e+", "\\", "a\\", "<<"]
MODULE = """
def pairs(text):
    return [(text[k:k + 2], k, min(k + 2, len(text))) for k in range(0, len(text), 2)]

def beyond(text):
    yield "word", 0, len(text) + 1

def backwards(text):
    return [("two", 2, 3), ("one", 0, 1)]

def fails(text):
    raise ValueError("no such language")

constant = 7
"""
POINTS = """[neardup.tokenizers]
pairs = some_tokenizers:pairs
beyond = some_tokenizers:beyond
backwards = some_tokenizers:backwards
fails = some_tokenizers:fails
gone = some_tokenizers:missing
constant = some_tokenizers:constant
code = some_tokenizers:pairs
two words = some_tokenizers:pairs
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with tokenizers, on the import path."""
    with installed_package(tmp_path / "place", "some_tokenizers", MODULE, POINTS, monkeypatch):
        yield


# --- the tokens of source code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (n > 3) n -= x1;", "if ( id > num ) id -= id ;"),
        ("a // b\nc /* d\n e */ f", "id id id"),
        ("# a comment\nx = 'it''s'  # more", "id = str str"),
        ("#include <stdio.h>\n#define N 3", "# include < id . id > # id id num"),
        ('say("a \\" b", `c\nd`, 0x1F, 1e-5, .5)', "id ( str , str , num , num , num )"),
        ('"""a doc\nstring""" def f(): pass', "str def id ( ) : pass"),
        ("naïve_größe := 東京", "id := id"),
        ("", ""),
        ("/* never ends", ""),
        ('x = "never ends\ny', "id = str id"),
    ],
)
def test_tokens_of_code(text: str, expected: str) -> None:
    assert " ".join(token for token, _, _ in tokens_of_code(text)) == expected


@pytest.mark.parametrize("part", HOSTILE, ids=ascii)
def test_hostile_code_takes_linear_time(part: str) -> None:
    """The time of a quadratic rule would never end here. What no token has is a comment."""
    text = part * 200_000
    ends = [0, *(end for _, _, end in tokens_of_code(text))]
    assert ends == sorted(ends)
    assert text[ends[-1] :].strip()[:2] in {"", "/*", "# ", "##"}


# --- the same tokens wherever texts are read


@given(text=SNIPPETS.filter(lambda text: "\ud800" not in text), numbers=st.booleans())
def test_a_reading_has_the_tokens_of_a_column(text: str, numbers: bool) -> None:
    settings = Settings.of(tokenizer="code", ignore_numbers=numbers, length=2)
    made = clean_texts(pa.array([text]), settings)
    column = shingle_sets(made.texts, np.array([0]), made.settings, process_key(), "tokens").hashes
    cleaner = cleaner_of(Cleaning(tokenizer="code", ignore_numbers=numbers))
    assert read(text, cleaner=cleaner).token_hashes.tolist() == column.tolist()


@given(text=SNIPPETS)
def test_tokens_come_from_their_places(text: str) -> None:
    words = read(text, cleaner=cleaner_of(Cleaning(tokenizer="code"))).words
    plain = "".join(" " if "\ud800" <= char <= "\udfff" else char for char in text)
    expected = [(begin, end) for _, begin, end in tokens_of_code(plain.replace(" ", " "))]
    if "\ud800" not in text:
        assert [tuple(span) for span in words.spans.tolist()] == expected
    assert all(0 <= begin < end <= len(text) for begin, end in words.spans.tolist())


@given(given=st.tuples(*[st.lists(st.text(min_size=1, max_size=3), max_size=6)] * 2))
def test_different_tokens_are_different_words(given: tuple[list[str], list[str]]) -> None:
    folded = [[token.casefold() for token in tokens] for tokens in given]
    laid = [
        laid_out([as_word(token) for token in tokens], np.zeros((len(tokens), 2), np.int64)) for tokens in given
    ]
    words = [read(one.text).words.strings for one in laid]
    assert list(map(len, words)) == list(map(len, given))
    assert (words[0] == words[1]) == (folded[0] == folded[1])


def test_runs_comparisons_and_collections_agree(tmp_path: Path) -> None:
    texts = [TOTAL, RENAMED, OTHER_SIGNS, "print(1)"]
    found = nd.find(texts, tokenizer="code", threshold=0.5, pairs="all")
    measured = {(row["id_a"], row["id_b"]): row["resemblance"] for row in found.pairs.to_pylist()}
    assert measured[0, 1] == 1.0
    assert found.copies.num_rows == 0
    for (a, b), value in measured.items():
        assert nd.compare(texts[a], texts[b], tokenizer="code").measures["resemblance"] == value
    assert nd.compare(TOTAL, RENAMED).measures["resemblance"] < 0.1
    with nd.Collection(tmp_path / "code.neardup", tokenizer="code") as kept:
        kept.add([{"id": str(number), "text": text} for number, text in enumerate(texts)])
        shared = {hit.id: hit.evidence.shared for hit in kept.near(TOTAL, overlap=0.5).hits if hit.evidence}
        assert shared["1"] == shared["0"] > shared["2"] > 0
        assert kept.compare("0", "1").measures["resemblance"] == 1.0


@pytest.mark.parametrize(
    ("measure", "key"),
    [
        ("resemblance", "resemblance"),
        ("overlap", "overlap"),
        ("vocabulary", "vocabulary"),
        ("multiset", "multiset"),
        ("lcs", "lcs"),
        ("chunk-longest", "chunk_longest_literal"),
        ("chunk-union", "chunk_union_literal"),
    ],
)
def test_every_measure_is_that_of_a_comparison(measure: str, key: str) -> None:
    texts = [TOTAL, RENAMED, OTHER_SIGNS, TOTAL.replace("return sum;", "print(sum); return sum;"), "print(1)"]
    found = nd.find(texts, tokenizer="code", measure=measure, threshold=0.3, pairs="all")
    rows = {(row["id_a"], row["id_b"]): row for row in found.pairs.to_pylist()}
    assert len(rows) >= 6
    for (a, b), row in rows.items():
        value = nd.compare(texts[a], texts[b], tokenizer="code").measures[key]
        assert value in (row.get(key), row.get(measure.replace("-", "_")))


def test_texts_of_the_same_words_with_other_signs_are_no_copies() -> None:
    """Without the tokenizer they are exact copies: the words are the same."""
    given = [TOTAL, OTHER_SIGNS, TOTAL.replace("  ", "\n")]
    assert nd.find(given).copies.num_rows == 2
    found = nd.find(given, tokenizer="code")
    assert [(row["copy_of"], row["id"]) for row in found.copies.to_pylist()] == [(0, 2)]


def test_more_tokens_than_words() -> None:
    """The number of words of a text does not bound the number of its tokens."""
    texts = ["+".join("xyz") + "-*/=" * 40, "+".join("xyz") + "-*/=" * 39 + "!"]
    for method in ("exact", "lsh"):
        assert nd.find(texts, tokenizer="code", threshold=0.5, method=method).pairs.num_rows == 1


def test_masks_come_before_and_numbers_after() -> None:
    found = nd.compare("total = 3; // 12", "sum = 44;", tokenizer="code", mask=r"[0-9]+", length=1)
    assert found.measures["resemblance"] == 1.0
    assert found.left_out["a"]["masks"] == [2]


def test_keys_are_equal_where_both_are() -> None:
    words = np.array([[1, 2], [1, 2], [3, 4]], np.uint64)
    tokens = np.array([[1, 2], [5, 6], [1, 2]], np.uint64)
    made = both_keys(words, tokens)
    assert len(np.unique(made, axis=0)) == 3
    assert both_keys(words[:1], tokens[:1]).tolist() == made[:1].tolist()


# --- tokenizers of other packages


def test_a_registered_tokenizer_is_used_and_recorded(installed: None, run: Run, tmp_path: Path) -> None:
    lines = [{"text": text} for text in ("abcdefghijkl", "xxcdefghijkl", "other text")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    how = ["--tokenizer", "pairs", "--length", "2", "--threshold", "0.6"]
    done = run("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out", *how)
    assert done.status == 0, done.err
    account = run_json(tmp_path / "out")
    assert account["settings"]["tokenizer"] == "pairs"
    assert account["versions"]["neardup.tokenizers pairs"] == "some-tokenizers 1.2"
    assert account["counts"]["pairs"] == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fails", "The tokenizer fails fails on a text: ValueError: no such language"),
        ("beyond", "The tokenizer beyond fails on a text: ValueError: 'word' at 0 to 4"),
        ("backwards", "The tokenizer backwards fails on a text: ValueError: 'one' at 0 to 1"),
        ("gone", "The tokenizer gone cannot be loaded (some_tokenizers:missing): AttributeError"),
        ("constant", "The tokenizer constant fails on a text: TypeError: 'int' object is not callable"),
    ],
)
def test_a_tokenizer_that_fails_is_named(installed: None, name: str, said: str) -> None:
    with pytest.raises(nd.InputError) as refused:
        nd.find(["abc", "abd"], tokenizer=name)
    assert str(refused.value).startswith(said)


def test_names_that_are_not_there_are_refused_with_those_that_are(installed: None) -> None:
    names = "code, backwards, beyond, constant, fails, gone, pairs"
    with pytest.raises(nd.SettingError, match=f"Choose one of {names}, or install"):
        nd.find(["a", "b"], tokenizer="two words")
    assert [token for token, _, _ in tokenizer_of("code")("a b")] == ["id", "id"]


def test_a_fragment_of_each_text_is_quoted(tmp_path: Path) -> None:
    found: Any = nd.compare(TOTAL, RENAMED + " int more;", tokenizer="code")
    assert found.chunks()[0]["text_a"] == TOTAL
    assert found.chunks()[0]["text_b"] == RENAMED
    assert tokens_as_words("", "code").text == ""
