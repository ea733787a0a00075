"""The bytes of tokens in a text: characters of several bytes, marks, and invalid sequences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.repetition.stream import token_bytes
from neardup.text.units import words

PIECES = st.sampled_from(["a", " ", "é", "e\u0301", "½ﬁ", "漢字", "😀", "\ufffd"]).map(str.encode)
INVALID = st.sampled_from([b"\xff", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3", b"\x80", b"\xed\xa0\x80"])


@given(st.lists(PIECES | INVALID, max_size=12).map(b"".join))
def test_bytes_of_tokens_decode_to_their_characters(text: bytes) -> None:
    read = words(text.decode("utf-8", "replace"))
    spans = token_bytes(text).tolist()
    quotes = [read.text[begin:end] for begin, end in read.spans.tolist()]
    assert [text[begin:end].decode("utf-8", "replace") for begin, end in spans] == quotes


@pytest.mark.parametrize("text", [b"", b"\xff\xff\xff", " — ".encode()])
def test_a_text_without_tokens_has_none(text: bytes) -> None:
    assert token_bytes(text).shape == (0, 2)
