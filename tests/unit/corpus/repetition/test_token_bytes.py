"""The bytes of tokens in a text: characters of several bytes, marks, and invalid sequences."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.passages.streams import token_bytes, token_stream
from neardup.kernels.sketch.documents import WORD
from neardup.text.keys import new_key
from neardup.text.sketch.cleaning import text_batch
from neardup.text.units import words
from neardup.unicode import unicode_tables

PIECES = st.sampled_from(
    ["a", " ", "é", "e\u0301", "½ﬁ", "漢字", "😀", "\ufffd", "…", "\u00ad", "Ｂ，", "が", "か\u3099", "กั", "ำ"]
).map(str.encode)
INVALID = st.sampled_from([b"\xff", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3", b"\x80", b"\xed\xa0\x80"])


def spans_of(text: bytes) -> list[list[int]]:
    """The bytes of the tokens of a text that stands between others."""
    batch = text_batch(pa.array([b"before", text, "äfter".encode()]))
    spans: list[list[int]] = token_bytes(batch, 1, unicode_tables()).reshape(-1, 2).tolist()
    _, ends = token_stream(batch, unicode_tables(), WORD, new_key())
    assert len(spans) == ends[1] - ends[0]
    return spans


@given(st.lists(PIECES | INVALID, max_size=12).map(b"".join))
def test_bytes_of_tokens_decode_to_their_characters(text: bytes) -> None:
    read = words(text.decode("utf-8", "replace"))
    spans = spans_of(text)
    quotes = [read.text[begin:end] for begin, end in read.spans.tolist()]
    assert [text[begin:end].decode("utf-8", "replace") for begin, end in spans] == quotes


@pytest.mark.parametrize("text", [b"", b"\xff\xff\xff", " — ".encode()])
def test_a_text_without_tokens_has_none(text: bytes) -> None:
    assert spans_of(text) == []
