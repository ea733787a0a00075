"""Large texts are worked out portion by portion: with the same result, and so that they can be stopped."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from neardup.collection import entries, fields, intake
from neardup.collection.contract import too_long_error
from neardup.collection.entries import entries_of
from neardup.collection.fields import STREAM_FAULT
from neardup.collection.settings import CollectionSettings
from neardup.errors import InputError, LimitError
from neardup.runtime import Deadline

LATER = 1e9

ALPHABETS = {
    "words": ["harbour", "office", "Größe", " ", " ", ", ", "_", "-", "1"],
    "marks": ["a", "e\u0301", "\u0301", "\u0323", " ", "=", "\u0338", "\u0345"],
    "han": ["\u4e00", "\u5000", "\u8fff", "\u9fff", "x", "\u0301", "\u3042", "\u3099", " "],
    "hangul": ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "."],
    "expanding": ["\ufdfa", "\ufdfb", "\u0390", "ß", "\u3300", "!", "a"],
    "four bytes": ["\U0001d400", "\U0001f600", "\U0001f1e6", "\u200d", " "],
    "thai": ["\u0e01", "\u0e33", "\u0e40", "\u0e48", " ", "\u0ec0"],
}
BROKEN = [
    b"\xe5",
    b"\xe5\x80",
    b"\xe4\xb8",
    b"\xff",
    b"\xc3",
    b"\x80",
    b"\xf0\x9f\x98",
    b"ab ",
    b"\xe5\x80\x80",
    b"\xcc\x81",
]


def _texts() -> list[bytes]:
    draw = random.Random(7)
    made = ["".join(draw.choices(parts, k=k)).encode() for parts in ALPHABETS.values() for k in (30, 150, 400)]
    mixed = [part for parts in ALPHABETS.values() for part in parts]
    made += ["".join(draw.choices(mixed, k=300)).encode() for _ in range(10)]
    made += [b"".join(draw.choices(BROKEN, k=200)) for _ in range(10)]
    return [*made, b"one two", b"", b"...", b"x" * 300, b" " * 300]


def _assert_same(found: Any, expected: Any) -> None:
    for name in ("ids", "packed", "metadata", "streams"):
        assert list(getattr(found, name)) == list(getattr(expected, name)), name
    for name in ("sizes", "tokens", "shingles", "hashes", "offsets", "signatures"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, name)


@pytest.mark.part(3)
@pytest.mark.parametrize(("portion", "stretch"), [(1, 1), (7, 3), (64, 20), (1000, 1 << 18)])
@pytest.mark.parametrize("length", [1, 5])
def test_texts_in_portions_are_what_they_are_as_a_whole(
    portion: int, stretch: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = _texts()
    of = pa.array(texts, pa.large_binary()), [str(k) for k in range(len(texts))], [{} for _ in texts]
    form = CollectionSettings.of(length=length, scale=3)
    expected = entries_of(*of, form)
    monkeypatch.setattr(entries, "PORTION", portion)
    monkeypatch.setattr(entries, "STRETCH", stretch)
    _assert_same(entries_of(*of, form, Deadline(LATER)), expected)


def test_no_document_is_no_portion() -> None:
    assert len(entries_of(pa.array([], pa.large_binary()), [], [], CollectionSettings(), Deadline(LATER))) == 0


HOSTILE = {
    "different words": " ".join(format(k, "x") for k in range(2000)),
    "marks": "a\u0323\u0307 " * 2000,
    "four bytes": "\U0001d400 " * 2000,
    "Han": "\u6f22\u5b57" * 2000,
    "expanding": "\ufdfa\ufdfa " * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_fingerprinting_looks_at_the_clock_between_portions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the bytes that are given to kernels after the time is over: those of one portion."""
    text = HOSTILE[name].encode()
    clock, given = [0.0], []
    plain = entries._array

    def soon() -> Deadline:
        return Deadline(3, too_long_error, lambda: clock[0])

    def counted(portion: bytes) -> Any:
        given.append(len(portion))
        clock[0] += 1.0
        return plain(portion)

    monkeypatch.setattr(entries, "PORTION", 500)
    monkeypatch.setattr(entries, "_array", counted)
    of = pa.array([text], pa.large_binary()), ["a"], [{}], CollectionSettings()
    entries_of(*of, Deadline(LATER))
    assert len(given) >= len(text) // 600
    assert max(given) < 600
    begun = len(given)
    with pytest.raises(LimitError):
        entries_of(*of, soon())
    assert len(given) - begun <= 5
    begun = len(given)
    monkeypatch.setattr(fields, "FEW_WORDS", 1000)
    with pytest.raises(LimitError):
        intake.entries_named(["a"], [text.decode()], [{}], CollectionSettings(), soon())
    assert len(given) - begun <= 5


def test_one_long_word_of_characters_that_become_many_is_refused_before_it_is_normalised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entries, "PORTION", 500)
    monkeypatch.setattr(fields, "FEW_WORDS", 1000)
    monkeypatch.setattr(fields, "LARGEST_STREAM", 20_000)
    given = []
    plain = entries._array
    monkeypatch.setattr(entries, "_array", lambda portion: given.append(len(portion)) or plain(portion))
    with pytest.raises(InputError, match=STREAM_FAULT):
        intake.entries_named(["a"], ["\ufdfa" * 10_000], [{}], CollectionSettings())
    assert max(given) < 600
    assert sum(given) < 6000
    intake.entries_named(["a"], ["a" * 10_000], [{}], CollectionSettings())
