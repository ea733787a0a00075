"""Units of a text know their place in the original, whatever normalisation makes of it."""

import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from neardup import unicode as plain
from neardup.errors import InputError
from neardup.settings import Cleaning
from neardup.text.cleaning import cleaner_of
from neardup.text.units import characters, read, words
from neardup.unicode import DIGITS_ZERO
from support import reference
from support.strategies import any_text, comparable


@given(any_text())
def test_the_text_at_a_place_has_the_token_that_stands_there(text: str) -> None:
    found = words(text)
    assert found.strings == plain.tokens(text) == reference.tokens(text)
    for string, (begin, end) in zip(found.strings, found.spans.tolist(), strict=True):
        assert 0 <= begin < end <= len(text)
        assert string in plain.tokens(text[begin:end])
    assert (np.diff(found.spans, axis=0) >= 0).all()


@given(any_text())
def test_what_lies_outside_of_all_places_holds_no_token(text: str) -> None:
    inside = np.zeros(len(text), np.bool_)
    for begin, end in words(text).spans.tolist():
        inside[begin:end] = True
    rest = "".join(" " if flag else char for char, flag in zip(text, inside, strict=True))
    marks_only = regex.compile(r"\p{M}*")  # a mark may belong to the character before, outside or not
    assert all(marks_only.fullmatch(token) for token in plain.tokens(rest))


@given(any_text())
def test_characters_are_those_of_character_shingles(text: str) -> None:
    found = characters(text)
    assert found.strings == reference.characters(text)
    assert found.published.tolist() == reference.unit_hashes(text, "char")
    for string, (begin, end) in zip(found.strings, found.spans.tolist(), strict=True):
        piece = plain.normalise(text[begin:end])
        assert string in piece if string != " " else piece != ""
    assert (np.diff(found.spans, axis=0) >= 0).all()


@given(any_text())
def test_hashes_are_those_of_the_fingerprint(text: str) -> None:
    assert words(text).published.tolist() == reference.unit_hashes(text, "word")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Stra\u00dfe, ja", ["Stra\u00dfe", "ja"]),
        ("so\u00adft hy\u00adphens", ["so\u00adft", "hy\u00adphens"]),
        ("\ufb01nd the \ufb03x", ["\ufb01nd", "the", "\ufb03x"]),
        ("cafe\u0301 e\u0323\u0301", ["cafe\u0301", "e\u0323\u0301"]),
        ("e\u00ad\u0301t", ["e\u00ad\u0301t"]),
        ("\u00bd cup", ["\u00bd", "\u00bd", "cup"]),
        ("\u6771\u4eac\u3067\u3059", ["\u6771", "\u4eac", "\u3067", "\u3059"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["\u1112\u1161\u11ab\u1100\u1173\u11af"]),
        ("\ufeffone \U0001f600 two", ["one", "two"]),
        ("bad \ud800 half", ["bad", "half"]),
        ("", []),
    ],
)
def test_places(text: str, expected: list[str]) -> None:
    found = words(text)
    assert [text[begin:end].strip("\ufeff") for begin, end in found.spans.tolist()] == expected


def test_a_quote_is_the_original_text() -> None:
    found = words("Dear Mr. Stra\u00dfer,\r\n\tthank  you!")
    assert found.quote(1, 5) == "Mr. Stra\u00dfer,\r\n\tthank  you"
    assert found.quote(2, 2) == found.quote(0, 0) == ""
    assert len(found) == 5


def test_a_long_run_of_marks_takes_linear_time() -> None:
    text = "a" + "\u0323\u0301" * 100_000 + " b"
    assert words(text).spans.tolist() == [[0, 200_001], [200_002, 200_003]]


def only_digits(token: str) -> bool:
    return all(unicodedata.category(char) == "Nd" for char in token)


@given(any_text())
def test_numbers_are_left_out_and_nothing_else_changes(text: str) -> None:
    found = read(text, cleaner=cleaner_of(Cleaning(ignore_numbers=True))).words
    kept = [(s, *span) for s, span in zip(words(text).strings, words(text).spans.tolist(), strict=True)]
    kept = [row for row in kept if not only_digits(row[0])]
    assert [(s, *span) for s, span in zip(found.strings, found.spans.tolist(), strict=True)] == kept


def test_all_decimal_digits_are_known() -> None:
    zeros = {char for char in comparable() if unicodedata.decimal(char, None) == 0}
    folded = {plain.normalise(char) for char in zeros}
    known = {chr(zero) for zero in DIGITS_ZERO.tolist()}
    assert folded <= known
    assert {char for char in known if char in comparable()} == folded
    assert all(unicodedata.decimal(chr(zero + 9), 9) == 9 for zero in DIGITS_ZERO.tolist())


def test_characters_without_numbers() -> None:
    assert (
        "".join(read("Room 12, floor 3b", cleaner=cleaner_of(Cleaning(ignore_numbers=True))).characters.strings)
        == "room , floor 3b"
    )


@pytest.mark.parametrize("given", [None, b"bytes", 3])
def test_anything_but_a_str_is_refused(given: object) -> None:
    with pytest.raises(InputError, match=f"type {type(given).__name__} cannot be read"):
        read(given)  # type: ignore[arg-type]


@given(st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010, categories=None), max_size=20))
def test_lone_surrogates_do_no_harm(text: str) -> None:
    assert words(text).strings == plain.tokens(text)
